"""What users bring: labelled tables, gaps in any container, any unit, many rows."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import n_edges
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kgl
from kgl import GL, KGL, KGLN, KGLO, kernels
from kgl.models import GraphLearner


def test_tables_are_matched_by_name_whatever_their_order() -> None:
    data = kgl.datasets.make_stations(7, 20)
    settings: dict[str, Any] = {"lam": 0.1, "rho": 0.1, "psi": 1.0}
    expected = kgl.KGL(**settings).fit(data.Y, x=data.x, z=data.z)
    days = [f"day {k}" for k in range(20)]
    Y, z = data.Y.set_axis(days), data.z.set_axis(days)
    shuffled = kgl.KGL(**settings).fit(Y, x=data.x.iloc[::-1], z=z.sample(frac=1.0, random_state=0))
    np.testing.assert_array_equal(shuffled.weights_, expected.weights_)
    # rows that nobody labelled are matched by position, whatever index a selection left behind
    leftover = data.z.set_axis(np.random.default_rng(0).permutation(20) + 1)
    by_position = kgl.KGL(**settings).fit(data.Y, x=data.x, z=leftover)
    np.testing.assert_array_equal(by_position.weights_, expected.weights_)
    K_x = pd.DataFrame(
        kgl.kernels.RBF(gamma=0.01)(data.x.to_numpy()), index=data.x.index, columns=data.x.index
    )
    by_name = kgl.KGLN(**settings).fit(data.Y, K_x=K_x.iloc[::-1, ::-1])
    np.testing.assert_array_equal(
        by_name.weights_, kgl.KGLN(**settings).fit(data.Y, K_x=K_x.to_numpy()).weights_
    )
    by_position = kgl.KGL(**settings).fit(data.Y, x=data.x.reset_index(drop=True), z=data.z)
    np.testing.assert_array_equal(by_position.weights_, expected.weights_)
    other = data.x.rename(index={data.x.index[2]: "Elsewhere"})
    with pytest.raises(ValueError, match=r"x has 'Elsewhere'.*one row for each"):
        kgl.KGL(**settings).fit(data.Y, x=other)


def test_a_graph_kernel_needs_no_covariates() -> None:
    data = kgl.simulate.make_dataset("er", m=8, n=30)
    spec = kgl.kernels.LaplacianKernel(data.L, alpha=100.0)
    alone = kgl.KGLN(psi=0.01, kernel_x=spec).fit(data.Y)
    given = kgl.KGLN(psi=0.01).fit(data.Y, K_x=data.K_x)
    np.testing.assert_allclose(alone.weights_, given.weights_, atol=1e-10)
    with pytest.raises(ValueError, match=r"x has 8 row.*5 columns"):
        kgl.KGLN(psi=0.01, kernel_x=spec).fit(data.Y[:, :5])


def test_the_dust_of_an_inexact_solver_is_no_edge() -> None:
    pytest.importorskip("cvxpy")
    data = kgl.simulate.make_dataset("er", m=8, n=30)
    exact = kgl.GL(density=0.3).fit(data.Y)
    inexact = kgl.GL(psi=exact.psi_, solver="cvxpy").fit(data.Y)
    assert len(inexact.to_edges()) == len(exact.to_edges())
    assert inexact.to_sparse().nnz == exact.to_sparse().nnz
    assert inexact.to_networkx().number_of_edges() == exact.to_networkx().number_of_edges()


def test_a_grid_says_how_many_points_did_not_converge() -> None:
    data = kgl.simulate.make_dataset("er", m=8, n=30)
    axes: dict[str, Any] = {"rho": [0.1, 10.0], "psi": [1e-3, 1e-2]}
    with pytest.warns(ConvergenceWarning, match=r"of 4 grid points did not converge.*max_iter"):
        kgl.fit_grid(kgl.GL2Step, data.Y, **axes, max_iter=1)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    "model",
    [
        GL(density=0.3),
        GL(density=0.3, regularizer="log-degree"),
        KGLN(density=0.3),
        KGLN(density=0.3, lam=1e4),
    ],
    ids=["GL", "GL log-degree", "KGLN", "KGLN large lam"],
)
def test_a_density_is_reached_in_any_unit(model: GraphLearner, unit: float) -> None:
    data = kgl.simulate.make_dataset("er", m=12, n=60)
    fitted = clone(model).fit(unit * data.Y)
    assert n_edges(fitted.weights_) == round(0.3 * 66)


def test_log_degree_with_fitted_signals_asks_for_psi() -> None:
    data = kgl.simulate.make_dataset("er", m=6, n=20)
    with pytest.raises(ValueError, match=r"log-degree' needs psi.*give psi"):
        KGL(regularizer="log-degree").fit(data.Y)


def test_a_kernel_that_happens_to_be_the_identity_still_predicts() -> None:
    data = kgl.simulate.make_dataset("er", m=6, n=20)
    narrow = KGLO(psi=0.1, center="none", kernel_z=kernels.RBF(gamma=1e4))
    narrow.fit(data.Y, z=np.arange(20.0))
    np.testing.assert_allclose(narrow.predict(z=[3.0]), narrow.signals_[3:4], atol=1e-12)
    with pytest.warns(UserWarning, match="far from those of the fit"):
        assert np.abs(narrow.predict(z=[3.5])).max() == 0.0


def test_boolean_tables_of_edges_are_matched_by_name() -> None:
    data = kgl.simulate.make_dataset("er", m=5, n=20)
    names = list("abcde")
    forbidden = pd.DataFrame(False, index=names, columns=names)
    forbidden.loc["a", "b"] = forbidden.loc["b", "a"] = True
    Y = pd.DataFrame(data.Y, columns=names)
    model = GL(psi=100.0, forbidden_edges=forbidden.iloc[::-1, ::-1]).fit(Y)
    assert model.weights_[0, 1] == 0.0
    assert n_edges(model.weights_) == 9


def test_nullable_integers_are_data_with_gaps() -> None:
    Y = pd.DataFrame(np.arange(24).reshape(6, 4) % 5).astype("Int64")
    Y.iloc[0, 0] = pd.NA
    model = KGLN(psi=1.0).fit(Y)
    filled = model.impute(Y)
    assert filled.iloc[0, 0] == pytest.approx(model.signals_[0, 0])
    assert filled.iloc[1, 1] == Y.iloc[1, 1]


def test_many_independent_rows_take_little_memory() -> None:
    # an identity over the observations would be 800 MB
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(10_000, 3)) @ rng.normal(size=(3, 3))
    Y[rng.random(Y.shape) < 0.1] = np.nan
    Y = Y[~np.isnan(Y).all(axis=1)]
    tracemalloc.start()
    KGLN(psi=1.0, tol=1e-2).fit(Y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6


def test_an_outlying_node_leaves_the_log_degree_graph_exact() -> None:
    # one node a million times as far away: a dual method would lose the potentials of the others
    Y = np.random.default_rng(3).standard_normal((30, 20))
    Y[:, 0] *= 1e6
    raw = GL(psi=1.0, regularizer="log-degree", center="none", scale="none", signed=False)
    with pytest.warns(UserWarning, match="standard deviations range"):
        model = raw.fit(Y)
    assert model.kkt_residual_ < 1e-12
    Z = kgl.laplacian.pairwise_sq_distances(Y)
    assert kgl.kkt_residual(model.weights_, Z, 1.0, regularizer="log-degree") < 1e-9


def test_repeated_covariates_have_a_bandwidth() -> None:
    # two records an hour: every row has a twin, yet the rows are not all equal
    twice = np.repeat(np.arange(15.0), 2)
    spec = kernels.RBF(bandwidth="median_nearest")
    assert spec.fit(twice).gamma_ == pytest.approx(1 / np.median(np.abs(twice[:, None] - twice)[
        np.triu_indices(30, 1)]))  # fmt: skip
    Y = np.random.default_rng(0).normal(size=(30, 6))
    assert KGLO(psi=1.0).fit(Y, z=twice).converged_
    with pytest.raises(ValueError, match="all covariate rows are equal"):
        spec.fit(np.ones(5))


def test_impute_refuses_other_columns_and_rows() -> None:
    data = kgl.datasets.make_stations(6, 20)
    model = KGLN(psi=1.0).fit(data.Y)
    assert not model.impute(data.Y).isna().any().any()
    with pytest.raises(ValueError, match=r"columns of Y.*pass the data of the fit"):
        model.impute(data.Y.iloc[:, ::-1])
    with pytest.raises(ValueError, match=r"rows of Y.*use predict"):
        model.impute(data.Y.iloc[::-1])


def test_covariates_of_other_nodes_are_refused() -> None:
    data = kgl.datasets.make_stations(6, 20)
    with pytest.raises(ValueError, match=r"rows of x.*reset its index"):
        KGLN(psi=1.0).fit(data.Y, x=data.x.rename(index=str.upper))


def test_pairs_are_not_mistaken_for_text_or_matrices() -> None:
    Y = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 2)), columns=["a", "b"])
    with pytest.raises(ValueError, match=r"'ab', which is not a pair"):
        GL(psi=1.0, forbidden_edges=["ab"]).fit(Y)
    with pytest.raises(ValueError, match="every edge is forbidden"):
        GL(psi=1.0, allowed_edges=[("a", "a"), ("b", "b")]).fit(Y)
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 3)), columns=list("abc"))
    pairs = pd.DataFrame({"source": ["a"], "target": ["b"]})
    assert GL(psi=100.0, forbidden_edges=pairs).fit(wide).weights_[0, 1] == 0.0


def test_a_density_counts_allowed_pairs_at_most() -> None:
    data = kgl.simulate.make_dataset("er", m=6, n=20)
    model = GL(density=0.9, allowed_edges=[(0, 1), (2, 3)]).fit(data.Y)
    assert n_edges(model.weights_) == 2


def test_a_choice_at_the_end_of_the_grid_is_pointed_out() -> None:
    data = kgl.simulate.make_dataset("er", m=6, n=30)
    with pytest.warns(UserWarning, match=r"end of the grid, lam = .*extend"):
        kgl.select_held_out(
            KGLN, data.Y, K_x=data.K_x, lam=[1e2, 1e3, 1e4], rho=[0.1], psi=[0.01], n_folds=3
        )
