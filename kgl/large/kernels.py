"""Kernels of large data sets: over the nodes by factors, over the observations decomposed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kgl._labels import align
from kgl._memory import check_memory
from kgl._types import Array
from kgl.kernels import (
    KERNEL_TOL,
    MAX_RANK,
    FittedFactor,
    Kernel,
    KernelAccess,
    KernelEigen,
    NeedsDenseError,
    Precomputed,
    factor_eigen,
    factorize,
    kernel_eigen,
)
from kgl.kernels.matrices import estimate_kernel, symmetric_matrix
from kgl.solvers.lowrank import NodeKernel

if TYPE_CHECKING:
    from kgl.inputs import TableInput

__all__ = ["FEW_ROWS", "node_kernel", "observation_kernel"]

#: Observations up to which their kernel is decomposed as a whole.
FEW_ROWS = 2000


def node_kernel(
    model: TableInput,
    K: Any,
    x: Any,
    labels: list[Any] | None,
    values: Array,
    mask: np.ndarray | None,
) -> tuple[FittedFactor | None, NodeKernel]:
    """Return the kernel over the nodes as a factor, and as solvers take it."""
    m = values.shape[1]
    spec, covariates = model._side("x", K, x, labels, m)
    tol, rank = getattr(model, "kernel_tol", KERNEL_TOL), getattr(model, "max_rank", MAX_RANK)
    if K is not None:
        matrix, eps = symmetric_matrix(align(K, labels, "K_x", size=m, square=True), "K_x", m)
        if np.count_nonzero(matrix) == m and (np.diag(matrix) == 1.0).all():
            return None, NodeKernel(m)
        access = KernelAccess.of_matrix(matrix, "K_x", eps)
        found = factorize(access, Precomputed(), tol=tol, max_rank=rank)
        return found, NodeKernel(m, found.factor, 0.0)
    if spec is None:
        return None, NodeKernel(m)
    seen = None if mask is None else mask.T
    try:
        found = factorize(spec.access(covariates, values.T, seen), spec, tol=tol, max_rank=rank)
    except NeedsDenseError:
        raise
    except (TypeError, ValueError) as error:
        raise type(error)(f"covariates x: {error}") from error
    _check_size(found, m)
    factor = found.factor if found.factor.shape[1] else None
    return found, NodeKernel(m, factor, found.white)


def _check_size(found: FittedFactor, m: int) -> None:
    if len(found.factor) != m:
        raise ValueError(
            f"the kernel over the nodes has {len(found.factor)} rows but Y has {m} columns "
            "(nodes); give one row of features for each"
        )


def observation_kernel(
    model: TableInput,
    K: Any,
    z: Any,
    index: list[Any] | None,
    values: Array,
    mask: np.ndarray | None,
) -> tuple[Any, KernelEigen]:
    """Return the kernel over the observations: as fitted, and decomposed."""
    n = len(values)
    if K is None and n > FEW_ROWS:
        spec, covariates = model._side("z", K, z, index, n)
        if spec is None:
            return None, kernel_eigen(None, "K_z", n)
        found = _factor(model, spec, covariates, values, mask)
        if found is not None:
            return found, factor_eigen(found.factor)
    if n > FEW_ROWS and (K is not None or z is not None):
        check_memory(estimate_kernel(n), f"the kernel over {n} observations as a whole")
    fitted, matrix = model._kernel("z", K, z, index, values, mask)
    return fitted, kernel_eigen(matrix, "K_z", n)


def _factor(
    model: TableInput, spec: Kernel, covariates: Any, values: Array, mask: np.ndarray | None
) -> FittedFactor | None:
    """Return the factor of a kernel over many rows; None where it has none or a white part.

    Rows that vary by themselves leave as many directions as rows: nothing is gained by a factor.
    """
    tol, rank = getattr(model, "kernel_tol", KERNEL_TOL), getattr(model, "max_rank", MAX_RANK)
    try:
        access = spec.access(covariates, values, mask)
        if access.white > 0.0:
            return None
        return factorize(access, spec, tol=tol, max_rank=rank)
    except NeedsDenseError:
        return None
    except (TypeError, ValueError) as error:
        raise type(error)(f"covariates z: {error}") from error
