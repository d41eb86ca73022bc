"""Choosing hyperparameters: the oracle, and held-out entries recomputed by hand."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from helpers import n_edges, random_mask

from kgl import GL, KGL, KGLN, KGLO, GL2Step, KGLAgnostic, fit_grid, select_held_out, select_oracle
from kgl._types import Array
from kgl.metrics import aps, sse_graph
from kgl.models import GraphLearner
from kgl.selection import hold_out
from kgl.simulate import make_dataset

DATA = make_dataset("er", m=8, n=24, dependent=True, noise=0.2)
MASKED = make_dataset("er", m=8, n=24, dependent=True, noise=0.2, missing=0.3)
#: No preparation: errors are recomputed with the data as they are.
RAW: dict[str, Any] = {"center": "none", "scale": "none", "log": False, "signed": False}
AXES: dict[str, Any] = {"lam": [0.03, 1.0, 30.0], "rho": [0.01, 0.3], "psi": [0.3, 3.0]}
SIDE = {"K_x": DATA.K_x, "K_z": DATA.K_z}


# ------------------------------------------------------------------------------------- oracle


@pytest.mark.parametrize("metric", ["aps", "aps_scores", "sse"])
def test_the_oracle_takes_the_best_point(metric: str) -> None:
    grid = fit_grid(KGLO, DATA.Y, K_z=DATA.K_z, lam=[0.1, 1.0], rho=[0.1], psi=[0.01, 0.1, 1.0])
    assert grid.scores is not None
    oracle = select_oracle(grid, DATA.W, metric)
    by_hand = []
    for k in range(len(grid)):
        if metric == "aps":
            by_hand.append(aps(DATA.W, grid.adjacency(k)))
        elif metric == "aps_scores":
            by_hand.append(aps(DATA.W, grid.scores[k], threshold=None))
        else:
            by_hand.append(sse_graph(DATA.W, grid.adjacency(k)))
    assert np.ptp(by_hand) > 0.01
    assert oracle.values == pytest.approx(np.array(by_hand), abs=1e-12)
    best = min if metric == "sse" else max
    assert oracle.value == best(oracle.values)
    assert oracle.values[oracle.index] == oracle.value
    assert oracle.params == grid.point(oracle.index)


def test_the_oracle_can_compare_graphs_of_any_scale() -> None:
    psi = [0.1, 1.0, 10.0, 100.0]
    grid = fit_grid(GL, DATA.Y, psi=psi, regularizer="log-degree", barrier=30.0, **RAW)
    oracle = select_oracle(grid, DATA.W, "sse", normalize=True)
    by_hand = [sse_graph(DATA.W, grid.adjacency(k), normalize=True) for k in range(4)]
    assert oracle.values == pytest.approx(np.array(by_hand), abs=1e-12)
    assert oracle.value == pytest.approx(min(by_hand), abs=1e-12)
    raw = select_oracle(grid, DATA.W, "sse")
    assert raw.index != oracle.index  # the scale would decide


# -------------------------------------------------------------------------------------- folds


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("n_folds", [2, 5, 9])
@pytest.mark.parametrize("shape", [(11, 6), (6, 11)])
def test_folds_hold_out_every_entry_once_and_empty_nothing(
    missing: float, n_folds: int, shape: tuple[int, int]
) -> None:
    rng = np.random.default_rng(1)
    mask = random_mask(*shape, missing, rng)
    before = mask.copy()
    folds = hold_out(mask, n_folds, rng)
    assert np.array_equal(mask, before)
    assert len(folds) == n_folds
    times = np.sum(folds, axis=0)
    assert times.max() == 1
    assert not times[~mask].any()
    for held in folds:
        train = mask & ~held
        assert train.any(axis=0).all()
        assert train.any(axis=1).all()
        assert held.any()
        assert held.sum() <= -(-mask.sum() // n_folds)
    if missing == 0.0 and n_folds > 2:
        # nothing to protect: a partition of all entries, in parts of equal size
        assert times.all()
        assert np.ptp([held.sum() for held in folds]) <= 1


def test_an_entry_alone_in_its_row_is_never_held_out() -> None:
    mask = np.ones((6, 4), dtype=bool)
    mask[2] = [False, True, False, False]
    folds = hold_out(mask, 3, np.random.default_rng(0))
    assert np.sum(folds, axis=0)[2, 1] == 0
    assert np.sum(folds) == mask.sum() - 1


def test_folds_come_from_the_generator() -> None:
    mask = np.ones((8, 5), dtype=bool)
    first, again, other = (hold_out(mask, 4, np.random.default_rng(s)) for s in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


# ----------------------------------------------------------------------------------- held out


def errors_by_hand(
    model: type[GraphLearner],
    Y: Array,
    axes: dict[str, Any],
    n_folds: int,
    seed: int,
    side: dict[str, Any],
    **options: Any,
) -> Array:
    """Squared errors of single fits (folds, points): no grid, no batch."""
    folds = hold_out(~np.isnan(Y), n_folds, np.random.default_rng(seed))
    out = []
    for held in folds:
        train = np.where(held, np.nan, Y)
        row = []
        for values in product(*axes.values()):
            fit = model(**dict(zip(axes, values, strict=True)), **options).fit(train, **side)
            row.append(np.mean((fit.predict()[held] - Y[held]) ** 2))
        out.append(row)
    return np.array(out)


@pytest.mark.parametrize(
    ("model", "side"),
    [
        (KGL, SIDE),
        (KGLN, {"K_x": DATA.K_x}),
        (KGLAgnostic, {"K_z": DATA.K_z}),
        (KGLN, {}),
    ],
)
def test_the_choice_minimises_the_error_recomputed_by_hand(
    model: type[GraphLearner], side: dict[str, Any]
) -> None:
    axes = {name: values for name, values in AXES.items() if name in model().get_params()}
    found = select_held_out(model, MASKED.Y, **side, **axes, n_folds=3, seed=5, average=True, **RAW)
    short = {"tol": 2e-2, "max_iter": 8}  # fits of folds are cut short
    errors = errors_by_hand(model, MASKED.Y, axes, 3, 5, side, average=True, **RAW, **short)
    mean = errors.mean(axis=0)
    assert found.mse == pytest.approx(mean, rel=1e-4)
    assert found.mse_se == pytest.approx(errors.std(axis=0, ddof=1) / np.sqrt(3), rel=1e-3)
    # which does not change the choice
    whole = errors_by_hand(model, MASKED.Y, axes, 3, 5, side, average=True, **RAW).mean(axis=0)
    assert whole[np.argmin(found.mse)] <= 1.01 * whole.min()
    points = list(product(*axes.values()))
    for k, name in enumerate(axes):
        assert np.array_equal(found.grid_params[name], [point[k] for point in points])
    best = dict(zip(axes, points[int(np.argmin(mean))], strict=True))
    for name in axes:
        if name != "psi":
            assert found.params[name] == best[name]
            assert getattr(found.estimator, name) == best[name]
    assert found.estimator.average is True
    assert np.ptp(mean) > 1e-3


@pytest.mark.parametrize("target", [{"density": 0.25}, {"average_degree": 1.75}])
def test_without_psi_errors_are_those_of_graphs_with_the_density(target: dict[str, float]) -> None:
    axes = {"lam": AXES["lam"], "rho": AXES["rho"]}
    found = select_held_out(KGL, MASKED.Y, **SIDE, **axes, n_folds=3, seed=5, **target, **RAW)
    errors = errors_by_hand(KGL, MASKED.Y, axes, 3, 5, SIDE, density=7 / 28, **RAW)
    # psi is that of one alternation in a fold, not searched for by whole fits
    assert found.mse == pytest.approx(errors.mean(axis=0), rel=0.02)
    points = np.array(list(product(*axes.values())))
    assert list(found.grid_params) == ["lam", "rho", "density"]
    assert np.array_equal(found.grid_params["lam"], points[:, 0])
    assert np.array_equal(found.grid_params["rho"], points[:, 1])
    assert found.grid_params["density"] == pytest.approx(np.full(6, 0.25))
    best = points[np.argmin(found.mse)]
    assert (found.params["lam"], found.params["rho"]) == tuple(best)
    assert n_edges(found.estimator.weights_) == 7
    assert found.params["psi"] == found.estimator.psi_


def test_points_that_cannot_have_the_density_are_no_news(recwarn: pytest.WarningsRecorder) -> None:
    Y = np.tile(DATA.Y[:, :1], (1, 8)) + 1e-3 * np.arange(24)[:, None]  # eight identical nodes
    fit_grid(KGLN, Y, lam=[0.1], rho=[0.1], density=0.3)
    assert any("no psi gives" in str(w.message) for w in recwarn)
    recwarn.clear()
    select_held_out(KGLN, Y, lam=[0.1], rho=[0.1], n_folds=3, seed=1)
    said = [w for w in recwarn if "no psi gives" in str(w.message)]
    assert len(said) == 1  # of the final fit, not of the folds


@pytest.mark.parametrize("edges", [5, 14])
def test_the_density_is_reached_on_all_data(edges: int) -> None:
    found = select_held_out(KGLO, DATA.Y, K_z=DATA.K_z, **AXES, n_folds=3, density=edges / 28)
    assert n_edges(found.estimator.weights_) == edges
    assert found.params["psi"] == found.estimator.psi_
    assert found.instability is None
    lam, rho = found.params["lam"], found.params["rho"]
    alone = KGLO(lam=lam, rho=rho, density=edges / 28).fit(DATA.Y, K_z=DATA.K_z)
    assert np.array_equal(alone.weights_, found.estimator.weights_)


def test_psi_by_the_error_alone() -> None:
    found = select_held_out(KGL, MASKED.Y, **SIDE, **AXES, n_folds=3, graph="mse")
    best = int(np.argmin(found.mse))
    assert found.params == {name: values[best] for name, values in found.grid_params.items()}
    fit = KGL(**found.params).fit(MASKED.Y, **SIDE)
    assert np.array_equal(fit.weights_, found.estimator.weights_)


def test_psi_by_stability() -> None:
    psi = [0.003, 0.03, 0.3, 3.0, 300.0]
    axes: dict[str, Any] = {"lam": [0.1], "rho": [0.1], "psi": psi}

    def choose(limit: float, order: slice = slice(None)) -> Any:
        given = axes | {"psi": psi[order]}
        return select_held_out(
            KGLO, DATA.Y, K_z=DATA.K_z, **given, graph="stability", max_instability=limit, **RAW
        )

    found = choose(0.5)
    folds = hold_out(np.ones(DATA.Y.shape, dtype=bool), 5, np.random.default_rng(0))
    share = np.zeros((5, 28))
    for held in folds:
        train = np.where(held, np.nan, DATA.Y)
        for k, value in enumerate(psi):
            fit = KGLO(lam=0.1, rho=0.1, psi=value, **RAW).fit(train, K_z=DATA.K_z)
            share[k] += (fit.weights_[np.triu_indices(8, 1)] > 0) / 5
    by_hand = 2 * np.mean(share * (1 - share), axis=1)
    assert found.instability == pytest.approx(by_hand, abs=1e-12)
    assert by_hand[-2:].tolist() == [0.0, 0.0]  # complete in every fold, which says nothing
    assert 0 < by_hand[0] < by_hand[2] < by_hand[1]
    # one number per psi: below it edges disagree too much
    chosen = [choose(limit).params["psi"] for limit in (by_hand[0], by_hand[2], by_hand[1], 0.5)]
    assert chosen == [0.003, 0.003, 0.03, 0.03]  # never the dense side of the peak
    # the order in which psi is listed does not matter
    assert choose(0.5, slice(None, None, -1)).params["psi"] == 0.03
    assert found.estimator.psi_ == found.params["psi"]


@pytest.mark.parametrize(
    ("psi", "limit", "message"),
    [
        ([300.0, 100.0, 30.0], 0.05, r"sparsest graph is complete in some fold; psi = 30 is taken"),
        (
            [0.03, 0.1, 3.0],
            0.01,
            r"disagrees .* max_instability = 0\.01; psi = 0\.03 is taken; ext",
        ),
    ],
)
def test_a_grid_without_a_stable_graph_warns(psi: list[float], limit: float, message: str) -> None:
    axes: dict[str, Any] = {"lam": [0.1], "rho": [0.1], "psi": psi}
    with pytest.warns(UserWarning, match=message):
        found = select_held_out(
            KGLO, DATA.Y, K_z=DATA.K_z, **axes, graph="stability", max_instability=limit, **RAW
        )
    assert found.params["psi"] == min(psi)


def test_a_graph_of_all_allowed_edges_is_complete() -> None:
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    axes: dict[str, Any] = {"lam": [0.1], "rho": [0.1], "psi": [0.003, 300.0]}
    settings: dict[str, Any] = {**axes, "graph": "stability", "max_instability": 0.5}
    found = select_held_out(KGLO, DATA.Y, K_z=DATA.K_z, **settings, forbidden_edges=pairs[:3])
    assert found.params["psi"] == 0.003


def test_stability_counts_edges_of_the_exact_solver() -> None:
    """CVXPY leaves dust on pairs without an edge, which would make every graph complete."""
    pytest.importorskip("cvxpy")
    axes: dict[str, Any] = {"lam": [0.1], "rho": [0.1], "psi": [0.003, 0.03, 300.0]}
    settings: dict[str, Any] = {**axes, "graph": "stability", "n_folds": 2, "max_instability": 0.5}
    exact = select_held_out(KGLO, DATA.Y, K_z=DATA.K_z, **settings)
    inexact = select_held_out(KGLO, DATA.Y, K_z=DATA.K_z, **settings, solver="cvxpy")
    assert np.array_equal(exact.instability, inexact.instability)
    assert exact.params["psi"] == inexact.params["psi"] < 300.0
    assert inexact.estimator.solver == "cvxpy"


# ------------------------------------------------------------------------------------- refusals


def test_a_model_that_takes_gaps_for_zero_is_refused() -> None:
    with pytest.raises(ValueError, match=r"GL-2step treats .* use KGLN without a kernel"):
        select_held_out(GL2Step, DATA.Y)


@pytest.mark.parametrize("n_folds", [2.5, 3.0, "3", None])
def test_folds_are_whole(n_folds: Any) -> None:
    with pytest.raises(ValueError, match=rf"n_folds = {n_folds!r} must .*give a whole number"):
        select_held_out(KGL, DATA.Y, n_folds=n_folds)


@pytest.mark.parametrize("graph", ["stability", "mse"])
@pytest.mark.parametrize("target", ["density", "average_degree"])
def test_a_target_goes_with_the_density(graph: str, target: str) -> None:
    with pytest.raises(ValueError, match=rf"{target} = 0\.2 goes with graph='density', but graph"):
        select_held_out(KGL, DATA.Y, graph=graph, **{target: 0.2})


def test_bad_targets_are_refused_before_any_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgl.selection.fit_grid", None)
    with pytest.raises(ValueError, match=r"density = 0\.3 and average_degree = 2 .*give one"):
        select_held_out(KGL, DATA.Y, density=0.3, average_degree=2)
    with pytest.raises(ValueError, match=r"average_degree = 9 is more than the 7 neighbours"):
        select_held_out(KGL, DATA.Y, average_degree=9)
    with pytest.raises(ValueError, match=r"'log-degree' needs psi, .* graph='stability' or"):
        select_held_out(KGL, DATA.Y, regularizer="log-degree")


def test_progress_counts_folds() -> None:
    calls: list[tuple[int, int]] = []
    select_held_out(
        KGL,
        DATA.Y,
        **AXES,
        n_folds=4,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]
