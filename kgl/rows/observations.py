"""Kernels over the rows of a long table: given, or of covariates, never as a matrix of all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgl._types import Array
from kgl._validation import refuse_masked
from kgl.kernels import RBF, FunctionKernel, Linear, as_kernel, kernel_eigen
from kgl.kernels.covariates import NumericReader
from kgl.kernels.numeric import BANDWIDTH_RULES
from kgl.kernels.pivoted import pivoted_cholesky

__all__ = ["ROW_TOL", "RowKernel", "row_kernel"]

#: Share of the trace of a kernel over rows that may be left out. Smoothness is whitened, so that
#: directions of small variance count: at 1e-8 weights differ by up to 1e-4, at 1e-10 by 5e-6 (and
#: no edge at either), for a rank that is 7 % higher.
ROW_TOL = 1e-10
#: Rows up to which a rule may take the bandwidth from the distances of all pairs (100 MB).
RULE_ROWS = 5_000
#: Rows that new rows are compared with at a time.
CROSS_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class _Covariates:
    """Covariates of rows as numbers, and the kernel as a function of two sets of them."""

    reader: NumericReader
    points: Array
    evaluate: Callable[[Array, Array], Array]

    def entries(self, rows: Any, columns: np.ndarray) -> Array:
        return self.evaluate(self.points[rows], self.points[columns])


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
    trace_error : float
        Share of the trace of the kernel that the factor leaves out.
    """

    factor: Array
    white: float
    values: Array
    basis: Array
    ones: Array
    trace_error: float
    covariates: _Covariates | None = None

    def cross(self, z: Any) -> Array:
        """Return the kernel between new rows and the directions of the kernel."""
        if self.covariates is None:
            new = np.asarray(z, dtype=float)
            if new.ndim != 2 or new.shape[1] != self.factor.shape[1]:
                raise ValueError(
                    f"z has shape {new.shape}, but the factor of the kernel has "
                    f"{self.factor.shape[1]} columns; give as many for each new row"
                )
            return np.asarray(new @ (self.factor.T @ self.factor) @ self.basis)
        new, points = self.covariates.reader.read(z), self.covariates.points
        out = np.zeros((len(new), len(self.values)))
        for begin in range(0, len(points), CROSS_ROWS):
            rows = slice(begin, begin + CROSS_ROWS)
            out += self.covariates.evaluate(new, points[rows]) @ (self.factor[rows] @ self.basis)
        return out

    @classmethod
    def of(
        cls,
        factor: Array,
        white: float,
        trace_error: float,
        covariates: _Covariates | None = None,
    ) -> RowKernel:
        """Find the directions of a factor, without those that are zero up to rounding."""
        values, vectors = np.linalg.eigh(factor.T @ factor)
        keep = np.flatnonzero(values > 1e-14 * values[-1])[::-1]
        values = values[keep]
        basis = vectors[:, keep] / np.sqrt(values)
        ones = factor.sum(axis=0) @ basis
        return cls(factor, white, values, basis, ones, trace_error, covariates)


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
        return _of_covariates(value, kernel_z, tol, max_rank, n_rows, white)
    if what == "K_z":
        n = np.shape(value)[0] if np.ndim(value) else 1
        eigen = kernel_eigen(value, "K_z", n if n_rows is None else n_rows)
        if eigen.is_identity:
            raise ValueError("K_z is the identity: rows are independent; leave K_z out")
        return RowKernel.of(eigen.vectors * np.sqrt(eigen.values), white, 0.0)
    factor = np.array(value, dtype=float)
    if factor.ndim != 2 or not np.isfinite(factor).all() or not factor.any():
        raise ValueError(
            f"factor_z has shape {factor.shape}; it must be a matrix of finite numbers, one row "
            "for each row of data, and not zero throughout"
        )
    _check_length(len(factor), what, n_rows)
    return RowKernel.of(factor, white, 0.0)


def _check_length(length: int, what: str, n_rows: int | None) -> None:
    if n_rows is not None and length != n_rows:
        raise ValueError(f"{what} has {length} row(s) but data has {n_rows}; give one for each")


def _of_covariates(
    z: Any, spec: Any, tol: float, max_rank: int | None, n_rows: int | None, white: float
) -> RowKernel:
    """Factor the kernel of covariates."""
    diagonal, covariates = _read(z, spec)
    _check_length(len(diagonal), "z", n_rows)
    tol = _number("kernel_tol", tol, 1e-13)
    factor, error = pivoted_cholesky(
        diagonal, covariates.entries, tol=tol, max_rank=max_rank, name=f"kernel_z = {spec!r}"
    )
    return RowKernel.of(factor, white, error, covariates)


def _number(name: str, value: Any, least: float) -> float:
    number = float(value)
    if not (np.isfinite(number) and number >= least):
        raise ValueError(f"{name} = {value!r} must be finite and at least {least:g}")
    return number


def _read(z: Any, spec: Any) -> tuple[Array, _Covariates]:
    """Return the diagonal of a kernel of covariates, and what its entries are worked out from."""
    kernel = as_kernel(spec)
    if not isinstance(kernel, RBF | Linear | FunctionKernel):
        raise TypeError(
            f"kernel_z = {kernel!r} needs all pairs of rows; use RBF(gamma=...), Linear() or a "
            "function of two arrays, or give factor_z, a factor of the kernel"
        )
    reader, values = NumericReader.fit(z, kernel.scale)
    if isinstance(kernel, RBF):
        if kernel.gamma is None and len(values) > RULE_ROWS:
            raise ValueError(
                f"the rule bandwidth={kernel.bandwidth!r} takes gamma from the distances of all "
                f"pairs of {len(values)} rows; pass gamma, for example that of some rows, "
                f"RBF(bandwidth={kernel.bandwidth!r}).fit(z[::{len(values) // 2000}]).gamma_"
            )
        gamma = kernel.gamma
        if gamma is None:
            from scipy.spatial.distance import pdist  # slow to load, so only where needed

            gamma = BANDWIDTH_RULES[kernel.bandwidth](np.asarray(pdist(values)))
        fitted = RBF(gamma=gamma).fit(values[:1])
        evaluate = fitted._evaluate
        diagonal = np.ones(len(values))
    elif isinstance(kernel, Linear):
        evaluate = kernel._evaluate
        diagonal = np.einsum("ij,ij->i", values, values) + kernel.bias
    else:
        evaluate = kernel._evaluate
        parts = (values[k : k + 64] for k in range(0, len(values), 64))
        diagonal = np.concatenate([np.diag(evaluate(part, part)) for part in parts])
    return diagonal, _Covariates(reader, values, evaluate)
