r"""The graph step by CVXPY: the paper's own route, and the oracle of the fast one.

:func:`cvxpy_graph_step` has the signature and the result of
:func:`kgl.solvers.graph_step.graph_step`, so it can take its place.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import lru_cache, partial
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from kgl._threads import changed_filters
from kgl._types import Array
from kgl.laplacian import adjacency_from_edges
from kgl.problem import kkt_residuals
from kgl.solvers.graph_step import GraphStep

__all__ = ["BACKEND_SETTINGS", "cvxpy_graph_step"]

#: Settings with which each CVXPY backend is accurate on the edge formulation. Largest error of a
#: weight against the Newton solver, m = 2 to 120 and psi = 1e-9 to 1e5: OSQP 1e-14 (its polish is
#: exact once the active edges are right), SCS 4e-10, CLARABEL 5e-9, PIQP 3e-8 (at the 99th
#: percentile 5e-9). With CVXPY's own settings: CLARABEL and PIQP 1e-6, SCS 1e-4.
BACKEND_SETTINGS: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-14, "tol_gap_rel": 1e-14, "tol_feas": 1e-14},
    "OSQP": {
        "eps_abs": 1e-10,
        "eps_rel": 1e-10,
        "max_iter": 200_000,
        "polishing": True,
        "polish_refine_iter": 20,
    },
    "PIQP": {
        "eps_abs": 1e-12,
        "eps_rel": 1e-12,
        "eps_duality_gap_abs": 1e-14,
        "eps_duality_gap_rel": 1e-14,
    },
    "SCS": {"eps_abs": 1e-11, "eps_rel": 1e-11, "max_iters": 100_000},
}

#: What ``backend=None`` takes for the edge formulation: the first that is installed. PIQP is the
#: fastest of the accurate ones. The logarithm needs an exponential cone, on which CLARABEL often
#: stalls between 1e-6 and 1e-5 while SCS gets to 1e-10.
_PREFERRED = {
    "frobenius": ("PIQP", "OSQP", "CLARABEL", "SCS"),
    "log-degree": ("SCS", "CLARABEL"),
}


def _import_cvxpy() -> Any:
    # Importing CVXPY takes more than a second: only those who ask for it pay.
    try:
        import cvxpy
    except ImportError as error:
        raise ImportError(
            "solving the graph step with CVXPY needs an optional package: "
            "pip install kernel-graph-learning[cvxpy]"
        ) from error
    return cvxpy


def _choose_backend(cp: Any, backend: str | None, formulation: str, regularizer: str) -> str | None:
    """Return an installed solver, or None for CVXPY's own choice with its own settings."""
    installed = list(cp.installed_solvers())
    if backend is not None:
        if backend.upper() not in installed:
            raise ValueError(
                f"backend {backend!r} is not among the installed CVXPY solvers: "
                + ", ".join(installed)
            )
        return backend.upper()
    if formulation == "matrix":
        return None
    return next((name for name in _PREFERRED[regularizer] if name in installed), None)


def _run(cp: Any, problem: Any, backend: str | None, settings: dict[str, Any]) -> int:
    """Solve a CVXPY problem and return the number of iterations."""
    try:
        with changed_filters():
            # "Solution may be inaccurate": the residual that is returned measures it.
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            # A warm start would make the answer depend on what was solved before.
            problem.solve(solver=backend, warm_start=False, **settings)
    except cp.error.SolverError as error:
        raise RuntimeError(f"CVXPY backend {backend or 'default'} failed: {error}") from error
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        name = problem.solver_stats.solver_name if problem.solver_stats else backend
        raise RuntimeError(
            f"CVXPY backend {name} stopped with status {problem.status!r}: allow it more "
            "iterations, or use another backend or formulation"
        )
    return int(problem.solver_stats.num_iters or 0)


