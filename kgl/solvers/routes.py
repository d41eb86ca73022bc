"""The routes to a graph step: the exact one, and CVXPY's two formulations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kgl.solvers.graph_step import GraphStep, graph_step

__all__ = ["SOLVERS", "graph_solver"]

SOLVERS = ("newton", "cvxpy", "cvxpy-matrix")


def graph_solver(
    solver: str, backend: str | None, *, own_settings: bool = False
) -> Callable[..., GraphStep]:
    """Return the graph step of a route; CVXPY is loaded only where it is asked for.

    With ``own_settings`` a CVXPY backend has the tolerances that CVXPY gives it.
    """
    if not solver.startswith("cvxpy"):
        if backend is not None:
            raise ValueError(
                f"backend = {backend!r} names a CVXPY solver; it goes with solver='cvxpy'"
            )
        return graph_step
    from kgl.solvers.cvxpy_step import cvxpy_graph_step

    formulation = "matrix" if solver == "cvxpy-matrix" else "edges"
    return partial(
        cvxpy_graph_step, formulation=formulation, backend=backend, own_settings=own_settings
    )
