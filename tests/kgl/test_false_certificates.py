"""No certificate without a solution: wide scales, overflow, and a rho beyond all bounds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from helpers import low_rank_kernel
from sklearn.exceptions import ConvergenceWarning

import kgl
from kgl._types import Array
from kgl.laplacian import pairwise_sq_distances
from kgl.models import GraphLearner
from kgl.solvers.cg import conjugate_gradients
from kgl.solvers.graph_step import graph_step
from kgl.solvers.interior_point import log_degree_interior_point

# --- log-degree: the certificate is that of the problem that was asked --------------------------

#: No preparation: the certificate is that of the data as they are.
RAW: dict[str, Any] = {"center": "none", "scale": "none", "log": False, "signed": False}


def residual_by_hand(W: Array, Z: Array, psi: float) -> float:
    """Return the residual of a log-degree graph, pair by pair, in extended precision.

    Z w + 2 psi w^2 - log d_i - log d_j over the pairs has the derivative Z + 4 psi w - 1/d_i -
    1/d_j, which is zero on an edge and not negative elsewhere; relative to its last two terms. A
    weight is relative to the smaller degree of its ends.
    """
    exact = np.longdouble
    m = len(W)
    degree = [sum((exact(W[i, j]) for j in range(m) if j != i), exact(0)) for i in range(m)]
    worst = exact(0)
    for i in range(m):
        for j in range(m):
            if i == j:
                continue
            barrier = 1 / degree[i] + 1 / degree[j]
            slope = (exact(Z[i, j]) + 4 * exact(psi) * exact(W[i, j]) - barrier) / barrier
            share = exact(W[i, j]) / min(degree[i], degree[j])
            worst = max(worst, abs(min(share, slope)))
    return float(worst)


def test_the_reported_residual_is_that_of_the_problem_asked() -> None:
    # Node scales spread over 0 to 8 decades, hence distances over 0 to 16. Residuals below 1e-13
    # are rounding, which two ways of adding up need not share, so they count as 1e-13.
    rng = np.random.default_rng(1)
    ratios, residuals, n_warnings = [], [], 0
    for decades in np.linspace(0.0, 8.0, 200):
        m = int(rng.integers(3, 15))
        Y = rng.normal(size=(20, m)) * 10.0 ** rng.uniform(0.0, decades, m)
        psi = 10.0 ** rng.uniform(-3.0, 3.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = kgl.GL(**RAW, psi=psi, regularizer="log-degree").fit(Y)
        own = residual_by_hand(model.weights_, pairwise_sq_distances(Y), psi)
        reported, recomputed = max(model.kkt_residual_, 1e-13), max(own, 1e-13)
        ratios.append(max(reported / recomputed, recomputed / reported))
        residuals.append(own)
        n_warnings += len(caught)
        assert own <= 1e-8 or caught, f"silent failure: {own:.1e} at {decades:.1f} decades"
    print(
        f"largest ratio {max(ratios):.4f}, largest residual {max(residuals):.1e}, "
        f"{n_warnings} warnings"
    )
    assert max(ratios) <= 10.0
    # the solver is accurate too, not only honest
    assert max(residuals) <= 1e-9


def test_columns_of_metres_beside_kilometres() -> None:
    Y = np.random.default_rng(0).normal(size=(50, 6))
    Y[:, 3:] *= 1000
    model = kgl.GL(**RAW, psi=1.0, regularizer="log-degree").fit(Y)
    Z = pairwise_sq_distances(Y)
    assert kgl.kkt_residual(model.weights_, Z, 1.0, regularizer="log-degree") <= 1e-9
    assert model.kkt_residual_ <= 1e-9


@pytest.mark.parametrize("m", [2, 3, 12, 60])
def test_the_interior_point_method_agrees_with_newton(m: int) -> None:
    Z = pairwise_sq_distances(np.random.default_rng(m).normal(size=(30, m)))
    if m > 3:
        Z[0, 2:] = Z[2:, 0] = np.inf
    for psi in (1e-2, 1.0, 1e3):
        newton = graph_step(Z[None], psi, regularizer="log-degree", barrier=2.0).weights[0]
        W, n_steps = log_degree_interior_point(Z, psi, 2.0, 80)
        np.testing.assert_allclose(W, newton, rtol=1e-7, atol=1e-9 * newton.max())
        np.testing.assert_array_equal(W, W.T)
        assert n_steps <= 40


def test_wide_scales_in_a_batch_and_from_a_warm_start() -> None:
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(20, 8))
    Z = np.stack([pairwise_sq_distances(Y * scale ** np.arange(8)) for scale in (1.0, 2.0, 10.0)])
    together = graph_step(Z, 1.0, regularizer="log-degree")
    again = graph_step(Z, 1.0, regularizer="log-degree", start=together.dual)
    assert together.residual.max() <= 1e-9
    for k in range(3):
        alone = graph_step(Z[k : k + 1], 1.0, regularizer="log-degree")
        for step in (alone.weights[0], again.weights[k]):
            np.testing.assert_allclose(step, together.weights[k], rtol=1e-7, atol=1e-300)
        W, scores = together.weights[k], together.scores[k]
        assert np.all(np.where(W > 0, scores == W, scores <= 0))


# --- no number is no certificate ----------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e81, 1e100, 1e150, 1e-100])
def test_log_degree_of_data_of_any_size(scale: float) -> None:
    Y = np.random.default_rng(0).normal(size=(30, 8))
    model = kgl.GL(**RAW, psi=1.0, regularizer="log-degree").fit(scale * Y)
    assert np.isfinite(model.laplacian_).all()
    own = residual_by_hand(model.weights_, pairwise_sq_distances(scale * Y), 1.0)
    assert max(own, model.kkt_residual_) <= 1e-9


@pytest.mark.parametrize("regularizer", ["frobenius", "log-degree"])
def test_distances_that_overflow_are_an_error(regularizer: str) -> None:
    Y = np.random.default_rng(0).normal(size=(30, 8))
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ValueError, match=r"is (inf|nan) .*rescale the data"),
    ):
        kgl.GL(**RAW, psi=1.0, regularizer=regularizer).fit(1e160 * Y)


def test_conjugate_gradients_that_overflow_warn() -> None:
    # the second system is no number: it must not pass for one that has converged
    scale = np.array([[1.0], [np.nan]])
    with pytest.warns(ConvergenceWarning, match=r"for 1 point\(s\).*rescale the data"):
        x, _ = conjugate_gradients(
            lambda s: lambda p: s * p, (scale,), np.ones((2, 3)), np.ones((2, 3)), None, 1e-12
        )
    np.testing.assert_allclose(x[0], 1.0)


# --- rho / lam beyond 1e12 ----------------------------------------------------------------------

MODELS = [kgl.GL2Step, kgl.KGLN, kgl.KGLO, kgl.KGL, kgl.KGLAgnostic]


def a_data_set(model: type[GraphLearner], masked: bool) -> tuple[Array, dict[str, Array]]:
    rng = np.random.default_rng(0)
    n, m = 18, 7
    Y = rng.normal(size=(n, m)) + rng.normal(size=(n, 1))
    if masked:
        Y[rng.random(Y.shape) < 0.2] = np.nan
    kernels = {}
    if model._spec.node_kernel:
        kernels["K_x"] = low_rank_kernel(m, 12, rng) + 0.1 * np.eye(m)
    if model._spec.observation_kernel:
        kernels["K_z"] = low_rank_kernel(n, 30, rng) + 0.1 * np.eye(n)
    return Y, kernels


def settings(model: type[GraphLearner], **values: object) -> dict[str, object]:
    known = {k: v for k, v in values.items() if k in model._spec.hyperparameters}
    return {**known, "signed": False}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_signals_have_a_limit_as_rho_grows(model: type[GraphLearner], masked: bool) -> None:
    # Linked nodes have equal signals in the limit, which is reached to seven digits at 1e8.
    Y, kernels = a_data_set(model, masked)
    limit = model(**settings(model, lam=0.1, rho=1e8, psi=1.0)).fit(Y, **kernels)
    for rho in (1e14, 1e18, 1e22):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            far = model(**settings(model, lam=0.1, rho=rho, psi=1.0)).fit(Y, **kernels)
        np.testing.assert_allclose(far.signals_, limit.signals_, atol=1e-5)
        assert far.objective_ == pytest.approx(limit.objective_, rel=1e-5)
        np.testing.assert_allclose(far.weights_, limit.weights_, atol=1e-3)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_one_extreme_point_leaves_the_grid_as_it_is(
    model: type[GraphLearner], masked: bool
) -> None:
    Y, kernels = a_data_set(model, masked)
    axes = settings(model, lam=[0.1], rho=[0.1, 1.0, 1e22], psi=[1.0, 10.0])
    grid = kgl.fit_grid(model, Y, signals=True, **axes, **kernels)
    assert np.isfinite(grid.weights).all()
    axes = settings(model, lam=[0.1], rho=[0.1, 1.0], psi=[1.0, 10.0])
    usual = kgl.fit_grid(model, Y, signals=True, **axes, **kernels)
    np.testing.assert_allclose(grid.signals[:4], usual.signals, rtol=1e-8, atol=1e-10)
    limit = model(**settings(model, lam=0.1, rho=1e8, psi=1.0)).fit(Y, **kernels)
    np.testing.assert_allclose(grid.signals[4], limit.signals_, atol=1e-5)


def test_a_ratio_beyond_rounding_warns() -> None:
    Y, kernels = a_data_set(kgl.GL2Step, False)
    with pytest.warns(ConvergenceWarning, match=r"1e\+30 times the ridge term.*lower rho"):
        kgl.GL2Step(rho=1e30, psi=1.0).fit(Y, **kernels)
