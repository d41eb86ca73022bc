"""Alternating minimisation (Algorithm 1 of the paper) over all points of a grid at once.

Starting from the complete graph, which is what the graph step returns for ``A = 0``, a signal
step and a graph step take turns until no graph of the batch changes any more. Both steps are
exact minimisers, so the objective of every point falls at each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgl._types import Array
from kgl.laplacian import (
    complete_laplacian,
    laplacian_from_adjacency,
    pairwise_sq_distances,
    signed_sq_distances,
    signed_sq_distances_from_gram,
    sq_distances_from_gram,
)
from kgl.problem import ModelSpec, graph_penalty, kkt_residuals
from kgl.solvers.density_step import density_step
from kgl.solvers.graph_step import GraphStep, graph_step
from kgl.solvers.signal_step import SignalData, SignalSolution, SignalStep, make_signal_step

__all__ = ["Batch", "Options", "distances", "fit_signals", "solve_points"]

#: Outer iterations after which psi is no longer adjusted to a number of edges: near a psi at which
#: several edges enter at once, adjusting it for ever would keep the graph from settling.
SETTLED = 12
#: Change of a graph, relative to its norm, that meets any tolerance above: squares do not overflow.
LOOSEST = 1e100
#: Relative tolerance of the last signal step, where it is iterative. So accurate, signals do not
#: depend on the batch they were found in.
FINAL_TOL = 1e-14


@dataclass(frozen=True)
class Options:
    """How to solve, as opposed to what.

    Attributes
    ----------
    regularizer : {"frobenius", "log-degree"}
        Penalty on the graph.
    barrier : float
        Weight of the log-degree barrier.
    smoothness_scale : float
        Factor on rho: 1, or 1/n where the smoothness term is averaged.
    edge_cost : array (m, m) or None
        Added to the distances: per-edge penalties, ``inf`` where an edge is forbidden.
    tol : float
        Stop when the Laplacian changes by less than this, relative to its norm.
    max_iter : int
        Outer iterations at most.
    inner_tol : float
        Relative tolerance of an iterative signal step.
    final_tol : float
        The same for the last one, which fits the signals to the final graph; at most ``inner_tol``.
    init : array (m, m) or (G, m, m), or None
        Laplacian to start from instead of the complete graph, or one for each point.
    signals, history : bool
        Whether to return the fitted signals and the objective per iteration.
    solve_graph : callable
        The graph step, for routes other than the built-in one.
    target_edges : int or array of int (G,), or None
        Number of edges that psi is found for, as near as :func:`density_step` gets; the given psi
        is then only where the search starts (zero where nothing is known).
    """

    regularizer: str = "frobenius"
    barrier: float = 1.0
    smoothness_scale: float = 1.0
    edge_cost: Array | None = None
    tol: float = 1e-4
    max_iter: int = 100
    inner_tol: float = 1e-12
    final_tol: float = FINAL_TOL
    init: Array | None = None
    signals: bool = False
    history: bool = False
    solve_graph: Callable[..., GraphStep] = graph_step
    target_edges: int | np.ndarray | None = None


@dataclass
class Batch:
    """Solutions of a batch of grid points.

    Attributes
    ----------
    weights, scores : array (G, m, m)
        Adjacency matrices and edge scores.
    residual : array (G,)
        Relative KKT residual of the last graph step.
    n_iter : array of int (G,)
        Outer iterations.
    converged : bool array (G,)
        Whether the tolerance was reached.
    psi : array (G,)
        The psi of each point: as given, or as found for a number of edges.
    signals : array (G, n, m) or None
        Fitted signals.
    history : list of arrays (n_iter + 1, 4) or None
        Parts of the objective (fit, ridge, smoothness, graph) after each outer iteration, and
        after the last signal step, which fits the signals to the final graph.
    signs : array (G, m, m) or None
        1 and -1: how the nodes of each pair move, where graphs are signed.
    """

    weights: Array
    scores: Array
    residual: Array
    n_iter: np.ndarray
    converged: np.ndarray
    psi: Array
    signals: Array | None = None
    history: list[Array] | None = None
    inner_iterations: int = field(default=0)
    signs: Array | None = None


def _distances(gram: Array, *, signed: bool) -> tuple[Array, Array | None]:
    """Return squared distances of fitted signals, and the signs of pairs in a signed graph."""
    if signed:
        return signed_sq_distances_from_gram(gram)
    return sq_distances_from_gram(gram), None


def _graph_distances(Z: Array, rho: Array, edge_cost: Array | None) -> Array:
    Z = Z * rho[:, None, None]
    if edge_cost is not None:
        Z += edge_cost
    return Z


def _graph_part(W: Array, psi: Array, options: Options) -> Array:
    part = graph_penalty(W, psi, options.regularizer, options.barrier)
    if options.edge_cost is not None:
        finite = np.where(np.isfinite(options.edge_cost), options.edge_cost, 0.0)
        part = part + 0.5 * np.einsum("gij,ij->g", W, finite)
    return part


def _solve_graph(
    Z: Array, psi: Array, target: np.ndarray | None, start: Array | None, options: Options
) -> tuple[GraphStep, Array]:
    """Return the graphs of a batch, and their psi: the one given unless there is a target."""
    penalty: dict[str, Any] = {"regularizer": options.regularizer, "barrier": options.barrier}
    if target is None:
        return options.solve_graph(Z, psi, start=start, **penalty), psi
    return density_step(Z, psi, target, start=start, solve=options.solve_graph, **penalty)


def _targets(options: Options, n_points: int) -> np.ndarray | None:
    """Return the number of edges that each point is to have."""
    if options.target_edges is None:
        return None
    return np.broadcast_to(options.target_edges, (n_points,))


def distances(data: SignalData, *, signed: bool) -> tuple[Array, Array | None]:
    """Return squared distances of the data themselves, and the signs of pairs in a signed graph."""
    if signed:
        return signed_sq_distances(data.Y, data.mask)
    return pairwise_sq_distances(data.Y, data.mask), None


def _read_off(data: SignalData, psi: Array, options: Options, *, signed: bool) -> Batch:
    """GL: one graph step on the distances of the data themselves."""
    n_points = len(psi)
    Z, one = distances(data, signed=signed)
    signs = None if one is None else np.repeat(one[None], n_points, axis=0)
    scale = np.full(n_points, options.smoothness_scale)
    costs = _graph_distances(Z, scale, options.edge_cost)
    step, psi = _solve_graph(costs, psi, _targets(options, n_points), None, options)
    history = None
    if options.history:
        smoothness = 0.5 * scale * np.einsum("gij,ij->g", step.weights, Z)
        zero = np.zeros(n_points)
        parts = np.stack([zero, zero, smoothness, _graph_part(step.weights, psi, options)], axis=1)
        history = [row[None] for row in parts]
    signals = np.broadcast_to(data.Y, (n_points, *data.Y.shape)) if options.signals else None
    ones = np.ones(n_points, dtype=int)
    return Batch(
        step.weights, step.scores, step.residual, ones, ones.astype(bool), psi, signals, history,
        signs=signs,
    )  # fmt: skip


def solve_points(
    data: SignalData, spec: ModelSpec, lam: Array, rho: Array, psi: Array, options: Options
) -> Batch:
    """Solve all points at once: hyperparameters are arrays (G,)."""
    if not spec.fitted:
        return _read_off(data, psi, options, signed=spec.signed)
    rho, psi = rho * options.smoothness_scale, psi.copy()
    n_points, m = len(psi), data.Y.shape[1]
    target = _targets(options, n_points)
    step = make_signal_step(data, spec, tol=options.inner_tol)
    first = _complete(data, spec) if options.init is None else options.init
    L = np.broadcast_to(first, (n_points, m, m)).copy()
    out = _empty_batch(psi, m, signed=spec.signed)
    costs = np.empty_like(out.weights)  # of the last graph step of each point
    records: list[list[Array]] = [[] for _ in range(n_points)]
    dual: Array | None = None
    warm: Array | None = None
    kept_warm: Array | None = None
    running = np.arange(n_points)

    for iteration in range(options.max_iter):
        if iteration == 0 and first.ndim == 2:
            solution = _first_signals(step, L, lam, rho, options)
        else:
            solution = step.solve(L, lam[running], rho[running], warm=warm, parts=options.history)
        out.inner_iterations += solution.n_inner
        Z, signs = _distances(solution.gram, signed=spec.signed)
        Z = _graph_distances(Z, rho[running], options.edge_cost)
        wanted = None if target is None or iteration >= SETTLED else target[running]
        graph, psi[running] = _solve_graph(Z, psi[running], wanted, dual, options)
        new = laplacian_from_adjacency(graph.weights, signs)
        out.n_iter[running] += 1
        if options.history:
            parts = _parts(solution, L, graph.weights, new, rho[running], psi[running], options)
            for k, row in zip(running, parts, strict=True):
                records[k].append(row)
        done = _unchanged(L, new, options.tol)
        stop = done if iteration + 1 < options.max_iter else np.ones_like(done)
        # a graph that left the range of double precision has no next signals; its residual warns
        stop |= ~np.isfinite(new).all(axis=(1, 2))
        L, dual, warm = new, graph.dual, solution.warm
        if not stop.any():
            continue
        which = running[stop]
        _put(out, which, graph, signs, stop)
        costs[which] = Z[stop]
        out.converged[which] = done[stop]
        running, L, dual = running[~stop], L[~stop], dual[~stop]
        if warm is not None:
            if kept_warm is None:
                kept_warm = np.zeros((n_points, *warm.shape[1:]))
            kept_warm[which] = warm[stop]
            warm = warm[~stop]
        if not len(running):
            break

    out.residual = kkt_residuals(
        out.weights, costs, psi, regularizer=options.regularizer, barrier=options.barrier
    )
    _add_signals(out, data, spec, lam, rho, kept_warm, records, options)
    return out


def _complete(data: SignalData, spec: ModelSpec) -> Array:
    """Return the complete graph to start from, with the signs of the data if graphs are signed."""
    m = data.Y.shape[1]
    if not spec.signed:
        return complete_laplacian(m)
    _, signs = signed_sq_distances_from_gram(data.Y.T @ data.Y)  # zero where missing
    weights = (np.ones((m, m)) - np.eye(m)) / (m - 1)
    return laplacian_from_adjacency(weights, signs)


def _empty_batch(psi: Array, m: int, *, signed: bool) -> Batch:
    n_points = len(psi)
    return Batch(
        weights=np.empty((n_points, m, m)),
        scores=np.empty((n_points, m, m)),
        residual=np.empty(n_points),
        n_iter=np.zeros(n_points, dtype=int),
        converged=np.zeros(n_points, dtype=bool),
        psi=psi,
        signs=np.ones((n_points, m, m)) if signed else None,
    )


def _put(
    out: Batch, which: np.ndarray, graph: GraphStep, signs: Array | None, stop: np.ndarray
) -> None:
    """Keep the graphs of the points that stop."""
    out.weights[which] = graph.weights[stop]
    out.scores[which] = graph.scores[stop]
    if out.signs is not None and signs is not None:
        out.signs[which] = signs[stop]


def _first_signals(
    step: SignalStep, L: Array, lam: Array, rho: Array, options: Options
) -> SignalSolution:
    """Solve the first signal step; points of equal lam and rho share it, since all start alike."""
    _, index, inverse = np.unique(
        np.stack([lam, rho]), axis=1, return_index=True, return_inverse=True
    )
    solution = step.solve(L[index], lam[index], rho[index], parts=options.history)
    return solution.take(inverse.reshape(-1))


def _add_signals(
    out: Batch,
    data: SignalData,
    spec: ModelSpec,
    lam: Array,
    rho: Array,
    warm: Array | None,
    records: list[list[Array]],
    options: Options,
) -> None:
    """Add the signals of the final graphs, and the history that ends with them, where asked for."""
    if not (options.signals or options.history):
        return
    L = laplacian_from_adjacency(out.weights, out.signs)
    lost = ~np.isfinite(L).all(axis=(1, 2))  # no graph, as the residual says: no signals either
    L[lost] = 0.0
    last = make_signal_step(data, spec, tol=min(options.inner_tol, options.final_tol))
    solution = last.solve(L, lam, rho, warm=warm, parts=options.history, signals=options.signals)
    out.signals = solution.signals
    if out.signals is not None and lost.any():
        out.signals[lost] = np.nan
    if options.history:
        parts = _parts(solution, L, out.weights, L, rho, out.psi, options)
        out.history = [np.array([*rows, parts[k]]) for k, rows in enumerate(records)]


def fit_signals(
    data: SignalData, spec: ModelSpec, lam: Array, rho: Array, batch: Batch, options: Options
) -> Array:
    """Return the signals (G, n, m) of other data on the same nodes, given the graphs of a batch."""
    if not spec.fitted:
        return np.broadcast_to(data.Y, (len(lam), *data.Y.shape))
    L = laplacian_from_adjacency(batch.weights, batch.signs)
    step = make_signal_step(data, spec, tol=min(options.inner_tol, options.final_tol))
    solution = step.solve(L, lam, rho * options.smoothness_scale, signals=True)
    assert solution.signals is not None
    return solution.signals


def _unchanged(old: Array, new: Array, tol: float) -> np.ndarray:
    difference = (new - old).reshape(len(new), -1)
    flat = new.reshape(len(new), -1)
    change = np.vecdot(difference, difference)
    return np.asarray(change <= min(tol, LOOSEST) ** 2 * np.vecdot(flat, flat))


def _parts(
    solution: SignalSolution,
    L_old: Array,
    W: Array,
    L: Array,
    rho: Array,
    psi: Array,
    options: Options,
) -> Array:
    """Objective (G, 4) at signals fitted to ``L_old`` and the graph ``W`` with Laplacian ``L``."""
    assert solution.fit is not None and solution.prior is not None
    ridge = solution.prior - rho * np.einsum("gij,gij->g", solution.gram, L_old)
    smoothness = rho * np.einsum("gij,gij->g", solution.gram, L)
    graph = _graph_part(W, psi, options)
    return np.stack([solution.fit, np.maximum(ridge, 0.0), smoothness, graph], axis=1)
