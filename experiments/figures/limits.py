"""What KGL learns as one hyperparameter goes to the ends of its range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style

#: Shares, which run from nothing to one.
SHARES = ("aps", "density", "top_share")
#: Other metrics are drawn on a logarithmic axis from this ratio on.
LOG_FROM = 20.0
#: Lines of kinds of data, and of the density of the ground truth.
DASHES = ("-", "--", ":", "-.")
TRUE_DENSITY: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (6, 4))}


def draw(inputs: Inputs) -> Drawn:
    """One panel per metric against a hyperparameter, a line per family and kind of data."""
    axis, metrics = inputs.config["options"]["axis"], inputs.config["metrics"]
    rows = inputs.grid_rows()
    numbers = panels.means(rows[rows["metric"].isin(metrics)], ["graph", "data", "metric", axis])
    true = _true_densities(rows)
    density = numbers["metric"] == "density"
    numbers["true_density"] = np.nan
    numbers.loc[density, "true_density"] = numbers.loc[density, "graph"].map(true).astype(float)
    looks = _looks(panels.unique(numbers["graph"]), rows)
    columns = 2 if len(metrics) in (2, 4) else min(3, len(metrics))
    lines = -(-len(metrics) // columns)
    fig, axes = panels.grid(lines, columns, 2.0 * lines + 0.4, sharex=True)
    for ax in axes.flat[len(metrics) :]:
        ax.set_visible(False)
    for metric, ax in zip(metrics, axes.flat, strict=False):
        part = numbers[numbers["metric"] == metric]
        if metric == "density":
            for family in (name for name in looks if name in true):
                ax.axhline(true[family], color=looks[family]["color"], **TRUE_DENSITY)
        _lines(ax, part, axis, looks)
        ax.set_ylabel(registry.axis_label(metric))
        ax.set_xscale("log")
        _scale(ax, metric, part["mean"])
    for ax in axes.flat[max(0, len(metrics) - columns) : len(metrics)]:
        ax.set_xlabel(registry.axis_label(axis))
    shown = _handles(looks, panels.unique(numbers["data"]))
    if density.any() and true:
        shown["true density"] = panels.handle(color=style.DARK, **TRUE_DENSITY)
    panels.legend(fig, shown)
    return fig, numbers


def _true_densities(rows: pd.DataFrame) -> dict[str, float]:
    """Return the true density of each family: the learned one minus its error."""
    means = rows[rows["metric"].isin(["density", "density_error"])]
    table = means.pivot_table(index="graph", columns="metric", values="value")
    if set(table.columns) != {"density", "density_error"}:
        return {}
    true = table["density"] - table["density_error"]
    return {str(family): float(value) for family, value in true.items()}


def _looks(families: Sequence[str], rows: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the look of each family, or that of the model where there is one family."""
    if len(families) == 1:
        return {families[0]: panels.look(rows["model"].iloc[0])}
    return {family: panels.family_look(family, k) for k, family in enumerate(families)}


def _lines(ax: Axes, part: pd.DataFrame, axis: str, looks: dict[str, dict[str, Any]]) -> None:
    kinds = panels.unique(part["data"])
    for family, look in looks.items():
        for kind, dash in zip(kinds, DASHES, strict=False):
            line = part[(part["graph"] == family) & (part["data"] == kind)].sort_values(axis)
            face = {} if kind == kinds[0] else {"markerfacecolor": "white"}
            shown = look | face | {"linestyle": dash, "markersize": 3}
            ax.plot(line[axis], line["mean"], **shown)


def _scale(ax: Axes, metric: str, means: pd.Series) -> None:
    if metric in SHARES:
        ax.set_ylim(0, 1.02)
    elif means.min() > 0 and means.max() > LOG_FROM * means.min():
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, 1.06 * float(means.max()))


def _handles(looks: dict[str, dict[str, Any]], kinds: Sequence[str]) -> dict[str, Line2D]:
    """Return the legend: families by color, kinds of data by dashes and faces."""
    shown = {}
    plain: dict[str, Any] = {"color": style.DARK, "marker": "o"}
    if len(looks) > 1:
        shown = {panels.title(name): panels.handle(**look) for name, look in looks.items()}
    else:
        (plain,) = looks.values()
    for kind, dash in zip(kinds, DASHES, strict=False):
        face = {} if kind == kinds[0] else {"markerfacecolor": "white"}
        shown[registry.name_of(kind)] = panels.handle(linestyle=dash, **plain, **face)
    return shown
