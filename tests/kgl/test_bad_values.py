"""Values of a wrong type or size are refused by name, with the remedy, and huge ones do no harm."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import kgl
from kgl import metrics

M = 6
Y = np.random.default_rng(0).normal(size=(20, M))
RING = nx.to_numpy_array(nx.cycle_graph(M))


@pytest.mark.parametrize("k", [0, -1, M + 1, 2.5, "2", None, True, np.nan, [2]])
def test_numbers_of_clusters_are_whole(k: Any) -> None:
    message = rf"^k={k!r} clusters of {M} nodes; pass a whole number between 1 and {M}".replace(
        "[2]", r"\[2\]"
    )
    with pytest.raises(ValueError, match=message):
        metrics.spectral_clusters(RING, k)
    with pytest.raises(ValueError, match="pass a whole number between 1 and"):
        metrics.spectral_clusters(kgl.GL(psi=1.0).fit(Y).to_sparse(), k)
    if k is not None:
        with pytest.raises(ValueError, match=message):
            metrics.nmi([0, 0, 0, 1, 1, 1], RING, n_clusters=k)


@pytest.mark.parametrize("threshold", ["0.1", [0.1], -1.0, 1.0, np.nan, 1j])
def test_thresholds_are_fractions(threshold: Any) -> None:
    for score in (metrics.aps, metrics.f_score):
        with pytest.raises(ValueError, match=r"^threshold=.*; pass a fraction of the largest"):
            score(RING, RING, threshold=threshold)
    with pytest.raises(ValueError, match=r"^threshold=.*; pass a fraction of the largest"):
        metrics.density(RING, threshold=threshold)


@pytest.mark.parametrize("solver", ["newton", "sparse"])
@pytest.mark.parametrize("what", ["allowed_edges", "forbidden_edges", "edge_penalty"])
@pytest.mark.parametrize(
    "value",
    ["abc", 3.0, 7, [["a"]], {}, np.full((M, M), "x"), object()],
    ids=["text", "float", "int", "list", "dict", "letters", "object"],
)
def test_knowledge_about_edges_of_a_wrong_type(what: str, value: Any, solver: str) -> None:
    if what == "forbidden_edges" and isinstance(value, dict):  # no pair at all
        return
    wrong = (
        r"edge_penalty does not hold numbers|edge_penalty is \(.*\) but there are 6 nodes"
        if what == "edge_penalty"
        else rf"{what} = .* is no collection of pairs|{what} holds .* not a pair of nodes"
        "|every edge is forbidden"
    )
    with pytest.raises(ValueError, match=wrong):
        kgl.GL(psi=1.0, solver=solver, **{what: value}).fit(Y)


def test_a_matrix_of_truth_values_may_have_any_type() -> None:
    expected = kgl.GL(psi=1.0, allowed_edges=RING > 0).fit(Y).weights_
    for given in (RING, RING.astype(int), (RING > 0).astype(object)):
        found = kgl.GL(psi=1.0, allowed_edges=given).fit(Y).weights_
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("init", ["complete", object(), np.full((M, M), "x"), [["a"] * M] * M])
def test_a_start_that_holds_no_numbers(init: Any) -> None:
    with pytest.raises(ValueError, match=r"init does not hold numbers; pass an array"):
        kgl.KGL(psi=1.0, init=init).fit(Y)


@pytest.mark.parametrize("solver", ["newton", "sparse"])
@pytest.mark.parametrize("tol", [1e16, 1e160, 1e250])
def test_a_huge_tolerance_ends_the_iteration_at_once(tol: float, solver: str) -> None:
    model = kgl.KGLN(psi=1.0, tol=tol, solver=solver).fit(Y)
    assert model.converged_
    assert model.n_iter_ == 1
    assert np.isfinite(model.objective_)
    with pytest.raises(ValueError, match=r"tol = 1e\+300 is beyond what double precision"):
        kgl.KGLN(psi=1.0, tol=1e300, solver=solver).fit(Y)


@pytest.mark.parametrize("seed", ["a", -1, 2.5, None, [1, 2], np.nan])
def test_seeds_of_simulated_data_are_whole(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"the root seed is .*; pass a non-negative integer"):
        kgl.simulate.make_dataset("er", m=5, n=4, seed=seed)
