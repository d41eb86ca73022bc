"""The forms of criteria: each function judges one statement and returns a criterion.

A criterion holds only if the whole interval of its estimate is on the right side. The interval of a
mean is Student's, at 95 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from experiments.claims.evidence import Evidence
from experiments.claims.ledger import Criterion
from experiments.registry import name_of
from experiments.stats import MissingEvidence, mean_interval, unpaired
from kgl._types import Array

__all__ = [
    "all_within", "beats", "inside", "larger_by", "near", "nearest", "overlap", "ratio", "reaches",
    "slightly",
]  # fmt: skip


def nearest(
    levels: Iterable[float], target: float, *, above: float = -np.inf, up_to: float = np.inf
) -> float:
    """Return the level nearest to ``target`` of those above one end and up to the other.

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


def inside(
    text: str, values: Array, *, above: float | None = None, below: float | None = None,
    note: str = "",
) -> Criterion:  # fmt: skip
    """Judge whether the mean of some values lies above and below given ends, with its interval."""
    estimate, low, high = mean_interval(np.asarray(values))
    holds = (above is None or low > above) and (below is None or high < below)
    return Criterion(text, estimate, low, high, holds, note)


def near(text: str, value: float, printed: float, tolerance: float) -> Criterion:
    """Judge whether a single number is the printed one, up to a tolerance."""
    holds = bool(abs(value - printed) <= tolerance)
    return Criterion(text, value, value, value, holds, f"paper: {printed:g}")


def beats(
    evidence: Evidence,
    metric: str,
    better: Sequence[str],
    worse: Sequence[str],
    levels: Sequence[float] | None = None,
    *,
    where: str = "",
    margin: float = 0.0,
    average: bool = False,
) -> Criterion:
    """Judge whether each of some models beats each of some others by more than ``margin``.

    It must at every level, or, with ``average``, in the mean over the levels. The estimate is the
    gain of the weakest comparison, the one whose interval reaches lowest.
    """
    levels = evidence.levels if levels is None else list(levels)
    if not levels:
        raise MissingEvidence(f"no level {where}")
    found = []
    for first in better:
        for second in worse:
            gains = evidence.gain(metric, first, second, levels)
            columns = {None: gains.mean(axis=1)} if average else dict(gains.items())
            for level, values in columns.items():
                at = "" if level is None else f" at {level:g}"
                which = f"{name_of(first)} over {name_of(second)}{at}"
                found.append((*mean_interval(values.to_numpy()), which))
    won = sum(low > margin for _, low, _, _ in found)
    estimate, low, high, which = min(found, key=lambda one: one[1])
    more = f" by more than {margin:g}" if margin else ""
    text = (
        f"{_listed(better)} beat{'s' * (len(better) == 1)} {_listed(worse)} in "
        f"{name_of(metric)}{more}{', ' * bool(where)}{where}"
    )
    note = f"weakest: {which}; {won} of {len(found)} comparisons" if len(found) > 1 else which
    return Criterion(text, estimate, low, high, won == len(found), note)


def all_within(
    text: str,
    cells: Mapping[str, Array],
    *,
    above: float | None = None,
    below: float | None = None,
    note: str = "",
) -> Criterion:
    """Judge whether the means of all of some cells lie between given ends, with their intervals."""
    ends = {name: mean_interval(values) for name, values in cells.items()}
    found = _weakest(
        text, ends, -np.inf if above is None else above, np.inf if below is None else below
    )
    notes = [part for part in (found.note, note) if part]
    return Criterion(text, found.estimate, found.low, found.high, found.holds, "; ".join(notes))


def larger_by(
    text: str,
    pairs: Mapping[str, tuple[Array, Array]],
    *,
    above: float = 0.0,
    below: float = np.inf,
) -> Criterion:
    """Judge whether in all pairs of samples the first is larger, by an amount between the ends."""
    ends = {name: unpaired(first, second) for name, (first, second) in pairs.items()}
    return _weakest(text, ends, above, below)


def _weakest(
    text: str, ends: Mapping[str, tuple[float, float, float]], above: float, below: float
) -> Criterion:
    """Judge by the interval that comes nearest to an end or passes it furthest."""
    if not ends:
        raise MissingEvidence(f"no data on whether {text}")
    room = {name: min(low - above, below - high) for name, (_, low, high) in ends.items()}
    which = min(room, key=lambda name: room[name])
    won = sum(one > 0 for one in room.values())
    note = f"weakest: {which}; {won} of {len(ends)}" if len(ends) > 1 else ""
    return Criterion(text, *ends[which], won == len(ends), note)


def reaches(
    evidence: Evidence,
    metric: str,
    model: str,
    levels: Sequence[float],
    *,
    above: float | None = None,
    below: float | None = None,
    where: str,
) -> Criterion:
    """Judge whether the score of a model lies above or below an end at each of some levels."""
    if not levels:
        raise MissingEvidence(f"no level {where}")
    scores = evidence.of(metric, model, levels)
    cells = {f"at {level:g}": values.to_numpy() for level, values in scores.items()}
    end = f"above {above:g}" if above is not None else f"below {below:g}"
    text = f"{name_of(model)} has an {name_of(metric)} {end}, {where}"
    return all_within(text, cells, above=above, below=below)


def overlap(
    evidence: Evidence,
    metric: str,
    first: str,
    second: str,
    levels: Sequence[float],
    *,
    within: float,
    where: str,
) -> Criterion:
    """Judge whether two models are equivalent: closer than ``within`` at each of some levels."""
    gains = evidence.gain(metric, first, second, levels)
    cells = {f"at {level:g}": values.to_numpy() for level, values in gains.items()}
    text = (
        f"{name_of(first)} and {name_of(second)} differ by less than {within:g} in "
        f"{name_of(metric)}, {where}"
    )
    return all_within(text, cells, above=-within, below=within)


def slightly(
    evidence: Evidence,
    metric: str,
    better: str,
    worse: str,
    levels: Sequence[float],
    *,
    by: float,
    where: str,
) -> Criterion:
    """Judge whether a model beats another, but by less than ``by``, on average over levels."""
    if not levels:
        raise MissingEvidence(f"no level {where}")
    gain = evidence.gain(metric, better, worse, levels).mean(axis=1).to_numpy()
    text = (
        f"{name_of(better)} beats {name_of(worse)} in {name_of(metric)}, but by less than {by:g}, "
        f"{where}"
    )
    return inside(text, gain, above=0.0, below=by)


def ratio(evidence: Evidence, metric: str, first: str, second: str) -> Array:
    """Return the ratio of the scores of two models: geometric mean over levels, for each run."""
    logs = np.log(evidence.of(metric, first)) - np.log(evidence.of(metric, second))
    return np.asarray(np.exp(logs.mean(axis=1).to_numpy()))


def _listed(models: Sequence[str]) -> str:
    names = [name_of(model) for model in models]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
