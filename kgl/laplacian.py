"""Graphs as arrays: edge vectors, adjacency matrices, Laplacians and pairwise distances.

An edge vector lists the pairs ``i < j`` in the order of ``np.triu_indices(m, 1)``. Every function
takes leading batch axes, so one graph and a whole grid of graphs go through the same code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgl._types import Array, Mask

__all__ = [
    "adjacency_from_edges",
    "adjacency_from_laplacian",
    "complete_laplacian",
    "edges_from_adjacency",
    "laplacian_from_adjacency",
    "n_nodes_from_edges",
    "pairwise_sq_distances",
    "row_sums",
    "signed_sq_distances",
    "signed_sq_distances_from_gram",
    "sq_distances_from_gram",
]

#: Columns from which distances are taken from products, in a fraction of the time; those that
#: would lose digits are worked out from differences.
PRODUCTS_FROM = 1_000
#: A distance loses digits below this share of the squares of its columns, all of them if there are
#: too many.
NEAR, MANY = 1e-2, 0.05
#: The same where entries are missing, and products are the only way that is fast.
NEAR_WITH_GAPS = 0.05


def _refuse_sparse(values: Any, name: str) -> None:
    """Refuse a sparse array, of which NumPy makes no array of numbers."""
    if hasattr(values, "toarray"):
        raise TypeError(
            f"{name} is a sparse {type(values).__name__}; pass {name}.toarray() where memory allows"
        )


def n_nodes_from_edges(n_edges: int) -> int:
    """Return the number of nodes ``m`` with ``m (m - 1) / 2`` pairs.

    Examples
    --------
    >>> n_nodes_from_edges(190)
    20
    """
    m = round((1 + float(np.sqrt(1 + 8 * n_edges))) / 2)
    if m * (m - 1) // 2 != n_edges:
        raise ValueError(
            f"an edge vector has m (m - 1) / 2 entries; {n_edges} is not of that form for any m; "
            "pass the weights of all pairs i < j"
        )
    return m


def adjacency_from_edges(weights: Array) -> Array:
    """Spread edge vectors ``(..., E)`` over symmetric matrices ``(..., m, m)``.

    Examples
    --------
    >>> adjacency_from_edges(np.array([1.0, 2.0, 3.0]))
    array([[0., 1., 2.],
           [1., 0., 3.],
           [2., 3., 0.]])
    """
    _refuse_sparse(weights, "weights")
    weights = np.asarray(weights, dtype=float)
    m = n_nodes_from_edges(weights.shape[-1])
    rows, cols = np.triu_indices(m, 1)
    W = np.zeros((*weights.shape[:-1], m, m))
    W[..., rows, cols] = weights
    W[..., cols, rows] = weights
    return W


def edges_from_adjacency(W: Array) -> Array:
    """Read the upper triangle ``(..., E)`` of symmetric matrices ``(..., m, m)``."""
    _refuse_sparse(W, "W")
    W = np.asarray(W)
    rows, cols = np.triu_indices(W.shape[-1], 1)
    edges: Array = W[..., rows, cols]
    return edges


def row_sums(A: Array) -> Array:
    """Sum over the last axis by BLAS: NumPy's own sum is slow over many short rows."""
    m = A.shape[-1]
    return np.asarray((A.reshape(-1, m) @ np.ones(m)).reshape(A.shape[:-1]))


def laplacian_from_adjacency(W: Array, signs: Array | None = None) -> Array:
    """``L = diag(W 1) - W``, so that every row of ``L`` sums to zero.

    With ``signs`` of 1 and -1 it is the signed Laplacian ``diag(W 1) - signs o W``: positive
    semidefinite too, with ``y' L y`` the sum of ``w_ij (y_i - s_ij y_j)^2`` over pairs.

    Sparse weights give a sparse Laplacian.
    """
    if hasattr(W, "toarray"):
        return _sparse_laplacian(W, signs)
    _refuse_sparse(signs, "signs")
    L = -np.asarray(W, dtype=float)
    diagonal = np.arange(L.shape[-1])
    L[..., diagonal, diagonal] = 0.0
    degrees = -row_sums(L)
    if signs is not None:
        L *= signs
    L[..., diagonal, diagonal] = degrees
    L += 0.0  # no -0.0 where there is no edge
    return L


def _sparse_laplacian(W: Any, signs: Any) -> Any:
    from scipy import sparse  # slow to load, so only where needed

    W = _without_diagonal(W)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    return sparse.csr_array(
        sparse.diags_array(degrees) - (W if signs is None else W.multiply(signs))
    )


def _without_diagonal(matrix: Any) -> Any:
    """Return a sparse copy (m, m) with nothing on the diagonal."""
    from scipy import sparse

    found = sparse.coo_array(matrix)
    rows, cols = found.coords
    off = rows != cols
    data = np.asarray(found.data, dtype=float)[off]
    return sparse.csr_array((data, (rows[off], cols[off])), shape=found.shape)


def adjacency_from_laplacian(L: Array) -> Array:
    """Off-diagonal part of ``-L``, with an exact zero diagonal; sparse where L is."""
    if hasattr(L, "toarray"):
        W = -_without_diagonal(L)
        W.eliminate_zeros()
        return W
    W = -np.asarray(L, dtype=float)
    diagonal = np.arange(W.shape[-1])
    W[..., diagonal, diagonal] = 0.0
    # -0.0 would print as a signed zero in every export
    W += 0.0
    return W


