"""regain: its graphical lasso, or the one for tables with gaps."""

from __future__ import annotations

import sys

import numpy as np
from adapter import Answer, partial_correlations, serve
from regain.covariance import GraphicalLasso
from regain.covariance.missing_graphical_lasso_ import MissingGraphicalLasso


def fit(problem, **options):
    return partial_correlations(GraphicalLasso(**options).fit(problem.table).precision_)


def point(problem, k):
    return fit(problem, alpha=problem.penalty(k))


def missing(problem):
    mean, scale = np.nanmean(problem.Y, axis=0), np.nanstd(problem.Y, axis=0)
    fitted = MissingGraphicalLasso().fit((problem.Y - mean) / scale)
    found = fitted.complete_data_matrix_ * scale + mean
    filled = np.where(np.isnan(problem.Y), found, problem.Y)
    return Answer(partial_correlations(fitted.precision_), filled=filled)


if __name__ == "__main__":
    packages = ["regain", "scikit-learn", "numpy"]
    if sys.argv[2:] == ["missing"]:
        serve(packages, missing)
    else:
        serve(packages, fit, point=point)
