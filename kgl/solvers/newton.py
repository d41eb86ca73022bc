"""Semismooth Newton on the duals of a batch of graph steps; see :mod:`kgl.solvers.graph_step`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dposv

from kgl._types import Array
from kgl.laplacian import row_sums

__all__ = [
    "DualPoint",
    "DualProblem",
    "GraphStep",
    "active_hessian",
    "check_reach",
    "edge_slack",
    "newton",
]

#: Above this size one Cholesky factor at a time beats NumPy's batched LU.
_CHOLESKY_FROM = 48
#: From this size on conjugate gradients, about 25 iterations on most graphs, beat a factor. Where
#: they take more than ``_PATIENCE``, potentials are large (log-degree, small psi): factor then.
_ITERATE_FROM = 1000
_PATIENCE = 40
_SHARP = 1e-14
_ARMIJO = 1e-4
#: A residual below this that no longer shrinks is rounding, not a failure to converge.
_ROUNDING = 1e-10
_MAX_HALVINGS = 60


@dataclass
class GraphStep:
    """Solutions of a batch of graph steps.

    Attributes
    ----------
    weights : array (G, m, m)
        Symmetric adjacency matrices with exact zeros off the support.
    scores : array (G, m, m)
        ``s / 2``; equal to the weight where that is positive, ``-inf`` on the diagonal.
    dual : array (G, k)
        Dual variables, to warm-start a later call.
    certificate : callable
        Works out ``residual``. Of a sequence of steps only the last needs it.
    n_steps : array of int (G,)
        Newton steps taken.
    """

    weights: Array
    scores: Array
    dual: Array
    certificate: Callable[[], Array]
    n_steps: np.ndarray

    @property
    def residual(self) -> Array:
        """Relative KKT residuals (G,); 0 is exact."""
        return self.certificate()


@dataclass
class DualPoint:
    """A dual point with all that the line search and the next Newton step read off it."""

    dual: Array  # (G, k)
    slack: Array  # (G, m, m): s, -inf on the diagonal
    degrees: Array  # (G, m): degrees of w = s_+ / 2
    value: Array  # (G,)
    size: Array  # (G,): of the terms that value is a sum of, hence of its rounding
    gradient: Array  # (G, k)

    def take(self, index: np.ndarray) -> DualPoint:
        """Return some problems of the batch."""
        return DualPoint(*(getattr(self, f)[index] for f in self.__dataclass_fields__))

    def put(self, index: np.ndarray, other: DualPoint) -> None:
        """Replace some problems of the batch."""
        for f in self.__dataclass_fields__:
            getattr(self, f)[index] = getattr(other, f)


class DualProblem(Protocol):
    """What the Newton driver needs of a regularizer."""

    cost: Array

    def at(self, dual: Array) -> DualPoint:
        """Evaluate the dual functions."""

    def hessian(self, point: DualPoint) -> Array:
        """Return their generalised Hessians."""

    def longest_step(self, dual: Array, direction: Array) -> Array:
        """Return how far each problem may go without leaving its domain, at most 1."""

    def residual(self, point: DualPoint) -> Array:
        """Return relative KKT residuals."""

    def take(self, index: np.ndarray) -> DualProblem:
        """Return some problems of the batch."""


def edge_slack(cost: Array, potential: Array) -> tuple[Array, Array, Array]:
    """Return s, the degrees of s_+ / 2, and sum_{i<j} s_+^2 / 4."""
    # the sum first: it is the same for (i, j) and (j, i), so graphs are symmetric to the last bit
    s = potential[:, :, None] + potential[:, None, :]
    s -= cost
    positive = np.maximum(s, 0.0)
    degrees = 0.5 * row_sums(positive)
    flat = positive.reshape(len(positive), -1)
    return s, degrees, 0.125 * np.vecdot(flat, flat)


def active_hessian(slack: Array, size: int) -> tuple[Array, Array]:
    """Fill the leading m x m block with (deg + adj) / 2 of the active edges."""
    n_problems, m, _ = slack.shape
    H = np.zeros((n_problems, size, size))
    block = H[:, :m, :m]
    active = np.greater(slack, 0.0).astype(float)
    half_degree = 0.5 * row_sums(active)
    np.multiply(active, 0.5, out=block)
    nodes = np.arange(m)
    block[:, nodes, nodes] = half_degree
    return H, half_degree


def _solve(H: Array, b: Array) -> Array:
    """Solve symmetric positive definite systems H x = b, batched."""
    if H.shape[-1] < _CHOLESKY_FROM:
        try:
            return np.asarray(np.linalg.solve(H, b[..., None])[..., 0])
        except np.linalg.LinAlgError:
            pass  # some system of the batch is singular: find it one by one
    return np.stack([_solve_one(h, r) for h, r in zip(H, b, strict=True)])


def _solve_one(h: Array, r: Array) -> Array:
    _, x, info = dposv(h, r)
    return np.asarray(x if info == 0 else np.linalg.lstsq(h, r, rcond=None)[0])


class _Solver:
    """Solves the systems of one run of Newton's method, large ones by conjugate gradients."""

    def __init__(self) -> None:
        self._iterate = True

    def solve(self, H: Array, b: Array) -> Array:
        if H.shape[-1] < _ITERATE_FROM:
            return _solve(H, b)
        return np.stack([self._large(h, r) for h, r in zip(H, b, strict=True)])

    def _large(self, h: Array, r: Array) -> Array:
        x = _conjugate_gradients(h, r) if self._iterate else None
        if x is not None:
            return x
        # the systems to come are no better conditioned
        self._iterate = False
        return _solve_one(h, r)


