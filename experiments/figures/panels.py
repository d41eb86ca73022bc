"""What figures share: facets, titles, percentile bars, axes and legends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from experiments import registry
from experiments.figures import style

#: Errors that differ by more than this factor are drawn on a logarithmic axis.
LOG_FROM = 4.0
#: A legend under a panel, where it hides nothing.
BELOW: dict[str, Any] = {
    "loc": "upper center", "bbox_to_anchor": (0.5, -0.22), "frameon": False,
    "handlelength": 1.6, "columnspacing": 1.2, "handletextpad": 0.5,
}  # fmt: skip

# --------------------------------------------------------------------------------------- words


def title(graph: str, data: str | None = None) -> str:
    """Name a panel by its family of graphs and its kind of data.

    Examples
    --------
    >>> title("sbm", "independent"), title("sbm+er", "independent")
    ('SBM, independent data', 'Independent data')
    """
    kind = "" if data is None else registry.name_of(data)
    if "+" in graph:  # families are pooled: the kind of data tells panels apart
        return kind[:1].upper() + kind[1:]
    family = registry.family_label(graph)
    return f"{family}, {kind}" if kind else family


def model_label(model: str) -> str:
    """Return the label of a model, with its kernel as a symbol.

    Examples
    --------
    >>> model_label("kernel_inverse")
    'inverse of $K_x$'
    """
    return registry.model(model).label.replace("K_x", "$K_x$")


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


# --------------------------------------------------------------------------------------- looks


def look(model: str) -> dict[str, Any]:
    """Return the color and marker of a model."""
    found = registry.model(model)
    return {"color": found.color, "marker": found.marker}


def family_look(graph: str, k: int = 0) -> dict[str, Any]:
    """Return the color and marker of a family of graphs, the k-th of a figure."""
    if graph in registry.FAMILIES:
        found = registry.FAMILIES[graph]
        return {"color": found.color, "marker": found.marker}
    return {"color": ("#555555", "#117733", "#88CCEE")[k % 3], "marker": "Dv*"[k % 3]}


def size_looks(sizes: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the looks of lines that are sizes: from light to dark as these grow."""
    # the lightest end of the map is lost on white paper
    colors = mpl.colormaps["viridis"](np.linspace(0.8, 0.0, len(sizes)))
    markers = style.MARKERS
    return [
        {"color": mpl.colors.to_hex(color), "marker": markers[k % len(markers)]}
        for k, color in enumerate(colors)
    ]


# -------------------------------------------------------------------------------------- facets


def unique(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in the order of their first appearance."""
    return list(dict.fromkeys(values))


def groups(numbers: pd.DataFrame, keys: list[str]) -> list[tuple[tuple[str, ...], pd.DataFrame]]:
    """Return the parts of a table in the order of their first rows, each after its keys."""
    return [(tuple(map(str, key)), part) for key, part in numbers.groupby(keys, sort=False)]


def grid(rows: int, columns: int, height: float, **share: Any) -> tuple[Figure, Any]:
    """Return a figure and its panels: as wide as a column, or as a page for several columns."""
    width = style.PAGE if columns > 1 else style.COLUMN
    fig = Figure(figsize=(width, height), layout="constrained")
    return fig, fig.subplots(rows, columns, squeeze=False, **share)


def name_outer(axes: Any, metric: str, sweep: str) -> None:
    """Name the outer axes of a block of panels."""
    for ax in axes.flat:
        ax.set_axis_on()
        ax.tick_params(labelleft=ax in axes[:, 0], labelbottom=ax in axes[-1])
    for ax in axes[:, 0]:
        ax.set_ylabel(registry.axis_label(metric))
    for ax in axes[-1]:
        ax.set_xlabel(registry.axis_label(sweep))


# -------------------------------------------------------------------------------------- curves


def means(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return means and 5th and 95th percentiles over replicates."""
    numbers = rows.groupby(keys, sort=False)["value"].agg(
        mean="mean",
        p05=lambda v: np.percentile(v, 5),
        p95=lambda v: np.percentile(v, 95),
        runs="count",
    )
    return numbers.reset_index()


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


def model_curves(ax: Axes, part: pd.DataFrame) -> None:
    """Draw one curve per model."""
    models = unique(part["model"])
    for k, model in enumerate(models):
        line = part[part["model"] == model].sort_values("level")
        x = dodge(line["level"], part["level"], k, len(models))
        curve(ax, x, line, label=registry.model(model).label, **look(model))


def dodge(
    x: Any, levels: Any, k: int, count: int, *, log: bool = False, step: float = 0.008
) -> Any:
    """Shift the k-th of several lines a little, so that bars do not hide one another."""
    place = k - (count - 1) / 2
    if log:
        return x * _ratio(levels) ** (0.012 * place)
    return x + step * place * _span(levels)


def _span(levels: Any) -> float:
    # a single level has no span
    return float(np.ptp(levels)) or max(1.0, abs(float(np.max(levels))))


def _ratio(levels: Any) -> float:
    return float(np.max(levels) / np.min(levels)) if np.ptp(levels) else 10.0


# ---------------------------------------------------------------------------------------- axes


def set_levels(ax: Axes, levels: pd.Series, *, log: bool = False) -> None:
    """Set the limits and, where there are few levels, a tick at each."""
    found = sorted(levels.unique())
    if log:
        margin = _ratio(levels) ** 0.06
        ax.set_xlim(found[0] / margin, found[-1] * margin)
    else:
        ax.set_xlim(found[0] - 0.04 * _span(levels), found[-1] + 0.04 * _span(levels))
    if log or len(found) < 4:
        ax.set_xticks(found, [f"{level:g}" for level in found])
        ax.set_xticks([], minor=True)


def set_values(ax: Axes, metric: str) -> None:
    """Start at zero; end at one where the metric does."""
    ax.set_ylim(bottom=0)
    if metric in ("aps", "aps_scores", "density"):
        ax.set_ylim(0, 1)


def set_errors(axes: Sequence[Axes], metric: str, mean: pd.Series) -> None:
    """Set a shared axis of errors: logarithmic where they differ by a large factor."""
    if mean.min() > 0 and mean.max() > LOG_FROM * mean.min():
        axes[0].set_yscale("log")
        axes[0].yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axes[0].yaxis.set_major_formatter("{x:g}")
        for ax in axes:
            ax.minorticks_off()
    else:
        set_values(axes[0], metric)


def separate(ax: Axes, groups: Sequence[int], places: Sequence[float]) -> None:
    """Draw lines between groups of places on an axis of names."""
    for k in np.flatnonzero(np.diff(groups)).tolist():
        ax.axvline((places[k] + places[k + 1]) / 2, color=style.LIGHT, linewidth=0.6)
    ax.grid(False, axis="x")
    ax.set_xlim(places[0] - 0.7, places[-1] + 0.7)


# ------------------------------------------------------------------------------------- legends


def handle(**look: Any) -> Line2D:
    """Return an entry of a legend."""
    return Line2D([], [], **look)


def legend(fig: Figure, shown: Mapping[str, Any], ncols: int | None = None, **more: Any) -> None:
    """Put one legend under all panels."""
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": ncols or len(shown)}
    place |= {"frameon": False, "columnspacing": 1.4, "handlelength": 2.3}
    fig.legend(list(shown.values()), list(shown), **(place | more))
