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

The score ``s / 2`` is defined for every pair: it equals the weight of an edge and shows how far a
missing edge was from entering, so it orders edges without ties. Forbidden pairs have
``Z = inf`` and score ``-inf``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np

from kgl._types import Array
from kgl.problem import kkt_residuals
from kgl.solvers.log_degree import log_degree_step
from kgl.solvers.newton import (
    DualPoint,
    GraphStep,
    active_hessian,
    check_reach,
    edge_slack,
    newton,
)

__all__ = ["GraphStep", "graph_step", "warn_if_inexact"]

#: Certificate above which users are warned: of the own solvers, and of CVXPY's, most of which stop
#: at 1e-5 where settings are their own.
_INEXACT = 1e-8
_INEXACT_CVXPY = 1e-4


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

    def at(self, dual: Array) -> DualPoint:
        d, t = dual[:, :-1], dual[:, -1:]
        m = d.shape[1]
        slack, degrees, edge_part = edge_slack(self.cost, 0.5 * t - d)
        positive = 0.5 * np.vecdot(d, d) + edge_part
        linear = 0.5 * m * t[:, 0]
        gradient = np.empty_like(dual)
        np.subtract(d, degrees, out=gradient[:, :-1])
        gradient[:, -1] = 0.5 * (degrees.sum(axis=1) - m)
        size = positive + np.abs(linear)
        return DualPoint(dual, slack, degrees, positive - linear, size, gradient)

    def hessian(self, point: DualPoint) -> Array:
        m = point.degrees.shape[1]
        H, half_degree = active_hessian(point.slack, m + 1)
        nodes = np.arange(m)
        H[:, nodes, nodes] += 1.0
        H[:, m, :m] = H[:, :m, m] = -half_degree
        H[:, m, m] = 0.5 * half_degree.sum(axis=1)
        return H

    def longest_step(self, dual: Array, direction: Array) -> Array:
        return np.ones(len(dual))

    def residual(self, point: DualPoint) -> Array:
        # Stationarity relative to the largest degree, the trace constraint relative to the trace.
        m = point.degrees.shape[1]
        stationarity = np.abs(point.gradient[:, :-1]).max(axis=1)
        stationarity /= np.maximum(1.0, point.degrees.max(axis=1))
        return np.maximum(stationarity, 2.0 * np.abs(point.gradient[:, -1]) / m)

    def take(self, index: np.ndarray) -> _Frobenius:
        return _Frobenius(self.cost[index])


def warn_if_inexact(residual: float, stacklevel: int = 3, solver: str = "newton") -> None:
    """Warn where a graph step has ended short of its usual precision, or nowhere at all."""
    cvxpy = solver.startswith("cvxpy")
    # false for NaN, so that no certificate is no pass
    if residual <= (_INEXACT_CVXPY if cvxpy else _INEXACT):
        return
    from sklearn.exceptions import ConvergenceWarning  # slow to load, so only where needed

    if not np.isfinite(residual):
        cause = (
            "the graph is no solution: its numbers left the range of double precision; rescale "
            "the data, for instance to unit variance, and choose psi for the new scale"
        )
    elif cvxpy:
        cause = "the CVXPY backend stopped early: use solver='newton', or another backend"
    else:
        cause = (
            "distances that span very many decades are beyond double precision: look for outlying "
            "nodes, or for a psi far from the scale of the data"
        )
    warnings.warn(
        f"the graph step stopped at a relative KKT residual of {residual:.1e}; {cause}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


def graph_step(
    Z: Array,
    psi: Array | float,
    *,
    regularizer: str = "frobenius",
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
    regularizer : {"frobenius", "log-degree"}
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
    psi = np.broadcast_to(np.asarray(psi, dtype=float), (n_problems,))
    half_inverse = 0.5 / psi
    nodes = np.arange(m)
    if regularizer == "frobenius":
        # Adding a constant to all costs only moves t. Subtracting the smallest first keeps the
        # active costs of the order of the weights, however small psi is.
        cost = Z.copy()
        cost[:, nodes, nodes] = np.inf
        smallest = cost.reshape(n_problems, -1).min(axis=1)
        check_reach(smallest[:, None])
        cost -= smallest[:, None, None]
        cost *= half_inverse[:, None, None]
        frobenius = _Frobenius(cost)
        dual = frobenius.start() if start is None else np.array(start, dtype=float)
        point, _, n_steps = newton(frobenius, dual, tol, max_steps)
        scores = 0.5 * point.slack
        weights = np.maximum(scores, 0.0)
        # Newton's own residual is that of its dual in its units, which tells when to stop
        certificate = partial(
            kkt_residuals, weights, Z, psi, regularizer=regularizer, barrier=barrier
        )
        return GraphStep(weights, scores, point.dual, certificate, n_steps)
    if regularizer != "log-degree":
        raise ValueError(f"unknown regularizer {regularizer!r}; use 'frobenius' or 'log-degree'")
    return log_degree_step(Z, half_inverse, barrier, start, tol, max_steps)
