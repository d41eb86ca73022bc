"""One cell: what is written is what kgl's estimators and metrics give, one by one."""

from __future__ import annotations

import subprocess
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kgl
from experiments import fit as fitting
from experiments.datasets.synthetic import build
from experiments.fit import fit_cell
from experiments.lookup import ROOT, ConfigError
from experiments.registry import METRICS
from kgl._types import Array
from kgl.folds import hold_out
from kgl.laplacian import adjacency_from_edges
from kgl.metrics import aps, density, mse_signals, nmi, sse_graph
from kgl.seeding import stream

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
#: Metrics of fits whose true graph is known and that are not cross-validated.
GRAPHS = {name for name, row in METRICS.items() if row.needs in ("", "graph")}
GRAPHS = GRAPHS - {"aps", "mse_cv", "n_iter", "converged", "kkt_residual"} | {"aps_weights"}


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


#: The replication prepares data itself, and has its own limit of iterations.
AS_IS: dict[str, Any] = {
    "center": "none", "scale": "none", "log": False, "signed": False, "max_iter": 100
}  # fmt: skip


def by_hand(name: str, data: dict[str, Array], r: int, **options: Any) -> dict[str, Array]:
    """Metrics of one replicate by kgl.fit_grid and the metrics of single graphs."""
    model, axes, kernels = TABLE[name]
    grid = kgl.fit_grid(
        model,
        data["Y"][r],
        **{k: data[k][r] for k in kernels if k in data},
        **{axis: AXES[axis] for axis in axes.split()},
        signals=name != "GL",
        **{**AS_IS, **options},
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
                # iterative signal steps of the estimators stop at 1e-9
                np.testing.assert_allclose(
                    arrays[metric][r], values, rtol=1e-6, atol=1e-8, err_msg=metric
                )
    fitted = name != "GL"
    assert np.isnan(arrays["mse_in"]).all() == (not fitted)
    assert np.isnan(arrays["mse_out"]).all() == (not fitted or not missing)
    assert ("signals" in arrays) == fitted
    assert np.ptp(arrays["sse"]) > 1e-3  # the points do differ


def test_shapes_and_what_is_kept() -> None:
    arrays = fit_cell(MASKED, spec("KGL"))
    expected = dict.fromkeys({*GRAPHS, "n_iter", "converged", "kkt_residual"}, (2, 8))
    expected |= {f"grid.{axis}": (8,) for axis in AXES}
    assert {name: values.shape for name, values in arrays.items()} == expected
    kept = fit_cell(MASKED, spec("KGL", keep=["weights", "signals"]))
    assert kept["weights"].shape == (2, 8, 21)
    assert kept["signals"].shape == (2, 8, 15, 7)
    assert all(np.array_equal(kept[name], arrays[name], equal_nan=True) for name in arrays)


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


def test_points_that_do_not_converge_are_noted() -> None:
    lines: list[str] = []
    arrays = fit_cell(FULL, spec("KGL", fit=PROTOCOL | {"max_iter": 1}), lines.append)
    left = int((arrays["converged"][0] == 0).sum())
    assert left > 0
    assert any(f"replicate 1/2: best APS {arrays['aps_weights'][0].max():.3f}" in x for x in lines)
    assert any(f"{left} points not converged" in line for line in lines)
    assert "KGL: 8 grid points, 2 replicates" in lines[0]


@pytest.mark.parametrize("estimator", ["KGL", "kgl.models.KGL"])
def test_the_order_in_which_a_file_names_the_axes_does_not_matter(estimator: str) -> None:
    there = fit_cell(FULL, spec(estimator, like="KGL"))
    turned = {"psi": AXES["psi"], "lam": AXES["lam"], "rho": AXES["rho"]}
    back = fit_cell(FULL, spec(estimator, grid=turned))

    def table(arrays: dict[str, Array]) -> dict[tuple[float, ...], float]:
        points = zip(*(arrays[f"grid.{axis}"] for axis in AXES), strict=True)
        return dict(zip(points, arrays["sse"][0], strict=True))

    assert table(back) == pytest.approx(table(there), rel=1e-9)


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


def constant(Y):
    return np.ones((Y.shape[1],) * 2)


def small(Y, *, power):
    return np.zeros((2, 2))


def lopsided(Y, *, power):
    return np.triu(np.ones((Y.shape[1],) * 2), 1)


def short(Y, *, power):
    return correlation(Y, power=power), Y[:-1]


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
            assert arrays["aps_weights"][r, k] == pytest.approx(aps(MASKED["W"][r], W))
            assert arrays["sse"][r, k] == pytest.approx(sse_graph(MASKED["W"][r], W))
    assert np.isnan([arrays["mse_in"], arrays["mse_out"]]).all()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("small", r"small returned weights of shape \(2, 2\) at .*power.*7 x 7"),
        ("lopsided", r"lopsided returned weights that are not symmetric.*\(W \+ W\.T\) / 2"),
        ("short", r"short returned signals of shape \(14, 7\) at .*power.*15 x 7"),
    ],
)
def test_what_a_function_must_not_return_is_refused(name: str, says: str, mine: str) -> None:
    with pytest.raises(ValueError, match=says):
        fit_cell(FULL, spec(f"{mine}.{name}", grid={"power": [1.0]}))


