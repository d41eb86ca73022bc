"""Covariates: arrays, lists, Series and DataFrames to checked columns."""

from __future__ import annotations

import datetime
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgl._types import Array
from kgl._validation import refuse_masked

# DataFrames are recognised by what they offer (``columns``, ``dtypes``), so that the numeric core
# does not depend on pandas.
Covariates: TypeAlias = Any
Scale: TypeAlias = Literal["standard", "minmax"] | None

SCALES: tuple[Scale, ...] = (None, "standard", "minmax")
_CATEGORICAL_DTYPES = ("object", "categor", "bool", "str", "enum")


#: Size of covariates up to which squares of their differences do not overflow.
_LARGE = 1e140


def is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold, not text or a bool."""
    if not hasattr(value, "__float__") or isinstance(value, (str, bytes, bool, np.bool_, type)):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas' NA (whose comparisons are neither true nor false)."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def _days(column: NDArray[Any]) -> Array:
    """Return dates as days since 1970, durations as days; NaN where missing."""
    start = np.datetime64(0, "D") if column.dtype.kind == "M" else np.timedelta64(0, "D")
    unit = "us"  # of integers: exact for some 300,000 years
    elapsed = (column.astype(f"{column.dtype.kind}8[{unit}]") - start).astype(f"m8[{unit}]")
    days = elapsed.astype(np.int64) / 86_400e6
    return np.where(np.isnat(column), np.nan, days)


def _as_array(column: Any) -> NDArray[Any]:
    """Return a column of a DataFrame; dates of any kind as NumPy's, in UTC."""
    kind = str(column.dtype).lower()
    if kind.startswith("period"):
        column = column.dt.to_timestamp()
    if kind.startswith(("datetime64", "period")):
        return np.asarray(column, dtype="datetime64[ns]")
    return _dates(np.asarray(column))


def _dates(values: NDArray[Any]) -> NDArray[Any]:
    """Turn Python's dates, of which object arrays may be made, into NumPy's."""
    if values.dtype.kind != "O" or values.size == 0:
        return values
    known = [value for value in values.ravel() if not _is_missing(value)]
    if not known or not all(isinstance(value, datetime.date) for value in known):
        return values
    naive = [
        np.datetime64("NaT") if _is_missing(value)
        else np.datetime64(
            value.astimezone(datetime.UTC).replace(tzinfo=None)
            if getattr(value, "tzinfo", None) is not None else value, "us",
        )
        for value in values.ravel()
    ]  # fmt: skip
    return np.array(naive, dtype="datetime64[us]").reshape(values.shape)


def _looks_categorical(column: NDArray[Any]) -> bool:
    """Kind of a column without a dtype (a column of an array)."""
    if column.dtype.kind == "O":
        return not all(is_number(value) or _is_missing(value) for value in column)
    return column.dtype.kind in "bUST"


@dataclass(frozen=True, eq=False)
class Table:
    """Covariates as columns; `what` they are called in errors, `names` of the columns if any."""

    what: str
    columns: tuple[NDArray[Any], ...]
    names: tuple[Hashable, ...] | None
    categorical: tuple[bool, ...]

    def label(self, position: int) -> str:
        """Name a column in errors."""
        return f"column {position if self.names is None else self.names[position]!r}"

    def numbers(self, positions: Sequence[int]) -> Array:
        """Columns as finite float64, of shape (rows, len(positions))."""
        return np.column_stack([self._numeric_column(position) for position in positions])

    def _numeric_column(self, position: int) -> Array:
        column, where = self.columns[position], f"{self.what}, {self.label(position)}"
        if column.dtype.kind in "mM":
            column = _days(column)
        if column.dtype.kind == "c":
            raise TypeError(f"{where} is complex: pass its real and imaginary parts separately")
        if column.dtype.kind in "biuf":
            numbers = column.astype(np.float64)
        else:
            numbers = np.full(len(column), math.nan)
            for row, value in enumerate(column):
                if is_number(value) or isinstance(value, (bool, np.bool_)):
                    numbers[row] = float(value)
                elif not _is_missing(value):
                    raise TypeError(
                        f"{where} holds {value!r} (row {row}), which is not a number: use "
                        "kgl.kernels.Mixed for categorical covariates, or encode the column"
                    )
        finite = np.isfinite(numbers)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(
                f"{where} is {numbers[row]} in row {row}: covariates must be finite; impute the "
                "value or drop the row"
            )
        largest = float(np.abs(numbers).max(initial=0.0))
        if largest > _LARGE:
            raise ValueError(
                f"the largest absolute value of {where} is {largest:g}: squares of such values "
                f"overflow; rescale them, for example divide by {largest:g}"
            )
        return numbers

    def labels(self, position: int) -> list[Hashable]:
        """Categories of one column, as Python values that can be looked up."""
        labels: list[Hashable] = self.columns[position].tolist()
        where = f"{self.what}, {self.label(position)}"
        for row, value in enumerate(labels):
            if _is_missing(value):
                raise ValueError(
                    f"{where} is missing in row {row}: drop the row or fill it with a separate "
                    "label, for example 'missing'"
                )
            if not isinstance(value, Hashable):
                raise TypeError(
                    f"{where} holds {value!r} (row {row}), which cannot be a category: use "
                    "strings, numbers or booleans"
                )
        return labels


