"""The kernel that fits the data."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

import kgl
from kgl.kernels import Auto
from kgl.kernels.auto import _weights_of_sample

T = np.arange(80.0)
RNG = np.random.default_rng(2)


def drawn(K: np.ndarray, columns: int = 6) -> np.ndarray:
    return RNG.multivariate_normal(np.zeros(len(K)), K, size=columns, method="eigh").T


def gaussian(width: float) -> np.ndarray:
    return np.exp(-((T[:, None] - T) ** 2) / (2 * width**2))


@pytest.mark.parametrize(("width", "least", "most"), [(1.0, 0.0, 5.0), (20.0, 5.0, 80.0)])
def test_the_width_of_the_data_is_found(width: float, least: float, most: float) -> None:
    fitted = Auto().fit_to(T, drawn(gaussian(width) + 0.05 * np.eye(80)))
    scale = T.std()
    shares = {
        float(name.split()[1]) * scale: share
        for name, share in fitted.weights_.items() if name.startswith("width")
    }  # fmt: skip
    mean = np.exp(sum(np.log(w) * s for w, s in shares.items()) / sum(shares.values()))
    assert least < mean < most
    assert 0.01 < fitted.weights_["white"] < 0.3


def test_noise_is_white_and_a_line_is_a_trend() -> None:
    noise = Auto().fit_to(T, RNG.normal(size=(80, 6))).weights_
    assert noise["white"] > 0.8
    line = Auto().fit_to(T, (T - T.mean())[:, None] * RNG.normal(size=6)).weights_
    assert line["white"] < 0.05
    assert sum(line.values()) == pytest.approx(1.0)


def test_each_update_raises_the_evidence() -> None:
    parts = np.stack([gaussian(3.0), gaussian(30.0)])
    Y = drawn(0.7 * parts[0] + 0.3 * np.eye(80))
    mask = RNG.random(Y.shape) < 0.7

    def evidence(weights: np.ndarray) -> float:
        S = np.tensordot(weights[:-1], parts, axes=1) + weights[-1] * np.eye(80)
        power = np.sqrt(mask.sum() / np.sum(Y[mask] ** 2))
        return sum(
            multivariate_normal(cov=S[np.ix_(seen, seen)] * s).logpdf(power * y[seen])
            for y, seen, s in zip(Y.T, mask.T, np.ones(6), strict=True)
        )

    found = _weights_of_sample(parts, Y, mask, np.arange(80), np.arange(Y.shape[1]))
    best = max(
        evidence(np.array([a, b, 1 - a - b]))
        for a in np.linspace(0.05, 0.9, 12) for b in np.linspace(0.02, 0.9, 12) if a + b < 0.97
    )  # fmt: skip
    assert evidence(found) > best - 3.0


def test_gaps_do_not_count() -> None:
    Y = drawn(gaussian(10.0) + 0.05 * np.eye(80))
    mask = RNG.random(Y.shape) < 0.6
    first = Auto().fit_to(T, np.where(mask, Y, 0.0), mask)
    second = Auto().fit_to(T, np.where(mask, Y, 1e6), mask)
    assert first.weights_ == pytest.approx(second.weights_)


def test_dates_have_their_calendar() -> None:
    days = pd.date_range("2020-01-01", periods=900)
    assert "year" in Auto().fit(days).weights_
    assert "week" in Auto().fit(days).weights_
    assert "day" not in Auto().fit(days).weights_
    month = pd.Series(pd.date_range("2000-01-01", periods=60, freq="MS"))
    season = Auto().fit_to(month, np.sin(2 * np.pi * np.arange(60) / 12)[:, None])
    assert season.weights_["year"] > 0.3
    assert "period 12" in Auto(periods=(12.0,)).fit(T).weights_


@pytest.mark.parametrize(
    "dates",
    [
        pd.date_range("2020-01-01", periods=10, tz="Europe/Zurich"),
        pd.period_range("2020-01", periods=10, freq="M").to_series(),
        [datetime.date(2020, 1, 1 + k) for k in range(10)],
        np.array([datetime.datetime(2020, 1, 1 + k) for k in range(10)]),
        np.arange("2020-01-01", "2020-01-11", dtype="datetime64[D]"),
        pd.to_timedelta(np.arange(10), unit="h"),
    ],
)
def test_every_kind_of_date_is_read(dates: object) -> None:
    fitted = Auto().fit(dates)
    assert fitted.matrix.shape == (10, 10)
    assert np.linalg.eigvalsh(fitted.matrix).min() > 0
    assert kgl.kernels.RBF(scale="standard").fit(dates).matrix.shape == (10, 10)


def test_missing_dates_are_named() -> None:
    with pytest.raises(ValueError, match="row 1: covariates must be finite"):
        Auto().fit(pd.to_datetime(pd.Series(["2020-01-01", None, "2020-01-03"])))


def test_text_is_a_category_and_new_points_have_values() -> None:
    x = pd.DataFrame({"height": [1.0, 2.0, 3.0, 4.0], "kind": ["a", "a", "b", "b"]})
    fitted = Auto().fit(x)
    assert "category kind" in fitted.weights_
    same = fitted.cross(x)
    assert np.allclose(same, fitted.matrix - fitted.weights_["white"] * np.eye(4))
    new = fitted.cross(pd.DataFrame({"height": [1.0, 1.0], "kind": ["a", "z"]}))
    assert new[0, 0] > new[1, 0]


def test_fitted_kernels_survive_storage_and_names_resolve() -> None:
    fitted = Auto().fit_to(T, drawn(gaussian(5.0)))
    back = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(back.cross([3.3]), fitted.cross([3.3]))
    assert kgl.kernels.as_kernel("auto") == Auto()
    with pytest.raises(ValueError, match="period"):
        Auto(periods=(-1.0,))
    with pytest.raises(ValueError, match="single numeric covariate"):
        Auto(periods=(12.0,)).fit(np.ones((5, 2)) * np.arange(5)[:, None])


def test_equal_covariates_leave_a_constant_and_white_noise() -> None:
    assert set(Auto().fit(np.ones(5)).weights_) == {"constant", "white"}


def test_a_kernel_of_many_nodes_that_is_not_low_rank_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise kgl.kernels.NotLowRankError("not low rank", 0.5)

    monkeypatch.setattr("kgl.inputs.SUBSET", 10)
    monkeypatch.setattr("kgl.inputs.factorize", refuse)
    Y = np.random.default_rng(0).normal(size=(20, 12))
    with pytest.raises(kgl.kernels.NotLowRankError, match="not low rank"):
        kgl.KGLN(solver="newton").fit(Y, x=np.arange(12.0))
