"""The kernel whose covariates are already a kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass, field

from kgl.kernels.base import FittedKernel, Kernel
from kgl.kernels.covariates import Covariates
from kgl.kernels.matrices import FloatArray, check_cross, check_kernel


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
        return check_cross(
            X_new,
            len(self.matrix),
            "a precomputed kernel needs the cross-kernel here, one row per new item and one "
            "column per training item",
        )
