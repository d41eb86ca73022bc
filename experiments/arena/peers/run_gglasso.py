"""GGLasso: the single graphical lasso; a penalty must be given, so its selection is the default."""

from __future__ import annotations

from adapter import partial_correlations, serve
from gglasso.problem import glasso_problem


def problem_of(problem, **parameters):
    return glasso_problem(problem.correlation, len(problem.Y), reg_params=parameters or None)


def selected(problem):
    """Extended BIC over its own ten penalties."""
    made = problem_of(problem)
    made.model_selection(method="eBIC")
    return partial_correlations(made.solution.precision_)


def point(problem, k):
    made = problem_of(problem, lambda1=problem.penalty(k))
    made.solve()
    return partial_correlations(made.solution.precision_)


if __name__ == "__main__":
    serve(["gglasso", "numpy"], selected, selected, point)
