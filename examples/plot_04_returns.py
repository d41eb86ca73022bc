"""
Returns: take out what all prices share
=======================================

Prices of shares rise and fall with the market. A graph of returns then shows the market and little
else. With ``center="both"`` the mean of each month is subtracted, too, and the graph links shares
that depart from the market together. The data are **real**: monthly prices of eight shares and two
indices, 1990 to 2022, a sample file that matplotlib ships. Later listings are missing values.
"""

# %%
# Monthly log returns. A share without a price has no return.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib import cbook

import kgl

with cbook.get_sample_data("Stocks.csv") as file:
    prices = pd.read_csv(file, comment="#", index_col=0, parse_dates=True)
prices = prices.rename(columns={"^GSPC": "S&P 500", "^IXIC": "NASDAQ"})
returns = np.log(prices.dropna(how="all")).diff().iloc[1:]
print(returns.shape, f"{returns.isna().to_numpy().mean():.0%} missing")
returns.tail(3).round(3)

# %%
# Returns of one month hardly depend on those of the next, so months need no kernel: ``KGL`` without
# ``z`` treats rows as independent. Both graphs link what moves together (``signed=False``).

plain = kgl.KGL(density=0.3, signed=False).fit(returns)
apart = kgl.KGL(density=0.3, signed=False, center="both").fit(returns)

names = list(prices.columns)
angle = 2 * np.pi * np.arange(len(names)) / len(names)
circle = np.column_stack([np.cos(angle), np.sin(angle)])
fig, axes = plt.subplots(1, 2, figsize=(9, 4.6))
for ax, model, title in zip(
    axes, (plain, apart), ("Returns", "Returns minus the mean of the month"), strict=True
):
    model.plot(ax=ax, positions=circle, labels=False, title=title)
    for name, (across, up) in zip(names, 1.1 * circle, strict=True):
        ax.text(across, up, name, ha="left" if across > 0 else "right", va="center")
    ax.set(xlim=(-1.7, 1.7), ylim=(-1.2, 1.2))

# %%
# The heaviest edges, before and after:

frames = {"returns": plain.to_edges(), "minus the mean of the month": apart.to_edges()}
for name, edges in frames.items():
    top = edges.head(5)
    print(f"{name}: " + ", ".join(f"{a}-{b}" for a, b in zip(top.source, top.target, strict=True)))

# %%
# With ten columns the mean of a month holds a tenth of each of them. Two columns that have nothing
# in common but the market then depart in opposite directions more often than not. A signed graph
# of such departures therefore has many negative edges that mean little:

signed = kgl.KGL(density=0.3, center="both").fit(returns)
print(signed.summary().splitlines()[0])

# %%
# **Lesson.** Decide what is of interest: movements that all share (``center="node"``) or departures
# from them (``center="both"``). The latter suits tables of many columns. This is a description of
# past returns and predicts no price.
