"""Intervals of a mean and of a contrast of samples, and the power of criteria about them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from kgl._types import Array

__all__ = ["MissingEvidence", "contrast", "joint_power", "mean_interval", "power", "unpaired"]

#: Draws of the width of an interval over which :func:`power` averages.
_DRAWS = 2000
#: Simulated experiments of :func:`joint_power`.
_JOINT_DRAWS = 4000


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


def contrast(
    samples: Sequence[Array], weights: Sequence[float], level: float = 0.95
) -> tuple[float, float, float, float]:
    """Return a weighted sum of means of independent samples, its interval, degrees of freedom.

    The interval is Welch's; with two samples and weights 1 and -1 it is that of their difference.

    Examples
    --------
    >>> contrast([np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0])], [1.0, -1.0])
    (1.0, -1.26..., 3.26..., 4.0...)
    """
    from scipy.stats import t

    mean = sum(w * mean_interval(x)[0] for x, w in zip(samples, weights, strict=True))
    parts = np.array(
        [w**2 * np.var(x, ddof=1) / len(x) for x, w in zip(samples, weights, strict=True)]
    )
    sizes = np.array([len(x) for x in samples])
    if not parts.any():
        return mean, mean, mean, float(sizes.sum() - len(sizes))
    freedom = float(parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum())
    half = float(t.ppf(0.5 + level / 2, freedom) * np.sqrt(parts.sum()))
    return mean, mean - half, mean + half, freedom


def unpaired(first: Array, second: Array, level: float = 0.95) -> tuple[float, float, float]:
    """Return the difference of the means of two independent samples and its interval (Welch).

    Examples
    --------
    >>> unpaired(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0]))
    (1.0, -1.26..., 3.26...)
    """
    return contrast([first, second], [1.0, -1.0], level)[:3]


def power(
    effect: float,
    half: float,
    freedom: float,
    *,
    above: float | None = None,
    below: float | None = None,
    level: float = 0.95,
) -> float:
    """Return how likely the interval of a mean lies between two ends if the mean is ``effect``.

    With standard error e, quantile t of Student's distribution with d degrees of freedom and
    q^2 = chi^2_d / d, a new interval has its centre at N(effect, e^2) and the half width t e q, so

        power = E_q max(0, Phi((below - effect) / e - t q) - Phi((above - effect) / e + t q)).

    Parameters
    ----------
    effect : float
        The true value.
    half : float
        Half the width of the observed interval, from which e = half / t.
    freedom : float
        Degrees of freedom: of n runs, n - 1.
    above, below : float, optional
        The ends; None where there is none.
    level : float
        Of the interval.

    Examples
    --------
    >>> round(power(0.05, 0.05, 9, above=0.0), 2), round(power(0.05, 0.02, 9, above=0.0), 2)
    (0.52, 1.0)
    >>> power(0.5, 0.0, 9, above=0.0, below=1.0), power(0.0, 0.0, 9, above=0.0)
    (1.0, 0.0)
    """
    from scipy.stats import norm, t

    low, high = -np.inf if above is None else above, np.inf if below is None else below
    if half == 0.0:
        return float(low < effect < high)
    quantile = float(t.ppf(0.5 + level / 2, freedom))
    error = half / quantile
    width = quantile * _spreads(freedom)
    inside = norm.cdf((high - effect) / error - width) - norm.cdf((low - effect) / error + width)
    return float(np.maximum(inside, 0.0).mean())


def joint_power(
    samples: Array,
    effect: float,
    *,
    above: float | None = None,
    below: float | None = None,
    level: float = 0.95,
) -> float:
    """Return how likely the intervals of several means all lie between two ends.

    Each true mean is ``effect``. Columns of ``samples`` (n, k) are observed in the same runs, so
    that they are correlated: their joint power is simulated, with normal runs of the observed
    covariance. With few runs chance correlations make it a few hundredths too high.

    Examples
    --------
    The same comparison twice, and two that have nothing to do with each other:

    >>> x = np.array([1.0, -1.0, 1.0, -1.0, 0.0])
    >>> y = np.array([1.0, 1.0, -1.0, -1.0, 0.0])
    >>> single = joint_power(x[:, None], 1.0, above=0.0)
    >>> twice, both = (joint_power(np.stack([x, z], axis=1), 1.0, above=0.0) for z in (x, y))
    >>> round(twice - single, 1), round(both - single**2, 1), both < twice
    (0.0, 0.0, True)
    """
    from scipy.stats import t

    n, k = samples.shape
    covariance = np.atleast_2d(np.cov(samples, rowvar=False)) / n
    quantile = float(t.ppf(0.5 + level / 2, n - 1))
    if k == 1:
        half = quantile * float(np.sqrt(covariance[0, 0]))
        return power(effect, half, n - 1, above=above, below=below, level=level)
    low, high = -np.inf if above is None else above, np.inf if below is None else below
    # means, and the spreads between n new runs: n - 1 normal vectors each
    values, vectors = np.linalg.eigh(covariance)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    new = np.random.default_rng(0).standard_normal((_JOINT_DRAWS, n, k)) @ root
    means = effect + new[:, 0]
    half = quantile * np.sqrt(np.einsum("dnk,dnk->dk", new[:, 1:], new[:, 1:]) / (n - 1))
    return float(np.mean(np.all((means - half > low) & (means + half < high), axis=1)))


@cache
def _spreads(freedom: float) -> Array:
    """Return equally likely ratios of an estimated standard deviation to the true one."""
    from scipy.stats import chi2

    drawn = (np.arange(_DRAWS) + 0.5) / _DRAWS
    return np.asarray(np.sqrt(chi2.ppf(drawn, freedom) / freedom))
