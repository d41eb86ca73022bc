"""
State incomes on a map: take out what all nodes share
=====================================================

Incomes of all states of the USA grew for eighty years, so all of them look alike. Which states move
together beyond that? The data are **real**: income per head of 48 states, 1929 to 2009, by the US
Bureau of Economic Analysis. They come with the package libpysal (``pip install libpysal``), and so
do the outlines of the states.
"""

# %%
# Rows are years, columns are states.

import geopandas
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from libpysal.examples import get_path

import kgl

incomes = pd.read_csv(get_path("usjoin.csv")).set_index("Name").drop(columns="STATE_FIPS").T
states = geopandas.read_file(get_path("us48.shp")).set_index("STATE_NAME").loc[incomes.columns]
incomes.iloc[[0, 40, 80], :6]

# %%
# Three tables: logarithms of incomes, their yearly growth, and growth with ``center="both"``, which
# subtracts the mean of each state and of each year. All get the same number of edges.

logs = np.log(incomes)
growth = logs.diff().iloc[1:]
models = {
    "incomes": kgl.KGL(average_degree=4).fit(logs),
    "growth": kgl.KGL(average_degree=4).fit(growth),
    "growth, less the mean of each year": kgl.KGL(average_degree=4, center="both").fit(growth),
}

# %%
# No model was given the map. How many of the positive edges link states with a common border?

border = np.array([states.geometry.touches(shape).to_numpy() for shape in states.geometry])
pairs = np.triu_indices(len(states), 1)
places = pd.DataFrame(
    {"east": states.geometry.centroid.x, "north": states.geometry.centroid.y}, index=states.index
)
fig, axes = plt.subplots(3, 1, figsize=(6.4, 10.5))
for ax, (name, model) in zip(axes, models.items(), strict=True):
    edge = (model.weights_ * model.signs_)[pairs]
    share = border[pairs][edge > 0].mean()
    states.plot(ax=ax, color="0.93", edgecolor="white")
    model.plot(ax=ax, positions=places, labels=False)
    ax.set_title(f"{name}: {share:.0%} of the positive edges link neighbours")
    ax.set(aspect=1 / np.cos(np.radians(39)))
    print(f"{name}: {(edge < 0).sum()} negative edges, {border[pairs][edge < 0].sum()} at a border")

print(f"Of all pairs of states, {border[pairs].mean():.0%} have a common border.")

# %%
# Dashed edges link states that moved opposite to each other, such as Kansas and Vermont. None of
# these pairs are neighbours. The heaviest edges are all positive:

models["growth, less the mean of each year"].to_edges().head(8)

# %%
# **Lesson.** A trend or a cycle that all nodes share can link any of them. Take it out first:
# differences remove a trend, and ``center="both"`` removes what all share in a row. It needs many
# columns; with few it makes negative edges, as the example of stock returns shows.
