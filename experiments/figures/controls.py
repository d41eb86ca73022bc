"""Controls that the paper lacks: no signal, side information of less worth, a wrong kernel."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.figures import Inputs, style
from experiments.figures.curves import set_values
from experiments.stats import MissingEvidence, mean_interval
from kgl.laplacian import Array

#: Models that learn nothing: what is said of the nodes, taken for a graph.
ALONE = ("kernel", "kernel_inverse")
#: Kinds of data without a signal.
PURE = "pure_noise"
#: What side information is made from; a number follows a dash.
SIDES = {
    "oracle": "true graph",
    "rewired": "{percent:g} % moved",
    "covariates": "covariates, noise {:g}",
    "unrelated": "another graph",
    "identity": "nothing",
}
#: The gain of KGL-N is measured against the better of these.
RIVALS = {
    "gap_over_best": ("gl", "kernel"),
    "gap_over_any": ("gl", "kernel", "kernel_inverse"),
}
DRAWS, SEED = 4000, 0
GUESSING = {"color": "#777777", "linestyle": ":", "linewidth": 1.2}


def noise(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One panel per family, one place per model: the paper's data beside noise alone."""
    numbers = intervals(inputs, ["graph", "data", "model"])
    density = inputs.settings["protocol"]["data"]["density"]
    numbers["guessing"] = np.where(numbers["metric"] == "aps", density, np.nan)
    drawn = numbers[numbers["metric"] == "aps"]
    groups = _groups(drawn)
    places = {model: k + 0.5 * g for k, (model, g) in enumerate(groups.items())}
    families = list(dict.fromkeys(drawn["graph"]))
    fig, axes = _panels(1, len(families), 2.9)
    for family, ax in zip(families, axes[0], strict=True):
        ax.axhline(density, **GUESSING)
        for pure in (False, True):
            part = drawn[(drawn["graph"] == family) & (drawn["data"].str.startswith(PURE) == pure)]
            # the kernel alone is the same graph whatever the data
            for row in part.drop_duplicates("model").to_dict("records"):
                colour = inputs.styles[row["model"]]["color"]
                look = {"marker": "o", "markersize": 5, "linestyle": "none", "color": colour}
                look |= {"markerfacecolor": "white"} if pure else {}
                place = places[row["model"]] + (0.14 if pure else -0.14)
                _points(ax, [place], pd.DataFrame([row]), **look)
        _separate(ax, list(groups.values()), list(places.values()))
        names = [style.model(inputs.styles[model]["label"]) for model in groups]
        ax.set_xticks(list(places.values()), names, rotation=90)
        ax.set_title(style.title(family, inputs.settings["labels"]))
    axes[0, 0].set_ylabel(style.label("aps"))
    set_values(axes[0, 0], "aps")
    dot = {"marker": "o", "linestyle": "none", "color": "#333333"}
    shown = {
        "the paper's data": Line2D([], [], **dot),
        "noise alone": Line2D([], [], markerfacecolor="white", **dot),
        "density (guessing)": Line2D([], [], **GUESSING),
    }
    _legend(fig, shown)
    return fig, numbers


