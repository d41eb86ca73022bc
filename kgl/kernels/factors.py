r"""Kernels as thin factors, by pivoted Cholesky: no matrix of the size of the data squared.

A kernel is read one block of columns at a time. After r pivots :math:`K = \Phi \Phi^\top + E` with
:math:`E \succeq 0`, whose diagonal is known exactly; so is its trace, which is the error that
counts. Pivots are drawn in proportion to what is left of the diagonal, a block at a time
(randomly pivoted Cholesky; Chen, Epperly, Tropp and Webber, 2025), with a fixed seed. Directions
that do not add up to the tolerance are dropped at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgl._memory import Estimate, check_memory
from kgl._types import Array
from kgl.kernels.base import DENSE_FIT, FittedKernel, Kernel, NotLowRankError
from kgl.kernels.matrices import KernelEigen, check_cross
from kgl.kernels.semidefinite import refuse_indefinite, require_factor

__all__ = [
    "KERNEL_TOL",
    "MAX_RANK",
    "FittedFactor",
    "KernelAccess",
    "factor_eigen",
    "factorize",
    "is_low_rank",
]

#: Share of the trace of a kernel that a factor may leave out, and its columns at most. Of 2,000
#: nodes up to 80 of 10,000 edges were others at 1e-8 than at 1e-12, and at most one at 1e-10, for
#: a rank that is 16 to 37 % higher.
KERNEL_TOL, MAX_RANK = 1e-10, 1000
#: Columns that are read at once.
BLOCK = 64
#: Machine epsilon of double precision, and the smallest tolerance in multiples of that of a kernel:
#: below it the diagonal that is left is rounding.
EPS, LEAST_TOL = float(np.finfo(float).eps), 45.0
#: What may be left on the diagonal below zero, as a share of its largest entry.
NEGATIVE = 1e-7

Columns = Callable[[np.ndarray], Array]

_ZERO = "the kernel is zero, under which every signal is 0; use other covariates or features"


@dataclass(frozen=True, eq=False)
class KernelAccess:
    """A kernel that is read by columns.

    Attributes
    ----------
    diagonal : array (size,)
        Its diagonal, without the white part.
    columns : callable
        ``columns(index)`` returns the columns (size, k) of some points, without the white part.
    new : callable or None
        ``new(X_new, index)`` returns the kernel (n_new, k) between new covariates and those points.
    white : float
        Added to the diagonal: variance of each point by itself.
    features : array (size, r) or None
        A factor that is known without looking for one.
    new_features : callable or None
        Its rows at new covariates.
    notes : dict
        What was chosen, such as bandwidths.
    shorten : callable or None
        Returns a kernel with fewer parts where this one is not low rank.
    matrix : array (size, size) or None
        The kernel, where it was given as a matrix.
    name, eps : str, float
        Name of the kernel for errors, and the machine epsilon of what it was stored in.
    """

    diagonal: Array
    columns: Columns
    new: Callable[[Any, np.ndarray], Array] | None = None
    white: float = 0.0
    features: Array | None = None
    new_features: Callable[[Any], Array] | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    shorten: Callable[[], KernelAccess] | None = None
    matrix: Array | None = field(default=None, repr=False)
    name: str = "the kernel"
    eps: float = EPS

    @classmethod
    def of_matrix(cls, K: Array, name: str = "K", eps: float = EPS) -> KernelAccess:
        """Read a kernel matrix; new points are rows of a matrix with the same columns."""
        new = _MatrixColumns(len(K))
        return cls(np.diag(K).copy(), lambda index: K[:, index], new, matrix=K, name=name, eps=eps)

    @classmethod
    def of_features(
        cls, F: Array, read: Callable[[Any], Array] | None = None, white: float = 0.0
    ) -> KernelAccess:
        """Return the kernel ``F F'``."""
        return cls(
            np.einsum("ij,ij->i", F, F),
            lambda index: F @ F[index].T,
            None if read is None else _FeatureColumns(read, F),
            white=white,
            features=F,
            new_features=read,
        )


@dataclass(frozen=True, eq=False)
class _FeatureColumns:
    read: Callable[[Any], Array]
    features: Array

    def __call__(self, X_new: Any, index: np.ndarray) -> Array:
        return np.asarray(self.read(X_new) @ self.features[index].T)


@dataclass(frozen=True)
class _MatrixColumns:
    size: int

    def __call__(self, X_new: Any, index: np.ndarray) -> Array:
        remedy = "a precomputed kernel needs the cross-kernel here, one column per training item"
        return check_cross(X_new, self.size, remedy)[:, index]


