"""The graph step against closed forms and the optimality conditions, at ordinary and odd inputs.

Agreement with CVXPY is the business of test_reference.py; nothing here trusts a solver.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from helpers import REGULARIZERS, distances, n_edges, optimality, permuted

from kgl._types import Array
from kgl.laplacian import adjacency_from_edges, pairwise_sq_distances
from kgl.problem import graph_penalty, kkt_residual
from kgl.solvers.graph_step import GraphStep, graph_step

SIZES = (2, 3, 5, 20, 100, 500)
#: What the project promises; the log-degree multipliers cancel more digits.
BAR = {"frobenius": 1e-10, "log-degree": 1e-9}


def complete(m: int, value: float = 1.0) -> Array:
    return value * (np.ones((m, m)) - np.eye(m))


def scale_of(Z: Array) -> float:
    positive = Z[np.isfinite(Z) & (Z > 0)]
    return float(np.median(positive)) if len(positive) else 1.0


def reach_of(Z: Array) -> float:
    """Return the distance at which even the most remote node has a neighbour."""
    nearest = np.where(np.eye(len(Z), dtype=bool), np.inf, Z).min(axis=1)
    return float(nearest.max()) or scale_of(Z)


def duplicated(m: int) -> Array:
    """Every node has a twin at distance zero (all but one where m is odd)."""
    Y = np.random.default_rng(1).standard_normal((30, m))
    Y[:, m // 2 :] = Y[:, : m - m // 2]
    return pairwise_sq_distances(Y)


def tied(m: int) -> Array:
    """Corners of a cube: many nodes, few different distances."""
    return pairwise_sq_distances(np.random.default_rng(2).integers(0, 2, (4, m)).astype(float))


def outlier(m: int) -> Array:
    Y = np.random.default_rng(3).standard_normal((30, m))
    Y[:, 0] *= 1e4
    return pairwise_sq_distances(Y)


def ring(m: int) -> Array:
    angle = 2 * np.pi * np.arange(m) / m
    Z = pairwise_sq_distances(np.array([np.cos(angle), np.sin(angle)]))
    step = np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
    # exactly, not only nearly, invariant under rotation
    return Z[0][np.minimum(step, m - step)]


INPUTS: dict[str, Callable[[int], Array]] = {
    "random": distances,
    "equal": complete,
    "zero": lambda m: np.zeros((m, m)),
    "duplicated": duplicated,
    "tied": tied,
    "outlier": outlier,
    "ring": ring,
    "tiny": lambda m: 1e-12 * distances(m),
    "huge": lambda m: 1e12 * distances(m),
}


def solve(Z: Array, psi: Array | float, regularizer: str = "frobenius", **more: float) -> GraphStep:
    psi = np.atleast_1d(np.asarray(psi, dtype=float))
    return graph_step(
        np.broadcast_to(Z, (len(psi), *Z.shape)), psi, regularizer=regularizer, **more
    )


def one(Z: Array, psi: float, regularizer: str = "frobenius", **more: float) -> Array:
    return solve(Z, psi, regularizer, **more).weights[0]


def assert_scores(step: GraphStep) -> None:
    m = step.weights.shape[-1]
    off = ~np.eye(m, dtype=bool)
    on = step.weights > 0
    np.testing.assert_array_equal(step.scores[on], step.weights[on])
    assert np.all(step.scores[~on] <= 0)
    assert np.all(np.isneginf(step.scores[:, ~off]))
    assert not np.isnan(step.scores).any()


# --- the optimality conditions, everywhere ------------------------------------------------------


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("m", SIZES)
def test_frobenius_is_solved_to_rounding_over_fifteen_decades(m: int, kind: str) -> None:
    Z = INPUTS[kind](m)
    psi = scale_of(Z) * 10.0 ** np.arange(-9, 6)
    step = solve(Z, psi)
    for W, p in zip(step.weights, psi, strict=True):
        assert optimality(W, Z, p).worst <= BAR["frobenius"], f"psi = {p:g}"
        assert kkt_residual(W, Z, p) <= BAR["frobenius"], f"psi = {p:g}"
    assert step.residual.max() <= BAR["frobenius"]
    assert_scores(step)
    if kind in {"random", "tiny", "huge"}:
        # the decades include both ends
        assert n_edges(step.weights[0]) == 1
        assert n_edges(step.weights[-1]) == m * (m - 1) // 2


@pytest.mark.parametrize(
    ("m", "kind"),
    # without distances all pairs are edges, and 200 nodes cost a fifteenth of 500
    [(m, kind) for m in SIZES for kind in INPUTS if m < 500 or kind == "random"] + [(200, "zero")],
)
def test_log_degree_is_solved_over_twelve_decades(m: int, kind: str) -> None:
    # The problem has one dimensionless number, psi barrier / Z^2, where Z is the distance that a
    # node has to bridge. The smaller it is, the larger are the multipliers beside the weights,
    # which are their difference: below 1e-8 rounding takes the last digits of the bar.
    Z = INPUTS[kind](m)
    psi = reach_of(Z) ** 2 * 10.0 ** np.arange(-7, 6)
    step = solve(Z, psi, "log-degree")
    for W, p in zip(step.weights, psi, strict=True):
        assert W.sum(axis=1).min() > 0, f"psi = {p:g}"
        judged = optimality(W, Z, p, regularizer="log-degree")
        assert judged.worst <= BAR["log-degree"], f"psi = {p:g}"
        own = kkt_residual(W, Z, p, regularizer="log-degree")
        assert own <= BAR["log-degree"], f"psi = {p:g}"
    assert_scores(step)


@pytest.mark.parametrize("barrier", [1e-3, 1e3])
def test_log_degree_barrier_is_a_weight(barrier: float) -> None:
    Z = distances(12)
    step = solve(Z, [1.0, 100.0], "log-degree", barrier=barrier)
    for W, psi in zip(step.weights, (1.0, 100.0), strict=True):
        judged = optimality(W, Z, psi, regularizer="log-degree", barrier=barrier)
        assert judged.worst <= BAR["log-degree"]
        # Euler's identity, written out
        total = (Z * W).sum() / 2 + 2 * psi * (W**2).sum()
        assert total == pytest.approx(12 * barrier, rel=1e-9)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_the_reported_residual_is_honest(regularizer: str) -> None:
    # Stopped early, a solve must not claim to be one.
    Z = distances(40)
    early = solve(Z, 0.1, regularizer, max_steps=1)
    assert early.n_steps[0] == 1
    assert early.residual[0] > 1e-6
    assert optimality(early.weights[0], Z, 0.1, regularizer=regularizer).worst > 1e-6
    late = solve(Z, 0.1, regularizer)
    assert late.n_steps[0] > 1
    assert late.residual[0] < 1e-10


def test_no_graph_does_better() -> None:
    # The objective itself, against graphs drawn at random and mixed with the solution.
    rng = np.random.default_rng(0)
    Z, psi = distances(7), 3.0
    for regularizer in REGULARIZERS:
        best = one(Z, psi, regularizer)

        def objective(W: Array, regularizer: str = regularizer) -> float:
            return (Z * W).sum() / 2 + graph_penalty(W[None], psi, regularizer)[0]

        for _ in range(200):
            other = adjacency_from_edges(rng.exponential(size=21) * (rng.random(21) < 0.5))
            other *= 7 / other.sum() if other.any() else 0
            for share in (1.0, 1e-1, 1e-3):
                mixed = share * other + (1 - share) * best
                assert objective(mixed) >= objective(best) - 1e-12


# --- closed forms -------------------------------------------------------------------------------


@pytest.mark.parametrize("psi", [1e-9, 1e-3, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("m", [2, 3, 20, 60])
def test_equal_distances_give_the_complete_graph(m: int, psi: float) -> None:
    for value in (0.0, 1.0, 1e-12, 1e12):
        W = one(complete(m, value), psi)
        np.testing.assert_allclose(W, complete(m) / (m - 1), rtol=1e-12, atol=0)


@pytest.mark.parametrize("m", [3, 5, 20, 60])
def test_one_edge_up_to_the_psi_at_which_a_second_enters(m: int) -> None:
    # With the edge (a, b) alone, w = d_a = d_b = m / 2 and t - c_ab = 2 m, so another pair stays
    # out while (Z - Z_ab) / 2 psi >= 2 m less the degrees of its ends.
    Z = distances(m, seed=5)
    rows, cols = np.triu_indices(m, 1)
    z = Z[rows, cols]
    e = z.argmin()
    ends = {rows[e], cols[e]}
    touching = np.array([i in ends or j in ends for i, j in zip(rows, cols, strict=True)])
    others = np.arange(len(z)) != e
    gap = (z - z[e])[others]
    threshold = np.min(gap / np.where(touching[others], 3 * m, 4 * m))
    assert n_edges(one(Z, threshold * (1 - 1e-9))) == 1
    assert n_edges(one(Z, threshold * (1 + 1e-9))) == 2


@pytest.mark.parametrize("m", [3, 5, 20, 60])
def test_every_edge_active_is_linear_algebra(m: int) -> None:
    # All w > 0: summing 2 w = t - c - d_i - d_j over j, then over i, gives d and t in turn.
    Z = distances(m, seed=6)
    off = ~np.eye(m, dtype=bool)

    def linear(psi: float) -> Array:
        C = np.where(off, Z, 0) / (2 * psi)
        t = (2 * m**2 + C.sum()) / (m * (m - 1))
        d = ((m - 1) * t - C.sum(axis=1) - m) / m
        return np.where(off, t - C - d[:, None] - d, 0) / 2

    # w = w_infinity + slope / psi reaches zero first at this psi
    slope = linear(1.0) - complete(m) / (m - 1)
    threshold = np.max(-slope[off]) * (m - 1)
    for psi in (1.001 * threshold, 10 * threshold, 1e4 * threshold):
        W = one(Z, psi)
        assert n_edges(W) == m * (m - 1) // 2
        np.testing.assert_allclose(W, linear(psi), rtol=1e-9, atol=1e-12)
    assert n_edges(one(Z, 0.999 * threshold)) == m * (m - 1) // 2 - 1


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_a_ring_gives_a_graph_that_rotates(regularizer: str) -> None:
    Z = ring(8)
    rotation = np.roll(np.arange(8), 1)
    reflection = np.arange(8)[::-1]
    n_of = {}
    for psi in (1e-3, 3e-2, 0.1, 0.3, 1.0, 30.0):
        W = one(Z, psi, regularizer)
        np.testing.assert_allclose(W, permuted(W, rotation), rtol=0, atol=1e-13 * W.max())
        np.testing.assert_allclose(W, permuted(W, reflection), rtol=0, atol=1e-13 * W.max())
        n_of[psi] = n_edges(W)
        assert n_of[psi] % 4 == 0
    assert n_of[1e-3] == 8  # nearest neighbours
    if regularizer == "frobenius":
        assert n_of[30.0] == 28


def test_a_ring_of_eight_is_a_projection() -> None:
    # Equal degrees by symmetry, so d = 1 and w = (t - c)_+ / 2 - 1 over the four steps around.
    Z = ring(8)
    multiplicity = np.array([2, 2, 2, 1])
    for psi in (1e-2, 0.05, 0.2, 1.0, 10.0):
        c = Z[0, 1:5] / (2 * psi)
        for k in range(4, 0, -1):  # with the k nearest steps on
            t = (2 + multiplicity[:k] @ c[:k]) / multiplicity[:k].sum()
            if t > c[k - 1]:
                break
        expected = np.maximum(0, (t - c) / 2)
        np.testing.assert_allclose(one(Z, psi)[0, 1:5], expected, rtol=1e-12, atol=1e-14)


# --- edges that are forbidden -------------------------------------------------------------------


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("m", [3, 5, 20, 60])
def test_forbidden_edges_are_left_out(m: int, regularizer: str) -> None:
    rng = np.random.default_rng(m)
    free = distances(m)
    forbidden = np.triu(rng.random((m, m)) < 0.6, 1)
    forbidden[np.arange(m - 1), np.arange(1, m)] = False  # a path keeps every node reachable
    forbidden[0, m - 1] = True
    forbidden |= forbidden.T
    Z = np.where(forbidden, np.inf, free)
    # ten decades from the scale at which the path itself is all there is
    psi = scale_of(free) ** (1 if regularizer == "frobenius" else 2) * 10.0 ** np.arange(-5, 6)
    step = solve(Z, psi, regularizer)
    assert np.all(step.weights[:, forbidden] == 0)
    assert np.all(np.isneginf(step.scores[:, forbidden]))
    assert_scores(step)
    for W, p in zip(step.weights, psi, strict=True):
        assert optimality(W, Z, p, regularizer=regularizer).worst <= BAR[regularizer]
    assert n_edges(step.weights[-1]) == n_edges(~forbidden & ~np.eye(m, dtype=bool))


def test_a_node_may_lose_all_its_edges() -> None:
    # frobenius: the rest is then the same problem on m - 1 nodes, but with the trace of m.
    Z = distances(6)
    Z[0, :] = Z[:, 0] = np.inf
    for psi in (0.01, 1.0, 100.0):
        W = one(Z, psi)
        assert not W[0].any()
        assert optimality(W, Z, psi).worst <= BAR["frobenius"]


# --- the interface ------------------------------------------------------------------------------


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("m", [5, 20, 60])
def test_a_warm_start_changes_the_time_and_not_the_answer(m: int, regularizer: str) -> None:
    Z = np.stack([distances(m, seed) for seed in range(5)])
    psi = scale_of(Z) * np.array([1e-2, 0.1, 1.0, 10.0, 100.0])
    cold = graph_step(Z, psi, regularizer=regularizer)
    again = graph_step(Z, psi, regularizer=regularizer, start=cold.dual)
    assert np.all(again.n_steps <= 1)
    near = graph_step(1.001 * Z, psi, regularizer=regularizer).dual
    # the dual of another problem, decades away, must do no harm either
    far = cold.dual[::-1]
    for start in (cold.dual, near, far):
        warm = graph_step(Z, psi, regularizer=regularizer, start=start)
        scale = cold.weights.max()
        np.testing.assert_allclose(warm.weights, cold.weights, rtol=1e-9, atol=1e-11 * scale)
        assert warm.residual.max() < 1e-9


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1.0, 1e1, 1e2, 1e3, 1e6])
def test_log_degree_is_solved_in_any_unit(unit: float) -> None:
    # from every edge to one or two edges a node, where psi no longer matters
    Y = np.random.default_rng(0).normal(size=(60, 12))
    Z = pairwise_sq_distances(unit * Y)
    step = graph_step(Z[None], 1.0, regularizer="log-degree")
    assert kkt_residual(step.weights[0], Z, 1.0, regularizer="log-degree") <= 1e-9
    again = graph_step(Z[None], 1.0, regularizer="log-degree", start=step.dual)
    np.testing.assert_allclose(again.weights, step.weights, rtol=1e-6)
