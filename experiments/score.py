"""From fits to tables: select a grid point for each replicate, and write one number per row.

Columns of a table: ``study, graph, data, sweep, level, m, n, noise, missing, model, replicate``,
how the point was selected (``selected_by``: a metric, which makes it oracle-tuned, or one of
``experiments.registry.CV`` and ``ALL_POINTS``), the point (``lam, rho, psi`` and whatever else the
model has), the axes on whose end it lies (``at_edge``), ``metric`` and ``value``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.registry import ALL_POINTS, CV, HYPERPARAMETERS, METRICS
from kgl._types import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KEYS", "best_points", "score_cell", "score_study", "summarise"]

#: Metrics that a grid point can be selected by, and whether more of it is better.
SELECTING = {name: bool(m.higher_is_better) for name, m in METRICS.items() if m.selects}
#: A cell of a figure, up to the model; other keys that a study sweeps over come before the model.
KEYS = ["study", "graph", "data", "sweep", "level", "m", "n", "noise", "missing", "model"]


def best_points(
    values: Array, *, highest: bool, best: str = "replicate", inside: Array | None = None
) -> Array:
    """Return the index of the best grid point for each replicate.

    Parameters
    ----------
    values : array (R, N)
        A metric at every point of every replicate.
    highest : bool
        Whether more is better.
    best : {"replicate", "mean"}
        The best point of each replicate, or the one that is best on average for all of them.
    inside : array (N,), optional
        Of equally good points the one with the largest value here is taken, then the first.

    Examples
    --------
    >>> best_points(np.array([[0.1, 0.4], [0.9, 0.2]]), highest=True)
    array([1, 0])
    >>> best_points(np.array([[0.1, 0.4], [0.9, 0.2]]), highest=True, best="mean")
    array([0, 0])
    """
    signed = values if highest else -values
    if best == "mean":
        signed = np.broadcast_to(signed.mean(axis=0), signed.shape)
    tied = signed == signed.max(axis=1, keepdims=True)
    rank = np.zeros(values.shape[1]) if inside is None else inside
    return np.asarray(np.argmax(np.where(tied, rank, -np.inf), axis=1))


def _ends(axes: Mapping[str, Array]) -> dict[str, np.ndarray]:
    """Return, for each hyperparameter, whether a point has its first or last value of several."""
    ends = {}
    for name, values in axes.items():
        axis = np.unique(values)
        ends[name] = np.isin(values, axis[[0, -1]]) & (len(axis) > 2)
    return ends


def score_cell(
    arrays: Mapping[str, Array], labels: Mapping[str, Any], score: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the rows of one cell.

    Parameters
    ----------
    arrays : dict of arrays
        From :func:`experiments.fit.fit_cell`.
    labels : dict
        What the cell is: family, kind of data, level, model.
    score : dict
        The protocol: ``aps`` names what average precision ranks (``weights`` or ``scores``),
        ``best`` how a point is selected; with ``folds`` points are tuned by cross-validation too,
        among graphs of ``cv_density`` where densities set psi; with ``points`` the rows of every
        point follow.
    """
    metrics = {"aps": arrays[f"aps_{score['aps']}"]} if "aps_weights" in arrays else {}
    metrics |= {name: arrays[name] for name in METRICS if name in arrays}
    axes = {k.removeprefix("grid."): v for k, v in arrays.items() if k.startswith("grid.")}
    ends = _ends(axes)
    inside = -sum(ends.values(), start=np.zeros(next(iter(metrics.values())).shape[1]))
    rows = []
    for selected_by, replicates, chosen in _selections(metrics, axes, inside, score):
        for replicate, index in zip(replicates.tolist(), chosen.tolist(), strict=True):
            point = {name: float(axes[name][index]) for name in axes}
            if "psi" in arrays:  # found for a density
                point["psi"] = float(arrays["psi"][replicate, index])
            edge = "+".join(name for name in ends if ends[name][index])
            for metric in metrics:
                value = float(metrics[metric][replicate, index])
                row = {**labels, "replicate": replicate, "selected_by": selected_by}
                row |= dict.fromkeys(HYPERPARAMETERS, np.nan) | point
                row |= {"at_edge": edge, "metric": metric, "value": value}
                rows.append(row)
    return rows


