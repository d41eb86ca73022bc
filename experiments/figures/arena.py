"""Which package finds the graph? Average precision below the best of the cell, by kind of data."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.arena.entrants import ENTRANTS, OURS
from experiments.arena.names import REAL
from experiments.arena.summary import behind, with_shared
from experiments.figures import Drawn, Inputs, panels, style

#: Panels: kinds of cells that are shown together, and what they are called.
_PANELS = {
    "independent": ("plain", "signed"),
    "dependent": ("dependent",),
    "gaps": ("gaps",),
    "covariates": ("side_high", "side_medium", "side_low"),
    "all three": ("all",),
    "real data": (REAL,),
}
_MARKERS = {20: "o", 100: "s", 500: "^"}
#: Of real data, and of sizes without a marker of their own.
_OTHER = "D"
#: Height of a row of names, and of what a panel has besides, in inches.
_ROW, _FRAME = 0.155, 0.95
#: How far behind is drawn; more is at the edge.
_FURTHEST = 0.6
#: Models in conf/model whose looks those here have.
_LOOKS = {"log_degree": "#882255", "bayesian": "black"}


def best(inputs: Inputs) -> Drawn:
    """Draw a panel for each kind of data: a row for each entrant, a dot for each cell."""
    table = with_shared(inputs.table)
    numbers = pd.concat([behind(table, "own"), behind(table, "oracle")], ignore_index=True)
    shown = {k: kinds for k, kinds in _PANELS.items() if set(kinds) & set(numbers["kind"])}
    names = [name for name in ENTRANTS if name in set(numbers["entrant"])]
    fig = Figure(figsize=(style.PAGE, _ROW * len(names) + _FRAME), layout="constrained")
    axes = fig.subplots(1, len(shown), squeeze=False, sharex=True, sharey=True)[0]
    for ax, (title, kinds) in zip(axes, shown.items(), strict=True):
        _panel(ax, numbers[numbers["kind"].isin(kinds)], names)
        ax.set_title(title)
    axes[0].set_yticks(range(len(names)), [ENTRANTS[name].label for name in names])
    for tick, name in zip(axes[0].get_yticklabels(), names, strict=True):
        tick.set_color(_color(name))
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    axes[0].set_xlim(-0.03, _FURTHEST + 0.03)
    axes[0].set_xticks([0, 0.2, 0.4, 0.6], ["0", ".2", ".4", ".6"])
    axes[len(axes) // 2].set_xlabel("average precision below the best of the cell")
    _legend(fig, numbers)
    return fig, numbers


def _color(name: str) -> str:
    if name not in OURS:
        return style.DARK
    return _LOOKS.get(name) or str(panels.look(name)["color"])


def _marker(row: Any) -> str:
    return _OTHER if row["kind"] == REAL else _MARKERS.get(int(row["m"]), _OTHER)


def _panel(ax: Axes, part: pd.DataFrame, names: list[str]) -> None:
    ax.axvline(0.0, color=style.GREY, linewidth=0.8, linestyle="--", zorder=1)
    last = max((k for k, name in enumerate(names) if name in OURS), default=-1)
    ax.axhline(last + 0.5, color=style.LIGHT, linewidth=0.6)
    for y, name in enumerate(names):
        for tuning, place in (("own", -0.17), ("oracle", 0.17)):
            own = part[(part["entrant"] == name) & (part["tuning"] == tuning)]
            for _, row in own[own["behind"].notna()].iterrows():
                ax.plot(min(row["behind"], _FURTHEST), y + place, _marker(row),
                        color=_color(name), markersize=2.8, markeredgewidth=0.6, alpha=0.85,
                        fillstyle="full" if tuning == "own" else "none")  # fmt: skip
        lacking = part[(part["entrant"] == name) & (part["tuning"] == "own")]
        lacking = lacking[lacking["behind"].isna()]
        if len(lacking):
            ax.annotate(
                f"{len(lacking)}", (0.99, y), xycoords=("axes fraction", "data"), ha="right",
                va="center", fontsize=6, color=style.ORANGE, fontweight="bold",
            )  # fmt: skip
    ax.grid(False, axis="y")


def _legend(fig: Figure, numbers: pd.DataFrame) -> None:
    look = {"color": style.DARK, "linestyle": "", "markersize": 3.5}
    sizes = sorted({int(m) for m in numbers.loc[numbers["kind"] != REAL, "m"]})
    shown = {f"m = {m}": panels.handle(**look, marker=_MARKERS.get(m, _OTHER)) for m in sizes}
    if REAL in set(numbers["kind"]):
        shown["real"] = panels.handle(**look, marker=_OTHER)
    shown["own tuning"] = panels.handle(**look, marker="o")
    shown["oracle-tuned"] = panels.handle(**look, marker="o", fillstyle="none")
    if numbers.loc[numbers["tuning"] == "own", "behind"].isna().any():
        shown["number of cells without an answer"] = panels.handle(
            linestyle="", marker="$1$", color=style.ORANGE, markersize=3.5
        )
    panels.legend(fig, shown, columnspacing=1.0, handlelength=1.0)
