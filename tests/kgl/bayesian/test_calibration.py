"""Simulation-based calibration: data from the prior, ranks of the parameters that made them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.calibration import BRANCHES, Branch, Found, calibrate

#: Least p-value of a test of uniform ranks; there are 5 of them in each of 8 branches.
LEVEL = 0.01 / 40


@pytest.mark.parametrize("branch", BRANCHES, ids=lambda branch: branch.label)
def test_ranks_are_uniform(branch: Branch) -> None:
    found = calibrate(branch, 20, m=4, n=12, chains=8, warmup=16, draws=16, seed=0)
    for name, value in found.p_values().items():
        assert value > LEVEL, name
    # the number of edges, against its standard deviation under the stated probabilities
    p, edge = found.stated, found.true
    assert abs(np.sum(edge - p)) < 4.0 * np.sqrt(np.sum(p * (1 - p)))
    assert np.mean((edge - p) ** 2) < np.mean((edge - edge.mean()) ** 2)


def test_the_calibration_error_is_the_distance_of_stated_and_true() -> None:
    stated = np.array([[0.25, 0.25, 0.25, 0.25, 0.95]])
    exact = Found({}, stated, np.array([[1, 0, 0, 0, 1]]))
    assert exact.calibration_error() == pytest.approx(0.05 / 5)
    sure = Found({}, stated, np.array([[1, 1, 1, 1, 0]]))
    assert sure.calibration_error() == pytest.approx((4 * 0.75 + 0.95) / 5)
