"""The real data: figures 6 and 7, attributes alone, and other readings of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.figures import Inputs, style
from experiments.figures.curves import BELOW, draw_models, set_levels, set_values
from experiments.score import HELD_OUT, summarise

#: Two ways to choose hyperparameters, and what they are called above a panel.
CHOICES = {None: "chosen by the truth (as in the paper)", HELD_OUT: "chosen by held-out entries"}
#: The NMI of the attributes' graph that the paper prints.
PRINTED = 0.34
SCALES = {"none": "as they are", "standard": "standardised", "minmax": "scaled to [0, 1]"}
RULES = {
    "median_distance": r"$1 / \mathrm{med}\,d$",
    "median_distance_half": r"$1 / 2\,\mathrm{med}\,d$",
    "median_sq": r"$1 / \mathrm{med}\,d^2$",
    "median_sq_half": r"$1 / 2\,\mathrm{med}\,d^2$",
    "unit": r"$\gamma = 1$",
}


def swiss(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One row per way to choose hyperparameters, one column per metric, one line per model."""
    metrics = ["aps", "sse"]
    numbers = _both(inputs, inputs.config["metrics"])
    fig = Figure(figsize=(style.PAGE, 4.9), layout="constrained")
    axes = fig.subplots(2, 2, sharex=True, sharey="col")
    for choice, line in zip(CHOICES, axes, strict=True):
        for metric, ax in zip(metrics, line, strict=True):
            _curves(ax, numbers, inputs, choice, metric)
            ax.set_title(f"{style.label(metric)}, {CHOICES[choice]}")
            ax.set_ylabel(style.label(metric))
    for metric, ax in zip(metrics, axes[-1], strict=True):
        ax.set_xlabel(style.label("missing"))
        set_levels(ax, numbers["level"])
        set_values(ax, metric)
    _legend(fig, axes[0, 0], "altitude alone")
    return fig, numbers


def sushi(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One panel per way to choose hyperparameters, one line per model."""
    numbers = _both(inputs, ["nmi"])
    fig = Figure(figsize=(style.PAGE, 3.0), layout="constrained")
    axes = fig.subplots(1, 2, sharex=True, sharey=True)
    for choice, ax in zip(CHOICES, axes, strict=True):
        _curves(ax, numbers, inputs, choice, "nmi")
        ax.set_title(CHOICES[choice][:1].upper() + CHOICES[choice][1:])
        ax.set_xlabel(style.label("reviewers"))
    axes[0].set_ylabel(style.label("nmi"))
    set_levels(axes[0], numbers["level"])
    axes[0].set_ylim(bottom=0)
    _legend(fig, axes[0], "attributes alone")
    return fig, numbers


def attributes(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One group of dots per scaling, one dot per bandwidth rule, and the printed value."""
    numbers = inputs.summary.drop(columns="at_edge")
    numbers["paper"] = PRINTED
    fig = Figure(figsize=(style.COLUMN, 2.9), layout="constrained")
    ax = fig.subplots()
    ax.axhline(PRINTED, color="#777777", linestyle="--", linewidth=1.2)
    rules = [rule for rule in RULES if rule in set(numbers["level"])]
    colours = ["#000000", "#56B4E9", "#D55E00", "#009E73", "#CC79A7"]
    scales = list(dict.fromkeys(numbers["scale"]))
    for k, (rule, colour) in enumerate(zip(rules, colours, strict=False)):
        part = numbers[numbers["level"] == rule].set_index("scale").loc[scales].reset_index()
        x = np.arange(len(scales)) + 0.14 * (k - (len(rules) - 1) / 2)
        look: dict[str, Any] = {"color": colour, "marker": "osD^v"[k], "linestyle": "none"}
        style.curve(ax, x, part, label=RULES[rule], **look)
    ax.set_xticks(range(len(scales)), [SCALES.get(scale, scale) for scale in scales])
    ax.set_xlabel("attributes")
    ax.set_ylabel(f"{style.label('nmi')} with the groups")
    ax.set_ylim(0, max(0.6, float(numbers["p95"].max()) + 0.02))
    handles, labels = ax.get_legend_handles_labels()
    handles.append(Line2D([], [], color="#777777", linestyle="--"))
    ax.legend(handles, [*labels, f"paper: {PRINTED}"], ncols=3, **BELOW)
    return fig, numbers


def readings(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One column per reading, one row per metric, one line per model."""
    numbers = inputs.summary
    metrics = inputs.config["metrics"]
    kinds = list(dict.fromkeys(numbers["data"]))
    wide = 4
    rows = -(-len(kinds) // wide)
    fig = Figure(figsize=(style.PAGE, 1.75 * rows * len(metrics) + 0.5), layout="constrained")
    axes = fig.subplots(
        rows * len(metrics), min(wide, len(kinds)), squeeze=False, sharex=True, sharey="row"
    )
    for ax in axes.flat:
        ax.set_visible(False)
    for k, kind in enumerate(kinds):
        for r, metric in enumerate(metrics):
            ax = axes[(k // wide) * len(metrics) + r, k % wide]
            ax.set_visible(True)
            part = numbers[(numbers["data"] == kind) & (numbers["metric"] == metric)]
            _lines(ax, part, inputs)
            if r == 0:
                default = " (as in the figure)" * (k == 0 and len(kinds) > 1)
                ax.set_title(inputs.settings["labels"]["data"][kind] + default, fontsize=7)
            if k % wide == 0:
                ax.set_ylabel(style.label(metric))
            if r == len(metrics) - 1 and k + wide >= len(kinds):
                ax.tick_params(labelbottom=True)
            if r == len(metrics) - 1 and k // wide == rows - 1:
                ax.set_xlabel(style.label(_sweep(numbers)))
            set_levels(ax, numbers["level"])
            ax.set_ylim(bottom=0)
            if metric == "aps":
                ax.set_ylim(0, 1)
    _legend(fig, axes[0, 0], "attributes alone")
    return fig, numbers


# ------------------------------------------------------------------------------------- parts


def _sweep(numbers: pd.DataFrame) -> str:
    sweep = str(numbers["sweep"].iloc[0])
    return "reviewers" if sweep == "n" else sweep


def _both(inputs: Inputs, metrics: list[str]) -> pd.DataFrame:
    """Return each metric at its best against the truth, and at the held-out choice."""
    parts = []
    for choice in CHOICES:
        part = summarise(inputs.table, metrics, selected_by=choice)
        part.insert(part.columns.get_loc("metric"), "selected_by", choice or part["metric"])
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _curves(
    ax: Axes, numbers: pd.DataFrame, inputs: Inputs, choice: str | None, metric: str
) -> None:
    chosen = numbers["selected_by"] == (choice or metric)
    _lines(ax, numbers[chosen & (numbers["metric"] == metric)], inputs)


def _lines(ax: Axes, part: pd.DataFrame, inputs: Inputs) -> None:
    """Draw a curve per model, and a dashed line for the kernel alone, which no data change."""
    alone = part["model"].str.startswith("kernel")
    draw_models(ax, part[~alone], inputs)
    if alone.any():
        look = inputs.styles[part.loc[alone, "model"].iloc[0]]
        value = part.loc[alone, "mean"].mean()
        ax.axhline(value, color=look["color"], linestyle="--", linewidth=1.2, label=look["label"])


def _legend(fig: Figure, ax: Axes, alone: str) -> None:
    """Put one legend under all panels; the kernel alone goes by what it is made of."""
    handles, labels = ax.get_legend_handles_labels()
    labels = [alone if label.startswith("K_x") else label for label in labels]
    fig.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False,
               columnspacing=1.2, handlelength=1.8)  # fmt: skip
