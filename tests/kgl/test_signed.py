"""Signed graphs: edges between nodes that move opposite to each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import kgl
from kgl.laplacian import (
    laplacian_from_adjacency,
    pairwise_sq_distances,
    signed_sq_distances,
    signed_sq_distances_from_gram,
)
from kgl.models import GraphLearner
from kgl.problem import kkt_residual

RNG = np.random.default_rng(3)
FLIPS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
DATA = kgl.simulate.make_dataset("er", m=8, n=60, dependent=True, missing=0.2, noise=0.1)
MODELS = (kgl.GL, kgl.GL2Step, kgl.KGLN, kgl.KGLO, kgl.KGL, kgl.KGLAgnostic)


def sides(model: type[GraphLearner]) -> dict[str, Any]:
    return {"K_z": DATA.K_z} if model._spec.observation_kernel else {}


@pytest.mark.parametrize("masked", [False, True])
def test_signed_distances_are_the_smaller_ones(masked: bool) -> None:
    Y = RNG.normal(size=(20, 5))
    mask = RNG.random(Y.shape) < 0.8 if masked else None
    Z, signs = signed_sq_distances(Y, mask)
    for i in range(5):
        for j in range(5):
            both = np.ones(20, bool) if mask is None else mask[:, i] & mask[:, j]
            scale = 20 / both.sum()
            together = scale * np.sum((Y[both, i] - Y[both, j]) ** 2)
            opposite = scale * np.sum((Y[both, i] + Y[both, j]) ** 2)
            assert Z[i, j] == pytest.approx(0.0 if i == j else min(together, opposite), abs=1e-12)
            assert signs[i, j] == (-1.0 if opposite < together and i != j else 1.0)
    if mask is None:
        again, same = signed_sq_distances_from_gram(Y.T @ Y)
        np.testing.assert_allclose(again, Z, atol=1e-12)
        np.testing.assert_array_equal(same, signs)


def test_the_signed_laplacian_is_the_sum_over_edges() -> None:
    W = np.abs(RNG.normal(size=(6, 6)))
    W = np.triu(W, 1) + np.triu(W, 1).T
    signs = np.sign(RNG.normal(size=(6, 6)))
    signs = np.triu(signs, 1) + np.triu(signs, 1).T + np.eye(6)
    L, y = laplacian_from_adjacency(W, signs), RNG.normal(size=6)
    pairs = [(i, j) for i in range(6) for j in range(i)]
    by_hand = sum(W[i, j] * (y[i] - signs[i, j] * y[j]) ** 2 for i, j in pairs)
    assert y @ L @ y == pytest.approx(by_hand)
    assert np.linalg.eigvalsh(L).min() > -1e-12
    np.testing.assert_array_equal(
        laplacian_from_adjacency(W, np.ones((6, 6))), laplacian_from_adjacency(W)
    )


@pytest.mark.parametrize("model", MODELS)
def test_flipped_columns_have_the_same_graph(model: type[GraphLearner]) -> None:
    plain = model(density=0.4).fit(DATA.Y, **sides(model))
    flipped = model(density=0.4).fit(DATA.Y * FLIPS, **sides(model))
    np.testing.assert_allclose(flipped.weights_, plain.weights_, atol=1e-6)
    np.testing.assert_array_equal(flipped.signs_, plain.signs_ * np.outer(FLIPS, FLIPS))
    np.testing.assert_allclose(flipped.signals_, plain.signals_ * FLIPS, atol=1e-6)
    L = laplacian_from_adjacency(flipped.weights_, flipped.signs_)
    np.testing.assert_array_equal(flipped.laplacian_, L)
    # without signs it is another graph, and the signs are all one
    bare = model(density=0.4, signed=False).fit(DATA.Y * FLIPS, **sides(model))
    assert np.abs(bare.weights_ - plain.weights_).max() > 1e-2
    assert (bare.signs_ == 1).all()
    assert "sign" not in bare.to_edges().columns


@pytest.mark.parametrize("model", MODELS[1:])
def test_the_objective_falls_and_the_certificate_is_of_signed_distances(
    model: type[GraphLearner],
) -> None:
    fit = model(psi=0.05, rho=0.5, tol=1e-8).fit(DATA.Y * FLIPS, **sides(model))
    assert (fit.signs_ < 0).any()
    steps = np.diff(fit.objective_history_)
    assert steps.max() <= 1e-9 * fit.objective_history_[0]
    ready = fit._ready
    whiten = np.linalg.pinv(DATA.K_z) if model._spec.observation_kernel else np.eye(60)
    whiten = np.eye(60) if not model._spec.whitened else whiten
    Z, signs = signed_sq_distances_from_gram(fit._fitted.T @ whiten @ fit._fitted)
    on = fit.weights_ > 0
    np.testing.assert_array_equal(signs[on], fit.signs_[on])
    assert kkt_residual(fit.weights_, 0.5 * Z, 0.05) < 1e-5
    assert ready.spec.signed
    assert not model._spec.signed


def test_a_signed_graph_is_that_of_cvxpy() -> None:
    # weights and signs as one vector of each kind of edge: a pair never needs both
    Y = RNG.normal(size=(30, 6)) * FLIPS[:6] + RNG.normal(size=(30, 1)) * FLIPS[:6]
    fit = kgl.GL(psi=2.0, center="none", scale="none").fit(Y)
    rows, cols = np.triu_indices(6, 1)
    costs = [pairwise_sq_distances(Y, opposite=o)[rows, cols] for o in (False, True)]
    cp = pytest.importorskip("cvxpy")
    together, opposite = cp.Variable(15, nonneg=True), cp.Variable(15, nonneg=True)
    w = together + opposite
    ends = np.zeros((6, 15))
    ends[rows, np.arange(15)] = ends[cols, np.arange(15)] = 1.0
    smooth = costs[0] @ together + costs[1] @ opposite
    size = 2 * cp.sum_squares(w) + cp.sum_squares(ends @ w)
    cp.Problem(cp.Minimize(smooth + 2.0 * size), [2 * cp.sum(w) == 6]).solve(solver="CLARABEL")
    np.testing.assert_allclose(fit.weights_[rows, cols], w.value, atol=1e-5)
    on = fit.weights_[rows, cols] > 1e-3
    np.testing.assert_array_equal(fit.signs_[rows, cols][on] < 0, opposite.value[on] > 1e-4)


def test_grids_have_signs_and_exports_show_them() -> None:
    Y = DATA.Y * FLIPS
    grid = kgl.fit_grid(kgl.KGL, Y, lam=[1e-3], rho=[1e-2, 1e-1], density=0.4)
    assert grid.signs is not None
    one = grid.estimator(1).fit(Y)
    np.testing.assert_allclose(grid.laplacian(1), one.laplacian_, atol=1e-6)
    assert kgl.fit_grid(kgl.KGL, Y, lam=[1e-3], rho=[1e-2], density=0.4, signed=False).signs is None
    edges, graph = one.to_edges(), one.to_networkx()
    for row in edges.itertuples():
        assert row.sign == one.signs_[row.source, row.target]
        assert graph.edges[row.source, row.target]["sign"] == row.sign
    negative = int((edges["sign"] < 0).sum())
    assert negative > 0
    assert f"{negative} of them negative" in one.summary()


def test_a_signed_laplacian_may_start_a_fit() -> None:
    first = kgl.KGL(psi=0.05).fit(DATA.Y * FLIPS)
    again = kgl.KGL(psi=0.05, init=first.laplacian_).fit(DATA.Y * FLIPS)
    assert again.n_iter_ <= first.n_iter_
    np.testing.assert_allclose(again.weights_, first.weights_, atol=1e-3)
    with pytest.raises(ValueError, match="unless signed"):
        kgl.KGL(psi=0.05, init=first.laplacian_, signed=False).fit(DATA.Y * FLIPS)


@pytest.mark.parametrize("masked", [False, True])
def test_a_balanced_signed_graph_has_a_limit_as_rho_grows(masked: bool) -> None:
    # linked nodes are equal but for their sign in the limit, as rho goes beyond all bounds
    Y = (RNG.normal(size=(40, 1)) + 0.05 * RNG.normal(size=(40, 8))) * FLIPS
    if masked:
        Y[RNG.random(Y.shape) < 0.2] = np.nan
    settings: dict[str, Any] = {"lam": 0.1, "psi": 1e3, "center": "none", "scale": "none"}
    limit = kgl.KGLN(rho=1e6, **settings).fit(Y)
    assert (limit.signs_ == np.outer(FLIPS, FLIPS)).all()
    far = kgl.KGLN(rho=1e12, **settings).fit(Y)
    np.testing.assert_allclose(far.signals_, limit.signals_, atol=1e-4)
    with pytest.warns(ConvergenceWarning, match="lower rho"):
        kgl.KGLN(rho=1e18, **settings).fit(Y)
    np.testing.assert_allclose(
        far.signals_ * FLIPS, np.repeat((far.signals_ * FLIPS)[:, :1], 8, axis=1), atol=1e-9
    )


def test_signs_are_those_of_the_covariance_without_a_kernel_and_of_changes_with_one() -> None:
    n, rng = 120, np.random.default_rng(1)
    t = np.arange(float(n))
    own = 0.3 * rng.normal(size=n)
    Y = 3 * np.sin(t / 15)[:, None] + 0.15 * rng.normal(size=(n, 6))
    Y[:, 0] += own
    Y[:, 1] -= own
    assert np.corrcoef(Y.T).min() > 0.9
    assert (kgl.KGL(density=0.9).fit(Y).signs_ == 1).all()
    # with times the trend is expected, and the first two depart from it in opposite directions
    assert kgl.KGL(density=0.9).fit(Y, z=t).signs_[0, 1] == -1


@pytest.mark.parametrize("masked", [False, True])
def test_new_rows_of_signed_data_are_filled_as_those_of_the_fit(masked: bool) -> None:
    Y = DATA.Y * FLIPS if masked else np.nan_to_num(DATA.Y) * FLIPS
    imputer = kgl.KGLImputer().fit(Y)
    assert (imputer.estimator_.signs_ < 0).any()
    np.testing.assert_allclose(
        imputer._new_rows(Y), imputer.estimator_.signals_, rtol=1e-6, atol=1e-8
    )


def test_a_signed_log_degree_graph_is_certified() -> None:
    Y = DATA.Y_full * FLIPS
    fit = kgl.GL(psi=1.0, regularizer="log-degree", center="none", scale="none").fit(Y)
    assert (fit.signs_[fit.weights_ > 0] < 0).any()
    Z, _ = signed_sq_distances(Y)
    assert kkt_residual(fit.weights_, Z, 1.0, regularizer="log-degree") < 1e-9
