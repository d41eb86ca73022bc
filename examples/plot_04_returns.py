"""
Returns: negative edges after subtracting the market
====================================================

Prices of shares rise and fall with the market. It is tempting to subtract the mean of each month,
and to read the graph of what is left. What does this do to the edges? The data are **real**:
monthly prices of eight shares and two indices, 1990 to 2022, a sample file that matplotlib ships.
Months before a share was listed are missing values.
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
# ``z`` treats rows as independent. ``center="both"`` subtracts means of columns and of rows.

plain = kgl.KGL(density=0.3).fit(returns)
apart = kgl.KGL(density=0.3, center="both").fit(returns)

names = list(prices.columns)
angle = 2 * np.pi * np.arange(len(names)) / len(names)
circle = np.column_stack([np.cos(angle), np.sin(angle)])
fig, axes = plt.subplots(1, 2, figsize=(9, 4.8))
for ax, model, title in zip(axes, (plain, apart), ('center="node"', 'center="both"'), strict=True):
    negative = int(model.to_edges().sign.lt(0).sum())
    model.plot(ax=ax, positions=circle, labels=False)
    ax.set_title(f"{title}: {len(model.to_edges())} edges, {negative} negative")
    for name, (across, up) in zip(names, 1.1 * circle, strict=True):
        ax.text(across, up, name, ha="left" if across > 0 else "right", va="center")
    ax.set(xlim=(-1.7, 1.7), ylim=(-1.2, 1.2))

# %%
# Most edges on the right are negative, and took the places of positive ones. With ten columns the
# mean of a month holds a tenth of each of them. Columns with nothing in common but the market then
# depart from it in opposite directions, so that these edges say little.
#
# Without signs, only differences of columns count, and what is subtracted from both has no effect
# on them but for the scales. The two graphs are then nearly the same:

unsigned = [kgl.KGL(density=0.3, signed=False, center=c).fit(returns) for c in ("node", "both")]
first, second = (set(model.to_networkx().edges) for model in unsigned)
print(f"{len(first & second)} of {len(first)} edges are in both")

# %%
# **Lesson.** Subtract the mean of rows only in tables of many columns, or set ``signed=False``. And
# mind short records: DELL was listed for six of the 32 years. This graph describes past returns; it
# predicts no price.
