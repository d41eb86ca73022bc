r"""All pairs that a level of costs reaches, found without looking at each in double precision.

Column generation asks for the pairs with :math:`\text{cost}_{ij} < v_i + v_j`. Costs are at least
:math:`\rho z_{ij}`, and :class:`kgl.solvers.sparse.features.Axes` bounds :math:`z_{ij}` from
below. Written out, the bound is an inner product of one vector per node,

.. math::
    2 x_i^\top x_j + 2 \tau_i \tau_j + (v_i / \rho - |h_i|^2) + (v_j / \rho - |h_j|^2) > 0,
    \qquad h = (x, \tau),

so a block of pairs is one matrix product in single precision. A product of vectors of length
:math:`n` is off by at most :math:`n u / (1 - n u)` times the product of the absolute values, with
:math:`u = 2^{-24}`; that bound goes into the vectors themselves, so no pair is lost to rounding.
Pairs that pass are looked at again in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgl._types import Array
from kgl.solvers.sparse.features import Axes, Features

__all__ = ["Screen"]

#: Rows and columns of a block: its products stay in the cache.
_ROWS, _COLS = 256, 4096
#: Relative costs, in one axis of a product of a pair: of the comparison, of a look in double
#: precision for each feature.
_COMPARE, _LOOK = 60.0, 60.0
_UNIT = 2.0**-24

Single: TypeAlias = NDArray[np.float32]


class Screen:
    """Finds the pairs below given levels.

    Parameters
    ----------
    features : Features
        The nodes.
    axes : Axes
        Their coordinates.
    rho : float
        Weight of a distance in the cost of a pair.
    """

    def __init__(self, features: Features, axes: Axes, rho: float) -> None:
        self.features = features
        self.axes = axes
        self.rho = rho
        self._n_axes: int | None = None

    def below(
        self, levels: Array, rows: np.ndarray | None, progress: Callable[[int, int], None] | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray, Array, np.ndarray | None]]:
        """Yield pairs i < j with ``rho z < v_i + v_j``: rows, columns, distances, signs.

        Parameters
        ----------
        levels : array (m,)
            The v.
        rows : array of int or None
            Pairs with at least one end among these; None for all pairs.
        progress : callable or None
            Called with the rows done and their number.
        """
        if self._n_axes is None:
            self._n_axes = self._choose(levels)
        left, right = self._vectors(levels, self._n_axes)
        m = len(levels)
        chosen = np.arange(m) if rows is None else rows
        inside = np.zeros(m, dtype=bool)
        inside[chosen] = True
        for b in range(0, len(chosen), _ROWS):
            own = chosen[b : b + _ROWS]
            first = b if rows is None else 0
            for i, j, sign in self._survivors(left, right, own, first):
                # each pair once: i < j, or the other end is no row of its own
                keep = (i < j) | ~inside[j]
                i, j = i[keep], j[keep]
                z, signs = self.features.distances(i, j)
                reached = self.rho * z < levels[i] + levels[j]
                if signs is not None:
                    reached &= signs == sign
                    signs = signs[reached]
                i, j = i[reached], j[reached]
                yield np.minimum(i, j), np.maximum(i, j), z[reached], signs
            if progress is not None:
                progress(min(b + _ROWS, len(chosen)), len(chosen))

    def _survivors(
        self, left: list[Single], right: Single, own: np.ndarray, first: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
        """Yield the pairs of some rows that the bound does not rule out, for each sign."""
        m = right.shape[1]
        for sign, vectors in zip((1, -1), left, strict=False):
            block = vectors[own]
            for c in range(first, m, _COLS):
                flat = np.flatnonzero(block @ right[:, c : c + _COLS] > 0.0)
                if len(flat):
                    i, j = np.divmod(flat, min(_COLS, m - c))
                    yield own[i], j + c, sign

    def _vectors(self, levels: Array, q: int) -> tuple[list[Single], Single]:
        """Return the vectors of the rows, for each sign, and of the columns, transposed."""
        axes = self.axes
        # rho scale^2 is the cost of a pair at distance one; both may be far from one
        level = levels / self.rho / axes.scale / axes.scale
        x, tail = axes.points[:, :q], axes.left_out(q)
        squares = tail + np.einsum("ij,ij->i", x, x)
        n = q + 4
        relative = 1.01 * (n + 4) * _UNIT + 2.0 * axes.error
        # twice the product of norms, and both offsets, are the sum of absolute values
        offset = level - squares + relative * (np.abs(level) + squares) + 1e-36
        # a common factor keeps the offsets within the range of single precision
        factor = min(1.0, 1e30 / float(np.abs(offset).max()))
        offset *= factor
        offset += 1e-36
        columns = [x, np.sqrt(tail)[:, None], np.sqrt(relative * squares)[:, None]]
        shared = np.sqrt(2.0) * np.hstack(columns)
        one = np.ones((len(x), 1))
        right = np.hstack([shared, one, offset[:, None]]).astype(np.float32)
        plus = np.hstack([factor * shared, offset[:, None], one]).astype(np.float32)
        left = [plus]
        if self.features.signed:
            minus = plus.copy()
            minus[:, :q] *= -1.0
            left.append(minus)
        return left, np.ascontiguousarray(right.T)

    def _choose(self, levels: Array) -> int:
        """Return the number of axes that makes the work least, by a trial on a few rows."""
        m, most = len(levels), self.axes.points.shape[1]
        own = np.random.default_rng(0).choice(m, min(m, 64), replace=False)
        best, least = most, np.inf
        q = min(8, most)
        while True:
            left, right = self._vectors(levels, q)
            passed = sum(len(i) for i, _, _ in self._survivors(left, right, own, 0))
            look = _LOOK * (self.features.values.shape[1] + 50.0)
            work = len(left) * (q + 4 + _COMPARE) + look * passed / (len(own) * m)
            if work < least:
                best, least = q, work
            if q == most or q > 2 * best:
                return best
            q = min(2 * q, most)
