"""Controls: the same data, and side information whose worth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.baselines import inverse_graph, kernel_graph
from experiments.datasets.custom_kernels import custom_kernels, node_kernel, rewired
from experiments.datasets.synthetic import build, draw, synthetic
from experiments.lookup import ConfigError
from kgl.laplacian import Array, laplacian_from_adjacency
from kgl.metrics import aps
from kgl.seeding import stream
from kgl.simulate import make_dataset, random_graph

GRAPH = {"family": "er", "m": 20, "density": 0.3, "alpha": 100.0, "weights": "uniform"}
GRAPH |= {"connected": False, "options": {}}
DATA = {"dependent": False, "n": 15, "noise": 0.5, "missing": 0.0, "bandwidth": "median_distance"}
OPTIONS = {"signal": True, "side": "oracle", "covariates": 10, "observations": "identity"}
UPPER = np.triu_indices(20, 1)


def settings(graph: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """Settings of a dataset; options by their names, like the other changes of the data."""
    options = OPTIONS | {name: changes.pop(name) for name in OPTIONS if name in changes}
    return {
        "make": "experiments.datasets.custom_kernels.custom_kernels",
        "seed": 3,
        "replicates": 2,
        "graph": GRAPH | (graph or {}),
        "data": {**DATA, **changes, "options": options},
    }


def kernel(side: str, replicate: int = 0, **changes: Any) -> Array:
    """The kernel of the nodes that is made from the first replicate."""
    known = settings(**changes)
    made = draw(known, replicate)
    return node_kernel(side, made.W, made.K_x, known, replicate)


def by_hand(W: Array, alpha: float = 100.0) -> Array:
    """The paper's kernel of a graph."""
    return np.linalg.inv(np.eye(len(W)) + alpha * (np.diag(W.sum(axis=1)) - W))


def true_graph(seed: int = 0) -> Array:
    return random_graph("er", 20, np.random.default_rng(seed), density=0.3)


# -------------------------------------------------------------------------------- edges that move


def kept(W: Array, share: float, seed: int) -> np.ndarray:
    """Which pairs, of those with an edge, have their weight still."""
    moved = rewired(W, share, np.random.default_rng(seed))
    linked = W[UPPER] > 0
    return np.asarray((moved[UPPER] == W[UPPER])[linked])


def test_nothing_moves_with_a_share_of_zero() -> None:
    W = true_graph()
    np.testing.assert_array_equal(rewired(W, 0.0, np.random.default_rng(1)), W)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 1.0])
def test_a_share_of_the_edges_moves_and_weights_go_with_them(share: float) -> None:
    W = true_graph()
    before = W.copy()
    edges = np.count_nonzero(W[UPPER])
    moving = round(share * edges)
    for seed in range(20):
        moved = rewired(W, share, np.random.default_rng(seed))
        np.testing.assert_array_equal(moved, moved.T)
        assert not moved.diagonal().any()
        np.testing.assert_array_equal(np.sort(moved[UPPER]), np.sort(W[UPPER]))
        # an edge may return to its own place by chance
        assert edges - moving <= kept(W, share, seed).sum() <= edges - moving + 3
    np.testing.assert_array_equal(W, before)


def test_with_all_edges_moved_the_graph_says_nothing_of_the_first() -> None:
    W = true_graph()
    linked = W[UPPER] > 0
    runs = [rewired(W, 1.0, np.random.default_rng(seed))[UPPER] > 0 for seed in range(400)]
    overlap = np.array([(linked & moved).sum() for moved in runs])
    # so many as a random choice of pairs would find: hypergeometric
    E, P = linked.sum(), len(linked)
    deviation = np.sqrt(E * (E / P) * (1 - E / P) * (P - E) / (P - 1) / len(runs))
    assert abs(overlap.mean() - E * E / P) < 4 * deviation
    # and no pair is favoured
    often = np.mean(runs, axis=0)
    assert np.abs(often - E / P).max() < 5 * np.sqrt(E / P * (1 - E / P) / len(runs))


def test_edges_that_move_first_have_moved_at_every_larger_share() -> None:
    W = true_graph()
    later = earlier = 0
    for seed in range(20):
        few, many = kept(W, 0.25, seed), kept(W, 0.5, seed)
        later += many.sum()
        earlier += (many & few).sum()
    # but for a few that return by chance; of other draws a quarter would be missing
    assert earlier > 0.97 * later


def test_other_draws_move_other_edges() -> None:
    W = true_graph()
    assert not np.array_equal(kept(W, 0.5, 0), kept(W, 0.5, 1))


# -------------------------------------------------------------------------- kernels of the nodes


