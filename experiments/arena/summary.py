"""Who is the best in which cell, for the figure and the text."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from experiments.arena.entrants import ENTRANTS, OURS
from experiments.arena.names import PLAIN, same_without_x
from experiments.stats import MissingEvidence, mean_interval
from kgl._types import Array
from kgl.seeding import stream

__all__ = [
    "CLOSE", "FAR", "PEERS", "answers", "behind", "contests", "lacking", "share", "spent", "tuned",
    "with_shared",
]  # fmt: skip

#: An entrant is as good as the best of a cell if its average precision is less by at most this, and
#: far behind if it is less by more than that.
CLOSE, FAR = 0.02, 0.05
#: Draws of the bootstrap over replicates.
DRAWS = 2000
PEERS = tuple(name for name in ENTRANTS if name not in OURS)


def with_shared(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the rows of entrants that make no use of covariates.

    They are measured on the same data without covariates alone.
    """
    parts = [table]
    known = ["cell", "kind", "m", "x", "z", "gaps", "dataset"]
    cells: list[Any] = table[known].drop_duplicates().to_dict("records")
    for about in cells:
        own = set(table.loc[table["cell"] == about["cell"], "entrant"])
        plain = table[table["cell"] == same_without_x(about)]
        parts.append(plain[~plain["entrant"].isin(own)].assign(**about))
    return pd.concat(parts, ignore_index=True)


def tuned(table: pd.DataFrame, tuning: str) -> pd.DataFrame:
    """Return a row for each cell, entrant and replicate under one way of tuning.

    ``own`` is the default of entrants without a rule. ``oracle`` is the best tuning value of each
    replicate, by the true graph; of entrants with nothing to tune it is the default.
    """
    if tuning == "default":
        return table[table["tuning"] == "default"]
    kind = "own" if tuning == "own" else "grid"
    rows = table[table["tuning"] == kind]
    others = table[(table["tuning"] == "default") & ~table["entrant"].isin(set(rows["entrant"]))]
    if kind == "grid":
        # among equals, and where there is no answer, the first
        rows = rows.assign(rank=rows["aps"].fillna(-1.0))
        rows = rows.sort_values(["rank", "point"], ascending=[False, True], kind="stable")
        rows = rows.drop_duplicates(["cell", "entrant", "replicate"]).drop(columns="rank")
    return pd.concat([rows, others], ignore_index=True)


def answers(table: pd.DataFrame, tuning: str, column: str = "aps") -> pd.DataFrame:
    """Return a figure of each cell and replicate (rows) by entrant (columns).

    NaN throughout a cell for entrants that lack an answer on one of its replicates.
    """
    rows = tuned(table, tuning)
    wide = rows.pivot_table(
        index=["cell", "replicate"], columns="entrant", values=column, dropna=False, sort=False
    )
    wide = wide[wide.notna().any(axis=1)]
    whole = wide.notna().groupby(level="cell").transform("all")
    names = [name for name in ENTRANTS if name in wide]
    found: pd.DataFrame = wide.where(whole)[names]
    return found


def behind(table: pd.DataFrame, tuning: str) -> pd.DataFrame:
    """Return the average precision of each entrant in each cell, and how much the best has more.

    With the number of answers, and what became of those that are lacking.
    """
    means = answers(table, tuning).groupby(level="cell", sort=False).mean()
    least = means.max(axis=1).to_dict()
    reached: dict[Any, Any] = means.to_dict("index")
    known = ["cell", "kind", "m", "n", "source"]
    abouts: dict[Any, Any] = table[known].drop_duplicates("cell").set_index("cell").to_dict("index")
    rows = []
    groups: Any = tuned(table, tuning).groupby(["cell", "entrant"], sort=False)
    for (cell, entrant), part in groups:
        bad = part[part["status"] != "ok"]
        row = {"cell": cell, **abouts[cell], "entrant": entrant, "tuning": tuning}
        row |= {"aps": reached.get(cell, {}).get(entrant, np.nan)}
        row |= {"behind": least.get(cell, np.nan) - row["aps"]}
        row |= {"runs": len(part), "lacking": len(bad)}
        rows.append({**row, "why": bad["status"].iloc[0] if len(bad) else ""})
    return pd.DataFrame(rows)


