"""graph-learning of LTS4: the log-degree model, with an average degree as its only setting."""

from __future__ import annotations

import numpy as np
from adapter import serve
from graph_learn.smooth_learning import LogModel
from scipy.spatial.distance import squareform


def weights(model, problem):
    found = np.asarray(model.fit(problem.table).weights_)
    return found if found.ndim == 2 else squareform(found)


def default(problem):
    return weights(LogModel(), problem)


def point(problem, k):
    m = problem.Y.shape[1]
    degree = np.geomspace(0.5, 0.02, problem.values)[k] * (m - 1)
    return weights(LogModel(avg_degree=int(np.clip(round(degree), 1, m - 2))), problem)


if __name__ == "__main__":
    serve(["graph_structure_learning", "numpy"], default, point=point)
