"""What the figures and the text show: means and ratios with intervals over graphs.

A graph is a family and a replicate. All cells of a replicate share it, so cells are averaged within
graphs first, and intervals are those of independent graphs. Of real data, draws of hidden entries
take their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from experiments.stats import MissingEvidence, mean_interval
from experiments.trust.names import PURE_NOISE, REAL
from experiments.trust.rules import RULES

__all__ = [
    "CELL", "MODEL_LABELS", "SIDE_LABELS", "bins", "coverages", "fixed", "gains", "ratio",
    "regrets", "reliability", "simulated_rows", "with_regret",
]  # fmt: skip

#: What makes a cell, and what makes a graph.
CELL = ["family", "data", "noise", "missing", "side"]
GRAPH = ["family", "replicate"]
SIDE_LABELS = {
    "none": "no side information",
    "covariates": "noisy covariates",
    "oracle": "oracle $K_x$",
}
#: Models that have intervals, with the file of conf/model that has their look.
MODEL_LABELS = {
    "bayesian": "bayesian", "KGLN": "kgln", "KGLO": "kglo", "KGL": "kgl",
    "KGLAgnostic": "kglagnostic",
}  # fmt: skip


def simulated_rows(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows of one kind that are about simulated graphs."""
    rows = table[(table["table"] == name) & ~table["family"].isin([PURE_NOISE, REAL])]
    return rows.dropna(axis=1, how="all")


