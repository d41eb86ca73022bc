"""Preconditioned conjugate gradients for a batch of systems at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from kgl._types import Array

__all__ = ["conjugate_gradients", "dot"]

#: A batch is copied to a smaller one when no more than this share is left.
_SHRINK_AT = 0.8


def dot(A: Array, B: Array) -> Array:
    """Inner products of the points of two batches."""
    n_points = len(A)
    return np.vecdot(A.reshape(n_points, -1), B.reshape(n_points, -1))


def conjugate_gradients(
    operator: Callable[..., Callable[[Array], Array]],
    arrays: tuple[Array, ...],
    diagonal: Array,
    rhs: Array,
    start: Array | None,
    tol: float,
    max_iter: int = 5000,
) -> tuple[Array, int]:
    """Solve a batch of systems; points leave the batch as they converge.

    ``operator(*arrays)`` makes the matrix product of a batch from its per-point arrays. The
    residual is measured in the norm of the inverse ``diagonal``, relative to the right-hand side.
    Returns the solutions and the iterations taken by all points together.
    """
    running, count = np.arange(len(rhs)), 0
    goal = tol**2 * dot(rhs / diagonal, rhs)
    solution = np.zeros(rhs.shape)
    product = operator(*arrays)
    each = (slice(None),) + (None,) * (rhs.ndim - 1)  # one number per point, to broadcast
    if start is None:
        x, r = solution.copy(), rhs.copy()
    else:
        x = start.copy()
        r = rhs - product(x)
    p = r / diagonal
    size = dot(r, p)
    lost = 0  # points whose residual is no longer a number: not to be counted as solved
    for _ in range(max_iter):
        going = size > goal
        n_going = int(np.count_nonzero(going))
        if n_going <= _SHRINK_AT * len(running):
            # copying the batch costs about an iteration, so wait until it pays
            solution[running[~going]] = x[~going]
            lost += int(np.count_nonzero(~np.isfinite(size[~going])))
            running = running[going]
            if not n_going:
                _warn_if_lost(lost)
                return solution, count
            x, r, p, diagonal = x[going], r[going], p[going], diagonal[going]
            size, goal = size[going], goal[going]
            arrays = tuple(a[going] for a in arrays)
            product = operator(*arrays)
            going = np.ones(n_going, dtype=bool)
        count += n_going
        q = product(p)
        curvature = dot(p, q)
        # a point that has converged stays where it is until it leaves
        step = np.where(going, size, 0.0) / np.where(going, curvature, 1.0)
        q *= step[each]
        r -= q
        np.multiply(p, step[each], out=q)
        x += q
        np.divide(r, diagonal, out=q)
        previous, size = size, np.where(going, dot(r, q), size)
        p *= np.where(going, size / np.where(going, previous, 1.0), 0.0)[each]
        p += q
    solution[running] = x
    lost += int(np.count_nonzero(~np.isfinite(size)))
    _warn_if_lost(lost)
    _warn_if_left(int(np.count_nonzero(size > goal)), max_iter, tol)
    return solution, count


def _warn_if_left(left: int, max_iter: int, tol: float) -> None:
    if not left:
        return
    from sklearn.exceptions import ConvergenceWarning  # slow to load, so only where needed

    warnings.warn(
        f"conjugate gradients stopped at {max_iter} iterations for {left} point(s), short of a "
        f"relative residual of {tol:g}; a larger lam makes the system better conditioned",
        ConvergenceWarning,
        stacklevel=3,
    )


def _warn_if_lost(lost: int) -> None:
    """Warn of points whose residual is no number: comparisons with a tolerance pass over them."""
    if not lost:
        return
    from sklearn.exceptions import ConvergenceWarning  # slow to load, so only where needed

    warnings.warn(
        f"conjugate gradients left the range of double precision for {lost} point(s), whose "
        "signals are no solution; rescale the data, for instance to unit variance, or use a "
        "larger lam and a smaller rho",
        ConvergenceWarning,
        stacklevel=3,
    )
