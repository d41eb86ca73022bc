"""Curves over noise, missing rate and size: figures 2 to 5 and 8 to 11."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style


def recovery(inputs: Inputs) -> Drawn:
    """One row per kind of data, one column per metric, one line per model."""
    numbers = _numbers(inputs)
    metrics = inputs.config["metrics"]
    rows = panels.groups(numbers, ["graph", "data"])
    fig = Figure(figsize=(style.PAGE, 2.1 * len(rows) + 0.3), layout="constrained")
    # a column shares its axes, so that rows can be compared
    axes = fig.subplots(len(rows), len(metrics), squeeze=False, sharex="all", sharey="col")
    for ((graph, data), part), line in zip(rows, axes, strict=True):
        for metric, ax in zip(metrics, line, strict=True):
            panels.model_curves(ax, part[part["metric"] == metric])
            ax.set_title(panels.title(graph, data))
            ax.set_ylabel(registry.axis_label(metric))
        line[-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    for metric, ax in zip(metrics, axes[-1], strict=True):
        ax.set_xlabel(registry.axis_label(numbers["sweep"].iloc[0]))
        panels.set_levels(ax, numbers["level"])
        panels.set_values(ax, metric)
    return fig, numbers


def completion(inputs: Inputs) -> Drawn:
    """One panel per kind of data, one line per model."""
    numbers = _numbers(inputs)
    (metric, *_) = inputs.config["metrics"]
    numbers = numbers[numbers["metric"] == metric].reset_index(drop=True)
    kinds = panels.groups(numbers, ["graph", "data"])
    width = min(style.PAGE, style.COLUMN * len(kinds))
    fig = Figure(figsize=(width, 2.7), layout="constrained")
    axes = fig.subplots(1, len(kinds), squeeze=False, sharex=True, sharey=True)[0]
    for ((graph, data), part), ax in zip(kinds, axes, strict=True):
        panels.model_curves(ax, part)
        ax.set_title(panels.title(graph, data))
        ax.set_xlabel(registry.axis_label(numbers["sweep"].iloc[0]))
        ax.legend(ncols=3, **panels.BELOW)
    axes[0].set_ylabel(registry.axis_label(metric))
    panels.set_levels(axes[0], numbers["level"])
    panels.set_errors(axes, metric, numbers["mean"])
    return fig, numbers


def sizes(inputs: Inputs) -> Drawn:
    """Against the number of observations, one line per number of nodes."""
    numbers = _numbers(inputs, "m")
    (metric, *_) = inputs.config["metrics"]
    numbers = numbers[numbers["metric"] == metric].reset_index(drop=True)
    cells = panels.groups(numbers, ["graph", "data", "model"])
    counts = sorted(numbers["m"].unique())
    looks = panels.size_looks(counts)
    fig = Figure(figsize=(style.COLUMN * len(cells), 2.7), layout="constrained")
    axes = fig.subplots(1, len(cells), squeeze=False, sharex=True, sharey=True)[0]
    for ((graph, data, model), part), ax in zip(cells, axes, strict=True):
        for k, (m, look) in enumerate(zip(counts, looks, strict=True)):
            line = part[part["m"] == m].sort_values("level")
            x = panels.dodge(line["level"], numbers["level"], k, len(counts), log=True)
            panels.curve(ax, x, line, label=f"$m$ = {m}", **look)
        if len(cells) > 1:
            ax.set_title(f"{registry.model(model).label}: {panels.title(graph, data)}")
        ax.set_xlabel(registry.axis_label(numbers["sweep"].iloc[0]))
        ax.legend(ncols=4, **panels.BELOW)
    axes[0].set_ylabel(registry.axis_label(metric))
    axes[0].set_xscale("log")
    panels.set_levels(axes[0], numbers["level"], log=True)
    panels.set_values(axes[0], metric)
    return fig, numbers


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
