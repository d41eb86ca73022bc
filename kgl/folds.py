"""Cross-validation: observed entries are split into folds, each predicted from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from numbers import Integral

import numpy as np

from kgl._types import Array
from kgl.problem import MODELS, ModelSpec
from kgl.solvers.alternating import Options

__all__ = ["COUNTERPART_LAM", "cross_validate_grid", "hold_out", "loosened", "masked_counterpart"]

#: Weight of the ridge term of the counterpart of a model without one: next to none.
COUNTERPART_LAM = 1e-3


def hold_out(
    mask: np.ndarray, n_folds: int, rng: np.random.Generator, *, empty_nodes: bool = False
) -> list[np.ndarray]:
    """Split the observed entries into folds of held-out entries.

    Returns boolean arrays, True where held out. Every row and column keeps an observed entry in
    each training set: entries whose removal would empty one are never held out. With
    ``empty_nodes`` columns may be emptied.
    """
    n_observed = int(mask.sum())
    if not (isinstance(n_folds, Integral) and 2 <= n_folds <= n_observed):
        raise ValueError(
            f"n_folds = {n_folds!r} must lie between 2 and {n_observed}, the entries; give a whole "
            "number such as 5"
        )
    rows, cols = np.nonzero(mask)
    order = rng.permutation(n_observed)
    folds: list[np.ndarray] = []
    for chosen in np.array_split(order, n_folds):
        held = np.zeros_like(mask)
        row_count, col_count = mask.sum(axis=1), mask.sum(axis=0)
        for k in chosen:
            i, j = rows[k], cols[k]
            if row_count[i] > 1 and (empty_nodes or col_count[j] > 1):
                held[i, j] = True
                row_count[i] -= 1
                col_count[j] -= 1
        if not held.any():
            raise ValueError(
                f"no entry can be held out in fold {len(folds)} of n_folds = {n_folds} without "
                "emptying a row or column of Y; drop rows with a single entry, or use fewer folds"
            )
        folds.append(held)
    return folds


def cross_validate_grid(
    Y: Array,
    folds: Sequence[np.ndarray],
    predict: Callable[[Array], Iterable[tuple[np.ndarray, Array | None]]],
    n_points: int,
    *,
    offset: Callable[[Array], Array] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Array:
    """Return the mean squared error of the held-out entries of each fold at every grid point.

    Parameters
    ----------
    Y : array (n, m)
        The data; NaN where missing.
    folds : sequence of bool arrays (n, m)
        From :func:`hold_out`.
    predict : callable
        Called with the training data, NaN where missing or held out. Yields positions in the grid
        and the fitted signals (G, n, m) there, or None for a model that fits no signals.
    n_points : int
        Points of the grid.
    offset : callable, optional
        Returns what is subtracted from the data, from the training data alone: means of all data
        would carry information on the held-out entries.
    progress : callable, optional
        Called as ``progress(done, total)`` after each fold.

    Returns
    -------
    array (n_folds, N)
        NaN at points without signals.
    """
    errors = np.full((len(folds), n_points), np.nan)
    for k, held in enumerate(folds):
        train = np.where(held, np.nan, Y)
        shift = np.zeros(1) if offset is None else offset(train)
        expected = (Y - shift)[held]
        for where, signals in predict(train - shift):
            if signals is not None:
                errors[k, where] = np.mean((signals[:, held] - expected) ** 2, axis=1)
        if progress is not None:
            progress(k + 1, len(folds))
    return errors


def loosened(options: Options) -> Options:
    """Return options with which fits stop early: enough to rank points by held-out entries."""
    return replace(
        options,
        tol=max(2e-2, options.tol),
        max_iter=min(8, options.max_iter),
        inner_tol=max(1e-5, options.inner_tol),
    )


def masked_counterpart(spec: ModelSpec) -> ModelSpec | None:
    """Return the model that predicts held-out entries in place of one that treats them as zero.

    For GL-2step it is KGL-N without a kernel and with :data:`COUNTERPART_LAM`; a model that leaves
    entries out is its own counterpart, and one that fits no signals has none.
    """
    if not spec.fitted:
        return None
    return spec if spec.masked else replace(MODELS["KGL-N"], node_kernel=False)
