r"""Kernels over node-side and observation-side covariates.

The paper views the signals as a function ``f(z, x)`` in the reproducing kernel Hilbert space of
the product kernel ``k_z (x) k_x``, so side information enters the models only through two
positive semi-definite matrices, ``K_x`` (nodes) and ``K_z`` (observations).  This module has

*kernel specs*
    small immutable objects (:class:`RBF`, :class:`Linear`, :class:`Mixed`,
    :class:`LaplacianKernel`, :class:`Precomputed`, :class:`FunctionKernel`).
    ``spec.fit(X)`` learns whatever the kernel takes from the training covariates (bandwidth,
    column scales, categories) and returns a :class:`FittedKernel` with the training matrix
    ``.matrix`` and ``.cross(X_new)``, the kernel between new and training covariates: the part
    that makes ``f`` defined away from the training points.  ``spec(X)`` is ``spec.fit(X).matrix``.
*checks and decompositions*
    :func:`check_kernel`, :func:`kernel_eigen`, :func:`nearest_psd`, :func:`normalise`.

Nothing here changes its input.

Examples
--------
>>> import numpy as np
>>> from kgl.kernels import RBF
>>> fitted = RBF().fit([0.0, 1.0, 3.0])     # distances 1, 3, 2: gamma = 1 / median = 1 / 2
>>> fitted.gamma_
0.5
>>> np.round(fitted.matrix[0], 3)
array([1.   , 0.607, 0.011])
>>> fitted.cross([1.0]).shape               # one new point against three training points
(1, 3)
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist  # type: ignore[import-untyped, unused-ignore]

__all__ = [
    "BANDWIDTH_RULES",
    "KERNELS",
    "RBF",
    "FittedKernel",
    "FunctionKernel",
    "Kernel",
    "KernelEigen",
    "LaplacianKernel",
    "Linear",
    "Mixed",
    "Precomputed",
    "as_kernel",
    "check_kernel",
    "kernel_eigen",
    "nearest_psd",
    "normalise",
]

FloatArray: TypeAlias = NDArray[np.float64]
# Covariates are arrays, nested lists, Series or DataFrames; DataFrames are recognised by what
# they offer (``columns``, ``dtypes``), so that the numeric core does not depend on pandas.
Covariates: TypeAlias = Any
Scale: TypeAlias = Literal["standard", "minmax"] | None

_SCALES: tuple[Scale, ...] = (None, "standard", "minmax")
_CATEGORICAL_DTYPES = ("object", "categor", "bool", "str", "enum")


# --------------------------------------------------------------------------------------------
# Reading covariates
# --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Table:
    """Covariates as columns, with their names (or None) and whether each is categorical."""

    columns: tuple[NDArray[Any], ...]
    names: tuple[Hashable, ...] | None
    categorical: tuple[bool, ...]

    def label(self, position: int) -> str:
        return f"column {position if self.names is None else self.names[position]!r}"


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas' NA (whose comparisons are neither true nor false)."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


def _is_number(value: Any) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, (str, bytes, bool, np.bool_))


def _looks_categorical(column: NDArray[Any]) -> bool:
    """Kind of a column that has no dtype of its own (a column of an array)."""
    if column.dtype.kind == "O":
        return not all(_is_number(value) or _is_missing(value) for value in column)
    return column.dtype.kind in "bUST"


def _as_table(X: Covariates, what: str) -> _Table:
    if hasattr(X, "toarray"):
        raise TypeError(f"{what} is a sparse {type(X).__name__}: pass {what}.toarray()")
    is_frame = hasattr(X, "columns") and hasattr(X, "dtypes")
    names: tuple[Hashable, ...] | None = None
    if is_frame or hasattr(X, "to_frame"):
        frame = X if is_frame else X.to_frame()
        found = tuple(frame.columns)
        if len(set(found)) < len(found):
            twice = next(name for name in found if found.count(name) > 1)
            raise ValueError(f"{what} has two columns named {twice!r}: rename or drop one")
        columns = tuple(np.asarray(frame[name]) for name in found)
        categorical = tuple(
            str(frame[name].dtype).lower().startswith(_CATEGORICAL_DTYPES) for name in found
        )
        # A Series is one unnamed column: its name is often an accident of how it was made.
        names = found if is_frame else None
    else:
        values = np.asarray(X)
        if values.dtype.kind in "US" and not isinstance(X, np.ndarray):
            # NumPy turns [["a", 1.0]] into strings throughout; keep the numbers as numbers.
            values = np.array(X, dtype=object)
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2:
            raise ValueError(
                f"{what} has {values.ndim} dimensions: covariates are one row per item and one "
                "column per covariate (or one-dimensional, for a single covariate)"
            )
        columns = tuple(values.T)
        categorical = tuple(_looks_categorical(column) for column in columns)
    if not columns:
        raise ValueError(f"{what} has no columns: pass at least one covariate")
    if len(columns[0]) == 0:
        raise ValueError(f"{what} has no rows: pass at least one row of covariates")
    return _Table(columns, names, categorical)


def _numeric_column(column: NDArray[Any], label: str, what: str) -> FloatArray:
    if column.dtype.kind in "mM":
        raise TypeError(
            f"{what}, {label} holds dates or durations: convert it to numbers in the unit you "
            "mean (for example days since the first one), because bandwidths depend on the unit"
        )
    if column.dtype.kind == "c":
        raise TypeError(f"{what}, {label} is complex: pass its real and imaginary parts apart")
    if column.dtype.kind in "biuf":
        numbers = column.astype(np.float64)
    else:
        for row, value in enumerate(column):
            if not _is_missing(value) and not (
                _is_number(value) or isinstance(value, (bool, np.bool_))
            ):
                raise TypeError(
                    f"{what}, {label} holds {value!r} (row {row}), which is not a number: use "
                    "kgl.kernels.Mixed for categorical covariates, or encode the column"
                )
        numbers = np.array(
            [math.nan if _is_missing(value) else float(value) for value in column],
            dtype=np.float64,
        )
    finite = np.isfinite(numbers)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"{what}, {label} is {numbers[row]} in row {row}: covariates must be finite; impute "
            "the value or drop the row"
        )
    return numbers


def _numeric(table: _Table, positions: Iterable[int], what: str) -> FloatArray:
    columns = [_numeric_column(table.columns[p], table.label(p), what) for p in positions]
    if not columns:
        return np.empty((len(table.columns[0]), 0))
    return np.column_stack(columns)


@dataclass(frozen=True, eq=False)
class _Schema:
    """What the training covariates looked like, to read new covariates the same way."""

    names: tuple[Hashable, ...] | None
    n_columns: int

    @classmethod
    def of(cls, table: _Table) -> _Schema:
        return cls(table.names, len(table.columns))

    def align(self, X_new: Covariates, used: tuple[int, ...]) -> _Table:
        """Columns `used` of `X_new`: by name if both sides have names, else by position."""
        table = _as_table(X_new, "X_new")
        if self.names is not None and table.names is not None:
            wanted = [self.names[p] for p in used]
            missing = [name for name in wanted if name not in table.names]
            if missing:
                raise ValueError(
                    f"X_new lacks column {missing[0]!r}, which the kernel was fitted on: pass the "
                    f"columns {wanted!r}"
                )
            at = [table.names.index(name) for name in wanted]
        else:
            if len(table.columns) != self.n_columns:
                raise ValueError(
                    f"X_new has {len(table.columns)} column(s) but the kernel was fitted on "
                    f"{self.n_columns}: pass the same columns (for a single row, "
                    "X_new.reshape(1, -1))"
                )
            at = list(used)
        return _Table(
            tuple(table.columns[p] for p in at),
            None if table.names is None else tuple(table.names[p] for p in at),
            tuple(table.categorical[p] for p in at),
        )


@dataclass(frozen=True, eq=False)
class _Scaler:
    """Column-wise ``(x - offset) / spread``."""

    offset: FloatArray
    spread: FloatArray

    @classmethod
    def fit(cls, X: FloatArray, scale: Scale) -> _Scaler:
        if scale is None:
            return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        low, high = X.min(axis=0), X.max(axis=0)
        offset, spread = (
            (X.mean(axis=0), X.std(axis=0)) if scale == "standard" else (low, high - low)
        )
        # A constant column carries no information.  Its computed deviation may be 1e-17 instead
        # of 0, and dividing by that would turn rounding into a covariate.
        return cls(offset, np.where((high == low) | (spread == 0), 1.0, spread))

    def apply(self, X: FloatArray) -> FloatArray:
        return np.asarray((X - self.offset) / self.spread, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _NumericReader:
    """Covariates -> checked and scaled (rows, columns) array, the same way every time."""

    schema: _Schema
    scaler: _Scaler

    @classmethod
    def fit(cls, X: Covariates, scale: Scale) -> tuple[_NumericReader, FloatArray]:
        table = _as_table(X, "X")
        values = _numeric(table, range(len(table.columns)), "X")
        reader = cls(_Schema.of(table), _Scaler.fit(values, scale))
        return reader, reader.scaler.apply(values)

    def read(self, X_new: Covariates) -> FloatArray:
        table = self.schema.align(X_new, tuple(range(self.schema.n_columns)))
        return self.scaler.apply(_numeric(table, range(len(table.columns)), "X_new"))


def _number(
    value: Any,
    name: str,
    *,
    low: float,
    strict: bool,
    high: float = math.inf,
    remedy: str = "",
) -> float:
    """`value` as a float in (low, high] (strict) or [low, high], or an error that says so."""
    if isinstance(value, (bool, np.bool_)) or not _is_number(value) or np.ndim(value) != 0:
        raise TypeError(f"{name} must be a number, got {value!r}{remedy}")
    number = float(value)
    if not math.isfinite(number) or number < low or number > high or (strict and number == low):
        span = f"> {low:g}" if strict else f">= {low:g}"
        if high < math.inf:
            span = f"between {low:g} and {high:g}"
        raise ValueError(f"{name} must be finite and {span}, got {value!r}{remedy}")
    return number


def _choice(value: Any, name: str, valid: Iterable[Any]) -> None:
    options = list(valid)
    if not isinstance(value, (str, type(None))) or value not in options:
        names = ", ".join(repr(option) for option in options)
        raise ValueError(f"unknown {name} {value!r}: choose one of {names}")


# --------------------------------------------------------------------------------------------
# The contract of a kernel spec
# --------------------------------------------------------------------------------------------


class FittedKernel(ABC):
    """A kernel with everything it learned from its training covariates.

    Attributes
    ----------
    spec : Kernel
        The spec this was fitted from.
    matrix : ndarray of shape (n_train, n_train)
        Symmetric positive semi-definite kernel matrix of the training covariates.
    """

    spec: Kernel
    matrix: FloatArray

    @abstractmethod
    def cross(self, X_new: Covariates) -> FloatArray:
        """Kernel between new and training covariates, of shape (n_new, n_train).

        ``fitted.cross(X_train)`` is ``fitted.matrix``.
        """


class Kernel(ABC):
    """Base of the kernel specs: immutable, comparable with ``==``, and picklable."""

    @abstractmethod
    def fit(self, X: Covariates) -> FittedKernel:
        """Learn bandwidth, scales and categories from `X` and evaluate the kernel on it."""

    def __call__(self, X: Covariates) -> FloatArray:
        """Kernel matrix of `X`: shorthand for ``spec.fit(X).matrix``."""
        return self.fit(X).matrix


# --------------------------------------------------------------------------------------------
# RBF
# --------------------------------------------------------------------------------------------


def _typical(values: FloatArray) -> float:
    """Median of `values`; if that is 0, the mean of the positive ones."""
    positive = values[values > 0]
    if positive.size == 0:
        raise ValueError(
            f"no bandwidth can be taken from {values.size} distance(s), none of them positive: "
            "all covariate rows are equal (or there is only one); pass gamma, for example "
            "RBF(gamma=1.0), or leave these covariates out"
        )
    median = float(np.median(values))
    return median if median > 0 else float(positive.mean())


def _median_distance(distances: FloatArray) -> float:
    return 1.0 / _typical(distances)


def _median_sq(distances: FloatArray) -> float:
    return 1.0 / _typical(distances**2)


def _median_sq_half(distances: FloatArray) -> float:
    return 0.5 / _typical(distances**2)


def _median_distance_half(distances: FloatArray) -> float:
    return 0.5 / _typical(distances)


def _unit(distances: FloatArray) -> float:
    return 1.0


BANDWIDTH_RULES: dict[str, Callable[[FloatArray], float]] = {
    "median_distance": _median_distance,
    "median_sq": _median_sq,
    "median_sq_half": _median_sq_half,
    "median_distance_half": _median_distance_half,
    "unit": _unit,
}
"""Named bandwidth rules: Euclidean distances of the pairs i < j -> gamma of the RBF kernel.

