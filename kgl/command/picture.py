"""The picture of --picture, by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl._optional import import_optional
from kgl.command.inputs import Attribute, Inputs
from kgl.command.layout import place_nodes
from kgl.command.learning import Learned
from kgl.command.outputs import Write
from kgl.command.palette import OTHER, categories, category_color

if TYPE_CHECKING:
    from kgl.command.arguments import Arguments

__all__ = ["picture_file"]

#: Longer names are cut.
_LONGEST = 24


def picture_file(inputs: Inputs, learned: Learned, args: Arguments) -> Write:
    """Return a writer of a picture of the graph."""
    chosen = None if args.color is None else inputs.attribute(args.color)

    def write(path: Path) -> None:
        figures = import_optional("matplotlib.figure", "plot", "--picture")
        from kgl.plotting import plot_graph

        figure = figures.Figure(figsize=(7, 6), layout="constrained")
        numbers = None
        if chosen is not None and chosen.numeric:
            numbers = np.array([np.nan if v is None else v for v in chosen.values])
        axes = plot_graph(
            learned.weights,
            names=[_label(name) for name in inputs.names],
            signs=learned.signs,
            probabilities=None if learned.sure is None else learned.sure.values,
            positions=place_nodes(inputs, learned, args.seed),
            values=numbers,
            values_label=None if chosen is None else _label(chosen.name),
            ax=figure.add_subplot(),
        )
        if chosen is not None and not chosen.numeric:
            _color_categories(axes, chosen)
        figure.savefig(path, dpi=150, bbox_inches="tight")

    return write


def _label(name: str) -> str:
    """Cut a long name, and keep matplotlib from reading "$" as mathematics."""
    short = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
    return " ".join(short.split()).replace("$", r"\$")


def _color_categories(axes: Any, chosen: Attribute) -> None:
    """Color the nodes, which are drawn last, by category, with a legend beside that of edges."""
    of_edges = axes.get_legend()
    shown = categories(chosen.values)
    axes.collections[-1].set_facecolor([category_color(v, shown) for v in chosen.values])
    others = any(value not in shown for value in chosen.values)
    entries = [(_label(one), category_color(one, shown)) for one in shown]
    dots = [
        axes.scatter([], [], color=color, label=label)
        for label, color in [*entries, *([("other", OTHER)] if others else [])]
    ]
    corner = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    axes.legend(handles=dots, title=_label(chosen.name), frameon=False, **corner)
    if of_edges is not None:
        axes.add_artist(of_edges)
