"""Finding psi for a number of edges."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kgl.laplacian import (
    Array,
    complete_laplacian,
    pairwise_sq_distances,
    sq_distances_from_gram,
)
from kgl.problem import ModelSpec
from kgl.solvers.alternating import Options, solve_in_chunks
from kgl.solvers.graph_step import graph_step
from kgl.solvers.signal_step import SignalData, make_signal_step

__all__ = ["psi_for_edges"]


def psi_for_edges(
    data: SignalData, spec: ModelSpec, options: Options, lam: float, rho: float, target: int
) -> float:
    """Find psi for which the graph has ``target`` edges, or as near as it gets.

    The number of edges grows with psi. A coarse grid of psi, placed by the distances that the
    first graph step sees, brackets the target; it moves if it does not. Finer grids close in,
    each solved as one batch: first to a loose tolerance, then, where that was not enough, to the
    one of the fit. A gap of one pair in five hundred is near enough. Of several psi that do
    equally well the middle one is taken.
    """
    # The search counts edges, so it needs a solver whose zeros are zeros, whatever the fit uses.
    exact = replace(options, solve_graph=graph_step, signals=False, history=False)
    loose = replace(exact, tol=max(options.tol, 1e-2), inner_tol=1e-5)
    n_pairs = data.Y.shape[1] * (data.Y.shape[1] - 1) // 2
    spread = _typical_cost(data, spec, options, lam, rho)
    if options.regulariser == "log-degree":
        spread = spread**2 / options.barrier

    def count(exponents: Array, how: Options) -> np.ndarray:
        full = np.ones(len(exponents))
        weights = [
            batch.weights.reshape(len(batch.weights), -1)
            for _, batch in solve_in_chunks(
                data, spec, lam * full, rho * full, 10.0**exponents, how
            )
        ]
        return np.count_nonzero(np.concatenate(weights), axis=1) // 2

    enough = n_pairs // 500  # for up to 32 nodes the target is met to the edge
    coarse = np.log10(spread) + np.linspace(-4.0, 2.0, 7)
    best, gap = _close_in(lambda e: count(e, loose), coarse, target, 6.0, enough)
    gap = abs(int(count(np.array([best]), exact)[0]) - target)
    if gap > enough:
        around = best + np.linspace(-0.3, 0.3, 9)
        best, gap = _close_in(lambda e: count(e, exact), around, target, 0.6, enough)
    if gap > max(1, round(0.02 * n_pairs)):
        warnings.warn(
            f"no psi gives a graph of {target} edges; the nearest differs by {gap} of {n_pairs} "
            "pairs: pairs at equal distances enter the graph together; another density or a psi "
            "of your own may suit",
            ConvergenceWarning,
            stacklevel=4,
        )
    return float(10.0**best)


def _close_in(
    count: Callable[[Array], np.ndarray],
    exponents: Array,
    target: int,
    width: float,
    enough: int,
) -> tuple[float, int]:
    """Return the exponent whose count is nearest to the target, and how far off it is."""
    best, best_gap = float(exponents[len(exponents) // 2]), np.iinfo(np.int64).max
    for attempt in range(12):
        edges = count(exponents)
        gaps = np.abs(edges - target)
        if gaps.min() < best_gap:
            ties = np.flatnonzero(gaps == gaps.min())
            best, best_gap = float(exponents[ties[len(ties) // 2]]), int(gaps.min())
        below = np.flatnonzero(edges < target)
        if best_gap <= enough:
            break
        if attempt < 6 and len(below) in (0, len(edges)):
            exponents = exponents + (width if len(below) else -width)
            continue
        low = int(below[-1]) if len(below) else 0
        high = min(low + 1, len(edges) - 1)
        if exponents[high] - exponents[low] < 1e-9:
            break
        exponents = np.linspace(exponents[low], exponents[high], 9)
    return best, best_gap


def _typical_cost(
    data: SignalData, spec: ModelSpec, options: Options, lam: float, rho: float
) -> float:
    """Mean cost of an edge in the first graph step."""
    m = data.Y.shape[1]
    if spec.fitted:
        rho = rho * options.smoothness_scale
        step = make_signal_step(data, spec, tol=1e-6)
        solution = step.solve(complete_laplacian(m)[None], np.array([lam]), np.array([rho]))
        Z = rho * sq_distances_from_gram(solution.gram)[0]
    else:
        Z = options.smoothness_scale * pairwise_sq_distances(data.Y, data.mask)
    if options.edge_cost is not None:
        Z = Z + options.edge_cost
    usable = Z[np.isfinite(Z) & (Z > 0)]
    return float(usable.mean()) if len(usable) else 1.0
