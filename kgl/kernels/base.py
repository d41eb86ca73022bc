"""The contract of a kernel spec, and the checks of spec parameters."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl._types import Array
from kgl.kernels.covariates import Covariates, is_number

if TYPE_CHECKING:
    from kgl.kernels.factors import KernelAccess

_SPANS: dict[str, Callable[[float], bool]] = {
    "> 0": lambda value: value > 0,
    ">= 0": lambda value: value >= 0,
    "between 0 and 1": lambda value: 0 <= value <= 1,
}


#: What takes kernels that have no thin factor, as errors of a fit to many nodes name it.
DENSE_FIT = "solver='newton' where memory allows"


class NeedsDenseError(ValueError):
    """A large data set that only a fit with arrays of nodes by nodes can take."""


class NotLowRankError(NeedsDenseError):
    """A kernel needs more columns than allowed; `reached` is the share of the trace left out."""

    def __init__(self, message: str, reached: float) -> None:
        super().__init__(message)
        self.reached = reached


class FittedKernel(ABC):
    """A kernel with all it learned from its training covariates, and `matrix`, its values there."""

    spec: Kernel
    matrix: Array

    @property
    def mean_variance(self) -> float:
        """Mean of the diagonal."""
        return float(np.mean(np.diag(self.matrix)))

    @abstractmethod
    def cross(self, X_new: Covariates) -> Array:
        """Kernel between new and training covariates, of shape (n_new, n_train)."""


class Kernel(ABC):
    """Base of the kernel specs: immutable, comparable with ``==``, and picklable."""

    @abstractmethod
    def fit(self, X: Covariates) -> FittedKernel:
        """Learn bandwidth, scales and categories from `X` and evaluate the kernel on it."""

    def fit_to(
        self, X: Covariates, targets: Array | None, mask: np.ndarray | None = None
    ) -> FittedKernel:
        """Fit to covariates of data ``targets``, one row for each row of `X`.

        Only :class:`kgl.kernels.Auto` learns from the data; other kernels have no use for them.
        `mask` is False where an entry of `targets` is missing.
        """
        del targets, mask
        return self.fit(X)

    def access(
        self, X: Covariates, targets: Array | None = None, mask: np.ndarray | None = None
    ) -> KernelAccess:
        """Fit as :meth:`fit_to` does, and return the kernel by its columns instead of a matrix."""
        del X, targets, mask
        raise NeedsDenseError(
            f"{type(self).__name__} gives its matrix as a whole and no single columns, so it "
            "cannot be used for a large data set; use RBF, Linear, Mixed, Auto or "
            f"LowRank(features), or {DENSE_FIT}"
        )

    def __call__(self, X: Covariates) -> Array:
        """Kernel matrix of `X`: shorthand for ``spec.fit(X).matrix``."""
        return self.fit(X).matrix


def number(value: Any, name: str, span: str, remedy: str = "") -> float:
    """`value` as a finite float in the span named (a key of `_SPANS`), or an error."""
    if not is_number(value) or np.ndim(value) != 0:
        raise TypeError(f"{name} must be a number, got {value!r}{remedy}")
    if not (math.isfinite(value) and _SPANS[span](value)):
        raise ValueError(f"{name} must be finite and {span}, got {value!r}{remedy}")
    return float(value)


def choice(value: Any, name: str, options: Sequence[str | None]) -> None:
    """Refuse anything but one of `options`."""
    if not isinstance(value, (str, type(None))) or value not in options:
        names = ", ".join(repr(option) for option in options)
        raise ValueError(f"unknown {name} {value!r}: choose one of {names}")
