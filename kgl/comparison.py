r"""The same table through several methods: errors, likelihood and intervals of hidden entries.

A graph without a ground truth cannot be scored, but what a method predicts can: some entries are
hidden, and each method has to give a normal distribution for each of them. Better predictions do
not prove a better graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.covariance import GraphicalLassoCV

from kgl._compared_fit import Fit, varies
from kgl._optional import import_optional
from kgl._progress import reporter
from kgl._types import Array
from kgl._validation import as_floats
from kgl.base import GraphLearner
from kgl.bayesian import BayesianKGL
from kgl.folds import choose_folds
from kgl.models import GL, KGL
from kgl.preparation import Preparation

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LEVEL", "Comparison", "compare"]

#: Probability of the intervals whose coverage is counted, and of those over folds.
LEVEL = 0.9
MEANS = "column means"
#: What is measured on hidden entries -> heading of the text.
FIGURES = {"error": "error", "log_likelihood": "log likelihood", "coverage": "coverage of 90 %"}
#: Share of the observed entries below which a fold that moves the data's own gaps hides too few.
FEW_HIDDEN = 0.05


@dataclass(frozen=True, repr=False)
class Comparison:
    """Methods side by side on one table.

    Attributes
    ----------
    table : DataFrame
        One row per method: means over folds of ``error`` (root mean squared, in units of the
        nodes' standard deviations), ``log_likelihood`` (mean log density of a hidden entry, in the
        same units) and ``coverage`` (share of hidden entries inside 90 % intervals), each with the
        ends ``_low`` and ``_high`` of a 90 % t-interval over folds; ``edges`` of the graph of all
        data, and ``seconds`` of a fit. NaN where a method predicts nothing.
    folds : DataFrame
        The figures of each method and fold.
    jaccard : DataFrame
        Shared edges of two methods as a share of the edges that either has.
    rank_correlation : DataFrame
        Spearman's correlation, over pairs of nodes, of two methods' scores of pairs.
    models : dict
        The methods, fitted to all data.
    hidden : float
        Share of the observed entries that is hidden in a fold, on average.
    filled : bool
        Whether some method is scikit-learn's, which was given column means in place of missing
        and hidden entries.
    """

    table: pd.DataFrame
    folds: pd.DataFrame
    jaccard: pd.DataFrame
    rank_correlation: pd.DataFrame
    models: dict[str, Any]
    hidden: float
    filled: bool

    def difference(self, one: str, two: str, figure: str = "log_likelihood") -> tuple[float, ...]:
        """Return how much the first method's figure exceeds the second's on the same entries.

        Parameters
        ----------
        one, two : str
            Methods, by name.
        figure : {"error", "log_likelihood", "coverage"}
            What to compare.

        Returns
        -------
        tuple of float
            Mean, and the ends of a 90 % t-interval over folds.
        """
        if figure not in FIGURES:
            raise ValueError(f"unknown figure {figure!r}; use one of {', '.join(FIGURES)}")
        by_fold = self.folds.pivot_table(index="fold", columns="method", values=figure)
        for name in (one, two):
            if name not in by_fold:
                known = ", ".join(map(repr, by_fold.columns))
                raise ValueError(f"{name!r} predicts nothing here; methods that do: {known}")
        return _interval((by_fold[one] - by_fold[two]).to_numpy())

    def __repr__(self) -> str:
        count = self.folds["fold"].nunique()
        rows = [["", *FIGURES.values(), "edges", "seconds"]]
        for name, row in self.table.iterrows():
            cells = [
                "-" if np.isnan(row[key]) else
                f"{row[key]:.2f} ({row[key + '_low']:.2f} to {row[key + '_high']:.2f})"
                for key in FIGURES
            ]  # fmt: skip
            edges = "-" if np.isnan(row["edges"]) else f"{row['edges']:.0f}"
            seconds = "-" if np.isnan(row["seconds"]) else f"{row['seconds']:.2f}"
            rows.append([str(name), *cells, edges, seconds])
        width = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        text = [
            "  ".join(
                cell.ljust(size) if k == 0 else cell.rjust(size)
                for k, (cell, size) in enumerate(zip(row, width, strict=True))
            ).rstrip()
            for row in rows
        ]
        note = [
            f"{count} folds, {100 * self.hidden:.0f} % of the observed entries hidden in each; "
            "90 % intervals over folds",
        ]
        if self.filled:
            note.append(
                "scikit-learn's methods are fitted with column means in place of missing entries"
            )
        return "\n".join([*text, *note])


def compare(
    Y: Any,
    *,
    x: Any = None,
    z: Any = None,
    K_x: Any = None,
    K_z: Any = None,
    methods: Mapping[str, BaseEstimator] | None = None,
    n_folds: int = 5,
    folds: Any = "auto",
    seed: int | np.random.Generator = 0,
    progress: Callable[[int, int], None] | bool | None = None,
) -> Comparison:
    """Put several methods side by side on the same table, by predicting hidden entries of it.

    Parameters
    ----------
    Y, x, z, K_x, K_z
        As for :meth:`kgl.KGL.fit`. Methods that lack a kernel do without it.
    methods : mapping of str to estimator, optional
        Names and estimators: of kgl, or of scikit-learn with a ``precision_``. By default
        :class:`kgl.GL`, :class:`kgl.KGL`, :class:`kgl.BayesianKGL` and scikit-learn's
        ``GraphicalLassoCV``. Those of scikit-learn are fitted to standardised columns, with column
        means in place of missing and hidden entries, and predict by the normal distribution given
        the observed entries of the row.
    n_folds, folds, seed
        Which entries are hidden, as for :func:`kgl.select_held_out`: each fold hides
        ``1 / n_folds`` of the observed entries with ``folds="random"``.
    progress : callable or bool, optional
        As for :func:`kgl.select_held_out`, after each fit.

    Returns
    -------
    Comparison
        With the mean and the standard deviation of each column as a further method to compare
        with.

    Examples
    --------
    >>> import kgl
    >>> data = kgl.simulate.make_dataset("er", m=8, n=60)
    >>> methods = {"KGL": kgl.KGL(), "GL": kgl.GL()}
    >>> found = kgl.compare(data.Y, methods=methods, n_folds=3)
    >>> bool(found.table.loc["KGL", "error"] < found.table.loc["column means", "error"])
    True
    """
    pandas = import_optional("pandas", "frame", "compare")
    chosen = _methods(methods)
    values = as_floats(Y)
    if values.ndim != 2:
        raise ValueError(f"Y has shape {values.shape}; give a table, rows of observations")
    side = {"x": x, "z": z, "K_x": K_x, "K_z": K_z}
    held_out = _folds(folds, values, n_folds, seed)
    report, total = reporter(progress, "fit"), len(chosen) * (len(held_out) + 1)
    models, done = {}, 0
    for name, estimator in chosen.items():  # bad input is refused here, before the long work
        models[name] = Fit.of(estimator, Y, side, name)
        done += 1
        if report is not None:
            report(done, total)
    records: list[dict[str, Any]] = []
    for k, held in enumerate(held_out):
        train = _hide(Y, held)
        shown = as_floats(train)
        units = Preparation.fit(np.nan_to_num(shown), ~np.isnan(shown), "node", "node")
        # of a column that is constant in what is shown, nothing can be learned
        held = held & varies(shown)
        own = np.broadcast_to(units.columns, shown.shape), np.broadcast_to(units.scale, shown.shape)
        records.append(_scored(MEANS, k, values, held, units.scale, own, np.nan))
        for name, estimator in chosen.items():
            fit = Fit.of(estimator, train, side, name)
            found = None if fit.model is None else fit.predicted(train)
            records.append(_scored(name, k, values, held, units.scale, found, fit.seconds))
            done += 1
            if report is not None:
                report(done, total)
    frame = pandas.DataFrame(records)
    hidden = float(np.mean([held.sum() for held in held_out]) / (~np.isnan(values)).sum())
    scores = {name: fit.pairs(values.shape[1]) for name, fit in models.items()}
    filled = any(not fit.own for fit in models.values())
    return Comparison(
        _summary(pandas, frame, scores), frame, *_agreement(pandas, scores),
        {name: fit.model for name, fit in models.items()}, hidden, filled,
    )  # fmt: skip


def _methods(methods: Mapping[str, Any] | None) -> dict[str, Any]:
    if methods is None:
        methods = {
            "GL": GL(), "KGL": KGL(), "BayesianKGL": BayesianKGL(progress=False),
            "GraphicalLassoCV": GraphicalLassoCV(),
        }  # fmt: skip
    if not isinstance(methods, Mapping) or not methods:
        raise ValueError(
            f"methods = {methods!r} must map names to estimators, such as {{'KGL': kgl.KGL()}}"
        )
    for name, estimator in methods.items():
        known = isinstance(estimator, (GraphLearner, BayesianKGL))
        if name == MEANS:
            raise ValueError(f"{MEANS!r} is always compared with; give your method another name")
        if not known and not hasattr(estimator, "get_precision"):
            raise TypeError(
                f"methods[{name!r}] = {estimator!r} is no estimator of kgl and no covariance "
                "estimator of scikit-learn, such as GraphicalLassoCV(); leave it out"
            )
    return dict(methods)


def _folds(
    folds: Any, values: Array, n_folds: int, seed: int | np.random.Generator
) -> list[np.ndarray]:
    """Return the entries to hide; at random where the data's own gaps would hide hardly any."""
    found = choose_folds(folds, values, n_folds, seed)
    if isinstance(folds, str) and folds == "auto":
        least = FEW_HIDDEN * np.count_nonzero(~np.isnan(values))
        alike = any(np.array_equal(found[0], held) for held in found[1:])
        if alike or min(held.sum() for held in found) < least:
            return choose_folds("random", values, n_folds, seed)
    return found


