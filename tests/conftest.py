"""Settings every test shares: one BLAS thread, no display, no network, the Hypothesis profiles."""

import os
from pathlib import Path

# Before the first import of NumPy, which reads these once. One thread: sums come out in the same
# order on every machine, and pytest-xdist's workers do not compete for cores.
for _name in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
):
    os.environ[_name] = "1"
os.environ["MPLBACKEND"] = "Agg"
os.environ["KGL_OFFLINE"] = "1"  # tests of downloads, from this machine, take it away

from hypothesis import HealthCheck, settings  # noqa: E402

# Numerical examples have no natural time limit (the first call pays for imports and caches).
settings.register_profile(
    "ci",
    derandomize=True,  # the same examples in every run: a red build means a changed program
    deadline=None,
    max_examples=50,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# New random examples in each run, for hunting: HYPOTHESIS_PROFILE=thorough make test
settings.register_profile(
    "thorough",
    derandomize=False,
    deadline=None,
    max_examples=1000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_TESTS = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave modules that tests import alone: for its doctests a file would be loaded twice.

    Its second copy, as ``tests.helpers`` beside ``helpers``, has classes and caches of its own, so
    that tests would depend on which of them ran first.
    """
    own = collection_path.is_relative_to(_TESTS) and collection_path.suffix == ".py"
    return True if own and not collection_path.name.startswith("test_") else None