def _conjugate_gradients(h: Array, rhs: Array) -> Array | None:
    """Solve h x = rhs with the diagonal as preconditioner; None where that takes too long."""
    inverse = 1.0 / np.diagonal(h)
    x, r = np.zeros_like(rhs), rhs.copy()
    z = inverse * r
    p = z.copy()
    size = float(r @ z)
    goal = _SHARP**2 * size
    for _ in range(_PATIENCE):
        if size <= goal:
            return x
        q = h @ p
        curvature = float(p @ q)
        if not curvature > 0.0:  # not definite, or not a number
            return None
        x += (size / curvature) * p
        r -= (size / curvature) * q
        np.multiply(inverse, r, out=z)
        size, previous = float(r @ z), size
        p *= size / previous
        p += z
    return None


def newton(
    problem: DualProblem, dual: Array, tol: float, max_steps: int
) -> tuple[DualPoint, Array, np.ndarray]:
    """Minimise a batch of dual functions by damped semismooth Newton."""
    n_problems = len(dual)
    final = problem.at(dual)
    residual = problem.residual(final)
    n_steps = np.zeros(n_problems, dtype=int)
    running = np.flatnonzero(residual > tol)
    part, point, old_residual = problem, final, residual
    if len(running) < n_problems:
        part, point, old_residual = problem.take(running), final.take(running), residual[running]
    solver = _Solver()
    for _ in range(max_steps):
        if not len(running):
            break
        direction = -solver.solve(part.hessian(point), point.gradient)
        moved = _line_search(part, point, direction)
        new_residual = part.residual(moved)
        n_steps[running] += 1
        # The residual is as small as rounding lets it be: no further step improves on it.
        stalled = (moved.dual == point.dual).all(axis=1)
        stalled |= (new_residual < _ROUNDING) & (new_residual > 0.5 * old_residual)
        going = (new_residual > tol) & ~stalled
        if going.all():
            point, old_residual = moved, new_residual
            continue
        if len(running) == n_problems and not going.any():
            return moved, new_residual, n_steps
        done = ~going
        final.put(running[done], moved.take(done))
        residual[running[done]] = new_residual[done]
        running = running[going]
        part, point, old_residual = part.take(going), moved.take(going), new_residual[going]
    if len(running):
        final.put(running, point)
        residual[running] = part.residual(point)
    return final, residual, n_steps


def _line_search(problem: DualProblem, point: DualPoint, direction: Array) -> DualPoint:
    """Backtrack from the Newton step until each dual function has gone down enough."""
    slope = np.vecdot(point.gradient, direction)
    step = problem.longest_step(point.dual, direction)
    rounding = 1e-14 * point.size
    trial = problem.at(point.dual + step[:, None] * direction)
    # written so that a value that is not a number counts as a failure
    short = ~(trial.value <= point.value + _ARMIJO * step * slope + rounding)
    for _ in range(_MAX_HALVINGS):
        if not short.any():
            return trial
        index = np.flatnonzero(short)
        step[index] *= 0.5
        again = problem.take(index).at(point.dual[index] + step[index, None] * direction[index])
        trial.put(index, again)
        bound = point.value[index] + _ARMIJO * step[index] * slope[index] + rounding[index]
        short[index] = ~(again.value <= bound)
    trial.put(np.flatnonzero(short), point.take(np.flatnonzero(short)))
    return trial


def check_reach(nearest: Array) -> None:
    """Refuse distances to the nearest neighbour (G, k) that are no numbers or have overflowed."""
    if np.isfinite(nearest).all():
        return
    problem, node = np.argwhere(~np.isfinite(nearest))[0]
    where = f"of node {node}" if nearest.shape[1] > 1 else "of all pairs"
    raise ValueError(
        f"the smallest distance {where} is {nearest[problem, node]} (problem {problem} of "
        f"{len(nearest)}): no edge can be placed. Squares of data beyond 1e154 overflow: rescale "
        "the data, for instance to unit variance, or lower rho; or allow an edge, if all were "
        "forbidden"
    )
