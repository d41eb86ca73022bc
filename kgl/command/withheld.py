"""How well withheld values are predicted, beside simple baselines."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from kgl._types import Array
from kgl.command.inputs import Inputs
from kgl.command.learning import Task

__all__ = ["HALF", "SHARE", "Score", "interpolate", "predict_withheld"]

#: Share of the entries that is withheld.
SHARE = 0.1
#: Half the length of a 90 % interval, in standard deviations.
HALF = 1.645
#: Observed entries that a node keeps, so that it still has a mean and a standard deviation.
_KEEP = 3


@dataclass(frozen=True)
class Score:
    """Root mean squared errors of one way of withholding, in standard deviations of each node.

    Attributes
    ----------
    pattern : str
        "entries" or "blocks".
    n_withheld : int
        How many entries were withheld.
    model : float or None
        Error of the model, None if it predicts nothing.
    mean, interpolation : float
        Errors of the mean of each node and of linear interpolation along the rows.
    coverage : float or None
        Share of the withheld values in their 90 % intervals, where the model draws graphs.
    """

    pattern: str
    n_withheld: int
    model: float | None
    mean: float
    interpolation: float
    coverage: float | None = None


def predict_withheld(task: Task, inputs: Inputs, seed: int) -> list[Score]:
    """Withhold a tenth of the entries, singly and (with times) in blocks, and predict them."""
    rng = np.random.default_rng(seed)
    observed = ~np.isnan(inputs.Y)
    patterns = {"entries": rng.random(inputs.Y.shape) < SHARE}
    times = np.arange(len(inputs.Y), dtype=float)
    if inputs.times is not None:
        times = inputs.times.values
        patterns["blocks"] = _blocks(times, inputs.Y.shape[1], rng)
    scores = []
    for pattern, wanted in patterns.items():
        held = _spare(wanted & observed, observed)
        if held.any():
            scores.append(_score(pattern, held, task, inputs.Y, times))
    return scores


def _score(pattern: str, held: np.ndarray, task: Task, Y: Array, times: Array) -> Score:
    train = np.where(held, np.nan, Y)
    deviation = np.nanstd(Y, axis=0)

    def error(predicted: Array) -> float:
        return float(np.sqrt(np.mean((((predicted - Y) / deviation)[held]) ** 2)))

    own = coverage = None
    if task.predicts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to all data has warned
            model = task.fit(train)
        own = error(model.signals_)
        if task.bayesian:
            _, std = model.impute(train, return_std=True)
            coverage = float(np.mean((np.abs(model.signals_ - Y) <= HALF * std)[held]))
    return Score(
        pattern,
        int(held.sum()),
        own,
        error(np.broadcast_to(np.nanmean(train, axis=0), Y.shape)),
        error(interpolate(train, times)),
        coverage,
    )


def _blocks(times: Array, m: int, rng: np.random.Generator) -> np.ndarray:
    """Choose for each node a tenth of the rows that follow one another in time."""
    n = len(times)
    length = min(n, max(2, round(SHARE * n)))
    order = np.argsort(times, kind="stable")
    held = np.zeros((n, m), dtype=bool)
    for column, start in enumerate(rng.integers(0, n - length + 1, size=m)):
        held[order[start : start + length], column] = True
    return held


def _spare(held: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Give back entries so that no row is emptied and each node keeps a few."""
    held = held.copy()
    held[:, (observed & ~held).sum(axis=0) < _KEEP] = False
    for row in np.flatnonzero(~(observed & ~held).any(axis=1)):
        held[row, np.argmax(held[row])] = False
    return held


def interpolate(Y: Array, times: Array) -> Array:
    """Fill missing entries by linear interpolation, beyond the ends by the nearest value.

    Examples
    --------
    >>> interpolate(np.array([[0.0], [np.nan], [4.0]]), np.array([0.0, 1.0, 4.0]))
    array([[0.],
           [1.],
           [4.]])
    """
    moments, position = np.unique(times, return_inverse=True)
    filled = Y.copy()
    for column in range(Y.shape[1]):
        observed = ~np.isnan(Y[:, column])
        # several rows may have one time: their mean
        count = np.bincount(position[observed], minlength=len(moments))
        total = np.bincount(position[observed], weights=Y[observed, column], minlength=len(moments))
        some = count > 0
        line = np.interp(moments, moments[some], total[some] / count[some])
        filled[~observed, column] = line[position[~observed]]
    return filled
