"""
The leak in K_x: a kernel made from the answer
==============================================

In the simulations of the paper the node kernel is ``K_x = (I + alpha L)^-1``, computed from the
very graph that is to be learned. A model with this kernel then finds the graph even where the data
are pure noise. This control should go with every experiment with side information. The data are
**simulated**.
"""

# %%
# Weak signals on stochastic block models, and noise without any signal. ``lam`` is the weight of
# the kernel in KGL-N: the larger, the more the fitted signals follow ``K_x``.

import matplotlib.pyplot as plt
import numpy as np

import kgl

replicates, lams = 5, np.logspace(-4, 2, 7)
scores = {"weak signals": [], "pure noise": []}
without = {"weak signals": [], "pure noise": []}
kernel_alone = []
rng = np.random.default_rng(0)
for replicate in range(replicates):
    data = kgl.simulate.make_dataset("sbm", m=20, n=100, replicate=replicate, noise=0.25)
    kernel_alone.append(kgl.metrics.aps(data.W, np.abs(data.K_x)))
    noise = rng.normal(size=data.Y.shape)
    for kind, Y in {"weak signals": data.Y, "pure noise": noise}.items():
        options = {"density": 0.3, "signed": False}
        fitted = [kgl.KGLN(lam=lam, rho=0.01, **options).fit(Y, K_x=data.K_x) for lam in lams]
        scores[kind].append([kgl.metrics.aps(data.W, model.weights_) for model in fitted])
        without[kind].append(kgl.metrics.aps(data.W, kgl.GL(**options).fit(Y).weights_))

# %%
# Average precision of the edges, mean and range of the replicates.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for ax, (kind, values) in zip(axes, scores.items(), strict=True):
    values = np.array(values)
    ax.plot(lams, values.mean(axis=0), "o-", label="KGL-N with K_x")
    ax.fill_between(lams, values.min(axis=0), values.max(axis=0), alpha=0.15)
    ax.axhline(np.mean(without[kind]), color="C2", ls="-.", label="GL (no kernel)")
    ax.axhline(np.mean(kernel_alone), color="C1", ls="--", label="K_x used as the graph, no data")
    ax.axhline(0.3, color="0.4", ls=":", label="guessing")
    ax.set(xscale="log", xlabel="lam", title=f"Data: {kind}", ylim=(0, 1.05))
axes[0].set_ylabel("average precision of the edges")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)

# %%
# **Lesson.** A high score of a model with side information proves nothing by itself. Fit the model
# to noise, and use the kernel alone as a graph: what they reach did not come from the signals.