@dataclass
class _EdgeProblem:
    """A compiled CVXPY problem over edge weights; only its parameters change between solves."""

    problem: Any
    weights: Any
    cost: Any
    curvature: Any = None
    # setting parameters and solving go together
    lock: Lock = field(default_factory=Lock)


@lru_cache(maxsize=8)
def _edge_problem(m: int, regularizer: str, backend: str | None) -> _EdgeProblem:
    r"""Compile the graph step on ``m`` nodes, with psi and the barrier scaled into c and q.

    .. math::
        \text{frobenius:}  \quad & \min_{w \ge 0} c^\top w + |w|^2 + \tfrac12 |Sw|^2
                                  \quad \text{s.t. } 1^\top w = m/2, \\
        \text{log-degree:} \quad & \min_{w \ge 0} c^\top w + q|w|^2 - 1^\top \log(Sw).

    CVXPY keeps one compiled form per problem and backend, hence the key of this cache.
    """
    cp = _import_cvxpy()
    rows, cols = np.triu_indices(m, 1)
    n_edges = len(rows)
    edges = np.arange(n_edges)
    S = csr_array(
        (np.ones(2 * n_edges), (np.concatenate([rows, cols]), np.concatenate([edges, edges]))),
        shape=(m, n_edges),
    )
    w = cp.Variable(n_edges, nonneg=True)
    cost = cp.Parameter(n_edges)
    if regularizer == "frobenius":
        objective = cost @ w + cp.sum_squares(w) + 0.5 * cp.sum_squares(S @ w)
        return _EdgeProblem(cp.Problem(cp.Minimize(objective), [cp.sum(w) == m / 2]), w, cost)
    curvature = cp.Parameter(nonneg=True)
    objective = cost @ w + curvature * cp.sum_squares(w) - cp.sum(cp.log(S @ w))
    return _EdgeProblem(cp.Problem(cp.Minimize(objective)), w, cost, curvature)


def _solve_edges(
    cp: Any,
    c: Array,
    m: int,
    regularizer: str,
    ratio: float,
    backend: str | None,
    options: dict[str, Any],
) -> tuple[Array, int]:
    r"""Solve for edge weights, given :math:`c = Z / 2\psi` and ``ratio`` :math:`\beta / 2\psi`.

    Costs from which on an edge is certain to have no weight are cut off: it changes no solution,
    and keeps the problem well scaled however small psi is. A forbidden edge is one of them.
    """
    compiled = _edge_problem(m, regularizer, backend)
    rows, cols = np.triu_indices(m, 1)
    unit = 1.0
    with compiled.lock:
        if regularizer == "frobenius":
            # For the cheapest edge t - c_min <= 2 w + d_i + d_j <= 3 w + m/2 <= 2m, so an edge
            # that costs more than c_min + 2m has t - c - d_i - d_j < 0.
            compiled.cost.value = np.minimum(c - c.min(), 4.0 * m)
        else:
            # With its nearest neighbour alone a node has ratio / u_i = d_i >= (u_i - c) / 2,
            # which bounds u_i; an edge that costs more than u_i + u_j has no weight.
            nearest = _spread(c).min(axis=1)
            highest = 0.5 * (nearest + np.sqrt(nearest**2 + 8.0 * ratio))
            c = np.minimum(c, 2.0 * (highest[rows] + highest[cols]))
            # the variable is w in units of a typical degree, ratio / u
            unit = ratio / float(np.median(highest))
            compiled.cost.value = c * (unit / ratio)
            compiled.curvature.value = unit**2 / ratio
        n_steps = _run(cp, compiled.problem, backend, options)
        return unit * np.asarray(compiled.weights.value, dtype=float), n_steps


def _spread(c: Array) -> Array:
    """Costs as a matrix with an infinite diagonal."""
    C = adjacency_from_edges(c)
    np.fill_diagonal(C, np.inf)
    return C


