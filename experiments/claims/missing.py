"""The claims about missing entries (M): Figures 3, 10, 11; and about completion (Y): Figure 4."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from experiments.claims.criteria import (
    all_within,
    beats,
    equivalent,
    inside,
    nearest,
    ratio,
    reaches,
)
from experiments.claims.evidence import Evidence, drop
from experiments.claims.ledger import Claim, Criterion
from experiments.claims.thresholds import (
    HIGH,
    HIGH_IMPLIED,
    LOW_SSE,
    MEANINGFUL,
    MUCH,
    SLIGHT,
    STABLE,
    STEEP,
    STEEP_IMPLIED,
    VISIBLE,
    WELL,
)
from experiments.registry import FAMILIES, family_label, name_of
from experiments.stats import MissingEvidence

__all__ = ["COMPLETION", "MISSING"]

BASELINES = ("gl", "gl2step")
DEPENDENT = ("kgl", "kglo", "kglagnostic")
#: Missing rates that the paper names: where it still works, up to where baselines are good, up to
#: where KGL-O is meaningful, and the greatest.
STILL, FEW, SOME, MOST = 0.8, 0.2, 0.6, 0.9
#: What KGL-N loses in APS and in SSE from nothing to 90 % missing, "only": at most half as much
#: again, since the second is stated to be "around" its value and both are read from curves.
LOST = {"aps": 0.1, "sse": 0.05}
#: Rates that stand for others in a run of reduced size are no further off than this.
NEXT = 0.15
CHANGES = {"aps": "loses {:g} APS", "sse": "gains {:g} SSE"}


def _sbm(e: Evidence) -> Evidence:
    return e.where(graph="sbm")


def _rate(e: Evidence, target: float) -> float:
    return nearest(e.levels, target, above=target - NEXT, up_to=target + NEXT)


def _m1(e: Evidence) -> list[Criterion]:
    e = _sbm(e)
    rate = _rate(e, STILL)
    where = f"with {rate:.0%} missing".replace("%", " %")
    return [
        criterion
        for model in ("kgln", "kgl")
        for criterion in (
            reaches(e, "aps", model, [rate], above=WELL, where=where),
            reaches(e, "sse", model, [rate], below=LOW_SSE, where=where),
        )
    ]


def _m2(e: Evidence) -> list[Criterion]:
    e = _sbm(e)
    # beyond where the paper calls them good
    half = nearest(e.levels, 0.5, above=FEW)
    few = [x for x in e.levels if x < FEW]
    # Averages over rates in place of each by itself: ten replicates resolve a difference of 0.05
    # at one rate in one of three cases.
    where = f"on average over missing rates below {FEW:g}"
    criteria = []
    for model in BASELINES:
        fall = drop(e, "aps", model, 0.0, half)
        text = f"{name_of(model)} loses more than {STEEP:g} APS from 0 to {half:g} missing"
        criteria += [
            inside(text, fall, above=STEEP, effect=STEEP_IMPLIED),
            reaches(e, "aps", model, few, above=HIGH, where=where, average=True,
                    effect=HIGH_IMPLIED),
            reaches(e, "sse", model, few, below=LOW_SSE, where=where, average=True),
        ]  # fmt: skip
    for metric in ("aps", "sse"):
        criteria.append(
            beats(e, metric, ["kgln"], BASELINES, where="on average over missing rates",
                  average=True)
        )  # fmt: skip
    return criteria


def _m3(e: Evidence) -> list[Criterion]:
    e = _sbm(e)
    last = _rate(e, MOST)
    criteria = []
    for metric, printed in LOST.items():
        # "only drops by", "only increases by": to lose less is no contradiction
        lost, half = drop(e, metric, "kgln", 0.0, last), printed / 2
        change = CHANGES[metric].format(printed)
        criteria.append(
            inside(f"KGL-N {change} or less from 0 to {last:g} missing, up to {half:g}", lost,
                   below=printed + half, note=f"paper: {printed:g}", effect=printed)
        )  # fmt: skip
    return criteria


def _m4(e: Evidence) -> list[Criterion]:
    e = _sbm(e)
    rates = [x for x in e.levels if 0 < x <= _rate(e, STILL)]
    if not rates:
        raise MissingEvidence("no missing rate above 0")
    criteria = []
    for metric in ("aps", "sse"):
        for model in DEPENDENT:
            changes = {f"at {x:g}": drop(e, metric, model, 0.0, x) for x in rates}
            text = (
                f"{name_of(model)} changes by less than {STABLE:g} in {name_of(metric)} from 0 to "
                f"every missing rate up to {rates[-1]:g}"
            )
            criteria.append(all_within(text, changes, above=-STABLE, below=STABLE))
    return criteria


def _m5(e: Evidence) -> list[Criterion]:
    # "the accuracy levels at which each of the models stabilises": on average over rates. The text
    # describes SBM; the families of the appendix are taken together, as ten runs of one of them
    # resolve a gap of 0.05 to two models in one of two cases.
    groups = {"SBM": ("sbm",), "ER and BA": ("er", "ba")}
    known = set(e.values("graph"))
    return [
        beats(
            e.where(graph=graphs), metric, ["kgl"], ("kglo", "kglagnostic"),
            where=f"{name}, on average over missing rates", average=True,
        )
        for name, graphs in groups.items() if known & set(graphs)
        for metric in ("aps", "sse")
    ]  # fmt: skip


def _m6(e: Evidence) -> list[Criterion]:
    e = _sbm(e)
    rates = [x for x in e.levels if x < SOME]
    where = f"on average over missing rates below {SOME:g}"
    return [
        reaches(e, "aps", "kglo", rates, above=MEANINGFUL, where=where, average=True),
        beats(e, "aps", ["kgl"], ["kglo"], rates, where=where, average=True),
        beats(e, "sse", ["kgl"], ["kglo"], rates, where=where, average=True),
    ]


def _m7(e: Evidence) -> list[Criterion]:
    e = _sbm(e)
    models: tuple[Sequence[str], Sequence[str]] = ["kglo"], ["kglagnostic"]
    # not at every rate: where both guess neither is ahead, whatever their order
    return [
        beats(e, metric, *models, where="on average over missing rates", average=True)
        for metric in ("aps", "sse")
    ]


def _m8(e: Evidence) -> list[Criterion]:
    if not set(FAMILIES) <= set(e.values("graph")):
        raise MissingEvidence("scores of one of the families of graphs are missing")
    means = {g: e.where(graph=g).of("aps", "kgl").mean(axis=1).to_numpy() for g in FAMILIES}
    pairs = {
        f"{family_label(a)} and {family_label(b)}": (means[a], means[b])
        for a, b in combinations(FAMILIES, 2)
    }
    where = "on average over missing rates"
    return [
        equivalent(f"the APS of KGL differs by less than {SLIGHT:g} between any two families, "
                   f"{where}", pairs, within=SLIGHT),
        beats(e.where(graph="ba"), "aps", ["kgl"], ["kglagnostic"], where=f"BA, {where}",
              average=True),
    ]  # fmt: skip


def _y1(e: Evidence) -> list[Criterion]:
    e = e.where(metric="mse_out")
    criteria = []
    for model, other, kind in (
        ("kgln", "gl2step", "independent"),
        ("kgl", "kglagnostic", "dependent"),
        ("kglo", "kglagnostic", "dependent"),
    ):
        text = (
            f"{name_of(model)} has less than {MUCH:g} times the error of {name_of(other)} on "
            f"{kind} data, on average over missing rates"
        )
        every = (
            f"{name_of(model)} has a smaller error than {name_of(other)} on {kind} data, at every "
            "missing rate"
        )
        pair = e, "mse_out", model, other
        criteria += [
            ratio(*pair, text=text, below=MUCH, effect=MUCH - VISIBLE, average=True),
            ratio(*pair, text=every, below=1.0, effect=MUCH),
        ]
    return criteria


MISSING = (
    Claim(
        "M1", "missing entries", "Figure 3",
        "KGL and KGL-N recover the graph reasonably well with 80 % missing.", _m1,
    ),
    Claim(
        "M2", "missing entries", "Figure 3 (a, b)",
        "GL and GL-2step fall steeply; below 20 % missing they are good, but not as KGL-N.", _m2,
    ),
    Claim(
        "M3", "missing entries", "Figure 3 (a, b)",
        "From 0 to 90 % missing KGL-N only loses 0.1 APS and gains about 0.05 SSE.", _m3,
    ),
    Claim(
        "M4", "missing entries", "Figure 3 (c, d)",
        "Dependent data: the three curves are relatively stable from 0 to 80 % missing.", _m4,
    ),
    Claim(
        "M5", "missing entries", "Figures 3, 10 and 11 (c, d)",
        "KGL has the highest APS and the lowest SSE.", _m5,
    ),
    Claim(
        "M6", "missing entries", "Figure 3 (c, d)",
        "KGL-O recovers a meaningful but less accurate graph below a missing rate of 0.6.", _m6,
    ),
    Claim(
        "M7", "missing entries", "Figure 3 (c, d)", "KGL-Agnostic is not as good as KGL-O.", _m7
    ),
    Claim(
        "M8", "missing entries", "Section VI-C, Figures 3, 10 and 11",
        "KGL does not differ much between random graph models, and gains over KGL-Agnostic on BA.",
        _m8,
    ),
)  # fmt: skip

COMPLETION = (
    Claim(
        "Y1", "matrix completion", "Figure 4",
        "The proposed models have much smaller errors of missing entries than the baselines.", _y1,
    ),
)  # fmt: skip
