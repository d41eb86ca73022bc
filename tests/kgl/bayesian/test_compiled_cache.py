"""Compiled code gives the same bytes whether it was compiled just now or comes from the cache."""

import os
import subprocess
import sys

import pytest

FIT = """
import warnings
import kgl

warnings.simplefilter("ignore")
data = kgl.simulate.make_dataset("er", m=8, n=20, noise=0.01, missing=0.5, seed=1)
model = kgl.BayesianKGL(n_chains=2, n_warmup=4, n_draws=8, random_state=0).fit(data.Y)
print(model.edge_probability_.tobytes().hex())
"""


def test_the_first_fit_on_a_machine_is_like_the_next(tmp_path):
    pytest.importorskip("numba")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    printed = [
        subprocess.run(
            [sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert list(tmp_path.rglob("*.nbc"))
    assert printed[0] == printed[1]
