"""Warnings and estimators that stay as they are, whatever threads and errors do.

Filters of warnings belong to the process, not to a thread: where two threads change them at once,
one may put back what the other had set, and a filter that was meant for a moment stays.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any

__all__ = ["changed_filters", "checked_table", "keep_on_error", "quiet", "quietly"]

_FILTERS = RLock()
_QUIET: ContextVar[bool] = ContextVar("kgl_quiet", default=False)


@contextmanager
def changed_filters() -> Iterator[None]:
    """Let the block change the filters of warnings, one thread at a time; put them back."""
    with _FILTERS, warnings.catch_warnings():
        yield


@contextmanager
def quietly() -> Iterator[None]:
    """Let checks of data pass in silence, in this thread alone: :func:`quiet` is true."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)


def quiet() -> bool:
    """Return whether the data have been warned of already."""
    return _QUIET.get()


def checked_table(estimator: Any, Y: Any, **how: Any) -> Any:
    """Return scikit-learn's ``validate_data``, which changes filters of warnings."""
    from sklearn.utils.validation import validate_data

    with _FILTERS:
        return validate_data(estimator, Y, **how)


@contextmanager
def keep_on_error(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was where the block fails or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
