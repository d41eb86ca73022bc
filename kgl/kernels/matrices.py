"""Kernel matrices: checks and decompositions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgl._memory import Estimate, check_memory
from kgl._types import Array
from kgl._validation import as_floats, refuse_masked
from kgl.kernels.semidefinite import require_psd

# What the size of each kernel of the models must match, for error messages.
_SIDES = {"K_x": "columns (nodes)", "K_z": "rows (observations)"}
_REMEDY = "use fewer rows, or a factor: kgl.kernels.LowRank, or kgl.compress for observations"
_SPECS = "for covariates use a spec, such as kgl.kernels.RBF()(X) or kgl.kernels.Mixed()(X)"

#: Rows of a block in which large matrices are checked: without copies of the whole.
BLOCK = 512
#: Rows from which a kernel of low rank is decomposed by its factor. Smaller ones are decomposed as
#: a whole, with the same bytes as ever.
FACTOR_FROM = 3_000
#: Share of directions above which a factor is no use.
FEW = 0.5
#: Bytes per entry, measured at 4,000 rows: at the peak where a kernel matrix is made, checked and
#: tried for a factor, and what all its eigenvectors take beyond it.
WHOLE, EIGENVECTORS = 24, 25


#: Size of kernels up to which products with hyperparameters stay in range.
_LARGE = 1e100


def square_matrix(K: Any, name: str, size: int | None = None) -> tuple[Array, float]:
    """Finite square float64 copy of K, and the machine epsilon of what K was stored in."""
    if hasattr(K, "toarray"):
        raise TypeError(f"{name} is a sparse {type(K).__name__}: pass {name}.toarray()")
    refuse_masked(K, name)
    given = np.asarray(K)
    if given.dtype.kind == "O":  # nullable pandas columns, or something that is no matrix
        try:
            given = given.astype(np.float64)
        except (TypeError, ValueError):
            got = type(K).__name__
            raise TypeError(f"{name} must be a matrix of numbers, got {got}: {_SPECS}") from None
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be a real matrix, got dtype {given.dtype}: {_SPECS}")
    # A kernel stored in single precision is symmetric and semi-definite to single precision.
    eps = float(np.finfo(given.dtype if given.dtype.kind == "f" else np.float64).eps)
    eps = max(eps, float(np.finfo(np.float64).eps))
    matrix = given.astype(np.float64, order="C")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = " x ".join(str(length) for length in matrix.shape) or "a single number"
        raise ValueError(f"{name} must be a square matrix but is {shape}: {_SPECS}")
    if size is not None and len(matrix) != size:
        need = f"Y has {size} {_SIDES[name]}" if name in _SIDES else f"{size} x {size} is needed"
        raise ValueError(
            f"{name} is {len(matrix)} x {len(matrix)} but {need}: pass one row and one column for "
            "each (K_x is for nodes, the columns of Y; K_z for observations, its rows)"
        )
    if matrix.size == 0:
        raise ValueError(f"{name} is empty: pass at least one row and column")
    for begin in range(0, len(matrix), BLOCK):
        finite = np.isfinite(matrix[begin : begin + BLOCK])
        if finite.all():
            continue
        i, j = np.argwhere(~finite)[0] + (begin, 0)
        raise ValueError(
            f"{name} is not finite: {name}[{i}, {j}] = {matrix[i, j]}; look for missing or "
            "infinite covariates, or for an overflow in the kernel"
        )
    return matrix, eps


def symmetric_matrix(K: Any, name: str, size: int | None = None) -> tuple[Array, float]:
    """``(K + K') / 2`` once K is symmetric up to rounding, and the epsilon of its dtype."""
    matrix, eps = square_matrix(K, name, size)
    size_of = max(float(matrix.max()), -float(matrix.min()))
    if size_of > _LARGE:
        raise ValueError(
            f"the largest absolute entry of {name} is {size_of:g}, beyond what double precision "
            f"can compute with: rescale it, for example divide by {size_of:g}"
        )
    largest, (i, j) = _asymmetry(matrix)
    if largest > math.sqrt(eps) * max(matrix.max(), -matrix.min()):
        raise ValueError(
            f"{name} is not symmetric: {name}[{i}, {j}] = {matrix[i, j]:.6g} but {name}[{j}, {i}] "
            f"= {matrix[j, i]:.6g} (largest asymmetry {largest:.3g}); if that is not a mistake, "
            f"pass ({name} + {name}.T) / 2"
        )
    return _symmetrize(matrix), eps


def _asymmetry(matrix: Array) -> tuple[float, tuple[int, int]]:
    """Return the largest ``|K_ij - K_ji|``, and the first place that has it."""
    largest, where = -1.0, (0, 0)
    for begin in range(0, len(matrix), BLOCK):
        gap = matrix[begin : begin + BLOCK] - matrix[:, begin : begin + BLOCK].T
        np.abs(gap, out=gap)
        i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
        if gap[i, j] > largest:
            largest, where = float(gap[i, j]), (begin + int(i), int(j))
    return largest, where


def _symmetrize(matrix: Array) -> Array:
    """Replace K by ``(K + K') / 2``, a tile and its mirror image at a time."""
    size = len(matrix)
    for begin in range(0, size, BLOCK):
        for first in range(begin, size, BLOCK):
            here = (slice(begin, begin + BLOCK), slice(first, first + BLOCK))
            mirror = (here[1], here[0])
            tile = (matrix[here] + matrix[mirror].T) / 2.0
            matrix[here], matrix[mirror] = tile, tile.T
    return matrix


def rebuild(values: Array, vectors: Array) -> Array:
    """V diag(values) V', exactly symmetric."""
    return _symmetrize(np.asarray((vectors * values) @ vectors.T))


def _is_identity(K: Array) -> bool:
    return bool(np.all(np.diag(K) == 1.0)) and int(np.count_nonzero(K)) == len(K)


def check_kernel(K: Any, name: str, size: int | None = None) -> Array:
    """Check that `K` is a kernel matrix and return a symmetric float64 copy.

    Asymmetry and negative eigenvalues below the square root of the machine epsilon of K's dtype,
    relative to the largest entry or eigenvalue, count as rounding, so that numerically singular
    RBF matrices pass.

    `K` must be finite, symmetric and positive semi-definite, with `size` rows and columns if that
    is given. `name` is used in errors; ``"K_x"`` and ``"K_z"`` also name the axis of Y.

    >>> check_kernel([[1, 2], [2, 1]], "K_x", 2)
    Traceback (most recent call last):
    ...
    ValueError: K_x is not positive semi-definite: its smallest eigenvalue is -1 (largest 3); ...
    """
    matrix, eps = symmetric_matrix(K, name, size)
    if not _is_identity(matrix):
        require_psd(np.asarray(np.linalg.eigvalsh(matrix)), name, eps)
    return matrix


def check_cross(K_new: Any, n_train: int, remedy: str) -> Array:
    """Finite float64 copy of a cross-kernel, of shape (n_new, n_train)."""
    refuse_masked(K_new, "the cross-kernel")
    matrix = as_floats(K_new, "the cross-kernel")
    if matrix.ndim != 2 or matrix.shape[1] != n_train:
        raise ValueError(
            f"the cross-kernel has shape {matrix.shape} but (n_new, {n_train}) is needed: {remedy}"
        )
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(f"the cross-kernel is {matrix[i, j]} at [{i}, {j}]: it must be finite")
    return matrix


@dataclass(frozen=True, eq=False)
class KernelEigen:
    """Eigendecomposition ``K = vectors diag(values) vectors'`` over the range of K.

    `values` (r,) are descending and > 0. `is_identity` marks that K is exactly the identity (no
    side information), where solvers take a shortcut.
    """

    values: Array
    basis: Array | None  # None for the identity, which needs no matrix
    size: int
    is_identity: bool

    @property
    def vectors(self) -> Array:
        """Orthonormal eigenvectors (size, r)."""
        return np.eye(self.size) if self.basis is None else self.basis

    @property
    def rank(self) -> int:
        """Number of directions kept."""
        return len(self.values)

    @property
    def matrix(self) -> Array:
        """The kernel matrix, without the dropped directions."""
        return rebuild(self.values, self.vectors)


def kernel_eigen(
    K: Any | None, name: str, size: int, *, rank_tol: float | None = None
) -> KernelEigen:
    """Check a kernel matrix as in :func:`check_kernel` and decompose it, without its null space.

    Parameters
    ----------
    K : (size, size) array-like or None
        Kernel matrix; None is the identity (no side information on this side).
    rank_tol : float, optional
        Directions with eigenvalue <= ``rank_tol`` times the largest one are dropped. Default:
        ``size`` times the machine epsilon of K's dtype, as in :func:`numpy.linalg.matrix_rank`.

    Examples
    --------
    >>> eigen = kernel_eigen([[2.0, 2.0], [2.0, 2.0]], "K_x", 2)
    >>> eigen.rank, float(eigen.values[0].round(12))
    (1, 4.0)
    """
    if rank_tol is not None and not 0 <= rank_tol < 1:
        raise ValueError(f"rank_tol must be >= 0 and < 1, got {rank_tol!r}")
    matrix, eps = (None, 0.0) if K is None else symmetric_matrix(K, name, size)
    if matrix is None or _is_identity(matrix):
        return KernelEigen(np.ones(size), None, size, True)
    if not matrix.any():
        raise ValueError(
            f"{name} is the zero matrix, under which every signal is 0: pass None (the identity) "
            "for no side information, or covariates that vary"
        )
    share = size * eps if rank_tol is None else rank_tol
    found = _eigen_by_factor(matrix, share) if size >= FACTOR_FROM else None
    if found is not None:
        return found
    if size >= FACTOR_FROM:
        need = EIGENVECTORS * size * size
        check_memory(
            Estimate(need, f"eigenvectors, {size} x {size}", _REMEDY),
            f"decomposing {name}, which is not of low rank,",
        )
    values, vectors = np.linalg.eigh(matrix)
    require_psd(values, name, eps)
    cutoff = share * values[-1]
    keep = np.flatnonzero(values > cutoff)[::-1]  # eigh is ascending
    return KernelEigen(values[keep], np.ascontiguousarray(vectors[:, keep]), size, False)


def estimate_kernel(size: int) -> Estimate:
    """Estimate a kernel matrix as a whole, of low rank: others are checked when that is known."""
    return Estimate(WHOLE * size * size, f"a kernel of {size} x {size}", _REMEDY)


def _eigen_by_factor(matrix: Array, share: float) -> KernelEigen | None:
    """Decompose a kernel by Cholesky's method with pivots, None where it is not of low rank.

    It stops when nothing is left on the diagonal that an eigenvalue above the cutoff would leave.
    """
    from scipy.linalg import qr, svd  # slow to load, so only where needed
    from scipy.linalg.lapack import dpstrf

    size = len(matrix)
    start = np.ones(size) + 0.5 * np.cos(np.arange(size))
    for _ in range(8):  # a lower bound of the largest eigenvalue
        start = matrix @ (start / np.linalg.norm(start))
    tol = share * float(np.linalg.norm(start)) / size
    factor, pivots, rank, _ = dpstrf(matrix, tol=tol, lower=1)
    if rank > FEW * size:
        return None
    rows = np.zeros((size, rank))
    rows[pivots - 1] = np.tril(factor[:, :rank])
    del factor
    # what is left has a small diagonal; unless all of it is small, K is not semi-definite
    probes = np.random.default_rng(0).standard_normal((size, 4))
    left = matrix @ probes - rows @ (rows.T @ probes)
    if np.abs(left).max() > 1e2 * math.sqrt(size) * tol:
        return None
    Q, R = qr(rows, mode="economic", overwrite_a=True)
    U, singular, _ = svd(R)
    keep = singular**2 > share * singular[0] ** 2
    return KernelEigen(singular[keep] ** 2, np.ascontiguousarray(Q @ U[:, keep]), size, False)


def nearest_psd(K: Any) -> Array:
    """Nearest positive semi-definite matrix in Frobenius norm (Higham, 1988).

    >>> nearest_psd([[1, 2], [2, 1]]).round(12)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """
    matrix, _ = square_matrix(K, "K")
    values, vectors = np.linalg.eigh(_symmetrize(matrix))
    return rebuild(np.maximum(values, 0.0), vectors)


def normalize(K: Any) -> Array:
    """Cosine normalisation ``K_ij / sqrt(K_ii K_jj)``: a unit diagonal, and still semi-definite.

    >>> normalize([[4.0, 1.0], [1.0, 1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    matrix = check_kernel(K, "K")
    diagonal = np.diag(matrix)
    if diagonal.min() <= 0:
        i = int(np.argmin(diagonal))
        raise ValueError(
            f"K[{i}, {i}] = {diagonal[i]:g}: cosine normalisation needs a positive diagonal; drop "
            "the item, or add a small number to the diagonal"
        )
    root = np.sqrt(diagonal)
    scaled = matrix / root[:, None] / root[None, :]
    np.fill_diagonal(scaled, 1.0)
    return np.asarray((scaled + scaled.T) / 2.0)
