"""The time of an outer iteration against the sizes of a problem."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style
from experiments.times import SECONDS
from kgl._types import Array


def draw(inputs: Inputs) -> Drawn:
    """Seconds against n, a line per m, and against m, a line per n."""
    rows = inputs.grid_rows()
    rows, keys = rows[rows["metric"] == SECONDS], ["graph", "data", "model", "m", "n"]
    numbers = panels.means(rows, keys)
    # other jobs make some runs slow, and none fast
    numbers["median"] = rows.groupby(keys, sort=False)["value"].median().to_numpy()
    fig, axes = panels.grid(1, 2, 2.7, sharey=True)
    for ax, (along, other) in zip(axes[0], (("n", "m"), ("m", "n")), strict=True):
        sizes = sorted(numbers[other].unique())
        for size, look in zip(sizes, panels.size_looks(sizes), strict=True):
            line = numbers[numbers[other] == size].sort_values(along)
            ax.plot(line[along], line["median"], label=f"${other}$ = {size}", **look)
        ax.set_xscale("log")
        ax.set_yscale("log")
        panels.set_levels(ax, numbers[along], log=True)
        ax.set_xlabel(registry.axis_label(along))
        _cubic(ax, numbers, along)
        ax.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.22), frameon=False)
    axes[0, 0].set_ylabel(registry.axis_label(SECONDS))
    return fig, numbers


def _cubic(ax: Axes, numbers: pd.DataFrame, along: str) -> None:
    """Draw growth as the third power through the largest time, as far as the times reach."""
    top, largest = float(numbers["median"].max()), float(numbers[along].max())
    x = np.array([numbers[along].min(), largest], dtype=float)
    y: Array = 1.6 * top * (x / largest) ** 3
    floor = float(numbers["median"].min()) / 1.5
    if y[0] < floor:
        x[0], y[0] = largest * (floor / (1.6 * top)) ** (1 / 3), floor
    ax.plot(x, y, color=style.GREY, linestyle=":", linewidth=1.2, label="third power")
