"""Curves over noise, missing rate and size: figures 2 to 5 and 8 to 11."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from experiments.figures import Inputs, style

#: Errors that differ by more than this factor are drawn on a logarithmic axis.
LOG_FROM = 4.0
#: A legend under a panel, where it hides nothing.
BELOW: dict[str, Any] = {
    "loc": "upper center", "bbox_to_anchor": (0.5, -0.22), "frameon": False,
    "handlelength": 1.6, "columnspacing": 1.2, "handletextpad": 0.5,
}  # fmt: skip


def recovery(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One row per kind of data, one column per metric, one line per model."""
    numbers = _numbers(inputs)
    metrics = inputs.config["metrics"]
    rows = list(numbers.groupby(["graph", "data"], sort=False))
    fig = Figure(figsize=(style.PAGE, 2.1 * len(rows) + 0.3), layout="constrained")
    # a column shares its axes, so that rows can be compared
    axes = fig.subplots(len(rows), len(metrics), squeeze=False, sharex="all", sharey="col")
    for ((graph, data), part), line in zip(rows, axes, strict=True):
        for metric, ax in zip(metrics, line, strict=True):
            draw_models(ax, part[part["metric"] == metric], inputs)
            ax.set_title(style.title(graph, inputs.settings["labels"], data))
            ax.set_ylabel(style.label(metric))
        line[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    for metric, ax in zip(metrics, axes[-1], strict=True):
        ax.set_xlabel(style.label(numbers["sweep"].iloc[0]))
        set_levels(ax, numbers["level"])
        set_values(ax, metric)
    return fig, numbers


def completion(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One panel per kind of data, one line per model."""
    numbers = _numbers(inputs)
    (metric, *_) = inputs.config["metrics"]
    numbers = numbers[numbers["metric"] == metric].reset_index(drop=True)
    panels = list(numbers.groupby(["graph", "data"], sort=False))
    width = min(style.PAGE, style.COLUMN * len(panels))
    fig = Figure(figsize=(width, 2.7), layout="constrained")
    axes = fig.subplots(1, len(panels), squeeze=False, sharex=True, sharey=True)[0]
    for ((graph, data), part), ax in zip(panels, axes, strict=True):
        draw_models(ax, part, inputs)
        ax.set_title(style.title(graph, inputs.settings["labels"], data))
        ax.set_xlabel(style.label(numbers["sweep"].iloc[0]))
        ax.legend(ncols=3, **BELOW)
    axes[0].set_ylabel(style.label(metric))
    set_levels(axes[0], numbers["level"])
    means = numbers["mean"]
    if means.min() > 0 and means.max() > LOG_FROM * means.min():
        axes[0].set_yscale("log")
        axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axes[0].yaxis.set_major_formatter("{x:g}")
        axes[0].minorticks_off()
    else:
        set_values(axes[0], metric)
    return fig, numbers


def sizes(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """Against the number of observations, one line per number of nodes."""
    numbers = _numbers(inputs, "m")
    (metric, *_) = inputs.config["metrics"]
    numbers = numbers[numbers["metric"] == metric].reset_index(drop=True)
    panels = list(numbers.groupby(["graph", "data", "model"], sort=False))
    counts = sorted(numbers["m"].unique())
    # from light to dark with the size; the lightest end of the map is lost on white paper
    colours = mpl.colormaps["viridis"](np.linspace(0.8, 0.0, len(counts)))
    fig = Figure(figsize=(style.COLUMN * len(panels), 2.7), layout="constrained")
    axes = fig.subplots(1, len(panels), squeeze=False, sharex=True, sharey=True)[0]
    for ((graph, data, model), part), ax in zip(panels, axes, strict=True):
        for k, (m, colour) in enumerate(zip(counts, colours, strict=True)):
            line = part[part["m"] == m].sort_values("level")
            look = {"color": colour, "marker": "osD^vP*X"[k % 8], "label": f"$m$ = {m}"}
            x = _dodge(line["level"], numbers["level"], k, len(counts), log=True)
            style.curve(ax, x, line, **look)
        if len(panels) > 1:
            name = style.title(graph, inputs.settings["labels"], data)
            ax.set_title(f"{inputs.styles[model]['label']}: {name}")
        ax.set_xlabel(style.label(numbers["sweep"].iloc[0]))
        ax.legend(ncols=4, **BELOW)
    axes[0].set_ylabel(style.label(metric))
    axes[0].set_xscale("log")
    set_levels(axes[0], numbers["level"], log=True)
    set_values(axes[0], metric)
    return fig, numbers


# ------------------------------------------------------------------------------------- parts


def _numbers(inputs: Inputs, *extra: str) -> pd.DataFrame:
    """Return what is drawn; ``extra`` tells lines of one model apart."""
    numbers = inputs.summary
    keys = ["graph", "data", "model", *extra, "metric", "level"]
    if numbers.duplicated(keys).any():
        raise ValueError(
            f"study.sweep of {inputs.study} has {len(inputs.config['sweep'])} keys, and "
            f"{inputs.config['figure']} draws one curve per model; leave one key with several "
            "levels, and set the others by an override"
        )
    return numbers


def draw_models(ax: Axes, part: pd.DataFrame, inputs: Inputs) -> None:
    """Draw one line per model, each in its own colour."""
    models = list(dict.fromkeys(part["model"]))
    for k, model in enumerate(models):
        line = part[part["model"] == model].sort_values("level")
        known = inputs.styles[model]
        look = {"color": known["color"], "marker": known["marker"], "label": known["label"]}
        style.curve(ax, _dodge(line["level"], part["level"], k, len(models)), line, **look)


def _dodge(x: Any, levels: Any, k: int, count: int, *, log: bool = False) -> Any:
    """Shift the k-th of several lines a little, so that bars do not hide one another."""
    step = k - (count - 1) / 2
    if log:
        return x * _ratio(levels) ** (0.012 * step)
    return x + 0.008 * step * _span(levels)


def _span(levels: Any) -> float:
    # a single level has no span of its own
    return float(np.ptp(levels)) or max(1.0, abs(float(np.max(levels))))


def _ratio(levels: Any) -> float:
    return float(np.max(levels) / np.min(levels)) if np.ptp(levels) else 10.0


def set_levels(ax: Axes, levels: pd.Series, *, log: bool = False) -> None:
    """Set the limits and, where there are few levels, a tick at each."""
    found: Sequence[float] = sorted(levels.unique())
    if log:
        margin = _ratio(levels) ** 0.06
        ax.set_xlim(found[0] / margin, found[-1] * margin)
    else:
        ax.set_xlim(found[0] - 0.04 * _span(levels), found[-1] + 0.04 * _span(levels))
    if log or len(found) < 4:
        ax.set_xticks(found, [f"{level:g}" for level in found])
        ax.set_xticks([], minor=True)


def set_values(ax: Axes, metric: str) -> None:
    """Start at zero; end at one where the metric does."""
    ax.set_ylim(bottom=0)
    if metric in ("aps", "aps_scores", "density"):
        ax.set_ylim(0, 1)
