"""Kernels over the rows of a long table: given, or of covariates, never as a matrix of all rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgl._types import Array
from kgl._validation import check_kernel_limits, is_number, refuse_masked
from kgl.kernels import Auto, FittedFactor, NeedsDenseError, as_kernel, factorize, kernel_eigen
from kgl.kernels.base import DENSE_FIT

__all__ = ["MAX_ROW_RANK", "ROW_TOL", "RowKernel", "row_kernel"]

#: Share of the trace of a kernel over rows that may be left out. Smoothness is whitened, so that
#: directions of small variance count: with lam = 0.01 weights differ by up to 2e-2 at 1e-8 and by
#: 1e-5 at 1e-10, with lam = 0.1 by 2e-4 and 1e-6 (and no edge does).
ROW_TOL = 1e-10
#: Directions of such a kernel at most, unless asked for.
MAX_ROW_RANK = 1000


@dataclass(frozen=True, eq=False)
class RowKernel:
    """A kernel ``factor factor' + white I`` over the rows, in the basis of its directions.

    Attributes
    ----------
    factor : array (n, r)
        The factor.
    white : float
        White noise.
    values : array (r,)
        Eigenvalues of ``factor factor'``, descending.
    basis : array (r, r)
        ``factor @ basis`` are its eigenvectors.
    ones : array (r,)
        Sums of these eigenvectors.
    products : array (r, r)
        ``factor' factor``.
    fitted : FittedFactor or None
        The kernel of covariates, where the factor is one.
    """

    factor: Array
    white: float
    values: Array
    basis: Array
    ones: Array
    products: Array
    fitted: FittedFactor | None = None

    @classmethod
    def of(cls, factor: Array, white: float) -> RowKernel:
        """Find the directions of a factor, without those that are zero up to rounding."""
        products = factor.T @ factor
        values, vectors = np.linalg.eigh(products)
        keep = np.flatnonzero(values > 1e-14 * values[-1])[::-1]
        values = values[keep]
        basis = vectors[:, keep] / np.sqrt(values)
        ones = factor.sum(axis=0) @ basis
        return cls(factor, white, values, basis, ones, products)

    @property
    def trace_error(self) -> float:
        """Share of the trace of the kernel that the factor leaves out."""
        return 0.0 if self.fitted is None else self.fitted.trace_error_

    def cross(self, z: Any) -> Array:
        """Return the kernel between new rows and the directions of the kernel."""
        if self.fitted is not None:
            new = self.fitted.embed(z)
        else:
            new = np.asarray(z, dtype=float)
            if new.ndim != 2 or new.shape[1] != self.factor.shape[1]:
                raise ValueError(
                    f"z has shape {new.shape}, but the factor of the kernel has "
                    f"{self.factor.shape[1]} columns; give as many for each new row"
                )
        return np.asarray(new @ self.products @ self.basis)


def row_kernel(
    side: Mapping[str, Any],
    kernel_z: Any,
    white: float,
    tol: float,
    max_rank: int | None,
    n_rows: int | None,
) -> RowKernel | None:
    """Return the kernel over the rows, None where rows are independent."""
    given = [name for name, value in side.items() if value is not None]
    white = _number("white", white, 0.0)
    rank = MAX_ROW_RANK if max_rank is None else max_rank
    check_kernel_limits(tol, rank)
    if len(given) > 1:
        raise ValueError(f"{given[0]} and {given[1]} both give the kernel over the rows; give one")
    if not given:
        if white or kernel_z is not None:
            what = "kernel_z" if kernel_z is not None else "white"
            raise ValueError(
                f"{what} belongs to a kernel over the rows; give z, factor_z or K_z with it"
            )
        return None
    what, value = given[0], side[given[0]]
    refuse_masked(value, what)
    if (kernel_z is not None) != (what == "z"):
        raise ValueError(
            "z needs kernel_z, for example kernel_z=kgl.kernels.RBF(gamma=...)"
            if what == "z"
            else f"kernel_z turns covariates z into a kernel, but {what} was given; give z"
        )
    if what == "z":
        return _of_covariates(value, kernel_z, white, tol, rank, n_rows)
    if what == "K_z":
        n = np.shape(value)[0] if np.ndim(value) else 1
        eigen = kernel_eigen(value, "K_z", n if n_rows is None else n_rows)
        if eigen.is_identity:
            raise ValueError("K_z is the identity: rows are independent; leave K_z out")
        return RowKernel.of(eigen.vectors * np.sqrt(eigen.values), white)
    factor = np.array(value, dtype=float)
    if factor.ndim != 2 or not np.isfinite(factor).all() or not factor.any():
        raise ValueError(
            f"factor_z has shape {factor.shape}; it must be a matrix of finite numbers, one row "
            "for each row of data, and not zero throughout"
        )
    _check_length(len(factor), what, n_rows)
    return RowKernel.of(factor, white)


def _of_covariates(
    z: Any, spec: Any, white: float, tol: float, rank: int, n_rows: int | None
) -> RowKernel:
    """Factor the kernel of covariates."""
    kernel = as_kernel(spec)
    if isinstance(kernel, Auto):
        raise ValueError(
            "kernel_z = Auto() learns its widths from the rows, which are read only afterwards; "
            "give a kernel of your own, such as RBF(gamma=...). Auto().fit_to(z, Y) on a piece of "
            "the table shows which widths matter"
        )
    try:
        access = kernel.access(z)
        _check_length(len(access.diagonal), "z", n_rows)
        found = factorize(access, kernel, tol=tol, max_rank=rank)
    except NeedsDenseError as error:
        piece = "fit a piece of the table that fits in memory, with z"
        error.args = (str(error).replace(DENSE_FIT, piece),)
        raise
    return replace(RowKernel.of(found.factor, white + found.white), fitted=found)


def _check_length(length: int, what: str, n_rows: int | None) -> None:
    if n_rows is not None and length != n_rows:
        raise ValueError(f"{what} has {length} row(s) but data has {n_rows}; give one for each")


def _number(name: str, value: Any, least: float) -> float:
    if not is_number(value) or not (math.isfinite(value) and value >= least):
        raise ValueError(f"{name} = {value!r} must be a finite number of at least {least:g}")
    return float(value)