def dial(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One column per family, one row per noise, one place per kind of side information."""
    numbers = intervals(inputs, ["graph", "data", "noise", "level", "model"])
    drawn = numbers[numbers["metric"] == "aps"]
    families, kinds = (list(dict.fromkeys(drawn[key])) for key in ("graph", "data"))
    sides = list(dict.fromkeys(drawn["level"]))
    groups = [side.partition("-")[0] for side in sides]
    places = np.arange(len(sides)) + 0.4 * np.cumsum([0, *np.diff(_codes(groups))])
    fig, axes = _panels(len(kinds), len(families), 1.9 * len(kinds) + 1.1)
    for kind, line in zip(kinds, axes, strict=True):
        for family, ax in zip(families, line, strict=True):
            part = drawn[drawn["graph"] == family]
            own = part[part["data"] == kind]
            for model in ("gl", *reversed(ALONE), "kgln"):
                found = own[own["model"] == model]
                if model in ALONE:  # no data change it, so it is in the table once
                    found = part[part["model"] == model].drop_duplicates("level")
                look = _look(inputs, model)
                if model == "gl":
                    _level(ax, found, **look)
                    continue
                found = found.set_index("level").reindex(sides).reset_index()
                if model in ALONE:
                    look |= {"linewidth": 0.9, "markersize": 3.5, "alpha": 0.9}
                for group in dict.fromkeys(groups):
                    at = np.array(groups) == group
                    _points(ax, places[at], found[at], **look)
            _separate(ax, _codes(groups), list(places))
            ax.set_title(f"{style.title(family, inputs.settings['labels'], kind)}")
            ax.set_xticks(places, [_side(side) for side in sides], rotation=90)
        line[0].set_ylabel(style.label("aps"))
    set_values(axes[0, 0], "aps")
    models = [model for model in ("kgln", "gl", *ALONE) if model in set(drawn["model"])]
    _legend(fig, _handles(inputs, models, ["gl"]))
    return fig, pd.concat([numbers, gains(inputs.table)], ignore_index=True)


def misspecified(inputs: Inputs) -> tuple[Figure, pd.DataFrame]:
    """One panel per kind of data, against the factor on gamma; the identity comes last."""
    numbers = intervals(inputs, ["graph", "data", "level", "model"])
    drawn = numbers[numbers["metric"] == "aps"]
    levels = list(dict.fromkeys(drawn["level"]))
    factors = sorted((level for level in levels if level != "identity"), key=float)
    at = {level: float(level) for level in factors}
    if "identity" in levels:
        at["identity"] = 4 * max(at.values(), default=1.0)
    panels = list(drawn.groupby(["graph", "data"], sort=False))
    fig, axes = _panels(1, len(panels), 2.7)
    once = {model for names in inputs.config.get("once", {}).values() for model in names}
    for ((family, kind), part), ax in zip(panels, axes[0], strict=True):
        for k, model in enumerate(dict.fromkeys(part["model"])):
            found = part[part["model"] == model]
            if model in once:
                _level(ax, found, **_look(inputs, model))
                continue
            found = found.set_index("level").reindex(list(at)).reset_index()
            told = (found["level"] != "identity").to_numpy()
            for chosen in (told, ~told):
                x = np.array(list(at.values()))[chosen] * 1.08 ** (k - 1)
                _points(ax, x, found[chosen], **_look(inputs, model))
        ax.set_title(style.title(family, inputs.settings["labels"], kind))
        ax.set_xlabel(style.label("observations"))
        ax.set_xscale("log")
        names = [r"$I$" if level == "identity" else level for level in at]
        ax.set_xticks(list(at.values()), names)
        ax.set_xticks([], minor=True)
        ax.set_xlim(min(at.values()) / 1.5, max(at.values()) * 1.5)
    axes[0, 0].set_ylabel(style.label("aps"))
    set_values(axes[0, 0], "aps")
    _legend(fig, _handles(inputs, list(dict.fromkeys(drawn["model"])), once))
    return fig, numbers


# ------------------------------------------------------------------------------------ numbers


def interval(values: Array) -> tuple[float, float, float]:
    """Return the mean and the ends of its interval, which a single value lacks."""
    try:
        return mean_interval(values)
    except MissingEvidence:
        return float(np.mean(values)), np.nan, np.nan


def intervals(inputs: Inputs, keys: Sequence[str]) -> pd.DataFrame:
    """Return means, their intervals and percentiles, each metric at its own best."""
    rows = []
    for metric in inputs.config["metrics"]:
        chosen = (inputs.table["metric"] == metric) & (inputs.table["selected_by"] == metric)
        for key, part in inputs.table[chosen].groupby(list(keys), sort=False):
            rows.append({**dict(zip(keys, key, strict=True)), "metric": metric,
                         **_row(part["value"].to_numpy())})  # fmt: skip
    return pd.DataFrame(rows)


def _row(values: Array) -> dict[str, float]:
    mean, low, high = interval(values)
    p05, p95 = np.percentile(values, [5, 95])
    return {"mean": mean, "low": low, "high": high, "p05": p05, "p95": p95, "runs": len(values)}


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return what KGL-N owes to its side information, by average precision.

    ``gap_kept`` is its gain over GL as a share of the gain with the true graph, a ratio of means
    over replicates with a bootstrap interval; ``gap_over_best`` is its gain, replicate by
    replicate, over the better of GL and K_x alone (``against`` says which that is on average), and
    ``gap_over_any`` that over the inverse of K_x too.
    """
    scores = table[(table["metric"] == "aps") & (table["selected_by"] == "aps")]
    keys = ["graph", "data", "noise", "level"]
    runs = {key: part.set_index("replicate")["value"]
            for key, part in scores.groupby([*keys, "model"], sort=False)}  # fmt: skip
    rows = []
    for (graph, data, noise, side, model), own in runs.items():
        if model != "kgln":
            continue
        rivals = {"gl": _first(runs, graph, data, "gl")}
        rivals |= {name: _first(runs, graph, None, name, side) for name in ALONE}
        known = {"graph": graph, "data": data, "noise": noise, "level": side, "model": model}
        oracle = runs.get((graph, data, noise, "oracle", model))
        if rivals["gl"] is not None and oracle is not None:
            pair = np.stack([own - rivals["gl"], oracle - rivals["gl"]])
            rows.append({**known, "metric": "gap_kept", "against": "gl", **_ratio(pair)})
        for metric, names in RIVALS.items():
            found = {name: rivals[name] for name in names if rivals[name] is not None}
            if found:
                best = max(found, key=lambda name: found[name].mean())
                gain = (own - found[best]).to_numpy()
                rows.append({**known, "metric": metric, "against": best, **_row(gain)})
    return pd.DataFrame(rows)


def _first(
    runs: dict[Any, pd.Series], graph: str, data: str | None, model: str, side: str | None = None
) -> pd.Series | None:
    """Return the scores of a model that is run once, for all sides or for all kinds of data."""
    for (family, kind, _, level, name), found in runs.items():
        if (family, name) == (graph, model) and data in (None, kind) and side in (None, level):
            return found
    return None


def _ratio(pair: Array) -> dict[str, float]:
    """Return the ratio of two means, with an interval from replicates drawn again."""
    runs = pair.shape[1]
    first, second = pair.mean(axis=1)
    low = high = np.nan
    if runs > 1:
        drawn = np.random.default_rng(SEED).integers(runs, size=(DRAWS, runs))
        means = pair[:, drawn].mean(axis=2)
        low, high = np.percentile(means[0] / means[1], [2.5, 97.5])
    return {"mean": first / second, "low": low, "high": high, "runs": runs}


# -------------------------------------------------------------------------------------- parts


def _panels(rows: int, columns: int, height: float) -> tuple[Figure, Any]:
    width = style.PAGE if columns > 1 else style.COLUMN
    fig = Figure(figsize=(width, height), layout="constrained")
    return fig, fig.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)


