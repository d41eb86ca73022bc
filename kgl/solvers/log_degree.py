"""The log-degree graph step: Newton in scaled units, a certificate, and a second solver.

The problem and its dual are those of :mod:`kgl.solvers.graph_step`. It is solved in units of its
own, so its certificate is worked out afterwards from the weights, for the problem that was asked.
Where that finds the potentials too many decades apart for a dual method,
:mod:`kgl.solvers.interior_point` solves the problem again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgl._types import Array
from kgl.problem import kkt_residuals
from kgl.solvers.interior_point import log_degree_interior_point
from kgl.solvers.newton import (
    DualPoint,
    GraphStep,
    active_hessian,
    check_reach,
    edge_slack,
    newton,
)

__all__ = ["log_degree_step"]

#: Distance to the nearest neighbour, in units of sqrt(2 psi beta), above which psi is negligible.
_FARTHEST = 1e5
#: Newton steps on the log-degree problem before potentials are measured from a new base, and how
#: often that is done: Newton converges by then or not at all.
_RECENTRE = 40
_MAX_BASES = 3
#: Ratio of the distances of the most remote and the nearest node, beyond which potentials cancel
#: so many digits that Newton is not tried.
_WIDEST = 1e5
#: Certificate of a log-degree graph above which the interior-point method has a try.
_ACCURATE = 1e-9


@dataclass
class _LogDegree:
    """Dual of the log-degree problem in the node potentials u > 0.

    Weights, potentials and costs are in units of sqrt(beta / 2 psi), in which the weight of the
    logarithm is 1: the solver then sees the same numbers whatever the units of Z. Unknown are the
    departures of u from a ``base``, whose sums have been taken off the costs: for small psi the
    weights are tiny differences of large potentials, which are then formed only once.
    """

    cost: Array  # c_ij - base_i - base_j
    base: Array  # (G, m)

    @classmethod
    def around(cls, cost: Array, base: Array) -> _LogDegree:
        return cls(cost - (base[:, :, None] + base[:, None, :]), base)

    def at(self, dual: Array) -> DualPoint:
        slack, degrees, edge_part = edge_slack(self.cost, dual)
        logs = np.log1p(dual / self.base)
        value = edge_part - logs.sum(axis=1)
        size = edge_part + np.abs(logs).sum(axis=1)
        return DualPoint(dual, slack, degrees, value, size, degrees - 1.0 / (self.base + dual))

    def hessian(self, point: DualPoint) -> Array:
        m = point.degrees.shape[1]
        H, _ = active_hessian(point.slack, m)
        nodes = np.arange(m)
        H[:, nodes, nodes] += (self.base + point.dual) ** -2
        return H

    def longest_step(self, dual: Array, direction: Array) -> Array:
        # stay inside u > 0: go at most 95 % of the way to the boundary
        with np.errstate(divide="ignore"):
            ratio = np.where(direction < 0, -0.95 * (self.base + dual) / direction, np.inf)
        return np.minimum(1.0, ratio.min(axis=1))

    def residual(self, point: DualPoint) -> Array:
        scale = np.maximum(point.degrees, 1.0 / (self.base + point.dual))
        return (np.abs(point.gradient) / scale).max(axis=1)

    def take(self, index: np.ndarray) -> _LogDegree:
        return _LogDegree(self.cost[index], self.base[index])


def _log_degree_start(cost: Array) -> Array:
    """Potentials near the solution of the log-degree problem."""
    # Each node alone with its nearest neighbour: u^2 - (c/2) u = 1, an order of magnitude that
    # holds for costs both far below and far above the barrier.
    nearest = 0.25 * cost.min(axis=-1)
    u = nearest + np.sqrt(nearest**2 + 1.0)
    # Where costs dwarf the barrier (psi -> 0, one or two edges a node) Newton is slow from there:
    # follow the solution down from a larger psi, a decade at a time.
    decades = np.ceil(np.log10(np.maximum(np.median(nearest, axis=1) ** 2 / 10.0, 1.0)))
    for decade in range(int(decades.max()), 0, -1):
        factor = 10.0 ** (0.5 * np.minimum(decade, decades))[:, None]
        eased = _LogDegree.around(cost / factor[..., None], u / factor)
        point, _, _ = newton(eased, np.zeros_like(u), 1e-4, 50)
        u = u + point.dual * factor
    return u


def log_degree_step(
    Z: Array, half_inverse: Array, barrier: float, start: Array | None, tol: float, max_steps: int
) -> GraphStep:
    """Solve log-degree problems by Newton, those it cannot solve by an interior-point method."""
    n_problems, m, _ = Z.shape
    nodes = np.arange(m)
    psi = 0.5 / half_inverse
    unit = np.sqrt(barrier * half_inverse)
    cost = Z * (half_inverse / unit)[:, None, None]
    cost[:, nodes, nodes] = np.inf
    nearest = cost.min(axis=-1)
    check_reach(nearest)
    closest = nearest.min(axis=1)
    wide = nearest.max(axis=1) > _WIDEST * np.maximum(closest, 1.0)
    # Where every node is farther than this from its neighbours, psi changes no weight by more
    # than 1 / _FARTHEST^2; solving for the psi at which that begins keeps the Newton systems
    # regular. Every node, hence the minimum: psi matters to near nodes however far others are.
    excess = np.maximum(closest / _FARTHEST, 1.0)
    cost /= excess[:, None, None]
    unit = unit / excess
    residual = np.full(n_problems, np.inf)
    step = GraphStep(
        np.zeros(Z.shape),
        np.zeros(Z.shape),
        np.zeros((n_problems, m)),
        residual.copy,
        np.zeros(n_problems, dtype=int),
    )
    if not wide.all():
        warm = None
        if start is not None:
            # divided one by one here and below, since the square of a large excess overflows
            warm = np.asarray(start, dtype=float) / (unit * excess)[:, None] / excess[:, None]
            warm = warm[~wide]
        slack, potential, step.n_steps[~wide] = _log_degree_newton(
            cost[~wide], warm, tol, min(max_steps, _MAX_BASES * _RECENTRE)
        )
        unit, excess = unit[~wide, None, None], excess[~wide, None, None]
        scores = 0.5 * unit * slack
        step.weights[~wide] = np.maximum(scores, 0.0)
        step.scores[~wide] = np.where(scores > 0.0, scores, scores * excess * excess)
        step.dual[~wide] = potential * (unit * excess)[:, 0] * excess[:, 0]
        residual[~wide] = _certificate(step.weights[~wide], Z[~wide], psi[~wide], barrier)
    for g in np.flatnonzero(~(residual <= _ACCURATE) & (step.n_steps < max_steps)):
        most = max_steps - step.n_steps[g]
        residual[g] = _solve_again(step, int(g), residual[g], Z[g], psi[g], barrier, most)
    return step


def _certificate(weights: Array, Z: Array, psi: Array, barrier: float) -> Array:
    """Return residuals of the problems as they were asked: nothing of the solver enters."""
    return kkt_residuals(weights, Z, psi, regularizer="log-degree", barrier=barrier)


def _log_degree_newton(
    cost: Array, base: Array | None, tol: float, max_steps: int
) -> tuple[Array, Array, np.ndarray]:
    """Return slacks, potentials and the number of steps, in units in which the barrier is 1."""
    base = _log_degree_start(cost) if base is None else base
    n_steps = np.zeros(len(cost), dtype=int)
    for taken in range(0, max_steps, _RECENTRE):
        log_degree = _LogDegree.around(cost, base)
        limit = min(_RECENTRE, max_steps - taken)
        point, residual, steps = newton(log_degree, np.zeros_like(base), tol, limit)
        n_steps += steps
        if residual.max() <= 100 * tol:
            break
        # a node far from where it started has lost its weights to cancellation: start there
        base = base + point.dual
        point.dual[:] = 0.0
    return point.slack, base + point.dual, n_steps


def _solve_again(
    step: GraphStep, g: int, before: float, Z: Array, psi: float, barrier: float, max_steps: int
) -> float:
    """Replace one solution by that of the interior-point method, if better; return its residual."""
    weights, n_steps = log_degree_interior_point(Z, psi, barrier, max_steps)
    step.n_steps[g] += n_steps
    residual = _certificate(weights[None], Z[None], np.array([psi]), barrier)[0]
    # a first solution that is no number, or that there is none, compares as false
    if not np.isfinite(residual) or residual >= before:
        return before
    potential = barrier / weights.sum(axis=1)
    missing = (potential[:, None] + potential - Z) / (4.0 * psi)
    np.fill_diagonal(missing, -np.inf)
    step.weights[g] = weights
    step.scores[g] = np.where(weights > 0.0, weights, np.minimum(missing, 0.0))
    step.dual[g] = potential / (2.0 * psi)
    return float(residual)