@dataclass(frozen=True, eq=False)
class FittedFactor(FittedKernel):
    """A kernel ``B B' + white I`` by its factor.

    Attributes
    ----------
    factor : array (size, r)
        B, with orthogonal columns.
    white : float
        Variance of each point by itself; it has no value at new points.
    trace_error_ : float
        Share of the trace that the factor leaves out.
    notes_ : dict
        What was chosen, such as bandwidths.
    """

    spec: Kernel
    factor: Array = field(repr=False)
    white: float
    trace_error_: float
    notes_: dict[str, Any]
    _embed: Callable[[Any], Array] | None = field(repr=False)

    @property
    def matrix(self) -> Array:  # type: ignore[override]
        """The kernel matrix, which takes memory of the size of the data squared."""
        K = self.factor @ self.factor.T
        K[np.diag_indices(len(K))] += self.white
        return np.asarray(0.5 * (K + K.T))

    @property
    def mean_variance(self) -> float:
        """Mean of the diagonal."""
        return float(np.sum(self.factor**2)) / len(self.factor) + self.white

    def embed(self, X_new: Any) -> Array:
        """Return rows of the factor (n_new, r) at new covariates."""
        if self._embed is None:
            raise ValueError(
                f"{self.spec!r} has no values at new covariates; pass the kernel as a spec, such "
                "as kgl.kernels.RBF(), or kgl.kernels.LowRank(features)"
            )
        return self._embed(X_new)

    def cross(self, X_new: Any) -> Array:
        """Kernel between new and training covariates, of shape (n_new, n_train)."""
        return np.asarray(self.embed(X_new) @ self.factor.T)


def factorize(
    access: KernelAccess, spec: Kernel, *, tol: float = KERNEL_TOL, max_rank: int = MAX_RANK
) -> FittedFactor:
    """Return the factor of a kernel, with no more of its trace left out than ``tol``.

    Raises
    ------
    NotLowRankError
        If that takes more than ``max_rank`` columns.
    """
    if access.features is not None:
        if not access.features.any() and access.white == 0.0:
            raise ValueError(_ZERO)
        factor, turn, error = _turned(
            access.features, float(access.diagonal.sum()), 0.0, 0.0, access
        )
        read = access.new_features
        embed = None if read is None else _Embedding(read, turn)
        return FittedFactor(spec, factor, access.white, error, access.notes, embed)
    tol = max(tol, LEAST_TOL * access.eps)
    total = float(access.diagonal.sum())
    _require_psd(access, access.diagonal)
    if total <= 0.0:
        raise ValueError(_ZERO)
    try:
        Phi, pivots, left = _pivoted(access, 0.5 * tol * total, max_rank)
    except NotLowRankError:
        if access.shorten is None:
            raise
        return factorize(access.shorten(), spec, tol=tol, max_rank=max_rank)
    factor, turn, error = _turned(Phi, total, left, tol, access)
    if access.matrix is not None:
        require_factor(access.matrix, factor, error * total, access.name, access.eps)
    embed = None
    if access.new is not None:
        # Phi = K[:, pivots] C^-T with C the rows of the pivots: the same at new points
        back = np.linalg.solve(Phi[pivots], np.eye(len(pivots))).T @ turn
        embed = _Embedding(_PivotColumns(access.new, pivots), back)
    return FittedFactor(spec, factor, access.white, error, access.notes, embed)


@dataclass(frozen=True, eq=False)
class _PivotColumns:
    """Kernel between new points and the pivots. A class and no closure, so that it pickles."""

    new: Callable[[Any, np.ndarray], Array]
    pivots: np.ndarray

    def __call__(self, X_new: Any) -> Array:
        return self.new(X_new, self.pivots)


@dataclass(frozen=True, eq=False)
class _Embedding:
    read: Callable[[Any], Array]
    turn: Array

    def __call__(self, X_new: Any) -> Array:
        return np.asarray(self.read(X_new) @ self.turn)


def _pivoted(access: KernelAccess, goal: float, max_rank: int) -> tuple[Array, np.ndarray, float]:
    """Return a factor, its pivots, and the trace that is left out."""
    from scipy.linalg import solve_triangular  # slow to load, so only where needed

    left, size = access.diagonal.astype(float), len(access.diagonal)
    rng, pivots, rank = np.random.default_rng(0), np.empty(0, dtype=np.intp), 0
    most = min(max_rank, size)
    rows = np.empty((most, size))  # pages that are never written take no memory
    while (rest := float(left.sum())) > goal:
        if rank >= most:
            share = rest / float(access.diagonal.sum())
            raise NotLowRankError(_refusal(share, 2.0 * goal, access, max_rank), share)
        count = min(BLOCK, most - rank, int(np.count_nonzero(left > 0.0)))
        check_memory(_growth(size, rank, count), f"the factor of a kernel of {size} points")
        drawn = rng.choice(size, count, replace=False, p=left / rest)
        columns, own = access.columns(drawn), rows[:rank, drawn]
        order, root = _small_cholesky(columns[drawn] - own.T @ own, rest / size)
        # only the columns that are taken are worth the products with all earlier ones
        new = columns.T[order] - own[:, order].T @ rows[:rank]
        width = rank + len(order)
        rows[rank:width] = solve_triangular(root, new, lower=True, check_finite=False)
        left -= np.einsum("kn,kn->n", rows[rank:width], rows[rank:width])
        _require_psd(access, left)
        np.maximum(left, 0.0, out=left)
        pivots = np.concatenate([pivots, drawn[order]])
        left[pivots] = 0.0
        rank = width
    return rows[:rank].T, pivots, float(left.sum())


