"""The sparse graph step for a number of edges: psi is found instead of given.

The search of :mod:`kgl.solvers.density_step` runs over candidate pairs, which costs next to nothing
beside a pass over all pairs. The graph at the psi that it finds is then made exact; where that
brings edges in, the search goes on over more candidates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kgl._types import Array
from kgl.solvers.density_step import close_in, edge_tolerance, first_guess, typical
from kgl.solvers.sparse.features import Features
from kgl.solvers.sparse.pool import PairPool, Progress
from kgl.solvers.sparse.restricted import Solution
from kgl.solvers.sparse.result import SparseGraph
from kgl.solvers.sparse.rules import PairRules, RuleIndex
from kgl.solvers.sparse.step import (
    NEIGHBOURS,
    Task,
    check_task,
    solve_candidates,
    solve_pool,
    warm_start,
)

__all__ = ["sparse_density_step", "sparse_edge_tolerance"]

#: Searches at most; each begins near the end of the last.
_MAX_SEARCHES = 12
#: Pairs that stand for all pairs where the scale of costs is needed.
_SAMPLE = 40_000
#: Share of the candidates that may be asked for as edges before candidates are known to be enough.
_MOST = 0.8


def sparse_edge_tolerance(m: int, target: int) -> int:
    """Return by how many edges a target may be missed.

    As :func:`kgl.solvers.density_step.edge_tolerance` where 30 % of the pairs or more are wanted,
    one edge in 150 for sparser graphs.

    Examples
    --------
    >>> sparse_edge_tolerance(20, 57), sparse_edge_tolerance(20_000, 150_000)
    (0, 1000)
    """
    return min(edge_tolerance(m), target // 150)


@dataclass
class _Tries:
    """What the search sees: one solution over candidates."""

    solutions: list[Solution]
    counts: np.ndarray


def sparse_density_step(
    F: Array,
    psi: float | None,
    target_edges: int,
    *,
    rho: float = 1.0,
    signed: bool = False,
    regularizer: str = "frobenius",
    barrier: float = 1.0,
    rules: PairRules | None = None,
    certify: str | bool = "all",
    start: SparseGraph | None = None,
    tol: float = 1e-13,
    progress: Progress | None = None,
) -> SparseGraph:
    """Solve a graph step whose psi gives ``target_edges`` edges, or as near as it gets.

    Parameters
    ----------
    F : array (m, r)
        Features, as for :func:`kgl.solvers.sparse.step.sparse_graph_step`.
    psi : float or None
        Where to start; None or zero where nothing is known.
    target_edges : int
        Number of edges. Where fewer pairs are allowed, all of those.
    rho, signed, regularizer, barrier, rules, certify, start, tol, progress
        As there.

    Returns
    -------
    SparseGraph
        The graph at the psi found, which is its ``psi``. The number of edges is within
        :func:`sparse_edge_tolerance` of the target if it can be.
    """
    task = Task(regularizer, float(barrier), certify, tol, rules)
    check_task(1.0, rho, task)
    if target_edges < 1:
        raise ValueError(f"target_edges = {target_edges!r}; ask for at least one edge")
    features = Features(F, signed=signed)
    m = len(features)
    index = RuleIndex(rules, m)
    pool = PairPool(features, float(rho), index, progress)
    k = max(NEIGHBOURS, math.ceil(3.0 * target_edges / m))
    candidates, degrees = warm_start(start, m)
    pool.fill(k, candidates, least=target_edges * 3 // 2)
    allowed = len(pool.keys) if pool.complete else m * (m - 1) // 2 - len(index.forbidden)
    wanted = min(int(target_edges), allowed)
    return _search(pool, psi, wanted, task, degrees)


def _search(
    pool: PairPool, psi: float | None, wanted: int, task: Task, degrees: Array | None
) -> SparseGraph:
    """Search over candidates, make the graph exact, and search again until both agree."""
    enough = sparse_edge_tolerance(pool.m, wanted)
    best: SparseGraph | None = None
    for _ in range(_MAX_SEARCHES):
        reachable = wanted
        if not pool.complete:
            reachable = min(wanted, max(1, int(_MOST * len(pool.keys))))
        guess, floor = _guess(pool, reachable, task)
        here = guess if psi is None or not psi > 0 else psi
        psi, degrees = _close_in(pool, here, reachable, enough, floor, task, degrees)
        before = len(pool.keys)
        graph = solve_pool(pool, psi, task, degrees)
        degrees = np.asarray(graph.weights.sum(axis=1)).ravel()
        gap = abs(graph.n_edges - wanted)
        if best is None or gap < abs(best.n_edges - wanted):
            best = graph
        if gap <= enough or len(pool.keys) == before:
            break
    assert best is not None
    return best


def _close_in(
    pool: PairPool,
    psi: float,
    wanted: int,
    enough: int,
    floor: float,
    task: Task,
    degrees: Array | None,
) -> tuple[float, Array]:
    """Return the psi that gives a number of edges over the candidates, and degrees there."""
    last = degrees

    def solve(which: np.ndarray, psi: Array) -> _Tries:
        nonlocal last
        found = solve_candidates(pool, float(psi[0]), task, last)
        last = found.degrees
        return _Tries([found], np.array([len(found.edges)]))

    found, at = close_in(
        solve,
        np.array([psi]),
        np.array([wanted]),
        enough,
        floor=np.array([floor]),
        count_found=lambda tries: tries.counts,
    )
    return float(at[0]), found.solutions[0].degrees


def _guess(pool: PairPool, wanted: int, task: Task) -> tuple[float, float]:
    """Return a psi to start from and the smallest psi to try, as the dense search has them."""
    usual = typical(_sample_costs(pool)[None])
    cheapest = np.sort(pool.cost)[: wanted + 1]
    barrier = None if task.regularizer == "frobenius" else task.barrier
    guess, floor = first_guess(cheapest[None], np.array([wanted]), pool.m, barrier, usual)
    return float(guess[0]), float(floor[0])


def _sample_costs(pool: PairPool) -> Array:
    """Return the costs of all permitted pairs, or of a sample where they are many."""
    m = pool.m
    if pool.complete:
        return pool.cost
    if m * (m - 1) // 2 <= _SAMPLE:
        rows, cols = np.triu_indices(m, 1)
    else:
        ends = np.random.default_rng(0).integers(m, size=(2, _SAMPLE))
        ends = np.sort(ends[:, ends[0] != ends[1]], axis=0)
        rows, cols = ends[0], ends[1]
    keys = rows * m + cols
    keys = keys[pool.rules.permitted(keys)]
    cost = pool.costs(keys) if len(keys) else pool.cost
    return cost
