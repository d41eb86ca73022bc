r"""The graph step: a convex problem over edge weights, solved by semismooth Newton on its dual.

Given distances :math:`Z` (zero diagonal) the two problems are, over weights :math:`w \ge 0`,

.. math::
    \text{frobenius:}  \quad & \min \sum_{i<j} Z_{ij} w_{ij} + \psi \|L\|_F^2
                              \quad \text{s.t. } \operatorname{tr} L = m \\
    \text{log-degree:} \quad & \min \sum_{i<j} Z_{ij} w_{ij} + \psi \|W\|_F^2
                              - \beta \sum_i \log d_i

with degrees :math:`d = W 1`. With :math:`c = Z / 2\psi` both have the same primal-dual link

.. math:: w_{ij} = \tfrac12 \max(0, s_{ij}), \qquad s_{ij} = u_i + u_j - c_{ij},

where the node potentials :math:`u` minimise a convex, once differentiable function:

.. math::
    \text{frobenius:}  \quad & \tfrac12 |d|^2 + \tfrac14 \textstyle\sum_{i<j} (s_{ij})_+^2 - tm/2,
                              \quad u_i = t/2 - d_i \\
    \text{log-degree:} \quad & \tfrac14 \textstyle\sum_{i<j} (s_{ij})_+^2
                              - \tfrac{\beta}{2\psi} \textstyle\sum_i \log u_i.

Its gradient is the mismatch of degrees, its generalised Hessian is a diagonal plus
:math:`\tfrac12(\deg + \mathrm{adj})` of the active edges, so a Newton step is one linear system of
about ``m`` unknowns. The function is piecewise quadratic (plus a logarithm): once the active edges
are right the next step is exact, and the answer is good to rounding. All problems of a grid are
solved at once: every array has a leading batch axis.

The score ``s / 2`` is defined for every pair: it equals the weight of an edge and says how far a
missing edge was from entering, so it orders edges without ties. Forbidden pairs have
``Z = inf`` and score ``-inf``.

The log-degree problem is solved in units of its own, so its certificate is worked out afterwards
from the weights, for the problem that was asked. Where that finds the potentials too many decades
apart for a dual method, :mod:`kgl.solvers.interior_point` solves the problem again.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg.lapack import dposv

from kgl._types import Array
from kgl.laplacian import row_sums
from kgl.solvers.interior_point import log_degree_interior_point

__all__ = ["GraphStep", "graph_step", "warn_if_inexact"]

#: Above this size one Cholesky factor at a time beats NumPy's batched LU.
_CHOLESKY_FROM = 48
_ARMIJO = 1e-4
#: A residual below this that no longer shrinks is rounding, not a failure to converge.
_ROUNDING = 1e-10
_MAX_HALVINGS = 60
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
#: Certificate above which users are warned.
_INEXACT = 1e-8


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
    residual : array (G,)
        Relative KKT residual of the solution (0 is exact).
    n_steps : array of int (G,)
        Newton steps taken.
    """

    weights: Array
    scores: Array
    dual: Array
    residual: Array
    n_steps: np.ndarray


@dataclass
class _Point:
    """A dual point with all that the line search and the next Newton step read off it."""

    dual: Array  # (G, k)
    slack: Array  # (G, m, m): s, -inf on the diagonal
    degrees: Array  # (G, m): degrees of w = s_+ / 2
    value: Array  # (G,)
    size: Array  # (G,): of the terms that value is a sum of, hence of its rounding
    gradient: Array  # (G, k)

    def take(self, index: np.ndarray) -> _Point:
        return _Point(*(getattr(self, f)[index] for f in self.__dataclass_fields__))

    def put(self, index: np.ndarray, other: _Point) -> None:
        for f in self.__dataclass_fields__:
            getattr(self, f)[index] = getattr(other, f)


class _Dual(Protocol):
    """What the Newton driver needs to know of a regulariser."""

    cost: Array

    def at(self, dual: Array) -> _Point: ...
    def hessian(self, point: _Point) -> Array: ...
    def longest_step(self, dual: Array, direction: Array) -> Array: ...
    def residual(self, point: _Point) -> Array: ...
    def take(self, index: np.ndarray) -> _Dual: ...


