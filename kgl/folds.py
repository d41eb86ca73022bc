"""Cross-validation: observed entries are split into folds, each predicted from the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from kgl._types import Array
from kgl._validation import check_option, check_seed, check_whole
from kgl.problem import MODELS, ModelSpec
from kgl.solvers.alternating import Options

__all__ = [
    "COUNTERPART_LAM", "HOLD_OUTS", "choose_folds", "cross_validate_grid", "hold_out", "loosened",
    "masked_counterpart", "split",
]  # fmt: skip

#: Weight of the ridge term of the counterpart of a model without one: next to none.
COUNTERPART_LAM = 1e-3
#: Ways of holding entries out; runs of so many missing rows are gaps; share of rows in a block.
HOLD_OUTS = ("auto", "random", "blocks", "gaps")
LONG_RUN, BLOCK = 3.0, 0.125


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


def split(
    mask: np.ndarray, n_folds: int, rng: np.random.Generator, how: str = "auto"
) -> list[np.ndarray]:
    """Choose entries to hold out: at random, in blocks of rows, or in gaps like the data's own.

    Parameters
    ----------
    mask : bool array (n, m)
        True where observed.
    n_folds : int
        Number of folds.
    rng : Generator
        Source of randomness.
    how : {"auto", "random", "blocks", "gaps"}
        "blocks" hides runs of an eighth of the rows, node by node. "gaps" hides what the pattern of
        missing entries would hide if it were moved along the rows. "auto" takes gaps where missing
        entries come in runs of three rows or more on average, and random entries otherwise.

    Returns
    -------
    list of bool arrays (n, m)
        True where held out; every row and column keeps an observed entry.
    """
    check_option("how", how, HOLD_OUTS)
    if how == "auto":
        how = "gaps" if _mean_run(~mask) >= LONG_RUN else "random"
    if how == "random":
        return hold_out(mask, n_folds, rng)
    check_whole("n_folds", n_folds, 2)
    if how == "gaps":
        if mask.all():
            raise ValueError(
                "folds='gaps' needs missing entries, but Y is complete; use folds='random' or "
                "folds='blocks'"
            )
        shifts = rng.permutation(np.arange(1, len(mask)))[:n_folds]
        wanted = [~np.roll(mask, int(shift), axis=0) for shift in shifts]
    else:
        length = max(2, round(BLOCK * len(mask)))
        # each node's rows are cut into blocks at a place of its own, and blocks go round the folds
        start = rng.integers(length, size=mask.shape[1])
        block = (np.arange(len(mask))[:, None] + start) // length
        first = rng.integers(n_folds, size=mask.shape[1])
        wanted = [(block + first) % n_folds == k for k in range(n_folds)]
    folds = [_kept_apart(mask, held & mask, rng) for held in wanted]
    if len(folds) < n_folds or not all(held.any() for held in folds):
        raise ValueError(
            f"folds={how!r} finds no entries to hold out in some of {n_folds} folds; use fewer "
            "folds, or folds='random'"
        )
    return folds


def choose_folds(
    folds: Any, values: Array, n_folds: int, seed: int | np.random.Generator
) -> list[np.ndarray]:
    """Return the entries to hold out in each fold: those given, or as :func:`split` has them.

    Parameters
    ----------
    folds : str or sequence of bool arrays (n, m)
        One of :data:`HOLD_OUTS`, or the entries themselves.
    values : array (n, m)
        The data; NaN where missing.
    n_folds, seed
        As for :func:`split`; not used where entries are given.
    """
    mask = ~np.isnan(values)
    if isinstance(folds, str):
        check_option("folds", folds, HOLD_OUTS)
        return split(mask, n_folds, check_seed("seed", seed), folds)
    given = [np.asarray(held, dtype=bool) for held in folds] if isinstance(folds, Iterable) else []
    if len(given) < 2 or any(h.shape != mask.shape or not (h & mask).any() for h in given):
        raise ValueError(
            f"folds must be two or more boolean arrays of the shape of Y, {mask.shape}, each with "
            "an observed entry; or one of " + ", ".join(map(repr, HOLD_OUTS))
        )
    return [held & mask for held in given]


def _mean_run(missing: np.ndarray) -> float:
    """Return the mean length of runs of missing entries along the rows."""
    begins = missing & ~np.vstack([np.zeros_like(missing[:1]), missing[:-1]])
    return float(missing.sum() / max(1, begins.sum()))


def _kept_apart(mask: np.ndarray, held: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Give back entries so that every row and column keeps an observed one."""
    held = held.copy()
    for axis in (0, 1):
        for k in np.flatnonzero((mask & ~held).sum(axis=axis) == 0):
            lane = held[:, k] if axis == 0 else held[k]
            if lane.any():
                lane[rng.choice(np.flatnonzero(lane))] = False
    return held


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