def _look(inputs: Inputs, model: str) -> dict[str, Any]:
    known = inputs.styles[model]
    look: dict[str, Any] = {"color": known["color"], "marker": known["marker"]}
    if model == "gl" or model in ALONE:
        look["linestyle"] = "--"
    return look


def _handles(inputs: Inputs, models: Sequence[str], once: Collection[str]) -> dict[str, Line2D]:
    """Return the legend: models that are run once are lines without points."""
    return {
        inputs.styles[model]["label"]: Line2D(
            [], [], **_look(inputs, model) | ({"marker": ""} if model in once else {})
        )
        for model in models
    }


def _points(ax: Axes, x: Any, part: pd.DataFrame, **look: Any) -> None:
    """Draw means, joined by a line, and bars for their intervals where there are any."""
    (line,) = ax.plot(x, part["mean"], clip_on=False, **look)
    mean = part["mean"].to_numpy(float)
    half = np.nan_to_num((part["high"] - part["low"]).to_numpy(float) / 2)
    # with few runs an interval reaches beyond what an APS can be
    reach = np.minimum(half, [mean, np.maximum(1 - mean, 0)])
    ax.errorbar(
        x, mean, yerr=reach, fmt="none", ecolor=line.get_color(),
        elinewidth=0.9, capsize=1.8, capthick=0.9, zorder=line.zorder - 0.1, clip_on=False,
    )  # fmt: skip


def _level(ax: Axes, part: pd.DataFrame, **look: Any) -> None:
    """Draw a line and a band for a model that the axis does not change."""
    for row in part.itertuples():
        ax.axhline(row.mean, color=look["color"], linestyle="--", linewidth=1.2)
        if np.isfinite(row.low):
            ax.axhspan(row.low, row.high, color=look["color"], alpha=0.12, linewidth=0)


def _groups(drawn: pd.DataFrame) -> dict[str, int]:
    """Return the models in the order of the figure, and the number of their group."""
    pure = drawn["data"].str.startswith(PURE)
    found = drawn[~pure] if (~pure).any() else drawn
    groups: dict[str, int] = {}
    for g, (_, part) in enumerate(found.groupby("data", sort=False)):
        for model in dict.fromkeys(part["model"]):
            if model not in ALONE:
                groups.setdefault(model, g)
    last = max(groups.values(), default=-1) + 1
    return groups | {model: last for model in ALONE if model in set(drawn["model"])}


def _codes(groups: Sequence[str]) -> list[int]:
    order = list(dict.fromkeys(groups))
    return [order.index(group) for group in groups]


def _separate(ax: Axes, groups: Sequence[int], places: Sequence[float]) -> None:
    for k in np.flatnonzero(np.diff(groups)):
        ax.axvline((places[k] + places[k + 1]) / 2, color="#999999", linewidth=0.6)
    ax.grid(False, axis="x")
    ax.set_xlim(places[0] - 0.7, places[-1] + 0.7)


def _side(side: str) -> str:
    kind, _, number = side.partition("-")
    value = float(number or 0)
    return SIDES.get(kind, kind).format(value, percent=100 * value)


def _legend(fig: Figure, shown: dict[str, Line2D]) -> None:
    labels = [style.model(label) for label in shown]
    fig.legend(list(shown.values()), labels, loc="outside lower center", ncols=len(labels),
               frameon=False, columnspacing=1.4, handlelength=2.2)  # fmt: skip
