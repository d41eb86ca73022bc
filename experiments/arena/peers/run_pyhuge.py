"""pyhuge: neighbourhood selection with RIC, and the graphical lasso with the extended BIC."""

from __future__ import annotations

from adapter import partial_correlations, serve
from pyhuge import huge, huge_select


def dense(matrix):
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def default(problem):
    found = huge_select(huge(problem.table, verbose=False), verbose=False)
    return dense(found.refit).astype(float)


def own(problem):
    path = huge(problem.table, method="glasso", verbose=False)
    found = huge_select(path, criterion="ebic", verbose=False)
    return partial_correlations(dense(found.opt_icov))


def point(problem, k):
    penalty = [problem.penalty(k)]
    given = problem.correlation
    found = huge(given, penalty, method="glasso", verbose=False, input_type="covariance")
    return partial_correlations(dense(found.icov[0]))


if __name__ == "__main__":
    serve(["pyhuge", "numpy"], default, own, point)
