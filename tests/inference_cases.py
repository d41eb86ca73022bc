"""A tiny study of unstated settings, and what it does by other means."""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.fit import fit_cell
from experiments.inference import naming, posterior, printed, simulate, summary
from experiments.inference.design import INDEPENDENT, Score, load_design, parts, statements
from kgl._types import Array
from kgl.laplacian import laplacian_from_adjacency
from kgl.metrics import aps_many
from kgl.problem import MODELS, graph_penalty
from kgl.simulate import make_dataset

CONFIRM = {"printed": naming.confirm_printed, "sentences": naming.confirm_sentences}
Design = dict[str, Any]
Made = tuple[Design, dict[str, dict[str, Array]]]


@cache
def study() -> SimpleNamespace:
    """Design, arrays, table of the search, its two parts, and the confirmed candidates."""
    design = load_design("tiny")
    arrays = {name: simulate.simulate(part, design) for name, part in parts(design).items()}
    table = summary.search(arrays, design)
    tables = {k: table[table["table"] == k].dropna(axis=1, how="all") for k in summary.KINDS}
    rows = {kind: summary.candidate(table, kind, 0, design) for kind in summary.KINDS}
    confirmed = {kind: pd.DataFrame([CONFIRM[kind](row, design)]) for kind, row in rows.items()}
    return SimpleNamespace(
        design=design, arrays=arrays, searched=table, tables=tables, rows=rows, confirmed=confirmed
    )


def changed(**changes: Any) -> Design:
    """The tiny design with other values; two underscores lead to inner ones."""
    design = load_design("tiny")
    for name, value in changes.items():
        *path, last = name.split("__")
        inner = design
        for key in path:
            inner = inner[key]
        inner[last] = {"values": value, "prior": [1] * len(value)} if path == ["factors"] else value
    return design


@cache
def made_up() -> Made:
    """Scores of random weights, in the arrays of a simulation."""
    design = changed(factors__alpha=[3, 10], factors__n=[50, 100], factors__scale=[0.05, 1, 9],
                     replicates=dict.fromkeys(("sbm", "er", "ba", "missing"), 2),
                     r__missing=[0.01, 1])  # fmt: skip
    rng = np.random.default_rng(0)

    def weights(*given: Any) -> Array:
        return rng.random((len(given[4]["psi"]), 28)) ** 4 / 1e3

    jobs = {name: part for name, part in parts(design).items() if part["kind"] != "printed"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulate, "weights_of", weights)
        return design, {name: simulate.simulate(part, design) for name, part in jobs.items()}


def read(**row: Any) -> Any:
    """One statement of a design."""
    plain = {"claim": "N1", "text": "", **row}
    (one,) = statements({"statements": [plain], "tolerance": 0.1})
    return one


def in_units(model: str, s: float, summed_over: int = 1) -> dict[str, float]:
    """Factors from the paper's hyperparameters to those of the cells: its objective over s."""
    spec = MODELS[simulate.ESTIMATORS[model]]
    psi = 1 / s if spec.fitted else 1 / s / summed_over
    return {"lam": 1 / s if spec.node_kernel else 1.0, "rho": float(summed_over), "psi": psi}


def paper_fit(model: str, Y: Array, K_x: Array, K_z: Array | None, grid: Any, n: int = 1) -> Array:
    """Weights in the paper's units, fitted as for its figures; smoothness is divided by n."""
    options = {"average": n > 1, "tol": 1e-4, "max_iter": 10 if np.isnan(Y).any() else 30,
               "inner_tol": 1e-6, "solver": "newton", "backend": None}  # fmt: skip
    complete = np.ones_like(K_x) - np.eye(len(K_x))  # for scores that are not used
    data = {"Y": Y, "K_x": K_x, "K_z": K_z, "Y_full": np.nan_to_num(Y), "W": complete}
    given = {name: values[None] for name, values in data.items() if values is not None}
    spec = {"estimator": simulate.ESTIMATORS[model], "grid": grid, "options": {}, "fit": options}
    return fit_cell(given, {**spec, "keep": ["weights"]})["weights"][0]


def paper_kernel(kernel: str, W: Array, alpha: float) -> Array:
    """K_x that is made from a graph, whatever its trace."""
    eye, L, root = np.eye(len(W)), laplacian_from_adjacency(W), np.sqrt(W.sum(axis=1))
    L = eye - W / np.outer(root, root) if kernel == "normalised" else L
    return np.linalg.inv(eye + (1 if kernel == "alpha1" else alpha) * L)


