"""Which way a fit takes: arrays of nodes by nodes, or sparse graphs and factors."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "DEFAULT_DEGREE",
    "DENSE_UP_TO",
    "ESTIMATOR_SOLVERS",
    "LARGE_FROM",
    "SPARSE_SHARE",
    "n_columns",
    "takes_sparse",
]

#: Values of ``solver``: ``newton`` is the dense fit.
ESTIMATOR_SOLVERS = ("auto", "newton", "sparse", "cvxpy", "cvxpy-matrix")
#: Number of nodes from which ``solver="auto"`` takes the sparse fit, and from which the number of
#: edges is by default a degree and no density.
LARGE_FROM = 1000
#: Neighbours per node where nothing else is given, from so many nodes on.
DEFAULT_DEGREE = 10.0
#: Share of pairs that are edges above which the dense fit is the faster one.
SPARSE_SHARE = 0.1
#: Number of nodes up to which ``solver="auto"`` falls back on the dense fit where only that can
#: take the data, as with a kernel that is not low rank.
DENSE_UP_TO = 5000


def n_columns(Y: Any) -> int | None:
    """Return the number of columns of a table, None where it is no table."""
    shape = getattr(Y, "shape", None)
    if shape is None:
        try:
            shape = np.shape(Y)
        except ValueError:  # rows of several lengths, which are refused where they are read
            return None
    if len(shape) != 2 or not isinstance(shape[1], int | np.integer):
        return None
    return int(shape[1])


def takes_sparse(solver: str, m: int | None, target: int | None) -> bool:
    """Return whether a fit is sparse; ``target`` is the number of edges, None where psi is given.

    Examples
    --------
    >>> takes_sparse("auto", 20, 57), takes_sparse("auto", 5000, 25_000)
    (False, True)
    """
    if solver != "auto":
        return solver == "sparse"
    if m is None or m < LARGE_FROM:
        return False
    return target is None or target <= SPARSE_SHARE * m * (m - 1) / 2
