"""Side information that is masked or out of order: refused or aligned, never silently misread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kgl
from kgl import GL, KGL, kernels

M, N = 6, 20
POINT: dict[str, Any] = {"lam": 0.1, "rho": 0.1, "psi": 1.0}
ORDER = {"x": np.array([3, 0, 5, 1, 4, 2]), "z": np.random.default_rng(3).permutation(N)}


def _data() -> tuple[np.ndarray, dict[str, Any]]:
    """Return Y and side information by the name of its argument."""
    rng = np.random.default_rng(0)
    side = {"x": rng.normal(size=(M, 2)), "z": rng.normal(size=(N, 1))}
    side |= {f"K_{name}": kernels.RBF(gamma=0.5)(side[name]) for name in ("x", "z")}
    return rng.normal(size=(N, M)), side


def _masked(values: np.ndarray, count: int = 2) -> np.ma.MaskedArray:
    """Mask the last entries."""
    hidden = np.zeros(values.shape, dtype=bool)
    hidden.reshape(-1)[-count:] = True
    return np.ma.masked_array(values, mask=hidden)


# -- masked entries ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x", "z", "K_x", "K_z"])
def test_masked_side_information_is_refused(name: str) -> None:
    Y, side = _data()
    masked = _masked(side[name])
    refusal = rf"^{name} has 2 masked entries.*fill them.*or drop the rows"
    calls: list[Callable[[Any], Any]] = [
        lambda value: KGL(**POINT).fit(Y, **{name: value}),
        lambda value: kgl.fit_grid(KGL, Y, lam=[0.1], rho=[0.1], psi=[1.0], **{name: value}),
        lambda value: kgl.select_held_out(KGL, Y, lam=[0.1], rho=[0.1], **{name: value}),
        lambda value: KGL(**POINT).fit(Y, **{name: side[name]}).predict(**{name: value}),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=refusal):
            call(masked)
        with pytest.raises(ValueError, match=refusal):
            call(list(masked))  # a list of masked rows
    unmasked = np.ma.masked_array(side[name], mask=False)
    np.testing.assert_array_equal(
        KGL(**POINT).fit(Y, **{name: unmasked}).weights_,
        KGL(**POINT).fit(Y, **{name: side[name]}).weights_,
    )


@pytest.mark.parametrize("name", ["allowed_edges", "forbidden_edges", "edge_penalty", "init"])
def test_masked_knowledge_about_edges_is_refused(name: str) -> None:
    Y, _ = _data()
    full = np.ones((M, M)) - np.eye(M)
    values = {"edge_penalty": full, "init": np.diag(full.sum(axis=1)) - full}
    value = values.get(name, np.eye(M, dtype=bool) if name == "forbidden_edges" else full > 0)
    GL(psi=1.0, **{name: np.ma.masked_array(value, mask=False)}).fit(Y)
    with pytest.raises(ValueError, match=rf"^{name} has 1 masked entry.*fill them"):
        GL(psi=1.0, **{name: _masked(value, 1)}).fit(Y)


def test_kernels_refuse_masked_covariates_and_matrices() -> None:
    _, side = _data()
    for spec in (kernels.RBF(), kernels.Linear(), kernels.Mixed()):
        with pytest.raises(ValueError, match="X has 2 masked entries"):
            spec.fit(_masked(side["x"]))
        with pytest.raises(ValueError, match="X_new has 2 masked entries"):
            spec.fit(side["x"]).cross(_masked(side["x"]))
    precomputed = kernels.Precomputed()
    with pytest.raises(ValueError, match="precomputed kernel has 2 masked entries"):
        precomputed.fit(_masked(side["K_x"]))
    with pytest.raises(ValueError, match="cross-kernel has 2 masked entries"):
        precomputed.fit(side["K_x"]).cross(_masked(side["K_x"]))
    with pytest.raises(ValueError, match="L has 1 masked entry"):
        kernels.LaplacianKernel(_masked(np.array([[1.0, -1.0], [-1.0, 1.0]]), 1))


def test_masked_rows_of_Y_are_missing_entries() -> None:
    Y, side = _data()
    gap = Y.copy()
    gap[-1, -2:] = np.nan
    expected = KGL(**POINT).fit(gap, x=side["x"])
    rows = list(_masked(np.where(np.isnan(gap), 9e9, Y)))
    fitted = KGL(**POINT).fit(rows, x=side["x"])
    np.testing.assert_array_equal(fitted.weights_, expected.weights_)
    np.testing.assert_array_equal(fitted.impute(rows), expected.impute(gap))


# -- rows in another order -----------------------------------------------------------------------


def _table(values: np.ndarray, name: str, labels: Any) -> pd.DataFrame:
    """Return side information as a table, its rows (of a kernel, its columns too) reordered."""
    order = ORDER[name[-1]]
    if name.startswith("K_"):
        return pd.DataFrame(values, index=labels, columns=labels).iloc[order, order]
    return pd.DataFrame(values, index=labels).iloc[order]


@pytest.mark.parametrize("name", ["x", "z", "K_x", "K_z"])
@pytest.mark.parametrize("start", [0, 2000])
def test_integer_labels_are_aligned_as_names_are(name: str, start: int) -> None:
    Y, side = _data()
    expected = KGL(**POINT).fit(Y, **{name: side[name]})
    frame = pd.DataFrame(Y, index=range(start, start + N), columns=range(start, start + M))
    size = len(side[name])
    table = _table(side[name], name, range(start, start + size))
    fitted = KGL(**POINT).fit(frame, **{name: table})
    np.testing.assert_array_equal(fitted.weights_, expected.weights_)
    grid = kgl.fit_grid(KGL, frame, lam=[0.1], rho=[0.1], psi=[1.0], **{name: table})
    alone = kgl.fit_grid(KGL, Y, lam=[0.1], rho=[0.1], psi=[1.0], **{name: side[name]})
    np.testing.assert_array_equal(grid.weights, alone.weights)


@pytest.mark.parametrize("name", ["x", "z", "K_x", "K_z"])
def test_a_reordered_index_is_refused_where_Y_cannot_settle_it(name: str) -> None:
    Y, side = _data()
    table = _table(side[name], name, range(len(side[name])))
    last = len(table) - 1
    remedy = rf"{name}\.sort_index\(\).*{name}\.to_numpy\(\) to match by position"
    with pytest.raises(
        ValueError, match=rf"rows of {name} are numbered 0 to {last}.*no labels.*{remedy}"
    ):
        KGL(**POINT).fit(Y, **{name: table})
    named = pd.DataFrame(
        Y, index=[f"day {k}" for k in range(N)], columns=[f"node {k}" for k in range(M)]
    )
    with pytest.raises(ValueError, match=rf"rows of {name}.*labels \['(node|day) 0'.*{remedy}"):
        KGL(**POINT).fit(named, **{name: table})
    # both remedies work
    ordered = table.sort_index()
    if name.startswith("K_"):
        with pytest.raises(ValueError, match=rf"columns of {name}.*sort_index\(axis=1\)"):
            KGL(**POINT).fit(Y, **{name: ordered})
        ordered = ordered.sort_index(axis=1)
    np.testing.assert_array_equal(
        KGL(**POINT).fit(Y, **{name: ordered}).weights_,
        KGL(**POINT).fit(Y, **{name: side[name]}).weights_,
    )
    KGL(**POINT).fit(Y, **{name: table.to_numpy()})


def test_a_sorted_series_of_covariates_is_aligned() -> None:
    Y, side = _data()
    height = pd.Series(side["x"][:, 0])
    expected = KGL(**POINT).fit(Y, x=height)
    fitted = KGL(**POINT).fit(pd.DataFrame(Y), x=height.sort_values())
    np.testing.assert_array_equal(fitted.weights_, expected.weights_)
    with pytest.raises(ValueError, match=r"x\.sort_index\(\)"):
        KGL(**POINT).fit(Y, x=height.sort_values())


def test_rows_of_repeated_labels_are_no_guide_to_reordered_covariates() -> None:
    Y, side = _data()
    table = _table(side["z"], "z", range(N))
    with pytest.raises(ValueError, match=r"rows of z.*no labels"):
        KGL(**POINT).fit(pd.DataFrame(Y, index=[0] * N), z=table)


@pytest.mark.parametrize("side_name", ["x", "z"])
def test_the_columns_of_a_cross_kernel_are_aligned(side_name: str) -> None:
    Y, side = _data()
    name, order = f"K_{side_name}", ORDER[side_name]
    cross = pd.DataFrame(side[name][:3])
    model = KGL(**POINT).fit(pd.DataFrame(Y), **{name: side[name]})
    expected = model.predict(**{name: cross.to_numpy()})
    np.testing.assert_array_equal(model.predict(**{name: cross[order]}), expected)
    unlabelled = KGL(**POINT).fit(Y, **{name: side[name]})
    np.testing.assert_array_equal(unlabelled.predict(**{name: cross}), expected)
    with pytest.raises(ValueError, match=rf"columns of {name}.*sort_index\(axis=1\)"):
        unlabelled.predict(**{name: cross[order]})


def test_the_order_of_a_table_of_pairs_means_nothing() -> None:
    Y, _ = _data()
    pairs = pd.DataFrame({"source": [0, 2, 4], "target": [1, 3, 5]}, index=[2, 0, 1])
    for data in (Y, pd.DataFrame(Y)):
        weights = GL(psi=100.0, forbidden_edges=pairs).fit(data).weights_
        assert weights[0, 1] == weights[2, 3] == weights[4, 5] == 0.0
    named = pd.DataFrame(Y, columns=list("abcdef"))
    filtered = pd.DataFrame({"source": ["a"], "target": ["b"]}, index=[7])
    assert GL(psi=100.0, forbidden_edges=filtered).fit(named).weights_[0, 1] == 0.0
    matrix = pd.DataFrame(np.eye(M, dtype=bool)).iloc[ORDER["x"], ORDER["x"]]
    with pytest.raises(ValueError, match=r"rows of forbidden_edges.*sort_index"):
        GL(psi=100.0, forbidden_edges=matrix).fit(Y)
