"""Ways out of a fitted graph keep its names, weights and isolated nodes."""

from __future__ import annotations

import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from kgl import GL, KGL, KGLN, KGLO, GL2Step, KGLAgnostic
from kgl.models import GraphLearner
from kgl.plotting import plot_graph

MODELS = (GL, GL2Step, KGLN, KGLO, KGL, KGLAgnostic)
NAMES = ["rome", "oslo", "bern", "bonn", "lima"]


def frame() -> pd.DataFrame:
    """Signals of which lima's are far from all others: no edge where few are wanted."""
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((20, 5)) + rng.standard_normal((20, 1))
    Y[:, 4] *= 20.0
    return pd.DataFrame(Y, columns=NAMES)


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def fit(request: pytest.FixtureRequest) -> GraphLearner:
    weights = {"lam": 0.1, "rho": 0.01, "psi": 0.5 if request.param is GL else 0.01}
    known = request.param().get_params()
    model: GraphLearner = request.param(
        center="none", scale="none", **{name: w for name, w in weights.items() if name in known}
    )
    model.fit(frame())
    assert model.weights_[4].sum() == 0.0  # lima is isolated
    assert 1 < np.count_nonzero(np.triu(model.weights_)) < 6
    return model


def test_networkx_keeps_names_weights_and_isolated_nodes(fit: GraphLearner) -> None:
    graph = fit.to_networkx()
    assert isinstance(graph, nx.Graph)
    assert not graph.is_directed()
    assert list(graph.nodes) == NAMES
    assert list(nx.isolates(graph)) == ["lima"]
    assert graph.number_of_edges() == np.count_nonzero(np.triu(fit.weights_, 1))
    assert nx.to_numpy_array(graph, nodelist=NAMES) == pytest.approx(fit.weights_, abs=1e-14)
    assert all(type(weight) is float for _, _, weight in graph.edges(data="weight"))


def test_sparse_is_the_weights_in_order(fit: GraphLearner) -> None:
    matrix = fit.to_sparse()
    assert isinstance(matrix, csr_array)
    assert np.array_equal(matrix.toarray(), fit.weights_)
    assert matrix.nnz == np.count_nonzero(fit.weights_)
    matrix.data[:] = -1.0
    assert fit.weights_.min() == 0.0


def test_edges_are_listed_heaviest_first(fit: GraphLearner) -> None:
    edges = fit.to_edges()
    assert list(edges.columns) == ["source", "target", "weight", "score", "sign"]
    assert list(edges.index) == list(range(len(edges)))
    assert len(edges) == np.count_nonzero(np.triu(fit.weights_, 1))
    assert (edges["weight"] > 0).all()
    assert edges["weight"].is_monotonic_decreasing
    position = {name: k for k, name in enumerate(NAMES)}
    for row in edges.itertuples():
        i, j = position[row.source], position[row.target]
        assert i < j
        assert row.weight == fit.weights_[i, j]
        assert row.score == fit.edge_scores_[i, j]
    assert "lima" not in set(edges["source"]) | set(edges["target"])


def test_all_pairs_are_ordered_by_score(fit: GraphLearner) -> None:
    pairs = fit.to_edges(all_pairs=True)
    assert len(pairs) == 10
    assert pairs["score"].is_monotonic_decreasing
    n_edges = len(fit.to_edges())
    pd.testing.assert_frame_equal(pairs[:n_edges], fit.to_edges())
    assert (pairs["weight"][n_edges:] == 0).all()
    assert pairs["score"].is_unique
    assert {"lima"} <= set(pairs["source"]) | set(pairs["target"])


def test_nodes_without_names_are_numbers() -> None:
    fit = GL(psi=3.0).fit(frame().to_numpy())
    assert list(fit.to_networkx().nodes) == [0, 1, 2, 3, 4]
    assert set(fit.to_edges(all_pairs=True)["source"]) == {0, 1, 2, 3}


def test_names_need_not_be_text() -> None:
    numbered = frame().set_axis([10, 20, 30, 40, 50], axis=1)
    assert list(GL(psi=3.0).fit(numbered).to_networkx().nodes) == [10, 20, 30, 40, 50]
    pairs = pd.MultiIndex.from_product([["north"], NAMES])
    fit = GL(psi=3.0).fit(frame().set_axis(pairs, axis=1))
    assert list(fit.to_networkx().nodes) == list(pairs)
    assert fit.to_edges()["source"].iloc[0] in list(pairs)


def test_edge_lists_need_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = GL(psi=3.0).fit(frame())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_edges needs pandas: pip install .*\[frame\]"):
        fit.to_edges()


# --------------------------------------------------------------------------------------- pictures


