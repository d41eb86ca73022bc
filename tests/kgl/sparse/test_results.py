"""Certificates, warm starts, numbers of edges, runners-up and bad input of the sparse step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import REGULARIZERS
from scipy import sparse

from benchmarks.scale.data import smooth_features
from kgl._types import Array
from kgl.laplacian import sq_distances_from_gram
from kgl.solvers import newton
from kgl.solvers.density_step import density_step
from kgl.solvers.graph_step import graph_step
from kgl.solvers.sparse import (
    PairRules,
    candidates,
    pair_scores,
    runners_up,
    sparse_density_step,
    sparse_graph_step,
    step,
)
from kgl.solvers.sparse.features import Features
from kgl.solvers.sparse.pool import PairPool
from kgl.solvers.sparse.pricing import Screen
from kgl.solvers.sparse.rules import RuleIndex


def costs(F: Array) -> Array:
    centred = F - F.mean(axis=0)
    return sq_distances_from_gram(centred @ centred.T)


# --- pricing: no pair is lost to single precision -------------------------------------------------


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("decades", [0.0, 3.0])
def test_the_screen_finds_every_pair_below_the_levels(decades: float, *, signed: bool) -> None:
    rng = np.random.default_rng(3)
    F = smooth_features(300, 12) * 10.0 ** rng.uniform(0.0, decades, (300, 1))
    features = Features(F, signed=signed)
    i, j = np.triu_indices(300, 1)
    z, _ = features.distances(i, j)
    # levels at which a pair in ten passes, many of them by next to nothing
    levels = np.full(300, 0.5 * np.quantile(z, 0.1)) * (1.0 + 1e-7 * rng.standard_normal(300))
    levels[j[:50]] = 2.0 * z[:50] - levels[i[:50]]
    screen = Screen(features, features.axes(), 1.0)
    for q in (1, 4, 12):
        screen._n_axes = q
        found = [a * 300 + b for a, b, _, _ in screen.below(levels, None, None)]
        wanted = (i * 300 + j)[z < levels[i] + levels[j]]
        np.testing.assert_array_equal(np.sort(np.concatenate(found)), wanted)
    some = np.sort(rng.choice(300, 40, replace=False))
    found = [a * 300 + b for a, b, _, _ in screen.below(levels, some, None)]
    touched = np.isin(i, some) | np.isin(j, some)
    wanted = (i * 300 + j)[(z < levels[i] + levels[j]) & touched]
    np.testing.assert_array_equal(np.sort(np.concatenate(found)), wanted)


def test_the_bound_is_below_every_distance_in_double_precision() -> None:
    F = np.random.default_rng(0).standard_normal((80, 30)) + 100.0
    features = Features(F, signed=False)
    axes = features.axes()
    i, j = np.triu_indices(80, 1)
    z = features.distances(i, j)[0] / axes.scale**2
    for q in (0, 3, 30):
        tail = np.sqrt(axes.left_out(q))
        apart = axes.points[i, :q] - axes.points[j, :q]
        bound = (apart**2).sum(axis=1) + (tail[i] - tail[j]) ** 2
        assert (bound <= z * (1.0 + 1e-12)).all()


def test_ceilings_cover_all_pairs_that_are_no_candidates() -> None:
    F = smooth_features(400, 10)
    features = Features(F, signed=False)
    pool = PairPool(features, 1.0, RuleIndex(None, 400))
    pool.fill(5, None)
    rng = np.random.default_rng(0)
    z = features.distances(*np.triu_indices(400, 1))[0]
    for share in (0.02, 0.03, 0.01, 0.05):
        levels = 0.5 * np.quantile(z, share) * rng.uniform(0.5, 1.5, 400)
        pool.cover(levels, 0.1 * levels)
        assert pool.ceilings is not None
        assert (levels <= pool.ceilings).all()
        i, j = np.triu_indices(400, 1)
        others = ~np.isin(i * 400 + j, pool.keys)
        assert (z[others] >= (pool.ceilings[i] + pool.ceilings[j])[others]).all()


# --- certificates ---------------------------------------------------------------------------------


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_a_graph_without_certificate_may_lack_edges_and_a_sample_shows_it(
    regularizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "NEIGHBOURS", 3)
    monkeypatch.setattr(step, "_SAMPLE", 150)
    monkeypatch.setattr(step, "_CROWDED", 1.1)
    F = smooth_features(600, 20)
    psi = 50.0 if regularizer == "frobenius" else 500.0
    exact = sparse_graph_step(F, psi, regularizer=regularizer)
    assert exact.violated == 0
    assert exact.examined == 600 * 599 // 2
    assert exact.residual < 1e-12
    nothing = sparse_graph_step(F, psi, regularizer=regularizer, certify=False)
    assert nothing.examined == len(nothing.candidates[0]) < 600 * 5
    assert nothing.n_edges < exact.n_edges
    sample = sparse_graph_step(F, psi, regularizer=regularizer, certify="sample")
    assert sample.examined == 150 * 450 + 150 * 149 // 2
    assert sample.violated > 0
    assert sample.residual > 1e-3


def test_allowed_pairs_take_no_pass_over_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("all pairs are looked at")

    monkeypatch.setattr(Screen, "below", refuse)
    F = smooth_features(200, 10)
    ring = sparse.diags_array([np.ones(199), np.ones(190)], offsets=[1, 10], shape=(200, 200))
    graph = sparse_graph_step(F, 10.0, rules=PairRules(allowed=ring))
    assert graph.examined == 199 + 190
    assert graph.violated == 0
    assert (abs(graph.weights) > abs(ring + ring.T)).nnz == 0


def test_a_warm_start_changes_nothing_but_the_work() -> None:
    F = smooth_features(800, 20)
    G = F + 0.01 * np.random.default_rng(0).standard_normal(F.shape)
    for regularizer in REGULARIZERS:
        first = sparse_graph_step(F, 5.0, regularizer=regularizer)
        cold = sparse_graph_step(G, 4.0, regularizer=regularizer)
        warm = sparse_graph_step(G, 4.0, regularizer=regularizer, start=first)
        np.testing.assert_array_equal(warm.weights.indices, cold.weights.indices)
        np.testing.assert_allclose(warm.weights.data, cold.weights.data, atol=1e-12)
        assert warm.n_steps <= cold.n_steps


# --- a number of edges ----------------------------------------------------------------------------


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize(("m", "target"), [(20, 57), (300, 900)])
def test_a_number_of_edges_is_met_as_by_the_dense_search(
    m: int, target: int, regularizer: str
) -> None:
    F = smooth_features(m, 20)
    graph = sparse_density_step(F, None, target, regularizer=regularizer)
    assert abs(graph.n_edges - target) <= target // 150
    dense, _ = density_step(costs(F)[None], np.zeros(1), target, regularizer=regularizer)
    assert abs(np.count_nonzero(dense.weights) // 2 - target) <= m * (m - 1) // 1000 + 1
    again = sparse_graph_step(F, graph.psi, regularizer=regularizer)
    np.testing.assert_array_equal(again.weights.indices, graph.weights.indices)
    near = sparse_density_step(F, graph.psi, target + 5, regularizer=regularizer, start=graph)
    assert abs(near.n_edges - target - 5) <= (target + 5) // 150


def test_no_more_edges_than_pairs_are_allowed() -> None:
    F = smooth_features(40, 5)
    ring = sparse.diags_array(np.ones(39), offsets=1, shape=(40, 40))
    graph = sparse_density_step(F, None, 500, rules=PairRules(allowed=ring))
    assert graph.n_edges == 39


# --- scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("signed", [False, True])
def test_runners_up_are_the_best_pairs_that_are_no_edges(*, signed: bool) -> None:
    F = smooth_features(120, 8)
    none = sparse.csr_array(([1.0], ([3], [7])), shape=(120, 120))
    dear = sparse.triu(np.random.default_rng(0).random((120, 120)) < 0.5, 1) * 2.0
    rules = PairRules(forbidden=none, penalty=dear)
    graph = sparse_graph_step(F, 3.0, signed=signed, rules=rules)
    rows, cols, scores = runners_up(F, graph, 2)
    i, j = np.triu_indices(120, 1)
    every = pair_scores(F, graph, i, j)
    matrix = np.full((120, 120), -np.inf)
    use = (every <= 0) & np.isfinite(every)
    matrix[i[use], j[use]] = matrix[j[use], i[use]] = every[use]
    best = np.argsort(-matrix, axis=1)[:, :2]
    wanted = {(min(a, b), max(a, b)) for a in range(120) for b in best[a]}
    assert set(zip(rows.tolist(), cols.tolist(), strict=True)) == wanted
    assert (np.diff(scores) <= 0).all()
    assert pair_scores(F, graph, np.array([3, 5]), np.array([7, 5])).tolist() == [-np.inf, -np.inf]


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"psi": 0.0}, "psi = 0.0"),
        ({"rho": np.nan}, "rho = nan"),
        ({"regularizer": "ridge"}, "ridge"),
        ({"certify": "some"}, "certify = 'some'"),
        ({"F": np.full((5, 2), np.nan)}, r"F\[0, 0\] is nan"),
        ({"F": np.zeros(5)}, "shape"),
        ({"rules": PairRules(forbidden=sparse.eye_array(4))}, r"\(4, 4\)"),
        ({"start": sparse_graph_step(np.arange(3.0)[:, None], 1.0)}, "graph of 3 nodes"),
        ({"rules": PairRules(penalty=-sparse.eye_array(5, k=1))}, "negative"),
        ({"rules": PairRules(allowed=sparse.csr_array((5, 5)))}, "no edge can be placed"),
        (
            {"rules": PairRules(allowed=sparse.eye_array(5, k=3)), "regularizer": "log-degree"},
            "of node 2",
        ),
    ],
)
def test_bad_input_is_named(asked: dict[str, Any], message: str) -> None:
    asked = {"F": np.arange(10.0).reshape(5, 2), "psi": 1.0, **asked}
    with pytest.raises(ValueError, match=message):
        sparse_graph_step(**asked)


def test_a_graph_that_is_not_sparse_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgl.solvers.sparse.pool._MOST", 3000)
    with pytest.raises(MemoryError, match="Lower psi"):
        sparse_graph_step(smooth_features(200, 5), 1e6)


def test_progress_counts_rows() -> None:
    seen: list[tuple[int, int]] = []
    sparse_graph_step(smooth_features(700, 5), 5.0, progress=lambda *done: seen.append(done))
    assert seen[0][1] == 700
    assert seen[-1][0] == seen[-1][1]


# --- the dense solver's systems -------------------------------------------------------------------


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_the_dense_solver_gives_the_same_graph_by_conjugate_gradients(
    regularizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Z = costs(smooth_features(80, 10))[None]
    psis = np.median(Z) ** (1 if regularizer == "frobenius" else 2) * 10.0 ** np.arange(-5.0, 4.0)
    plain = [graph_step(Z, psi, regularizer=regularizer) for psi in psis]
    monkeypatch.setattr(newton, "_ITERATE_FROM", 2)
    for psi, expected in zip(psis, plain, strict=True):
        found = graph_step(Z, psi, regularizer=regularizer)
        assert found.residual[0] <= max(1e-13, 2 * expected.residual[0])
        largest = expected.weights.max()
        np.testing.assert_allclose(found.weights, expected.weights, atol=1e-12 * largest)


def test_neighbours_from_cells_are_near() -> None:
    points = smooth_features(3000, 6)
    found = candidates.near_pairs(points, 8, signed=False)
    exact = candidates.nearest(points, np.arange(300), np.arange(3000), 8, signed=False)
    keys = candidates.pair_keys(np.repeat(np.arange(300), 8), exact.ravel(), 3000)
    assert np.isin(keys, found).mean() > 0.9
