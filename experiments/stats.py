"""Intervals of a mean and of the difference of two samples."""

from __future__ import annotations

import numpy as np

from kgl._types import Array

__all__ = ["MissingEvidence", "mean_interval", "unpaired"]


class MissingEvidence(ValueError):
    """The tables lack what a claim is about, as in a run of reduced size."""


def mean_interval(values: Array, level: float = 0.95) -> tuple[float, float, float]:
    """Return the mean and the ends of its interval (Student's t); equal values give no width.

    Raises
    ------
    MissingEvidence
        With fewer than two values there is no interval.

    Examples
    --------
    >>> mean_interval(np.array([1.0, 2.0, 3.0]))
    (2.0, -0.48..., 4.48...)
    >>> mean_interval(np.array([2.0, 2.0]))
    (2.0, 2.0, 2.0)
    """
    from scipy.stats import t

    values = np.asarray(values, dtype=float)
    if len(values) < 2 or not np.isfinite(values).all():
        raise MissingEvidence(
            f"{len(values)} values, not all of them numbers; an interval needs two or more"
        )
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread == 0.0:
        return mean, mean, mean
    half = float(t.ppf(0.5 + level / 2, len(values) - 1) * spread / np.sqrt(len(values)))
    return mean, mean - half, mean + half


def unpaired(first: Array, second: Array, level: float = 0.95) -> tuple[float, float, float]:
    """Return the difference of the means of two independent samples and its interval (Welch).

    Examples
    --------
    >>> unpaired(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0]))
    (1.0, -1.26..., 3.26...)
    """
    from scipy.stats import t

    mean = mean_interval(first)[0] - mean_interval(second)[0]
    parts = np.array([np.var(x, ddof=1) / len(x) for x in (first, second)])
    if not parts.any():
        return mean, mean, mean
    freedom = parts.sum() ** 2 / (parts**2 / (np.array([len(first), len(second)]) - 1)).sum()
    half = float(t.ppf(0.5 + level / 2, freedom) * np.sqrt(parts.sum()))
    return mean, mean - half, mean + half
