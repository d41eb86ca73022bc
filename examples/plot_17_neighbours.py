"""
One graph in other packages: networkx, SciPy, PyGSP2, igraph, Gephi
===================================================================

A learned graph is seldom the end. This example takes one graph to other packages: groups and
central nodes by networkx, a path by SciPy, smoothing by PyGSP2, an edge index for graph neural
networks, a matrix for plotters of connectivity, and files for Gephi and Cytoscape. The data are
**simulated** temperatures of 24 stations. PyGSP2 and igraph are optional here.
"""

# %%
# The graph
# ---------

import importlib.util
import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from scipy.sparse.csgraph import dijkstra
from sklearn.cluster import SpectralClustering

import kgl

data = kgl.datasets.make_stations()
model = kgl.KGL(density=0.15).fit(data.Y, x=data.x, z=data.z)
places = data.x[["east", "north"]]

# %%
# networkx: attributes, groups and central nodes
# ----------------------------------------------
# Nodes keep their names and the columns of a table; edges have a weight, a score and a sign.

graph = model.to_networkx(attributes=data.x)
groups = nx.community.louvain_communities(graph, weight="weight", seed=0)
strength = dict(graph.degree(weight="weight"))
central = max(strength, key=strength.get)
print(f"{len(groups)} groups; the strongest node is {central}: {graph.nodes[central]}")

# %%
# SciPy and scikit-learn: sparse arrays and affinities
# ----------------------------------------------------

adjacency = model.to_sparse()
length = adjacency.copy()
length.data = 1 / length.data  # strong edges are short
distance = dijkstra(length, directed=False)
print(f"the longest of all shortest paths: {distance[np.isfinite(distance)].max():.1f}")
clusters = SpectralClustering(3, affinity="precomputed", random_state=0)
labels = clusters.fit_predict(model.weights_ + 1e-9)

# %%
# Graph neural networks and connectivity: plain arrays
# ----------------------------------------------------
# PyTorch Geometric and DGL take ``edge_index`` and ``edge_weight``; nilearn and MNE the symmetric
# matrix.

edge_index = np.stack(np.nonzero(model.weights_))
edge_weight = model.weights_[tuple(edge_index)].astype(np.float32)
connectivity = model.weights_ * model.signs_
print(edge_index.shape, edge_weight.dtype, connectivity.shape)

# %%
# PyGSP2 and igraph
# -----------------

if importlib.util.find_spec("pygsp2"):
    from pygsp2 import filters, graphs

    G = graphs.Graph(model.weights_)
    with np.errstate(invalid="ignore"):  # it divides by degrees; isolated nodes have none
        G.compute_fourier_basis()
    first = model.signals_[0]
    smooth = filters.Heat(G, scale=5).filter(first)
    print(f"spread of the first hour: {first.std():.2f}; smoothed on the graph: {smooth.std():.2f}")
if importlib.util.find_spec("igraph"):
    import igraph

    converted = igraph.Graph.from_networkx(graph)
    converted.vs["name"] = converted.vs["_nx_name"]
    between = converted.betweenness()
    print("between most others, by igraph:", converted.vs["name"][int(np.argmax(between))])

# %%
# Files for Gephi and Cytoscape
# -----------------------------

with tempfile.TemporaryDirectory() as directory:
    nx.write_gexf(graph, Path(directory) / "graph.gexf")  # Gephi
    nx.write_graphml(graph, Path(directory) / "graph.graphml")  # Cytoscape, yEd
    (Path(directory) / "graph.cyjs").write_text(json.dumps(nx.cytoscape_data(graph)))
    print(sorted(path.name for path in Path(directory).iterdir()))

# %%
# Groups of networkx and clusters of scikit-learn, on the map:

member = np.array([next(k for k, group in enumerate(groups) if n in group) for n in graph])
fig, axes = plt.subplots(1, 2, figsize=(9, 4.4))
titles = (f"networkx: {len(groups)} groups (Louvain)", "scikit-learn: 3 spectral clusters")
for ax, values, title in zip(axes, (member, labels), titles, strict=True):
    model.plot(ax=ax, positions=places, values=values, labels=False, title=title)

# %%
# **Lesson.** ``to_networkx``, ``to_sparse``, ``to_edges`` and the arrays ``weights_`` and
# ``signs_`` are all that other packages need. Weights are never negative; signs are beside them.
