r"""Sums over rows: all that models with independent, complete rows read of the data.

Counts, sums and products about an origin: :math:`n`, :math:`\sum_i (y_i - o)` and
:math:`\sum_i (y_i - o)(y_i - o)^\top`. An origin near the means keeps the digits that a difference
of :math:`Y^\top Y` and :math:`n \bar y \bar y^\top` would lose.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kgl._labels import check_names
from kgl._types import Array
from kgl._validation import as_floats, as_numbers, check_whole

__all__ = ["RowSums", "root"]

#: Share of the products about the origin that must be left about the means.
LEFT = 1e-9
#: Negative eigenvalues of products scaled to a unit diagonal that may be rounding of their maker.
INDEFINITE = 1e-6


@dataclass(frozen=True, eq=False)
class RowSums:
    """Count, sums and products of the rows of a table, which add up over its parts.

    Where rows live on many machines each can make its own, and ``+`` puts them together:
    ``sum(parts)`` has the same graph as the whole table. :func:`kgl.compress` takes them.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    sums : array (m,)
        Sums of the columns, less ``origin``.
    products : array (m, m)
        Sums of products of columns, less ``origin``: Y'Y where it is zero.
    origin : array (m,), optional
        What was subtracted from every row; zero if not given. Means, or a guess of them, keep
        digits where means are large beside deviations.
    names : list, optional
        Names of the nodes.
    largest : array (m,), optional
        Largest absolute entries of the columns, by which constant columns are recognised.

    Examples
    --------
    >>> import kgl
    >>> Y = np.array([[1.0, 2.0], [3.0, 5.0], [2.0, 2.0]])
    >>> both = kgl.RowSums.of(Y[:2]) + kgl.RowSums.of(Y[2:])
    >>> both.n_rows, both.mean
    (3, array([2., 3.]))
    >>> both.gram("node")
    array([[2., 3.],
           [3., 6.]])
    """

    n_rows: int
    sums: Array
    products: Array
    origin: Array | None = None
    names: list[Any] | None = None
    largest: Array | None = None

    def __post_init__(self) -> None:
        check_whole("n_rows", self.n_rows, 1)
        given = {
            name: np.array(as_numbers(value, name))
            for name in ("sums", "products", "origin", "largest")
            if (value := getattr(self, name)) is not None
        }
        sums = given["sums"]
        m = len(sums) if sums.ndim == 1 else -1
        given.setdefault("origin", np.zeros(max(m, 0)))
        if "largest" not in given and sums.shape == given["origin"].shape:
            given["largest"] = np.abs(given["origin"] + sums / self.n_rows)
        for name, value in given.items():
            if value.shape != ((m, m) if name == "products" else (m,)):
                raise ValueError(
                    f"{name} has shape {value.shape}, but m sums need products (m, m), and origin "
                    f"and largest (m,); sums has shape {sums.shape}"
                )
            if not np.isfinite(value).all():
                where = ", ".join(str(k) for k in np.argwhere(~np.isfinite(value))[0])
                raise ValueError(
                    f"{name}[{where}] is not finite: rows with missing entries have no sums of "
                    "products; drop them, or fit the table itself"
                )
            object.__setattr__(self, name, value)
        products = given["products"]
        if np.abs(products - products.T).max(initial=0.0) > 1e-8 * np.abs(products).max(
            initial=0.0
        ):
            raise ValueError("products is not symmetric; it must be Y'Y, of rows less the origin")
        _check_gram(self.n_rows, sums, products)
        if self.names is not None:
            object.__setattr__(self, "names", check_names(self.names, m))

    @classmethod
    def of(cls, rows: Any, names: Sequence[Any] | None = None) -> Self:
        """Sum the rows of a table that fits in memory.

        Parameters
        ----------
        rows : array or DataFrame (n, m)
            Complete rows.
        names : sequence, optional
            Names of the nodes; those of the columns of a DataFrame if not given.
        """
        if hasattr(rows, "toarray"):
            raise TypeError(f"rows is a sparse {type(rows).__name__}; pass rows.toarray()")
        labels = getattr(rows, "columns", None) if names is None else names
        values = as_floats(rows, "rows")
        if values.ndim != 2 or not len(values):
            raise ValueError(f"rows has shape {values.shape}; give a table of at least one row")
        if not np.isfinite(values).all():
            i, j = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(
                f"rows[{i}, {j}] = {values[i, j]}: sums need complete rows of finite numbers; drop "
                "such rows"
            )
        origin = values.mean(axis=0)
        left = values - origin
        return cls(
            len(values), left.sum(axis=0), left.T @ left, origin,
            None if labels is None else list(labels), np.abs(values).max(axis=0),
        )  # fmt: skip

    def __add__(self, other: RowSums) -> RowSums:
        if not isinstance(other, RowSums):
            return NotImplemented
        if len(self.sums) != len(other.sums):
            raise ValueError(
                f"sums of {len(self.sums)} and of {len(other.sums)} columns cannot be added"
            )
        if self.names is not None and other.names is not None and self.names != other.names:
            raise ValueError(
                f"the columns {self.names[:3]!r}... and {other.names[:3]!r}... are not the same, "
                "in this order; put them in the same order"
            )
        moved = other.about(_known(self.origin))
        products = self.products + moved.products
        if not np.isfinite(products).all():
            raise ValueError(
                "the products of both are beyond double precision; rescale the data, for instance "
                "to unit variance"
            )
        return self._with(
            n_rows=self.n_rows + other.n_rows,
            sums=self.sums + moved.sums,
            products=products,
            names=self.names if self.names is not None else other.names,
            largest=np.maximum(_known(self.largest), _known(other.largest)),
        )

    def __radd__(self, other: Any) -> RowSums:
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @property
    def mean(self) -> Array:
        """Means of the columns."""
        return np.asarray(_known(self.origin) + self.sums / self.n_rows)

    def about(self, origin: Array) -> RowSums:
        """Return the sums of the same rows about another origin."""
        step = _known(self.origin) - origin
        cross = np.outer(self.sums, step)
        products = self.products + cross + cross.T + self.n_rows * np.outer(step, step)
        return self._with(
            sums=self.sums + self.n_rows * step, products=products, origin=np.array(origin)
        )

    def _with(self, **changed: Any) -> RowSums:
        """Return these sums with some of them changed, which are valid by the way they are made."""
        made = copy(self)
        for name, value in changed.items():
            object.__setattr__(made, name, value)
        return made

    def gram(self, center: str, mean: Array | None = None) -> Array:
        """Return Y'Y of the rows, centred as ``center`` has it: by their own means, or by others.

        Rows are centred by their means over the nodes where both sides are.
        """
        if center == "none":
            return self.about(np.zeros(len(self.sums))).products
        gram = self.about(self.mean if mean is None else mean).products
        if center == "both":
            rows = gram.mean(axis=0)
            gram = gram - rows - rows[:, None] + rows.mean()
        return np.asarray(0.5 * (gram + gram.T))

    def check_digits(self, called: str = "products") -> None:
        """Refuse sums about an origin so far from the means that deviations are lost."""
        left = np.diag(self.products) - self.sums**2 / self.n_rows
        lost = np.flatnonzero(left < LEFT * np.diag(self.products))
        if len(lost) and self.n_rows > 1:
            j = int(lost[0])
            raise ValueError(
                f"column {j if self.names is None else self.names[j]!r}: its mean is so far from "
                f"the origin that {called} has lost the digits of its deviations (or it is "
                "constant, which looks the same in sums); sum rows less an origin near the means, "
                "as kgl.RowSums.of does, and pass origin="
            )


def _check_gram(n_rows: int, sums: Array, products: Array) -> None:
    """Refuse sums that no rows have: with the count they are products of Y and a column of ones."""
    whole = np.block([[np.full((1, 1), float(n_rows)), sums[None]], [sums[:, None], products]])
    scale = np.sqrt(np.maximum(np.diag(whole), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    unit = whole / scale / scale[:, None]
    try:
        np.linalg.cholesky(unit + INDEFINITE * np.eye(len(unit)))
    except np.linalg.LinAlgError:
        least = np.linalg.eigvalsh(unit)[0]
        raise ValueError(
            "n_rows, sums and products are not those of any rows: the products of the columns and "
            f"of a column of ones, scaled to a unit diagonal, have the eigenvalue {least:.3g}, but "
            "those of rows have none below zero; for rows Y less the origin give len(Y), "
            "Y.sum(axis=0) and Y.T @ Y, all of the same rows and in double precision"
        ) from None


def _known(value: Array | None) -> Array:
    assert value is not None  # set in __post_init__
    return value


def root(gram: Array, size: Array | None = None) -> Array:
    """Return T (r, m) with T'T a positive semi-definite matrix, of as few rows as it has rank.

    By Cholesky's method with pivots, of the matrix with a unit diagonal: columns of small numbers
    keep their digits. ``size`` are the roots of the diagonal that rounding is measured by.

    Examples
    --------
    >>> T = root(np.array([[4.0, 2.0], [2.0, 1.0]]))
    >>> T.shape, T.T @ T
    ((1, 2), array([[4., 2.],
           [2., 1.]]))
    """
    from scipy.linalg.lapack import dpstrf  # slow to load, so only where needed

    m = len(gram)
    scale = np.sqrt(np.maximum(np.diag(gram), 0.0)) if size is None else size
    scale = np.where(scale > 0, scale, 1.0)
    unit = gram / scale / scale[:, None]
    tol = 2.0 * m * np.finfo(float).eps
    if unit.max(initial=0.0) <= tol:
        return np.zeros((1, m))
    factor, pivots, rank, _ = dpstrf(unit, tol=tol, lower=0)
    out = np.zeros((rank, m))
    out[:, pivots - 1] = np.triu(factor)[:rank]
    return np.asarray(out * scale)
