"""The graph step over candidate pairs: solutions in the units of the problem that was asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgl._types import Array
from kgl.solvers.newton import check_reach
from kgl.solvers.sparse.dual import DualPoint, FrobeniusDual, LogDegreeDual, newton
from kgl.solvers.sparse.pool import PairPool

__all__ = ["Solution", "solve_frobenius", "solve_log_degree"]

#: Share of the mean slack of an edge by which ceilings are put above levels.
_MARGIN = 0.5
#: As in :mod:`kgl.solvers.log_degree`: distance to the nearest neighbour, in units of
#: sqrt(2 psi beta), above which psi is negligible; steps before potentials get a new base.
_FARTHEST = 1e5
_RECENTRE = 40
_MAX_BASES = 3


@dataclass
class Solution:
    """The solution over candidate pairs.

    Attributes
    ----------
    edges : array of int (e,)
        Keys of the candidates that are edges.
    weights : array (e,)
        Their weights.
    degrees : array (m,)
        Sums of weights.
    potentials : array (m,)
        u, in units of weights: the score of a pair is ``(u_i + u_j - c_ij) / 2``.
    shift : float
        ``c = cost / (2 psi) - shift``.
    levels, margin : array (m,)
        The same potentials in units of costs, and how far above them ceilings are put.
    dual : array
        What a similar problem may start from.
    n_steps : int
        Newton steps.
    """

    edges: np.ndarray
    weights: Array
    degrees: Array
    potentials: Array
    shift: float
    levels: Array
    margin: Array
    dual: Array
    n_steps: int


def solve_frobenius(
    pool: PairPool, psi: float, degrees: Array | None, tol: float, max_steps: int
) -> Solution:
    """Solve the problem with a trace constraint over the candidates."""
    if not len(pool.cost):
        check_reach(np.array([[np.inf]]))
    smallest = float(pool.cost.min())
    check_reach(np.array([[smallest]]))
    half_inverse = 0.5 / psi
    rows, cols = pool.pairs
    problem = FrobeniusDual(rows, cols, (pool.cost - smallest) * half_inverse, pool.m)
    start = problem.start(np.ones(pool.m) if degrees is None else degrees)
    point, n_steps = newton(problem, start, tol, max_steps)
    potentials = 0.5 * point.dual[-1] - point.dual[:-1]
    mean_slack = float(point.slack.mean()) if len(point.slack) else 1.0
    margin = np.full(pool.m, _MARGIN * mean_slack * psi * 2.0)
    # levels lose digits where costs are large beside the weights; the margin covers that
    levels = 2.0 * psi * potentials + 0.5 * smallest
    shift = smallest * half_inverse
    margin += 16.0 * np.finfo(float).eps * (np.abs(levels) + smallest)
    return Solution(
        pool.keys[point.active], 0.5 * point.slack, point.degrees, potentials, shift,
        levels, margin, point.dual, n_steps,
    )  # fmt: skip


def solve_log_degree(
    pool: PairPool, psi: float, barrier: float, degrees: Array | None, tol: float, max_steps: int
) -> Solution:
    """Solve the problem with a log-degree barrier over the candidates."""
    half_inverse = 0.5 / psi
    unit = float(np.sqrt(barrier * half_inverse))
    rows, cols = pool.pairs
    cost = pool.cost * (half_inverse / unit)
    nearest = _smallest(rows, cols, cost, pool.m)
    check_reach(nearest[None])
    excess = max(float(nearest.min()) / _FARTHEST, 1.0)
    cost /= excess
    unit /= excess
    base = None
    if degrees is not None and (degrees > 0).all():
        base = (barrier * half_inverse / unit / excess / excess) / degrees
    point, base, n_steps = _newton_from(rows, cols, cost, nearest / excess, base, tol, max_steps)
    # scores of missing pairs are those of the psi that was asked for
    potentials = (base + point.dual) * (unit * excess * excess)
    scale = 2.0 * psi * unit * excess * excess
    mean_slack = 2.0 * point.degrees / np.maximum(_counts(rows, cols, point.active, pool.m), 1.0)
    return Solution(
        pool.keys[point.active], 0.5 * unit * point.slack, unit * point.degrees, potentials, 0.0,
        2.0 * psi * potentials, scale * _MARGIN * mean_slack, potentials, n_steps,
    )  # fmt: skip


def _counts(rows: np.ndarray, cols: np.ndarray, active: np.ndarray, m: int) -> np.ndarray:
    """Return the number of edges of each node."""
    return np.bincount(rows[active], minlength=m) + np.bincount(cols[active], minlength=m)


def _smallest(rows: np.ndarray, cols: np.ndarray, cost: Array, m: int) -> Array:
    """Return the smallest cost of the pairs of each node, infinite where it has none."""
    out = np.full(m, np.inf)
    np.minimum.at(out, rows, cost)
    np.minimum.at(out, cols, cost)
    return out


def _newton_from(
    rows: np.ndarray,
    cols: np.ndarray,
    cost: Array,
    nearest: Array,
    base: Array | None,
    tol: float,
    max_steps: int,
) -> tuple[DualPoint, Array, int]:
    """Return the solution, the base it is measured from and the number of steps."""
    base = _start(rows, cols, cost, nearest) if base is None else base
    n_steps = 0
    for taken in range(0, min(max_steps, _MAX_BASES * _RECENTRE), _RECENTRE):
        problem = LogDegreeDual.around(rows, cols, cost, base)
        limit = min(_RECENTRE, max_steps - taken)
        point, steps = newton(problem, np.zeros_like(base), tol, limit)
        n_steps += steps
        if point.residual <= 100 * tol:
            break
        # a node far from where it started has lost its weights to cancellation: start there
        base = base + point.dual
        point.dual = np.zeros_like(base)
    return point, base, n_steps


def _start(rows: np.ndarray, cols: np.ndarray, cost: Array, nearest: Array) -> Array:
    """Return potentials near the solution, as the dense solver does."""
    quarter = 0.25 * nearest
    u = quarter + np.sqrt(quarter**2 + 1.0)
    decades = int(np.ceil(np.log10(max(float(np.median(quarter)) ** 2 / 10.0, 1.0))))
    for decade in range(decades, 0, -1):
        factor = 10.0 ** (0.5 * decade)
        eased = LogDegreeDual.around(rows, cols, cost / factor, u / factor)
        point, _ = newton(eased, np.zeros_like(u), 1e-4, 50)
        u = u + point.dual * factor
    return np.asarray(u)
