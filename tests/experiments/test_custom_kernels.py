"""Controls: the paper's data with a degraded K_x, another K_z, or no signal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.baselines import inverse_graph, kernel_graph
from experiments.datasets.custom_kernels import custom_kernels, node_kernel, rewired
from experiments.datasets.synthetic import draw, synthetic
from experiments.lookup import ConfigError
from kgl._types import Array
from kgl.metrics import aps
from kgl.seeding import stream
from kgl.simulate import make_dataset, random_graph

GRAPH = {"family": "er", "m": 20, "density": 0.3, "alpha": 100.0, "weights": "uniform"}
GRAPH |= {"connected": False, "options": {}}
DATA = {"dependent": False, "n": 15, "noise": 0.5, "missing": 0.0, "bandwidth": "median_distance"}
OPTIONS = {"signal": True, "side": "oracle", "covariates": 10, "observations": "identity"}
UPPER = np.triu_indices(20, 1)
FAMILIES = pytest.mark.parametrize("family", ["er", "ba", "sbm"])


def settings(graph: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """Settings of a dataset; options by their names, like the other changes of the data."""
    options = OPTIONS | {name: changes.pop(name) for name in OPTIONS if name in changes}
    data = {**DATA, **changes, "options": options}
    return {"seed": 3, "graph": GRAPH | (graph or {}), "data": data}


def kernel(side: str, replicate: int = 0, **changes: Any) -> Array:
    """The node kernel of a replicate."""
    known = settings(**changes)
    made = draw(known, replicate)
    return node_kernel(side, made.W, made.K_x, known, replicate)


def by_hand(W: Array, unit_variance: bool = False) -> Array:
    """The paper's kernel of a graph."""
    K = np.linalg.inv(np.eye(len(W)) + 100.0 * (np.diag(W.sum(axis=1)) - W))
    return K / K.diagonal().mean() if unit_variance else K


@pytest.fixture
def W() -> Array:
    return random_graph("er", 20, np.random.default_rng(0), density=0.3)


def kept(W: Array, share: float, seed: int) -> np.ndarray:
    """Which edges of a graph are still there, with their weight."""
    moved = rewired(W, share, np.random.default_rng(seed))
    return np.asarray((moved[UPPER] == W[UPPER])[W[UPPER] > 0])


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5, 1.0])
def test_a_share_of_the_edges_moves_with_their_weights(W: Array, share: float) -> None:
    before = W.copy()
    edges = np.count_nonzero(W[UPPER])
    staying = edges - round(share * edges)
    for seed in range(20):
        moved = rewired(W, share, np.random.default_rng(seed))
        np.testing.assert_array_equal(moved, moved.T)
        assert not moved.diagonal().any()
        np.testing.assert_array_equal(np.sort(moved[UPPER]), np.sort(W[UPPER]))
        # an edge may return to its own place by chance
        assert staying <= kept(W, share, seed).sum() <= staying + 3 * (share > 0)
    np.testing.assert_array_equal(W, before)


def test_with_all_edges_moved_the_graph_is_independent_of_the_first(W: Array) -> None:
    linked = W[UPPER] > 0
    runs = [rewired(W, 1.0, np.random.default_rng(seed))[UPPER] > 0 for seed in range(400)]
    overlap = np.array([(linked & moved).sum() for moved in runs])
    # as many common edges as a random choice of pairs has: hypergeometric
    E, P = linked.sum(), len(linked)
    deviation = np.sqrt(E * (E / P) * (1 - E / P) * (P - E) / (P - 1) / len(runs))
    assert abs(overlap.mean() - E * E / P) < 4 * deviation
    # and all pairs are equally likely
    often = np.mean(runs, axis=0)
    assert np.abs(often - E / P).max() < 5 * np.sqrt(E / P * (1 - E / P) / len(runs))


def test_shares_are_nested_and_seeds_differ(W: Array) -> None:
    later = earlier = 0
    for seed in range(20):
        few, many = kept(W, 0.25, seed), kept(W, 0.5, seed)
        later += many.sum()
        earlier += (many & few).sum()
    # but for a few that return by chance; independent draws would lose a quarter
    assert earlier > 0.97 * later
    assert not np.array_equal(kept(W, 0.5, 0), kept(W, 0.5, 1))


@pytest.mark.parametrize("unit_variance", [False, True])
def test_kernels_of_the_true_and_of_the_rewired_graph(unit_variance: bool) -> None:
    graph = {"unit_variance": unit_variance}
    made = draw(settings(graph), 0)
    np.testing.assert_array_equal(kernel("oracle", graph=graph), made.K_x)
    np.testing.assert_allclose(made.K_x, by_hand(made.W, unit_variance), atol=1e-12)
    np.testing.assert_allclose(kernel("rewired-0", graph=graph), made.K_x, rtol=1e-10)
    moved = rewired(made.W, 0.5, stream(3, "side-rewired", "er", 20, 0))
    expected = by_hand(moved, unit_variance)
    np.testing.assert_allclose(kernel("rewired-0.5", graph=graph), expected, atol=1e-12)
    np.testing.assert_array_equal(kernel("identity", graph=graph), np.eye(20))


