"""Methods side by side on one table: what is hidden, predicted and measured."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.covariance import EmpiricalCovariance, GraphicalLassoCV

import kgl
from kgl._compared_fit import conditional
from kgl.comparison import MEANS, Comparison
from kgl.folds import choose_folds

DATA = kgl.simulate.make_dataset("er", m=8, n=60, missing=0.1, seed=11)
FRAME = pd.DataFrame(1e3 * DATA.Y + 50.0).add_prefix("node ")
METHODS = {
    "GL": kgl.GL(),
    "KGL": kgl.KGL(),
    "Bayes": kgl.BayesianKGL(n_chains=4, n_warmup=10, n_draws=10),
    "lasso": GraphicalLassoCV(),
}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@cache
def found() -> Comparison:
    return kgl.compare(FRAME, methods=METHODS, n_folds=4, seed=2)


def test_figures_are_those_of_fits_by_hand() -> None:
    table = found().folds.set_index(["method", "fold"])
    values = FRAME.to_numpy()
    held = choose_folds("auto", values, 4, 2)[1]
    train = FRAME.mask(held)
    filled, std = kgl.KGL().fit(train).impute(train, return_std=True)
    scale = train.std(ddof=0).to_numpy()
    gap = ((values - filled.to_numpy()) / scale)[held]
    spread = (std.to_numpy() / scale)[held]
    row = table.loc[("KGL", 1)]
    assert row["error"] == pytest.approx(np.sqrt(np.mean(gap**2)))
    assert row["log_likelihood"] == pytest.approx(np.mean(stats.norm.logpdf(gap, 0, spread)))
    assert row["coverage"] == pytest.approx(np.mean(np.abs(gap) <= 1.6449 * spread))
    own = ((values - train.mean().to_numpy()) / scale)[held]
    assert table.loc[(MEANS, 1), "error"] == pytest.approx(np.sqrt(np.mean(own**2)))


def test_hidden_entries_do_not_leak() -> None:
    # hidden values far off change no prediction, so that the error grows by what was added
    folds = choose_folds("random", DATA.Y_full, 3, 0)
    far = np.where(folds[0], DATA.Y_full + 1e6, DATA.Y_full)
    methods = {"KGL": kgl.KGL(log=False), "lasso": EmpiricalCovariance()}
    table = kgl.compare(far, methods=methods, folds=folds).folds
    error = table[table["fold"] == 0].set_index("method")["error"]
    scale = np.where(folds[0], np.nan, DATA.Y_full)
    expected = np.sqrt(
        np.mean((1e6 / np.broadcast_to(np.nanstd(scale, axis=0), far.shape)[folds[0]]) ** 2)
    )
    assert error.to_numpy() == pytest.approx(expected, rel=1e-4)


def test_the_conditional_distribution_is_that_of_dense_algebra() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    S = A @ A.T + np.eye(5)
    d = np.sqrt(np.diag(S))
    Y = rng.multivariate_normal(np.zeros(5), S, 4000)
    Y[0, [1, 3]] = np.nan
    mean, std = conditional(S / np.outer(d, d), Y, np.ones(5, bool))
    # columns are standardised by their own, nearly exact, means and scales
    seen, gone = [0, 2, 4], [1, 3]
    P = np.linalg.inv(S)[np.ix_(gone, gone)]
    weights = S[np.ix_(gone, seen)] @ np.linalg.inv(S[np.ix_(seen, seen)])
    np.testing.assert_allclose(mean[0, gone], weights @ Y[0, seen], atol=0.15)
    np.testing.assert_allclose(std[0, gone], np.sqrt(np.diag(np.linalg.inv(P))), rtol=0.05)
    assert not std[1:].any()


def test_table_and_text() -> None:
    result = found()
    table = result.table
    assert list(table.index) == [MEANS, *METHODS]
    assert table.loc["GL", ["error", "log_likelihood", "coverage"]].isna().all()
    for key in ("error", "log_likelihood", "coverage"):
        kept = table.drop("GL")
        assert (kept[f"{key}_low"] <= kept[key]).all()
        assert (kept[key] <= kept[f"{key}_high"]).all()
    assert (table.loc[["KGL", "Bayes", "lasso"], "error"] < table.loc[MEANS, "error"]).all()
    edges = {name: table.loc[name, "edges"] for name in METHODS}
    assert edges["KGL"] == np.count_nonzero(result.models["KGL"].weights_) / 2
    assert edges["Bayes"] == (result.models["Bayes"].edge_probability_ >= 0.5).sum() / 2
    text = repr(result)
    assert "4 folds, 25 % of the observed entries hidden in each" in text
    assert "column means in place of missing entries" in text
    assert len({line.rstrip()[-4:] for line in text.splitlines()[1:6]}) > 1
    only = kgl.compare(FRAME, methods={"KGL": kgl.KGL()}, n_folds=2)
    assert "scikit-learn" not in repr(only)


def test_agreement_of_graphs() -> None:
    result = found()
    for frame in (result.jaccard, result.rank_correlation):
        assert (np.diag(frame) == 1).all()
        np.testing.assert_array_equal(frame, frame.T)
    one, two = (result.models[name].weights_ > 0 for name in ("GL", "KGL"))
    assert result.jaccard.loc["GL", "KGL"] == (one & two).sum() / (one | two).sum()
    twice = kgl.compare(FRAME, methods={"a": kgl.KGL(), "b": kgl.KGL()}, n_folds=2)
    assert twice.jaccard.loc["a", "b"] == 1
    assert twice.rank_correlation.loc["a", "b"] == pytest.approx(1)
    assert twice.difference("a", "b") == (0, 0, 0)


def test_differences_are_paired() -> None:
    mean, low, high = found().difference("KGL", MEANS, "error")
    table = found().table
    assert mean == pytest.approx(table.loc["KGL", "error"] - table.loc[MEANS, "error"])
    assert low < mean < high < 0
    with pytest.raises(ValueError, match="'GL' predicts nothing here"):
        found().difference("GL", "KGL")
    with pytest.raises(ValueError, match="unknown figure 'aps'"):
        found().difference("KGL", MEANS, "aps")


def test_side_information_goes_where_there_is_room_for_it() -> None:
    data = kgl.simulate.make_dataset("er", m=6, n=30, dependent=True)
    methods = {"GL": kgl.GL(), "N": kgl.KGLN(), "O": kgl.KGLO(), "KGL": kgl.KGL()}
    result = kgl.compare(data.Y, K_x=data.K_x, K_z=data.K_z, methods=methods, n_folds=2)
    assert result.models["N"]._ready.informed == {"x": True, "z": False}
    assert result.models["O"]._ready.informed == {"x": False, "z": True}
    dated = FRAME.set_axis(pd.date_range("2024", periods=60, freq="D"))
    by_date = kgl.compare(dated, z="index", methods={"KGL": kgl.KGL()}, n_folds=2)
    assert by_date.models["KGL"]._ready.informed == {"x": False, "z": True}


def test_units_change_no_figure() -> None:
    methods = {name: METHODS[name] for name in ("GL", "KGL", "lasso")}
    plain = kgl.compare(DATA.Y, methods=methods, n_folds=4, seed=2).table
    columns = [c for c in plain if c != "seconds"]
    other = found().table.drop("Bayes")  # whose draws differ, but for powers of two
    np.testing.assert_allclose(plain[columns], other[columns], rtol=1e-5, atol=1e-9)


def test_progress_counts_fits() -> None:
    seen: list[tuple[int, int]] = []
    kgl.compare(
        DATA.Y, methods={"KGL": kgl.KGL()}, n_folds=2, progress=lambda *step: seen.append(step)
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("Y", "options", "error", "message"),
    [
        (DATA.Y, {"methods": {}}, ValueError, "must map names to estimators"),
        (DATA.Y, {"methods": {"a": 3}}, TypeError, r"methods\['a'\] = 3 is no estimator of kgl"),
        (DATA.Y, {"methods": {MEANS: kgl.KGL()}}, ValueError, "give your method another name"),
        (DATA.Y, {"folds": "some"}, ValueError, "unknown folds 'some'"),
        (DATA.Y, {"n_folds": 1}, ValueError, "n_folds = 1 must lie between 2"),
        (DATA.Y[0], {}, ValueError, "Y has shape"),
    ],
)
def test_bad_input(Y: Any, options: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        kgl.compare(Y, **{"methods": {"KGL": kgl.KGL()}} | options)


def test_constant_columns_are_left_out(recwarn: pytest.WarningsRecorder) -> None:
    methods = {name: METHODS[name] for name in ("KGL", "Bayes", "lasso")}
    plain = kgl.compare(FRAME, methods=methods, folds=(held := _random_folds(FRAME)), seed=1)
    more = FRAME.assign(constant=3.0, nearly=np.where(np.arange(60) == 7, 1.0, 0.0))
    wide = [np.hstack([own, own[:, :2]]) for own in held]
    for own in wide:
        own[7, -1] = True  # constant in what is shown of it
    found = kgl.compare(more, methods=methods, folds=wide, seed=1)
    assert np.isfinite(found.table.drop(columns=["edges", "seconds"])).all(axis=None)
    for name in ("lasso", MEANS):
        for figure in ("error", "log_likelihood", "coverage"):
            assert found.table.loc[name, figure] == pytest.approx(plain.table.loc[name, figure])
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def _random_folds(table: pd.DataFrame) -> list[np.ndarray]:
    return choose_folds("random", table.to_numpy(), 3, 0)


class Failing(EmpiricalCovariance):
    def fit(self, X: Any, y: None = None) -> Any:
        raise FloatingPointError("too ill-conditioned")


def test_a_method_of_another_package_that_fails_costs_nobody_else_the_figures() -> None:
    with pytest.warns(UserWarning, match="broken failed and has no figures where it did: too ill"):
        found = kgl.compare(FRAME, methods={"broken": Failing(), "KGL": kgl.KGL()}, n_folds=3)
    assert np.isnan(found.table.loc["broken", "error"])
    assert found.table.loc["broken", "edges"] == 0
    assert np.isfinite(found.table.loc["KGL", "error"])
    assert "broken" in repr(found)


def test_one_short_gap_is_no_measure_of_much() -> None:
    # moved along the rows, it would hide one entry in fifty, and perhaps the same one in all folds
    table = DATA.Y_full.copy()
    table[20:26, 0] = np.nan
    found = kgl.compare(table, methods={"KGL": kgl.KGL()}, n_folds=4)
    assert found.hidden > 0.2
