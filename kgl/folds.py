"""Splitting observed entries into parts that are predicted from the others."""

from __future__ import annotations

from numbers import Integral

import numpy as np

__all__ = ["hold_out"]


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