def _hide(Y: Any, held: np.ndarray) -> Any:
    """Return the table without the hidden entries, names kept."""
    return Y.mask(held) if hasattr(Y, "loc") else np.where(held, np.nan, as_floats(Y))


def _scored(
    name: str, fold: int, values: Array, held: np.ndarray, scale: Array,
    predicted: tuple[Array, Array] | None, seconds: float,
) -> dict[str, Any]:  # fmt: skip
    """Return the figures of hidden entries, in units of the nodes' standard deviations."""
    row = {"method": name, "fold": fold, **dict.fromkeys(FIGURES, np.nan), "seconds": seconds}
    if predicted is None or not held.any():
        return row
    mean, std = predicted
    gap = ((values - mean) / scale)[held]
    spread = np.maximum((std / scale)[held], np.finfo(float).tiny)
    row["error"] = float(np.sqrt(np.mean(gap**2)))
    row["log_likelihood"] = float(np.mean(stats.norm.logpdf(gap, scale=spread)))
    bound = stats.norm.ppf(0.5 + 0.5 * LEVEL)
    row["coverage"] = float(np.mean(np.abs(gap) <= bound * spread))
    return row


def _interval(sample: Array) -> tuple[float, float, float]:
    """Return the mean of folds and a t-interval."""
    sample = sample[~np.isnan(sample)]
    if len(sample) < 2:
        return (float(sample[0]) if len(sample) else np.nan, np.nan, np.nan)
    mean, n = float(np.mean(sample)), len(sample)
    half = stats.t.ppf(0.5 + 0.5 * LEVEL, n - 1) * np.std(sample, ddof=1) / np.sqrt(n)
    return mean, mean - float(half), mean + float(half)


