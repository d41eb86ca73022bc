"""BayesianKGL: tables in and out, units, bad input, randomness, convergence figures."""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import kgl
from kgl.bayesian import estimator, posterior
from kgl.bayesian.diagnostics import effective_sample_size, split_r_hat
from kgl.bayesian.evidence import Evidence, pair_forms

DATA = kgl.simulate.make_dataset("er", m=6, n=30, dependent=True, missing=0.15, seed=3)
INDEX = pd.date_range("2024-01-01", periods=30, freq="D")
FRAME = pd.DataFrame(DATA.Y, columns=list("abcdef"), index=INDEX)
x = pd.DataFrame({"size": np.arange(6.0)}, index=list("abcdef"))

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def small(**options: Any) -> kgl.BayesianKGL:
    return kgl.BayesianKGL(**{"n_chains": 6, "n_warmup": 10, "n_draws": 10} | options)


@cache
def fitted() -> kgl.BayesianKGL:
    """Fit with everything: labels, dates, covariates and gaps."""
    return small().fit(FRAME, x=x, z="index")


def test_learned_attributes_are_consistent() -> None:
    model = fitted()
    p = model.edge_probability_
    assert p.shape == (6, 6)
    assert np.array_equal(p, p.T)
    assert (p >= 0).all()
    assert (p <= 1).all()
    assert not np.diag(p).any()
    assert np.allclose(model.laplacian_.sum(axis=1), 0)
    assert np.allclose(np.diag(model.laplacian_), model.weights_.sum(axis=1))
    assert model.noise_variance_.shape == (6,)
    assert (model.noise_variance_ < np.nanvar(DATA.Y, axis=0)).all()
    low, high = model.weight_quantiles([0.05, 0.95])
    assert (low <= high).all()
    assert np.array_equal(model.weight_quantiles(0.95), high)
    assert model.node_names_ == list("abcdef")
    assert "R-hat" in model.summary()


def test_edges_are_labelled_and_ordered() -> None:
    model = fitted()
    every = model.to_edges(min_probability=0.0)
    assert len(every) == 15
    assert len(model.to_edges(all_pairs=True)) == 15
    assert every["probability"].is_monotonic_decreasing
    likely = model.to_edges(min_probability=0.4)
    assert (likely["probability"] >= 0.4).all()
    first = every.iloc[0]
    i, j = model.node_names_.index(first["source"]), model.node_names_.index(first["target"])
    assert first["probability"] == model.edge_probability_[i, j]
    with pytest.raises(ValueError, match=r"min_probability = 2 must lie in \[0, 1\]"):
        model.to_edges(min_probability=2)


def test_imputed_entries_have_deviations_and_observed_ones_stay() -> None:
    filled, std = fitted().impute(FRAME, return_std=True)
    assert filled.index.equals(FRAME.index)
    assert list(std.columns) == list("abcdef")
    assert np.array_equal(filled.to_numpy()[DATA.mask], DATA.Y[DATA.mask])
    assert (std.to_numpy()[DATA.mask] == 0).all()
    assert (std.to_numpy()[~DATA.mask] > 0).all()
    pd.testing.assert_frame_equal(filled, fitted().impute(FRAME))


def test_predictions_at_new_dates_and_nodes() -> None:
    model = fitted()
    later = pd.Series(INDEX[:3] + pd.Timedelta("12h"), index=["u", "v", "w"])
    mean, std = model.predict(z=later, return_std=True)
    assert mean.shape == std.shape == (3, 6)
    assert list(mean.columns) == list("abcdef")
    assert (std.to_numpy() > 0).all()
    node = pd.DataFrame({"size": [2.5]}, index=["new"])
    mean, std = model.predict(x=node, return_std=True)
    assert mean.shape == (30, 1)
    assert list(mean.columns) == ["new"]
    assert model.predict(z=later, x=node).shape == (3, 1)
    pd.testing.assert_frame_equal(mean, model.predict(x=node))
    assert np.allclose(model.predict(), model.signals_)


