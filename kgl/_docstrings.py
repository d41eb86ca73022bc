"""The parameters and attributes of the estimators, described once for all of them.

The estimators share most of their fields, so their docstrings hold only what is particular to each
model: a summary and examples. :func:`documented` puts the sections on parameters and attributes
in between, from the texts below.
"""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import fields
from typing import TypeVar

__all__ = ["ATTRIBUTES", "PARAMETERS", "documented"]

T = TypeVar("T")

#: Type and meaning of every parameter, in the order in which docstrings list them.
PARAMETERS = {
    "lam": (
        "float",
        "Weight of the norm of the fitted function, ``tr(K_z^+ Yhat K_x^+ Yhat')``. The larger, "
        "the closer to zero the signals.",
    ),
    "rho": (
        "float",
        "Weight of the smoothness of the fitted signals on the graph. The larger, the more the "
        "graph shapes the signals.",
    ),
    "center": (
        '{"node", "both", "none"}',
        "What is subtracted from the data before the fit, and added to signals and predictions "
        "after it: each node's mean, the means of nodes and of observations, or nothing.",
    ),
    "scale": (
        '{"node", "common", "none"}',
        "What the data are divided by: each node's standard deviation, one of all entries, or "
        "nothing.",
    ),
    "log": (
        '{"auto", True, False}',
        "Whether the graph is learned from logarithms, from an origin that is found for each "
        "node: where values clearly grow by factors, as incomes do, always, or never. Signals "
        "are fitted to the values themselves in any case.",
    ),
    "signed": (
        "bool",
        "Whether edges also link nodes that move opposite to each other: ``signs_`` then has -1 "
        "for them. With a kernel over the observations that is said of whitened signals, of "
        "changes rather than of levels. The paper's graphs are not signed.",
    ),
    "psi": (
        "float",
        "Weight of the graph's norm, ``||L||_F^2``: small for few edges, large for many of nearly "
        "equal weight. Without it, psi is found from ``density`` or ``average_degree``.",
    ),
    "density": (
        "float in (0, 1]",
        "Share of pairs that are edges, instead of psi: met to the edge up to 32 nodes, to one "
        "pair in 500 beyond, or else as nearly as some psi allows. 0.3 where nothing else is "
        "given, up to 999 nodes.",
    ),
    "average_degree": (
        "float",
        "Neighbours per node on average, instead of psi or a density. 10 where nothing else is "
        "given, from 1,000 nodes on.",
    ),
    "kernel_x": (
        "str, kgl.kernels.Kernel or callable",
        "Kernel of the covariates ``x`` of the nodes. Not used where ``K_x`` is given.",
    ),
    "kernel_z": (
        "str, kgl.kernels.Kernel or callable",
        "Kernel of the covariates ``z`` of the observations. Not used where ``K_z`` is given.",
    ),
    "kernel_tol": (
        "float",
        "Share of the trace of a kernel that its factor may leave out, in sparse fits. A kernel "
        "that is not low rank at this tolerance is refused.",
    ),
    "max_rank": ("int", "Columns of such a factor at most."),
    "missing": (
        '{"zero", "pairwise"}',
        "What stands in for missing entries: zeros, or distances over the rows in which both "
        "nodes are observed, scaled up to all rows.",
    ),
    "average": (
        "bool",
        "Whether the smoothness term is averaged over the observations: divided by n.",
    ),
    "regularizer": (
        '{"frobenius", "log-degree"}',
        "Penalty on the graph: ``psi ||L||_F^2`` with ``tr L = m``, or ``psi ||W||_F^2 - barrier "
        "sum_i log d_i``, which has no constraint on the trace and leaves no node isolated.",
    ),
    "barrier": ("float", 'Weight of the logarithm, with ``regularizer="log-degree"``.'),
    "allowed_edges": (
        "pairs of node names, bool or sparse array (m, m), or networkx graph",
        "The only pairs that may be edges. A sparse fit then looks at no other pair. Of a sparse "
        "array all entries that are stored count, zeros too.",
    ),
    "forbidden_edges": (
        "pairs of node names, bool or sparse array (m, m), or networkx graph",
        "Pairs that must not be edges.",
    ),
    "edge_penalty": (
        "array or sparse array (m, m)",
        "Symmetric, non-negative penalties ``P``: adds ``sum_{i<j} P_ij w_ij`` to the objective; "
        "``inf`` forbids an edge.",
    ),
    "solver": (
        '{"auto", "newton", "sparse", "cvxpy", "cvxpy-matrix"}',
        "Who solves the problem. The exact solvers are ``newton``, with arrays of nodes by nodes, "
        "and ``sparse``, without any, whose results are sparse; ``auto`` takes the sparse one from "
        "1,000 nodes on, where few pairs are edges. Both find the same graph. Or CVXPY solves the "
        "graph step over edge weights, or over the matrix L as in the paper.",
    ),
    "certify": (
        '{"all", "sample", False}',
        "Whether a sparse fit looks at all pairs of nodes, and so proves that none is missing; or "
        "at a sample, to report how many are; or at each node's nearest neighbours alone.",
    ),
    "backend": ("str", "Solver that CVXPY calls, with one of the CVXPY routes."),
    "tol": (
        "float",
        "Outer iterations stop when the Laplacian changes by no more than this, relative to its "
        "Frobenius norm.",
    ),
    "max_iter": ("int", "Outer iterations at most; stopping there warns."),
    "init": ("array (m, m)", "Laplacian to start from, instead of the complete graph."),
}

