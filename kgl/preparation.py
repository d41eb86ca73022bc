"""Preparing raw data: node means and scales are taken out before the fit and put back after it.

The models have no intercept, and their smoothness term compares values across nodes: on raw data
they link nodes of similar level. So by default every node is centred by its own mean and divided by
its own standard deviation, both of its observed entries. Hyperparameters then mean the same
whatever the units. Where values grow by factors (:mod:`kgl.skewness`), the graph is learned from
logarithms; signals are fitted to the values as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgl._threads import quiet
from kgl._types import Array
from kgl._validation import check_option
from kgl.kernels import KernelEigen
from kgl.skewness import log_origins

__all__ = ["CENTERS", "SCALES", "Preparation", "warn_if_levels_dominate", "warn_of_levels"]

#: What is subtracted: each node's mean, those of nodes and observations, or nothing.
CENTERS = ("node", "both", "none")
#: What is divided by: each node's standard deviation, that of all entries, or nothing.
SCALES = ("node", "common", "none")
#: A node is constant if its standard deviation is this share of its largest entry, or less.
CONSTANT = 1e-12
#: Sweeps over rows and columns at most, and what they may still change, relative to the scale.
SWEEPS, SETTLED = 200, 1e-12
#: Ridges that the levels of new nodes are smoothed with, relative to how much the kernel varies.
RIDGES = np.logspace(-4, 3, 15)


@dataclass(frozen=True)
class Preparation:
    """Means of observations and nodes, and scales of nodes.

    Attributes
    ----------
    rows : array (n,)
        Subtracted from observations; zero unless both sides are centred.
    columns : array (m,)
        Subtracted from nodes.
    scale : array (m,)
        Positive; nodes are divided by it.
    origin, least : array (m,) or None
        Where logarithms are taken, what is subtracted from each node before, and the smallest
        difference that is used: smaller ones are raised to it.
    """

    rows: Array
    columns: Array
    scale: Array
    origin: Array | None = None
    least: Array | None = None

    @classmethod
    def fit(
        cls,
        values: Array,
        mask: np.ndarray | None,
        center: Any = "node",
        scale: Any = "node",
        log: Any = False,
    ) -> Preparation:
        """Estimate means and scales from the observed entries.

        Parameters
        ----------
        values : array (n, m)
            The data, with any number where entries are missing.
        mask : bool array (n, m) or None
            True where observed; None if complete.
        center, scale : str
            One of :data:`CENTERS` and of :data:`SCALES`.
        log : {"auto", True, False}
            Whether to take logarithms first: see :func:`kgl.skewness.log_origins`.

        Examples
        --------
        >>> Y = np.array([[1.0, 10.0], [3.0, 30.0]])
        >>> ready = Preparation.fit(Y, None)
        >>> ready.apply(Y)
        array([[-1., -1.],
               [ 1.,  1.]])
        >>> ready.undo(ready.apply(Y))
        array([[ 1., 10.],
               [ 3., 30.]])
        """
        check_option("center", center, CENTERS)
        check_option("scale", scale, SCALES)
        n, m = values.shape
        seen = np.ones(values.shape, dtype=bool) if mask is None else mask
        origin, least = log_origins(values, seen, log)
        values = _logs(values, origin, least)
        rows, columns = np.zeros(n), np.zeros(m)
        if center == "node":
            columns = _means(values, seen, axis=0)
        elif center == "both":
            rows, columns = _two_way(values, seen)
        left = np.where(seen, values - rows[:, None] - columns, 0.0)
        size = _root_mean_squares(left, seen)
        largest = np.abs(np.where(seen, values, 0.0)).max(axis=0)
        common = 1.0
        if scale == "common":
            entries = left.reshape(-1, 1)
            common = float(_root_mean_squares(entries, seen.reshape(-1, 1))[0])
        divisor = _divisors(size, largest, common, scale)
        return cls(rows, columns, divisor, origin, least)

    @classmethod
    def of_moments(
        cls, mean: Array, size: Array, largest: Array, n_rows: int, scale: str
    ) -> Preparation:
        """Return the preparation of ``n_rows`` rows of which only moments are known.

        Parameters
        ----------
        mean : array (m,)
            What is subtracted from nodes.
        size : array (m,)
            Root mean squares of what is left of the nodes.
        largest : array (m,)
            Largest absolute entries.
        n_rows : int
            Rows that the preparation is for.
        scale : str
            One of :data:`SCALES`.
        """
        common = float(np.sqrt(np.mean(size**2)))
        return cls(np.zeros(n_rows), mean, _divisors(size, largest, common, scale))

    @property
    def changes(self) -> bool:
        """Whether anything is done to the data."""
        if self.origin is not None:
            return True
        return bool(self.rows.any() or self.columns.any() or (self.scale != 1.0).any())

    def apply(self, values: Array, mask: np.ndarray | None = None) -> Array:
        """Return prepared data, zero where entries are missing."""
        if not self.changes:
            return values
        values = _logs(values, self.origin, self.least)
        ready = (values - self.rows[:, None] - self.columns) / self.scale
        return ready if mask is None else np.where(mask, ready, 0.0)

    def undo(self, signals: Array) -> Array:
        """Return signals (..., n, m) in the units of the data, or of its logarithms."""
        if not self.changes:
            return signals
        return np.asarray(signals * self.scale + self.columns + self.rows[:, None])

    def for_observations(self, n: int) -> Preparation:
        """Return the preparation of ``n`` new observations, which have no mean of their own."""
        return replace(self, rows=np.zeros(n))

    def for_nodes(self, kernel: KernelEigen, cross: Array, white: float = 0.0) -> Preparation:
        """Return the preparation of new nodes: levels and scales as those of similar nodes are.

        They are interpolated by kernel ridge regression, with the ridge that generalised
        cross-validation chooses. ``cross`` is the kernel between new and fitted nodes, and
        ``white`` what the kernel of the fit has on its diagonal besides.
        """
        columns = _smoothed(self.columns, kernel, cross, white)
        scale = np.exp(_smoothed(np.log(self.scale), kernel, cross, white))
        return replace(self, columns=columns, scale=scale)


def _divisors(size: Array, largest: Array, common: float, scale: str) -> Array:
    """Return what nodes are divided by: 1 for those that are constant."""
    if scale == "node":
        return np.where(size <= CONSTANT * largest, 1.0, size)
    if scale == "common":
        return np.full(len(size), common if common > 0 else 1.0)
    return np.ones(len(size))


def _logs(values: Array, origin: Array | None, least: Array | None) -> Array:
    """Return logarithms from the origin on, or the values where there is none."""
    if origin is None or least is None:
        return values
    return np.asarray(np.log(np.maximum(values - origin, least)))


def _means(values: Array, seen: np.ndarray, axis: int) -> Array:
    """Return means of observed entries, zero where there are none."""
    count = np.maximum(seen.sum(axis=axis), 1)
    return np.asarray(np.where(seen, values, 0.0).sum(axis=axis) / count)


def _root_mean_squares(values: Array, seen: np.ndarray) -> Array:
    """Return those of the columns; squares neither overflow nor vanish."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    unit = np.ldexp(1.0, np.frexp(largest)[1] - 1)  # a power of two: division by it is exact
    return np.asarray(unit * np.sqrt(_means((values / unit) ** 2, seen, axis=0)))


