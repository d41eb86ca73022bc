"""Predict a node that was never observed from its covariates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from experiments.pays.datasets import Table
from experiments.pays.methods import times
from kgl._types import Array
from kgl.models import KGL
from kgl.seeding import stream
from kgl.selection import select_held_out

__all__ = ["NEAREST", "PREDICTORS", "REFERENCE", "left_out"]

#: How many of the nearest nodes are averaged.
NEAREST = 3

Predict: TypeAlias = Callable[[pd.DataFrame, pd.DataFrame, pd.Series | None, pd.DataFrame], Array]


def left_out(table: Table, count: int) -> list[Any]:
    """Return the nodes that are left out, each once, in the order of the table."""
    m = table.Y.shape[1]
    chosen = stream(0, "pays", "left_out", table.name).permutation(m)[:count]
    return [table.Y.columns[j] for j in sorted(chosen)]


def row_mean(Y: pd.DataFrame, x: pd.DataFrame, z: Any, new: pd.DataFrame) -> Array:
    """Predict the mean of all other nodes."""
    return np.repeat(Y.mean(axis=1).to_numpy()[:, None], len(new), axis=1)


def nearest(Y: pd.DataFrame, x: pd.DataFrame, z: Any, new: pd.DataFrame) -> Array:
    """Predict the mean of the nearest nodes, by Euclidean distance of the covariates."""
    distances = np.linalg.norm(new.to_numpy()[:, None] - x.to_numpy()[None], axis=2)
    order = np.argsort(distances, axis=1, kind="stable")[:, :NEAREST]
    return np.column_stack([Y.iloc[:, list(chosen)].mean(axis=1) for chosen in order])


def kgl_default(Y: pd.DataFrame, x: pd.DataFrame, z: pd.Series | None, new: pd.DataFrame) -> Array:
    """Predict by KGL with its defaults, from the table as it is."""
    return np.asarray(KGL().fit(Y, x=x, z=times(z)).predict(x=new))


def kgl_tuned(Y: pd.DataFrame, x: pd.DataFrame, z: pd.Series | None, new: pd.DataFrame) -> Array:
    """Predict by KGL with hyperparameters chosen by held-out entries."""
    found = select_held_out(KGL, Y, x=x, z=times(z))
    return np.asarray(found.estimator.predict(x=new))


#: What errors of new nodes are compared with.
REFERENCE = "nearest"
PREDICTORS: dict[str, Predict] = {
    "row_mean": row_mean,
    "nearest": nearest,
    "kgl": kgl_default,
    "kgl_tuned": kgl_tuned,
}
