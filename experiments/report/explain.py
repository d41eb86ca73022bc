"""Why claims are not reproduced, how far verdicts depend on specifications, and what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from experiments.claims import Criterion, Judgement, from_table
from experiments.claims.causes import Cause, Seen
from experiments.claims.specifications import label_of
from experiments.registry import Verdict
from experiments.report.load import Gallery
from experiments.report.tables import number, span

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Explained", "Outcome", "differences", "explain", "outcomes"]

UNKNOWN = Cause("not known", "No cause is known.")


@dataclass(frozen=True)
class Outcome:
    """A claim under one specification, beside the default at the same size of runs."""

    label: str
    verdict: Verdict
    held: int
    criteria: int
    base_verdict: Verdict
    base_held: int
    small: bool

    @property
    def changes_verdict(self) -> bool:
        """Whether the verdict is another than the default's, where there is one."""
        return self.verdict not in (self.base_verdict, Verdict.NOT_EVALUATED)

    @property
    def changes(self) -> bool:
        """Whether the verdict or the number of criteria that hold is another."""
        return self.changes_verdict or self.held != self.base_held

    @property
    def words(self) -> str:
        """The verdict and the criteria that hold, beside those of the default."""
        size = " at this size" * self.small
        base = f"{self.base_verdict.label}, " * self.changes_verdict
        return (
            f"{self.verdict.label}, {self.held} of {self.criteria} criteria hold "
            f"({base}{self.base_held} by default{size})"
        )


@dataclass(frozen=True)
class Explained:
    """A claim that is not reproduced, its likely cause, and the evidence, one line each."""

    judgement: Judgement
    cause: Cause
    evidence: tuple[str, ...]


def outcomes(gallery: Gallery, default: Judgement) -> dict[str, Outcome]:
    """Return a claim under every specification but the default, by id."""
    found = _small(gallery, default.claim.id)
    for one in gallery.judged:
        if one.claim.id == default.claim.id and not one.default:
            found[one.specification] = Outcome(
                label_of(one.specification), one.verdict, one.held, len(one.criteria),
                default.verdict, default.held, small=False,
            )  # fmt: skip
    return found


def _small(gallery: Gallery, claim: str) -> dict[str, Outcome]:
    """Return the outcomes in runs of reduced size, each beside the default at the same size."""
    columns = ("specification", "choice", "base", "claim", "verdict", "held", "criteria")
    table = gallery.table("specifications", *columns)
    if table is None:
        return {}
    rows = {str(r["specification"]): r for _, r in table[table["claim"] == claim].iterrows()}
    return {
        name: Outcome(
            str(row["choice"]), Verdict(row["verdict"]), int(row["held"]), int(row["criteria"]),
            Verdict(rows[row["base"]]["verdict"]), int(rows[row["base"]]["held"]), small=True,
        )
        for name, row in rows.items()
        if row["base"] != name and row["base"] in rows
    }  # fmt: skip


def explain(gallery: Gallery, causes: Mapping[str, Cause], *, strict: bool) -> list[Explained]:
    """Return the cause of and the evidence on every claim that is not reproduced.

    Raises
    ------
    ValueError
        With ``strict``, if a claim has no cause, or a cause names a specification or a row that is
        in no table.
    """
    faults, found = [], []
    for one in gallery.defaults:
        if one.verdict not in (Verdict.PARTLY, Verdict.NOT_REPRODUCED):
            continue
        claim, cause = one.claim.id, causes.get(one.claim.id, UNKNOWN)
        if cause is UNKNOWN:
            faults.append(f"{claim} is {one.verdict.label} and has no cause")
        tried = outcomes(gallery, one)
        absent = [name for name in cause.specifications if name not in tried]
        faults += [f"the cause of {claim} names the unknown specification {n!r}" for n in absent]
        named = [tried[name] for name in cause.specifications if name in tried]
        lines = _grouped(named) or [_robust(tried.values())]
        for seen in cause.seen:
            value = _seen(gallery, seen)
            if value is None:
                faults.append(f"the cause of {claim} names no row of {seen.study}: {seen.text}")
            else:
                lines.append(f"{seen.text}: {value}")
        found.append(Explained(one, cause, tuple(lines)))
    if strict and faults:
        raise ValueError(f"experiments/claims/causes.py: {'; '.join(faults)}")
    return found


def _grouped(named: Iterable[Outcome]) -> list[str]:
    """Write outcomes that are equal as one line, and those that change nothing as the last."""
    groups: dict[str, list[str]] = {}
    same = []
    for one in named:
        if one.changes:
            groups.setdefault(one.words, []).append(one.label)
        else:
            same.append(one.label)
    lines = [f"{_quoted(labels)}: {words}" for words, labels in groups.items()]
    return lines + [f"{_quoted(same)}: no change"] * bool(same)


def _robust(tried: Iterable[Outcome]) -> str:
    changed = [one.label for one in tried if one.changes_verdict]
    if changed:
        return f"the verdict changes under {_quoted(changed)}"
    return "robust to all specifications tried"


def _quoted(labels: Iterable[str]) -> str:
    return ", ".join(f"“{label}”" for label in labels)


def _seen(gallery: Gallery, one: Seen) -> str | None:
    """Look an estimate up, with its interval or, without one, its percentiles."""
    table = gallery.table(one.study, *one.where, "mean")
    if table is None:
        return None
    for column, value in one.where.items():
        table = table[table[column] == value]
    if len(table) != 1:
        return None
    row = table.iloc[0]
    ends = ("low", "high") if "low" in table else ("p05", "p95")
    low, high = (float(row.get(name, float("nan"))) for name in ends)
    return span(float(row["mean"]), low, high)


def differences(old_claims: pd.DataFrame, new_claims: pd.DataFrame) -> list[str]:
    """Return in words how new claims differ from old ones, under the default specification.

    Compared are verdicts, and estimates that moved by more than 0.02 and lie outside the old
    interval; the criteria of a claim are compared in their order. Estimates that are times differ
    from machine to machine and are left out.
    """
    old, new = (
        {one.claim.id: one for one in from_table(claims) if one.default}
        for claims in (old_claims, new_claims)
    )
    lines = [f"{name} is gone" for name in old if name not in new]
    for name, now in new.items():
        before = old.get(name)
        if before is None:
            lines.append(f"{name} is new: {now.verdict.label}")
            continue
        if now.verdict != before.verdict:
            lines.append(f"{name} was {before.verdict.label}, is now {now.verdict.label}")
        if len(now.criteria) != len(before.criteria):
            lines.append(f"{name} had {len(before.criteria)} criteria, has {len(now.criteria)}")
        for was, one in zip(before.criteria, now.criteria, strict=False):
            if not (one.timed or was.timed) and _moved(was, one):
                now_and_then = f"{number(was.estimate)} before, {number(one.estimate)} now"
                lines.append(f"{name}: {now_and_then} ({one.text})")
    return lines


def _moved(old: Criterion, new: Criterion) -> bool:
    if isnan(old.estimate) or isnan(new.estimate):
        return isnan(old.estimate) != isnan(new.estimate)
    inside = old.low <= new.estimate <= old.high
    return abs(new.estimate - old.estimate) > 0.02 and not inside
