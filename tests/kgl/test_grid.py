"""A grid is its single fits, faster: point by point, chunk by chunk, and what goes with them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kgl
from kgl import DEFAULT_GRID, GL, KGL, KGLN, KGLO, GL2Step, GridResult, KGLAgnostic, fit_grid
from kgl._types import Array
from kgl.kernels import RBF
from kgl.laplacian import edges_from_adjacency
from kgl.metrics import aps_many
from kgl.models import GraphLearner
from kgl.problem import PARTS
from kgl.simulate import SyntheticData, make_dataset

MODELS = (GL, GL2Step, KGLN, KGLO, KGL, KGLAgnostic)
AXES: dict[str, list[float]] = {"lam": [0.05, 1.0], "rho": [0.02, 0.5], "psi": [0.01, 0.3, 10.0]}
DATA = {
    "full": make_dataset("er", m=7, n=12, dependent=True, noise=0.1),
    "masked": make_dataset("er", m=7, n=12, dependent=True, noise=0.1, missing=0.4),
}

every_model = pytest.mark.parametrize("model", MODELS)
every_data = pytest.mark.parametrize("data", DATA.values(), ids=DATA)


def sides(model: type[GraphLearner], data: SyntheticData) -> dict[str, Array]:
    fields = model().get_params()
    known = {"K_x": data.K_x, "K_z": data.K_z}
    return {name: K for name, K in known.items() if f"kernel_{name[-1]}" in fields}


def axes_of(model: type[GraphLearner]) -> dict[str, list[float]]:
    fields = model().get_params()
    return {name: values for name, values in AXES.items() if name in fields}


def same(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=1e-8, atol=1e-8, equal_nan=True))


# ------------------------------------------------------------------------------- single fits


@every_model
@every_data
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"average": True, "forbidden_edges": [(0, 1)]},
        {"regularizer": "log-degree", "barrier": 0.5, "center": "none", "scale": "none"},
    ],
    ids=["plain", "average", "log-degree"],
)
def test_every_point_is_a_single_fit(
    model: type[GraphLearner], data: SyntheticData, options: dict[str, Any]
) -> None:
    side = sides(model, data)
    grid = fit_grid(
        model, data.Y, **side, **axes_of(model), signals=True, objective=True, **options
    )
    assert grid.weights is not None
    assert grid.scores is not None
    assert grid.signals is not None
    assert grid.objective_parts is not None
    assert grid.objective is not None
    supports = set()
    for k in range(len(grid)):
        fit = model(**grid.point(k), **options).fit(data.Y, **side)
        assert same(grid.adjacency(k), fit.weights_)
        assert same(grid.laplacian(k), fit.laplacian_)
        assert np.array_equal(grid.adjacency(k) > 0, fit.weights_ > 0)
        upper = edges_from_adjacency(fit.edge_scores_)
        assert same(grid.scores[k], upper)
        assert same(grid.signals[k], fit.signals_)
        assert same(grid.objective_parts[k], list(fit.objective_parts_.values()))
        assert grid.objective[k] == pytest.approx(fit.objective_, rel=1e-8)
        assert grid.n_iter[k] == fit.n_iter_
        assert grid.converged[k] == fit.converged_
        assert grid.residual[k] < 1e-8
        supports.add(int(np.count_nonzero(grid.weights[k])))
    assert len(supports) > 1  # the points differ


@every_model
@every_data
def test_densities_in_place_of_psi(model: type[GraphLearner], data: SyntheticData) -> None:
    side, axes = sides(model, data), axes_of(model)
    del axes["psi"]
    densities = [0.6, 0.2]
    grid = fit_grid(
        model, data.Y, **side, **axes, density=densities, signals=True, objective=True, chunk_size=3
    )
    assert grid.signals is not None
    assert grid.objective is not None
    assert list(grid.axes) == [*axes, "density"]
    assert list(grid.params) == [*axes, "density", "psi"]
    assert grid.shape == (*(2 for _ in axes), 2)
    assert np.array_equal(grid.params["density"], np.resize(densities, len(grid)))
    for k in range(len(grid)):
        point = grid.point(k)
        assert list(point) == [*axes, "psi"]
        own = {name: point[name] for name in axes}
        aimed = model(**own, density=grid.params["density"][k]).fit(data.Y, **side)
        rebuilt = grid.estimator(k).fit(data.Y, **side)
        for single in (aimed, rebuilt):
            assert single.psi_ == pytest.approx(point["psi"], rel=1e-6)
            assert same(grid.adjacency(k), single.weights_)
            assert same(grid.signals[k], single.signals_)
            assert grid.objective[k] == pytest.approx(single.objective_, rel=1e-8)
            assert grid.n_iter[k] == single.n_iter_
        if point.get("rho") != 0.5:  # where the graph shapes the signals, edges may enter together
            assert np.count_nonzero(grid.adjacency(k)) // 2 == round(grid.params["density"][k] * 21)
    frame = grid.to_frame()
    assert list(frame.columns[: len(axes) + 2]) == [*axes, "density", "psi"]
    assert np.array_equal(frame["psi"], grid.params["psi"])


def test_a_grid_says_where_no_psi_gives_the_density() -> None:
    simplex = np.eye(4)
    message = (
        r"no psi gives a graph of 2 edges at 2 of 3 grid points; the nearest differs by 4 of 6"
    )
    with pytest.warns(ConvergenceWarning, match=message):
        fit_grid(GL, simplex, density=[2 / 6, 1.0, 2 / 6])


def test_a_density_with_cvxpy_is_counted_exactly() -> None:
    pytest.importorskip("cvxpy")
    data = DATA["full"]
    axes: dict[str, Any] = {"lam": [0.1], "rho": [0.1], "density": [0.2, 0.5]}
    exact = fit_grid(KGL, data.Y, K_x=data.K_x, **axes)
    inexact = fit_grid(KGL, data.Y, K_x=data.K_x, **axes, solver="cvxpy")
    assert np.array_equal(exact.params["psi"], inexact.params["psi"])
    assert exact.weights is not None
    assert inexact.weights == pytest.approx(exact.weights, abs=1e-5)


@every_model
@every_data
def test_chunks_do_not_show(model: type[GraphLearner], data: SyntheticData) -> None:
    side = sides(model, data)
    whole = fit_grid(model, data.Y, **side, **axes_of(model), signals=True, objective=True)
    for size in (1, 7):
        parts = fit_grid(
            model, data.Y, **side, **axes_of(model), signals=True, objective=True, chunk_size=size
        )
        assert same(parts.weights, whole.weights)
        assert same(parts.scores, whole.scores)
        assert same(parts.signals, whole.signals)
        assert same(parts.objective_parts, whole.objective_parts)
        assert np.array_equal(parts.n_iter, whole.n_iter)
        assert np.array_equal(parts.converged, whole.converged)
        for name, values in whole.params.items():
            assert np.array_equal(parts.params[name], values)
        assert parts.shape == whole.shape


def test_memory_bounds_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    data = DATA["full"]
    calls: list[tuple[int, int]] = []
    whole = fit_grid(KGL, data.Y, K_z=data.K_z, **AXES)
    monkeypatch.setattr("kgl.solvers.grid.CHUNK_FLOATS", 4000)
    small = fit_grid(
        KGL, data.Y, K_z=data.K_z, **AXES, progress=lambda done, total: calls.append((done, total))
    )
    assert len(calls) > 2
    assert same(small.weights, whole.weights)


# ----------------------------------------------------------------------------- order and shape


def test_the_last_axis_varies_fastest() -> None:
    data = DATA["full"]
    grid = fit_grid(KGL, data.Y, K_x=data.K_x, **AXES)
    assert list(grid.params) == list(grid.axes) == ["lam", "rho", "psi"]
    assert grid.shape == (2, 2, 3)
    assert len(grid) == 12
    points = [(a, b, c) for a in AXES["lam"] for b in AXES["rho"] for c in AXES["psi"]]
    assert [tuple(grid.point(k).values()) for k in range(12)] == points
    cube = grid.params["psi"].reshape(grid.shape)
    assert np.array_equal(cube[1, 0], AXES["psi"])
    assert np.array_equal(grid.params["lam"].reshape(grid.shape)[:, 1, 2], AXES["lam"])
    assert grid.weights is not None
    assert grid.weights.shape == (12, 21)
    assert (grid.signals, grid.objective_parts, grid.objective) == (None, None, None)
    # weights are listed as np.triu_indices lists the pairs
    rows, cols = np.triu_indices(7, 1)
    assert np.array_equal(grid.adjacency(4)[rows, cols], grid.weights[4])
    assert np.array_equal(grid.adjacency(4)[cols, rows], grid.weights[4])
    assert np.allclose(grid.laplacian(4) @ np.ones(7), 0.0)


@pytest.mark.parametrize(
    ("model", "names"),
    [(GL, ["psi"]), (GL2Step, ["rho", "psi"]), (KGLN, ["lam", "rho", "psi"])],
)
def test_axes_left_out_come_from_the_default_grid(
    model: type[GraphLearner], names: list[str]
) -> None:
    Y = DATA["full"].Y
    grid = fit_grid(model, Y, keep=False)
    assert list(grid.axes) == names
    for name in names:
        assert np.array_equal(grid.axes[name], DEFAULT_GRID[name])
    some = fit_grid(model, Y, psi=[1.0], keep=False)
    assert np.array_equal(some.axes["psi"], [1.0])
    assert some.shape[:-1] == tuple(len(DEFAULT_GRID[name]) for name in names[:-1])


# ---------------------------------------------------------------------- estimators of a point


@every_model
def test_the_estimator_of_a_point_refits_it(model: type[GraphLearner]) -> None:
    data = DATA["masked"]
    side = sides(model, data)
    grid = fit_grid(model, data.Y, **side, **axes_of(model), average=True, tol=1e-6)
    estimator = grid.estimator(2)
    assert type(estimator) is model
    assert estimator.get_params() == clone(estimator).get_params()
    for name, value in grid.point(2).items():
        assert estimator.get_params()[name] == value
    assert estimator.average is True
    assert estimator.tol == 1e-6
    assert not hasattr(estimator, "weights_")
    assert same(estimator.fit(data.Y, **side).weights_, grid.adjacency(2))


def test_names_and_covariates_go_through_the_grid() -> None:
    data = DATA["full"]
    frame = pd.DataFrame(data.Y, columns=list("abcdefg"))
    x = np.random.default_rng(0).standard_normal((7, 2))
    options: dict[str, Any] = {
        "kernel_x": kgl.kernels.RBF(gamma=1.0),
        "allowed_edges": [("a", "c")],
    }
    grid = fit_grid(KGLN, frame, x=x, psi=[1.0], lam=[1.0], rho=[1.0], **options)
    assert grid.node_names == list("abcdefg")
    assert np.argwhere(np.triu(grid.adjacency(0)) > 0).tolist() == [[0, 2]]
    fit = grid.estimator(0).fit(frame, x=x)
    assert same(fit.weights_, grid.adjacency(0))


# ----------------------------------------------------------------------- evaluate and progress


@pytest.mark.parametrize("size", [1, 5, None])
def test_evaluate_sees_every_chunk_and_its_metrics_are_joined(size: int | None) -> None:
    data = DATA["full"]
    seen: list[int] = []

    def evaluate(chunk: GridResult) -> Mapping[str, Array]:
        assert chunk.weights is not None
        assert chunk.signals is not None
        assert len(chunk) == len(chunk.weights) == len(chunk.signals) == len(chunk.params["psi"])
        seen.append(len(chunk))
        error = np.mean((chunk.signals - data.signals) ** 2, axis=(1, 2))
        return {"aps": aps_many(data.W, chunk.weights), "mse": error}

    def fit(**options: Any) -> GridResult:
        return fit_grid(KGL, data.Y, K_x=data.K_x, K_z=data.K_z, **AXES, signals=True, **options)

    kept = fit()
    bare = fit(evaluate=evaluate, keep=False, chunk_size=size)
    assert sum(seen) == 12
    assert max(seen) == (12 if size is None else size)
    assert (bare.weights, bare.scores, bare.signals) == (None, None, None)
    assert kept.weights is not None
    assert kept.signals is not None
    assert same(bare.metrics["aps"], aps_many(data.W, kept.weights))
    assert same(bare.metrics["mse"], np.mean((kept.signals - data.signals) ** 2, axis=(1, 2)))
    assert np.array_equal(bare.n_iter, kept.n_iter)
    assert kept.metrics == {}
    both = fit(evaluate=evaluate)
    assert same(both.weights, kept.weights)
    assert set(both.metrics) == {"aps", "mse"}


@pytest.mark.parametrize(("size", "steps"), [(5, [5, 10, 12]), (12, [12]), (100, [12])])
def test_progress_counts_up_to_the_total(size: int, steps: list[int]) -> None:
    calls: list[tuple[int, int]] = []
    fit_grid(
        KGL,
        DATA["full"].Y,
        **AXES,
        chunk_size=size,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls == [(done, 12) for done in steps]


def test_to_frame_has_a_row_per_point() -> None:
    data = DATA["full"]
    grid = fit_grid(
        KGL,
        data.Y,
        K_x=data.K_x,
        **AXES,
        objective=True,
        max_iter=2,
        evaluate=lambda chunk: {"twice": 2 * chunk.params["psi"]},
        chunk_size=5,
    )
    frame = grid.to_frame()
    assert frame.shape == (12, 3 + 3 + 4 + 1)
    assert list(frame.columns[:3]) == ["lam", "rho", "psi"]
    for name in ("lam", "rho", "psi"):
        assert np.array_equal(frame[name], grid.params[name])
    assert np.array_equal(frame["twice"], 2 * frame["psi"])
    assert np.array_equal(frame["n_iter"], grid.n_iter)
    assert np.array_equal(frame["converged"], grid.converged)
    assert 0 < frame["converged"].sum() < 12
    assert np.allclose(frame[list(PARTS)].sum(axis=1), grid.objective)
    bare = fit_grid(GL, data.Y, psi=[1.0, 2.0]).to_frame()
    assert list(bare.columns) == ["psi", "n_iter", "converged", "kkt_residual"]


def test_frames_need_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = fit_grid(GL, DATA["full"].Y, psi=[1.0])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame needs pandas: pip install .*\[frame\]"):
        grid.to_frame()
    with pytest.raises(ImportError, match=r"make_stations needs pandas: pip install .*\[frame\]"):
        kgl.datasets.make_stations()


def test_kernels_are_an_axis() -> None:
    t = np.arange(12.0)
    kernels = ["rbf", RBF(gamma=0.01)]
    Y = DATA["full"].Y
    grid = fit_grid(
        KGL, Y, z=t, lam=[0.01, 0.1], rho=[0.01], density=0.3, kernel_z=kernels, signals=True
    )
    assert list(grid.axes) == ["kernel_z", "lam", "rho", "density"]
    assert grid.shape == (2, 2, 1, 1)
    assert list(grid.params["kernel_z"]) == [kernels[0]] * 2 + [kernels[1]] * 2
    assert grid.signals is not None
    for k in range(4):
        one = grid.estimator(k).fit(Y, z=t)
        assert one.kernel_z is kernels[k // 2]
        assert same(grid.adjacency(k), one.weights_)
        assert same(grid.signals[k], one.signals_)
    assert len(grid.to_frame()) == 4
    with pytest.raises(ValueError, match="kernel_z is an empty list"):
        fit_grid(KGL, Y, z=t, kernel_z=[])
