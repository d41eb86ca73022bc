"""Sparsity against psi: figure 12, and the average precisions that the paper prints under it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style
from experiments.registry import PRINTED_APS, PRINTED_PSI
from kgl._types import Array
from kgl.laplacian import adjacency_from_edges, edges_from_adjacency

#: The other hyperparameters of the printed values; of other grids, the nearest point is drawn.
POINT = {"lam": 0.1, "rho": 0.01}
KEYS = ["data", "graph", "model"]
#: From the heaviest edge to the lightest that has a distinct color.
RANGE = 200.0


@dataclass(frozen=True)
class Path:
    """One cell along psi."""

    labels: dict[str, Any]
    truth: Array  # edges (E,) of the first replicate
    weights: Array  # (psi, E), of the first replicate
    numbers: pd.DataFrame  # a row per psi


def paper_value(graph: str, psi: float) -> float:
    """Return the average precision that the paper prints; NaN where it prints none."""
    for known, value in zip(PRINTED_PSI, PRINTED_APS.get(graph, ()), strict=False):
        if np.isclose(psi, known, rtol=1e-6, atol=0):
            return value
    return np.nan


def graphs(inputs: Inputs) -> Drawn:
    """One row per family, one column per psi and one for the ground truth: weights as heat maps."""
    kind = inputs.config.get("options", {}).get("data")
    paths = [path for path in _paths(inputs) if path.labels["data"] == kind]
    if not paths:
        raise ValueError(
            f"study.options.data = {kind!r} is not a kind of data of {inputs.study}; override it "
            f"with one of {', '.join(inputs.config['models'])}"
        )
    columns = max(len(path.weights) for path in paths) + 1
    size = (style.PAGE / 5 * columns, 1.7 * len(paths) + 0.1)
    fig = Figure(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.06))
    axes = fig.subplots(len(paths), columns, squeeze=False)
    # one scale for all, in logarithms: a few heavy edges at small psi, many light ones at large
    top = max(max(path.truth.max(), path.weights.max()) for path in paths)
    norm = LogNorm(vmin=top / RANGE, vmax=top)
    shown = ["aps", "mean", "p05", "p95", "paper"]
    numbers = [path.numbers.melt([*KEYS, "psi"], shown, var_name="quantity") for path in paths]
    for line, path in zip(axes, paths, strict=True):
        labels = path.labels
        for ax in line:
            ax.set_axis_off()
        rows = path.numbers.to_dict("records")
        for ax, edges, row in zip(line, path.weights, rows, strict=False):
            _heat_map(ax, edges, norm, _heading(row))
            numbers.append(_edge_table(labels, row["psi"], "weight", edges))
        image = _heat_map(line[len(path.weights)], path.truth, norm, "ground truth")
        numbers.append(_edge_table(labels, np.nan, "true_weight", path.truth))
        name = panels.title(labels["graph"])
        if len({path.labels["model"] for path in paths}) > 1:
            name += f", {registry.model(labels['model']).label}"
        line[0].set_ylabel(name, fontsize=9)
    label = "edge weight\n(white: no edge)"
    fig.colorbar(
        image, ax=axes, label=label, extend="min", format="%g", pad=0.01, shrink=0.8,
        aspect=15 * len(paths),
    )  # fmt: skip
    return fig, pd.concat(numbers, ignore_index=True)


def printed(inputs: Inputs) -> Drawn:
    """One panel per family: measured intervals beside the paper's values."""
    numbers = pd.concat([path.numbers for path in _paths(inputs)], ignore_index=True)
    numbers = numbers.drop(columns="aps")  # of one replicate
    families = panels.unique(numbers["graph"])
    ticks = sorted(numbers["psi"].unique())
    series = numbers[["data", "model"]].drop_duplicates().to_numpy().tolist()
    fig = Figure(figsize=(max(style.COLUMN, 2.4 * len(families)), 2.7), layout="constrained")
    axes = fig.subplots(1, len(families), squeeze=False, sharey=True)[0]
    for ax, family in zip(axes, families, strict=True):
        own = [paper_value(family, psi) for psi in ticks]
        ax.plot(own, "k_", ms=18, mew=1.6, label="paper", zorder=1.5)
        for k, (data, model) in enumerate(series):
            chosen = (numbers[["data", "graph", "model"]] == [data, family, model]).all(axis=1)
            part = numbers[chosen]
            # colors distinguish models, as everywhere; markers distinguish kinds of data
            kind = list(inputs.config["models"]).index(data)
            known = registry.model(model)
            look = {"color": known.color, "marker": "os^D"[kind % 4], "linestyle": "none"}
            look |= {"markerfacecolor": "white"} if kind % 2 else {}
            shift = 0.3 * (k - (len(series) - 1) / 2) / max(1, len(series) - 1)
            x = np.searchsorted(ticks, part["psi"]) + shift
            label = f"{known.label}, {registry.name_of(data)}"
            panels.curve(ax, x, part, bar=1.2, label=label, **look)
        ax.set_title(panels.title(family))
        ax.set_xticks(range(len(ticks)), [panels.scientific(psi) for psi in ticks])
        ax.set(xlabel=registry.axis_label("psi"), xlim=(-0.5, len(ticks) - 0.5), ylim=(0, 1))
    axes[0].set_ylabel(registry.axis_label("aps"))
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", frameon=False,
               ncols=3 if len(families) > 1 else 1)  # fmt: skip
    return fig, numbers


