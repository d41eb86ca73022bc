"""What tests of figures share: draw a figure, check that it can be read, find what it shows."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from experiments.figures import Drawn, Inputs, style
from experiments.lookup import resolve


def where(numbers: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Return the rows that have these values."""
    return numbers[(numbers[list(values)] == list(values.values())).all(axis=1)]


def labelled(ax: Any, label: str) -> Any:
    """Return the line with a label."""
    (line,) = [line for line in ax.get_lines() if line.get_label() == label]
    return line


def bars(ax: Any, line: Any) -> Any:
    """Return the ends of the error bars in the color of a line."""
    color = mpl.colors.to_rgba(line.get_color())
    (found,) = [c for c in ax.collections if tuple(c.get_colors()[0]) == color]
    return np.array([segment[:, 1] for segment in found.get_segments()])


def legend(of: Any) -> list[str]:
    """Return the entries of the one legend of a figure or panel."""
    (found,) = of.legends if isinstance(of, Figure) else [of.get_legend()]
    return [text.get_text() for text in found.get_texts()]


def ticks(ax: Any) -> list[str]:
    """Return the names on the horizontal axis."""
    return [tick.get_text() for tick in ax.get_xticklabels()]


def drawn(inputs: Inputs) -> Drawn:
    """Draw the figure of a study; nothing is cut off, and no legend covers a panel.

    Warnings are errors: of a label without a glyph, of a layout without room.
    """
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("error")
        style.use()
        fig, numbers = resolve(f"experiments.figures.{inputs.config['figure']}")(inputs)
        FigureCanvasAgg(fig).draw()  # the canvas that a figure starts with draws nothing
    box, (width, height) = fig.get_tightbbox(), fig.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.02, "something is cut off"
    shown = [ax for ax in fig.axes if ax.get_visible()]
    legends = [*fig.legends, *(ax.get_legend() for ax in shown if ax.get_legend())]
    for found, ax in product(legends, (ax for ax in shown if ax.axison)):
        covered = found.get_window_extent().shrunk(0.98, 0.98).overlaps(ax.get_window_extent())
        assert not covered, f"a legend covers {ax.get_title()!r}"
    return fig, numbers
