"""Whether a kernel matrix is positive semi-definite: by its eigenvalues, or by its factor."""

from __future__ import annotations

import math

import numpy as np

from kgl._types import Array

__all__ = ["refuse_indefinite", "require_factor", "require_psd"]

#: Rows of a block in which a matrix is compared with its factor.
BLOCK = 512
#: Size up to which all eigenvalues are worked out to find the smallest.
WHOLE_UP_TO = 500


def require_psd(values: Array, name: str, eps: float) -> None:
    """Refuse eigenvalues that are negative beyond rounding, with a remedy."""
    smallest, largest = float(values.min()), float(values.max())
    if smallest < -math.sqrt(eps) * max(abs(smallest), abs(largest)):
        # Rounded up to three significant digits, so that the printed shift suffices.
        step = 10.0 ** (math.floor(math.log10(-smallest)) - 2)
        raise ValueError(
            f"{name} is not positive semi-definite: its smallest eigenvalue is {smallest:.6g} "
            f"(largest {largest:.6g}); add {math.ceil(-smallest / step) * step:.3g} to the "
            f"diagonal, or use kgl.kernels.nearest_psd({name}), which sets negative eigenvalues "
            "to 0"
        )


def require_factor(K: Array, factor: Array, left: float, name: str, eps: float) -> None:
    r"""Refuse a matrix that its factor does not give back, if it is not semi-definite.

    What a factor leaves out of a semi-definite matrix is semi-definite, and so no larger than its
    trace: :math:`\|K - B B^\top\|_F \le \operatorname{tr}(K - B B^\top)`.

    Parameters
    ----------
    K : array (m, m)
        The matrix.
    factor : array (m, r)
        Its factor, with orthogonal columns.
    left : float
        The trace that the factor leaves out.
    name : str
        Name of the matrix, for the error.
    eps : float
        Machine epsilon of what the matrix was stored in.
    """
    largest = float(np.einsum("ij,ij->j", factor, factor).max(initial=0.0))
    squares = 0.0
    for begin in range(0, len(K), BLOCK):
        some = slice(begin, begin + BLOCK)
        gap = K[some] - factor[some] @ factor.T
        squares += float(np.vdot(gap, gap))
    if math.sqrt(squares) > left + math.sqrt(eps) * largest:
        refuse_indefinite(K, name, eps)


def refuse_indefinite(K: Array, name: str, eps: float) -> None:
    """Refuse a matrix that has a negative eigenvalue, found without all the others."""
    require_psd(_extremes(K), name, eps)


def _extremes(K: Array) -> Array:
    """Return the smallest and the largest eigenvalue."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh  # slow to load

    if len(K) > WHOLE_UP_TO:
        start = np.random.default_rng(0).standard_normal(len(K))
        try:
            return np.asarray(eigsh(K, k=2, which="BE", v0=start, return_eigenvectors=False))
        except ArpackNoConvergence:
            pass
    return np.asarray(np.linalg.eigvalsh(K))[[0, -1]]
