"""Input that random calls found: refused with the remedy, or dealt with."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import kgl
from kgl import kernels, metrics, seeding, simulate
from kgl.datasets import make_stations
from kgl.folds import choose_folds, split

Y = np.random.default_rng(0).normal(size=(9, 5))
RNG = np.random.default_rng


def fitted() -> Any:
    return kgl.KGLN(density=0.4).fit(Y)


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: kgl.GL().fit([[1.0, 2.0], [3.0]]), ValueError, r"Y, a list, .* pass an array"),
    (lambda: kgl.GL().fit(Y + 1j), ValueError, r"Complex data not supported\); pass an arr"),
    (lambda: kgl.GL().fit(np.array([[{}] * 3] * 4)), TypeError, r"not 'dict'\); pass an array"),
    (lambda: kgl.GL().fit(kgl.RowSums.of(Y)), TypeError, r"RowSums, which .* pass kgl.compress"),
    (lambda: kgl.GL2Step().partial_fit([["a", "b"]]), ValueError, r"float: 'a'\); pass an array"),
    (
        lambda: kgl.GL(allowed_edges=3).fit(Y),
        ValueError,
        r"allowed_edges = 3 is no collection .* pass",
    ),
    (lambda: kgl.GL(allowed_edges=[([], 1)]).fit(Y), ValueError, r"names the node \[\], which is"),
    (
        lambda: kgl.GL(edge_penalty="a").fit(Y),
        ValueError,
        r"edge_penalty does not hold .* pass an ar",
    ),
    (lambda: kgl.GL(edge_penalty=[1.0]).fit(Y), ValueError, r"\(1,\) but there are 5 nodes; pass"),
    (lambda: kgl.KGL(psi=1.0, init=int).fit(Y), ValueError, r"init does not hold numbers; pass"),
    (lambda: kgl.GL(psi=5e-324).fit(Y), ValueError, r"psi = .* pass a number between"),
    (lambda: kgl.GL(psi=10**400).fit(Y), TypeError, r"psi must be one number"),
    (lambda: kgl.GL(solver=["newton"]).fit(Y), ValueError, r"unknown solver \['newton'\]"),
    (lambda: kgl.GL(average_degree=9).fit(Y), ValueError, r"pass a number of at most 4"),
    (lambda: kgl.KGLN().fit(Y, K_x=1e150 * np.eye(5)), ValueError, r"K_x is 1e\+150.*divide by"),
    (lambda: kgl.KGLN().fit(Y, x=1e-200 * Y.T), ValueError, r"vanish in double prec.*rescale"),
    (lambda: kgl.KGLN().fit(Y, x=1e200 * Y.T), ValueError, r"column 0 is .*: squares .*rescale th"),
    (lambda: kgl.learn_laplacian("a", 1.0), ValueError, r"Z, a str, cannot be read"),
    (lambda: kgl.learn_laplacian(np.ma.masked_array(np.eye(3), True), 1.0), ValueError, "masked"),
    (lambda: kgl.fit_grid(kgl.GL, Y, keep=np.zeros(3)), TypeError, r"keep = .* must be True or"),
    (lambda: kgl.fit_grid(kgl.GL, Y, psi=[1.0]).point(9), ValueError, r"index = 9 must be a who"),
    (lambda: kgl.fit_grid(kgl.GL, Y, psi=[1.0]).laplacian("a"), ValueError, r"index = 'a' must"),
    (lambda: kgl.select_held_out(kgl.KGLN, Y[:, :0]), ValueError, r"minimum of 2 is required"),
    (lambda: kgl.select_held_out(kgl.KGLN, Y, n_folds=2.5), ValueError, r"n_folds = 2\.5 must"),
    (lambda: kgl.select_held_out(kgl.KGLN, Y, seed=-1), ValueError, r"seed = -1 is no source"),
    (
        lambda: kgl.select_held_out(kgl.KGLN, Y, graph="stability", max_instability="low"),
        TypeError,
        r"max_instability must be one number, got 'low'",
    ),
    (lambda: kgl.stability(kgl.GL(), Y, random_state="a"), ValueError, r"random_state = 'a' is no"),
    (lambda: kgl.compare(Y, folds=3), ValueError, r"folds must be two or more boolean arrays"),
    (lambda: choose_folds(3, Y, 2, 0), ValueError, r"folds must be two or more boolean arrays"),
    (lambda: split(Y > 9, 2, RNG(0), "rows"), ValueError, r"unknown how 'rows'; choose one"),
    (lambda: split(Y < 9, -3, RNG(0), "blocks"), ValueError, r"n_folds = -3 must be a whole"),
    (lambda: kgl.KGLImputer(estimator="KGL").fit(Y), TypeError, r"no graph learner of kgl; give"),
    (lambda: kgl.KGLImputer(estimator=kgl.KGLImputer()).fit(Y), TypeError, r"no graph learner"),
    (lambda: kgl.KGLImputer().fit([[1.0, 2.0], [3.0]]), ValueError, r"X, a list, .* pass an arr"),
    (lambda: fitted().impute([[1.0, 2.0], [3.0]]), ValueError, r"Y, a list, .* pass an array"),
    (lambda: fitted().pair_scores(3), TypeError, r"pairs must be pairs of nodes, got 3; pass"),
    (lambda: fitted().to_edges(all_pairs="no"), TypeError, r"all_pairs = 'no' must be True or Fa"),
    (lambda: fitted().to_networkx([1, 2, 3, 4, 5]), TypeError, r"must be a DataFrame, got a list"),
    (lambda: fitted().predict(return_std=True, random_state="a"), ValueError, r"is no source of"),
    (lambda: fitted().predict(return_std=3), TypeError, r"return_std = 3 must be True or False"),
    (lambda: fitted().impute(Y, return_std="no"), TypeError, r"return_std = 'no' must be True or"),
    (lambda: kgl.compress(Y, z=np.arange(9.0), white=[1]), ValueError, r"white = \[1\] must be"),
    (lambda: kgl.compress("file.csv"), TypeError, r"text, not a table; pass an open file"),
    (lambda: kgl.compress(Y[0]), ValueError, r"1 dimension\(s\), shape \(5,\); pass a table"),
    (lambda: metrics.mse_signals(Y, Y, 3), ValueError, r"mask has shape \(\) .*; pass a mask"),
    (lambda: metrics.f_score([1, 0, 0], [1, 0, 0], density="low"), ValueError, r"density='low'"),
    (lambda: metrics.density([1, 0, 0], threshold="a"), ValueError, r"threshold='a'; pass a frac"),
    (lambda: metrics.density(10**400), ValueError, r"W does not hold numbers; pass"),
    (lambda: metrics.spectral_clusters([1, 0, 0], "two"), ValueError, r"k='two' clusters of 3"),
    (lambda: metrics.aps(sparse.eye_array(3), np.ones(3)), ValueError, r"pass a square m x m"),
    (lambda: metrics.sse_graph([1, 0, 0], [1, 0, 0], normalize=3), TypeError, r"normalize = 3 mus"),
    (lambda: metrics.mse_signals(Y, Y, out_of_sample=[]), TypeError, r"out_of_sample = \[\] must"),
    (lambda: kgl.compress([Y[0]]), ValueError, r"1 dimension\(s\), shape \(5,\); pass each chunk"),
    (lambda: kgl.compress(int), TypeError, r"data = .*int.* is no table and gives no chunks; pass"),
    (lambda: simulate.make_dataset("er", scale=[]), ValueError, r"scale=\[\]; pass a finite"),
    (lambda: metrics.mse_signals(Y, Y, Y), ValueError, r"mask must hold True and False alone"),
    (lambda: kernels.Mixed(numeric=3.5), TypeError, r"numeric must name columns, got 3\.5; pass"),
    (lambda: kernels.FunctionKernel(lambda a: a).fit(Y), ValueError, r"must take two arrays"),
    (lambda: kernels.RBF(gamma=int), TypeError, r"gamma must be a number, got <class 'int'>"),
    (lambda: kernels.Auto(periods=(10**400,)), TypeError, r"period must be a number"),
    (lambda: kernels.normalize(1e307 * np.eye(2)), ValueError, r"K is 1e\+307, beyond what doub"),
    (lambda: simulate.make_dataset("er", m=2.5), ValueError, r"m=2\.5; a graph needs at least 2"),
    (lambda: simulate.make_dataset("er", n=2.5), ValueError, r"n=2\.5 with K_z=None; pass the"),
    (lambda: simulate.make_dataset("er", density="low"), ValueError, r"density=low; pass the"),
    (lambda: simulate.make_dataset("er", alpha="a"), ValueError, r"alpha='a'; pass a finite"),
    (lambda: simulate.make_dataset("er", blocks=2), ValueError, r"no option 'blocks'; leave it"),
    (lambda: simulate.make_dataset("sbm", blocks="two"), ValueError, r"blocks='two'; pass a num"),
    (lambda: simulate.missing_mask(3, 3, "half", RNG(0)), ValueError, r"rate='half'; pass the m"),
    (lambda: simulate.time_kernel(1j), ValueError, r"n=1j; pass at least one observation"),
    (lambda: make_stations("many"), ValueError, r"m = 'many' must be a whole number between 2"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_it_is_refused_with_the_remedy(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e155, 1e200, 1e300])
@pytest.mark.parametrize("model", [kgl.GL, kgl.KGLN])
def test_units_do_not_matter_even_where_squares_overflow(model: Any, size: float) -> None:
    plain = model(density=0.4, log=False).fit(Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = model(density=0.4, log=False).fit(Y * size)
    np.testing.assert_allclose(other.weights_, plain.weights_, rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kgl.KGLN(psi=0.1, scale="common", log=False).fit(Y * size)


def test_a_huge_tolerance_stops_at_once() -> None:
    assert kgl.KGLN(psi=1.0, tol=1e145).fit(Y).n_iter_ == 1


def test_fractions_and_lone_surrogates() -> None:
    assert simulate.make_dataset("er", noise=Fraction(1, 4), seed=3).Y.shape == (100, 20)
    assert seeding.stream(0, "\ud800").random() == seeding.stream(0, "\ud800").random()


def test_blocks_that_hardly_ever_touch() -> None:
    W = simulate.make_dataset("sbm", m=12, ratio=1e22).W
    assert W.any()
    assert not W[:6, 6:].any()


def test_as_many_clusters_as_nodes_of_a_sparse_graph() -> None:
    W = sparse.csr_array(np.ones((4, 4)) - np.eye(4))
    assert sorted(metrics.spectral_clusters(W, 4)) == [0, 1, 2, 3]


def test_hidden_values_of_masked_arrays_are_imputed() -> None:
    hidden = np.random.default_rng(1).random(Y.shape) < 0.2
    masked = np.ma.masked_array(np.where(hidden, 1e6, Y), hidden)
    plain = kgl.KGLImputer().fit_transform(np.where(hidden, np.nan, Y))
    np.testing.assert_array_equal(kgl.KGLImputer().fit_transform(masked), plain)


@pytest.mark.parametrize("model", [kgl.GL2Step, kgl.KGLN])
def test_new_rows_are_imputed_as_those_of_the_fit(model: Any) -> None:
    data = np.where(np.random.default_rng(1).random(Y.shape) < 0.2, np.nan, Y)
    imputer = kgl.KGLImputer(estimator=model(density=0.4, rho=0.5)).fit(data)
    np.testing.assert_allclose(imputer.transform(data[:4]), imputer.transform(data)[:4], rtol=1e-6)


def test_a_graph_that_is_lost_to_double_precision_has_no_signals() -> None:
    tiny = 1e-160 * np.random.default_rng(3).normal(size=(7, 6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kgl.KGLO(scale="none", density=0.4, log=False).fit(tiny, z=np.arange(7.0))
    assert model.weights_.shape == (6, 6)
