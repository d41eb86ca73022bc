"""Values that grow by factors: the graph of logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import kgl
from kgl.preparation import Preparation
from kgl.skewness import _lognormal, _quantile, log_fits, log_origins

RNG = np.random.default_rng(11)
DATA = kgl.simulate.make_dataset("er", m=10, n=80, noise=0.1)
#: Levels that double and halve: the same graph in logarithms.
GROWTH = np.exp(2.0 * DATA.Y / DATA.Y.std(axis=0) + np.arange(10))


def every(Y: Any) -> np.ndarray:
    return np.ones(np.shape(Y), dtype=bool)


def test_the_origin_makes_three_quantiles_equally_far_apart() -> None:
    own = np.exp(RNG.normal(size=2000)) + 5.0
    origin, least, gain = (
        float(found[0]) for found in _lognormal(own[:, None], every(own[:, None]))
    )
    low, middle, high = np.log(np.quantile(own, (0.05, 0.5, 0.95)) - origin)
    assert middle - low == pytest.approx(high - middle, rel=1e-6)
    assert origin == pytest.approx(5.0, abs=0.1)
    assert 0 < least < own.min() - origin
    # the gain is a difference of log densities, in the units of the data
    usual = own[(own >= np.quantile(own, 0.05)) & (own <= np.quantile(own, 0.95))]
    logs = np.log(usual - origin)
    as_log = stats.lognorm.logpdf(usual - origin, logs.std(), scale=np.exp(logs.mean()))
    as_is = stats.norm.logpdf(usual, usual.mean(), usual.std())
    assert gain == pytest.approx(np.mean(as_log - as_is), rel=1e-9)


@pytest.mark.parametrize(
    "draw", [RNG.normal, RNG.uniform, lambda size: -RNG.exponential(size=size)]
)
def test_symmetric_and_left_skewed_data_are_left_alone(draw: Any) -> None:
    for _ in range(20):
        Y = draw(size=(30, 4))
        assert log_origins(Y, every(Y), "auto") == (None, None)
        assert log_origins(Y, every(Y), False) == (None, None)


def test_short_and_constant_columns_do_not_decide() -> None:
    Y = np.exp(RNG.normal(size=(15, 3)))
    assert log_origins(Y, every(Y), "auto")[0] is None
    Y = np.exp(2 * RNG.normal(size=(60, 3)))
    Y[:, 2] = 7.0
    origin, _ = log_origins(Y, every(Y), "auto")
    assert origin is not None
    assert np.isfinite(Preparation.fit(Y, None, log="auto").apply(Y)).all()


@pytest.mark.parametrize("log", ["yes", 1, None, "log"])
def test_other_values_are_refused(log: Any) -> None:
    with pytest.raises(ValueError, match="use 'auto', True or False"):
        kgl.KGL(log=log).fit(DATA.Y)


def test_the_graph_is_that_of_logarithms_and_signals_are_values() -> None:
    frame = pd.DataFrame(GROWTH)
    auto = kgl.KGL(density=0.3).fit(frame)
    assert "graph of logarithms" in auto.summary()
    # with the origins known, it is the graph of the logarithms themselves
    origin, _ = log_origins(GROWTH, every(GROWTH), True)
    logs = kgl.KGL(density=0.3, log=False).fit(np.log(GROWTH - origin))
    np.testing.assert_allclose(auto.weights_, logs.weights_, atol=1e-8)
    bare = kgl.KGL(density=0.3, log=False).fit(frame)
    assert np.abs(auto.weights_ - bare.weights_).max() > 1e-2
    # signals follow the values: they are those of the given graph
    L, lam, rho = auto.laplacian_, auto.lam, auto.rho
    ready = Preparation.fit(GROWTH, None)
    smooth = np.linalg.solve(np.eye(10) * (1 + lam) + rho * L, ready.apply(GROWTH).T).T
    np.testing.assert_allclose(auto.signals_, ready.undo(smooth), rtol=1e-8)


@pytest.mark.parametrize("column", [0, 4])
def test_units_and_shifts_change_no_edge(column: int) -> None:
    few = GROWTH.copy()
    few[15:, column] = np.nan  # too few entries to tell whether they grow
    for table in (GROWTH, few):
        plain = kgl.KGL(density=0.3).fit(table)
        assert plain._logs
        for factor, shift in ((1000.0, 0.0), (1.0, 1e6)):
            changed = table.copy()
            changed[:, column] = factor * changed[:, column] + shift
            found = kgl.KGL(density=0.3).fit(changed)
            assert ((found.weights_ > 0) == (plain.weights_ > 0)).all()


def test_grids_and_selection_agree_with_single_fits() -> None:
    holes = np.where(RNG.random(GROWTH.shape) < 0.1, np.nan, GROWTH)
    grid = kgl.fit_grid(kgl.KGL, holes, lam=[1e-3], rho=[1e-2], density=[0.2, 0.4], signals=True)
    assert grid.signals is not None
    for k in range(2):
        one = grid.estimator(k).fit(holes)
        assert one._logs
        np.testing.assert_allclose(grid.signals[k], one.signals_, rtol=1e-6)
    found = kgl.select_held_out(kgl.KGL, holes, lam=[1e-3, 1e-2], rho=[1e-2], n_folds=3)
    assert found.estimator._logs
    assert np.isfinite(found.mse).all()
    # errors are those of values, so a graph of values is what folds have
    plain = kgl.select_held_out(kgl.KGL, holes, lam=[1e-3, 1e-2], rho=[1e-2], n_folds=3, log=False)
    np.testing.assert_array_equal(found.mse, plain.mse)


def test_outliers_and_zeros_are_no_growth() -> None:
    Y = RNG.normal(size=(101, 6))
    Y[-1] = 50.0
    assert log_origins(Y, every(Y), "auto")[0] is None
    rain = np.where(RNG.random((100, 6)) < 0.8, 0.0, RNG.exponential(size=(100, 6)))
    assert log_origins(rain, every(rain), "auto")[0] is None


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_no_size_overflows(size: float) -> None:
    Y = 1e-3 * size * np.exp(2 * RNG.normal(size=(60, 3)))
    with np.errstate(all="raise"):
        origin, least = log_origins(Y, every(Y), "auto")
    assert origin is not None
    assert least is not None
    assert np.isfinite(origin).all()
    assert (least > 0).all()


def test_gaps_leave_out_entries() -> None:
    seen = RNG.random(GROWTH.shape) < 0.6
    together = log_fits(np.where(seen, GROWTH, np.nan), seen)
    for j in range(GROWTH.shape[1]):
        own = GROWTH[seen[:, j], j][:, None]
        for found, alone in zip(together, log_fits(own, every(own)), strict=True):
            assert found[j] == pytest.approx(alone[0], rel=1e-12)


def test_quantiles_are_those_of_numpy() -> None:
    ordered = np.sort(RNG.normal(size=(30, 4)), axis=0)
    count = np.array([1, 2, 17, 30])
    for share in (0.05, 0.5, 0.95):
        expected = [np.quantile(ordered[:k, j], share) for j, k in enumerate(count)]
        np.testing.assert_array_equal(_quantile(ordered, count, share), expected)
