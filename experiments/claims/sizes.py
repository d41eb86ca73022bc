"""The claims about the sizes of graphs and numbers of observations (S): Figure 5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from experiments.claims.criteria import all_within, at_most, inside, larger_by, reaches
from experiments.claims.evidence import Evidence
from experiments.claims.ledger import Claim, Criterion
from experiments.claims.thresholds import HIGH, HIGH_IMPLIED
from experiments.stats import MissingEvidence
from kgl._types import Array

__all__ = ["SIZES", "needed"]

#: The observations that are enough for a graph of so many nodes, in the paper.
ENOUGH, SMALL = 100, 20
#: Fewer sizes cannot tell an exponential from a power.
TELLING = 3
RESAMPLES = 2000
#: What may be a "high" APS, the highest first.
TARGETS = (HIGH, 0.7, 0.6)
#: A decrease of the spread that can be seen: by half. Over the range of n, from 10 to 300, a spread
#: due to observations alone would fall by four fifths.
SHRUNK = 0.5


def _sizes(e: Evidence) -> list[int]:
    return sorted(e.values("m"))


def _s1(e: Evidence) -> list[Criterion]:
    small = e.where(m=SMALL)
    where = f"for m = {SMALL} and n = {ENOUGH}"
    return [
        reaches(small, "aps", "kgl", [float(ENOUGH)], above=HIGH, where=where, effect=HIGH_IMPLIED)
    ]


def needed(n: Array, aps: Array, target: float = HIGH) -> Array:
    """Return the number of observations at which curves reach a target, linear in its logarithm.

    Parameters
    ----------
    n : array (N,)
        Numbers of observations, in order.
    aps : array (..., N)
        Curves.

    Returns
    -------
    array (...)
        Infinite for a curve that does not reach the target, 0 for one that begins above it.

    Examples
    --------
    >>> needed(np.array([10.0, 1000.0]), np.array([[0.7, 0.9], [0.3, 0.4], [0.9, 0.9]])).tolist()
    [100.0..., inf, 0.0]
    """
    reached = aps >= target
    last = np.argmax(reached, axis=-1)[..., None]
    first = np.maximum(last - 1, 0)
    logs = np.log(n)
    high, low = (np.take_along_axis(aps, k, axis=-1)[..., 0] for k in (last, first))
    part = (target - low) / np.where(high > low, high - low, 1.0)
    end, begin = logs[last[..., 0]], logs[first[..., 0]]
    found = np.exp(begin + part * (end - begin))
    found = np.where(reached[..., 0], 0.0, found)
    return np.asarray(np.where(reached.any(axis=-1), found, np.inf))


def _bend(sizes: Array, n: Array) -> Array:
    """Return by how much the exponent of n in m is greater for the last two sizes than the first.

    It is positive for an exponential, and zero for a power.
    """
    slopes = np.diff(np.log(n), axis=0) / np.diff(np.log(sizes)).reshape(-1, *[1] * (n.ndim - 1))
    return np.asarray(slopes[-1] - slopes[0])


def _s2(e: Evidence) -> list[Criterion]:
    sizes = _sizes(e)
    if len(sizes) < 2:
        raise MissingEvidence("one size of graphs")
    curves = {m: e.where(m=m).of("aps", "kgl") for m in sizes}
    steps = list(pairwise(sizes))
    # averages over n: that each of many steps is significant by itself would be rare
    means = {m: curve.mean(axis=1).to_numpy() for m, curve in curves.items()}
    pairs = {f"from m = {a} to {b}": (means[a], means[b]) for a, b in steps}
    criteria = [
        larger_by("with the same n, APS falls with every step of m, on average over n", pairs)
    ]

    levels = np.array(e.levels)
    mean = {m: curve.to_numpy().mean(axis=0) for m, curve in curves.items()}
    needs = {
        target: {m: float(needed(levels, mean[m], target)) for m in sizes} for target in TARGETS
    }
    note = "; ".join(f"for {t:g}: {_needs(needs[t], levels)}" for t in TARGETS)
    # the paper does not state which APS is "high": the highest that the range of n resolves
    target = next((t for t in TARGETS if _estimable(needs[t], steps) == steps), TARGETS[0])
    found = needs[target]
    ends = {m: float(np.clip(n, levels[0], levels[-1])) for m, n in found.items()}
    factors = [ends[b] / ends[a] for a, b in _estimable(found, steps)]
    lost = len(steps) - len(factors)
    least = np.nan if lost else min(factors)
    unknown = f"not estimable for {lost} of {len(steps)} steps; " * bool(lost)
    criteria.append(
        Criterion(f"the n for an APS of {target:g} grows with every step of m", least, least,
                  least, least > 1, unknown + note, above=1.0)
    )  # fmt: skip

    # the highest with enough sizes inside the range; without one, that with the most
    target = max(TARGETS, key=lambda t: (min(len(_inside(needs[t])), TELLING), t))
    found, known = needs[target], _inside(needs[target])
    text = (
        f"the n for an APS of {target:g} grows exponentially with m, its exponent in m being "
        "greater for the largest sizes than for the smallest"
    )
    nothing = float("nan")
    if len(known) < TELLING:
        note = f"not estimable: the range tried has this n for {len(known)} of {len(sizes)} sizes"
        criteria.append(Criterion(text, nothing, nothing, nothing, False, note, above=0.0))
        return criteria
    size = np.array(known, dtype=float)
    value = float(_bend(size, np.array([found[m] for m in known])))
    rng = np.random.default_rng(0)
    drawn = []
    for m in known:
        runs = curves[m].to_numpy()
        picks = rng.integers(len(runs), size=(RESAMPLES, len(runs)))
        again = needed(levels, runs[picks].mean(axis=1), target)
        drawn.append(np.clip(again, levels[0], levels[-1]))
    low, high = np.percentile(_bend(size, np.array(drawn)), [2.5, 97.5])
    note = f"bootstrap over runs, sizes {', '.join(map(str, known))}"
    # no power: the paper does not state a rate, and the width depends on it
    criteria.append(Criterion(text, value, float(low), float(high), bool(low > 0), note, above=0.0))
    return criteria


def _estimable(
    found: Mapping[int, float], steps: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the steps of size over which the growth of what they need can be estimated.

    Two sizes that both need less than the least n, or both more than the greatest, have no factor;
    otherwise a size beyond the range counts as its end, and the factor is a bound.
    """
    return [(a, b) for a, b in steps if found[a] != found[b] or 0 < found[a] < np.inf]


