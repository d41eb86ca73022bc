"""The forms of criteria: each function judges one statement and returns a criterion.

A criterion holds only if the whole interval of its estimate is on the right side. The interval of a
mean is Student's, at 95 %. Each has its bounds, the true value that the statement implies and its
power (:class:`experiments.claims.Criterion`): how likely the criterion holds if the statement is
true. The power needs the spread between runs, which is estimated from the same data. Where these
are far from what the statement says and the spread goes with the size, as that of a loss or a
ratio does, ``if_true`` gives data with the spread that a true statement would have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from experiments.claims.evidence import Evidence
from experiments.claims.ledger import Criterion
from experiments.claims.thresholds import VISIBLE
from experiments.registry import name_of
from experiments.stats import MissingEvidence, contrast, joint_power, mean_interval, power
from kgl._types import Array

__all__ = [
    "all_within", "at_most", "beats", "compared", "equivalent", "implied", "inside", "larger_by",
    "near", "nearest", "overlap", "ratio", "reaches", "slightly",
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


def implied(above: float | None, below: float | None) -> float | None:
    """Return the true value that bounds imply: their centre, or visibly inside a single one.

    Examples
    --------
    >>> round(implied(0.0, 0.1), 2), round(implied(0.8, None), 2), round(implied(None, 0.5), 2)
    (0.05, 0.85, 0.45)
    """
    if above is None:
        return None if below is None else below - VISIBLE
    return above + VISIBLE if below is None else (above + below) / 2


def at_most(values: Array, bound: float) -> Array:
    """Scale positive values down to a mean of ``bound``, if it is larger.

    The spread is assumed to be proportional to the mean. It is never enlarged.

    Examples
    --------
    >>> at_most(np.array([1.0, 3.0]), 0.5), at_most(np.array([0.1, 0.3]), 0.5)
    (array([0.25, 0.75]), array([0.1, 0.3]))
    """
    mean = float(np.mean(values))
    return values * (bound / mean) if mean > bound else values


def inside(
    text: str, values: Array, *, above: float | None = None, below: float | None = None,
    note: str = "", effect: float | None = None, if_true: Array | None = None,
) -> Criterion:  # fmt: skip
    """Judge whether the mean of some values lies above and below given ends, with its interval.

    ``effect`` is the true value that the statement implies; by default that of the ends.
    ``if_true`` has values with the spread of a true statement, for the power.
    """
    cells = {"": np.asarray(values)}
    spread = None if if_true is None else {"": np.asarray(if_true)}
    return all_within(
        text, cells, above=above, below=below, note=note, effect=effect, if_true=spread
    )


def _joint(
    effect: float | None, cells: Iterable[Array], above: float | None, below: float | None
) -> float | None:
    """Return the power of comparisons in the same runs; of others, the product of their powers."""
    if effect is None:
        return None
    found = [np.asarray(values) for values in cells]
    if len({len(values) for values in found}) == 1:
        return joint_power(np.stack(found, axis=1), effect, above=above, below=below)
    return float(
        np.prod([joint_power(x[:, None], effect, above=above, below=below) for x in found])
    )


def _power(
    effect: float | None,
    widths: Iterable[tuple[float, float]],
    above: float | None,
    below: float | None,
) -> float | None:
    """Return the product of powers of comparisons, given their half widths and freedoms."""
    if effect is None:
        return None
    return float(
        np.prod([power(effect, half, free, above=above, below=below) for half, free in widths])
    )


def near(text: str, value: float, printed: float, tolerance: float) -> Criterion:
    """Judge whether a single number is the printed one, up to a tolerance."""
    holds = bool(abs(value - printed) <= tolerance)
    return Criterion(
        text, value, value, value, holds, f"paper: {printed:g}",
        above=printed - tolerance, below=printed + tolerance, effect=printed,
    )  # fmt: skip


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
    effect: float | None = None,
) -> Criterion:
    """Judge whether each of some models beats each of some others by more than ``margin``.

    It must at every level, or, with ``average``, in the mean over the levels. The estimate is the
    gain of the weakest comparison, the one whose interval reaches lowest. The power is that of all
    comparisons together.
    """
    levels = evidence.levels if levels is None else list(levels)
    if not levels:
        raise MissingEvidence(f"no level {where}")
    found, runs = [], []
    for first in better:
        for second in worse:
            gains = evidence.gain(metric, first, second, levels)
            columns = {None: gains.mean(axis=1)} if average else dict(gains.items())
            ahead = f", ahead in the mean at {(gains.mean() > 0).sum()} of {len(levels)} levels"
            for level, values in columns.items():
                at = ahead * (len(levels) > 1) if level is None else f" at {level:g}"
                which = f"{name_of(first)} over {name_of(second)}{at}"
                found.append((*mean_interval(values.to_numpy()), which))
                runs.append(values.to_numpy())
    won = sum(low > margin for _, low, _, _ in found)
    estimate, low, high, which = min(found, key=lambda one: one[1])
    more = f" by more than {margin:g}" if margin else ""
    text = (
        f"{_listed(better)} beat{'s' * (len(better) == 1)} {_listed(worse)} in "
        f"{name_of(metric)}{more}{', ' * bool(where)}{where}"
    )
    note = f"weakest: {which}; {won} of {len(found)} comparisons" if len(found) > 1 else which
    effect = margin + VISIBLE if effect is None else effect
    return Criterion(
        text, estimate, low, high, won == len(found), note,
        above=margin, effect=effect, power=_joint(effect, runs, margin, None),
    )  # fmt: skip


def all_within(
    text: str,
    cells: Mapping[str, Array],
    *,
    above: float | None = None,
    below: float | None = None,
    note: str = "",
    effect: float | None = None,
    if_true: Mapping[str, Array] | None = None,
) -> Criterion:
    """Judge whether the means of all of some cells lie between given ends, with their intervals.

    The power is that of all cells together, which are observed in the same runs; ``if_true`` as
    for :func:`inside`.
    """
    ends = {name: (*mean_interval(values), len(values) - 1.0) for name, values in cells.items()}
    found = _weakest(text, ends, above, below, note=note, effect=effect)
    spread = (cells if if_true is None else if_true).values()
    return replace(found, power=_joint(found.effect, spread, above, below))


def larger_by(
    text: str,
    pairs: Mapping[str, tuple[Array, Array]],
    *,
    above: float = 0.0,
    below: float | None = None,
    effect: float | None = None,
) -> Criterion:
    """Judge whether in all pairs of samples the first is larger, by an amount between the ends.

    Samples are independent. The power is the product over the pairs.
    """
    ends = {name: contrast(pair, (1.0, -1.0)) for name, pair in pairs.items()}
    return _weakest(text, ends, above, below, effect=effect)


def equivalent(text: str, pairs: Mapping[str, tuple[Array, Array]], *, within: float) -> Criterion:
    """Judge whether in all pairs of independent samples the means are closer than ``within``.

    The power is the product over the pairs.
    """
    ends = {name: contrast(pair, (1.0, -1.0)) for name, pair in pairs.items()}
    return _weakest(text, ends, -within, within)


def compared(
    text: str, samples: Sequence[Array], weights: Sequence[float], *,
    above: float | None = None, below: float | None = None, effect: float | None = None,
) -> Criterion:  # fmt: skip
    """Judge whether a weighted sum of means of independent samples lies between given ends."""
    return _weakest(text, {"": contrast(samples, weights)}, above, below, effect=effect)


def _weakest(
    text: str,
    ends: Mapping[str, tuple[float, float, float, float]],
    above: float | None,
    below: float | None,
    *,
    note: str = "",
    effect: float | None = None,
) -> Criterion:
    """Judge by the interval that comes nearest to an end or passes it furthest.

    ``ends`` has estimate, interval and degrees of freedom of each comparison.
    """
    if not ends:
        raise MissingEvidence(f"no data on whether {text}")
    bottom, top = -np.inf if above is None else above, np.inf if below is None else below
    room = {name: min(low - bottom, top - high) for name, (_, low, high, _) in ends.items()}
    which = min(room, key=lambda name: room[name])
    won = sum(one > 0 for one in room.values())
    notes = [f"weakest: {which}; {won} of {len(ends)}"] * (len(ends) > 1) + [note] * bool(note)
    effect = implied(above, below) if effect is None else effect
    widths = [((high - low) / 2, free) for _, low, high, free in ends.values()]
    return Criterion(
        text, *ends[which][:3], won == len(ends), "; ".join(notes),
        above=above, below=below, effect=effect, power=_power(effect, widths, above, below),
    )  # fmt: skip


def reaches(
    evidence: Evidence,
    metric: str,
    model: str,
    levels: Sequence[float],
    *,
    above: float | None = None,
    below: float | None = None,
    where: str,
    average: bool = False,
    effect: float | None = None,
) -> Criterion:
    """Judge whether the score of a model lies above or below an end at each of some levels.

    With ``average`` it must in the mean over the levels.
    """
    if not levels:
        raise MissingEvidence(f"no level {where}")
    scores = evidence.of(metric, model, levels)
    cells = {f"at {level:g}": values.to_numpy() for level, values in scores.items()}
    if average:
        cells = {"on average": scores.mean(axis=1).to_numpy()}
    end = f"above {above:g}" if above is not None else f"below {below:g}"
    text = f"{name_of(model)} has an {name_of(metric)} {end}, {where}"
    return all_within(text, cells, above=above, below=below, effect=effect)


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


def ratio(
    evidence: Evidence, metric: str, first: str, second: str,
    *, text: str, below: float, effect: float, average: bool = False,
) -> Criterion:  # fmt: skip
    """Judge whether the ratio of the scores of two models is below an end at every level.

    Ratios are compared by their logarithms; with ``average`` it is their geometric mean over the
    levels. The power is that of all levels together.
    """
    top, bottom = evidence.of(metric, first), evidence.of(metric, second)
    logs = np.log(top.to_numpy()) - np.log(bottom.reindex(top.index).to_numpy())
    cells = {f"at {level:g}": logs[:, k] for k, level in enumerate(top.columns)}
    if average:
        cells = {"on average": logs.mean(axis=1)}
    found = all_within(text, cells, below=float(np.log(below)), effect=float(np.log(effect)))
    value, low, high = (float(np.exp(x)) for x in (found.estimate, found.low, found.high))
    return replace(found, estimate=value, low=low, high=high, below=below, effect=effect)


def _listed(models: Sequence[str]) -> str:
    names = [name_of(model) for model in models]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
