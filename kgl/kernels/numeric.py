"""Kernels of numeric covariates: RBF and its bandwidth rules, linear, any function or matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from kgl._types import Array
from kgl.kernels.base import FittedKernel, Kernel, choice, number
from kgl.kernels.covariates import SCALES, Covariates, NumericReader, Scale
from kgl.kernels.factors import KernelAccess
from kgl.kernels.matrices import check_cross, check_kernel, symmetric_matrix

#: Rows from which typical distances are those of so many rows, drawn with a fixed seed: all pairs
#: would take memory of the size of the data squared.
SUBSET = 2000


def some_rows(size: int) -> np.ndarray:
    """Return the rows that widths are chosen from: all of them, or :data:`SUBSET` of many."""
    if size <= SUBSET:
        return np.arange(size)
    return np.sort(np.random.default_rng(0).choice(size, SUBSET, replace=False))


@dataclass(frozen=True, eq=False)
class NewColumns:
    """Kernel between new covariates and some rows. A class and no closure, so that it pickles."""

    reader: NumericReader
    evaluate: Callable[[Array, Array], Array]
    values: Array

    def __call__(self, X_new: Covariates, index: np.ndarray) -> Array:
        """Return the kernel (n_new, k)."""
        return self.evaluate(self.reader.read(X_new), self.values[index])


def numeric_access(
    reader: NumericReader,
    evaluate: Callable[[Array, Array], Array],
    values: Array,
    diagonal: Array,
    **notes: Any,
) -> KernelAccess:
    """Return a kernel of numeric covariates by its columns."""
    return KernelAccess(
        diagonal,
        lambda index: evaluate(values, values[index]),
        NewColumns(reader, evaluate, values),
        notes=notes,
    )


@dataclass(frozen=True, eq=False)
class FittedNumeric(FittedKernel):
    """Fitted kernel of numeric covariates; `X_` are the scaled training covariates."""

    spec: Kernel
    matrix: Array = field(repr=False)
    X_: Array = field(repr=False)
    _reader: NumericReader = field(repr=False)
    _evaluate: Callable[[Array, Array], Array] = field(repr=False)

    def cross(self, X_new: Covariates) -> Array:
        """Kernel between new and training covariates, of shape (n_new, n_train)."""
        return self._evaluate(self._reader.read(X_new), self.X_)


def _typical(values: Array) -> float:
    """Median of `values`; if that is 0, the mean of the positive ones."""
    above = values[values > 0]
    if above.size == 0:
        raise ValueError(
            f"no bandwidth can be taken from {values.size} distance(s), none of them positive: "
            "all covariate rows are equal (or there is only one); pass gamma, for example "
            "RBF(gamma=1.0), or leave these covariates out"
        )
    median = float(np.median(values))
    return median if median > 0 else float(above.mean())


def _nearest(distances: Array) -> Array:
    """Distance of each point to the nearest other place, from the distances of the pairs i < j."""
    from scipy.spatial.distance import squareform

    square = squareform(distances)
    square[square == 0] = np.inf  # itself, and points at the same place
    nearest = np.asarray(square.min(axis=1, initial=np.inf))
    return nearest[np.isfinite(nearest)]


BANDWIDTH_RULES: dict[str, Callable[[Array], float]] = {
    "median_distance": lambda distances: 1.0 / _typical(distances),
    "median_sq": lambda distances: 1.0 / _typical(distances**2),
    "median_sq_half": lambda distances: 0.5 / _typical(distances**2),
    "median_distance_half": lambda distances: 0.5 / _typical(distances),
    "median_nearest": lambda distances: 1.0 / (_typical(distances) * _typical(_nearest(distances))),
    "unit": lambda distances: 1.0,
}
"""Named bandwidth rules: Euclidean distances of the pairs i < j -> gamma of the RBF kernel.

