"""Judge a sparse graph over all pairs by other code than the solver's: double precision, blocks.

Nothing of :mod:`kgl.solvers.sparse` is used. Distances come from inner products; the pairs that
these leave in doubt are looked at again from differences, in extended precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgl._types import Array

__all__ = ["Verdict", "judge"]

#: Violation, relative to the largest weight or degree, that counts.
_TOLERANCE = 1e-10


@dataclass
class Verdict:
    """What the check found.

    ``violated`` counts pairs that should be edges and are none, ``worst`` is the largest relative
    violation of the optimality conditions by any pair, and ``pairs`` is how many were looked at.
    """

    violated: int
    worst: float
    pairs: int


def judge(
    F: Array,
    weights: Any,
    psi: float,
    *,
    rho: float = 1.0,
    regularizer: str = "frobenius",
    barrier: float = 1.0,
    block: int = 512,
) -> Verdict:
    """Check the optimality conditions of one graph over all pairs of nodes.

    With ``v`` the price of a node, ``rho z + 4 psi w = v_i + v_j`` on the edges and
    ``rho z >= v_i + v_j`` elsewhere; ``v = beta / d`` for the log-degree problem and
    ``v = psi (t - 2 d)`` for the other, whose multiplier t is the mean over the edges.
    """
    F = np.asarray(F, dtype=float)
    weights = weights.tocsr()
    m = len(F)
    edges = weights.tocoo()
    i, j = edges.coords
    z = _distances(F, i, j)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    if regularizer == "frobenius":
        t = float(np.average(rho * z / (2 * psi) + 2 * edges.data + degrees[i] + degrees[j],
                             weights=edges.data))  # fmt: skip
        price = psi * (t - 2.0 * degrees)
        scale = np.full(m, psi * max(2.0 * edges.data.max(), degrees.max()))
        worst = abs(degrees.sum() - m) / m
    else:
        price = barrier / degrees
        scale, worst = price, 0.0
    gap = np.abs(rho * z + 4.0 * psi * edges.data - price[i] - price[j])
    worst = max(worst, float((gap / (scale[i] + scale[j])).max()))
    centred = F - F.mean(axis=0)
    squares = (centred**2).sum(axis=1)
    violated, worst_missing = 0, 0.0
    for b in range(0, m, block):
        own = np.arange(b, min(b + block, m))
        short = 2.0 * rho * (centred[own] @ centred[b:].T)
        short += (price - rho * squares)[b:]
        short += (price - rho * squares)[own, None]
        doubt = 1e-9 * (scale[own, None] + scale[b:] + rho * (squares[own, None] + squares[b:]))
        rows, cols = np.nonzero(short > -doubt)
        rows, cols = own[rows], cols + b
        use = (rows < cols) & (np.asarray(weights[rows, cols]).ravel() == 0)
        rows, cols = rows[use], cols[use]
        lacking = price[rows] + price[cols] - rho * _distances(F, rows, cols)
        lacking /= scale[rows] + scale[cols]
        violated += int(np.count_nonzero(lacking > _TOLERANCE))
        worst_missing = max(worst_missing, float(lacking.max(initial=0.0)))
    return Verdict(violated, max(worst, worst_missing), m * (m - 1) // 2)


def _distances(F: Array, rows: np.ndarray, cols: np.ndarray) -> Array:
    """Return squared distances from differences, added up in extended precision."""
    out = np.empty(len(rows))
    for b in range(0, len(rows), 4096):
        difference = (F[rows[b : b + 4096]] - F[cols[b : b + 4096]]).astype(np.longdouble)
        out[b : b + 4096] = (difference**2).sum(axis=1)
    return out