def _summary(pandas: Any, frame: Any, scores: dict[str, tuple[np.ndarray, Array]]) -> Any:
    rows = {}
    for name, group in frame.groupby("method", sort=False):
        row: dict[str, float] = {}
        for key in FIGURES:
            mean, low, high = _interval(group[key].to_numpy())
            if key == "coverage":  # a share
                low, high = max(low, 0.0), min(high, 1.0)
            row[key], row[f"{key}_low"], row[f"{key}_high"] = mean, low, high
        row["edges"] = float(scores[name][0].sum()) if name in scores else np.nan
        row["seconds"] = float(group["seconds"].mean())
        rows[name] = row
    return pandas.DataFrame.from_dict(rows, orient="index")


def _agreement(pandas: Any, scores: dict[str, tuple[np.ndarray, Array]]) -> tuple[Any, Any]:
    """Return the Jaccard index of edges and the rank correlation of scores, by pair of methods."""
    names = list(scores)
    shared, ranks = np.eye(len(names)), np.eye(len(names))
    for a, one in enumerate(names):
        for b, two in enumerate(names[:a]):
            (first, s), (second, t) = scores[one], scores[two]
            either = np.count_nonzero(first | second)
            shared[a, b] = np.count_nonzero(first & second) / either if either else np.nan
            varied = min(np.ptp(stats.rankdata(s)), np.ptp(stats.rankdata(t))) > 0
            ranks[a, b] = stats.spearmanr(s, t).statistic if varied else np.nan
            shared[b, a], ranks[b, a] = shared[a, b], ranks[a, b]
    frames = [pandas.DataFrame(matrix, index=names, columns=names) for matrix in (shared, ranks)]
    return frames[0], frames[1]