def test_at_dates_of_the_fit_predictions_are_the_signals() -> None:
    model = small().fit(DATA.Y, K_z=DATA.K_z)
    found = model.predict(K_z=DATA.K_z)
    draws = model._ready.preparation.undo(model._unit * model._draws.signals.mean(axis=0))
    # levels are constant only as far as the range of K_z has a constant
    assert np.allclose(found, draws, atol=1e-4 * np.nanstd(DATA.Y))


def test_new_observations_without_a_kernel_are_refused() -> None:
    with pytest.raises(ValueError, match="fitted without information on the observations"):
        small().fit(DATA.Y).predict(z=[1.0])


def test_draws_for_arviz_and_samples() -> None:
    model = fitted()
    found = model.to_arviz()
    posterior = found["posterior"] if isinstance(found, dict) else found.posterior
    assert np.shape(posterior["noise"]) == (6, 10)
    assert np.shape(posterior["weights"]) == (6, 10, 15)
    sample = model.sample(7)
    assert sample["weights"].shape == (7, 6, 6)
    assert sample["signals"].shape == (7, 30, 6)
    assert sample["noise_variance"].shape == (7, 6)
    assert np.array_equal(sample["weights"], model.sample(7)["weights"])
    with pytest.raises(ValueError, match="size = 0 must be a whole number"):
        model.sample(0)


def test_strength_of_side_information() -> None:
    side = fitted().side_strength(0.8)
    assert 0 <= side["low"] <= side["mean"]
    assert side["low"] <= side["high"]
    assert 0 <= side["probability"] <= 1
    with pytest.raises(ValueError, match="fitted without side information"):
        small().fit(DATA.Y).side_strength()


