"""Intervals and the power of criteria, against Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from experiments.stats import (
    MissingEvidence,
    contrast,
    joint_power,
    mean_interval,
    power,
    unpaired,
)

DRAWS = 20_000


def share_inside(effect: float, spread: float, runs: int, above: float, below: float) -> float:
    """How often the interval of a mean of normal values lies between two ends."""
    drawn = np.random.default_rng(0).normal(effect, spread, size=(DRAWS, runs))
    half = stats.t.ppf(0.975, runs - 1) * stats.sem(drawn, axis=1)
    mean = drawn.mean(axis=1)
    return float(((mean - half > above) & (mean + half < below)).mean())


@pytest.mark.parametrize("runs", [3, 5, 10, 30])
@pytest.mark.parametrize(
    ("effect", "above", "below"),
    [(0.05, 0.0, None), (0.45, None, 0.5), (0.05, 0.0, 0.1), (0.02, 0.0, 0.1), (0.0, -0.1, 0.1),
     (-0.01, 0.0, None)],
)  # fmt: skip
@pytest.mark.parametrize("spread", [0.02, 0.08])
def test_power_is_how_often_a_criterion_holds(
    runs: int, effect: float, above: float | None, below: float | None, spread: float
) -> None:
    half = float(stats.t.ppf(0.975, runs - 1) * spread / np.sqrt(runs))
    expected = share_inside(
        effect,
        spread,
        runs,
        -np.inf if above is None else above,
        np.inf if below is None else below,
    )
    found = power(effect, half, runs - 1, above=above, below=below)
    assert found == pytest.approx(expected, abs=0.015)


def test_power_of_a_bound_is_that_of_the_noncentral_t() -> None:
    for effect in (0.01, 0.05, 0.1):
        known = stats.nct.sf(stats.t.ppf(0.975, 9), 9, effect / 0.02)
        half = 0.02 * float(stats.t.ppf(0.975, 9))
        assert power(effect, half, 9, above=0.0) == pytest.approx(known, abs=1e-3)
        assert power(-effect, half, 9, below=0.0) == pytest.approx(known, abs=1e-3)


def test_without_spread_a_criterion_holds_or_does_not() -> None:
    assert power(0.5, 0.0, 3, above=0.4, below=0.6) == 1.0
    assert power(0.7, 0.0, 3, above=0.4, below=0.6) == 0.0
    assert power(0.5, 0.1, 3) == pytest.approx(1.0)


def test_a_contrast_of_two_is_their_difference_and_of_three_has_the_right_width() -> None:
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(1, 1, 8), rng.normal(0, 2, 12), rng.normal(2, 0.5, 5)
    assert contrast([a, b], [1.0, -1.0])[:3] == pytest.approx(unpaired(a, b))
    value, low, high, freedom = contrast([a, b, c], [0.5, 0.5, -1.0])
    assert value == pytest.approx((a.mean() + b.mean()) / 2 - c.mean())
    error = np.sqrt(stats.sem(a) ** 2 / 4 + stats.sem(b) ** 2 / 4 + stats.sem(c) ** 2)
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, freedom) * error)
    assert contrast([a], [1.0])[:3] == pytest.approx(mean_interval(a))
    assert contrast([np.full(3, 2.0), np.full(4, 0.5)], [1.0, -1.0]) == (1.5, 1.5, 1.5, 5.0)


def test_intervals_of_a_contrast_cover_the_true_one() -> None:
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(2000):
        samples = [rng.normal(0, spread, 10) for spread in (1.0, 2.0, 0.5)]
        _, low, high, _ = contrast(samples, [0.5, 0.5, -1.0])
        held += low < 0 < high
    assert held / 2000 == pytest.approx(0.95, abs=0.015)


def test_a_contrast_needs_a_weight_for_each_sample() -> None:
    with pytest.raises(ValueError, match="zip"):
        contrast([np.arange(3.0), np.arange(3.0)], [1.0])


@pytest.mark.parametrize(("above", "below"), [(0.0, None), (None, 1.0), (0.0, 1.0)])
def test_joint_power_is_how_often_all_criteria_hold(
    above: float | None, below: float | None
) -> None:
    rng = np.random.default_rng(1)
    common = rng.normal(size=(12, 1))
    samples = common + 0.5 * rng.normal(size=(12, 3))
    covariance = np.cov(samples, rowvar=False)
    drawn = np.random.default_rng(2).multivariate_normal(np.full(3, 0.6), covariance, (DRAWS, 12))
    half = stats.t.ppf(0.975, 11) * stats.sem(drawn, axis=1)
    mean = drawn.mean(axis=1)
    low, high = -np.inf if above is None else above, np.inf if below is None else below
    share = ((mean - half > low) & (mean + half < high)).all(axis=1).mean()
    found = joint_power(samples, 0.6, above=above, below=below)
    assert found == pytest.approx(share, abs=0.02)
    single = joint_power(samples[:, :1], 0.6, above=above, below=below)
    spread = float(samples[:, 0].std(ddof=1))
    expected = share_inside(0.6, spread, 12, low, high)
    assert single == pytest.approx(expected, abs=0.02)


def test_ends_are_not_inside_and_two_values_make_an_interval() -> None:
    assert power(0.6, 0.0, 3, below=0.6) == power(0.6, 0.0, 3, above=0.6) == 0.0
    mean, low, high = mean_interval(np.array([0.0, 2.0]))
    assert (mean, high - low) == (1.0, pytest.approx(2 * stats.t.ppf(0.975, 1)))
    with pytest.raises(MissingEvidence, match="1 values"):
        mean_interval(np.array([1.0]))
