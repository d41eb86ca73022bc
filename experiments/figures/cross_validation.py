"""Figures 2 to 5 and 8 to 11 once more, with hyperparameters tuned by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style
from experiments.registry import CV

#: Errors of entries, which are drawn for all families together.
ERROR = "mse_out"
#: The looks of the two selections: tuned by cross-validation, and oracle-tuned.
SOLID: dict[str, Any] = {"linestyle": "-"}
DOTTED: dict[str, Any] = {"linestyle": ":", "alpha": 0.55, "markersize": 2.5}


def recovery(inputs: Inputs) -> Drawn:
    """One row per kind of data, one column per family; errors of entries in a last row."""
    metrics = inputs.config["metrics"]
    numbers = _tuned(inputs, metrics, pool=False)
    first = metrics[0]
    drawn = numbers[numbers["metric"] == first]
    families, kinds = panels.unique(drawn["graph"]), panels.unique(drawn["data"])
    errors = pd.DataFrame()
    if ERROR in metrics[1:] and (inputs.table["metric"] == ERROR).any():
        errors = _tuned(inputs, [ERROR], pool=True)
        numbers = pd.concat([numbers, errors], ignore_index=True) if len(families) > 1 else numbers
    rows = len(kinds) + (len(errors) > 0)
    columns = max(len(families), len(kinds) if len(errors) else 1)
    fig, axes = panels.grid(rows, columns, 1.9 * rows + 0.5, sharex=True)
    for ax in axes.flat:
        ax.set_axis_off()
    for kind, line in zip(kinds, axes, strict=False):
        for family, ax in zip(families, line, strict=False):
            _models(ax, drawn[(drawn["graph"] == family) & (drawn["data"] == kind)])
            ax.set_title(panels.title(family, kind))
            panels.set_values(ax, first)
    panels.name_outer(axes[: len(kinds), : len(families)], first, drawn["sweep"].iloc[0])
    if len(errors):
        _errors(axes[-1, : len(kinds)], errors, kinds)
    panels.set_levels(axes[0, 0], drawn["level"])
    shown = {
        registry.model(model).label: panels.handle(**panels.look(model))
        for model in panels.unique(drawn["model"])
    }
    # where the last row has a place to spare, it has the legend
    spare = len(errors) and columns > len(kinds)
    _legend(axes[-1, -1] if spare else fig, shown)
    return fig, numbers


def sizes(inputs: Inputs) -> Drawn:
    """Against the number of observations, one line per number of nodes."""
    metric = inputs.config["metrics"][0]
    numbers = _tuned(inputs, inputs.config["metrics"], pool=inputs.config.get("pool", False))
    drawn = numbers[numbers["metric"] == metric]
    cells = panels.groups(drawn, ["graph", "data", "model"])
    counts = sorted(drawn["m"].unique())
    fig = Figure(figsize=(min(style.PAGE, style.COLUMN * len(cells)), 2.8), layout="constrained")
    axes = fig.subplots(1, len(cells), squeeze=False, sharex=True, sharey=True)[0]
    shown = {}
    for ((graph, data, model), part), ax in zip(cells, axes, strict=True):
        for k, (m, look) in enumerate(zip(counts, panels.size_looks(counts), strict=True)):
            line = part[part["m"] == m]
            shift = 1.04 ** (k - (len(counts) - 1) / 2)
            _both(ax, line, line["level"] * shift, look)
            shown[f"$m$ = {m}"] = panels.handle(**look)
        if len(cells) > 1:
            ax.set_title(f"{registry.model(model).label}: {panels.title(graph, data)}")
        ax.set_xlabel(registry.axis_label(drawn["sweep"].iloc[0]))
    axes[0].set_ylabel(registry.axis_label(metric))
    axes[0].set_xscale("log")
    panels.set_levels(axes[0], drawn["level"], log=True)
    panels.set_values(axes[0], metric)
    _legend(fig, shown)
    return fig, numbers


# -------------------------------------------------------------------------------------- parts


def _tuned(inputs: Inputs, metrics: list[str], *, pool: bool) -> pd.DataFrame:
    """Return each metric tuned by cross-validation, and oracle-tuned."""
    if not (inputs.table["selected_by"] == CV).any():
        raise ValueError(
            f"{inputs.study}: nothing is tuned by cross-validation; set protocol.fit.folds"
        )
    return inputs.tuned(metrics, (CV, None), pool=pool)


def _models(ax: Axes, part: pd.DataFrame) -> None:
    models = panels.unique(part["model"])
    for k, model in enumerate(models):
        line = part[part["model"] == model]
        x = panels.dodge(line["level"], part["level"], k, len(models), step=0.012)
        _both(ax, line, x, panels.look(model))


def _both(ax: Axes, part: pd.DataFrame, x: pd.Series, look: Mapping[str, Any]) -> None:
    """Draw means tuned by cross-validation with bars, and oracle-tuned ones paler, without."""
    tuned = part["selected_by"] == CV
    line = part[~tuned].sort_values("level")
    ax.plot(x[line.index], line["mean"], clip_on=False, **look, **DOTTED)
    line = part[tuned].sort_values("level")
    panels.curve(ax, x[line.index], line, **look, **SOLID)


def _errors(axes: Any, errors: pd.DataFrame, kinds: Sequence[str]) -> None:
    """Draw errors of withheld entries, a panel per kind of data."""
    for kind, ax in zip(kinds, axes, strict=True):
        _models(ax, errors[errors["data"] == kind])
        name = panels.title("+", kind)
        ax.set_title(f"{name}, all families" if "+" in errors["graph"].iloc[0] else name)
        ax.sharey(axes[0])
    panels.set_errors(axes, ERROR, errors["mean"])
    panels.name_outer(axes[None], ERROR, errors["sweep"].iloc[0])


def _legend(where: Figure | Axes, shown: dict[str, Line2D]) -> None:
    """Put the legend under a figure, or in a separate place."""
    shown = shown | {
        "tuned by cross-validation": panels.handle(color=style.DARK, **SOLID),
        "oracle-tuned": panels.handle(color=style.DARK, **DOTTED),
    }
    tight = {"columnspacing": 1.1, "handlelength": 2.0}
    if isinstance(where, Figure):
        narrow = where.get_figwidth() <= style.COLUMN
        panels.legend(where, shown, min(2 if narrow else 8, len(shown)), **tight)
    else:
        where.legend(list(shown.values()), list(shown), loc="center", frameon=False, **tight)
