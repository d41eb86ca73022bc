"""How many outer iterations fits take, and by how much the objective rises at most."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style
from experiments.figures.limits import DASHES
from experiments.registry import HYPERPARAMETERS
from kgl._types import Array

#: Outer iterations that the paper names.
PAPER_ITERATIONS = 10


def draw(inputs: Inputs) -> Drawn:
    """Share of fits that have converged after so many outer iterations."""
    rows = inputs.grid_rows()
    missing = sorted(rows["missing"].unique())
    colors = mpl.colormaps["viridis"](np.linspace(0.15, 0.7, len(missing)))
    steps = np.arange(0, int(rows.loc[rows["metric"] == "n_iter", "value"].max()) + 1)
    fig = Figure(figsize=(style.COLUMN, 2.6), layout="constrained")
    ax = fig.subplots()
    parts = []
    for kind, dash in zip(panels.unique(rows["data"]), DASHES, strict=False):
        for rate, color in zip(missing, colors, strict=False):
            part = rows[(rows["data"] == kind) & (rows["missing"] == rate)]
            taken = _iterations(part)
            if not len(taken):
                continue
            share = (taken <= steps[:, None]).mean(axis=1)
            name = registry.name_of(kind).removesuffix(" data")
            label = f"{name}, {100 * rate:g} % missing"
            ax.step(steps, share, where="post", color=color, linestyle=dash, label=label)
            parts.append(_numbers({"data": kind, "missing": rate}, part, taken, steps, share))
    numbers = pd.concat(parts, ignore_index=True)
    ax.axvline(PAPER_ITERATIONS, color=style.GREY, linewidth=1.0, linestyle=":")
    ax.set(xlabel=registry.axis_label("n_iter"), ylabel="share of fits converged", ylim=(0, 1.02))
    _set_iterations(ax, float(numbers["iterations"].max()))
    rise = numbers.loc[numbers["quantity"] == "largest_rise", "value"].max()
    if np.isfinite(rise):
        text = panels.scientific(float(f"{rise:.0e}")) if rise > 0 else "none"
        text = f"largest relative rise\nof the objective: {text}"
        ax.text(0.98, 0.06, text, transform=ax.transAxes, ha="right", fontsize=7)
    handles, labels = ax.get_legend_handles_labels()
    panels.legend(fig, dict(zip(labels, handles, strict=True)), ncols=2)
    return fig, numbers


def _iterations(part: pd.DataFrame) -> Array:
    """Return the iterations of each fit; infinite where it stopped before it converged."""
    keys = ["graph", "replicate", *(axis for axis in HYPERPARAMETERS if axis in part)]
    found = part[part["metric"].isin(["n_iter", "converged"])]
    table = found.pivot(index=keys, columns="metric", values="value")
    if "n_iter" not in table:
        return np.empty(0)
    done = table["converged"] > 0 if "converged" in table else table["n_iter"] > 0
    return table["n_iter"].where(done, np.inf).to_numpy()


def _numbers(
    known: dict[str, Any], part: pd.DataFrame, taken: Array, steps: Any, share: Array
) -> pd.DataFrame:
    curve = {**known, "quantity": "share_converged", "iterations": steps, "value": share}
    others = {
        "largest_rise": part.loc[part["metric"] == "rise", "value"].max(),
        "fits": len(taken),
        "share_not_converged": np.isinf(taken).mean(),
    }
    rows = [
        known | {"quantity": name, "iterations": np.nan, "value": value}
        for name, value in others.items()
    ]
    return pd.concat([pd.DataFrame(curve), pd.DataFrame(rows)])


def _set_iterations(ax: Axes, top: float) -> None:
    if top > 4 * PAPER_ITERATIONS:
        ax.set_xscale("log")
        ax.set_xlim(1, top)
        ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if tick <= top]
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.set_xticks([], minor=True)
    else:
        ax.set_xlim(0, max(top, PAPER_ITERATIONS + 1))
