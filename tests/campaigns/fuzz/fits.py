"""Calls of estimators: fits, grids, cross-validation, stability, and methods of fitted models."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import kgl
from kgl import kernels
from kgl.laplacian import laplacian_from_adjacency
from tests.campaigns.fuzz import oracle
from tests.campaigns.fuzz.judge import Call
from tests.campaigns.fuzz.values import Draw

MODELS: tuple[Any, ...] = (kgl.GL, kgl.GL2Step, kgl.KGLN, kgl.KGLO, kgl.KGL, kgl.KGLAgnostic)


def sides(d: Draw, model: Any, n: int, m: int) -> dict[str, Any]:
    """Return side information, mostly of the kind that a model can use."""
    spec = model._spec
    given: dict[str, Any] = {}
    for side, size, used in (("x", m, spec.node_kernel), ("z", n, spec.observation_kernel)):
        if d.chance(0.6 if used else 0.0 if d.quality() != "bad" else 0.5):
            if d.chance(0.5):
                given[f"K_{side}"] = d.kernel(size)
            else:
                given[side] = d.covariates(size)
    return given


def kernel_spec(d: Draw, size: int) -> Any:
    """Return a kernel for covariates."""
    quality = d.quality()
    if quality == "bad":
        return d.one(["rbff", "", None, 3, kernels.RBF, object(), [], kernels.Precomputed()])
    if quality == "odd":
        return d.one(
            [kernels.RBF(gamma=d.one([1e-300, 1e300, 1e-12])), kernels.Linear(bias=1.0)]
            + [kernels.RBF(bandwidth="median_sq"), lambda a, b: float(np.sum(a * b)), "linear"]
            + [kernels.Mixed(), kernels.Auto(), np.dot, lambda a, b: -1.0, lambda a, b: np.nan]
        )
    return d.one([kernels.Auto(), kernels.RBF(), "rbf", kernels.Linear()])


def pairs(d: Draw, m: int, names: list[Any]) -> Any:
    """Return pairs of nodes."""
    quality = d.quality()
    i, j = d.rng.choice(m, 2, replace=False)
    mask = d.rng.random((m, m)) < 0.5
    if quality == "bad":
        return d.one(
            [[(0, 99)], [(0,)], [0, 1], "ab", [("a", None)], np.ones((m + 1, m)), [], mask]
            + [[(i, i)], 3, {0: 1}, [[0, 1, 2]], np.full((m, m), np.nan), d.strange()]
        )
    if quality == "odd":
        return d.one([mask | mask.T, {(names[i], names[j])}, np.array([[i, j]]), mask & mask.T])
    return [(names[i], names[j])]


def options(d: Draw, model: Any, m: int, names: list[Any], *, grid: bool = False) -> dict[str, Any]:
    """Return hyperparameters and other options of an estimator."""
    given: dict[str, Any] = {}

    def maybe(share: float, name: str, make: Any) -> None:
        if d.chance(share):
            given[name] = make()

    spec = model._spec
    log_degree = d.chance(0.25)
    if log_degree:
        given["regularizer"] = d.option(["log-degree"])
    maybe(0.4, "center", lambda: d.option(["node", "both", "none"]))
    maybe(0.4, "scale", lambda: d.option(["node", "common", "none"]))
    maybe(0.3, "log", lambda: d.option(["auto", True, False]))
    maybe(0.3, "signed", d.flag)
    maybe(0.1, "average", d.flag)
    maybe(0.1, "tol", lambda: d.number(-6, -1))
    maybe(0.15, "max_iter", lambda: d.count(1, 60))
    maybe(0.1, "barrier", lambda: d.number(-2, 2))
    maybe(0.05, "solver", lambda: d.option(["auto", "newton"]))
    maybe(0.03, "certify", lambda: d.option(["all", "sample", False]))
    maybe(0.08, "allowed_edges", lambda: pairs(d, m, names))
    maybe(0.08, "forbidden_edges", lambda: pairs(d, m, names))
    maybe(0.05, "edge_penalty", lambda: d.distances(m))
    maybe(0.05, "init", lambda: _start(d, m))
    if "missing" in model.__dataclass_fields__:
        maybe(0.2, "missing", lambda: d.option(["zero", "pairwise"]))
    for side, used in (("x", spec.node_kernel), ("z", spec.observation_kernel)):
        if used:
            maybe(0.25, f"kernel_{side}", lambda: kernel_spec(d, m))
            maybe(0.03, "kernel_tol", lambda: d.number(-10, -2))
            maybe(0.03, "max_rank", lambda: d.count(1, 20))
    if grid:
        return given
    if spec.ridge:
        maybe(0.7, "lam", lambda: d.number(-4, 2))
    if spec.fitted:
        maybe(0.7, "rho", lambda: d.number(-4, 2))
    u = d.rng.random()
    if log_degree or u < 0.5:
        given["psi"] = d.number(-4, 3)
    elif u < 0.8:
        given["density"] = d.share()
    elif u < 0.9:
        given["average_degree"] = d.one([1.0, 2.0, m - 1, m, -1, "two", d.number(-1, 1)])
    return given


def _start(d: Draw, m: int) -> Any:
    W = d.weights(m)
    try:
        return laplacian_from_adjacency(np.asarray(W, dtype=float)) if np.ndim(W) == 2 else W
    except Exception:
        return W


def shape(d: Draw) -> tuple[int, int]:
    return int(d.rng.integers(3, 13)), int(d.rng.integers(2, 7))


def names_of(Y: Any, m: int) -> list[Any]:
    columns = getattr(Y, "columns", None)
    return list(columns) if columns is not None and len(columns) == m else list(range(m))


def _complete(Y: Any) -> bool:
    return type(Y) is np.ndarray and Y.ndim == 2 and Y.dtype == float and bool(np.isfinite(Y).all())


def fit(d: Draw) -> Call:
    """Fit an estimator."""
    n, m = shape(d)
    model = d.one(MODELS)
    Y = d.data(n, m)
    given = options(d, model, m, names_of(Y, m))
    side = sides(d, model, n, m)
    plain = model is kgl.GL and _complete(Y) and not given.keys() & {
        "allowed_edges", "forbidden_edges", "edge_penalty",
    }  # fmt: skip

    def check(found: Any, messages: list[str]) -> list[str]:
        problems = oracle.fit(found, messages)
        if plain and not problems:
            problems = oracle.gl_certificate(found, Y, messages)
        return problems

    def run(Y: Any, options: dict[str, Any], side: dict[str, Any]) -> Any:
        return model(**options).fit(Y, **side)

    return Call(f"{model.__name__}.fit", run, (Y, given, side), check=check)


def fit_grid(d: Draw) -> Call:
    """Fit a grid, and compare one of its points with a single fit."""
    n, m = shape(d)
    model = d.one(MODELS)
    Y = d.data(n, m)
    spec = model._spec
    given = options(d, model, m, names_of(Y, m), grid=True)
    axes: dict[str, Any] = {}
    for name in ("lam", "rho"):
        if name in spec.hyperparameters:
            axes[name] = d.one([[d.number()], np.array([0.1, 1.0]), d.number()])
    if d.chance(0.3) and "regularizer" not in given:
        axes["density"] = d.one([d.share(), [0.3, 0.6], []])
    else:
        axes["psi"] = d.one([[d.number()], [0.01, 1.0], np.logspace(-2, 1, 3), d.number()])
    for name, make in (("signals", d.flag), ("objective", d.flag), ("keep", d.flag)):
        if d.chance(0.3):
            given[name] = make()
    if d.chance(0.2):
        given["chunk_size"] = d.count(1, 4)
    given |= axes
    side = sides(d, model, n, m)

    def check(grid: Any, messages: list[str]) -> list[str]:
        poor = not grid.residual.max() <= oracle.WARNED
        if poor and not any("KKT residual" in text for text in messages):
            return [f"no warning of the certificate {grid.residual.max():.1e}"]
        if not grid.converged.all() and not any("did not converge" in t for t in messages):
            return ["no warning that points did not converge"]
        if grid.weights is None or poor or "density" in axes:
            return []
        k = len(grid) - 1
        found = oracle.graph(grid.adjacency(k))
        single = grid.estimator(k).fit(Y, **side)
        if single.converged_ and not np.allclose(
            grid.adjacency(k), single.weights_, atol=1e-6 * max(1.0, single.weights_.max())
        ):
            found.append("a point of the grid differs from a single fit")
        return found

    def run(Y: Any, options: dict[str, Any], side: dict[str, Any]) -> Any:
        return kgl.fit_grid(model, Y, **options, **side)

    return Call(f"fit_grid({model.__name__})", run, (Y, given, side), check=check)


def select(d: Draw) -> Call:
    """Cross-validate."""
    n, m = int(d.rng.integers(5, 11)), int(d.rng.integers(3, 6))
    model = d.one(MODELS[2:] if d.quality() != "bad" else MODELS)
    Y = d.data(n, m)
    given = options(d, model, m, names_of(Y, m), grid=True)
    for name in ("lam", "rho"):
        given[name] = d.one([[d.number()], [0.1, 1.0]])
    given["n_folds"] = d.count(2, 3)
    if d.chance(0.3):
        given["folds"] = d.option(["auto", "random", "blocks", "gaps"])
    if d.chance(0.3):
        given["seed"] = d.seed()
    graph = d.option(["density", "density", "stability", "mse"])
    given["graph"] = graph
    if graph != "density":
        given["psi"] = d.one([[0.01, 1.0], [d.number()], None])
        if d.chance(0.3):
            given["max_instability"] = d.one([0.05, 0.5, -1.0, "low", np.nan])
    elif d.chance(0.5):
        given["density"] = d.share()
    side = sides(d, model, n, m)

    def check(found: Any, messages: list[str]) -> list[str]:
        return [] if np.isfinite(found.mse).all() or messages else ["errors that are not finite"]

    def run(Y: Any, options: dict[str, Any], side: dict[str, Any]) -> Any:
        return kgl.select_held_out(model, Y, **options, **side)

    return Call(f"select_held_out({model.__name__})", run, (Y, given, side), check=check)


def stability(d: Draw) -> Call:
    n, m = int(d.rng.integers(3, 11)), int(d.rng.integers(2, 6))
    model = d.one(MODELS)
    Y = d.data(n, m)
    given = options(d, model, m, names_of(Y, m))
    more: dict[str, Any] = {"n_pairs": d.count(1, 2)}
    if d.chance(0.3):
        more["random_state"] = d.seed()
    side = sides(d, model, n, m)

    def check(found: Any, messages: list[str]) -> list[str]:
        share = found.frequency
        fine = np.array_equal(share, share.T) and share.min() >= 0 and share.max() <= 1
        return [] if fine else ["shares are not symmetric or not in [0, 1]"]

    def run(Y: Any, options: dict[str, Any], side: dict[str, Any]) -> Any:
        return kgl.stability(model(**options), Y, **more, **side)

    return Call("stability", run, (Y, given, side), check=check)


def compare(d: Draw) -> Call:
    n, m = int(d.rng.integers(6, 10)), int(d.rng.integers(3, 5))
    Y = d.data(n, m)
    methods: Any = {"GL": kgl.GL(density=0.4), "KGLN": kgl.KGLN(density=0.4)}
    if d.quality() == "bad":
        methods = d.one([{}, {"a": 3}, [kgl.GL()], {"a": kgl.GL}, "GL", {1: kgl.GL()}])
    given = {"methods": methods, "n_folds": d.count(2, 3)}
    if d.chance(0.2):
        given["folds"] = d.option(["auto", "random", "blocks", "gaps"])

    def run(Y: Any, given: dict[str, Any]) -> Any:
        found = kgl.compare(Y, **given)
        tables = [found.table, found.folds, found.jaccard, found.rank_correlation]
        return [table.drop(columns="seconds", errors="ignore") for table in tables]

    return Call("compare", run, (Y, given))


def bayesian(d: Draw) -> Call:
    n, m = int(d.rng.integers(4, 9)), int(d.rng.integers(3, 5))
    Y = d.data(n, m)
    given: dict[str, Any] = {
        "n_chains": d.count(1, 1),
        "n_warmup": d.count(2, 3),
        "n_draws": d.count(3, 4),
    }
    if d.chance(0.3):
        given["density"] = d.share()
    if d.chance(0.2):
        given["signed"] = d.flag()
    if d.chance(0.2):
        given["random_state"] = d.seed()
    if d.chance(0.2):
        given["center"] = d.option(["node", "both", "none"])
    side = sides(d, kgl.KGL, n, m)

    def run(Y: Any, options: dict[str, Any], side: dict[str, Any]) -> Any:
        return kgl.BayesianKGL(**options).fit(Y, **side).edge_probability_

    def check(P: Any, messages: list[str]) -> list[str]:
        fine = np.isfinite(P).all() and np.array_equal(P, P.T) and P.min() >= 0 and P.max() <= 1
        return [] if fine else ["probabilities are not symmetric or not in [0, 1]"]

    return Call("BayesianKGL.fit", run, (Y, given, side), check=check)


def impute(d: Draw) -> Call:
    n, m = shape(d)
    Y = d.data(n, m)
    estimator = d.one([None, kgl.KGLN(density=0.4), kgl.KGL(density=0.5), kgl.GL2Step(density=0.3)])
    if d.quality() == "bad":
        estimator = d.one([kgl.GL(), kgl.KGL, "KGL", 3, kgl.KGLImputer()])
    side = sides(d, kgl.KGL, n, m) if d.chance(0.3) else {}

    def run(Y: Any, side: dict[str, Any]) -> Any:
        return kgl.KGLImputer(estimator=estimator).fit_transform(Y, **side)

    def check(filled: Any, messages: list[str]) -> list[str]:
        values, given = np.asarray(filled, dtype=float), kgl._validation.as_floats(Y)
        seen = ~np.isnan(given)
        if not np.isfinite(values).all() and not messages:
            return ["values that are filled in are not finite"]
        kept = np.array_equal(values[seen], given[seen])
        return [] if kept else ["observed values have changed"]

    return Call("KGLImputer.fit_transform", run, (Y, side), check=check)


def rows(d: Draw) -> Call:
    """Fit from sums over rows, or piece by piece."""
    n, m = int(d.rng.integers(4, 13)), int(d.rng.integers(2, 6))
    Y = d.data(n, m)
    which = d.one(["sums", "partial", "compress"])
    if which == "sums":
        return Call(
            "RowSums.of",
            lambda Y: kgl.GL(density=0.4).fit(kgl.RowSums.of(Y)),
            (Y,),
            check=oracle.fit,
        )
    if which == "partial":
        other = d.data(n, m)

        def run(Y: Any, other: Any) -> Any:
            model = d.one([kgl.GL, kgl.GL2Step, kgl.KGLN])(density=0.4)
            return model.partial_fit(Y).partial_fit(other)

        return Call("partial_fit", run, (Y, other), check=oracle.fit, repeat=False)
    given: dict[str, Any] = {"n_folds": d.count(2, 3)}
    if d.chance(0.6):
        given["K_z" if d.chance(0.5) else "z"] = d.kernel(n) if d.chance(0.5) else d.covariates(n)
    if d.chance(0.3):
        given["white"] = d.number(-6, 0)
    if d.chance(0.2):
        given["chunk_rows"] = d.count(1, 5)

    def compressed(Y: Any, given: dict[str, Any]) -> Any:
        return kgl.KGLO(density=0.4).fit(kgl.compress(Y, **given))

    return Call("compress", compressed, (Y, given), check=oracle.fit)


class Fitted:
    """Fitted models whose methods are called; made once for a run."""

    def __init__(self, rng: np.random.Generator) -> None:
        data = kgl.simulate.make_dataset("er", m=5, n=12, dependent=True, missing=0.1)
        frame = pd.DataFrame(data.Y, columns=list("abcde"))
        x, z = rng.normal(size=(5, 2)), np.arange(12.0)
        self.data = [data.Y, data.Y, data.Y, frame, data.Y, data.Y]
        self.models = [
            kgl.GL(density=0.4).fit(data.Y),
            kgl.GL2Step(density=0.4).fit(data.Y),
            kgl.KGLN(density=0.4).fit(data.Y, x=x),
            kgl.KGL(density=0.4).fit(frame, x=x, z=z),
            kgl.KGL(density=0.4).fit(data.Y, K_x=data.K_x, K_z=data.K_z),
            kgl.KGLAgnostic(density=0.4).fit(data.Y, z=z),
        ]
        self.grid = kgl.fit_grid(kgl.KGLN, data.Y, lam=[0.1], rho=[0.1, 1.0], psi=[0.1, 1.0])
        self.truth = data.W
        self.new = [kgl.KGL(), kgl.GL(), kgl.KGLImputer()]


def method(d: Draw, fitted: Fitted) -> Call:
    """Call a method of a fitted model."""
    k = int(d.rng.integers(len(fitted.models)))
    model, Y = fitted.models[k], fitted.data[k]
    if d.chance(0.02):
        model = d.one(fitted.new[:2])
    which = d.one(["predict", "predict", "impute", "coefficients", "networkx", "edges", "sparse"]
                  + ["summary", "pair_scores", "runners_up", "grid", "oracle", "plot"])  # fmt: skip
    n_new = int(d.rng.integers(1, 4))
    if which == "predict":
        given: dict[str, Any] = {}
        if d.chance(0.4):
            given["z"] = d.one([[0.5] * n_new, d.covariates(n_new), d.number(), [99.0]])
        if d.chance(0.3):
            given["x"] = d.one([d.rng.normal(size=(n_new, 2)), d.covariates(n_new)])
        if d.chance(0.2):
            given["K_z"] = d.one([d.rng.random((n_new, 12)), d.kernel(12), d.kernel(5)])
        if d.chance(0.2):
            given["K_x"] = d.one([d.rng.random((n_new, 5)), d.kernel(5)])
        if d.chance(0.2):
            given["return_std"] = d.flag()
        if d.chance(0.1):
            given["random_state"] = d.seed()
        return Call("predict", model.predict, (), given, check=_finite)
    if which == "impute":
        given = {"return_std": d.flag()} if d.chance(0.3) else {}
        return Call("impute", model.impute, (Y if d.chance(0.7) else d.data(12, 5),), given)
    if which == "networkx":
        table = pd.DataFrame({"a": d.rng.normal(size=5)}, index=model.get_params() and None)
        attributes = d.one([None, table, table.head(3), d.covariates(5)])
        return Call("to_networkx", model.to_networkx, (attributes,))
    if which == "pair_scores":
        names = list("abcde") if isinstance(Y, pd.DataFrame) else list(range(5))
        return Call("pair_scores", model.pair_scores, (pairs(d, 5, names),))
    if which == "runners_up":
        return Call("runners_up", model.runners_up, (d.count(1, 5),))
    if which == "edges":
        return Call("to_edges", model.to_edges, (), {"all_pairs": d.flag()})
    if which == "grid":
        name = d.one(["point", "adjacency", "laplacian", "estimator"])
        index = d.one([0, 3, -1, np.int64(2), *([99, -9, 1.5, "a", None] * (d.quality() == "bad"))])
        return Call(f"GridResult.{name}", getattr(fitted.grid, name), (index,))
    if which == "oracle":
        truth = d.one([fitted.truth, d.weights(5)])
        given = {"metric": d.option(["aps", "aps_scores", "sse"]), "normalize": d.flag()}
        return Call("select_oracle", kgl.select_oracle, (fitted.grid, truth), given)
    if which == "plot":
        if not d.chance(0.1):  # slow
            return Call("summary", model.summary)
        return Call(
            "plot",
            _plot,
            (model, d.one([None, "spring", {}, d.rng.normal(size=(5, 2))])),
            repeat=False,
        )
    plain = {"coefficients": "coefficients", "sparse": "to_sparse", "summary": "summary"}
    return Call(plain[which], getattr(model, plain[which]))


def _plot(model: Any, positions: Any) -> None:
    from matplotlib import pyplot

    try:
        model.plot(positions=positions)
    finally:
        pyplot.close("all")


def _finite(found: Any, messages: list[str]) -> list[str]:
    parts = found if isinstance(found, tuple) else (found,)
    if messages or all(np.isfinite(np.asarray(part, dtype=float)).all() for part in parts):
        return []
    return ["predictions are not finite"]


def export(d: Draw, fitted: Fitted) -> Call:
    """Write a graph with awkward names to files of other programs, and read it again."""
    import networkx as nx

    names = d.one(
        [["a", "b", "c"], ["<b>", "a&b", '"q"'], [1, 2, 3], ["ü", "雪", "🙂"], [("a", 1), "b", 2.5]]
        + [["$x$", "$y", "%s"], [None, True, "x"], ["a\nb", "\t", "\x07"], ["", " ", "  "]]
    )
    Y = pd.DataFrame(d.signals(8, 3), columns=names)

    def run(Y: Any) -> Any:
        return kgl.GL(density=0.7).fit(Y).to_networkx()

    def check(graph: Any, messages: list[str]) -> list[str]:
        if list(graph.nodes) != list(Y.columns):
            return ["nodes are not the columns"]
        if not all(isinstance(name, str) and name.isprintable() for name in graph.nodes):
            return []
        handle, path = tempfile.mkstemp(suffix=".graphml")
        os.close(handle)
        try:
            nx.write_graphml(graph, path)
            same = nx.is_isomorphic(nx.read_graphml(path), graph)
        finally:
            os.unlink(path)
        return [] if same else ["GraphML gives another graph back"]

    return Call("to_networkx", run, (Y,), check=check)


def sparse_fit(d: Draw) -> Call:
    """Fit by the solver for many nodes."""
    n, m = int(d.rng.integers(3, 13)), int(d.rng.integers(3, 9))
    model = d.one([kgl.GL, kgl.KGLN, kgl.GL2Step])
    Y = d.data(n, m)
    given = (
        {"solver": "sparse", "density": d.share()}
        if d.chance(0.5)
        else {"solver": "sparse", "psi": d.number(-3, 2)}
    )
    if d.chance(0.3):
        given["regularizer"] = "log-degree"
        given.pop("density", None)
        given["psi"] = d.number(-3, 2)
    if d.chance(0.3):
        mask = d.rng.random((m, m)) < 0.7
        given["allowed_edges"] = d.one(
            [sparse.csr_array(mask | mask.T), pairs(d, m, names_of(Y, m))]
        )
    if d.chance(0.3):
        given["certify"] = d.option(["all", "sample", False])

    def run(Y: Any, given: dict[str, Any]) -> Any:
        return model(**given).fit(Y)

    return Call(f"{model.__name__}.fit sparse", run, (Y, given), check=oracle.fit)
