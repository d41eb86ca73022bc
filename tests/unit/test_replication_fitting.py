"""One cell: what is written is what kgl's estimators and metrics give, one by one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgl
from kgl.laplacian import Array
from kgl.metrics import aps, density, mse_signals, sse_graph
from kgl.problem import MODELS
from kgl.replication.config import ConfigError
from kgl.replication.fitting import METRICS, fit_cell, grid_points
from kgl.replication.sources import build

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


def make(missing: float, dependent: bool = True) -> dict[str, Array]:
    graph = {"family": "er", "m": 7, "density": 0.4, "alpha": 10.0, "weights": "uniform"}
    settings = {
        "source": "kgl.replication.sources.synthetic",
        "seed": 1,
        "replicates": 2,
        "graph": {**graph, "connected": False, "options": {}},
        "data": {
            "dependent": dependent,
            "n": 15,
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
    rows: dict[str, list[float]] = {metric: [] for metric in METRICS}
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
    expected = {*METRICS, "n_iter", "converged", "kkt_residual"}
    assert rest == dict.fromkeys(expected, (2, 8))
    kept = fit_cell(MASKED, spec("KGL", keep=["weights", "signals"]))
    assert kept["weights"].shape == (2, 8, 21)
    assert kept["signals"].shape == (2, 8, 15, 7)
    assert all(np.array_equal(kept[name], arrays[name], equal_nan=True) for name in arrays)


def test_data_without_a_kernel_of_observations_have_the_identity() -> None:
    data = make(0.0, dependent=False)
    assert "K_z" not in data
    both, nodes = fit_cell(data, spec("KGL")), fit_cell(data, spec("KGL-N"))
    for metric in METRICS:
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
    exact = fit_cell(MASKED, spec("KGL"))
    coarse = fit_cell(MASKED, spec("KGL", fit=PROTOCOL | {"inner_tol": 1e-3}))
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
