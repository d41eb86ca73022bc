"""The duals of :mod:`kgl.solvers.graph_step` over a list of pairs, and Newton's method on them.

The functions are those of the dense solver, summed over candidate pairs only; systems of the active
pairs are sparse, and are solved by conjugate gradients.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from kgl._types import Array
from kgl.solvers.sparse.linear import ActiveSystem

__all__ = ["DualPoint", "FrobeniusDual", "LogDegreeDual", "newton"]

_ARMIJO = 1e-4
#: A residual below this that no longer shrinks is rounding, not a failure to converge.
_ROUNDING = 1e-10
_MAX_HALVINGS = 60
#: Relative residual of a Newton system close to the solution.
_SHARP = 1e-14


@dataclass
class DualPoint:
    """A dual point with all that the line search and the next Newton step read off it."""

    dual: Array
    active: np.ndarray  # indices of the pairs with s > 0
    slack: Array  # their s
    degrees: Array  # (m,) degrees of w = s_+ / 2
    value: float
    size: float  # of the terms that value is a sum of, hence of its rounding
    gradient: Array
    residual: float


class Dual(Protocol):
    """What Newton's method needs of a regularizer."""

    def at(self, dual: Array) -> DualPoint:
        """Evaluate the dual function."""

    def direction(self, point: DualPoint, tol: float) -> Array:
        """Return the Newton step."""

    def longest_step(self, dual: Array, direction: Array) -> float:
        """Return how far to go without leaving the domain, at most 1."""


@dataclass
class FrobeniusDual:
    """Dual of the sum-barrier problem in (d, t); ``cost`` is c less its smallest entry."""

    rows: np.ndarray
    cols: np.ndarray
    cost: Array
    m: int
    stiff: bool = field(default=False)

    def start(self, degrees: Array) -> Array:
        """Return d and the t at which the weights add up to m / 2 for that d."""
        c = np.sort(self.cost + degrees[self.rows] + degrees[self.cols])
        mean = (self.m + np.cumsum(c)) / np.arange(1, len(c) + 1)
        k = max(int(np.count_nonzero(mean > c)), 1)
        return np.concatenate([degrees, mean[k - 1 : k]])

    def at(self, dual: Array) -> DualPoint:
        """Evaluate the dual function."""
        m, d, t = self.m, dual[:-1], dual[-1]
        active, slack, degrees = _active(self, 0.5 * t - d)
        positive = 0.5 * float(d @ d) + 0.25 * float(slack @ slack)
        linear = 0.5 * m * float(t)
        excess = float(degrees.sum()) - m
        gradient = np.concatenate([d - degrees, [0.5 * excess]])
        residual = float(np.abs(gradient[:-1]).max()) / max(1.0, float(degrees.max()))
        residual = max(residual, abs(excess) / m)
        size = positive + abs(linear)
        return DualPoint(dual, active, slack, degrees, positive - linear, size, gradient, residual)

    def direction(self, point: DualPoint, tol: float) -> Array:
        """Return the Newton step: t by elimination, d by conjugate gradients."""
        rows, cols = self.rows[point.active], self.cols[point.active]
        system = ActiveSystem(rows, cols, np.ones(self.m), stiff=self.stiff)
        half = system.half_degrees
        solved = system.solve(np.stack([-point.gradient[:-1], half], axis=1), tol)
        self.stiff = system.stiff
        x, y = solved[:, 0], solved[:, 1]
        curvature = 0.5 * half.sum() - half @ y
        tau = (half @ x - point.gradient[-1]) / curvature if curvature > 0 else 0.0
        return np.concatenate([x + tau * y, [tau]])

    def longest_step(self, dual: Array, direction: Array) -> float:
        """Every point is inside the domain."""
        return 1.0


@dataclass
class LogDegreeDual:
    """Dual of the log-degree problem in departures of the potentials u > 0 from a base.

    Units are those of :mod:`kgl.solvers.log_degree`, in which the weight of the logarithm is 1;
    sums of the base have been taken off the costs.
    """

    rows: np.ndarray
    cols: np.ndarray
    cost: Array
    base: Array
    stiff: bool = field(default=False)

    @property
    def m(self) -> int:
        """Number of nodes."""
        return len(self.base)

    @classmethod
    def around(cls, rows: np.ndarray, cols: np.ndarray, cost: Array, base: Array) -> LogDegreeDual:
        """Measure potentials from a base."""
        return cls(rows, cols, cost - (base[rows] + base[cols]), base)

    def at(self, dual: Array) -> DualPoint:
        """Evaluate the dual function."""
        active, slack, degrees = _active(self, dual)
        inverse = 1.0 / (self.base + dual)
        logs = np.log1p(dual / self.base)
        energy = 0.25 * float(slack @ slack)
        gradient = degrees - inverse
        residual = float((np.abs(gradient) / np.maximum(degrees, inverse)).max())
        value, size = energy - float(logs.sum()), energy + float(np.abs(logs).sum())
        return DualPoint(dual, active, slack, degrees, value, size, gradient, residual)

    def direction(self, point: DualPoint, tol: float) -> Array:
        """Return the Newton step."""
        rows, cols = self.rows[point.active], self.cols[point.active]
        diagonal = (self.base + point.dual) ** -2
        system = ActiveSystem(rows, cols, diagonal, stiff=self.stiff)
        step = system.solve(-point.gradient[:, None], tol)[:, 0]
        self.stiff = system.stiff
        return step

    def longest_step(self, dual: Array, direction: Array) -> float:
        """Go at most 95 % of the way to u = 0."""
        falling = direction < 0
        room = -0.95 * (self.base + dual)[falling] / direction[falling]
        return float(min(1.0, room.min(initial=np.inf)))


def _active(
    dual: FrobeniusDual | LogDegreeDual, potential: Array
) -> tuple[np.ndarray, Array, Array]:
    """Return the active pairs, their slack s, and the degrees of s_+ / 2."""
    # the sum first, as in the dense solver: the same numbers in the same order
    s = potential[dual.rows]
    s += potential[dual.cols]
    s -= dual.cost
    active = np.flatnonzero(s > 0.0)
    slack = s[active]
    degrees = np.bincount(dual.rows[active], slack, dual.m)
    degrees += np.bincount(dual.cols[active], slack, dual.m)
    return active, slack, np.asarray(0.5 * degrees)


def newton(problem: Dual, dual: Array, tol: float, max_steps: int) -> tuple[DualPoint, int]:
    """Minimise a dual function by damped semismooth Newton; return the point and the steps."""
    point = problem.at(dual)
    for n_steps in range(max_steps):
        if point.residual <= tol:
            return point, n_steps
        # far from the solution a rough direction will do
        sharp = _SHARP if point.residual < 1e-4 else min(1e-4, 1e-3 * point.residual)
        moved = _line_search(problem, point, problem.direction(point, sharp))
        stalled = moved.residual < _ROUNDING and moved.residual > 0.5 * point.residual
        if stalled or bool((moved.dual == point.dual).all()):
            return (moved if moved.residual <= point.residual else point), n_steps + 1
        point = moved
    return point, max_steps


def _line_search(problem: Dual, point: DualPoint, direction: Array) -> DualPoint:
    """Backtrack from the Newton step until the dual function has gone down enough."""
    slope = float(point.gradient @ direction)
    step = problem.longest_step(point.dual, direction)
    rounding = 1e-14 * point.size
    for _ in range(_MAX_HALVINGS):
        trial = problem.at(point.dual + step * direction)
        # a value that is not a number counts as a failure
        if trial.value <= point.value + _ARMIJO * step * slope + rounding:
            return trial
        step *= 0.5
    return point