def _growth(size: int, rank: int, count: int) -> Estimate:
    """Return what the next columns take beyond what is held, with the turned factor at the end."""
    return Estimate(
        8 * size * (rank + 3 * count),
        f"column {rank + count} and those before it, turned",
        "use a wider kernel (a smaller gamma), which needs fewer columns, or features of your own "
        "(kgl.kernels.LowRank)",
    )


def _require_psd(access: KernelAccess, left: Array) -> None:
    """Refuse a kernel that leaves less than nothing on the diagonal, or has nothing else there."""
    largest, least = float(access.diagonal.max()), float(left.min())
    if access.matrix is not None and largest <= 0.0 and access.matrix.any():
        refuse_indefinite(access.matrix, access.name, access.eps)
    if least >= -max(NEGATIVE, math.sqrt(access.eps)) * largest:
        return
    remedy = "use a kernel function that is"
    if access.matrix is not None:
        refuse_indefinite(access.matrix, access.name, access.eps)
        remedy = f"use kgl.kernels.nearest_psd({access.name})"
    raise ValueError(
        f"{access.name} is not positive semi-definite: its factor leaves {least:.3g} on the "
        f"diagonal; {remedy}"
    )


def _small_cholesky(S: Array, least: float) -> tuple[np.ndarray, Array]:
    """Return pivots of a small matrix that are worth an average point, and their lower factor."""
    S = S.copy()
    size = len(S)
    rows, order = np.zeros((size, size)), []
    diagonal = np.diag(S).copy()
    for k in range(size):
        pivot = int(np.argmax(diagonal))
        if diagonal[pivot] < least and k:
            break
        row = (S[pivot] - rows[:k, pivot] @ rows[:k]) / np.sqrt(max(diagonal[pivot], 1e-300))
        rows[k] = row
        diagonal = diagonal - row**2
        order.append(pivot)
        diagonal[order] = -np.inf
    chosen = np.array(order)
    return chosen, np.tril(rows[: len(order), chosen].T)


def is_low_rank(access: KernelAccess, tol: float = KERNEL_TOL, max_rank: int = MAX_RANK) -> bool:
    """Return whether a kernel has a factor of so many columns, judged by some of its rows.

    Rows that are left out can only make the rank larger, so that a kernel that passes may still
    be refused by :func:`factorize`.
    """
    size = len(access.diagonal)
    some = np.arange(size)
    if size > 4 * max_rank:
        some = np.sort(np.random.default_rng(0).choice(size, 4 * max_rank, replace=False))
    part = KernelAccess(access.diagonal[some], lambda index: access.columns(some[index])[some])
    try:
        _pivoted(part, 0.5 * tol * float(part.diagonal.sum()), max_rank)
    except NotLowRankError:
        return False
    return True


def _refusal(share: float, goal: float, access: KernelAccess, max_rank: int) -> str:
    tol = goal / float(access.diagonal.sum())
    return (
        f"the kernel is not low rank: {max_rank} columns leave {share:.1e} of its trace out, more "
        f"than kernel_tol = {tol:.0e} allows. Use a wider kernel (a smaller gamma), a larger "
        f"max_rank, features of your own (kgl.kernels.LowRank), or {DENSE_FIT}; a larger "
        "kernel_tol changes edges"
    )


def _turned(
    Phi: Array, total: float, left: float, tol: float, access: KernelAccess
) -> tuple[Array, Array, float]:
    """Turn a factor to principal axes and drop those that the tolerance leaves room for.

    Returns the factor, the rotation, and the share of the trace that is left out.
    """
    values, V = np.linalg.eigh(Phi.T @ Phi)
    values = np.maximum(values, 0.0)
    # no directions, but rounding: those of a matrix as kernel_eigen has it
    count = len(values) if access.matrix is None else len(Phi)
    cut = values <= access.eps * count * values[-1]
    cut |= np.cumsum(values) + left <= tol * total
    error = (left + float(values[cut].sum())) / total if total > 0 else 0.0
    turn = np.ascontiguousarray(V[:, ~cut][:, ::-1])
    return np.ascontiguousarray(Phi @ turn), turn, error


def factor_eigen(factor: Array) -> KernelEigen:
    """Return the eigendecomposition of ``B B'`` over its range.

    Examples
    --------
    >>> factor_eigen(np.array([[3.0], [4.0]])).values
    array([25.])
    """
    Q, R = np.linalg.qr(factor)
    U, singular, _ = np.linalg.svd(R)
    keep = singular > len(factor) * np.finfo(float).eps * singular[0]
    basis = np.ascontiguousarray(Q @ U[:, : len(singular)][:, keep])
    return KernelEigen(singular[keep] ** 2, basis, len(factor), False)
