"""
A large graph: five thousand sensors, every pair examined
=========================================================

From 1,000 nodes on the estimators fit sparse graphs without arrays of nodes by nodes, and prove the
result over all pairs. Five thousand sensors measure a field on both sides of a ridge, and the field
on one side has nothing to do with that on the other. The data are **simulated**; the model is given
neither the ridge nor the places of the sensors.
"""

# %%
# Two hundred observations: smooth random fields, one for each side, and noise.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.sparse import triu
from sklearn.neighbors import kneighbors_graph

import kgl

rng = np.random.default_rng(0)
sensors, observations, waves = 5000, 200, 400
place = rng.random((sensors, 2))


def ridge(east):
    """Northern coordinate of the ridge."""
    return 0.5 + 0.15 * np.sin(2 * np.pi * east)


north = place[:, 1] > ridge(place[:, 0])
Y = np.empty((observations, sensors))
for side in (north, ~north):
    phase = 2 * np.pi * rng.random(waves)
    wave = np.cos(place[side] @ rng.normal(scale=12, size=(2, waves)) + phase)
    Y[:, side] = rng.normal(size=(observations, waves)) @ wave.T / np.sqrt(waves / 2)
Y += 0.3 * rng.normal(size=Y.shape)

# %%
# Six neighbours on average, without arrays of 5,000 by 5,000. ``pairs_violated_`` counts pairs that
# should be edges and are not: none, so that the graph is the optimum over all pairs.

model = kgl.GL(average_degree=6).fit(Y)
print(model.summary())
assert model.pairs_violated_ == 0

# %%
# Compare with the nearest neighbours on the map: how many edges cross the ridge?

edges = model.to_edges()
learned = edges[["source", "target"]].to_numpy(dtype=int)
near = kneighbors_graph(place, 5)
nearest = np.column_stack(triu(near + near.T).nonzero())
fig, axes = plt.subplots(1, 2, figsize=(9, 5))
for ax, pairs, name in zip(
    axes, (nearest, learned), ("nearest on the map", "learned from signals"), strict=True
):
    cross = north[pairs[:, 0]] != north[pairs[:, 1]]
    for which, colour, width in ((~cross, "0.65", 0.4), (cross, "C1", 1.5)):
        ax.add_collection(LineCollection(place[pairs[which]], colors=colour, linewidths=width))
    east = np.linspace(0, 1, 200)
    ax.plot(east, ridge(east), color="C0", lw=0.8)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[], yticks=[])
    ax.set_title(f"{name}\n{len(pairs):,} edges, {cross.sum()} across the ridge")

# %%
# Weights and Laplacian are sparse arrays, as SciPy has them:

print(f"{model.weights_.nnz / 2:,.0f} edges of {model.pairs_examined_:,} pairs")
print(f"{model.weights_.data.nbytes / 1e6:.1f} MB of weights, {8e-6 * sensors**2:.0f} MB if dense")

# %%
# **Lesson.** Many nodes need no other model and no other call, and what comes back is proved, not
# approximate. Signals show what a map does not.