@pytest.mark.parametrize("unit_variance", [False, True])
@pytest.mark.parametrize(
    ("family", "options"),
    [("er", {}), ("ba", {}), ("ba", {"attachment": 2}), ("sbm", {}), ("sbm", {"blocks": 4})],
)
def test_an_unrelated_kernel_is_that_of_a_shuffled_graph_of_the_family(
    family: str, options: dict[str, Any], unit_variance: bool
) -> None:
    graph = {"family": family, "options": options, "unit_variance": unit_variance}
    for replicate in range(2):
        names = family, 20, replicate
        rng = stream(3, "side-unrelated", *names)
        drawn = random_graph(family, 20, rng, density=0.3, **options)
        order = stream(3, "side-shuffled", *names).permutation(20)
        expected = by_hand(drawn[np.ix_(order, order)], unit_variance)
        found = kernel("unrelated", replicate, graph=graph)
        np.testing.assert_allclose(found, expected, atol=1e-9)


@FAMILIES
def test_an_unrelated_graph_shares_edges_with_the_true_one_by_chance_alone(family: str) -> None:
    more = []
    for replicate in range(60):
        true = draw(settings({"family": family}), replicate).W[UPPER] > 0
        K_x = kernel("unrelated", replicate, graph={"family": family})
        other = inverse_graph(np.zeros((1, 20)), K_x=K_x)[UPPER] > 1e-9
        more.append((true & other).sum() - true.sum() * other.sum() / len(true))
    # without the shuffle, hubs and blocks would be at the same nodes
    assert abs(np.mean(more)) < 3 * np.std(more, ddof=1) / np.sqrt(len(more))


def test_the_kernel_of_covariates_is_an_rbf_of_smooth_signals_with_noise() -> None:
    known = settings(covariates=6)
    made = draw(known, 1)
    values, vectors = np.linalg.eigh(made.K_x)
    root = (vectors * np.sqrt(values)) @ vectors.T
    smooth = stream(3, "side-covariates", "er", 20, 1).standard_normal((6, 20)) @ root
    smooth /= smooth.std(axis=1, keepdims=True)
    # one draw of noise for all levels
    noise = stream(3, "side-covariate-noise", "er", 20, 1).standard_normal((6, 20))
    for level in (0.0, 0.25, 4.0):
        noisy = smooth + np.sqrt(level) * noise
        squares = ((noisy[:, :, None] - noisy[:, None]) ** 2).sum(axis=0)
        expected = np.exp(-squares / np.median(squares[UPPER]))
        K_x = node_kernel(f"covariates-{level:g}", made.W, made.K_x, known, 1)
        np.testing.assert_allclose(K_x, expected, atol=1e-10)


def test_informativeness_falls_with_the_noise_of_covariates() -> None:
    sides = ("oracle", *(f"covariates-{v}" for v in ("0", "0.25", "1", "4")), "unrelated")
    agreement = []
    for side in sides:
        graphs = [kernel_graph(np.zeros((1, 20)), K_x=kernel(side, k)) for k in range(20)]
        scores = [aps(draw(settings(), k).W, graph) for k, graph in enumerate(graphs)]
        agreement.append(float(np.mean(scores)))
    assert agreement == sorted(agreement, reverse=True)
    assert agreement[1] > agreement[4] + 0.05
    assert agreement[4] == pytest.approx(agreement[5], abs=0.1)


@pytest.mark.parametrize("side", ["rewired-0.5", "covariates-1", "unrelated"])
def test_kernels_are_deterministic_and_differ_between_replicates_and_seeds(side: str) -> None:
    made = draw(settings(), 0)
    first, again, replicate, seed = (
        node_kernel(side, made.W, made.K_x, {**settings(), "seed": seed}, k)
        for seed, k in ((3, 0), (3, 0), (3, 1), (4, 0))
    )
    np.testing.assert_array_equal(first, again)
    assert min(np.abs(first - replicate).max(), np.abs(first - seed).max()) > 1e-3


VALID = "oracle, rewired-, covariates-, unrelated, identity"