def _inside(found: Mapping[int, float]) -> list[int]:
    """Return the sizes that need a number of observations inside the range."""
    return [m for m, n in found.items() if 0 < n < np.inf]


def _needs(found: dict[int, float], levels: Array) -> str:
    """Return what each size needs, in words."""
    said = []
    for m, n in found.items():
        if n == 0:
            known = f"at most {levels[0]:g}"
        elif n == np.inf:
            known = f"more than {levels[-1]:g}"
        else:
            known = f"{n:.0f}"
        said.append(f"m = {m}: {known}")
    return "; ".join(said)


def _s3(e: Evidence) -> list[Criterion]:
    if len(e.levels) < 2:
        raise MissingEvidence("one number of observations")
    first, last = e.levels[0], e.levels[-1]
    shrunk: dict[str, Array] = {}
    if_true: dict[str, Array] = {}
    for m in _sizes(e):
        ends = e.where(m=m).of("aps", "kgl", [first, last])
        away = (ends - ends.median()).abs()
        start, end = (away[n].to_numpy() / away[first].mean() for n in (first, last))
        shrunk[f"m = {m}"] = start - end
        if_true[f"m = {m}"] = start - at_most(end, 1.0 - SHRUNK)
    text = f"APS lies nearer to its median with n = {last:g} than with n = {first:g}"
    note = "decrease of the mean absolute distance, as a share of it"
    pooled, spread = (np.concatenate(list(each.values())) for each in (shrunk, if_true))
    how: dict[str, Any] = {"above": 0.0, "note": note, "effect": SHRUNK}
    return [
        inside(f"{text}, on average over m", pooled, if_true=spread, **how),
        all_within(f"{text}, for every m", shrunk, if_true=if_true, **how),
    ]


SIZES = (
    Claim(
        "S1", "sizes", "Figure 5", "100 observations are enough for a graph of 20 nodes.", _s1
    ),
    Claim(
        "S2", "sizes", "Figure 5",
        "The number of observations for a high APS grows roughly exponentially with nodes.", _s2,
    ),
    Claim("S3", "sizes", "Figure 5", "The variance of APS decreases with observations.", _s3),
)  # fmt: skip
