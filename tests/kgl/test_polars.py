"""Frames of polars in place of pandas."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kgl

pl = pytest.importorskip("polars")

RNG = np.random.default_rng(0)
NAMES = list("abcde")
VALUES = RNG.normal(size=(40, 5)).cumsum(axis=0)
VALUES[3, 2] = VALUES[10:14, 4] = np.nan
PANDAS = pd.DataFrame(VALUES, columns=NAMES)
#: Missing entries are null, as polars has them, not NaN.
POLARS = pl.DataFrame(
    {
        name: [None if np.isnan(v) else float(v) for v in VALUES[:, k]]
        for k, name in enumerate(NAMES)
    }
)
DATES = [date(2020, 1, 1) + timedelta(days=7 * k) for k in range(40)]
PLACES = {"east": RNG.normal(size=5), "kind": ["u", "v", "u", "v", "u"]}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"z": pl.Series(DATES)}, {"z": pd.Series(DATES)}),
        ({"z": pl.DataFrame({"date": DATES})}, {"z": pd.DataFrame({"date": DATES})}),
        ({"x": pl.DataFrame(PLACES)}, {"x": pd.DataFrame(PLACES, index=NAMES)}),
    ],
    ids=["bare", "dates", "frame of dates", "places"],
)
def test_the_graph_is_that_of_pandas(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    found = kgl.KGL().fit(POLARS, **ours)
    assert found.node_names_ == NAMES
    np.testing.assert_array_equal(found.weights_, kgl.KGL().fit(PANDAS, **theirs).weights_)


def test_filled_frames_are_polars_again() -> None:
    model = kgl.KGL().fit(POLARS)
    filled = model.impute(POLARS)
    assert isinstance(filled, pl.DataFrame)
    assert filled.columns == NAMES
    np.testing.assert_array_equal(filled.to_numpy(), kgl.KGL().fit(PANDAS).impute(PANDAS))
    out = kgl.KGLImputer().set_output(transform="polars").fit_transform(POLARS)
    assert isinstance(out, pl.DataFrame)
    assert out.null_count().sum_horizontal().item() == 0


def test_other_columns_are_named_with_a_remedy_that_polars_knows() -> None:
    with pytest.raises(TypeError, match=r"column 's' of Y holds text.*Y\.drop\('s'\)"):
        kgl.KGL().fit(POLARS.with_columns(pl.Series("s", ["q"] * 40)))
    with pytest.raises(TypeError, match=r"column 's' of Y holds dates.*Y\.drop\('s'\) with z="):
        kgl.KGL().fit(POLARS.with_columns(pl.Series("s", DATES)))
    with pytest.raises(TypeError, match=r"pass Y\.collect"):
        kgl.KGL().fit(POLARS.lazy())
    model = kgl.KGL().fit(POLARS)
    with pytest.raises(ValueError, match="are not those of the fit"):
        model.impute(POLARS.select(NAMES[::-1]))


def test_held_out_entries() -> None:
    found = kgl.select_held_out(kgl.KGL, POLARS, n_folds=2)
    same = kgl.select_held_out(kgl.KGL, PANDAS, n_folds=2)
    np.testing.assert_array_equal(found.mse, same.mse)
