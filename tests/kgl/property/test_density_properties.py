"""The graph step for a number of edges, against brute force over psi and against its own parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers import REGULARIZERS, distances, n_edges, random_mask, share, signal_data
from hypothesis import example, given
from hypothesis import strategies as st

from kgl._types import Array
from kgl.laplacian import adjacency_from_edges, laplacian_from_adjacency
from kgl.problem import MODELS, kkt_residual
from kgl.solvers.alternating import Options, solve_points
from kgl.solvers.density_step import count_edges, density_step, edge_tolerance
from kgl.solvers.graph_step import graph_step
from kgl.solvers.grid import solve_grid

seeds = st.integers(0, 2**32 - 1)
KINDS = ("distances", "decades", "integers", "twins", "forbidden")
UNKNOWN = np.zeros(1)


def costs(kind: str, m: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    n_pairs = m * (m - 1) // 2
    if kind == "decades":
        return adjacency_from_edges(10.0 ** rng.uniform(-4, 3, n_pairs))
    if kind == "integers":  # pairs that enter together
        return adjacency_from_edges(rng.integers(0, 6, n_pairs).astype(float))
    Z = distances(m, seed)
    if kind == "twins":
        half = np.arange(m) // 2
        Z = Z[np.ix_(half, half)]
    if kind == "forbidden":
        pairs = np.where(rng.random(n_pairs) < 0.4, np.inf, 0.0)
        pairs[0] = 0.0
        with np.errstate(invalid="ignore"):
            Z = Z + np.nan_to_num(adjacency_from_edges(pairs), nan=0.0, posinf=np.inf)
    return Z


def by_brute_force(Z: Array, regularizer: str) -> np.ndarray:
    """Count edges over a fine grid of psi, from far too small to far too large."""
    typical = np.median(Z[np.isfinite(Z) & (Z > 0)]) if (Z > 0).any() else 1.0
    power = 1.0 if regularizer == "frobenius" else 2.0
    psi = typical**power * np.logspace(-5, 5, 800)
    batch = np.broadcast_to(Z, (len(psi), *Z.shape))
    return count_edges(graph_step(batch, psi, regularizer=regularizer).weights)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("kind", KINDS)
@given(m=st.integers(3, 9), seed=seeds, rank=st.floats(0, 1))
@share(0.6)
def test_a_number_that_some_psi_gives_is_found(
    regularizer: str, kind: str, m: int, seed: int, rank: float
) -> None:
    Z = costs(kind, m, seed)
    if regularizer == "log-degree":  # no node may be cut off
        path = np.arange(m - 1)
        Z[path, path + 1] = Z[path + 1, path] = distances(m, seed)[path, path + 1]
    possible = np.unique(by_brute_force(Z, regularizer))
    target = int(possible[round(rank * (len(possible) - 1))])
    step, psi = density_step(Z[None], UNKNOWN, target, regularizer=regularizer)
    assert n_edges(step.weights[0]) == target
    # and it is the graph step at the psi that is returned
    again = graph_step(Z[None], psi, regularizer=regularizer)
    size = again.weights.max()
    np.testing.assert_allclose(step.weights, again.weights, rtol=0, atol=1e-8 * size)
    assert step.residual[0] < 1e-9


@given(m=st.integers(33, 45), seed=seeds, density=st.floats(0.02, 1))
def test_one_pair_in_five_hundred_is_near_enough(m: int, seed: int, density: float) -> None:
    target = max(1, round(density * m * (m - 1) / 2))
    step, _ = density_step(distances(m, seed)[None], UNKNOWN, target)
    assert edge_tolerance(m) == m * (m - 1) // 1000
    assert abs(n_edges(step.weights[0]) - target) <= edge_tolerance(m)


@given(m=st.integers(3, 8), seed=seeds, n=st.integers(1, 5), data=st.data())
def test_a_batch_is_its_searches_one_by_one(m: int, seed: int, n: int, data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=n, max_size=n))
    Z = np.stack([costs(kind, m, seed + k) for k, kind in enumerate(kinds)])
    pairs = st.integers(1, m * (m - 1) // 2)
    targets = np.array(data.draw(st.lists(pairs, min_size=n, max_size=n)))
    guesses = 10.0 ** np.array(data.draw(st.lists(st.floats(-5, 5), min_size=n, max_size=n)))
    together, psi = density_step(Z, guesses, targets)
    for k in range(n):
        alone, one = density_step(Z[k : k + 1], guesses[k : k + 1], int(targets[k]))
        np.testing.assert_allclose(psi[k], one[0], rtol=1e-8)
        np.testing.assert_allclose(together.weights[k], alone.weights[0], atol=1e-8)


@given(m=st.integers(3, 8), seed=seeds, density=st.floats(0, 1), exponent=st.floats(-12, 12))
@example(m=8, seed=0, density=0.0, exponent=-12.0)
@example(m=8, seed=0, density=1.0, exponent=12.0)
def test_where_a_search_starts_does_not_matter(
    m: int, seed: int, density: float, exponent: float
) -> None:
    n_pairs = m * (m - 1) // 2
    target = max(1, round(density * n_pairs))
    Z = distances(m, seed)[None]
    warm = graph_step(Z, 10.0**-exponent).dual
    step, psi = density_step(Z, np.array([10.0**exponent]), target, start=warm)
    assert n_edges(step.weights[0]) == target
    kept, same = density_step(Z, psi, target, start=step.dual)
    assert same[0] == pytest.approx(psi[0], rel=1e-15)  # a psi that is near enough stays
    np.testing.assert_allclose(kept.weights, step.weights, atol=1e-9)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_units_do_not_matter(regularizer: str, unit: float) -> None:
    Z = distances(9)[None]
    step, psi = density_step(Z, UNKNOWN, 14, regularizer=regularizer)
    scaled, psi_scaled = density_step(unit * Z, UNKNOWN, 14, regularizer=regularizer)
    assert n_edges(step.weights[0]) == n_edges(scaled.weights[0]) == 14
    power = 1 if regularizer == "frobenius" else 2
    assert psi_scaled[0] == pytest.approx(unit**power * psi[0], rel=1e-6)


def test_no_more_edges_than_allowed_pairs() -> None:
    Z = np.full((1, 6, 6), np.inf)
    Z[0, 0, 1] = Z[0, 1, 0] = 1.0
    Z[0, 2, 3] = Z[0, 3, 2] = 2.0
    calls = []

    def counted(*args: object, **kwargs: object) -> object:
        calls.append(1)
        return graph_step(*args, **kwargs)  # type: ignore[arg-type]

    step, psi = density_step(Z, UNKNOWN, 12, solve=counted)  # type: ignore[arg-type]
    assert n_edges(step.weights[0]) == 2
    assert psi[0] < 1e3
    assert len(calls) < 5  # the target is out of reach, and the search knows


@given(seed=seeds, exponent=st.floats(-17, -12), target=st.integers(1, 11))
def test_rounding_does_not_choose_among_identical_nodes(
    seed: int, exponent: float, target: int
) -> None:
    # two groups of four: twelve pairs at distance zero but for rounding, and fewer edges wanted
    group = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    Z = distances(3, seed)[np.ix_(group, group)]
    rng = np.random.default_rng(seed)
    noise = 10.0**exponent * Z.max() * adjacency_from_edges(rng.random(36))
    step, _ = density_step((Z + noise)[None], UNKNOWN, target)
    W = step.weights[0]
    inside = (group[:, None] == group) & ~np.eye(9, dtype=bool)
    assert n_edges(np.where(inside, W, 0.0)) == 12
    assert np.ptp(W[inside]) < 1e-2 * W.max()


# ------------------------------------------------------------------------------- alternation

FITTED = [name for name, spec in MODELS.items() if spec.fitted]


@pytest.mark.parametrize("model", FITTED)
@given(seed=seeds, exponent=st.floats(-3, 0.5), density=st.floats(0.05, 0.95))
@share(0.4)
def test_points_with_a_target_are_fixed_points_at_their_psi(
    model: str, seed: int, exponent: float, density: float
) -> None:
    spec, rng = MODELS[model], np.random.default_rng(seed)
    n, m = 12, 7
    mask = random_mask(n, m, 0.3, rng) if spec.masked and seed % 2 else None
    K_z = np.exp(-(np.subtract.outer(np.arange(n), np.arange(n)) ** 2) / 8.0)
    K_x = np.exp(-(np.subtract.outer(np.arange(m), np.arange(m)) ** 2) / 4.0)
    data = signal_data(
        rng.standard_normal((n, m)),
        mask,
        K_x if spec.node_kernel else None,
        K_z if spec.observation_kernel else None,
    )
    lam = np.array([0.1, 1.0]) if spec.ridge else np.zeros(2)
    rho = np.full(2, 10.0**exponent)
    target = np.array([max(1, round(density * 21)), 10])
    options = Options(target_edges=target, tol=1e-5, max_iter=400)
    found = solve_points(data, spec, lam, rho, np.zeros(2), options)
    again = replace(options, target_edges=None, init=laplacian_from_adjacency(found.weights))
    one_more = solve_points(data, spec, lam, rho, found.psi, replace(again, max_iter=1))
    for k in np.flatnonzero(found.converged):
        change = np.linalg.norm(one_more.weights[k] - found.weights[k])
        # the last change was within tol; away from an unstable point the next is a little larger
        assert change <= 5e-5 * np.linalg.norm(found.weights[k])
    # chunks and single points give the same
    points = {"lam": lam, "rho": rho, "density": target / 21}
    chunks = list(solve_grid(data, spec, points, options, chunk_size=1, refit=False))
    assert sorted(chunk.where.tolist() for chunk in chunks) == [[0], [1]]
    for chunk in chunks:
        k = chunk.where[0]
        np.testing.assert_allclose(chunk.batch.psi[0], found.psi[k], rtol=1e-6)
        np.testing.assert_allclose(chunk.batch.weights[0], found.weights[k], atol=1e-6)


def test_every_point_may_start_from_a_graph_of_its_own() -> None:
    data = signal_data(np.random.default_rng(0).standard_normal((30, 7)), None, None, None)
    spec, ones = MODELS["KGL-N"], np.ones(3)
    psi = np.array([0.01, 0.1, 1.0])
    options = Options(tol=1e-9, max_iter=500)
    cold = solve_points(data, spec, ones, ones, psi, options)
    warm = replace(options, init=laplacian_from_adjacency(cold.weights))
    again = solve_points(data, spec, ones, ones, psi, warm)
    assert again.n_iter.tolist() == [1, 1, 1]
    np.testing.assert_allclose(again.weights, cold.weights, atol=1e-8)
    for chunk in solve_grid(data, spec, {"lam": ones, "rho": ones, "psi": psi}, warm, chunk_size=2):
        np.testing.assert_allclose(chunk.batch.weights, cold.weights[chunk.where], atol=1e-8)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_a_certificate_is_of_the_psi_that_was_found(regularizer: str) -> None:
    Z = np.stack([distances(9, seed) * 10.0**seed for seed in range(4)])
    found, psi = density_step(Z, np.zeros(4), np.array([9, 12, 15, 20]), regularizer=regularizer)
    assert len(np.unique(psi)) == 4
    own = [
        kkt_residual(W, one, p, regularizer=regularizer)
        for W, one, p in zip(found.weights, Z, psi, strict=True)
    ]
    np.testing.assert_array_equal(found.residual, own)
    assert found.residual.max() < 1e-12
