"""
Digits: a graph of pixels finds the picture plane
=================================================

Take 8 x 8 images of digits, and forget where the pixels are. Pixels that are dark together should
be neighbours. The data are **real**: handwritten digits that scikit-learn ships.
"""

# %%
# Each image is an observation, each pixel a node. Pixels that are always white are left out.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import kgl

images = load_digits().data[:400]
varied = np.flatnonzero(images.std(axis=0) > 0.5)
rows, cols = np.divmod(varied, 8)
print(f"{len(varied)} of 64 pixels vary")

# %%
# Four neighbours on average, as on a grid. The model is not given the positions.

model = kgl.KGL(average_degree=4, signed=False, log=False).fit(images[:, varied])
print(model.summary())

# %%
# How long are the edges in the picture plane, compared with random pairs?

places = np.column_stack([cols, 7 - rows])
first, second = np.nonzero(np.triu(model.weights_, 1))
length = np.hypot(*(places[first] - places[second]).T)
pairs = np.hypot(*(places[:, None] - places).reshape(-1, 2).T)
pairs = pairs[pairs > 0]
print(f"edges between pixels that touch: {np.mean(length < 1.5):.0%}")
print(f"pairs of pixels that touch:      {np.mean(pairs < 1.5):.0%}")

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2))
brightness = images[:, varied].mean(axis=0)
model.plot(
    ax=left,
    positions=places,
    values=brightness,
    values_label="mean darkness (0 to 16)",
    labels=False,
    title="Learned graph, pixels at their places",
)
bins = np.arange(0.75, 8.5, 0.5)
for values, name, colour in ((pairs, "all pairs", "0.7"), (length, "edges", "C1")):
    right.hist(
        values, bins, density=True, histtype="stepfilled", alpha=0.6, color=colour, label=name
    )
right.set(xlabel="distance in the picture (pixels)", ylabel="density", title="Edges are short")
right.legend(frameon=False)

# %%
# **Lesson.** Smoothness alone recovers much of the geometry. What it misses are links such as those
# between strokes that often occur together.
