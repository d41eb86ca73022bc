"""Figures 2 to 5 and 8 to 11 once more, with hyperparameters that are chosen without the truth."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from experiments.figures import Inputs, style
from experiments.figures.curves import LOG_FROM, set_levels, set_values
from experiments.score import HELD_OUT, summarise

#: Errors of entries, which are drawn for all families together.
ERROR = "mse_out"
#: The two choices, and their looks: without the truth, and by it.
SOLID: dict[str, Any] = {"linestyle": "-"}
DOTTED: dict[str, Any] = {"linestyle": ":", "alpha": 0.55, "markersize": 2.5}


def recovery(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One row per kind of data, one column per family; errors of entries in a last row."""
    metrics = inputs.config["metrics"]
    numbers = _choices(inputs, metrics, pool=False)
    first = metrics[0]
    drawn = numbers[numbers["metric"] == first]
    families, kinds = (list(dict.fromkeys(drawn[key])) for key in ("graph", "data"))
    errors = pd.DataFrame()
    if ERROR in metrics[1:] and (inputs.table["metric"] == ERROR).any():
        errors = _choices(inputs, [ERROR], pool=True)
        numbers = pd.concat([numbers, errors], ignore_index=True) if len(families) > 1 else numbers
    rows = len(kinds) + (len(errors) > 0)
    columns = max(len(families), len(kinds) if len(errors) else 1)
    width = style.PAGE if columns > 1 else style.COLUMN
    fig = Figure(figsize=(width, 1.9 * rows + 0.5), layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False, sharex=True)
    for ax in axes.flat:
        ax.set_axis_off()
    for kind, line in zip(kinds, axes, strict=False):
        for family, ax in zip(families, line, strict=False):
            part = drawn[(drawn["graph"] == family) & (drawn["data"] == kind)]
            _models(ax, part, inputs)
            ax.set_title(style.title(family, inputs.settings["labels"], kind))
            set_values(ax, first)
    _frame(axes[: len(kinds), : len(families)], first, drawn["sweep"].iloc[0])
    if len(errors):
        _errors(axes[-1, : len(kinds)], errors, kinds, inputs)
    set_levels(axes[0, 0], drawn["level"])
    shown = {}
    for model in dict.fromkeys(drawn["model"]):
        known = inputs.styles[model]
        look = {"color": known["color"], "marker": known["marker"]}
        shown[known["label"]] = Line2D([], [], **look)
    # where the last row has a place to spare, it has the legend
    spare = len(errors) and columns > len(kinds)
    _legend(axes[-1, -1] if spare else fig, shown)
    return fig, numbers


