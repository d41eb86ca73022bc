"""The ledger as objects: each claim with its parts, its cause and the evidence for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from experiments.claims.causes import Cause, Seen
from experiments.claims.ledger import VERDICTS
from experiments.report.loading import Gallery
from experiments.report.tables import figure, span

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Entry", "Explained", "Measured", "differences", "entries", "explain", "verdicts"]

#: Letters of the claims, in the order of the paper.
_ORDER = "NMYSHAWU"


@dataclass(frozen=True)
class Measured:
    """One part of a claim: the question, the figure behind the answer, and the answer."""

    text: str
    value: float
    low: float
    high: float
    holds: bool
    note: str = ""
    timed: bool = False

    @property
    def figures(self) -> str:
        """The figure with its interval."""
        return span(self.value, self.low, self.high)


@dataclass(frozen=True)
class Entry:
    """A claim under the default reading."""

    claim: str
    experiment: str
    statement: str
    where: str
    verdict: str
    parts: tuple[Measured, ...]

    @property
    def held(self) -> int:
        """How many parts hold."""
        return sum(part.holds for part in self.parts)


@dataclass(frozen=True)
class Explained:
    """Why a claim is not reproduced: the likely cause, and the evidence, one line each."""

    entry: Entry
    cause: str
    evidence: tuple[str, ...]


def entries(claims: pd.DataFrame) -> list[Entry]:
    """Return every claim under the default reading, in the order of the paper."""
    found = []
    for name, rows in claims.groupby("claim", sort=False):
        default = rows[rows["default"].astype(bool)]
        first = (default if len(default) else rows).iloc[0]
        found.append(
            Entry(
                claim=str(name),
                experiment=str(first["experiment"]),
                statement=str(first["statement"]),
                where=_text(first.get("where")),
                verdict=str(first["verdict"]) if len(default) else "not evaluated",
                parts=_parts(default),
            )
        )
    return sorted(found, key=lambda entry: _place(entry.claim))


def verdicts(claims: pd.DataFrame) -> dict[str, int]:
    """Count the verdicts under the default reading, in the order of :data:`VERDICTS`."""
    found = [entry.verdict for entry in entries(claims)]
    return {name: found.count(name) for name in VERDICTS}


def explain(gallery: Gallery, causes: Mapping[str, Cause], *, strict: bool) -> list[Explained]:
    """Give the cause and the evidence for every claim that is not reproduced.

    Raises
    ------
    ValueError
        With ``strict``, if a claim has no cause, or a cause names a reading that is in no table.
    """
    faults, found = [], []
    for entry in entries(gallery.claims):
        if entry.verdict not in ("partly", "not reproduced"):
            continue
        cause = causes.get(entry.claim)
        if cause is None:
            faults.append(f"{entry.claim} is {entry.verdict!r} and has no cause")
        known = _readings(gallery, entry)
        lines = []
        for reading in cause.readings if cause else ():
            if reading in known:
                lines.append(f"under “{reading}”: {known[reading].words}")
            else:
                faults.append(f"the cause of {entry.claim} names the unknown reading {reading!r}")
                lines.append(f"under “{reading}”: not tried")
        if not lines:
            lines = _all(known)
        for one in cause.seen if cause else ():
            figures = _seen(gallery, one)
            if figures is None:
                faults.append(f"the cause of {entry.claim} names no row of {one.study}: {one.text}")
            else:
                lines.append(f"{one.text}: {figures}")
        text = cause.text if cause else "No cause is known."
        found.append(Explained(entry, text, tuple(lines)))
    if strict and faults:
        raise ValueError(f"experiments/claims/causes.py: {'; '.join(faults)}")
    return found


def _seen(gallery: Gallery, one: Seen) -> str | None:
    """Look a figure up, with its interval or, without one, its percentiles."""
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


@dataclass(frozen=True)
class _Tried:
    """What a reading makes of a claim, and whether that is another verdict than the default's."""

    verdict: str
    words: str
    changes: bool


