"""The text of the comparison of packages, docs/arena.md, from its published table.

``python -m experiments.report.arena`` renders it again. Every number is looked up or computed here;
the template has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.arena.entrants import ENTRANTS, OURS
from experiments.arena.names import KINDS, PLAIN, REAL, TUNINGS
from experiments.arena.summary import (
    CLOSE,
    FAR,
    PEERS,
    answers,
    behind,
    contests,
    lacking,
    share,
    spent,
    with_shared,
)
from experiments.io import atomic, load_table
from experiments.lookup import ROOT
from experiments.registry import STANDIN
from experiments.report.render import template

__all__ = ["Results", "text_of"]

#: Share of the cells with help in which ours are to be the best or close to it.
BAR = 0.8
#: Peers that are to be measured.
FEWEST = 8


@dataclass(frozen=True)
class Results:
    """What the text states about a published table."""

    given: pd.DataFrame
    design: dict[str, Any]

    @cached_property
    def table(self) -> pd.DataFrame:
        """The table, with shared rows."""
        return with_shared(self.given)

    @property
    def names(self) -> list[str]:
        """The entrants of the table, in their order."""
        return [name for name in ENTRANTS if name in set(self.table["entrant"])]

    # --------------------------------------------------------------------------------- counts

    @property
    def counts(self) -> dict[str, Any]:
        """How much was measured."""
        done = self.table[self.table["status"] == "ok"]
        peers = {name for name in set(done["entrant"]) if ENTRANTS[name].environment or (
            ENTRANTS[name].file.suffix == ".R")}  # fmt: skip
        tried = {name for name in self.names if name in PEERS and name not in _SIMPLE}
        return {
            "cells": self.table["cell"].nunique(),
            "entrants": len(self.names),
            "ours": len([name for name in self.names if name in OURS]),
            "running": len(peers),
            "silent": [ENTRANTS[name].label for name in sorted(tried - peers)],
            "minutes": round(float(done["seconds"].sum()) / 60),
            "enough": len(peers) >= FEWEST,
        }

    def sizes(self) -> list[dict[str, Any]]:
        """Return the simulated sizes, with replicates and limits."""
        return list(self.design["sizes"])

    # ------------------------------------------------------------------------------- entrants

    def entrants(self) -> list[dict[str, str]]:
        """Return what each entrant is, and the versions that answered."""
        rows = []
        for name in self.names:
            entrant = ENTRANTS[name]
            own = self.table[(self.table["entrant"] == name) & (self.table["versions"] != "")]
            versions = [] if own.empty else own["versions"].iloc[0].split(", ")
            rows.append(
                {
                    "label": f"**{entrant.label}**" if entrant.ours else entrant.label,
                    "about": entrant.about,
                    "own": entrant.own or "-",
                    "grid": entrant.grid or "-",
                    "versions": ", ".join(versions[1:2] + versions[:1]) or "absent",
                }
            )
        return rows

    def summary(self) -> list[dict[str, Any]]:
        """Return for each entrant how far it is behind, what it lacks, and what it takes."""
        far = {tuning: behind(self.table, tuning) for tuning in TUNINGS}
        means = {tuning: part.groupby("entrant")["behind"].mean() for tuning, part in far.items()}
        order = means["own"].reindex(self.names).sort_values(kind="stable").index
        lacks, costs = lacking(self.given), spent(self.table)
        sizes = [size["m"] for size in self.sizes()]
        rows = []
        for name in order:
            cost = costs.loc[name] if name in costs.index else pd.Series(dtype=float)
            own = far["own"][far["own"]["entrant"] == name]
            rows.append(
                {
                    "label": _label(name),
                    **{tuning: _number(means[tuning].get(name, np.nan)) for tuning in TUNINGS},
                    "cells": f"{int(own['behind'].notna().sum())} of {len(own)}",
                    "lacking": _lacking(lacks.loc[name]),
                    "seconds": [_short(cost.get(m, np.nan)) for m in sizes],
                    "memory": _short(cost.get("memory", np.nan)),
                }
            )
        return rows

    def failures(self) -> list[str]:
        """Return the first message of each entrant that failed, and in how many answers."""
        rows = self.given[self.given["status"] == "failed"]
        return [
            f"{ENTRANTS[str(name)].label}: {len(part)} answers, such as: {part['error'].iloc[0]}"
            for name, part in rows.groupby("entrant", sort=False)
        ]

    # ---------------------------------------------------------------------------------- cells

    def cells(self, tuning: str) -> list[dict[str, str]]:
        """Return the best of ours and the best peer of each cell."""
        rows = []
        for _, row in contests(self.table, tuning).iterrows():
            rows.append(
                {
                    "cell": self._cell(row),
                    "ours": f"{ENTRANTS[row['ours']].label} {row['ours_aps']:.2f}",
                    "peer": f"{ENTRANTS[row['peer']].label} {row['peer_aps']:.2f}",
                    "difference": _interval(row),
                }
            )
        return rows

    def _cell(self, row: Any) -> str:
        if row["kind"] != REAL:
            return f"{KINDS[row['kind']]}, m = {row['m']}"
        about = self.table[self.table["cell"] == row["cell"]].iloc[0]
        name = f"{about['dataset']}, m = {about['m']}"
        return f"{name}: {STANDIN}" if about["source"] == "simulated" else name

    # ------------------------------------------------------------------------------- verdicts

    def verdicts(self) -> list[dict[str, Any]]:
        """Return for each way of tuning what the two marks come to."""
        rows = []
        for tuning, label in TUNINGS.items():
            found = share(self.table, tuning)
            ranked = share(self.table, tuning, "aps_scores")
            plain = contests(self.table, tuning)
            plain = plain[~plain["assisted"]]
            worst: Any = plain.sort_values("difference").iloc[0] if len(plain) else None
            far = int((plain["difference"] < -FAR).sum())
            rows.append(
                {
                    "label": label,
                    "close": f"{found['close']} of {found['cells']}",
                    "best": f"{found['best']} of {found['cells']}",
                    "share": _percent(found),
                    "ranked": f"{ranked['close']} of {ranked['cells']}",
                    "met": found["share"] >= BAR,
                    "worst": "-" if worst is None else
                    f"{worst['difference']:+.3f} ({self._cell(worst)})",
                    "plain_met": far == 0 and len(plain) > 0,
                }
            )  # fmt: skip
        return rows

    def alone(self, tuning: str = "own") -> list[dict[str, str]]:
        """Return the share of each of ours by itself, which is chosen in no cell."""
        rows = []
        for name in (name for name in OURS if name in self.names):
            found = share(self.table, tuning, ours=[name])
            if found["cells"]:
                plain = contests(self.table, tuning, ours=[name])
                plain = plain[~plain["assisted"]]
                rows.append(
                    {
                        "label": ENTRANTS[name].label,
                        "close": f"{found['close']} of {found['cells']}",
                        "share": _percent(found),
                        "worst": _number(float(plain["difference"].min()), signed=True),
                    }
                )
        return rows

    def kinds(self, *, close: bool, tuning: str = "own") -> list[str]:
        """Return the cells in which ours are the best or close to it, or are not."""
        rows = contests(self.table, tuning)
        chosen = rows[(rows["difference"] >= -CLOSE) == close]
        chosen = chosen.sort_values("difference", ascending=not close, kind="stable")
        return [
            f"{self._cell(row)}: {ENTRANTS[row['ours']].label} {row['ours_aps']:.2f}, "
            f"{ENTRANTS[row['peer']].label} {row['peer_aps']:.2f} ({_interval(row)})"
            for _, row in chosen.iterrows()
        ]

    # ------------------------------------------------------------------------------ imputation

    def imputation(self) -> tuple[list[str], list[dict[str, Any]]]:
        """Return the cells with hidden entries, and the errors of each entrant that fills them."""
        best = {}
        for tuning in ("default", "own"):
            best[tuning] = answers(self.table, tuning, "rmse").groupby(level="cell", sort=False)
        means = {tuning: found.mean() for tuning, found in best.items()}
        cells = list(means["own"].index)
        about = self.table.drop_duplicates("cell").set_index("cell")
        labels = [self._cell({"cell": cell, **about.loc[cell].to_dict()}) for cell in cells]
        rows = []
        for name in (name for name in self.names if name in means["own"]):
            if means["own"][name].notna().any():
                errors = [_number(means["own"][name].get(cell, np.nan)) for cell in cells]
                rows.append({"label": _label(name), "errors": errors})
        return labels, rows


#: Graphs without learning.
_SIMPLE = ("correlation", "knn", "knn_x")


def _label(name: str) -> str:
    return f"**{ENTRANTS[name].label}**" if name in OURS else ENTRANTS[name].label


def _number(value: float, *, signed: bool = False) -> str:
    return "-" if np.isnan(value) else f"{value:+.3f}" if signed else f"{value:.2f}"


def _short(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _interval(row: Any) -> str:
    mean = f"{row['difference']:+.3f}"
    return mean if np.isnan(row["low"]) else f"{mean}, {row['low']:+.2f} to {row['high']:+.2f}"


def _percent(found: dict[str, Any]) -> str:
    share, low, high = (f"{100 * found[name]:.0f}" for name in ("share", "low", "high"))
    return f"{share} % ({low} to {high} %)"


def _lacking(row: Any) -> str:
    found = [f"{int(row[name])} {name}" for name in ("failed", "stopped", "absent") if row[name]]
    return ", ".join(found) or "-"


def text_of(path: str | Path) -> str:
    """Return the text about a published table, or that there is none yet."""
    results = None
    if Path(path).exists():
        table, record = load_table(path)
        results = Results(table, record["settings"]["design"])
    known: dict[str, Any] = {"close": f"{CLOSE:g}", "far": f"{FAR:g}", "plain": PLAIN}
    known |= {"bar": f"{100 * BAR:.0f} %", "fewest": FEWEST, "tunings": TUNINGS}
    return str(template("arena.md.jinja", escape=False).render(results=results, **known))


if __name__ == "__main__":
    with atomic(ROOT / "docs/arena.md") as part:
        part.write_text(text_of(ROOT / "figures/arena.parquet"), encoding="utf-8")
