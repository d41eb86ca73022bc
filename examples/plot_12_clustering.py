"""
Clustering on the learned affinity
==================================

``weights_`` is a non-negative, symmetric matrix: what ``SpectralClustering`` calls an affinity. The
data are **real**: 178 wines from three growers, thirteen chemical measurements, shipped with
scikit-learn. Here the wines are nodes and the measurements observations.
"""

# %%
# Measurements have different units, so each is standardised; then the table is transposed.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import kgl

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
options = {"center": "none", "scale": "none", "signed": False, "log": False}
degrees = (15, 20, 30, 40, 60, 90)
models = [kgl.GL(average_degree=degree, **options).fit(X.T) for degree in degrees]

# %%
# The growers are known and used for the score alone: the normalised mutual information (NMI), 1 for
# perfect agreement.

scores = []
for model in models:
    spectral = SpectralClustering(3, affinity="precomputed", random_state=0)
    affinity = model.weights_ + 1e-9  # connected, also where a wine has no neighbour
    scores.append(kgl.metrics.nmi(wine.target, spectral.fit_predict(affinity)))
k_means = kgl.metrics.nmi(wine.target, KMeans(3, n_init=10, random_state=0).fit_predict(X))

# %%
# Left: one of the graphs over the first two principal components. Right: the score depends on the
# number of neighbours. Sparse graphs are cut at a few weakly linked wines.

places = PCA(2).fit_transform(X)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), width_ratios=[1.4, 1])
chosen = models[2]
for i, j in zip(*np.nonzero(np.triu(chosen.weights_, 1)), strict=True):
    left.plot(*places[[i, j]].T, color="0.8", lw=0.3, zorder=0)
for grower, marker in enumerate("os^"):
    mine = places[wine.target == grower]
    left.scatter(*mine.T, s=26, marker=marker, label=f"grower {grower + 1}", ec="white", lw=0.5)
left.set(xlabel="first principal component", ylabel="second principal component")
left.set_title(f"178 wines, {degrees[2]} neighbours on average")
left.legend(frameon=False)
right.plot(degrees, scores, "o-", label="spectral clustering, learned graph")
right.axhline(k_means, color="C1", ls="--", label="k-means")
right.set(xlabel="neighbours on average", ylabel="NMI with the growers", ylim=(0, 1.02))
right.legend(frameon=False, loc="lower right")

# %%
# **Lesson.** A learned graph fits into any method that takes an affinity. Vary the number of
# neighbours, and compare with a simple method: here k-means does nearly as well.
