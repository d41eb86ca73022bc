"""Tables for packages that cannot have gaps: correlations over shared rows, and imputed values."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from experiments.arena.calls import Table
from kgl._types import Array

__all__ = ["completed", "pairwise"]

#: Least eigenvalue of correlations that are taken over different rows.
FLOOR = 1e-3
#: Columns that each one is regressed on at most.
PREDICTORS = 20


def completed(table: Table) -> Table:
    """Return a table with its correlations and its imputed values.

    Examples
    --------
    >>> made = completed(Table(np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 5.0], [0.0, 1.0]])))
    >>> made.C.shape, bool(np.isfinite(made.filled).all())
    ((2, 2), True)
    """
    if np.isfinite(table.Y).all():
        return replace(table, C=np.asarray(np.corrcoef(table.Y.T)), filled=table.Y)
    return replace(table, C=pairwise(table.Y), filled=imputed(table.Y))


def pairwise(Y: Array) -> Array:
    """Return correlations over the rows that both columns have, made positive definite."""
    import pandas as pd

    found = pd.DataFrame(Y).corr().fillna(0.0).to_numpy(copy=True)
    np.fill_diagonal(found, 1.0)
    values, vectors = np.linalg.eigh(found)
    found = (vectors * np.maximum(values, FLOOR)) @ vectors.T
    d = np.sqrt(found.diagonal())
    return np.asarray(found / np.outer(d, d))


def imputed(Y: Array) -> Array:
    """Fill gaps by regressions of each column on others (scikit-learn's IterativeImputer)."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    near = PREDICTORS if Y.shape[1] > PREDICTORS else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it hardly ever converges in its ten rounds
        filled = IterativeImputer(random_state=0, n_nearest_features=near).fit_transform(Y)
    return np.asarray(filled)
