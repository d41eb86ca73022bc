"""What a claim is judged by: paired differences over replicates, each with its interval.

All models see the same data, so two of them are compared replicate by replicate. The interval of a
mean is Student's, at 95 %. Runs on synthetic data are draws of a graph and of signals; families of
graphs that are taken together are paired by family and replicate. Runs on real data are masks of
one data set, or draws of reviewers that overlap, so the interval speaks of these data and not of
others like them. Where nothing is missing all masks are one, and the interval has no width.

A :class:`Part` of a claim is one yes-or-no question with the figure that answers it; it holds only
if the whole interval says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.stats import MissingEvidence, mean_interval
from kgl.laplacian import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Evidence", "Part", "compare", "drop", "inside", "near"]

#: Metrics of which less is better.
ERRORS = ("sse", "mse_out", "mse_in", "mse_cv")
NAMES = {"aps": "APS", "sse": "SSE", "nmi": "NMI", "mse_out": "MSE", "aps_scores": "APS"}


@dataclass(frozen=True)
class Part:
    """One question of a claim.

    Attributes
    ----------
    text : str
        The question as a statement, with its threshold.
    value, low, high : float
        The figure that answers it, and its interval.
    holds : bool
        Whether the statement holds.
    note : str
        Where the figure was found, or how often the statement held.
    timed : bool
        Whether the figure is a time, whose digits differ from run to run.
    """

    text: str
    value: float
    low: float
    high: float
    holds: bool
    note: str = ""
    timed: bool = False


@dataclass(frozen=True)
class Evidence:
    """Scores of one experiment under one reading.

    Attributes
    ----------
    scores : DataFrame
        One row per ``level``, ``model``, ``replicate`` and ``metric``, with its ``value``; of
        synthetic data per ``graph``, the family, and per size ``m`` too where it is varied.
    labels : dict
        What models are called.
    """

    scores: pd.DataFrame
    labels: dict[str, str]

    @property
    def levels(self) -> list[float]:
        """Return the levels of the sweep, in order."""
        return sorted(self.scores["level"].unique())

    def of(self, metric: str, model: str, levels: Iterable[float] | None = None) -> pd.DataFrame:
        """Return the scores of a model: runs in rows, levels in columns."""
        part = self.scores[(self.scores["metric"] == metric) & (self.scores["model"] == model)]
        # the same number of a replicate is another graph in another family
        runs = [key for key in ("graph", "replicate") if key in part]
        if part.duplicated([*runs, "level"]).any():
            raise MissingEvidence(f"several scores of {metric} of {model} in one run at one level")
        table = part.pivot_table(index=runs, columns="level", values="value")
        wanted = self.levels if levels is None else list(levels)
        if table.empty or not set(wanted) <= set(table.columns):
            raise MissingEvidence(f"no scores of {metric} of {model} at levels {wanted}")
        return table[wanted]

    def gain(
        self, metric: str, better: str, worse: str, levels: Iterable[float] | None = None
    ) -> pd.DataFrame:
        """Return by how much ``better`` is better than ``worse``, replicate by replicate."""
        levels = self.levels if levels is None else list(levels)
        difference = self.of(metric, better, levels) - self.of(metric, worse, levels)
        return -difference if metric in ERRORS else difference

    def values(self, column: str) -> list[Any]:
        """Return what a column holds, each once, in the order of the table."""
        return list(dict.fromkeys(self.scores[column])) if column in self.scores else []

    def where(self, **conditions: Any) -> Evidence:
        """Return the part of the scores in which columns have given values, as of one family."""
        rows = self.scores
        for column, value in conditions.items():
            rows = rows[rows[column] == value] if column in rows else rows[:0]
        if rows.empty:
            raise MissingEvidence(f"no scores of {conditions}")
        return Evidence(rows, self.labels)

    def name(self, model: str) -> str:
        """Return what a model is called."""
        return self.labels.get(model, model)


def compare(
    evidence: Evidence,
    metric: str,
    better: Sequence[str],
    worse: Sequence[str],
    levels: Sequence[float] | None = None,
    *,
    where: str = "",
    margin: float = 0.0,
    average: bool = False,
) -> Part:
    """Judge whether each of some models beats each of some others by more than ``margin``.

    It is asked at every level, or, with ``average``, of the mean over the levels. The figure is
    the gain of the weakest comparison, the one whose interval reaches lowest.
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
                found.append(
                    (*mean_interval(values.to_numpy()),
                     f"{evidence.name(first)} over {evidence.name(second)}{at}")
                )  # fmt: skip
    won = sum(low > margin for _, low, _, _ in found)
    value, low, high, which = min(found, key=lambda one: one[1])
    more = f" by more than {margin:g}" if margin else ""
    text = (
        f"{_listed(evidence, better)} beat{'s' * (len(better) == 1)} {_listed(evidence, worse)} in "
        f"{NAMES[metric]}{more}{', ' * bool(where)}{where}"
    )
    note = f"weakest: {which}; {won} of {len(found)} comparisons" if len(found) > 1 else which
    return Part(text, value, low, high, won == len(found), note)


def inside(
    text: str, values: Array, *, above: float | None = None, below: float | None = None,
    note: str = "",
) -> Part:  # fmt: skip
    """Judge whether the mean of some values lies above and below given ends, with its interval."""
    value, low, high = mean_interval(np.asarray(values))
    holds = (above is None or low > above) and (below is None or high < below)
    return Part(text, value, low, high, holds, note)


def drop(evidence: Evidence, metric: str, model: str, first: float, last: float) -> Array:
    """Return by how much a model gets worse from one level to another, for each replicate."""
    ends = evidence.of(metric, model, [first, last])
    change = (ends[first] - ends[last]).to_numpy()
    return -change if metric in ERRORS else change


def near(text: str, value: float, printed: float, tolerance: float) -> Part:
    """Judge whether a single number is the printed one, up to a tolerance."""
    holds = bool(abs(value - printed) <= tolerance)
    return Part(text, value, value, value, holds, f"paper: {printed:g}")


def _listed(evidence: Evidence, models: Sequence[str]) -> str:
    names = [evidence.name(model) for model in models]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
