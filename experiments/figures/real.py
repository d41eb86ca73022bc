"""The real data: figures 6 and 7, attributes alone, and other specifications of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style
from experiments.registry import CV

#: How hyperparameters are selected, and what that is called above a panel.
SELECTIONS = {None: "oracle-tuned (as in the paper)", CV: registry.SELECTIONS[CV]}
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
RULE_COLORS = ("#000000", "#56B4E9", "#D55E00", "#009E73", "#CC79A7")
#: Panels of specifications in a row.
WIDE = 4


def swiss(inputs: Inputs) -> Drawn:
    """One row per selection, one column per metric, one line per model."""
    metrics = ["aps", "sse"]
    numbers = inputs.tuned(inputs.config["metrics"], tuple(SELECTIONS))
    fig, axes = panels.grid(2, 2, 4.9, sharex=True, sharey="col")
    for selection, line in zip(SELECTIONS, axes, strict=True):
        for metric, ax in zip(metrics, line, strict=True):
            _curves(ax, _at(numbers, selection, metric), "altitude alone")
            ax.set_title(f"{registry.axis_label(metric)}, {SELECTIONS[selection]}")
            ax.set_ylabel(registry.axis_label(metric))
    for metric, ax in zip(metrics, axes[-1], strict=True):
        ax.set_xlabel(registry.axis_label("missing"))
        panels.set_levels(ax, numbers["level"])
        panels.set_values(ax, metric)
    _legend(fig, axes[0, 0])
    return fig, numbers


def sushi(inputs: Inputs) -> Drawn:
    """One panel per selection, one line per model."""
    numbers = inputs.tuned(["nmi"], tuple(SELECTIONS))
    fig, axes = panels.grid(1, 2, 3.0, sharex=True, sharey=True)
    for selection, ax in zip(SELECTIONS, axes[0], strict=True):
        _curves(ax, _at(numbers, selection, "nmi"), "attributes alone")
        name = SELECTIONS[selection]
        ax.set_title(name[:1].upper() + name[1:])
        ax.set_xlabel(registry.axis_label("reviewers"))
    axes[0, 0].set_ylabel(registry.axis_label("nmi"))
    panels.set_levels(axes[0, 0], numbers["level"])
    axes[0, 0].set_ylim(bottom=0)
    _legend(fig, axes[0, 0])
    return fig, numbers


def attributes(inputs: Inputs) -> Drawn:
    """One group of dots per scaling, one dot per bandwidth rule, and the printed value."""
    numbers = inputs.summary.drop(columns="at_edge")
    numbers["paper"] = PRINTED
    fig = Figure(figsize=(style.COLUMN, 2.9), layout="constrained")
    ax = fig.subplots()
    printed: dict[str, Any] = {"color": style.GREY, "linestyle": "--"}
    ax.axhline(PRINTED, linewidth=1.2, **printed)
    rules = [rule for rule in RULES if rule in set(numbers["level"])]
    scales = panels.unique(numbers["scale"])
    for k, (rule, color) in enumerate(zip(rules, RULE_COLORS, strict=False)):
        part = numbers[numbers["level"] == rule].set_index("scale").loc[scales].reset_index()
        x = np.arange(len(scales)) + 0.14 * (k - (len(rules) - 1) / 2)
        look: dict[str, Any] = {"color": color, "marker": "osD^v"[k], "linestyle": "none"}
        panels.curve(ax, x, part, label=RULES[rule], **look)
    ax.set_xticks(range(len(scales)), [SCALES.get(scale, scale) for scale in scales])
    ax.set_xlabel("attributes")
    ax.set_ylabel(f"{registry.axis_label('nmi')} with the groups")
    ax.set_ylim(0, max(0.6, float(numbers["p95"].max()) + 0.02))
    handles, labels = ax.get_legend_handles_labels()
    handles.append(panels.handle(**printed))
    ax.legend(handles, [*labels, f"paper: {PRINTED}"], ncols=3, **panels.BELOW)
    return fig, numbers


def specifications(inputs: Inputs) -> Drawn:
    """One column per specification, one row per metric, one line per model."""
    numbers = inputs.summary
    metrics = inputs.config["metrics"]
    kinds = panels.unique(numbers["data"])
    rows = -(-len(kinds) // WIDE)
    fig = Figure(figsize=(style.PAGE, 1.75 * rows * len(metrics) + 0.5), layout="constrained")
    axes = fig.subplots(
        rows * len(metrics), min(WIDE, len(kinds)), squeeze=False, sharex=True, sharey="row"
    )
    for ax in axes.flat:
        ax.set_visible(False)
    sweep = numbers["sweep"].iloc[0]
    for k, kind in enumerate(kinds):
        own = numbers[numbers["data"] == kind]
        line = axes[(k // WIDE) * len(metrics) : (k // WIDE + 1) * len(metrics), k % WIDE]
        for metric, ax in zip(metrics, line, strict=True):
            ax.set_visible(True)
            _curves(ax, own[own["metric"] == metric], "attributes alone")
            panels.set_levels(ax, numbers["level"])
            panels.set_values(ax, metric)
            if k % WIDE == 0:
                ax.set_ylabel(registry.axis_label(metric))
        default = " (as in the figure)" * (k == 0 and len(kinds) > 1)
        line[0].set_title(registry.name_of(kind) + default, fontsize=7)
        if k + WIDE >= len(kinds):
            line[-1].tick_params(labelbottom=True)
        if k // WIDE == rows - 1:
            line[-1].set_xlabel(registry.axis_label("reviewers" if sweep == "n" else sweep))
    _legend(fig, axes[0, 0])
    return fig, numbers


# ------------------------------------------------------------------------------------- parts


def _at(numbers: pd.DataFrame, selection: str | None, metric: str) -> pd.DataFrame:
    return numbers[
        (numbers["selected_by"] == (selection or metric)) & (numbers["metric"] == metric)
    ]


def _curves(ax: Axes, part: pd.DataFrame, alone: str) -> None:
    """Draw a curve per model, and a dashed line for K_x alone, which no data change."""
    kernel = part["model"].str.startswith("kernel")
    panels.model_curves(ax, part[~kernel])
    if kernel.any():
        color = registry.model(part.loc[kernel, "model"].iloc[0]).color
        value = part.loc[kernel, "mean"].mean()
        ax.axhline(value, color=color, linestyle="--", linewidth=1.2, label=alone)


def _legend(fig: Figure, ax: Axes) -> None:
    handles, labels = ax.get_legend_handles_labels()
    shown = dict(zip(labels, handles, strict=True))
    panels.legend(fig, shown, columnspacing=1.2, handlelength=1.8)
