"""Graphs of likely edges: networkx, sparse matrices and pictures; new rows of the imputer."""

from __future__ import annotations

from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import kgl
from kgl.bayesian.predictive import covariances
from kgl.bayesian.rows import fill_rows
from kgl.plotting import plot_graph

DATA = kgl.simulate.make_dataset("er", m=8, n=60, missing=0.15, seed=1)
NAMES = list("abcdefgh")
FRAME = pd.DataFrame(DATA.Y, columns=NAMES)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def small(**options: Any) -> kgl.BayesianKGL:
    return kgl.BayesianKGL(**{"n_chains": 6, "n_warmup": 15, "n_draws": 20} | options)


@cache
def fitted() -> kgl.BayesianKGL:
    return small().fit(FRAME)


# ------------------------------------------------------------------------------- graphs of edges


@pytest.mark.parametrize("least", [0.0, 0.3, 0.5, 0.9])
def test_networkx_has_the_edges_of_the_table(least: float) -> None:
    graph = fitted().to_networkx(min_probability=least)
    edges = fitted().to_edges(min_probability=least)
    assert list(graph) == NAMES
    assert graph.number_of_edges() == len(edges)
    for row in edges.itertuples():
        found = graph.edges[row.source, row.target]
        assert found["probability"] == row.probability >= least
        assert found["weight"] == row.weight


def test_one_half_is_the_least_probability_by_default() -> None:
    model = fitted()
    likely = model.edge_probability_ >= 0.5
    assert 0 < likely.sum() < 56
    assert np.array_equal(model.to_sparse().toarray() > 0, likely)
    assert np.array_equal(model.to_sparse().toarray(), np.where(likely, model.weights_, 0.0))
    assert nx.to_numpy_array(model.to_networkx(), weight="probability") == pytest.approx(
        np.where(likely, model.edge_probability_, 0.0)
    )
    assert model.to_sparse(min_probability=0.0).nnz == 56


def test_attributes_of_nodes_and_files(tmp_path: Any) -> None:
    size = pd.DataFrame({"size": np.arange(8.0)}, index=NAMES)
    graph = fitted().to_networkx(size, min_probability=0.4)
    nx.write_graphml(graph, tmp_path / "g.graphml")
    back = nx.read_graphml(tmp_path / "g.graphml")
    assert back.nodes["c"]["size"] == 2.0
    assert {edge["probability"] for *_, edge in back.edges(data=True)} == {
        edge["probability"] for *_, edge in graph.edges(data=True)
    }


@pytest.mark.parametrize("bad", [-0.1, 1.5, float("nan"), "0.5", True])
@pytest.mark.parametrize("method", ["to_edges", "to_networkx", "to_sparse", "plot"])
def test_no_probability_is_refused(method: str, bad: Any) -> None:
    with pytest.raises(ValueError, match=r"min_probability = .* must lie in \[0, 1\]"):
        getattr(fitted(), method)(min_probability=bad)


# -------------------------------------------------------------------------------------- pictures


def test_pictures_show_probabilities() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    places = np.random.default_rng(0).random((8, 2))
    try:
        ax = fitted().plot(positions=places, values=np.arange(8.0), title="likely")
        lines = ax.collections[0]
        edges = fitted().to_edges()
        assert len(lines.get_segments()) == len(edges)
        # widths grow with the probability
        chance = {
            frozenset((tuple(places[NAMES.index(r.source)]), tuple(places[NAMES.index(r.target)]))):
            r.probability for r in edges.itertuples()
        }  # fmt: skip
        drawn = [chance[frozenset(map(tuple, segment))] for segment in lines.get_segments()]
        assert drawn == sorted(drawn)
        assert np.array_equal(
            np.argsort(lines.get_linewidths(), kind="stable"), np.arange(len(drawn))
        )
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels[:3] == ["probability 0.5", "probability 0.75", "probability 1"]
        # a line of the legend is as wide as an edge of that probability
        W = np.array([[0.0, 1.0], [1.0, 0.0]])
        one = plot_graph(W, probabilities=0.75 * W, positions=np.eye(2))
        width = one.collections[0].get_linewidths()[0]
        assert one.get_legend().get_lines()[1].get_linewidth() == pytest.approx(width)
        faint = fitted().plot(min_probability=0.0)
        assert len(faint.collections[0].get_segments()) == 28
        assert faint.get_legend().get_texts()[0].get_text() == "probability 0.1"
        assert plot_graph(W).get_legend() is None
        none = plot_graph(np.zeros((2, 2)), probabilities=W, positions=np.eye(2))
        assert none.get_legend() is None
    finally:
        plt.close("all")