def test_the_oracle_is_the_kernel_of_the_paper() -> None:
    made = draw(settings(), 0)
    np.testing.assert_array_equal(kernel("oracle"), made.K_x)
    np.testing.assert_allclose(kernel("oracle"), by_hand(made.W), atol=1e-12)


def test_the_identity_knows_nothing() -> None:
    np.testing.assert_array_equal(kernel("identity"), np.eye(20))


@pytest.mark.parametrize("unit_variance", [False, True])
def test_a_rewired_kernel_is_that_of_the_rewired_graph(unit_variance: bool) -> None:
    graph = {"unit_variance": unit_variance}
    made = draw(settings(graph), 0)
    np.testing.assert_allclose(kernel("rewired-0", graph=graph), made.K_x, rtol=1e-10)
    moved = rewired(made.W, 0.5, stream(3, "side-rewired", "er", 20, 0))
    expected = by_hand(moved)
    if unit_variance:
        expected /= expected.diagonal().mean()
    np.testing.assert_allclose(kernel("rewired-0.5", graph=graph), expected, atol=1e-12)


@pytest.mark.parametrize("unit_variance", [False, True])
@pytest.mark.parametrize("family", ["er", "ba", "sbm"])
def test_an_unrelated_kernel_is_that_of_another_graph_of_the_family(
    family: str, unit_variance: bool
) -> None:
    graph = {"family": family, "unit_variance": unit_variance}
    K_x = kernel("unrelated", graph=graph)
    found = inverse_graph(np.zeros((1, 20)), K_x=K_x)
    found[found < 1e-9] = 0.0
    expected = by_hand(found)
    if unit_variance:
        expected /= expected.diagonal().mean()
    np.testing.assert_allclose(K_x, expected, atol=1e-9)
    drawn = random_graph(family, 20, stream(3, "side-unrelated", family, 20, 0), density=0.3)
    # its nodes are shuffled, so that neither blocks nor hubs are where those of the truth are
    order = stream(3, "side-shuffled", family, 20, 0).permutation(20)
    np.testing.assert_allclose(found, drawn[np.ix_(order, order)], atol=1e-9)
    true = draw(settings(graph), 0).W
    assert not np.array_equal(found > 0, true > 0)
    assert aps(true, found) < 0.6  # about the density, where the true graph has 1


@pytest.mark.parametrize("family", ["er", "ba", "sbm"])
def test_an_unrelated_graph_shares_edges_with_the_true_one_by_chance_alone(family: str) -> None:
    known = settings({"family": family})
    more, unshuffled = [], []
    for replicate in range(60):
        made = draw(known, replicate)
        K_x = node_kernel("unrelated", made.W, made.K_x, known, replicate)
        other = inverse_graph(np.zeros((1, 20)), K_x=K_x)[UPPER] > 1e-9
        true = made.W[UPPER] > 0
        # of two sets of pairs, one of them anywhere: hypergeometric
        chance = true.sum() * other.sum() / len(true)
        more.append((true & other).sum() - chance)
        drawn = random_graph(
            family, 20, stream(3, "side-unrelated", family, 20, replicate), density=0.3
        )
        unshuffled.append((true & (drawn[UPPER] > 0)).sum() - chance)
    deviation = np.std(more, ddof=1) / np.sqrt(len(more))
    assert abs(np.mean(more)) < 3 * deviation
    # hubs and blocks would be in the same place
    if family != "er":
        assert np.mean(unshuffled) > 4 * deviation


def test_nodes_are_shuffled_anew_for_each_replicate() -> None:
    orders = [tuple(stream(3, "side-shuffled", "sbm", 20, k).permutation(20)) for k in range(3)]
    assert len(set(orders)) == 3
    found = kernel("unrelated", 1, graph={"family": "sbm"})
    drawn = random_graph("sbm", 20, stream(3, "side-unrelated", "sbm", 20, 1), density=0.3)
    np.testing.assert_allclose(found, by_hand(drawn[np.ix_(orders[1], orders[1])]), atol=1e-9)


def test_options_of_the_family_count_for_the_unrelated_graph_too() -> None:
    graph = {"family": "ba", "weights": "unit", "options": {"attachment": 2}}
    found = inverse_graph(np.zeros((1, 20)), K_x=kernel("unrelated", graph=graph))[UPPER]
    edges = found[found > 1e-9]
    true = draw(settings(graph), 0).W[UPPER]
    assert len(edges) == np.count_nonzero(true)  # as many as the attachment makes
    np.testing.assert_allclose(edges, true.max(), rtol=1e-8)


