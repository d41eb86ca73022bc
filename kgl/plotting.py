"""Pictures of graphs. Needs matplotlib, which is imported only when something is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl._optional import import_optional
from kgl._types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_graph"]


def plot_graph(
    W: Array,
    *,
    names: Sequence[Any] | None = None,
    positions: Array | None = None,
    values: Array | None = None,
    values_label: str | None = None,
    ax: Axes | None = None,
    labels: bool | None = None,
    title: str | None = None,
    seed: int = 0,
) -> Axes:
    """Draw a weighted graph: the heavier an edge, the thicker and darker its line.

    Parameters
    ----------
    W : array (m, m)
        Weights.
    names : sequence, optional
        Node names.
    positions : array (m, 2), optional
        Where to draw the nodes; laid out by the weights if not given.
    values : array (m,), optional
        Numbers to colour the nodes by.
    values_label : str, optional
        What they are; draws a colour bar.
    ax : matplotlib Axes, optional
        Where to draw.
    labels : bool, optional
        Whether to write the names; by default for up to 40 nodes.
    title : str, optional
        Title of the picture.
    seed : int
        Seed of the layout.

    Returns
    -------
    matplotlib Axes
    """
    plt = import_optional("matplotlib.pyplot", "plot", "plotting")
    from matplotlib.collections import LineCollection

    m = len(W)
    names = list(range(m)) if names is None else list(names)
    if positions is None:
        positions = _layout(W, seed)
    if ax is None:
        _, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
    rows, cols = np.nonzero(np.triu(W, 1))
    weights = W[rows, cols]
    strength = weights / weights.max() if len(weights) else weights
    order = np.argsort(strength)
    segments = np.stack([positions[rows], positions[cols]], axis=1)[order]
    lines = LineCollection(
        list(segments),
        linewidths=0.4 + 3.2 * strength[order],
        colors=[(0.25, 0.25, 0.25, 0.15 + 0.7 * s) for s in strength[order]],
        zorder=1,
    )
    ax.add_collection(lines)
    colours: dict[str, Any] = (
        {"c": values, "cmap": "cividis"} if values is not None else {"c": "#0072B2"}
    )
    across, up = positions.T
    dots = ax.scatter(across, up, s=60, edgecolors="white", linewidths=0.8, zorder=2, **colours)
    if values is not None and values_label is not None:
        ax.figure.colorbar(dots, ax=ax, label=values_label, shrink=0.8)
    if labels if labels is not None else m <= 40:
        for (a, b), name in zip(positions, names, strict=True):
            ax.annotate(
                str(name),
                (a, b),
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize=7,
                zorder=3,
            )
    ax.set_aspect("equal")
    ax.margins(0.1)
    ax.set_axis_off()
    if title is not None:
        ax.set_title(title)
    return ax


def _layout(W: Array, seed: int) -> Array:
    """Place nodes by networkx: stress where the graph is connected, springs otherwise."""
    import networkx as nx

    graph = nx.from_numpy_array(np.where(W > 0, W, 0.0))
    if graph.number_of_edges() and nx.is_connected(graph):
        for _, _, edge in graph.edges(data=True):
            edge["length"] = 1.0 / edge["weight"]
        layout = nx.kamada_kawai_layout(graph, weight="length")
    else:
        layout = nx.spring_layout(graph, weight="weight", seed=seed)
    return np.array([layout[k] for k in range(len(W))])
