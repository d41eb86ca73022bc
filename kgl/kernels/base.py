"""The contract of a kernel spec, and the checks of spec parameters."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from kgl.kernels.covariates import Covariates, is_number
from kgl.kernels.matrices import FloatArray


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


def positive(value: Any, name: str, remedy: str = "") -> float:
    """`value` as a finite float > 0, or an error that says so."""
    return _number(value, name, "> 0", math.ulp(0.0), math.inf, remedy)


def between(value: Any, name: str, low: float, high: float, remedy: str = "") -> float:
    """`value` as a finite float in [low, high], or an error that says so."""
    span = f">= {low:g}" if high == math.inf else f"between {low:g} and {high:g}"
    return _number(value, name, span, low, high, remedy)


def _number(value: Any, name: str, span: str, low: float, high: float, remedy: str) -> float:
    if not is_number(value) or np.ndim(value) != 0:
        raise TypeError(f"{name} must be a number, got {value!r}{remedy}")
    number = float(value)
    if not (low <= number <= high and math.isfinite(number)):
        raise ValueError(f"{name} must be finite and {span}, got {value!r}{remedy}")
    return number


def choice(value: Any, name: str, options: Sequence[str | None]) -> None:
    """Refuse anything but one of `options`."""
    if not isinstance(value, (str, type(None))) or value not in options:
        names = ", ".join(repr(option) for option in options)
        raise ValueError(f"unknown {name} {value!r}: choose one of {names}")
