"""Scores of learned graphs, fitted signals and clusters.

A graph is given as its symmetric ``m x m`` adjacency matrix (the diagonal is not read) or as the
vector of its ``E = m (m - 1) / 2`` edge weights in the order of ``np.triu_indices(m, 1)``; truth
and estimate may come in different forms. The scalar functions lean on scikit-learn and are the
reference; `aps_many` and `sse_many` score a whole grid at once and are tested to agree with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kgl._graph_input import as_edge_rows, as_edges, true_edges, without_small
from kgl._sparse_graphs import (
    average_precision,
    is_sparse,
    refuse_scores,
    sparse_aps,
    sparse_clusters,
    sparse_pairs,
)
from kgl._types import Array
from kgl._validation import as_numbers, check_flag, check_whole, is_number
from kgl.laplacian import adjacency_from_edges, n_nodes_from_edges

__all__ = [
    "THRESHOLD",
    "aps",
    "aps_many",
    "density",
    "f_score",
    "mse_signals",
    "nmi",
    "spectral_clusters",
    "sse_graph",
    "sse_many",
]

#: Weights up to this fraction of the largest one count as zero: far above the residual of an
#: interior-point solver (1e-8), far below any weight that matters. Exact zeros do not need it.
THRESHOLD = 1e-4

#: Entries of a block of scores that `aps_many` sorts at once; bounds its memory for any grid.
_CHUNK = 2_000_000


# ------------------------------------------------------------------------------- graph scores


def aps(W_true: ArrayLike, W_est: ArrayLike, *, threshold: float | None = THRESHOLD) -> float:
    """Average precision of the estimated edges, as `sklearn.metrics.average_precision_score`.

    ``APS = sum_k (R_k - R_{k-1}) P_k``, where ``P_k`` and ``R_k`` are the precision and the recall
    of the pairs whose estimate is at least the k-th largest distinct value. It lies in (0, 1] and
    is about the density of the true graph for an estimate without information.

    Equal estimates are one step of the curve, so all pairs of weight zero enter together: an
    estimate with few edges scores low, however good those few are. The untied scores of the graph
    step (``edge_scores_``) rank these pairs too and score higher; say which of the two a number is.

    Parameters
    ----------
    W_true : array_like
        True graph, ``m x m`` or edge vector; pairs of nonzero weight are the edges.
    W_est : array_like
        Estimated weights, or scores of all pairs (then pass ``threshold=None``).
    threshold : float or None, default 1e-4
        Estimates up to ``threshold * max(W_est)`` become zero before the ranking, or the noise of
        an inexact solver would order the pairs without an edge. With None the values are ranked
        as they are, of any sign, and ``-inf`` (a forbidden edge) ranks last.

    Examples
    --------
    >>> round(aps([1, 1, 0], [0.5, 0, 0]), 6)  # 1/2 * 1 + 1/2 * 2/3
    0.833333
    >>> aps([1, 1, 0], [0.5, -0.1, -0.2], threshold=None)
    1.0
    """
    from sklearn.metrics import average_precision_score

    if is_sparse(W_true, W_est):
        return sparse_aps(W_true, W_est, threshold)
    truth = true_edges(W_true)
    estimate = without_small(as_edges(W_est, "W_est", truth.size)[None], threshold, "W_est")[0]
    # scikit-learn rejects -inf; ranks keep the order and the ties exactly
    ranks = np.unique(estimate, return_inverse=True)[1]
    # its sum of recall steps can end one rounding above 1
    return min(1.0, float(average_precision_score(truth, ranks)))


def aps_many(W_true: ArrayLike, scores: ArrayLike, *, threshold: float | None = THRESHOLD) -> Array:
    """`aps` of many estimates, ``(N, E)`` or ``(N, m, m)``, of one graph.

    The threshold is relative to the largest weight of each row. Vectorised over blocks of rows, 50
    to 100 times faster than scikit-learn row by row at m = 20.

    Examples
    --------
    >>> aps_many([1, 1, 0], [[0.5, 0.25, 0], [0.5, 0, 0], [0, 0, 0.5]]).round(6)
    array([1.      , 0.833333, 0.666667])
    """
    truth = true_edges(W_true)
    rows = as_edge_rows(scores, "scores", truth.size)
    out = np.empty(len(rows))
    step = max(1, _CHUNK // truth.size)
    for start in range(0, len(rows), step):
        block = without_small(rows[start : start + step], threshold, "scores")
        out[start : start + step] = average_precision(truth, block)
    return out


def _sse_rows(truth: Array, rows: Array, normalize: bool, name: str) -> Array:
    if not (np.isfinite(truth).all() and np.isfinite(rows).all()):
        raise ValueError(f"W_true or {name} contains infinite weights; pass weights, not scores")
    norm = float((truth**2).sum())
    if norm == 0.0:
        raise ValueError("W_true has no edge, so SSE_G divides by zero; pass a graph")
    if check_flag("normalize", normalize):
        totals = rows.sum(axis=1, keepdims=True)
        if (totals < 0).any():
            raise ValueError(
                f"an estimate has the negative total weight {totals.min():.3g}; pass adjacency "
                "weights, not a Laplacian"
            )
        # an empty graph stays empty
        rows = rows * np.divide(truth.sum(), totals, out=np.zeros_like(totals), where=totals > 0)
    return np.asarray(((rows - truth) ** 2).sum(axis=1) / norm)


def sse_graph(W_true: ArrayLike, W_est: ArrayLike, *, normalize: bool = False) -> float:
    """Normalised squared error of the weights, ``||W_est - W_0||_F^2 / ||W_0||_F^2``.

    It is 0 for the true graph and 1 for the empty graph.

    Parameters
    ----------
    W_true, W_est : array_like
        True and estimated graph, ``m x m`` or edge vectors.
    normalize : bool, default False
        Rescale the estimate to the total weight of the true graph first; no need where both hold
        ``tr(L) = m``. An empty estimate stays empty.

    Examples
    --------
    >>> sse_graph([3, 4, 0], [3, 0, 0])  # 16 / 25
    0.64
    >>> sse_graph([3, 4, 0], [6, 8, 0], normalize=True)
    0.0
    """
    if is_sparse(W_true, W_est):
        pairs = sparse_pairs(W_true, W_est, ("W_true", "W_est"))
        return float(_sse_rows(pairs.true, pairs.estimate[None], normalize, "W_est")[0])
    truth = as_edges(W_true, "W_true")
    rows = as_edges(W_est, "W_est", truth.size)[None]
    return float(_sse_rows(truth, rows, normalize, "W_est")[0])


def sse_many(W_true: ArrayLike, weights: ArrayLike, *, normalize: bool = False) -> Array:
    """`sse_graph` of many estimates, ``(N, E)`` or ``(N, m, m)``, of one graph.

    Examples
    --------
    >>> sse_many([3, 4, 0], [[3, 4, 0], [3, 0, 0], [0, 0, 0]])
    array([0.  , 0.64, 1.  ])
    """
    truth = as_edges(W_true, "W_true")
    rows = as_edge_rows(weights, "weights", truth.size)
    return _sse_rows(truth, rows, normalize, "weights")


def density(W: ArrayLike, *, threshold: float = THRESHOLD) -> float:
    """Fraction of the pairs of nodes whose weight exceeds ``threshold * max(W)``.

    Examples
    --------
    >>> round(density([1.0, 0.5, 1e-9, 0, 0, 0]), 6)
    0.333333
    """
    if is_sparse(W):
        pairs = sparse_pairs(W, W, ("W", "W"))
        kept = without_small(pairs.estimate[None], threshold, "W") > 0 if len(pairs.true) else 0
        return float(np.count_nonzero(kept) / pairs.n_pairs)
    return float((without_small(as_edges(W, "W")[None], threshold, "W") > 0).mean())


def f_score(
    W_true: ArrayLike,
    W_est: ArrayLike,
    *,
    density: float | None = None,
    threshold: float | None = THRESHOLD,
) -> float:
    """F1 score of the graph that keeps the heaviest pairs, ``F = 2 TP / (kept + true)``.

    Where pairs tie at the cut, it is the expectation over a random choice among them.

    Parameters
    ----------
    W_true, W_est, threshold
        As in `aps`. Pairs of weight zero (or of score ``-inf``) are never kept, so an estimate
        with fewer edges than asked for keeps what it has.
    density : float, optional
        Fraction of all pairs to keep, ``round(density * E)`` of them; the density of the true
        graph by default, where precision, recall and F are equal if so many pairs can be kept.

    Examples
    --------
    >>> f_score([1, 1, 0], [0.5, 0, 0.4])  # keeps two, one of them right
    0.5
    >>> round(f_score([1, 1, 0], [0.5, 0, 0.4], density=1 / 3), 6)  # 2 * 1 / (1 + 2)
    0.666667
    """
    if is_sparse(W_true, W_est):
        refuse_scores(threshold)
        pairs = sparse_pairs(W_true, W_est, ("W_true", "W_est"))
        truth, estimate, size = pairs.true != 0, pairs.estimate, pairs.n_pairs
        if not truth.any():
            raise ValueError(
                "W_true has no edge, so no score of its edges is defined; pass a graph"
            )
    else:
        truth = true_edges(W_true)
        estimate = as_edges(W_est, "W_est", truth.size)
        size = truth.size
    n_true = int(truth.sum())
    if density is None:
        kept = n_true
    elif is_number(density) and 0 < density <= 1:
        kept = round(density * size)
    else:
        raise ValueError(f"density={density!r}; pass the fraction of pairs to keep, in (0, 1]")
    estimate = without_small(estimate[None], threshold, "W_est")[0]
    usable = np.isfinite(estimate) if threshold is None else estimate > 0
    kept = min(kept, int(usable.sum()))
    if kept == 0:
        return 0.0
    cut = np.sort(estimate[usable])[-kept]
    above, tied = usable & (estimate > cut), usable & (estimate == cut)
    # F is linear in TP at a fixed number of kept pairs, so the mean over tie-breaks is exact
    share = (kept - above.sum()) / tied.sum()
    true_positives = (truth & above).sum() + share * (truth & tied).sum()
    return float(2 * true_positives / (kept + n_true))


# ------------------------------------------------------------------------------------ signals


def mse_signals(
    Y_true: ArrayLike,
    Y_hat: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    out_of_sample: bool = True,
) -> float:
    """Mean squared error of the fitted signals over the unobserved (or the observed) entries.

    In sample ``||M o (Y_hat - Y)||_F^2 / ||M||_F^2``; out of sample with ``1 1' - M`` for ``M``.
    NaN if no entry is left to score, so that a curve over missing rates can start at 0.

    Parameters
    ----------
    Y_true, Y_hat : array_like of shape (n, m)
        True and fitted signals. Only the entries that are scored must be numbers.
    mask : array_like of shape (n, m), optional
        True (or 1) where the entry was observed by the fit. Without a mask every entry is scored.
    out_of_sample : bool, default True
        Score the unobserved entries; False scores the observed ones.

    Examples
    --------
    >>> Y, fit = [[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [3.0, 1.0]]
    >>> observed = [[True, False], [True, False]]
    >>> mse_signals(Y, fit, observed), mse_signals(Y, fit, observed, out_of_sample=False)
    (5.0, 0.0)
    """
    check_flag("out_of_sample", out_of_sample)
    truth, fitted = as_numbers(Y_true, "Y_true"), as_numbers(Y_hat, "Y_hat")
    if truth.shape != fitted.shape or truth.ndim != 2:
        raise ValueError(
            f"Y_true has shape {truth.shape} and Y_hat {fitted.shape}; pass two n x m matrices"
        )
    scored = np.ones(truth.shape, dtype=bool)
    if mask is not None:
        observed = np.asarray(mask)
        if observed.shape != truth.shape:
            raise ValueError(
                f"mask has shape {observed.shape} but Y_true has {truth.shape}; pass a mask of the "
                "same shape"
            )
        if observed.dtype != bool and not np.isin(observed, (0, 1)).all():
            raise ValueError("mask must hold True and False alone; True means observed")
        scored = observed.astype(bool) != out_of_sample
    if not scored.any():
        return float("nan")
    for values, name in ((truth, "Y_true"), (fitted, "Y_hat")):
        bad = ~np.isfinite(values[scored])
        if bad.any():
            raise ValueError(
                f"{name} is NaN or infinite at {int(bad.sum())} of the {bad.size} entries to "
                "score; pass the complete matrix, or a mask that excludes them"
            )
    return float(((fitted[scored] - truth[scored]) ** 2).mean())


# ----------------------------------------------------------------------------------- clusters


def spectral_clusters(W: ArrayLike, k: int, seed: int = 0) -> NDArray[np.intp]:
    """Labels 0 .. k - 1 of the nodes of a graph, by normalised spectral clustering.

    ``seed`` is that of scikit-learn's k-means and eigensolver starts. The graph without edges has
    no structure: all its labels are 0.

    A connected graph goes to `sklearn.cluster.SpectralClustering` as it is. With several
    components the leading eigenvectors are decided by rounding; such a graph gets ``1e-6`` times
    its mean weight added to every pair first, too little to move a cluster, enough to make the
    labels well defined.

    Examples
    --------
    >>> labels = spectral_clusters(np.kron(np.eye(2), np.ones((3, 3))), 2)
    >>> bool(labels[0] == labels[2] != labels[3] == labels[5])
    True
    """
    if is_sparse(W):
        return sparse_clusters(W, k, seed)
    edges = as_edges(W, "W")
    without_small(edges[None], THRESHOLD, "W")  # refuses a Laplacian, not the noise of a solver
    edges = np.maximum(edges, 0.0)
    m = n_nodes_from_edges(edges.size)
    k = check_whole("k", k, 1, m, f"clusters of {m} nodes")
    if k == 1 or not edges.any():
        return np.zeros(m, dtype=np.intp)
    if k == m:  # scikit-learn's eigensolver needs k < m, and there is only one such clustering
        return np.arange(m, dtype=np.intp)
    affinity = adjacency_from_edges(edges)
    from scipy.sparse.csgraph import connected_components

    if connected_components(affinity, directed=False)[0] > 1:
        affinity += 1e-6 * edges.mean()
        np.fill_diagonal(affinity, 0.0)
    from sklearn.cluster import SpectralClustering  # a fifth of a second, so only where used

    model = SpectralClustering(n_clusters=k, affinity="precomputed", random_state=seed)
    return np.asarray(model.fit_predict(affinity), dtype=np.intp)


def nmi(
    labels_true: ArrayLike, labels_or_W: ArrayLike, n_clusters: int | None = None, seed: int = 0
) -> float:
    """Normalised mutual information of two clusterings, ``2 I(a, b) / (H(a) + H(b))``.

    It is 1 for equal partitions, and 0 if one of them is a single cluster and the other is not.

    Parameters
    ----------
    labels_true : array_like of shape (m,)
        True groups, of any type.
    labels_or_W : array_like
        Labels of shape ``(m,)``, or the ``m x m`` adjacency matrix of a graph, whose
        `spectral_clusters` are then compared. Edge vectors would look like labels: pass the matrix.
    n_clusters, seed : int, optional
        Of `spectral_clusters`; as many clusters as true groups by default. Only with a graph.

    Examples
    --------
    >>> nmi(["a", "a", "b", "b"], [1, 1, 0, 0])
    1.0
    >>> nmi([0, 0, 0, 1, 1, 1], np.kron(np.eye(2), np.ones((3, 3))))
    1.0
    """
    truth: NDArray[Any] = np.asarray(labels_true)
    if is_sparse(labels_or_W):
        k = len(np.unique(truth)) if n_clusters is None else n_clusters
        labels_or_W, n_clusters = sparse_clusters(labels_or_W, k, seed), None
    other: NDArray[Any] = np.asarray(labels_or_W)
    if truth.ndim != 1:
        raise ValueError(f"labels_true has shape {truth.shape}; pass one label per node")
    if other.ndim not in (1, 2) or len(other) != len(truth):
        raise ValueError(
            f"labels_or_W has shape {other.shape} for {len(truth)} true labels; pass as many "
            "labels, or the m x m adjacency matrix of a graph on these nodes"
        )
    if other.ndim == 2:
        k = len(np.unique(truth)) if n_clusters is None else n_clusters
        other = spectral_clusters(other, k, seed)
    elif n_clusters is not None:
        raise ValueError(f"n_clusters={n_clusters} with labels given; it is for a graph, drop it")
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(truth, other))
