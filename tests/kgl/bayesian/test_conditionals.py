"""The conditional distributions of the sampler against dense linear algebra and quadrature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import gamma, lognorm, multivariate_normal

from kgl._types import Array
from kgl.bayesian.edges import (
    EdgeSweep,
    Groups,
    Odds,
    Slab,
    conditional,
    draw_pairs,
    gamma_factor,
    windows,
)
from kgl.bayesian.priors import Prior, log_odds
from kgl.bayesian.signals import Rotated, Rows, draw_rows, draw_whitened, group_moments
from kgl.kernels import kernel_eigen
from kgl.laplacian import adjacency_from_edges, laplacian_from_adjacency
from kgl.simulate import time_kernel

M, N = 5, 12
ROWS, COLS = np.triu_indices(M, 1)
PAIRS = len(ROWS)


@dataclass
class Case:
    """One state of one chain, and data in groups of rows with their own noise."""

    w: Array
    kappa: float
    noise: Array  # (G,)
    data: list[Array]

    def theta(self, w: Array) -> Array:
        return laplacian_from_adjacency(adjacency_from_edges(w)) + self.kappa * np.eye(M)

    def log_likelihood(self, w: Array) -> float:
        """Return the log density of the data, signals integrated out, without constants."""
        sigma, value = np.linalg.inv(self.theta(w)), 0.0
        for v, Y in zip(self.noise, self.data, strict=True):
            cov = sigma + v * np.eye(M)
            value -= 0.5 * len(Y) * np.linalg.slogdet(cov)[1]
            value -= 0.5 * np.sum(np.linalg.solve(cov, Y.T) * Y.T)
        return float(value)

    def sweep(self, w: Array) -> EdgeSweep:
        values, vectors = np.linalg.eigh(self.theta(w)[None])
        moments = np.stack([Y.T @ Y for Y in self.data])[None]
        counts = np.array([float(len(Y)) for Y in self.data])
        return EdgeSweep(values, vectors, Groups(counts, self.noise[None], moments))


def make(groups: int, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    w = np.where(rng.random(PAIRS) < 0.6, rng.gamma(2.0, size=PAIRS), 0.0)
    case = Case(w, 0.4, rng.uniform(0.05, 0.8, size=groups), [])
    sigma = np.linalg.inv(case.theta(w))
    for v in case.noise:
        case.data.append(rng.multivariate_normal(np.zeros(M), sigma + v * np.eye(M), size=N))
    return case


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("shape", [1.0, 2.0])
def test_conditional_of_a_weight_is_that_of_the_dense_likelihood(groups: int, shape: float) -> None:
    case = make(groups, seed=groups)
    w, offset, start = case.w, 0.7, 1.5
    sweep = case.sweep(w)
    for e in range(0, PAIRS, 4):
        total = offset + w.sum() - w[e]
        power = start + shape * ((np.delete(w, e) > 0).sum() + 1)
        slab = Slab(shape, np.array([total]), np.array([power]), gamma_factor(power, shape))
        _, r, h, t = sweep.columns(ROWS[e], COLS[e])
        low, high = windows(w[[e]], r, h, t, sweep.counts, slab)
        found = conditional(w[[e]], r, h, t, sweep.counts, slab, low, high, np.array([0.5]))
        factor, mean, drawn = (float(part[0]) for part in found)

        without = w.copy()
        without[e] = 0.0
        # the dense likelihood on a fine grid, far beyond where the distribution is
        x = np.linspace(0.0, 1.5 * float(high[0]), 801)
        d = np.expm1(x) / float(r[0])
        prior = (shape - 1) * np.log(np.maximum(d, 1e-12)) - power * np.log(total + d)
        rise = [case.log_likelihood(without + grow * (np.arange(PAIRS) == e)) for grow in d]
        log_value = np.array(rise) - case.log_likelihood(without) + prior + slab.log_constant()
        value = np.exp(log_value) * np.exp(x) / float(r[0])
        whole = np.trapezoid(value, x)
        below = np.trapezoid(value * (d <= drawn), x) / whole
        assert factor == pytest.approx(np.log(whole), abs=5e-3)
        assert mean == pytest.approx(np.trapezoid(d * value, x) / whole, rel=5e-3)
        assert below == pytest.approx(0.5, abs=1e-2)


def test_the_slab_is_a_density() -> None:
    power = np.array([7.5])
    slab = Slab(2.0, np.array([1.3]), power, gamma_factor(power, 2.0))
    constant = float(np.exp(slab.log_constant()[0]))
    assert quad(lambda d: constant * d * (1.3 + d) ** -7.5, 0, np.inf)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("groups", [1, 3])
def test_matrices_are_kept_up_to_date(groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case, rng = make(groups, seed=4), np.random.default_rng(0)
    for small in (40, 0):  # all chains at once, or one by one
        monkeypatch.setattr("kgl.bayesian.edges.SMALL", small)
        w = case.w.copy()
        sweep = case.sweep(w)
        for e in range(PAIRS):
            columns, r, h, t = sweep.columns(ROWS[e], COLS[e])
            new = rng.gamma(2.0) if e % 3 else 0.0
            sweep.change(np.array([new - w[e]]), columns, r, h, t)
            w[e] = new
        assert np.allclose(sweep.stack, case.sweep(w).stack, atol=1e-10)


@pytest.mark.parametrize("dependent", [False, True])
def test_evidence_is_the_dense_one(dependent: bool) -> None:
    rng = np.random.default_rng(1)
    K = time_kernel(N) if dependent else None
    rows = Rows.of(kernel_eigen(K, "K_z", N))
    case, noise = make(1, seed=2), 0.3
    theta = case.theta(case.w)
    values, vectors = np.linalg.eigh(theta[None])
    K_z = np.eye(N) if K is None else K
    found, dense = [], []
    for scale in (1.0, 2.5):  # constants drop out of differences
        Y = scale * rng.normal(size=(1, N, M))
        data = Rotated.of(rows, Y, rows.rotate(Y), vectors)
        for v in (noise, 0.8):
            found.append(float(data.log_evidence(values, np.array([v]))[0]))
            cov = np.kron(K_z, np.linalg.inv(theta)) + v * np.eye(N * M)
            dense.append(float(multivariate_normal(np.zeros(N * M), cov).logpdf(Y.ravel())))
    # directions without signal are left out of K_z: a relative error of 1e-5
    assert np.allclose(np.diff(found), np.diff(dense), rtol=1e-4)


@pytest.mark.parametrize("dependent", [False, True])
def test_signals_have_the_dense_posterior_moments(dependent: bool) -> None:
    rng = np.random.default_rng(3)
    n, chains, noise = 4, 20_000, 0.4
    K = time_kernel(n) if dependent else np.eye(n)
    rows = Rows.of(kernel_eigen(K, "K_z", n))
    case = make(1, seed=3)
    theta = case.theta(case.w)
    values, vectors = np.linalg.eigh(theta[None])
    Y = rng.normal(size=(n, M))
    prior = np.kron(K, np.linalg.inv(theta))
    gain = prior @ np.linalg.inv(prior + noise * np.eye(n * M))
    mean, cov = gain @ Y.ravel(), prior - gain @ prior
    G = draw_whitened(
        rows, rows.rotate(Y[None]), np.repeat(values, chains, 0), np.repeat(vectors, chains, 0),
        np.full(chains, noise), rng,
    )  # fmt: skip
    F = rows.back(np.sqrt(rows.values)[:, None] * G).reshape(chains, -1)
    error = 5.0 * np.sqrt(np.diag(cov) / chains)
    assert (np.abs(F.mean(axis=0) - mean) < error).all()
    assert np.allclose(np.cov(F.T), cov, atol=5.0 * cov.max() * np.sqrt(2.0 / chains))


def test_rows_with_gaps_have_the_dense_posterior_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgl.bayesian.signals.BATCH", 1)  # one row at a time
    rng = np.random.default_rng(5)
    n, chains, noise = 3, 20_000, 0.4
    case = make(1, seed=6)
    theta = case.theta(case.w)
    values, vectors = np.linalg.eigh(theta[None])
    Y, mask = rng.normal(size=(n, M)), rng.random((n, M)) < 0.6
    F = draw_rows(
        np.where(mask, Y, 0.0), mask, np.repeat(values, chains, 0), np.repeat(vectors, chains, 0),
        np.full(chains, noise), rng,
    )  # fmt: skip
    for i in range(n):
        precision = theta + np.diag(mask[i] / noise)
        cov = np.linalg.inv(precision)
        mean = cov @ (mask[i] * Y[i] / noise)
        assert (np.abs(F[:, i].mean(axis=0) - mean) < 5 * np.sqrt(np.diag(cov) / chains)).all()
        assert np.allclose(np.cov(F[:, i].T), cov, atol=5 * cov.max() * np.sqrt(2.0 / chains))


def test_rows_of_a_group_keep_their_distribution() -> None:
    """Replaced rows have the covariance of signals with the least noise of their group."""
    rng = np.random.default_rng(8)
    n, chains, noise = 6, 20_000, 0.5
    rows = Rows.of(kernel_eigen(np.diag([4.0, 3.0, 2.0, 1.0, 0.1, 0.08]), "K_z", n))
    assert rows.edges == [(0, 4), (4, 6)]
    case = make(1, seed=9)
    theta = case.theta(case.w)
    sigma = np.linalg.inv(theta)
    values, vectors = np.linalg.eigh(np.repeat(theta[None], chains, 0))
    F = np.sqrt(rows.values)[:, None] * rng.multivariate_normal(np.zeros(M), sigma, (chains, n))
    rotated = F + np.sqrt(noise) * rng.standard_normal((chains, n, M))  # data from the model
    v = np.full(chains, noise)
    G = draw_whitened(rows, rotated, values, vectors, v, rng)
    groups = group_moments(rows, rotated, G, v, rng)
    for g, (first, last) in enumerate(rows.edges):
        least = noise / rows.values[first]
        assert np.allclose(groups.noise[:, g], least)
        expected = (last - first) * (sigma + least * np.eye(M))
        spread = groups.moments[:, g].std(axis=0) / np.sqrt(chains)
        assert (np.abs(groups.moments[:, g].mean(axis=0) - expected) < 5 * spread).all()


def test_log_odds_have_the_density_as_mean_probability() -> None:
    rng = np.random.default_rng(0)
    forms = rng.normal(size=(2, 40))
    density = np.array([0.05, 0.3, 0.9])
    strengths = np.array([[0.0, 0.0], [1.0, 0.5], [20.0, 3.0]])
    odds = log_odds(density, strengths, forms)
    assert np.allclose(expit(odds).mean(axis=1), density, atol=1e-6)
    assert np.allclose(np.diff(odds, axis=1), np.diff(strengths @ forms, axis=1))


def test_prior_of_scales_has_the_rate_integrated_out() -> None:
    prior, noise, kappa = Prior(), np.array([0.4]), np.array([0.7])
    count, offset = 3, float(prior.rate_offset(noise)[0])
    law = lognorm(prior.kappa_spread, scale=prior.kappa_center / 0.6)

    def dense(c: float) -> float:
        """Density of log kappa and of three weights of sum 2, scaled by c, without their powers."""
        slab = quad(
            lambda rate: rate ** (prior.slab_shape * count) * np.exp(-rate * 2.0 * c)
            * gamma(prior.rate_shape, scale=1 / offset).pdf(rate), 0, np.inf,
        )[0]  # fmt: skip
        return float(np.log(slab) + law.logpdf(0.7) + np.log(0.7))

    def found(c: float) -> float:
        return float(prior.log_scales(noise, kappa, np.array([count]), np.array([2.0 * c]))[0])

    assert found(3.0) - found(1.0) == pytest.approx(dense(3.0) - dense(1.0), rel=1e-6)


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("beta", [(), (6.0, 14.0)])
def test_compiled_loop_draws_what_the_numpy_loop_draws(
    groups: int, beta: tuple[float, ...]
) -> None:
    # without Numba the same function runs uncompiled
    rng = np.random.default_rng(groups)
    chains = [make(groups, seed) for seed in range(3)]
    spectra = [np.linalg.eigh(case.theta(case.w)) for case in chains]
    moments = np.stack([np.stack([Y.T @ Y for Y in case.data]) for case in chains])
    data = Groups(np.full(groups, float(N)), np.stack([case.noise for case in chains]), moments)
    powers = 1.5 + 2.0 * np.arange(1.0, PAIRS + 1.0)
    odds = Odds(rng.normal(size=(3, PAIRS)), np.array(beta))
    order, random = rng.permutation(PAIRS), rng.random((PAIRS, 2, 3))
    found = []
    for fast in (False, True):
        weights = np.stack([case.w for case in chains])
        slab = Slab(2.0, 0.75 + weights.sum(axis=1), powers, gamma_factor(powers, 2.0))
        sweep = EdgeSweep(
            np.stack([values for values, _ in spectra]), np.stack([U for _, U in spectra]), data
        )
        p, means = np.empty_like(weights), np.empty_like(weights)
        draw_pairs(sweep, weights, (ROWS, COLS), order, random, slab, odds, p, means, fast=fast)
        assert (weights != np.stack([case.w for case in chains])).any()
        # the compiled loop keeps up to date what is on and below the diagonals
        found.append((weights, p, means, np.tril(sweep.stack)))
    for slow, quick in zip(*found, strict=True):
        np.testing.assert_allclose(quick, slow, rtol=1e-8, atol=1e-10)