def with_regret(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of all rules with their regret; what failed or was not run is left out."""
    rows = simulated_rows(table, "rules")
    best = rows[rows["rule"] == "oracle"].set_index([*CELL, "replicate"])["aps"].rename("oracle")
    rows = rows.join(best, on=[*CELL, "replicate"])
    rows = rows.assign(regret=rows["oracle"] - rows["aps"])
    return rows[rows["aps"].notna()].reset_index(drop=True)


def over_graphs(rows: pd.DataFrame, column: str) -> dict[str, float]:
    """Return the mean of a column over graphs, and its 95 % interval: NaN for a single graph."""
    own = rows.groupby(GRAPH)[column].mean()
    try:
        mean, low, high = mean_interval(own.to_numpy())
    except MissingEvidence:
        mean, low, high = float(own.mean()), np.nan, np.nan
    return {"mean": mean, "low": low, "high": high, "graphs": len(own)}


def _by(rows: pd.DataFrame, by: Sequence[str]) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    if not by:
        return [({}, rows)]
    found = rows.groupby(list(by), sort=False)
    return [(dict(zip(by, keys, strict=True)), part) for keys, part in found]


def regrets(table: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the mean regret of each rule, and of its worst cell, by some columns of a cell."""
    rows = with_regret(table)
    found = []
    for keys, part in _by(rows[rows["rule"] != "oracle"], [*by, "rule"]):
        cells = part.groupby(CELL)["regret"].mean()
        about = {"cells": len(cells), "worst": float(cells.max())}
        found.append({**keys, **over_graphs(part, "regret"), **about})
    order = {name: k for k, name in enumerate(RULES)}
    shown = pd.DataFrame(found)
    return shown.sort_values("rule", key=lambda names: names.map(order), kind="stable")


def gains(table: pd.DataFrame, over: str, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return how much more than another rule the generative model reaches, on the same data."""
    wide = with_regret(table).pivot_table(index=[*CELL, "replicate"], columns="rule", values="aps")
    rows = (wide["bayesian"] - wide[over]).dropna().rename("gain").reset_index()
    return pd.DataFrame([{**keys, **over_graphs(part, "gain")} for keys, part in _by(rows, by)])


def fixed(table: pd.DataFrame) -> pd.DataFrame:
    """Return what the oracle loses if it may not choose one of the hyperparameters."""
    rows = simulated_rows(table, "fixed")
    best = rows.groupby([*CELL, "replicate", "name"])["aps"].transform("max")
    rows = rows.assign(cost=best - rows["aps"])
    found = [{**keys, **over_graphs(part, "cost")} for keys, part in _by(rows, ["name", "value"])]
    return pd.DataFrame(found)


def ratio(rows: pd.DataFrame, above: str, below: str) -> dict[str, float]:
    """Return a ratio of two sums with its 95 % interval over graphs (linearised).

    Examples
    --------
    >>> rows = pd.DataFrame({"family": "er", "replicate": [0, 1], "a": [1, 3], "b": [4, 4]})
    >>> found = ratio(rows, "a", "b")
    >>> found["mean"], found["graphs"]
    (0.5, 2)
    """
    from scipy.stats import t

    own = rows.groupby(GRAPH)[[above, below]].sum()
    total, graphs = float(own[below].sum()), len(own)
    if total == 0:
        return {"mean": np.nan, "low": np.nan, "high": np.nan, "graphs": graphs}
    mean = float(own[above].sum()) / total
    half = np.nan
    if graphs > 1:
        left = own[above] - mean * own[below]
        error = np.sqrt(graphs / (graphs - 1) * float((left**2).sum())) / total
        half = float(t.ppf(0.975, graphs - 1) * error)
    return {"mean": mean, "low": mean - half, "high": mean + half, "graphs": graphs}


def bins(table: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return stated and true shares of edges by bins of the stated probability."""
    rows = simulated_rows(table, "bins")
    found = []
    for keys, part in _by(rows, [*by, "bin"]):
        stated = float(part["stated"].sum() / part["pairs"].sum())
        about = {"stated": stated, "pairs": int(part["pairs"].sum())}
        found.append({**keys, **about, **ratio(part, "true", "pairs")})
    return pd.DataFrame(found).sort_values([*by, "bin"], kind="stable", ignore_index=True)


def reliability(table: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return how reliable edge probabilities are, by some columns of a cell.

    Returns
    -------
    DataFrame
        ``excess``, stated minus true share of edges among pairs of one half and more, with
        ``stated`` and ``true``; ``skill``, that of the Brier score against the true share of edges,
        and ``skill_believed`` against the believed density; ``ece``; ``largest``; each with
        ``_low`` and ``_high`` where it has an interval; ``converged``, the share of fits.
    """
    rows = simulated_rows(table, "edges")
    fits = simulated_rows(table, "fit").set_index([*CELL, "replicate"])
    rows = rows.join(fits[["converged", "seconds"]].add_prefix("fit_"), on=[*CELL, "replicate"])
    rows = rows.assign(
        excess=rows["likely_stated"] - rows["likely_true"],
        gained=rows["brier_share"] - rows["brier"],
        gained_believed=rows["brier_believed"] - rows["brier"],
    )
    found = []
    for keys, part in _by(rows, by):
        likely = max(int(part["likely"].sum()), 1)
        row = {**keys, "likely": int(part["likely"].sum())}
        row |= {name: float(part[f"likely_{name}"].sum()) / likely for name in ("stated", "true")}
        row |= _named("excess", ratio(part, "excess", "likely"))
        row |= _named("skill", ratio(part, "gained", "brier_share"))
        row |= _named("skill_believed", ratio(part, "gained_believed", "brier_believed"))
        row |= _named("ece", over_graphs(part, "ece"))
        row |= {"largest": float(part["largest"].max())}
        row |= {"converged": float(part["fit_converged"].astype(float).mean())}
        found.append({**row, "seconds": float(part["fit_seconds"].mean())})
    return pd.DataFrame(found)


def _named(name: str, found: dict[str, float]) -> dict[str, float]:
    return {name: found["mean"], f"{name}_low": found["low"], f"{name}_high": found["high"]}


def coverages(table: pd.DataFrame, by: Sequence[str], *, real: bool = False) -> pd.DataFrame:
    """Return the share of missing entries in 90 % intervals, by model and some columns."""
    rows = table[(table["table"] == "coverage") & (table["family"].eq(REAL) == real)]
    if rows.empty:
        return pd.DataFrame(columns=[*by, "model", "mean", "low", "high", "graphs", "width"])
    rows = rows[rows["entries"].notna()]
    found = [
        {**keys, **ratio(part, "covered", "entries"), "width": float(part["width"].mean())}
        for keys, part in _by(rows, [*by, "model"])
    ]
    return pd.DataFrame(found)