def emptied(axis: int) -> dict[str, Array]:
    Y = MASKED["Y"].copy()
    Y.swapaxes(1, axis)[:, 3] = np.nan
    return {**MASKED, "Y": Y}


@pytest.mark.parametrize(
    ("estimator", "grid", "match"),
    [
        ("KGLX", {"psi": [1.0]}, "'KGLX' is none of the models GL, GL-2step, KGL-N"),
        ("GL-2step", {"psi": [1.0], "gamma": [1.0]}, r"model\.grid\.gamma: .*'gamma'.*rho, psi"),
        ("GL-2step", {"psi": [1.0]}, "lacks 'rho'.*GL-2step"),
        ("GL", {"psi": [1.0], "density": [0.3]}, r"model\.grid\.psi: GL .*density"),
        *(("GL", {"psi": [1.0, value]}, "psi = ") for value in (-1.0, 0.0, np.inf, np.nan)),
        *(("GL", {"density": [0.3, value]}, "density = ") for value in (0.0, -0.3, np.nan)),
        ("mine.correlation", {"power": [1.0], "psi": [1.0]}, r"model\.grid\.psi: .*power, floor"),
        ("mine.corelation", {"power": [1.0]}, r"model\.estimator .*did you mean 'correlation'\?"),
    ],
)
def test_bad_models_and_grids_are_refused(
    estimator: str, grid: dict[str, list[float]], match: str, mine: str
) -> None:
    with pytest.raises(ValueError, match=match):
        fit_cell(FULL, spec(estimator.replace("mine", mine), grid=grid))


def test_bad_options_and_empty_rows_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.options\.tolerance: .*KGL; valid: tol"):
        fit_cell(FULL, spec("KGL", options={"tolerance": 1.0}))
    with pytest.raises(ValueError, match="row 3 of Y has no observed entry"):
        fit_cell(emptied(1), spec("KGL"))


def test_a_fit_loads_no_slow_package() -> None:
    slow = ["sklearn", "pandas", "hydra", "omegaconf", "snakemake", "matplotlib", "cvxpy", "jinja2"]
    code = f"import sys, experiments.fit; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "[]\n", done.stderr


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


@pytest.mark.parametrize("share", [0.34, 0.001])
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


FOLDS = {"folds": 3, "density": 0.35}


def splits(data: dict[str, Array], r: int) -> list[np.ndarray]:
    return hold_out(~np.isnan(data["Y"][r]), 3, stream(0, "held-out", r), empty_nodes=True)


