"""The text of the study of trust, docs/trust-study.md, from its published table.

``python -m experiments.report.trust`` renders it again. Every number is looked up or computed here;
the template has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.io import atomic, load_table
from experiments.lookup import ROOT
from experiments.measured import BESIDE, PAGES
from experiments.registry import STANDIN
from experiments.report.render import template
from experiments.trust.names import PURE_NOISE, REAL
from experiments.trust.reliability import LIKELY, SURE
from experiments.trust.rules import RULES
from experiments.trust.summary import (
    CELL,
    coverages,
    fixed,
    gains,
    regrets,
    reliability,
    simulated_rows,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Results", "text_of"]

#: Sides in sentences, in their order.
SIDES = {"none": "none", "covariates": "noisy covariates", "oracle": "oracle `K_x`"}
#: The study of BayesianKGL as it comes; its table is beside that of the study.
(PREPARED,) = BESIDE
#: What the gain of the generative model refers to.
OTHERS = ("constants", "defaults", "held_out", "stability", "evidence")


def interval(row: Any, name: str = "mean", digits: int = 3) -> str:
    """Write an estimate with its interval, where it has one."""
    low, high = ("low", "high") if name == "mean" else (f"{name}_low", f"{name}_high")
    if math.isnan(row[name]):
        return "-"
    shown = f"{row[name]:.{digits}f}"
    if not math.isnan(row[low]):
        shown += f" ({row[low]:.{digits}f} to {row[high]:.{digits}f})"
    return shown


@dataclass(frozen=True)
class Results:
    """What the text states about a published table."""

    table: pd.DataFrame
    design: dict[str, Any]

    @property
    def sides(self) -> dict[str, str]:
        """The kinds of side information of the study, with their labels."""
        found = set(simulated_rows(self.table, "rules")["side"])
        return {name: label for name, label in SIDES.items() if name in found}

    @property
    def noise(self) -> list[float]:
        """The noise levels of the study."""
        return sorted(float(level) for level in self._rules["noise"].unique())

    @property
    def _rules(self) -> pd.DataFrame:
        return simulated_rows(self.table, "rules")

    @property
    def counts(self) -> dict[str, int]:
        """How much was measured: cells, replicates and graphs."""
        rows = self._rules
        graphs = rows.groupby(["family", "replicate"]).ngroups
        failed = int((self.table["error"].fillna("") != "").sum())
        replicates = int(rows["replicate"].nunique())
        cells = rows.groupby(CELL).ngroups
        return {"cells": cells, "replicates": replicates, "graphs": graphs, "failed": failed}

    @property
    def points(self) -> int:
        """Points of the oracle's grid."""
        rows = self.table[self.table["table"] == "fixed"].drop_duplicates(["name", "value"])
        points = 1
        for _, count in rows.groupby("name").size().items():
            points *= int(count)
        return points

    def rules(self) -> list[tuple[str, str]]:
        """Return the rules with what they do."""
        found = set(self._rules["rule"])
        return [(rule.label, rule.about) for name, rule in RULES.items() if name in found]

    def at(self, side: str) -> Results:
        """Return the results of one kind of side information."""
        own = self.table["side"].eq(side) & ~self.table["family"].isin([PURE_NOISE, REAL])
        return replace(self, table=self.table[own])

    def regret(self, by: str) -> list[dict[str, Any]]:
        """Return the mean regret of each rule at each value of a column, best rules first."""
        parts, whole = regrets(self.table, [by]), regrets(self.table)
        values = self._values(by)
        rows = []
        for _, row in whole.sort_values("mean").iterrows():
            records = parts[parts["rule"] == row["rule"]].to_dict("records")
            own = {part[by]: interval(part) for part in records}
            rows.append(
                {
                    "label": RULES[row["rule"]].label,
                    "means": [own.get(value, "-") for value in values],
                    "worst": f"{row['worst']:.3f}",
                    "cells": int(row["cells"]),
                }
            )
        return rows

    def _values(self, by: str) -> list[Any]:
        return list(self.sides) if by == "side" else self.noise

    def gain(self, by: str) -> list[dict[str, Any]]:
        """Return the gain of the generative model over other rules at each value of a column."""
        found = set(self._rules["rule"])
        rows = []
        for other in (name for name in OTHERS if name in found):
            records = gains(self.table, other, [by]).to_dict("records")
            own = {row[by]: interval(row) for row in records}
            means = [own.get(value, "-") for value in self._values(by)]
            rows.append({"label": RULES[other].label, "means": means})
        return rows

    def fixed(self) -> list[dict[str, str]]:
        """Return what the oracle loses with one hyperparameter fixed: at best and at worst."""
        rows = []
        for name, part in fixed(self.table).groupby("name", sort=False):
            ordered: list[Any] = part.sort_values("mean").to_dict("records")
            best, worst = ordered[0], ordered[-1]
            rows.append(
                {
                    "name": str(name),
                    "best": interval(best),
                    "at": f"{best['value']:g}",
                    "worst": f"{worst['mean']:.3f}",
                    "worst_at": f"{worst['value']:g}",
                }
            )
        return rows

    def probabilities(self) -> list[dict[str, str]]:
        """Return how reliable edge probabilities are, by side information and noise."""
        order = list(self.sides)
        found: list[Any] = reliability(self.table, ["side", "noise"]).to_dict("records")
        rows = []
        for row in sorted(found, key=lambda row: (order.index(row["side"]), row["noise"])):
            some = row["likely"] > 0
            rows.append(
                {
                    "side": self.sides[row["side"]],
                    "noise": f"{row['noise']:g}",
                    "likely": f"{row['likely']:.0f}",
                    "stated": f"{row['stated']:.2f}" if some else "-",
                    "true": f"{row['true']:.2f}" if some else "-",
                    "excess": interval(row, "excess", 2),
                    "skill": interval(row, "skill"),
                    "believed": f"{row['skill_believed']:.3f}",
                    "ece": f"{row['ece']:.3f}",
                    "converged": f"{100 * row['converged']:.0f} %",
                    "seconds": f"{row['seconds']:.1f}",
                }
            )
        return rows

    def pure_noise(self) -> list[dict[str, str]]:
        """Return the largest probabilities in data without any graph."""
        rows = self.table[(self.table["table"] == "edges") & (self.table["family"] == PURE_NOISE)]
        return [
            {"data": str(data), "largest": f"{part['largest'].max():.2f}",
             "likely": f"{part['likely'].sum():.0f}", "mean": f"{part['mean'].mean():.2f}"}
            for data, part in rows.groupby("data", sort=False)
        ]  # fmt: skip

    def coverage(self) -> list[dict[str, str]]:
        """Return the coverage of intervals in simulated cells, by side information and model."""
        cells = coverages(self.table, CELL)
        if cells.empty:
            return []
        return [
            {
                "side": self.sides[str(side)],
                "model": _model(str(model)),
                "mean": f"{100 * part['mean'].mean():.1f}",
                "span": f"{100 * part['mean'].min():.1f} to {100 * part['mean'].max():.1f}",
                "cells": str(len(part)),
            }
            for (side, model), part in cells.groupby(["side", "model"], sort=False)
        ]

    def covered(self, row: dict[str, str]) -> str:
        """Return the coverage of BayesianKGL, in per cent, for a row of :meth:`probabilities`."""
        found = coverages(self.table, ["side", "noise"])
        side = found["side"].map(self.sides).eq(row["side"])
        own = found[side & found["model"].eq("bayesian") & found["noise"].eq(float(row["noise"]))]
        return f"{100 * own['mean'].iloc[0]:.1f}" if len(own) else "-"

    def real(self) -> list[dict[str, str]]:
        """Return coverage and likely edges of real data, by data set, input and model."""
        found = coverages(self.table, ["files", "n", "input", "source"], real=True)
        fits = self.table[(self.table["table"] == "fit") & (self.table["family"] == REAL)]
        rows = []
        for row in found.to_dict("records"):
            own = fits.loc[
                (fits["files"] == row["files"]) & (fits["n"] == row["n"])
                & (fits["input"] == row["input"])
            ]  # fmt: skip
            ours = row["model"] == "bayesian"
            standin = f", {STANDIN}" if row["source"] != "real" else ""
            edges = f"{own['likely'].mean():.0f}, {own['sure'].mean():.0f}" if ours else ""
            rows.append(
                {
                    "data": f"{row['files'].capitalize()}, n = {row['n']:.0f}{standin}",
                    "input": str(row["input"]),
                    "model": _model(str(row["model"])),
                    "coverage": f"{100 * row['mean']:.1f}",
                    "width": f"{row['width']:.2f}",
                    "edges": f"{edges} of {own['pairs'].max():.0f}" if ours else "",
                    "converged": _share(own["converged"]) if ours else "",
                }
            )
        return rows

    def not_run(self) -> list[str]:
        """Return which rules were not run in how many cells, and why."""
        rows = self._rules
        rows = rows[rows["note"].fillna("") != ""] if "note" in rows else rows.iloc[:0]
        return [
            f"{RULES[str(rule)].label}: {part.groupby(CELL).ngroups} cells, {note}"
            for (rule, note), part in rows.groupby(["rule", "note"], sort=False)
        ]


def _share(values: pd.Series) -> str:
    return f"{int(values.astype(bool).sum())} of {len(values)}"


def _model(name: str) -> str:
    return "BayesianKGL" if name == "bayesian" else name


def _listed(values: Sequence[float]) -> str:
    *first, last = (f"{value:g}" for value in values)
    return f"{', '.join(first)} and {last}" if first else last


def text_of(path: str | Path) -> str:
    """Return the text about a published table, or that there is none yet."""
    results, prepared = (
        _results(Path(path).with_stem(name)) for name in (Path(path).stem, PREPARED)
    )
    known = {"likely": f"{LIKELY:g}", "sure": f"{SURE:g}", "listed": _listed}
    known |= {"rules": [(rule.label, rule.about) for rule in RULES.values()]}
    return str(
        template("trust-study.md.jinja", escape=False).render(
            results=results, prepared=prepared, **known
        )
    )


def _results(path: Path) -> Results | None:
    if not path.exists():
        return None
    table, record = load_table(path)
    return Results(table, record["settings"].get("design", {}))


if __name__ == "__main__":
    with atomic(ROOT / PAGES["trust"]) as part:
        part.write_text(text_of(ROOT / "figures/trust.parquet"), encoding="utf-8")