def _solve_matrix(
    cp: Any,
    z: Array,
    m: int,
    psi: float,
    regularizer: str,
    barrier: float,
    backend: str | None,
    options: dict[str, Any],
) -> tuple[Array, int]:
    """Solve for the Laplacian as a matrix variable, word for word as the paper writes it."""
    upper = np.triu_indices(m, 1)
    L = cp.Variable((m, m), symmetric=True)
    entries = L[upper]
    allowed = np.isfinite(z)
    smoothness = -(z[allowed] @ entries[np.flatnonzero(allowed)])
    constraints = [cp.sum(L, axis=1) == 0, entries <= 0]
    if not allowed.all():
        constraints.append(entries[np.flatnonzero(~allowed)] == 0)
    if regularizer == "frobenius":
        penalty = psi * cp.sum_squares(L)
        constraints.append(cp.trace(L) == m)
    else:
        penalty = 2.0 * psi * cp.sum_squares(entries) - barrier * cp.sum(cp.log(cp.diag(L)))
    problem = cp.Problem(cp.Minimize(smoothness + penalty), constraints)
    n_steps = _run(cp, problem, backend, options)
    return -np.asarray(L.value, dtype=float)[upper], n_steps


def _multipliers(W: Array, cost: Array, regularizer: str, ratio: float) -> tuple[Array, Array]:
    """Return the dual variables and the node potentials u that belong to a graph."""
    degrees = W.sum(axis=1)
    if regularizer == "log-degree":
        # a degree that the solver left at zero has no multiplier
        with np.errstate(divide="ignore"):
            u = ratio / degrees
        return u, u
    # The gradient is t on all edges. Average it over those whose cost lets them have weight: a
    # solver's dust on any other would count with its cost.
    gradient = cost + 2.0 * W + degrees[:, None] + degrees[None, :]
    counted = np.where(cost <= 2.0 * len(W), W, 0.0)
    on = counted > 0.0
    t = float(np.average(gradient[on], weights=counted[on]) if on.any() else gradient.min())
    return np.append(degrees, t), 0.5 * t - degrees