@pytest.mark.parametrize("name", ["GL-2step", "KGL-N", "KGL-O", "KGL", "KGL-Agnostic"])
def test_the_held_out_error_is_that_of_entries_left_out_one_fold_at_a_time(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loose = fit_cell(MASKED, spec(name, held_out=FOLDS))["mse_cv"]
    monkeypatch.setattr(fitting, "loosened", lambda options: options)
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
                **AS_IS,
                average=True,
                signals=True,
            )
            assert grid.signals is not None
            errors.append([np.mean((fitted[held] - Y[held]) ** 2) for fitted in grid.signals])
        np.testing.assert_allclose(arrays["mse_cv"][r], np.mean(errors, axis=0), rtol=1e-7)
    # fits to folds stop early, and are nearly as good
    assert not np.array_equal(loose, arrays["mse_cv"])
    np.testing.assert_allclose(loose, arrays["mse_cv"], rtol=0.1)
    plain = fit_cell(MASKED, spec(name))
    assert "mse_cv" not in plain
    assert all(np.array_equal(arrays[k], plain[k], equal_nan=True) for k in plain)


@pytest.mark.parametrize(("how", "axis"), [("reviewer", 1), ("item", 0), ("none", None)])
def test_means_are_those_of_the_entries_that_a_fold_leaves(
    how: str, axis: int | None, mine: str
) -> None:
    raw = MASKED["Y"] + 10.0

    def mean_of(Y: Array) -> Array:
        return np.nanmean(Y, axis=axis, keepdims=True) * (how != "none")

    centred = np.stack([Y - mean_of(Y) for Y in raw])
    data = {**MASKED, "Y": centred, "raw": raw, "centre": np.array([how, how])}
    grid = {"power": [1.0], "ridge": [0.1]}
    arrays = fit_cell(data, spec(f"{mine}.smoother", grid=grid, held_out=FOLDS))
    function = sys.modules[mine].smoother
    for r in range(2):
        kernels = {name: MASKED[name][r] for name in ("K_x", "K_z")}
        errors = []
        for held in splits(MASKED, r):
            train = np.where(held, np.nan, raw[r])
            mean = mean_of(train)
            _, fitted = function(train - mean, **kernels, power=1.0, ridge=0.1)
            errors.append(np.mean((fitted + mean - raw[r])[held] ** 2))
        assert arrays["mse_cv"][r, 0] == pytest.approx(np.mean(errors))


def test_only_graphs_of_the_density_that_is_compared_are_fitted_to_folds() -> None:
    arrays = fit_cell(MASKED, by_density("KGL", held_out=FOLDS))
    compared = arrays["grid.density"] == 0.35
    assert np.isfinite(arrays["mse_cv"][:, compared]).all()
    assert np.isnan(arrays["mse_cv"][:, ~compared]).all()
    every = fit_cell(MASKED, by_density("KGL", held_out=FOLDS | {"density": 0.4}))
    assert np.isfinite(every["mse_cv"]).all()
    np.testing.assert_allclose(every["mse_cv"][:, compared], arrays["mse_cv"][:, compared])


def test_what_predicts_nothing_has_no_held_out_error(mine: str) -> None:
    assert np.isnan(fit_cell(MASKED, spec("GL", held_out=FOLDS))["mse_cv"]).all()
    settings = spec(f"{mine}.correlation", grid={"power": [1.0, 2.0]}, held_out=FOLDS)
    assert np.isnan(fit_cell(MASKED, settings)["mse_cv"]).all()


KINDS = np.array(["a", "a", "b", "b", "b", "c", "c"])
GROUPED = {k: v for k, v in MASKED.items() if k != "W"} | {"groups": np.stack([KINDS, KINDS[::-1]])}


def test_clusters_are_compared_with_groups_where_no_graph_is_known() -> None:
    arrays = fit_cell(GROUPED, spec("KGL", keep=["weights"]))
    assert not {"aps_weights", "aps_scores", "sse"} & set(arrays)
    assert "nmi" not in fit_cell(MASKED, spec("KGL"))
    for r in range(2):
        for k, edges in enumerate(arrays["weights"][r]):
            expected = nmi(GROUPED["groups"][r], adjacency_from_edges(edges), seed=r)
            assert arrays["nmi"][r, k] == pytest.approx(expected)
    assert np.ptp(arrays["nmi"]) > 0


