"""
How many edges? Trust those that return
=======================================

The density is a choice. Edges that change with it, or with the sample, are not findings. Refit on
halves of the rows and count how often each edge returns. The data are **simulated** and have a
ground truth, so the counts can be checked.
"""

# %%
# Independent observations on a random graph of twenty nodes.

import matplotlib.pyplot as plt
import numpy as np

import kgl

data = kgl.simulate.make_dataset("er", m=20, n=120, density=0.2, noise=0.1, unit_variance=True)
true = np.triu(data.W > 0, 1)
rng = np.random.default_rng(0)

# %%
# Fifty halves of the rows, one graph each.

count = np.zeros_like(data.W)
for _ in range(50):
    half = rng.choice(len(data.Y), len(data.Y) // 2, replace=False)
    count += kgl.KGLN(density=0.2, signed=False).fit(data.Y[half]).weights_ > 0
frequency = count / 50
pairs = np.triu_indices(20, 1)

# %%
# How many of the edges with a given frequency are true?

edges = np.array([0.0, 0.02, 0.2, 0.4, 0.6, 0.8, 0.98, 1.01])
names = ["never", "to 0.2", "to 0.4", "to 0.6", "to 0.8", "to 0.98", "always"]
place = np.digitize(frequency[pairs], edges) - 1
share = [true[pairs][place == k].mean() if (place == k).any() else np.nan for k in range(7)]
number = np.bincount(place, minlength=7)

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.4), width_ratios=[1.2, 1])
left.bar(names, share, color="C0", alpha=0.7)
for k, value in enumerate(share):
    if number[k]:
        left.text(k, value + 0.02, f"{number[k]} pairs", ha="center", fontsize=8)
left.tick_params(axis="x", labelrotation=30)
left.set(ylabel="share that are true edges", xlabel="share of half-samples with the edge")
left.set(ylim=(0, 1.1), title="Edges that return are more often true")

angle = 2 * np.pi * np.arange(20) / 20
circle = np.column_stack([np.cos(angle), np.sin(angle)])
often = frequency > 0.6
kinds = {
    "returns, true": (often & true, "C0", "-", 2.5),
    "returns, not true": (often & ~true, "C1", "--", 2.0),
    "true, returns less often": (~often & true, "0.6", ":", 1.0),
}
for name, (which, colour, style, width) in kinds.items():
    right.plot([], [], style, color=colour, lw=width, label=name)
    for i, j in zip(*np.nonzero(np.triu(which, 1)), strict=True):
        right.plot(*circle[[i, j]].T, style, color=colour, lw=width)
right.plot(*circle.T, "o", color="k", ms=5)
right.set(aspect="equal", title="Edges in more than 60 % of the halves")
right.set_axis_off()
right.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize=8, ncols=3)

# %%
# :func:`kgl.stability` does the same with complementary pairs of halves, and bounds the number of
# edges that come back by chance. :class:`kgl.BayesianKGL` has probabilities instead.
#
# **Lesson.** Report edges with the frequency at which they return. Half-samples overlap and are
# smaller than the data, so the frequency is a ranking, not a probability.
