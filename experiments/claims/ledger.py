"""Claims of the paper and the judgement of each under a specification, as objects and as a table.

A claim has several criteria. It is *reproduced* if all hold, *not reproduced* if none does, and
*partly reproduced* otherwise. Where real data are unavailable and simulated ones replace them, or
where a run of reduced size does not have the levels that a claim is about, it is *not evaluated*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

from experiments.registry import Verdict
from experiments.stats import MissingEvidence
from kgl._optional import import_optional

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Claim", "Criterion", "Judgement", "Specification", "from_table", "judge", "to_table"]

#: Fields of a criterion that may be None, which is an empty cell of the table.
_OPTIONAL = ("above", "below", "effect", "power")


@dataclass(frozen=True)
class Criterion:
    """One yes-or-no criterion of a claim.

    Attributes
    ----------
    text : str
        The criterion as a statement, with its threshold.
    estimate, low, high : float
        The estimate that decides it, and its interval.
    holds : bool
        Whether the statement holds.
    note : str
        Where the estimate was found, or how often the statement held.
    timed : bool
        Whether the estimate is a time, whose digits differ from run to run.
    above, below : float or None
        The bounds of the estimate; None where there is none.
    effect : float or None
        The true value that the paper's statement implies: the centre of a window, the printed
        value, or for a single bound a value that is visibly on the right side of it.
    power : float or None
        The probability that the criterion holds if the true value is ``effect``, given the spread
        between runs. Where several comparisons must hold at once, that all of them do, given
        how they are correlated. None where there is no interval to compute it from.
    """

    text: str
    estimate: float
    low: float
    high: float
    holds: bool
    note: str = ""
    timed: bool = False
    above: float | None = None
    below: float | None = None
    effect: float | None = None
    power: float | None = None


def _no_check(_: Any) -> list[Criterion]:
    raise MissingEvidence("a claim that was read from a table cannot be judged again")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes
    ----------
    id : str
        A letter for the experiment and a number.
    experiment : str
        What it is about.
    where : str
        Section or figure of the paper.
    statement : str
        The claim in our words.
    check : callable
        Evidence -> list of criteria.
    hard_to_fail : str
        Why the claim could hardly fail, in one sentence; empty for all others.
    """

    id: str
    experiment: str
    where: str
    statement: str
    check: Callable[[Any], list[Criterion]] = _no_check
    hard_to_fail: str = ""


@dataclass(frozen=True)
class Specification:
    """One choice for the details that the paper does not state, and the evidence under it.

    Attributes
    ----------
    id : str
        Key; :func:`experiments.claims.specifications.label_of` has the label.
    default : bool
        Whether it is the one of the figures.
    evidence : object or None
        What the checks of the claims take; None where there are no real data.
    claims : sequence of Claim
        The claims that it is about.
    protocol : str
        The protocol of the synthetic experiments that the evidence is from; empty for real data,
        for cost, and for tables whose names have none.
    """

    id: str
    default: bool
    evidence: Any
    claims: Sequence[Claim]
    protocol: str = ""


@dataclass(frozen=True)
class Judgement:
    """A claim under one specification and, if it is about synthetic data, one protocol."""

    claim: Claim
    specification: str
    default: bool
    criteria: tuple[Criterion, ...]
    protocol: str = ""

    @property
    def held(self) -> int:
        """How many criteria hold."""
        return sum(criterion.holds for criterion in self.criteria)

    @property
    def verdict(self) -> Verdict:
        """What the criteria amount to.

        Examples
        --------
        >>> yes, no = (Criterion("", 1.0, 0.9, 1.1, holds) for holds in (True, False))
        >>> [Judgement(Claim("N1", "", "", ""), "figure", True, found).verdict.value
        ...  for found in ((yes,), (yes, no), (no,), ())]
        ['reproduced', 'partly', 'not_reproduced', 'not_evaluated']
        """
        if not self.criteria:
            return Verdict.NOT_EVALUATED
        if self.held == len(self.criteria):
            return Verdict.REPRODUCED
        return Verdict.PARTLY if self.held else Verdict.NOT_REPRODUCED


def judge(specifications: Iterable[Specification]) -> list[Judgement]:
    """Judge every claim of every specification; one whose evidence is missing is not evaluated."""
    judged = []
    for one in specifications:
        for claim in one.claims:
            criteria: tuple[Criterion, ...] = ()
            if one.evidence is not None:
                with suppress(MissingEvidence):
                    criteria = tuple(claim.check(one.evidence))
            judged.append(Judgement(claim, one.id, one.default, criteria, one.protocol))
    return judged


def to_table(judged: Sequence[Judgement]) -> pd.DataFrame:
    """Return one row per claim, specification, protocol and criterion."""
    pd = import_optional("pandas", "workflow", "the replication")
    by_default = {(one.claim.id, one.protocol): one.verdict for one in judged if one.default}
    nothing = Criterion("", float("nan"), float("nan"), float("nan"), False)
    return pd.DataFrame(
        {
            "claim": one.claim.id,
            "experiment": one.claim.experiment,
            "where": one.claim.where,
            "statement": one.claim.statement,
            "hard_to_fail": one.claim.hard_to_fail,
            "specification": one.specification,
            "protocol": one.protocol,
            "default": one.default,
            "verdict": one.verdict.value,
            "held": one.held,
            "criteria": len(one.criteria),
            "changes": one.verdict != by_default.get((one.claim.id, one.protocol), one.verdict),
            "criterion": criterion.text,
            "estimate": criterion.estimate,
            "low": criterion.low,
            "high": criterion.high,
            **{name: _number(getattr(criterion, name)) for name in _OPTIONAL},
            "holds": criterion.holds if one.criteria else None,
            "note": criterion.note,
            "timed": criterion.timed,
        }
        for one in judged
        for criterion in one.criteria or (nothing,)
    )


def from_table(table: pd.DataFrame) -> list[Judgement]:
    """Return the judgements that :func:`to_table` wrote, also after a passage through a file."""
    judged = []
    # tables of earlier versions have no protocol, and an empty cell of a file makes no group
    table = table.assign(protocol=table["protocol"].map(_text) if "protocol" in table else "")
    for (_, specification, protocol, default), rows in table.groupby(
        ["claim", "specification", "protocol", "default"], sort=False
    ):
        first = rows.iloc[0]
        claim = Claim(
            str(first["claim"]),
            str(first["experiment"]),
            _text(first["where"]),
            str(first["statement"]),
            hard_to_fail=_text(first.get("hard_to_fail")),
        )
        criteria = _criteria(rows)
        judged.append(Judgement(claim, str(specification), _true(default), criteria, str(protocol)))
    return judged


def _criteria(rows: pd.DataFrame) -> tuple[Criterion, ...]:
    return tuple(
        Criterion(
            text=str(row["criterion"]),
            estimate=float(row["estimate"]),
            low=float(row["low"]),
            high=float(row["high"]),
            holds=_true(row["holds"]),
            note=_text(row["note"]),
            timed=_true(row["timed"]),
            # tables of earlier versions do not have them
            **{name: _known(row.get(name)) for name in _OPTIONAL},
        )
        for _, row in rows.iterrows()
        if _text(row["criterion"])
    )


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _known(value: Any) -> float | None:
    return None if value is None or isnan(value) else float(value)


def _text(value: object) -> str:
    # an empty cell of a file is read as a number
    return value if isinstance(value, str) else ""


def _true(value: object) -> bool:
    # a column with gaps holds words or numbers in place of truth values
    return str(value) in ("True", "1", "1.0")
