"""pygsp2: the log-degree graph of Kalofolias (2016); its function has no rule of tuning."""

from __future__ import annotations

import numpy as np
from adapter import serve


def fit(problem, a=1.0, b=1.0):
    from pygsp2.graph_learning import graph_log_degree

    columns = problem.table.T
    Z = ((columns[:, None] - columns[None]) ** 2).sum(axis=2)
    with np.errstate(all="ignore"):
        weights = graph_log_degree(Z, a, b, verbose=False)
    # numbers that the iteration does not bring to zero are no edges
    return np.where(weights > 1e-4 * weights.max(), weights, 0.0)


def point(problem, k):
    """Few edges to many: only the ratio of a and b bears on which pairs are edges."""
    return fit(problem, 1.0, float(np.geomspace(0.01, 100.0, problem.values)[k]))


if __name__ == "__main__":
    serve(["pygsp2", "numpy"], fit, point=point)
