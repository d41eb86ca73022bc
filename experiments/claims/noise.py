"""The claims about noise (N): Figure 2 and, for graphs of other families, Figures 8 and 9.

The paper speaks of SBM where it describes curves, and of all families where it compares models.
"""

from __future__ import annotations

from experiments.claims.evidence import Evidence, Part, compare, drop, inside
from experiments.claims.ledger import Claim
from experiments.claims.questions import apart, nearest, overlap, reaches, slightly
from experiments.claims.thresholds import (
    FAMILIES,
    HIGH,
    LOW_SSE,
    MEANINGFUL,
    OVERLAP,
    SLIGHT,
    SLOW,
    STEEP,
    WELL,
)
from experiments.stats import MissingEvidence
from kgl.laplacian import Array

__all__ = ["NOISE"]

BASELINES = ("gl", "gl2step")
#: Where the paper lets the baselines begin to fall, and up to where noise is "low".
KNEE = 0.5
#: Where it lets the high performance of KGL end, and the gain of GL-2step over GL begin.
TURN = 0.75


def _sbm(e: Evidence) -> Evidence:
    return e.where(graph="sbm")


def _below(e: Evidence) -> list[float]:
    return [x for x in e.levels if x < TURN]


def _n1(e: Evidence) -> list[Part]:
    return [
        compare(
            e.where(graph=graph), metric, ["kgln"], BASELINES,
            where=f"{FAMILIES[graph]}, at every noise level",
        )
        for graph in FAMILIES if graph in e.values("graph")
        for metric in ("aps", "sse")
    ]  # fmt: skip


def _slope(e: Evidence, model: str, first: float, last: float) -> Array:
    return drop(e, "aps", model, first, last) / (last - first)


def _n2(e: Evidence) -> list[Part]:
    e = _sbm(e)
    last = e.levels[-1]
    knee = nearest(e.levels[:-1], KNEE, above=0.0)
    # as far above the knee as it is above nothing
    after = nearest(e.levels, 2 * knee, above=knee)
    own = drop(e, "aps", "kgln", knee, last)
    parts = [
        inside(f"KGL-N loses less than {SLOW:g} APS per unit of noise from 0 to {last:g}",
               _slope(e, "kgln", 0.0, last), below=SLOW)
    ]  # fmt: skip
    for model in BASELINES:
        name, fall = e.name(model), drop(e, "aps", model, knee, last)
        bend = _slope(e, model, knee, after) - _slope(e, model, 0.0, knee)
        parts += [
            inside(f"{name} loses more than {STEEP:g} APS from {knee:g} to {last:g}", fall,
                   above=STEEP),
            inside(f"{name} loses more per unit of noise from {knee:g} to {after:g} than from 0 to "
                   f"{knee:g}", bend, above=0.0),
            inside(f"{name} loses more than KGL-N from {knee:g} to {last:g}", fall - own,
                   above=0.0),
        ]  # fmt: skip
    return parts


def _n3(e: Evidence) -> list[Part]:
    e = _sbm(e)
    where = "at every noise level"
    return [overlap(e, "aps", "gl2step", "gl", e.levels, within=OVERLAP, where=where)]


def _n4(e: Evidence) -> list[Part]:
    e = _sbm(e)
    above = [x for x in e.levels if x > TURN]
    where = f"on average over noise levels above {TURN:g}"
    return [
        compare(e, "sse", ["gl2step"], ["gl"], above, where=f"at every noise level above {TURN:g}"),
        slightly(e, "sse", "gl2step", "gl", above, by=SLIGHT, where=where),
    ]


def _n5(e: Evidence) -> list[Part]:
    e = _sbm(e)
    where = f"at every noise level below {TURN:g}"
    return [
        reaches(e, "aps", "kgl", _below(e), above=HIGH, where=where),
        reaches(e, "sse", "kgl", _below(e), below=LOW_SSE, where=where),
    ]


def _n6(e: Evidence) -> list[Part]:
    e = _sbm(e)
    below, above = _below(e), [x for x in e.levels if x >= TURN]
    where = f"on average over noise levels below {TURN:g}"
    there = f"on average over noise levels from {TURN:g}"
    return [
        reaches(e, "aps", "kglo", below, above=MEANINGFUL,
                where=f"at every noise level below {TURN:g}"),
        slightly(e, "aps", "kgl", "kglo", below, by=SLIGHT, where=where),
        slightly(e, "sse", "kgl", "kglo", below, by=SLIGHT, where=where),
        slightly(e, "aps", "kgl", "kglo", above, by=SLIGHT, where=there),
    ]  # fmt: skip


def _n7(e: Evidence) -> list[Part]:
    e = _sbm(e)
    models = ["kglo"], ["kglagnostic"]
    return [
        reaches(e, "aps", "kglagnostic", [0.0], below=WELL, where="without noise"),
        reaches(e, "sse", "kglagnostic", [0.0], above=LOW_SSE, where="without noise"),
        compare(e, "aps", *models, where="at every noise level"),
        compare(e, "sse", *models, where="at every noise level"),
    ]


def _n8(e: Evidence) -> list[Part]:
    if not set(FAMILIES) <= set(e.values("graph")):
        raise MissingEvidence("one of the families of graphs is lacking")
    parts = []
    for model in ("kgln", "kgl"):
        means = {
            graph: e.where(graph=graph).of("aps", model).mean(axis=1).to_numpy()
            for graph in FAMILIES
        }
        pairs = {f"than {FAMILIES[g]}": (means[g], means["ba"]) for g in ("sbm", "er")}
        text = (
            f"{e.name(model)} has less APS on BA than on SBM and ER, but by less than {SLIGHT:g}, "
            "on average over noise levels"
        )
        parts.append(apart(text, pairs, above=0.0, below=SLIGHT))
    ba = e.where(graph="ba")
    low = [x for x in e.levels if x <= KNEE]
    for metric in ("aps", "sse"):
        where = f"BA, at every noise level up to {KNEE:g}"
        parts += [
            compare(ba, metric, ["kgln"], BASELINES, low, where=where),
            compare(ba, metric, ["kgl", "kglo"], ["kglagnostic"], low, where=where),
        ]
    return parts


NOISE = (
    Claim(
        "N1", "noise", "Figures 2, 8 and 9",
        "Independent data: KGL-N beats GL and GL-2step in APS and SSE at every noise level.", _n1,
    ),
    Claim(
        "N2", "noise", "Figure 2 (a)",
        "KGL-N falls slowly with noise; GL and GL-2step fall quickly above 0.5.", _n2,
    ),
    Claim("N3", "noise", "Figure 2 (a)", "GL and GL-2step almost overlap in APS.", _n3),
    Claim(
        "N4", "noise", "Figure 2 (b)",
        "GL-2step has a slightly smaller SSE than GL above noise 0.75.", _n4,
    ),
    Claim(
        "N5", "noise", "Figure 2 (c, d)",
        "Dependent data: KGL achieves a high performance below noise 0.75.", _n5,
    ),
    Claim(
        "N6", "noise", "Figure 2 (c, d)",
        "KGL-O learns a meaningful graph, slightly worse than KGL.", _n6,
    ),
    Claim(
        "N7", "noise", "Figure 2 (c, d)",
        "KGL-Agnostic cannot recover the graph even without noise, and stays below KGL-O.", _n7,
    ),
    Claim(
        "N8", "noise", "Figures 2, 8 and 9",
        "BA is slightly harder than SBM and ER; proposed models gain over baselines at low noise.",
        _n8,
    ),
)  # fmt: skip
