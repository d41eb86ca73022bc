"""Differences between models under other graphs, solvers and scoring, beside the default."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style
from experiments.figures.gains import interval
from experiments.score import best_points
from kgl._types import Array

#: Panels in a row, and the height of a choice in inches.
ACROSS, HEIGHT = 2, 0.18
#: The band of the default, and the mark of a sign that is not the default's.
BAND: dict[str, Any] = {"facecolor": "#d5d5d5", "edgecolor": "none"}
OTHER_SIGN: dict[str, Any] = {"marker": "x", "color": "black", "linestyle": "none"}


@dataclass(frozen=True)
class Setting:
    """Which fits are compared, and how they are scored.

    Attributes
    ----------
    graph : str
        The family.
    variant : str
        What follows the name of a model, where the study has such a model: ``loose`` takes
        ``kgl_loose`` instead of ``kgl``.
    metric : str
        Of which the best point is taken.
    best : {"replicate", "mean"}
        As in :func:`experiments.score.best_points`.
    """

    graph: str
    variant: str = ""
    metric: str = "aps"
    best: str = "replicate"


def draw(inputs: Inputs) -> Drawn:
    """One panel per contrast, one row per choice: paired intervals over the default's band."""
    numbers = contrasts(inputs)
    places, names = _places(numbers)
    shown = panels.groups(numbers, ["contrast"])
    rows = -(-len(shown) // ACROSS)
    size = (style.COLUMN, rows * (HEIGHT * len(names) + 0.45) + 0.65)
    fig = Figure(figsize=size, layout="constrained")
    axes = fig.subplots(rows, min(ACROSS, len(shown)), squeeze=False, sharey=True)
    for ax in axes.flat[len(shown) :]:
        ax.set_visible(False)
    for (_, part), ax in zip(shown, axes.flat, strict=False):
        _forest(ax, part, places)
    first = axes[0, 0]
    first.set_ylim(max(names) + 0.6, min(names) - 0.6)
    first.set_yticks(list(names), list(names.values()))
    for ax in axes[:, 0]:
        for place, tick in zip(names, ax.get_yticklabels(), strict=True):
            tick.set_fontweight("normal" if place in places.values() else "bold")
    for ax in axes[-1]:
        ax.set_xlabel(f"difference in {registry.axis_label('aps')}")
    panels.legend(fig, _handles(panels.unique(numbers["noise"])), 2)
    return fig, numbers


# ------------------------------------------------------------------------------------ numbers


def contrasts(inputs: Inputs) -> pd.DataFrame:
    """Return each contrast under each choice, beside that of its default.

    ``same_sign``: whether both intervals lie above zero, both below, or neither on one side.
    """
    rows, options = inputs.grid_rows(), inputs.config["options"]
    found = []
    for choice, about in options["choices"].items():
        default, changed = _settings(about, inputs.config["graph"][0])
        known = {"kind": about["kind"], "choice": choice, "label": _label(about)}
        for data, noise, pair in _compared(inputs):
            own, base = (_difference(rows, s, data, noise, pair) for s in (changed, default))
            row = known | {"data": data, "noise": noise, "contrast": "-".join(pair)}
            row |= dict(zip(("mean", "low", "high"), interval(own), strict=True))
            names = ("default_mean", "default_low", "default_high")
            row |= dict(zip(names, interval(base), strict=True)) | {"runs": len(own)}
            found.append(row | {"same_sign": _sign(own) == _sign(base)})
    return pd.DataFrame(found)


def _settings(about: dict[str, Any], first: str) -> tuple[Setting, Setting]:
    """Return the default of a choice, and what the choice makes of it."""
    default = Setting(about.get("default", first))
    changes = {k: v for k, v in about.items() if k not in ("kind", "label", "default")}
    return default, replace(default, **changes)


def _label(about: dict[str, Any]) -> str:
    return str(about.get("label") or registry.family_label(about["graph"]))


def _compared(inputs: Inputs) -> Iterator[tuple[str, float, tuple[str, str]]]:
    """Yield the kind of data, noise level and models of each contrast."""
    noise = panels.unique(inputs.table["noise"])
    for data, pairs in inputs.config["options"]["contrasts"].items():
        for model, against in pairs:
            yield from ((data, level, (model, against)) for level in noise)


def _difference(
    rows: pd.DataFrame, setting: Setting, data: str, noise: float, pair: tuple[str, str]
) -> Array:
    """Return the difference of two models for each replicate."""
    known = (rows["graph"] == setting.graph) & (rows["data"] == data) & (rows["noise"] == noise)
    rows = rows[known & (rows["metric"] == setting.metric)]
    model, against = (_tuned(rows, name, setting) for name in pair)
    return (model - against).to_numpy()


def _tuned(rows: pd.DataFrame, model: str, setting: Setting) -> pd.Series:
    """Return the score of a model at the selected grid point of each replicate."""
    variant = f"{model}_{setting.variant}"
    own = rows[rows["model"] == (variant if variant in set(rows["model"]) else model)]
    point = own.groupby("replicate").cumcount()
    values = own.assign(point=point).pivot(index="replicate", columns="point", values="value")
    chosen = best_points(values.to_numpy(), highest=True, best=setting.best)
    return pd.Series(values.to_numpy()[np.arange(len(values)), chosen], values.index)


def _sign(values: Array) -> int:
    """Return 1 or -1 if the interval of a mean lies above or below zero, otherwise 0."""
    _, low, high = interval(values)
    return int(low > 0) - int(high < 0)


# -------------------------------------------------------------------------------------- parts


def _places(numbers: pd.DataFrame) -> tuple[dict[str, float], dict[float, str]]:
    """Return the height of each choice, and the names at all heights: kinds come before theirs."""
    places: dict[str, float] = {}
    names: dict[float, str] = {}
    for (kind,), part in panels.groups(numbers, ["kind"]):
        names[float(len(names))] = kind
        for choice, label in part.drop_duplicates("choice")[["choice", "label"]].to_numpy():
            places[choice] = float(len(names))
            names[places[choice]] = label
    return places, names


def _forest(ax: Axes, part: pd.DataFrame, places: dict[str, float]) -> None:
    """Draw one contrast; levels of noise are dodged."""
    model, against = part["contrast"].iloc[0].split("-")
    color, levels = registry.model(model).color, panels.unique(part["noise"])
    for row in part.to_dict("records"):
        y, k = places[row["choice"]], levels.index(row["noise"])
        at = y + 0.32 * (k - (len(levels) - 1) / 2)
        if np.isfinite(row["default_low"]):  # of one replicate there is no interval
            width = row["default_high"] - row["default_low"]
            ax.add_patch(Rectangle((row["default_low"], y - 0.5), width, 1.0, zorder=0.5, **BAND))
            ax.plot([row["low"], row["high"]], [at, at], color=color, linewidth=1.1)
        ax.plot(row["mean"], at, "o", color=color, markersize=3.6, markeredgewidth=0.9,
                markerfacecolor=_fill(k, len(levels), color))  # fmt: skip
        if not row["same_sign"]:
            ax.plot(row["mean"], at, markersize=6, **OTHER_SIGN)
    ax.axvline(0, color=style.DARK, linewidth=0.8, zorder=1)
    ax.set_title(f"{registry.name_of(model)} minus\n{registry.name_of(against)}", fontsize=8)
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.margins(x=0.08)
    ax.locator_params(axis="x", nbins=4)


def _fill(k: int, count: int, color: str) -> str:
    """Open without noise, filled at the highest level."""
    return "white" if k < count - 1 else color


def _handles(noise: list[float]) -> dict[str, Any]:
    dot: dict[str, Any] = {"marker": "o", "color": style.DARK, "markersize": 3.6}
    shown = {
        f"noise level {level:g}": panels.handle(
            markerfacecolor=_fill(k, len(noise), style.DARK), **dot
        )
        for k, level in enumerate(noise)
    }
    return {
        **shown,
        "default": Patch(**BAND),
        "other sign than the default": panels.handle(**OTHER_SIGN),
    }
