"""Learned graphs of the real data as pictures, and the temperatures that models fill in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments import registry
from experiments.figures import Drawn, Inputs, style
from experiments.registry import CV
from kgl._types import Array
from kgl.laplacian import adjacency_from_edges

#: Of groups: safe for the color-blind, each with its marker.
GROUPS = (
    ("#D55E00", "o"),
    ("#0072B2", "s"),
    ("#56B4E9", "D"),
    ("#009E73", "^"),
    ("#E69F00", "v"),
)
GREY = "#444444"
#: Length of a degree of longitude over one of latitude, at the latitude of Switzerland.
ASPECT = np.cos(np.deg2rad(46.8))


def station_map(inputs: Inputs) -> Drawn:
    """The ground truth and the learned graph over the stations' positions, colored by altitude."""
    labels, data, fit = next(inputs.arrays())
    at = tuned_point(inputs, labels, fit)
    place = data["place"][0] * [ASPECT, 1.0]
    truth, learned = data["W"][0], adjacency_from_edges(fit["weights"][0, at])
    graphs = {
        "ground_truth": ("GL, all twelve months (ground truth)", truth),
        labels["model"]: (
            f"{registry.model(labels['model']).label}, {labels['n']} months, "
            f"{labels['missing']:.0%} missing",
            learned,
        ),
    }
    fig = Figure(figsize=(style.PAGE, 3.0), layout="constrained")
    axes = fig.subplots(1, 2)
    numbers = []
    for (name, (title, W)), ax in zip(graphs.items(), axes, strict=True):
        shown = _heaviest(W, inputs.config["options"]["edges"])
        false = (shown > 0) & (truth == 0)
        for part, color in ((np.where(false, 0.0, shown), GREY), (shown * false, style.ORANGE)):
            _draw_edges(ax, part, place, color, float(shown.max()))
        dots = ax.scatter(*place.T, c=data["altitude"][0], cmap="cividis", s=24, zorder=2,
                          edgecolors="white", linewidths=0.5)  # fmt: skip
        ax.set(title=title, aspect="equal")
        ax.set_axis_off()
        numbers.append(_edges(W, data["names"][0], name))
    _name_some(axes[0], place, data["names"][0], data["altitude"][0])
    fig.colorbar(dots, ax=axes, shrink=0.8, pad=0.01, label="altitude (m)")
    pairs = np.triu_indices(len(truth), 1)
    share = float((truth[pairs] > 0)[learned[pairs] > 0].mean())
    handles = [
        Line2D([], [], color=GREY, label="edge of the ground truth"),
        Line2D([], [], color=style.ORANGE, label="false edge"),
    ]
    fig.legend(
        handles=handles,
        loc="outside lower center",
        ncols=2,
        frameon=False,
        title=f"{share:.0%} of the learned edges are in the ground truth",
        title_fontsize=8,
    )
    return fig, pd.concat(numbers, ignore_index=True)


def _draw_edges(ax: Axes, W: Array, place: Array, color: Any, largest: float) -> None:
    """Draw edges, the heavier the thicker; one color for all, or an array of one per pair."""
    a, b = np.nonzero(np.triu(W, 1))
    strength = W[a, b] / largest
    colors = color if isinstance(color, str) else color[a, b]
    ends = list(np.stack([place[a], place[b]], axis=1))
    lines = LineCollection(ends, linewidths=0.3 + 1.7 * strength, colors=colors, zorder=1)
    lines.set_alpha(list(0.2 + 0.6 * strength) or None)
    ax.add_collection(lines)


def _name_some(ax: Axes, place: Array, names: Array, altitude: Array) -> None:
    """Name the stations at the four ends of the map, the highest and the lowest."""
    across, up = place.T
    ends = {across.argmin(), across.argmax(), up.argmin(), up.argmax()}
    for k in sorted({*ends, altitude.argmax(), altitude.argmin()}):
        ax.annotate(names[k], place[k], xytext=(0, 4), textcoords="offset points", fontsize=5.5,
                    ha="center", zorder=3)  # fmt: skip


