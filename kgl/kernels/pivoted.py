r"""Kernels of low rank, factor by factor: pivoted Cholesky without the kernel matrix.

:math:`K \approx F F^\top` with F (n, r). The diagonal of what is left is known at every step, so
the trace of the error is exact, and so is the bound :math:`\|K - F F^\top\| \le` that trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kgl._types import Array

__all__ = ["KERNEL_TOL", "MAX_RANK", "pivoted_cholesky"]

#: Share of the trace that may be left out. At 1e-8 no edge of the test problems differs from that
#: of the full kernel; at 1e-4 some do.
KERNEL_TOL = 1e-8
#: Directions at most, unless asked for.
MAX_RANK = 2000
#: Pivots per block, and candidates that they are chosen from.
_BLOCK, _CANDIDATES = 32, 128


def pivoted_cholesky(
    diagonal: Array,
    kernel: Callable[[Any, np.ndarray], Array],
    *,
    tol: float = KERNEL_TOL,
    max_rank: int | None = None,
    name: str = "the kernel",
) -> tuple[Array, float]:
    """Factor a positive semi-definite kernel from its diagonal and the entries asked for.

    Pivots are chosen in blocks, so that most of the work is matrix products: candidates are spread
    evenly over what is left of the diagonal, and the best of them are found by pivoting among
    themselves. The rank is a little above that of pivots chosen one at a time.

    Parameters
    ----------
    diagonal : array (n,)
        Diagonal of the kernel.
    kernel : callable
        ``kernel(rows, columns)`` returns the entries of rows (an index array or a slice) and
        columns (an index array).
    tol : float
        Share of the trace that may be left out.
    max_rank : int, optional
        Columns of the factor at most; :data:`MAX_RANK` if not given.
    name : str
        What the kernel is called in errors.

    Returns
    -------
    array (n, r)
        The factor F, in Fortran order.
    float
        Share of the trace that is left out.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 50)
    >>> K = np.exp(-((x[:, None] - x) ** 2))
    >>> factor, left = pivoted_cholesky(np.diag(K).copy(), lambda i, j: K[i][:, j])
    >>> factor.shape[1] < 12, left <= 1e-8, bool(np.abs(factor @ factor.T - K).max() < 1e-6)
    (True, True, True)
    """
    from scipy.linalg import solve_triangular  # slow to load, so only where needed

    n = len(diagonal)
    most = min(n, MAX_RANK if max_rank is None else max_rank)
    left = np.array(diagonal, dtype=float)
    trace = float(left.sum())
    if not (np.isfinite(trace) and trace > 0 and left.min() >= 0):
        raise ValueError(
            f"{name} has a diagonal from {left.min():g} to {left.max():g}: a kernel must have a "
            "finite, non-negative diagonal that is not zero throughout"
        )
    rows = np.empty((most, n))  # pages that are never written take no memory
    rank, used = 0, np.zeros(n, dtype=bool)
    while (error := float(left.sum()) / trace) > tol and rank < most:
        pivots = _choose(left, used, kernel, rows[:rank])[: most - rank]
        # what the new columns have beyond the old ones, orthogonalised among themselves
        block = kernel(slice(None), pivots).T
        block = block - rows[:rank, pivots].T @ rows[:rank]
        lower = np.linalg.cholesky(_symmetric(block[:, pivots], left[pivots]))
        new = rows[rank : rank + len(pivots)]
        new[:] = solve_triangular(lower, block, lower=True, check_finite=False)
        left -= np.einsum("kn,kn->n", new, new)
        np.maximum(left, 0.0, out=left)
        used[pivots], left[pivots] = True, 0.0
        rank += len(pivots)
    if error > tol:
        raise ValueError(
            f"{name} is not of low rank: {rank} directions of {n} leave {error:.2g} of its trace, "
            f"more than the tolerance of {tol:g}. A kernel whose length is short beside the range "
            "of its covariates has many directions: take a wider kernel, add its short part as "
            "white noise, raise max_rank (memory: 8 bytes x n x max_rank), or raise the "
            "tolerance if you know that the graph does not depend on it"
        )
    return rows[:rank].T, error


def _choose(
    left: Array, used: np.ndarray, kernel: Callable[[Any, np.ndarray], Array], rows: Array
) -> np.ndarray:
    """Return the next pivots, the best first."""
    total = np.cumsum(left)
    spots = (np.arange(_CANDIDATES) + 0.5) / _CANDIDATES * total[-1]
    candidates = np.unique(np.minimum(np.searchsorted(total, spots), len(left) - 1))
    candidates = np.union1d(candidates[~used[candidates]], [int(np.argmax(left))])
    explained = rows[:, candidates]
    inner = kernel(candidates, candidates) - explained.T @ explained
    return np.asarray(candidates[_pivots(inner, left[candidates])])


def _pivots(inner: Array, left: Array) -> np.ndarray:
    """Return pivots among candidates, the largest first, while they keep a tenth of the largest."""
    rest, chosen, factor = left.copy(), list[int](), np.zeros((0, len(left)))
    floor = 0.1 * rest.max()
    while len(chosen) < _BLOCK and len(chosen) < len(left):
        k = int(np.argmax(rest))
        if rest[k] <= floor or rest[k] <= 0.0:
            break
        new = (inner[k] - factor[:, k] @ factor) / np.sqrt(rest[k])
        factor = np.vstack([factor, new])
        rest = np.maximum(rest - new**2, 0.0)
        rest[chosen], rest[k] = 0.0, 0.0
        chosen.append(k)
    return np.array(chosen)


def _symmetric(inner: Array, diagonal: Array) -> Array:
    """Return the block of the pivots with the diagonal that is known to be left."""
    inner = 0.5 * (inner + inner.T)
    np.fill_diagonal(inner, np.maximum(np.diag(inner), diagonal))
    return inner