======================  ==========================  ==============================================
name                    gamma                       note
======================  ==========================  ==============================================
median_distance         1 / median(d)               the default; see :class:`RBF`
median_sq               1 / median(d^2)             the median heuristic as usually written
median_sq_half          1 / (2 median(d^2))         the same with the Gaussian's factor 1/2
median_distance_half    1 / (2 median(d))
unit                    1
======================  ==========================  ==============================================

Where more than half of the pairs coincide the median is 0; the mean of the positive (squared)
distances then takes its place.
"""


@dataclass(frozen=True)
class RBF(Kernel):
    r"""Gaussian kernel ``k(x, x') = exp(-gamma ||x - x'||^2)``.

    Parameters
    ----------
    gamma : float, optional
        Inverse squared length scale, > 0.  Overrides `bandwidth`.
    bandwidth : str, default="median_distance"
        Rule that takes gamma from the training covariates, one of :data:`BANDWIDTH_RULES`.
    scale : {None, "standard", "minmax"}
        Column scaling before distances are taken: none, ``(x - mean) / std``, or
        ``(x - min) / (max - min)``, all from the training covariates.  Constant columns are
        left alone.

    Notes
    -----
    The paper says only "median heuristic".  Read literally (``"median_sq"``), the kernel over 100
    time stamps has about eight usable directions and no model recovers a graph from it;
    ``gamma = 1 / median(d)``, that is ``exp(-d^2 / median distance)``, is the reading that
    reproduces the paper's numbers, hence the default.

    That default **depends on the unit** of the covariates: d^2 / median(d) still has one, so
    altitudes in metres give a kernel close to the identity and altitudes in kilometres a wide
    one.  ``"median_sq"`` is free of units; so is any rule with ``scale="standard"``.

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
            gamma = _number(
                self.gamma,
                "gamma",
                low=0,
                strict=True,
                remedy=f"; for a rule use bandwidth=, one of {', '.join(BANDWIDTH_RULES)}",
            )
            object.__setattr__(self, "gamma", gamma)
        _choice(self.bandwidth, "bandwidth rule", BANDWIDTH_RULES)
        _choice(self.scale, "scale", _SCALES)

    def fit(self, X: Covariates) -> FittedRBF:
        """Scale the columns, choose gamma and evaluate the kernel on `X`."""
        reader, values = _NumericReader.fit(X, self.scale)
        # Differences, not sklearn's ||x||^2 + ||y||^2 - 2 x.y: that one cancels for covariates
        # far from the origin (calendar years, projected coordinates).
        squared = _squared_distances(values, values)
        if self.gamma is not None:
            gamma = self.gamma
        else:
            pairs = np.sqrt(squared[np.triu_indices(len(values), k=1)])
            gamma = BANDWIDTH_RULES[self.bandwidth](pairs)
            if not (math.isfinite(gamma) and gamma > 0):
                raise ValueError(
                    f"bandwidth rule {self.bandwidth!r} gives gamma = {gamma}: the covariates are "
                    "too large or too small for floating point; rescale them (scale='standard') "
                    "or pass gamma"
                )
        return FittedRBF(self, np.exp(-gamma * squared), gamma, values, reader)


