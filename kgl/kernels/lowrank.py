"""Kernels that are given by their features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgl._types import Array
from kgl.kernels.base import FittedKernel, Kernel, number
from kgl.kernels.covariates import Covariates, read_table
from kgl.kernels.factors import KernelAccess, factorize
from kgl.kernels.names import KERNELS

__all__ = ["LowRank"]


@dataclass(frozen=True, eq=False)
class LowRank(Kernel):
    """Kernel ``F F' + white I`` of features F of your own, one row per item.

    Spectral coordinates of a known graph, random Fourier features, embeddings: whatever has few
    columns. No matrix of the size of the data squared is formed for it, whatever the size.

    Parameters
    ----------
    features : array (size, r), optional
        Features of the items of the fit, in their order. Without them the covariates that are
        passed to ``fit`` are the features.
    white : float
        Variance of each item by itself, >= 0; it has no value at new items.

    Examples
    --------
    >>> LowRank()([[1.0, 0.0], [1.0, 1.0]])
    array([[1., 1.],
           [1., 2.]])
    >>> LowRank().fit([[1.0, 0.0], [1.0, 1.0]]).cross([[0.0, 3.0]]).round(12)
    array([[0., 3.]])
    """

    features: Any = None
    white: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "white", number(self.white, "white", ">= 0"))
        if self.features is not None:
            features = _features(self.features, "features").copy()
            features.setflags(write=False)
            object.__setattr__(self, "features", features)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowRank) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        shown = "" if self.features is None else f"<{self.features.shape} array>"
        return f"LowRank({shown}{', ' * bool(shown)}white={self.white!r})"

    def _key(self) -> tuple[Any, ...]:
        F = self.features
        return self.white, None if F is None else (F.shape, (F + 0.0).tobytes())

    def fit(self, X: Covariates = None) -> FittedKernel:
        """Take the features as they are."""
        return factorize(self.access(X), self)

    def access(
        self, X: Covariates = None, targets: Array | None = None, mask: np.ndarray | None = None
    ) -> KernelAccess:
        """Return the factor that the features are."""
        own = self.features
        if own is None:
            own = _features(X, "features")
        elif X is not None and len(X) != len(own):
            raise ValueError(
                f"LowRank has features of {len(own)} items but there are {len(X)}; give one row "
                "of features for each"
            )
        return KernelAccess.of_features(own, _Read(own.shape[1]), self.white)


@dataclass(frozen=True)
class _Read:
    """Features of new items, checked."""

    width: int

    def __call__(self, X_new: Covariates) -> Array:
        F = _features(X_new, "new features")
        if F.shape[1] != self.width:
            raise ValueError(
                f"new items have {F.shape[1]} feature(s) but those of the fit have {self.width}; "
                "give the same features"
            )
        return F


def _features(X: Covariates, what: str) -> Array:
    if X is None:
        raise ValueError(
            "LowRank has no features: pass them, LowRank(features), or as covariates of the fit"
        )
    table = read_table(X, what)
    return table.numbers(range(len(table.columns)))


KERNELS["low-rank"] = LowRank
