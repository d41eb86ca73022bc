"""The graph step over candidate pairs: solutions in the units of the problem that was asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgl._types import Array
from kgl.solvers.newton import check_reach
from kgl.solvers.sparse.dual import DualPoint, FrobeniusDual, LogDegreeDual, newton
from kgl.solvers.sparse.interior import interior_point
from kgl.solvers.sparse.pool import PairPool

__all__ = ["Solution", "log_degree_violation", "solve_frobenius", "solve_log_degree", "spread"]

#: Share of the mean slack of an edge by which ceilings are put above levels.
_MARGIN = 0.5
#: As in :mod:`kgl.solvers.log_degree`: distance to the nearest neighbour, in units of
#: sqrt(2 psi beta), above which psi is negligible; ratio of the distances of the most remote and
#: the nearest node beyond which Newton is not tried; residual above which the interior-point method
#: has a try; steps before potentials get a new base.
_FARTHEST = 1e5
_WIDEST = 1e5
_ACCURATE = 1e-9
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


def spread(pool: PairPool, solution: Solution) -> Array:
    """Return the weights of all candidates."""
    w = np.zeros(len(pool.keys))
    w[np.searchsorted(pool.keys, solution.edges)] = solution.weights
    return w


def log_degree_violation(pool: PairPool, solution: Solution, psi: float, barrier: float) -> float:
    """Return by how much candidates violate the optimality conditions of the log-degree problem.

    As :func:`kgl.problem.kkt_residual` has it: from the weights alone, each pair in the units of
    its ends.
    """
    w, d = spread(pool, solution), solution.degrees
    if not (np.isfinite(w).all() and d.min() > 0.0):
        return float("inf") if np.isfinite(w).all() else float("nan")
    rows, cols = pool.pairs
    v = barrier / d
    pair = v[rows] + v[cols]
    slack = ((pool.cost - pair) + 4.0 * psi * w) / pair
    share = w / np.minimum(d[rows], d[cols])
    return float(np.abs(np.minimum(share, slack)).max())


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
    levels = 2.0 * psi * potentials + 0.5 * smallest
    shift = smallest * half_inverse
    return Solution(
        pool.keys[point.active], 0.5 * point.slack, point.degrees, potentials, shift,
        levels, margin, point.dual, n_steps,
    )  # fmt: skip


def solve_log_degree(
    pool: PairPool, psi: float, barrier: float, degrees: Array | None, tol: float, max_steps: int
) -> Solution:
    """Solve the problem with a log-degree barrier over the candidates.

    By Newton's method, and by an interior-point method where that falls short or the scales of the
    nodes are too far apart for it, as in :mod:`kgl.solvers.log_degree`.
    """
    rows, cols = pool.pairs
    nearest = _smallest(rows, cols, pool.cost, pool.m)
    check_reach(nearest[None])
    closest = float(nearest.min())
    wide = float(nearest.max()) > _WIDEST * max(closest, float(np.sqrt(2.0 * psi * barrier)))
    solution, residual, taken = None, np.inf, 0
    if not wide:
        solution = _by_newton(pool, psi, barrier, nearest, degrees, tol, max_steps)
        residual = log_degree_violation(pool, solution, psi, barrier)
        taken = solution.n_steps
    if solution is None or not residual <= _ACCURATE:
        other = _by_interior_point(pool, psi, barrier, nearest, max_steps)
        other.n_steps += taken
        # a first residual that is no number compares as false
        if not log_degree_violation(pool, other, psi, barrier) >= residual:
            return other
    assert solution is not None
    return solution


def _by_newton(
    pool: PairPool,
    psi: float,
    barrier: float,
    nearest: Array,
    degrees: Array | None,
    tol: float,
    max_steps: int,
) -> Solution:
    half_inverse = 0.5 / psi
    unit = float(np.sqrt(barrier * half_inverse))
    rows, cols = pool.pairs
    factor = half_inverse / unit
    excess = max(float(nearest.min()) * factor / _FARTHEST, 1.0)
    cost = pool.cost * (factor / excess)
    unit /= excess
    base = None
    if degrees is not None and (degrees > 0).all():
        base = (barrier * half_inverse / unit / excess / excess) / degrees
    near = nearest * (factor / excess)
    point, base, n_steps = _newton_from(rows, cols, cost, near, base, tol, max_steps)
    # scores of missing pairs are those of the psi that was asked for
    potentials = (base + point.dual) * (unit * excess * excess)
    weights, degrees = 0.5 * unit * point.slack, unit * point.degrees
    margin = 2.0 * psi * excess * excess * _mean_slack(pool, point.active, weights)
    return Solution(
        pool.keys[point.active], weights, degrees, potentials, 0.0,
        2.0 * psi * potentials, margin, potentials, n_steps,
    )  # fmt: skip


def _by_interior_point(
    pool: PairPool, psi: float, barrier: float, nearest: Array, max_steps: int
) -> Solution:
    rows, cols = pool.pairs
    w, n_steps = interior_point(rows, cols, pool.cost, nearest, psi, barrier, max_steps)
    degrees = np.asarray(np.bincount(rows, w, pool.m) + np.bincount(cols, w, pool.m), dtype=float)
    with np.errstate(divide="ignore"):
        levels = barrier / degrees
    on = np.flatnonzero(w)
    margin = 2.0 * psi * _mean_slack(pool, on, w[on]) + 1e-3 * levels
    potentials = levels / (2.0 * psi)
    return Solution(
        pool.keys[on], w[on], degrees, potentials, 0.0, levels, margin, potentials, n_steps
    )


def _mean_slack(pool: PairPool, on: np.ndarray, weights: Array) -> Array:
    """Return a share of the mean slack, twice the weight, of the edges of each node."""
    rows, cols = (ends[on] for ends in pool.pairs)
    total = np.bincount(rows, weights, pool.m) + np.bincount(cols, weights, pool.m)
    number = np.bincount(rows, minlength=pool.m) + np.bincount(cols, minlength=pool.m)
    return np.asarray(_MARGIN * 2.0 * total / np.maximum(number, 1))


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
