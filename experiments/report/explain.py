"""Why claims are not reproduced, how far verdicts depend on specifications, and what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from experiments.claims import Criterion, Judgement, from_table
from experiments.claims.causes import Cause, Seen
from experiments.claims.specifications import label_of
from experiments.registry import Verdict
from experiments.report.compare import Judged, compared
from experiments.report.load import Gallery
from experiments.report.tables import number, span

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Explained", "Outcome", "changed", "differences", "explain", "outcomes"]

#: The protocol whose tables are looked at first for a cause that is about all protocols.
_FIRST = "described"


@dataclass(frozen=True)
class Outcome:
    """A claim under one specification, beside the default of the same protocol."""

    label: str
    verdict: Verdict
    held: int
    criteria: int
    base_verdict: Verdict
    base_held: int

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
        base = f"{self.base_verdict.label}, " * self.changes_verdict
        return (
            f"{self.verdict.label}, {self.held} of {self.criteria} criteria hold "
            f"({base}{self.base_held} by default)"
        )


@dataclass(frozen=True)
class Explained:
    """A claim that is not reproduced under some protocols, and why.

    Attributes
    ----------
    judged : Judged
        The claim.
    protocols : tuple of str
        Where it is not reproduced and has this cause.
    cause : Cause or None
        None where it is not explained.
    evidence : tuple of str
        One line each.
    """

    judged: Judged
    protocols: tuple[str, ...]
    cause: Cause | None
    evidence: tuple[str, ...] = ()


def outcomes(gallery: Gallery, default: Judgement) -> dict[str, Outcome]:
    """Return a claim under every specification but the default of its protocol, by id."""
    return {
        one.specification: Outcome(
            label_of(one.specification), one.verdict, one.held, len(one.criteria),
            default.verdict, default.held,
        )
        for one in gallery.judged
        if one.claim.id == default.claim.id and one.protocol == default.protocol and not one.default
    }  # fmt: skip


def changed(gallery: Gallery) -> list[tuple[Judged, str]]:
    """Return the claims whose verdict depends on a specification, and how."""
    found = []
    for one in compared(gallery):
        words = {}
        for protocol, default in one.by.items():
            by: dict[str, list[str]] = {}
            for name, outcome in outcomes(gallery, default).items():
                if outcome.changes_verdict:
                    by.setdefault(outcome.verdict.label, []).append(name)
            if by:
                lines = (f"{verdict}: {', '.join(names)}" for verdict, names in by.items())
                words[protocol] = "; ".join(lines)
        if words:
            found.append((one, "; ".join(_by_protocol(words, one.by))))
    return found


def _by_protocol(words: Mapping[str, str], protocols: Iterable[str]) -> list[str]:
    """Name the protocol of each text, or of none where it is the same under all of them."""
    same = set(words) == set(protocols) and len(set(words.values())) == 1
    if same:
        return [next(iter(words.values()))]
    return [f"under {protocol}, {text}" if protocol else text for protocol, text in words.items()]


def explain(
    gallery: Gallery, causes: Mapping[str, Sequence[Cause]], *, strict: bool
) -> list[Explained]:
    """Return the cause of and the evidence on every claim that is not reproduced.

    Protocols under which a claim is not reproduced and has no cause come last, without one.

    Raises
    ------
    ValueError
        With ``strict``, if a cause names a specification or a row that is in no table.
    """
    faults, found = [], []
    for one in compared(gallery):
        wrong = (Verdict.PARTLY, Verdict.NOT_REPRODUCED)
        left = [protocol for protocol, made in one.by.items() if made.verdict in wrong]
        known = []
        for cause in causes.get(one.claim.id, ()):
            own = [protocol for protocol in left if cause.protocol in ("", protocol)]
            if own:
                lines, bad = _evidence(gallery, one, cause, own)
                faults += [f"the cause of {one.claim.id} names {text}" for text in bad]
                known += own
                found.append(Explained(one, tuple(own), cause, tuple(lines)))
        if rest := tuple(protocol for protocol in left if protocol not in known):
            found.append(Explained(one, rest, None))
    if strict and faults:
        raise ValueError(f"experiments/claims/causes.py: {'; '.join(faults)}")
    return found


def _evidence(
    gallery: Gallery, one: Judged, cause: Cause, protocols: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the lines of evidence on a cause, and what it names that is not there."""
    faults, found = [], {}
    for protocol in protocols:
        tried = outcomes(gallery, one.by[protocol])
        absent = [name for name in cause.specifications if name not in tried]
        faults += [f"the unknown specification {name!r}" for name in absent]
        named = [tried[name] for name in cause.specifications if name in tried]
        found[protocol] = "; ".join(_grouped(named) or [_robust(tried.values())])
    lines = _by_protocol(found, one.by)
    for seen in cause.seen:
        value = _seen(gallery, seen, cause.protocol)
        if value is None:
            faults.append(f"no row of {seen.study}: {seen.text}")
        else:
            lines.append(f"{seen.text}: {value}")
    return lines, faults


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


def _seen(gallery: Gallery, one: Seen, protocol: str) -> str | None:
    """Look an estimate up, with its interval or, without one, its percentiles.

    Without a protocol the first table that there is counts, and its protocol is named.
    """
    order = [protocol] if protocol else [_FIRST, *gallery.protocols, ""]
    views = {name: gallery.under(name) for name in order if name in (*gallery.protocols, "")}
    found = ((name, view.table(one.study, *one.where, "mean")) for name, view in views.items())
    name, table = next(((n, t) for n, t in found if t is not None), ("", None))
    if table is None:
        return None
    named = one.study not in gallery.tables and name
    for column, value in one.where.items():
        table = table[table[column] == value]
    if len(table) != 1:
        return None
    row = table.iloc[0]
    ends = ("low", "high") if "low" in table else ("p05", "p95")
    low, high = (float(row.get(name, float("nan"))) for name in ends)
    return span(float(row["mean"]), low, high) + (f" (under {name})" if named else "")


def differences(old_claims: pd.DataFrame, new_claims: pd.DataFrame) -> list[str]:
    """Return in words how new claims differ from old ones, under the default specification.

    Claims are compared protocol by protocol. Compared are verdicts, and estimates that moved by
    more than 0.02 and lie outside the old interval; the criteria of a claim are compared in their
    order. Estimates that are times differ from machine to machine and are left out.
    """
    old, new = (
        {_named(one): one for one in from_table(claims) if one.default}
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


def _named(one: Judgement) -> str:
    return f"{one.claim.id} under {one.protocol}" if one.protocol else one.claim.id


def _moved(old: Criterion, new: Criterion) -> bool:
    if isnan(old.estimate) or isnan(new.estimate):
        return isnan(old.estimate) != isnan(new.estimate)
    inside = old.low <= new.estimate <= old.high
    return abs(new.estimate - old.estimate) > 0.02 and not inside
