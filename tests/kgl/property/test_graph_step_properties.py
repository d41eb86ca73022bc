"""The graph step on arbitrary costs: optimal, and indifferent to what should not matter.

Costs come as integers (ties, zeros, exact sums) or as floats over many decades; they need not be
distances of anything.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import REGULARIZERS, optimality, permuted
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kgl._types import Array
from kgl.laplacian import adjacency_from_edges
from kgl.solvers.graph_step import graph_step

sizes = st.integers(2, 7)
regularizers = st.sampled_from(REGULARIZERS)
integers = st.integers(0, 12).map(float)
floats = st.floats(-4, 2).map(lambda exponent: 10.0**exponent) | st.just(0.0)


@st.composite
def costs(draw: st.DrawFn, elements: st.SearchStrategy[float] = integers | floats) -> Array:
    m = draw(sizes)
    return adjacency_from_edges(draw(arrays(float, m * (m - 1) // 2, elements=elements)))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Array, float, str]:
    """Return costs, psi and a regularizer, psi over decades relative to what scales it."""
    Z = draw(costs())
    regularizer = draw(regularizers)
    exponent = draw(st.floats(-8, 5) if regularizer == "frobenius" else st.floats(-5, 5))
    scale = Z.max() or 1.0
    return Z, scale ** (1 if regularizer == "frobenius" else 2) * 10.0**exponent, regularizer


def solve(Z: Array, psi: float, regularizer: str = "frobenius", barrier: float = 1.0) -> Array:
    return graph_step(Z[None], psi, regularizer=regularizer, barrier=barrier).weights[0]


def assert_same(W: Array, expected: Array, tol: float = 1e-9) -> None:
    np.testing.assert_allclose(W, expected, rtol=tol, atol=tol * expected.max())


@given(problem=problems())
# Two nodes with one tie, every edge equal, one edge, and a hub that all edges share
@example(problem=(adjacency_from_edges(np.array([0.0, 0.0, 1.0])), 1e-6, "frobenius"))
@example(problem=(adjacency_from_edges(np.ones(21)), 1e-6, "log-degree"))
@example(problem=(adjacency_from_edges(np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])), 0.1, "frobenius"))
def test_every_solution_is_optimal(problem: tuple[Array, float, str]) -> None:
    Z, psi, regularizer = problem
    step = graph_step(Z[None], psi, regularizer=regularizer)
    W, scores = step.weights[0], step.scores[0]
    bar = {"frobenius": 1e-10, "log-degree": 1e-9}[regularizer]
    assert optimality(W, Z, psi, regularizer=regularizer).worst <= bar
    assert step.residual[0] <= bar
    assert np.all(np.where(W > 0, scores == W, scores <= 0))
    if regularizer == "log-degree":
        assert W.sum(axis=1).min() > 0


@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_permuting_nodes_permutes_the_graph(problem: tuple[Array, float, str], seed: int) -> None:
    Z, psi, regularizer = problem
    order = np.random.default_rng(seed).permutation(len(Z))
    W = solve(Z, psi, regularizer)
    assert_same(solve(permuted(Z, order), psi, regularizer), permuted(W, order))


@given(problem=problems(), exponent=st.integers(-40, 40))
def test_scaling_the_whole_objective_changes_nothing(
    problem: tuple[Array, float, str], exponent: int
) -> None:
    Z, psi, regularizer = problem
    factor = 2.0**exponent
    W = solve(Z, psi, regularizer)
    assert_same(solve(factor * Z, factor * psi, regularizer, barrier=factor), W)


@given(problem=problems(), exponent=st.integers(-20, 20))
def test_log_degree_weights_are_inverse_to_distances(
    problem: tuple[Array, float, str], exponent: int
) -> None:
    # w -> s w turns (Z, psi) into (s Z, s^2 psi), up to a constant
    Z, psi, regularizer = problem
    assume(regularizer == "log-degree")
    factor = 2.0**exponent
    scaled = solve(factor * Z, factor**2 * psi, regularizer)
    assert_same(factor * scaled, solve(Z, psi, regularizer))


@given(
    Z=costs(integers),
    exponent=st.floats(-6, 3),
    shift=st.integers(-1000, 10**6).map(float),
)
def test_a_constant_added_to_all_costs_changes_nothing(
    Z: Array, exponent: float, shift: float
) -> None:
    # frobenius: the sum of the weights is given. Integers, so that the sums are exact.
    psi = 10.0**exponent
    assert_same(solve(Z + shift, psi), solve(Z, psi), 1e-12)


@given(problem=problems(), other=problems())
def test_a_warm_start_from_any_problem_gives_the_same_graph(
    problem: tuple[Array, float, str], other: tuple[Array, float, str]
) -> None:
    Z, psi, regularizer = problem
    m = len(Z)
    Z_other = np.resize(other[0], (m, m))
    Z_other = (Z_other + Z_other.T) / 2
    cold = graph_step(Z[None], psi, regularizer=regularizer)
    start = graph_step(Z_other[None], other[1], regularizer=regularizer).dual
    warm = graph_step(Z[None], psi, regularizer=regularizer, start=start)
    assert_same(warm.weights[0], cold.weights[0])
    again = graph_step(Z[None], psi, regularizer=regularizer, start=cold.dual)
    assert_same(again.weights[0], cold.weights[0])


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@given(m=sizes, seed=st.integers(0, 2**32 - 1), exponents=st.lists(st.floats(-3, 3), min_size=2))
def test_a_batch_is_its_problems_one_by_one(
    regularizer: str, m: int, seed: int, exponents: list[float]
) -> None:
    rng = np.random.default_rng(seed)
    Z = np.stack([adjacency_from_edges(rng.exponential(size=m * (m - 1) // 2)) for _ in exponents])
    psi = 10.0 ** np.array(exponents)
    together = graph_step(Z, psi, regularizer=regularizer).weights
    for k in range(len(psi)):
        assert_same(together[k], solve(Z[k], psi[k], regularizer), 1e-12)


@given(problem=problems(), data=st.data())
def test_forbidden_pairs(problem: tuple[Array, float, str], data: st.DataObject) -> None:
    Z, psi, regularizer = problem
    m = len(Z)
    forbidden = adjacency_from_edges(data.draw(arrays(bool, m * (m - 1) // 2))) > 0
    path = np.arange(m - 1)
    forbidden[path, path + 1] = forbidden[path + 1, path] = False  # no node is cut off
    Z = np.where(forbidden, np.inf, Z)
    step = graph_step(Z[None], psi, regularizer=regularizer)
    W = step.weights[0]
    assert not W[forbidden].any()
    assert np.all(np.isneginf(step.scores[0][forbidden]))
    bar = {"frobenius": 1e-10, "log-degree": 1e-9}[regularizer]
    assert optimality(W, Z, psi, regularizer=regularizer).worst <= bar
    # forbidding what was not used anyway changes nothing
    unused = (W == 0) & ~np.eye(m, dtype=bool)
    # a pair with a weight of rounding size may be in one triangle only
    unused &= unused.T
    assert_same(solve(np.where(unused, np.inf, Z), psi, regularizer), W)


@given(problem=problems(), pair=st.integers(0, 20), factor=st.floats(1.0, 100.0))
def test_a_dearer_edge_is_never_heavier(
    problem: tuple[Array, float, str], pair: int, factor: float
) -> None:
    # convexity: the weight that a cost multiplies falls as the cost rises
    Z, psi, regularizer = problem
    rows, cols = np.triu_indices(len(Z), 1)
    i, j = rows[pair % len(rows)], cols[pair % len(rows)]
    dearer = Z.copy()
    dearer[i, j] = dearer[j, i] = factor * Z[i, j] + (factor - 1) * psi
    before, after = solve(Z, psi, regularizer), solve(dearer, psi, regularizer)
    assert after[i, j] <= before[i, j] + 1e-9 * before.max()
