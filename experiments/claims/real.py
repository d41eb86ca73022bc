"""The claims about the real data: Swiss temperature (W) and Sushi reviews (U)."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.claims.evidence import Evidence, Part, compare, drop, inside, near
from experiments.claims.ledger import Claim
from experiments.stats import MissingEvidence

__all__ = ["SUSHI", "SWISS"]

PROPOSED = ("kgl", "kgln")
OTHERS = ("gl", "gl2step", "kglo", "kglagnostic")
#: Up to here "nothing" or "some" is missing, from here on "more".
MORE = 0.5
FAR = 0.15
SHARP = 0.2
WELL = 0.05


def _w1(e: Evidence) -> list[Part]:
    none, some = [0.0], [x for x in e.levels if 0 < x < MORE]
    more = [x for x in e.levels if x >= MORE]
    ranges = {
        "with nothing missing": none,
        f"at every missing rate below {MORE:g}": some,
        f"at every missing rate from {MORE:g}": more,
    }
    return [
        compare(e, metric, PROPOSED, OTHERS, levels, where=where)
        for metric in ("aps", "sse")
        for where, levels in ranges.items()
    ]


def _w2(e: Evidence) -> list[Part]:
    more = [x for x in e.levels if x >= MORE]
    where = f"on average over missing rates from {MORE:g}"
    if not more:
        raise MissingEvidence(f"no missing rate from {MORE:g}")
    gain = e.gain("aps", "kgl", "kgln", more).mean(axis=1).to_numpy()
    return [
        inside(
            f"KGL beats KGL-N in APS, but by less than 0.1, {where}", gain, above=0.0, below=0.1
        ),
        compare(e, "sse", ["kgl"], ["kgln"], more, where=where, average=True),
    ]


def _w3(e: Evidence) -> list[Part]:
    parts = []
    half = min(e.levels, key=lambda x: abs(x - 0.5))
    for model in ("gl", "gl2step"):
        behind = e.gain("aps", "kgl", model, [0.0])[0.0].to_numpy()
        name = e.name(model)
        parts.append(
            inside(f"{name} is behind KGL with nothing missing, by less than {FAR:g} APS", behind,
                   above=0.0, below=FAR, note="ahead of KGL" * bool(behind.mean() < 0))
        )  # fmt: skip
        fall = drop(e, "aps", model, 0.0, half)
        parts.append(
            inside(f"{name} loses more than {SHARP:g} APS from 0 to {half:g} missing", fall,
                   above=SHARP)
        )  # fmt: skip
        extra = fall - drop(e, "aps", "kgl", 0.0, half)
        parts.append(inside(f"{name} loses more than KGL does there", extra, above=0.0))
    return parts


def _w4(e: Evidence) -> list[Part]:
    fewer = [x for x in e.levels if x <= MORE]
    where = f"on average over missing rates up to {MORE:g}"
    return [
        compare(e, "aps", ["kglo"], ["kglagnostic"], fewer, where=where, margin=0.05, average=True),
        compare(e, "aps", ["kglo"], ["kglagnostic"], where="at every missing rate"),
        compare(e, "sse", ["kglo"], ["kglagnostic"], where="at every missing rate"),
    ]


def _u1(e: Evidence) -> list[Part]:
    where = "on average over the numbers of reviewers"
    return [
        compare(e, "nmi", ["kgl"], ["kgln"], where=where, average=True),
        compare(e, "nmi", ["kgl"], OTHERS, where=where, margin=WELL, average=True),
        compare(e, "nmi", ["kgln"], OTHERS, where=where, margin=WELL, average=True),
        compare(e, "nmi", PROPOSED, OTHERS, where="at every number of reviewers"),
    ]


def _u2(e: Evidence) -> list[Part]:
    where = "on average over the numbers of reviewers"
    return [
        compare(e, "nmi", ["kgl"], ["kernel"], where=where, average=True),
        compare(e, "nmi", ["kgln"], ["kernel"], where=where, average=True),
    ]


def _u3(facts: Mapping[str, float]) -> list[Part]:
    parts = [near("there are 32 items", facts["items"], 32, 0)]
    for group, size in (
        ("red-meat", 7), ("clam", 6), ("blue-skinned", 8), ("vegetable", 6), ("roe", 5),
    ):  # fmt: skip
        parts.append(near(f"{size} of them are {group}", facts[f"items: {group}"], size, 0))
    share = facts["sparsity"]
    parts.append(near("the average sparsity is 74 %, up to a percentage point", share, 0.74, 0.01))
    return parts


SWISS = (
    Claim(
        "W1", "Swiss temperature", "Figure 6",
        "KGL and KGL-N beat the others in APS and SSE.", _w1,
    ),
    Claim(
        "W2", "Swiss temperature", "Figure 6",
        "KGL is slightly better than KGL-N as more is missing.", _w2,
    ),
    Claim(
        "W3", "Swiss temperature", "Figure 6",
        "GL and GL-2step are not far behind with nothing missing, and fall sharply.", _w3,
    ),
    Claim("W4", "Swiss temperature", "Figure 6", "KGL-Agnostic is poor next to KGL-O.", _w4),
)  # fmt: skip

SUSHI = (
    Claim(
        "U1", "Sushi reviews", "Figure 7",
        "KGL is best, then KGL-N; both are well above KGL-Agnostic, KGL-O, GL-2step and GL.", _u1,
    ),
    Claim(
        "U2", "Sushi reviews", "Section VII-B and Figure 7",
        "KGL and KGL-N beat the RBF graph of the six attributes alone.", _u2,
    ),
    Claim(
        "U3", "Sushi reviews", "Section VII-B",
        "The data: 32 items in groups of 7, 6, 8, 6, 5; sparsity 74 %.", _u3,
    ),
)  # fmt: skip