def test_a_model_without_hyperparameters_has_one_point_and_no_axis(mine: str) -> None:
    arrays = fit_cell(MASKED, spec(f"{mine}.constant", keep=["weights"], held_out=FOLDS))
    assert not [name for name in arrays if name.startswith("grid.")]
    assert arrays["weights"].shape == (2, 1, 21)


@pytest.mark.parametrize("name", TABLE)
def test_a_node_of_which_nothing_is_known_is_allowed(name: str) -> None:
    arrays = fit_cell(emptied(2), spec(name, keep=["signals", "weights"], held_out=FOLDS))
    assert np.isfinite(arrays["weights"]).all()
    if name == "GL":
        return
    assert np.isfinite(arrays["mse_out"]).all()
    assert np.isfinite(arrays["mse_cv"]).all()
    # its kernel, or else the graph, informs on it
    assert name == "GL-2step" or np.abs(arrays["signals"][..., 3]).max() > 1e-3


def test_the_rise_is_that_of_the_estimators_objective() -> None:
    point = {"lam": 0.01, "rho": 0.3, "psi": 1e-3}
    grid = {axis: [value] for axis, value in point.items()}
    arrays = fit_cell(FULL, spec("KGL", grid=grid, keep=["rise"]))
    for r in range(2):
        kernels = {name: FULL[name][r] for name in ("K_x", "K_z")}
        model = kgl.KGL(**point, **AS_IS, average=True).fit(FULL["Y"][r], **kernels)
        steps = np.diff(model.objective_history_) / abs(model.objective_history_[0])
        assert arrays["rise"][r, 0] == pytest.approx(steps.max(), abs=1e-12)


def test_seconds_by_a_clock_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count(0.0, 60.0)  # a minute between any two looks
    clock = SimpleNamespace(process_time=lambda: next(ticks), perf_counter=lambda: 0.0)
    monkeypatch.setattr(fitting, "time", clock)
    arrays = fit_cell(FULL, spec("KGL", keep=["seconds"]))
    for r in range(2):
        np.testing.assert_allclose(arrays["seconds"][r], 60.0 / arrays["n_iter"][r].max())


@pytest.mark.parametrize("decimals", [1, 8])
def test_weights_may_be_rounded_before_they_are_scored(decimals: int) -> None:
    exact = fit_cell(FULL, spec("KGL", keep=["weights", "signals"]))
    arrays = fit_cell(FULL, spec("KGL", decimals=decimals, keep=["weights", "signals", "shape"]))
    np.testing.assert_array_equal(arrays["weights"], np.round(exact["weights"], decimals))
    graph = adjacency_from_edges(arrays["weights"][0, 0])
    assert arrays["aps_weights"][0, 0] == pytest.approx(aps(FULL["W"][0], graph))
    assert arrays["density"][0, 0] == pytest.approx(density(graph))
    for name in ("aps_scores", "signals", "mse_in", "n_iter"):
        np.testing.assert_array_equal(arrays[name], exact[name])


ONE = {axis: [values[0]] for axis, values in AXES.items()}


@pytest.mark.parametrize("own", [False, True])
def test_a_backend_has_our_tolerances_or_its_own(own: bool) -> None:
    pytest.importorskip("cvxpy")
    short = PROTOCOL | {"max_iter": 2}
    fit = short | {"solver": "cvxpy", "backend": "CLARABEL", "backend_settings": "tight"}
    options = {"backend_settings": "own"} if own else {}  # the model's own wins
    arrays = fit_cell(FULL, spec("KGL", grid=ONE, fit=fit, options=options, keep=["weights"]))
    exact = fit_cell(FULL, spec("KGL", grid=ONE, fit=short, keep=["weights"]))
    error = np.abs(arrays["weights"] - exact["weights"]).max()
    assert 1e-9 < error < 1e-4 if own else error < 1e-7
