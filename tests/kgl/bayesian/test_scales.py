"""BayesianKGL: units and levels change nothing, and data without information get a clear answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kgl
from kgl._types import Array

DATA = kgl.simulate.make_dataset("er", m=6, n=40, dependent=True, missing=0.15, seed=21)
NAMES = list("abcdef")
SIDES: dict[str, dict[str, Any]] = {
    "no side information": {},
    "both kernels": {"K_x": DATA.K_x, "K_z": DATA.K_z},
}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def small(**options: Any) -> kgl.BayesianKGL:
    return kgl.BayesianKGL(**{"n_chains": 4, "n_warmup": 10, "n_draws": 10} | options)


@cache
def plain(side: str, complete: bool) -> kgl.BayesianKGL:
    return small().fit(DATA.Y_full if complete else DATA.Y, **SIDES[side])


def check_same(one: kgl.BayesianKGL, two: kgl.BayesianKGL) -> None:
    """Check that two fits from the same random numbers agree to rounding."""
    np.testing.assert_allclose(two.edge_probability_, one.edge_probability_, atol=1e-6)
    edges = [model.edge_probability_ >= 0.5 for model in (one, two)]
    np.testing.assert_array_equal(*edges)
    np.testing.assert_allclose(two.weights_, one.weights_, atol=1e-5 * one.weights_.max())


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_change_no_probability(factor: float, side: str, complete: bool) -> None:
    Y = DATA.Y_full if complete else DATA.Y
    one, two = plain(side, complete), small().fit(factor * Y, **SIDES[side])
    check_same(one, two)
    np.testing.assert_allclose(two.noise_variance_, factor**2 * one.noise_variance_, rtol=1e-4)
    np.testing.assert_allclose(two.signals_, factor * one.signals_, atol=1e-5 * factor)


@pytest.mark.parametrize("complete", [True, False])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("shift", [-30.0, 1e4])
def test_levels_change_no_probability(shift: float, side: str, complete: bool) -> None:
    Y = DATA.Y_full if complete else DATA.Y
    one, two = plain(side, complete), small().fit(Y + shift, **SIDES[side])
    check_same(one, two)
    np.testing.assert_allclose(two.noise_variance_, one.noise_variance_, rtol=1e-4)
    np.testing.assert_allclose(two.signals_ - shift, one.signals_, atol=1e-5)


def test_units_of_each_column_change_no_probability() -> None:
    units = 10.0 ** np.array([-6, -3, 0, 2, 4, 6])
    levels = np.array([0.0, 5.0, -3.0, 100.0, 1.0, 0.1])
    two = small().fit(units * (DATA.Y + levels))
    check_same(plain("no side information", False), two)
    filled, std = two.impute(units * (DATA.Y + levels), return_std=True)
    mean, own = plain("no side information", False).impute(DATA.Y, return_std=True)
    np.testing.assert_allclose(filled / units - levels, mean, atol=1e-4)
    np.testing.assert_allclose(std / units, own, atol=1e-4)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_of_a_kernel_over_nodes_change_no_probability(factor: float) -> None:
    """What K_x has to say about pairs is taken by rank."""
    kernels = {"K_x": factor * DATA.K_x, "K_z": DATA.K_z}
    check_same(plain("both kernels", False), small().fit(DATA.Y, **kernels))


# ------------------------------------------------------------------------- nothing to learn from


def frame(change: Callable[[Array], None], *, complete: bool = True) -> pd.DataFrame:
    """Return a table with named columns after a change of its values."""
    values = (DATA.Y_full if complete else DATA.Y).copy()
    change(values)
    return pd.DataFrame(values, columns=NAMES)


def put(index: Any, value: float) -> Callable[[Array], None]:
    def change(values: Array) -> None:
        values[index] = value

    return change


COLUMN, ROW = np.s_[:, 2], np.s_[3]


@pytest.mark.parametrize("level", [0.0, 5.0, 1e9])
def test_a_constant_column_is_named_and_gets_no_likely_edge(level: float) -> None:
    with pytest.warns(UserWarning, match=r"column\(s\) 'c' of Y are constant.*drop them"):
        model = small(n_draws=20).fit(frame(put(COLUMN, level)))
    assert np.isfinite(model.edge_probability_).all()
    assert model.edge_probability_[2].max() < 0.5
    filled, std = model.impute(frame(put(COLUMN, level)), return_std=True)
    assert np.isfinite(filled.to_numpy()).all()
    assert np.isfinite(std.to_numpy()).all()


@pytest.mark.filterwarnings("ignore:column.*constant:UserWarning")
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            frame(put(COLUMN, np.nan)),
            r"column 2 of Y \(column 'c'\) has no observed entry.*drop that node",
        ),
        (frame(put(ROW, np.nan)), "row 3 of Y has no observed entry.*drop it"),
        (frame(put((3, 2), np.inf)), r"Y\[3, 2\] \(column 'c'\) = inf; replace them by NaN"),
        (frame(put((3, 2), -np.inf)), r"Y\[3, 2\] \(column 'c'\) = -inf; replace them by NaN"),
        (frame(put(np.s_[:], 1.0)), "no column that varies"),
        (frame(put(np.s_[:], np.nan)), "no observed entry"),
        (frame(put((0, 0), 0.0)).iloc[:1], r"only 1 sample \(row\)"),
        (frame(put((0, 0), 0.0)).iloc[:0], "0 sample"),
        (frame(put((0, 0), 0.0)).assign(c="calm"), "'c'"),
        (frame(put((0, 0), 0.0))[["a"]], "Y has 1 feature.*nodes of the graph"),
        (DATA.Y_full[0], "Expected 2D array"),
        (DATA.Y_full[None], "dim"),
    ],
)
def test_data_without_an_answer_are_refused(table: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        small().fit(table)


def not_psd(size: int) -> Array:
    K = np.full((size, size), -0.9)
    np.fill_diagonal(K, 1.0)
    return K


@pytest.mark.parametrize(
    ("side", "message"),
    [
        ({"K_x": not_psd(6)}, r"K_x .*(negative|semi-?definite)"),
        ({"K_z": not_psd(40)}, r"K_z .*(negative|semi-?definite)"),
        ({"K_x": np.eye(5)}, r"K_x .*6"),
        ({"K_z": np.eye(6)}, r"K_z .*40"),
        ({"K_x": np.triu(np.ones((6, 6)))}, "K_x .*symmetric"),
        ({"K_x": np.full((6, 6), np.nan)}, "K_x"),
        ({"x": np.ones((5, 2))}, "x has 5 row"),
        ({"z": np.ones((5, 2))}, "z has 5 row"),
        ({"K_x": np.eye(6), "x": np.ones((6, 1))}, "both K_x and x"),
    ],
)
def test_bad_side_information_is_named(side: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small().fit(DATA.Y, **side)
