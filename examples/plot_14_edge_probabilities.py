"""
What does an edge probability of 0.6 mean?
==========================================

That about six in ten of the pairs with such a probability are edges. :class:`kgl.BayesianKGL`
states probabilities; whether they hold can be checked where the ground truth is known. The data
are **simulated**: six random graphs, with signals observed in noise.
"""

# %%
# One data set first. The default states no belief about the density, and learns it.

import warnings

import matplotlib.pyplot as plt
import numpy as np

import kgl


def simulate(seed):
    """Return sixty observations on a random graph of twelve nodes, three pairs in ten linked."""
    how = {"m": 12, "n": 60, "density": 0.3, "noise": 0.1, "unit_variance": True}
    return kgl.simulate.make_dataset("er", **how, seed=seed)


warnings.simplefilter("ignore")  # eight chains are few: probabilities may be off by 0.1
data = simulate(0)
model = kgl.BayesianKGL(n_chains=8).fit(data.Y)
print(model.summary())
print(model.to_edges().round(2).head(8))

# %%
# The picture has the pairs above one half, with the more probable ones thicker and darker.

angle = 2 * np.pi * np.arange(12) / 12
circle = np.column_stack([np.cos(angle), np.sin(angle)])
model.plot(positions=circle, title="Edges by probability")

# %%
# Are they right? Count, over six graphs, how many of the pairs with a given probability are edges.
# For comparison, do the same with the share of half-samples in which GL selects a pair
# (:func:`kgl.stability`). Both need a density: the true one, 0.3, and a wrong one, 0.6.

pairs = np.triu_indices(12, 1)
truth = []
found = {(kind, density): [] for kind in ("probability", "halves") for density in (0.3, 0.6)}
for seed in range(6):
    data = simulate(seed)
    truth.append(data.W[pairs] > 0)
    for density in (0.3, 0.6):
        model = kgl.BayesianKGL(n_chains=8, density=density).fit(data.Y)
        found["probability", density].append(model.edge_probability_[pairs])
        halves = kgl.stability(kgl.GL(density=density, signed=False), data.Y, n_pairs=10)
        found["halves", density].append(halves.frequency[pairs])
truth = np.concatenate(truth)


def reliability(stated):
    """Return mean statement, share of edges, its standard error and count in each fifth."""
    stated = np.concatenate(stated)
    fifth = np.minimum((5 * stated).astype(int), 4)
    rows = []
    for k in np.unique(fifth):
        own = truth[fifth == k]
        # as if there were two more pairs, one of them an edge, so that no error is zero
        share = (own.sum() + 1) / (len(own) + 2)
        error = np.sqrt(share * (1 - share) / len(own))
        rows.append((stated[fifth == k].mean(), own.mean(), error, len(own)))
    return np.array(rows).T


fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
styles = {0.3: ("o-", "C0"), 0.6: ("^:", "C1")}
for (kind, density), stated in found.items():
    ax = axes[0] if kind == "probability" else axes[1]
    where, share, error, count = reliability(stated)
    style, colour = styles[density]
    label = f"density {density}" + (" (true)" if density == 0.3 else " (wrong)")
    ax.errorbar(where, share, 2 * error, fmt=style, color=colour, capsize=3, label=label)
    print(kind, "with density", density)
    for row in zip(where, share, 2 * error, count, strict=True):
        print("  stated {:.2f}: {:.2f} +- {:.2f} are edges ({:.0f} pairs)".format(*row))
for ax in axes:
    ax.plot([0, 1], [0, 1], color="0.6", lw=1, label="as stated")
    ax.set(xlim=(0, 1), ylim=(-0.03, 1.03))
    ax.legend(frameon=False, fontsize=8)
axes[0].set(xlabel="probability of the pair", ylabel="share that are edges")
axes[0].set_title("Probabilities")
axes[1].set(xlabel="share of half-samples with the pair", title="Reproducibility")

# %%
# With the true density, the share of edges follows the stated probability. Shares of halves look
# alike then, but they state something else: how often GL finds the pair in half of the data. Ask
# it for twice as many edges, and pairs come back far more often while no more of them are true. A
# wrong belief about the density shifts probabilities too, but less among the most probable pairs,
# where the data decide.
#
# **Lesson.** Read 0.6 as "six in ten of such pairs", given the model and the density. Without a
# belief leave the density out: it is learned. Coming back in 0.6 of the half-samples is
# reproducibility. It ranks pairs, and depends on the number of edges that was asked for.
