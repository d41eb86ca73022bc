"""Metrics against hand-computed values and scikit-learn; batches against the scalar reference."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from sklearn.cluster import SpectralClustering
from sklearn.metrics import average_precision_score, f1_score, normalized_mutual_info_score

from kgl.laplacian import adjacency_from_edges
from kgl.metrics import (
    aps,
    aps_many,
    density,
    f_score,
    mse_signals,
    nmi,
    spectral_clusters,
    sse_graph,
    sse_many,
)

Array = NDArray[np.float64]
SIZES = st.sampled_from([1, 3, 6, 15, 45])
# a handful of values, so that most pairs tie
TIED = st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.5, 1e-3, 1 + 2**-52])


@st.composite
def problems(draw: st.DrawFn, elements: st.SearchStrategy[float]) -> tuple[Array, Array]:
    n_edges, rows = draw(SIZES), draw(st.integers(1, 6))
    truth = draw(hnp.arrays(float, n_edges, elements=st.sampled_from([0.0, 0.7, 1.0])))
    truth[draw(st.integers(0, n_edges - 1))] = 1.0
    return truth, draw(hnp.arrays(float, (rows, n_edges), elements=elements))


def random_problem(seed: int, m: int = 12) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    n_edges = m * (m - 1) // 2
    truth = rng.random(n_edges) * (rng.random(n_edges) < 0.3)
    return truth, rng.random(n_edges) * (rng.random(n_edges) < 0.5)


# ---------------------------------------------------------------------------------------- APS


def test_aps_by_hand() -> None:
    # ranking: true, false, true -> 1/2 * 1/1 + 1/2 * 2/3
    assert aps([1, 0, 1], [3, 2, 1]) == pytest.approx(1 / 2 + 1 / 3)
    assert aps([1, 0, 1], [1, 2, 3]) == pytest.approx(1 / 2 + 1 / 3)
    assert aps([0, 1, 0], [3, 2, 1]) == pytest.approx(1 / 2)
    # one tie of everything: the density of the truth
    assert aps([1, 0, 0], [2, 2, 2]) == pytest.approx(1 / 3)
    assert aps([1, 0, 0, 0, 1, 0], np.zeros(6)) == pytest.approx(1 / 3)
    # four pairs tie at zero, of which one is true
    assert aps([1, 1, 0, 0, 0, 0], [5, 0, 4, 0, 0, 0]) == pytest.approx(1 / 2 + 1 / 2 * 2 / 6)


@given(problems(TIED))
@settings(max_examples=100, deadline=None)
def test_aps_many_equals_sklearn_with_ties(problem: tuple[Array, Array]) -> None:
    truth, scores = problem
    expected = [average_precision_score(truth != 0, row) for row in scores]
    np.testing.assert_allclose(
        aps_many(truth, scores, threshold=None), expected, rtol=0, atol=1e-12
    )


@given(problems(st.floats(-1e300, 1e300)))
@settings(max_examples=60, deadline=None)
def test_aps_many_equals_sklearn_on_any_scores(problem: tuple[Array, Array]) -> None:
    truth, scores = problem
    expected = [average_precision_score(truth != 0, row) for row in scores]
    np.testing.assert_allclose(
        aps_many(truth, scores, threshold=None), expected, rtol=0, atol=1e-12
    )
    single = [aps(truth, row, threshold=None) for row in scores]
    np.testing.assert_allclose(single, expected, rtol=0, atol=1e-12)


@given(problems(TIED), st.sampled_from([None, 0.0, 1e-6, 1e-4, 0.01, 0.6]))
@settings(max_examples=60, deadline=None)
def test_batch_equals_scalar(problem: tuple[Array, Array], threshold: float | None) -> None:
    truth, scores = problem
    single = [aps(truth, row, threshold=threshold) for row in scores]
    np.testing.assert_allclose(aps_many(truth, scores, threshold=threshold), single, atol=1e-12)
    for normalize in (False, True):
        np.testing.assert_allclose(
            sse_many(truth, scores, normalize=normalize),
            [sse_graph(truth, row, normalize=normalize) for row in scores],
            rtol=1e-13,
        )


@pytest.mark.parametrize("seed", range(5))
def test_permuting_nodes_changes_nothing(seed: int) -> None:
    truth, estimate = (adjacency_from_edges(w) for w in random_problem(seed))
    order = np.random.default_rng(seed).permutation(len(truth))
    P = np.ix_(order, order)
    assert aps(truth[P], estimate[P]) == pytest.approx(aps(truth, estimate), abs=1e-13)
    assert f_score(truth[P], estimate[P]) == pytest.approx(f_score(truth, estimate), abs=1e-13)
    assert sse_graph(truth[P], estimate[P]) == pytest.approx(sse_graph(truth, estimate))


def test_forbidden_edges_rank_last_and_tie() -> None:
    truth = [1, 0, 1, 0, 0, 0]
    scores = np.array([3.0, -np.inf, -np.inf, 2.0, -7.0, -np.inf])
    # after 3, 2 and -7 the three forbidden pairs enter together
    expected = 1 / 2 * 1 + 1 / 2 * 2 / 6
    assert aps(truth, scores, threshold=None) == pytest.approx(expected)
    assert aps_many(truth, scores[None], threshold=None)[0] == pytest.approx(expected)
    lower = np.where(np.isinf(scores), -1e9, scores)
    assert aps(truth, lower, threshold=None) == pytest.approx(expected)
    # -inf stays below any finite score, however low
    assert aps([1, 0, 0], [-1.7e308, -np.inf, -np.inf], threshold=None) == 1.0
    matrix = adjacency_from_edges(scores)
    assert aps(truth, matrix, threshold=None) == pytest.approx(expected)


def test_threshold_ties_the_noise_of_a_solver() -> None:
    truth, weights = random_problem(3)
    noise = 1e-9 * np.random.default_rng(0).random(truth.size)
    noisy = np.where(weights > 0, weights, noise)
    assert aps(truth, noisy) == pytest.approx(aps(truth, weights), abs=1e-13)
    assert aps(truth, noisy - 1e-10) == pytest.approx(aps(truth, weights), abs=1e-13)
    assert aps(truth, noisy, threshold=None) != pytest.approx(aps(truth, weights), abs=1e-3)
    assert aps(truth, noisy, threshold=0.0) == aps(truth, noisy, threshold=None)


def test_threshold_is_relative_to_each_row() -> None:
    truth = [1, 0, 0]
    row = np.array([1.0, 2e-4, 5e-5])
    scores = np.stack([row, 1e-6 * row, 1e6 * row])
    np.testing.assert_allclose(aps_many([0, 0, 1], scores), 1 / 3)
    # one threshold for the whole batch would empty the light rows and score 1/3 here
    np.testing.assert_allclose(aps_many(truth, scores), 1.0)
    np.testing.assert_allclose(aps_many([0, 1, 0], scores), 1 / 2)
    # the second pair is above the threshold, and below it once scaled down
    second = aps_many([0, 1, 0], np.stack([row, row * [1, 0.4, 1]]))
    np.testing.assert_allclose(second, [1 / 2, 1 / 3])
    assert density(row) == pytest.approx(2 / 3)
    assert aps(truth, row) == 1.0


def test_matrices_and_edge_vectors_are_the_same_graph() -> None:
    truth, estimate = random_problem(0)
    W_0, W = adjacency_from_edges(truth), adjacency_from_edges(estimate)
    diagonal = W + np.diag(np.full(len(W), 9.0))  # not read
    for a in (truth, W_0):
        for b in (estimate, W, diagonal):
            assert aps(a, b) == aps(truth, estimate)
            assert sse_graph(a, b) == sse_graph(truth, estimate)
            assert f_score(a, b) == f_score(truth, estimate)
    assert density(W) == density(estimate)
    stack = np.stack([W, W_0])
    np.testing.assert_array_equal(aps_many(W_0, stack), aps_many(truth, [estimate, truth]))
    np.testing.assert_array_equal(sse_many(W_0, stack), sse_many(truth, [estimate, truth]))
    # the Frobenius norm of the matrices themselves
    full = np.sum((W - W_0) ** 2) / np.sum(W_0**2)
    assert sse_graph(W_0, W) == pytest.approx(full, rel=1e-13)


# ---------------------------------------------------------------------------------------- SSE


def test_sse_by_hand() -> None:
    assert sse_graph([3, 4, 0], [3, 4, 0]) == 0.0
    assert sse_graph([3, 4, 0], [0, 0, 0]) == 1.0
    assert sse_graph([3, 4, 0], [3, 4, 5]) == pytest.approx(1.0)
    assert sse_graph([3, 4, 0], [1, 2, 2]) == pytest.approx((4 + 4 + 4) / 25)


def test_sse_normalize() -> None:
    truth, estimate = random_problem(4)
    scaled = sse_graph(truth, 17.0 * estimate, normalize=True)
    assert scaled == pytest.approx(sse_graph(truth, estimate * truth.sum() / estimate.sum()))
    assert scaled != pytest.approx(sse_graph(truth, estimate), abs=1e-3)
    assert sse_graph(truth, np.zeros_like(truth), normalize=True) == 1.0


# ----------------------------------------------------------------------- F score and density


def test_density() -> None:
    assert density([1, 0, 0, 1, 1, 0]) == 0.5
    assert density(np.zeros(3)) == 0.0
    assert density([1.0, 1e-5, 0.0]) == pytest.approx(1 / 3)
    assert density([1.0, 1e-5, 0.0], threshold=0.0) == pytest.approx(2 / 3)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [None, 0.02, 0.1, 0.3, 0.5, 1.0])
def test_f_score_equals_sklearn_without_ties(seed: int, share: float | None) -> None:
    truth, _ = random_problem(seed)
    scores = np.random.default_rng(seed).standard_normal(truth.size)
    k = (truth > 0).sum() if share is None else round(share * truth.size)
    kept = scores >= np.sort(scores)[-k]
    assert f_score(truth, scores, density=share, threshold=None) == pytest.approx(
        f1_score(truth > 0, kept)
    )


def test_f_score_ties_are_an_expectation() -> None:
    truth = np.array([1, 1, 0, 0, 0, 0])
    tied = np.array([3.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    # keeps the first and one of the next three, one of which is true: TP = 1 + 1/3
    assert f_score(truth, tied) == pytest.approx(2 * (4 / 3) / (2 + 2))
    picks = []
    for chosen in (1, 2, 3):
        kept = np.zeros(6, dtype=bool)
        kept[[0, chosen]] = True
        picks.append(f1_score(truth, kept))
    assert f_score(truth, tied) == pytest.approx(np.mean(picks))
    assert f_score(truth[::-1], tied[::-1]) == pytest.approx(np.mean(picks))


@pytest.mark.parametrize("share", [0.0, -0.1, 1.5, np.nan])
def test_f_score_bad_density(share: float) -> None:
    with pytest.raises(ValueError, match=f"density={share}"):
        f_score([1, 0, 0], [1, 0, 0], density=share)


# ---------------------------------------------------------------------------- bad graph input


@pytest.mark.parametrize("score", [aps, f_score, sse_graph])
@pytest.mark.parametrize(
    ("truth", "estimate", "message"),
    [
        ([1, 0, 0], [1, 0, 0, 0, 0, 0], "W_true has 3 pairs of nodes and W_est has 6"),
        ([1, 0], [1, 0], "2 is not of that form"),
        (np.ones((3, 2)), [1, 0, 0], "W_true has shape"),
        ([1, 0, 0], np.ones((2, 3, 3)), "W_est has shape"),
        ([1, 0, 0], np.triu(np.ones((3, 3))), "W_est is not symmetric"),
        ([1, 0, 0], [1, np.nan, 0], "W_est contains NaN"),
        ([1, np.nan, 0], [1, 0, 0], "W_true contains NaN"),
        ([1, 0, 0], [np.inf, 0, 0], "infinite"),
        ([1, 0, 0], [-np.inf, 0, 0], "infinite"),
        ([0, 0, 0], [1, 0, 0], "W_true has no edge"),
        ([], [], "at least 2 nodes"),
        (["a", "b", "c"], [1, 0, 0], "W_true does not hold numbers"),
    ],
)
def test_bad_graphs(score: Any, truth: Any, estimate: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score(truth, estimate)


@pytest.mark.parametrize("score", [aps, f_score])
def test_a_laplacian_is_not_a_weight_matrix(score: Any) -> None:
    W = adjacency_from_edges(np.array([1.0, 1.0, 0.0]))
    L = np.diag(W.sum(0)) - W
    with pytest.raises(ValueError, match=r"negative weight -1.*not the Laplacian"):
        score(W, L)
    with pytest.raises(ValueError, match="negative total weight"):
        sse_graph(W, L, normalize=True)


@pytest.mark.parametrize("threshold", [-1e-3, 1.0, np.nan])
def test_bad_threshold(threshold: float) -> None:
    with pytest.raises(ValueError, match=f"threshold={threshold}"):
        aps([1, 0, 0], [1, 0, 0], threshold=threshold)


def test_positive_infinite_score() -> None:
    with pytest.raises(ValueError, match=r"\+inf"):
        aps([1, 0, 0], [np.inf, 0, 0], threshold=None)


@pytest.mark.parametrize("many", [aps_many, sse_many])
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.ones((4, 6)), r"shape \(4, 6\); the true graph has 3 pairs"),
        (np.ones(3), r"shape \(3,\)"),
        (np.array([[1.0, 0, 0], [1.0, np.nan, 0]]), "NaN in row 1"),
        (np.array([[1.0, np.inf, 0]]), "infinite"),
        (np.ones((2, 3, 4)), "square"),
    ],
)
def test_bad_batches(many: Any, scores: Array, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        many([1, 0, 1], scores)


def test_inputs_are_not_changed() -> None:
    truth, estimate = random_problem(5)
    scores = np.stack([estimate, truth])
    W = adjacency_from_edges(estimate)
    originals = [truth, estimate, scores, W]
    copies = [a.copy() for a in originals]
    for a in originals:
        a.flags.writeable = False
    aps(truth, W)
    aps_many(truth, scores, threshold=0.2)
    sse_graph(truth, W, normalize=True)
    sse_many(truth, scores, normalize=True)
    f_score(truth, W)
    density(W)
    spectral_clusters(W, 3)
    for a, b in zip(originals, copies, strict=True):
        np.testing.assert_array_equal(a, b)


# ------------------------------------------------------------------------------------ signals


def test_mse_by_hand() -> None:
    Y = np.array([[1.0, 2.0], [3.0, 4.0]])
    fit = np.array([[1.5, 2.0], [0.0, 5.0]])
    mask = np.array([[True, False], [False, True]])
    assert mse_signals(Y, fit, mask) == pytest.approx((0 + 9) / 2)
    assert mse_signals(Y, fit, mask, out_of_sample=False) == pytest.approx((0.25 + 1) / 2)
    assert mse_signals(Y, fit) == pytest.approx((0.25 + 9 + 1) / 4)
    assert mse_signals(Y, fit, mask.astype(int)) == mse_signals(Y, fit, mask)
    assert mse_signals(Y, fit, mask.astype(float)) == mse_signals(Y, fit, mask)


def test_mse_without_entries_is_nan() -> None:
    Y = np.ones((2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(mse_signals(Y, Y, np.ones((2, 2), dtype=bool)))
        assert np.isnan(mse_signals(Y, Y, np.zeros((2, 2), dtype=bool), out_of_sample=False))


def test_mse_needs_numbers_only_where_it_scores() -> None:
    Y = np.array([[np.nan, 2.0]])
    fit = np.array([[1.0, 3.0]])
    assert mse_signals(Y, fit, [[False, True]], out_of_sample=False) == 1.0
    with pytest.raises(ValueError, match="Y_true is NaN or infinite at 1 of the 1 entries"):
        mse_signals(Y, fit, [[False, True]])
    with pytest.raises(ValueError, match="Y_true is NaN"):
        mse_signals(Y, fit)
    with pytest.raises(ValueError, match="Y_hat is NaN"):
        mse_signals(fit, Y)


@pytest.mark.parametrize(
    ("Y", "fit", "mask", "message"),
    [
        (np.ones((2, 2)), np.ones((2, 3)), None, r"\(2, 2\) and Y_hat \(2, 3\)"),
        (np.ones(2), np.ones(2), None, "n x m"),
        (np.ones((2, 2)), np.ones((2, 2)), np.ones((2, 1)), r"mask has shape \(2, 1\)"),
        (np.ones((1, 2)), np.ones((1, 2)), [[0.5, 1]], "True means observed"),
        (np.ones((1, 2)), np.ones((1, 2)), [[np.nan, 1]], "True means observed"),
    ],
)
def test_bad_signals(Y: Any, fit: Any, mask: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mse_signals(Y, fit, mask)


# ----------------------------------------------------------------------------------- clusters


def planted(sizes: list[int], inside: float, across: float, seed: int) -> tuple[Any, Array]:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(labels[:, None] == labels, inside, across)
    upper = np.triu(rng.random(chance.shape) < chance, 1) * rng.random(chance.shape)
    return labels, upper + upper.T


@pytest.fixture
def no_warnings() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.usefixtures("no_warnings")
def test_connected_graph_is_clustered_as_by_sklearn() -> None:
    for seed in range(5):
        labels, W = planted([7, 6, 8], 0.9, 0.15, seed)
        model = SpectralClustering(3, affinity="precomputed", random_state=4)
        expected = model.fit_predict(W)
        np.testing.assert_array_equal(spectral_clusters(W, 3, seed=4), expected)
        assert nmi(labels, W, seed=4) == pytest.approx(
            normalized_mutual_info_score(labels, expected)
        )


@pytest.mark.usefixtures("no_warnings")
def test_components_are_found_without_a_warning() -> None:
    for seed in range(5):
        labels, W = planted([7, 6, 8, 6, 5], 1.0, 0.0, seed)
        assert nmi(labels, W) == pytest.approx(1.0)
        assert nmi(labels, 1e-9 * W) == pytest.approx(1.0)  # no scale of its own


@pytest.mark.usefixtures("no_warnings")
def test_more_components_than_clusters_and_isolated_nodes() -> None:
    labels, W = planted([6, 6, 6, 6], 1.0, 0.0, 0)
    found = spectral_clusters(W, 2)
    assert len(np.unique(found)) == 2
    # no component is torn apart
    assert all(len(np.unique(found[labels == k])) == 1 for k in range(4))
    W[0] = W[:, 0] = 0.0
    assert spectral_clusters(W, 4).shape == (24,)
    assert nmi(labels, W) > 0.7


@pytest.mark.usefixtures("no_warnings")
def test_degenerate_clusterings() -> None:
    np.testing.assert_array_equal(spectral_clusters(np.zeros((5, 5)), 3), 0)
    assert nmi([0, 0, 1, 1, 2], np.zeros((5, 5))) == 0.0
    W = np.ones((4, 4))
    np.testing.assert_array_equal(spectral_clusters(W, 1), 0)
    np.testing.assert_array_equal(np.sort(spectral_clusters(W, 4)), np.arange(4))
    assert len(np.unique(spectral_clusters([1.0], 2))) == 2
    assert spectral_clusters([1.0, 1.0, -1e-12], 2).shape == (3,)  # noise of a solver


def test_nmi_of_labels() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, 60), rng.integers(0, 3, 60)
    assert nmi(a, b) == pytest.approx(normalized_mutual_info_score(a, b))
    assert nmi(a, b) == pytest.approx(nmi(b, a))
    assert nmi(a, 3 - a) == pytest.approx(1.0)
    # by hand: I = log 2 / 2 from a half-split, H(a) = log 2, H(b) = (3/2) log 2
    assert nmi(["u", "u", "v", "v"], [0, 0, 1, 2]) == pytest.approx(2 * 1 / (1 + 1.5))


@pytest.mark.parametrize(
    ("labels", "other", "n_clusters", "message"),
    [
        ([0, 1], [0, 1, 1], None, r"shape \(3,\) for 2 true labels"),
        ([0, 1], np.zeros((3, 3)), None, r"shape \(3, 3\) for 2 true labels"),
        ([[0, 1]], [0, 1], None, "one label per node"),
        ([0, 1], [0, 1], 2, "n_clusters=2 with labels given"),
        ([0, 1], np.zeros((2, 2)), 3, "k=3 clusters of 2 nodes"),
        ([0, 1], np.zeros((2, 2)), 0, "k=0 clusters"),
        ([0, 1], -np.ones((2, 2)), None, "negative weight"),
    ],
)
def test_bad_clusters(labels: Any, other: Any, n_clusters: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nmi(labels, other, n_clusters)
