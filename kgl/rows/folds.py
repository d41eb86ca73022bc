r"""Cross-validation over rows of which only sums are kept.

Single entries cannot be hidden in sums, so whole rows are left out. The graph is learned from the
other rows; then each entry of a row left out is predicted from the other entries of its row. With
the covariance :math:`C = I + P` that the graph and the kernel over the nodes give a row, the entry
j is missed by :math:`(C^{-1} y)_j / (C^{-1})_{jj}`, which is linear in the row: the sum of squares
over all rows left out needs the sums of their products alone, and is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kgl._threads import quietly
from kgl._types import Array
from kgl.folds import loosened
from kgl.kernels import kernel_eigen
from kgl.laplacian import laplacian_from_adjacency
from kgl.preparation import Preparation
from kgl.rows.compressed import CompressedRows
from kgl.rows.sums import RowSums
from kgl.solvers.grid import solve_grid
from kgl.solvers.signal_base import SignalData, node_covariance

__all__ = ["check_row_folds", "row_fold_errors"]


def check_row_folds(rows: CompressedRows, folds: Any, n_folds: int) -> None:
    """Refuse what cross-validation cannot do with sums over rows, with the reason."""
    if rows.kernel is not None:
        raise ValueError(
            "compressed rows that depend on each other cannot be held out: each compressed row is "
            "a mixture of all rows, so hiding one hides a bit of everything, and what it would be "
            "predicted from has seen it. Choose lam and rho by select_held_out on a piece of the "
            "table that fits in memory, such as some thousand consecutive rows with their z, and "
            "fit the compressed rows with these"
        )
    if not isinstance(folds, str) or folds != "auto":
        raise ValueError(
            "folds names entries to hide, of which compressed rows have only sums; leave it out: "
            "the folds of kgl.compress(data, n_folds=...) leave out whole rows"
        )
    if rows.n_folds < 2:
        raise ValueError(
            "the rows were compressed without folds; use kgl.compress(data, n_folds=5), or pass "
            "one kgl.RowSums for each fold"
        )
    if n_folds not in (5, rows.n_folds):
        raise ValueError(
            f"n_folds = {n_folds}, but the rows were compressed with {rows.n_folds} folds; set "
            "n_folds of kgl.compress"
        )


def row_fold_errors(
    problem: Any, rows: CompressedRows, progress: Callable[[int, int], None] | None
) -> tuple[Array, Array]:
    """Return the error of each fold of rows at every point, and the residuals of its graphs.

    Parameters
    ----------
    problem : GridProblem
        The model and its grid, prepared for all rows.
    rows : CompressedRows
        The rows.
    progress : callable, optional
        Called as ``progress(done, total)`` after each fold.

    Returns
    -------
    array (n_folds, N)
        Mean squared errors in units of the scales of the nodes.
    array
        Relative KKT residuals.
    """
    ready, estimator = problem.ready, problem.estimator
    errors, residual = np.empty((rows.n_folds, problem.n_points)), []
    lam = problem.params["lam"]
    for fold, held in enumerate(rows.values.folds):
        train = rows.without(fold)
        with quietly():  # the same warnings as of all rows
            table = train.table(estimator.center, estimator.scale, False)
        kernel = kernel_eigen(None, "K_z", len(table.values))
        data = replace(ready.data, Y=table.values, mask=None, K_z=kernel)
        share = 1.0 / train.n_rows if estimator.average else 1.0
        options = replace(loosened(ready.options), smoothness_scale=share, signals=False)
        rho = problem.params["rho"] * share
        for chunk in solve_grid(data, ready.spec, problem.params, options, refit=False):
            batch, where = chunk.batch, chunk.where
            residual.append(batch.residual)
            L = laplacian_from_adjacency(batch.weights, batch.signs)
            missed = _misses(data, L, lam[where], rho[where], table.preparation, estimator.center)
            missed /= ready.preparation.scale[:, None]
            errors[fold, where] = _mean_squares(missed, held, table.preparation.columns)
        if progress is not None:
            progress(fold + 1, rows.n_folds)
    return errors, np.concatenate(residual)


def _misses(
    data: SignalData, L: Array, lam: Array, rho: Array, own: Preparation, center: str
) -> Array:
    """Return B (G, m, m): a row less the column means times B' is by how much it is missed."""
    m = L.shape[-1]
    precision = np.linalg.inv(np.eye(m) + node_covariance(data, L, lam, rho))
    diagonal = np.einsum("gii->gi", precision)
    B = precision / diagonal[:, :, None] / own.scale
    if center == "both":
        # the mean of the row is that of its other entries
        B = B - B.sum(axis=2, keepdims=True) * (1.0 - np.eye(m)) / (m - 1)
    return np.asarray(own.scale[:, None] * B)


def _mean_squares(B: Array, held: RowSums, columns: Array) -> Array:
    """Return the mean squared error over all entries of the rows left out."""
    S = held.about(columns).products
    total = np.einsum("gij,gij->g", np.matmul(B, S), B)
    return np.asarray(total / (held.n_rows * len(S)))