def test_plot_draws_every_edge_and_names_every_node(fit: GraphLearner) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    ax = fit.plot(title="cities")
    try:
        assert ax.get_title() == "cities"
        assert [text.get_text() for text in ax.texts] == NAMES
        lines, dots = ax.collections
        assert len(lines.get_segments()) == len(fit.to_edges())
        assert len(dots.get_offsets()) == 5
        # the heaviest edge has the thickest line
        widths, places = lines.get_linewidths(), dots.get_offsets()
        heaviest = fit.to_edges().iloc[0]
        ends = {tuple(places[NAMES.index(heaviest[end])]) for end in ("source", "target")}
        thickest = lines.get_segments()[int(np.argmax(widths))]
        assert {tuple(point) for point in thickest} == ends
    finally:
        plt.close("all")


def test_plot_takes_positions_values_and_axes() -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    fit = GL(psi=3.0).fit(frame())
    places = np.arange(10.0).reshape(5, 2)
    try:
        _, ax = plt.subplots()
        drawn = fit.plot(ax=ax, positions=places, values=np.arange(5.0), labels=False)
        assert drawn is ax
        assert np.array_equal(ax.collections[1].get_offsets(), places)
        assert np.array_equal(ax.collections[1].get_array(), np.arange(5.0))
        assert not ax.texts
        empty = plot_graph(np.zeros((3, 3)))  # no edge to draw
        assert len(empty.collections[0].get_segments()) == 0
        many = plot_graph(np.ones((41, 41)) - np.eye(41), positions=np.zeros((41, 2)))
        assert len(many.texts) == 25
        assert not plot_graph(np.ones((41, 41)), labels=False).texts
    finally:
        plt.close("all")


@pytest.mark.parametrize("many", [False, True])
def test_plot_matches_values_to_nodes(many: bool) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    m = 303 if many else 6
    W = np.kron(np.eye(m // 3), np.ones((3, 3)) - np.eye(3))
    W = csr_array(W) if many else W
    names = [f"node {k}" for k in range(m)]
    places = np.arange(2.0 * m).reshape(m, 2)
    try:
        with pytest.raises(ValueError, match=rf"values has the shape \(3,\) .* {m} nodes"):
            plot_graph(W, values=np.zeros(3))
        with pytest.raises(ValueError, match="values does not hold numbers"):
            plot_graph(W, values=names)
        series = pd.Series(np.arange(float(m)), names)
        drawn = plot_graph(W, names=names, positions=places, values=series[::-1])
        assert np.array_equal(drawn.collections[-1].get_array(), np.arange(float(m)))
    finally:
        plt.close("all")


def test_pictures_need_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = GL(psi=3.0).fit(frame())
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"plotting needs matplotlib: pip install .*\[plot\]"):
        fit.plot()


def test_positions_are_a_table_or_a_dict_too(tmp_path) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    fit = GL(density=0.4).fit(frame())
    places = pd.DataFrame({"east": range(5), "north": [3, 1, 4, 1, 5]}, index=NAMES)
    try:
        drawn = [
            fit.plot(positions=positions).collections[1].get_offsets()
            for positions in (
                places.to_numpy(),
                places.iloc[::-1],
                {name: tuple(row) for name, row in places.iterrows()},
            )
        ]
        assert all(np.array_equal(drawn[0], other) for other in drawn)
        with pytest.raises(ValueError, match="no entry for node 'oslo'"):
            fit.plot(positions={"rome": (0, 0)})
        with pytest.raises(ValueError, match=r"shape \(5, 3\) but there are 5 nodes"):
            fit.plot(positions=np.zeros((5, 3)))
        dollars = GL(density=0.4).fit(frame().rename(columns={"rome": "$a$", "oslo": "$b"}))
        dollars.plot().figure.savefig(tmp_path / "names.png")
    finally:
        plt.close("all")


def test_attributes_of_nodes_go_into_files(tmp_path) -> None:
    fit = GL(density=0.4).fit(frame())
    table = pd.DataFrame({"height": np.arange(5), "kind": list("aabbb")}, index=NAMES)
    graph = fit.to_networkx(attributes=table.iloc[::-1])
    assert graph.nodes["oslo"] == {"height": 1, "kind": "a"}
    nx.write_graphml(graph, tmp_path / "graph.graphml")
    nx.write_gexf(graph, tmp_path / "graph.gexf")
    assert nx.read_graphml(tmp_path / "graph.graphml").nodes["lima"]["height"] == 4
    with pytest.raises(ValueError, match=r"attributes has 3 row\(s\)"):
        fit.to_networkx(attributes=table.iloc[:3].reset_index(drop=True))


def test_the_summary_counts_edges_and_names_isolated_nodes(fit: GraphLearner) -> None:
    text = fit.summary()
    edges = np.count_nonzero(np.triu(fit.weights_, 1))
    assert f"5 nodes, {edges} edges" in text
    assert "1 isolated: lima" in text
    assert "0.0% of the entries missing" in text
    gappy = frame().mask(np.eye(20, 5, dtype=bool))
    assert "5.0% of the entries missing" in GL(density=0.4).fit(gappy).summary()
