"""
Brain-like time series: a connectivity matrix
=============================================

Packages for brain imaging hold signals as ``(time, regions)`` arrays and connectivity as symmetric
``(regions, regions)`` matrices. That is what :class:`kgl.KGL` takes and what ``weights_`` is. The
signals are **simulated**: three networks of eight regions, slow common fluctuations, and noise that
depends on the time before.
"""

# %%
# 24 regions and 180 scans, one every two seconds.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import average_precision_score

import kgl

rng = np.random.default_rng(4)
scans, regions, networks = 180, 24, 3
member = np.repeat(np.arange(networks), regions // networks)


def slow(columns, memory=0.8):
    """Autoregressive noise of unit variance: each value depends on the one before."""
    series = rng.normal(size=(scans, columns))
    for t in range(1, scans):
        series[t] = memory * series[t - 1] + np.sqrt(1 - memory**2) * series[t]
    return series


signals = 0.8 * slow(networks)[:, member] + slow(regions) + 0.4 * rng.normal(size=(scans, regions))
seconds = 2.0 * np.arange(scans)

# %%
# With the time of each scan as a covariate, successive scans do not count as independent evidence.

model = kgl.KGL(density=0.3).fit(signals, z=seconds)
correlation = np.corrcoef(signals, rowvar=False)
connectivity = model.weights_ * model.signs_  # symmetric, zero diagonal, as plotters expect
assert np.allclose(connectivity, connectivity.T)
assert not connectivity.diagonal().any()

# %%
# Left: correlations. Right: the learned graph, which is sparse. The three blocks are the networks.

upper = np.triu_indices(regions, 1)
same = (member[:, None] == member)[upper]
fig, axes = plt.subplots(1, 2, figsize=(9, 4.3))
for ax, matrix, name in zip(
    axes, (correlation, connectivity), ("correlation", "edge weight with sign"), strict=True
):
    shown = matrix - np.diag(np.diag(matrix))
    bound = np.abs(shown).max()
    image = ax.imshow(shown, cmap="PuOr_r", vmin=-bound, vmax=bound)
    score = average_precision_score(same, np.abs(matrix[upper]))
    ax.set(xlabel="region", ylabel="region", title=f"{name}\naverage precision {score:.2f}")
    fig.colorbar(image, ax=ax, label=name, shrink=0.8)

print(f"{np.mean(correlation[upper] != 0):.0%} of the pairs correlate, {model.summary()}")

# %%
# **Lesson.** The learned matrix fits where a connectivity matrix is expected. The average precision
# says how well each ranks pairs of one network above others; look at both before you prefer one.
