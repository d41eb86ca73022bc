"""Sparse graphs that are passed to metrics: their edges, and how many pairs there are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from kgl._types import Array

__all__ = ["SparsePairs", "is_sparse", "refuse_scores", "sparse_pairs"]


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
    return SparsePairs(
        np.asarray(true[rows, cols]).ravel(),
        np.asarray(estimate[rows, cols]).ravel(),
        m * (m - 1) // 2,
    )


def _upper(W: Any, name: str) -> sparse.csr_array:
    """Return the upper triangle of a symmetric matrix."""
    found = sparse.csr_array(W if sparse.issparse(W) else np.asarray(W, dtype=float)).astype(float)
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