def _slack(cost: Array, potential: Array) -> tuple[Array, Array, Array]:
    """Return s, the degrees of s_+ / 2, and sum_{i<j} s_+^2 / 4."""
    # the sum first: it is the same for (i, j) and (j, i), so graphs are symmetric to the last bit
    s = potential[:, :, None] + potential[:, None, :]
    s -= cost
    positive = np.maximum(s, 0.0)
    degrees = 0.5 * row_sums(positive)
    flat = positive.reshape(len(positive), -1)
    return s, degrees, 0.125 * np.vecdot(flat, flat)


def _active_hessian(slack: Array, size: int) -> tuple[Array, Array]:
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


@dataclass
class _Frobenius:
    """Dual of the sum-barrier problem in (d, t); ``cost`` is c less its smallest entry."""

    cost: Array

    def start(self) -> Array:
        # With equal degrees the problem is a projection onto a simplex: t is found exactly
        # from the sorted costs. It gets the scale of t right however small psi is.
        n_problems, m, _ = self.cost.shape
        rows, cols = np.triu_indices(m, 1)
        c = np.sort(self.cost[:, rows, cols], axis=-1)
        count = np.arange(1, c.shape[-1] + 1)
        finite = np.isfinite(c)
        mean = (m + np.cumsum(np.where(finite, c, 0.0), axis=-1)) / count
        k = np.maximum((finite & (mean > c)).sum(axis=-1), 1)
        t = mean[np.arange(n_problems), k - 1] + 2.0
        return np.concatenate([np.ones((n_problems, m)), t[:, None]], axis=1)

    def at(self, dual: Array) -> _Point:
        d, t = dual[:, :-1], dual[:, -1:]
        m = d.shape[1]
        slack, degrees, edge_part = _slack(self.cost, 0.5 * t - d)
        positive = 0.5 * np.vecdot(d, d) + edge_part
        linear = 0.5 * m * t[:, 0]
        gradient = np.empty_like(dual)
        np.subtract(d, degrees, out=gradient[:, :-1])
        gradient[:, -1] = 0.5 * (degrees.sum(axis=1) - m)
        size = positive + np.abs(linear)
        return _Point(dual, slack, degrees, positive - linear, size, gradient)

    def hessian(self, point: _Point) -> Array:
        m = point.degrees.shape[1]
        H, half_degree = _active_hessian(point.slack, m + 1)
        nodes = np.arange(m)
        H[:, nodes, nodes] += 1.0
        H[:, m, :m] = H[:, :m, m] = -half_degree
        H[:, m, m] = 0.5 * half_degree.sum(axis=1)
        return H

    def longest_step(self, dual: Array, direction: Array) -> Array:
        return np.ones(len(dual))

    def residual(self, point: _Point) -> Array:
        # Stationarity relative to the largest degree, the trace constraint relative to the trace.
        m = point.degrees.shape[1]
        stationarity = np.abs(point.gradient[:, :-1]).max(axis=1)
        stationarity /= np.maximum(1.0, point.degrees.max(axis=1))
        return np.maximum(stationarity, 2.0 * np.abs(point.gradient[:, -1]) / m)

    def take(self, index: np.ndarray) -> _Frobenius:
        return _Frobenius(self.cost[index])


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

    def at(self, dual: Array) -> _Point:
        slack, degrees, edge_part = _slack(self.cost, dual)
        logs = np.log1p(dual / self.base)
        value = edge_part - logs.sum(axis=1)
        size = edge_part + np.abs(logs).sum(axis=1)
        return _Point(dual, slack, degrees, value, size, degrees - 1.0 / (self.base + dual))

    def hessian(self, point: _Point) -> Array:
        m = point.degrees.shape[1]
        H, _ = _active_hessian(point.slack, m)
        nodes = np.arange(m)
        H[:, nodes, nodes] += (self.base + point.dual) ** -2
        return H

    def longest_step(self, dual: Array, direction: Array) -> Array:
        # stay inside u > 0: go at most 95 % of the way to the boundary
        with np.errstate(divide="ignore"):
            ratio = np.where(direction < 0, -0.95 * (self.base + dual) / direction, np.inf)
        return np.minimum(1.0, ratio.min(axis=1))

    def residual(self, point: _Point) -> Array:
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
        point, _, _ = _newton(eased, np.zeros_like(u), 1e-4, 50)
        u = u + point.dual * factor
    return u


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


