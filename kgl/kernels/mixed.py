"""The kernel of covariates that are partly numbers and partly categories."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kgl._types import Array
from kgl.kernels.base import FittedKernel, Kernel, choice, number
from kgl.kernels.covariates import Covariates, Schema, Table, read_table
from kgl.kernels.factors import KernelAccess
from kgl.kernels.names import KERNELS, as_kernel
from kgl.kernels.numeric import RBF

Categories = tuple[dict[Hashable, int], ...]
_SCALED_RBF = RBF(scale="standard")


@dataclass(frozen=True)
class Mixed(Kernel):
    """Kernel for covariates that are partly numbers and partly categories.

    With ``k(u, u')`` the kernel of the p numeric columns and, for each of the q categorical
    columns c, the overlap kernel ``o_c(v, v') = 1 if v_c == v'_c else theta``::

        combine="product":   K = k(u, u') * prod_c o_c(v, v')
        combine="mean":      K = (p k(u, u') + sum_c o_c(v, v')) / (p + q)

    The product means "alike in everything", the mean "alike in something", the milder choice
    when there are many categorical columns.

    Parameters
    ----------
    numeric, categorical : column name(s) or position(s), optional
        With both left out, a DataFrame's dtypes decide (object, category, bool and string are
        categorical); the columns of an array are categorical where they hold anything but
        numbers. With one of them given, all other columns are of the other kind. With both
        given, columns in neither are ignored. Integer codes (a prefecture number) look numeric:
        name such columns in `categorical`.
    theta : float, default=0.5
        Similarity of two different categories, in [0, 1]; 1 ignores categorical columns. A
        category that was not there in training differs from all; missing ones are refused.
    combine : {"product", "mean"}
    kernel : Kernel or str, default=RBF(scale="standard")
        Kernel of the numeric columns together, scaled because they rarely share a unit.

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
    kernel: Kernel | str = _SCALED_RBF

    def __post_init__(self) -> None:
        for name in ("numeric", "categorical"):
            chosen = getattr(self, name)
            if chosen is not None:
                one = isinstance(chosen, (str, int, np.integer))
                many = isinstance(chosen, Iterable) and not isinstance(chosen, dict)
                chosen = list(chosen) if many and not one else chosen
                if not one and not (many and all(isinstance(c, Hashable) for c in chosen)):
                    raise TypeError(
                        f"{name} must name columns, got {chosen!r}; pass their names or positions"
                    )
                chosen = (chosen,) if one else tuple(dict.fromkeys(chosen))
            object.__setattr__(self, name, chosen)
        remedy = "; outside of that the overlap kernel is indefinite"
        object.__setattr__(self, "theta", number(self.theta, "theta", "between 0 and 1", remedy))
        choice(self.combine, "combine", ("product", "mean"))
        object.__setattr__(self, "kernel", as_kernel(self.kernel))

    def fit(self, X: Covariates) -> FittedMixed:
        """Tell the columns apart, learn scales, gamma and categories, and evaluate on `X`."""
        table = read_table(X, "X")
        numeric, categorical = self._split(table)
        assert isinstance(self.kernel, Kernel)  # a name was resolved in __post_init__
        part = self.kernel.fit(table.numbers(numeric)) if numeric else None
        categories = tuple(
            {value: code for code, value in enumerate(dict.fromkeys(table.labels(position)))}
            for position in categorical
        )
        codes = _encode(table, categorical, categories)
        matrix = self._combine(None if part is None else part.matrix, len(numeric), codes, codes)
        schema = Schema(table.names, len(table.columns))
        return FittedMixed(self, matrix, numeric, categorical, part, categories, codes, schema)

    def access(
        self, X: Covariates, targets: Array | None = None, mask: np.ndarray | None = None
    ) -> KernelAccess:
        """Tell the columns apart and learn scales, gamma and categories."""
        table = read_table(X, "X")
        numeric, categorical = self._split(table)
        assert isinstance(self.kernel, Kernel)  # a name was resolved in __post_init__
        part = self.kernel.access(table.numbers(numeric)) if numeric else None
        categories = tuple(
            {value: code for code, value in enumerate(dict.fromkeys(table.labels(position)))}
            for position in categorical
        )
        codes = _encode(table, categorical, categories)
        p, q, size = len(numeric), len(categorical), len(table.columns[0])
        own = np.zeros(size) if part is None else part.diagonal + part.white
        if self.combine == "product":
            diagonal = np.ones(size) if part is None else own
        else:
            diagonal = (q + p * own) / (p + q)

        def columns(index: np.ndarray) -> Array:
            numbers = None
            if part is not None:
                numbers = part.columns(index)
                numbers[index, np.arange(len(index))] += part.white
            return self._combine(numbers, p, codes, codes[index])

        schema = Schema(table.names, len(table.columns))
        new = _MixedColumns(
            self,
            schema,
            numeric,
            categorical,
            None if part is None else part.new,
            codes,
            categories,
        )
        return KernelAccess(diagonal, columns, new)

    def _split(self, table: Table) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Positions of the numeric and of the categorical columns."""
        every = range(len(table.columns))
        numeric = _positions(self.numeric, table, "numeric")
        categorical = _positions(self.categorical, table, "categorical")
        if numeric is None and categorical is None:
            categorical = tuple(p for p in every if table.categorical[p])
        if numeric is None:
            numeric = tuple(p for p in every if p not in (categorical or ()))
        if categorical is None:
            categorical = tuple(p for p in every if p not in numeric)
        both = set(numeric) & set(categorical)
        if both:
            label = table.label(min(both))
            raise ValueError(f"{label} is listed as numeric and as categorical: choose one")
        if not numeric and not categorical:
            raise ValueError("numeric and categorical are both empty: name at least one column")
        return numeric, categorical

    def _combine(
        self, part: Array | None, p: int, A: NDArray[np.intp], B: NDArray[np.intp]
    ) -> Array:
        """Kernel from that of the p numeric columns (if any) and the category codes."""
        differ = np.zeros((len(A), len(B)))
        for a, b in zip(A.T, B.T, strict=True):  # one column at a time, to spare memory
            differ += a[:, None] != b[None, :]
        if self.combine == "product":
            K = np.power(self.theta, differ)  # 0^0 = 1: equal in every column
            return np.asarray(K if part is None else K * part)
        q = A.shape[1]
        K = (q - differ) + self.theta * differ
        return np.asarray((K if part is None else K + p * part) / (p + q))


@dataclass(frozen=True, eq=False)
class FittedMixed(FittedKernel):
    """Fitted :class:`Mixed`.

    `numeric_` and `categorical_` are the positions of the columns used as numbers and as
    categories, `kernel_` is the fitted kernel of the former (None without any), `categories_` has
    the codes of the categories seen in training, for each of the latter.
    """

    spec: Mixed
    matrix: Array = field(repr=False)
    numeric_: tuple[int, ...]
    categorical_: tuple[int, ...]
    kernel_: FittedKernel | None
    categories_: Categories = field(repr=False)
    _codes: NDArray[np.intp] = field(repr=False)
    _schema: Schema = field(repr=False)

    def cross(self, X_new: Covariates) -> Array:
        """Kernel between new and training covariates, of shape (n_new, n_train)."""
        table, at = self._schema.read(X_new, self.numeric_ + self.categorical_)
        p = len(self.numeric_)
        part = None if self.kernel_ is None else self.kernel_.cross(table.numbers(at[:p]))
        codes = _encode(table, at[p:], self.categories_)
        return self.spec._combine(part, p, codes, self._codes)


@dataclass(frozen=True, eq=False)
class _MixedColumns:
    """Kernel between new covariates and some rows."""

    spec: Mixed
    schema: Schema
    numeric: tuple[int, ...]
    categorical: tuple[int, ...]
    part: Any
    codes: NDArray[np.intp]
    categories: Categories

    def __call__(self, X_new: Covariates, index: np.ndarray) -> Array:
        table, at = self.schema.read(X_new, self.numeric + self.categorical)
        p = len(self.numeric)
        part = None if not p else self.part(table.numbers(at[:p]), index)
        codes = _encode(table, at[p:], self.categories)
        return self.spec._combine(part, p, codes, self.codes[index])


def _positions(chosen: Any, table: Table, name: str) -> tuple[int, ...] | None:
    """Positions of the chosen columns: a name if there is one like it, else a position."""
    if chosen is None:
        return None
    names, found, n_columns = table.names or (), [], len(table.columns)
    for column in chosen:
        is_mask = isinstance(column, (bool, np.bool_))
        if column in names and not is_mask:
            found.append(names.index(column))
        elif isinstance(column, (int, np.integer)) and not is_mask and 0 <= column < n_columns:
            found.append(int(column))
        else:
            have = list(names) or f"the positions 0 to {n_columns - 1} (X has no column names)"
            raise ValueError(f"{name} column {column!r} is not in X: choose from {have}")
    return tuple(found)


def _encode(table: Table, positions: Sequence[int], categories: Categories) -> NDArray[np.intp]:
    """Category codes, of shape (rows, q); -1 stands for categories not seen in training."""
    codes = np.empty((len(table.columns[0]), len(positions)), dtype=np.intp)
    for column, (position, known) in enumerate(zip(positions, categories, strict=True)):
        codes[:, column] = [known.get(value, -1) for value in table.labels(position)]
    return codes


KERNELS["mixed"] = Mixed