def _readings(gallery: Gallery, entry: Entry) -> dict[str, _Tried]:
    """Return what each reading but the default makes of a claim."""
    found: dict[str, _Tried] = {}
    many = gallery.table("specifications", "reading", "claim", "verdict", "default")
    if many is not None:
        rows = many[many["claim"] == entry.claim]
        verdicts = dict(zip(rows["reading"], rows["verdict"], strict=True))
        held_by = {}
        if {"held", "parts"} <= set(rows.columns):
            counts = zip(rows["reading"], rows["held"], rows["parts"], strict=True)
            held_by = {name: f"{held:.0f} of {parts:.0f}" for name, held, parts in counts}
        default = next(iter(rows[rows["default"].astype(bool)]["reading"]), None)
        for _, row in rows.iterrows():
            # runs of the specifications are small: they are compared with one in the same size
            same = row.get("base", default)
            if row["reading"] in (default, same):
                continue
            base = str(verdicts.get(same, entry.verdict))
            before = [base] * (base != entry.verdict) + [held_by[same]] * (same in held_by)
            other = [f"{', '.join(before)} under the default in this size"] if before else []
            verdict = str(row["verdict"])
            held = [f"{row['held']:.0f} of {row['parts']:.0f} parts hold"] if "held" in row else []
            tail = f" ({'; '.join(held + other)})" if held + other else ""
            changes = verdict not in (base, "not evaluated")
            found[str(row["reading"])] = _Tried(verdict, f"{verdict}{tail}", changes)
    own = gallery.claims[gallery.claims["claim"] == entry.claim]
    for name, rows in own[~own["default"].astype(bool)].groupby("reading", sort=False):
        verdict = str(rows["verdict"].iloc[0])
        changes = verdict not in (entry.verdict, "not evaluated")
        found[str(name)] = _Tried(verdict, _compared(entry, verdict, _parts(rows)), changes)
    return found


def _compared(entry: Entry, verdict: str, parts: tuple[Measured, ...]) -> str:
    """Say what a reading makes of a claim, with the figures of the parts it answers otherwise."""
    before = _numbered(entry.parts)
    moved = [
        f"{part.text}: {part.figures}, {before[key].figures} by default"
        for key, part in _numbered(parts).items()
        if key in before and part.holds != before[key].holds
    ]
    held = f"{sum(part.holds for part in parts)} of {len(parts)} parts hold"
    return f"{verdict} ({'; '.join([held, *moved])})"


def _all(known: Mapping[str, _Tried]) -> list[str]:
    """Say which of all readings change the verdict."""
    if not known:
        return ["no other reading was tried"]
    count = f"{len(known)} other reading{'s' * (len(known) > 1)} tried"
    changed: dict[str, list[str]] = {}
    for name, tried in known.items():
        if tried.changes:
            changed.setdefault(tried.verdict, []).append(f"“{name}”")
    lines = [f"{verdict} under {', '.join(names)}" for verdict, names in changed.items()]
    return lines or [f"no reading changes the verdict ({count})"]


def differences(old_claims: pd.DataFrame, new_claims: pd.DataFrame) -> list[str]:
    """Say in words where a new ledger departs from an old one.

    Compared are verdicts, and figures of the default reading that moved by more than 0.02 and lie
    outside the old interval. Parts that are timed differ from machine to machine and are left out.
    """
    old, new = ({e.claim: e for e in entries(claims)} for claims in (old_claims, new_claims))
    lines = [f"{name} is gone" for name in old if name not in new]
    for name, entry in new.items():
        before = old.get(name)
        if before is None:
            lines.append(f"{name} is new: {entry.verdict}")
            continue
        if entry.verdict != before.verdict:
            lines.append(f"{name} was {before.verdict}, is now {entry.verdict}")
        known = _numbered(before.parts)
        for key, part in _numbered(entry.parts).items():
            was = known.pop(key, None)
            if was is None:
                lines.append(f"{name}: a new part, {part.text}")
            elif not (part.timed or was.timed) and _moved(was, part):
                lines.append(
                    f"{name}: {figure(was.value)} was, {figure(part.value)} is ({part.text})"
                )
        lines.extend(f"{name}: a part is gone, {text}" for text, _ in known)
    return lines


def _moved(old: Measured, new: Measured) -> bool:
    if isnan(old.value) or isnan(new.value):
        return isnan(old.value) != isnan(new.value)
    return abs(new.value - old.value) > 0.02 and not old.low <= new.value <= old.high


def _numbered(parts: tuple[Measured, ...]) -> dict[tuple[str, int], Measured]:
    """Return parts by their text, and by how often it was there before."""
    seen: Counter[str] = Counter()
    found = {}
    for part in parts:
        found[part.text, seen[part.text]] = part
        seen[part.text] += 1
    return found


def _parts(rows: pd.DataFrame) -> tuple[Measured, ...]:
    return tuple(
        Measured(
            text=str(row["part"]),
            value=float(row["value"]),
            low=float(row["low"]),
            high=float(row["high"]),
            holds=_true(row["holds"]),
            note=_text(row["note"]),
            timed=_true(row.get("timed")),
        )
        for _, row in rows.iterrows()
        if _text(row["part"])
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _true(value: object) -> bool:
    # a column with gaps holds words or numbers in place of truth values
    return str(value) in ("True", "1", "1.0")


def _place(claim: str) -> tuple[int, int, str]:
    letter = claim[:1]
    place = _ORDER.index(letter) if letter and letter in _ORDER else len(_ORDER)
    return place, int(claim[1:]) if claim[1:].isdigit() else 0, claim
