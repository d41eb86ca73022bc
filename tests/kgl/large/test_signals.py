"""Sparse fits against dense ones: the same graphs, signals and histories for all six models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from kgl.laplacian import complete_laplacian, laplacian_from_adjacency
from kgl.solvers.lowrank import SparseLaplacian
from kgl.solvers.lowrank.data import CompleteGraph
from tests.kgl.large.cases import make_case, solve_both

CASES = [
    ("GL", False, None), ("GL-2step", False, None), ("KGL-N", False, 0.0), ("KGL-N", True, 0.0),
    ("KGL-N", False, 0.1), ("KGL-N", True, 0.1), ("KGL-N", False, None), ("KGL-N", True, None),
    ("KGL", False, 0.0), ("KGL", True, 0.0), ("KGL", False, 0.1), ("KGL", True, 0.1),
    ("KGL", True, None), ("KGL-O", False, None), ("KGL-O", True, None),
    ("KGL-Agnostic", False, None), ("KGL-Agnostic", True, None),
]  # fmt: skip


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("name", "masked", "white"), CASES)
def test_a_sparse_fit_is_the_dense_one(
    name: str, masked: bool, white: float | None, signed: bool
) -> None:
    case = make_case(name, signed=signed, masked=masked, white=white)
    dense, large = solve_both(case, max_iter=6)
    W = large.graph.weights.toarray()
    assert np.array_equal(W > 0, dense.weights[0] > 0)
    np.testing.assert_allclose(W, dense.weights[0], atol=1e-9 * W.max())
    assert large.n_iter == dense.n_iter[0]
    assert large.converged == dense.converged[0]
    assert large.graph.residual < 1e-10
    assert dense.history is not None
    assert dense.signals is not None
    np.testing.assert_allclose(large.history, dense.history[0], rtol=1e-8, atol=1e-9)
    if case.spec.fitted:
        assert large.signals is not None
        assert large.signals.nodes is not None
        found = case.large.lift(case.large.root_z * large.signals.nodes.T)
        np.testing.assert_allclose(found, dense.signals[0], atol=1e-9)
    if signed:
        assert dense.signs is not None
        assert large.graph.signs is not None
        on = W > 0
        assert np.array_equal(large.graph.signs.toarray()[on], dense.signs[0][on])


@pytest.mark.parametrize("white", [0.0, None])
def test_many_rows_count_by_their_gram_matrix(white: float | None) -> None:
    case = make_case("KGL-N", white=white, n=90, m=30)
    dense, large = solve_both(case)
    np.testing.assert_allclose(large.graph.weights.toarray(), dense.weights[0], atol=1e-9)


def test_another_start_is_taken() -> None:
    case = make_case("KGL", white=0.0, signed=True)
    rng = np.random.default_rng(1)
    W = np.triu(rng.random((40, 40)) < 0.1, 1).astype(float)
    L = laplacian_from_adjacency((W + W.T) * 20 / W.sum())
    one = np.ones(1)
    from kgl.solvers.alternating import Options, solve_points
    from kgl.solvers.lowrank import LargeOptions, solve_large

    dense = solve_points(
        case.dense, case.spec, case.lam * one, case.rho * one, case.psi * one, Options(init=L)
    )
    start = SparseLaplacian(csr_array(L))
    large = solve_large(
        case.large, case.spec, case.lam, case.rho, case.psi, LargeOptions(init=start)
    )
    np.testing.assert_allclose(large.graph.weights.toarray(), dense.weights[0], atol=1e-9)


def test_the_complete_graph_is_applied_without_being_formed() -> None:
    rng = np.random.default_rng(0)
    Y, X = rng.standard_normal((7, 50)), rng.standard_normal((50, 3))
    np.testing.assert_allclose(CompleteGraph(50).product(X), complete_laplacian(50) @ X)
    signs = np.where(Y.T @ Y < 0, -1.0, 1.0)
    L = laplacian_from_adjacency((np.ones((50, 50)) - np.eye(50)) / 49, signs)
    start = CompleteGraph(50, Y)
    np.testing.assert_allclose(start.product(X), L @ X, atol=1e-12)
    np.testing.assert_allclose(start.congruence(X), X.T @ L @ X, atol=1e-10)
    rows, cols = np.triu_indices(50, 1)
    assert np.array_equal(start.signs(rows, cols), signs[rows, cols])


def test_blocks_of_signs_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    Y, X = rng.standard_normal((7, 50)), rng.standard_normal((50, 3))
    whole = CompleteGraph(50, Y)
    product, congruence = whole.product(X), whole.congruence(X)
    monkeypatch.setattr("kgl.solvers.lowrank.data.BLOCK", 16)
    np.testing.assert_allclose(whole.product(X), product, atol=1e-12)
    np.testing.assert_allclose(whole.congruence(X), congruence, atol=1e-10)
    monkeypatch.setattr("kgl.solvers.lowrank.data.EXACT_UP_TO", 10)
    np.testing.assert_allclose(whole.product(X), product, atol=1e-5)
    np.testing.assert_allclose(whole.congruence(X), congruence, atol=1e-5)
