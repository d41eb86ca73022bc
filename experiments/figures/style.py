"""One look for every figure: sizes, fonts and colours that the colour-blind can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

ORANGE, PURPLE = "#D55E00", "#CC79A7"
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
    "nmi": "NMI",
    "mse_cv": r"held-out MSE$_y$",
    "reviewers": "number of reviewers $n$",
    "noise": r"noise level $\sigma_\epsilon^2$",
    "missing": "missing rate",
    "n": "number of observations $n$",
    "m": "number of nodes $m$",
    "lam": r"$\lambda$",
    "rho": r"$\rho$",
    "psi": r"$\psi$",
    "top_share": "weight on the heaviest 5 %",
    "uneven": "unevenness of weights",
    "size": "size of the signals",
    "row_spread": "spread about row means",
    "spread": "spread about the mean",
    "n_iter": "outer iterations",
    "seconds": "seconds per iteration",
    "observations": r"factor on $\gamma$ of $K_z$",
    "decimals": "decimals of the weights",
}
#: What families of graphs are called in a title; others go by the label of their configuration.
FAMILIES = {"sbm": "SBM", "er": "ER", "ba": "BA"}
#: Colours and markers where lines are families; models have theirs in their configurations.
FAMILY_COLOURS = {"sbm": "#332288", "er": "#2A9D8F", "ba": "#AA3377"}
FAMILY_MARKERS = {"sbm": "o", "er": "s", "ba": "^"}
#: Verdicts on claims; the symbols are for those who see no colours.
VERDICT_COLOURS = {
    "reproduced": "#0072B2",
    "partly": "#E69F00",
    "not reproduced": "#D55E00",
    "not evaluated": "#BBBBBB",
}
VERDICT_SYMBOLS = {"reproduced": "✓", "partly": "◐", "not reproduced": "✗", "not evaluated": "?"}


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


def label(name: str) -> str:
    """Name a metric or hyperparameter as on an axis."""
    return LABELS.get(name, name)


def title(graph: str, labels: dict[str, dict[str, str]], data: str | None = None) -> str:
    """Name a panel by its family of graphs and its kind of data, e.g. "SBM, independent data"."""
    kind = "" if data is None else labels["data"].get(data, data)
    if "+" in graph:  # families taken together: only the kind of data is worth a word
        return kind[:1].upper() + kind[1:]
    family = FAMILIES.get(graph, labels["graph"].get(graph, graph))
    return f"{family}, {kind}" if kind else family


def model(name: str) -> str:
    """Write the label of a model, with its kernels as symbols.

    Examples
    --------
    >>> model("inverse of K_x")
    'inverse of $K_x$'
    """
    return name.replace("K_x", "$K_x$")


def family(graph: str, k: int = 0) -> dict[str, str]:
    """Return the colour and marker of a family of graphs, the k-th of a figure."""
    colour, marker = ("#555555", "#117733", "#88CCEE")[k % 3], "Dv*"[k % 3]  # of other families
    return {
        "color": FAMILY_COLOURS.get(graph, colour),
        "marker": FAMILY_MARKERS.get(graph, marker),
    }


def scientific(value: float) -> str:
    """Write a positive number by its power of ten.

    Examples
    --------
    >>> scientific(1e-7), scientific(3e-5)
    ('$10^{-7}$', '$3\\\\times 10^{-5}$')
    """
    mantissa, exponent = f"{value:e}".split("e")
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if float(mantissa) == 1 else rf"${float(mantissa):g}\times {power}$"


def curve(ax: Axes, x: Any, part: pd.DataFrame, *, bar: float = 0.9, **look: Any) -> Line2D:
    """Draw means, joined by a line, and bars from the 5th to the 95th percentile."""
    # nothing is clipped: half a marker at an APS of 1 would look like less
    (line,) = ax.plot(x, part["mean"], clip_on=False, **look)
    # the bars are not tied to the mean, which one outlier among many can push beyond them
    low, high = part["p05"].to_numpy(), part["p95"].to_numpy()
    ax.errorbar(
        x, (low + high) / 2, yerr=np.maximum(high - low, 0) / 2, fmt="none",
        ecolor=line.get_color(), elinewidth=bar, capsize=1.8, capthick=bar,
        zorder=line.zorder - 0.1, clip_on=False,
    )  # fmt: skip
    return line
