"""
In a scikit-learn pipeline: impute, then classify
=================================================

:class:`kgl.KGLImputer` stands where ``KNNImputer`` stands. The data are **real**: 569 tumours with
thirty measurements, which scikit-learn ships. Thirty per cent of the entries are removed at random,
so the imputed values can be compared with the true ones.
"""

# %%
# Remove entries, and hold out a third of the patients.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kgl

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
gone = rng.random(X.shape) < 0.3
train, test = train_test_split(np.arange(len(X)), test_size=1 / 3, stratify=y, random_state=0)
holes = X.mask(gone)

# %%
# ``KNNImputer`` depends on the units of columns, so a scaler goes first. ``KGLImputer`` scales
# inside. New patients are filled given the graph of the training patients.

imputers = {
    "mean": make_pipeline(StandardScaler(), SimpleImputer()),
    "KNN": make_pipeline(StandardScaler(), KNNImputer()),
    "KGL": make_pipeline(StandardScaler(), kgl.KGLImputer()),
}
errors, accuracy = {}, {}
for name, imputer in imputers.items():
    pipeline = make_pipeline(imputer, LogisticRegression(max_iter=1000))
    pipeline.fit(holes.iloc[train], y.iloc[train])
    accuracy[name] = pipeline.score(holes.iloc[test], y.iloc[test])
    scaler = imputer[0]
    filled = scaler.inverse_transform(np.asarray(imputer.transform(holes.iloc[test])))
    off = (filled - X.iloc[test].to_numpy()) / X.iloc[train].std().to_numpy()
    errors[name] = float(np.sqrt(np.mean(off[gone[test]] ** 2)))
    print(f"{name:5s} RMSE {errors[name]:.2f} standard deviations, accuracy {accuracy[name]:.3f}")

# %%
# The fitted graph is an attribute. Every quantity was measured as a mean, a standard error and a
# worst value: the stripes beside the diagonal link the three.

graph = pipeline[0][-1].estimator_
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 5.6), width_ratios=[1, 1.9])
left.bar(errors.keys(), errors.values(), color=["0.7", "C2", "C0"])
for place, value in enumerate(errors.values()):
    left.text(place, value, f"{value:.2f}", ha="center", va="bottom")
left.set(ylabel="RMSE at removed entries (standard deviations)", title="New patients")
image = right.imshow(graph.weights_ * graph.signs_, cmap="PuOr_r", vmin=-0.5, vmax=0.5)
right.set_yticks(range(30), X.columns, fontsize=8)
right.set_xticks([4.5, 14.5, 24.5], ["mean ...", "... error", "worst ..."])
right.set_title("Learned graph")
fig.colorbar(image, ax=right, label="edge weight with sign", shrink=0.7)

# %%
# **Lesson.** A better imputation need not change the accuracy of a classifier. Measure both.
