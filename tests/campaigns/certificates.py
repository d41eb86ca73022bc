"""Certificates campaign: is the residual that is reported that of the problem that was asked?

    python -m tests.campaigns.certificates --problems 1000 --seed 0 --json certificates.json

Random log-degree problems, the scales of whose nodes spread over 0 to 8 decades (distances hence
over up to 16), are solved by every path: one dense fit, grids and batches, sparse fits, and models
with fitted signals. The residual is worked out again from the data and the weights alone, in
extended precision and by code that shares nothing with the library. It must be within ``WITHIN`` of
the one reported, and no residual above ``TOLERANCE`` may pass without a warning.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

import kgl
from kgl.solvers.graph_step import GraphStep, graph_step

__all__ = ["main", "run"]

#: Largest factor between the residual reported and the one worked out.
WITHIN = 10.0
#: Residuals below count as this: a few roundings of double precision, which two ways of adding up
#: need not share.
FLOOR = 1e-14
#: Residual from which a fit must warn.
TOLERANCE = 1e-8
DECADES = 8.0
#: No preparation: the problem is that of the data as they are.
RAW: dict[str, Any] = {
    "regularizer": "log-degree", "center": "none", "scale": "none", "log": False,
}  # fmt: skip

Exact = NDArray[np.longdouble]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """One random problem."""

    Y: Array  # NaN where missing
    psi: float
    barrier: float
    signed: bool
    penalty: Array | None  # inf where an edge is forbidden
    decades: float


@dataclass(frozen=True)
class Claim:
    """A graph, the problem that it is said to solve, and the residual that is reported."""

    W: Array
    distances: Exact
    psi: float
    barrier: float
    reported: float
    warned: bool


# --- the problem and its residual, in extended precision -----------------------------------------


def distances(problem: Problem) -> Exact:
    """Return the costs of all pairs: distances over shared rows, and penalties."""
    Y = problem.Y.astype(np.longdouble)
    seen = ~np.isnan(Y)
    both = (seen[:, :, None] & seen[:, None, :]).sum(axis=0)
    filled = np.where(seen, Y, 0)
    shared = seen[:, :, None] & seen[:, None, :]

    def squares(sign: int) -> Exact:
        gaps = np.where(shared, filled[:, :, None] - sign * filled[:, None, :], 0)
        return np.asarray((gaps**2).sum(axis=0) * len(Y) / both)

    Z = squares(1)
    if problem.signed:
        Z = np.minimum(Z, squares(-1))
    return Z if problem.penalty is None else Z + problem.penalty


def residual(claim: Claim) -> float:
    """Return the relative violation of the optimality conditions of a log-degree graph.

    Z w + 2 psi w^2 over the pairs less beta log d over the nodes has the derivative
    Z + 4 psi w - beta / d_i - beta / d_j: zero on an edge and not negative elsewhere, relative to
    its last two terms. Weights are not negative, relative to the smaller degree of their ends.
    """
    W, m = claim.W.astype(np.longdouble), len(claim.W)
    degrees = W.sum(axis=1)
    if not np.isfinite(W).all():
        return float("nan")
    if not degrees.min() > 0 or np.abs(W - W.T).max() > 0 or np.diag(W).any():
        return float("inf")
    i, j = np.triu_indices(m, 1)
    w, z = W[i, j], claim.distances[i, j]
    barrier = claim.barrier / degrees[i] + claim.barrier / degrees[j]
    slope = (z + 4 * np.longdouble(claim.psi) * w - barrier) / barrier
    share = w / np.minimum(degrees[i], degrees[j])
    return float(np.abs(np.minimum(share, slope)).max())


# --- random problems -----------------------------------------------------------------------------


def draw(rng: np.random.Generator, *, gaps: bool, most: int = 25) -> Problem:
    """Draw a problem of up to ``most`` nodes; with ``gaps`` some entries may be missing."""
    m, n = int(rng.integers(2, most + 1)), int(rng.integers(2, 41))
    decades = rng.uniform(0.0, DECADES)
    scales = 10.0 ** rng.uniform(0.0, decades, m)
    if rng.random() < 0.2:  # two groups, as metres beside kilometres
        scales = 10.0 ** np.where(rng.random(m) < 0.5, 0.0, decades)
    Y = rng.normal(size=(n, m)) * scales
    if rng.random() < 0.2 and m > 2:  # nearly equal columns
        Y[:, 1] = Y[:, 0] * (1.0 + 10.0 ** rng.uniform(-8.0, -1.0) * rng.normal(size=n))
    if gaps and rng.random() < 0.3:
        hole = rng.random(Y.shape) < 0.2
        hole[0] = hole[:, 0] = False
        # every pair shares the first row
        Y[hole] = np.nan
    Y *= 10.0 ** rng.uniform(-3.0, 3.0)
    penalty = None
    if rng.random() < 0.2 and m > 3:
        penalty = np.triu(rng.random((m, m)) * np.nanmedian(Y**2), 1)
        penalty[np.triu(rng.random((m, m)) < 0.2, 1)] = np.inf
        penalty[np.arange(m - 1), np.arange(1, m)] = 0.0  # every node has an edge
        penalty = penalty + penalty.T
    psi, barrier = 10.0 ** rng.uniform(-4.0, 4.0), 10.0 ** rng.uniform(-1.0, 1.0)
    return Problem(Y, psi, barrier, bool(rng.random() < 0.3), penalty, decades)


def options(problem: Problem) -> dict[str, Any]:
    """Return the arguments of a model."""
    return {
        **RAW, "barrier": problem.barrier, "signed": problem.signed,
        "edge_penalty": problem.penalty,
    }  # fmt: skip


# --- paths to a graph: each yields claims --------------------------------------------------------


class Watch:
    """Records whether a block warned that its graphs are inexact."""

    def __enter__(self) -> Watch:
        self._filter = warnings.catch_warnings(record=True)
        self._caught: Any = self._filter.__enter__()
        warnings.simplefilter("always")
        return self

    def __exit__(self, *error: object) -> None:
        self._filter.__exit__(*error)
        self.warned = any(
            issubclass(one.category, ConvergenceWarning) and "KKT residual" in str(one.message)
            for one in self._caught
        )


def dense(rng: np.random.Generator) -> Iterator[Claim]:
    """One fit by arrays of nodes by nodes."""
    problem = draw(rng, gaps=True)
    missing = {"missing": "pairwise"} if np.isnan(problem.Y).any() else {}
    with Watch() as watch:
        model = kgl.GL(psi=problem.psi, solver="newton", **missing, **options(problem))
        model.fit(problem.Y)
    yield Claim(
        model.weights_, distances(problem), problem.psi, problem.barrier,
        model.kkt_residual_, watch.warned,
    )  # fmt: skip


def grid(rng: np.random.Generator) -> Iterator[Claim]:
    """One data set at several psi."""
    problem = draw(rng, gaps=False)
    psi = problem.psi * 10.0 ** np.array([-2.0, 0.0, 2.0])
    with Watch() as watch:
        found = kgl.fit_grid(kgl.GL, problem.Y, psi=psi, **options(problem))
    asked = distances(problem)
    for k, reported in enumerate(found.residual):
        W = kgl.laplacian.adjacency_from_edges(found.weights[k])
        yield Claim(W, asked, psi[k], problem.barrier, float(reported), watch.warned)


def batch(rng: np.random.Generator) -> Iterator[Claim]:
    """Several data sets of one size at once, narrow and wide scales together."""
    m = int(rng.integers(2, 16))
    Y = rng.normal(size=(4, 20, m)) * 10.0 ** rng.uniform(0.0, DECADES * rng.random((4, 1, m)))
    psi, barrier = 10.0 ** rng.uniform(-4.0, 4.0, 4), 10.0 ** rng.uniform(-1.0, 1.0)
    asked = [distances(Problem(y, 1.0, 1.0, False, None, 0.0)) for y in Y]
    Z = np.stack([exact.astype(float) for exact in asked])
    found = graph_step(Z, psi, regularizer="log-degree", barrier=barrier)
    for k, reported in enumerate(found.residual):
        # the caller of a graph step is the one who warns
        warned = not reported <= TOLERANCE
        yield Claim(found.weights[k], asked[k], psi[k], barrier, float(reported), warned)


def sparse(rng: np.random.Generator) -> Iterator[Claim]:
    """One fit by column generation; of many nodes not all pairs are candidates."""
    problem = draw(rng, gaps=False, most=80)
    with Watch() as watch:
        model = kgl.GL(psi=problem.psi, solver="sparse", **options(problem)).fit(problem.Y)
    yield Claim(
        model.weights_.toarray(), distances(problem), problem.psi, problem.barrier,
        model.kkt_residual_, watch.warned,
    )  # fmt: skip


def fitted(rng: np.random.Generator) -> Iterator[Claim]:
    """The last graph of a model whose signals are fitted, for the distances of those signals."""
    problem = draw(rng, gaps=True)
    asked: list[Array] = []

    def recorded(Z: Array, psi: Any, **how: Any) -> GraphStep:
        asked.append(Z[0].copy())
        return graph_step(Z, psi, **how)

    model = (kgl.KGLN, kgl.KGLO, kgl.KGL)[int(rng.integers(3))](
        lam=0.1, rho=10.0 ** rng.uniform(-3.0, 1.0), psi=problem.psi, solver="newton",
        max_iter=3, **options(problem),
    )  # fmt: skip
    with mock.patch("kgl.solvers.routes.graph_step", recorded), Watch() as watch:
        model.fit(problem.Y)
    yield Claim(
        model.weights_, asked[-1].astype(np.longdouble), problem.psi, problem.barrier,
        model.kkt_residual_, watch.warned,
    )  # fmt: skip


PATHS: dict[str, Callable[[np.random.Generator], Iterator[Claim]]] = {
    one.__name__: one for one in (dense, grid, batch, sparse, fitted)
}


# --- the campaign --------------------------------------------------------------------------------


def judge(claim: Claim) -> dict[str, Any]:
    """Return what a claim is worth."""
    own = residual(claim)
    ratio = max(claim.reported, FLOOR) / max(own, FLOOR)
    number = bool(np.isfinite(own) and np.isfinite(claim.reported))
    return {
        "reported": claim.reported, "own": own,
        "ratio": max(ratio, 1.0 / ratio) if number else float("inf"),
        "warned": claim.warned, "silent": not own <= TOLERANCE and not claim.warned,
    }  # fmt: skip


def run(problems: int, seed: int, progress: Callable[[int, int], None] | None = None) -> dict:
    """Run the campaign over so many problems; the result holds plain values.

    A grid or a batch counts as one problem for each of its graphs. ``passed`` is true where all
    residuals are within ``WITHIN`` of those reported, none failed silently and no call failed.
    """
    names = list(PATHS)
    table: dict[str, Any] = {
        name: {"problems": 0, "warned": 0, "largest_residual": 0.0, "largest_ratio": 0.0}
        for name in names
    }
    beyond, silent, errors = [], [], []
    done = case = 0
    while done < problems:
        name = names[case % len(names)]
        key = {"path": name, "seed": [seed, case]}
        try:
            found = [judge(claim) for claim in PATHS[name](np.random.default_rng([seed, case]))]
        except Exception as error:  # whatever it is, it is a finding
            errors.append({**key, "error": f"{type(error).__name__}: {error}"})
            found = []
        row = table[name]
        for one in found:
            row["problems"] += 1
            row["warned"] += one["warned"]
            row["largest_residual"] = max(row["largest_residual"], one["own"])
            row["largest_ratio"] = max(row["largest_ratio"], one["ratio"])
            if not one["ratio"] <= WITHIN:
                beyond.append({**key, **one})
            if one["silent"]:
                silent.append({**key, **one})
        done += max(len(found), 1)
        case += 1
        if progress is not None:
            progress(min(done, problems), problems)
    return {
        "campaign": "certificates", "problems": done, "seed": seed, "decades": DECADES,
        "within": WITHIN, "floor": FLOOR, "tolerance": TOLERANCE, "paths": table,
        "beyond": beyond, "silent": silent, "errors": errors,
        "passed": not (beyond or silent or errors),
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Run the campaign from the command line; the exit status is 1 where it did not pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=1000, help="graphs, default 1000")
    parser.add_argument("--seed", type=int, default=0, help="of the problems, default 0")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result to a file")
    given = parser.parse_args(arguments)
    start = time.monotonic()

    def report(done: int, total: int) -> None:
        if done % 100 < 4 or done == total:
            spent = time.monotonic() - start
            print(f"{done:6}/{total} problems {spent:6.1f} s", file=sys.stderr, flush=True)

    found = run(given.problems, given.seed, report)
    text = json.dumps(found, indent=1)
    print(text)
    if given.json:
        given.json.write_text(f"{text}\n", encoding="utf-8")
    sys.exit(not found["passed"])


if __name__ == "__main__":
    main()
