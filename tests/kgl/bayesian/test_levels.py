"""Levels of nodes are drawn with the signals: against kriging with unknown means."""

from __future__ import annotations

import numpy as np
import pytest

from kgl.bayesian.priors import Prior
from kgl.bayesian.sampler import Chains, spectrum
from kgl.bayesian.signals import Rows, draw_rows, draw_whitened
from kgl.kernels import kernel_eigen
from kgl.laplacian import adjacency_from_edges, laplacian_from_adjacency
from kgl.simulate import time_kernel

N, M, NOISE, KAPPA = 9, 3, 0.3, 0.7
WEIGHTS = np.array([1.5, 0.0, 0.4])


def universal_kriging(Y: np.ndarray, mask: np.ndarray, K: np.ndarray) -> tuple:
    """Return means and variances of signals with levels, all levels being equally likely."""
    L = laplacian_from_adjacency(adjacency_from_edges(WEIGHTS))
    prior = np.kron(K, np.linalg.inv(L + KAPPA * np.eye(M)))
    seen = mask.ravel()
    H = np.kron(np.ones((N, 1)), np.eye(M))
    C = prior[np.ix_(seen, seen)] + NOISE * np.eye(seen.sum())
    inverse = np.linalg.inv(C)
    level_cov = np.linalg.inv(H[seen].T @ inverse @ H[seen])
    level = level_cov @ H[seen].T @ inverse @ Y.ravel()[seen]
    gain = prior[:, seen] @ inverse
    mean = H @ level + gain @ (Y.ravel()[seen] - H[seen] @ level)
    left = H - gain @ H[seen]
    cov = prior - gain @ prior[seen] + left @ level_cov @ left.T
    return mean.reshape(N, M), np.diag(cov).reshape(N, M)


@pytest.mark.parametrize("dependent", [False, True])
def test_signals_with_levels_are_those_of_universal_kriging(dependent: bool) -> None:
    rng = np.random.default_rng(3)
    K = time_kernel(N) if dependent else np.eye(N)
    rows = Rows.of(kernel_eigen(K if dependent else None, "K_z", N))
    mask = rng.random((N, M)) < 0.6
    Y = np.where(mask, rng.normal([3.0, 0.0, -2.0], size=(N, M)), 0.0)
    count = 600
    chains = Chains(Y, mask, rows, np.zeros((0, 3)), Prior(), count, rng, centered=True)
    chains.weights = np.tile(WEIGHTS, (count, 1))
    chains.noise, chains.kappa = np.full(count, NOISE), np.full(count, KAPPA)
    values, vectors = spectrum(chains.weights, M)
    precision = values + KAPPA
    found = []
    for sweep in range(60):
        if dependent:
            rotated = rows.rotate(chains.full)
            G = draw_whitened(rows, rotated, precision, vectors, chains.noise, rng)
            chains._draw_missing(chains._unwhitened(G))
        else:
            own = (chains._observed(), mask, precision, vectors, chains.noise, rng)
            chains._draw_missing(draw_rows(*own))
        rotated = rows.rotate(chains.full)
        G = draw_whitened(rows, rotated, precision, vectors, chains.noise, rng)
        G = G + chains._draw_levels(G, precision, vectors)
        chains.signals = chains._unwhitened(G)
        if sweep >= 20:
            found.append(chains.with_levels())
    draws = np.concatenate(found)
    mean, variance = universal_kriging(Y, mask, K)
    error = np.sqrt(variance / count)  # draws of one chain depend on each other
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - mean), 4.5 * error)
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.15)
