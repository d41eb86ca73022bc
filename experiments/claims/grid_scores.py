"""Scores at every grid point: the evidence on hyperparameters and on the algorithm.

It is the tables themselves, by study. Runs are paired by family and replicate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.registry import ALL_POINTS
from experiments.stats import MissingEvidence
from kgl._types import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "DATA_KINDS",
    "RUNS",
    "Cube",
    "Tables",
    "along",
    "by_run",
    "cube",
    "grid_rows",
    "kinds",
    "spread_over",
]

Tables = Mapping[str, "pd.DataFrame | None"]
DATA_KINDS = ("independent", "dependent")
RUNS = ["graph", "replicate"]


def grid_rows(
    table: pd.DataFrame | None,
    metrics: Sequence[str],
    *,
    selected_by: str = ALL_POINTS,
    **fixed: Any,
) -> pd.DataFrame:
    """Return the rows of some metrics of KGL, where columns have given values.

    Raises
    ------
    MissingEvidence
        If there are none of one of the metrics.
    """
    if table is None:
        raise MissingEvidence("no table")
    rows = table[(table["selected_by"] == selected_by) & (table["model"] == "kgl")]
    rows = rows[rows["metric"].isin(list(metrics))]
    for column, value in fixed.items():
        if column not in rows:
            raise MissingEvidence(f"no column {column}")
        if isinstance(value, float):
            rows = rows[np.isclose(rows[column].astype(float), value, rtol=1e-6, atol=0.0)]
        else:
            rows = rows[rows[column] == value]
    absent = set(metrics) - set(rows["metric"])
    if absent:
        raise MissingEvidence(f"no scores of {', '.join(sorted(absent))} of {fixed}")
    return rows


def kinds(table: pd.DataFrame | None) -> list[str]:
    """Return the kinds of data of a table."""
    found = set() if table is None else set(table["data"])
    return [kind for kind in DATA_KINDS if kind in found]


def by_run(
    table: pd.DataFrame | None, metric: str, columns: str | list[str], **fixed: Any
) -> pd.DataFrame:
    """Return a metric with runs in rows and what varies in columns; none may be missing."""
    rows = grid_rows(table, [metric], **fixed)
    varied = [columns] if isinstance(columns, str) else columns
    if rows.duplicated([*RUNS, *varied]).any():
        raise MissingEvidence(
            f"several scores of {metric} in one run at one of {', '.join(varied)}"
        )
    wide = rows.pivot_table(index=RUNS, columns=columns, values="value", dropna=False)
    wide = wide.dropna(axis="columns", how="all").dropna(axis="index", how="all")
    if wide.isna().any(axis=None):
        raise MissingEvidence(f"scores of {metric} of some runs are missing")
    return wide


def along(table: pd.DataFrame | None, metric: str, axis: str, **fixed: Any) -> dict[float, Array]:
    """Return a metric of all runs at each value of a hyperparameter, in order."""
    wide = by_run(table, metric, axis, **fixed)
    values = [float(value) for value in wide.columns]
    return dict(zip(values, wide.to_numpy().T, strict=True))


@dataclass(frozen=True)
class Cube:
    """A metric on a whole grid.

    Attributes
    ----------
    lam, rho, psi : array
        Axes.
    values : array (R, lam, rho, psi)
        Of each run.
    """

    lam: Array
    rho: Array
    psi: Array
    values: Array


def cube(table: pd.DataFrame | None, metric: str, **fixed: Any) -> Cube:
    """Return a metric on the whole grid of a study."""
    wide = by_run(table, metric, ["lam", "rho", "psi"], **fixed)
    axes = [np.unique(wide.columns.get_level_values(name)) for name in ("lam", "rho", "psi")]
    shape = [len(axis) for axis in axes]
    if wide.shape[1] != np.prod(shape):
        raise MissingEvidence(f"{metric} is not on a whole grid")
    values = wide.sort_index(axis=1).to_numpy().reshape(len(wide), *shape)
    return Cube(axes[0], axes[1], axes[2], values)


def spread_over(values: Array, axis: int) -> Array:
    """Return greatest minus least over an axis, relative to the mean there."""
    return np.asarray(np.ptp(values, axis=axis) / values.mean(axis=axis))