def test_same_random_state_same_answer() -> None:
    one, two, other = (small(random_state=s).fit(DATA.Y).edge_probability_ for s in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_chunks_of_chains_cover_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgl.bayesian.draws.CHUNK", 1)
    model = small(n_chains=3).fit(DATA.Y)
    assert model._draws.weights.shape[0] == 3
    assert len({float(v) for v in model._draws.scalars["noise"][:, -1]}) == 3


@pytest.mark.parametrize("scale", ["node", "common", "none"])
@pytest.mark.parametrize("factor", [2.0**-20, 2.0**20])
def test_units_change_no_probability(factor: float, scale: str) -> None:
    one, two = (small(scale=scale).fit(f * DATA.Y) for f in (1.0, factor))
    # powers of two are exact: the same random numbers give the same draws
    assert np.array_equal(one.edge_probability_, two.edge_probability_)
    assert np.allclose(two.noise_variance_, factor**2 * one.noise_variance_, rtol=1e-12)


def test_units_and_levels_of_columns_matter_less_than_monte_carlo_error() -> None:
    units = 10.0 ** np.arange(-6, 6, 2)
    one, two = (small(n_draws=30).fit(Y) for Y in (DATA.Y, units * (DATA.Y + np.arange(6))))
    off = ~np.eye(6, dtype=bool)
    gap = np.abs(one.edge_probability_ - two.edge_probability_)[off]
    assert (gap < 5.0 * np.hypot(one.edge_error_, two.edge_error_)[off]).all()


def test_constant_column_warns_and_gets_no_certain_edge() -> None:
    Y = DATA.Y.copy()
    Y[:, 2] = 5.0
    with pytest.warns(UserWarning, match=r"column\(s\) 2 of Y are constant"):
        model = small().fit(Y)
    assert np.isfinite(model.edge_probability_).all()


@pytest.mark.filterwarnings("ignore::UserWarning")  # every column is constant
def test_single_row_is_refused() -> None:
    with pytest.raises(ValueError, match=r"only 1 sample \(row\), so nothing is left of it"):
        small().fit(DATA.Y_full[:1])
    model = small(center="none", scale="none").fit(DATA.Y_full[:1])
    assert np.isfinite(model.edge_probability_).all()


def test_empty_column_is_refused() -> None:
    Y = DATA.Y.copy()
    Y[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 of Y has no observed entry"):
        small().fit(Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": 0.0}, r"density = 0 must lie in \(0, 1\]"),
        ({"density": 1.0}, "density = 1 makes every pair an edge"),
        ({"n_chains": 1}, "n_chains = 1 must be a whole number of at least 2"),
        ({"n_draws": 2.5}, "n_draws = 2.5 must be a whole number of at least 4"),
        ({"center": "rows"}, "unknown center 'rows'"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**options).fit(DATA.Y)


def test_knowledge_about_edges_is_refused() -> None:
    for name in ("forbidden_edges", "allowed_edges", "edge_penalty"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            kgl.BayesianKGL(**{name: [("a", "b")]})


def test_poor_convergence_warns() -> None:
    with pytest.warns(ConvergenceWarning, match="Raise n_warmup = 1 and n_draws = 4"):
        small(n_warmup=1, n_draws=4).fit(DATA.Y)


def test_progress_counts_sweeps() -> None:
    seen: list[tuple[int, int]] = []
    small(progress=lambda done, total: seen.append((done, total))).fit(DATA.Y)
    assert seen == [(k, 20) for k in range(1, 21)]


class FitOnly(kgl.BayesianKGL):
    """Hides ``predict``, which takes covariates and not rows of Y."""

    @property
    def predict(self) -> NoReturn:
        raise AttributeError("hidden")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_finds_nothing_amiss_with_fit() -> None:
    found = check_estimator(FitOnly(n_chains=2, n_warmup=2, n_draws=4), on_fail=None)
    assert {result["check_name"] for result in found if result["status"] == "failed"} == set()


def test_clone_and_pickle() -> None:
    model = pickle.loads(pickle.dumps(fitted()))
    assert np.array_equal(model.edge_probability_, fitted().edge_probability_)
    assert clone(model).get_params() == model.get_params()


def test_pure_noise_has_no_likely_edge() -> None:
    Y = np.random.default_rng(0).normal(size=(60, 8))
    assert kgl.BayesianKGL(n_draws=20).fit(Y).edge_probability_.max() < 0.5


def test_evidence_is_by_rank() -> None:
    rng = np.random.default_rng(0)
    K = kgl.kernels.RBF()(rng.normal(size=(7, 2)))
    one = Evidence(K).scores[0]
    assert np.argsort(one).tolist() == np.argsort(K[np.triu_indices(7, 1)]).tolist()
    assert np.allclose(Evidence(9.0 * K).scores, Evidence(K).scores)
    # a resolvent kernel has the graph in its partial correlations
    data = kgl.simulate.make_dataset("er", m=10)
    rows, cols = np.triu_indices(10, 1)
    edge = data.W[rows, cols] > 0
    partial = pair_forms(data.K_x)[1][rows, cols]
    assert partial[edge].min() > np.median(partial[~edge])


def test_a_kernel_without_differences_is_no_evidence() -> None:
    K = np.full((6, 6), 0.5) + 0.5 * np.eye(6)
    assert Evidence(K).scores.shape == (0, 15)
    assert small().fit(DATA.Y, K_x=K).side_strength()["mean"] == 0.0


def test_new_nodes_score_as_their_copies_do() -> None:
    K = kgl.kernels.RBF()(np.random.default_rng(1).normal(size=(7, 2)))
    found = Evidence(K).new_nodes(K[:1])
    assert found.shape == (1, 2, 7)
    others = Evidence(K).scores[0][:6]  # pairs (0, 1) to (0, 6)
    assert np.allclose(found[0, 0, 1:], others)


def test_convergence_figures() -> None:
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4, 400))
    assert split_r_hat(draws) == pytest.approx(1.0, abs=0.02)
    assert 1200 < effective_sample_size(draws) <= 2000
    slow = np.zeros((4, 4000))
    for k in range(1, 4000):  # autoregressive with coefficient 0.9: (1 - 0.9) / (1 + 0.9) draws
        slow[:, k] = 0.9 * slow[:, k - 1] + rng.normal(size=4)
    assert effective_sample_size(slow) == pytest.approx(16000 / 19, rel=0.3)
    assert split_r_hat(draws + 3.0 * np.arange(4)[:, None]) > 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert split_r_hat(np.ones((4, 10))) == 1.0
        assert effective_sample_size(np.ones((4, 10))) == 40.0


@pytest.mark.parametrize(("small_error", "converged"), [(0.0, False), (1.0, True)])
def test_small_errors_are_converged_whatever_the_chains_say(
    monkeypatch: pytest.MonkeyPatch, small_error: float, converged: bool
) -> None:
    # of few draws R-hat is poor; users are after the Monte Carlo error
    monkeypatch.setattr(estimator, "POOR_ERROR", 1.0)
    monkeypatch.setattr(estimator, "SMALL_ERROR", small_error)
    model = small(n_warmup=1, n_draws=4).fit(DATA.Y)
    assert model.converged_ == converged
    assert model.n_chains_ == 6
    assert "6 chains" in model.summary()


@pytest.mark.parametrize(
    ("limits", "named", "unnamed"),
    [
        ({"SMALL_ERROR": 1.0, "POOR_ERROR": 0.0}, "good: at most 0.00", "of them"),
        ({"SMALL_ERROR": 0.0, "POOR_ERROR": 1.0}, "of them (good: at most 5%)", "at most 2.00"),
    ],
)
def test_the_warning_names_the_criterion_that_failed_and_the_error_of_the_summary(
    monkeypatch: pytest.MonkeyPatch, limits: dict[str, float], named: str, unnamed: str
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(estimator, name, value)
    with pytest.warns(ConvergenceWarning, match="have not converged") as caught:
        model = small(n_warmup=1, n_draws=4).fit(DATA.Y)
    (message,) = [str(w.message) for w in caught if w.category is ConvergenceWarning]
    assert named in message
    assert unnamed not in message
    error = f"off by up to about {2.0 * model.edge_error_.max():.2f}"
    assert error in message
    assert error in model.summary()


def test_standard_deviations_have_the_labels_of_the_table() -> None:
    table = FRAME.rename_axis(index="day", columns="station")
    for model in (small(), kgl.KGLN(lam=0.1, rho=0.01, psi=0.1)):
        filled, std = model.fit(table).impute(table, return_std=True)
        pd.testing.assert_index_equal(std.index, filled.index)
        pd.testing.assert_index_equal(std.columns, table.columns)
        assert (std.index.name, std.columns.name) == ("day", "station")


def test_small_graphs_have_more_draws_by_default() -> None:
    sizes = [kgl.BayesianKGL()._sizes(m) for m in (8, 20, 60)]
    assert sizes == [(16, 120), (16, 60), (8, 60)]
    assert kgl.BayesianKGL(n_chains=3, n_draws=7)._sizes(8) == (3, 7)


def test_summary_names_what_chains_do_not_agree_on() -> None:
    model = small().fit(DATA.Y)
    model.convergence_["r_hat"] |= {"noise": 2.0, "edges": 1.0, "kappa": 1.0, "scale": 1.5}
    line = model.summary().splitlines()[-1]
    assert "noise (2.00), scale of weights (1.50); raise n_warmup = 10" in line
    model.convergence_["r_hat"] |= {"noise": 1.0, "scale": 1.0}
    assert "do not agree" not in model.summary()


def test_summary_needs_a_fit() -> None:
    with pytest.raises(NotFittedError):
        kgl.BayesianKGL().summary()


def test_predictions_do_not_depend_on_the_batches_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted()
    when = pd.date_range("2024-01-05", periods=7, freq="12h")
    for new in ({"z": when}, {"x": x.iloc[:2]}, {"z": when, "x": x.iloc[:2]}):
        whole = model.predict(**new, return_std=True)
        monkeypatch.setattr(posterior, "BATCH", 2000)  # a few rows
        for one, other in zip(whole, model.predict(**new, return_std=True), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)
        monkeypatch.undo()


def test_sources_of_randomness() -> None:
    one, two = (small(random_state=np.random.default_rng(3)).fit(DATA.Y) for _ in range(2))
    assert np.array_equal(one.edge_probability_, two.edge_probability_)
    with pytest.raises(TypeError, match="random_state = 'a' must be a whole number"):
        one.sample(random_state="a")


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_values_beyond_double_precision_are_refused(scale: float) -> None:
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=r"rescale|varies"):
        small(center="none", scale="none").fit(scale * DATA.Y_full)
