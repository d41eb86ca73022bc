"""
Prior knowledge: forbidden, allowed and discouraged edges
=========================================================

Often something about edges is known: two pumps are not connected, only pipes on the plan can be
edges, long links are unlikely. ``forbidden_edges``, ``allowed_edges`` and ``edge_penalty`` say so.
The data are **simulated** on a ring of sixteen stations with four chords.
"""

# %%
# Signals that are smooth on the true graph, few and noisy: twenty observations.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import kgl

m = 16
ring = nx.cycle_graph(m)
ring.add_edges_from([(0, 5), (3, 9), (8, 13), (2, 14)])
W = nx.to_numpy_array(ring)
L = np.diag(W.sum(axis=1)) - W
rng = np.random.default_rng(0)
Y = rng.multivariate_normal(np.zeros(m), np.linalg.inv(L + 0.1 * np.eye(m)), size=20)
Y += 0.35 * rng.normal(size=Y.shape)

# %%
# Four states of knowledge, each with the number of edges of the true graph.

candidates = nx.cycle_graph(m)  # the plan: the ring, and every chord that could have been built
candidates.add_edges_from((i, (i + step) % m) for i in range(m) for step in (4, 5, 6))
not_there = [(i, j) for i in range(m) for j in range(i) if not ring.has_edge(i, j)]
forbidden = [not_there[k] for k in rng.choice(len(not_there), 40, replace=False)]
steps = np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
distance = np.minimum(steps, m - steps)

degree = 2 * ring.number_of_edges() / m
options = {
    "nothing known": {},
    "40 forbidden edges": {"forbidden_edges": forbidden},
    "only edges of the plan": {"allowed_edges": candidates},
    "penalty by distance": {"edge_penalty": 0.02 * distance},
}
angle = 2 * np.pi * np.arange(m) / m
circle = np.column_stack([np.sin(angle), np.cos(angle)])
fig, axes = plt.subplots(2, 2, figsize=(7.5, 8))
for ax, (name, known) in zip(axes.flat, options.items(), strict=True):
    model = kgl.KGLN(average_degree=degree, signed=False, **known).fit(Y)
    found = model.weights_ > 0
    right = int((found & (W > 0)).sum()) // 2
    total = int(found.sum()) // 2
    model.plot(ax=ax, positions=circle, title=f"{name}\n{right} of {total} edges are true")
    missed = [(circle[i], circle[j]) for i, j in ring.edges if not found[i, j]]
    for start, end in missed:
        ax.plot(*zip(start, end, strict=True), ":", color="C1", lw=1.5, zorder=0)
ax.plot([], [], ":", color="C1", label="true edge that was missed")
fig.legend(loc="outside lower center", frameon=False)

# %%
# **Lesson.** Knowledge about edges costs no time: it only changes the distances that the graph step
# reads. A known edge is stated by a penalty on all others, or by leaving it allowed.