def imputed(inputs: Inputs) -> Drawn:
    """One panel per model: withheld temperatures against imputed ones, one color per month."""
    cells = list(inputs.arrays())
    fig = Figure(figsize=(style.PAGE, 1.95), layout="constrained")
    axes = fig.subplots(1, len(cells), sharex=True, sharey=True, squeeze=False)[0]
    rows = []
    months = ("January", "February", "March")
    for (labels, data, fit), ax in zip(cells, axes, strict=True):
        at = tuned_point(inputs, labels, fit)
        level = data["month_mean"][0][:, None]
        true, filled = data["Y_full"][0] + level, fit["signals"][0, at] + level
        hidden = np.isnan(data["Y"][0])
        for k, (color, marker) in enumerate(GROUPS[: len(true)]):
            ax.scatter(true[k, hidden[k]], filled[k, hidden[k]], s=7, marker=marker,
                       facecolors="none", edgecolors=color, linewidths=0.7,
                       label=months[k] if k < 3 else f"month {k + 1}")  # fmt: skip
            rows.append(_errors(labels["model"], k + 1, true[k, hidden[k]], filled[k, hidden[k]]))
        rows.append(_errors(labels["model"], "all", true[hidden], filled[hidden]))
        ends = [true.min() - 1, true.max() + 1]
        ax.plot(ends, ends, color="#777777", linewidth=0.8, zorder=0)
        name = registry.model(labels["model"]).label
        ax.set_title(f"{name}\nRMSE {rows[-1]['rmse']:.2f} °C", fontsize=8)
        ax.set_aspect("equal")
    axes[0].set_ylabel("imputed (°C)")
    fig.supxlabel("withheld temperature (°C)", fontsize=8)
    handles, names = axes[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside right center", frameon=False, handletextpad=0.2)
    # errors, not temperatures: the table is tracked, and the data must not be redistributed
    return fig, pd.DataFrame(rows)


def item_graph(inputs: Inputs) -> Drawn:
    """The learned graph round a circle, group by group; edges within a group have its color."""
    labels, data, fit = next(inputs.arrays())
    at = tuned_point(inputs, labels, fit)
    W = adjacency_from_edges(fit["weights"][0, at])
    names, groups = data["names"][0], data["groups"][0]
    looks = dict(zip(dict.fromkeys(groups), GROUPS, strict=False))
    # a gap between groups, which keeps them apart without their colors
    step = np.arange(len(W)) + 1.0 * np.cumsum(np.r_[0, groups[1:] != groups[:-1]])
    angle = np.pi / 2 - 2 * np.pi * step / (step[-1] + 2)
    place = np.column_stack([np.cos(angle), np.sin(angle)])
    within = groups[:, None] == groups[None, :]
    fig = Figure(figsize=(4.6, 5.4), layout="constrained")
    ax = fig.subplots()
    _draw_edges(ax, np.where(within, 0.0, W), place, GREY, float(W.max()))
    own = np.array([to_rgb(looks[group][0]) for group in groups])
    colors = np.broadcast_to(own[:, None], (*W.shape, 3))
    _draw_edges(ax, np.where(within, W, 0.0), place, colors, float(W.max()))
    handles = []
    for group, (color, marker) in looks.items():
        look: dict[str, Any] = {"color": color, "marker": marker}
        x, y = place[groups == group].T
        ax.scatter(x, y, s=34, edgecolors="white", linewidths=0.6, zorder=2,
                   **look)  # fmt: skip
        handles.append(Line2D([], [], linestyle="none", label=group, **look))
    for name, turn, (across, up) in zip(names, np.rad2deg(angle), 1.06 * place, strict=True):
        left = across < 0
        side: dict[str, Any] = {
            "ha": "right" if left else "left",
            "va": "center",
            "rotation_mode": "anchor",
        }
        ax.text(across, up, name.replace("_", " "), fontsize=7, rotation=turn + 180 * left, **side)
    ax.set(xlim=(-1.55, 1.55), ylim=(-1.5, 1.85), aspect="equal")
    ax.set_axis_off()
    model = registry.model(labels["model"]).label
    share = float(W[within].sum() / W.sum())
    chance = float((within.sum() - len(W)) / (W.size - len(W)))
    text = (
        f"{model}, {labels['n']} reviewers: NMI {fit['nmi'][0, at]:.2f}\n{share:.0%} of the weight "
        f"lies within groups; by chance {chance:.0%}"
    )
    ax.text(0.0, 1.85, text, ha="center", va="top", fontsize=8)
    fig.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False,
               columnspacing=1.0, handletextpad=0.2)  # fmt: skip
    return fig, _edges(W, names, labels["model"])


def tuned_point(inputs: Inputs, labels: dict[str, Any], fit: dict[str, Any]) -> int:
    """Return the position of the grid point that cross-validation selects in replicate 0."""
    table = inputs.table
    rows = table[(table["selected_by"] == CV) & (table["replicate"] == 0)]
    for key, value in labels.items():
        rows = rows[rows[key] == value]
    axes = [name for name in fit if name.startswith("grid.")]
    match = np.ones(len(fit[axes[0]]), dtype=bool)
    for name in axes:
        match &= fit[name] == rows.iloc[0][name.removeprefix("grid.")]
    return int(np.flatnonzero(match)[0])


def _heaviest(W: Array, count: int) -> Array:
    """Return the graph of the heaviest edges alone."""
    pairs = np.sort(W[np.triu_indices(len(W), 1)])[::-1]
    cut = pairs[min(count, int(np.count_nonzero(pairs))) - 1]
    return np.where(cut <= W, W, 0.0)


def _edges(W: Array, names: Array, graph: str) -> pd.DataFrame:
    a, b = np.nonzero(np.triu(W, 1))
    frame = {"graph": graph, "node": names[a], "other": names[b], "weight": W[a, b]}
    return pd.DataFrame(frame).sort_values("weight", ascending=False, kind="stable")


def _errors(model: str, month: Any, true: Array, filled: Array) -> dict[str, Any]:
    error = filled - true
    return {
        "model": model,
        "month": month,
        "withheld": error.size,
        "rmse": float(np.sqrt(np.mean(error**2))),
        "bias": float(error.mean()),
        "correlation": float(np.corrcoef(true, filled)[0, 1]),
    }
