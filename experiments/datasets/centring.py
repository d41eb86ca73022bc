"""Means that are subtracted from data before a graph is learned."""

from __future__ import annotations

import numpy as np

from experiments.lookup import ConfigError
from kgl._types import Array

__all__ = ["means"]

_AXES = {"reviewer": 1, "item": 0, "all": None}


def means(Y: Array, how: str) -> Array:
    """Return the mean of each row, of each column or of all entries, or zeros, shaped like ``Y``.

    Missing entries are ignored; a mean of missing entries alone is zero.

    Examples
    --------
    >>> means(np.array([[1.0, 3.0], [5.0, np.nan]]), "reviewer")
    array([[2., 2.],
           [5., 5.]])
    """
    if how == "none":
        return np.zeros_like(Y)
    if how not in _AXES:
        raise ConfigError(f"data.options.centre = {how!r}; valid: {', '.join(_AXES)}, none")
    seen = ~np.isnan(Y)
    total = np.where(seen, Y, 0.0).sum(axis=_AXES[how], keepdims=True)
    mean = total / np.maximum(seen.sum(axis=_AXES[how], keepdims=True), 1)
    return np.asarray(np.broadcast_to(mean, Y.shape))