# ------------------------------------------------------------------------------------- parts


def _paths(inputs: Inputs) -> list[Path]:
    """Read the cells: at the paper's lam and rho, or the nearest to them, all psi in order."""
    paths = []
    for labels, data, fit in inputs.arrays():
        if "grid.psi" not in fit or "weights" not in fit:
            raise ValueError(
                f"{inputs.study}: the fit of {labels['model']} has no psi or no weights; name "
                "models with psi in study.models, and set study.keep=[weights]"
            )
        chosen = np.ones(len(fit["grid.psi"]), dtype=bool)
        for name, value in POINT.items():
            axis = fit.get(f"grid.{name}", np.array([value]))
            chosen &= axis == axis[np.argmin(np.abs(np.log(axis / value)))]
        points = np.flatnonzero(chosen)
        points = points[np.argsort(fit["grid.psi"][points])]
        truth, weights = edges_from_adjacency(data["W"][0]), fit["weights"][0, points]
        paths.append(Path(labels, truth, weights, _numbers(labels, fit, points, inputs)))
    return paths


def _numbers(
    labels: dict[str, Any], fit: dict[str, Array], points: Any, inputs: Inputs
) -> pd.DataFrame:
    """Average precision over replicates beside the paper's, a row per psi."""
    aps = inputs.aps(fit)[:, points]
    psi = fit["grid.psi"][points]
    table = pd.DataFrame({**{key: labels[key] for key in KEYS}, "psi": psi})
    table["paper"] = [paper_value(labels["graph"], value) for value in psi]
    table["mean"], table["aps"] = aps.mean(axis=0), aps[0]
    table["p05"], table["p95"] = np.percentile(aps, [5, 95], axis=0)
    table["scores_mean"] = fit["aps_scores"][:, points].mean(axis=0)
    table["density"] = fit["density"][:, points].mean(axis=0)
    table["inside"] = table["paper"].between(table["p05"], table["p95"])
    return table


def _heading(row: Mapping[Any, Any]) -> str:
    """Return the psi, what this graph scores, what all replicates score and the printed value."""
    paper = "" if np.isnan(row["paper"]) else f", paper {row['paper']:.2f}"
    over = f"mean {row['mean']:.2f} [{row['p05']:.2f}, {row['p95']:.2f}]"
    psi = f"{registry.axis_label('psi')} = {panels.scientific(row['psi'])}"
    return f"{psi}\nAPS {row['aps']:.2f}{paper}\n{over}"


def _heat_map(ax: Axes, edges: Array, norm: LogNorm, title: str) -> Any:
    # the palest blues are left to the pairs without an edge, which are white
    colors = ListedColormap(mpl.colormaps["Blues"](np.linspace(0.2, 1.0, 256)))
    W = np.ma.masked_equal(adjacency_from_edges(edges), 0.0)
    image = ax.imshow(W, cmap=colors, norm=norm, interpolation="nearest")
    ax.grid(False)
    ax.set_axis_on()
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
    ax.set_title(title, fontsize=7, linespacing=1.25)
    return image


def _edge_table(labels: dict[str, Any], psi: float, quantity: str, edges: Array) -> pd.DataFrame:
    """Return the edges of a heat map; pairs that are not in it have weight zero."""
    W = adjacency_from_edges(edges)
    node, other = np.nonzero(np.triu(W, 1))
    known = {**{key: labels[key] for key in KEYS}, "psi": psi, "quantity": quantity}
    places = {"node": pd.array(node, "Int64"), "other": pd.array(other, "Int64")}
    return pd.DataFrame({**places, "value": W[node, other]}).assign(**known)
