"""Synthetic data: the laws it is drawn from, and what data sets of one replicate share."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from kgl import simulate
from kgl.laplacian import edges_from_adjacency, laplacian_from_adjacency
from kgl.seeding import stream
from kgl.simulate import (
    GRAPH_FAMILIES,
    make_dataset,
    missing_mask,
    random_graph,
    resolvent_kernel,
    smooth_signals,
    time_kernel,
)

FAMILIES = sorted(GRAPH_FAMILIES)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def mean_density(family: str, m: int, draws: int, **options: Any) -> float:
    generator = rng(1)
    edges = [
        edges_from_adjacency(random_graph(family, m, generator, **options)) for _ in range(draws)
    ]
    return float(np.mean(np.array(edges) > 0))


# ------------------------------------------------------------------------------------- graphs


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("m", [2, 3, 20, 41])
@pytest.mark.parametrize("weights", ["uniform", "unit"])
def test_graph_is_symmetric_hollow_and_normalised(family: str, m: int, weights: Any) -> None:
    options = {"density": 1.0, "ratio": 1.0} if family == "sbm" and m < 4 else {"density": 0.5}
    if family == "er" and m < 4:
        options["density"] = 1.0
    W = random_graph(family, m, rng(), weights=weights, **options)
    assert W.shape == (m, m)
    np.testing.assert_array_equal(W, W.T)
    np.testing.assert_array_equal(np.diag(W), 0.0)
    assert (W >= 0).all()
    assert W.sum() == pytest.approx(m, rel=1e-13)
    assert np.trace(laplacian_from_adjacency(W)) == pytest.approx(m, rel=1e-13)
    if weights == "unit":
        assert np.ptp(W[W > 0]) < 1e-15 * m


@pytest.mark.parametrize("density", [0.1, 0.3, 0.5])
def test_er_density(density: float) -> None:
    # 300 draws of 190 pairs: standard error at most 0.0021
    assert mean_density("er", 20, 300, density=density) == pytest.approx(density, abs=0.008)


@pytest.mark.parametrize(
    "options",
    [{}, {"blocks": 4, "ratio": 3.0}, {"blocks": 3}, {"ratio": 0.2}, {"ratio": np.inf}],
)
def test_sbm_expected_density_is_exact(options: dict[str, Any]) -> None:
    # m = 21: blocks of unequal sizes too
    assert mean_density("sbm", 21, 300, **options) == pytest.approx(0.3, abs=0.008)


@pytest.mark.parametrize(("blocks", "ratio"), [(2, 5.0), (3, 2.0)])
def test_sbm_ratio(blocks: int, ratio: float) -> None:
    m, generator = 18, rng(2)
    links = np.mean(
        [random_graph("sbm", m, generator, blocks=blocks, ratio=ratio) > 0 for _ in range(400)], 0
    )
    label = np.arange(m) * blocks // m
    same = edges_from_adjacency((label[:, None] == label).astype(float)) > 0
    p = edges_from_adjacency(links)
    assert p[same].mean() / p[~same].mean() == pytest.approx(ratio, rel=0.06)


@pytest.mark.parametrize(
    ("m", "options", "edges"),
    [
        (20, {}, 3 * 17),  # 0.268 is nearer to 0.3 than 0.337
        (20, {"attachment": 4}, 4 * 16),
        (20, {"density": 0.33}, 4 * 16),
        (50, {}, 9 * 41),
        (20, {"attachment": 15}, 15 * 5),
    ],
)
def test_ba_attachment(m: int, options: dict[str, Any], edges: int) -> None:
    W = random_graph("ba", m, rng(), **options)
    assert (edges_from_adjacency(W) > 0).sum() == edges


def test_uniform_weights_follow_the_paper_literally() -> None:
    # Mean of two U(0, 1): mean 1/2, variance 1/24 (a single uniform draw would have 1/12). The
    # normalisation cancels in the coefficient of variation.
    W = random_graph("er", 150, rng(), density=0.5)
    w = edges_from_adjacency(W)
    w = w[w > 0]
    assert w.std() / w.mean() == pytest.approx(np.sqrt(1 / 24) / 0.5, rel=0.03)
    assert w.max() / w.mean() < 2.0


def test_connected() -> None:
    loose = [random_graph("er", 12, rng(k), density=0.2) for k in range(40)]
    tight = [random_graph("er", 12, rng(k), density=0.2, connected=True) for k in range(40)]
    parts = [
        [connected_components(W, directed=False)[0] for W in graphs] for graphs in (loose, tight)
    ]
    assert max(parts[0]) > 1
    assert max(parts[1]) == 1
    # a draw that is connected at once is not touched
    for W, V, count in zip(loose, tight, parts[0], strict=True):
        if count == 1:
            np.testing.assert_array_equal(W, V)


@pytest.mark.parametrize("family", FAMILIES)
def test_graph_depends_on_the_generator_alone(family: str) -> None:
    np.testing.assert_array_equal(
        random_graph(family, 20, rng(3)), random_graph(family, 20, rng(3))
    )
    assert (random_graph(family, 20, rng(3)) != random_graph(family, 20, rng(4))).any()


@pytest.mark.parametrize(
    ("family", "m", "options", "message"),
    [
        ("ws", 20, {}, "'ws'; choose from"),
        ("er", 1, {}, "m=1"),
        ("er", 20, {"density": 0.0}, "density=0.0"),
        ("er", 20, {"density": 1.1}, "density=1.1"),
        ("er", 20, {"blocks": 2}, "no option 'blocks'; leave it out: its options are none"),
        (
            "sbm",
            20,
            {"attachment": 2},
            "no option 'attachment'; leave it out: its options are .'blocks', 'ratio'",
        ),
        ("er", 20, {"weights": "normal"}, "'normal'; choose 'uniform' or 'unit'"),
        ("er", 2, {"density": 1e-12}, "has no edge .* raise the density or m"),
        ("er", 20, {"density": 1e-6, "connected": True}, "no connected graph in 1000 draws"),
        ("ba", 20, {"density": 0.9}, "densest one has 0.526"),
        ("ba", 20, {"attachment": 20}, "attachment=20"),
        ("ba", 20, {"attachment": 0}, "attachment=0"),
        ("sbm", 20, {"density": 0.6, "ratio": 50.0}, "probability above 1"),
        ("sbm", 20, {"blocks": 20, "ratio": np.inf}, "probability above 1"),
        ("sbm", 20, {"blocks": 1, "ratio": 0.0}, "probability above 1"),
        ("sbm", 20, {"blocks": 0}, "blocks=0"),
        ("sbm", 20, {"ratio": -1.0}, "ratio=-1"),
        ("sbm", 20, {"ratio": np.nan}, "ratio=nan"),
    ],
)
def test_bad_graph(family: str, m: int, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        random_graph(family, m, rng(), **options)


# ------------------------------------------------------------------------------------ kernels


@pytest.mark.parametrize("alpha", [0.0, 0.5, 100.0, 1e6])
def test_resolvent_kernel(alpha: float) -> None:
    L = laplacian_from_adjacency(random_graph("er", 12, rng()))
    before = L.copy()
    K_x = resolvent_kernel(L, alpha)
    np.testing.assert_array_equal(K_x, K_x.T)
    np.testing.assert_allclose(K_x, np.linalg.inv(np.eye(12) + alpha * L), atol=1e-9)
    np.testing.assert_allclose(K_x.sum(0), 1.0, rtol=1e-9)  # constants pass unchanged
    np.testing.assert_array_equal(L, before)


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf])
def test_resolvent_kernel_bad_alpha(alpha: float) -> None:
    with pytest.raises(ValueError, match=f"alpha={alpha}"):
        resolvent_kernel(np.eye(2), alpha)


@pytest.mark.parametrize(
    ("L", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, 0.0], [1.0, 1.0]]), "L is not symmetric"),
        (-np.eye(2), "L is not a graph Laplacian: row 0 sums to -1"),
        (np.full((2, 2), np.nan), "L is not finite"),
    ],
)
def test_resolvent_kernel_bad_matrix(L: NDArray[np.float64], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        resolvent_kernel(L, 1.0)


def test_time_kernel_rules() -> None:
    n = 30
    gap = np.abs(np.arange(n)[:, None] - np.arange(n)).astype(float)
    pairs = gap[np.triu_indices(n, 1)]
    gammas = {
        "median_distance": 1 / np.median(pairs),
        "median_sq": 1 / np.median(pairs**2),
        "median_sq_half": 0.5 / np.median(pairs**2),
    }
    for rule, gamma in gammas.items():
        np.testing.assert_allclose(time_kernel(n, rule), np.exp(-gamma * gap**2), atol=1e-14)
    np.testing.assert_allclose(time_kernel(n, 0.7), np.exp(-0.7 * gap**2), atol=1e-14)
    np.testing.assert_array_equal(time_kernel(n), time_kernel(n, "median_distance"))


def test_time_kernel_edge_cases() -> None:
    np.testing.assert_array_equal(time_kernel(1), [[1.0]])
    assert time_kernel(2).shape == (2, 2)
    with pytest.raises(ValueError, match="n=0"):
        time_kernel(0)
    with pytest.raises(ValueError, match="median"):
        time_kernel(5, "mean")


# ------------------------------------------------------------------------------------ signals


def kernel(m: int, seed: int, rank: int | None = None) -> NDArray[np.float64]:
    B = rng(seed).standard_normal((m, rank or m))
    return B @ B.T / m


@pytest.mark.parametrize("rank", [None, 1])
def test_covariance_of_the_signals_is_kronecker(rank: int | None) -> None:
    m, n, draws = 3, 4, 3_000
    K_x, K_z = kernel(m, 1), kernel(n, 2, rank)
    generator = rng(3)
    # vec stacks columns, as in K_x (x) K_z
    F = np.array([smooth_signals(K_x, K_z, generator)[0].ravel(order="F") for _ in range(draws)])
    target = np.kron(K_x, K_z)
    scale = np.sqrt(np.outer(np.diag(target), np.diag(target)))
    # 5 standard errors of a covariance (at most sqrt(2) scale / sqrt(draws)), over 144 entries
    assert (np.abs(F.T @ F / draws - target) < 5 * np.sqrt(2 / draws) * scale).all()
    assert (np.abs(F.mean(0)) < 5 * np.sqrt(np.diag(target) / draws)).all()
    # the swapped product is outside of that, so the test could fail
    assert (np.abs(np.kron(K_z, K_x) - target) > 10 * np.sqrt(2 / draws) * scale).any()


def test_singular_kernel_confines_the_signals() -> None:
    ones = np.ones((5, 5))
    F, _ = smooth_signals(ones, None, rng(), n=10)
    np.testing.assert_allclose(F, F[:, :1] + np.zeros(5), atol=1e-12)
    F, _ = smooth_signals(np.eye(4), ones, rng())
    np.testing.assert_allclose(F, F[:1] + np.zeros((5, 1)), atol=1e-12)


def test_noise_is_a_variance_and_levels_share_everything_else() -> None:
    K_x = kernel(6, 1)
    F0, Y0 = smooth_signals(K_x, None, rng(), n=20_000, noise=0.0)
    F1, Y1 = smooth_signals(K_x, None, rng(), n=20_000, noise=0.25)
    F2, Y2 = smooth_signals(K_x, None, rng(), n=20_000, noise=1.0)
    np.testing.assert_array_equal(F0, Y0)
    np.testing.assert_array_equal(F0, F1)
    np.testing.assert_array_equal(F0, F2)
    np.testing.assert_allclose(2 * (Y1 - F1), Y2 - F2, atol=1e-12)
    assert (Y1 - F1).var() == pytest.approx(0.25, rel=0.02)
    assert abs(np.corrcoef((Y1 - F1).ravel(), F1.ravel())[0, 1]) < 0.015


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": None}, "n=None with K_z=None"),
        ({"n": 0}, "n=0 with K_z=None"),
        ({"n": 3, "K_z": np.eye(4)}, "n=3 but K_z has 4 rows"),
        ({"n": 3, "noise": -0.1}, "noise=-0.1"),
        ({"n": 3, "noise": np.nan}, "noise=nan"),
        (
            {"K_z": np.diag([1.0, -0.5])},
            "K_z is not positive semi-definite: its smallest eigenvalue is -0.5",
        ),
        ({"n": 3, "K_x": np.array([[1.0, 2.0], [0.0, 1.0]])}, "K_x is not symmetric"),
        ({"n": 3, "K_x": np.array([[1.0, 2.0], [2.0, 1.0]])}, "K_x is not positive.*-1"),
    ],
)
def test_bad_signals(arguments: dict[str, Any], message: str) -> None:
    arguments = {"K_x": np.eye(2), "K_z": None, "rng": rng(), **arguments}
    with pytest.raises(ValueError, match=message):
        smooth_signals(**arguments)


# -------------------------------------------------------------------------------------- masks


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5, 0.9])
def test_missing_rate(rate: float) -> None:
    mask = missing_mask(500, 80, rate, rng(), ensure_observed=False)
    assert mask.dtype == bool
    assert 1 - mask.mean() == pytest.approx(rate, abs=5 * np.sqrt(0.25 / mask.size))


@pytest.mark.parametrize("ensure_observed", [True, False])
@pytest.mark.parametrize("shape", [(100, 20), (4, 3), (3, 40)])
def test_masks_are_nested(shape: tuple[int, int], ensure_observed: bool) -> None:
    rates = [0.0, 0.3, 0.8, 0.95, 0.999]
    for seed in range(20):
        masks = [
            missing_mask(*shape, rate, rng(seed), ensure_observed=ensure_observed) for rate in rates
        ]
        assert masks[0].all()
        for fewer_missing, more_missing in pairwise(masks):
            assert (more_missing <= fewer_missing).all()


# tall data lose rows, wide data lose columns
@pytest.mark.parametrize("shape", [(30, 6), (6, 30)])
def test_ensure_observed_only_fills_empty_rows_and_columns(shape: tuple[int, int]) -> None:
    for seed in range(50):
        free = missing_mask(*shape, 0.85, rng(seed), ensure_observed=False)
        kept = missing_mask(*shape, 0.85, rng(seed))
        assert kept.any(axis=0).all()
        assert kept.any(axis=1).all()
        added = kept & ~free
        empty_row, empty_column = ~free.any(axis=1), ~free.any(axis=0)
        assert (empty_row[:, None] | empty_column)[added].all()
        assert added.sum() <= empty_row.sum() + empty_column.sum()


@pytest.mark.parametrize("rate", [-0.1, 1.0, np.nan])
def test_bad_rate(rate: float) -> None:
    with pytest.raises(ValueError, match=f"rate={rate}"):
        missing_mask(3, 3, rate, rng())


def test_bad_shape() -> None:
    with pytest.raises(ValueError, match="n=0, m=3"):
        missing_mask(0, 3, 0.5, rng())


# ----------------------------------------------------------------------------------- data set


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("dependent", [False, True])
def test_dataset_is_consistent(family: str, dependent: bool) -> None:
    data = make_dataset(family, dependent=dependent, missing=0.4)
    assert data.Y.shape == data.Y_full.shape == data.signals.shape == data.mask.shape == (100, 20)
    assert data.W.sum() == pytest.approx(20)
    np.testing.assert_allclose(data.L, np.diag(data.W.sum(1)) - data.W, atol=1e-14)
    np.testing.assert_allclose(data.K_x @ (np.eye(20) + 100 * data.L), np.eye(20), atol=1e-10)
    np.testing.assert_array_equal(np.isnan(data.Y), ~data.mask)
    np.testing.assert_array_equal(data.Y[data.mask], data.Y_full[data.mask])
    assert (data.Y_full - data.signals).var() == pytest.approx(0.01, rel=0.15)
    if dependent:
        np.testing.assert_array_equal(data.K_z, time_kernel(100))
    else:
        assert data.K_z is None


@pytest.mark.parametrize("dependent", [False, True])
def test_levels_of_a_replicate_share_graph_and_signal(dependent: bool) -> None:
    base = make_dataset("er", dependent=dependent, noise=0.0)
    other = make_dataset("er", dependent=dependent, noise=2.0, missing=0.6)
    worse = make_dataset("er", dependent=dependent, noise=0.5, missing=0.8)
    for data in (other, worse):
        np.testing.assert_array_equal(base.W, data.W)
        np.testing.assert_array_equal(base.signals, data.signals)
    np.testing.assert_allclose(other.Y_full - base.Y, 2 * (worse.Y_full - base.Y), atol=1e-12)
    assert (worse.mask <= other.mask).all()


def test_dependence_alpha_and_size_keep_the_graph() -> None:
    base = make_dataset("sbm")
    np.testing.assert_array_equal(base.W, make_dataset("sbm", dependent=True).W)
    np.testing.assert_array_equal(base.W, make_dataset("sbm", alpha=1.0).W)
    longer = make_dataset("sbm", n=150)
    np.testing.assert_array_equal(base.W, longer.W)
    np.testing.assert_allclose(base.Y, longer.Y[:100], atol=1e-13)


def test_replicates_seeds_and_families_differ() -> None:
    base = make_dataset("er", noise=1.0, missing=0.5)
    for data in (
        make_dataset("er", noise=1.0, missing=0.5, replicate=1),
        make_dataset("er", noise=1.0, missing=0.5, seed=1),
        make_dataset("sbm", noise=1.0, missing=0.5),
    ):
        assert (base.W != data.W).any()
        assert (base.mask != data.mask).any()
        for a, b in (
            (base.signals, data.signals),
            (base.Y_full - base.signals, data.Y_full - data.signals),
        ):
            assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.5
            assert (a != b).all()


def test_signal_noise_and_mask_are_independent() -> None:
    data = make_dataset("er", n=500, alpha=1.0, noise=1.0, missing=0.5)
    # undo K_x^{1/2}, which leaves the draws the signal was made from
    values, vectors = np.linalg.eigh(data.K_x)
    Xi = data.signals @ (vectors / np.sqrt(values)) @ vectors.T
    assert Xi.var() == pytest.approx(1.0, rel=0.05)
    parts = np.stack([a.ravel() for a in (Xi, data.Y_full - data.signals, data.mask)])
    correlations = np.corrcoef(parts)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 4.5 / np.sqrt(Xi.size)


def test_four_streams_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # Shared bits between, say, mask and noise would not show as a correlation.
    asked: list[tuple[Any, ...]] = []

    def spy(*key: Any) -> np.random.Generator:
        asked.append(key)
        return stream(*key)

    monkeypatch.setattr(simulate, "stream", spy)
    make_dataset("er", seed=5, replicate=3)
    purposes = ("graph", "signal", "noise", "mask")
    assert sorted(asked) == sorted((5, purpose, "er", 20, 3) for purpose in purposes)


def test_settings_rebuild_the_data() -> None:
    data = make_dataset("sbm", n=30, m=12, blocks=3, ratio=4.0, missing=0.2, seed=9, replicate=2)
    again = make_dataset(**data.settings)
    np.testing.assert_array_equal(data.Y, again.Y)
    assert again.settings == data.settings


@pytest.mark.parametrize("dependent", [False, True])
def test_signals_may_have_a_variance_of_one(dependent):
    known = {"m": 12, "n": 9, "noise": 0.3, "missing": 0.2, "dependent": dependent}
    plain, scaled = make_dataset(**known), make_dataset(**known, unit_variance=True)
    mean = plain.K_x.diagonal().mean()
    np.testing.assert_allclose(scaled.K_x, plain.K_x / mean, rtol=1e-12)
    np.testing.assert_allclose(scaled.signals, plain.signals / np.sqrt(mean), atol=1e-10)
    np.testing.assert_allclose(scaled.Y_full - scaled.signals, plain.Y_full - plain.signals)


@pytest.mark.parametrize("dependent", [False, True])
def test_the_scale_multiplies_the_kernel_and_not_the_noise(dependent):
    known = {"m": 12, "n": 9, "noise": 0.3, "missing": 0.2, "dependent": dependent}
    plain, scaled = make_dataset(**known), make_dataset(**known, scale=4.0)
    np.testing.assert_allclose(scaled.K_x, 4.0 * plain.K_x, rtol=1e-12)
    np.testing.assert_allclose(scaled.signals, 2.0 * plain.signals, atol=1e-10)
    np.testing.assert_allclose(scaled.Y_full - scaled.signals, plain.Y_full - plain.signals)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_an_impossible_scale_is_refused(scale):
    with pytest.raises(ValueError, match=r"scale=.*> 0"):
        make_dataset(m=6, n=5, scale=scale)


def test_blocks_are_two_at_ratio_five_unless_said_otherwise() -> None:
    given = {"blocks": 2, "ratio": 5.0}
    for seed in range(3):
        plain = random_graph("sbm", 16, np.random.default_rng(seed), density=0.25)
        same = random_graph("sbm", 16, np.random.default_rng(seed), density=0.25, **given)
        np.testing.assert_array_equal(plain, same)