@pytest.mark.parametrize(
    ("side", "remedy"),
    [(side, VALID) for side in ("truth", "rewired", "oracle-1", "")]
    + [(f"rewired-{v}", "from 0 to 1") for v in ("", "half", "1.5", "-0.1", "nan")]
    + [(f"covariates-{v}", "from 0 must") for v in ("", "-1", "inf")],
)
def test_an_invalid_side_is_refused(side: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        custom_kernels(settings(side=side), 0)
    assert f"data.options.side = {side!r}" in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("side", ["oracle", "rewired-0.5", "unrelated", "identity"])
def test_another_side_changes_k_x_alone(side: str, dependent: bool) -> None:
    observations = "1" if dependent else "identity"
    known = settings(dependent=dependent, observations=observations, missing=0.3, side=side)
    arrays, paper = custom_kernels(known, 0), synthetic(known, 0)
    assert set(arrays) == set(paper)
    for name in set(paper) - {"K_x"}:
        np.testing.assert_allclose(arrays[name], paper[name], rtol=1e-12, err_msg=name)
    np.testing.assert_array_equal(arrays["K_x"], kernel(side))
    assert np.array_equal(arrays["K_x"], paper["K_x"]) == (side == "oracle")


@pytest.mark.parametrize("dependent", [False, True])
def test_pure_noise_is_the_noise_of_the_papers_data(dependent: bool) -> None:
    arrays = custom_kernels(settings(signal=False, dependent=dependent, missing=0.4), 1)
    made = make_dataset(
        "er", m=20, n=15, noise=0.5, missing=0.4, dependent=dependent, seed=3, replicate=1
    )
    noise = stream(3, "noise", "er", 20, 1).standard_normal((15, 20)) * np.sqrt(0.5)
    np.testing.assert_allclose(arrays["Y_full"], noise, atol=1e-12)
    # the same for another graph
    other = custom_kernels(settings({"alpha": 1.0}, signal=False, dependent=dependent), 1)
    np.testing.assert_allclose(other["Y_full"], noise, atol=1e-12)
    np.testing.assert_array_equal(np.isnan(arrays["Y"]), ~made.mask)
    assert 0.2 < np.isnan(arrays["Y"]).mean() < 0.6
    np.testing.assert_array_equal(arrays["Y"][made.mask], arrays["Y_full"][made.mask])
    for name in ("W", "K_x"):
        np.testing.assert_array_equal(arrays[name], getattr(made, name))


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("bandwidth", ["median_distance", "median_sq", 0.05])
def test_k_z_has_another_gamma(bandwidth: str | float, dependent: bool) -> None:
    true = draw(settings(dependent=True, bandwidth=bandwidth), 0).K_z
    assert true is not None
    plain = custom_kernels(settings(dependent=dependent, bandwidth=bandwidth), 0)
    assert "K_z" not in plain  # the identity
    for factor in ("1", "0.1", "3", 10):
        known = settings(dependent=dependent, bandwidth=bandwidth, observations=factor)
        other = custom_kernels(known, 0)
        np.testing.assert_allclose(other["K_z"], true ** float(factor), rtol=1e-9, atol=1e-300)
        np.testing.assert_array_equal(other["Y"], plain["Y"])


@pytest.mark.parametrize("observations", ["same", "", "0", "-1", "inf", "nan"])
def test_an_invalid_factor_is_refused(observations: str) -> None:
    with pytest.raises(ConfigError, match="identity, or to a number") as caught:
        custom_kernels(settings(observations=observations), 0)
    assert f"data.options.observations = {observations!r}" in str(caught.value)


@pytest.mark.parametrize("alpha", [1.0, 100.0, 1e4])
@FAMILIES
def test_the_inverse_of_the_papers_kernel_is_the_true_graph(family: str, alpha: float) -> None:
    made = make_dataset(family, m=12, n=3, alpha=alpha)
    before = made.K_x.copy()
    for scale in (1.0, 7.0):
        # signals are ignored
        found = inverse_graph(np.full((2, 12), np.nan), K_x=scale * made.K_x)
        np.testing.assert_allclose(found, made.W, atol=1e-7)
        assert aps(made.W, found) == pytest.approx(1.0)
    np.testing.assert_array_equal(made.K_x, before)


def test_of_a_singular_kernel_the_pseudoinverse_is_used() -> None:
    rows = np.random.default_rng(0).standard_normal((8, 3))
    K_x = rows @ rows.T
    expected = np.maximum(-np.linalg.pinv(K_x, hermitian=True), 0.0)
    np.fill_diagonal(expected, 0.0)
    found = inverse_graph(np.zeros((1, 8)), K_x=K_x)
    np.testing.assert_allclose(found, 8 * expected / expected.sum(), atol=1e-9)


@pytest.mark.parametrize("K_x", [np.eye(5), np.diag([1.0, 2, 3]), [[2.0, -1.0], [-1.0, 2.0]]])
def test_an_inverse_without_negative_entries_gives_no_edges(K_x: Any) -> None:
    assert not inverse_graph(np.zeros((1, len(K_x))), K_x=np.asarray(K_x)).any()
