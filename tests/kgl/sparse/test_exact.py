"""The sparse graph step is the dense one: same edges, same weights, whatever is asked of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import REGULARIZERS
from scipy import sparse

from benchmarks.scale.checker import judge
from benchmarks.scale.data import smooth_features
from kgl._types import Array
from kgl.problem import kkt_residual
from kgl.solvers.graph_step import graph_step
from kgl.solvers.sparse import PairRules, candidates, pair_scores, sparse_graph_step
from kgl.solvers.sparse.features import Features

DECADES = np.arange(-5.0, 4.0)
KINDS = ("smooth", "noise", "duplicated", "ties", "one feature", "spread", "far", "offset")


@pytest.fixture(autouse=True)
def _small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours are sought in cells, as they are among many nodes."""
    monkeypatch.setattr(candidates, "_SMALL", 40)


def make_features(kind: str, m: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    F = smooth_features(m, 20, seed) if kind != "noise" else rng.standard_normal((m, 20))
    if kind == "duplicated":
        F[rng.integers(m, size=m // 2)] = F[rng.integers(m, size=m // 2)]
        F[: m // 10] = F[0]
    if kind == "ties":
        F = np.round(F[:, :3])
    if kind == "one feature":
        F = F[:, :1]
    if kind == "spread":  # distances over eight decades
        F = F * 10.0 ** rng.uniform(-2.0, 2.0, (m, 1))
    if kind == "far":  # one node far from all others
        F[m // 2] += 1e4
    if kind == "offset":
        F = F + 1e3
    return F


def cost_matrix(F: Array, *, signed: bool = False, rho: float = 1.0) -> Array:
    """Return costs (m, m): the same numbers as the sparse step has, so that none is rounded."""
    m = len(F)
    Z = np.zeros((m, m))
    i, j = np.triu_indices(m, 1)
    Z[i, j] = Z[j, i] = rho * Features(F, signed=signed).distances(i, j)[0]
    return Z


def unit_of_psi(Z: Array, regularizer: str) -> float:
    """Return the psi at which costs and multipliers balance."""
    typical = float(np.median(Z[Z > 0]))
    return typical if regularizer == "frobenius" else typical**2


def assert_same(F: Array, Z: Array, psi: float, regularizer: str, **asked: Any) -> None:
    """Compare with the dense solver and with the certificate from the weights alone."""
    graph = sparse_graph_step(F, psi, regularizer=regularizer, **asked)
    dense = graph_step(Z[None], psi, regularizer=regularizer)
    W, D = graph.weights.toarray(), dense.weights[0]
    # among equal integer distances scores can be zero exactly: there rounding decides
    rounding = 1e-14 * D.max()
    np.testing.assert_array_equal(rounding < W, rounding < D)
    assert np.abs(W - D).max() <= 1e-12 * D.max()
    assert graph.residual <= 1e-10
    assert graph.violated == 0
    asked_for = kkt_residual(W, Z, psi, regularizer=regularizer)
    assert graph.residual == pytest.approx(asked_for, abs=1e-12)
    i, j = np.triu_indices(len(F), 1)
    scores, expected = pair_scores(F, graph, i, j), dense.scores[0][i, j]
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(scores), finite)
    largest = np.abs(expected[finite]).max()
    np.testing.assert_allclose(scores[finite], expected[finite], rtol=1e-9, atol=1e-12 * largest)


# 8 kinds of nodes, 2 regularizers, 9 decades: 144 problems.
@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_graph_is_that_of_the_dense_solver(kind: str, regularizer: str) -> None:
    F = make_features(kind, m=70, seed=KINDS.index(kind))
    Z = cost_matrix(F)
    for decade in DECADES:
        assert_same(F, Z, unit_of_psi(Z, regularizer) * 10.0**decade, regularizer)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("seed", range(8))
def test_signed_graphs_with_rules(seed: int, regularizer: str) -> None:
    rng = np.random.default_rng(seed)
    m = 60
    F = make_features(KINDS[seed], m, seed)
    signed = bool(seed % 2)
    Z = cost_matrix(F, signed=signed, rho=1.5)
    i, j = np.triu_indices(m, 1)
    forbidden = rng.random(len(i)) < 0.3
    penalty = np.where(rng.random(len(i)) < 0.3, rng.exponential(np.median(Z), len(i)), 0.0)
    allowed = rng.random(len(i)) < 0.6 if seed >= 4 else np.ones(len(i), dtype=bool)
    rules = PairRules(
        allowed=sparse.csr_array((allowed, (i, j)), shape=(m, m)) if seed >= 4 else None,
        forbidden=sparse.csr_array((forbidden, (j, i)), shape=(m, m)),  # either triangle will do
        penalty=sparse.coo_array((penalty, (i, j)), shape=(m, m)),
    )
    cost = np.where(forbidden | ~allowed, np.inf, Z[i, j] + penalty)
    Z[i, j] = Z[j, i] = cost
    unit = unit_of_psi(np.where(np.isfinite(Z), Z, 0.0), regularizer)
    for decade in DECADES[::3]:
        psi = unit * 10.0**decade
        assert_same(F, Z, psi, regularizer, signed=signed, rho=1.5, rules=rules)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_two_thousand_nodes(regularizer: str) -> None:
    F = smooth_features(2000, 30)
    psi = 2.0 if regularizer == "frobenius" else 5.0
    graph = sparse_graph_step(F, psi, regularizer=regularizer)
    dense = graph_step(cost_matrix(F)[None], psi, regularizer=regularizer).weights[0]
    W = graph.weights.toarray()
    np.testing.assert_array_equal(W > 0, dense > 0)
    assert np.abs(W - dense).max() <= 1e-12 * dense.max()


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_an_independent_checker_finds_no_violated_pair(regularizer: str) -> None:
    # benchmarks.scale runs the same check at m = 20,000
    F = smooth_features(5000, 40)
    psi = 4.0 if regularizer == "frobenius" else 20.0
    graph = sparse_graph_step(F, psi, regularizer=regularizer)
    verdict = judge(F, graph.weights, psi, regularizer=regularizer)
    assert graph.examined == verdict.pairs
    assert verdict.violated == 0
    assert verdict.worst <= 1e-10
    # the checker does find a missing edge and a wrong weight
    broken = graph.weights.copy()
    row = int(np.argmax(np.diff(broken.indptr)))
    broken[row, broken.indices[broken.indptr[row]]] = 0.0
    assert judge(F, broken, psi, regularizer=regularizer).worst > 1e-6


@pytest.mark.parametrize("scale", [1e-120, 1e-9, 1e9, 1e120])
def test_units_do_not_matter(scale: float) -> None:
    F = smooth_features(300, 10)
    plain = sparse_graph_step(F, 1.0)
    other = sparse_graph_step(F * scale, scale**2)
    np.testing.assert_array_equal(other.weights.indices, plain.weights.indices)
    np.testing.assert_allclose(other.weights.data, plain.weights.data, rtol=1e-10)


def test_many_features() -> None:
    # beyond some number principal axes come from an iteration
    F = np.random.default_rng(0).standard_normal((150, 700))
    Z = cost_matrix(F)
    for regularizer in REGULARIZERS:
        assert_same(F, Z, 0.1 * unit_of_psi(Z, regularizer), regularizer)
