"""Judge specifications by the sentences of the paper, from the simulated curves over r.

For the sentences a specification is a value of each of :data:`KEYS`; what else is unstated has no
effect on the score of the best grid point.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from experiments.inference.design import DEPENDENT, INDEPENDENT, Score, Statement, statements
from experiments.inference.simulate import grid_of
from kgl._types import Array

__all__ = ["KEYS", "Curves", "judge_sentences", "penalty"]

KEYS = ["alpha", "n", "bandwidth", "kernel", "decimals", "grid", "axis", "scale"]
#: r = 0 on a logarithmic axis: below the smallest level that is simulated.
_SMALLEST_R = 1e-4


def penalty(statement: Statement, value: Array, design: Mapping[str, Any]) -> Array:
    """Return by how many tolerances a statement is missed, at most the cap."""
    short = {
        "at_least": statement.target - value,
        "at_most": value - statement.target,
        "near": np.abs(value - statement.target) - statement.within,
    }[statement.kind]
    return np.asarray(np.clip(short / statement.tolerance, 0.0, design["cap"]))


class Curves:
    """Scores at the best grid point over r, of all simulated cells.

    Parameters
    ----------
    arrays : mapping
        The results of :func:`experiments.inference.simulate.simulate` by the name of their job.
    design : mapping
        The registered design, or one with other levels of r.
    """

    def __init__(self, arrays: Mapping[str, Mapping[str, Array]], design: Mapping[str, Any]):
        self.arrays, self.design = arrays, design
        self._best: dict[Any, Array] = {}

    def score(self, score: Score, spec: Mapping[str, Any], scales: Array) -> Array:
        """Return a score under a specification, at each scale."""
        n = int(score.n or spec["n"])
        complete = score.axis != "missing"
        x = score.level if score.axis == "noise" else self.design["printed"]["noise"]
        r = (x if spec["axis"] == "variance" else x * x) / scales
        kind = "independent" if score.model in INDEPENDENT else spec["bandwidth"]
        alpha = spec["alpha"]
        if not complete:
            known = np.array(self.design["missing"]["alpha"], dtype=float)
            alpha = known[np.argmin(np.abs(np.log(known / alpha)))]
        part = f"{'noise' if complete else 'missing'}-{kind}-alpha{alpha:g}-n{n}"
        with_kernel = score.model in (INDEPENDENT[0], DEPENDENT[0])
        kernel = spec["kernel"] if with_kernel else "exact"
        rate = "" if complete else f"{score.level:g}."
        metric = "aps4" if score.metric == "aps" and spec["decimals"] == "4" else score.metric
        key = f"{score.model}.{score.family}.{rate}{kernel}.{metric}"
        levels = self.design["r"][
            "missing" if not complete else "sbm" if score.family == "sbm" else "others"
        ]
        # where K_x is the signals' own, lam is in units of the scale
        scaled = with_kernel and kernel != "covariates"
        curves = self._curves(part, key, spec["grid"], scales if scaled else np.ones(len(scales)))
        at = np.log10(np.maximum(levels, _SMALLEST_R))
        wanted = np.log10(np.maximum(r, _SMALLEST_R))
        return np.array([np.interp(w, at, c) for w, c in zip(wanted, curves, strict=True)])

    def _curves(self, part: str, key: str, grid: str, units: Array) -> Array:
        """Return the mean over replicates of the best score at each r, for each unit of lam."""
        name = (part, key, grid, units.tobytes() if grid != "wide" else len(units))
        if name not in self._best:
            values = self.arrays[part][key]
            points = grid_of(key.partition(".")[0], self.design["points"],
                             missing=part.startswith("missing"))  # fmt: skip
            pick = np.min if key.endswith("sse") else np.max
            inside = [self._inside(points, grid, unit) for unit in units]
            best = [pick(values[..., k], axis=-1).mean(axis=-1) for k in inside]
            self._best[name] = np.stack(best)
        return self._best[name]

    def _inside(self, points: Mapping[str, Array], grid: str, unit: float) -> Array:
        """Return which grid points lie in the range of lam that the paper may have tried."""
        if grid == "wide" or "lam" not in points:
            return np.ones(len(points["psi"]), dtype=bool)
        low, high = self.design["ranges"]["lam"]
        lam = points["lam"] * unit
        inside = (lam > low * 0.99) & (lam < high * 1.01)
        # no simulated point in the range: the nearest ones
        return inside if inside.any() else lam == (lam.max() if lam.max() <= low else lam.min())


def judge_sentences(
    curves: Curves, specifications: list[dict[str, Any]] | None = None
) -> pd.DataFrame:
    """Return one row per specification: its keys, and the penalty of each statement by its number.

    Parameters
    ----------
    curves : Curves
        The simulated scores.
    specifications : list of dict, optional
        Those to judge; by default all of the design.
    """
    design = curves.design
    made = statements(design)
    factors = {name: factor["values"] for name, factor in design["factors"].items()}
    if specifications is None:
        names = [key for key in KEYS if key not in ("scale", "decimals")]
        blocks: list[dict[str, Any]] = [
            dict(zip([*names, "decimals"], values, strict=True))
            for values in product(*(factors[name] for name in names), ["none", "4"])
        ]
        scaled = [(block, np.array(factors["scale"], dtype=float)) for block in blocks]
    else:
        scaled = [(spec, np.array([spec["scale"]], dtype=float)) for spec in specifications]
    rows = []
    for spec, scales in scaled:
        found = {"scale": scales} | {
            f"p{k}": _penalties(statement, curves, spec, scales) for k, statement in enumerate(made)
        }
        frame = pd.DataFrame(found)
        rows.append(frame.assign(**{key: spec[key] for key in KEYS if key != "scale"}))
    table = pd.concat(rows, ignore_index=True)
    return _summed(table[[*KEYS, *(f"p{k}" for k in range(len(made)))]], made, design)


def _penalties(
    statement: Statement, curves: Curves, spec: Mapping[str, Any], scales: Array
) -> Array:
    worst = np.zeros(len(scales))
    for terms in statement.terms:
        value = sum(sign * curves.score(score, spec, scales) for sign, score in terms)
        worst = np.maximum(worst, penalty(statement, np.asarray(value), curves.design))
    return worst


def _summed(table: pd.DataFrame, made: list[Statement], design: Mapping[str, Any]) -> pd.DataFrame:
    """Add the distances, of all sentences and of those of each experiment, and how many are met."""
    values = table[[f"p{k}" for k in range(len(made))]].to_numpy()
    own = np.array([statement.experiment for statement in made])
    groups = {"sentences": np.ones(len(made), dtype=bool)}
    groups |= {name: own == name for name in ("noise", "missing")}
    for name, columns in groups.items():
        table[f"distance_{name}"] = np.sqrt((values[:, columns] ** 2).mean(axis=1))
    table["met"] = (values <= design["met"]).sum(axis=1)
    return table
