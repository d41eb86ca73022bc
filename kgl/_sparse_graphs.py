"""Sparse graphs that are passed to metrics: their edges, and how many pairs there are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kgl._graph_input import without_small
from kgl._types import Array
from kgl._validation import as_floats, check_whole

__all__ = [
    "SparsePairs",
    "average_precision",
    "is_sparse",
    "refuse_scores",
    "sparse_aps",
    "sparse_clusters",
    "sparse_pairs",
]


def is_sparse(*graphs: Any) -> bool:
    """Return whether any of some graphs is a sparse matrix."""
    return any(sparse.issparse(W) for W in graphs)


class SparsePairs:
    """Weights of two graphs over the pairs in which either has an edge.

    Attributes
    ----------
    true, estimate : array (p,)
        Weights of those pairs.
    n_pairs : int
        Number of all pairs; both graphs are zero in the others.
    """

    def __init__(self, true: Array, estimate: Array, n_pairs: int) -> None:
        self.true, self.estimate, self.n_pairs = true, estimate, n_pairs


def sparse_pairs(W_true: Any, W_est: Any, names: tuple[str, str]) -> SparsePairs:
    """Read two graphs of which at least one is sparse."""
    true, estimate = _upper(W_true, names[0]), _upper(W_est, names[1])
    if true.shape != estimate.shape:
        raise ValueError(
            f"{names[0]} is {true.shape} and {names[1]} is {estimate.shape}; pass two graphs on "
            "the same nodes"
        )
    m = true.shape[0]
    both = sparse.coo_array(abs(true) + abs(estimate))
    rows, cols = both.coords
    if not len(rows):  # of no pairs SciPy returns a sparse array
        return SparsePairs(np.zeros(0), np.zeros(0), m * (m - 1) // 2)
    return SparsePairs(
        np.asarray(true[rows, cols]).ravel(),
        np.asarray(estimate[rows, cols]).ravel(),
        m * (m - 1) // 2,
    )


def _upper(W: Any, name: str) -> sparse.csr_array:
    """Return the upper triangle of a symmetric matrix."""
    if not sparse.issparse(W):
        W = as_floats(W, name)
        if W.ndim != 2:
            raise ValueError(f"{name} has shape {W.shape}; pass a square m x m matrix")
    found = sparse.csr_array(W).astype(float)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise ValueError(f"{name} has shape {found.shape}; pass a square m x m matrix")
    if not np.isfinite(found.data).all():
        raise ValueError(f"{name} contains NaN or infinite weights; pass weights")
    gap = abs(found - found.T)
    largest = float(np.abs(found.data).max(initial=0.0))
    if gap.nnz and gap.max() > 1e-6 * largest:
        raise ValueError(f"{name} is not symmetric; pass (W + W.T) / 2 if that is what is meant")
    return sparse.csr_array(sparse.triu(found, 1))


def refuse_scores(threshold: float | None) -> None:
    """Refuse sparse scores: pairs that are not stored have scores too."""
    if threshold is None:
        raise ValueError(
            "threshold=None ranks scores of all pairs, which a sparse matrix does not hold; pass "
            "weights with a threshold, or an array of scores"
        )


def sparse_clusters(W: Any, k: int, seed: int) -> NDArray[np.intp]:
    """Cluster a sparse graph, which must be connected."""
    from scipy.sparse.csgraph import connected_components
    from sklearn.cluster import SpectralClustering

    m = W.shape[0]
    k = check_whole("k", k, 1, m, f"clusters of {m} nodes")
    if k == 1 or not W.nnz:
        return np.zeros(m, dtype=np.intp)
    sparse_pairs(W, W, ("W", "W"))  # refuses what is no graph
    if k == m:  # scikit-learn's eigensolver needs k < m, and there is only one such clustering
        return np.arange(m, dtype=np.intp)
    parts, labels = connected_components(W, directed=False)
    if parts > 1:
        largest = int(np.bincount(labels).argmax())
        raise ValueError(
            f"the sparse graph has {parts} components, whose clusters rounding would decide; "
            f"cluster the largest, the {int((labels == largest).sum())} nodes of "
            "scipy.sparse.csgraph.connected_components, or pass W.toarray()"
        )
    model = SpectralClustering(n_clusters=k, affinity="precomputed", random_state=seed)
    return np.asarray(model.fit_predict(W.tocsr().astype(float)), dtype=np.intp)


def average_precision(truth: NDArray[np.bool_], scores: Array) -> Array:
    """Average precision of each row of ``scores``, with equal scores as one step."""
    order = np.argsort(-scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    hits = np.cumsum(truth[order], axis=1)
    # a step of the curve ends where the next score differs; positions inside a tie do not count
    ends = np.ones(scores.shape, dtype=bool)
    np.not_equal(ranked[:, 1:], ranked[:, :-1], out=ends[:, :-1])
    # hits up to the previous end: hits never fall, so the running maximum over ends carries them
    reached = np.maximum.accumulate(np.where(ends, hits, 0), axis=1)
    gained = np.diff(reached, axis=1, prepend=0)
    precision = hits / np.arange(1, truth.size + 1)
    # gained is zero inside a tie, where reached does not move
    return np.asarray(np.minimum(1.0, (gained * precision).sum(axis=1) / truth.sum()))


def sparse_aps(W_true: Any, W_est: Any, threshold: float | None) -> float:
    """Average precision of sparse graphs: all pairs that neither holds are the last step."""
    refuse_scores(threshold)
    pairs = sparse_pairs(W_true, W_est, ("W_true", "W_est"))
    truth = pairs.true != 0
    total = int(truth.sum())
    if not total:
        raise ValueError("W_true has no edge, so no score of its edges is defined; pass a graph")
    values = without_small(pairs.estimate[None], threshold, "W_est")[0]
    on = values > 0
    found = 0.0
    if truth[on].any():
        found = float(average_precision(truth[on], values[on][None])[0]) * truth[on].sum() / total
    # the tie at zero ends at the share of edges among all pairs
    return min(1.0, float(found + (truth & ~on).sum() / total * total / pairs.n_pairs))
