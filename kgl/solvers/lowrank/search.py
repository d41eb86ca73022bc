"""Large fits whose psi is found for a number of edges."""

from __future__ import annotations

import math

from kgl.problem import ModelSpec
from kgl.solvers.density import LOWEST, MAX_FITS, NARROW
from kgl.solvers.lowrank.alternating import LargeFit, LargeOptions, first_signals, solve_large
from kgl.solvers.lowrank.data import LargeData
from kgl.solvers.sparse.density import sparse_edge_tolerance

__all__ = ["fit_large"]

#: Rough exponent of the growth of edges with psi, for steps outside a bracket.
GROWTH = 0.35


def fit_large(
    data: LargeData,
    spec: ModelSpec,
    lam: float,
    rho: float,
    options: LargeOptions,
    target: int,
    *,
    fair: int,
    patience: int = 1,
) -> tuple[LargeFit, int]:
    """Fit a model at a psi that gives a number of edges, as :func:`kgl.solvers.density.fit_edges`.

    Parameters
    ----------
    data, spec, lam, rho, options
        As for :func:`solve_large`.
    target : int
        Number of edges.
    fair : int
        By how many edges the target may be missed after ``patience`` fits besides the first.
    patience : int
        See there.

    Returns
    -------
    LargeFit
        The fit at the psi found, from the usual start.
    int
        By how many edges it misses its target.
    """
    if not spec.fitted:
        fit = solve_large(data, spec, lam, rho, 0.0, options, target=target)
        return fit, abs(fit.graph.n_edges - target)
    m = data.Y.shape[1]
    first = first_signals(data, spec, lam, rho, options)
    search = solve_large(
        data, spec, lam, rho, 0.0, options, target=target, signals=False, first=first
    )
    near = search.graph
    enough, floor = sparse_edge_tolerance(m, target), math.log(search.psi * LOWEST)
    here = math.log(search.psi)
    low, high = (-math.inf, 0), (math.inf, 0)
    best: tuple[int, LargeFit] | None = None
    for attempt in range(MAX_FITS + 1):
        fit = solve_large(data, spec, lam, rho, math.exp(here), options, first=first, near=near)
        count = fit.graph.n_edges
        gap = abs(count - target)
        if best is None or gap < best[0]:
            best = gap, fit
        if count < target:
            low = here, count
        else:
            high = here, count
        allowed = max(enough, fair) if attempt >= patience else enough
        if best[0] <= allowed or high[0] - low[0] <= NARROW or (count >= target and here <= floor):
            break
        here = max(_next(low, high, here, count, target, attempt), floor)
    assert best is not None
    return best[1], best[0]


def _next(
    low: tuple[float, int],
    high: tuple[float, int],
    here: float,
    count: int,
    target: int,
    attempt: int,
) -> float:
    """Return where to look next: between the ends where there are two, further out otherwise."""
    if math.isfinite(low[0]) and math.isfinite(high[0]):
        share = (target - low[1]) / max(high[1] - low[1], 1)
        share = 0.5 if attempt % 3 == 2 or attempt > 9 else min(max(share, 0.05), 0.95)
        return low[0] + share * (high[0] - low[0])
    stride = math.log(target / max(count, 1)) / GROWTH
    length = min(max(1.5 * abs(stride), 0.02) * 2.0**attempt, math.log(1e4))
    return here + math.copysign(length, stride)
