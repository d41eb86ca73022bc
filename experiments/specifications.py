"""The specifications: the synthetic experiments in a small size, under one reading after another.

A *specification* is one way to read what the paper leaves open: a few overrides. All its cells are
small, so it is one job: data are drawn, models fitted, points chosen and claims judged in one
process, by the functions that the rules of the workflow call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from experiments.claims import judge, to_table
from experiments.claims.printed import h1_distance
from experiments.claims.specifications import specifications
from experiments.datasets.synthetic import build
from experiments.fit import fit_cell
from experiments.io import digest
from experiments.plan import Plan
from experiments.planning import plan_specification
from experiments.score import score_study
from experiments.stats import MissingEvidence
from kgl._optional import import_optional

if TYPE_CHECKING:
    import pandas as pd

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
            study.name, [(cell.labels, fitted[cell.name]) for cell in study.cells], plan.score(key)
        )
        for key, study in plan.studies.items()
    }


def judge_specification(
    collection: str, overrides: Sequence[str], report: Report = lambda _: None
) -> pd.DataFrame:
    """Run a collection of studies under some overrides, and judge what it shows.

    Returns
    -------
    DataFrame
        One row per claim: its ``verdict``, how many of its ``criteria`` ``held``, and the distance of
        the run from the values that the paper prints (``h1_distance``).
    """
    pd = import_optional("pandas", "workflow", "the replication")
    plan = plan_specification(collection, overrides)
    tables = run_plan(plan, report)
    judged = judge(one for one in specifications(tables) if one.default)
    rows = to_table(judged)
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
