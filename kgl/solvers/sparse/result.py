"""What a sparse graph step returns, and scores of pairs that are no edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from kgl._types import Array
from kgl.solvers.sparse.features import Features
from kgl.solvers.sparse.rules import PairRules, RuleIndex, positions

__all__ = ["SparseGraph", "pair_scores", "runners_up"]

_BLOCK = 1 << 21


@dataclass
class SparseGraph:
    r"""A graph over many nodes, and the certificate that it is optimal.

    Attributes
    ----------
    weights : csr_array (m, m)
        Symmetric, with exact zeros off the support.
    signs : csr_array (m, m) or None
        1 and -1 on the support of ``weights``, in signed graphs.
    potentials : array (m,)
        u: the score of any pair is ``(u_i + u_j - c_ij) / 2`` with ``c = cost / (2 psi) - shift``.
    shift : float
        See there.
    psi : float
        Weight of the norm of the graph.
    residual : float
        Relative KKT residual of the problem asked, over all pairs examined.
    examined : int
        Pairs examined.
    violated : int
        How many of them should be edges and were no candidates.
    n_rounds, n_steps : int
        Rounds of column generation and Newton steps.
    candidates : tuple of arrays (p,)
        Rows and columns of the pairs over which the problem was solved.
    dual : array
        Dual variables.
    rho, signed, rules
        As asked.
    possible : int
        Pairs that may be edges.
    """

    weights: Any
    signs: Any | None
    potentials: Array
    shift: float
    psi: float
    residual: float
    examined: int
    violated: int
    n_rounds: int
    n_steps: int
    candidates: tuple[np.ndarray, np.ndarray]
    dual: Array
    rho: float = 1.0
    signed: bool = False
    rules: PairRules | None = field(default=None, repr=False)
    possible: int = 0

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.weights.nnz // 2)


def pair_scores(F: Array, graph: SparseGraph, rows: np.ndarray, cols: np.ndarray) -> Array:
    """Return the scores of some pairs: the weight of an edge, at most zero otherwise.

    Parameters
    ----------
    F : array (m, r)
        The features that the graph was learned from.
    graph : SparseGraph
        The graph.
    rows, cols : array of int (p,)
        Pairs.

    Returns
    -------
    array (p,)
        ``-inf`` on the diagonal and where no edge may be.
    """
    features, m = Features(F, signed=graph.signed), len(graph.potentials)
    rows, cols = np.asarray(rows, dtype=np.int64), np.asarray(cols, dtype=np.int64)
    keys = np.minimum(rows, cols) * m + np.maximum(rows, cols)
    index = RuleIndex(graph.rules, m)
    z, _ = features.distances(rows, cols)
    cost = graph.rho * z + index.penalties(keys)
    u = graph.potentials
    c = cost / (2.0 * graph.psi) - graph.shift
    scores = np.minimum(0.5 * (u[rows] + u[cols] - c), 0.0)
    # weights themselves: where costs are large, the difference has lost digits
    upper = sparse.triu(graph.weights, 1, format="coo")
    known = upper.coords[0].astype(np.int64) * m + upper.coords[1]
    order = np.argsort(known)
    at, found = positions(known[order], keys)
    scores[found] = upper.data[order][at[found]]
    scores[(rows == cols) | ~index.permitted(keys)] = -np.inf
    return np.asarray(scores)


def runners_up(F: Array, graph: SparseGraph, k: int) -> tuple[np.ndarray, np.ndarray, Array]:
    """Return the pairs nearest to becoming edges: up to k for each node, by their scores.

    Parameters
    ----------
    F : array (m, r)
        The features that the graph was learned from.
    graph : SparseGraph
        The graph.
    k : int
        Pairs of each node that are no edges.

    Returns
    -------
    rows, cols : array of int (p,)
        Pairs, row < column, each once.
    scores : array (p,)
        Their scores, the highest first.
    """
    features, m = Features(F, signed=graph.signed), len(graph.potentials)
    index = RuleIndex(graph.rules, m)
    if index.allowed is not None:
        keys = _best_of(*np.divmod(index.allowed, m), F, graph, k)
    else:
        keys = _best_of_all(features, graph, index, k)
    rows, cols = np.divmod(keys, m)
    scores = pair_scores(F, graph, rows, cols)
    order = np.argsort(-scores, kind="stable")
    return rows[order], cols[order], scores[order]


def _best_of(
    rows: np.ndarray, cols: np.ndarray, F: Array, graph: SparseGraph, k: int
) -> np.ndarray:
    """Return keys of the best pairs of each node, among a list."""
    m = len(graph.potentials)
    scores = pair_scores(F, graph, rows, cols)
    use = (scores <= 0) & np.isfinite(scores)
    ends = np.concatenate([rows[use], cols[use]])
    keys = np.tile(rows[use] * m + cols[use], 2)
    order = np.lexsort((-np.tile(scores[use], 2), ends))
    ends, keys = ends[order], keys[order]
    rank = np.arange(len(ends)) - np.searchsorted(ends, ends)
    return np.unique(keys[rank < k])


def _best_of_all(features: Features, graph: SparseGraph, index: RuleIndex, k: int) -> np.ndarray:
    """Return keys of the best pairs of each node, among all, in blocks of rows."""
    F, m = features.values, len(features)
    centred = F if graph.signed else F - F.mean(axis=0)
    squares = np.einsum("ij,ij->i", centred, centred)
    offset = 2.0 * graph.psi * graph.potentials - graph.rho * squares
    out = []
    step = max(1, _BLOCK // m)
    for b in range(0, m, step):
        own = np.arange(b, min(b + step, m))
        product = centred[own] @ centred.T
        if graph.signed:
            np.abs(product, out=product)
        near = 2.0 * graph.rho * product + offset
        # edges, the node itself and pairs that may not be edges
        near[_positions(graph.weights[own])] = -np.inf
        near[np.arange(len(own)), own] = -np.inf
        _apply_rules(near, own, index, m)
        # a few more than k: the order in products is that of scores but for rounding
        wide = min(k + 4, m - 1)
        best = np.argpartition(-near, wide - 1, axis=1)[:, :wide]
        best = _sharpen(best, near, own, F, graph, k)
        out.append(best)
    return np.unique(np.concatenate(out))


def _positions(block: Any) -> tuple[np.ndarray, np.ndarray]:
    found = sparse.coo_array(block)
    return found.coords[0], found.coords[1]


def _apply_rules(near: Array, own: np.ndarray, index: RuleIndex, m: int) -> None:
    """Take pairs out that may not be edges, and take penalties off."""
    for keys, values in ((index.forbidden, np.inf), (index.penalised, index.penalty)):
        low, high = np.divmod(keys, m)
        for one, other in ((low, high), (high, low)):
            use = (one >= own[0]) & (one <= own[-1])
            less = values[use] if isinstance(values, np.ndarray) else values
            near[one[use] - own[0], other[use]] -= less


def _sharpen(
    best: np.ndarray, near: Array, own: np.ndarray, F: Array, graph: SparseGraph, k: int
) -> np.ndarray:
    """Return keys of the k best of a few pairs of each node, by scores in double precision."""
    m = len(graph.potentials)
    rows = np.repeat(own, best.shape[1])
    cols = best.ravel()
    real = np.isfinite(near[np.arange(len(own))[:, None], best]).ravel()
    rows, cols = rows[real], cols[real]
    scores = pair_scores(F, graph, rows, cols)
    order = np.lexsort((-scores, rows))
    rows, cols = rows[order], cols[order]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    rows, cols = rows[rank < k], cols[rank < k]
    return np.minimum(rows, cols) * m + np.maximum(rows, cols)
