"""One cell: what is written is what kgl's estimators and metrics give, one by one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kgl
from experiments import fit as fitting
from experiments.baselines import kernel_graph
from experiments.datasets.synthetic import build
from experiments.fit import METRICS, evaluate, fit_cell, grid_points, shape
from experiments.lookup import ConfigError
from kgl.folds import hold_out
from kgl._types import Array
from kgl.laplacian import (adjacency_from_edges)
from kgl.metrics import aps, density, mse_signals, nmi, sse_graph
from kgl.problem import MODELS
from kgl.seeding import stream
from kgl.simulate import make_dataset
from kgl.solvers.routes import graph_solver

#: With the tolerance of the conjugate gradients that estimators have.
PROTOCOL = {"average": True, "tol": 1e-4, "max_iter": 100, "solver": "newton", "backend": None}
PROTOCOL |= {"inner_tol": 1e-12}
AXES = {"lam": [0.01, 1.0], "rho": [0.03, 0.3], "psi": [1e-3, 1e-1]}
#: Class, hyperparameters and kernels of each model, as the paper has them.
TABLE: dict[str, tuple[Any, str, list[str]]] = {
    "GL": (kgl.GL, "psi", []),
    "GL-2step": (kgl.GL2Step, "rho psi", []),
    "KGL-N": (kgl.KGLN, "lam rho psi", ["K_x"]),
    "KGL-O": (kgl.KGLO, "lam rho psi", ["K_z"]),
    "KGL": (kgl.KGL, "lam rho psi", ["K_x", "K_z"]),
    "KGL-Agnostic": (kgl.KGLAgnostic, "lam rho psi", ["K_z"]),
}


#: Of METRICS, those that a true graph and no held-out entries give.
GRAPHS = set(METRICS) - {"nmi", "mse_cv"}


def make(missing: float, dependent: bool = True, n: int = 15) -> dict[str, Array]:
    graph = {"family": "er", "m": 7, "density": 0.4, "alpha": 10.0, "weights": "uniform"}
    settings = {
        "make": "experiments.datasets.synthetic.synthetic",
        "seed": 1,
        "replicates": 2,
        "graph": {**graph, "connected": False, "options": {}},
        "data": {
            "dependent": dependent,
            "n": n,
            "noise": 0.1,
            "missing": missing,
            "bandwidth": "median_distance",
        },
    }
    return build(settings)


FULL, MASKED = make(0.0), make(0.3)


def spec(estimator: str, **changes: Any) -> dict[str, Any]:
    name = changes.pop("like", estimator)
    axes = TABLE[name][1].split() if name in TABLE else []
    plain = {
        "estimator": estimator,
        "grid": {axis: AXES[axis] for axis in axes},
        "options": {},
        "fit": PROTOCOL,
        "keep": [],
    }
    return plain | changes


def test_the_table_is_that_of_the_library() -> None:
    assert set(TABLE) == set(MODELS)


# ---------------------------------------------------------------------------------- six models


def by_hand(name: str, data: dict[str, Array], r: int, **options: Any) -> dict[str, Array]:
    """Metrics of one replicate by kgl.fit_grid and the metrics of single graphs."""
    model, axes, kernels = TABLE[name]
    grid = kgl.fit_grid(
        model,
        data["Y"][r],
        **{k: data[k][r] for k in kernels if k in data},
        **{axis: AXES[axis] for axis in axes.split()},
        signals=name != "GL",
        **options,
    )
    assert grid.scores is not None
    rows: dict[str, list[float]] = {metric: [] for metric in GRAPHS}
    observed = ~np.isnan(data["Y"][r])
    for k in range(len(grid)):
        graph = grid.adjacency(k)
        rows["aps_weights"].append(aps(data["W"][r], graph))
        rows["aps_scores"].append(aps(data["W"][r], grid.scores[k], threshold=None))
        rows["sse"].append(sse_graph(data["W"][r], graph))
        rows["density"].append(density(graph))
        for metric, out in (("mse_in", False), ("mse_out", True)):
            signals = data["Y_full"][r] if grid.signals is None else grid.signals[k]
            error = mse_signals(data["Y_full"][r], signals, observed, out_of_sample=out)
            rows[metric].append(np.nan if name == "GL" else error)
    made = {metric: np.array(values) for metric, values in rows.items()}
    made |= {"n_iter": grid.n_iter, "converged": grid.converged, "kkt_residual": grid.residual}
    assert grid.weights is not None
    made["weights"] = grid.weights
    return made | ({} if grid.signals is None else {"signals": grid.signals})


@pytest.mark.parametrize("missing", [False, True], ids=["full", "masked"])
@pytest.mark.parametrize("name", TABLE)
def test_what_is_written_is_what_the_estimators_give(name: str, missing: bool) -> None:
    data = MASKED if missing else FULL
    arrays = fit_cell(data, spec(name, keep=["weights", "signals"]))
    for r in range(2):
        expected = by_hand(name, data, r, average=True)
        for metric, values in expected.items():
            if metric == "kkt_residual":  # rounding errors both
                assert arrays[metric].shape == (2, len(values))
                assert arrays[metric].max() < 1e-8
            else:
                np.testing.assert_allclose(
                    arrays[metric][r], values, rtol=1e-9, atol=1e-12, err_msg=metric
                )
    fitted = name != "GL"
    assert np.isnan(arrays["mse_in"]).all() == (not fitted)
    assert np.isnan(arrays["mse_out"]).all() == (not fitted or not missing)
    assert ("signals" in arrays) == fitted
    assert np.ptp(arrays["sse"]) > 1e-3  # the points do differ
    assert np.ptp(arrays["aps_weights"]) > 1e-3


def test_shapes_and_what_is_kept() -> None:
    arrays = fit_cell(MASKED, spec("KGL"))
    assert {k for k in arrays if k.startswith("grid.")} == {"grid.lam", "grid.rho", "grid.psi"}
    assert all(arrays[f"grid.{axis}"].shape == (8,) for axis in AXES)
    rest = {name: values.shape for name, values in arrays.items() if "." not in name}
    expected = {*GRAPHS, "n_iter", "converged", "kkt_residual"}
    assert rest == dict.fromkeys(expected, (2, 8))
    kept = fit_cell(MASKED, spec("KGL", keep=["weights", "signals"]))
    assert kept["weights"].shape == (2, 8, 21)
    assert kept["signals"].shape == (2, 8, 15, 7)
    assert all(np.array_equal(kept[name], arrays[name], equal_nan=True) for name in arrays)


def test_data_without_a_kernel_of_observations_have_the_identity() -> None:
    data = make(0.0, dependent=False)
    assert "K_z" not in data
    both, nodes = fit_cell(data, spec("KGL")), fit_cell(data, spec("KGL-N"))
    for metric in GRAPHS:
        np.testing.assert_allclose(both[metric], nodes[metric], rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"fit": PROTOCOL | {"average": False}}, {"average": False}),
        ({"fit": PROTOCOL | {"max_iter": 2}}, {"average": True, "max_iter": 2}),
        ({"options": {"max_iter": 2}}, {"average": True, "max_iter": 2}),  # the model's own wins
        ({"fit": PROTOCOL | {"tol": 0.3}}, {"average": True, "tol": 0.3}),
    ],
)
def test_the_protocol_reaches_the_fit(change: dict[str, Any], options: dict[str, Any]) -> None:
    arrays, plain = fit_cell(FULL, spec("KGL", **change)), fit_cell(FULL, spec("KGL"))
    expected = by_hand("KGL", FULL, 0, **options)
    np.testing.assert_allclose(arrays["sse"][0], expected["sse"], rtol=1e-9)
    assert not np.allclose(arrays["sse"], plain["sse"], rtol=1e-6)


def test_a_coarser_signal_step_is_nearly_as_good() -> None:
    data = make(0.3, n=50)
    assert (~np.isnan(data["Y"])).sum(axis=(1, 2)).min() > 200  # fewer are solved exactly
    exact = fit_cell(data, spec("KGL"))
    coarse = fit_cell(data, spec("KGL", fit=PROTOCOL | {"inner_tol": 1e-3}))
    assert not np.array_equal(coarse["mse_out"], exact["mse_out"])
    np.testing.assert_allclose(coarse["mse_out"], exact["mse_out"], rtol=0.02)


def test_points_that_do_not_converge_are_noted() -> None:
    lines: list[str] = []
    arrays = fit_cell(FULL, spec("KGL", fit=PROTOCOL | {"max_iter": 1}), lines.append)
    left = int((arrays["converged"][0] == 0).sum())
    assert left > 0
    assert any(f"replicate 1/2: best APS {arrays['aps_weights'][0].max():.3f}" in x for x in lines)
    assert any(f"{left} points not converged" in line for line in lines)
    quiet: list[str] = []
    fit_cell(FULL, spec("GL"), quiet.append)
    assert not any("not converged" in line for line in quiet)
    assert "GL: 2 grid points, 2 replicates" in quiet[0]


def test_a_model_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match="'KGLX' is none of the models GL, GL-2step, KGL-N"):
        fit_cell(FULL, spec("KGLX", grid={"psi": [1.0]}))


@pytest.mark.parametrize(
    ("grid", "says"),
    [
        (
            {"psi": [1.0], "gamma": [1.0]},
            r"model\.grid\.gamma: GL-2step takes no 'gamma'.*rho, psi",
        ),
        ({"psi": [1.0]}, "lacks 'rho'.*GL-2step"),
    ],
)
def test_a_grid_with_the_wrong_axes_is_refused(grid: dict[str, list[float]], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        fit_cell(FULL, spec("GL-2step", grid=grid))


@pytest.mark.parametrize("value", [-1.0, 0.0, np.inf, np.nan])
def test_hyperparameters_that_mean_nothing_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="psi"):
        fit_cell(FULL, spec("GL", grid={"psi": [1.0, value]}))


# ------------------------------------------------------------------------------- points of a grid


@pytest.mark.parametrize("name", TABLE)
def test_points_are_in_the_order_of_fit_grid(name: str) -> None:
    model, axes, _ = TABLE[name]
    grid = {axis: AXES[axis] for axis in axes.split()}
    params = kgl.fit_grid(model, FULL["Y"][0], **grid).params
    points = grid_points(grid)
    assert list(points) == list(params)
    assert all(np.array_equal(points[axis], params[axis]) for axis in params)


@pytest.mark.parametrize("estimator", ["KGL", "kgl.models.KGL"])
def test_the_order_in_which_a_file_names_the_axes_does_not_matter(estimator: str) -> None:
    there = fit_cell(FULL, spec(estimator, like="KGL"))
    turned = {"psi": AXES["psi"], "lam": AXES["lam"], "rho": AXES["rho"]}
    back = fit_cell(FULL, spec(estimator, grid=turned))

    def table(arrays: dict[str, Array]) -> dict[tuple[float, ...], float]:
        points = zip(*(arrays[f"grid.{axis}"] for axis in AXES), strict=True)
        return dict(zip(points, arrays["sse"][0], strict=True))

    assert table(back) == pytest.approx(table(there), rel=1e-9)


def test_a_class_is_fitted_as_the_model_of_its_name() -> None:
    row = fit_cell(MASKED, spec("KGL-N", keep=["weights", "signals"]))
    own = fit_cell(MASKED, spec("kgl.models.KGLN", like="KGL-N", keep=["weights", "signals"]))
    assert set(row) == set(own)
    for name in set(row) - {"kkt_residual"}:
        np.testing.assert_allclose(own[name], row[name], rtol=1e-9, atol=1e-12)


# -------------------------------------------------------------------------------------- functions

MODULE = '''
import numpy as np


def correlation(Y, *, power, floor=0.0, scale=1.0):
    """Weights only; knows nothing of kernels."""
    filled = np.where(np.isnan(Y), 0.0, Y)
    W = np.abs(np.corrcoef(filled.T)) ** power
    W[W < floor] = 0.0
    np.fill_diagonal(W, 0.0)
    return scale * W


def smoother(Y, *, K_x, K_z, power, ridge):
    """Weights and signals, from both kernels."""
    filled = np.where(np.isnan(Y), 0.0, Y)
    hat = K_x @ np.linalg.inv(K_x + ridge * np.eye(len(K_x)))
    return correlation(Y, power=power), (K_z @ filled) @ hat


def without(Y, *, K_x, K_z, power):
    assert K_z is None and K_x is not None
    return correlation(Y, power=power)


def small(Y, *, power):
    return np.zeros((2, 2))


def undefined(Y, *, power):
    return np.full((Y.shape[1],) * 2, np.nan)


def lopsided(Y, *, power):
    return np.triu(np.ones((Y.shape[1],) * 2), 1)


def short(Y, *, power):
    return correlation(Y, power=power), Y[:-1]


def anything(Y, **point):
    return correlation(Y, **point)
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "replication_own_models.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "replication_own_models", raising=False)
    return "replication_own_models"


def test_a_function_is_a_model(mine: str) -> None:
    grid = {"power": [1.0, 3.0, 5.0]}
    settings = spec(f"{mine}.correlation", grid=grid, options={"floor": 0.05}, keep=["weights"])
    arrays = fit_cell(MASKED, settings)
    function = sys.modules[mine].correlation
    for r in range(2):
        for k, power in enumerate(grid["power"]):
            W = function(MASKED["Y"][r], power=power, floor=0.05)
            assert np.array_equal(arrays["weights"][r, k], W[np.triu_indices(7, 1)])
            truth = MASKED["W"][r]
            assert arrays["aps_weights"][r, k] == pytest.approx(aps(truth, W))
            assert arrays["aps_scores"][r, k] == pytest.approx(aps(truth, W, threshold=None))
            assert arrays["sse"][r, k] == pytest.approx(sse_graph(truth, W))
            assert arrays["density"][r, k] == pytest.approx(density(W))
    assert np.isnan(arrays["mse_in"]).all()
    assert np.isnan(arrays["mse_out"]).all()
    assert arrays["converged"].all()
    assert np.ptp(arrays["density"]) > 0


def test_the_share_of_linked_pairs_does_not_depend_on_the_scale(mine: str) -> None:
    shares = []
    for scale in (1.0, 1e-6):
        options = {"floor": 0.1, "scale": scale}
        settings = spec(f"{mine}.correlation", grid={"power": [1.0, 2.0]}, options=options)
        shares.append(fit_cell(FULL, settings)["density"])
    assert np.array_equal(*shares)
    assert 0 < shares[0].min() < shares[0].max()


def test_a_function_may_fit_signals(mine: str) -> None:
    grid = {"power": [1.0, 2.0], "ridge": [0.1, 1.0, 10.0]}
    arrays = fit_cell(MASKED, spec(f"{mine}.smoother", grid=grid, keep=["signals"]))
    assert arrays["signals"].shape == (2, 6, 15, 7)
    assert arrays["grid.ridge"].tolist() == [0.1, 1.0, 10.0] * 2
    function = sys.modules[mine].smoother
    observed = ~np.isnan(MASKED["Y"])
    for r in range(2):
        kernels = {name: MASKED[name][r] for name in ("K_x", "K_z")}
        for k, (power, ridge) in enumerate((p, q) for p in grid["power"] for q in grid["ridge"]):
            _, signals = function(MASKED["Y"][r], **kernels, power=power, ridge=ridge)
            np.testing.assert_array_equal(arrays["signals"][r, k], signals)
            for metric, out in (("mse_in", False), ("mse_out", True)):
                error = mse_signals(MASKED["Y_full"][r], signals, observed[r], out_of_sample=out)
                assert arrays[metric][r, k] == pytest.approx(error)


def test_a_kernel_that_the_data_lack_is_none(mine: str) -> None:
    arrays = fit_cell(make(0.0, dependent=False), spec(f"{mine}.without", grid={"power": [1.0]}))
    assert arrays["sse"].shape == (2, 1)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("small", r"small returned weights of shape \(2, 2\) at .*power.*7 x 7"),
        ("undefined", "finite symmetric 7 x 7"),
        ("lopsided", r"lopsided returned weights that are not symmetric.*\(W \+ W\.T\) / 2"),
        ("short", r"short returned signals of shape \(14, 7\) at .*power.*15 x 7"),
    ],
)
def test_what_a_function_must_not_return_is_refused(name: str, says: str, mine: str) -> None:
    with pytest.raises(ValueError, match=says):
        fit_cell(FULL, spec(f"{mine}.{name}", grid={"power": [1.0]}))


def test_an_axis_that_a_function_does_not_take_is_refused(mine: str) -> None:
    grid = {"power": [1.0], "psi": [1.0]}
    with pytest.raises(ConfigError, match=r"model\.grid\.psi: .*correlation.*power, floor"):
        fit_cell(FULL, spec(f"{mine}.correlation", grid=grid))


def test_a_function_may_take_any_axis(mine: str) -> None:
    arrays = fit_cell(FULL, spec(f"{mine}.anything", grid={"power": [1.0, 2.0]}))
    assert arrays["sse"].shape == (2, 2)


def test_a_function_that_is_not_there_is_refused(mine: str) -> None:
    with pytest.raises(ConfigError, match=r"model\.estimator .*did you mean 'correlation'\?"):
        fit_cell(FULL, spec(f"{mine}.corelation", grid={"power": [1.0]}))


# ------------------------------------------------------------------------ densities in place of psi

TIGHT = PROTOCOL | {"tol": 1e-9, "max_iter": 3000}
DENSITIES = [0.5, 0.2, 0.35]


def by_density(name: str, **changes: Any) -> dict[str, Any]:
    axes = {axis: AXES[axis] for axis in TABLE[name][1].split() if axis != "psi"}
    changes = {"grid": {"density": DENSITIES, **axes}, "keep": ["weights"]} | changes
    return spec(name, **changes)


@pytest.mark.parametrize("name", TABLE)
def test_every_point_has_the_density_that_it_is_there_for(name: str) -> None:
    arrays = fit_cell(MASKED, by_density(name))
    axes = [axis for axis in TABLE[name][1].split() if axis != "psi"]
    points = [arrays[f"grid.{axis}"].tolist() for axis in (*axes, "density")]
    # densities vary fastest and in the order of the file, as psi does
    assert points[-1] == DENSITIES * 2 ** len(axes)
    if axes:
        assert points[0] == sorted(points[0])
    assert arrays["psi"].shape == arrays["sse"].shape == (2, 3 * 2 ** len(axes))
    edges = (arrays["weights"] > 0).sum(axis=2)
    missed = np.abs(edges - np.round(np.multiply(points[-1], 21)))
    # signals and psi are found in turns, so that a graph may settle beside its target
    assert missed.max() <= (0 if name == "GL" else 2)
    assert np.mean(missed == 0) > 0.9
    np.testing.assert_allclose(arrays["density"], edges / 21, atol=1e-12)


@pytest.mark.parametrize("name", ["GL", "GL-2step", "KGL"])
def test_the_psi_that_was_found_gives_the_same_graph_when_it_is_given(name: str) -> None:
    found = fit_cell(MASKED, by_density(name, fit=TIGHT))
    assert found["psi"].min() > 0
    axes = [axis for axis in TABLE[name][1].split() if axis != "psi"]
    one = {key: values[:1] for key, values in MASKED.items()}
    for k in range(found["psi"].shape[1]):
        grid = {axis: [found[f"grid.{axis}"][k]] for axis in axes} | {"psi": [found["psi"][0, k]]}
        again = fit_cell(one, spec(name, grid=grid, fit=TIGHT, keep=["weights"]))
        np.testing.assert_allclose(again["weights"][0, 0], found["weights"][0, k], atol=1e-4)
    assert len(set(found["psi"][0].round(12))) == found["psi"].shape[1]


def test_a_density_alone_is_what_it_is_among_others() -> None:
    together = fit_cell(MASKED, by_density("KGL-O"))
    alone = fit_cell(
        MASKED, by_density("KGL-O", grid=by_density("KGL-O")["grid"] | {"density": [0.2]})
    )
    where = together["grid.density"] == 0.2
    for name in ("psi", "sse", "weights", "mse_out"):
        np.testing.assert_allclose(alone[name], together[name][:, where], rtol=1e-12)


def test_a_grid_has_densities_or_psi_and_not_both() -> None:
    with pytest.raises(ConfigError, match=r"model\.grid\.psi: GL takes no 'psi'; it takes density"):
        fit_cell(FULL, spec("GL", grid={"psi": [1.0], "density": [0.3]}))


@pytest.mark.parametrize("value", [0.0, -0.3, np.nan])
def test_densities_that_mean_nothing_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="density"):
        fit_cell(FULL, spec("GL", grid={"density": [0.3, value]}))


@pytest.mark.parametrize("share", [0.2, 0.34, 0.001])
def test_graphs_may_be_cut_to_their_heaviest_edges(share: float) -> None:
    whole = fit_cell(MASKED, spec("KGL", keep=["weights"]))
    cut = fit_cell(MASKED, spec("KGL", keep=["weights"], cut=share))
    kept = max(1, round(share * 21))
    for r in range(2):
        for edges, some in zip(whole["weights"][r], cut["weights"][r], strict=True):
            heaviest = np.sort(edges)[::-1][:kept]
            expected = np.where(edges >= heaviest[-1], edges, 0.0)
            np.testing.assert_allclose(some, expected * edges.sum() / expected.sum())
            assert np.count_nonzero(some) == np.count_nonzero(expected) > 0
        scored = [aps(MASKED["W"][r], adjacency_from_edges(some)) for some in cut["weights"][r]]
        np.testing.assert_allclose(cut["aps_weights"][r], scored)
    # the ranking of all pairs and the signals are those of the whole graphs
    for name in ("aps_scores", "mse_in", "mse_out"):
        np.testing.assert_array_equal(cut[name], whole[name])
    assert (cut["density"] <= whole["density"]).all()
    assert (cut["density"] < whole["density"]).any()


# ------------------------------------------------------------------------------- held-out entries

FOLDS = {"folds": 3, "density": 0.35}


def splits(data: dict[str, Array], r: int) -> list[np.ndarray]:
    return hold_out(~np.isnan(data["Y"][r]), 3, stream(0, "held-out", r), empty_nodes=True)


@pytest.mark.parametrize("name", ["GL-2step", "KGL-N", "KGL-O", "KGL", "KGL-Agnostic"])
def test_the_held_out_error_is_that_of_entries_left_out_one_fold_at_a_time(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tight = {"tol": PROTOCOL["tol"], "max_iter": 1000, "inner_tol": PROTOCOL["inner_tol"]}
    monkeypatch.setattr(fitting, "_LOOSE", tight)
    arrays = fit_cell(MASKED, spec(name, held_out=FOLDS))
    model, axes, kernels = TABLE[name]
    grid_axes = {axis: AXES[axis] for axis in axes.split()}
    if name == "GL-2step":  # which takes what is held out for zero; one that leaves it out chooses
        model, grid_axes = kgl.KGLN, {"lam": [1e-3], **grid_axes}
    for r in range(2):
        Y = MASKED["Y"][r]
        errors = []
        for held in splits(MASKED, r):
            grid = kgl.fit_grid(
                model,
                np.where(held, np.nan, Y),
                **{k: MASKED[k][r] for k in kernels},
                **grid_axes,
                average=True,
                signals=True,
            )
            assert grid.signals is not None
            errors.append([np.mean((fitted[held] - Y[held]) ** 2) for fitted in grid.signals])
        np.testing.assert_allclose(arrays["mse_cv"][r], np.mean(errors, axis=0), rtol=1e-7)
    plain = fit_cell(MASKED, spec(name))
    assert "mse_cv" not in plain
    assert all(np.array_equal(arrays[k], plain[k], equal_nan=True) for k in plain)


def test_fits_to_folds_stop_early_and_are_nearly_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    loose = fit_cell(MASKED, spec("KGL", held_out=FOLDS))["mse_cv"]
    monkeypatch.setattr(fitting, "_LOOSE", {"tol": 0.0, "max_iter": 1000, "inner_tol": 0.0})
    tight = fit_cell(MASKED, spec("KGL", held_out=FOLDS))["mse_cv"]
    assert not np.array_equal(loose, tight)
    np.testing.assert_allclose(loose, tight, rtol=0.1)
    # a protocol that asks for less than that gets less
    options = {"tol": 0.5, "max_iter": 1}
    hasty = fit_cell(MASKED, spec("KGL", held_out=FOLDS, fit=PROTOCOL | options))["mse_cv"]
    assert not np.allclose(hasty, loose, rtol=1e-6)


@pytest.mark.parametrize("name", ["GL-2step", "KGL-N", "KGL"])
def test_values_that_are_held_out_change_no_prediction(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Array, np.ndarray]] = []
    error = fitting._error

    def spy(signals: Array | None, Y: Array, where: np.ndarray, n_points: int) -> Array:
        assert signals is not None
        seen.append((signals, where))
        return error(signals, Y, where, n_points)

    monkeypatch.setattr(fitting, "_error", spy)
    one = {key: values[:1] for key, values in MASKED.items()}
    first = splits(MASKED, 0)[0]
    changed = {**one, "Y": np.where(first, one["Y"] + 5.0, one["Y"])}
    runs = []
    for data in (one, changed):
        seen.clear()
        made = fit_cell(data, spec(name, held_out=FOLDS))
        # the last calls are those of the three folds
        runs.append((seen[-3:], made["mse_cv"]))
    (before, error_before), (after, error_after) = runs
    for k, held in enumerate(splits(MASKED, 0)):
        assert np.array_equal(before[k][1], held)
        assert np.array_equal(before[k][0], after[k][0]) is (k == 0)
    assert (np.abs(error_after - error_before) > 1e-3).all()


@pytest.mark.parametrize(("how", "axis"), [("reviewer", 1), ("item", 0), ("all", None)])
def test_means_are_those_of_the_entries_that_a_fold_leaves(
    how: str, axis: int | None, mine: str
) -> None:
    raw = MASKED["Y"] + 10.0
    centred = np.stack([Y - np.nanmean(Y, axis=axis, keepdims=True) for Y in raw])
    data = {**MASKED, "Y": centred, "raw": raw, "centre": np.array([how, how])}
    grid = {"power": [1.0], "ridge": [0.1]}
    arrays = fit_cell(data, spec(f"{mine}.smoother", grid=grid, held_out=FOLDS))
    function = sys.modules[mine].smoother
    for r in range(2):
        kernels = {name: MASKED[name][r] for name in ("K_x", "K_z")}
        errors = []
        for held in splits(MASKED, r):
            train = np.where(held, np.nan, raw[r])
            mean = np.nanmean(train, axis=axis, keepdims=True)
            _, fitted = function(train - mean, **kernels, power=1.0, ridge=0.1)
            errors.append(np.mean((fitted + mean - raw[r])[held] ** 2))
        assert arrays["mse_cv"][r, 0] == pytest.approx(np.mean(errors))
    # all else is of the data as they are
    plain = fit_cell(
        {k: v for k, v in data.items() if k not in ("raw", "centre")},
        spec(f"{mine}.smoother", grid=grid),
    )
    assert all(np.array_equal(arrays[k], plain[k], equal_nan=True) for k in plain)


def test_only_graphs_of_the_density_that_is_compared_are_fitted_to_folds() -> None:
    arrays = fit_cell(MASKED, by_density("KGL", held_out=FOLDS))
    compared = arrays["grid.density"] == 0.35
    assert compared.sum() == 4
    assert np.isfinite(arrays["mse_cv"][:, compared]).all()
    assert np.isnan(arrays["mse_cv"][:, ~compared]).all()
    every = fit_cell(MASKED, by_density("KGL", held_out=FOLDS | {"density": 0.4}))
    assert np.isfinite(every["mse_cv"]).all()
    np.testing.assert_allclose(every["mse_cv"][:, compared], arrays["mse_cv"][:, compared])


def test_what_predicts_nothing_has_no_held_out_error(mine: str) -> None:
    assert np.isnan(fit_cell(MASKED, spec("GL", held_out=FOLDS))["mse_cv"]).all()
    settings = spec(f"{mine}.correlation", grid={"power": [1.0, 2.0]}, held_out=FOLDS)
    assert np.isnan(fit_cell(MASKED, settings)["mse_cv"]).all()


def test_a_function_never_sees_what_is_held_out(mine: str) -> None:
    grid = {"power": [1.0], "ridge": [0.1, 1.0]}
    arrays = fit_cell(MASKED, spec(f"{mine}.smoother", grid=grid, held_out=FOLDS))
    function = sys.modules[mine].smoother
    for r in range(2):
        Y, kernels = MASKED["Y"][r], {name: MASKED[name][r] for name in ("K_x", "K_z")}
        for k, ridge in enumerate(grid["ridge"]):
            errors = []
            for held in splits(MASKED, r):
                _, fitted = function(np.where(held, np.nan, Y), **kernels, power=1.0, ridge=ridge)
                errors.append(np.mean((fitted[held] - Y[held]) ** 2))
            assert arrays["mse_cv"][r, k] == pytest.approx(np.mean(errors))


# ----------------------------------------------------------------- groups, kernels, and empty nodes

KINDS = np.array(["a", "a", "b", "b", "b", "c", "c"])
GROUPED = {k: v for k, v in MASKED.items() if k != "W"} | {"groups": np.stack([KINDS, KINDS[::-1]])}


def test_clusters_are_compared_with_groups_where_no_graph_is_known() -> None:
    lines: list[str] = []
    arrays = fit_cell(GROUPED, spec("KGL", keep=["weights"]), lines.append)
    assert not {"aps_weights", "aps_scores", "sse"} & set(arrays)
    plain = fit_cell(MASKED, spec("KGL"))
    assert "nmi" not in plain
    np.testing.assert_array_equal(arrays["mse_out"], plain["mse_out"])
    for r in range(2):
        for k, edges in enumerate(arrays["weights"][r]):
            expected = nmi(GROUPED["groups"][r], adjacency_from_edges(edges), seed=r)
            assert arrays["nmi"][r, k] == pytest.approx(expected)
    assert np.ptp(arrays["nmi"]) > 0
    assert any(f"best NMI {arrays['nmi'][0].max():.3f};" in line for line in lines)


def test_clusters_are_found_from_the_seed_that_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def seeded(groups: Array, W: Array, seed: int) -> float:
        asked.append(seed)
        return 0.5

    monkeypatch.setattr(fitting, "nmi", seeded)
    truth = {name: values[0] for name, values in GROUPED.items()}
    evaluate(np.ones((2, 21)), np.ones((2, 21)), None, truth, 7)
    assert asked == [7, 7]
    asked.clear()
    fit_cell(GROUPED, spec("GL"))
    assert asked == [0, 0, 1, 1]


def test_errors_of_entries_that_nobody_knows_are_not_worked_out() -> None:
    unknown = {**GROUPED, "Y_full": GROUPED["Y"]}
    arrays = fit_cell(unknown, spec("KGL"))
    assert np.isnan(arrays["mse_out"]).all()
    assert np.isfinite(arrays["mse_in"]).all()


KERNEL = "experiments.baselines.kernel_graph"


def test_a_model_without_hyperparameters_has_one_point_and_no_axis() -> None:
    arrays = fit_cell(MASKED, spec(KERNEL, keep=["weights"], held_out=FOLDS))
    assert not [name for name in arrays if name.startswith("grid.")]
    assert arrays["sse"].shape == (2, 1)
    for r in range(2):
        W = np.where(np.eye(7) > 0, 0.0, np.maximum(MASKED["K_x"][r], 0.0))
        expected = 7 * W / W.sum()
        np.testing.assert_allclose(arrays["weights"][r, 0], expected[np.triu_indices(7, 1)])
        assert arrays["sse"][r, 0] == pytest.approx(sse_graph(MASKED["W"][r], expected))


def test_a_kernel_taken_for_a_graph_keeps_its_heaviest_pairs() -> None:
    K_x = np.array(
        [[5.0, 0.4, 0.3, -0.9], [0.4, 5.0, 0.2, 0.1], [0.3, 0.2, 5.0, 0.0], [-0.9, 0.1, 0.0, 5.0]]
    )
    before = K_x.copy()
    every = kernel_graph(np.full((2, 4), np.nan), K_x=K_x)
    assert every.sum() == pytest.approx(4.0)
    np.testing.assert_allclose(every / every[0, 1], np.maximum(K_x - 5 * np.eye(4), 0.0) / 0.4)
    for density_, kept in ((1 / 6, 1), (0.3, 2), (0.5, 3), (0.01, 1)):
        W = kernel_graph(np.zeros((2, 4)), K_x=K_x, density=density_)
        assert np.count_nonzero(np.triu(W)) == kept
        assert W[0, 1] == W.max() > 0
        assert W.sum() == pytest.approx(4.0)
    assert not kernel_graph(np.zeros((1, 3)), K_x=np.eye(3)).any()
    np.testing.assert_array_equal(K_x, before)


@pytest.mark.parametrize("name", TABLE)
def test_a_node_of_which_nothing_is_known_is_allowed(name: str) -> None:
    Y = MASKED["Y"].copy()
    Y[:, :, 3] = np.nan
    arrays = fit_cell({**MASKED, "Y": Y}, spec(name, keep=["signals", "weights"], held_out=FOLDS))
    assert np.isfinite(arrays["weights"]).all()
    if name == "GL":
        return
    assert np.isfinite(arrays["mse_out"]).all()
    assert np.isfinite(arrays["mse_cv"]).all()
    # its kernel, or else the graph, tells something of it
    zero = name == "GL-2step"
    assert (np.abs(arrays["signals"][..., 3]).max() > 1e-3) or zero


def test_a_row_of_which_nothing_is_known_is_refused() -> None:
    Y = MASKED["Y"].copy()
    Y[:, 2] = np.nan
    with pytest.raises(ValueError, match="row 2 of Y has no observed entry"):
        fit_cell({**MASKED, "Y": Y}, spec("KGL"))


# ------------------------------------------------------------- what is kept because a study asks

SHAPE = {"top_share", "uneven", "density_error", "size", "row_spread", "spread"}


def test_the_shape_of_graphs_and_signals_by_hand() -> None:
    rng = np.random.default_rng(0)
    weights = rng.gamma(0.5, size=(3, 45))  # ten nodes
    weights[1, 5:] = 0.0
    weights[2] = 0.2
    signals = rng.normal(1.0, 2.0, size=(3, 4, 10))
    truth = {"Y_full": rng.normal(size=(4, 10)), "W": adjacency_from_edges(weights[1])}
    found = shape(weights, signals, truth)
    assert set(found) == SHAPE
    for k in range(3):
        heaviest = sorted(weights[k].tolist())[-2:]  # 5 % of 45 pairs
        assert found["top_share"][k] == pytest.approx(sum(heaviest) / weights[k].sum())
        mean = weights[k].sum() / 45
        deviation = (sum((w - mean) ** 2 for w in weights[k]) / 45) ** 0.5
        assert found["uneven"][k] == pytest.approx(deviation / mean)
        learned = sum(w > 1e-4 * weights[k].max() for w in weights[k]) / 45
        assert found["density_error"][k] == pytest.approx(learned - 5 / 45)
        size = (signals[k] ** 2).sum()
        rows = sum(((row - row.mean()) ** 2).sum() for row in signals[k])
        whole = ((signals[k] - signals[k].mean()) ** 2).sum()
        assert found["size"][k] == pytest.approx((size / (truth["Y_full"] ** 2).sum()) ** 0.5)
        assert found["row_spread"][k] == pytest.approx((rows / size) ** 0.5)
        assert found["spread"][k] == pytest.approx((whole / size) ** 0.5)
    assert found["density_error"][1] == 0.0
    assert found["uneven"][2] == pytest.approx(0.0, abs=1e-12)
    assert found["top_share"][2] == pytest.approx(2 / 45)


def test_the_ends_of_what_shapes_can_be() -> None:
    weights = np.array([[0.0, 0.0, 3.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    constant_rows = np.array([[1.0] * 3, [-5.0] * 3])
    signals = np.stack([np.zeros((2, 3)), np.full((2, 3), 4.0), constant_rows])
    found = shape(weights, signals, {"Y_full": np.full((2, 3), 2.0)})
    assert set(found) == SHAPE - {"density_error"}  # no true graph
    # few pairs: the heaviest of them stands for 5 %
    np.testing.assert_allclose(found["top_share"], [1.0, 1 / 3, 1 / 3])
    np.testing.assert_allclose(found["size"], [0.0, 2.0, 13**0.5 / 2])
    np.testing.assert_allclose(found["row_spread"], [0.0, 0.0, 0.0])
    np.testing.assert_allclose(found["spread"], [0.0, 0.0, 3 / 13**0.5])
    assert set(shape(weights, None, {})) == {"top_share", "uneven"}


@pytest.mark.parametrize("name", ["GL", "KGL"])
def test_shapes_are_kept_where_a_study_asks_for_them(name: str) -> None:
    arrays = fit_cell(MASKED, spec(name, keep=["shape", "weights", "signals"]))
    wanted = SHAPE if name == "KGL" else {"top_share", "uneven", "density_error"}
    assert SHAPE & set(arrays) == wanted
    for r in range(2):
        truth = {key: values[r] for key, values in MASKED.items()}
        signals = arrays["signals"][r] if name == "KGL" else None
        for metric, values in shape(arrays["weights"][r], signals, truth).items():
            np.testing.assert_array_equal(arrays[metric][r], values)
    assert not SHAPE & set(fit_cell(MASKED, spec(name)))


def test_the_objective_of_exact_fits_never_rises() -> None:
    for data in (FULL, MASKED):
        arrays = fit_cell(data, spec("KGL", keep=["rise"]))
        assert arrays["rise"].shape == (2, 8)
        assert (arrays["rise"] < 1e-9).all()
        assert (arrays["rise"] < 0).any()
    assert "rise" not in fit_cell(FULL, spec("KGL"))


def test_the_rise_is_that_of_the_estimators_objective() -> None:
    point = {"lam": 0.01, "rho": 0.3, "psi": 1e-3}
    grid = {axis: [value] for axis, value in point.items()}
    arrays = fit_cell(FULL, spec("KGL", grid=grid, keep=["rise"]))
    for r in range(2):
        kernels = {name: FULL[name][r] for name in ("K_x", "K_z")}
        model = kgl.KGL(**point, average=True).fit(FULL["Y"][r], **kernels)
        steps = np.diff(model.objective_history_) / abs(model.objective_history_[0])
        assert arrays["rise"][r, 0] == pytest.approx(steps.max(), abs=1e-12)


@pytest.mark.parametrize(
    ("objective", "rise"),
    [
        ([4.0, 3.0, 3.5, 1.0], 0.125),
        ([4.0, 6.0, 3.5, 5.0], 0.5),
        ([-4.0, -3.0, -8.0], 0.25),
        ([4.0, 3.0, 2.5], -0.125),
        ([4.0, 4.0], 0.0),
        ([4.0], -np.inf),  # no second iteration
    ],
)
def test_an_increase_of_an_objective_is_seen(objective: list[float], rise: float) -> None:
    assert fitting._rise(np.array(objective)) == rise


def test_a_rise_of_any_point_is_written_at_that_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "_rise", lambda objective: float(objective[-1]))
    arrays = fit_cell(FULL, spec("KGL", keep=["rise"]))
    names = ("lam", "rho", "psi")
    for k, point in enumerate(zip(*(arrays[f"grid.{name}"] for name in names), strict=True)):
        kernels = {name: FULL[name][0] for name in ("K_x", "K_z")}
        own = dict(zip(names, map(float, point), strict=True))
        model = kgl.KGL(**own, average=True).fit(FULL["Y"][0], **kernels)
        assert arrays["rise"][0, k] == pytest.approx(model.objective_, rel=1e-9)


@pytest.mark.parametrize("name", ["GL", "KGL", KERNEL])
def test_seconds_are_those_of_an_outer_iteration(name: str) -> None:
    arrays = fit_cell(FULL, spec(name, keep=["seconds"]))
    assert arrays["seconds"].shape == arrays["n_iter"].shape
    assert (arrays["seconds"] > 0).all()
    assert "seconds" not in fit_cell(FULL, spec(name))


def test_seconds_by_a_clock_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock:
        now = 0.0

        def __call__(self) -> float:
            self.now += 60.0  # a minute between any two looks
            return self.now

    monkeypatch.setattr(fitting, "time", SimpleNamespace(perf_counter=Clock()))
    arrays = fit_cell(FULL, spec("KGL", keep=["seconds"]))
    for r in range(2):
        np.testing.assert_allclose(arrays["seconds"][r], 60.0 / arrays["n_iter"][r].max())


@pytest.mark.parametrize("decimals", [1, 2, 8])
def test_weights_may_be_rounded_before_they_are_scored(decimals: int) -> None:
    exact = fit_cell(FULL, spec("KGL", keep=["weights", "signals"]))
    arrays = fit_cell(FULL, spec("KGL", decimals=decimals, keep=["weights", "signals", "shape"]))
    np.testing.assert_array_equal(arrays["weights"], np.round(exact["weights"], decimals))
    for r in range(2):
        for k, edges in enumerate(arrays["weights"][r]):
            graph = adjacency_from_edges(edges)
            assert arrays["aps_weights"][r, k] == pytest.approx(aps(FULL["W"][r], graph))
            assert arrays["sse"][r, k] == pytest.approx(sse_graph(FULL["W"][r], graph))
            assert arrays["density"][r, k] == pytest.approx(density(graph))
            assert arrays["uneven"][r, k] == pytest.approx(edges.std() / edges.mean())
    # what is not a weight stays as it is
    for name in ("aps_scores", "signals", "mse_in", "n_iter"):
        np.testing.assert_array_equal(arrays[name], exact[name])
    if decimals == 1:
        assert (arrays["density"] < exact["density"]).any()
        assert not np.allclose(arrays["aps_weights"], exact["aps_weights"])


def test_graphs_are_cut_before_they_are_rounded() -> None:
    cut = fit_cell(FULL, spec("KGL", cut=0.3, keep=["weights"]))["weights"]
    both = fit_cell(FULL, spec("KGL", cut=0.3, decimals=2, keep=["weights"]))["weights"]
    np.testing.assert_array_equal(both, np.round(cut, 2))


# ------------------------------------------------------------------------- tolerances of backends

ONE = {axis: [values[0]] for axis, values in AXES.items()}


@pytest.fixture
def backends(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str | None, dict[str, Any]]]:
    """What every call of a backend is given."""
    pytest.importorskip("cvxpy")
    from kgl.solvers import cvxpy_step

    given: list[tuple[str | None, dict[str, Any]]] = []
    run = cvxpy_step._run

    def record(cp: Any, problem: Any, backend: str | None, settings: dict[str, Any]) -> int:
        given.append((backend, settings))
        return run(cp, problem, backend, settings)

    monkeypatch.setattr(cvxpy_step, "_run", record)
    return given


@pytest.mark.parametrize("solver", ["cvxpy", "cvxpy-matrix"])
@pytest.mark.parametrize("own", [False, True])
def test_a_route_has_our_tolerances_or_those_of_cvxpy(
    solver: str, own: bool, backends: list[tuple[str | None, dict[str, Any]]]
) -> None:
    from kgl.solvers.cvxpy_step import BACKEND_SETTINGS

    Z = np.array([[[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]])
    graph_solver(solver, "CLARABEL", own_settings=own)(Z, 0.5)
    assert backends == [("CLARABEL", {} if own else BACKEND_SETTINGS["CLARABEL"])]
    if not own:
        graph_solver(solver, "CLARABEL")(Z, 0.5)
        assert backends[1] == backends[0]
    # what is passed by hand counts either way
    graph_solver(solver, "CLARABEL", own_settings=own)(Z, 0.5, tol_feas=1e-7)
    assert backends[-1][1] == {**backends[0][1], "tol_feas": 1e-7}


@pytest.mark.parametrize(
    ("protocol", "options", "own"),
    [
        ({}, {}, False),
        ({"backend_settings": "tight"}, {}, False),
        ({"backend_settings": "own"}, {}, True),
        ({"backend_settings": "tight"}, {"backend_settings": "own"}, True),  # the model's own wins
    ],
)
def test_the_protocol_says_whose_tolerances_a_backend_has(
    protocol: dict[str, Any],
    options: dict[str, Any],
    own: bool,
    backends: list[tuple[str | None, dict[str, Any]]],
) -> None:
    from kgl.solvers.cvxpy_step import BACKEND_SETTINGS

    fit = PROTOCOL | {"solver": "cvxpy", "backend": "CLARABEL", "max_iter": 2} | protocol
    arrays = fit_cell(FULL, spec("KGL", grid=ONE, fit=fit, options=options, keep=["weights"]))
    assert len(backends) >= 4  # two replicates, two iterations
    expected = {} if own else BACKEND_SETTINGS["CLARABEL"]
    assert all(made == ("CLARABEL", expected) for made in backends)
    exact = fit_cell(FULL, spec("KGL", grid=ONE, fit=PROTOCOL | {"max_iter": 2}, keep=["weights"]))
    error = np.abs(arrays["weights"] - exact["weights"]).max()
    assert error < (1e-4 if own else 1e-7)


def test_the_exact_solver_and_classes_do_not_mind_whose_tolerances() -> None:
    plain = fit_cell(FULL, spec("KGL-N"))
    fit = PROTOCOL | {"backend_settings": "own"}
    for estimator in ("KGL-N", "kgl.models.KGLN"):
        other = fit_cell(FULL, spec(estimator, like="KGL-N", fit=fit))
        np.testing.assert_allclose(other["sse"], plain["sse"], rtol=1e-9)


# -------------------------------------------------------------------------- signals of variance 1


@pytest.mark.parametrize("dependent", [False, True])
def test_signals_may_have_a_variance_of_one(dependent: bool) -> None:
    known: dict[str, Any] = {"m": 12, "n": 9, "noise": 0.3, "missing": 0.2, "dependent": dependent}
    plain, scaled = make_dataset(**known), make_dataset(**known, unit_variance=True)
    mean = plain.K_x.diagonal().mean()
    assert mean < 0.5
    assert scaled.K_x.diagonal().mean() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(scaled.K_x, plain.K_x / mean, rtol=1e-12)
    np.testing.assert_allclose(scaled.signals, plain.signals / np.sqrt(mean), atol=1e-10)
    # everything else is what it was
    noise = plain.Y_full - plain.signals
    np.testing.assert_allclose(scaled.Y_full - scaled.signals, noise, atol=1e-12)
    np.testing.assert_array_equal(scaled.W, plain.W)
    np.testing.assert_array_equal(scaled.mask, plain.mask)
    assert scaled.settings["unit_variance"] is True


def test_signals_have_the_variance_of_their_kernel_unless_asked() -> None:
    default, off = make_dataset(m=12, n=9), make_dataset(m=12, n=9, unit_variance=False)
    np.testing.assert_array_equal(default.Y_full, off.Y_full)
    L = np.diag(default.W.sum(axis=1)) - default.W
    np.testing.assert_allclose(default.K_x, np.linalg.inv(np.eye(12) + 100 * L), atol=1e-12)


def test_the_settings_of_a_graph_say_whether_signals_have_a_variance_of_one() -> None:
    graph = {"family": "er", "m": 7, "density": 0.4, "alpha": 10.0, "weights": "uniform"}
    graph |= {"connected": False, "options": {}}
    data = {"dependent": False, "n": 15, "noise": 0.1, "missing": 0.0}
    settings: dict[str, Any] = {"make": "experiments.datasets.synthetic.synthetic", "seed": 1}
    settings |= {"replicates": 2, "data": {**data, "bandwidth": "median_distance"}}
    made = {
        unit: build({**settings, "graph": {**graph, "unit_variance": unit}})
        for unit in (False, True)
    }
    plain = build({**settings, "graph": graph})
    assert all(np.array_equal(made[False][name], plain[name]) for name in plain)
    variance = made[True]["K_x"].diagonal(axis1=1, axis2=2).mean(axis=1)
    np.testing.assert_allclose(variance, 1.0)
    assert (plain["K_x"].diagonal(axis1=1, axis2=2).mean(axis=1) < 0.5).all()
