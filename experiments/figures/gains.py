"""The gain of KGL-N from its side information, as K_x is degraded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from experiments.stats import MissingEvidence, mean_interval
from kgl._types import Array

#: Models that learn nothing: the kernel of the nodes, or its inverse, used as the graph.
ALONE = ("kernel", "kernel_inverse")
#: The gain of KGL-N is measured against the better of these.
RIVALS = {
    "gap_over_best": ("gl", "kernel"),
    "gap_over_any": ("gl", "kernel", "kernel_inverse"),
}
DRAWS, SEED = 4000, 0


def interval(values: Array) -> tuple[float, float, float]:
    """Return the mean and the ends of its interval, which a single value lacks."""
    try:
        return mean_interval(values)
    except MissingEvidence:
        return float(np.mean(values)), np.nan, np.nan


def interval_row(values: Array) -> dict[str, float]:
    """Return mean, interval, percentiles and number of values, as columns of a table."""
    mean, low, high = interval(values)
    p05, p95 = np.percentile(values, [5, 95])
    return {"mean": mean, "low": low, "high": high, "p05": p05, "p95": p95, "runs": len(values)}


def gains(table: pd.DataFrame) -> pd.DataFrame:
    """Return the gain of KGL-N in average precision for each K_x.

    ``gap_kept`` is the retained share of its gain over GL: that gain over the gain with the K_x of
    the true graph, a ratio of means over replicates with a bootstrap interval. ``gap_over_best`` is
    its gain, replicate by replicate, over the better of GL and K_x alone (``against`` names the
    better one on average), and ``gap_over_any`` that over the inverse of K_x too.
    """
    scores = table[(table["metric"] == "aps") & (table["selected_by"] == "aps")]
    keys = ["graph", "data", "noise", "level"]
    runs: dict[Any, pd.Series] = {
        key: part.set_index("replicate")["value"]
        for key, part in scores.groupby([*keys, "model"], sort=False)
    }
    rows = []
    for (graph, data, noise, side, model), own in runs.items():
        if model != "kgln":
            continue
        found = {"gl": _first(runs, graph, data, "gl")}
        found |= {name: _first(runs, graph, None, name, side) for name in ALONE}
        rivals = {name: values for name, values in found.items() if values is not None}
        known = {"graph": graph, "data": data, "noise": noise, "level": side, "model": model}
        oracle = runs.get((graph, data, noise, "oracle", model))
        if "gl" in rivals and oracle is not None:
            pair = np.stack([own - rivals["gl"], oracle - rivals["gl"]])
            rows.append({**known, "metric": "gap_kept", "against": "gl", **_ratio(pair)})
        rows += [known | row for row in _paired(own, rivals)]
    return pd.DataFrame(rows)


def _paired(own: pd.Series, rivals: dict[str, pd.Series]) -> list[dict[str, Any]]:
    """Return the paired gains over the better of each set of rivals."""
    rows = []
    for metric, names in RIVALS.items():
        found = {name: rivals[name] for name in names if name in rivals}
        if found:
            best = max(found, key=lambda name: float(found[name].mean()))
            gain = (own - found[best]).to_numpy()
            rows.append({"metric": metric, "against": best, **interval_row(gain)})
    return rows


def _first(
    runs: dict[Any, pd.Series], graph: str, data: str | None, model: str, side: str | None = None
) -> pd.Series | None:
    """Return the scores of a model that is run once, for all sides or for all kinds of data."""
    for (family, kind, _, level, name), found in runs.items():
        if (family, name) == (graph, model) and data in (None, kind) and side in (None, level):
            return found
    return None


def _ratio(pair: Array) -> dict[str, float]:
    """Return the ratio of two means, with a bootstrap interval over replicates."""
    runs = pair.shape[1]
    first, second = pair.mean(axis=1)
    low = high = np.nan
    if runs > 1:
        drawn = np.random.default_rng(SEED).integers(runs, size=(DRAWS, runs))
        means = pair[:, drawn].mean(axis=2)
        low, high = np.percentile(means[0] / means[1], [2.5, 97.5])
    return {"mean": first / second, "low": low, "high": high, "runs": runs}
