"""Controls that the paper lacks: no signal, a degraded K_x, a wrong K_z."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style
from experiments.figures.gains import ALONE, gains, interval_row

#: Kinds of data without a signal.
PURE = "pure_noise"
#: What K_x is made from; a number follows a dash.
SIDES = {
    "oracle": "true graph",
    "rewired": "{percent:g} % moved",
    "covariates": "covariates, noise {:g}",
    "unrelated": "another graph",
    "identity": "identity",
}
GUESSING: dict[str, Any] = {"color": style.GREY, "linestyle": ":", "linewidth": 1.2}


def no_signal(inputs: Inputs) -> Drawn:
    """One panel per family, one place per model: the paper's data beside noise alone."""
    numbers = intervals(inputs, ["graph", "data", "model"])
    density = inputs.settings["protocol"]["data"]["density"]
    numbers["guessing"] = np.where(numbers["metric"] == "aps", density, np.nan)
    drawn = numbers[numbers["metric"] == "aps"]
    groups = _model_groups(drawn)
    places = {model: k + 0.5 * g for k, (model, g) in enumerate(groups.items())}
    families = panels.unique(drawn["graph"])
    fig, axes = panels.grid(1, len(families), 2.9, sharex=True, sharey=True)
    for family, ax in zip(families, axes[0], strict=True):
        ax.axhline(density, **GUESSING)
        for pure in (False, True):
            part = drawn[(drawn["graph"] == family) & (drawn["data"].str.startswith(PURE) == pure)]
            # the kernel alone is the same graph whatever the data
            for _, row in part.drop_duplicates("model").iterrows():
                look = panels.look(row["model"]) | {"marker": "o", "markersize": 5}
                look |= {"linestyle": "none"} | ({"markerfacecolor": "white"} if pure else {})
                place = places[row["model"]] + (0.14 if pure else -0.14)
                _points(ax, [place], row.to_frame().T, **look)
        panels.separate(ax, list(groups.values()), list(places.values()))
        names = [panels.model_label(model) for model in groups]
        ax.set_xticks(list(places.values()), names, rotation=90)
        ax.set_title(panels.title(family))
    axes[0, 0].set_ylabel(registry.axis_label("aps"))
    panels.set_values(axes[0, 0], "aps")
    dot: dict[str, Any] = {"marker": "o", "linestyle": "none", "color": style.DARK}
    shown = {
        "the paper's data": panels.handle(**dot),
        "noise alone": panels.handle(markerfacecolor="white", **dot),
        "density (guessing)": panels.handle(**GUESSING),
    }
    panels.legend(fig, shown)
    return fig, numbers


def degraded_kx(inputs: Inputs) -> Drawn:
    """One column per family, one row per noise, one place per K_x."""
    numbers = intervals(inputs, ["graph", "data", "noise", "level", "model"])
    drawn = numbers[numbers["metric"] == "aps"]
    families, kinds = panels.unique(drawn["graph"]), panels.unique(drawn["data"])
    sides = panels.unique(drawn["level"])
    codes = _codes([side.partition("-")[0] for side in sides])
    places = np.arange(len(sides)) + 0.4 * np.cumsum([0, *np.diff(codes)])
    fig, axes = panels.grid(
        len(kinds), len(families), 1.9 * len(kinds) + 1.1, sharex=True, sharey=True
    )
    for kind, line in zip(kinds, axes, strict=True):
        for family, ax in zip(families, line, strict=True):
            _sides(ax, drawn[drawn["graph"] == family], kind, sides, codes, places)
            panels.separate(ax, codes, list(places))
            ax.set_title(panels.title(family, kind))
            ax.set_xticks(places, [_side(side) for side in sides], rotation=90)
        line[0].set_ylabel(registry.axis_label("aps"))
    panels.set_values(axes[0, 0], "aps")
    models = [model for model in ("kgln", "gl", *ALONE) if model in set(drawn["model"])]
    panels.legend(fig, _handles(models, ["gl"]))
    return fig, pd.concat([numbers, gains(inputs.table)], ignore_index=True)


def wrong_kz(inputs: Inputs) -> Drawn:
    """One panel per kind of data, against the factor on gamma; the identity comes last."""
    numbers = intervals(inputs, ["graph", "data", "level", "model"])
    drawn = numbers[numbers["metric"] == "aps"]
    levels = panels.unique(drawn["level"])
    at = {level: float(level) for level in sorted(set(levels) - {"identity"}, key=float)}
    if "identity" in levels:
        at["identity"] = 4 * max(at.values(), default=1.0)
    kinds = panels.groups(drawn, ["graph", "data"])
    fig, axes = panels.grid(1, len(kinds), 2.7, sharex=True, sharey=True)
    for ((family, kind), part), ax in zip(kinds, axes[0], strict=True):
        _factors(ax, part, at, inputs.run_once)
        ax.set_title(panels.title(family, kind))
        ax.set_xlabel(registry.axis_label("observations"))
        ax.set_xscale("log")
        names = [r"$I$" if level == "identity" else level for level in at]
        ax.set_xticks(list(at.values()), names)
        ax.set_xticks([], minor=True)
        ax.set_xlim(min(at.values()) / 1.5, max(at.values()) * 1.5)
    axes[0, 0].set_ylabel(registry.axis_label("aps"))
    panels.set_values(axes[0, 0], "aps")
    panels.legend(fig, _handles(panels.unique(drawn["model"]), inputs.run_once))
    return fig, numbers


