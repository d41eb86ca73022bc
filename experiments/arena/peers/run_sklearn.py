"""scikit-learn: the graphical lasso of correlations, and its cross-validation."""

from __future__ import annotations

from adapter import Answer, partial_correlations, serve
from sklearn.covariance import GraphicalLasso, GraphicalLassoCV


def default(problem):
    return point(problem, None)


def own(problem):
    """Five-fold cross-validation of the likelihood; of imputed values where there are gaps."""
    weights = partial_correlations(GraphicalLassoCV().fit(problem.table).precision_)
    return Answer(weights, filled=problem.filled if problem.gaps else None)


def point(problem, k):
    options = {} if k is None else {"alpha": problem.penalty(k)}
    fitted = GraphicalLasso(covariance="precomputed", **options).fit(problem.correlation)
    return partial_correlations(fitted.precision_)


if __name__ == "__main__":
    serve(["scikit-learn", "numpy"], default, own, point)
