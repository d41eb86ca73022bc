"""When does it pay? Errors relative to the best baseline, by method and pattern of gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter

from experiments.figures import Drawn, Inputs, panels, style
from experiments.pays.methods import METHODS
from experiments.pays.summary import LABELS, PATTERN_LABELS, relative

#: Color, marker and label of a table, by whether it has covariates of nodes and of rows.
_SIDES = {
    (True, True): ("#D55E00", "s", "x and z"),
    (True, False): ("#009E73", "^", "x"),
    (False, True): ("#0072B2", "o", "z"),
    (False, False): ("#777777", "D", "neither"),
}
_TICKS = (0.25, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)
#: Height of a method, and of what a panel has besides, in inches.
_ROW, _FRAME = 0.165, 0.5


def overview(inputs: Inputs) -> Drawn:
    """Draw a panel for each pattern: a row for each method, a dot for each table and rate."""
    numbers = relative(inputs.table)
    patterns = [name for name in PATTERN_LABELS if name in set(numbers["pattern"])]
    parts = [numbers[numbers["pattern"] == name] for name in patterns]
    heights = [_ROW * part["method"].nunique() + _FRAME for part in parts]
    fig = Figure(figsize=(style.COLUMN, sum(heights) + 0.35), layout="constrained")
    axes = fig.subplots(len(parts), 1, squeeze=False, height_ratios=heights, sharex=True)[:, 0]
    for ax, name, part in zip(axes, patterns, parts, strict=True):
        _panel(ax, part)
        ax.set_title(PATTERN_LABELS[name].capitalize(), loc="left")
    drawn = numbers["relative"].dropna()
    low, high = min(0.8, drawn.min() * 0.9), max(1.6, drawn.max() * 1.1)
    axes[-1].set_xscale("log")
    axes[-1].set_xlim(low, high)
    axes[-1].xaxis.set_major_locator(FixedLocator([t for t in _TICKS if low <= t <= high]))
    axes[-1].xaxis.set_major_formatter("{x:g}")
    axes[-1].xaxis.set_minor_formatter(NullFormatter())
    axes[-1].minorticks_off()
    axes[-1].set_xlabel("RMSE / RMSE of the best baseline")
    found = set(zip(numbers["x"], numbers["z"], strict=True))
    shown = {
        f"{label}": panels.handle(color=color, marker=marker, linestyle="", markersize=3.5)
        for side, (color, marker, label) in _SIDES.items()
        if side in found
    }
    panels.legend(fig, shown, title="tables with covariates", columnspacing=1.0, handlelength=1.0)
    return fig, numbers


def _panel(ax: Axes, part: pd.DataFrame) -> None:
    methods = [name for name in LABELS if name in set(part["method"])]
    ax.axvline(1.0, color=style.GREY, linewidth=0.8, linestyle="--", zorder=1)
    for y, method in enumerate(methods):
        own = part[part["method"] == method].reset_index(drop=True)
        # spread over the height of the row, so that equal values do not hide one another
        places = y + (np.linspace(-0.28, 0.28, len(own)) if len(own) > 1 else np.zeros(1))
        for side, (color, marker, _) in _SIDES.items():
            chosen = ((own["x"] == side[0]) & (own["z"] == side[1])).to_numpy()
            ax.plot(own["relative"][chosen], places[chosen], marker, color=color, markersize=2.4,
                    alpha=0.75, markeredgewidth=0)  # fmt: skip
        middle = own["relative"].median()
        ax.plot([middle, middle], [y - 0.38, y + 0.38], color="black", linewidth=1.4, zorder=1.5)
        if failures := int(own["failures"].sum()):
            runs = int(own["runs"].sum())
            ax.annotate(
                f"{failures} of {runs} failed", (0.99, y), xycoords=("axes fraction", "data"),
                ha="right", va="center", fontsize=6, color=style.ORANGE,
            )  # fmt: skip
    ours = [name for name in methods if name in METHODS and METHODS[name].ours]
    if ours:
        ax.axhline(methods.index(ours[0]) - 0.5, color=style.LIGHT, linewidth=0.6)
    ax.set_yticks(range(len(methods)), [LABELS[name] for name in methods])
    ax.set_ylim(len(methods) - 0.4, -0.6)
    ax.grid(False, axis="y")