def _newton(
    problem: _Dual, dual: Array, tol: float, max_steps: int
) -> tuple[_Point, Array, np.ndarray]:
    """Minimise a batch of dual functions by damped semismooth Newton."""
    n_problems = len(dual)
    final = problem.at(dual)
    residual = problem.residual(final)
    n_steps = np.zeros(n_problems, dtype=int)
    running = np.flatnonzero(residual > tol)
    part, point, old_residual = problem, final, residual
    if len(running) < n_problems:
        part, point, old_residual = problem.take(running), final.take(running), residual[running]
    for _ in range(max_steps):
        if not len(running):
            break
        direction = -_solve(part.hessian(point), point.gradient)
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


def _line_search(problem: _Dual, point: _Point, direction: Array) -> _Point:
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


def warn_if_inexact(residual: float, stacklevel: int = 3) -> None:
    """Warn where a graph step has ended short of its usual precision, or nowhere at all."""
    if residual <= _INEXACT:  # false for NaN, so that no certificate is no pass
        return
    from sklearn.exceptions import ConvergenceWarning  # slow to load, so only where needed

    if np.isfinite(residual):
        cause = (
            "distances that span very many decades are beyond double precision: look for outlying "
            "nodes, or for a psi far from the scale of the data"
        )
    else:
        cause = (
            "the graph is no solution: its numbers left the range of double precision; rescale "
            "the data, for instance to unit variance, and choose psi for the new scale"
        )
    warnings.warn(
        f"the graph step stopped at a relative KKT residual of {residual:.1e}; {cause}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


def _check_reach(nearest: Array) -> None:
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


def _log_degree_certificate(weights: Array, Z: Array, psi: Array, barrier: float) -> Array:
    r"""Return the relative KKT residuals of log-degree graphs, for the problem as it was asked.

    From the weights alone, in the units of ``Z``: nothing of the solver's scaling, potentials or
    stopping rule enters. An edge must satisfy :math:`Z + 4 \psi w = v_i + v_j`, a missing one
    :math:`Z \ge v_i + v_j`, with :math:`v = \beta / d`; each pair is judged in units of its own
    ends, as in :func:`kgl.problem.kkt_residual`.
    """
    residual = np.empty(len(weights))
    off_diagonal = ~np.eye(weights.shape[-1], dtype=bool)
    for g, (W, z) in enumerate(zip(weights, Z, strict=True)):
        degrees = W.sum(axis=1)
        if not (np.isfinite(W).all() and degrees.min() > 0.0):
            residual[g] = np.inf if np.isfinite(W).all() else np.nan
            continue
        potential = barrier / degrees
        allowed = np.isfinite(z) & off_diagonal
        pair = (potential[:, None] + potential)[allowed]
        slack = ((z[allowed] - pair) + 4.0 * psi[g] * W[allowed]) / pair
        share = W[allowed] / np.minimum.outer(degrees, degrees)[allowed]
        residual[g] = np.abs(np.minimum(share, slack)).max()
    return residual


def graph_step(
    Z: Array,
    psi: Array | float,
    *,
    regulariser: str = "frobenius",
    barrier: float = 1.0,
    start: Array | None = None,
    tol: float = 1e-13,
    max_steps: int = 200,
) -> GraphStep:
    """Solve a batch of graph steps to rounding.

    Parameters
    ----------
    Z : array (G, m, m)
        Symmetric distances; ``inf`` forbids an edge; the diagonal is ignored.
    psi : float or array (G,)
        Weight of the Frobenius norm, positive.
    regulariser : {"frobenius", "log-degree"}
        Which of the two problems of the module's docstring.
    barrier : float
        ``beta``, the weight of the log-degree barrier.
    start : array (G, k), optional
        ``dual`` of an earlier result for similar problems.
    tol : float
        Relative KKT residual at which a problem counts as solved.
    max_steps : int
        Newton steps at most; a handful is usual.

    Returns
    -------
    GraphStep
    """
    Z = np.asarray(Z, dtype=float)
    n_problems, m, _ = Z.shape
    half_inverse = np.broadcast_to(0.5 / np.asarray(psi, dtype=float), (n_problems,))
    nodes = np.arange(m)
    if regulariser == "frobenius":
        # Adding a constant to all costs only moves t. Subtracting the smallest first keeps the
        # active costs of the order of the weights, however small psi is.
        cost = Z.copy()
        cost[:, nodes, nodes] = np.inf
        smallest = cost.reshape(n_problems, -1).min(axis=1)
        _check_reach(smallest[:, None])
        cost -= smallest[:, None, None]
        cost *= half_inverse[:, None, None]
        frobenius = _Frobenius(cost)
        dual = frobenius.start() if start is None else np.array(start, dtype=float)
        point, residual, n_steps = _newton(frobenius, dual, tol, max_steps)
        scores = 0.5 * point.slack
        return GraphStep(np.maximum(scores, 0.0), scores, point.dual, residual, n_steps)
    if regulariser != "log-degree":
        raise ValueError(f"unknown regulariser {regulariser!r}; use 'frobenius' or 'log-degree'")
    return _log_degree_step(Z, 1.0 * half_inverse, barrier, start, tol, max_steps)


def _log_degree_step(
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
    _check_reach(nearest)
    closest = nearest.min(axis=1)
    wide = nearest.max(axis=1) > _WIDEST * np.maximum(closest, 1.0)
    # Where every node is farther than this from its neighbours, psi changes no weight by more
    # than 1 / _FARTHEST^2; solving for the psi at which that begins keeps the Newton systems
    # regular. Every node, hence the minimum: psi matters to near nodes however far others are.
    excess = np.maximum(closest / _FARTHEST, 1.0)
    cost /= excess[:, None, None]
    unit = unit / excess
    step = GraphStep(
        np.zeros(Z.shape),
        np.zeros(Z.shape),
        np.zeros((n_problems, m)),
        np.full(n_problems, np.inf),
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
        step.residual[:] = _log_degree_certificate(step.weights, Z, psi, barrier)
    for g in np.flatnonzero(~(step.residual <= _ACCURATE) & (step.n_steps < max_steps)):
        _solve_again(step, int(g), Z[g], psi[g], barrier, max_steps - step.n_steps[g])
    return step


def _log_degree_newton(
    cost: Array, base: Array | None, tol: float, max_steps: int
) -> tuple[Array, Array, np.ndarray]:
    """Return slacks, potentials and the number of steps, in units in which the barrier is 1."""
    base = _log_degree_start(cost) if base is None else base
    n_steps = np.zeros(len(cost), dtype=int)
    for taken in range(0, max_steps, _RECENTRE):
        log_degree = _LogDegree.around(cost, base)
        limit = min(_RECENTRE, max_steps - taken)
        point, residual, steps = _newton(log_degree, np.zeros_like(base), tol, limit)
        n_steps += steps
        if residual.max() <= 100 * tol:
            break
        # a node far from where it started has lost its weights to cancellation: start there
        base = base + point.dual
        point.dual[:] = 0.0
    return point.slack, base + point.dual, n_steps


def _solve_again(
    step: GraphStep, g: int, Z: Array, psi: float, barrier: float, max_steps: int
) -> None:
    """Replace one log-degree solution by that of the interior-point method, if it is better."""
    weights, n_steps = log_degree_interior_point(Z, psi, barrier, max_steps)
    step.n_steps[g] += n_steps
    residual = _log_degree_certificate(weights[None], Z[None], np.array([psi]), barrier)[0]
    # a first solution that is no number, or that there is none, compares as false
    if not np.isfinite(residual) or residual >= step.residual[g]:
        return
    potential = barrier / weights.sum(axis=1)
    missing = (potential[:, None] + potential - Z) / (4.0 * psi)
    np.fill_diagonal(missing, -np.inf)
    step.weights[g] = weights
    step.scores[g] = np.where(weights > 0.0, weights, np.minimum(missing, 0.0))
    step.dual[g] = potential / (2.0 * psi)
    step.residual[g] = residual
