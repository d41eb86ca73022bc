"""One look for every figure: sizes, fonts and colours that the colour-blind can tell apart."""

from __future__ import annotations

import matplotlib as mpl

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
#: Widths of the paper's columns, in inches.
COLUMN, PAGE = 3.5, 7.2
#: What metrics and hyperparameters are called on an axis.
LABELS = {
    "aps": "APS",
    "aps_scores": "APS of scores",
    "sse": r"SSE$_\mathcal{G}$",
    "mse_out": r"out-of-sample MSE$_y$",
    "mse_in": r"training MSE$_y$",
    "density": "share of pairs linked",
    "noise": r"noise level $\sigma_\epsilon^2$",
    "missing": "missing rate",
    "n": "number of observations $n$",
    "m": "number of nodes $m$",
    "lam": r"$\lambda$",
    "rho": r"$\rho$",
    "psi": r"$\psi$",
}


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
