"""Alternating minimisation on sparse graphs: the same iteration as for small ones.

It starts from the same complete graph, takes the same exact steps, and stops by the same rule as
:mod:`kgl.solvers.alternating`, so it ends at the same graph but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from kgl._types import Array
from kgl.kernels import NeedsDenseError
from kgl.problem import ModelSpec
from kgl.solvers.alternating import FINAL_TOL, LOOSEST, SETTLED
from kgl.solvers.lowrank.data import CompleteGraph, Laplacian, LargeData, SparseLaplacian
from kgl.solvers.lowrank.steps import LargeSignals, LargeStep, make_large_step
from kgl.solvers.sparse import PairRules, SparseGraph, sparse_density_step, sparse_graph_step
from kgl.solvers.sparse.features import Features

__all__ = [
    "LargeFit",
    "LargeOptions",
    "first_signals",
    "graph_term",
    "refit_signals",
    "refuse_stiff",
    "solve_large",
]

#: Smoothness term, relative to the ridge term, from which lam is lost to rounding.
STIFFEST = 2e12


#: Share of the squares of two nodes below which a distance would lose digits in another basis.
_TWINS = 1e-2


@dataclass(frozen=True)
class LargeOptions:
    """How to solve, as opposed to what.

    Attributes
    ----------
    regularizer, barrier, tol, max_iter, inner_tol
        As in :class:`kgl.solvers.alternating.Options`.
    smoothness_scale : float
        Factor on rho.
    rules : PairRules or None
        Which pairs may be edges, and which cost more.
    certify : {"all", "sample", False}
        Whether all pairs are priced.
    init : SparseLaplacian or None
        Laplacian to start from instead of the complete graph.
    progress : callable or None
        Called with the number of each outer iteration.
    """

    regularizer: str = "frobenius"
    barrier: float = 1.0
    smoothness_scale: float = 1.0
    rules: PairRules | None = None
    certify: str | bool = "all"
    tol: float = 1e-4
    max_iter: int = 500
    inner_tol: float = 1e-9
    init: SparseLaplacian | None = None
    progress: Callable[[int], None] | None = None


@dataclass(eq=False)
class LargeFit:
    """A fit of a large graph.

    Attributes
    ----------
    graph : SparseGraph
        The graph, with its certificate.
    features : array (m, k)
        The features that it was learned from, for scores of pairs.
    psi : float
        The psi in use.
    n_iter : int
        Outer iterations.
    converged : bool
        Whether the tolerance was reached.
    history : array (n_iter + 1, 4)
        Parts of the objective after each outer iteration, and for the final signals.
    signals : LargeSignals or None
        Signals fitted to the final graph; None where the model fits none.
    inner_iterations : int
        Iterations of conjugate gradients.
    """

    graph: SparseGraph
    features: Array
    psi: float
    n_iter: int
    converged: bool
    history: Array
    signals: LargeSignals | None
    inner_iterations: int = 0


def solve_large(
    data: LargeData,
    spec: ModelSpec,
    lam: float,
    rho: float,
    psi: float,
    options: LargeOptions,
    *,
    target: int | None = None,
    signals: bool = True,
    first: LargeSignals | None = None,
    near: SparseGraph | None = None,
) -> LargeFit:
    """Solve one problem at a psi, or with psi adjusted to a number of edges as it goes.

    Parameters
    ----------
    data, spec
        The data and the model.
    lam, rho, psi : float
        Weights of the terms; with ``target`` psi is where the search starts, zero where nothing
        is known.
    options : LargeOptions
        How to solve.
    target : int, optional
        Number of edges.
    signals : bool
        Whether to fit signals to the final graph.
    first : LargeSignals, optional
        What :func:`first_signals` returns, where several fits share it.
    near : SparseGraph, optional
        A graph of similar signals, whose candidates serve the first graph step.
    """
    rho = rho * options.smoothness_scale
    if not spec.fitted:
        return _read_off(data, spec, rho, psi, options, target)
    step = make_large_step(data, spec, options.inner_tol)
    L = _start(data, spec, options)
    graph = near
    warm: Array | None = None
    rows: list[list[float]] = []
    converged, inner = False, 0
    for iteration in range(options.max_iter):
        if iteration == 0 and first is not None:
            fitted = first
        else:
            fitted = step.solve(L, lam, rho, warm=warm)
        inner += fitted.n_inner
        wanted = target if iteration < SETTLED else None
        graph = _solve_graph(fitted.features, psi, rho, spec, options, wanted, graph)
        psi = graph.psi
        new = SparseLaplacian.of(graph.weights, graph.signs)
        rows.append(_parts(fitted, graph, new, rho, options))
        converged = _unchanged(L, new, graph, options.tol)
        L, warm = new, fitted.warm
        if options.progress is not None:
            options.progress(iteration + 1)
        if converged:
            break
    assert graph is not None
    fit = LargeFit(
        graph, fitted.features, psi, len(rows), converged, np.array(rows), None, inner
    )  # fmt: skip
    if signals:
        last = make_large_step(data, spec, min(options.inner_tol, FINAL_TOL))
        fit.signals = _last_signals(last, L, lam, rho, warm)
        rows.append(_parts(fit.signals, graph, new, rho, options))
        fit.history = np.array(rows)
    return fit


def _start(data: LargeData, spec: ModelSpec, options: LargeOptions) -> Laplacian:
    return options.init or CompleteGraph(data.Y.shape[1], data.Y if spec.signed else None)


def first_signals(
    data: LargeData, spec: ModelSpec, lam: float, rho: float, options: LargeOptions
) -> LargeSignals:
    """Return the signals of the first signal step, which do not depend on psi."""
    step = make_large_step(data, spec, options.inner_tol)
    return step.solve(_start(data, spec, options), lam, rho * options.smoothness_scale)


def _last_signals(
    step: LargeStep, L: Laplacian, lam: float, rho: float, warm: Array | None
) -> LargeSignals:
    found = step.solve(L, lam, rho, warm=warm, signals=True)
    found.warm = None  # of the size of the data, and of no further use
    return found


def refit_signals(
    data: LargeData, spec: ModelSpec, lam: float, rho: float, graph: SparseGraph
) -> LargeSignals:
    """Return the signals of other data on the same nodes for a graph; rho is that of the fit."""
    L = SparseLaplacian.of(graph.weights, graph.signs)
    return _last_signals(make_large_step(data, spec, FINAL_TOL), L, lam, rho, None)


def _read_off(
    data: LargeData,
    spec: ModelSpec,
    rho: float,
    psi: float,
    options: LargeOptions,
    target: int | None,
) -> LargeFit:
    """GL: one graph step on the data themselves."""
    F = np.ascontiguousarray(data.Y.T)
    if F.shape[1] > F.shape[0]:
        F = np.ascontiguousarray(np.asarray(np.linalg.qr(data.Y, mode="r")).T)
    graph = _solve_graph(F, psi, rho, spec, options, target, None)
    if F.shape[1] < len(data.Y) and _has_twins(F, graph):
        F = np.ascontiguousarray(data.Y.T)
        graph = _solve_graph(F, psi, rho, spec, options, target, graph)
    L = SparseLaplacian.of(graph.weights, graph.signs)
    parts = _parts(LargeSignals(F, 0.0, 0.0), graph, L, rho, options)
    return LargeFit(graph, F, graph.psi, 1, True, np.array([parts]), None)


def _has_twins(F: Array, graph: SparseGraph) -> bool:
    """Return whether nodes are so much alike that a change of basis loses digits of distances."""
    rows, cols = graph.candidates
    distances, _ = Features(F, signed=graph.signed).distances(rows, cols)
    squares = np.einsum("ij,ij->i", F, F)
    return bool((distances < _TWINS * (squares[rows] + squares[cols])).any())


def _solve_graph(
    F: Array,
    psi: float,
    rho: float,
    spec: ModelSpec,
    options: LargeOptions,
    target: int | None,
    start: SparseGraph | None,
) -> SparseGraph:
    how: dict[str, Any] = {
        "rho": rho,
        "signed": spec.signed,
        "regularizer": options.regularizer,
        "barrier": options.barrier,
        "rules": options.rules,
        "certify": options.certify,
        "start": start,
    }
    if target is None:
        return sparse_graph_step(F, psi, **how)
    return sparse_density_step(F, psi if psi > 0 else None, target, **how)


def _parts(
    fitted: LargeSignals, graph: SparseGraph, L: SparseLaplacian, rho: float, options: LargeOptions
) -> list[float]:
    """Objective (fit, ridge, smoothness, graph) at some signals and a graph."""
    F = fitted.features
    smoothness = rho * float(np.sum(F * L.product(F)))
    return [fitted.fit, max(fitted.ridge, 0.0), smoothness, graph_term(graph, options)]


def graph_term(graph: SparseGraph, options: LargeOptions) -> float:
    """Return the penalty on a graph, with the costs of its edges."""
    W = graph.weights
    squares, degrees = float(np.sum(W.data**2)), np.asarray(W.sum(axis=1)).ravel()
    if options.regularizer == "frobenius":
        term = graph.psi * (squares + float(degrees @ degrees))
    else:
        with np.errstate(divide="ignore"):
            term = graph.psi * squares - options.barrier * float(np.log(degrees).sum())
    penalty = None if options.rules is None else options.rules.penalty
    if penalty is not None:
        on = csr_array(W.multiply(csr_array(penalty)))
        term += 0.5 * float(on.data[np.isfinite(on.data)].sum())
    return term


def _unchanged(old: Laplacian, new: SparseLaplacian, graph: SparseGraph, tol: float) -> bool:
    size, tol = float(np.sum(new.matrix.data**2)), min(tol, LOOSEST)
    if isinstance(old, CompleteGraph):
        before = old.size * old.size / (old.size - 1.0)
        if abs(np.sqrt(size) - np.sqrt(before)) > tol * np.sqrt(size):
            return False  # norms that differ are enough, and products cost more
        change = size - 2.0 * _product_with_complete(old, graph) + before
    else:
        assert isinstance(old, SparseLaplacian)
        change = float(np.sum((new.matrix - old.matrix).data ** 2))
    return bool(change <= tol**2 * size)


def _product_with_complete(old: CompleteGraph, graph: SparseGraph) -> float:
    """Return the inner product of two Laplacians: of the complete graph and of a sparse one."""
    W = graph.weights.tocoo()
    rows, cols = W.coords
    signs = old.signs(rows, cols)
    if graph.signs is not None:
        signs = signs * np.asarray(graph.signs.tocsr()[rows, cols]).ravel()
    return float(W.data.sum()) + float(W.data @ signs) / (old.size - 1.0)


def refuse_stiff(
    data: LargeData, spec: ModelSpec, lam: float, rho: float, scale: float = 1.0
) -> None:
    """Refuse a rho so large beside lam that lam would be lost beside the rounding of rho L."""
    if not spec.fitted:
        return
    K = data.K_x.mean_variance if spec.whitened else float(data.K_z.values.sum()) / data.K_z.size
    ratio = rho * scale * K / (lam if spec.ridge else 1.0)
    if ratio > STIFFEST:
        raise NeedsDenseError(
            f"the smoothness term is {ratio:.0e} times the ridge term, beyond {STIFFEST:.0e}: "
            "sparse fits do not resolve that; lower rho, raise lam, or use solver='newton'"
        )