def complete_laplacian(m: int) -> Array:
    """Complete graph with equal weights and trace ``m``: the graph of the signal that is zero.

    It is what the graph step returns for ``A = 0``, the starting point of Algorithm 1.
    """
    return (m * np.eye(m) - np.ones((m, m))) / (m - 1)


def sq_distances_from_gram(G: Array) -> Array:
    """``Z_ij = G_ii + G_jj - 2 G_ij`` (not below zero), so that ``sum_{i<j} Z w = tr(G L)``."""
    _refuse_sparse(G, "G")
    diagonal = np.einsum("...ii->...i", G)
    Z = diagonal[..., :, None] + diagonal[..., None, :]
    Z -= G + G.swapaxes(-1, -2)  # symmetric to the last bit, which a matrix product need not be
    np.maximum(Z, 0.0, out=Z)
    return Z


def signed_sq_distances_from_gram(G: Array) -> tuple[Array, Array]:
    """Return the smaller of ``|y_i - y_j|^2`` and ``|y_i + y_j|^2``, and the signs that give it."""
    _refuse_sparse(G, "G")
    signs = np.where(G + G.swapaxes(-1, -2) < 0.0, -1.0, 1.0)
    return sq_distances_from_gram(G * signs), signs


def signed_sq_distances(Y: Array, mask: Mask | None = None) -> tuple[Array, Array]:
    """Return distances between columns or to their negatives, the smaller, and the signs.

    Parameters
    ----------
    Y, mask
        As for :func:`pairwise_sq_distances`.

    Returns
    -------
    array (m, m)
        Squared distances.
    array (m, m)
        -1 where a column is nearer to the negative of the other, 1 elsewhere.

    Examples
    --------
    >>> Z, signs = signed_sq_distances(np.array([[1.0, -1.0], [2.0, -2.5]]))
    >>> float(Z[0, 1]), float(signs[0, 1])
    (0.25, -1.0)
    """
    together = pairwise_sq_distances(Y, mask)
    opposite = pairwise_sq_distances(Y, mask, opposite=True)
    signs = np.where(opposite < together, -1.0, 1.0)
    np.fill_diagonal(signs, 1.0)
    return np.where(signs < 0, opposite, together), signs


def pairwise_sq_distances(Y: Array, mask: Mask | None = None, *, opposite: bool = False) -> Array:
    """Squared distances between the columns of ``Y``, exact for nearly equal columns too.

    With a mask (True = observed) a distance is taken over the rows in which both columns are
    observed and scaled up to all rows, so that gaps do not make nodes look alike. With
    ``opposite`` distances are those to the negatives of the columns.
    """
    from scipy.spatial.distance import cdist, pdist, squareform

    _refuse_sparse(Y, "Y")
    Y = np.asarray(Y, dtype=float)
    if mask is None and Y.shape[1] >= PRODUCTS_FROM:
        Z = _distances_by_products(Y, opposite=opposite)
        if Z is not None:
            return Z
    if mask is None and opposite:
        return np.asarray(cdist(Y.T, -Y.T, "sqeuclidean"))
    if mask is None:
        return np.asarray(squareform(pdist(Y.T, "sqeuclidean")))
    seen = mask.astype(float)
    both = seen.T @ seen
    if not both.all():
        i, j = np.argwhere(both == 0)[0]
        raise ValueError(
            f"columns {i} and {j} of Y are never observed in the same row, so their distance "
            "is unknown; use missing='zero' or a model that fits the signals"
        )
    sign = -1.0 if opposite else 1.0
    filled = np.where(mask, Y, 0.0)
    squares = (filled**2).T @ seen
    size = squares + squares.T
    Z = np.maximum(size - 2.0 * sign * (filled.T @ filled), 0.0)
    # the others have lost digits to cancellation
    rows, columns = np.nonzero(np.triu(NEAR_WITH_GAPS * size > Z, 1))
    for begin in range(0, len(rows), 4096):
        i, j = rows[begin : begin + 4096], columns[begin : begin + 4096]
        difference = (filled[:, i] - sign * filled[:, j]) * seen[:, i] * seen[:, j]
        Z[i, j] = Z[j, i] = np.einsum("ij,ij->j", difference, difference)
    return np.asarray(Z * (len(Y) / both))


def _distances_by_products(Y: Array, *, opposite: bool) -> Array | None:
    """Return squared distances from Y'Y, None if most of them would lose digits."""
    sign = -1.0 if opposite else 1.0
    Z = Y.T @ Y
    squares = np.diag(Z).copy()
    Z *= -2.0 * sign
    near = np.zeros(Z.shape, dtype=bool)
    for begin in range(0, len(Z), 256):
        some = slice(begin, begin + 256)
        size = squares[some, None] + squares
        Z[some] += size
        near[some] = Z[some] < NEAR * size
    rows, columns = np.nonzero(np.triu(near, 1))
    if len(rows) > MANY * Z.size:
        return None
    for begin in range(0, len(rows), 4096):
        i, j = rows[begin : begin + 4096], columns[begin : begin + 4096]
        difference = Y[:, i] - sign * Y[:, j]
        Z[i, j] = Z[j, i] = np.einsum("ij,ij->j", difference, difference)
    np.fill_diagonal(Z, 4.0 * squares if opposite else 0.0)
    return np.asarray(Z)
