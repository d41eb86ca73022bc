"""Centring and scaling of raw data inside the estimators."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler

import kgl
from kgl.kernels import RBF, kernel_eigen
from kgl.preparation import Preparation

RNG = np.random.default_rng(5)
DATA = kgl.simulate.make_dataset("er", m=8, n=40, dependent=True, missing=0.2)
MODELS = [kgl.GL, kgl.GL2Step, kgl.KGLN, kgl.KGLO, kgl.KGL, kgl.KGLAgnostic]


def sides(model: Any) -> dict[str, Any]:
    spec = model._spec
    given = {"K_x": DATA.K_x if spec.node_kernel else None}
    given["K_z"] = DATA.K_z if spec.observation_kernel else None
    return {name: K for name, K in given.items() if K is not None}


def raw(Y: Any) -> Any:
    """Return the data in other units, with other levels."""
    return Y * 10.0 ** np.arange(-4, 4) + 10.0 ** np.arange(8)[::-1]


def test_complete_data_are_standardised_as_scikit_learn_does() -> None:
    Y = raw(RNG.normal(size=(30, 8)))
    assert np.allclose(Preparation.fit(Y, None).apply(Y), StandardScaler().fit_transform(Y))


def test_missing_entries_count_neither_for_means_nor_for_scales() -> None:
    Y = RNG.normal(size=(30, 4)) + 5
    mask = RNG.random(Y.shape) < 0.7
    found = Preparation.fit(np.where(mask, Y, 1e9), mask)
    holes = np.where(mask, Y, np.nan)
    assert np.allclose(found.columns, np.nanmean(holes, axis=0))
    assert np.allclose(found.scale, np.nanstd(holes, axis=0))
    assert (found.apply(Y, mask)[~mask] == 0).all()


def test_both_means_are_those_of_least_squares() -> None:
    Y = RNG.normal(size=(7, 5)) + 3 * np.arange(5) + np.arange(7)[:, None]
    mask = RNG.random(Y.shape) < 0.8
    mask[0] = mask[:, 0] = True
    found = Preparation.fit(Y, mask, "both", "none")
    rows, columns = np.nonzero(mask)
    design = np.hstack([np.eye(7)[rows], np.eye(5)[columns]])
    fitted = LinearRegression(fit_intercept=False).fit(design, Y[mask]).predict(design)
    assert np.allclose((found.rows[:, None] + found.columns)[mask], fitted, atol=1e-8)
    assert found.rows.mean() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_units_and_levels_of_columns_change_no_edge(model: Any) -> None:
    first = model(density=0.3).fit(DATA.Y, **sides(model))
    second = model(density=0.3).fit(raw(DATA.Y), **sides(model))
    assert np.array_equal(first.weights_ > 0, second.weights_ > 0)
    # with a density, psi may end anywhere between two that give the same edges
    first, second = (model(psi=1.0).fit(Y, **sides(model)) for Y in (DATA.Y, raw(DATA.Y)))
    assert np.allclose(first.weights_, second.weights_, atol=1e-3)
    back = (second.signals_ - raw(0.0)) / (raw(1.0) - raw(0.0))
    assert np.allclose(first.signals_, back, atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_preparation_inside_is_preparation_outside(model: Any) -> None:
    Y = DATA.Y * [1, 2, 3, 4, 5, 6, 7, 8] + 3
    mean, scale = np.nanmean(Y, axis=0), np.nanstd(Y, axis=0)
    inside = model(density=0.3).fit(Y, **sides(model))
    bare = model(density=0.3, center="none", scale="none")
    outside = bare.fit((Y - mean) / scale, **sides(model))
    assert np.allclose(inside.weights_, outside.weights_)
    assert np.allclose(inside.signals_, outside.signals_ * scale + mean)


def test_predictions_and_imputed_values_are_in_the_units_of_the_data() -> None:
    t = np.arange(40.0)
    Y = pd.DataFrame({"a": 100 + np.sin(t / 6), "b": 5 * np.sin(t / 6) - 40, "c": np.cos(t / 6)})
    holes = Y.mask(np.eye(40, 3, k=-20).astype(bool))
    model = kgl.KGL(density=0.7).fit(holes, z=t)
    assert np.abs(model.impute(holes) - Y).to_numpy().max() < 0.1
    assert np.abs(model.predict(z=[20.5]).to_numpy() - [99.73, -41.36, -0.96]).max() < 0.2


def test_both_means_are_undone_for_the_rows_of_the_fit_only() -> None:
    Y = DATA.Y_full + 10 * RNG.normal(size=(40, 1))
    model = kgl.KGLO(density=0.3, center="both", kernel_z=RBF(gamma=0.5)).fit(Y, z=np.arange(40.0))
    assert np.abs(model.signals_ - Y).std() < 2
    assert np.abs(model.predict(z=[3.5])).max() < 5


def test_folds_are_prepared_by_their_own_training_entries() -> None:
    Y = raw(DATA.Y)
    grid: dict[str, Any] = {"lam": [0.01], "rho": [0.1], "seed": 3, "n_folds": 3, "density": 0.3}
    found = kgl.select_held_out(kgl.KGL, Y, K_x=DATA.K_x, K_z=DATA.K_z, **grid)
    same = kgl.select_held_out(kgl.KGL, DATA.Y, K_x=DATA.K_x, K_z=DATA.K_z, **grid)
    assert np.allclose(found.mse, same.mse, rtol=1e-3)
    assert found.mse[0] < 1.5


def test_grids_return_signals_in_the_units_of_the_data() -> None:
    Y = raw(DATA.Y)
    grid = kgl.fit_grid(kgl.KGLN, Y, lam=[0.1], rho=[0.1], density=0.3, signals=True)
    single = kgl.KGLN(lam=0.1, rho=0.1, density=0.3).fit(Y)
    assert grid.signals is not None
    assert np.allclose(grid.signals[0], single.signals_)


@pytest.mark.parametrize(
    ("option", "value"), [("center", "mean"), ("center", None), ("scale", 1.0), ("scale", True)]
)
def test_unknown_preparations_are_refused_with_the_choices(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"unknown {option} .*'node'"):
        kgl.GL(**{option: value}).fit(DATA.Y_full)


def test_levels_that_decide_the_graph_are_warned_of() -> None:
    Y = DATA.Y_full + 100 * np.arange(8)
    with pytest.warns(UserWarning, match="similar level are linked; use center='node'"):
        kgl.GL(center="none").fit(Y)
    with pytest.warns(UserWarning, match="small values are linked; use scale='node'"):
        kgl.GL(scale="none").fit(DATA.Y_full * 10.0 ** np.arange(8))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        kgl.GL().fit(raw(DATA.Y_full))
        kgl.GL(center="none", scale="none").fit(DATA.Y_full)


def test_constant_columns_are_named() -> None:
    Y = pd.DataFrame(DATA.Y_full, columns=list("abcdefgh")).assign(d=3.0)
    with pytest.warns(UserWarning, match=r"column\(s\) 'd' of Y are constant.*drop them"):
        model = kgl.GL().fit(Y)
    assert np.isfinite(model.weights_).all()


def test_levels_of_new_nodes_are_those_of_similar_nodes() -> None:
    x = np.arange(12.0)
    K = RBF(gamma=0.1).fit(x)
    found = Preparation(np.zeros(3), 50 + 2 * x, np.exp(x / 10)).for_nodes(
        kernel_eigen(K.matrix, "K_x", 12), K.cross([5.5])
    )
    assert found.columns[0] == pytest.approx(61, abs=0.3)
    assert found.scale[0] == pytest.approx(np.exp(0.55), rel=0.02)


def test_text_and_dates_in_the_data_are_named_with_the_remedy() -> None:
    Y = pd.DataFrame(DATA.Y_full, columns=list("abcdefgh"))
    with pytest.raises(TypeError, match=r"column .city. of Y holds text, for example 'Bern'.*drop"):
        kgl.GL().fit(Y.assign(city="Bern"))
    with pytest.raises(TypeError, match=r"column .day. of Y holds dates.*z=Y"):
        kgl.GL().fit(Y.assign(day=pd.date_range("2020-01-01", periods=40)))


def test_the_index_serves_as_covariate() -> None:
    days = pd.date_range("2020-01-01", periods=40)
    Y = pd.DataFrame(DATA.Y, columns=list("abcdefgh"), index=days)
    one, two = (kgl.KGLO(density=0.3).fit(Y, z=z) for z in ("index", days))
    assert np.array_equal(one.weights_, two.weights_)
    with pytest.raises(TypeError, match="needs a pandas DataFrame"):
        kgl.KGLO().fit(DATA.Y, z="index")
    with pytest.raises(TypeError, match="index of Y holds text"):
        kgl.KGLO().fit(Y.set_axis([f"row {k}" for k in range(40)]), z="index")


def test_predictions_of_frames_are_labelled() -> None:
    days = pd.date_range("2020-01-01", periods=40)
    Y = pd.DataFrame(DATA.Y, columns=list("abcdefgh"), index=days)
    model = kgl.KGLO(density=0.3).fit(Y, z="index")
    later = model.predict(z=pd.DatetimeIndex(["2020-01-10 12:00", "2020-02-08"]))
    assert list(later.columns) == list(Y.columns)
    assert len(later) == 2
    fitted = model.predict()
    assert list(fitted.index) == list(Y.index)


def test_predictions_far_from_the_data_are_warned_of() -> None:
    model = kgl.KGLO(density=0.3, kernel_z=RBF(gamma=1.0)).fit(DATA.Y, z=np.arange(40.0))
    with pytest.warns(UserWarning, match="1 of 2 new observations .*row 1 of z.*far from"):
        far = model.predict(z=[3.0, 500.0])
    assert np.allclose(far[1], np.nanmean(DATA.Y, axis=0))
