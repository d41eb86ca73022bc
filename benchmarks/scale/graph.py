"""The graph step over many nodes: time, memory, exactness, and the edges that neighbours miss.

Each task runs in a process of its own (see :mod:`benchmarks.scale.run`) and returns numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.scale.checker import judge
from benchmarks.scale.data import smooth_features
from benchmarks.scale.measure import measured
from kgl._types import Array
from kgl.problem import kkt_residual
from kgl.solvers.graph_step import graph_step
from kgl.solvers.sparse import PairRules, sparse_density_step, sparse_graph_step
from kgl.solvers.sparse.features import Features

__all__ = ["TASKS"]

#: Edges a node has on average, features.
DEGREE, FEATURES = 15, 200
SIZES = (1000, 2000, 6000, 12_000, 20_000, 50_000, 100_000)
#: psi that gives that degree, found once by the task ``density``: fixed, so that every solver has
#: the same problem.
PSI = {
    "frobenius": dict(zip(SIZES, (38.0, 36.0, 33.0, 31.0, 29.6, 28.0, 27.0), strict=True)),
    "log-degree": dict(zip(SIZES, (610.0, 560.0, 455.0, 410.0, 376.0, 345.0, 315.0), strict=True)),
}
NEIGHBOURS = (5, 8, 10, 15, 20, 30, 50)
#: Seeds of these data are no others'.
SEED = 150


def step(m: int, regularizer: str) -> dict[str, float]:
    """The sparse step, certified over all pairs."""
    F = smooth_features(m, FEATURES, SEED)
    psi = PSI[regularizer][m]
    graph, cost = measured(lambda: sparse_graph_step(F, psi, regularizer=regularizer))
    return {
        "m": m, "psi": psi, "degree": 2 * graph.n_edges / m, "residual": graph.residual,
        "examined": graph.examined, "violated": graph.violated, "rounds": graph.n_rounds,
        "newton_steps": graph.n_steps, **cost,
    }  # fmt: skip


def dense(m: int, regularizer: str) -> dict[str, float]:
    """The dense step at the same psi."""
    F = smooth_features(m, FEATURES, SEED)
    psi = PSI[regularizer][m]

    def solve() -> Any:
        from kgl.laplacian import sq_distances_from_gram

        centred = F - F.mean(axis=0)
        return graph_step(sq_distances_from_gram(centred @ centred.T)[None], psi,
                          regularizer=regularizer)  # fmt: skip

    found, cost = measured(solve)
    edges = np.count_nonzero(found.weights) / 2
    return {"m": m, "psi": psi, "degree": 2 * edges / m, "residual": float(found.residual[0]),
            **cost}  # fmt: skip


def density(m: int, regularizer: str) -> dict[str, float]:
    """The sparse step for a number of edges: psi is found."""
    F = smooth_features(m, FEATURES, SEED)
    wanted = DEGREE * m // 2
    graph, cost = measured(lambda: sparse_density_step(F, None, wanted, regularizer=regularizer))
    return {"m": m, "psi": graph.psi, "degree": 2 * graph.n_edges / m,
            "residual": graph.residual, "violated": graph.violated, **cost}  # fmt: skip


def check(m: int, regularizer: str) -> dict[str, float]:
    """The sparse step, judged by other code over all pairs in double precision."""
    F = smooth_features(m, FEATURES, SEED)
    psi = PSI[regularizer][m]
    graph = sparse_graph_step(F, psi, regularizer=regularizer)
    verdict = judge(F, graph.weights, psi, regularizer=regularizer)
    return {"m": m, "psi": psi, "pairs": verdict.pairs, "violated": verdict.violated,
            "worst": verdict.worst, "residual": graph.residual}  # fmt: skip


def lost(regularizer: str) -> dict[str, float]:
    """Edges of the exact graph that a graph of nearest neighbours alone does not have."""
    m = 2000
    F = smooth_features(m, FEATURES, SEED)
    psi = PSI[regularizer][m]
    exact = _edges(sparse_graph_step(F, psi, regularizer=regularizer).weights)
    out: dict[str, float] = {"m": m, "degree": 2 * len(exact) / m}
    order = np.argsort(_costs(F) + np.diag(np.full(m, np.inf)), axis=1)
    for k in NEIGHBOURS:
        ends = np.repeat(np.arange(m), k), order[:, :k].ravel()
        allowed = sparse.csr_array((np.ones(m * k), ends), shape=(m, m))
        near = sparse_graph_step(F, psi, regularizer=regularizer, rules=PairRules(allowed=allowed))
        found = _edges(near.weights)
        out[f"lost_{k}"] = 1.0 - np.isin(exact, found).mean()
        out[f"extra_{k}"] = 1.0 - np.isin(found, exact).mean()
    return out


def same(regularizer: str) -> dict[str, float]:
    """The sparse step against the dense one: 34 problems over eight decades of psi."""
    differ, worst, residual, n = 0, 0.0, 0.0, 0
    for m, kind, decades in (
        (400, "plain", range(-5, 4)), (400, "duplicated", range(-5, 4)),
        (400, "spread", range(-5, 4)), (2000, "plain", (-4, -3, -2, -1)),
        (2000, "duplicated", (-4, -2, -1)),
    ):  # fmt: skip
        F = _variant(m, kind)
        Z = _costs(F)
        unit = float(np.median(Z[Z > 0])) ** (1 if regularizer == "frobenius" else 2)
        for decade in decades:
            psi = unit * 10.0**decade
            W = sparse_graph_step(F, psi, regularizer=regularizer).weights.toarray()
            D = graph_step(Z[None], psi, regularizer=regularizer).weights[0]
            rounding = 1e-14 * D.max()
            differ += int(np.count_nonzero((rounding < W) != (rounding < D)) // 2)
            worst = max(worst, float(np.abs(W - D).max() / D.max()))
            residual = max(residual, kkt_residual(W, Z, psi, regularizer=regularizer))
            n += 1
    return {"problems": n, "edges_that_differ": differ, "relative_difference": worst,
            "residual": residual}  # fmt: skip


def _variant(m: int, kind: str) -> Array:
    rng = np.random.default_rng(SEED)
    F = smooth_features(m, 50, SEED)
    if kind == "duplicated":
        F[rng.integers(m, size=m // 2)] = F[rng.integers(m, size=m // 2)]
    if kind == "spread":
        F *= 10.0 ** rng.uniform(-2.0, 2.0, (m, 1))
    return F


def _costs(F: Array) -> Array:
    """Return the distances that the sparse step has, so that no comparison is of roundings."""
    m = len(F)
    Z = np.zeros((m, m))
    i, j = np.triu_indices(m, 1)
    Z[i, j] = Z[j, i] = Features(F, signed=False).distances(i, j)[0]
    return Z


def _edges(weights: Any) -> np.ndarray:
    upper = sparse.triu(weights, 1, format="coo")
    return np.asarray(upper.coords[0].astype(np.int64) * weights.shape[0] + upper.coords[1])


def _tasks() -> dict[str, Callable[[], dict[str, float]]]:
    tasks: dict[str, Callable[[], dict[str, float]]] = {}
    for regularizer in PSI:
        tasks[f"same-{regularizer}"] = partial(same, regularizer)
        tasks[f"lost-{regularizer}"] = partial(lost, regularizer)
        for m in SIZES:
            tasks[f"step-{m}-{regularizer}"] = partial(step, m, regularizer)
        for m in (1000, 2000, 6000, 12_000):
            tasks[f"dense-{m}-{regularizer}"] = partial(dense, m, regularizer)
        tasks[f"density-20000-{regularizer}"] = partial(density, 20_000, regularizer)
        tasks[f"check-20000-{regularizer}"] = partial(check, 20_000, regularizer)
    return tasks


TASKS = _tasks()
