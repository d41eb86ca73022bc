r"""The graph step by column generation: exact over all pairs, in memory like that of the graph.

The problem is that of :mod:`kgl.solvers.graph_step`. Few of the :math:`m(m-1)/2` pairs become
edges, and by stationarity every pair has a score :math:`(u_i + u_j - c_{ij}) / 2`, positive for
edges alone. So the problem is solved over candidate pairs, all other pairs are priced at the
potentials found (:mod:`kgl.solvers.sparse.pricing`), those with a positive score become candidates,
and so on until there is none: then the graph is the minimiser over all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kgl._types import Array
from kgl.solvers.sparse.certificate import frobenius_residual, log_degree_residual
from kgl.solvers.sparse.features import Features
from kgl.solvers.sparse.pool import PairPool, Progress
from kgl.solvers.sparse.restricted import Solution, solve_frobenius, solve_log_degree
from kgl.solvers.sparse.result import SparseGraph
from kgl.solvers.sparse.rules import PairRules, RuleIndex

__all__ = ["Task", "check_task", "solve_candidates", "solve_pool", "sparse_graph_step"]

#: Neighbours of each node among the first candidates.
NEIGHBOURS = 15
#: Rounds of column generation at most; two or three are usual.
_MAX_ROUNDS = 60
_MAX_STEPS = 200
#: Share of candidates that are edges above which there are too few candidates.
_CROWDED = 0.7
#: Rows in a sampled certificate: at least so many, and at least this share.
_SAMPLE, _SAMPLE_SHARE = 256, 0.02


@dataclass(frozen=True)
class Task:
    """What is asked for, besides psi: see :func:`sparse_graph_step`."""

    regularizer: str
    barrier: float
    certify: str | bool
    tol: float
    rules: PairRules | None


def check_task(psi: float, rho: float, task: Task) -> None:
    """Refuse options that do not exist and weights that are no positive numbers."""
    if task.regularizer not in ("frobenius", "log-degree"):
        raise ValueError(
            f"unknown regularizer {task.regularizer!r}; use 'frobenius' or 'log-degree'"
        )
    if not (task.certify is False or task.certify in ("all", "sample")):
        raise ValueError(f"certify = {task.certify!r}; use 'all', 'sample' or False")
    for name, value in (("psi", psi), ("rho", rho), ("barrier", task.barrier)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{name} = {value!r}; pass a positive number")


def sparse_graph_step(
    F: Array,
    psi: float,
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
    """Solve one graph step over all pairs of many nodes.

    Parameters
    ----------
    F : array (m, r)
        Features: the distance of two nodes is ``|f_i - f_j|^2``.
    psi : float
        Weight of the Frobenius norm, positive.
    rho : float
        Weight of the distances, positive.
    signed : bool
        Whether the distance is the smaller of ``|f_i - f_j|^2`` and ``|f_i + f_j|^2``, with a sign.
    regularizer : {"frobenius", "log-degree"}
        Which problem.
    barrier : float
        Weight of the log-degree barrier.
    rules : PairRules, optional
        Pairs that alone may be edges, that may not, and penalties.
    certify : {"all", "sample", False}
        Price all pairs until none is violated; or those of some rows at the end, to report how many
        are; or none.
    start : SparseGraph, optional
        An earlier result for similar features or another psi.
    tol : float
        Relative residual at which the problem over candidates counts as solved.
    progress : callable, optional
        Called as ``progress(done, total)`` with the rows of each pass over pairs.

    Returns
    -------
    SparseGraph
    """
    task = Task(regularizer, float(barrier), certify, tol, rules)
    check_task(psi, rho, task)
    features = Features(F, signed=signed)
    pool = PairPool(features, float(rho), RuleIndex(rules, len(features)), progress)
    candidates, degrees = warm_start(start, len(features))
    pool.fill(NEIGHBOURS, candidates)
    return solve_pool(pool, float(psi), task, degrees)


def warm_start(
    start: SparseGraph | None, m: int
) -> tuple[tuple[np.ndarray, np.ndarray] | None, Array | None]:
    """Return the candidates and degrees of an earlier result, if there is one."""
    if start is None:
        return None, None
    if start.weights.shape[0] != m:
        raise ValueError(
            f"start is a graph of {start.weights.shape[0]} nodes and F has {m} rows; start from a "
            "graph of the same nodes"
        )
    return start.candidates, np.asarray(start.weights.sum(axis=1)).ravel()


def solve_pool(pool: PairPool, psi: float, task: Task, degrees: Array | None) -> SparseGraph:
    """Solve over candidates and price other pairs in turn, until none is violated."""
    n_steps = 0
    for n_rounds in range(1, _MAX_ROUNDS + 1):
        solution = solve_candidates(pool, psi, task, degrees)
        n_steps += solution.n_steps
        degrees = solution.degrees
        if task.certify and _crowded(pool, solution) and pool.widen():
            continue
        done = task.certify != "all" or pool.complete
        if done or not pool.cover(solution.levels, solution.margin):
            return _result(pool, psi, task, solution, n_rounds, n_steps)
    raise RuntimeError(
        f"column generation found new pairs in each of {_MAX_ROUNDS} rounds; the potentials "
        "do not settle: rescale the data, or choose a psi nearer to the scale of the distances"
    )


def _crowded(pool: PairPool, solution: Solution) -> bool:
    """Return whether so many candidates are edges that others probably should be."""
    return len(solution.edges) > _CROWDED * len(pool.keys)


def solve_candidates(pool: PairPool, psi: float, task: Task, degrees: Array | None) -> Solution:
    """Solve over candidates alone."""
    if task.regularizer == "frobenius":
        return solve_frobenius(pool, psi, degrees, task.tol, _MAX_STEPS)
    return solve_log_degree(pool, psi, task.barrier, degrees, task.tol, _MAX_STEPS)


def _result(
    pool: PairPool, psi: float, task: Task, solution: Solution, n_rounds: int, n_steps: int
) -> SparseGraph:
    m, possible = pool.m, pool.rules.count(pool.m)
    violated, short, examined = 0, np.zeros(0), len(pool.keys)
    if task.certify == "sample" and not pool.complete:
        n_rows = min(m, max(_SAMPLE, round(_SAMPLE_SHARE * m)))
        rows = np.sort(np.random.default_rng(0).choice(m, n_rows, replace=False))
        violated, short = pool.sample(solution.levels, rows)
        examined = n_rows * (m - n_rows) + n_rows * (n_rows - 1) // 2
    elif task.certify == "all" and not pool.complete:
        examined = possible
    outside = task.certify is not False and not pool.complete
    if task.regularizer == "frobenius":
        residual = frobenius_residual(pool, solution, psi, short, outside=outside)
    else:
        residual = log_degree_residual(pool, solution, psi, task.barrier, short, outside=outside)
    i, j = np.divmod(solution.edges, m)
    weights = _symmetric(i, j, solution.weights, m)
    signs = None
    if pool.signs is not None:
        signs = _symmetric(
            i, j, pool.signs[np.searchsorted(pool.keys, solution.edges)].astype(float), m
        )
    return SparseGraph(
        weights, signs, solution.potentials, solution.shift, psi, residual, examined, violated,
        n_rounds, n_steps, pool.pairs, solution.dual, pool.rho, pool.features.signed, task.rules,
        possible,
    )  # fmt: skip


def _symmetric(i: np.ndarray, j: np.ndarray, values: Array, m: int) -> sparse.csr_array:
    data, ends = np.tile(values, 2), (np.concatenate([i, j]), np.concatenate([j, i]))
    return sparse.csr_array((data, ends), shape=(m, m))
