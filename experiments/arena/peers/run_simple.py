"""Graphs without learning: correlations, nearest columns, nearest covariates."""

from __future__ import annotations

import sys

import numpy as np
from adapter import serve

#: Neighbours of a node, of scikit-learn's nearest-neighbour methods by default.
NEIGHBOURS = 5


def correlation(problem):
    """Absolute correlations over the rows that both nodes have; there is nothing to tune."""
    return np.abs(problem.correlation)


def nearest(points, k):
    """Return exp(-distance) between points, where one is among the k nearest of the other."""
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    near = np.zeros_like(distance, dtype=bool)
    order = np.argsort(distance, axis=1, kind="stable")[:, :k]
    np.put_along_axis(near, order, True, axis=1)
    typical = np.median(distance[np.isfinite(distance)])
    return np.where(near | near.T, np.exp(-distance / typical), 0.0)


def columns(problem):
    return problem.table.T


def covariates(problem):
    if problem.x is None:
        raise ValueError("there are no covariates")
    scale = problem.x.std(axis=0)
    return problem.x / np.where(scale > 0, scale, 1.0)


def neighbours(points):
    def point(problem, k):
        most = min(40, problem.Y.shape[1] - 1)
        sizes = np.unique(np.geomspace(1, most, problem.values).round().astype(int))
        return nearest(points(problem), int(sizes[min(k, len(sizes) - 1)]))

    return {"default": lambda problem: nearest(points(problem), NEIGHBOURS), "point": point}


KINDS = {
    "correlation": {"default": correlation},
    "columns": neighbours(columns),
    "covariates": neighbours(covariates),
}

if __name__ == "__main__":
    serve(["numpy"], **KINDS[sys.argv[2]])
