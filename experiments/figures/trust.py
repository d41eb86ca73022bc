"""Trust without a ground truth: regret of rules, reliability of probabilities and intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures import Drawn, Inputs, panels, style
from experiments.registry import STANDIN, family_label
from experiments.trust.names import DATA
from experiments.trust.rules import RULES
from experiments.trust.summary import (
    CELL,
    MODEL_LABELS,
    SIDE_LABELS,
    bins,
    coverages,
    regrets,
    with_regret,
)

#: Of the generative model, which is none of the paper's.
_BAYESIAN: dict[str, Any] = {"color": "black", "marker": "D"}
#: Bins of fewer pairs are not drawn: their shares say nothing.
_FEWEST = 30
#: Height of a row of names, and of what a panel has besides, in inches.
_ROW, _FRAME = 0.17, 0.32


def regret(inputs: Inputs) -> Drawn:
    """Draw a panel for each noise and side information: a row for each rule, a dot for a cell."""
    rows = with_regret(inputs.table)
    rows = rows[rows["rule"] != "oracle"]
    cells = rows.groupby([*CELL, "rule"], sort=False)["regret"].mean().reset_index()
    means = regrets(inputs.table, ["noise", "side"])
    sides = [name for name in SIDE_LABELS if name in set(rows["side"])]
    levels, rules = sorted(rows["noise"].unique()), [r for r in RULES if r in set(rows["rule"])]
    height = len(levels) * (_ROW * len(rules) + _FRAME) + 0.6
    fig, axes = panels.grid(len(levels), len(sides), height, sharex=True, sharey=True)
    for (i, j), ax in np.ndenumerate(axes):
        here = {"noise": levels[i], "side": sides[j]}
        _rules(ax, _where(cells, here), _where(means, here), rules)
        if i == 0:
            ax.set_title(SIDE_LABELS[sides[j]])
        if i == len(levels) - 1:
            ax.set_xlabel("regret: APS below the oracle's")
        if j == 0:
            ax.set_ylabel(f"noise {levels[i]:g}")
    families = panels.unique(cells["family"])
    shown = {
        family_label(name): panels.handle(**panels.family_look(name), linestyle="", markersize=3.5)
        for name in families
    }
    shown["mean, 95 % interval"] = panels.handle(**_BAYESIAN, linestyle="-", markersize=3.5)
    panels.legend(fig, shown)
    numbers = pd.concat([cells.assign(drawn="cell"), means.assign(drawn="mean")])
    return fig, numbers.reset_index(drop=True)


def _where(rows: pd.DataFrame, values: dict[str, Any]) -> pd.DataFrame:
    for name, value in values.items():
        rows = rows[rows[name] == value]
    return rows


def _rules(ax: Axes, cells: pd.DataFrame, means: pd.DataFrame, rules: list[str]) -> None:
    ax.axvline(0.0, color=style.GREY, linewidth=0.8, linestyle="--", zorder=1)
    for y, rule in enumerate(rules):
        own = cells[cells["rule"] == rule].reset_index(drop=True)
        if own.empty:
            ax.annotate("not run", (0.02, y), va="center", fontsize=6, color=style.ORANGE)
            continue
        places = y + np.linspace(-0.28, 0.28, len(own)) if len(own) > 1 else np.array([float(y)])
        for family in panels.unique(own["family"]):
            chosen = (own["family"] == family).to_numpy()
            look = panels.family_look(family)
            ax.plot(own["regret"][chosen], places[chosen], look["marker"], color=look["color"],
                    markersize=2.6, alpha=0.75, markeredgewidth=0)  # fmt: skip
        _mean(ax, means[means["rule"] == rule].iloc[0], float(y))
    ax.set_yticks(range(len(rules)), [RULES[name].label for name in rules])
    ax.set_ylim(len(rules) - 0.4, -0.6)
    ax.grid(False, axis="y")


def _mean(ax: Axes, row: Any, y: float, **look: Any) -> None:
    """Draw a mean with its interval on a row of names."""
    look = {**_BAYESIAN, "markersize": 3.5, **look}
    if np.isfinite(row["low"]):
        ax.plot(
            [row["low"], min(row["high"], 1.0)],
            [y, y],
            color=look["color"],
            linewidth=1.2,
            zorder=3,
        )
    ax.plot(row["mean"], y, linestyle="", zorder=3, **look)


def reliability(inputs: Inputs) -> Drawn:
    """Draw stated against true shares of edges, and below the coverage of intervals."""
    drawn = bins(inputs.table, ["side", "noise"])
    cells = coverages(inputs.table, CELL)
    real = coverages(inputs.table, _KIND, real=True)
    sides = [name for name in SIDE_LABELS if name in set(drawn["side"])]
    groups = _groups(cells)
    kinds = sorted(panels.unique(zip(*(real[name] for name in _KIND), strict=True)))
    heights = [2.4, _ROW * max(len(groups), 3) + _FRAME, _ROW * max(len(kinds), 2) + _FRAME]
    heights = heights[: 2 + bool(kinds)]
    fig = Figure(figsize=(style.PAGE, sum(heights) + 1.2), layout="constrained")
    rows = fig.subfigures(len(heights), 1, height_ratios=[h + 0.4 for h in heights], squeeze=False)
    top = rows[0, 0].subplots(1, len(sides), squeeze=False, sharey=True, sharex=True)[0]
    middle = rows[1, 0].subplots(1, len(sides), squeeze=False, sharey=True, sharex=True)[0]
    for ax, side in zip(top, sides, strict=True):
        _diagram(ax, drawn[drawn["side"] == side])
        ax.set_title(SIDE_LABELS[side])
        ax.set_xlabel("stated probability")
    top[0].set_ylabel("share of edges")
    top[0].legend(title="noise", loc="upper left", frameon=False, fontsize=6, title_fontsize=6)
    for ax, side in zip(middle, sides, strict=True):
        own = cells[cells["side"] == side]
        _covered(ax, own, ["data", "noise"], groups, [f"{d}, {n:g}" for d, n in groups])
        ax.set_xlabel("share in 90 % intervals")
    middle[0].set_ylabel("data, noise")
    if kinds:
        ax = rows[2, 0].subplots()
        _covered(ax, real, list(_KIND), kinds, [_real_label(*kind) for kind in kinds])
        ax.set_xlabel("share of hidden entries in 90 % intervals")
    models = [m for m in MODEL_LABELS if m in {*cells["model"], *real["model"]}]
    shown = {
        _model_label(name): panels.handle(**_look(name), linestyle="", markersize=4)
        for name in models
    }
    panels.legend(rows[-1, 0], shown)
    parts = {"bins": drawn, "coverage": cells, "real": real}
    numbers = [part.assign(drawn=name) for name, part in parts.items() if len(part)]
    return fig, pd.concat(numbers, ignore_index=True)


#: What tells fits of real data apart.
_KIND = ("files", "n", "input", "source")


def _groups(cells: pd.DataFrame) -> list[tuple[str, float]]:
    found = panels.unique(zip(cells["data"], cells["noise"], strict=True))
    return sorted(found, key=lambda group: (DATA.index(group[0]), group[1]))


def _real_label(files: str, n: int, given: str, source: str) -> str:
    label = f"{files.capitalize()}, n = {n:g}, {given}"
    return label if source == "real" else f"{label}: {STANDIN}"


def _look(model: str) -> dict[str, Any]:
    return _BAYESIAN if model == "bayesian" else panels.look(MODEL_LABELS[model])


def _model_label(model: str) -> str:
    return "BayesianKGL" if model == "bayesian" else panels.model_label(MODEL_LABELS[model])


def _diagram(ax: Axes, part: pd.DataFrame) -> None:
    ax.plot([0, 1], [0, 1], color=style.GREY, linewidth=0.8, linestyle="--", zorder=1)
    levels = sorted(part["noise"].unique())
    part = part[part["pairs"] >= _FEWEST]
    for level, look in zip(levels, panels.size_looks(levels), strict=True):
        own = part[part["noise"] == level]
        low, high = own["low"].clip(lower=0.0), own["high"].clip(upper=1.0)
        error = [own["mean"] - low, high - own["mean"]]
        ax.errorbar(own["stated"], own["mean"], yerr=error, label=f"{level:g}", markersize=3,
                    linewidth=1.0, elinewidth=0.8, capsize=1.5, **look)  # fmt: skip
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)


def _covered(
    ax: Axes, rows: pd.DataFrame, keys: list[str], groups: list[Any], labels: list[str]
) -> None:
    """Draw coverage: a row of names for each group, a dot for each cell and model."""
    ax.axvline(0.9, color=style.GREY, linewidth=0.8, linestyle="--", zorder=1)
    models = [name for name in MODEL_LABELS if name in set(rows["model"])]
    for y, group in enumerate(groups):
        own = _where(rows, dict(zip(keys, group, strict=True)))
        for k, model in enumerate(models):
            place = y + 0.36 * (k - (len(models) - 1) / 2) / max(len(models) - 1, 1) * 2
            for _, row in own[own["model"] == model].iterrows():
                _mean(ax, row, place, **{**_look(model), "markersize": 2.6})
    ax.set_yticks(range(len(groups)), labels)
    ax.set_ylim(len(groups) - 0.4, -0.6)
    ax.grid(False, axis="y")
