"""One method of a comparison: fitted, asked for missing entries and for its graph."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from kgl._threads import changed_filters
from kgl._types import Array
from kgl._validation import as_floats
from kgl.base import GraphLearner
from kgl.bayesian import BayesianKGL
from kgl.preparation import Preparation

__all__ = ["LIKELY", "Fit", "conditional", "varies"]

#: An edge of a Bayesian model is a pair of at least this probability.
LIKELY = 0.5


def varies(values: Array) -> np.ndarray:
    """Return which columns (m,) have two observed entries that differ."""
    seen = ~np.isnan(values)
    low = np.where(seen, values, np.inf).min(axis=0)
    return np.asarray(np.where(seen, values, -np.inf).max(axis=0) > low)


@dataclass
class Fit:
    """One method fitted to one table; ``model`` is None where another package's failed."""

    model: Any
    seconds: float
    own: bool  # of kgl
    columns: np.ndarray  # those that the method has

    @classmethod
    def of(cls, estimator: Any, Y: Any, side: dict[str, Any], name: str) -> Fit:
        own, model = isinstance(estimator, (GraphLearner, BayesianKGL)), clone(estimator)
        columns = varies(as_floats(Y))
        begin = time.perf_counter()
        if own:
            spec = model._spec
            used = {"x": spec.node_kernel, "z": spec.observation_kernel}
            model.fit(Y, **{key: value for key, value in side.items() if used[key[-1]]})
        else:
            try:
                with changed_filters():
                    # alphas at which the graphical lasso fails have a score of -inf, and no spread
                    warnings.simplefilter("ignore", RuntimeWarning)
                    model.fit(_standardised(Y)[0][:, columns])
            except (ArithmeticError, np.linalg.LinAlgError, ValueError) as error:
                warnings.warn(
                    f"{name} failed and has no figures where it did: {error}", stacklevel=3
                )
                model = None
        return cls(model, time.perf_counter() - begin, own, columns)

    def predicted(self, Y: Any) -> tuple[Array, Array] | None:
        """Return mean and standard deviation of all entries that are missing, None if it cannot."""
        if not self.own:
            return conditional(self.model.covariance_, Y, self.columns)
        if not (self.model._spec.fitted and self.model._spec.ridge):
            return None
        filled, std = self.model.impute(Y, return_std=True)
        return as_floats(filled), as_floats(std)

    def pairs(self, m: int) -> tuple[np.ndarray, Array]:
        """Return which pairs of the m nodes are edges, and scores that order pairs."""
        rows, cols = np.triu_indices(m, 1)
        if self.own:
            score = self.model.edge_scores_[rows, cols]
            if isinstance(self.model, BayesianKGL):
                return score >= LIKELY, score
            return self.model.weights_[rows, cols] > 0, score
        partial = np.zeros((m, m))
        if self.model is not None:
            precision = self.model.get_precision()
            size = np.sqrt(np.diag(precision))
            partial[np.ix_(self.columns, self.columns)] = precision / np.outer(size, size)
        score = np.abs(partial)[rows, cols]
        return score > 0, score


def _standardised(Y: Any) -> tuple[Array, np.ndarray, Preparation]:
    """Return standardised columns with means (zero) where entries are missing."""
    values = as_floats(Y)
    mask = ~np.isnan(values)
    ready = Preparation.fit(np.nan_to_num(values), mask, "node", "node")
    return ready.apply(np.nan_to_num(values), mask), mask, ready


def conditional(covariance: Array, Y: Any, columns: np.ndarray) -> tuple[Array, Array]:
    """Return moments of missing entries given the observed ones of their row, in some columns."""
    values, mask, ready = _standardised(Y)
    mean, variance = values.copy(), np.zeros_like(values)
    whole = np.zeros((len(columns), len(columns)))
    whole[np.ix_(columns, columns)] = covariance
    for row, observed in enumerate(mask):
        seen, open_ = observed & columns, ~observed & columns
        if not open_.any():
            continue
        inside = whole[np.ix_(seen, open_)]
        weights = np.linalg.solve(whole[np.ix_(seen, seen)], inside)
        mean[row, open_] = values[row, seen] @ weights
        variance[row, open_] = np.diag(whole)[open_] - np.sum(inside * weights, axis=0)
    return ready.undo(mean), np.sqrt(np.maximum(variance, 0.0)) * ready.scale