def _squared_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(cdist(A, B, "sqeuclidean"), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class FittedRBF(FittedKernel):
    """Fitted :class:`RBF`; `gamma_` is the gamma in use, `X_` the scaled training covariates."""

    spec: RBF
    matrix: FloatArray = field(repr=False)
    gamma_: float
    X_: FloatArray = field(repr=False)
    _reader: _NumericReader = field(repr=False)

    def cross(self, X_new: Covariates) -> FloatArray:
        """Kernel between new and training covariates, of shape (n_new, n_train)."""
        squared = _squared_distances(self._reader.read(X_new), self.X_)
        return np.asarray(np.exp(-self.gamma_ * squared), dtype=np.float64)


# --------------------------------------------------------------------------------------------
# Linear
# --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Linear(Kernel):
    """Linear kernel ``k(x, x') = x . x' + bias``.

    Its matrix has rank at most (number of columns + 1), which the solvers handle.

    Parameters
    ----------
    bias : float, default=0.0
        Constant added to every entry, >= 0: the prior variance of an intercept.
    scale : {None, "standard", "minmax"}
        Column scaling, as in :class:`RBF`.

    Examples
    --------
    >>> Linear(bias=1.0)([1.0, 2.0])
    array([[2., 3.],
           [3., 5.]])
    """

    bias: float = 0.0
    scale: Scale = None

    def __post_init__(self) -> None:
        bias = _number(
            self.bias,
            "bias",
            low=0,
            strict=False,
            remedy="; a negative bias would make the kernel indefinite",
        )
        object.__setattr__(self, "bias", bias)
        _choice(self.scale, "scale", _SCALES)

    def fit(self, X: Covariates) -> FittedLinear:
        """Scale the columns and evaluate the kernel on `X`."""
        reader, values = _NumericReader.fit(X, self.scale)
        return FittedLinear(self, values @ values.T + self.bias, values, reader)


@dataclass(frozen=True, eq=False)
class FittedLinear(FittedKernel):
    """Fitted :class:`Linear`; `X_` are the scaled training covariates."""

    spec: Linear
    matrix: FloatArray = field(repr=False)
    X_: FloatArray = field(repr=False)
    _reader: _NumericReader = field(repr=False)

    def cross(self, X_new: Covariates) -> FloatArray:
        """Kernel between new and training covariates, of shape (n_new, n_train)."""
        return np.asarray(self._reader.read(X_new) @ self.X_.T + self.spec.bias)


# --------------------------------------------------------------------------------------------
# Mixed numeric and categorical covariates
# --------------------------------------------------------------------------------------------


def _column_choice(columns: Any, name: str) -> tuple[Hashable, ...] | None:
    if columns is None:
        return None
    chosen = (columns,) if isinstance(columns, (str, int, np.integer)) else tuple(columns)
    for column in chosen:
        if isinstance(column, (bool, np.bool_)):
            raise TypeError(
                f"{name} holds {column!r}: list column names or positions, not a boolean mask "
                "(np.flatnonzero(mask) turns one into positions)"
            )
        if chosen.count(column) > 1:
            raise ValueError(f"{name} lists column {column!r} twice: list it once")
    return chosen


def _positions(chosen: tuple[Hashable, ...], table: _Table, name: str) -> tuple[int, ...]:
    """Positions of the chosen columns: a name if there is one like it, else a position."""
    n_columns = len(table.columns)
    found = []
    for column in chosen:
        if table.names is not None and column in table.names:
            found.append(table.names.index(column))
        elif isinstance(column, (int, np.integer)) and 0 <= column < n_columns:
            found.append(int(column))
        else:
            have = (
                f"positions 0 to {n_columns - 1} (X has no column names)"
                if table.names is None
                else f"the columns {list(table.names)!r}"
            )
            raise ValueError(f"{name} column {column!r} is not in X: choose from {have}")
    return tuple(found)


@dataclass(frozen=True)
class Mixed(Kernel):
    r"""Kernel for covariates that are partly numbers and partly categories.

    With ``k(u, u')`` the kernel of the p numeric columns and, for each of the q categorical
    columns c, the overlap kernel ``o_c(v, v') = 1 if v_c == v'_c else theta``::

        combine="product":   K = k(u, u') * prod_c o_c(v, v')
                               = k(u, u') * theta^(number of categories that differ)
        combine="mean":      K = (p k(u, u') + sum_c o_c(v, v')) / (p + q)

    Each ``o_c`` is ``theta 11' + (1 - theta) [equal]``, positive semi-definite for theta in
    [0, 1]; products and means keep that.  The product says "alike in everything"; the mean,
    every column weighing the same, says "alike in something", and is the milder choice when there
    are many categorical columns.  With no numeric (or no categorical) column its factor is absent.

    Parameters
    ----------
    numeric, categorical : column name(s) or position(s), optional
        With both left out, a DataFrame's dtypes decide (object, category, bool and string are
        categorical); the columns of an array are categorical where they hold anything but
        numbers.  With one of them given, all other columns are of the other kind.  With both
        given, columns in neither are ignored.  Integer codes (a prefecture number) look
        numeric: name such columns in `categorical`.
    theta : float, default=0.5
        Similarity of two different categories, in [0, 1]; 1 ignores categorical columns.
    combine : {"product", "mean"}
        How the parts are put together.
    kernel : Kernel or str, default=RBF(scale="standard")
        Kernel of the numeric columns together.  Scaling is on by default because columns such as
        price and age share no unit.

    Notes
    -----
    A category that was not there in training equals no training category.  Missing values are
    refused: a label of its own (``fillna("missing")``) says what they should mean.

    Examples
    --------
    >>> X = [["maki", 1.0], ["maki", 3.0], ["nigiri", 1.0]]
    >>> Mixed(theta=0.25, kernel=RBF(gamma=1.0))(X).round(3)
    array([[1.   , 0.018, 0.25 ],
           [0.018, 1.   , 0.005],
           [0.25 , 0.005, 1.   ]])
    """

    numeric: Any = None
    categorical: Any = None
    theta: float = 0.5
    combine: Literal["product", "mean"] = "product"
    kernel: Kernel | str = RBF(scale="standard")

    def __post_init__(self) -> None:
        for name in ("numeric", "categorical"):
            object.__setattr__(self, name, _column_choice(getattr(self, name), name))
        theta = _number(
            self.theta,
            "theta",
            low=0,
            high=1,
            strict=False,
            remedy="; outside of that the overlap kernel is indefinite",
        )
        object.__setattr__(self, "theta", theta)
        _choice(self.combine, "combine", ("product", "mean"))
        object.__setattr__(self, "kernel", as_kernel(self.kernel))

    def _split(self, table: _Table) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Positions of the numeric and of the categorical columns."""
        every = range(len(table.columns))
        numeric = None if self.numeric is None else _positions(self.numeric, table, "numeric")
        categorical = (
            None if self.categorical is None else _positions(self.categorical, table, "categorical")
        )
        if numeric is None and categorical is None:
            categorical = tuple(p for p in every if table.categorical[p])
        if numeric is None:
            numeric = tuple(p for p in every if p not in (categorical or ()))
        if categorical is None:
            categorical = tuple(p for p in every if p not in numeric)
        both = set(numeric) & set(categorical)
        if both:
            raise ValueError(
                f"{table.label(min(both))} is listed as numeric and as categorical: choose one"
            )
        if not numeric and not categorical:
            raise ValueError("numeric and categorical are both empty: name at least one column")
        return numeric, categorical

    def fit(self, X: Covariates) -> FittedMixed:
        """Tell the columns apart, learn scales, gamma and categories, and evaluate on `X`."""
        table = _as_table(X, "X")
        numeric, categorical = self._split(table)
        assert isinstance(self.kernel, Kernel)  # a name was resolved in __post_init__
        part = self.kernel.fit(_numeric(table, numeric, "X")) if numeric else None
        categories = tuple(
            {value: code for code, value in enumerate(dict.fromkeys(_labels(table, position, "X")))}
            for position in categorical
        )
        codes = _encode(table, categorical, categories, "X")
        matrix = self._combine(
            None if part is None else part.matrix,
            _mismatches(codes, codes),
            len(numeric),
            len(categorical),
        )
        return FittedMixed(
            self, matrix, numeric, categorical, part, categories, codes, _Schema.of(table)
        )

    def _combine(self, part: FloatArray | None, differ: FloatArray, p: int, q: int) -> FloatArray:
        """Kernel from the numeric part and the number of categories that differ."""
        if self.combine == "product":
            K = np.power(self.theta, differ)  # 0^0 = 1: equal in every column
            if part is not None:
                K = K * part
        else:
            K = (q - differ) + self.theta * differ
            if part is not None:
                K = K + p * part
            K = K / (p + q)
        return np.asarray(K, dtype=np.float64)


def _labels(table: _Table, position: int, what: str) -> list[Hashable]:
    """Categories of one column, as Python values that can be looked up."""
    labels: list[Hashable] = table.columns[position].tolist()
    for row, value in enumerate(labels):
        if _is_missing(value):
            raise ValueError(
                f"{what}, {table.label(position)} is missing in row {row}: drop the row or fill "
                "it with a label of its own, for example 'missing'"
            )
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"{what}, {table.label(position)} holds {value!r} (row {row}), which cannot be a "
                "category: use strings, numbers or booleans"
            ) from None
    return labels


def _encode(
    table: _Table,
    positions: tuple[int, ...],
    categories: tuple[dict[Hashable, int], ...],
    what: str,
) -> NDArray[np.intp]:
    """Category codes, of shape (rows, q); -1 stands for categories not seen in training."""
    codes = np.empty((len(table.columns[0]), len(positions)), dtype=np.intp)
    for column, (position, known) in enumerate(zip(positions, categories, strict=True)):
        codes[:, column] = [known.get(value, -1) for value in _labels(table, position, what)]
    return codes


def _mismatches(A: NDArray[np.intp], B: NDArray[np.intp]) -> FloatArray:
    """Count the columns in which rows of A and B differ, one column at a time to spare memory."""
    differ = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        differ += a[:, None] != b[None, :]
    return differ


@dataclass(frozen=True, eq=False)
class FittedMixed(FittedKernel):
    """Fitted :class:`Mixed`.

    Attributes
    ----------
    numeric_, categorical_ : tuple of int
        Positions of the columns used as numbers and as categories.
    kernel_ : FittedKernel or None
        The fitted kernel of the numeric columns.
    categories_ : tuple of dict
        For each categorical column, the code of each category seen in training.
    """

    spec: Mixed
    matrix: FloatArray = field(repr=False)
    numeric_: tuple[int, ...]
    categorical_: tuple[int, ...]
    kernel_: FittedKernel | None
    categories_: tuple[dict[Hashable, int], ...] = field(repr=False)
    _codes: NDArray[np.intp] = field(repr=False)
    _schema: _Schema = field(repr=False)

    def cross(self, X_new: Covariates) -> FloatArray:
        """Kernel between new and training covariates, of shape (n_new, n_train)."""
        table = self._schema.align(X_new, self.numeric_ + self.categorical_)
        p = len(self.numeric_)
        part = None
        if self.kernel_ is not None:
            part = self.kernel_.cross(_numeric(table, range(p), "X_new"))
        positions = tuple(range(p, len(table.columns)))
        codes = _encode(table, positions, self.categories_, "X_new")
        return self.spec._combine(part, _mismatches(codes, self._codes), p, len(positions))


# --------------------------------------------------------------------------------------------
# Kernels on a known graph
# --------------------------------------------------------------------------------------------

_LAPLACIAN_KINDS = ("resolvent", "diffusion", "pinv")


@dataclass(frozen=True, eq=False)
class LaplacianKernel(Kernel):
    r"""Kernel between the nodes of a known graph with Laplacian ``L = V diag(l) V'``.

    ========== ============================== ====================================
    kind       K                              eigenvalues
    ========== ============================== ====================================
    resolvent  ``(I + alpha L)^-1``           ``1 / (1 + alpha l)``
    diffusion  ``exp(-t L)``                  ``exp(-t l)``
    pinv       ``L^+`` (pseudo-inverse)       ``1 / l``, and 0 where ``l = 0``
    ========== ============================== ====================================

    The covariates of such a kernel are nodes: ``fit(X)`` and ``cross(X_new)`` take node indices
    (or labels, where `nodes` names them), and the kernel between two of them is an entry of K.
    ``fit()`` takes all nodes in order.  A node that is not in the graph has no kernel value.

    Parameters
    ----------
    L : (m, m) array, sparse matrix or DataFrame
        Combinatorial Laplacian: symmetric, off-diagonal entries <= 0, rows that sum to 0.  For an
        adjacency (weight) matrix, see :meth:`from_adjacency`.
    kind : {"resolvent", "diffusion", "pinv"}
    alpha : float, optional
        For ``"resolvent"``: > 0, default 1.
    t : float, optional
        For ``"diffusion"``: > 0, default 1.
    nodes : sequence, optional
        Labels of the nodes; default the columns of a DataFrame `L`, else 0 to m - 1.

    Examples
    --------
    >>> spec = LaplacianKernel([[1, -1], [-1, 1]], alpha=1.0)
    >>> spec.fit().matrix.round(4)
    array([[0.6667, 0.3333],
           [0.3333, 0.6667]])
    >>> spec.fit([0]).cross([1]).round(4)
    array([[0.3333]])
    """

    L: Any
    kind: Literal["resolvent", "diffusion", "pinv"] = "resolvent"
    alpha: float | None = None
    t: float | None = None
    nodes: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        _choice(self.kind, "kind of Laplacian kernel", _LAPLACIAN_KINDS)
        for name, kind in (("alpha", "resolvent"), ("t", "diffusion")):
            value = getattr(self, name)
            if self.kind == kind:
                value = _number(1.0 if value is None else value, name, low=0, strict=True)
            elif value is not None:
                raise ValueError(
                    f"{name} = {value!r} has no meaning for kind={self.kind!r}: leave it out, or "
                    f"use kind={kind!r}"
                )
            object.__setattr__(self, name, value)
        L = _check_laplacian(self.L)
        nodes = self.nodes
        if nodes is None:
            nodes = _frame_labels(self.L, "L")
        nodes = tuple(range(len(L))) if nodes is None else tuple(nodes)
        if len(nodes) != len(L):
            raise ValueError(f"nodes has {len(nodes)} labels but L has {len(L)} nodes: name each")
        if len(set(nodes)) < len(nodes):
            twice = next(node for node in nodes if nodes.count(node) > 1)
            raise ValueError(f"two nodes are labelled {twice!r}: node labels must be unique")
        L.setflags(write=False)
        object.__setattr__(self, "L", L)
        object.__setattr__(self, "nodes", nodes)

    @classmethod
    def from_adjacency(cls, W: Any, **options: Any) -> LaplacianKernel:
        """Take the graph from a weight matrix ``W >= 0``, through ``L = diag(W 1) - W``.

        Examples
        --------
        >>> LaplacianKernel.from_adjacency([[0, 2], [2, 0]]).L
        array([[ 2., -2.],
               [-2.,  2.]])
        """
        weights, eps = _square_matrix(W.toarray() if hasattr(W, "toarray") else W, "W", None)
        weights = _symmetric(weights, "W", math.sqrt(eps))
        if np.any(np.diag(weights) != 0):
            node = int(np.argmax(np.diag(weights) != 0))
            raise ValueError(
                f"W[{node}, {node}] = {weights[node, node]:g}: an adjacency matrix has a zero "
                "diagonal; remove self-loops with W - np.diag(np.diag(W))"
            )
        if weights.min() < 0:
            i, j = np.unravel_index(int(np.argmin(weights)), weights.shape)
            raise ValueError(
                f"W[{i}, {j}] = {weights[i, j]:g}: edge weights must be >= 0; if this is a "
                "Laplacian, pass it to LaplacianKernel(L)"
            )
        labels = _frame_labels(W, "W")
        if labels is not None:
            options.setdefault("nodes", labels)
        return cls(np.diag(weights.sum(axis=1)) - weights, **options)

    def __repr__(self) -> str:
        strength = {"resolvent": f", alpha={self.alpha!r}", "diffusion": f", t={self.t!r}"}
        return (
            f"LaplacianKernel(<{len(self.L)} nodes>, kind={self.kind!r}"
            f"{strength.get(self.kind, '')})"
        )

    def _key(self) -> tuple[Hashable, ...]:
        # + 0.0 turns -0.0 into 0.0, which compare equal but differ in their bytes.
        return self.kind, self.alpha, self.t, tuple(self.nodes or ()), (self.L + 0.0).tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LaplacianKernel) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def fit(self, X: Covariates = None) -> FittedLaplacian:
        """Evaluate the kernel at the nodes `X` (all of them by default)."""
        eigenvalues, V = np.linalg.eigh(self.L)
        eigenvalues = np.maximum(eigenvalues, 0.0)
        if self.kind == "resolvent":
            assert self.alpha is not None
            response = 1.0 / (1.0 + self.alpha * eigenvalues)
        elif self.kind == "diffusion":
            assert self.t is not None
            response = np.exp(-self.t * eigenvalues)
        else:
            cutoff = len(self.L) * np.finfo(np.float64).eps * eigenvalues[-1]
            response = np.zeros_like(eigenvalues)
            np.divide(1.0, eigenvalues, out=response, where=eigenvalues > cutoff)
        full = _rebuild(response, V)
        at = np.arange(len(self.L)) if X is None else self._indices(X, "X")
        return FittedLaplacian(self, full[np.ix_(at, at)], at, full)

    def _indices(self, X: Covariates, what: str) -> NDArray[np.intp]:
        assert self.nodes is not None
        table = _as_table(X, what)
        if len(table.columns) != 1:
            raise ValueError(
                f"{what} has {len(table.columns)} columns: the covariates of a LaplacianKernel "
                "are nodes, one per row"
            )
        where = {node: index for index, node in enumerate(self.nodes)}
        found = []
        for value in _labels(table, 0, what):
            if isinstance(value, bool) or value not in where:
                first, last = self.nodes[0], self.nodes[-1]
                raise ValueError(
                    f"{what} holds {value!r}, which is not one of the {len(where)} nodes "
                    f"({first!r} ... {last!r}) of the graph: a kernel on a graph is defined at "
                    "its nodes only; for new nodes use a kernel of covariates, such as RBF"
                )
            found.append(where[value])
        return np.array(found, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class FittedLaplacian(FittedKernel):
    """Fitted :class:`LaplacianKernel`; `indices_` are the positions of the training nodes."""

    spec: LaplacianKernel
    matrix: FloatArray = field(repr=False)
    indices_: NDArray[np.intp]
    _full: FloatArray = field(repr=False)

    def cross(self, X_new: Covariates) -> FloatArray:
        """Kernel between new and training nodes, of shape (n_new, n_train)."""
        return self._full[np.ix_(self.spec._indices(X_new, "X_new"), self.indices_)]


def _frame_labels(frame: Any, name: str) -> tuple[Hashable, ...] | None:
    """Node labels of a square DataFrame, or None for anything else."""
    if not hasattr(frame, "columns"):
        return None
    labels = tuple(frame.columns)
    if hasattr(frame, "index") and tuple(frame.index) != labels:
        raise ValueError(
            f"the rows and columns of {name} are labelled differently: use "
            f"{name}.loc[{name}.columns] so that both name the nodes in the same order"
        )
    return labels


def _check_laplacian(L: Any) -> FloatArray:
    matrix, eps = _square_matrix(L.toarray() if hasattr(L, "toarray") else L, "L", None)
    matrix = _symmetric(matrix, "L", math.sqrt(eps))
    tolerance = math.sqrt(eps) * float(np.abs(matrix).max())
    off = matrix - np.diag(np.diag(matrix))
    if off.max() > tolerance:
        i, j = np.unravel_index(int(np.argmax(off)), off.shape)
        remedy = (
            "it looks like an adjacency matrix: use LaplacianKernel.from_adjacency(W)"
            if off.min() >= 0
            else "off-diagonal entries of a Laplacian are minus the edge weights, hence <= 0"
        )
        raise ValueError(f"L is not a graph Laplacian: L[{i}, {j}] = {off[i, j]:g} > 0; {remedy}")
    sums = matrix.sum(axis=1)
    worst = int(np.argmax(np.abs(sums)))
    if abs(sums[worst]) > tolerance * max(1.0, math.sqrt(len(matrix))):
        raise ValueError(
            f"L is not a graph Laplacian: row {worst} sums to {sums[worst]:g} instead of 0; use "
            "the combinatorial Laplacian diag(W 1) - W (not a normalised one), or pass the "
            "weights to LaplacianKernel.from_adjacency(W)"
        )
    return matrix


# --------------------------------------------------------------------------------------------
# Precomputed matrices and arbitrary functions
# --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The covariates *are* the kernel: ``fit(K)`` and ``cross(K_new)``, K_new of (n_new, n_train).

    Examples
    --------
    >>> fitted = Precomputed().fit([[1.0, 0.5], [0.5, 1.0]])
    >>> fitted.cross([[0.2, 0.4]])
    array([[0.2, 0.4]])
    """

    def fit(self, X: Covariates) -> FittedPrecomputed:
        """Check that `X` is a kernel matrix and keep a copy."""
        return FittedPrecomputed(self, check_kernel(X, "the precomputed kernel"))


@dataclass(frozen=True, eq=False)
class FittedPrecomputed(FittedKernel):
    """Fitted :class:`Precomputed`."""

    spec: Precomputed
    matrix: FloatArray = field(repr=False)

    def cross(self, X_new: Covariates) -> FloatArray:
        """Check and copy the cross-kernel `X_new`, of shape (n_new, n_train)."""
        return _check_cross(
            X_new,
            len(self.matrix),
            "a precomputed kernel needs the cross-kernel here, one row per new item and one "
            "column per training item",
        )


@dataclass(frozen=True)
class FunctionKernel(Kernel):
    """Any function ``function(A, B) -> (len(A), len(B))`` of two numeric (rows, columns) arrays.

    This opens the library to scikit-learn's pairwise kernels and to the kernels of
    ``sklearn.gaussian_process.kernels`` (Matern, ExpSineSquared for seasons, sums and products).

    Parameters
    ----------
    function : callable
        Must be symmetric and positive semi-definite; its training matrix is checked.  To pickle
        the spec it must be importable (not a lambda).
    scale : {None, "standard", "minmax"}
        Column scaling, as in :class:`RBF`.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ExpSineSquared
    >>> season = FunctionKernel(ExpSineSquared(length_scale=1.0, periodicity=12.0))
    >>> season([0.0, 6.0, 12.0]).round(3)
    array([[1.   , 0.135, 1.   ],
           [0.135, 1.   , 0.135],
           [1.   , 0.135, 1.   ]])
    """

    function: Callable[[FloatArray, FloatArray], Any]
    scale: Scale = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be callable, got {self.function!r}")
        _choice(self.scale, "scale", _SCALES)

    def fit(self, X: Covariates) -> FittedFunction:
        """Scale the columns, evaluate the function on `X` and check the result."""
        reader, values = _NumericReader.fit(X, self.scale)
        # Copies: a function that writes into its arguments must not spoil what is kept.
        matrix = self.function(values.copy(), values.copy())
        checked = check_kernel(matrix, f"the matrix of {self.function!r}", len(values))
        return FittedFunction(self, checked, values, reader)


@dataclass(frozen=True, eq=False)
class FittedFunction(FittedKernel):
    """Fitted :class:`FunctionKernel`; `X_` are the scaled training covariates."""

    spec: FunctionKernel
    matrix: FloatArray = field(repr=False)
    X_: FloatArray = field(repr=False)
    _reader: _NumericReader = field(repr=False)

    def cross(self, X_new: Covariates) -> FloatArray:
        """Kernel between new and training covariates, of shape (n_new, n_train)."""
        new = self._reader.read(X_new)
        return _check_cross(
            self.spec.function(new, self.X_.copy()),
            len(self.X_),
            "the kernel function must return one row per row of its first argument and one "
            "column per row of its second",
        )


def _check_cross(K_new: Any, n_train: int, remedy: str) -> FloatArray:
    matrix = np.array(K_new, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != n_train:
        raise ValueError(
            f"the cross-kernel has shape {matrix.shape} but (n_new, {n_train}) is needed: {remedy}"
        )
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(
            f"the cross-kernel is {matrix[i, j]} at [{i}, {j}]: its entries must be finite"
        )
    return matrix


# --------------------------------------------------------------------------------------------
# Names
# --------------------------------------------------------------------------------------------

KERNELS: dict[str, type[Kernel]] = {
    "laplacian": LaplacianKernel,
    "linear": Linear,
    "mixed": Mixed,
    "precomputed": Precomputed,
    "rbf": RBF,
}
"""Kernel specs by the name that :func:`as_kernel` knows them by."""


def as_kernel(spec: Kernel | str | Callable[..., Any], **options: Any) -> Kernel:
    """Resolve a kernel name, spec or function to a spec.

    Parameters
    ----------
    spec : str, Kernel or callable
        A name in :data:`KERNELS`, a spec (returned as it is), or a function of two arrays
        (becomes a :class:`FunctionKernel`).
    **options
        Parameters of the spec, for a name only.

    Examples
    --------
    >>> as_kernel("rbf", bandwidth="unit")
    RBF(gamma=None, bandwidth='unit', scale=None)
    """
    names = ", ".join(repr(name) for name in KERNELS)
    if isinstance(spec, str):
        if spec.lower() not in KERNELS:
            raise ValueError(f"unknown kernel {spec!r}: choose one of {names}, or pass a spec")
        if spec.lower() == "laplacian" and "L" not in options:
            raise TypeError(
                "kernel 'laplacian' needs a graph: pass LaplacianKernel(L) or "
                "LaplacianKernel.from_adjacency(W)"
            )
        return KERNELS[spec.lower()](**options)
    if options:
        raise TypeError(
            f"options {sorted(options)} go with a kernel name, got {spec!r}: set them on the spec"
        )
    if isinstance(spec, Kernel):
        return spec
    if isinstance(spec, type):
        raise TypeError(f"got the class {spec.__name__}: pass an instance, {spec.__name__}()")
    if callable(spec):
        return FunctionKernel(spec)
    raise TypeError(
        f"a kernel is a name ({names}), a spec such as RBF(), or a function; got "
        f"{type(spec).__name__}: for a kernel matrix use Precomputed()"
    )


# --------------------------------------------------------------------------------------------
# Kernel matrices: checks and decompositions
# --------------------------------------------------------------------------------------------

# What the size of each kernel of the models must match, for error messages.
_SIDES = {"K_x": "columns (nodes)", "K_z": "rows (observations)"}


def _square_matrix(K: Any, name: str, size: int | None) -> tuple[FloatArray, float]:
    """Finite square float64 copy of K, and the machine epsilon of what K was stored in."""
    if hasattr(K, "toarray"):
        raise TypeError(f"{name} is a sparse {type(K).__name__}: pass {name}.toarray()")
    given = np.asarray(K)
    if given.dtype.kind == "O":  # nullable pandas columns, or something that is no matrix
        try:
            given = given.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"{name} must be a matrix of numbers, got {type(K).__name__}: for covariates use a "
                "kernel spec such as kgl.kernels.RBF()(X)"
            ) from None
    if given.dtype.kind not in "biuf":
        raise TypeError(
            f"{name} must be a real matrix, got dtype {given.dtype}: for covariates use a kernel "
            "spec such as kgl.kernels.Mixed()(X)"
        )
    # A kernel stored in single precision is symmetric and semi-definite to single precision.
    eps = float(np.finfo(given.dtype if given.dtype.kind == "f" else np.float64).eps)
    eps = max(eps, float(np.finfo(np.float64).eps))
    matrix = given.astype(np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = " x ".join(str(length) for length in matrix.shape) or "a single number"
        raise ValueError(
            f"{name} must be a square matrix but is {shape}: if these are covariates, build the "
            "kernel with a spec such as kgl.kernels.RBF()(X)"
        )
    if size is not None and len(matrix) != size:
        if name in _SIDES:
            what = f"Y has {size} {_SIDES[name]}"
            remedy = (
                f"pass one row and one column of {name} for each (K_x is for nodes, the columns "
                "of Y; K_z for observations, its rows)"
            )
        else:
            what, remedy = f"{size} x {size} is needed", "pass one row and one column per item"
        raise ValueError(f"{name} is {len(matrix)} x {len(matrix)} but {what}: {remedy}")
    if matrix.size == 0:
        raise ValueError(f"{name} is empty: pass at least one row and column")
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(
            f"{name} is not finite: {name}[{i}, {j}] = {matrix[i, j]}; look for missing or "
            "infinite covariates, or for an overflow in the kernel"
        )
    return matrix, eps


def _symmetric(K: FloatArray, name: str, tol: float) -> FloatArray:
    """(K + K') / 2, once K is symmetric to `tol` relative to its largest entry."""
    gap = np.abs(K - K.T)
    i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
    if gap[i, j] > tol * np.abs(K).max():
        raise ValueError(
            f"{name} is not symmetric: {name}[{i}, {j}] = {K[i, j]:.6g} but {name}[{j}, {i}] = "
            f"{K[j, i]:.6g} (largest asymmetry {gap[i, j]:.3g}); if that is not a mistake, pass "
            f"({name} + {name}.T) / 2"
        )
    return np.asarray((K + K.T) / 2.0, dtype=np.float64)


def _round_up(value: float, digits: int = 3) -> float:
    """`value` > 0 rounded up to `digits` significant digits, so that a printed shift suffices."""
    step = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return float(f"{math.ceil(value / step) * step:.{digits}g}")


def _require_psd(values: FloatArray, name: str, tol: float) -> None:
    smallest, largest = float(values.min()), float(values.max())
    if smallest < -tol * max(abs(smallest), abs(largest)):
        raise ValueError(
            f"{name} is not positive semi-definite: its smallest eigenvalue is {smallest:.6g} "
            f"(largest {largest:.6g}); add {_round_up(-smallest):g} to the diagonal, or use "
            f"kgl.kernels.nearest_psd({name}), which sets negative eigenvalues to 0"
        )


def _is_identity(K: FloatArray) -> bool:
    return bool(np.all(np.diag(K) == 1.0)) and int(np.count_nonzero(K)) == len(K)


def _rebuild(values: FloatArray, vectors: FloatArray) -> FloatArray:
    """V diag(values) V', exactly symmetric."""
    K = (vectors * values) @ vectors.T
    return np.asarray((K + K.T) / 2.0, dtype=np.float64)


def check_kernel(
    K: Any, name: str, size: int | None = None, *, tol: float | None = None
) -> FloatArray:
    """Check that `K` is a kernel matrix and return a symmetric float64 copy.

    Parameters
    ----------
    K : (size, size) array-like
        Must be finite, symmetric and positive semi-definite.
    name : str
        What to call it in errors.  ``"K_x"`` and ``"K_z"`` also name the axis of Y they belong to.
    size : int, optional
        Number of rows and columns it must have.
    tol : float, optional
        Largest asymmetry, relative to the largest entry, and largest negative eigenvalue,
        relative to the largest eigenvalue, that count as rounding.  Default: the square root of
        the machine epsilon of K's dtype (1.5e-8 for double precision), so that numerically
        singular RBF matrices pass.

    Returns
    -------
    ndarray of shape (size, size)
        ``(K + K') / 2``.

    Raises
    ------
    TypeError, ValueError
        Naming the offending value and the remedy.

    Examples
    --------
    >>> check_kernel([[1, 2], [2, 1]], "K_x", 2)
    Traceback (most recent call last):
    ...
    ValueError: K_x is not positive semi-definite: its smallest eigenvalue is -1 (largest 3); \
add 1 to the diagonal, or use kgl.kernels.nearest_psd(K_x), which sets negative eigenvalues to 0
    """
    matrix, eps = _square_matrix(K, name, size)
    tolerance = math.sqrt(eps) if tol is None else tol
    matrix = _symmetric(matrix, name, tolerance)
    if not _is_identity(matrix):
        values: FloatArray = np.asarray(np.linalg.eigvalsh(matrix), dtype=np.float64)
        _require_psd(values, name, tolerance)
    return matrix


@dataclass(frozen=True, eq=False)
class KernelEigen:
    """Eigendecomposition ``K = vectors diag(values) vectors'`` over the range of K.

    Attributes
    ----------
    values : ndarray of shape (r,)
        Eigenvalues above the rank tolerance, descending, all > 0.
    vectors : ndarray of shape (size, r)
        Their orthonormal eigenvectors.
    size : int
        Number of rows of K.
    is_identity : bool
        Whether K is exactly the identity (no side information), where solvers take a shortcut.
    """

    values: FloatArray
    vectors: FloatArray
    size: int
    is_identity: bool

    @property
    def rank(self) -> int:
        """Number of directions kept."""
        return len(self.values)

    @property
    def matrix(self) -> FloatArray:
        """The kernel matrix, without the dropped directions."""
        return _rebuild(self.values, self.vectors)


def kernel_eigen(
    K: Any | None,
    name: str,
    size: int,
    *,
    rank_tol: float | None = None,
    tol: float | None = None,
) -> KernelEigen:
    """Check a kernel matrix and decompose it once, dropping its null directions.

    Parameters
    ----------
    K : (size, size) array-like or None
        Kernel matrix; None is the identity (no side information on this side).
    name, size, tol
        As in :func:`check_kernel`, whose checks all apply.
    rank_tol : float, optional
        Directions with eigenvalue <= ``rank_tol`` times the largest one are dropped.  Default:
        ``size`` times the machine epsilon of K's dtype, as in :func:`numpy.linalg.matrix_rank`.

    Returns
    -------
    KernelEigen

    Examples
    --------
    >>> eigen = kernel_eigen([[2.0, 2.0], [2.0, 2.0]], "K_x", 2)
    >>> eigen.rank, float(eigen.values[0].round(12))
    (1, 4.0)
    >>> kernel_eigen(None, "K_z", 3).is_identity
    True
    """
    if rank_tol is not None:
        rank_tol = _number(rank_tol, "rank_tol", low=0, strict=False)
        if rank_tol >= 1:
            raise ValueError(f"rank_tol = {rank_tol:g} would drop every direction: use < 1")
    if K is None:
        return KernelEigen(np.ones(size), np.eye(size), size, True)
    matrix, eps = _square_matrix(K, name, size)
    if _is_identity(matrix):
        return KernelEigen(np.ones(size), np.eye(size), size, True)
    tolerance = math.sqrt(eps) if tol is None else tol
    matrix = _symmetric(matrix, name, tolerance)
    if not matrix.any():
        raise ValueError(
            f"{name} is the zero matrix, under which every signal is 0: pass None (the identity) "
            "for no side information, or covariates that vary"
        )
    values, vectors = np.linalg.eigh(matrix)
    _require_psd(values, name, tolerance)
    cutoff = (size * eps if rank_tol is None else rank_tol) * values[-1]
    keep = np.flatnonzero(values > cutoff)[::-1]  # eigh is ascending
    return KernelEigen(values[keep], np.ascontiguousarray(vectors[:, keep]), size, False)


def nearest_psd(K: Any) -> FloatArray:
    """Nearest positive semi-definite matrix in Frobenius norm.

    With ``(K + K') / 2 = V diag(l) V'`` that is ``V diag(max(l, 0)) V'`` (Higham, 1988).

    Examples
    --------
    >>> nearest_psd([[1, 2], [2, 1]]).round(12)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    matrix, _ = _square_matrix(K, "K", None)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    return _rebuild(np.maximum(values, 0.0), vectors)


def normalise(K: Any) -> FloatArray:
    """Cosine normalisation ``K_ij / sqrt(K_ii K_jj)``: a unit diagonal, and still semi-definite.

    Useful where the diagonal varies for reasons other than the side information, as in linear and
    Laplacian kernels, whose diagonals follow the length of a covariate vector or the degree.

    Examples
    --------
    >>> normalise([[4.0, 1.0], [1.0, 1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    matrix = check_kernel(K, "K")
    diagonal = np.diag(matrix)
    if diagonal.min() <= 0:
        i = int(np.argmin(diagonal))
        raise ValueError(
            f"K[{i}, {i}] = {diagonal[i]:g}: cosine normalisation needs a positive diagonal; drop "
            "the item, or add a small number to the diagonal"
        )
    root = np.sqrt(diagonal)
    scaled = matrix / root[:, None] / root[None, :]
    np.fill_diagonal(scaled, 1.0)
    return np.asarray((scaled + scaled.T) / 2.0, dtype=np.float64)
