"""The functional viewpoint: figure 1, from one data set and the model fitted to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from experiments.figures import Drawn, Inputs, style
from kgl._types import Array
from kgl.laplacian import adjacency_from_edges
from kgl.plotting import plot_graph

#: Colors of the two rows in (a) and (b): visible on the colors of (a) and not used in (c).
ROWS = ("#000000", style.PURPLE)
GREY = "#444444"
#: Of legends below a panel.
TIGHT: dict[str, Any] = {
    "frameon": False,
    "handlelength": 1.3,
    "columnspacing": 1.1,
    "handletextpad": 0.4,
}


def draw(inputs: Inputs) -> Drawn:
    """(a) The observed matrix, (b) two rows of it as functions, (c) the learned graph."""
    labels, data, fit = next(inputs.arrays())
    for name in ("weights", "signals"):
        if name not in fit:
            raise ValueError(
                f"study.keep of {inputs.study}: the fit of {labels['model']} has no {name}; keep "
                "[weights, signals], and name a model that fits signals in study.models"
            )
    Y, full, truth = data["Y"][0], data["Y_full"][0], data["W"][0]
    aps = inputs.aps(fit)[0]
    # least error of the weights: a complete graph of ordered weights has a high APS too
    best = int(np.argmin(fit["sse"][0]))
    W = adjacency_from_edges(fit["weights"][0, best])
    rows = _rows(Y)
    fig = Figure(figsize=(style.PAGE, 2.9), layout="constrained")
    grid = fig.add_gridspec(len(rows), 3, width_ratios=(0.85, 1.5, 1.2))
    middle = grid[:, 1].subgridspec(len(rows), 1).subplots(squeeze=False, sharex=True, sharey=True)
    numbers = [
        _matrix(fig.add_subplot(grid[:, 0]), Y, rows),
        *_functions(middle[:, 0], rows, Y, full, fit["signals"][0, best]),
        _graph(fig.add_subplot(grid[:, 2]), W, truth, f"(c) learned graph, APS {aps[best]:.2f}"),
        _frame("c", "APS", pd.NA, pd.NA, pd.NA, [aps[best]]),
    ]
    return fig, pd.concat(numbers, ignore_index=True)


def _rows(Y: Array) -> list[int]:
    """Choose a row of each half of the matrix: the one with nearest to a third of it missing."""
    away = np.abs(np.isnan(Y).mean(axis=1) - 1 / 3)
    halves = (half for half in np.array_split(np.arange(len(Y)), 2) if len(half))
    return [int(half[np.argmin(away[half])]) for half in halves]


def _frame(panel: str, kind: Any, row: Any, node: Any, other: Any, value: Any) -> pd.DataFrame:
    places = {"row": row, "node": node, "other": other}
    frame = pd.DataFrame({"panel": panel, "kind": kind, **places, "value": value})
    return frame.astype(dict.fromkeys(places, "Int64"))


def _integers() -> MaxNLocator:
    """Return matplotlib's own ticks, on whole numbers alone."""
    return MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True)


def _matrix(ax: Axes, Y: Array, rows: Sequence[int]) -> pd.DataFrame:
    colors = mpl.colormaps["viridis"].with_extremes(bad="white")
    image = ax.imshow(Y, aspect="auto", cmap=colors, interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="observed value")
    for row, color in zip(rows, ROWS, strict=False):
        frame = Rectangle((-0.5, row - 0.5), Y.shape[1], 1, fill=False, edgecolor=color)
        frame.set(linewidth=1.6, clip_on=False, zorder=3)
        ax.add_patch(frame)
    ax.set(title="(a) observed matrix", xlabel="node $j$", ylabel="observation $i$")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(_integers())
    ax.grid(False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(True)  # white entries need an edge
    i, j = np.indices(Y.shape).reshape(2, -1)
    kind = np.where(np.isnan(Y), "missing", "observed").ravel()
    return _frame("a", kind, i, j, pd.NA, Y.ravel())


def _functions(
    axes: Any, rows: Sequence[int], Y: Array, full: Array, signals: Array
) -> list[pd.DataFrame]:
    numbers = []
    node = np.arange(Y.shape[1])
    for ax, row, color in zip(axes, rows, ROWS, strict=False):
        seen = ~np.isnan(Y[row])
        ax.plot(node, signals[row], color=color)
        dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5, "color": color}
        ax.plot(node[seen], Y[row, seen], **dots)
        ax.plot(node[~seen], full[row, ~seen], **dots, markerfacecolor="white")
        ax.set_ylabel(rf"$f(z_{{{row}}}, x_j)$")
        ax.margins(y=0.12)
        numbers += [
            _frame("b", "fitted", row, node, pd.NA, signals[row]),
            _frame("b", np.where(seen, "observed", "withheld"), row, node, pd.NA, full[row]),
        ]
    axes[0].set_title("(b) rows as functions")
    axes[-1].set_xlabel("node $j$")
    axes[-1].xaxis.set_major_locator(_integers())
    dot: dict[str, Any] = {"color": GREY, "linestyle": "none", "marker": "o", "markersize": 5}
    handles = [
        Line2D([], [], color=GREY, label="fitted"),
        Line2D([], [], **dot, label="observed"),
        Line2D([], [], **dot, markerfacecolor="white", label="withheld"),
    ]
    place: dict[str, Any] = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, -0.22 * len(rows)),
        "ncols": 3,
    }
    axes[-1].legend(handles=handles, **place, **TIGHT)
    return numbers


def _graph(ax: Axes, W: Array, truth: Array, title: str) -> pd.DataFrame:
    # round a circle in the order of the other panels, where no edge hides another
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(W)) / len(W)
    positions = np.column_stack([np.cos(angle), np.sin(angle)])
    plot_graph(W, positions=positions, ax=ax, labels=False, title=title)
    for node, (across, up) in enumerate(1.2 * positions):
        ax.text(across, up, str(node), ha="center", va="center", fontsize=7)
    a, b = np.triu_indices(len(W), 1)
    learned, true = W[a, b], truth[a, b]
    widths = 0.4 + 3.2 * learned / max(learned.max(), np.finfo(float).tiny)  # as in plot_graph
    kinds: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "correct": ((learned > 0) & (true > 0), learned, {"color": GREY}),
        "false": ((learned > 0) & (true == 0), learned, {"color": style.ORANGE}),
        "missed": ((learned == 0) & (true > 0), true, {"color": GREY, "linestyle": ":"}),
    }
    numbers, handles = [], []
    for kind, (chosen, weight, look) in kinds.items():
        ends = np.stack([positions[a[chosen]], positions[b[chosen]]], axis=1)
        if kind != "correct":  # plot_graph has drawn those; false ones are painted over
            width = widths[chosen] if kind == "false" else 1.0
            ax.add_collection(LineCollection(list(ends), linewidths=width, zorder=1.1, **look))
        handles.append(Line2D([], [], **look, label=kind))
        numbers.append(_frame("c", kind, pd.NA, a[chosen], b[chosen], weight[chosen]))
    ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), anchor="N")
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, **TIGHT)
    return pd.concat(numbers, ignore_index=True)
