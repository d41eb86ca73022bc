"""Fits whose psi is found for a number of edges."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kgl._types import Array
from kgl.problem import ModelSpec
from kgl.solvers.alternating import Batch, Options, distances, solve_points
from kgl.solvers.density_step import close_in, count_edges, density_step, edge_tolerance
from kgl.solvers.graph_step import graph_step
from kgl.solvers.signal_step import SignalData

__all__ = ["PATIENCE", "fit_edges", "n_edges", "read_off_many", "short_patience", "warn_if_missed"]

#: Fits at most, besides the first, where the first psi does not give the number of edges.
MAX_FITS = 20
#: Fits after which a number of edges that calls for no warning is near enough.
PATIENCE = 6
#: Width of a bracket, in log psi, at which a search by whole fits ends.
NARROW = 1e-4
#: Smallest psi that such a search tries, relative to the first.
LOWEST = 1e-6


def fit_edges(
    data: SignalData,
    spec: ModelSpec,
    lam: Array,
    rho: Array,
    options: Options,
    *,
    max_fits: int | None = None,
    patience: int = PATIENCE,
) -> tuple[Batch, np.ndarray]:
    """Fit a model at psi that give ``options.target_edges`` edges, or as near as it gets.

    One alternation adjusts psi as it goes. A fit at the psi it ends with has the number of edges,
    unless the graph shapes the signals so much that the way to it decides where it ends; then psi
    is searched for by more fits. So the result is always that of a fit at ``Batch.psi``.

    Parameters
    ----------
    data, spec, lam, rho, options
        As for :func:`kgl.solvers.alternating.solve_points`.
    max_fits : int, optional
        Fits at most, besides the first, where the first does not have the number of edges;
        :data:`MAX_FITS` if not given.
    patience : int
        Fits after which a number of edges that calls for no warning is near enough.

    Returns
    -------
    Batch
        The fits.
    array of int (G,)
        By how many edges each misses its target, as the exact solver counts them.
    """
    m = data.Y.shape[1]
    target = np.broadcast_to(np.asarray(options.target_edges), (len(lam),))
    # edges are counted, which takes a solver whose zeros are zeros, whatever the fit uses
    exact = options.solve_graph is graph_step
    search = replace(options, solve_graph=graph_step, signals=False, history=False)
    psi = solve_points(data, spec, lam, rho, np.zeros(len(lam)), search).psi
    plain = replace(options if exact else search, target_edges=None)
    wanted = np.minimum(target, n_allowed(options.edge_cost, m))
    batch, psi = close_in(
        lambda which, psi: solve_points(data, spec, lam[which], rho[which], psi, plain),
        psi,
        wanted,
        edge_tolerance(m),
        floor=LOWEST * psi,
        narrow=NARROW,
        max_tries=(MAX_FITS if max_fits is None else max_fits) if spec.fitted else 0,
        patience=patience,
        fair=fair_miss(m, wanted),
    )
    gap = np.abs(count_edges(batch.weights) - target)
    if not exact:
        batch = solve_points(data, spec, lam, rho, psi, replace(options, target_edges=None))
    return batch, gap


def read_off_many(
    data: Sequence[SignalData], options: Options, psi: Array | None, *, signed: bool
) -> tuple[Array, Array | None, np.ndarray | None, Array]:
    """GL on several data sets of the same nodes at once: one batch of graph steps.

    Parameters
    ----------
    data : sequence of SignalData
        Data sets of the same size.
    options : Options
        Shared by all; ``target_edges`` where psi is to be found.
    psi : array (G,) or None
        The psi of each; not used with ``target_edges``.
    signed : bool
        Whether edges may link nodes that move opposite to each other.

    Returns
    -------
    array (G, m, m)
        Weights.
    array (G, m, m) or None
        Signs of pairs, where graphs are signed.
    array of int (G,) or None
        By how many edges each misses its target, where there is one.
    array (G,)
        Relative KKT residuals.
    """
    each = [distances(one, signed=signed) for one in data]
    Z = options.smoothness_scale * np.stack([Z for Z, _ in each])
    if options.edge_cost is not None:
        Z = Z + options.edge_cost
    signs = np.stack([own for _, own in each if own is not None]) if signed else None
    penalty: dict[str, Any] = {"regularizer": options.regularizer, "barrier": options.barrier}
    gap = None
    if options.target_edges is not None:
        target = np.broadcast_to(options.target_edges, (len(Z),))
        # edges are counted, which takes a solver whose zeros are zeros, whatever the fit uses
        counted, psi = density_step(Z, np.zeros(len(Z)), target, **penalty)
        gap = np.abs(count_edges(counted.weights) - target)
    step = options.solve_graph(Z, psi, **penalty)
    return step.weights, signs, gap, step.residual


def n_edges(density: float, m: int) -> int:
    """Return the number of edges that a graph of ``m`` nodes has at a density, at least one."""
    return max(1, round(float(density) * (m * (m - 1) // 2)))


def short_patience(m: int) -> int:
    """Return the fits after which a near number of edges is enough for people.

    In a graph of ten nodes one edge more or less shows, and fits take no time.
    """
    return 1 if m > 10 else PATIENCE


def fair_miss(m: int, target: np.ndarray) -> np.ndarray:
    """Return by how many edges targets may be missed without a warning.

    One pair in fifty, but no more than seven in a hundred of the edges wanted.

    Examples
    --------
    >>> fair_miss(20, np.array([57])), fair_miss(100, np.array([50]))
    (array([4]), array([4]))
    """
    pairs = m * (m - 1) // 2
    most = np.minimum(round(0.02 * pairs), np.round(0.07 * target).astype(int))
    return np.asarray(np.maximum(1, most))


def n_allowed(edge_cost: Array | None, m: int) -> int:
    """Return the number of pairs that may be edges."""
    if edge_cost is None:
        return m * (m - 1) // 2
    return int(np.count_nonzero(np.isfinite(edge_cost[np.triu_indices(m, 1)])))


def warn_if_missed(
    gap: np.ndarray, target: np.ndarray, options: Options, m: int, stacklevel: int = 3
) -> None:
    """Warn where no psi gives a number of edges that is near the target."""
    from sklearn.exceptions import ConvergenceWarning  # slow to load, and rarely needed

    n_pairs = m * (m - 1) // 2
    far = np.flatnonzero(gap > fair_miss(m, target))
    if not len(far):
        return
    worst = far[np.argmax(gap[far])]
    allowed = n_allowed(options.edge_cost, m)
    reason = (
        f"only {allowed} pairs may be edges; lower the density, or allow more pairs"
        if allowed < target[worst]
        else "pairs at equal distances enter the graph together, and so may others where rho is so "
        "large that the graph shapes the signals; another density, a smaller rho or a psi of your "
        "own may suit"
    )
    points = f" at {len(far)} of {len(gap)} grid points" if len(gap) > 1 else ""
    warnings.warn(
        f"no psi gives a graph of {target[worst]} edges{points}; the nearest differs by "
        f"{gap[worst]} of {n_pairs} pairs: {reason}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
