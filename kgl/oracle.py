"""Choosing hyperparameters by the ground truth, as the paper does.

The oracle takes the grid point with the best score *against the true graph*. It is what the paper
reports, it is optimistic, and it is impossible on real data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgl._types import Array
from kgl._validation import check_flag, check_option
from kgl.grid_result import GridResult
from kgl.metrics import aps_many, sse_many

__all__ = ["Oracle", "select_oracle"]


@dataclass(frozen=True)
class Oracle:
    """The best point of a grid against the ground truth.

    Attributes
    ----------
    index : int
        Position in the grid.
    params : dict
        Hyperparameters there.
    value : float
        The best value of the metric: an optimistic one, since the ground truth selected it.
    values : array (N,)
        The metric at every point.
    """

    index: int
    params: dict[str, float]
    value: float
    values: Array


def select_oracle(
    grid: GridResult, W_true: Array, metric: str = "aps", *, normalize: bool = False
) -> Oracle:
    """Pick the grid point with the best metric against the true graph.

    Parameters
    ----------
    grid : GridResult
        From :func:`kgl.fit_grid`, with weights kept.
    W_true : array (m, m) or (E,)
        The true weights.
    metric : {"aps", "aps_scores", "sse"}
        Average precision of the weights (highest), of the untied scores (highest), or the
        normalised squared error of the weights (lowest).
    normalize : bool
        With "sse": scale each graph to the total weight of the true graph first, as graphs of the
        log-degree penalty need; average precision does not depend on the scale.

    Returns
    -------
    Oracle
    """
    check_flag("normalize", normalize)
    check_option("metric", metric, ("aps", "aps_scores", "sse"))
    if grid.weights is None or grid.scores is None:
        raise ValueError("the grid has no weights; call fit_grid with keep=True")
    if metric == "sse":
        values = sse_many(W_true, grid.weights, normalize=normalize)
        index = int(np.argmin(values))
    else:
        untied = metric == "aps_scores"
        values = (
            aps_many(W_true, grid.scores, threshold=None)
            if untied
            else aps_many(W_true, grid.weights)
        )
        index = int(np.argmax(values))
    return Oracle(index, grid.point(index), float(values[index]), values)
