r"""Nodes as points: distances of pairs, and bounds of all distances in single precision.

The distance of two nodes is :math:`z_{ij} = |f_i - f_j|^2`, or the smaller of that and
:math:`|f_i + f_j|^2` in signed graphs. Let :math:`Q` have orthonormal columns,
:math:`x = Q^\top (f - \mu)` and :math:`\tau = |(f - \mu) - Q x|`. Then

.. math:: z_{ij} \ge |x_i - x_j|^2 + (\tau_i - \tau_j)^2,

with few columns a cheap bound, and a sharp one where they are the leading principal axes. Signed
graphs need :math:`\mu = 0`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgl._types import Array

__all__ = ["Axes", "Features"]

#: Features up to which principal axes are found exactly; beyond, by iteration.
_EXACT = 512
#: Axes at most.
_MOST_AXES = 128
#: Numbers that a block of differences may have: they stay in the cache.
_BLOCK = 1 << 17


@dataclass
class Axes:
    """Coordinates of all nodes, in units in which the farthest node has norm 1.

    Attributes
    ----------
    points : array (m, p)
        Coordinates on orthonormal axes, the widest first.
    rest : array (m,)
        Squared norms of what these axes leave out.
    scale : float
        Length of the unit, in units of the features.
    error : float
        Bound of the rounding of distances in these coordinates, relative to the square of the sum
        of the norms of both nodes.
    """

    points: Array
    rest: Array
    scale: float
    error: float

    def left_out(self, q: int) -> Array:
        """Return squared norms of what the first ``q`` axes leave out."""
        beyond = self.points[:, q:]
        return self.rest + np.einsum("ij,ij->i", beyond, beyond)


class Features:
    """Rows ``f_i`` of a matrix (m, r), and distances between them."""

    def __init__(self, F: Array, *, signed: bool) -> None:
        self.values = np.ascontiguousarray(F, dtype=float)
        if self.values.ndim != 2 or len(self.values) < 2:
            raise ValueError(
                f"F has shape {self.values.shape}; pass one row of features for each of at least "
                "2 nodes"
            )
        if not np.isfinite(self.values).all():
            i, k = np.argwhere(~np.isfinite(self.values))[0]
            raise ValueError(f"F[{i}, {k}] is {self.values[i, k]}; features must be finite numbers")
        self.signed = signed

    def __len__(self) -> int:
        return len(self.values)

    def distances(self, rows: np.ndarray, cols: np.ndarray) -> tuple[Array, np.ndarray | None]:
        """Return distances of pairs, from differences in double precision, and their signs."""
        F = self.values
        out = np.empty(len(rows))
        signs = np.ones(len(rows), dtype=np.int8) if self.signed else None
        step = max(1, _BLOCK // max(1, F.shape[1]))
        for b in range(0, len(rows), step):
            part = slice(b, b + step)
            left, right = F[rows[part]], F[cols[part]]
            if signs is not None:
                both = left + right
                opposite = np.einsum("ij,ij->i", both, both)
            left -= right
            out[part] = np.einsum("ij,ij->i", left, left)
            if signs is not None:
                smaller = opposite < out[part]
                signs[part][smaller] = -1
                out[part][smaller] = opposite[smaller]
        return out, signs

    def axes(self) -> Axes:
        """Return coordinates on principal axes about a centre."""
        F = self.values
        # the median: one remote node must not move the centre away from all others
        centre = np.zeros(F.shape[1]) if self.signed else np.median(F, axis=0)
        G = F - centre
        # first the largest entry, so that squares neither overflow nor vanish
        largest = float(max(G.max(), -G.min())) or 1.0
        G /= largest
        farthest = float(np.sqrt(np.einsum("ij,ij->i", G, G).max())) or 1.0
        G /= farthest
        Q = _principal_axes(G)
        points = G @ Q
        rest = np.empty(len(G))
        step = max(1, _BLOCK // max(1, G.shape[1]))
        for b in range(0, len(G), step):
            left = G[b : b + step] - points[b : b + step] @ Q.T
            rest[b : b + step] = np.einsum("ij,ij->i", left, left)
        defect = float(np.linalg.norm(Q.T @ Q - np.eye(Q.shape[1])))
        error = 8.0 * (sum(Q.shape) + 8) * np.finfo(float).eps + defect
        return Axes(points, rest, largest * farthest, error)


def _principal_axes(G: Array) -> Array:
    """Return the leading orthonormal axes, the widest first."""
    r = G.shape[1]
    if r <= _EXACT:
        return np.ascontiguousarray(np.linalg.eigh(G.T @ G)[1][:, : -_MOST_AXES - 1 : -1])
    # subspace iteration: any orthonormal axes give a bound, good ones a sharp bound
    width = min(_MOST_AXES, *G.shape)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((r, width)))[0]
    for _ in range(3):
        Q = np.linalg.qr(G.T @ (G @ Q))[0]
    _, V = np.linalg.eigh(Q.T @ (G.T @ (G @ Q)))
    return np.ascontiguousarray(np.linalg.qr(Q @ V[:, ::-1])[0])
