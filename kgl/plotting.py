"""Pictures of graphs. Needs matplotlib, which is imported only when something is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from kgl._labels import align
from kgl._optional import import_optional
from kgl._types import Array
from kgl._validation import as_floats, as_numbers
from kgl.plotting_large import plot_clusters

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_graph"]

#: Up to so many nodes all are named; in larger graphs the ones with the largest degree.
ALL_LABELS, FEW_LABELS = 40, 25
#: Nodes up to which a sparse graph is drawn like any other.
FEW_NODES = 300
#: Colours of edges between nodes that move together, and opposite to each other.
TOGETHER, OPPOSITE = (0.25, 0.25, 0.25), (0.84, 0.37, 0.0)


def plot_graph(
    W: Any,
    *,
    names: Sequence[Any] | None = None,
    signs: Any = None,
    probabilities: Array | None = None,
    positions: Any = None,
    values: Array | None = None,
    values_label: str | None = None,
    ax: Axes | None = None,
    labels: bool | None = None,
    title: str | None = None,
    seed: int = 0,
) -> Axes:
    """Draw a weighted graph: the heavier an edge, the thicker and darker its line.

    With probabilities, the more probable it is, with a legend.

    Parameters
    ----------
    W : array or sparse array (m, m)
        Weights. A sparse graph of more than 300 nodes is drawn cluster by cluster (Louvain's
        method), all nodes small, the 30,000 heaviest edges as thin lines.
    names : sequence, optional
        Node names.
    signs : array (m, m), optional
        -1 for edges between nodes that move opposite to each other: these are orange and dashed.
    probabilities : array (m, m), optional
        Probabilities of the edges, which then set thickness and darkness instead of the weights.
    positions : array (m, 2), DataFrame or dict, optional
        Where to draw the nodes, across and up; laid out by the weights if not given. A DataFrame
        of two columns is matched by its index, a dict has a pair for each node name.
    values : array (m,), optional
        Numbers to colour the nodes by; those of a Series are matched by its index.
    values_label : str, optional
        What they are; draws a colour bar.
    ax : matplotlib Axes, optional
        Where to draw.
    labels : bool, optional
        Whether to write all names. By default all of up to 40 nodes, and those of the 25 nodes
        with the largest degree in a larger graph; of a graph in clusters, that of each hub.
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

    names = list(range(W.shape[0])) if names is None else list(names)
    values = None if values is None else _coloured(values, names)
    if issparse(W):
        return _plot_sparse(
            W, names=names, signs=signs, positions=positions, values=values,
            values_label=values_label, ax=ax, labels=labels, title=title, seed=seed,
        )  # fmt: skip
    m = len(W)
    positions = _layout(W, seed) if positions is None else _placed(positions, names)
    if ax is None:
        _, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
    rows, cols = np.nonzero(np.triu(W, 1))
    weights = W[rows, cols]
    if probabilities is None:
        strength = weights / weights.max() if len(weights) else weights
    else:
        probabilities = _checked(probabilities, m)
        strength = _contrast(probabilities[rows, cols])
    order = np.argsort(strength)
    segments = np.stack([positions[rows], positions[cols]], axis=1)[order]
    negative = np.zeros(len(rows), bool) if signs is None else signs[rows, cols][order] < 0
    for which, colour, style in ((~negative, TOGETHER, "solid"), (negative, OPPOSITE, "dashed")):
        drawn = LineCollection(
            list(segments[which]),
            **_look(strength[order][which], colour),
            linestyles=style,
            zorder=1,
        )
        if which.any() or style == "solid":
            ax.add_collection(drawn)
    _explain(ax, None if probabilities is None else probabilities[rows, cols], bool(negative.any()))
    colours: dict[str, Any] = (
        {"c": values, "cmap": "cividis"} if values is not None else {"c": "#0072B2"}
    )
    across, up = positions.T
    dots = ax.scatter(across, up, s=60, edgecolors="white", linewidths=0.8, zorder=2, **colours)
    if values is not None and values_label is not None:
        ax.figure.colorbar(dots, ax=ax, label=values_label, shrink=0.8)
    if labels is not False:
        every = labels or m <= ALL_LABELS
        shown = np.arange(m) if every else np.argsort(-W.sum(axis=1), kind="stable")[:FEW_LABELS]
        for k in shown:
            ax.annotate(
                # names are text, not TeX
                str(names[k]).replace("$", r"\$"),
                positions[k],
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


def _plot_sparse(W: Any, *, names: list[Any], signs: Any, **options: Any) -> Axes:
    """Draw a sparse graph: as any other up to :data:`FEW_NODES`, then cluster by cluster."""
    if W.shape[0] <= FEW_NODES:
        own = None
        if signs is not None:
            own = signs.toarray() if issparse(signs) else np.asarray(signs)
        return plot_graph(W.toarray(), names=names, signs=own, **options)
    if options["positions"] is not None:
        options["positions"] = _placed(options["positions"], names)
    return plot_clusters(W, names=names, signs=signs, **options)


def _checked(probabilities: Any, m: int) -> Array:
    """Return probabilities as an array (m, m), refusing other shapes."""
    found = np.asarray(probabilities, dtype=float)
    if found.shape != (m, m):
        raise ValueError(f"probabilities has the shape {found.shape}; give an array ({m}, {m})")
    return found


def _contrast(probabilities: Array) -> Array:
    """Return strengths in [0, 1], the cube, so that one half looks much weaker than one."""
    return np.asarray(np.clip(probabilities, 0.0, 1.0) ** 3)


def _look(strength: Array, colour: tuple[float, float, float]) -> dict[str, Any]:
    """Return widths and colours of lines by their strength in [0, 1]."""
    return {
        "linewidths": 0.4 + 3.2 * strength,
        "colors": [(*colour, 0.15 + 0.7 * value) for value in strength],
    }


def _explain(ax: Axes, probabilities: Array | None, negative: bool) -> None:
    """Add a legend of the lines: some probabilities, and the dashes of negative edges."""
    handles = []
    if probabilities is not None and len(probabilities):
        # graphs of likely edges start at one half
        levels = (0.5, 0.75, 1.0) if probabilities.min() >= 0.4 else (0.1, 0.5, 0.75, 1.0)
        for level in levels:
            look = _look(_contrast(np.array([level])), TOGETHER)
            line = {"lw": look["linewidths"][0], "color": look["colors"][0]}
            handles += ax.plot([], [], label=f"probability {level:g}", **line)
    if negative:
        handles += ax.plot([], [], color=OPPOSITE, ls="dashed", label="negative: move opposite")
    if handles:
        ax.legend(
            handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), frameon=False,
            fontsize=7, ncols=len(handles),
        )  # fmt: skip


def _placed(positions: Any, names: list[Any]) -> Array:
    """Return positions (m, 2) in the order of the nodes."""
    m = len(names)
    if isinstance(positions, Mapping):
        lost = [name for name in names if name not in positions]
        if lost:
            raise ValueError(
                f"positions has no entry for node {lost[0]!r} ({len(lost)} such node(s)); give "
                "a pair of numbers for each"
            )
        positions = [positions[name] for name in names]
    placed = as_floats(align(positions, names, "positions", size=m), "positions")
    if placed.shape != (m, 2):
        raise ValueError(
            f"positions has the shape {placed.shape} but there are {m} nodes; give one row of two "
            "numbers, across and up, for each"
        )
    return placed


def _coloured(values: Any, names: list[Any]) -> Array:
    """Return the values of the nodes, in their order."""
    m = len(names)
    found = as_numbers(align(values, names, "values", size=m), "values")
    if found.shape != (m,):
        raise ValueError(
            f"values has the shape {found.shape} but there are {m} nodes; give one number for each"
        )
    return found


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
