"""What a claim is judged by: scores of models, paired by run.

All models see the same data, so two of them are compared replicate by replicate. Runs on synthetic
data are draws of a graph and of signals; families of graphs that are taken together are paired by
family and replicate. Runs on real data are masks of one data set, or draws of reviewers that
overlap, so an interval is about these data and not about others like them. Where nothing is missing
all masks are the same, and the interval has no width.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from experiments.registry import METRICS
from experiments.stats import MissingEvidence
from kgl._types import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Evidence", "drop"]


@dataclass(frozen=True)
class Evidence:
    """Scores of one experiment under one specification.

    Attributes
    ----------
    scores : DataFrame
        One row per ``level``, ``model``, ``replicate`` and ``metric``, with its ``value``; of
        synthetic data per ``graph``, the family, and per size ``m`` too where it is varied. A
        column ``at_edge`` names the axes at whose end the selected grid point is.
    """

    scores: pd.DataFrame
    #: Scores by metric and model, which claims ask for again and again.
    _wide: dict[tuple[str, str], pd.DataFrame] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def levels(self) -> list[float]:
        """Return the levels of the sweep, in order."""
        return sorted(self.scores["level"].unique())

    def of(self, metric: str, model: str, levels: Iterable[float] | None = None) -> pd.DataFrame:
        """Return the scores of a model: runs in rows, levels in columns."""
        if (metric, model) not in self._wide:
            self._wide[metric, model] = self._pivoted(metric, model)
        table = self._wide[metric, model]
        wanted = self.levels if levels is None else list(levels)
        if table.empty or not set(wanted) <= set(table.columns):
            raise MissingEvidence(f"no scores of {metric} of {model} at levels {wanted}")
        return table[wanted]

    def at_edge(self, metric: str, model: str, levels: Iterable[float]) -> pd.DataFrame:
        """Return whether the selected grid point is at an end of an axis, as :meth:`of` does."""
        scores = self.of(metric, model, levels)
        if "at_edge" not in self.scores:
            return scores.notna() & False
        own = self.scores[(self.scores["metric"] == metric) & (self.scores["model"] == model)]
        own = own.assign(edge=own["at_edge"].fillna("").ne(""))
        return own.pivot_table(
            index=scores.index.names, columns="level", values="edge", aggfunc="max"
        )[list(scores.columns)]

    def _pivoted(self, metric: str, model: str) -> pd.DataFrame:
        own = self.scores[(self.scores["metric"] == metric) & (self.scores["model"] == model)]
        # the same number of a replicate is another graph in another family
        runs = [key for key in ("graph", "replicate") if key in own]
        if own.duplicated([*runs, "level"]).any():
            raise MissingEvidence(f"several scores of {metric} of {model} in one run at one level")
        return own.pivot_table(index=runs, columns="level", values="value")

    def gain(
        self, metric: str, better: str, worse: str, levels: Iterable[float] | None = None
    ) -> pd.DataFrame:
        """Return by how much ``better`` is better than ``worse``, replicate by replicate."""
        levels = self.levels if levels is None else list(levels)
        difference = self.of(metric, better, levels) - self.of(metric, worse, levels)
        return difference if METRICS[metric].higher_is_better else -difference

    def values(self, column: str) -> list[Any]:
        """Return the values of a column, each once, in the order of the table."""
        return list(dict.fromkeys(self.scores[column])) if column in self.scores else []

    def where(self, **conditions: Any) -> Evidence:
        """Return the scores whose columns have given values, or one of several in a tuple."""
        rows = self.scores
        for column, value in conditions.items():
            wanted = value if isinstance(value, tuple) else (value,)
            rows = rows[rows[column].isin(wanted)] if column in rows else rows[:0]
        if rows.empty:
            raise MissingEvidence(f"no scores of {conditions}")
        return Evidence(rows)


def drop(evidence: Evidence, metric: str, model: str, first: float, last: float) -> Array:
    """Return by how much a model gets worse from one level to another, for each replicate."""
    ends = evidence.of(metric, model, [first, last])
    change = (ends[first] - ends[last]).to_numpy()
    return change if METRICS[metric].higher_is_better else -change