def _two_way(values: Array, seen: np.ndarray) -> tuple[Array, Array]:
    """Return the least-squares means of rows and columns; those of rows average to zero."""
    rows, columns = np.zeros(len(values)), _means(values, seen, axis=0)
    size = float(np.abs(np.where(seen, values - columns, 0.0)).max())
    for _ in range(SWEEPS):
        change = _means(values - rows[:, None] - columns, seen, axis=1)
        rows = rows + change
        columns = _means(values - rows[:, None], seen, axis=0)
        if np.abs(change).max() <= SETTLED * size:
            break
    middle = rows.mean()
    return rows - middle, columns + middle


def _smoothed(target: Array, kernel: KernelEigen, cross: Array, white: float) -> Array:
    """Return kernel ridge predictions at new nodes, about the mean of the target."""
    mean = float(target.mean())
    if not np.ptp(target):
        return np.full(len(cross), mean)
    weights = kernel.vectors.T @ (target - mean)
    outside = float(np.sum((target - mean) ** 2) - np.sum(weights**2))
    # what all nodes have in common is the mean of the target, so the rest of the kernel counts
    common = kernel.vectors.sum(axis=0)
    varied = float(kernel.values.sum() - np.sum(kernel.values * common**2) / len(target))
    varied += white * (len(target) - 1)
    ridges = RIDGES * max(varied, 1e-12 * float(kernel.values.sum())) / len(target)
    values = kernel.values + white
    left = ridges[:, None] / (values + ridges[:, None])  # share that is not fitted
    beyond = ridges / (white + ridges)  # the same outside the range of the kernel
    error = np.sum((left * weights) ** 2, axis=1) + max(outside, 0.0) * beyond**2
    freedom = left.sum(axis=1) + (len(target) - len(kernel.values)) * beyond
    best = ridges[int(np.argmin(error / freedom**2))]
    return np.asarray(mean + cross @ (kernel.vectors @ (weights / (values + best))))


def warn_if_levels_dominate(
    values: Array, mask: np.ndarray | None, center: str, scale: str, names: Sequence[Any]
) -> None:
    """Warn of constant nodes, and of levels or scales that decide the graph."""
    own = Preparation.fit(values, mask, "node", "none")
    seen = np.ones(values.shape, dtype=bool) if mask is None else mask
    spread = _root_mean_squares(np.where(seen, values - own.columns, 0.0), seen)
    largest = np.abs(np.where(seen, values, 0.0)).max(axis=0)
    warn_of_levels(own.columns, spread, largest, center, scale, names)


def warn_of_levels(
    means: Array, spread: Array, largest: Array, center: str, scale: str, names: Sequence[Any]
) -> None:
    """Warn as :func:`warn_if_levels_dominate`, given means, deviations and largest entries."""
    if quiet():
        return
    constant = np.flatnonzero(spread <= CONSTANT * largest)
    if len(constant):
        which = ", ".join(repr(names[k]) for k in constant[:3])
        more = f" and {len(constant) - 3} more" if len(constant) > 3 else ""
        warnings.warn(
            f"column(s) {which}{more} of Y are constant: they carry no information on links, and "
            "their edges mean nothing; drop them",
            UserWarning,
            stacklevel=6,
        )
    largest_of_all = max(float(np.abs(means).max()), float(spread.max())) or 1.0
    levels, varied = means / largest_of_all, spread / largest_of_all
    if center == "none" and np.var(levels) > np.mean(varied**2):
        warnings.warn(
            "the means of the nodes differ more than the values of a node vary, so with "
            "center='none' nodes of similar level are linked; use center='node'",
            UserWarning,
            stacklevel=6,
        )
    positive = spread[spread > CONSTANT * largest]
    if scale != "node" and len(positive) and positive.max() > 30 * positive.min():
        warnings.warn(
            f"the nodes' standard deviations range from {positive.min():.3g} to "
            f"{positive.max():.3g}, so with scale={scale!r} nodes of small values are linked; use "
            "scale='node'",
            UserWarning,
            stacklevel=6,
        )
