"""The verdict on each claim under each specification, as a specification curve."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch

from experiments.figures import Drawn, Inputs, panels, style
from experiments.registry import Verdict

#: From the best verdict to the worst.
VERDICTS = tuple(Verdict)


def draw(inputs: Inputs) -> Drawn:
    """Counts of verdicts, distance from the printed values, and a matrix of all verdicts."""
    table = inputs.table
    unknown = sorted(set(table["verdict"]) - set(VERDICTS))
    if unknown:
        raise ValueError(
            f"{inputs.study}: {', '.join(unknown)} is not a verdict; valid: {', '.join(VERDICTS)}"
        )
    columns = _columns(table)
    claims = panels.unique(table["claim"])
    matrix = (
        table.assign(code=table["verdict"].map(VERDICTS.index))
        .pivot(index="claim", columns="specification", values="code")
        .reindex(index=claims, columns=columns["specification"])
    )
    low = 0.155 * len(claims)
    width = max(style.COLUMN, min(style.PAGE, 1.6 + 0.28 * len(columns)))
    padding = ConstrainedLayoutEngine(h_pad=0.03, hspace=0.0)
    fig = Figure(figsize=(width, 1.3 + 0.9 + low + 2.1), layout=padding)
    bars, dots, cells = fig.subplots(3, 1, sharex=True, height_ratios=[1.3, 0.9, low])
    x = np.arange(len(columns))
    _counts(bars, x, matrix)
    dots.plot(x, columns["h1_distance"], "o", color=style.DARK, markersize=4)
    dots.set_ylabel("distance from\nprinted APS")
    dots.set_ylim(0, 1.15 * np.nanmax([*columns["h1_distance"], 0.01]))
    _matrix(cells, matrix)
    cells.set_xticks(x, columns["choice"], rotation=90)
    cells.set_xlim(-0.5, len(columns) - 0.5)
    _details((bars, dots, cells), columns["detail"].to_numpy())
    shown = {f"{v.symbol} {v.label}": Patch(color=v.color) for v in VERDICTS}
    place = {"columnspacing": None, "handlelength": None}
    panels.legend(fig, shown, 4 if width > style.COLUMN else 2, **place)
    return fig, table


def _columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return the specifications: the default first, then by detail, in the order of the file."""
    found = table.drop_duplicates("specification").reset_index(drop=True)
    details = panels.unique(found["detail"])
    return (
        found.assign(order=found["detail"].map(details.index), other=~found["default"].astype(bool))
        .sort_values(["other", "order"], kind="stable")
        .reset_index(drop=True)
    )


def _counts(ax: Axes, x: Any, matrix: pd.DataFrame) -> None:
    """Stack the number of claims with each verdict."""
    base = np.zeros(len(x))
    for code, verdict in enumerate(VERDICTS):
        count = (matrix == code).sum().to_numpy()
        ax.bar(x, count, bottom=base, color=verdict.color, width=0.8, label=verdict.label)
        base += count
    ax.set_ylabel("claims")
    ax.grid(False, axis="x")


def _matrix(ax: Axes, matrix: pd.DataFrame) -> None:
    """Color a cell per claim and specification; symbols are for those who see no colors."""
    picture = np.ones((*matrix.shape, 3))
    for code, verdict in enumerate(VERDICTS):
        at = matrix.to_numpy() == code
        picture[at] = to_rgb(verdict.color)
        pale = verdict in (Verdict.PARTLY, Verdict.NOT_EVALUATED)
        for row, column in np.argwhere(at):
            ax.text(column, row, verdict.symbol, color="black" if pale else "white", fontsize=6,
                    ha="center", va="center_baseline")  # fmt: skip
    ax.imshow(picture, aspect="auto", interpolation="nearest")
    ax.set_yticks(range(len(matrix)), list(matrix.index), fontsize=6)
    ax.grid(False)
    for row in range(1, len(matrix)):
        ax.axhline(row - 0.5, color="white", linewidth=0.5)
    for column in range(1, matrix.shape[1]):
        ax.axvline(column - 0.5, color="white", linewidth=0.5)
    ax.tick_params(length=0)
    ax.spines[["left", "bottom"]].set_visible(False)


def _details(axes: tuple[Axes, ...], details: Any) -> None:
    """Separate the specifications by the detail that they change, named on top."""
    ends = [0, *(np.flatnonzero(details[1:] != details[:-1]) + 1), len(details)]
    for start, stop in pairwise(ends):
        if start:
            for ax in axes:
                ax.axvline(start - 0.5, color=style.DARK, linewidth=0.8)
        axes[0].text((start + stop - 1) / 2, 1.03, details[start], rotation=90, ha="center",
                     va="bottom", fontsize=7, transform=axes[0].get_xaxis_transform())  # fmt: skip
