"""Errors relative to the best baseline, for the figure and the text."""

from __future__ import annotations

from typing import Any

import pandas as pd

from experiments.pays.design import NEW_NODES
from experiments.pays.methods import BASELINES, METHODS
from experiments.pays.nodes import REFERENCE

__all__ = ["LABELS", "PATTERN_LABELS", "SETTING", "relative"]

#: What makes a setting.
SETTING = ["dataset", "pattern", "rate"]
PATTERN_LABELS = {
    "random": "gaps at random",
    "blocks": "gaps in runs of rows",
    NEW_NODES: "nodes never observed",
}
#: Of all methods in the order of the figure: baselines first.
LABELS = {
    **{name: METHODS[name].label for name in BASELINES},
    "row_mean": "mean of all nodes",
    "nearest": "three nearest nodes",
    **{name: method.label for name, method in METHODS.items() if method.ours},
}


def relative(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean error of each method in each setting, and relative to the best baseline.

    Returns
    -------
    DataFrame
        A row per setting and method: ``rmse``, the mean over the runs that did not fail; ``runs``
        and ``failures``; ``best_baseline``, the baseline with the least mean error among those that
        never failed; ``relative``, the error over that of the best baseline (of new nodes: of the
        mean of the nearest); ``seconds`` per run.
    """
    known = [*SETTING, "n", "m", "x", "z", "method"]
    found = (
        table.assign(failed=table["error"] != "")
        .groupby(known, sort=False)
        .agg(
            rmse=("rmse", "mean"),
            runs=("seed", "count"),
            failures=("failed", "sum"),
            seconds=("seconds", "mean"),
        )
        .reset_index()
    )
    candidates = found["method"].isin([*BASELINES, REFERENCE]) & (found["failures"] == 0)
    best: Any = found[candidates].sort_values("rmse", kind="stable").groupby(SETTING).first()
    best = best[["method", "rmse"]].set_axis(["best_baseline", "least"], axis=1)
    found = found.merge(best.reset_index(), on=SETTING, how="left")
    return found.assign(relative=found["rmse"] / found["least"]).drop(columns="least")
