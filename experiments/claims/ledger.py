"""The ledger: claims of the paper, judged from the tables of a run and nothing else.

A claim asks several yes-or-no questions (:class:`~experiments.claims.evidence.Part`). It is
*reproduced* if all are answered with yes, *not reproduced* if none is, and *partly* otherwise.
Where the data were not to be had and simulated ones stand for them, or where a run of reduced size
lacks the levels it is about, it is *not evaluated*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.claims.evidence import Part
from experiments.stats import MissingEvidence
from kgl._optional import import_optional

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["VERDICTS", "Claim", "Reading", "judge", "to_table", "verdict"]

VERDICTS = ("reproduced", "partly", "not reproduced", "not evaluated")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes
    ----------
    name : str
        Short name: a letter for the experiment and a number.
    experiment : str
        What it is about.
    where : str
        Section or figure of the paper.
    statement : str
        What the paper says.
    check : callable
        Evidence -> list of parts.
    """

    name: str
    experiment: str
    where: str
    statement: str
    check: Callable[[Any], list[Part]]


@dataclass(frozen=True)
class Reading:
    """One way to read what the paper leaves open, and the evidence under it.

    Attributes
    ----------
    name : str
        What is different, in a few words.
    default : bool
        Whether it is the one that the figures are drawn under.
    evidence : object or None
        What the checks of the claims take; None where there are no real data.
    claims : sequence of Claim
        The claims that it bears upon.
    """

    name: str
    default: bool
    evidence: Any
    claims: Sequence[Claim]


@dataclass(frozen=True)
class Judged:
    """A claim under one reading."""

    claim: Claim
    reading: Reading
    parts: tuple[Part, ...]

    @property
    def verdict(self) -> str:
        """One of :data:`VERDICTS`."""
        return verdict(self.parts)


def verdict(parts: Sequence[Part]) -> str:
    """Return the verdict that the answers amount to.

    Examples
    --------
    >>> yes, no = Part("a", 1.0, 0.9, 1.1, True), Part("b", 0.0, -1.0, 1.0, False)
    >>> verdict([yes]), verdict([yes, no]), verdict([no]), verdict([])
    ('reproduced', 'partly', 'not reproduced', 'not evaluated')
    """
    if not parts:
        return "not evaluated"
    held = sum(part.holds for part in parts)
    return "reproduced" if held == len(parts) else "partly" if held else "not reproduced"


def judge(readings: Iterable[Reading]) -> list[Judged]:
    """Ask every claim of every reading; one whose data are lacking is not evaluated."""
    judged = []
    for reading in readings:
        for claim in reading.claims:
            parts: tuple[Part, ...] = ()
            if reading.evidence is not None:
                with suppress(MissingEvidence):
                    parts = tuple(claim.check(reading.evidence))
            judged.append(Judged(claim, reading, parts))
    return judged


def to_table(judged: Sequence[Judged]) -> pd.DataFrame:
    """Return one row per claim, reading and part: the question, the figure, the answer."""
    pd = import_optional("pandas", "workflow", "the replication")
    defaults: Mapping[str, str] = {j.claim.name: j.verdict for j in judged if j.reading.default}
    nothing = Part("", float("nan"), float("nan"), float("nan"), False)
    rows = []
    for one in judged:
        for part in one.parts or (nothing,):
            rows.append(
                {
                    "claim": one.claim.name,
                    "experiment": one.claim.experiment,
                    "where": one.claim.where,
                    "statement": one.claim.statement,
                    "reading": one.reading.name,
                    "default": one.reading.default,
                    "verdict": one.verdict,
                    "changes": one.verdict != defaults.get(one.claim.name, one.verdict),
                    "part": part.text,
                    "value": part.value,
                    "low": part.low,
                    "high": part.high,
                    "holds": part.holds if one.parts else None,
                    "note": part.note,
                    "timed": part.timed,
                }
            )
    return pd.DataFrame(rows)
