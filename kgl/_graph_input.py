"""Graphs that are passed to metrics, as edge vectors: matrices or vectors, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kgl._types import Array, Mask
from kgl._validation import as_numbers, is_number
from kgl.laplacian import edges_from_adjacency, n_nodes_from_edges

__all__ = ["as_edge_rows", "as_edges", "true_edges", "without_small"]


def _symmetric_edges(W: Array, name: str) -> Array:
    """Upper triangles of matrices ``(..., m, m)``, which must be symmetric."""
    if W.shape[-1] != W.shape[-2]:
        raise ValueError(
            f"{name} has shape {W.shape}; pass square m x m matrices, or edge weights in the "
            "order of np.triu_indices(m, 1)"
        )
    upper, lower = edges_from_adjacency(W), edges_from_adjacency(np.swapaxes(W, -1, -2))
    # the relative tolerance lets the rounding of an inexact solver pass
    finite = np.abs(upper[np.isfinite(upper)])
    atol = 1e-8 * float(finite.max(initial=0.0))
    if not np.allclose(upper, lower, rtol=1e-6, atol=atol, equal_nan=True):
        raise ValueError(f"{name} is not symmetric; pass (W + W.T) / 2 if that is what is meant")
    return upper


def as_edges(W: ArrayLike, name: str, n_edges: int | None = None) -> Array:
    """One graph, matrix or edge vector, as an edge vector (of the size of the true graph)."""
    W = as_numbers(W, name)
    if W.ndim == 2:
        W = _symmetric_edges(W, name)
    elif W.ndim != 1:
        raise ValueError(f"{name} has shape {W.shape}; pass one m x m matrix or one edge vector")
    if W.size == 0:
        raise ValueError(f"{name} has no pair of nodes; pass a graph of at least 2 nodes")
    n_nodes_from_edges(W.size)
    if np.isnan(W).any():
        raise ValueError(f"{name} contains NaN; drop the failed fit before scoring")
    if n_edges not in (None, W.size):
        raise ValueError(
            f"W_true has {n_edges} pairs of nodes and {name} has {W.size}; pass two graphs on the "
            "same nodes"
        )
    return W


def as_edge_rows(W: ArrayLike, name: str, n_edges: int) -> Array:
    """Edge vectors ``(N, E)`` of a batch of graphs, ``(N, E)`` or ``(N, m, m)``."""
    W = as_numbers(W, name)
    if W.ndim == 3:
        W = _symmetric_edges(W, name)
    if W.ndim != 2 or W.shape[1] != n_edges:
        raise ValueError(
            f"{name} has shape {W.shape}; the true graph has {n_edges} pairs of nodes: pass "
            f"(N, {n_edges}) edge vectors or (N, m, m) matrices of the same m"
        )
    failed = np.isnan(W).any(axis=1)
    if failed.any():
        raise ValueError(f"{name} contains NaN in row {int(failed.argmax())}; drop the failed fit")
    return W


def true_edges(W_true: ArrayLike) -> Mask:
    truth: Mask = as_edges(W_true, "W_true") != 0
    if not truth.any():
        raise ValueError("W_true has no edge, so no score of its edges is defined; pass a graph")
    return truth


def without_small(values: Array, threshold: float | None, name: str) -> Array:
    """Weights with the small ones set to zero (rows of ``(N, E)``), or scores as they are."""
    if threshold is None:
        if np.isposinf(values).any():
            raise ValueError(
                f"{name} contains +inf; scores must be finite, or -inf where a pair is forbidden"
            )
        return values
    if not is_number(threshold) or not 0 <= threshold < 1:
        raise ValueError(
            f"threshold={threshold!r}; pass a fraction of the largest weight in [0, 1), or None "
            "where scores are meant"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains infinite weights; pass threshold=None to rank scores")
    cut = threshold * np.abs(values).max(axis=1, keepdims=True)
    if (values < -cut).any():
        raise ValueError(
            f"{name} contains the negative weight {values.min():.3g}; pass the adjacency matrix "
            "(not the Laplacian), or threshold=None if these are scores"
        )
    return np.where(values > cut, values, 0.0)
