"""Readings of the paper: the verdict on each claim under each, as a specification curve."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.figures import Inputs, style

#: From the best verdict to the worst.
VERDICTS = tuple(style.VERDICT_COLOURS)


def draw(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """Counts of verdicts, distance from the printed values, and a matrix of all verdicts."""
    table = inputs.table
    unknown = set(table["verdict"]) - set(VERDICTS)
    if unknown:
        raise ValueError(f"{inputs.study}: {', '.join(sorted(unknown))} is no verdict")
    readings = _readings(table)
    claims = list(dict.fromkeys(table["claim"]))
    codes = table["verdict"].map(VERDICTS.index)
    matrix = (
        table.assign(code=codes)
        .pivot(index="claim", columns="reading", values="code")
        .reindex(index=claims, columns=readings["reading"])
    )
    low = 0.155 * len(claims)
    width = max(style.COLUMN, min(style.PAGE, 1.6 + 0.28 * len(readings)))
    fig = Figure(figsize=(width, 1.3 + 0.9 + low + 2.1), layout="constrained")
    fig.get_layout_engine().set(h_pad=0.03, hspace=0.0)
    bars, dots, cells = fig.subplots(3, 1, sharex=True, height_ratios=[1.3, 0.9, low])
    x = np.arange(len(readings))
    _counts(bars, x, matrix)
    dots.plot(x, readings["h1_distance"], "o", color="#333333", markersize=4)
    dots.set_ylabel("distance from\nprinted APS")
    dots.set_ylim(0, 1.15 * np.nanmax([*readings["h1_distance"], 0.01]))
    _matrix(cells, matrix)
    cells.set_xticks(x, readings["change"], rotation=90)
    cells.set_xlim(-0.5, len(readings) - 0.5)
    _settings((bars, dots, cells), readings)
    handles = [Patch(color=colour) for colour in style.VERDICT_COLOURS.values()]
    labels = [f"{style.VERDICT_SYMBOLS[verdict]} {verdict}" for verdict in VERDICTS]
    fig.legend(handles, labels, loc="outside lower center", frameon=False,
               ncols=4 if width > style.COLUMN else 2)  # fmt: skip
    return fig, table


# -------------------------------------------------------------------------------------- parts


def _readings(table: pd.DataFrame) -> pd.DataFrame:
    """Return the readings: the default first, then by setting, in the order of the file."""
    found = table.drop_duplicates("reading").reset_index(drop=True)
    settings = list(dict.fromkeys(found["setting"]))
    order = found["setting"].map(settings.index)
    default = found["default"].astype(bool)
    return (
        found.assign(order=order, other=~default)
        .sort_values(["other", "order"], kind="stable")
        .reset_index(drop=True)[["reading", "setting", "change", "default", "h1_distance"]]
    )


def _counts(ax: Axes, x: np.ndarray, matrix: pd.DataFrame) -> None:
    """Stack how many claims have each verdict."""
    base = np.zeros(len(x))
    for code, verdict in enumerate(VERDICTS):
        count = (matrix == code).sum().to_numpy()
        colour = style.VERDICT_COLOURS[verdict]
        ax.bar(x, count, bottom=base, color=colour, width=0.8, label=verdict)
        base += count
    ax.set_ylabel("claims")
    ax.grid(False, axis="x")


def _matrix(ax: Axes, matrix: pd.DataFrame) -> None:
    """Colour a cell per claim and reading, with a symbol for those who see no colours."""
    picture = np.ones((*matrix.shape, 3))
    for code, verdict in enumerate(VERDICTS):
        at = matrix.to_numpy() == code
        picture[at] = to_rgb(style.VERDICT_COLOURS[verdict])
        for row, column in np.argwhere(at):
            colour = "black" if verdict in ("partly", "not evaluated") else "white"
            ax.text(column, row, style.VERDICT_SYMBOLS[verdict], color=colour, fontsize=6,
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


def _settings(axes: tuple[Axes, ...], readings: pd.DataFrame) -> None:
    """Part the readings by setting, and name the settings on top."""
    settings = readings["setting"].to_numpy()
    ends = [0, *(np.flatnonzero(settings[1:] != settings[:-1]) + 1), len(settings)]
    for start, stop in pairwise(ends):
        if start:
            for ax in axes:
                ax.axvline(start - 0.5, color="#333333", linewidth=0.8)
        axes[0].text((start + stop - 1) / 2, 1.03, settings[start], rotation=90, ha="center",
                     va="bottom", fontsize=7, transform=axes[0].get_xaxis_transform())  # fmt: skip
