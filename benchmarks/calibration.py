"""Simulation-based calibration of BayesianKGL: data from its own prior, in every branch.

Parameters are drawn from the prior and data from the parameters; the rank of a parameter among its
posterior draws is then uniform, and of the pairs with a stated probability that share are edges, if
the sampler is right (Talts et al., 2018). ``python -m benchmarks.calibration`` runs all branches:
gaps or none, independent or dependent observations, with and without side information.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kstest

from benchmarks.page import PAGE, renew
from kgl._types import Array, Mask
from kgl.bayesian.draws import draw_posterior
from kgl.bayesian.priors import Prior, log_odds
from kgl.bayesian.signals import Rows
from kgl.kernels import kernel_eigen
from kgl.laplacian import adjacency_from_edges, laplacian_from_adjacency
from kgl.simulate import time_kernel

__all__ = ["BRANCHES", "Branch", "Found", "calibrate"]

STORED = Path(__file__).with_name("calibration.json")
#: Bins of stated probabilities.
BINS = 10
#: Data sets of a branch below which nothing is stored: a trial.
FEWEST = 100


@dataclass(frozen=True)
class Branch:
    """What the data have."""

    gaps: bool
    dependent: bool
    side: bool

    @property
    def label(self) -> str:
        """The branch in words."""
        words = ["gaps" if self.gaps else "complete"]
        words += ["dependent" if self.dependent else "independent"]
        return ", ".join(words + ["side information"] * self.side)


#: All of them.
BRANCHES = [Branch(*flags) for flags in product((False, True), repeat=3)]


@dataclass(frozen=True)
class Found:
    """What the data sets of a branch gave.

    Attributes
    ----------
    ranks : dict of arrays (sets,)
        Share of posterior draws below the value that made the data.
    stated, true : array (sets, pairs)
        Probabilities of edges, and edges.
    """

    ranks: dict[str, Array]
    stated: Array
    true: Array

    def p_values(self) -> dict[str, float]:
        """Return p-values of Kolmogorov and Smirnov's test of uniform ranks."""
        return {name: float(kstest(own, "uniform").pvalue) for name, own in self.ranks.items()}

    def calibration_error(self) -> float:
        """Return the expected calibration error: mean distance of stated and true, over bins."""
        cell = np.minimum((BINS * self.stated).astype(int), BINS - 1).ravel()
        gap = np.bincount(cell, (self.stated - self.true).ravel(), minlength=BINS)
        return float(np.abs(gap).sum() / self.stated.size)

    def chance_error(self) -> float:
        """Return the mean calibration error if every probability were exact."""
        rng = np.random.default_rng(0)
        edges = rng.random((50, *self.stated.shape)) < self.stated
        return float(np.mean([Found({}, self.stated, own).calibration_error() for own in edges]))


def calibrate(
    branch: Branch,
    sets: int,
    *,
    m: int,
    n: int,
    chains: int,
    warmup: int,
    draws: int,
    seed: int = 0,
) -> Found:
    """Draw data sets from the prior and fit them.

    Parameters
    ----------
    branch : Branch
        What the data have.
    sets, m, n : int
        Data sets, their nodes and observations.
    chains, warmup, draws : int
        As of :func:`kgl.bayesian.draws.draw_posterior`.
    seed : int
        Source of everything.
    """
    rng = np.random.default_rng([seed, branch.gaps, branch.dependent, branch.side])
    found = list(_data_sets(branch, sets, m, n, (chains, warmup, draws), rng))
    return Found(
        {name: np.array([own[0][name] for own in found]) for name in found[0][0]},
        np.array([stated for _, stated, _ in found]),
        np.array([true for _, _, true in found]),
    )


