"""How exactly the graph step is solved, and what that does to the printed values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style
from experiments.figures.sparsity import paper_value

#: More decimals than this change no weight: the solver's own digits.
EXACT = 15
#: The psi at which the printed values are hard to reach, and one at which they are not.
HARD, EASY = 1e-1, 1e-3
#: Space between the places of families, and before those of the paper's values.
SPREAD, AFTER = 0.16, 0.1


def draw(inputs: Inputs) -> Drawn:
    """Average precision of rounded weights, and of those of CVXPY, beside the printed values."""
    rows = inputs.grid_rows()
    numbers = panels.means(
        rows[rows["metric"] == "aps"], ["graph", "data", "model", "level", "psi", "metric"]
    ).rename(columns={"level": "decimals"})
    pairs = zip(numbers["graph"], numbers["psi"], strict=True)
    numbers["paper"] = [paper_value(graph, psi) for graph, psi in pairs]
    once = inputs.run_once
    # models of our own solver first, then those of CVXPY, which are fitted once
    solvers = sorted(panels.unique(numbers["model"]), key=lambda model: model in once)
    exact = [model for model in solvers if model not in once]
    families = panels.unique(numbers["graph"])
    fig = Figure(figsize=(style.PAGE, 2.9), layout="constrained")
    left, right = fig.subplots(1, 2, sharey=True, width_ratios=[1.5, 1])
    for k, family in enumerate(families):
        look = panels.family_look(family, k)
        shift = SPREAD * (k - (len(families) - 1) / 2)
        own = numbers[numbers["graph"] == family]
        _rounded(left, own[own["model"].isin(exact)], _decimals(numbers), shift, look)
        _by_solver(right, _at(own, HARD), solvers, shift, look)
    names = ["exact" if d >= EXACT else f"{d:g}" for d in _decimals(numbers)]
    _ticks(left, [*names, "paper"])
    left.set(xlabel=registry.axis_label("decimals"), ylabel=registry.axis_label("aps"))
    # kgl_osqp is KGL with the graph step by OSQP
    _ticks(right, [*(s.partition("_")[2].upper() or "exact" for s in solvers), "paper"])
    right.set_xlabel(rf"graph step, {registry.axis_label('psi')} = {HARD:g}")
    panels.set_values(left, "aps")
    panels.legend(fig, _handles(families))
    return fig, numbers


def _decimals(numbers: pd.DataFrame) -> list[float]:
    return sorted(numbers["decimals"].unique(), reverse=True)


def _at(numbers: pd.DataFrame, psi: float) -> pd.DataFrame:
    return numbers[np.isclose(numbers["psi"], psi, rtol=1e-6, atol=0)]


def _rounded(
    ax: Axes, numbers: pd.DataFrame, decimals: list[float], shift: float, look: dict[str, Any]
) -> None:
    """Draw a family against the decimals of its weights, at two psi."""
    for psi, alpha, dash in ((HARD, 1.0, "-"), (EASY, 0.4, "--")):
        own = _at(numbers, psi).sort_values("decimals", ascending=False)
        if own.empty:
            continue
        x = np.searchsorted(-np.array(decimals), -own["decimals"]) + shift
        color = mpl.colors.to_rgba(look["color"], alpha)
        panels.curve(ax, x, own, **(look | {"color": color, "linestyle": dash}))
        _star(ax, len(decimals) + AFTER + shift, own["paper"].iloc[0], look, alpha)


def _by_solver(
    ax: Axes, part: pd.DataFrame, solvers: Sequence[str], shift: float, look: dict[str, Any]
) -> None:
    """Draw a family at the unrounded weights of each solver."""
    for place, solver in enumerate(solvers):
        found = part[part["model"] == solver]
        found = found[found["decimals"] == found["decimals"].max()]
        if found.empty:  # nothing, drawn unclipped, would upset the layout
            continue
        panels.curve(ax, np.full(len(found), place + shift), found, linestyle="none", **look)
    if len(part):
        _star(ax, len(solvers) + AFTER + shift, part["paper"].iloc[0], look, 1.0)


def _star(ax: Axes, x: float, value: float, look: dict[str, Any], alpha: float) -> None:
    ax.plot(x, value, "*", color=look["color"], alpha=alpha, markersize=7, clip_on=False)


def _ticks(ax: Axes, names: list[str]) -> None:
    """Name the places of an axis; the last, after a line, is the paper's."""
    last = len(names) - 1 + AFTER
    ax.set_xticks([*range(len(names) - 1), last], names)
    ax.axvline(last - 0.5, color=style.LIGHT, linewidth=0.6)
    ax.grid(False, axis="x")
    ax.set_xlim(-0.5, last + 0.5)


def _handles(families: Sequence[str]) -> dict[str, Line2D]:
    shown = {
        panels.title(family): panels.handle(**panels.family_look(family, k))
        for k, family in enumerate(families)
    }
    psi, dark = registry.axis_label("psi"), {"color": style.DARK}
    shown[f"{psi} = {HARD:g}"] = panels.handle(**dark)
    shown[f"{psi} = {EASY:g}"] = panels.handle(alpha=0.5, linestyle="--", **dark)
    shown["paper"] = panels.handle(marker="*", markersize=7, linestyle="none", **dark)
    return shown
