"""Standard deviations of the six models, against dense algebra and by coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import kgl
from kgl.folds import hold_out
from kgl.kernels import RBF
from kgl.models import GraphLearner
from kgl.uncertainty import noise_variance, signal_spread

MODELS = (kgl.KGLN, kgl.KGLO, kgl.KGL, kgl.KGLAgnostic)
DATA = kgl.simulate.make_dataset("er", m=7, n=18, dependent=True, missing=0.3, noise=0.1)


def fitted(model: type[GraphLearner], Y: Any) -> Any:
    spec = model._spec
    side = {"K_x": DATA.K_x if spec.node_kernel else None}
    side["K_z"] = DATA.K_z if spec.observation_kernel else None
    known = {name: K for name, K in side.items() if K is not None}
    return model(lam=0.05, rho=0.02, density=0.3).fit(Y, **known)


def dense_prior(fit: Any) -> Any:
    """Return the covariance of all entries, rows first, for noise of variance one."""
    data, (lam, rho) = fit._ready.data, fit._point
    n, m = data.Y.shape
    K_z, K_x = np.array(data.K_z.matrix), np.array(data.K_x.matrix)
    if fit._spec.whitened:
        return np.kron(K_z, np.linalg.inv(lam * np.linalg.inv(K_x) + rho * fit.laplacian_))
    ridge = np.kron(lam * np.linalg.inv(K_z), np.eye(m))
    return np.linalg.inv(ridge + rho * np.kron(np.eye(n), fit.laplacian_))


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_variances_and_noise_are_those_of_dense_algebra(
    model: type[GraphLearner], complete: bool
) -> None:
    fit = fitted(model, DATA.Y_full if complete else DATA.Y)
    ready, (lam, rho) = fit._ready, fit._point
    S = dense_prior(fit)
    seen = np.ones(S.shape[0], bool) if ready.data.mask is None else ready.data.mask.ravel()
    A = S[np.ix_(seen, seen)] + np.eye(seen.sum())
    exact = np.diag(S) - np.einsum("ij,ji->i", S[:, seen], np.linalg.solve(A, S[seen]))
    found = signal_spread(
        ready.data, ready.spec, fit.laplacian_, lam, rho, draws=400,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    ratio = found.variance.ravel() / exact
    assert abs(np.mean(ratio) - 1) < 0.03
    assert np.abs(ratio - 1).max() < 0.35
    y = ready.data.Y.ravel()[seen]
    inverse = np.linalg.inv(A)
    left_out = np.diag(inverse)
    np.testing.assert_allclose(found.residual.ravel()[seen], left_out, rtol=0.35)
    by_hand = max(np.mean((inverse @ y) ** 2 / left_out), np.mean(y * (inverse @ y)))
    noise = noise_variance(ready.data, ready.spec, fit.laplacian_, lam, rho, found)
    assert noise == pytest.approx(by_hand, rel=0.03)
    # entries left out one at a time, by hand: errors in units of their standard deviations
    k = 3
    others = np.delete(np.arange(len(y)), k)
    weights = np.linalg.solve(A[np.ix_(others, others)], A[others, k])
    error, own = y[k] - weights @ y[others], A[k, k] - weights @ A[others, k]
    assert error**2 / own == pytest.approx((inverse @ y)[k] ** 2 / left_out[k], rel=1e-6)


def test_new_points_have_the_variance_of_a_larger_problem() -> None:
    # three rows and one node are left out; the joint Gaussian of all of them is the oracle
    t, place = np.arange(15.0), np.arange(6.0)
    kernel = RBF(gamma=0.1)
    K_z, K_x = kernel(t) + 1e-6 * np.eye(15), kernel(place) + 1e-6 * np.eye(6)
    old, new, nodes = np.arange(12), np.arange(12, 15), np.arange(5)
    Y = np.random.default_rng(1).multivariate_normal(np.zeros(15), K_z, 5).T[old]
    fit = kgl.KGL(lam=0.1, rho=1e-9, psi=1.0, center="none", scale="none", log=False)
    fit.fit(Y, K_z=K_z[np.ix_(old, old)], K_x=K_x[np.ix_(nodes, nodes)])
    ready = fit._ready
    # rho is next to nothing, so nodes have the covariance K_x / lam
    S = np.kron(K_z, K_x) / 0.1
    where = np.zeros((15, 6), bool)
    where[np.ix_(old, nodes)] = True
    seen = where.ravel()
    A = S[np.ix_(seen, seen)] + np.eye(seen.sum())
    exact = np.diag(S) - np.einsum("ij,ji->i", S[:, seen], np.linalg.solve(A, S[seen]))
    exact = exact.reshape(15, 6)
    options: dict[str, Any] = {"draws": 800, "rng": np.random.default_rng(2)}
    given = (ready.data, ready.spec, fit.laplacian_, *fit._point)
    left, right = K_z[np.ix_(new, old)], K_x[[5]][:, nodes]
    at_z = signal_spread(*given, left=left, **options).variance
    np.testing.assert_allclose(at_z, exact[np.ix_(new, nodes)], rtol=0.2)
    at_x = signal_spread(*given, right=right, **options).variance
    np.testing.assert_allclose(at_x, exact[old][:, [5]], rtol=0.2)
    both = signal_spread(*given, left=left, right=right, **options).variance
    np.testing.assert_allclose(both, exact[new][:, [5]], rtol=0.2)


@pytest.mark.parametrize("model", MODELS)
def test_imputed_values_come_with_deviations(model: type[GraphLearner]) -> None:
    frame = pd.DataFrame(1e3 * DATA.Y + 5e4).add_prefix("node ")
    fit = fitted(model, frame)
    filled, std = fit.impute(frame, return_std=True)
    pd.testing.assert_frame_equal(filled, fit.impute(frame))
    assert list(std.columns) == list(frame.columns)
    assert (std.to_numpy()[DATA.mask] == 0).all()
    assert (std.to_numpy()[~DATA.mask] > 0).all()
    again = fit.impute(frame, return_std=True)[1]
    pd.testing.assert_frame_equal(std, again)
    # other units, other deviations
    plain = fitted(model, DATA.Y).impute(DATA.Y, return_std=True)[1]
    np.testing.assert_allclose(std, 1e3 * plain, rtol=1e-4)
    signals, spread = fit.predict(return_std=True)
    assert signals.shape == spread.shape == frame.shape
    assert (spread.to_numpy() > 0).all()


def test_intervals_cover_what_they_say_where_the_model_is_right() -> None:
    # signals drawn from the prior of a known graph, fitted with the same weights
    inside, rng = [], np.random.default_rng(5)
    t = np.arange(40.0)
    K_z = RBF(gamma=0.05)(t) + 0.05 * np.eye(40)
    true = kgl.KGLO(lam=0.1, rho=0.3, density=0.4).fit(rng.normal(size=(40, 8)), K_z=K_z)
    P = np.linalg.inv(0.1 * np.eye(8) + 0.3 * true.laplacian_)
    for _ in range(12):
        F = np.linalg.cholesky(K_z) @ rng.normal(size=(40, 8)) @ np.linalg.cholesky(P).T
        Y = F + rng.normal(size=F.shape)
        hidden = rng.random(Y.shape) < 0.3
        model = kgl.KGLO(
            lam=0.1, rho=0.3, density=0.4, center="none", scale="none", log=False, signed=False
        ).fit(np.where(hidden, np.nan, Y), K_z=K_z)
        filled, std = model.impute(np.where(hidden, np.nan, Y), return_std=True)
        inside.append((np.abs(filled - Y) <= 1.645 * std)[hidden])
    assert 0.85 < np.concatenate(inside).mean() < 0.95


def test_intervals_are_as_wide_as_errors_where_lam_and_rho_are_not_those_of_the_data() -> None:
    inside = []
    for seed in range(4):
        data = kgl.simulate.make_dataset(
            "er", m=12, n=60, dependent=True, noise=0.1, missing=0.3, seed=seed
        )
        model = kgl.KGLO().fit(data.Y, K_z=data.K_z)  # the default lam is far too small here
        filled, std = model.impute(data.Y, return_std=True)
        inside.append((np.abs(filled - data.Y_full) <= 1.645 * std)[~data.mask])
    assert 0.82 < np.concatenate(inside).mean() < 0.95


def test_few_observations_of_many_nodes_do_not_make_intervals_narrow() -> None:
    # 12 months, 89 stations: the graph is learned from the very entries that are left out one at a
    # time, whose errors alone would give intervals that cover two thirds
    Y = kgl.datasets.load_swiss(source="simulated").temperature
    inside = []
    for held in hold_out(np.ones(Y.shape, dtype=bool), 5, np.random.default_rng(0)):
        table = Y.mask(held)
        filled, std = kgl.KGLN().fit(table).impute(table, return_std=True)
        inside.append((np.abs(filled - Y) <= 1.645 * std).to_numpy()[held])
    assert 0.85 < np.concatenate(inside).mean() < 0.95


@pytest.mark.parametrize("call", ["impute", "predict"])
def test_what_has_no_deviations_says_so(call: str) -> None:
    given = (DATA.Y,) if call == "impute" else ()
    with pytest.raises(ValueError, match=r"GL-2step has no ridge term.*use KGLN without a kernel"):
        getattr(kgl.GL2Step().fit(DATA.Y), call)(*given, return_std=True)
    with pytest.raises(ValueError, match=r"^GL fits no .*use .*KGL"):
        getattr(kgl.GL().fit(DATA.Y), call)(*given, return_std=True)


def test_deviations_of_complete_data_are_zero_where_nothing_is_missing() -> None:
    for model in MODELS:
        fit = fitted(model, DATA.Y_full)
        assert not fit.impute(DATA.Y_full, return_std=True)[1].any()
        assert (fit.predict(return_std=True)[1] > 0).all()
