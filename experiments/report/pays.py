"""The text of the study of real tables, docs/when-it-pays.md, from its published table.

``python -m experiments.report.pays`` renders it again. Every number is looked up or computed here;
the template has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.io import atomic, load_table
from experiments.lookup import ROOT
from experiments.pays.design import NEW_NODES
from experiments.pays.gaps import RUN
from experiments.pays.methods import METHODS
from experiments.pays.summary import LABELS, PATTERN_LABELS, SETTING, relative
from experiments.report.render import template

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Results", "text_of"]

#: A relative error above this one is far behind.
FAR_BEHIND = 1.5
#: A method pays in a setting if its error is below that of the best baseline by this share.
MARGIN = 0.02


@dataclass(frozen=True)
class Results:
    """What the text states about a published table."""

    table: pd.DataFrame
    numbers: pd.DataFrame

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The tables: name, what they are, where from, size, covariates."""
        found = self.table.drop_duplicates("dataset")
        columns = ["dataset", "about", "source", "n", "m", "x", "z"]
        return [{str(k): v for k, v in row.items()} for row in found[columns].to_dict("records")]

    @property
    def seeds(self) -> int:
        """Draws of gaps per setting."""
        return int(self.table.loc[self.table["pattern"] != NEW_NODES, "seed"].nunique())

    @property
    def rates(self) -> str:
        """The rates of gaps in per cent, as a list in words."""
        own = self.table.loc[self.table["pattern"] != NEW_NODES, "rate"]
        *first, last = (f"{100 * rate:.0f}" for rate in sorted(own.unique()))
        return f"{', '.join(first)} and {last} %" if first else f"{last} %"

    @property
    def runs_of_rows(self) -> str:
        """Shortest and longest run of hidden rows, as shares of all rows."""
        return f"{100 * RUN[0]:.0f} to {100 * RUN[1]:.0f} %"

    def summary(self, pattern: str) -> list[dict[str, str]]:
        """Return for each method the median, least and largest relative error of a pattern."""
        own = self.numbers[self.numbers["pattern"] == pattern]
        rows = []
        for name in (name for name in LABELS if name in set(own["method"])):
            part = own[own["method"] == name]
            failures, runs = int(part["failures"].sum()), int(part["runs"].sum())
            rows.append(
                {
                    "label": LABELS[name],
                    "median": f"{part['relative'].median():.2f}",
                    "span": f"{part['relative'].min():.2f} to {part['relative'].max():.2f}",
                    "wins": f"{int((part['relative'] < 1 - MARGIN).sum())} of {len(part)}",
                    "failures": f"{failures} of {runs}",
                    "seconds": f"{part['seconds'].median():.2g}",
                }
            )
        return rows

    @property
    def _gaps(self) -> pd.DataFrame:
        """The numbers of gaps, without those of new nodes."""
        return self.numbers[self.numbers["pattern"] != NEW_NODES]

    def overall(self) -> list[dict[str, str]]:
        """Return for each method what holds over all settings with gaps."""
        rows = []
        for name in (name for name in LABELS if name in set(self._gaps["method"])):
            part = self._gaps[self._gaps["method"] == name]["relative"]
            # of a baseline the best of all is one of itself
            best = (part <= 1.0) if not METHODS[name].ours else (part < 1.0)
            rows.append(
                {
                    "label": LABELS[name],
                    "median": f"{part.median():.2f}",
                    "far": f"{100 * (part > FAR_BEHIND).mean():.0f} %",
                    "best": f"{100 * best.mean():.0f} %",
                    "settings": str(len(part)),
                }
            )
        return rows

    def by_table(self) -> list[dict[str, Any]]:
        """Return for each table the median relative errors of our methods, best tables first."""
        ours = [name for name, method in METHODS.items() if method.ours]
        medians = self._gaps.pivot_table(
            index="dataset", columns="method", values="relative", aggfunc="median"
        )
        ours = [name for name in ours if name in medians]
        first = self._gaps.drop_duplicates(SETTING).groupby("dataset")["best_baseline"]
        return [
            {
                "dataset": name,
                "errors": [f"{row[method]:.2f}" for method in ours],
                "labels": [LABELS[method] for method in ours],
                "baseline": LABELS[str(first.get_group(name).mode().iloc[0])],
            }
            for name, row in medians.sort_values(
                "kgl_tuned" if "kgl_tuned" in medians else ours[0]
            ).iterrows()
        ]

    def patterns(self) -> list[tuple[str, str]]:
        """Return the patterns of the table with their labels."""
        found = set(self.numbers["pattern"])
        return [(name, label) for name, label in PATTERN_LABELS.items() if name in found]

    def settings(self, method: str, *, better: bool) -> list[str]:
        """Return the settings in which a method pays, or does not, the extreme ones first."""
        own = self.numbers[
            (self.numbers["method"] == method) & (self.numbers["pattern"] != NEW_NODES)
        ]
        paying = own["relative"] < 1 - MARGIN
        chosen = own[paying if better else ~paying]
        rows: Any = chosen.sort_values("relative", ascending=better, kind="stable").itertuples()
        return [
            f"{row.dataset}, {PATTERN_LABELS[row.pattern]}, {100 * row.rate:.0f} % "
            f"({row.relative:.2f}; best baseline: {LABELS[row.best_baseline]})"
            for row in rows
        ]

    def by_side(self, method: str) -> list[tuple[str, str, str]]:
        """Return the median relative error of a method by the covariates that tables have."""
        own = self.numbers[
            (self.numbers["method"] == method) & (self.numbers["pattern"] != NEW_NODES)
        ]
        names: dict[Any, str] = {(True, True): "x and z", (True, False): "x", (False, True): "z"}
        names[False, False] = "neither"
        return [
            (names[side], f"{part['relative'].median():.2f}", str(part["dataset"].nunique()))
            for side, part in own.groupby(["x", "z"], sort=False)
        ]

    def graph_gain(self, method: str = "kgl_tuned") -> dict[str, str]:
        """Compare KGL with itself without the graph term: median ratio, and where it is better.

        Nothing where the study has not both.
        """
        if not {method, f"{method}_no_graph"} <= set(self.numbers["method"]):
            return {}
        own = self.numbers.set_index([*SETTING, "method"])["rmse"].unstack("method")
        ratio = (own[method] / own[f"{method}_no_graph"]).dropna()
        wins = f"{int((ratio < 1 - MARGIN).sum())} of {len(ratio)}"
        return {"median": f"{ratio.median():.2f}", "wins": wins}


def text_of(path: str | Path) -> str:
    """Return the text about a published table, or that there is none yet."""
    results = None
    if Path(path).exists():
        table = load_table(path)[0]
        results = Results(table, relative(table))
    known = {"margin": f"{100 * MARGIN:.0f} %", "labels": LABELS, "new_nodes": NEW_NODES}
    known["far_behind"] = f"{FAR_BEHIND:g}"
    known["ours"] = [name for name, method in METHODS.items() if method.ours]
    return str(template("when-it-pays.md.jinja", escape=False).render(results=results, **known))


if __name__ == "__main__":
    with atomic(ROOT / "docs/when-it-pays.md") as part:
        part.write_text(text_of(ROOT / "figures/pays.parquet"), encoding="utf-8")