def _selections(
    metrics: Mapping[str, Array], axes: Mapping[str, Array], inside: Array, score: Mapping[str, Any]
) -> Iterable[tuple[str, np.ndarray, np.ndarray]]:
    """Yield each way to select, the replicates that have it, and the point of each."""
    replicated, n_points = next(iter(metrics.values())).shape
    everywhere = np.arange(n_points)
    found = [
        (name, metrics[name], highest) for name, highest in SELECTING.items() if name in metrics
    ]
    if score.get("folds"):
        at = np.flatnonzero(axes.get("density", np.array([])) == score["cv_density"])
        candidates = at if len(at) else everywhere
        held = metrics["mse_cv"] if "mse_cv" in metrics else np.full((1, n_points), np.nan)
        if np.isnan(held).all() and len(candidates) == 1:
            # a model that predicts nothing, with one graph of the density in question
            replicates = np.arange(len(next(iter(metrics.values()))))
            yield CV, replicates, np.full(len(replicates), candidates[0])
        found.append((CV, held, False))
    for selected_by, values, highest in found:
        # without a value where nothing was withheld, or where the model fits no signals
        usable = np.flatnonzero(~np.isnan(values).all(axis=0))
        scored = np.flatnonzero(~np.isnan(values[:, usable]).any(axis=1))
        if not len(usable) or not len(scored):
            continue
        chosen = best_points(
            values[np.ix_(scored, usable)],
            highest=highest,
            best=score["best"],
            inside=inside[usable],
        )
        yield selected_by, scored, usable[chosen]
    if score.get("points"):
        for index in everywhere:
            yield ALL_POINTS, np.arange(replicated), np.full(replicated, index)


def score_study(
    study: str,
    cells: Iterable[tuple[Mapping[str, Any], Mapping[str, Array]]],
    score: Mapping[str, Any],
) -> pd.DataFrame:
    """Return the table of a study from the labels and arrays of its cells."""
    import pandas as pd

    rows = [
        row
        for labels, arrays in cells
        for row in score_cell(arrays, {"study": study, **labels}, score)
    ]
    table = pd.DataFrame(rows)
    # empty values are dropped last, so that models without signals keep no rows of NaN
    table = table[table["value"].notna()].reset_index(drop=True)
    last = ["at_edge", "metric", "value"]
    return table[[c for c in table.columns if c not in last] + last]


def summarise(
    table: pd.DataFrame,
    metrics: Iterable[str],
    *,
    pool: bool = False,
    selected_by: str | None = None,
) -> pd.DataFrame:
    """Mean and 5th and 95th percentile over replicates: what the figures draw.

    Each metric is taken at the point where it is best, as the paper reports; ``density`` and other
    metrics that select nothing are taken where ``aps`` is best (or ``nmi``, without a true graph).

    Parameters
    ----------
    table : DataFrame
        From :func:`score_study`.
    metrics : iterable of str
        Which ones, in this order.
    pool : bool
        Whether the families of graphs are pooled.
    selected_by : str, optional
        One way to select for all metrics instead, such as :data:`experiments.registry.CV`.
    """
    import pandas as pd

    known = list(table.columns[: table.columns.get_loc("replicate")])
    keys = [k for k in known if not (pool and k == "graph")]
    default = "aps" if "aps" in set(table["selected_by"]) else "nmi"
    parts = []
    for metric in metrics:
        chosen = selected_by or (metric if metric in SELECTING else default)
        rows = table[(table["metric"] == metric) & (table["selected_by"] == chosen)]
        groups = rows.groupby(keys, sort=False, dropna=False)
        part = groups["value"].agg(
            mean="mean",
            p05=lambda v: np.percentile(v, 5),
            p95=lambda v: np.percentile(v, 95),
            runs="count",
        )
        part["at_edge"] = groups["at_edge"].agg(lambda v: float((v != "").mean()))
        frame = part.reset_index()
        frame.insert(len(keys), "metric", metric)
        if pool:
            frame.insert(1, "graph", "+".join(dict.fromkeys(rows["graph"])))
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)