def read_table(X: Covariates, what: str) -> Table:
    """Columns of `X`, with their names and kinds."""
    if hasattr(X, "toarray"):
        raise TypeError(f"{what} is a sparse {type(X).__name__}: pass {what}.toarray()")
    refuse_masked(X, what)
    is_frame = hasattr(X, "columns") and hasattr(X, "dtypes")
    if is_frame or hasattr(X, "to_frame"):
        frame = X if is_frame else X.to_frame()
        names = tuple(frame.columns)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{what} has two columns named {twice!r}: rename or drop one")
        columns = tuple(_as_array(frame[name]) for name in names)
        kinds = [str(frame[name].dtype).lower() for name in names]
        categorical = tuple(
            kind.startswith(_CATEGORICAL_DTYPES) and column.dtype.kind != "M"
            for kind, column in zip(kinds, columns, strict=True)
        )
    else:
        values = _dates(np.asarray(X))
        if values.dtype.kind in "US" and not isinstance(X, np.ndarray):
            # NumPy turns [["a", 1.0]] into strings throughout; keep the numbers as numbers.
            values = np.array(X, dtype=object)
        if values.ndim not in (1, 2):
            raise ValueError(
                f"{what} has {values.ndim} dimensions: pass one row per item and one column per "
                "covariate (or one dimension, for a single covariate)"
            )
        columns = (values,) if values.ndim == 1 else tuple(values.T)
        categorical = tuple(_looks_categorical(column) for column in columns)
    if not columns:
        raise ValueError(f"{what} has no columns: pass at least one covariate")
    if len(columns[0]) == 0:
        raise ValueError(f"{what} has no rows: pass at least one row of covariates")
    # A Series is one unnamed column: its name is often an accident of how it was made.
    return Table(what, columns, names if is_frame else None, categorical)


@dataclass(frozen=True, eq=False)
class Schema:
    """What the training covariates looked like, to read new covariates the same way."""

    names: tuple[Hashable, ...] | None
    n_columns: int

    def read(self, X_new: Covariates, used: Sequence[int]) -> tuple[Table, Sequence[int]]:
        """Read `X_new` and find columns `used`: by name if both sides have names, else by place."""
        table = read_table(X_new, "X_new")
        if self.names is not None and table.names is not None:
            wanted = [self.names[position] for position in used]
            missing = [name for name in wanted if name not in table.names]
            if missing:
                raise ValueError(
                    f"X_new lacks column {missing[0]!r}, which the kernel was fitted on: pass the "
                    f"columns {wanted!r}"
                )
            return table, [table.names.index(name) for name in wanted]
        if len(table.columns) != self.n_columns:
            raise ValueError(
                f"X_new has {len(table.columns)} column(s) but the kernel was fitted on "
                f"{self.n_columns}: pass the same columns (for a single row, X_new.reshape(1, -1))"
            )
        return table, used


@dataclass(frozen=True, eq=False)
class NumericReader:
    """Covariates -> checked array ``(x - offset) / spread``, the same way every time."""

    schema: Schema
    offset: Array
    spread: Array

    @classmethod
    def fit(cls, X: Covariates, scale: Scale) -> tuple[NumericReader, Array]:
        """Learn the column scales of `X`; the reader, and `X` as read by it."""
        table = read_table(X, "X")
        values = table.numbers(range(len(table.columns)))
        low, high = values.min(axis=0), values.max(axis=0)
        offset, spread = np.zeros_like(low), np.ones_like(low)
        if scale == "standard":
            offset, spread = values.mean(axis=0), values.std(axis=0)
        elif scale == "minmax":
            offset, spread = low, high - low
        # A constant column carries no information. Its computed deviation may be 1e-17 instead of
        # 0, and dividing by that would turn rounding into a covariate.
        spread = np.where((high == low) | (spread == 0), 1.0, spread)
        schema = Schema(table.names, len(table.columns))
        return cls(schema, offset, spread), (values - offset) / spread

    def read(self, X_new: Covariates) -> Array:
        """Scaled values of new covariates."""
        table, at = self.schema.read(X_new, range(self.schema.n_columns))
        return np.asarray((table.numbers(at) - self.offset) / self.spread)