def cvxpy_graph_step(
    Z: Array,
    psi: Array | float,
    *,
    regularizer: str = "frobenius",
    barrier: float = 1.0,
    start: Array | None = None,
    formulation: str = "edges",
    backend: str | None = None,
    own_settings: bool = False,
    **solver_options: Any,
) -> GraphStep:
    r"""Solve a batch of graph steps with CVXPY, one after the other.

    .. math::
        \text{frobenius:}  \quad & \min \sum_{i<j} Z_{ij} w_{ij} + \psi \|L\|_F^2
                                  \quad \text{s.t. } \operatorname{tr} L = m \\
        \text{log-degree:} \quad & \min \sum_{i<j} Z_{ij} w_{ij} + \psi \|W\|_F^2
                                  - \beta \sum_i \log d_i

    Parameters
    ----------
    Z : array (G, m, m)
        Symmetric distances; ``inf`` forbids an edge; the diagonal is ignored.
    psi : float or array (G,)
        Weight of the norm, positive.
    regularizer : {"frobenius", "log-degree"}
        Which of the two problems.
    barrier : float
        ``beta``, the weight of the log-degree barrier.
    start : array, optional
        Ignored: a CVXPY solve starts cold, so that its answer does not depend on earlier ones.
    formulation : {"edges", "matrix"}
        ``"edges"``: the weights ``w >= 0`` are the variable and
        :math:`\|L\|_F^2 = 2|w|^2 + |Sw|^2`; rescaled, compiled once per size and backend.
        ``"matrix"``: the paper's route, a symmetric variable L with ``L 1 = 0``, off-diagonal
        entries at most 0 and ``tr L = m``, neither rescaled nor kept. It becomes slow or fails
        where psi is small against the distances.
    backend : str, optional
        A CVXPY solver, run with :data:`BACKEND_SETTINGS`. By default ``"edges"`` takes an
        accurate one and ``"matrix"`` leaves choice and settings to CVXPY, as the paper did.
    own_settings : bool
        Whether the backend has CVXPY's settings, which are looser, instead of ours.
    **solver_options
        Passed to the backend; they override its settings.

    Returns
    -------
    GraphStep
        ``weights`` are the solver's own, with negative ones set to zero (and forbidden ones):
        edges that should be absent can have tiny weights, and the trace is off by the solver's
        error. ``scores`` are :math:`\frac12(u_i + u_j - c_{ij})` with :math:`c = Z / 2\psi` and
        multipliers worked out from the weights (:math:`u = t/2 - d`, or :math:`\beta/2\psi d`),
        so they equal positive weights up to the solver's error. ``dual`` can start the Newton
        solver. ``residual`` is :func:`kgl.problem.kkt_residual`, ``n_steps`` the backend's
        iterations.

    Raises
    ------
    ValueError
        If the backend, formulation or regularizer is unknown, or no graph is feasible.
    RuntimeError
        If the backend fails. A solution that it calls inaccurate is returned: see ``residual``.
    """
    if regularizer not in _PREFERRED:
        raise ValueError(f"unknown regularizer {regularizer!r}; use 'frobenius' or 'log-degree'")
    if formulation not in ("edges", "matrix"):
        raise ValueError(f"unknown formulation {formulation!r}; use 'edges' or 'matrix'")
    cp = _import_cvxpy()
    backend = _choose_backend(cp, backend, formulation, regularizer)
    if not own_settings:
        solver_options = {**BACKEND_SETTINGS.get(backend or "", {}), **solver_options}
    Z = np.asarray(Z, dtype=float)
    n_problems, m, _ = Z.shape
    rows, cols = np.triu_indices(m, 1)
    psis = np.broadcast_to(np.asarray(psi, dtype=float), (n_problems,))
    weights, scores, duals = [], [], []
    n_steps = np.empty(n_problems, dtype=int)
    for g in range(n_problems):
        p = float(psis[g])
        z = Z[g, rows, cols]
        _require_feasible(z, m, regularizer)
        # only differences of costs matter to the problem with a fixed trace
        base = z.min() if regularizer == "frobenius" else 0.0
        c, ratio = (z - base) / (2.0 * p), barrier / (2.0 * p)
        if formulation == "edges":
            w, n_steps[g] = _solve_edges(cp, c, m, regularizer, ratio, backend, solver_options)
        else:
            w, n_steps[g] = _solve_matrix(
                cp, z, m, p, regularizer, barrier, backend, solver_options
            )
        W = adjacency_from_edges(np.where(np.isfinite(z), np.maximum(w, 0.0), 0.0))
        cost = _spread(c)
        dual, u = _multipliers(W, cost, regularizer, ratio)
        weights.append(W)
        slack = u[:, None] + u[None, :] - np.where(np.isfinite(cost), cost, 0.0)
        scores.append(np.where(np.isfinite(cost), 0.5 * slack, -np.inf))
        duals.append(dual)
    found = np.stack(weights)
    certificate = partial(kkt_residuals, found, Z, psis, regularizer=regularizer, barrier=barrier)
    return GraphStep(found, np.stack(scores), np.stack(duals), certificate, n_steps)


def _require_feasible(z: Array, m: int, regularizer: str) -> None:
    if np.isnan(z).any():
        raise ValueError("Z has NaN entries; use inf for a pair that must not be linked")
    allowed = np.isfinite(z)
    if not allowed.any():
        raise ValueError("every pair is forbidden (Z = inf); allow at least one")
    lonely = np.flatnonzero(adjacency_from_edges(allowed).sum(axis=1) == 0)
    if regularizer == "log-degree" and len(lonely):
        raise ValueError(
            f"node {lonely[0]} has no allowed edge, but the log-degree barrier gives every node "
            "one; allow an edge or use regularizer='frobenius'"
        )
