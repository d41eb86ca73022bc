"""Systems of a diagonal plus half the signless Laplacian of a sparse graph."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from kgl._types import Array

__all__ = ["ActiveSystem"]

#: Iterations after which a system counts as too ill-conditioned for conjugate gradients.
_PATIENCE = 150
#: Relative changes of the diagonal that are tried where a matrix is singular.
_SHIFTS = (0.0, 1e-15, 1e-14, 1e-12, 1e-10)


class ActiveSystem:
    """``x -> (deg + adj) x / 2 + diagonal x`` for a graph given by sorted pairs.

    Parameters
    ----------
    rows, cols : array of int (p,)
        Its pairs, sorted by row and column, row < column.
    diagonal : array (m,)
        What is added.
    stiff : bool
        Whether conjugate gradients have failed on such a system, so that it is to be factored.
    """

    def __init__(
        self, rows: np.ndarray, cols: np.ndarray, diagonal: Array, *, stiff: bool = False
    ) -> None:
        m = len(diagonal)
        in_rows, in_cols = np.bincount(rows, minlength=m), np.bincount(cols, minlength=m)
        start = np.concatenate([[0], np.cumsum(in_rows)])
        self.half_degrees = 0.5 * (in_rows + in_cols)
        self.diagonal = diagonal + self.half_degrees
        self._upper = sparse.csr_array((np.full(len(cols), 0.5), cols, start), shape=(m, m))
        self._lower = self._upper.T
        self.stiff = stiff

    def _times(self, x: Array) -> Array:
        out = self._upper @ x
        out += self._lower @ x
        out += self.diagonal[:, None] * x
        return np.asarray(out)

    def solve(self, rhs: Array, tol: float) -> Array:
        """Solve for columns (m, k) to a relative residual."""
        if not self.stiff:
            x = self._iterate(rhs, tol)
            if x is not None:
                return x
            self.stiff = True
        factor = self._factor()
        x = factor.solve(np.ascontiguousarray(rhs))
        # one step of refinement, since the factor is of a nearly singular matrix
        x += factor.solve(rhs - self._times(x))
        return np.asarray(x)

    def _factor(self) -> Any:
        """Return the Cholesky-like factor, of a nearby matrix where this one is singular.

        Without a diagonal of its own a bipartite part of the graph makes it so.
        """
        links = self._upper + self._lower
        for shift in _SHIFTS:
            matrix = (links + sparse.diags_array((1.0 + shift) * self.diagonal)).tocsc()
            # symmetric and positive definite: no pivoting, and an ordering for such matrices
            with suppress(RuntimeError):  # SuperLU: the factor is exactly singular
                return splu(
                    matrix,
                    permc_spec="MMD_AT_PLUS_A",
                    diag_pivot_thresh=0.0,
                    options={"SymmetricMode": True},
                )
        raise np.linalg.LinAlgError("a system of the graph step is singular; rescale the data")

    def _iterate(self, rhs: Array, tol: float) -> Array | None:
        """Run conjugate gradients with the diagonal as preconditioner; None if they fail."""
        x, r = np.zeros_like(rhs), rhs.copy()
        inverse = 1.0 / self.diagonal[:, None]
        z = inverse * r
        p = z.copy()
        size = np.einsum("ij,ij->j", r, z)
        goal = tol**2 * size
        for _ in range(_PATIENCE):
            going = size > goal
            if not going.any():
                return x
            q = self._times(p)
            curvature = np.einsum("ij,ij->j", p, q)
            step = np.where(going, size, 0.0) / np.where(curvature > 0, curvature, 1.0)
            x += step * p
            r -= step * q
            np.multiply(inverse, r, out=z)
            previous, size = size, np.where(going, np.einsum("ij,ij->j", r, z), size)
            p *= np.where(going, size / np.where(previous > 0, previous, 1.0), 0.0)
            p += z
        return None
