"""Edge vectors, adjacency matrices, Laplacians and distances: round trips and identities."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import random_mask
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from kgl import kkt_residual
from kgl._types import Array
from kgl.laplacian import (
    adjacency_from_edges,
    adjacency_from_laplacian,
    complete_laplacian,
    edges_from_adjacency,
    laplacian_from_adjacency,
    n_nodes_from_edges,
    pairwise_sq_distances,
    signed_sq_distances,
    signed_sq_distances_from_gram,
    sq_distances_from_gram,
)

BATCHES: list[tuple[int, ...]] = [(), (4,), (2, 3)]


def edges(m: int, batch: tuple[int, ...] = (), seed: int = 0) -> Array:
    return np.random.default_rng(seed).exponential(size=(*batch, m * (m - 1) // 2))


@pytest.mark.parametrize("n_edges", [2, 4, 5, 7, 189, 191])
def test_not_a_number_of_pairs(n_edges: int) -> None:
    with pytest.raises(ValueError, match=rf"m \(m - 1\) / 2 entries; {n_edges} is not"):
        n_nodes_from_edges(n_edges)
    with pytest.raises(ValueError, match=str(n_edges)):
        adjacency_from_edges(np.ones(n_edges))


def test_order_of_pairs() -> None:
    W = adjacency_from_edges(np.arange(1.0, 7.0))
    assert [W[0, 1], W[0, 2], W[0, 3], W[1, 2], W[1, 3], W[2, 3]] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("m", [2, 3, 9])
def test_round_trips(m: int, batch: tuple[int, ...]) -> None:
    w = edges(m, batch)
    W = adjacency_from_edges(w)
    assert W.shape == (*batch, m, m)
    np.testing.assert_array_equal(W, W.swapaxes(-1, -2))
    np.testing.assert_array_equal(edges_from_adjacency(W), w)
    L = laplacian_from_adjacency(W)
    np.testing.assert_array_equal(adjacency_from_laplacian(L), W)


@pytest.mark.parametrize("batch", BATCHES)
def test_a_batch_is_its_graphs(batch: tuple[int, ...]) -> None:
    W = adjacency_from_edges(edges(5, batch))
    L, back = laplacian_from_adjacency(W), adjacency_from_laplacian(laplacian_from_adjacency(W))
    Z = sq_distances_from_gram(W)
    for index in np.ndindex(*batch):
        np.testing.assert_array_equal(adjacency_from_edges(edges(5, batch)[index]), W[index])
        np.testing.assert_array_equal(laplacian_from_adjacency(W[index]), L[index])
        np.testing.assert_array_equal(adjacency_from_laplacian(L[index]), back[index])
        np.testing.assert_array_equal(sq_distances_from_gram(W[index]), Z[index])


@given(m=st.integers(2, 12), seed=st.integers(0, 2**32 - 1))
def test_a_laplacian(m: int, seed: int) -> None:
    W = adjacency_from_edges(edges(m, seed=seed))
    L = laplacian_from_adjacency(W)
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-13 * L.max())
    np.testing.assert_allclose(np.diag(L), W.sum(axis=1))
    assert np.linalg.eigvalsh(L)[0] >= -1e-13 * L.max()
    # the quadratic form is the sum over edges of squared differences
    y = np.random.default_rng(seed).standard_normal(m)
    rough = 0.5 * np.sum(W * np.subtract.outer(y, y) ** 2)
    assert y @ L @ y == pytest.approx(rough, rel=1e-10)


@pytest.mark.parametrize(
    "function",
    [
        adjacency_from_laplacian,
        edges_from_adjacency,
        laplacian_from_adjacency,
        pairwise_sq_distances,
        sq_distances_from_gram,
    ],
)
def test_inputs_are_not_changed(function) -> None:
    M = adjacency_from_edges(edges(4)) + np.eye(4)
    copy = M.copy()
    result = function(M)
    assert not np.shares_memory(result, M)
    np.testing.assert_array_equal(M, copy)


@pytest.mark.parametrize("m", [2, 3, 20])
def test_complete_graph(m: int) -> None:
    L = complete_laplacian(m)
    W = adjacency_from_laplacian(L)
    np.testing.assert_allclose(edges_from_adjacency(W), 1 / (m - 1))
    np.testing.assert_allclose(laplacian_from_adjacency(W), L, atol=1e-15)
    assert np.trace(L) == pytest.approx(m)


# --- distances ----------------------------------------------------------------------------------


@given(n=st.integers(1, 8), m=st.integers(2, 8), seed=st.integers(0, 2**32 - 1))
def test_distances_of_columns(n: int, m: int, seed: int) -> None:
    Y = np.random.default_rng(seed).standard_normal((n, m))
    expected = np.array([[np.sum((a - b) ** 2) for b in Y.T] for a in Y.T])
    scale = np.sum(Y**2)
    np.testing.assert_allclose(pairwise_sq_distances(Y), expected, rtol=1e-12, atol=1e-30)
    Z = sq_distances_from_gram(Y.T @ Y)
    np.testing.assert_allclose(Z, expected, rtol=0, atol=1e-13 * scale)
    assert Z.min() >= 0
    # what the distances are for
    W = adjacency_from_edges(edges(m, seed=seed))
    smoothness = np.trace(Y @ laplacian_from_adjacency(W) @ Y.T)
    assert np.sum(Z * W) / 2 == pytest.approx(smoothness, rel=1e-9, abs=1e-12 * scale)


def test_near_twins_keep_their_distance() -> None:
    # 1e-12 of the signal: squared it is far below the rounding of a Gram matrix
    Y = np.random.default_rng(0).standard_normal((10, 1)) * [1.0, 1.0 + 1e-12]
    distance = pairwise_sq_distances(Y)[0, 1]
    assert distance == pytest.approx(np.sum((Y[:, 0] - Y[:, 1]) ** 2), rel=1e-12)
    assert distance > 0


def test_a_gram_matrix_of_rounding_gives_no_negative_distance() -> None:
    G = np.array([[1.0, 1.0 + 1e-15], [1.0 + 1e-15, 1.0]])
    np.testing.assert_array_equal(sq_distances_from_gram(G), np.zeros((2, 2)))


@given(n=st.integers(3, 8), m=st.integers(2, 6), seed=st.integers(0, 2**32 - 1))
def test_distances_over_shared_rows(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((n, m))
    mask = random_mask(n, m, 0.4, rng)
    mask[0] = True  # every two columns share a row
    Z = pairwise_sq_distances(np.where(mask, Y, 0.0), mask)
    for i in range(m):
        for j in range(m):
            both = mask[:, i] & mask[:, j]
            expected = n * np.mean((Y[both, i] - Y[both, j]) ** 2)
            assert Z[i, j] == pytest.approx(expected, rel=1e-10, abs=1e-12)
    full = np.ones((n, m), dtype=bool)
    np.testing.assert_allclose(pairwise_sq_distances(Y, full), pairwise_sq_distances(Y), atol=1e-12)


def test_columns_that_never_meet() -> None:
    mask = np.array([[True, False, True], [False, True, True]])
    with pytest.raises(ValueError, match="columns 0 and 1 of Y are never observed in the same row"):
        pairwise_sq_distances(np.ones((2, 3)), mask)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_array, sparse.csc_matrix])
def test_sparse_graphs(kind: type) -> None:
    W = adjacency_from_edges(np.where(edges(9) > 0.7, edges(9), 0.0))
    signs = np.sign(adjacency_from_edges(edges(9, seed=1) - 0.5)) + np.eye(9)
    for own in (None, signs, kind(signs)):
        L = laplacian_from_adjacency(kind(W + np.eye(9)), own)
        dense = laplacian_from_adjacency(W, None if own is None else signs)
        assert sparse.issparse(L)
        np.testing.assert_allclose(L.toarray(), dense, atol=1e-15)
        back = adjacency_from_laplacian(kind(L))
        assert back.nnz == np.count_nonzero(W)
        np.testing.assert_array_equal(back.toarray(), adjacency_from_laplacian(dense))
    Z = sq_distances_from_gram(np.diag(np.arange(9.0)))
    assert kkt_residual(kind(W), Z, 0.5) == kkt_residual(W, Z, 0.5)
    for refuses in (
        adjacency_from_edges, edges_from_adjacency, sq_distances_from_gram,
        signed_sq_distances_from_gram, pairwise_sq_distances, signed_sq_distances,
        lambda given: kkt_residual(W, given, 0.5),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=r"sparse .*\.toarray\(\)"):
            refuses(kind(W))
