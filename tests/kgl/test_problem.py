"""The table of models, the penalties, and the certificate of a graph.

A certificate that is small for a wrong graph is worse than none, so most of these tests take a
right graph and spoil it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from helpers import REGULARIZERS, distances, optimality
from hypothesis import given
from hypothesis import strategies as st

from kgl._types import Array
from kgl.laplacian import adjacency_from_edges, complete_laplacian, laplacian_from_adjacency
from kgl.problem import graph_penalty, kkt_residual
from kgl.solvers.graph_step import graph_step

# --- models and penalties -----------------------------------------------------------------------


@given(m=st.integers(2, 8), seed=st.integers(0, 2**32 - 1), psi=st.floats(1e-3, 1e3))
def test_penalties(m: int, seed: int, psi: float) -> None:
    rng = np.random.default_rng(seed)
    W = adjacency_from_edges(rng.exponential(size=(3, m * (m - 1) // 2)))
    weights = psi * np.array([1.0, 2.0, 3.0])
    frobenius = graph_penalty(W, weights)
    barrier = graph_penalty(W, weights, "log-degree", 2.5)
    for k in range(3):
        L = laplacian_from_adjacency(W[k])
        assert frobenius[k] == pytest.approx(weights[k] * np.linalg.norm(L) ** 2, rel=1e-12)
        expected = weights[k] * np.linalg.norm(W[k]) ** 2 - 2.5 * np.sum(np.log(np.diag(L)))
        assert barrier[k] == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert graph_penalty(W[k : k + 1], weights[k])[0] == pytest.approx(frobenius[k])


def test_an_isolated_node_costs_everything() -> None:
    W = np.zeros((1, 3, 3))
    W[0, 0, 1] = W[0, 1, 0] = 1.0
    assert graph_penalty(W, np.ones(1), "log-degree")[0] == np.inf
    assert graph_penalty(W, np.ones(1))[0] == 4.0


# --- the certificate ----------------------------------------------------------------------------

Judge = Callable[..., float]


def own(*args: object, **options: object) -> float:
    return optimality(*args, **options).worst


#: The library's certificate, and the one the tests rely on: both must see every fault.
JUDGES = pytest.mark.parametrize("judge", [kkt_residual, own], ids=["kkt_residual", "helper"])
BOTH = pytest.mark.parametrize("regularizer", REGULARIZERS)


def solved(m: int, regularizer: str, psi: float = 1.0, seed: int = 0) -> tuple[Array, Array]:
    """Return an optimal graph, with some pairs on and some off, and its distances."""
    Z = distances(m, seed, n=4)
    W = graph_step(Z[None], psi, regularizer=regularizer).weights[0]
    W = (W + W.T) / 2
    assert 0 < np.count_nonzero(np.triu(W)) < m * (m - 1) // 2
    return W, Z


def edge(W: Array, rank: int) -> tuple[int, int]:
    """Return the pair of a rank by weight, 0 the heaviest."""
    rows, cols = np.triu_indices(len(W), 1)
    e = np.argsort(-W[rows, cols], kind="stable")[rank]
    return int(rows[e]), int(cols[e])


def moved(W: Array, pair: tuple[int, int], change: float) -> Array:
    W = W.copy()
    W[pair] += change
    W[pair[::-1]] += change
    return W


@JUDGES
@BOTH
@pytest.mark.parametrize("m", [6, 10, 40])
def test_a_solution_passes(judge: Judge, regularizer: str, m: int) -> None:
    W, Z = solved(m, regularizer)
    assert judge(W, Z, 1.0, regularizer=regularizer) <= 1e-12


@JUDGES
@BOTH
@pytest.mark.parametrize("share", [1e-1, 1e-3, 1e-5, 1e-7])
def test_weight_moved_between_edges_shows(judge: Judge, regularizer: str, share: float) -> None:
    # the trace stays right: only stationarity is lost, in proportion to what was moved
    W, Z = solved(8, regularizer)
    heavy, other = edge(W, 0), edge(W, 1)
    change = share * W[other]
    spoilt = moved(moved(W, heavy, change), other, -change)
    residual = judge(spoilt, Z, 1.0, regularizer=regularizer)
    assert 0.01 * share < residual < 10 * share


@JUDGES
@pytest.mark.parametrize("factor", [1e-3, 0.5, 0.99, 1 + 1e-6, 1.01, 2.0, 1e3])
def test_a_wrong_trace_shows(judge: Judge, factor: float) -> None:
    # every edge active and equal: scaling keeps the gradient equal over edges
    W = np.ones((5, 5)) / 4 - np.eye(5) / 4
    Z = np.ones((5, 5)) - np.eye(5)
    assert judge(W, Z, 1.0) <= 1e-14
    assert judge(factor * W, Z, 1.0) >= 0.99 * min(abs(factor - 1), 1)


@JUDGES
@pytest.mark.parametrize("factor", [0.5, 0.99, 1 + 1e-6, 1.01, 2.0])
def test_a_wrong_scale_shows_under_the_barrier(judge: Judge, factor: float) -> None:
    W, Z = solved(8, "log-degree")
    assert judge(factor * W, Z, 1.0, regularizer="log-degree") >= 0.05 * abs(factor - 1)


@JUDGES
@BOTH
def test_a_missing_edge_shows(judge: Judge, regularizer: str) -> None:
    W, Z = solved(10, regularizer)
    n_on = np.count_nonzero(np.triu(W))
    for rank in range(n_on):
        pair = edge(W, rank)
        share = W[pair] / W.max()
        missing = moved(W, pair, -W[pair])
        if regularizer == "frobenius":
            missing *= len(W) / missing.sum()
        assert judge(missing, Z, 1.0, regularizer=regularizer) >= 0.01 * share


@JUDGES
@BOTH
def test_an_edge_too_many_shows(judge: Judge, regularizer: str) -> None:
    W, Z = solved(10, regularizer)
    rows, cols = np.triu_indices(10, 1)
    for pair in zip(rows, cols, strict=True):
        if W[pair] == 0:
            extra = moved(W, pair, 0.1 * W.max())
            if regularizer == "frobenius":
                extra *= len(W) / extra.sum()
            assert judge(extra, Z, 1.0, regularizer=regularizer) >= 0.01


@JUDGES
@BOTH
def test_faults_of_the_matrix_show(judge: Judge, regularizer: str) -> None:
    W, Z = solved(8, regularizer)
    pair, unused = edge(W, 0), edge(W, 27)
    assert W[unused] == 0
    skewed = W.copy()
    skewed[pair] *= 1.01
    negative = moved(W, unused, -0.01 * W.max())
    loop = W + 0.01 * W.max() * np.eye(8)
    for spoilt in (skewed, negative, loop):
        assert judge(spoilt, Z, 1.0, regularizer=regularizer) >= 1e-4


@JUDGES
@BOTH
def test_another_problem_shows(judge: Judge, regularizer: str) -> None:
    W, Z = solved(8, regularizer)
    assert judge(W, Z, 2.0, regularizer=regularizer) >= 1e-2
    assert judge(W, 2 * Z, 1.0, regularizer=regularizer) >= 1e-2
    other = moved(Z, edge(W, 0), 0.1 * Z.max())
    assert judge(W, other, 1.0, regularizer=regularizer) >= 1e-2
    if regularizer == "log-degree":
        assert judge(W, Z, 1.0, regularizer=regularizer, barrier=1.1) >= 1e-3
        # scaling all three together is the same problem
        options = {"regularizer": regularizer, "barrier": 8.0}
        assert judge(W, 8 * Z, 8.0, **options) <= 1e-12
    else:
        assert judge(W, 8 * Z, 8.0) <= 1e-12
        assert judge(W, Z + 5.0, 1.0) <= 1e-12
    wrong = "log-degree" if regularizer == "frobenius" else "frobenius"
    full = np.ones((8, 8)) / 8 + W  # with a degree at every node
    np.fill_diagonal(full, 0.0)
    assert judge(full, Z, 1.0, regularizer=wrong) >= 1e-2


@JUDGES
@BOTH
def test_a_forbidden_edge_shows(judge: Judge, regularizer: str) -> None:
    W, Z = solved(8, regularizer)
    unused, used = edge(W, 27), edge(W, 0)
    for pair in (unused, used):
        forbidden = Z.copy()
        forbidden[pair] = forbidden[pair[::-1]] = np.inf
        residual = judge(W, forbidden, 1.0, regularizer=regularizer)
        if pair == unused:
            assert residual <= 1e-12
        else:
            assert residual >= 1e-2


@JUDGES
@pytest.mark.parametrize("z", [1e-3, 1.0, 1e3, 1e6, 1e9])
def test_the_barrier_is_judged_at_every_scale(judge: Judge, z: float) -> None:
    # Two nodes: z + 4 psi w = 2 barrier / w. Twice the right weight is wrong whatever z is, also
    # where the weight is tiny beside its multipliers.
    Z = np.array([[0.0, z], [z, 0.0]])
    w = 4 / (z + np.sqrt(z**2 + 32))
    W = np.array([[0.0, w], [w, 0.0]])
    assert judge(W, Z, 1.0, regularizer="log-degree") <= 1e-12
    assert judge(2 * W, Z, 1.0, regularizer="log-degree") >= 0.05
    assert judge(0.5 * W, Z, 1.0, regularizer="log-degree") >= 0.05


@JUDGES
def test_a_remote_node_does_not_excuse_the_others(judge: Judge) -> None:
    # Two pairs that may not meet, one a million times as far apart: spoil either.
    Z = np.full((4, 4), np.inf)
    W = np.zeros((4, 4))
    for (i, j), z in (((0, 1), 1.0), ((2, 3), 1e6)):
        Z[i, j] = Z[j, i] = z
        W[i, j] = W[j, i] = 4 / (z + np.sqrt(z**2 + 32))
    np.fill_diagonal(Z, 0.0)
    assert judge(W, Z, 1.0, regularizer="log-degree") <= 1e-12
    for pair in ((0, 1), (2, 3)):
        spoilt = moved(W, pair, W[pair])
        assert judge(spoilt, Z, 1.0, regularizer="log-degree") >= 0.05, pair


def test_the_certificate_of_no_graph() -> None:
    Z = distances(4)
    assert kkt_residual(np.zeros((4, 4)), Z, 1.0) >= 0.99
    assert kkt_residual(np.zeros((4, 4)), Z, 1.0, regularizer="log-degree") == np.inf
    isolated = np.zeros((4, 4))
    isolated[0, 1] = isolated[1, 0] = 1.0
    assert kkt_residual(isolated, Z, 1.0, regularizer="log-degree") == np.inf


@JUDGES
def test_the_starting_graph_is_right_for_no_signal(judge: Judge) -> None:
    W = -complete_laplacian(9)
    np.fill_diagonal(W, 0.0)
    assert judge(W, np.zeros((9, 9)), 1e-3) <= 1e-13