def paper_figures(
    design: Design, trace: str, family: str, kernel: str, axis: str
) -> tuple[Array, Array]:
    """Figure 12 and the checks of Figure 13 with K_x = (I + alpha L)^-1, alpha = 10, n = 30."""
    known, alpha, twice = design["printed"], 10, 2.0 if trace == "2m" else 1.0
    same: Any = {"m": 8, "n": 30, "seed": design["seeds"]["search"], "replicate": 0}
    noise = known["noise"] if axis == "variance" else known["noise"] ** 2
    made = make_dataset(family, noise=noise, alpha=twice * alpha, **same)
    Y, W = made.Y_full, twice * made.W
    K_x = paper_kernel(kernel, W, alpha)
    if kernel == "covariates":
        drawn = simulate.draw(family=family, data="independent", alpha=alpha, trace=twice, **same)
        K_x = simulate.node_kernel(kernel, drawn, alpha)
    # graphs of twice the trace by those of trace m: rho tr(Y 2L Y') and psi |2L|^2
    psi = twice**2 * np.array(known["psi"])
    penalties = [graph_penalty(g[None], p) for g, p in ((W, np.array(known["psi"])), (made.W, psi))]
    np.testing.assert_allclose(*penalties)
    grid = {"lam": [known["lam"]], "rho": [twice * known["rho"]], "psi": psi.tolist()}
    wide = {"lam": known["decades"], "rho": known["decades"], "psi": [1e-5]}
    scores, lost = [], []
    for n in (30, 1):
        weights = twice * paper_fit("kgl", Y, K_x, None, grid, n)
        scores.append([aps_many(W, one) for one in (weights, weights.round(5), weights.round(4))])
        named, *others = aps_many(W, paper_fit("kgl", Y, K_x, None, wide, n))
        lost.append(max([named, *others]) - named)
    fitted = Y @ np.linalg.inv(np.eye(8) + 100 * np.linalg.inv(K_x))
    return np.array(scores), np.array([np.linalg.norm(fitted) / np.linalg.norm(Y), *lost])


def products(table: pd.DataFrame, design: Design) -> Array:
    """The product of the prior weights of each row; no bandwidth has the weight 1."""
    pairs = {n: zip(f["values"], f["prior"], strict=True) for n, f in design["factors"].items()}
    known = {name: dict(found) for name, found in pairs.items() if name in table}
    if "printed_data" not in table:
        known["decimals"]["none"] += known["decimals"]["5"]  # sentences do not tell them apart
    rows = table.to_dict("records")
    return np.array([math.prod(w.get(row[n], 1) for n, w in known.items()) for row in rows])


def by_words(score: Score, spec: Design, made: Made) -> tuple[float, bool]:
    """A score on a wide grid as the design describes it, and whether its r is simulated."""
    design, arrays = made
    missing, metric, sbm = score.axis == "missing", score.metric, score.family == "sbm"
    data = "independent" if score.model in INDEPENDENT else spec["bandwidth"]
    kernel = spec["kernel"] if score.model in ("kgl", "kgln") else "exact"
    metric += "4" if metric == "aps" and spec["decimals"] == "4" else ""
    rate = [f"{score.level:g}"] if missing else []
    part = f"{'missing' if missing else 'noise'}-{data}-alpha{10 if missing else spec['alpha']:g}"
    key = ".".join([score.model, score.family, *rate, kernel, metric])
    values = arrays[f"{part}-n{score.n or spec['n']}"][key]
    best = [np.mean([min(run) if metric == "sse" else max(run) for run in runs]) for runs in values]
    levels = design["r"]["missing" if missing else "sbm" if sbm else "others"]
    x = score.level if score.axis == "noise" else 0.01
    r = (x if spec["axis"] == "variance" else x**2) / spec["scale"]
    if r in levels or not levels[0] < r < levels[-1]:
        near = r if r in levels else levels[0 if r < levels[0] else -1]
        return best[levels.index(near)], r in levels
    k = max(i for i, level in enumerate(levels) if level < r)  # over log r, with 1e-4 for 0
    low, high, at = (math.log10(max(v, 1e-4)) for v in (levels[k], levels[k + 1], r))
    share = (at - low) / (high - low)
    return best[k] * (1 - share) + best[k + 1] * share, False


def joined(one: pd.DataFrame, told: pd.DataFrame) -> pd.DataFrame:
    """All pairs of a specification of the printed numbers and one of the sentences that agree."""
    both = one.merge(told, how="cross", suffixes=("", "_told"))
    for key in posterior.SHARED:
        own = both[key].replace("5", "none") if key == "decimals" else both[key]
        both = both[own == both[f"{key}_told"]]
    return both[(both["bandwidth"] == printed.NONE) | (both["bandwidth"] == both["bandwidth_told"])]
