"""regain: its graphical lasso, with the penalty of its default or as given."""

from __future__ import annotations

from adapter import partial_correlations, serve
from regain.covariance import GraphicalLasso


def fit(problem, **options):
    return partial_correlations(GraphicalLasso(**options).fit(problem.table).precision_)


def point(problem, k):
    return fit(problem, alpha=problem.penalty(k))


if __name__ == "__main__":
    serve(["regain", "scikit-learn", "numpy"], fit, point=point)