def contests(
    table: pd.DataFrame, tuning: str, column: str = "aps", ours: Collection[str] = OURS
) -> pd.DataFrame:
    """Return for each cell the best of ours and the best peer, by their means over replicates.

    ``difference`` is ours minus the peer's, with the ends ``low`` and ``high`` of a 95 % interval
    over replicates: a t-interval for these two entrants, which leaves out that they were chosen.
    """
    wide = answers(table, tuning, column)
    known = ["cell", "kind", "m"]
    abouts: dict[Any, Any] = table[known].drop_duplicates("cell").set_index("cell").to_dict("index")
    rows = []
    for cell, part in wide.groupby(level="cell", sort=False):
        one, two = _best(part, ours), _best(part, PEERS)
        if not one or not two:
            continue
        row = {"cell": cell, **abouts[cell], "ours": one, "ours_aps": part[one].mean()}
        row |= {"peer": two, "peer_aps": part[two].mean()}
        row |= _interval((part[one] - part[two]).to_numpy())
        rows.append({**row, "assisted": row["kind"] not in PLAIN})
    return pd.DataFrame(rows)


def _best(part: pd.DataFrame, names: Collection[str]) -> str:
    means = part[[name for name in names if name in part]].mean().dropna()
    return "" if means.empty else str(means.idxmax())


def _interval(pairs: Array) -> dict[str, float]:
    try:
        mean, low, high = mean_interval(pairs)
    except MissingEvidence:
        mean, low, high = float(pairs.mean()), np.nan, np.nan
    return {"difference": mean, "low": low, "high": high}


def share(
    table: pd.DataFrame, tuning: str, column: str = "aps", ours: Collection[str] = OURS
) -> dict[str, Any]:
    """Return in which share of the cells with help ours are best or close to the best.

    Cells with help have covariates, gaps or dependence. The interval is that of a bootstrap over
    the replicates of each cell, in which the best of ours and the best peer are chosen again.
    """
    wide = answers(table, tuning, column)
    helped = contests(table, tuning, column, ours)
    helped = helped[helped["assisted"]]
    rng = stream(0, "arena", "bootstrap")
    good = np.zeros(DRAWS)
    for cell in helped["cell"]:
        part = wide.loc[[cell]]
        drawn = rng.integers(len(part), size=(DRAWS, len(part)))
        good += _best_of(part, ours, drawn) - _best_of(part, PEERS, drawn) >= -CLOSE
    shares = good / max(len(helped), 1)
    low, high = np.percentile(shares, [2.5, 97.5])
    close = int((helped["difference"] >= -CLOSE).sum())
    best = int((helped["difference"] >= 0).sum())
    found: dict[str, Any] = {"cells": len(helped), "close": close, "best": best}
    return {**found, "share": close / max(len(helped), 1), "low": float(low), "high": float(high)}


def _best_of(part: pd.DataFrame, names: Collection[str], drawn: Any) -> Any:
    """Return the best mean of some entrants for each draw of replicates."""
    values = part[[name for name in names if name in part]].dropna(axis=1).to_numpy()
    return values[drawn].mean(axis=1).max(axis=1)


def spent(table: pd.DataFrame) -> pd.DataFrame:
    """Return the median processor time of a default fit by number of nodes, and memory."""
    rows = table[(table["tuning"] == "default") & (table["status"] == "ok")]
    seconds = rows.pivot_table(index="entrant", columns="m", values="seconds", aggfunc="median")
    return seconds.assign(memory=rows.groupby("entrant")["memory"].max())


def lacking(table: pd.DataFrame) -> pd.DataFrame:
    """Return the number of answers of each entrant, and of those that failed, stopped or absent."""
    counts = table.pivot_table(
        index="entrant", columns="status", values="cell", aggfunc="count", fill_value=0
    )
    for name in ("ok", "failed", "stopped", "absent"):
        if name not in counts:
            counts[name] = 0
    return counts