#: Type and meaning of what a fit learns.
ATTRIBUTES = {
    "signs_": (
        "array (m, m)",
        "1 for pairs that move together, -1 for those that move opposite to each other (whitened "
        "by K_z, where there is one).",
    ),
    "laplacian_": (
        "array (m, m)",
        "The learned Laplacian L: degrees minus weights, the latter with their signs.",
    ),
    "weights_": (
        "array (m, m)",
        "Its weights W, with exact zeros where there is no edge. After a sparse fit this, "
        "``laplacian_`` and ``signs_`` are sparse arrays.",
    ),
    "edge_scores_": (
        "array (m, m)",
        "Scores that order all pairs without ties: the weight of an edge; for other pairs a "
        "negative number, the nearer to zero the nearer the pair was to being an edge. ``-inf`` "
        "on the diagonal and for forbidden pairs. Not after a sparse fit: see ``pair_scores`` and "
        "``runners_up``.",
    ),
    "signals_": (
        "array (n, m)",
        "Fitted signals Yhat in the units of the data, at missing entries too; for GL the data, "
        "with the node's mean where missing.",
    ),
    "node_names_": ("list", "Columns of a DataFrame, else 0 to m - 1."),
    "psi_": ("float", "The psi in use: the one given, or the one found for the density."),
    "objective_": ("float", "The objective at the solution."),
    "objective_parts_": (
        "dict",
        'Its terms, each with its weight: "fit", "ridge", "smoothness" and "graph".',
    ),
    "objective_history_": (
        "array (n_iter_+1,)",
        "The objective after each outer iteration, and after the signals were fitted to the last "
        "graph; it never rises. (One value for GL.)",
    ),
    "history_": ("array (n_iter_+1, 4)", "The four terms of the objective at the same times."),
    "n_iter_": ("int", "Outer iterations."),
    "converged_": ("bool", "Whether they reached ``tol``."),
    "kkt_residual_": (
        "float",
        "Relative violation of the optimality conditions by the last graph step.",
    ),
    "pairs_examined_": ("int", "Pairs of nodes that were looked at."),
    "pairs_violated_": (
        "int",
        "How many of them should be edges and are not: 0 but for ``certify='sample'``.",
    ),
    "n_features_in_": ("int", "Number of nodes m, under scikit-learn's name."),
    "feature_names_in_": ("array (m,)", "Names of the nodes, where Y was a DataFrame of strings."),
}


def _section(title: str, entries: list[tuple[str, str, str]]) -> str:
    lines = [title, "-" * len(title)]
    for name, kind, text in entries:
        lines.append(f"{name} : {kind}")
        lines.append(textwrap.fill(text, 92, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(lines)


def documented(cls: type[T]) -> type[T]:
    """Add the sections on parameters and attributes to the docstring of an estimator."""
    if cls.__doc__ is None:  # python -OO strips docstrings
        return cls
    defaults = {f.name: f.default for f in fields(cls)}  # type: ignore[arg-type]
    parameters = [
        (name, kind + (", optional" if (d := defaults[name]) is None else f", default={d!r}"), text)
        for name, (kind, text) in PARAMETERS.items()
        if name in defaults
    ]
    attributes = [(name, kind, text) for name, (kind, text) in ATTRIBUTES.items()]
    summary, heading, examples = inspect.cleandoc(cls.__doc__).partition("Examples\n--------")
    cls.__doc__ = "\n\n".join(
        part
        for part in (
            summary.rstrip(),
            _section("Parameters", parameters),
            _section("Attributes", attributes),
            heading + examples,
        )
        if part
    )
    return cls
