"""Simulation-based calibration: data from the prior, ranks of the parameters that made them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from kgl.bayesian.draws import draw_posterior
from kgl.bayesian.priors import Prior, log_odds
from kgl.bayesian.signals import Rows
from kgl.kernels import kernel_eigen
from kgl.laplacian import adjacency_from_edges, laplacian_from_adjacency
from kgl.simulate import time_kernel

M, N, SETS = 4, 12, 40
PAIRS = M * (M - 1) // 2
#: Least p-value of a test of uniform ranks; there are 5 of them in each of 4 branches.
LEVEL = 0.01 / 20


@pytest.mark.parametrize(
    ("gaps", "dependent", "side"),
    [(False, False, True), (True, False, False), (False, True, False), (True, True, True)],
)
def test_ranks_are_uniform(gaps: bool, dependent: bool, side: bool) -> None:
    rng = np.random.default_rng([gaps, dependent, side])
    prior = Prior()
    K = time_kernel(N) if dependent else None
    rows = Rows.of(kernel_eigen(K, "K_z", N))
    root = np.eye(N) if rows.vectors is None else rows.vectors * np.sqrt(rows.values)
    ranks: dict[str, list[float]] = {}
    stated, true = [], []
    for _ in range(SETS):
        forms = rng.normal(size=(2 if side else 0, PAIRS))
        noise, kappa, rate = prior.draw_scales(rng, 1)
        density, strengths = prior.draw_density(rng, 1), prior.draw_strengths(rng, 1, len(forms))
        w = prior.draw_weights(rng, log_odds(density, strengths, forms), rate)[0]
        theta = laplacian_from_adjacency(adjacency_from_edges(w)) + kappa * np.eye(M)
        whitened = rng.multivariate_normal(np.zeros(M), np.linalg.inv(theta), root.shape[1])
        F = root @ whitened
        Y = F + np.sqrt(noise) * rng.standard_normal((N, M))
        mask = rng.random((N, M)) < 0.7 if gaps else None
        Y = Y if mask is None else np.where(mask, Y, 0.0)
        draws = draw_posterior(
            Y, mask, rows, forms, prior, chains=8, warmup=16, draws=16,
            seed=np.random.SeedSequence(int(rng.integers(2**31))),
        )  # fmt: skip
        late = {name: values[:, 7::8] for name, values in draws.scalars.items()}
        known = {"noise": noise[0], "kappa": kappa[0], "density": density[0], "rate": rate[0]}
        for name, value in known.items():
            ranks.setdefault(name, []).append(float((late[name] < value).mean()))
        ranks.setdefault("signal", []).append(float((draws.signals[:, 0, 0] < F[0, 0]).mean()))
        stated.append(draws.inclusion.mean(axis=(0, 1)))
        true.append(w > 0)
    for name, values in ranks.items():
        assert kstest(values, "uniform").pvalue > LEVEL, name
    p, edge = np.concatenate(stated), np.concatenate(true)
    # the number of edges, against its standard deviation under the stated probabilities
    assert abs(np.sum(edge - p)) < 4.0 * np.sqrt(np.sum(p * (1 - p)))
    assert np.mean((edge - p) ** 2) < np.mean((edge - edge.mean()) ** 2)
