"""Kernels as factors: the trace that is left out, new points, and what has no factor."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import kgl
from kgl.kernels import (
    RBF,
    Auto,
    FunctionKernel,
    Kernel,
    KernelAccess,
    Linear,
    LowRank,
    Mixed,
    NotLowRankError,
    Precomputed,
    as_kernel,
    factor_eigen,
    factorize,
    kernel_eigen,
)
from kgl.kernels.matrices import symmetric_matrix

RNG = np.random.default_rng(0)
X = RNG.random((150, 2))
MIXED = [[a, b, "uvw"[k % 3]] for k, (a, b) in enumerate(X)]


def _wave(A: Any, B: Any) -> Any:
    return np.cos(A[:, :1] - B[:, 0])


@pytest.mark.parametrize("tol", [1e-4, 1e-8])
@pytest.mark.parametrize(
    ("spec", "covariates"),
    [
        (RBF(bandwidth="median_sq"), X),
        (Linear(bias=1.0, scale="standard"), X),
        (FunctionKernel(_wave), X),
        (Mixed(kernel=RBF(gamma=2.0)), MIXED),
        (Mixed(combine="mean", kernel=Linear()), MIXED),
        (LowRank(), X),
    ],
)
def test_the_trace_left_out_is_known(spec: Kernel, covariates: Any, tol: float) -> None:
    found, exact = factorize(spec.access(covariates), spec, tol=tol), spec.fit(covariates)
    K = exact.matrix
    left = K - found.factor @ found.factor.T
    assert found.trace_error_ <= tol
    assert np.trace(left) / np.trace(K) == pytest.approx(found.trace_error_, abs=1e-12)
    assert np.linalg.eigvalsh(left).min() > -1e-10 * np.trace(K)
    square = found.factor.T @ found.factor
    assert np.abs(square - np.diag(np.diag(square))).max() < 1e-10 * np.trace(K)
    new = covariates[:4]
    allowed = 10 * np.sqrt(tol) * np.abs(K).max()
    np.testing.assert_allclose(found.cross(new), exact.cross(new), atol=allowed)
    np.testing.assert_allclose(found.embed(new), found.factor[:4], atol=1e-6 * np.sqrt(np.trace(K)))
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.cross(new), found.cross(new))


def test_a_matrix_is_read_by_columns() -> None:
    K = RBF(gamma=1.0)(X)
    found = factorize(Precomputed().access(K), Precomputed())
    np.testing.assert_allclose(found.matrix, K, atol=1e-6)
    np.testing.assert_allclose(found.cross(K[:2]), K[:2], atol=1e-6)


def test_what_is_not_low_rank_is_refused_with_the_share_left_out() -> None:
    spec = RBF(gamma=1e5)
    with pytest.raises(NotLowRankError, match="30 columns leave") as error:
        factorize(spec.access(X), spec, max_rank=30)
    assert error.value.reached == pytest.approx(120 / 150, abs=0.01)


def test_what_is_not_semi_definite_is_refused() -> None:
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="not positive semi-definite"):
        factorize(KernelAccess.of_matrix(K), Precomputed())


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_matrix_that_its_factor_does_not_give_back_is_refused(kind: type) -> None:
    B = np.random.default_rng(0).standard_normal((600, 12))
    K = B @ B.T / 12
    Y = B[:, :3].T
    factorize(KernelAccess.of_matrix(K), Precomputed())
    K[0, 1] += 5.0
    K[1, 0] += 5.0
    alone = np.eye(600)
    alone[0, 0], alone[0, 1], alone[1, 0] = 0.0, 1.0, 1.0
    nothing = alone - np.eye(600)
    for wrong, smallest in ((K, "-4.9"), (alone, "-0.618"), (nothing, "-1"), (-np.eye(600), "-1")):
        with pytest.raises(ValueError, match=rf"smallest eigenvalue is {smallest}.*nearest_psd"):
            kgl.KGLN(solver="sparse", psi=1.0).fit(Y, K_x=wrong.astype(kind))


def test_a_matrix_in_single_precision_has_the_directions_of_the_dense_fit() -> None:
    for gamma in (2.0, 30.0):
        K = RBF(gamma=gamma)(X).astype(np.float32)
        whole = kernel_eigen(K, "K_x", 150)
        exact = symmetric_matrix(K, "K_x")
        found = factorize(KernelAccess.of_matrix(exact[0], "K_x", exact[1]), Precomputed())
        assert found.factor.shape == (150, whole.rank)
        np.testing.assert_allclose(found.matrix, whole.matrix, atol=5e-5)


def test_a_low_rank_matrix_in_single_precision_is_fitted() -> None:
    B = RNG.standard_normal((150, 12))
    Y = RNG.standard_normal((30, 12)) @ B.T
    K = B @ B.T / 12
    models = [
        kgl.KGLN(solver=solver, psi=0.01).fit(Y, K_x=K.astype(kind))
        for solver, kind in (("sparse", np.float32), ("newton", np.float32), ("newton", float))
    ]
    W = models[0].weights_.toarray()
    for other in models[1:]:
        assert np.array_equal(W > 0, other.weights_ > 0)
        np.testing.assert_allclose(W, other.weights_, atol=1e-5 * W.max())


def test_features_that_are_zero_are_refused() -> None:
    spec = LowRank(np.zeros((40, 2)))
    Y = RNG.standard_normal((9, 40))
    for solver in ("sparse", "newton"):
        with pytest.raises(ValueError, match="under which every signal is 0"):
            kgl.KGLN(solver=solver, kernel_x=spec, psi=1.0).fit(Y)
    with pytest.raises(ValueError, match="under which every signal is 0"):
        kgl.KGLN(solver="sparse", psi=1.0).fit(Y, K_x=np.zeros((40, 40)))
    assert LowRank(np.zeros((40, 2)), white=1.0).fit().white == 1.0


def test_auto_has_the_same_weights_by_columns() -> None:
    Y = np.sin(4 * X[:, :1] + np.arange(5)) + 0.1 * RNG.standard_normal((150, 5))
    whole, access = Auto().fit_to(X, Y), Auto().access(X, Y)
    assert access.notes["weights"] == pytest.approx(whole.weights_, rel=1e-6)
    assert access.white == pytest.approx(whole.weights_["white"])
    K = access.columns(np.arange(150)) + access.white * np.eye(150)
    np.testing.assert_allclose(K, whole.matrix, atol=1e-8)


def test_auto_leaves_out_widths_that_are_not_low_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgl.kernels.auto.SUBSET", 100)
    monkeypatch.setattr("kgl.kernels.auto.is_low_rank", lambda access: access.columns(
        np.array([0])).mean() > 0.3)  # fmt: skip
    Y = np.sin(4 * X[:, :1] + np.arange(5)) + 0.1 * RNG.standard_normal((150, 5))
    access = Auto().access(X, Y)
    assert access.notes["left out"]
    assert not set(access.notes["left out"]) & set(access.notes["weights"])
    found = factorize(access, Auto(), max_rank=80)
    assert found.trace_error_ <= 1e-8


def test_eigenvectors_of_a_factor() -> None:
    F = RNG.standard_normal((40, 6))
    found, exact = factor_eigen(F), kernel_eigen(F @ F.T, "K", 40)
    np.testing.assert_allclose(found.values, exact.values)
    np.testing.assert_allclose(found.matrix, exact.matrix, atol=1e-10)


def test_features_of_ones_own() -> None:
    spec = LowRank(X, white=0.5)
    assert spec == LowRank(X.copy(), white=0.5) != LowRank(X)
    assert hash(spec) == hash(LowRank(X, white=0.5))
    assert "(150, 2)" in repr(spec)
    np.testing.assert_allclose(spec.fit().matrix, X @ X.T + 0.5 * np.eye(150), atol=1e-12)
    assert as_kernel("low-rank") == LowRank()
    for wrong, message in (
        (lambda: LowRank().fit(None), "no features"),
        (lambda: spec.fit(X[:3]), "150 items but there are 3"),
        (lambda: spec.fit().cross(np.ones((2, 3))), "3 feature"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()
