"""Verdicts under several protocols side by side, and what they amount to.

The criteria of a claim are matched by their position: their texts may have levels in them, which
differ between protocols.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from experiments.claims import Claim, Criterion, Judgement
from experiments.registry import Verdict
from experiments.report.load import Gallery

__all__ = [
    "BOTH", "NEITHER", "NOT_COMPARED", "Judged", "Tally", "compared", "tally", "under_label",
]  # fmt: skip

#: Keys of what holds under all protocols, under none, and of what was not evaluated under all of
#: them; any other key is the one protocol.
BOTH, NEITHER, NOT_COMPARED = "both", "neither", "not_compared"


@dataclass(frozen=True)
class Judged:
    """A claim under the default specification of each protocol.

    Attributes
    ----------
    claim : Claim
        The claim.
    by : dict
        Its judgement by protocol; under '' for real data and for cost.
    """

    claim: Claim
    by: Mapping[str, Judgement]

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdicts that occur."""
        return list(dict.fromkeys(one.verdict for one in self.by.values()))

    @property
    def words(self) -> str:
        """The verdict, or that under each protocol where they differ."""
        if len(self.verdicts) == 1:
            return self.verdicts[0].label
        return ", ".join(f"{one.verdict.label} under {p}" for p, one in self.by.items())

    @property
    def length(self) -> int:
        """The largest number of criteria under a protocol."""
        return max(len(one.criteria) for one in self.by.values())

    @property
    def under(self) -> str:
        """The key of the protocols under which it is reproduced."""
        if any(not one.criteria for one in self.by.values()):
            return NOT_COMPARED
        return _key([p for p, one in self.by.items() if one.verdict is Verdict.REPRODUCED], self.by)

    def criteria(self, place: int) -> dict[str, Criterion | None]:
        """Return the criterion at a position under each protocol, None where there is none."""
        return {
            protocol: one.criteria[place] if place < len(one.criteria) else None
            for protocol, one in self.by.items()
        }

    def criterion_under(self, place: int) -> str:
        """Return the key of the protocols under which a criterion holds."""
        found = self.criteria(place)
        return _key([p for p, one in found.items() if one is not None and one.holds], self.by)

    @property
    def key_place(self) -> int:
        """The position of the first criterion that does not hold everywhere, or the first."""
        failed = (k for k in range(self.length) if self.criterion_under(k) != BOTH)
        return next(failed, 0)


def _key(held: Collection[str], protocols: Collection[str]) -> str:
    if len(held) == len(protocols):
        return BOTH
    return next(iter(held)) if held else NEITHER


def under_label(key: str) -> str:
    """Return what the protocols under which something holds are called.

    Examples
    --------
    >>> under_label("both"), under_label("printed"), under_label("not_compared")
    ('both', 'printed only', 'not evaluated')
    """
    known = {BOTH: "both", NEITHER: "neither", NOT_COMPARED: "not evaluated"}
    return known.get(key, f"{key} only")


def compared(gallery: Gallery) -> list[Judged]:
    """Return the claims in the order of the paper, each under all protocols it was judged by."""
    found: dict[str, dict[str, Judgement]] = {}
    claims = {}
    for one in gallery.defaults:
        claims[one.claim.id] = one.claim
        found.setdefault(one.claim.id, {})[one.protocol] = one
    own = {
        name: {p: by[p] for p in gallery.protocols if p in by} or {"": by[""]}
        for name, by in found.items()
        if by.keys() & {*gallery.protocols, ""}
    }
    return [Judged(claims[name], by) for name, by in own.items()]


@dataclass(frozen=True)
class Tally:
    """How many claims are reproduced, and criteria hold, under both protocols, one, or neither."""

    claims: Mapping[str, int]
    criteria: Mapping[str, int]

    @property
    def total(self) -> tuple[int, int]:
        """The numbers of claims and of criteria."""
        return sum(self.claims.values()), sum(self.criteria.values())

    def cell(self, key: str) -> str:
        """Return claims and, in brackets, criteria."""
        return f"{self.claims[key]} ({self.criteria[key]})"


def tally(judged: Iterable[Judged], protocols: Sequence[str]) -> Tally:
    """Count claims and criteria by the protocols under which they hold.

    Criteria of a claim that was not evaluated under a protocol are not counted.
    """
    keys = (BOTH, *protocols, NEITHER)
    claims, criteria = (dict.fromkeys((*keys, NOT_COMPARED), 0) for _ in range(2))
    for one in judged:
        claims[one.under] += 1
        if one.under != NOT_COMPARED:
            for place in range(one.length):
                criteria[one.criterion_under(place)] += 1
    if not claims[NOT_COMPARED]:
        del claims[NOT_COMPARED], criteria[NOT_COMPARED]
    return Tally(claims, criteria)
