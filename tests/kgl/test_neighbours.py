"""The learned graph in the types of other packages: nothing is lost on the way there and back."""

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline

import kgl


@pytest.fixture(scope="module")
def data():
    """Temperatures with gaps, one station turned upside down so that there are negative edges."""
    stations = kgl.datasets.make_stations(m=10, n=48)
    Y = stations.Y.copy()
    Y.iloc[:, 0] *= -1
    return Y, stations.x


@pytest.fixture(scope="module")
def model(data):
    return kgl.KGL(density=0.3).fit(data[0])


def signed(model):
    return model.weights_ * model.signs_


def from_networkx(graph, names):
    """Signed weights of a networkx graph, as a matrix."""
    W = np.zeros((len(names), len(names)))
    for a, b, edge in graph.edges(data=True):
        i, j = names.index(a), names.index(b)
        W[i, j] = W[j, i] = float(edge["weight"]) * int(edge["sign"])
    return W


def test_there_are_edges_of_both_signs(model):
    assert {-1, 1} <= set(model.to_edges()["sign"])


def test_networkx(model):
    names = model.node_names_
    assert np.allclose(from_networkx(model.to_networkx(), names), signed(model))


def test_scipy_sparse(model):
    assert np.allclose(model.to_sparse().toarray(), model.weights_)


def test_pandas(model, data):
    edges = model.to_edges()
    W = pd.DataFrame(0.0, model.node_names_, model.node_names_)
    for edge in edges.itertuples():
        W.loc[edge.source, edge.target] = W.loc[edge.target, edge.source] = edge.weight
    assert np.allclose(W, model.weights_)
    filled = model.impute(data[0])
    assert filled.columns.equals(data[0].columns)
    assert not filled.isna().to_numpy().any()


def test_polars(model, data):
    polars = pytest.importorskip("polars")
    # from_dict, since from_pandas needs pyarrow
    frame = polars.from_dict({name: data[0][name].to_list() for name in data[0].columns})
    fitted = kgl.KGL(density=0.3).fit(frame)
    assert fitted.node_names_ == model.node_names_
    assert np.allclose(fitted.weights_, model.weights_)


def test_scikit_learn_pipeline_and_affinity(model, data):
    pipeline = make_pipeline(kgl.KGLImputer(), PCA(2)).fit(data[0])
    assert np.isfinite(pipeline.transform(data[0])).all()
    clusters = SpectralClustering(2, affinity="precomputed", random_state=0)
    labels = clusters.fit_predict(model.weights_ + 1e-9)
    assert set(labels) == {0, 1}


def test_edge_index_of_graph_neural_networks(model):
    edge_index = np.stack(np.nonzero(model.weights_))
    weight = model.weights_[tuple(edge_index)]
    assert edge_index.dtype == np.int64
    back = np.zeros_like(model.weights_)
    back[tuple(edge_index)] = weight
    assert np.array_equal(back, model.weights_)
    assert edge_index.shape[1] == 2 * len(model.to_edges())


def test_pygsp2(model):
    graphs = pytest.importorskip("pygsp2.graphs")
    graph = graphs.Graph(model.weights_)
    L = np.diag(model.weights_.sum(axis=1)) - model.weights_
    assert np.allclose(graph.L.toarray(), L)


def test_connectivity_matrix(model):
    matrix = signed(model)
    assert np.array_equal(matrix, matrix.T)
    assert not matrix.diagonal().any()
    assert (matrix < 0).any()
    # MNE-Connectivity with indices="all": row by row
    assert np.array_equal(matrix.ravel().reshape(matrix.shape), matrix)


def test_igraph(model):
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph.from_networkx(model.to_networkx())
    names = [str(name) for name in graph.vs["_nx_name"]]
    W = np.array(graph.get_adjacency(attribute="weight").data)
    order = [names.index(name) for name in model.node_names_]
    assert np.allclose(W[np.ix_(order, order)], model.weights_)


@pytest.mark.parametrize("suffix", ["gexf", "graphml"])
def test_files_of_gephi_and_cytoscape(model, data, tmp_path, suffix):
    path = tmp_path / f"graph.{suffix}"
    getattr(nx, f"write_{suffix}")(model.to_networkx(attributes=data[1]), path)
    read = getattr(nx, f"read_{suffix}")(path)
    assert np.allclose(from_networkx(read, model.node_names_), signed(model))
    altitude = nx.get_node_attributes(read, "altitude")
    assert {name: float(value) for name, value in altitude.items()} == data[1]["altitude"].to_dict()


def test_cytoscape_elements(model):
    elements = json.loads(json.dumps(nx.cytoscape_data(model.to_networkx())))
    back = nx.cytoscape_graph(elements)
    assert np.allclose(from_networkx(back, model.node_names_), signed(model))
