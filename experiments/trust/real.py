"""Hide entries of the two real data sets of the paper, and see whether intervals cover them.

Data and kernels are those of the replication (:mod:`experiments.datasets.real`). Entries are hidden
at random; every node keeps two and every observation one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from experiments.datasets import real
from experiments.datasets.centring import means
from experiments.pays.gaps import hide
from experiments.registry import STANDIN
from experiments.times import SECONDS
from experiments.trust.evidence import NotRun
from experiments.trust.reliability import coverage, fit_row
from experiments.trust.rules import DENSITY
from kgl import datasets
from kgl._types import Array, Mask
from kgl.bayesian import BayesianKGL
from kgl.models import GL, KGL, KGLN, KGLO, GL2Step, KGLAgnostic
from kgl.seeding import stream

__all__ = ["FILES", "MODELS", "Hidden", "hidden_entries", "measure_real"]

#: The data sets with the settings of their files in conf/data and conf/graph.
FILES: dict[str, dict[str, Any]] = {
    "swiss": {
        "graph": {"m": 89, "density": 0.3},
        "data": {
            "missing": 0.0,
            "bandwidth": "median_distance",
            "options": {"unit": "km", "bandwidth_x": "median_distance", "keep_one": False},
        },
    },
    "sushi": {
        "graph": {"m": 32, "density": 0.3},
        "data": {
            "missing": 0.0,
            "bandwidth": "median_distance",
            "options": {
                "min_rated": 8, "centre": "reviewer", "scale": "none",
                "bandwidth_x": "median_distance", "combine": "mean",
            },
        },
    },
}  # fmt: skip
SOURCES = {"swiss": real.swiss, "sushi": real.sushi}
#: The six models; those without a ridge term have no intervals.
MODELS: dict[str, Any] = {
    model.__name__: model for model in (GL, GL2Step, KGLN, KGLO, KGL, KGLAgnostic)
}
#: A part of the work, and what it found.
Attempt = Callable[[Callable[[], Mapping[str, Any]]], dict[str, Any]]


@dataclass(frozen=True)
class Hidden:
    """Data of which entries are hidden: what models get, all values, and which are hidden."""

    given: dict[str, Any]
    values: Array
    hidden: Mask


def hidden_entries(part: Mapping[str, Any], design: Mapping[str, Any], seed: int) -> Hidden:
    """Return a data set with entries hidden at random.

    With the kernels of the replication, ratings are centred by the reviewer's mean of the entries
    that are left: hidden ones must not have a part in it.
    """
    files, n = part["files"], part["n"]
    settings = {**FILES[files], "seed": design["seed"]}
    settings["data"] = {**settings["data"], "n": n, "source": part["source"]}
    if part["input"] == "covariates":
        table, sides = _table(files, settings, seed)
        hidden = hide(table, "random", design["hidden"], design["seed"] + seed, files)
        return Hidden({"Y": np.where(hidden, np.nan, table), **sides}, table, hidden)
    arrays = SOURCES[files](settings, seed)
    whole = arrays["raw"] if "raw" in arrays else arrays["Y"]
    hidden = hide(whole, "random", design["hidden"], design["seed"] + seed, files)
    left = np.where(hidden, np.nan, whole)
    centre = means(left, str(arrays["centre"])) if "raw" in arrays else np.zeros_like(whole)
    sides = {name: arrays[name] for name in ("K_x", "K_z")}
    return Hidden({"Y": left - centre, **sides}, whole - centre, hidden)


def _table(files: str, settings: Mapping[str, Any], seed: int) -> tuple[Array, dict[str, Any]]:
    """Return a raw table and its covariates, the same rows as with kernels."""
    data = settings["data"]
    n, source = data["n"], data["source"]
    if files == "swiss":
        swiss = datasets.load_swiss(source=source)
        return swiss.temperature.to_numpy()[:n], {"x": swiss.x, "z": swiss.z.iloc[:n]}
    sushi = datasets.load_sushi(source=source, min_rated=data["options"]["min_rated"])
    drawn = real.reviewers(len(sushi.ratings), n, settings["seed"], seed)
    return sushi.ratings.to_numpy()[drawn], {"x": sushi.x, "z": sushi.z.iloc[drawn]}


def measure_real(
    part: Mapping[str, Any],
    design: Mapping[str, Any],
    attempt: Attempt,
    report: Callable[[str], None] = print,
) -> list[dict[str, Any]]:
    """Return rows of the tables ``fit`` and ``coverage`` for all seeds."""
    if part["source"] == "simulated":
        report(f"{part['files']}: {STANDIN}; data/README.md explains how to get the files")
    rows: list[dict[str, Any]] = []
    for seed in range(design["seeds"]):
        found = _one(part, design, seed, attempt)
        rows += [{**row, "replicate": seed} for row in found]
        for row in found:
            if row["table"] == "coverage":
                share = row["covered"] / row["entries"] if "entries" in row else np.nan
                shown = row["error"] or row["note"] or f"{share:.3f} covered"
                report(f"seed {seed}, {row['model']}: {shown} ({row['seconds']:.1f} s)")
    return rows


def _one(
    part: Mapping[str, Any], design: Mapping[str, Any], seed: int, attempt: Attempt
) -> list[dict[str, Any]]:
    data = hidden_entries(part, design, seed)
    state = int(stream(design["seed"], "trust", part["files"], seed).integers(2**31))
    models = {"bayesian": BayesianKGL(**design["bayesian"], progress=False, random_state=state)}
    models |= {name: model(density=DENSITY) for name, model in MODELS.items()}
    rows = []
    for name, model in models.items():
        found = attempt(partial(_interval, model, data))
        rows.append({"table": "coverage", "model": name, **found})
    if not rows[0]["error"]:
        rows.append({**fit_row(models["bayesian"]), SECONDS: rows[0][SECONDS]})
    return rows


def _interval(model: Any, data: Hidden) -> dict[str, Any]:
    spec = model._spec
    if not spec.ridge:
        raise NotRun("the model has no ridge term, and so no intervals")
    used = {"x": spec.node_kernel, "z": spec.observation_kernel}
    sides = {k: v for k, v in data.given.items() if k != "Y" and used[k[-1]]}
    model.fit(data.given["Y"], **sides)
    filled, std = model.impute(data.given["Y"], return_std=True)
    return coverage(np.asarray(filled), np.asarray(std), data.values, data.hidden)
