"""Numbers of a text, looked up in published tables: what docs/findings.md is rendered with.

A text that holds a number by hand can go stale. Here every number is a call of a function; one
that has no row in the tables is an error that names the table and the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.claims import Judgement
from experiments.registry import of_protocol
from experiments.report.compare import compared, tally
from experiments.report.inference import FACTORS, REGISTERED, REVISED, parts_of, value_of
from experiments.report.load import Gallery

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Numbers"]


@dataclass(frozen=True)
class Numbers:
    """Looks numbers up in the tables of a directory.

    Every method raises LookupError where there is no such row.
    """

    gallery: Gallery

    @property
    def helpers(self) -> dict[str, Callable[..., Any]]:
        """The functions of the template, by name."""
        own = (self.mean, self.ci, self.gain, self.claim, self.named, self.part, self.count,
               self.held, self.unmet, self.setting, self.commits, self.gap, self.likely,
               self.compromise, self.most_met, self.missed)  # fmt: skip
        return {one.__name__: one for one in own}

    def mean(self, table: str, *, digits: int = 2, **where: Any) -> str:
        """Return the mean of the rows of a table whose columns have given values."""
        return f"{float(self._rows(table, where)['mean'].mean()):.{digits}f}"

    def ci(self, table: str, *, digits: int = 2, **where: Any) -> str:
        """Return the ends of the interval of one row, or its percentiles where there is none."""
        rows = self._rows(table, where)
        if len(rows) != 1:
            raise LookupError(f"{table} has {len(rows)} rows with {where}: an interval is of one")
        ends = ("low", "high") if "low" in rows else ("p05", "p95")
        low, high = (float(rows[name].iloc[0]) for name in ends)
        return f"{low:.{digits}f} to {high:.{digits}f}"

    def gain(self, table: str, better: str, worse: str, *, digits: int = 2, **where: Any) -> str:
        """Return the mean of one model minus that of another, with its sign."""
        means = [
            float(self._rows(table, {**where, "model": model})["mean"].mean())
            for model in (better, worse)
        ]
        return f"{means[0] - means[1]:+.{digits}f}"

    def _rows(self, table: str, where: Mapping[str, Any]) -> pd.DataFrame:
        found = self.gallery.tables.get(table)
        if found is None:
            raise LookupError(f"there is no table {table}")
        for column, value in where.items():
            if column not in found:
                raise LookupError(f"{table} has no column {column}")
            found = found[found[column] == value]
        if found.empty or "mean" not in found:
            raise LookupError(f"{table} has no row with {dict(where)}")
        return found

    def claim(self, name: str, protocol: str = "") -> Judgement:
        """Return the judgement on a claim under the default specification."""
        for one in self.gallery.defaults:
            if (one.claim.id, one.protocol) == (name, protocol):
                return one
        raise LookupError(f"{of_protocol(name, protocol)} was not judged")

    def count(self, key: str, what: str = "claims") -> int:
        """Count claims or criteria that hold under both, one protocol or neither; or all."""
        own = [one for one in compared(self.gallery) if "" not in one.by]
        found = tally(own, self.gallery.protocols)
        counts = {"claims": found.claims, "criteria": found.criteria}[what]
        if key != "all" and key not in counts:
            raise LookupError(f"nothing is counted as {key}")
        return sum(counts.values()) if key == "all" else counts[key]

    def held(self, protocol: str) -> str:
        """Return how many criteria hold of all that were judged under a protocol."""
        own = [one for one in self.gallery.defaults if one.protocol == protocol]
        if not own:
            raise LookupError(f"no claim was judged under {protocol}")
        return f"{sum(one.held for one in own)} of {sum(len(one.criteria) for one in own)}"

    def part(self, name: str) -> pd.DataFrame:
        """Return a part of the table of the study of unstated settings."""
        if self.gallery.inference is None:
            raise LookupError("there is no table inference: run make inference")
        found = parts_of(self.gallery.inference)
        if name not in found:
            raise LookupError(f"inference has no part {name}")
        return found[name]

    def named(self, protocol: str, key: str, digits: int = 3) -> str:
        """Return a setting of a named protocol in words, or a number such as a distance."""
        rows = self.part("named")
        own = rows[rows["name"] == protocol]
        if own.empty or key not in own:
            raise LookupError(f"inference has no {key} of {protocol}")
        value = own[key].iloc[0]
        if key in FACTORS:
            return value_of(key, value)
        # a small P value is not zero
        small = 0 < abs(float(value)) < 0.5 * 10**-digits
        return f"{float(value):.1g}" if small else f"{float(value):.{digits}f}"

    def unmet(self) -> list[tuple[str, str, str]]:
        """Return the sentences that no specification meets: claim, text, miss in tolerances."""
        rows = self.part("statement")
        rows = rows[rows["share"] == 0].sort_values("nearest_miss", ascending=False)
        return [(str(r.claim), str(r.text), f"{r.nearest_miss:.1f}") for r in rows.itertuples()]

    def missed(self, protocol: str) -> list[tuple[str, str, str]]:
        """Return the sentences that a protocol misses by half a tolerance or more, the worst first.

        Each as claim, text and miss in tolerances, on the seeds that had no part in the search.
        """
        rows, named = self.part("statement"), self.part("named")
        own = named[named["name"] == protocol]
        if own.empty:
            raise LookupError(f"inference has no protocol {protocol}")
        miss = [float(own[f"p{k}"].iloc[0]) for k in range(len(rows))]
        told = zip(rows["claim"], rows["text"], miss, strict=True)
        found = sorted((one for one in told if one[2] > 0.5), key=lambda one: -one[2])
        return [(str(claim), str(text), f"{size:.1f}") for claim, text, size in found]

    def setting(self, fit: str, factor: str, value: str) -> dict[str, str]:
        """Return prior and posterior weight of a value of an unstated setting."""
        rows = self.part("marginal")
        rows = rows[(rows["fit"] == fit) & (rows["factor"] == factor)]
        rows = rows[[value_of(factor, one) == value_of(factor, value) for one in rows["value"]]]
        if len(rows) != 1:
            raise LookupError(f"inference has no weight of {factor} = {value} given {fit}")
        return {key: f"{float(rows[key].iloc[0]):.2f}" for key in ("prior", "posterior")}

    def gap(self) -> tuple[str, str]:
        """Return the largest scale of the printed values and the smallest of the sentences."""
        found = self.gallery.table("inference", "panel", "low", "high")
        rows = None if found is None else found[found["panel"] == "gap"]
        if rows is None or rows.empty:
            raise LookupError("inference has no gap between scales")
        return f"{rows['low'].iloc[0]:g}", f"{rows['high'].iloc[0]:g}"

    def likely(self) -> int:
        """Count the specifications that the printed values do not reject at 5 %."""
        return int((self.part("printed")["p_value"] > 0.05).sum())

    def compromise(self) -> pd.Series:
        """Return the specification nearest to the sentences that the printed values allow."""
        rows = self.part("front")
        rows = rows[rows["p_value"] > 0.05]
        if rows.empty:
            raise LookupError("no specification of the front agrees with the printed values")
        return rows.sort_values("distance_sentences").iloc[0]

    def most_met(self) -> int:
        """Return the most sentences that one specification meets."""
        return int(self.part("sentences")["met"].max())

    def commits(self) -> tuple[str, str]:
        """Return the commits that registered and revised the design."""
        return REGISTERED, REVISED
