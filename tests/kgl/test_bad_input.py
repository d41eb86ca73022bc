"""Bad input is refused before any work starts, by a message with the value and the remedy.

Every pattern below has both: what is wrong, then what to do about it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kgl
from kgl import GL, KGL, KGLN, KGLO, GL2Step, KGLAgnostic, fit_grid, kernels, learn_laplacian
from kgl._types import Array
from kgl.models import GraphLearner

MODELS = (GL, GL2Step, KGLN, KGLO, KGL, KGLAgnostic)
N, M = 9, 5

every_model = pytest.mark.parametrize("model", MODELS)


def signals() -> Array:
    return np.random.default_rng(0).standard_normal((N, M))


def with_entry(i: Any, j: Any, value: float) -> Array:
    Y = signals()
    Y[i, j] = value
    return Y


def kernel(size: int) -> Array:
    return kernels.RBF(gamma=0.3)(np.arange(float(size)))


# ------------------------------------------------------------------------------- shapes of sides


@pytest.mark.parametrize(
    ("side", "message"),
    [
        ({"K_x": kernel(4)}, r"K_x is 4 x 4 but Y has 5 columns \(nodes\).*one row and one column"),
        ({"K_z": kernel(5)}, r"K_z is 5 x 5 but Y has 9 rows \(observations\).*one row and one"),
        ({"K_x": np.ones((5, 2))}, r"K_x must be a square matrix but is 5 x 2.*kgl\.kernels\.RBF"),
        ({"x": np.ones((4, 2))}, r"x has 4 row\(s\) but Y has 5 columns \(nodes\); give one row"),
        ({"z": np.ones(5)}, r"z has 5 row\(s\) but Y has 9 rows \(observations\); give one row"),
        ({"z": 3.0}, r"z has 1 row\(s\) but Y has 9 rows \(observations\); give one row"),
        ({"K_x": kernel(5), "x": np.ones(5)}, r"both K_x and x were given; give the kernel or"),
        ({"K_z": np.zeros((9, 9))}, r"K_z is the zero matrix.*pass None"),
    ],
)
def test_shapes_that_do_not_match(side: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KGL(psi=1.0).fit(signals(), **side)
    with pytest.raises(ValueError, match=message):
        fit_grid(KGL, signals(), **side)
    with pytest.raises(ValueError, match=message):
        kgl.select_held_out(KGL, signals(), **side)


@pytest.mark.parametrize(
    ("model", "given", "what", "remedy"),
    [
        (GL, "K_x", "nodes", "KGL or KGLN"),
        (GL2Step, "x", "nodes", "KGL or KGLN"),
        (KGLO, "K_x", "nodes", "KGL or KGLN"),
        (KGLAgnostic, "x", "nodes", "KGL or KGLN"),
        (GL, "z", "observations", "KGL, KGLO or KGLAgnostic"),
        (GL2Step, "K_z", "observations", "KGL, KGLO or KGLAgnostic"),
        (KGLN, "K_z", "observations", "KGL, KGLO or KGLAgnostic"),
    ],
)
def test_side_information_that_a_model_cannot_use(
    model: type[GraphLearner], given: str, what: str, remedy: str
) -> None:
    value = kernel(M if given.endswith("x") else N)
    message = rf"no kernel over the {what}, so {given} cannot be used; leave it out or use {remedy}"
    with pytest.raises(ValueError, match=message):
        model(psi=1.0).fit(signals(), **{given: value})
    with pytest.raises(ValueError, match=message):
        fit_grid(model, signals(), **{given: value})


# ------------------------------------------------------------------------------------------- data


@every_model
@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (with_entry(2, slice(None), np.nan), r"row 2 of Y has no observed entry.*drop it, or pred"),
        (with_entry(slice(None), 3, np.nan), r"column 3 of Y has no observed entry.*drop that nod"),
        (with_entry(4, 1, np.inf), r"Y contains infinity.*Y\[4, 1\] = inf; replace them by NaN"),
        (with_entry(0, 0, -np.inf), r"Y contains infinity.*Y\[0, 0\] = -inf; replace them by NaN"),
        (
            signals()[:, :1],
            r"Y has 1 feature\(s\) .*minimum of 2 .*each row of Y is a node, pass Y",
        ),
        (signals()[:, 0], r"Expected 2D array, got 1D array.*[\s\S]*Reshape your data"),
        (signals()[:0], r"Found array with 0 sample\(s\) .* while a minimum of 1 is required"),
        ([["a", "b"], ["c", "d"]], r"could not convert string to float: 'a'"),
    ],
    ids=["row", "column", "inf", "-inf", "one-node", "1d", "no-rows", "text"],
)
def test_data_that_cannot_be_used(model: type[GraphLearner], Y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model(psi=1.0).fit(Y)
    with pytest.raises(ValueError, match=message):
        fit_grid(model, Y)


@every_model
def test_duplicate_node_names(model: type[GraphLearner]) -> None:
    frame = pd.DataFrame(signals(), columns=["rome", "oslo", "bern", "oslo", "lima"])
    with pytest.raises(ValueError, match=r"duplicate node name 'oslo'; rename the columns of Y"):
        model(psi=1.0).fit(frame)
    with pytest.raises(ValueError, match=r"duplicate node name 'oslo'; rename the columns of Y"):
        fit_grid(model, frame)


# ------------------------------------------------------------------------------- hyperparameters

MEANING = {
    "lam": "weight of the function's norm",
    "rho": "weight of the smoothness term",
    "psi": "weight of the graph's norm",
    "barrier": "weight of the log-degree barrier",
    "tol": "tolerance of the outer iteration",
}


@pytest.mark.parametrize("name", MEANING)
@pytest.mark.parametrize("value", [0.0, -2.0, np.nan, np.inf, np.float64(-0.5)])
def test_a_number_out_of_range(name: str, value: float) -> None:
    message = rf"^{name} = {value:g} \({MEANING[name]}\) must be positive and finite; .* 1e-8"
    with pytest.raises(ValueError, match=message):
        KGL(**{"psi": 1.0, name: value}).fit(signals())
    if name in ("lam", "rho", "psi"):
        with pytest.raises(ValueError, match=message):
            fit_grid(KGL, signals(), **{name: [1.0, value]})
    else:
        with pytest.raises(ValueError, match=message):
            fit_grid(KGL, signals(), **{name: value})
    if name in ("psi", "barrier"):
        with pytest.raises(ValueError, match=message):
            learn_laplacian(kernel(3), **{"psi": 1.0, name: value})


@pytest.mark.parametrize("name", MEANING)
@pytest.mark.parametrize("value", ["much", "0.1", True, [0.1, 1.0], np.array([0.1]), 1j])
def test_what_is_no_number(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{name} must be one number, got .*; pass a number"):
        KGL(**{"psi": 1.0, name: value}).fit(signals())


@pytest.mark.parametrize("value", [0, -3, 2.5, "many", None])
def test_iterations_are_counted_from_one(value: Any) -> None:
    with pytest.raises(ValueError, match=rf"max_iter = {value!r} must be a whole number of at lea"):
        KGL(psi=1.0, max_iter=value).fit(signals())


@pytest.mark.parametrize("value", [0.0, -0.1, 1.5, np.nan])
def test_densities_are_shares(value: float) -> None:
    with pytest.raises(ValueError, match=rf"density = {value:g} must lie in \(0, 1\]; it is the"):
        GL(density=value).fit(signals())
    with pytest.raises(ValueError, match=rf"density = {value:g} must lie in \(0, 1\]; it is the"):
        kgl.select_held_out(KGL, signals(), density=value)


def test_average_degrees_fit_the_nodes() -> None:
    message = r"average_degree = 4\.5 is more than the 4 neighbours .* among 5 nodes"
    with pytest.raises(ValueError, match=message):
        GL(average_degree=4.5).fit(signals())
    with pytest.raises(ValueError, match=r"average_degree = 0 .*must be positive"):
        GL(average_degree=0).fit(signals())
    with pytest.raises(TypeError, match=r"density must be one number, got 'low'; pass a number"):
        GL(density="low").fit(signals())


@every_model
@pytest.mark.parametrize("extra", [{"density": 0.3}, {"average_degree": 2.0}])
def test_psi_and_a_target_contradict_each_other(
    model: type[GraphLearner], extra: dict[str, float]
) -> None:
    with pytest.raises(ValueError, match=r"psi = 0\.1 and a target density .*give one of them"):
        model(psi=0.1, **extra).fit(signals())


@every_model
def test_a_grid_takes_psi_or_densities(model: type[GraphLearner]) -> None:
    message = r"psi = \[0\.1\] and density = 0\.3 were both given; .*give one of them"
    with pytest.raises(ValueError, match=message):
        fit_grid(model, signals(), psi=[0.1], density=0.3)
    message = (
        r"average_degree = 2\.0 sets psi, which is an axis of the grid; leave it out, or give de"
    )
    with pytest.raises(ValueError, match=message):
        fit_grid(model, signals(), average_degree=2.0)
    for value in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match=rf"density = {value:g} must lie in \(0, 1\]; it is"):
            fit_grid(model, signals(), density=[0.3, value])
    with pytest.raises(TypeError, match=r"density must be one number, got .*low'"):
        fit_grid(model, signals(), density="low")
    with pytest.raises(ValueError, match=r"the grid of density is empty; give at least one"):
        fit_grid(model, signals(), density=[])
    if model is not GL:
        with pytest.raises(ValueError, match=r"log-degree' needs psi.*give psi"):
            fit_grid(model, signals(), density=0.3, regularizer="log-degree")


def test_two_targets_contradict_each_other() -> None:
    message = r"density = 0\.3 and average_degree = 2\.0 .*give one"
    with pytest.raises(ValueError, match=message):
        GL(density=0.3, average_degree=2.0).fit(signals())


# ----------------------------------------------------------------------------------------- names


@every_model
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"solver": "scs"}, r"unknown solver 'scs'; choose one of 'auto', 'newton', 'sparse'"),
        ({"regularizer": "lasso"}, r"unknown regularizer 'lasso'; choose one of 'frobenius', 'log"),
        (
            {"backend": "OSQP"},
            r"backend = 'OSQP' names a CVXPY solver; it goes with solver='cvxpy'",
        ),
    ],
)
def test_unknown_names(model: type[GraphLearner], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model(psi=1.0, **settings).fit(signals())
    with pytest.raises(ValueError, match=message):
        fit_grid(model, signals(), **settings)


def test_unknown_backend() -> None:
    pytest.importorskip("cvxpy")
    with pytest.raises(ValueError, match=r"backend 'GUROBEX' is not among .*CLARABEL"):
        GL(psi=1.0, solver="cvxpy", backend="GUROBEX").fit(signals())


# ----------------------------------------------------------------------------------------- edges

OTHERS = [(0, j) for j in range(1, M)]
EVERY = [(i, j) for i in range(M) for j in range(i)]


@every_model
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"forbidden_edges": EVERY}, r"every edge is forbidden; allow at least one pair"),
        ({"allowed_edges": []}, r"every edge is forbidden; allow at least one pair"),
        (
            {"forbidden_edges": [(0, 7)]},
            r"forbidden_edges names the node 7, which is not a column of Y; nodes are \[0, 1, 2",
        ),
        (
            {"allowed_edges": [("rome", 1)]},
            r"allowed_edges names the node 'rome', which is not a column of Y; nodes are \[0, 1",
        ),
        (
            {"forbidden_edges": [(0, 1), (0, 1, 2)]},
            r"forbidden_edges holds \(0, 1, 2\), which is not a pair of nodes; pass pairs",
        ),
        (
            {"allowed_edges": [3]},
            r"allowed_edges holds 3, which is not a pair of nodes; pass pairs",
        ),
        (
            {"forbidden_edges": np.ones((4, 4), dtype=bool)},
            r"forbidden_edges is a \(4, 4\) matrix but there are 5 nodes",
        ),
        (
            {"allowed_edges": np.triu(np.ones((M, M), dtype=bool))},
            r"allowed_edges is not symmetric; edges have no direction, use M \| M\.T",
        ),
        ({"edge_penalty": np.ones((4, 4))}, r"edge_penalty is \(4, 4\) but there are 5 nodes"),
        (
            {"edge_penalty": -np.ones((M, M))},
            r"edge_penalty\[0, 0\] = -1; penalties are non-negative numbers \(inf forbids",
        ),
        (
            {"edge_penalty": np.full((M, M), np.nan)},
            r"edge_penalty\[0, 0\] = nan; penalties are non-negative numbers \(inf forbids",
        ),
        (
            {"edge_penalty": np.triu(np.ones((M, M)))},
            r"edge_penalty is not symmetric; use \(P \+ P\.T\) / 2",
        ),
        (
            {"forbidden_edges": OTHERS, "regularizer": "log-degree"},
            r"node 0 has no allowed edge, but the log-degree barrier .*use regularizer='frobenius'",
        ),
    ],
)
def test_edges_that_make_no_sense(
    model: type[GraphLearner], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        model(psi=1.0, **settings).fit(signals())
    with pytest.raises(ValueError, match=message):
        fit_grid(model, signals(), **settings)


def test_nodes_are_named_in_messages() -> None:
    frame = pd.DataFrame(signals(), columns=["rome", "oslo", "bern", "bonn", "lima"])
    with pytest.raises(ValueError, match=r"names the node 0, .* nodes are \['rome', 'oslo'"):
        GL(psi=1.0, forbidden_edges=[(0, 1)]).fit(frame)
    lonely = [("rome", other) for other in frame.columns[1:]]
    with pytest.raises(ValueError, match=r"node 'rome' has no allowed edge"):
        GL(psi=1.0, forbidden_edges=lonely, regularizer="log-degree").fit(frame)


@pytest.mark.parametrize(
    "init",
    [np.eye(M), np.zeros((4, 4)), np.full((M, M), np.nan), np.eye(M) - np.roll(np.eye(M), 1, 0)],
    ids=["rows", "shape", "nan", "asymmetric"],
)
def test_a_start_that_is_no_laplacian(init: Array) -> None:
    with pytest.raises(ValueError, match=r"init must be a Laplacian of 5 nodes .*use kgl"):
        KGL(psi=1.0, init=init).fit(signals())


# ------------------------------------------------------------------------------- learn_laplacian


@pytest.mark.parametrize(
    ("Z", "message"),
    [
        (np.ones((3, 4)), r"Z must be a square matrix of at least 2 nodes, got shape \(3, 4\)"),
        (np.ones(3), r"Z must be a square matrix of at least 2 nodes, got shape \(3,\)"),
        ([[0.0]], r"Z must be a square matrix of at least 2 nodes, got shape \(1, 1\)"),
        (
            [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]],
            r"Z is not symmetric: Z\[0, 2\] = 2 but Z\[2, 0\] = 4; use \(Z \+ Z\.T\) / 2",
        ),
        (
            [[0.0, 1.0, np.inf], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]],
            r"Z is not symmetric: Z\[0, 2\] = inf but Z\[2, 0\] = 4; use \(Z \+ Z\.T\) / 2",
        ),
        ([[0.0, np.nan], [np.nan, 0.0]], r"Z\[0, 1\] is NaN; use inf for a pair that must not be"),
        ([[0.0, -2.0], [-2.0, 0.0]], r"Z\[0, 1\] = -2 is negative; distances are at least 0"),
        ([[0.0, np.inf], [np.inf, 0.0]], r"every pair is forbidden \(Z = inf\); allow at least"),
    ],
)
def test_distances_that_are_none(Z: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learn_laplacian(Z, psi=1.0)


def test_learn_laplacian_with_a_node_that_the_barrier_cannot_reach() -> None:
    Z = np.ones((3, 3))
    Z[0, 1:] = Z[1:, 0] = np.inf
    with pytest.raises(
        ValueError, match=r"node 0 has no allowed edge.*use regularizer='frobenius'"
    ):
        learn_laplacian(Z, psi=1.0, regularizer="log-degree")
    assert learn_laplacian(Z, psi=1.0)[0, 0] == 0.0


# ------------------------------------------------------------------------------ grid and selection


@pytest.mark.parametrize("name", ["lam", "rho", "psi"])
def test_an_empty_axis(name: str) -> None:
    with pytest.raises(ValueError, match=rf"the grid of {name} is empty; give at least one value"):
        fit_grid(KGL, signals(), **{name: []})


@pytest.mark.parametrize(
    ("model", "name", "names"),
    [(GL, "lam", "psi"), (GL, "rho", "psi"), (GL2Step, "lam", "rho, psi")],
)
def test_a_hyperparameter_that_the_model_lacks(
    model: type[GraphLearner], name: str, names: str
) -> None:
    with pytest.raises(ValueError, match=rf"has no {name}; its hyperparameters are {names}$"):
        fit_grid(model, signals(), **{name: [1.0]})


def test_other_bad_arguments_of_a_grid() -> None:
    Y = signals()
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'lambda_'"):
        fit_grid(KGL, Y, lambda_=[1.0])
    with pytest.raises(
        TypeError, match=r"model must be an estimator class such as kgl\.KGL, got K"
    ):
        fit_grid(KGL(), Y)
    with pytest.raises(TypeError, match=r"model must be an estimator class .* got 'KGL'"):
        fit_grid("KGL", Y)
    for size in (0, -1):
        with pytest.raises(ValueError, match=rf"chunk_size = {size} must be at least 1, or None"):
            fit_grid(GL, Y, chunk_size=size)
    with pytest.raises(
        ValueError, match=r"'best' of shape \(\) for 2 points; return one value per"
    ):
        fit_grid(GL, Y, psi=[1.0, 2.0], evaluate=lambda grid: {"best": 1.0})
    bare = fit_grid(GL, Y, psi=[1.0], keep=False)
    with pytest.raises(ValueError, match=r"weights were not kept; call fit_grid with keep=True"):
        bare.laplacian(0)
    with pytest.raises(ValueError, match=r"the grid has no weights; call fit_grid with keep=True"):
        kgl.select_oracle(bare, np.ones((M, M)))


def test_bad_arguments_of_a_selection() -> None:
    Y = signals()
    for folds in (1, 0, 46):
        with pytest.raises(ValueError, match=rf"n_folds = {folds} must lie between 2 and 45"):
            kgl.select_held_out(KGL, Y, n_folds=folds)
    with pytest.raises(ValueError, match=r"GL predicts nothing.*give GL\(density=\.\.\.\)"):
        kgl.select_held_out(GL, Y)
    single = np.where(np.eye(M, dtype=bool), 1.0, np.nan)
    with pytest.raises(
        ValueError, match=r"no entry can be held out in fold 0 of n_folds = 2.*drop"
    ):
        kgl.select_held_out(KGL, single, n_folds=2)


# ------------------------------------------------------------------- nothing that is passed changes


def inputs() -> dict[str, Any]:
    """Everything that can be passed as an array or a frame, F-ordered ones among them."""
    rng = np.random.default_rng(5)
    Y = signals()
    Y[0, 1] = Y[3, 2] = Y[3, 4] = np.nan
    penalty = np.triu(rng.random((M, M)), 1)
    return {
        "Y": np.asfortranarray(Y),
        "frame": pd.DataFrame(Y, columns=list("abcde")),
        "K_x": kernel(M),
        "K_z": kernel(N),
        "x": rng.standard_normal((M, 2)),
        "z": pd.DataFrame({"time": np.arange(float(N)), "kind": list("abcabcabc")}),
        "Z": np.full((M, M), 2.0),  # with a diagonal, which is ignored
        "penalty": penalty + penalty.T + 3.0 * np.eye(M),
        "allowed": ~np.eye(M, dtype=bool),
        "pairs": [(0, 1), (2, 3)],
        "init": M * np.eye(M) - np.ones((M, M)),
        "psi": np.array([0.5, 2.0]),
    }


def calls(given: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    edges = {
        "edge_penalty": given["penalty"],
        "allowed_edges": given["allowed"],
        "forbidden_edges": given["pairs"],
    }
    matrices = {"K_x": given["K_x"], "K_z": given["K_z"]}
    covariates = {"x": given["x"], "z": given["z"]}

    def fit_and_use() -> None:
        fit = KGL(psi=1.0, init=given["init"], **edges).fit(given["Y"], **matrices)
        fit.predict(K_z=given["K_z"], K_x=given["K_x"])
        fit.impute(given["Y"])
        fit.coefficients()
        for result in (fit.signals_, fit.weights_, fit.laplacian_, fit.edge_scores_):
            result[...] = -1.0  # results do not share memory with what was passed

    def covariates_and_frame() -> None:
        fit = KGL(density=0.4, kernel_z="mixed").fit(given["frame"], **covariates)
        fit.predict(z=given["z"], x=given["x"])
        fit.impute(given["frame"])

    def without_side() -> None:
        for model in (GL, GL2Step):
            for Y in (given["Y"], given["frame"]):
                fit = model(psi=1.0, edge_penalty=given["penalty"]).fit(Y)
                fit.signals_[...] = fit.weights_[...] = -1.0

    def grid() -> None:
        fit_grid(KGL, given["Y"], **matrices, psi=given["psi"], signals=True, **edges)
        fit_grid(KGL, given["frame"], **covariates, psi=given["psi"], kernel_z="mixed")

    def held_out() -> None:
        axes = {"lam": [0.1], "rho": [0.1], "psi": given["psi"]}
        kgl.select_held_out(KGL, given["frame"], **matrices, **axes, n_folds=2)
        kgl.select_held_out(KGL, given["Y"], **matrices, **axes, n_folds=2, graph="stability")

    return {
        "fit": fit_and_use,
        "covariates": covariates_and_frame,
        "without side": without_side,
        "grid": grid,
        "held out": held_out,
        "learn_laplacian": lambda: learn_laplacian(given["Z"], 1.0),
    }


@pytest.mark.parametrize("name", calls(inputs()))
def test_inputs_are_not_mutated(name: str) -> None:
    given, before = inputs(), inputs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls(given)[name]()
    for key, value in before.items():
        if isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(given[key], value)
        else:
            np.testing.assert_array_equal(given[key], value, err_msg=key)


@pytest.mark.parametrize("name", calls(inputs()))
def test_read_only_inputs_are_accepted(name: str) -> None:
    given = inputs()
    for value in given.values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls(given)[name]()
