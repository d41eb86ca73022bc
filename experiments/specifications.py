"""The synthetic experiments in a small size, under one specification of unstated details.

All cells of a specification are small, so it is one job: data are drawn, models fitted, grid points
selected and claims judged in one process, by the functions that the rules of the workflow call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pandas as pd

from experiments.claims import judge, to_table
from experiments.claims.printed import h1_distance
from experiments.claims.specifications import specifications
from experiments.datasets.synthetic import build
from experiments.fit import fit_cell
from experiments.io import digest
from experiments.plan import Plan, plan_specification
from experiments.score import score_study
from experiments.stats import MissingEvidence

__all__ = ["judge_specification", "run_plan"]

Report = Callable[[str], None]


def run_plan(plan: Plan, report: Report = lambda _: None) -> dict[str, pd.DataFrame]:
    """Make the tables of all studies of a plan in this process; nothing is written."""
    fitted: dict[str, dict[str, Any]] = {}
    arrays: dict[str, dict[str, Any]] = {}
    for name, cell in plan.cells.items():
        key = digest(cell.data)
        if key not in arrays:
            arrays[key] = build(cell.data)
        fitted[name] = fit_cell(arrays[key], cell.fit)
        report(f"{len(fitted)}/{len(plan.cells)} {name}")
    return {
        study.name: score_study(
            study.name, [(cell.labels, fitted[cell.name]) for cell in study.cells], study.score
        )
        for study in plan.studies.values()
    }


def judge_specification(
    collection: str, overrides: Sequence[str], report: Report = lambda _: None
) -> pd.DataFrame:
    """Run a collection of studies under some overrides, and judge what it shows.

    Returns
    -------
    DataFrame
        One row per claim: its ``verdict``, how many of its ``criteria`` ``held``, and the distance
        of the run from the values that the paper prints (``h1_distance``).
    """
    plan = plan_specification(collection, overrides)
    tables = run_plan(plan, report)
    rows = to_table(judge(one for one in specifications(tables) if one.default))
    distance = float("nan")
    with suppress(MissingEvidence):
        distance = h1_distance(tables.get("fig12"))
    claims = rows.groupby("claim", sort=False)
    return pd.DataFrame(
        {
            "claim": claims["claim"].first(),
            "verdict": claims["verdict"].first(),
            "held": claims["holds"].sum().astype(int),
            "criteria": claims["holds"].count(),
            "h1_distance": distance,
        }
    ).reset_index(drop=True)
