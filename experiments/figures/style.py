"""One look for every figure: sizes, fonts, and colors that are distinct for the color-blind."""

from __future__ import annotations

import matplotlib as mpl

__all__ = ["COLUMN", "DARK", "GREY", "LIGHT", "MARKERS", "ORANGE", "PAGE", "PURPLE", "use"]

#: Widths of the paper's columns, in inches.
COLUMN, PAGE = 3.5, 7.2
ORANGE, PURPLE = "#D55E00", "#CC79A7"
#: Greys: of legends, of reference lines, and of lines between groups.
DARK, GREY, LIGHT = "#333333", "#777777", "#999999"
#: Of lines that are neither models nor families, in turn.
MARKERS = "osD^vP*X"


def use() -> None:
    """Set matplotlib's defaults."""
    mpl.rcParams.update(
        {
            "font.size": 8,
            "axes.titlesize": 9,
            "axes.labelsize": 8,
            "legend.fontsize": 7,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#dddddd",
            "grid.linewidth": 0.6,
            "axes.axisbelow": True,
            "lines.linewidth": 1.4,
            "lines.markersize": 4,
            "pdf.fonttype": 42,
            "savefig.dpi": 200,
        }
    )
