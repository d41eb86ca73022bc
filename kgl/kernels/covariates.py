"""Reading covariates: arrays, lists, Series and DataFrames to checked columns."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kgl.kernels.matrices import FloatArray

# DataFrames are recognised by what they offer (``columns``, ``dtypes``), so that the numeric core
# does not depend on pandas.
Covariates: TypeAlias = Any
Scale: TypeAlias = Literal["standard", "minmax"] | None

SCALES: tuple[Scale, ...] = (None, "standard", "minmax")
_CATEGORICAL_DTYPES = ("object", "categor", "bool", "str", "enum")


def is_number(value: Any) -> bool:
    """Whether `value` is a number; text and truth values are not."""
    return hasattr(value, "__float__") and not isinstance(value, (str, bytes, bool, np.bool_))


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas' NA (whose comparisons are neither true nor false)."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def _looks_categorical(column: NDArray[Any]) -> bool:
    """Kind of a column that has no dtype of its own (a column of an array)."""
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
        """What a column is called in errors."""
        return f"column {position if self.names is None else self.names[position]!r}"

    def numbers(self, positions: Iterable[int]) -> FloatArray:
        """Columns as finite float64, of shape (rows, len(positions))."""
        return np.column_stack([self._numeric_column(position) for position in positions])

    def _numeric_column(self, position: int) -> FloatArray:
        column, where = self.columns[position], f"{self.what}, {self.label(position)}"
        if column.dtype.kind in "mM":
            raise TypeError(
                f"{where} holds dates or durations: convert it to numbers in the unit you mean "
                "(for example days since the first one), because bandwidths depend on the unit"
            )
        if column.dtype.kind == "c":
            raise TypeError(f"{where} is complex: pass its real and imaginary parts apart")
        if column.dtype.kind in "biuf":
            numbers = column.astype(np.float64)
        else:
            numbers = np.full(len(column), math.nan)
            for row, value in enumerate(column):
                if _is_missing(value):
                    continue
                if not is_number(value) and not isinstance(value, (bool, np.bool_)):
                    raise TypeError(
                        f"{where} holds {value!r} (row {row}), which is not a number: use "
                        "kgl.kernels.Mixed for categorical covariates, or encode the column"
                    )
                numbers[row] = float(value)
        finite = np.isfinite(numbers)
        if not finite.all():
            row = int(np.argmin(finite))
            raise ValueError(
                f"{where} is {numbers[row]} in row {row}: covariates must be finite; impute the "
                "value or drop the row"
            )
        return numbers

    def labels(self, position: int) -> list[Hashable]:
        """Categories of one column, as Python values that can be looked up."""
        labels: list[Hashable] = self.columns[position].tolist()
        where = f"{self.what}, {self.label(position)}"
        for row, value in enumerate(labels):
            if _is_missing(value):
                raise ValueError(
                    f"{where} is missing in row {row}: drop the row or fill it with a label of "
                    "its own, for example 'missing'"
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
    return Table(what, columns, names, categorical)


@dataclass(frozen=True, eq=False)
class Schema:
    """What the training covariates looked like, to read new covariates the same way."""

    names: tuple[Hashable, ...] | None
    n_columns: int

    @classmethod
    def of(cls, table: Table) -> Schema:
        """Schema of the training covariates."""
        return cls(table.names, len(table.columns))

    def read(self, X_new: Covariates, used: Sequence[int]) -> Table:
        """Columns `used` of `X_new`: by name if both sides have names, else by position."""
        table = read_table(X_new, "X_new")
        at = list(used)
        if self.names is not None and table.names is not None:
            wanted = [self.names[position] for position in used]
            missing = [name for name in wanted if name not in table.names]
            if missing:
                raise ValueError(
                    f"X_new lacks column {missing[0]!r}, which the kernel was fitted on: pass the "
                    f"columns {wanted!r}"
                )
            at = [table.names.index(name) for name in wanted]
        elif len(table.columns) != self.n_columns:
            raise ValueError(
                f"X_new has {len(table.columns)} column(s) but the kernel was fitted on "
                f"{self.n_columns}: pass the same columns (for a single row, X_new.reshape(1, -1))"
            )
        return Table(
            "X_new",
            tuple(table.columns[position] for position in at),
            None if table.names is None else tuple(table.names[position] for position in at),
            tuple(table.categorical[position] for position in at),
        )


@dataclass(frozen=True, eq=False)
class NumericReader:
    """Covariates -> checked array ``(x - offset) / spread``, the same way every time."""

    schema: Schema
    offset: FloatArray
    spread: FloatArray

    @classmethod
    def fit(cls, X: Covariates, scale: Scale) -> tuple[NumericReader, FloatArray]:
        """Learn the column scales of `X`; the reader, and `X` as read by it."""
        table = read_table(X, "X")
        values = table.numbers(range(len(table.columns)))
        offset, spread = np.zeros(values.shape[1]), np.ones(values.shape[1])
        if scale is not None:
            low, high = values.min(axis=0), values.max(axis=0)
            offset, spread = (
                (values.mean(axis=0), values.std(axis=0))
                if scale == "standard"
                else (low, high - low)
            )
            # A constant column carries no information.  Its computed deviation may be 1e-17
            # instead of 0, and dividing by that would turn rounding into a covariate.
            spread = np.where((high == low) | (spread == 0), 1.0, spread)
        return cls(Schema.of(table), offset, spread), (values - offset) / spread

    def read(self, X_new: Covariates) -> FloatArray:
        """Scaled values of new covariates."""
        columns = range(self.schema.n_columns)
        values = self.schema.read(X_new, columns).numbers(columns)
        return np.asarray((values - self.offset) / self.spread, dtype=np.float64)
