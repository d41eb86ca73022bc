"""Scores of sparse graphs are those of the same graphs as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from kgl import metrics
from kgl._types import Array


def random_graph(rng: np.random.Generator, m: int, density: float) -> Array:
    """Return weights with ties, so that ranks share steps."""
    W = np.triu(rng.integers(1, 5, size=(m, m)) * (rng.random((m, m)) < density), 1) * 0.25
    return np.asarray(W + W.T)


def pairs() -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(0)
    found = []
    for m in (4, 6, 9, 12):
        for density in (0.15, 0.4, 0.8):
            truth, estimate = random_graph(rng, m, 0.4), random_graph(rng, m, density)
            truth[0, 1] = truth[1, 0] = 1.0
            estimate[2, 3] = estimate[3, 2] = 1.0
            found.append((truth, estimate))
    return found


@pytest.mark.parametrize("threshold", [0.0, 1e-4, 0.3, 0.6])
@pytest.mark.parametrize(("truth", "estimate"), pairs())
def test_they_agree(truth: Array, estimate: Array, threshold: float) -> None:
    few = sparse.csr_array(truth), sparse.csr_array(estimate)
    both: list[tuple[Any, Any]] = [few, (few[0], estimate), (truth, few[1])]
    for one, two in both:
        for name in ("aps", "f_score"):
            score = getattr(metrics, name)
            expected = score(truth, estimate, threshold=threshold)
            assert score(one, two, threshold=threshold) == pytest.approx(expected, rel=1e-12)
        for density in (0.1, 0.5, 1.0):
            how = {"density": density, "threshold": threshold}
            expected = metrics.f_score(truth, estimate, **how)
            assert metrics.f_score(one, two, **how) == pytest.approx(expected, rel=1e-12)
        for normalize in (False, True):
            expected = metrics.sse_graph(truth, estimate, normalize=normalize)
            found = metrics.sse_graph(one, two, normalize=normalize)
            assert found == pytest.approx(expected, rel=1e-12)
    expected = metrics.density(estimate, threshold=threshold)
    assert metrics.density(few[1], threshold=threshold) == expected


def test_the_graph_without_edges() -> None:
    empty, one = sparse.csr_array((4, 4)), sparse.csr_array(np.ones((4, 4)) - np.eye(4))
    assert metrics.density(empty) == 0.0
    assert metrics.f_score(one, empty) == 0.0
    assert metrics.aps(one, empty) == 1.0
    assert metrics.aps(sparse.csr_array(np.diag([1.0, 0, 0], 1) + np.diag([1.0, 0, 0], -1)), empty
                       ) == pytest.approx(1 / 6)  # fmt: skip
    for score in (metrics.aps, metrics.f_score):
        with pytest.raises(ValueError, match="W_true has no edge"):
            score(empty, one)


def test_an_estimate_with_fewer_edges_than_asked_for_keeps_what_it_has() -> None:
    truth, estimate = [1, 1, 1, 0, 0, 0], [0.5, 0, 0, 0.2, 0, 0]
    # two kept, one of them true, of three true edges
    assert metrics.f_score(truth, estimate) == pytest.approx(2 * 1 / (2 + 3))
    assert metrics.f_score(truth, estimate, density=1.0) == pytest.approx(2 * 1 / (2 + 3))


def ring(m: int) -> Array:
    W = np.zeros((m, m))
    nodes = np.arange(m)
    W[nodes, (nodes + 1) % m] = W[(nodes + 1) % m, nodes] = 1.0
    return W


def test_clusters() -> None:
    W = np.kron(np.eye(2), np.ones((5, 5)) - np.eye(5))
    W[0, 5] = W[5, 0] = 0.05
    labels = metrics.spectral_clusters(sparse.csr_array(W), 2)
    assert metrics.nmi(np.repeat([0, 1], 5), labels) == 1.0
    assert metrics.nmi(np.repeat([0, 1], 5), sparse.csr_array(W)) == 1.0
    assert metrics.nmi(np.repeat([0, 1], 5), sparse.csr_array(W), n_clusters=1) == 0.0
    assert not metrics.spectral_clusters(sparse.csr_array(W), 1).any()
    assert not metrics.spectral_clusters(sparse.csr_array((3, 3)), 2).any()
    apart = sparse.csr_array(np.block([[ring(3), np.zeros((3, 7))], [np.zeros((7, 3)), ring(7)]]))
    with pytest.raises(ValueError, match=r"has 2 components.*the 7 nodes of"):
        metrics.spectral_clusters(apart, 2)


def test_average_precision_never_exceeds_one() -> None:
    # scikit-learn's sum of recall steps ends at 1.0000000000000002 for some of these
    for n_true in range(1, 60):
        truth = np.arange(78) < n_true
        ranks = np.arange(78.0)[::-1]
        assert metrics.aps(truth, ranks, threshold=None) <= 1.0
        assert metrics.aps_many(truth, ranks[None], threshold=None)[0] <= 1.0


def test_one_direction_alone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not symmetric; pass \(W \+ W\.T\) / 2"):
        metrics.density(sparse.csr_array(np.triu(ring(5))))
    rounded = ring(5) + 1e-9 * np.triu(ring(5))
    assert metrics.density(sparse.csr_array(rounded)) == 0.5
