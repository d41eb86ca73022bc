"""Measure one job of the study: all rules on all replicates of a cell, or a real data set.

The table has rows of six kinds, told apart by ``table``:

============  =====================================================================================
``rules``     the average precision that a rule reaches
``fixed``     the best one with a hyperparameter fixed at a value
``bins``      stated and true edges by the stated probability, of the generative model
``edges``     reliability of its probabilities, over all pairs
``fit``       seconds, convergence and likely edges of its fit
``coverage``  how many of the missing entries lie in 90 % intervals, by model
============  =====================================================================================
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from experiments.datasets.custom_kernels import node_kernel
from experiments.lookup import ConfigError, suggest
from experiments.times import SECONDS
from experiments.trust.design import parts
from experiments.trust.evidence import NotRun
from experiments.trust.names import DATA, INPUTS, PURE_NOISE, REAL, SIDES
from experiments.trust.real import measure_real
from experiments.trust.reliability import coverage, edge_rows, fit_row
from experiments.trust.rules import DENSITY, RULES, Replicate
from kgl._types import Array, Mask
from kgl.laplacian import edges_from_adjacency
from kgl.random_graphs import GRAPH_FAMILIES
from kgl.simulate import make_dataset

__all__ = ["ORACLE", "attempt", "check", "draw", "measure"]

#: What regret refers to; it is measured first.
ORACLE = "oracle"
Row = dict[str, Any]


def check(design: Mapping[str, Any]) -> None:
    """Refuse names that lead nowhere before any work starts."""
    names = {"families": GRAPH_FAMILIES, "data": DATA, "pure_noise": DATA, "sides": SIDES}
    names |= {"rules": RULES, "inputs": INPUTS}
    for kind, known in names.items():
        for name in design[kind]:
            if name not in known:
                found = suggest(name, list(known))
                raise ConfigError(f"study.trust.{kind}: no {name!r}; {found}")
    if ORACLE not in design["rules"]:
        raise ConfigError(f"study.trust.rules lacks {ORACLE!r}, which regret refers to; add it")
    if not parts(design):
        raise ConfigError("study.trust has no cell and no real data; name families or real")


def draw(part: Mapping[str, Any], design: Mapping[str, Any], replicate: int) -> tuple[Any, Any]:
    """Return one replicate of a cell for the rules, and the simulated data with all entries."""
    pure, seed = part["family"] == PURE_NOISE, design["seed"]
    family = "er" if pure else part["family"]
    made = make_dataset(
        family, m=design["m"], n=design["n"], dependent=part["data"] == "dependent",
        noise=part["noise"], missing=part["missing"], seed=seed, replicate=replicate,
    )  # fmt: skip
    K_x = None
    if part["side"] != "none":
        settings = {"seed": seed, "graph": {"family": family}}
        settings["data"] = {"options": {"covariates": design["covariates"]}}
        K_x = node_kernel(SIDES[part["side"]], made.W, made.K_x, settings, replicate)
    Y = made.Y - made.signals if pure else made.Y
    # edges and covariates of a replicate are those of all cells: streams are named alike
    return Replicate(Y, made.W, K_x, made.K_z, (seed, family, replicate), design), made


def attempt(work: Callable[[], Mapping[str, Any]]) -> Row:
    """Do some work; a failure, and what is left out on purpose, are results too.

    Returns
    -------
    dict
        What the work found; ``seconds`` of processor time; ``error``, the message of a failure, and
        ``note``, why a thing was not done: empty texts otherwise.
    """
    begin, found = time.process_time(), {"error": "", "note": ""}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # convergence is in the table
            found |= work()
    except NotRun as reason:
        found["note"] = str(reason)
    except Exception as failure:  # of any kind: it is a result
        found["error"] = f"{type(failure).__name__}: {failure}"
    return {**found, SECONDS: time.process_time() - begin}


def measure(
    part: Mapping[str, Any], design: Mapping[str, Any], report: Callable[[str], None] = print
) -> pd.DataFrame:
    """Return all rows of one job."""
    if part["family"] == REAL:
        rows = measure_real(part, design, attempt, report)
        known = dict(part)
        return pd.DataFrame([{**known, **row} for row in rows])
    rows, begin = [], time.perf_counter()
    for r in range(design["replicates"]):
        found = _replicate(part, design, r)
        rows += [{**row, "replicate": r} for row in found]
        left = (time.perf_counter() - begin) / (r + 1) * (design["replicates"] - r - 1)
        report(f"replicate {r + 1}/{design['replicates']}: {_line(found)}; about {left:.0f} s left")
    return pd.DataFrame([{**part, **row} for row in rows])


def _line(rows: list[Row]) -> str:
    """Return the average precision of each rule, or why there is none."""
    shown = [
        f"{row['rule']} {row['error'] or ('not run' if row['note'] else round(row['aps'], 3))}"
        for row in rows
        if row["table"] == "rules"
    ]
    return ", ".join(shown)


def _replicate(part: Mapping[str, Any], design: Mapping[str, Any], r: int) -> list[Row]:
    replicate, made = draw(part, design, r)
    # pure noise has no graph to choose hyperparameters for
    names = ["bayesian"] if part["family"] == PURE_NOISE else design["rules"]
    rows: list[Row] = []
    for name in names:
        found = {"aps": np.nan, **attempt(partial(_reached, name, replicate))}
        rows.append({"table": "rules", "rule": name, **found})
    if ORACLE in names:
        rows += _fixed(replicate)
    if "bayesian" in names and not rows[names.index("bayesian")]["error"]:
        rows += _probabilities(replicate)
        rows[-1][SECONDS] = rows[names.index("bayesian")][SECONDS]
    if not made.mask.all():
        rows += _intervals(replicate, made.Y_full, ~made.mask)
    return rows


def _reached(name: str, replicate: Replicate) -> Row:
    return {"aps": RULES[name].reach(replicate)}


def _fixed(replicate: Replicate) -> list[Row]:
    """Return what the oracle reaches with one hyperparameter fixed at each of its values."""
    grid, aps = replicate.grid, replicate.grid_aps
    return [
        {"table": "fixed", "name": name, "value": float(value),
         "aps": float(aps[grid.params[name] == value].max())}
        for name, values in grid.axes.items()
        for value in values
    ]  # fmt: skip


def _probabilities(replicate: Replicate) -> list[Row]:
    """Return how reliable edge probabilities are; the last row is about the fit."""
    model = replicate.bayesian
    stated = edges_from_adjacency(model.edge_probability_)
    true = edges_from_adjacency(replicate.W) > 0
    return [*edge_rows(stated, true, DENSITY), fit_row(model)]


def _intervals(replicate: Replicate, values: Array, hidden: Mask) -> list[Row]:
    """Return the coverage of the intervals of the generative model and of the defaults."""
    shown = {"bayesian": "bayesian", "defaults": replicate.model.__name__}
    return [
        {"table": "coverage", "model": model,
         **attempt(partial(_covered, replicate, name, values, hidden))}
        for name, model in shown.items()
    ]  # fmt: skip


def _covered(replicate: Replicate, name: str, values: Array, hidden: Mask) -> Row:
    filled, std = getattr(replicate, name).impute(replicate.Y, return_std=True)
    return coverage(filled, std, values, hidden)
