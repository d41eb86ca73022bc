"""KKT residuals of sparse graphs, for the problem that was asked and from the weights alone.

The same figures as :func:`kgl.problem.kkt_residual` for the pairs that are candidates. Any other
pair was ruled out at the solver's potentials; how far these are from the potentials that the
weights imply bounds by how much it can be violated.
"""

from __future__ import annotations

import numpy as np

from kgl._types import Array
from kgl.solvers.sparse.pool import PairPool
from kgl.solvers.sparse.restricted import Solution, log_degree_violation, spread

__all__ = ["frobenius_residual", "log_degree_residual"]


def frobenius_residual(
    pool: PairPool, solution: Solution, psi: float, short: Array, *, outside: bool
) -> float:
    """Return the relative KKT residual of the problem with a trace constraint.

    Parameters
    ----------
    pool, solution, psi
        The candidates and the solution over them.
    short : array
        Shortfalls of violated pairs that are no candidates, in units of costs.
    outside : bool
        Whether pairs that are no candidates count.
    """
    w = spread(pool, solution)
    rows, cols = pool.pairs
    d, m = solution.degrees, pool.m
    scale = max(2.0 * float(w.max()), float(d.max()), float(np.finfo(float).tiny))
    gradient = (pool.cost - pool.cost.min()) / (2.0 * psi) + 2.0 * w + d[rows] + d[cols]
    on = w > 1e-9 * w.max()
    if not on.any():  # no weight that double precision can tell from none
        return float("inf")
    t = float(np.average(gradient[on], weights=w[on]))
    gap = float(np.abs(np.minimum(2.0 * w, gradient - t)).max())
    gap = max(gap, abs(float(d.sum()) - m) / m * scale)
    if outside:
        implied = 0.5 * t - d
        gap = max(gap, 2.0 * float(np.max(implied - solution.potentials, initial=0.0)))
    if len(short):
        gap = max(gap, float(short.max()) / (2.0 * psi))
    return gap / scale


def log_degree_residual(
    pool: PairPool, solution: Solution, psi: float, barrier: float, short: Array, *, outside: bool
) -> float:
    """Return the relative KKT residual of the log-degree problem; see above for parameters."""
    gap = log_degree_violation(pool, solution, psi, barrier)
    if not np.isfinite(gap):
        return gap
    v = barrier / solution.degrees
    if outside:
        gap = max(gap, float(np.max((v - solution.levels) / v, initial=0.0)))
    if len(short):
        gap = max(gap, float(short.max()) / (2.0 * float(v.min())))
    return gap