def _data_sets(
    branch: Branch, sets: int, m: int, n: int, sizes: tuple[int, int, int], rng: np.random.Generator
) -> Iterator[tuple[dict[str, float], Array, Array]]:
    prior, pairs = Prior(), m * (m - 1) // 2
    rows = Rows.of(kernel_eigen(time_kernel(n) if branch.dependent else None, "K_z", n))
    root = np.eye(n) if rows.vectors is None else rows.vectors * np.sqrt(rows.values)
    chains, warmup, draws = sizes
    for _ in range(sets):
        forms = rng.normal(size=(2 if branch.side else 0, pairs))
        noise, kappa, rate = prior.draw_scales(rng, 1)
        density, strengths = prior.draw_density(rng, 1), prior.draw_strengths(rng, 1, len(forms))
        w = prior.draw_weights(rng, log_odds(density, strengths, forms), rate)[0]
        theta = laplacian_from_adjacency(adjacency_from_edges(w)) + kappa * np.eye(m)
        whitened = rng.multivariate_normal(np.zeros(m), np.linalg.inv(theta), root.shape[1])
        F = root @ whitened
        Y = F + np.sqrt(noise) * rng.standard_normal((n, m))
        seen = _with_entries(rng.random((n, m)) < (0.7 if branch.gaps else 1.0))
        mask = seen if branch.gaps else None
        # as an estimator has it: centred by the observed entries, whose mean is uncertain
        level = np.where(seen, Y, 0.0).sum(axis=0) / seen.sum(axis=0)
        Y = np.where(seen, Y - level, 0.0)
        fit = draw_posterior(
            Y, mask, rows, forms, prior, chains=chains, warmup=warmup, draws=draws,
            seed=np.random.SeedSequence(int(rng.integers(2**31))), centered=True,
        )  # fmt: skip
        known = {"noise": noise[0], "kappa": kappa[0], "density": density[0], "rate": rate[0]}
        ranks = {
            name: float((fit.scalars[name][:, 7::8] < value).mean())
            for name, value in known.items()
        }
        if branch.side:
            # it may be exactly zero: ties are broken at random
            own, drawn = (strengths @ forms).std(), fit.scalars["strength"][:, 7::8]
            ties = (drawn == own).mean() * rng.random()
            ranks["strength"] = float((drawn < own).mean() + ties)
        ranks["signal"] = float((fit.signals[:, 0, 0] < F[0, 0] - level[0]).mean())
        yield ranks, fit.inclusion.mean(axis=(0, 1)), w > 0


def _with_entries(mask: Mask) -> Mask:
    """Return a mask with an observed entry in every column."""
    mask[0] |= ~mask.any(axis=0)
    return mask


def render(report: dict[str, Any]) -> str:
    """Return the results as a table in Markdown."""
    lines = [
        f"{report['sets']} data sets of {report['m']} nodes and {report['n']} observations in each "
        f"branch, seed {report['seed']}; {report['tests']} tests of uniform ranks (noise, kappa, "
        "density, rate, strength of side information, a signal), of which the smallest p, times "
        f"their number, is {min(1.0, report['tests'] * report['branches'][-1]['smallest_p']):.2f}. "
        "ECE is the expected calibration "
        "error of edge probabilities in ten bins; the last column is what exact probabilities "
        "would have, by chance.",
        "",
        "| branch | smallest p of a test | pairs | ECE | ECE by chance |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['branch']} | {row['smallest_p']:.3f} | {row['pairs']:,} | {row['ece']:.3f} | "
        f"{row['chance']:.3f} |"
        for row in report["branches"]
    ]
    return "\n".join(lines)


def main() -> None:
    """Run all branches, store what was found and renew the table of the documentation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=200, help="data sets of a branch (200)")
    parser.add_argument("--seed", type=int, default=0, help="source of everything (0)")
    args = parser.parse_args()
    sizes = {"m": 8, "n": 20, "chains": 8, "warmup": 30, "draws": 32}
    every = {}
    for branch in BRANCHES:
        every[branch] = calibrate(branch, args.sets, **sizes, seed=args.seed)
        print(f"{branch.label}: done, {len(every)} of {len(BRANCHES)}", flush=True)
    branches = []
    for branch, found in every.items():
        p = found.p_values()
        own = {"branch": branch.label, "pairs": found.stated.size, "p_values": p}
        own |= {"smallest_p": min(p.values()), "ece": found.calibration_error()}
        branches.append(own | {"chance": found.chance_error()})
    stated = np.concatenate([found.stated for found in every.values()])
    pooled = Found({}, stated, np.concatenate([found.true for found in every.values()]))
    tests = [p for own in branches for p in own["p_values"].values()]
    branches.append(
        {"branch": "**all**", "pairs": stated.size, "smallest_p": min(tests)}
        | {"ece": pooled.calibration_error(), "chance": pooled.chance_error()}
    )
    report = {"sets": args.sets, "seed": args.seed, **sizes, "tests": len(tests)}
    report["branches"] = branches
    print(render(report))
    if args.sets < FEWEST:
        print(f"not stored: {args.sets} data sets are fewer than {FEWEST}")
        return
    STORED.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    renew(PAGE, "calibration", render(report))


if __name__ == "__main__":
    main()