def test_the_kernel_of_covariates_is_what_it_is_said_to_be() -> None:
    known = settings(covariates=6)
    made = draw(known, 1)
    root = np.linalg.eigh(made.K_x)
    root = (root[1] * np.sqrt(root[0])) @ root[1].T
    smooth = stream(3, "side-covariates", "er", 20, 1).standard_normal((6, 20)) @ root
    smooth /= smooth.std(axis=1, keepdims=True)
    # one draw for all levels, on its own scale
    noise = stream(3, "side-covariate-noise", "er", 20, 1).standard_normal((6, 20))
    for level in (0.0, 0.25, 4.0):
        values = smooth + np.sqrt(level) * noise
        squares = ((values[:, :, None] - values[:, None]) ** 2).sum(axis=0)
        expected = np.exp(-squares / np.median(squares[UPPER]))
        K_x = node_kernel(f"covariates-{level:g}", made.W, made.K_x, known, 1)
        np.testing.assert_allclose(K_x, expected, atol=1e-10)
        assert np.linalg.eigvalsh(K_x).min() > -1e-10


def test_noise_makes_covariates_worth_less() -> None:
    levels = ("oracle", "covariates-0", "covariates-0.25", "covariates-1", "covariates-4")
    agreement = []
    for side in (*levels, "unrelated"):
        scores = []
        for replicate in range(20):
            W = draw(settings(), replicate).W
            scores.append(aps(W, kernel_graph(np.zeros((1, 20)), K_x=kernel(side, replicate))))
        agreement.append(float(np.mean(scores)))
    assert agreement == sorted(agreement, reverse=True)
    assert agreement[1] > agreement[4] + 0.05
    assert agreement[4] == pytest.approx(agreement[5], abs=0.1)


@pytest.mark.parametrize("side", ["rewired-0.5", "covariates-1", "unrelated"])
def test_replicates_and_seeds_differ_and_can_be_had_again(side: str) -> None:
    known = settings()
    made = draw(known, 0)
    first = node_kernel(side, made.W, made.K_x, known, 0)
    np.testing.assert_array_equal(first, node_kernel(side, made.W, made.K_x, known, 0))
    for other in (
        node_kernel(side, made.W, made.K_x, known, 1),
        node_kernel(side, made.W, made.K_x, {**known, "seed": 4}, 0),
    ):
        assert np.abs(first - other).max() > 1e-3


