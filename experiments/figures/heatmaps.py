"""Error and precision over lam and rho for several psi: figure 13."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style
from kgl._types import Array

#: Ratio of errors from which on a color bar has one tick for each decade.
MANY_DECADES = 30.0

AXES = ("psi", "lam", "rho")
KEYS = ["data", "graph", "model"]


def draw(inputs: Inputs) -> Drawn:
    """One row per metric, one column per psi: means over replicates, the best point circled."""
    numbers = _numbers(inputs)
    rows = panels.groups(numbers, [*KEYS, "metric"])
    psi = panels.unique(numbers["psi"])
    size = (style.PAGE / 4 * max(2, len(psi)), 1.85 * len(rows) + 0.3)
    fig = Figure(figsize=size, layout="constrained")
    axes = fig.subplots(len(rows), len(psi), squeeze=False, sharex=True, sharey=True)
    for ((*cell, metric), part), line in zip(rows, axes, strict=True):
        # errors differ by factors, and the small ones matter
        scale = Normalize if _higher_is_better(metric) else LogNorm
        norm = scale(part["mean"].min(), part["mean"].max())
        for ax, value in zip(line, psi, strict=True):
            image = _heat_map(ax, part[part["psi"] == value], metric, norm)
        better = "higher" if _higher_is_better(metric) else "lower"
        label = f"{registry.axis_label(metric)}\n({better} is better)"
        # ticks within a decade only where there is room for them
        wide = float(np.nanmax(image.get_array()) / np.nanmin(image.get_array())) > MANY_DECADES
        subs = (1.0,) if wide else (1, 1.5, 2, 3, 4, 5, 7)
        ticks = LogLocator(subs=subs) if scale is LogNorm else None
        bar = fig.colorbar(image, ax=line, label=label, ticks=ticks, format="%g", pad=0.01)
        bar.ax.minorticks_off()
        line[0].set_ylabel(_name(cell, numbers) + registry.axis_label("rho"))
    for ax, value in zip(axes[0], psi, strict=True):
        ax.set_title(f"{registry.axis_label('psi')} = {panels.scientific(value)}")
    for ax in axes[-1]:
        ax.set_xlabel(registry.axis_label("lam"))
    return fig, numbers


# ------------------------------------------------------------------------------------- parts


def _higher_is_better(metric: str) -> bool:
    return registry.METRICS[metric].higher_is_better is not False


def _numbers(inputs: Inputs) -> pd.DataFrame:
    """Return means and percentiles over replicates at every point of the psi that are drawn."""
    tables = []
    for labels, _, fit in inputs.arrays():
        absent = [name for name in AXES if f"grid.{name}" not in fit]
        if absent:
            raise ValueError(
                f"study.models of {inputs.study}: {labels['model']} has no {' and '.join(absent)}; "
                "name models that have lam, rho and psi, such as kgl"
            )
        drawn = _drawn(fit["grid.psi"], inputs)
        for metric in inputs.config["metrics"]:
            values = _values(fit, metric, labels, inputs)
            low, high = np.percentile(values, [5, 95], axis=0)
            table = pd.DataFrame({name: fit[f"grid.{name}"] for name in AXES})
            table = table.assign(metric=metric, mean=values.mean(axis=0), p05=low, p95=high)
            for key in reversed(KEYS):
                table.insert(0, key, labels[key])
            for value in dict.fromkeys(drawn):
                part = table[np.isclose(table["psi"], value, rtol=1e-6, atol=0)]
                part = part.sort_values(["lam", "rho"])
                mean = part["mean"]
                best = mean.idxmax() if _higher_is_better(metric) else mean.idxmin()
                tables.append(part.assign(best=part.index == best))
    return pd.concat(tables, ignore_index=True)


def _drawn(grid: Array, inputs: Inputs) -> list[float]:
    """Return the psi that the study names, or all there are."""
    known = np.unique(grid)
    wanted = inputs.config.get("options", {}).get("psi", known)
    for value in wanted:
        if not np.isclose(value, known, rtol=1e-6, atol=0).any():
            raise ValueError(
                f"study.options.psi: {value:g} is not in the grid, which has "
                f"{', '.join(f'{k:g}' for k in known)}; name some of these, or add it to grid.psi"
            )
    return [float(value) for value in wanted]


def _values(fit: dict[str, Array], metric: str, labels: dict[str, Any], inputs: Inputs) -> Array:
    values = inputs.aps(fit) if metric == "aps" else fit[metric]
    if np.isnan(values).any():
        raise ValueError(
            f"study.metrics of {inputs.study}: {labels['model']} has no {metric}; withhold "
            "entries in study.sweep, or leave the metric out"
        )
    return values


def _name(cell: list[str], numbers: pd.DataFrame) -> str:
    """Name the cell of a row where there are several."""
    if len(numbers[KEYS].drop_duplicates()) == 1:
        return ""
    data, graph, model = cell
    return f"{registry.model(model).label}: {panels.title(graph, data)}\n"


def _heat_map(ax: Axes, part: pd.DataFrame, metric: str, norm: Normalize) -> Any:
    # a cell per point, evenly spaced: the grid is in steps of a factor
    table = part.pivot(index="rho", columns="lam", values="mean")
    # dark is better in every row
    colors = "viridis_r" if _higher_is_better(metric) else "viridis"
    image = ax.imshow(
        table, origin="lower", aspect="auto", cmap=colors, norm=norm, interpolation="nearest"
    )
    best = part[part["best"]].iloc[0]
    x, y = list(table.columns).index(best["lam"]), list(table.index).index(best["rho"])
    ax.plot(x, y, "o", ms=8, mfc="none", mec="white", mew=1.6)
    ax.grid(False)
    for axis, values in ((ax.xaxis, table.columns), (ax.yaxis, table.index)):
        step = 1 + (len(values) > 4)  # every label of a long axis would touch the next
        at = np.arange(len(values))[::step]
        axis.set_ticks(at, [panels.scientific(values[k]) for k in at])
    return image
