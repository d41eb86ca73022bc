"""The metrics of a cell: one function for each row of the registry, by hand on small examples."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import metrics
from experiments.metrics import Fits, compute
from experiments.registry import METRICS
from kgl._types import Array
from kgl.laplacian import adjacency_from_edges

SHAPE = {name for name, row in METRICS.items() if row.needs == "shape"}


def fits(weights: Array, signals: Array | None, **known: Array) -> Fits:
    n_points = len(weights)
    whole = {"Y": np.zeros((1, 1)), "Y_full": np.zeros((1, 1)), **known}
    ones = np.ones(n_points)
    return Fits(weights, weights, signals, ones, ones, ones, whole, seconds_per_iteration=0.5)


def test_every_row_of_the_registry_has_its_function() -> None:
    assert set(METRICS) <= set(vars(metrics))


def test_what_is_computed_follows_the_needs_of_the_registry() -> None:
    graphs = np.array([[1.0, 0.0, 2.0]])
    always = {"density", "mse_in", "mse_out", "n_iter", "converged", "kkt_residual"}
    plain = fits(graphs, None)
    assert set(compute(plain)) == always
    assert set(compute(plain, ["seconds", "weights"])) == always | {"seconds"}
    of_graph = {"aps_weights", "aps_scores", "sse"}
    assert set(compute(fits(graphs, None, W=adjacency_from_edges(graphs[0])))) == always | of_graph
    assert set(compute(fits(graphs, None, groups=np.array([0, 0, 1])))) == always | {"nmi"}
    assert set(compute(plain, ["shape", "rise"])) == always | {"top_share", "uneven"}


def test_shapes_by_hand() -> None:
    rng = np.random.default_rng(0)
    weights = rng.gamma(0.5, size=(3, 45))  # ten nodes
    weights[1, 5:] = 0.0
    weights[2] = 0.2
    signals = rng.normal(1.0, 2.0, size=(3, 4, 10))
    Y = rng.normal(size=(4, 10))
    found = compute(
        fits(weights, signals, Y=Y, Y_full=Y, W=adjacency_from_edges(weights[1])), SHAPE | {"shape"}
    )
    assert set(found) >= SHAPE
    for k in range(3):
        heaviest = sorted(weights[k].tolist())[-2:]  # 5 % of 45 pairs
        assert found["top_share"][k] == pytest.approx(sum(heaviest) / weights[k].sum())
        mean = weights[k].sum() / 45
        deviation = (sum((w - mean) ** 2 for w in weights[k]) / 45) ** 0.5
        assert found["uneven"][k] == pytest.approx(deviation / mean)
        learned = sum(w > 1e-4 * weights[k].max() for w in weights[k]) / 45
        assert found["density_error"][k] == pytest.approx(learned - 5 / 45)
        size = (signals[k] ** 2).sum()
        rows = sum(((row - row.mean()) ** 2).sum() for row in signals[k])
        whole = ((signals[k] - signals[k].mean()) ** 2).sum()
        assert found["size"][k] == pytest.approx((size / (Y**2).sum()) ** 0.5)
        assert found["row_spread"][k] == pytest.approx((rows / size) ** 0.5)
        assert found["spread"][k] == pytest.approx((whole / size) ** 0.5)


def test_the_extremes_of_shapes() -> None:
    weights = np.array([[0.0, 0.0, 3.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    constant_rows = np.array([[1.0] * 3, [-5.0] * 3])
    signals = np.stack([np.zeros((2, 3)), np.full((2, 3), 4.0), constant_rows])
    Y = np.full((2, 3), 2.0)
    found = compute(fits(weights, signals, Y=Y, Y_full=Y), ["shape"])
    assert "density_error" not in found  # no true graph
    # few pairs: the heaviest of them stands for 5 %
    np.testing.assert_allclose(found["top_share"], [1.0, 1 / 3, 1 / 3])
    np.testing.assert_allclose(found["size"], [0.0, 2.0, 13**0.5 / 2])
    np.testing.assert_allclose(found["row_spread"], [0.0, 0.0, 0.0])
    np.testing.assert_allclose(found["spread"], [0.0, 0.0, 3 / 13**0.5])


@pytest.mark.parametrize(
    ("objective", "rise"),
    [
        ([4.0, 3.0, 3.5, 1.0], 0.125),
        ([4.0, 6.0, 3.5, 5.0], 0.5),
        ([-4.0, -3.0, -8.0], 0.25),
        ([4.0, 3.0, 2.5], -0.125),
        ([4.0, 4.0], 0.0),
        ([4.0], -np.inf),  # no second iteration
    ],
)
def test_the_rise_of_an_objective(objective: list[float], rise: float) -> None:
    one = fits(np.ones((1, 3)), None)
    made = Fits(**{**vars(one), "objectives": [np.array(objective)]})
    assert compute(made, ["rise"])["rise"].tolist() == [rise]


def test_errors_are_those_of_observed_and_of_withheld_entries() -> None:
    full = np.arange(6.0).reshape(2, 3)
    gaps = np.where(full == 4.0, np.nan, full)
    signals = np.stack([full, full + np.where(np.isnan(gaps), 3.0, 2.0)])
    found = fits(np.zeros((2, 3)), signals, Y=gaps, Y_full=full)
    assert metrics.mse_in(found).tolist() == [0.0, 4.0]
    assert metrics.mse_out(found).tolist() == [0.0, 9.0]
    assert found.replicate == 0
    complete = fits(np.zeros((2, 3)), signals, Y=full, Y_full=full)
    assert np.isnan(metrics.mse_out(complete)).all()
    assert np.isnan(metrics.mse_in(fits(np.zeros((2, 3)), None, Y=full, Y_full=full))).all()
