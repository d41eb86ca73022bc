"""The claims about the sizes of graphs and numbers of observations (S): Figure 5."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from experiments.claims.criteria import all_within, larger_by, reaches
from experiments.claims.evidence import Evidence
from experiments.claims.ledger import Claim, Criterion
from experiments.claims.thresholds import HIGH
from experiments.stats import MissingEvidence
from kgl._types import Array

__all__ = ["SIZES", "needed"]

#: The observations that are enough for a graph of so many nodes, in the paper.
ENOUGH, SMALL = 100, 20
#: Fewer sizes cannot tell an exponential from a power.
TELLING = 3
RESAMPLES = 2000


def _sizes(e: Evidence) -> list[int]:
    return sorted(e.values("m"))


def _s1(e: Evidence) -> list[Criterion]:
    small = e.where(m=SMALL)
    where = f"for m = {SMALL} and n = {ENOUGH}"
    return [reaches(small, "aps", "kgl", [float(ENOUGH)], above=HIGH, where=where)]


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
    pairs = {
        f"from m = {a} to {b} at n = {level:g}": (
            curves[a][level].to_numpy(), curves[b][level].to_numpy()
        )
        for a, b in steps for level in e.levels
    }  # fmt: skip
    criteria = [larger_by("with the same n, APS falls with every step of m", pairs)]

    levels = np.array(e.levels)
    found = {m: float(needed(levels, curves[m].to_numpy().mean(axis=0))) for m in sizes}
    known = [m for m in sizes if 0 < found[m] < np.inf]
    # Two sizes that both need less than the least n, or both more than the greatest: no factor;
    # otherwise a size beyond the range counts as its end, and the factor is a bound.
    ends = {m: float(np.clip(n, levels[0], levels[-1])) for m, n in found.items()}
    factors = [ends[b] / ends[a] for a, b in steps if found[a] != found[b] or 0 < found[a] < np.inf]
    least = min(factors) if len(factors) == len(steps) else np.nan
    unknown = f"not estimable for {len(steps) - len(factors)} of {len(steps)} steps; " * (
        len(factors) < len(steps)
    )
    criteria.append(
        Criterion(f"the n for an APS of {HIGH:g} grows with every step of m", least, least,
                  least, least > 1, unknown + _needs(found, levels))
    )  # fmt: skip

    text = (
        f"the n for an APS of {HIGH:g} grows exponentially with m, its exponent in m being greater "
        "for the largest sizes than for the smallest"
    )
    nothing = float("nan")
    if len(known) < TELLING:
        note = f"not estimable: the range tried has this n for {len(known)} of {len(sizes)} sizes"
        criteria.append(Criterion(text, nothing, nothing, nothing, False, note))
        return criteria
    size = np.array(known, dtype=float)
    value = float(_bend(size, np.array([found[m] for m in known])))
    rng = np.random.default_rng(0)
    drawn = []
    for m in known:
        runs = curves[m].to_numpy()
        picks = rng.integers(len(runs), size=(RESAMPLES, len(runs)))
        drawn.append(np.clip(needed(levels, runs[picks].mean(axis=1)), levels[0], levels[-1]))
    low, high = np.percentile(_bend(size, np.array(drawn)), [2.5, 97.5])
    note = f"bootstrap over runs, sizes {', '.join(map(str, known))}"
    criteria.append(Criterion(text, value, float(low), float(high), bool(low > 0), note))
    return criteria


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
    for m in _sizes(e):
        ends = e.where(m=m).of("aps", "kgl", [first, last])
        away = (ends - ends.median()).abs()
        shrunk[f"m = {m}"] = (away[first] - away[last]).to_numpy()
    text = f"APS lies nearer to its median with n = {last:g} than with n = {first:g}"
    note = "mean absolute distance"
    pooled = np.concatenate(list(shrunk.values()))
    return [
        all_within(f"{text}, on average over m", {"all": pooled}, above=0.0, note=note),
        all_within(f"{text}, for every m", shrunk, above=0.0, note=note),
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
