"""An imputer in scikit-learn's conventions, to stand where ``KNNImputer`` stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from kgl._threads import checked_table
from kgl._types import Array
from kgl._validation import as_floats, count_masked, refuse_ragged
from kgl.base import GraphLearner
from kgl.bayesian import BayesianKGL
from kgl.folds import hold_out
from kgl.large import LARGE_FROM
from kgl.large.predict import new_rows
from kgl.models import DEFAULT_DENSITY, KGL

__all__ = ["KGLImputer", "default_density"]

#: Folds whose entries :meth:`KGLImputer.score` hides, one at a time.
SCORE_FOLDS = 5
#: Neighbours per node on average, at least, where no estimator is given.
NEIGHBOURS = 4.0


def default_density(m: int) -> float:
    """Return the density of the imputer's own model.

    A node without an edge has nothing to be filled from, so few nodes need more of them.

    Examples
    --------
    >>> default_density(50), default_density(5)
    (0.3, 1.0)
    """
    return max(DEFAULT_DENSITY, min(1.0, NEIGHBOURS / max(m - 1, 1)))


@dataclass(eq=False, repr=False, kw_only=True)
class KGLImputer(TransformerMixin, BaseEstimator):
    """Fill missing entries by a learned graph: a transformer around a graph learner.

    Rows that the imputer was fitted to get the fitted signals. Other rows are filled one by one,
    given the learned graph: each is a new, independent observation on the same nodes. With
    :class:`kgl.BayesianKGL` they are averages over graphs.

    Parameters
    ----------
    estimator : GraphLearner or BayesianKGL, optional
        The model, any that fits signals. If not given, :class:`kgl.KGL` with its defaults, but with
        four neighbours per node on average or more.

    Attributes
    ----------
    estimator_ : GraphLearner or BayesianKGL
        The fitted model, with the learned graph.
    n_features_in_, feature_names_in_
        As of other transformers.

    Examples
    --------
    >>> import numpy as np, kgl
    >>> t = np.arange(20.0)
    >>> Y = np.stack([np.sin(t), 10 * np.sin(t), np.sin(t) - 5, 2 * np.sin(t)], axis=1)
    >>> Y[3, 1] = np.nan
    >>> round(float(kgl.KGLImputer().fit_transform(Y)[3, 1]), 1), round(10 * float(np.sin(3.0)), 1)
    (1.4, 1.4)
    """

    estimator: GraphLearner | BayesianKGL | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: None = None, **side: Any) -> Self:
        """Learn the graph of the columns of ``X``; NaN marks a missing entry.

        Parameters
        ----------
        X : array or DataFrame (n, m)
            The data.
        y : None
            Ignored.
        **side
            ``x``, ``z``, ``K_x`` and ``K_z``, as for :meth:`GraphLearner.fit`.
        """
        refuse_ragged(X, "X")
        if self.estimator is None:
            shape = np.shape(X)
            m = shape[1] if len(shape) == 2 else 2
            model: GraphLearner | BayesianKGL = KGL(
                density=default_density(m) if m < LARGE_FROM else None
            )
        elif isinstance(self.estimator, GraphLearner | BayesianKGL):
            model = clone(self.estimator)
        else:
            raise TypeError(
                f"estimator = {self.estimator!r} is no graph learner of kgl; give one, such as "
                "kgl.KGL(density=0.2), and not its class"
            )
        if not model._spec.fitted:
            raise ValueError("GL fits no signals, so it cannot impute; use KGL or KGLN")
        self.estimator_ = model.fit(X, **side)
        self.n_features_in_ = model.n_features_in_
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        self._data = as_floats(X)
        return self

    def fit_transform(self, X: Any, y: None = None, **side: Any) -> Any:
        """Fit to ``X`` and fill its missing entries; parameters as for :meth:`fit`."""
        return self.fit(X, y, **side).transform(X)

    def transform(self, X: Any) -> Any:
        """Fill the missing entries of the rows of the fit, or of new rows.

        Parameters
        ----------
        X : array or DataFrame (k, m)
            Rows to fill, with the columns of the fit.

        Returns
        -------
        array (k, m)
            Observed entries as they are. A DataFrame with ``set_output(transform="pandas")``.
        """
        check_is_fitted(self, "estimator_")
        if count_masked(X):
            X = as_floats(X)  # scikit-learn would read the values behind the mask
        values = np.array(
            checked_table(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        )
        known = values.shape == self._data.shape and np.array_equal(
            values, self._data, equal_nan=True
        )
        filled = self.estimator_.signals_ if known else self._new_rows(values)
        return np.where(np.isnan(values), filled, values)

    def _new_rows(self, values: Array) -> Array:
        r"""Return the fitted values of new rows, each by itself, given the graph.

        With node covariance :math:`P = (\lambda K_x^{-1} + \rho L)^{-1}` and mask M they are
        :math:`P M (I + M P M)^{-1} y`; :mod:`kgl.bayesian.rows` has its counterpart.
        """
        model = self.estimator_
        if isinstance(model, BayesianKGL):
            return model._fill_rows(values)
        if model._sparse:
            return new_rows(model, values, ~np.isnan(values))
        lam, rho = model._point
        ready = model._ready.preparation.for_observations(len(values))
        mask = ~np.isnan(values)
        y = ready.apply(np.where(mask, values, 0.0), mask)
        if not model._spec.masked:  # missing entries count as zero, and there is no ridge
            system = np.eye(values.shape[1]) + rho * model.laplacian_
            return ready.undo(np.linalg.solve(system, np.where(mask, y, 0.0).T).T)
        kernel = model._ready.data.K_x
        # (lam K^-1 + rho L)^-1 = R (lam I + rho R L R)^-1 R with R the root of K, singular or not
        root = kernel.vectors * np.sqrt(kernel.values)
        inner = lam * np.eye(root.shape[1]) + rho * root.T @ model.laplacian_ @ root
        P = root @ np.linalg.solve(inner, root.T)
        filled = np.zeros_like(y)
        for pattern in np.unique(mask, axis=0):
            rows = np.flatnonzero((mask == pattern).all(axis=1))
            if pattern.any():
                seen = P[np.ix_(pattern, pattern)] + np.eye(int(pattern.sum()))
                filled[rows] = np.linalg.solve(seen, y[np.ix_(rows, pattern)].T).T @ P[pattern]
        return ready.undo(filled)

    def score(self, X: Any, y: None = None, **side: Any) -> float:
        """Return how well entries of ``X`` are predicted when they are hidden.

        One minus the squared error relative to that of column means, over five folds of the
        observed entries: 1 is perfect, 0 as good as means. The model is refitted for each.
        """
        values = as_floats(X)
        error = total = 0.0
        for held in hold_out(~np.isnan(values), SCORE_FOLDS, np.random.default_rng(0)):
            train = np.where(held, np.nan, values)
            guess = clone(self).fit_transform(train, **side)
            scale = np.nanstd(train, axis=0)
            scale = np.where(scale > 0, scale, 1.0)
            error += float(np.sum(((guess - values) / scale)[held] ** 2))
            total += float(np.sum(((np.nanmean(train, axis=0) - values) / scale)[held] ** 2))
        return 1.0 - error / total if total > 0 else 0.0

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns, which are those of the input."""
        check_is_fitted(self, "estimator_")
        if input_features is not None:
            return np.asarray(input_features, dtype=object)
        if hasattr(self, "feature_names_in_"):
            return np.asarray(self.feature_names_in_, dtype=object)
        return np.asarray([f"x{k}" for k in range(self.n_features_in_)], dtype=object)
