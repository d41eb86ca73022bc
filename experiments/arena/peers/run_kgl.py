"""The models of this repository: ``python run_kgl.py FOLDER MODEL``."""

from __future__ import annotations

import sys

import numpy as np
from adapter import Answer, serve

import kgl

#: Class and options of a model; all else is as it comes.
MODELS = {
    "gl": ("GL", {}),
    "log_degree": ("GL", {"regularizer": "log-degree"}),
    "gl2step": ("GL2Step", {}),
    "kgln": ("KGLN", {}),
    "kglo": ("KGLO", {}),
    "kgl": ("KGL", {}),
    "kglagnostic": ("KGLAgnostic", {}),
    "bayesian": ("BayesianKGL", {"progress": False}),
}


def sides(model, problem):
    """Return the covariates that there are and that the model has a use for."""
    given = {"x": problem.x, "z": problem.z}
    used = {"x": model._spec.node_kernel, "z": model._spec.observation_kernel}
    return {key: value for key, value in given.items() if value is not None and used[key]}


def answer(fitted, problem):
    """Return the graph, the ranking of all pairs, and imputed values where the model has them."""
    weights = getattr(fitted, "edge_probability_", fitted.weights_)
    if not isinstance(weights, np.ndarray):
        weights = weights.toarray()
    filled = None
    if np.isnan(problem.Y).any() and type(fitted).__name__ != "GL":
        filled = np.asarray(fitted.impute(problem.Y))
    return Answer(weights, np.asarray(fitted.edge_scores_), filled)


def rules(name):
    """Return what the adapter serves for a model."""
    kind, options = MODELS[name]
    model = getattr(kgl, kind)

    def fit(problem, **more):
        return answer(model(**options, **more).fit(problem.Y, **sides(model, problem)), problem)

    def own(problem):
        found = kgl.select_held_out(model, problem.Y, progress=False, **sides(model, problem))
        return answer(found.estimator, problem)

    def point(problem, k):
        if not hasattr(model(), "lam"):
            # from many edges to few, as a penalty that grows
            return fit(problem, density=float(np.geomspace(0.5, 0.02, problem.values)[k]))
        # the default, and more smoothing, of two densities
        lam = np.geomspace(1e-4, 1.0, (problem.values + 1) // 2)
        half, which = divmod(k, len(lam))
        return fit(problem, lam=float(lam[which]), density=(0.3, 0.1)[half])

    served = {"default": fit}
    if name.startswith("kgl"):
        served["own"] = own
    if name != "bayesian":
        served["point"] = point
    return served


if __name__ == "__main__":
    serve(["kernel-graph-learning", "scikit-learn", "numpy"], **rules(sys.argv[2]))
