"""Independent parts of a computation: one after the other, or on the workers of joblib."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, TypeVar

__all__ = ["check_n_jobs", "in_order"]

T = TypeVar("T")
_Caught = list[tuple[str, type[Warning]]]


def check_n_jobs(n_jobs: Any) -> int | None:
    """Refuse what joblib would not understand, before any work starts."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(
            f"n_jobs = {n_jobs!r} must be a number of workers such as 4, -1 for one per core, or "
            "None for none"
        )
    return int(n_jobs)


def in_order(work: Callable[[Any], T], parts: Sequence[Any], n_jobs: int | None) -> Iterator[T]:
    """Yield ``work(part)`` of each part, in order.

    As in scikit-learn, None is no worker unless ``joblib.parallel_config`` names a backend
    around the call. Workers use one BLAS thread each, whatever the backend: a part then has the
    same bytes on any number of workers as in a process with one BLAS thread.
    """
    # scikit-learn has loaded it already, but the solvers need neither
    import joblib
    from joblib.parallel import get_active_backend

    if len(parts) < 2 or joblib.effective_n_jobs(n_jobs) == 1:
        yield from map(work, parts)
        return
    backend, _ = get_active_backend()
    # not all backends, nor all versions, hand results over one by one
    how = {"return_as": "generator"} if getattr(backend, "supports_return_generator", False) else {}
    pool = joblib.Parallel(n_jobs=n_jobs, **how)
    for result, caught in pool(joblib.delayed(_alone)(work, part) for part in parts):
        for message, category in caught:
            warnings.warn(message, category, stacklevel=3)
        yield result


def _alone(work: Callable[[Any], T], part: Any) -> tuple[T, _Caught]:
    """Work on one part with one BLAS thread; return the warnings, which would be lost here."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        # filters belong to the process: where it runs several threads, warnings appear in it
        if threading.current_thread() is not threading.main_thread():
            return work(part), []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = work(part)
    return result, [(str(warning.message), warning.category) for warning in caught]
