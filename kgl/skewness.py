"""Values that grow by factors: whether logarithms suit a table better, and from which origin.

Incomes, prices and counts often vary by factors, so that the largest values decide every distance.
Their logarithms do not have this fault. Whether to take them must not depend on units, so the
origin of each node is found from the data: shifted or rescaled data give the same logarithms but
for a constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgl._types import Array

__all__ = ["CLEAR", "check_log", "log_fits", "log_origins"]

#: Gain in log likelihood per entry, in the median over the nodes, above which they suit.
CLEAR = 0.2
#: Share of entries at the smallest value above which a node has zeros rather than growth.
ZEROS = 0.1
#: Observed entries that a node needs to tell.
ENOUGH = 20
#: Quantiles that the origin is found from, with the median.
LOW, HIGH = 0.05, 0.95
#: Distance of the origin from the smallest entry, at least, relative to the median's distance.
GAP = 0.01


def check_log(log: Any) -> None:
    """Refuse what is neither "auto" nor True or False."""
    if not (isinstance(log, bool | np.bool_) or (isinstance(log, str) and log == "auto")):
        raise ValueError(f"log = {log!r} is not an option; use 'auto', True or False")


def log_origins(values: Array, seen: np.ndarray, log: Any) -> tuple[Array | None, Array | None]:
    """Return what to subtract from each node before the logarithm, and the least difference.

    Parameters
    ----------
    values : array (n, m)
        The data.
    seen : bool array (n, m)
        True where observed.
    log : {"auto", True, False}
        Logarithms where they clearly suit, always, or never. They suit where the likelihood of a
        normal distribution of the logarithms, densities compared in the units of the data, exceeds
        that of a normal distribution of the values by :data:`CLEAR` per entry, without the lowest
        and the highest ones, in the median over nodes.

    Returns
    -------
    array (m,), array (m,)
        Origins and the least values of ``values - origin`` to be used; None without logarithms.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> growth = np.exp(rng.normal(size=(100, 3)))
    >>> log_origins(growth, np.ones((100, 3), bool), "auto")[0].round(1) + 0.0
    array([0.1, 0. , 0. ])
    >>> log_origins(rng.normal(size=(100, 3)), np.ones((100, 3), bool), "auto")
    (None, None)
    """
    check_log(log)
    if not log:
        return None, None
    origin, least, gains = log_fits(values, seen)
    if isinstance(log, str) and not np.median(gains) > CLEAR:
        return None, None
    return origin, least


def log_fits(values: Array, seen: np.ndarray) -> tuple[Array, Array, Array]:
    """Return origin, least difference and gain of logarithms of every node, each by itself.

    Parameters are those of :func:`log_origins`.
    """
    m = values.shape[1]
    origin, least, gains = np.full(m, -1.0), np.ones(m), np.zeros(m)
    if not len(values):
        return origin, least, gains
    largest = np.where(seen, values, -np.inf).max(axis=0)
    smallest = np.where(seen, values, np.inf).min(axis=0)
    known = np.flatnonzero(seen.any(axis=0))
    # any: there is nothing to tell apart
    origin[known] = smallest[known] - 1.0
    known = known[largest[known] > smallest[known]]
    if len(known):
        # in units of the span, so that no square of a large or small number is taken
        span = largest[known] - smallest[known]
        start, nearest, gain = _lognormal(values[:, known] / span, seen[:, known])
        origin[known], least[known] = span * start, span * nearest
        gains[known] = np.where(seen[:, known].sum(axis=0) >= ENOUGH, gain, 0.0)
    return origin, least, gains


def _lognormal(own: Array, seen: np.ndarray) -> tuple[Array, Array, Array]:
    """Return origins of nodes (n, k), the least difference from each, and the gains of logarithms.

    Of the lower quantile, the median and the upper quantile, the logarithms are to be equally far
    apart. Where the upper half is not the longer one no origin does that: the origin is then far
    below, where logarithms are nearly linear.
    """
    own = np.where(seen, own, np.inf)
    count = seen.sum(axis=0)
    ordered = np.sort(own, axis=0)
    low, middle, high = (_quantile(ordered, count, share) for share in (LOW, 0.5, HIGH))
    smallest = ordered[0]
    excess = low + high - 2.0 * middle
    span = np.maximum(high - low, ordered[count - 1, np.arange(len(count))] - smallest)
    longer = excess > 1e-3 * span
    # (low - c)(high - c) = (middle - c)^2, with all distances from the middle
    meet = middle + (low - middle) * (high - middle) / np.where(longer, excess, 1.0)
    origin = np.where(longer, meet, middle - 1e3 * span)
    reach = np.maximum(middle - smallest, GAP * span)
    origin = np.minimum(origin, smallest - GAP * reach)
    # a few outlying values make no table one of growth
    usual = (own >= low) & (own <= high)
    largest = np.where(usual, own, -np.inf).max(axis=0)
    differ = largest > np.where(usual, own, np.inf).min(axis=0)
    known = differ & ((own == smallest).sum(axis=0) <= ZEROS * count)
    gain = np.zeros(own.shape[1])
    if known.any():
        where = usual[:, known]
        kept = np.where(where, own[:, known], smallest[known])
        logs = np.log(kept - origin[known])
        spread, of_logs = (np.var(values, axis=0, where=where) for values in (kept, logs))
        gain[known] = 0.5 * np.log(spread / of_logs) - np.mean(logs, axis=0, where=where)
    return origin, 0.1 * (smallest - origin), gain


def _quantile(ordered: Array, count: np.ndarray, share: float) -> Array:
    """Return a quantile of the first ``count`` entries of sorted columns, as NumPy has it."""
    at = share * (count - 1)
    below = np.floor(at).astype(int)
    columns = np.arange(len(count))
    a, b = ordered[below, columns], ordered[np.minimum(below + 1, count - 1), columns]
    t = at - below
    return np.asarray(np.where(t < 0.5, a + (b - a) * t, b - (b - a) * (1.0 - t)))