def sizes(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """Against the number of observations, one line per number of nodes."""
    metric = inputs.config["metrics"][0]
    numbers = _choices(inputs, inputs.config["metrics"], pool=inputs.config.get("pool", False))
    drawn = numbers[numbers["metric"] == metric]
    panels = list(drawn.groupby(["graph", "data", "model"], sort=False))
    counts = sorted(drawn["m"].unique())
    # from light to dark with the size, as in figure 5
    colours = mpl.colormaps["viridis"](np.linspace(0.8, 0.0, len(counts)))
    fig = Figure(figsize=(min(style.PAGE, style.COLUMN * len(panels)), 2.8), layout="constrained")
    axes = fig.subplots(1, len(panels), squeeze=False, sharex=True, sharey=True)[0]
    shown = {}
    for ((graph, data, model), part), ax in zip(panels, axes, strict=True):
        for k, (m, colour) in enumerate(zip(counts, colours, strict=True)):
            look = {"color": mpl.colors.to_hex(colour), "marker": "osD^vP*X"[k % 8]}
            shift = 1.04 ** (k - (len(counts) - 1) / 2)
            _both(ax, part[part["m"] == m], look, lambda x, shift=shift: x * shift)
            shown[f"$m$ = {m}"] = Line2D([], [], **look)
        if len(panels) > 1:
            name = style.title(graph, inputs.settings["labels"], data)
            ax.set_title(f"{inputs.styles[model]['label']}: {name}")
        ax.set_xlabel(style.label(drawn["sweep"].iloc[0]))
    axes[0].set_ylabel(style.label(metric))
    axes[0].set_xscale("log")
    set_levels(axes[0], drawn["level"], log=True)
    set_values(axes[0], metric)
    _legend(fig, shown, 2)
    return fig, numbers


# -------------------------------------------------------------------------------------- parts


def _choices(inputs: Inputs, metrics: list[str], *, pool: bool) -> pd.DataFrame:
    """Return each metric at the held-out choice, and at its best against the truth."""
    parts = []
    for choice in (HELD_OUT, None):
        part = summarise(inputs.table, metrics, pool=pool, selected_by=choice)
        part.insert(part.columns.get_loc("metric"), "selected_by", choice or part["metric"])
        parts.append(part)
    if parts[0].empty:
        raise ValueError(
            f"{inputs.study}: nothing is chosen by held-out entries; set protocol.fit.folds"
        )
    return pd.concat(parts, ignore_index=True)


def _models(ax: Axes, part: pd.DataFrame, inputs: Inputs) -> None:
    models = list(dict.fromkeys(part["model"]))
    span = float(np.ptp(part["level"])) or max(1.0, abs(float(part["level"].max())))
    for k, model in enumerate(models):
        known = inputs.styles[model]
        shift = 0.012 * span * (k - (len(models) - 1) / 2)
        look = {"color": known["color"], "marker": known["marker"]}
        _both(ax, part[part["model"] == model], look, lambda x, shift=shift: x + shift)


def _both(ax: Axes, part: pd.DataFrame, look: dict[str, Any], place: Any) -> None:
    """Draw the held-out choice with its bars, and the choice by the truth paler, without."""
    held = part["selected_by"] == HELD_OUT
    line = part[~held].sort_values("level")
    ax.plot(place(line["level"]), line["mean"], clip_on=False, **look, **DOTTED)
    line = part[held].sort_values("level")
    style.curve(ax, place(line["level"]), line, **look, **SOLID)


def _errors(axes: Any, errors: pd.DataFrame, kinds: list[str], inputs: Inputs) -> None:
    """Draw errors of withheld entries, a panel per kind of data."""
    means = errors["mean"]
    for kind, ax in zip(kinds, axes, strict=True):
        _models(ax, errors[errors["data"] == kind], inputs)
        name = style.title("+", inputs.settings["labels"], kind)
        ax.set_title(f"{name}, all families" if "+" in errors["graph"].iloc[0] else name)
        ax.sharey(axes[0])
    if means.min() > 0 and means.max() > LOG_FROM * means.min():
        axes[0].set_yscale("log")
        axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axes[0].yaxis.set_major_formatter("{x:g}")
        for ax in axes:
            ax.minorticks_off()
    else:
        set_values(axes[0], ERROR)
    _frame(axes[None], ERROR, errors["sweep"].iloc[0])


def _frame(axes: Any, metric: str, sweep: str) -> None:
    """Name the outer axes of a block of panels."""
    for ax in axes.flat:
        ax.set_axis_on()
        ax.tick_params(labelleft=ax in axes[:, 0], labelbottom=ax in axes[-1])
    for ax in axes[:, 0]:
        ax.set_ylabel(style.label(metric))
    for ax in axes[-1]:
        ax.set_xlabel(style.label(sweep))


def _legend(where: Figure | Axes, shown: dict[str, Line2D], ncols: int = 8) -> None:
    """Put the legend under a figure, or in a place of its own."""
    grey: dict[str, Any] = {"color": "#333333"}
    shown = shown | {
        "held-out choice": Line2D([], [], **grey, **SOLID),
        "choice by the truth": Line2D([], [], **grey, **DOTTED),
    }
    place: dict[str, Any] = {"loc": "center"}
    if isinstance(where, Figure):
        place = {"loc": "outside lower center", "ncols": min(ncols, len(shown))}
    where.legend(list(shown.values()), list(shown), frameon=False, columnspacing=1.1,
                 handlelength=2.0, **place)  # fmt: skip
