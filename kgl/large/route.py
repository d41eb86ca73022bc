"""Which way a fit takes: arrays of nodes by nodes, or sparse graphs and factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgl._types import Array
from kgl.solvers.graph_step import graph_step
from kgl.solvers.sparse.features import Features

__all__ = [
    "DEFAULT_DEGREE",
    "DENSE_UP_TO",
    "ESTIMATOR_SOLVERS",
    "LARGE_FROM",
    "SPARSE_SHARE",
    "SPARSE_SHARE_AT_PSI",
    "edge_share",
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
#: Share of pairs that are edges above which the dense fit is the faster one: where psi is searched
#: for a number of edges, and where it is given, which is one dense graph step.
SPARSE_SHARE, SPARSE_SHARE_AT_PSI = 0.08, 0.03
#: Number of nodes up to which ``solver="auto"`` falls back on the dense fit where only that can
#: take the data, as with a kernel that is not low rank.
DENSE_UP_TO = 5000
#: Nodes that stand for all where the number of edges is estimated.
_SAMPLE_NODES = 200


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


def edge_share(
    F: Array, psi: float, *, signed: bool, regularizer: str, barrier: float, rho: float
) -> float:
    """Estimate which share of all pairs are edges at a psi, from a sample of the nodes.

    Nodes of ``k`` times as many neighbours share a degree among ``k`` times as many edges, so that
    weights are ``k`` times smaller and so is what psi takes for each: a sample of the nodes needs
    a psi that is smaller by the share of nodes in it.

    Parameters
    ----------
    F : array (m, r)
        Features of the nodes.
    psi, signed, regularizer, barrier, rho
        As of the graph step.

    Examples
    --------
    >>> F = np.random.default_rng(0).normal(size=(900, 5))
    >>> how = {"signed": False, "regularizer": "frobenius", "barrier": 1.0, "rho": 1.0}
    >>> edge_share(F, 1.0, **how) < 0.1 < edge_share(F, 1e4, **how)
    True
    """
    m = len(F)
    size = min(m, _SAMPLE_NODES)
    chosen = np.random.default_rng(0).choice(m, size=size, replace=False)
    rows, cols = np.triu_indices(size, 1)
    few = np.ascontiguousarray(F[chosen])
    distances = Features(few, signed=signed).distances(rows, cols)[0]
    Z = np.zeros((size, size))
    Z[rows, cols] = Z[cols, rows] = rho * distances
    step = graph_step(Z[None], psi * size / m, regularizer=regularizer, barrier=barrier)
    return float(np.count_nonzero(step.weights[0, rows, cols]) / len(rows))
