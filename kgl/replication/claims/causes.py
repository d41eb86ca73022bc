"""Why a claim is not reproduced, as far as we can tell: the evidence is worked out from readings.

A cause is a judgement and is written by hand; the verdicts and figures that speak for it are looked
up where it is printed (:mod:`kgl.replication.verdict`), so they cannot go stale.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CAUSES", "Cause"]


@dataclass(frozen=True)
class Cause:
    """The most likely cause of a verdict other than *reproduced*.

    Attributes
    ----------
    text : str
        The cause, in one or two sentences.
    readings : tuple of str
        Readings, as they are named in ``claims.csv`` or ``multiverse.csv``, whose verdicts on the
        claim are the evidence. None: it is said which of all readings change the verdict.
    """

    text: str
    readings: tuple[str, ...] = ()


#: By claim.
CAUSES: dict[str, Cause] = {}