@pytest.mark.parametrize(
    ("side", "says"),
    [
        ("truth", "none of oracle, rewired-, covariates-, unrelated, identity"),
        ("rewired", "a number follows a dash"),
        ("oracle-1", "none of oracle"),
        ("", "none of oracle"),
        ("rewired-", "a number from 0 to 1 must follow 'rewired-'"),
        ("rewired-half", "a number from 0 to 1 must follow 'rewired-'"),
        ("rewired-1.5", "a number from 0 to 1 must follow 'rewired-'"),
        ("rewired--0.1", "a number from 0 to 1 must follow 'rewired-'"),
        ("rewired-nan", "a number from 0 to 1 must follow 'rewired-'"),
        ("covariates-", "a number from 0 must follow 'covariates-'"),
        ("covariates--1", "a number from 0 must follow 'covariates-'"),
        ("covariates-inf", "a number from 0 must follow 'covariates-'"),
    ],
)
def test_what_no_kernel_can_be_made_from_is_refused(side: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        custom_kernels(settings(side=side), 0)
    assert f"data.options.side = {side!r}" in str(caught.value)
    assert says in str(caught.value)


# ------------------------------------------------------------------------------------------- data


@pytest.mark.parametrize("dependent", [False, True])
def test_with_the_true_kernels_the_data_are_the_papers(dependent: bool) -> None:
    observations = "1" if dependent else "identity"
    known = settings(dependent=dependent, observations=observations, missing=0.3)
    paper = {**known, "make": "experiments.datasets.synthetic.synthetic"}
    arrays, expected = build(known), build(paper)
    assert set(arrays) == set(expected)
    for name in arrays:
        np.testing.assert_allclose(arrays[name], expected[name], rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("side", ["oracle", "rewired-0.5", "unrelated", "identity"])
def test_other_kernels_leave_everything_else_as_it_is(side: str) -> None:
    plain, other = (
        synthetic(settings(missing=0.3), 0),
        custom_kernels(settings(missing=0.3, side=side), 0),
    )
    for name in ("Y", "Y_full", "W"):
        np.testing.assert_array_equal(other[name], plain[name])
    np.testing.assert_array_equal(other["K_x"], kernel(side))
    assert np.array_equal(other["K_x"], plain["K_x"]) == (side == "oracle")


@pytest.mark.parametrize("dependent", [False, True])
def test_pure_noise_is_that_of_the_papers_data_and_has_no_signal(dependent: bool) -> None:
    known = settings(signal=False, dependent=dependent, missing=0.4)
    arrays = custom_kernels(known, 1)
    made = make_dataset(
        "er", m=20, n=15, noise=0.5, missing=0.4, dependent=dependent, seed=3, replicate=1
    )
    noise = stream(3, "noise", "er", 20, 1).standard_normal((15, 20)) * np.sqrt(0.5)
    np.testing.assert_allclose(arrays["Y_full"], noise, atol=1e-12)
    # whatever the graph is
    other = custom_kernels(settings({"alpha": 1.0}, signal=False, dependent=dependent), 1)
    np.testing.assert_allclose(other["Y_full"], noise, atol=1e-12)
    # gaps are where they were
    np.testing.assert_array_equal(np.isnan(arrays["Y"]), ~made.mask)
    assert 0.2 < np.isnan(arrays["Y"]).mean() < 0.6
    np.testing.assert_array_equal(arrays["Y"][made.mask], arrays["Y_full"][made.mask])
    for name in ("W", "K_x"):  # of which the models are told all the same
        np.testing.assert_array_equal(arrays[name], getattr(made, name))


@pytest.mark.parametrize("bandwidth", ["median_distance", "median_sq", 0.05])
def test_the_kernel_of_the_observations_has_another_gamma(bandwidth: str | float) -> None:
    known = settings(dependent=True, bandwidth=bandwidth, observations="1")
    true = draw(known, 0).K_z
    assert true is not None
    np.testing.assert_allclose(custom_kernels(known, 0)["K_z"], true, rtol=1e-12)
    for factor in ("0.1", "3", 10):
        other = custom_kernels(
            settings(dependent=True, bandwidth=bandwidth, observations=factor), 0
        )
        np.testing.assert_allclose(other["K_z"], true ** float(factor), rtol=1e-9, atol=1e-300)
        np.testing.assert_array_equal(other["Y"], custom_kernels(known, 0)["Y"])


def test_independent_data_may_be_said_to_be_dependent_and_the_other_way_round() -> None:
    said = custom_kernels(settings(dependent=False, observations="1"), 0)
    true = draw(settings(dependent=True), 0)
    assert true.K_z is not None
    np.testing.assert_allclose(said["K_z"], true.K_z, rtol=1e-12)
    np.testing.assert_array_equal(said["Y"], draw(settings(dependent=False), 0).Y)
    denied = custom_kernels(settings(dependent=True, observations="identity"), 0)
    assert "K_z" not in denied
    np.testing.assert_array_equal(denied["Y"], true.Y)


@pytest.mark.parametrize("observations", ["same", "", "0", "-1", "inf", "nan"])
def test_a_factor_that_is_none_is_refused(observations: str) -> None:
    with pytest.raises(ConfigError) as caught:
        custom_kernels(settings(observations=observations), 0)
    assert f"data.options.observations = {observations!r}" in str(caught.value)
    assert "identity, or a number above 0" in str(caught.value)


# ------------------------------------------------------------- the graph that a kernel gives away


@pytest.mark.parametrize("alpha", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("family", ["er", "ba", "sbm"])
def test_the_inverse_of_the_papers_kernel_is_the_true_graph(family: str, alpha: float) -> None:
    made = make_dataset(family, m=12, n=3, alpha=alpha)
    before = made.K_x.copy()
    for scale in (1.0, 7.0):
        found = inverse_graph(np.full((2, 12), np.nan), K_x=scale * made.K_x)
        np.testing.assert_allclose(found, made.W, atol=1e-7)
        assert aps(made.W, found) == pytest.approx(1.0)
    np.testing.assert_array_equal(made.K_x, before)


def test_a_singular_kernel_is_inverted_where_it_can_be() -> None:
    rows = np.random.default_rng(0).standard_normal((8, 3))
    K_x = rows @ rows.T
    expected = np.maximum(-np.linalg.pinv(K_x, hermitian=True), 0.0)
    np.fill_diagonal(expected, 0.0)
    found = inverse_graph(np.zeros((1, 8)), K_x=K_x)
    np.testing.assert_allclose(found, 8 * expected / expected.sum(), atol=1e-9)
    assert found.sum() == pytest.approx(8.0)


def test_kernels_that_know_of_no_pair_give_no_graph() -> None:
    assert not inverse_graph(np.zeros((1, 5)), K_x=np.eye(5)).any()
    assert not inverse_graph(np.zeros((1, 5)), K_x=np.diag([1.0, 2, 3, 4, 5])).any()
    # an inverse without negative entries
    assert not inverse_graph(np.zeros((1, 2)), K_x=np.array([[2.0, -1.0], [-1.0, 2.0]])).any()


def test_the_inverse_of_a_kernel_does_not_see_the_signals() -> None:
    K_x = np.linalg.inv(np.eye(20) + laplacian_from_adjacency(true_graph()))
    few, many = (inverse_graph(np.full((n, 20), float(n)), K_x=K_x) for n in (1, 50))
    np.testing.assert_array_equal(few, many)
