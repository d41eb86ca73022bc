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

import numpy as np
from scipy.stats import kstest

from kgl._types import Array
from kgl.bayesian.draws import draw_posterior
from kgl.bayesian.priors import Prior, log_odds
from kgl.bayesian.signals import Rows
from kgl.kernels import kernel_eigen
from kgl.laplacian import adjacency_from_edges, laplacian_from_adjacency
from kgl.simulate import time_kernel

__all__ = ["BRANCHES", "Branch", "Found", "calibrate"]

#: Bins of stated probabilities.
BINS = 10


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
        mask = rng.random((n, m)) < 0.7 if branch.gaps else None
        Y = Y if mask is None else np.where(mask, Y, 0.0)
        fit = draw_posterior(
            Y, mask, rows, forms, prior, chains=chains, warmup=warmup, draws=draws,
            seed=np.random.SeedSequence(int(rng.integers(2**31))),
        )  # fmt: skip
        known = {"noise": noise[0], "kappa": kappa[0], "density": density[0], "rate": rate[0]}
        ranks = {
            name: float((fit.scalars[name][:, 7::8] < value).mean())
            for name, value in known.items()
        }
        ranks["signal"] = float((fit.signals[:, 0, 0] < F[0, 0]).mean())
        yield ranks, fit.inclusion.mean(axis=(0, 1)), w > 0


def main() -> None:
    """Run all branches and print, or write, what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=400, help="data sets of a branch (400)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON file")
    args = parser.parse_args()
    rows = []
    for branch in BRANCHES:
        found = calibrate(
            branch, args.sets, m=8, n=20, chains=8, warmup=40, draws=40, seed=args.seed
        )
        p = found.p_values()
        rows.append(
            {"branch": branch.label, "pairs": found.stated.size, "p_values": p}
            | {"smallest_p": min(p.values()), "ece": found.calibration_error()}
        )
        print(
            f"{branch.label:45s} smallest p {min(p.values()):.3f}, ECE {rows[-1]['ece']:.3f} over "
            f"{found.stated.size} pairs",
            flush=True,
        )
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
