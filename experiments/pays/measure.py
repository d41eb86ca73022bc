"""Measure methods on one table with one kind of gaps: one job of the study.

Errors are root mean squares over the hidden entries, in standard deviations of their node, so that
nodes of different units count alike; the column mean has an error of about one. A method that fails
has its error message in place of a number.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from experiments.lookup import ConfigError, suggest
from experiments.pays.datasets import DATASETS, Table, load, require
from experiments.pays.design import NEW_NODES
from experiments.pays.gaps import hide
from experiments.pays.methods import METHODS
from experiments.pays.nodes import PREDICTORS, left_out
from experiments.times import SECONDS
from kgl._types import Array, Mask

__all__ = ["attempt", "check", "measure"]


def check(design: Mapping[str, Any]) -> None:
    """Refuse names that lead nowhere, and tables whose packages are not installed."""
    tables = [*design["datasets"], *design["new_nodes"]]
    for kind, names, known in (("table", tables, DATASETS), ("method", design["methods"], METHODS)):
        for name in names:
            if name not in known:
                raise ConfigError(f"study.pays: no {kind} {name!r}; {suggest(name, list(known))}")
    require(*tables)


def attempt(method: Callable[[], Array], values: Array, hidden: Mask) -> dict[str, Any]:
    """Run a method and score it on hidden entries.

    Returns
    -------
    dict
        ``rmse``, NaN where the method failed; ``seconds`` of processor time; ``error``, the message
        of a failure or an empty text.
    """
    begin, error, rmse = time.process_time(), "", np.nan
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tables of failures, not of convergence
            filled = np.asarray(method(), dtype=float)
        if filled.shape != values.shape:
            raise ValueError(f"values of shape {filled.shape} for a table of {values.shape}")
        if not np.isfinite(filled[hidden]).all():
            raise ValueError(f"{(~np.isfinite(filled[hidden])).sum()} values are not finite")
        scaled = (filled - values) / np.nanstd(values, axis=0)
        rmse = float(np.sqrt(np.mean(scaled[hidden] ** 2)))
    except Exception as failure:  # of any kind: it is a result
        error = f"{type(failure).__name__}: {failure}"
    return {"rmse": rmse, SECONDS: time.process_time() - begin, "error": error}


def measure(
    part: Mapping[str, Any], design: Mapping[str, Any], report: Callable[[str], None] = print
) -> pd.DataFrame:
    """Return one row per method and seed, or left-out node, of one job."""
    table = load(part["dataset"])
    run = _new_nodes if part["pattern"] == NEW_NODES else _gaps
    rows = run(table, part, design, report)
    n, m = table.Y.shape
    known: dict[str, Any] = {"dataset": table.name, "about": table.about, "source": table.source}
    known |= {"n": n, "m": m, "x": table.x is not None}
    known |= {"z": table.z is not None, "pattern": part["pattern"], "rate": part["rate"]}
    return pd.DataFrame([{**known, **row} for row in rows])


def _gaps(
    table: Table, part: Mapping[str, Any], design: Mapping[str, Any], report: Callable[[str], None]
) -> list[dict[str, Any]]:
    values = table.Y.to_numpy()
    rows = []
    for seed in range(design["seeds"]):
        hidden = hide(values, part["pattern"], part["rate"], seed, table.name)
        given = table.Y.mask(hidden)
        for name in design["methods"]:
            method = METHODS[name]
            if method.needs_z and table.z is None:
                continue
            found = attempt(partial(method.fill, given, table.x, table.z), values, hidden)
            rows.append({"method": name, "seed": seed, **found})
            report(_line(rows[-1]))
    return rows


def _new_nodes(
    table: Table, part: Mapping[str, Any], design: Mapping[str, Any], report: Callable[[str], None]
) -> list[dict[str, Any]]:
    if table.x is None:
        raise ValueError(f"{table.name} has no covariates of its nodes: new ones have none either")
    rows = []
    for seed, node in enumerate(left_out(table, design["left_out"])):
        values = table.Y[[node]].to_numpy()
        others, x = table.Y.drop(columns=node), table.x.drop(index=node)
        for name, predict in PREDICTORS.items():
            call = partial(predict, others, x, table.z, table.x.loc[[node]])
            found = attempt(call, values, np.isfinite(values))
            rows.append({"method": name, "seed": seed, **found})
            report(_line(rows[-1]))
    return rows


def _line(row: Mapping[str, Any]) -> str:
    shown = row["error"] or f"{row['rmse']:.4f}"
    return f"seed {row['seed']}, {row['method']}: {shown} ({row['seconds']:.1f} s)"