# ------------------------------------------------------------------------------------ numbers


def intervals(inputs: Inputs, keys: Sequence[str]) -> pd.DataFrame:
    """Return means, their intervals and percentiles, each metric at its own best grid point."""
    rows = []
    for metric in inputs.config["metrics"]:
        chosen = (inputs.table["metric"] == metric) & (inputs.table["selected_by"] == metric)
        for key, part in inputs.table[chosen].groupby(list(keys), sort=False):
            known = dict(zip(keys, key, strict=True))
            rows.append({**known, "metric": metric, **interval_row(part["value"].to_numpy())})
    return pd.DataFrame(rows)


# -------------------------------------------------------------------------------------- parts


def _sides(
    ax: Axes, part: pd.DataFrame, kind: str, sides: list[str], codes: list[int], places: Any
) -> None:
    """Draw a family: GL as a level, KGL-N and the kernels alone at each K_x."""
    own = part[part["data"] == kind]
    for model in ("gl", *reversed(ALONE), "kgln"):
        look = _look(model)
        if model == "gl":
            _level(ax, own[own["model"] == model], **look)
            continue
        found = own[own["model"] == model]
        if model in ALONE:  # it depends on K_x alone, so the table has it for one kind of data
            found = part[part["model"] == model].drop_duplicates("level")
            look |= {"linewidth": 0.9, "markersize": 3.5, "alpha": 0.9}
        found = found.set_index("level").reindex(sides).reset_index()
        for code in dict.fromkeys(codes):
            at = np.array(codes) == code
            _points(ax, places[at], found[at], **look)


def _factors(ax: Axes, part: pd.DataFrame, at: dict[str, float], once: Collection[str]) -> None:
    """Draw each model against the factor on gamma, and at the identity apart from it."""
    for k, model in enumerate(panels.unique(part["model"])):
        found = part[part["model"] == model]
        if model in once:
            _level(ax, found, **_look(model))
            continue
        found = found.set_index("level").reindex(list(at)).reset_index()
        rbf = (found["level"] != "identity").to_numpy()
        for chosen in (rbf, ~rbf):
            if chosen.any():  # nothing, drawn unclipped, would upset the layout
                x = np.array(list(at.values()))[chosen] * 1.08 ** (k - 1)
                _points(ax, x, found[chosen], **_look(model))


def _look(model: str) -> dict[str, Any]:
    dashed = {"linestyle": "--"} if model in ("gl", *ALONE) else {}
    return panels.look(model) | dashed


def _handles(models: Sequence[str], once: Collection[str]) -> dict[str, Line2D]:
    """Return the legend: models that are run once are lines without points."""
    return {
        panels.model_label(model): panels.handle(
            **_look(model) | ({"marker": ""} if model in once else {})
        )
        for model in models
    }


def _points(ax: Axes, x: Any, part: pd.DataFrame, **look: Any) -> None:
    """Draw means, joined by a line, and bars for their intervals where there are any."""
    mean = part["mean"].to_numpy(float)
    (line,) = ax.plot(x, mean, clip_on=False, **look)
    half = np.nan_to_num((part["high"] - part["low"]).to_numpy(float) / 2)
    # with few runs an interval reaches beyond the range of an APS
    reach = np.minimum(half, [mean, np.maximum(1 - mean, 0)])
    ax.errorbar(
        x, mean, yerr=reach, fmt="none", ecolor=line.get_color(),
        elinewidth=0.9, capsize=1.8, capthick=0.9, zorder=line.zorder - 0.1, clip_on=False,
    )  # fmt: skip


def _level(ax: Axes, part: pd.DataFrame, **look: Any) -> None:
    """Draw a line and a band for a model that the axis does not change."""
    for mean, low, high in zip(part["mean"], part["low"], part["high"], strict=True):
        ax.axhline(mean, color=look["color"], linestyle="--", linewidth=1.2)
        if np.isfinite(low):
            ax.axhspan(low, high, color=look["color"], alpha=0.12, linewidth=0)


def _model_groups(drawn: pd.DataFrame) -> dict[str, int]:
    """Return the models in the order of the figure, and the number of their group."""
    pure = drawn["data"].str.startswith(PURE)
    found = drawn[~pure] if (~pure).any() else drawn
    groups: dict[str, int] = {}
    for g, (_, part) in enumerate(found.groupby("data", sort=False)):
        for model in panels.unique(part["model"]):
            if model not in ALONE:
                groups.setdefault(model, g)
    last = max(groups.values(), default=-1) + 1
    return groups | {model: last for model in ALONE if model in set(drawn["model"])}


def _codes(groups: Sequence[str]) -> list[int]:
    order = panels.unique(groups)
    return [order.index(group) for group in groups]


def _side(side: str) -> str:
    kind, _, number = side.partition("-")
    value = float(number or 0)
    return SIDES.get(kind, kind).format(value, percent=100 * value)
