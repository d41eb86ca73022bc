"""Questions that claims about synthetic data ask: each returns a part of a claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from experiments.claims.evidence import NAMES, Evidence, Part, inside
from experiments.stats import MissingEvidence, mean_interval, unpaired
from kgl.laplacian import Array

__all__ = ["apart", "most", "nearest", "overlap", "ratio", "reaches", "slightly"]


def nearest(
    levels: Iterable[float], target: float, *, above: float = -np.inf, up_to: float = np.inf
) -> float:
    """Return the level next to ``target`` of those above one end and up to the other.

    Examples
    --------
    >>> nearest([0.0, 0.3, 0.6], 0.5)
    0.6
    >>> nearest([0.0, 0.3, 0.6], 0.5, up_to=0.5)
    0.3
    """
    found = [level for level in levels if above < level <= up_to]
    if not found:
        raise MissingEvidence(f"no level next to {target:g} above {above:g} and up to {up_to:g}")
    return min(found, key=lambda level: abs(level - target))


def most(
    text: str,
    cells: Mapping[str, Array],
    *,
    above: float | None = None,
    below: float | None = None,
    note: str = "",
) -> Part:
    """Judge whether the means of all of some cells lie between given ends, with their intervals.

    The figure is that of the cell whose interval comes nearest to an end or passes it furthest.
    """
    if not cells:
        raise MissingEvidence(f"nothing to ask whether {text}")
    found = []
    for name, values in cells.items():
        mean, low, high = mean_interval(values)
        room = min(
            np.inf if above is None else low - above, np.inf if below is None else below - high
        )
        found.append((room, mean, low, high, name))
    won = sum(room > 0 for room, *_ in found)
    _, value, low, high, which = min(found, key=lambda one: one[0])
    said = [f"weakest: {which}; {won} of {len(found)}"] if len(found) > 1 else []
    return Part(text, value, low, high, won == len(found), "; ".join([*said, *[note] * bool(note)]))


def reaches(
    evidence: Evidence,
    metric: str,
    model: str,
    levels: Sequence[float],
    *,
    above: float | None = None,
    below: float | None = None,
    where: str,
) -> Part:
    """Judge whether the score of a model lies above or below an end at each of some levels."""
    if not levels:
        raise MissingEvidence(f"no level {where}")
    scores = evidence.of(metric, model, levels)
    cells = {f"at {level:g}": values.to_numpy() for level, values in scores.items()}
    end = f"above {above:g}" if above is not None else f"below {below:g}"
    text = f"{evidence.name(model)} has an {NAMES[metric]} {end}, {where}"
    return most(text, cells, above=above, below=below)


def overlap(
    evidence: Evidence,
    metric: str,
    first: str,
    second: str,
    levels: Sequence[float],
    *,
    within: float,
    where: str,
) -> Part:
    """Judge whether two models are equivalent: closer than ``within`` at each of some levels."""
    gains = evidence.gain(metric, first, second, levels)
    cells = {f"at {level:g}": values.to_numpy() for level, values in gains.items()}
    text = (
        f"{evidence.name(first)} and {evidence.name(second)} differ by less than {within:g} in "
        f"{NAMES[metric]}, {where}"
    )
    return most(text, cells, above=-within, below=within)


def slightly(
    evidence: Evidence,
    metric: str,
    better: str,
    worse: str,
    levels: Sequence[float],
    *,
    by: float,
    where: str,
) -> Part:
    """Judge whether a model beats another, but by less than ``by``, on average over levels."""
    if not levels:
        raise MissingEvidence(f"no level {where}")
    gain = evidence.gain(metric, better, worse, levels).mean(axis=1).to_numpy()
    text = (
        f"{evidence.name(better)} beats {evidence.name(worse)} in {NAMES[metric]}, but by less "
        f"than {by:g}, {where}"
    )
    return inside(text, gain, above=0.0, below=by)


def ratio(evidence: Evidence, metric: str, first: str, second: str) -> Array:
    """Return the ratio of the scores of two models: geometric mean over levels, for each run."""
    logs = np.log(evidence.of(metric, first)) - np.log(evidence.of(metric, second))
    return np.asarray(np.exp(logs.mean(axis=1).to_numpy()))


def apart(
    text: str,
    pairs: Mapping[str, tuple[Array, Array]],
    *,
    above: float = 0.0,
    below: float = np.inf,
) -> Part:
    """Judge whether in all pairs of samples the first has more, by an amount between the ends."""
    found = []
    for name, (first, second) in pairs.items():
        mean, low, high = unpaired(first, second)
        found.append((min(low - above, below - high), mean, low, high, name))
    if not found:
        raise MissingEvidence(f"nothing to ask whether {text}")
    won = sum(room > 0 for room, *_ in found)
    _, value, low, high, which = min(found, key=lambda one: one[0])
    note = f"weakest: {which}; {won} of {len(found)}" if len(found) > 1 else ""
    return Part(text, value, low, high, won == len(found), note)
