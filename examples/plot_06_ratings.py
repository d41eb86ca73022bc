"""
Ratings: which products are liked by the same people
====================================================

Reviewers rate some products and skip most. The graph links products that the same people like or
dislike. Attributes of the products may help where few people rated both. The data are a **simulated
stand-in** for the Sushi data of the paper, which may not be redistributed.
"""

# %%
# Ratings from 0 to 4; most are missing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import SpectralClustering

import kgl

data = kgl.datasets.simulate_sushi()
print(data.origin)
ratings = data.ratings
print(ratings.shape, f"{ratings.isna().to_numpy().mean():.0%} missing")
data.x.head(3)

# %%
# People differ in how generous they are, so the mean of each reviewer is subtracted, too.

with_attributes = kgl.KGL(density=0.2, center="both").fit(ratings, x=data.x)
without = kgl.KGL(density=0.2, center="both").fit(ratings)

# %%
# The stand-in was simulated with groups of products, here side by side on the circle and of one
# colour. Spectral clustering of the learned graph finds them to the extent that ratings show them.
# A normalised mutual information (NMI) of 1 is perfect.

labels, groups = np.unique(np.asarray(data.groups), return_inverse=True)
order = np.argsort(groups, kind="stable")
angle = np.empty(len(groups))
angle[order] = 2 * np.pi * np.arange(len(groups)) / len(groups)
circle = np.column_stack([np.cos(angle), np.sin(angle)])
fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.8))
for ax, model, title in zip(
    axes, (without, with_attributes), ("ratings alone", "ratings and attributes"), strict=True
):
    clusters = SpectralClustering(len(labels), affinity="precomputed", random_state=0)
    nmi = kgl.metrics.nmi(groups, clusters.fit_predict(model.weights_ + 1e-6))
    first, second = np.nonzero(np.triu(model.weights_, 1))
    inside = np.mean(groups[first] == groups[second])
    model.plot(ax=ax, positions=circle, values=groups, labels=False)
    ax.set_title(f"{title}\nNMI {nmi:.2f}, {inside:.0%} of the edges inside a group")

# %%
# Predicted ratings of one reviewer, for products that he or she did not rate:

reviewer = ratings.index[0]
guess = with_attributes.impute(ratings).loc[reviewer]
unrated = guess[ratings.loc[reviewer].isna()].sort_values(ascending=False)
unrated.head(5).round(1).to_frame("predicted rating")

# %%
# **Lesson.** With most entries missing, attributes of the nodes change the graph much. Here they
# find the groups hardly better. Fit with and without them to see what they contribute.
