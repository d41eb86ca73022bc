"""Small faults that once survived the tests of scores: see tests/mutation."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.score import score_cell

AXES = {"grid.lam": np.repeat([1.0, 2.0, 3.0], 3), "grid.rho": np.tile([4.0, 5.0, 6.0], 3)}
PROTOCOL = {"aps": "weights", "best": "replicate"}


def selected(name: str, values: np.ndarray, by: str) -> dict[int, dict[str, object]]:
    """Return the selected point of each replicate that has one."""
    rows = score_cell({**AXES, name: values}, {"model": "kgl"}, PROTOCOL)
    return {row["replicate"]: row for row in rows if row["selected_by"] == by}


@pytest.mark.parametrize(("name", "by"), [("aps_weights", "aps"), ("mse_out", "mse_out")])
def test_of_equally_good_points_one_inside_the_grid_is_selected(name: str, by: str) -> None:
    (row,) = selected(name, np.full((1, 9), 0.5), by).values()
    assert (row["lam"], row["rho"], row["at_edge"]) == (2.0, 5.0, "")
    # without a tie a corner may be best
    better = np.full((1, 9), 0.5)
    better[0, 8] = 0.6 if by == "aps" else 0.4
    (row,) = selected(name, better, by).values()
    assert (row["lam"], row["rho"], row["at_edge"]) == (3.0, 6.0, "lam+rho")


@pytest.mark.parametrize("hole", range(9))
def test_a_replicate_with_some_points_unscored_is_left_out(hole: int) -> None:
    values = np.random.default_rng(0).random((3, 9))
    values[1, hole] = np.nan
    found = selected("mse_out", values, "mse_out")
    assert set(found) == {0, 2}
    for replicate, row in found.items():
        best = int(values[replicate].argmin())
        assert (row["lam"], row["rho"]) == (AXES["grid.lam"][best], AXES["grid.rho"][best])


def test_a_point_that_no_replicate_has_is_ignored() -> None:
    values = np.random.default_rng(1).random((3, 9))
    values[:, 4] = np.nan
    assert set(selected("mse_out", values, "mse_out")) == {0, 1, 2}
