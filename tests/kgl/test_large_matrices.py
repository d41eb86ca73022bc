"""Kernel checks in blocks, kernels of low rank by their factors, distances from products."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from kgl import laplacian
from kgl.kernels import RBF, Linear, kernel_eigen, matrices


@pytest.mark.parametrize("size", [1, 6, 7, 20])
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_change_no_byte(monkeypatch, size, order):
    K = np.random.default_rng(size).normal(size=(size, size)) * 1e-9
    K = np.asarray(K + np.eye(size), order=order)
    before = K.copy()
    expected = np.ascontiguousarray((K + K.T) / 2.0)
    monkeypatch.setattr(matrices, "BLOCK", 7)
    found, _ = matrices.symmetric_matrix(K, "K")
    assert found.tobytes() == expected.tobytes()
    assert found.flags.c_contiguous
    assert np.array_equal(K, before)


@pytest.mark.parametrize("place", [(2, 17), (17, 2), (9, 8), (19, 0)])
def test_errors_of_later_blocks_name_the_entry(monkeypatch, place):
    monkeypatch.setattr(matrices, "BLOCK", 7)
    K = np.eye(20)
    K[place] = 0.5
    first = tuple(sorted(place))
    with pytest.raises(ValueError, match=rf"K\[{first[0]}, {first[1]}\] = .* asymmetry 0.5"):
        matrices.symmetric_matrix(K, "K")
    K[place] = np.nan
    with pytest.raises(ValueError, match=rf"K\[{place[0]}, {place[1]}\] = nan"):
        matrices.symmetric_matrix(K, "K")


def test_checks_take_one_copy():
    K = np.eye(2500)
    tracemalloc.start()
    matrices.symmetric_matrix(K, "K")
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < 2.0 * K.nbytes


@pytest.mark.parametrize(
    "K",
    [
        RBF(gamma=0.005)(np.arange(150.0)),
        Linear(bias=1.0)(np.random.default_rng(0).normal(size=(150, 4))),
        np.kron(np.eye(3), np.ones((50, 50))),
        RBF(gamma=0.005)(np.arange(150.0)).astype(np.float32),
    ],
    ids=["rbf", "linear", "groups", "single precision"],
)
def test_factors_have_the_same_directions(monkeypatch, K):
    whole = kernel_eigen(K, "K", 150)
    monkeypatch.setattr(matrices, "FACTOR_FROM", 100)
    monkeypatch.setattr(np.linalg, "eigh", None)  # must not be used
    found = kernel_eigen(K, "K", 150)
    scale = float(whole.values[0])
    kept = min(found.rank, whole.rank)
    eps = float(np.finfo(K.dtype).eps)
    assert np.abs(found.values[:kept] - whole.values[:kept]).max() < 1e3 * eps * scale
    assert max(found.values[kept:].max(initial=0.0), whole.values[kept:].max(initial=0.0)) < (
        1e3 * 150 * eps * scale
    )
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(found.rank), atol=1e-12)
    assert np.abs(found.matrix - whole.matrix).max() < 1e4 * eps * scale


def test_other_matrices_are_decomposed_as_a_whole(monkeypatch):
    rng = np.random.default_rng(0)
    full = np.cov(rng.normal(size=(150, 500)))
    whole = kernel_eigen(full, "K", 150)
    monkeypatch.setattr(matrices, "FACTOR_FROM", 100)
    assert kernel_eigen(full, "K", 150).values.tobytes() == whole.values.tobytes()
    low = RBF(gamma=0.005)(np.arange(150.0))
    indefinite = low.copy()
    indefinite[3, 140] = indefinite[140, 3] = -0.9
    with pytest.raises(ValueError, match="not positive semi-definite"):
        kernel_eigen(indefinite, "K", 150)


@pytest.mark.parametrize("opposite", [False, True])
def test_distances_from_products_are_as_exact(monkeypatch, opposite):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(40, 60)) * np.logspace(-3, 3, 60)
    Y[:, 1] = Y[:, 0] * (1 + 1e-10)
    Y[:, 3] = -Y[:, 2] * (1 + 1e-9)
    Y[:, 5] = Y[:, 4]
    Y[:, 7] = 0.0
    expected = laplacian.pairwise_sq_distances(Y, opposite=opposite)
    monkeypatch.setattr(laplacian, "PRODUCTS_FROM", 2)
    found = laplacian.pairwise_sq_distances(Y, opposite=opposite)
    assert np.allclose(found, expected, rtol=1e-10, atol=0.0)
    assert np.array_equal(found, found.T)
    alike = np.repeat(Y[:, :1], 30, axis=1) + 1e-12 * rng.normal(size=(40, 30))
    again = laplacian.pairwise_sq_distances(alike, opposite=opposite)
    monkeypatch.setattr(laplacian, "PRODUCTS_FROM", 1000)
    assert np.array_equal(again, laplacian.pairwise_sq_distances(alike, opposite=opposite)) == (
        not opposite
    )