``median_sq`` is the median heuristic as usually written; on the default, ``median_distance``, see
:class:`RBF`. Where more than half of the pairs coincide, the median is 0 and the mean of the
positive (squared) distances takes its place.
"""


@dataclass(frozen=True)
class RBF(Kernel):
    """Gaussian kernel ``k(x, x') = exp(-gamma ||x - x'||^2)``.

    Parameters
    ----------
    gamma : float, optional
        Inverse squared length scale, > 0. Overrides `bandwidth`.
    bandwidth : str, default="median_distance"
        Rule that takes gamma from the training covariates, one of :data:`BANDWIDTH_RULES`.
    scale : {None, "standard", "minmax"}
        Column scaling before distances are taken: none, ``(x - mean) / std``, or
        ``(x - min) / (max - min)``, of the training covariates. Constant columns stay as they are.

    Notes
    -----
    The paper has only "median heuristic". Read literally (``"median_sq"``), the kernel over 100
    time stamps has about eight usable directions and no model recovers a graph from it;
    ``gamma = 1 / median(d)`` is the specification that reproduces the paper's numbers. That default
    **depends on the unit** of the covariates: altitudes in metres give a kernel close to the
    identity, altitudes in kilometres a wide one. ``"median_sq"`` is free of units; so is any rule
    with ``scale="standard"``.

    Examples
    --------
    >>> RBF(gamma=2.0)([0.0, 1.0]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    >>> RBF(bandwidth="median_sq").fit([[0.0], [2.0]]).gamma_
    0.25
    """

    gamma: float | None = None
    bandwidth: str = "median_distance"
    scale: Scale = None

    def __post_init__(self) -> None:
        if self.gamma is not None:
            remedy = f"; for a rule use bandwidth=, one of {', '.join(BANDWIDTH_RULES)}"
            object.__setattr__(self, "gamma", number(self.gamma, "gamma", "> 0", remedy))
        choice(self.bandwidth, "bandwidth rule", list(BANDWIDTH_RULES))
        choice(self.scale, "scale", SCALES)

    def fit(self, X: Covariates) -> FittedRBF:
        """Scale the columns, choose gamma and evaluate the kernel on `X`."""
        reader, values = NumericReader.fit(X, self.scale)
        gamma = self._gamma(values)
        evaluate = partial(_gaussian, gamma)
        return FittedRBF(self, evaluate(values, values), values, reader, evaluate, gamma)

    def access(
        self, X: Covariates, targets: Array | None = None, mask: np.ndarray | None = None
    ) -> KernelAccess:
        """Scale the columns and choose gamma."""
        reader, values = NumericReader.fit(X, self.scale)
        gamma = self._gamma(values)
        evaluate = partial(_gaussian, gamma)
        return numeric_access(reader, evaluate, values, np.ones(len(values)), gamma=gamma)

    def _gamma(self, values: Array) -> float:
        """Return gamma as given, or by the rule from distances of at most :data:`SUBSET` rows."""
        if self.gamma is not None:
            return self.gamma
        from scipy.spatial.distance import pdist  # half a second to load, so only where used

        gamma = BANDWIDTH_RULES[self.bandwidth](np.asarray(pdist(values[some_rows(len(values))])))
        if not (math.isfinite(gamma) and gamma > 0):
            raise ValueError(
                f"bandwidth rule {self.bandwidth!r} gives gamma = {gamma}: the covariates are "
                "too large or too small for floating point; rescale them (scale='standard') "
                "or pass gamma"
            )
        return gamma


def _gaussian(gamma: float, A: Array, B: Array) -> Array:
    # Differences, not sklearn's ||x||^2 + ||y||^2 - 2 x.y: that one cancels for covariates far
    # from the origin (calendar years, projected coordinates).
    from scipy.spatial.distance import cdist

    return np.asarray(np.exp(-gamma * cdist(A, B, "sqeuclidean")))


@dataclass(frozen=True, eq=False)
class FittedRBF(FittedNumeric):
    """Fitted :class:`RBF`; `gamma_` is the gamma in use, `X_` the scaled training covariates."""

    gamma_: float


@dataclass(frozen=True)
class Linear(Kernel):
    """Linear kernel ``k(x, x') = <x, x'> + bias``, of rank at most (number of columns + 1).

    The bias, >= 0, is the prior variance of an intercept; `scale` is as in :class:`RBF`.

    >>> Linear(bias=1.0)([1.0, 2.0])
    array([[2., 3.],
           [3., 5.]])
    """

    bias: float = 0.0
    scale: Scale = None

    def __post_init__(self) -> None:
        remedy = "; a negative bias would make the kernel indefinite"
        object.__setattr__(self, "bias", number(self.bias, "bias", ">= 0", remedy))
        choice(self.scale, "scale", SCALES)

    def fit(self, X: Covariates) -> FittedNumeric:
        """Scale the columns and evaluate the kernel on `X`."""
        reader, values = NumericReader.fit(X, self.scale)
        return FittedNumeric(self, self._evaluate(values, values), values, reader, self._evaluate)

    def access(
        self, X: Covariates, targets: Array | None = None, mask: np.ndarray | None = None
    ) -> KernelAccess:
        """Scale the columns: they and the bias are a factor."""
        reader, values = NumericReader.fit(X, self.scale)
        read = _LinearFeatures(reader, self.bias)
        return KernelAccess.of_features(read.with_bias(values), read)

    def _evaluate(self, A: Array, B: Array) -> Array:
        return np.asarray(A @ B.T + self.bias)


@dataclass(frozen=True, eq=False)
class _LinearFeatures:
    reader: NumericReader
    bias: float

    def with_bias(self, values: Array) -> Array:
        return np.column_stack([values, np.full(len(values), math.sqrt(self.bias))])

    def __call__(self, X_new: Covariates) -> Array:
        return self.with_bias(self.reader.read(X_new))


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """Any function ``function(A, B) -> (len(A), len(B))`` of two numeric (rows, columns) arrays.

    For example one of scikit-learn's pairwise kernels or Gaussian process kernels. It must be
    symmetric and positive semi-definite, which is checked on the training covariates; to pickle
    the spec it must be importable (not a lambda). `scale` is as in :class:`RBF`.

    >>> from sklearn.gaussian_process.kernels import ExpSineSquared
    >>> season = FunctionKernel(ExpSineSquared(length_scale=1.0, periodicity=12.0))
    >>> season([0.0, 6.0, 12.0])[0].round(3)
    array([1.   , 0.135, 1.   ])
    """

    function: Callable[[Array, Array], Any]
    scale: Scale = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be callable, got {self.function!r}")
        choice(self.scale, "scale", SCALES)

    def fit(self, X: Covariates) -> FittedNumeric:
        """Scale the columns, evaluate the function on `X` and check the result."""
        reader, values = NumericReader.fit(X, self.scale)
        # Copies: a function that writes into its arguments must not spoil what is kept.
        matrix = self._called(values.copy(), values.copy())
        checked = check_kernel(matrix, f"the matrix of {self.function!r}", len(values))
        return FittedNumeric(self, checked, values, reader, self._evaluate)

    def access(
        self, X: Covariates, targets: Array | None = None, mask: np.ndarray | None = None
    ) -> KernelAccess:
        """Scale the columns and evaluate the diagonal, in blocks."""
        reader, values = NumericReader.fit(X, self.scale)
        blocks = [values[k : k + 256] for k in range(0, len(values), 256)]
        diagonal = np.concatenate([np.diag(self._evaluate(b.copy(), b)) for b in blocks])
        return numeric_access(reader, self._evaluate, values, diagonal)

    def _evaluate(self, A: Array, B: Array) -> Array:
        remedy = "the function must return one row per row of A and one column per row of B"
        return check_cross(self._called(A, B.copy()), len(B), remedy)

    def _called(self, A: Array, B: Array) -> Any:
        try:
            return self.function(A, B)
        except Exception as error:
            raise ValueError(
                f"the kernel {self.function!r} failed for arrays of {A.shape} and {B.shape}: "
                f"{error}; it must take two arrays, one row for each item, and return one row for "
                "each row of the first and one column for each row of the second"
            ) from error


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The covariates *are* the kernel: ``fit(K)`` and ``cross(K_new)``, K_new of (n_new, n_train).

    >>> fitted = Precomputed().fit([[1.0, 0.5], [0.5, 1.0]])
    >>> fitted.cross([[0.2, 0.4]])
    array([[0.2, 0.4]])
    """

    def fit(self, X: Covariates) -> FittedPrecomputed:
        """Check that `X` is a kernel matrix and keep a copy."""
        return FittedPrecomputed(self, check_kernel(X, "the precomputed kernel"))

    def access(
        self, X: Covariates, targets: Array | None = None, mask: np.ndarray | None = None
    ) -> KernelAccess:
        """Check that `X` is symmetric; whether it is semi-definite shows in its factor."""
        K, eps = symmetric_matrix(X, "the precomputed kernel")
        return KernelAccess.of_matrix(K, "the precomputed kernel", eps)


@dataclass(frozen=True, eq=False)
class FittedPrecomputed(FittedKernel):
    """Fitted :class:`Precomputed`."""

    spec: Precomputed
    matrix: Array = field(repr=False)

    def cross(self, X_new: Covariates) -> Array:
        """Check and copy the cross-kernel `X_new`, of shape (n_new, n_train)."""
        remedy = "a precomputed kernel needs the cross-kernel here, one column per training item"
        return check_cross(X_new, len(self.matrix), remedy)
