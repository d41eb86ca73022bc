"""Reproducibility of edges by complementary pairs of halves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kgl
from kgl.subsampling import chance_bound

DATA = kgl.simulate.make_dataset("er", m=8, n=60, dependent=True, noise=0.1, missing=0.1)
FRAME = pd.DataFrame(DATA.Y).add_prefix("node ")


@pytest.mark.parametrize(
    "estimator",
    [
        kgl.KGLN(density=0.3),
        kgl.GL(density=0.3),
        kgl.GL(psi=0.5, signed=False),
        kgl.GL(average_degree=2.0, missing="pairwise"),
        kgl.GL(density=0.2, forbidden_edges=[("node 0", "node 1")], average=True),
        kgl.GL(psi=3.0, regularizer="log-degree"),
    ],
    ids=str,
)
def test_shares_are_those_of_fits_to_halves(
    estimator: kgl.GL | kgl.KGLN, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgl.subsampling.BATCH", 2)  # more than one batch, the last one smaller
    seen: list[tuple[int, int]] = []
    found = kgl.stability(
        estimator, FRAME, n_pairs=3, random_state=4, progress=lambda *step: seen.append(step)
    )
    rng, share, sign, count = np.random.default_rng(4), np.zeros((8, 8)), np.zeros((8, 8)), []
    for _ in range(3):
        order = rng.permutation(60)
        for half in (order[:30], order[30:]):
            fit = clone(estimator).fit(FRAME.iloc[np.sort(half)])
            share += (fit.weights_ > 0) / 6
            sign += fit.signs_ / 6
            count.append(np.count_nonzero(fit.weights_) / 2)
    np.testing.assert_allclose(found.frequency, share, atol=1e-12)
    np.testing.assert_allclose(found.sign, sign, atol=1e-12)
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert found.n_selected == pytest.approx(np.mean(count))
    assert found.node_names == list(FRAME.columns)
    edges = found.edges(0.5)
    assert (edges["reproducibility"] >= 0.5).all()
    assert edges["reproducibility"].is_monotonic_decreasing
    assert len(edges) == np.count_nonzero(np.triu(share, 1) >= 0.5)


@pytest.mark.parametrize(
    "side", [{"K_x": DATA.K_x, "K_z": DATA.K_z}, {"z": np.arange(60.0)}, {"z": FRAME.index}]
)
def test_side_information_is_halved_with_the_rows(side: dict[str, Any]) -> None:
    found = kgl.stability(kgl.KGL(density=0.3), DATA.Y, n_pairs=2, **side)
    assert 0 < found.frequency.max() <= 1
    assert (found.frequency == found.frequency.T).all()
    again = kgl.stability(kgl.KGL(density=0.3), DATA.Y, n_pairs=2, **side)
    np.testing.assert_array_equal(found.frequency, again.frequency)


def test_the_bound_is_kept_by_noise() -> None:
    # pure noise: every pair that comes back is chance
    excess = []
    for seed in range(10):
        Y = np.random.default_rng(seed).normal(size=(40, 12))
        found = kgl.stability(kgl.GL(density=0.1), Y, n_pairs=15, random_state=seed)
        excess.append(len(found.edges(0.7)) - found.expected_by_chance(0.7))
    assert np.mean(excess) <= 0.0


def test_the_bound_is_that_of_the_paper() -> None:
    # below three quarters and above, by hand; and none where the theorem has none
    assert chance_bound(10, 100, 0.7, 50) == pytest.approx(0.1 * 10 / (2 * (0.4 - 0.01)))
    assert chance_bound(10, 100, 0.9, 50) == pytest.approx(0.1 * 10 * 4 * 0.11 / 1.02)
    assert chance_bound(10, 100, 0.5, 50) == np.inf
    assert chance_bound(60, 100, 0.9, 50) == np.inf
    # the two meet, nearly, at three quarters for many pairs of halves
    below, above = (chance_bound(10, 100, tau, 10**6) for tau in (0.75, 0.750001))
    assert below == pytest.approx(above, rel=1e-4)


@pytest.mark.parametrize("n_pairs", [1, 2, 3, 10, 25, 50])
def test_the_bound_is_not_negative_and_does_not_rise_with_the_threshold(n_pairs: int) -> None:
    for selected in (0.5, 1.0, 10.0, 40.0, 100.0):
        thresholds = np.linspace(0.3, 1.0, 701)
        bounds = [chance_bound(selected, 190, tau, n_pairs) for tau in thresholds]
        assert min(bounds) >= 0
        known = np.array([b for b in bounds if b < np.inf])
        assert (np.diff(known) <= 1e-9).all()
        assert all(b == np.inf for tau, b in zip(thresholds, bounds, strict=True) if tau <= 0.5)


def test_a_column_that_a_half_lacks_is_named() -> None:
    Y = DATA.Y.copy()
    Y[2:, 3] = np.nan
    with pytest.raises(ValueError, match=r"column 3 has no observed entry in a half of the rows"):
        kgl.stability(kgl.GL(density=0.3), Y, n_pairs=5)


@pytest.mark.parametrize(
    ("Y", "options", "message"),
    [
        (DATA.Y, {"n_pairs": 0}, "n_pairs = 0 must be a whole number"),
        (DATA.Y_full[:3], {}, "3 row"),
        (FRAME, {"z": "index"}, "pass z=Y.index"),
    ],
)
def test_bad_input(Y: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kgl.stability(kgl.KGL(density=0.3), Y, **options)


def test_a_model_with_probabilities_is_pointed_to_them() -> None:
    with pytest.raises(TypeError, match=r"BayesianKGL has probabilities.*edge_probability_"):
        kgl.stability(kgl.BayesianKGL(), DATA.Y)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"is no graph learner of kgl.*and not its class"):
        kgl.stability(kgl.KGL, DATA.Y)  # type: ignore[arg-type]


def test_a_density_out_of_reach_warns_once() -> None:
    allowed = np.zeros((8, 8), dtype=bool)
    allowed[0, 1:] = allowed[1:, 0] = True
    with pytest.warns(ConvergenceWarning, match="only 7 pairs may be edges") as caught:
        kgl.stability(kgl.GL(density=0.9, allowed_edges=allowed), DATA.Y, n_pairs=2)
    assert len(caught) == 1
