"""Ways to fill the gaps of a table, all with the same arguments: baselines and KGL.

Each takes ``Y`` (DataFrame, NaN where nothing is known), ``x`` (covariates of its columns, or None)
and ``z`` (dates or numbers of its rows, or None), and returns the filled values. Covariates that a
method has no use for are ignored. Methods that depend on the units of the columns work on
standardised ones, see :func:`standardised`; KGL has the table as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from kgl._types import Array
from kgl.imputer import KGLImputer, default_density
from kgl.models import KGL
from kgl.seeding import stream
from kgl.selection import select_held_out

__all__ = ["BASELINES", "METHODS", "Method", "numbers", "soft_impute", "standardised", "times"]

Fill: TypeAlias = Callable[[pd.DataFrame, pd.DataFrame | None, pd.Series | None], Array]

#: Weight of the graph term with which the graph does not change the signals.
NO_GRAPH = 1e-12


@dataclass(frozen=True)
class Method:
    """A method: its label, how it fills gaps, and whether it is one of ours or needs ``z``."""

    label: str
    fill: Fill
    ours: bool = False
    needs_z: bool = False


def numbers(z: pd.Series | None) -> pd.DataFrame | None:
    """Return dates or numbers as a column of floats, dates in days."""
    if z is None:
        return None
    if pd.api.types.is_datetime64_any_dtype(z):
        return pd.DataFrame({"z": (z - z.min()).dt.total_seconds() / 86400})
    return pd.DataFrame({"z": z.astype(float)})


def times(z: pd.Series | None) -> np.ndarray | None:
    """Return dates or numbers as KGL takes them: as they are."""
    return None if z is None else z.to_numpy()


def standardised(fill: Fill) -> Fill:
    """Let a method see columns of mean zero and variance one over their observed entries.

    A constant column is only centred.
    """

    @wraps(fill)
    def wrapped(Y: pd.DataFrame, x: pd.DataFrame | None, z: pd.Series | None) -> Array:
        centre, scale = Y.mean(), Y.std(ddof=0)
        scale = scale.where(scale > 1e-12 * Y.abs().max(), 1.0)
        return fill((Y - centre) / scale, x, z) * scale.to_numpy() + centre.to_numpy()

    return wrapped


# ------------------------------------------------------------------------------------ baselines


def column_mean(Y: pd.DataFrame, x: Any, z: Any) -> Array:
    """Fill with the mean of the column."""
    return np.asarray(Y.fillna(Y.mean()), dtype=float)


def interpolate(Y: pd.DataFrame, x: Any, z: pd.Series | None) -> Array:
    """Interpolate each column linearly over ``z``, or over the rows in their order without it.

    The first and the last observed value are continued to the ends.
    """
    time = numbers(z)
    at = np.arange(len(Y)) if time is None else time["z"].to_numpy()
    order = np.argsort(at, kind="stable")
    filled = np.empty(Y.shape)
    for j, name in enumerate(Y.columns):
        values = Y[name].to_numpy(dtype=float)[order]
        seen = np.isfinite(values)
        filled[order, j] = np.interp(at[order], at[order][seen], values[seen])
    return filled


def _columns(Y: pd.DataFrame, z: pd.Series | None) -> Array:
    """Return the columns with ``z``, standardised, as one more: regressions can use it."""
    time = numbers(z)
    if time is None:
        return Y.to_numpy(dtype=float)
    return np.column_stack([Y, (time - time.mean()) / time.std(ddof=0)])


@standardised
def knn(Y: pd.DataFrame, x: Any, z: pd.Series | None) -> Array:
    """Fill with the mean of the five nearest rows (scikit-learn's default)."""
    from sklearn.impute import KNNImputer

    return np.asarray(KNNImputer().fit_transform(_columns(Y, z))[:, : Y.shape[1]])


@standardised
def iterative(Y: pd.DataFrame, x: Any, z: pd.Series | None) -> Array:
    """Regress each column on the others in turn (IterativeImputer: Bayesian ridge)."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    filled = IterativeImputer(random_state=0).fit_transform(_columns(Y, z))
    return np.asarray(filled[:, : Y.shape[1]])


@standardised
def gaussian_process(Y: pd.DataFrame, x: Any, z: pd.Series | None) -> Array:
    """Fit a Gaussian process over ``z`` to each column: RBF kernel and noise, optimised once."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    time = numbers(z)
    if time is None:
        raise ValueError("a Gaussian process over z needs z")
    at = ((time - time.min()) / (time.max() - time.min())).to_numpy()
    kernel = ConstantKernel(1.0) * RBF(0.1, (1e-3, 1e1)) + WhiteKernel(0.1, (1e-6, 1e1))
    filled = Y.to_numpy(dtype=float, copy=True)
    for column in filled.T:  # views
        seen = np.isfinite(column)
        if not seen.all():
            model = GaussianProcessRegressor(kernel).fit(at[seen], column[seen])
            column[~seen] = model.predict(at[~seen])
    return filled


def soft_impute(Y: Array, penalty: float, start: Array, tol: float = 1e-4) -> Array:
    """Complete a matrix by soft-thresholding its singular values (Mazumder et al., 2010).

    Minimises half the squared error of the observed entries plus ``penalty`` times the sum of the
    singular values, by filling the gaps with the last estimate and thresholding again.
    """
    seen = np.isfinite(Y)
    fitted = start
    for _ in range(500):
        U, values, V = np.linalg.svd(np.where(seen, Y, fitted), full_matrices=False)
        new = (U * np.maximum(values - penalty, 0.0)) @ V
        change = np.linalg.norm(new - fitted)
        fitted = new
        if change <= tol * max(float(np.linalg.norm(fitted)), 1e-12):
            break
    return np.asarray(fitted)


@standardised
def low_rank(Y: pd.DataFrame, x: Any, z: Any) -> Array:
    """Complete the matrix by :func:`soft_impute`; a tenth of the entries chooses the penalty."""
    values = Y.to_numpy(dtype=float)
    seen = np.argwhere(np.isfinite(values))
    held = seen[stream(0, "pays", "soft_impute").permutation(len(seen))[: max(1, len(seen) // 10)]]
    train = values.copy()
    train[held[:, 0], held[:, 1]] = np.nan
    largest = np.linalg.norm(np.nan_to_num(values), 2)
    penalties = largest * np.logspace(-0.1, -3, 15)
    errors, fitted = [], np.zeros_like(values)
    for penalty in penalties:  # each starts at the solution of the larger one
        fitted = soft_impute(train, penalty, fitted)
        errors.append(np.mean((fitted - values)[held[:, 0], held[:, 1]] ** 2))
    fitted = np.zeros_like(values)
    for penalty in penalties[: int(np.argmin(errors)) + 1]:
        fitted = soft_impute(values, penalty, fitted)
    return np.where(np.isfinite(values), values, fitted)


# ------------------------------------------------------------------------------------------ KGL


def _imputer(**options: Any) -> Fill:
    def fill(Y: pd.DataFrame, x: pd.DataFrame | None, z: pd.Series | None) -> Array:
        imputer = KGLImputer()
        if options:  # the imputer's own model but for these
            density = default_density(Y.shape[1])
            imputer = KGLImputer(estimator=KGL(density=density, **options))
        return np.asarray(imputer.fit_transform(Y, x=x, z=times(z)), dtype=float)

    return fill


def _kgl_tuned(**options: Any) -> Fill:
    def fill(Y: pd.DataFrame, x: pd.DataFrame | None, z: pd.Series | None) -> Array:
        density = default_density(Y.shape[1])
        found = select_held_out(KGL, Y, x=x, z=times(z), density=density, progress=False, **options)
        return np.asarray(found.estimator.impute(Y), dtype=float)

    return fill


#: All methods by name, baselines first.
METHODS = {
    "mean": Method("column mean", column_mean),
    "interpolate": Method("interpolation", interpolate),
    "knn": Method("KNNImputer", knn),
    "iterative": Method("IterativeImputer", iterative),
    "gp": Method("GP per node", gaussian_process, needs_z=True),
    "low_rank": Method("softImpute", low_rank),
    "kgl": Method("KGL", _imputer(), ours=True),
    "kgl_no_graph": Method("KGL, no graph", _imputer(rho=NO_GRAPH), ours=True),
    "kgl_tuned": Method("KGL tuned", _kgl_tuned(), ours=True),
    "kgl_tuned_no_graph": Method("KGL tuned, no graph", _kgl_tuned(rho=[NO_GRAPH]), ours=True),
}
BASELINES = tuple(name for name, method in METHODS.items() if not method.ours)