def test_signs_have_a_legend_besides() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    W = np.ones((3, 3)) - np.eye(3)
    signs = np.ones((3, 3))
    signs[0, 1] = signs[1, 0] = -1
    try:
        ax = plot_graph(W, signs=signs, probabilities=0.8 * W, positions=np.eye(3)[:, :2])
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels[-1] == "negative: move opposite"
        assert len(labels) == 4
    finally:
        plt.close("all")


# ------------------------------------------------------------------------------------ the imputer


def test_the_rows_of_the_fit_get_the_fitted_signals() -> None:
    imputer = kgl.KGLImputer(estimator=small()).fit(FRAME)
    assert np.allclose(imputer.transform(FRAME), fitted().impute(FRAME))


def test_new_rows_are_filled_as_those_of_the_fit() -> None:
    """Rows are independent without K_z: both are means over the posterior, by different routes."""
    imputer = kgl.KGLImputer(estimator=small(n_draws=60)).fit(FRAME)
    some, gaps = FRAME.iloc[5:45], FRAME.isna().to_numpy()[5:45]
    new, own = imputer.transform(some)[gaps], imputer.transform(FRAME)[5:45][gaps]
    spread = np.nanstd(DATA.Y)
    assert np.sqrt(np.mean((new - own) ** 2)) < 0.1 * spread
    assert np.array_equal(imputer.transform(some)[~gaps], some.to_numpy()[~gaps])
    empty = pd.DataFrame(np.full((1, 8), np.nan), columns=NAMES)
    # by the levels of the nodes: graphs share what they know of the means
    assert np.allclose(imputer.transform(empty), FRAME.mean(), atol=0.2 * spread)


def test_new_rows_by_the_formula_for_one_draw() -> None:
    model = small().fit(DATA.Y_full, K_z=3.0 * kgl.kernels.RBF()(np.arange(60.0)))
    draws, rows = model._draws, model._rows
    y = np.random.default_rng(0).normal(size=(3, 8))
    mask = np.random.default_rng(1).random((3, 8)) < 0.6
    found = fill_rows(draws, rows, y, mask)
    some = np.linspace(0, len(draws.chosen) - 1, 64).astype(int)
    expected = np.zeros((3, 8))
    for k in some:
        S = 3.0 * covariances(draws)[k]
        noise = draws.scalars["noise"][tuple(draws.chosen[k])]
        for i in range(3):
            o = mask[i]
            inverse = np.linalg.inv(S[np.ix_(o, o)] + noise * np.eye(o.sum()))
            level = draws.levels[k]
            expected[i] += (level + S[:, o] @ inverse @ (y[i, o] - level[o])) / len(some)
    assert np.allclose(found, expected, atol=1e-8)


def test_units_of_new_rows_and_pipelines() -> None:
    units = 2.0 ** np.arange(8)
    one, two = (
        kgl.KGLImputer(estimator=small()).fit(scale * FRAME).transform(scale * FRAME.iloc[:9])
        for scale in (1.0, units)
    )
    assert np.allclose(units * one, two)
    pipeline = make_pipeline(kgl.KGLImputer(estimator=small()), LinearRegression())
    assert cross_val_score(pipeline, FRAME, DATA.Y_full.sum(axis=1), cv=3).mean() > 0.3
    named = kgl.KGLImputer(estimator=small()).set_output(transform="pandas").fit_transform(FRAME)
    assert list(named.columns) == NAMES


def test_the_score_tells_signals_from_noise() -> None:
    rng = np.random.default_rng(0)
    alike = rng.normal(size=(50, 1)) + 0.1 * rng.normal(size=(50, 6))
    assert kgl.KGLImputer(estimator=small()).score(alike) > 0.7
    assert kgl.KGLImputer(estimator=small()).score(rng.normal(size=(50, 6))) < 0.2


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_scikit_learn_finds_nothing_amiss_with_the_imputer() -> None:
    estimator = kgl.BayesianKGL(n_chains=2, n_warmup=2, n_draws=4)
    found = check_estimator(kgl.KGLImputer(estimator=estimator), on_fail=None, on_skip=None)
    plain = check_estimator(kgl.KGLImputer(), on_fail=None, on_skip=None)
    failed, known = (
        {r["check_name"] for r in one if r["status"] == "failed"} for one in (found, plain)
    )
    assert failed <= known
    assert clone(kgl.KGLImputer(estimator=estimator)).estimator.n_draws == 4
