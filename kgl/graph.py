"""The graph step on its own: from distances between nodes to a Laplacian."""

from __future__ import annotations

from typing import Any

import numpy as np

from kgl._edge_rules import check_every_node
from kgl._types import Array
from kgl._validation import as_floats, check_hyperparameter, check_option, refuse_masked
from kgl.laplacian import laplacian_from_adjacency
from kgl.solvers.graph_step import graph_step, warn_if_inexact

__all__ = ["learn_laplacian"]


def learn_laplacian(
    Z: Any, psi: float, *, regularizer: str = "frobenius", barrier: float = 1.0
) -> Array:
    r"""Return the Laplacian that fits pairwise distances best.

    .. math::
        \min_L \sum_{i<j} Z_{ij} w_{ij} + \psi \|L\|_F^2 \quad
        \text{s.t. } \operatorname{tr} L = m, \; L \text{ a Laplacian with weights } w \ge 0,

    or, with ``regularizer="log-degree"``,
    :math:`\min_w \sum_{i<j} Z_{ij} w_{ij} + \psi \|W\|_F^2 - \beta \sum_i \log d_i` without a
    constraint on the trace (Kalofolias, 2016), so that no node is isolated.

    Parameters
    ----------
    Z : array (m, m)
        Symmetric, non-negative distances; the diagonal is ignored. ``inf`` forbids an edge.
    psi : float
        Weight of the norm, positive: small for few edges, large for many.
    regularizer : {"frobenius", "log-degree"}
        Which problem.
    barrier : float
        Weight of the log-degree barrier.

    Returns
    -------
    array (m, m)
        The exact minimiser: weights off the support are zero, not small.

    Examples
    --------
    >>> import numpy as np
    >>> Z = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
    >>> learn_laplacian(Z, psi=0.1)
    array([[ 0.75, -0.75,  0.  ],
           [-0.75,  1.5 , -0.75],
           [ 0.  , -0.75,  0.75]])
    """
    refuse_masked(Z, "Z")
    Z = as_floats(Z, "Z")
    if Z.ndim != 2 or Z.shape[0] != Z.shape[1] or len(Z) < 2:
        raise ValueError(f"Z must be a square matrix of at least 2 nodes, got shape {Z.shape}")
    np.fill_diagonal(Z, 0.0)
    if np.isnan(Z).any():
        i, j = np.argwhere(np.isnan(Z))[0]
        raise ValueError(f"Z[{i}, {j}] is NaN; use inf for a pair that must not be linked")
    if Z.min() < 0:
        i, j = np.unravel_index(np.argmin(Z), Z.shape)
        raise ValueError(f"Z[{i}, {j}] = {Z[i, j]:g} is negative; distances are at least 0")
    finite = np.isfinite(Z)
    filled = np.where(finite, Z, 0.0)
    gap = np.where(finite == finite.T, np.abs(filled - filled.T), np.inf)
    if gap.max() > 1e-8 * filled.max():
        i, j = np.unravel_index(np.argmax(gap), gap.shape)
        raise ValueError(
            f"Z is not symmetric: Z[{i}, {j}] = {Z[i, j]:g} but Z[{j}, {i}] = {Z[j, i]:g}; "
            "use (Z + Z.T) / 2"
        )
    if not finite[~np.eye(len(Z), dtype=bool)].any():
        raise ValueError("every pair is forbidden (Z = inf); allow at least one")
    check_option("regularizer", regularizer, ("frobenius", "log-degree"))
    if regularizer == "log-degree":
        check_every_node(finite, range(len(Z)))
    step = graph_step(
        0.5 * (Z + Z.T)[None],
        check_hyperparameter("psi", psi),
        regularizer=regularizer,
        barrier=check_hyperparameter("barrier", barrier),
    )
    warn_if_inexact(float(step.residual[0]))
    return laplacian_from_adjacency(step.weights[0])
