"""Small faults that once survived the tests: see tests/mutation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import kgl
from kgl._types import Array
from kgl.kernels import kernel_eigen
from kgl.laplacian import pairwise_sq_distances
from kgl.metrics import density, spectral_clusters
from kgl.problem import MODELS
from kgl.simulate import make_dataset
from kgl.solvers.graph_step import graph_step, warn_if_inexact
from kgl.solvers.signal_step import SignalData, make_signal_step


@pytest.fixture(scope="module")
def distances() -> Array:
    """Distances of 20 data sets of 30 nodes."""
    return np.stack([pairwise_sq_distances(make_dataset(m=30, seed=k).Y) for k in range(20)])


@pytest.mark.parametrize("psi", [1e-3, 0.1, 10.0])
def test_newton_takes_few_steps(distances: Array, psi: float) -> None:
    # piecewise quadratic: exact once the active edges are right, which a wrong Newton matrix or a
    # wrong value in the line search delays
    done = graph_step(distances, psi)
    assert done.residual.max() < 1e-12
    assert done.n_steps.max() <= 7


@pytest.mark.parametrize("psi", [1e-14, 1e-3])
def test_log_degree_scores_of_missing_edges_are_their_slack(distances: Array, psi: float) -> None:
    found = graph_step(distances, psi, regularizer="log-degree")
    for Z, W, scores in zip(distances, found.weights, found.scores, strict=True):
        off = (W == 0) & ~np.eye(len(W), dtype=bool)
        potential = 1.0 / W.sum(axis=1)
        # an edge has Z + 4 psi w = v_i + v_j, and the score of a missing one continues w
        expected = (potential[:, None] + potential - Z) / (4.0 * psi)
        assert off.any()
        np.testing.assert_allclose(scores[off], expected[off], rtol=1e-3)


def test_residuals_above_1e_8_are_reported() -> None:
    for residual in (2e-8, 1e-4, 1.0, np.nan):
        with pytest.warns(ConvergenceWarning, match="residual"):
            warn_if_inexact(residual)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for residual in (0.0, 9e-9, 1e-8):
            warn_if_inexact(residual)


def test_iterations_stop_at_the_first_change_below_the_tolerance() -> None:
    data = make_dataset("er", m=12, n=40, dependent=True, noise=0.5)
    tol = 1e-5

    def laplacian(max_iter: int) -> Array:
        model = kgl.KGL(lam=0.1, rho=1.0, psi=0.1, tol=tol, max_iter=max_iter)
        return np.asarray(model.fit(data.Y, K_x=data.K_x, K_z=data.K_z).laplacian_)

    n_iter = kgl.KGL(lam=0.1, rho=1.0, psi=0.1, tol=tol, max_iter=100).fit(
        data.Y, K_x=data.K_x, K_z=data.K_z
    ).n_iter_  # fmt: skip
    assert 4 < n_iter < 100
    with pytest.warns(ConvergenceWarning):
        before, last_but_one = laplacian(n_iter - 2), laplacian(n_iter - 1)
    last = laplacian(n_iter)

    def change(old: Array, new: Array) -> float:
        return float(np.linalg.norm(new - old) / np.linalg.norm(new))

    assert change(last_but_one, last) <= tol < change(before, last_but_one)


def test_a_weight_at_the_threshold_is_treated_as_zero() -> None:
    assert density([1.0, 0.5, 0.25], threshold=0.5) == pytest.approx(1 / 3)
    assert density([1.0, 0.5, 0.25], threshold=0.499) == pytest.approx(2 / 3)


def test_a_faint_component_is_a_cluster_of_its_own() -> None:
    # two cliques with one edge between them, and a pair of nodes with a small weight: what is
    # added to make clusters well defined must be small beside that weight
    W = np.zeros((12, 12))
    W[:5, :5] = W[5:10, 5:10] = 1.0
    W[4, 5] = W[5, 4] = 1.0
    W[10, 11] = W[11, 10] = 0.05
    np.fill_diagonal(W, 0.0)
    labels = spectral_clusters(W, 2)
    assert len(set(labels[:10])) == 1
    assert labels[10] == labels[11] != labels[0]


def test_signals_and_their_gram_matrix_by_dense_algebra() -> None:
    data = make_dataset("er", m=8, n=12, dependent=True, noise=0.5)
    assert data.K_z is not None
    K_z = data.K_z + 0.1 * np.eye(12)
    K_x = data.K_x + 0.1 * np.eye(8)
    lam, rho = np.array([0.3]), np.array([0.7])
    eigen_x, eigen_z = kernel_eigen(K_x, "K_x", 8), kernel_eigen(K_z, "K_z", 12)
    precision = 0.3 * np.linalg.inv(K_x) + 0.7 * data.L
    # complete data: the minimum of |Y - S|^2 + tr(K_z^-1 S precision S') over signals S
    for spec, kernel, inverse in (
        ("KGL-N", kernel_eigen(None, "K_z", 12), np.eye(12)),
        ("KGL", eigen_z, np.linalg.inv(K_z)),
    ):
        step = make_signal_step(SignalData(data.Y, None, eigen_x, kernel), MODELS[spec])
        found = step.solve(data.L[None], lam, rho, signals=True)
        system = np.eye(96) + np.kron(precision, inverse)
        signals = np.linalg.solve(system, data.Y.T.ravel()).reshape(8, 12).T
        assert found.signals is not None
        np.testing.assert_allclose(found.signals[0], signals, atol=1e-9)
        np.testing.assert_allclose(found.gram[0], signals.T @ inverse @ signals, atol=1e-9)
