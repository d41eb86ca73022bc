r"""Edges, one at a time, given everything but the signals, which are integrated out.

Rows of data come in groups g of :math:`n_g` rows with noise variance :math:`v_g` each (one group
where observations are independent). With :math:`\Sigma = \Theta^{-1}` and the smoother
:math:`B_g = \Sigma (\Sigma + v_g I)^{-1}`, a pair with difference vector b has

* r = b' Sigma b, the variance of its difference before the data (the effective resistance),
* h_g = v_g b' B_g b, the variance of that difference after the data,
* t_g = b' M_g b, the squared smoothed difference, :math:`M_g = B_g S_g B_g`, with S_g the second
  moments of the data.

Changing its weight by d is a rank-one change of Theta, and changes the log likelihood by

.. math::
    \sum_g \frac{n_g}{2} \log\frac{1 + d r}{1 + d h_g} - \frac{t_g}{2} \frac{d}{1 + d h_g}.

So the conditional distribution of a weight is one-dimensional: it is integrated, not approximated,
over a grid that is uniform in log(1 + d r), where its width hardly depends on the weight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln

from kgl._types import Array
from kgl.bayesian import compiled

__all__ = [
    "EdgeSweep",
    "Groups",
    "Odds",
    "Slab",
    "conditional",
    "draw_pairs",
    "gamma_factor",
    "windows",
]

Indices: TypeAlias = NDArray[np.intp]

#: Cells of the grid that conditional distributions are integrated over, and of the one that finds
#: where they are.
CELLS, COARSE = 24, 14
#: What is this much below the largest log density is left out.
NEGLIGIBLE = 12.0
#: Weights above this multiple of the largest scale of their distribution have no mass.
REACH = 8.0
#: Matrices up to this size are small.
SMALL = 40

# Cells are uniform in the square root of the distance from the lower end: where that is zero, the
# density rises from there, and the midpoint rule is exact to many digits in the root.
_ROOTS = (np.arange(CELLS) + 0.5) / CELLS
FINE, LOG_SLOPE = _ROOTS**2, np.log(2.0 * _ROOTS)
_COARSE = (np.arange(COARSE) + 0.5) / COARSE


@dataclass
class Groups:
    """Second moments of groups of rows, for every chain.

    Attributes
    ----------
    counts : array (G,)
        Rows of each group.
    noise : array (chains, G)
        Noise variances.
    moments : array (chains, G, m, m) or (1, G, m, m)
        Sums of outer products of rows.
    """

    counts: Array
    noise: Array
    moments: Array


class EdgeSweep:
    """Matrices that a sweep over the pairs keeps up to date.

    Parameters
    ----------
    values, vectors : array (chains, m), array (chains, m, m)
        Eigendecomposition of Theta.
    groups : Groups
        The data.
    """

    def __init__(self, values: Array, vectors: Array, groups: Groups) -> None:
        self.counts = groups.counts
        self.noise = groups.noise.T.copy()  # (G, chains)
        G, (C, m) = len(groups.counts), values.shape
        back = vectors.swapaxes(1, 2)
        # covariance, smoothers, smoothed moments: one stack, so that columns are read in one call
        self.stack = np.empty((1 + 2 * G, C, m, m))
        self.stack[0] = (vectors / values[:, None]) @ back
        for g in range(G):
            smooth = (vectors / (1.0 + self.noise[g][:, None] * values)[:, None]) @ back
            self.stack[1 + g] = smooth
            self.stack[1 + G + g] = smooth @ groups.moments[:, g] @ smooth
        # factors of a change of rank two, and room for it
        self.left, self.right = np.zeros((1 + 2 * G, C, m, 2)), np.zeros((1 + 2 * G, C, 2, m))
        self.work = np.empty_like(self.stack if m <= SMALL else self.stack[:, 0])

    def all_pairs(self, rows: Indices, cols: Indices) -> tuple[Array, Array, Array]:
        """Return r (chains, pairs), h and t (G, chains, pairs) of all pairs."""
        quad = (
            self.stack[:, :, rows, rows]
            + self.stack[:, :, cols, cols]
            - 2.0 * self.stack[:, :, rows, cols]
        )
        G = len(self.counts)
        return quad[0], quad[1 : 1 + G] * self.noise[:, :, None], quad[1 + G :]

    def columns(self, i: int, j: int) -> tuple[Array, Array, Array, Array]:
        """Return the columns (1 + 2G, chains, m) of a pair, and its r, h and t."""
        columns = self.stack[:, :, i] - self.stack[:, :, j]
        quad = columns[:, :, i] - columns[:, :, j]
        G = len(self.counts)
        return columns, quad[0], quad[1 : 1 + G] * self.noise, quad[1 + G :]

    def change(self, change: Array, columns: Array, r: Array, h: Array, t: Array) -> None:
        """Add to the weight of a pair, a number for each chain; the rest is as from ``columns``."""
        G = len(self.counts)
        step = self.noise * change / (1.0 + change * h)
        left, right = self.left, self.right
        left[0, ..., 0] = columns[0] * (change / (1.0 + change * r))[:, None]
        left[1 : 1 + G, ..., 0] = left[1 + G :, ..., 0] = columns[1 : 1 + G] * step[..., None]
        right[: 1 + G, :, 0] = columns[: 1 + G]
        # M' = M - step (s u' + u s') + step^2 t u u', as a product and its transpose
        half = columns[1 + G :] - (0.5 * step * t)[..., None] * columns[1 : 1 + G]
        right[1 + G :, :, 0] = left[1 + G :, ..., 1] = half
        right[1 + G :, :, 1] = left[1 + G :, ..., 0]
        # small matrices are changed in all chains at once, large ones where there is a change
        if self.work.ndim == self.stack.ndim:
            self.stack -= np.matmul(left, right, out=self.work)
            return
        for chain in np.flatnonzero(change):
            self.stack[:, chain] -= np.matmul(left[:, chain], right[:, chain], out=self.work)


def without_own(w: Array, r: Array, h: Array, t: Array) -> tuple[Array, Array, Array]:
    """Return r, h and t of a pair as they are when its own weight w is zero."""
    left = np.maximum(1.0 - w * h, compiled.TINY)
    return r / np.maximum(1.0 - w * r, compiled.TINY), h / left, t / left**2


@dataclass
class Slab:
    r"""The distribution of the weight d of an edge given other weights, its rate integrated out.

    Its density is that of :math:`d^{a - 1} (T + d)^{-p}` up to a constant, which is
    :math:`T^{p - a} \Gamma(p) / (\Gamma(p - a) \Gamma(a))`.

    Attributes
    ----------
    shape : float
        The shape a of weights given their rate.
    total, power : array (...)
        T, the prior's offset and the sum of the other weights; and p.
    factor : array (...)
        The logarithm of the constant's ratio of Gamma functions, see :func:`gamma_factor`.
    """

    shape: float
    total: Array
    power: Array
    factor: Array

    def log_constant(self) -> Array:
        """Return the logarithm of the constant."""
        return np.asarray((self.power - self.shape) * np.log(self.total) + self.factor)


def gamma_factor(power: Array, shape: float) -> Array:
    r"""Return :math:`\log (\Gamma(p) / (\Gamma(p - a) \Gamma(a)))`."""
    return np.asarray(gammaln(power) - gammaln(power - shape) - math.lgamma(shape))


def log_density(
    x: Array, r: Array, h: Array, t: Array, counts: Array, slab: Slab
) -> tuple[Array, Array]:
    """Return the log density of x = log(1 + d r) on a grid, and the weights d.

    ``x`` is (..., cells); r and the slab's arrays are (...), h and t are (G, ...). The constant of
    the slab is left out.
    """
    d = np.exp(x)
    d -= 1.0
    d /= r[..., None]
    # d is 0 where x is below rounding; such cells have no mass unless the slab has some at 0
    value = (1.0 + 0.5 * counts.sum()) * x
    value -= np.log(r)[..., None]
    work = slab.total[..., None] + d
    np.log(work, out=work)
    work *= slab.power[..., None]
    value -= work
    if slab.shape != 1.0:
        np.maximum(d, 1e-300, out=work)
        np.log(work, out=work)
        if slab.shape != 2.0:
            work *= slab.shape - 1.0
        value += work
    for n, own, squares in zip(counts, h, t, strict=True):
        left = d * own[..., None]
        left += 1.0
        np.log(left, out=work)
        work *= 0.5 * n
        value -= work
        np.divide(d, left, out=left)
        left *= (0.5 * squares)[..., None]
        value -= left
    return value, d


def windows(
    w: Array, r: Array, h: Array, t: Array, counts: Array, slab: Slab
) -> tuple[Array, Array]:
    """Return where, in log(1 + d r), conditional distributions of pairs are: two arrays.

    Arguments are those of :func:`conditional`, for all pairs: the last axis of w, r, h and t. The
    ends are wide enough to serve while other weights change during a sweep.
    """
    r, h, t = without_own(w, r, h, t)
    # The likelihood is a bounded factor beyond the largest of its own scales, n / t and 1 / h, and
    # of the slab's, T / p. In the logarithm the slab's tail is steep enough from there on.
    scale = (slab.total / slab.power) * (0.5 * counts.sum() + slab.shape)
    top = np.log1p(REACH * scale * r)
    value, _ = log_density(top[..., None] * _COARSE, r, h, t, counts, slab)
    kept = value > value.max(axis=-1, keepdims=True) - NEGLIGIBLE
    first = kept.argmax(axis=-1)
    last = COARSE - 1 - kept[..., ::-1].argmax(axis=-1)
    low = np.maximum(first - 1, 0) / COARSE * top
    return low, np.minimum(last + 2, COARSE) / COARSE * top


def conditional(
    w: Array,
    r: Array,
    h: Array,
    t: Array,
    counts: Array,
    slab: Slab,
    low: Array,
    high: Array,
    uniform: Array,
) -> tuple[Array, Array, Array]:
    """Return log Bayes factor, mean weight and a drawn weight of a pair that is an edge.

    Parameters
    ----------
    w, r : array (chains,)
        Present weight, and variance of the difference given it.
    h, t : array (G, chains)
        Variance and squared difference after smoothing, given it.
    counts : array (G,)
        Rows of the groups.
    slab : Slab
        Of the weight, given the others.
    low, high : array (chains,)
        Where the distribution is, see :func:`windows`.
    uniform : array (chains,)
        Random numbers from (0, 1), by which a weight is drawn.
    """
    r, h, t = without_own(w, r, h, t)
    width = high - low
    x = width[:, None] * FINE
    x += low[:, None]
    mass, d = log_density(x, r, h, t, counts, slab)
    mass += LOG_SLOPE
    top = np.maximum.reduce(mass, axis=1)
    mass -= top[:, None]
    np.exp(mass, out=mass)
    total = np.add.accumulate(mass, axis=1)
    whole = total[:, -1]
    factor = top + np.log(whole * width / CELLS) + slab.log_constant()
    aim = uniform * whole
    cell = np.minimum(np.add.reduce(total < aim[:, None], axis=1), CELLS - 1)
    chains = np.arange(len(w))
    inside = 1.0 - (total[chains, cell] - aim) / mass[chains, cell]
    drawn = np.expm1(low + ((cell + inside) / CELLS) ** 2 * width) / r
    return factor, np.vecdot(mass, d) / whole, drawn


@dataclass
class Odds:
    """Log odds of edges before the data.

    Attributes
    ----------
    fixed : array (chains, pairs)
        Log odds, given everything else. Not used with ``beta``.
    beta : array (2,), or empty
        Parameters of the density's distribution, where the density is integrated out.
    """

    fixed: Array
    beta: Array

    def of(self, e: int, others: Array) -> Array:
        """Return the log odds (chains,) of a pair, given the number of other edges."""
        if not len(self.beta):
            return np.asarray(self.fixed[:, e])
        return np.asarray(self._table[others])

    @cached_property
    def _table(self) -> Array:
        """Log odds by the number of other edges."""
        a, b = self.beta
        pairs = self.fixed.shape[1]
        others = np.arange(float(pairs))
        return np.asarray(np.log((a + others) / (b + pairs - 1.0 - others)))


def draw_pairs(
    sweep: EdgeSweep, weights: Array, ends: tuple[Indices, Indices], order: Indices, random: Array,
    slab: Slab, odds: Odds, inclusion: Array, means: Array, fast: bool | None = None,
) -> None:  # fmt: skip
    """Draw the weights of all pairs, one after the other, in place.

    Parameters
    ----------
    sweep : EdgeSweep
        The matrices; kept up to date.
    weights, inclusion, means : array (chains, pairs)
        Present weights, and where their probability and mean go.
    ends, order : arrays of int (pairs,)
        Ends of the pairs, and the order of the sweep.
    random : array (pairs, 2, chains)
        Random numbers from (0, 1).
    slab : Slab
        ``total`` (chains,) includes all weights; ``power`` and ``factor`` (pairs,) are by number
        of other edges.
    odds : Odds
        Of the edges.
    fast : bool, optional
        Whether the loop of :mod:`kgl.bayesian.compiled` runs; by default where it is compiled.
    """
    rows, cols = ends
    counts = sweep.counts
    count, total = (weights > 0).sum(axis=1), slab.total.copy()
    # of all pairs at once, each without its own weight
    others = count[:, None] - (weights > 0)
    alone = Slab(slab.shape, total[:, None] - weights, slab.power[others], slab.factor[others])
    fast = compiled.available() if fast is None else fast
    if fast:
        low, high = np.empty_like(weights), np.empty_like(weights)
        compiled.all_windows(
            weights, *sweep.all_pairs(rows, cols), counts, slab.shape, alone.total, alone.power,
            REACH, NEGLIGIBLE, _COARSE, low, high,
        )  # fmt: skip
        stack = np.ascontiguousarray(sweep.stack.swapaxes(0, 1))
        compiled.sweep_pairs(
            stack, counts, sweep.noise.T.copy(), weights, rows, cols, order, random, low, high,
            slab.shape, total, slab.power, slab.factor, odds.fixed, odds.beta, inclusion, means,
            FINE, LOG_SLOPE,
        )  # fmt: skip
        sweep.stack = stack.swapaxes(0, 1)
        return
    low, high = windows(weights, *sweep.all_pairs(rows, cols), counts, alone)
    for e in order:
        own = weights[:, e].copy()
        count -= own > 0
        other = Slab(slab.shape, total - own, slab.power[count], slab.factor[count])
        columns, r, h, t = sweep.columns(rows[e], cols[e])
        factor, mean, drawn = conditional(
            own, r, h, t, counts, other, low[:, e], high[:, e], random[e, 1]
        )
        p = expit(odds.of(e, count) + factor)
        inclusion[:, e] = p
        means[:, e] = p * mean
        new = drawn * (random[e, 0] < p)
        change = new - own
        count += new > 0
        if change.any():
            sweep.change(change, columns, r, h, t)
            weights[:, e] = new
            total += change
