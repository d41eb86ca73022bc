"""skglm: its graphical lasso; it has no rule of tuning."""

from __future__ import annotations

from adapter import partial_correlations, serve
from skglm.covariance import GraphicalLasso


def default(problem):
    return partial_correlations(
        GraphicalLasso().fit(problem.correlation, mode="precomputed").precision_
    )


def point(problem, k):
    model = GraphicalLasso(alpha=problem.penalty(k))
    fitted = model.fit(problem.correlation, mode="precomputed")
    return partial_correlations(fitted.precision_)


if __name__ == "__main__":
    serve(["skglm", "scikit-learn", "numpy"], default, point=point)
