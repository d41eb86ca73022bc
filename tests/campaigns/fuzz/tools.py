"""Calls of functions: the graph step, metrics, simulation, kernels, data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

import kgl
from kgl import datasets, kernels, metrics, seeding, simulate
from tests.campaigns.fuzz import oracle
from tests.campaigns.fuzz.judge import Call
from tests.campaigns.fuzz.values import Draw


def learn(d: Draw) -> Call:
    m = int(d.rng.integers(2, 8))
    Z, psi = d.distances(m), d.number(-4, 4)
    given: dict[str, Any] = {}
    if d.chance(0.5):
        given["regularizer"] = d.option(["frobenius", "log-degree"])
    if d.chance(0.3):
        given["barrier"] = d.number(-2, 2)

    def check(L: Any, messages: list[str]) -> list[str]:
        said = any("KKT residual" in text for text in messages)
        W = -L * ~np.eye(len(L), dtype=bool)
        found = [] if said and not np.isfinite(L).all() else oracle.graph(W + 0.0)
        regularizer = given.get("regularizer", "frobenius")
        if not found and not said:
            full = np.array(Z, dtype=float)
            np.fill_diagonal(full, 0.0)
            own = oracle.certificate(
                W, full, float(psi), regularizer, float(given.get("barrier", 1))
            )
            if not own <= oracle.WARNED:
                found.append(f"no warning, but the recomputed certificate is {own:.1e}")
            public = kgl.kkt_residual(
                W, full, float(psi), regularizer=regularizer, barrier=float(given.get("barrier", 1))
            )
            if max(public, own) > 10 * max(min(public, own), 1e-11):
                found.append(f"kkt_residual is {public:.1e}, recomputed {own:.1e}")
        return found

    return Call("learn_laplacian", kgl.learn_laplacian, (Z, psi), given, check=check)


def residual(d: Draw) -> Call:
    m = int(d.rng.integers(2, 6))
    given: dict[str, Any] = {}
    if d.chance(0.5):
        given["regularizer"] = d.option(["frobenius", "log-degree"])
    if d.chance(0.3):
        given["barrier"] = d.number(-2, 2)
    W = d.weights(m)
    if d.quality() == "good" and np.ndim(W) == 1 and len(W) == m * (m - 1) // 2:
        W = kgl.laplacian.adjacency_from_edges(W)

    def check(found: Any, messages: list[str]) -> list[str]:
        return [f"the residual is {found}"] if found < 0 else []  # NaN: it cannot be judged

    return Call(
        "kkt_residual", kgl.kkt_residual, (W, d.distances(m), d.number()), given, check=check
    )


def score(d: Draw) -> Call:
    m = int(d.rng.integers(2, 8))
    name = d.one(["aps", "aps", "aps_many", "sse_graph", "sse_many", "density", "f_score"]
                 + ["mse_signals", "nmi", "spectral_clusters"])  # fmt: skip
    function = getattr(metrics, name)
    truth, estimate = d.weights(m), d.weights(m)
    given: dict[str, Any] = {}
    if name in ("aps", "aps_many", "f_score", "density") and d.chance(0.5):
        given["threshold"] = d.one(
            [None, 0.0, 1e-4, 0.5, *([-1, 1, np.nan, "a"] * (d.quality() == "bad"))]
        )
    if name == "density":
        return Call(name, function, (estimate,), given, check=_between)
    if name in ("aps_many", "sse_many"):
        edges = m * (m - 1) // 2
        batch = d.one(
            [d.rng.random((3, edges)), np.zeros((0, edges)), d.weights(m), [d.weights(m)]]
        )
        return Call(name, function, (truth, batch), given)
    if name == "f_score":
        if d.chance(0.4):
            given["density"] = d.share()
        return Call(name, function, (truth, estimate), given, check=_between)
    if name == "sse_graph":
        given = {"normalize": d.flag()} if d.chance(0.5) else {}
        return Call(name, function, (truth, estimate), given)
    if name == "mse_signals":
        n = int(d.rng.integers(1, 5))
        mask = d.one([None, d.rng.random((n, m)) < 0.5, np.ones((n, m), dtype=int), d.strange()])
        given = {"out_of_sample": d.flag()} if d.chance(0.4) else {}
        tables = d.data(n, m), d.data(n, m)
        return Call(name, function, (*tables, mask), given)
    if name == "spectral_clusters":
        return Call(
            name, function, (estimate, d.count(1, m)), {"seed": d.seed()} if d.chance(0.3) else {}
        )
    if name == "nmi":
        labels = d.rng.integers(3, size=m)
        truth = d.one([labels, labels.tolist(), list("abcabcabc")[:m], labels[:-1], d.strange()])
        other = d.one([labels, estimate, d.rng.permutation(labels), d.strange()])
        given = {"n_clusters": d.count(1, m)} if d.chance(0.3) else {}
        return Call(name, function, (truth, other), given, check=_between)

    def check(found: Any, messages: list[str]) -> list[str]:
        if not 0 < found <= 1:
            return [f"average precision of {found}"]
        plain = all(type(one) is np.ndarray and one.dtype == float for one in (truth, estimate))
        if plain and truth.shape == estimate.shape and given.get("threshold", 0) is None:
            i, j = np.triu_indices(m, 1)
            t = truth[i, j] if truth.ndim == 2 else truth
            e = estimate[i, j] if estimate.ndim == 2 else estimate
            own = average_precision_score(t != 0, np.asarray(e, dtype=float))
            if np.isfinite(e).all() and abs(own - found) > 1e-9:
                return [f"average precision {found}, scikit-learn has {own}"]
        return []

    return Call(name, function, (truth, estimate), given, check=check)


def _between(found: Any, messages: list[str]) -> list[str]:
    return [] if 0 <= found <= 1 + 1e-12 else [f"a score of {found}"]


def draw(d: Draw) -> Call:
    """Simulate."""
    which = d.one(["make_dataset", "make_dataset", "random_graph", "missing_mask", "time_kernel"]
                  + ["smooth_signals", "resolvent_kernel", "stations", "stream"])  # fmt: skip
    rng_of = np.random.default_rng
    m, n = d.count(2, 8), d.count(1, 12)
    if which == "make_dataset":
        given: dict[str, Any] = {"m": m, "n": n}
        for name, make in (
            ("alpha", lambda: d.number(-1, 3)),
            ("dependent", d.flag),
            ("bandwidth", lambda: d.one(["median_distance", "median_sq", d.number(-2, 1), "x"])),
            ("noise", lambda: d.one([0.0, 0.1, d.number(-3, 2)])),
            ("missing", lambda: d.one([0.0, 0.5, 0.99, d.share()])),
            ("density", d.share),
            ("weights", lambda: d.option(["uniform", "unit"])),
            ("connected", d.flag),
            ("unit_variance", d.flag),
            ("scale", lambda: d.number(-2, 2)),
            ("ensure_observed", d.flag),
            ("seed", d.seed),
            ("replicate", lambda: d.count(0, 3)),
            ("blocks", lambda: d.count(1, 3)),
            ("ratio", lambda: d.one([1.0, 5.0, np.inf, d.number(-1, 1)])),
            ("attachment", lambda: d.count(1, 3)),
        ):
            if d.chance(0.15):
                given[name] = make()
        family = d.option(["er", "ba", "sbm"])

        def check(found: Any, messages: list[str]) -> list[str]:
            problems = oracle.graph(found.W, trace=float(len(found.W)))
            if not np.array_equal(np.isnan(found.Y), ~found.mask):
                problems.append("the mask and the gaps differ")
            return problems

        return Call(which, simulate.make_dataset, (family,), given, check=check)
    if which == "random_graph":
        family = d.option(["er", "ba", "sbm"])
        density, seed = d.share(), int(d.rng.integers(99))
        return Call(
            which,
            lambda m, density: simulate.random_graph(family, m, rng_of(seed), density=density),
            (m, density), check=lambda W, _: oracle.graph(W),
        )  # fmt: skip
    if which == "missing_mask":
        rate = d.one([0.0, 0.5, d.share(), 1.0])
        return Call(which, lambda *a: simulate.missing_mask(*a, rng_of(0)), (n, m, rate))
    if which == "time_kernel":
        return Call(which, simulate.time_kernel, (n, d.one(["median_distance", "x", d.number()])))
    if which == "smooth_signals":
        size = int(d.rng.integers(2, 6))
        K_x, K_z = d.kernel(size), d.one([None, d.kernel(4)])
        noise = d.one([0.01, d.number(), -1.0])
        return Call(
            which,
            lambda K_x, K_z, n: simulate.smooth_signals(K_x, K_z, rng_of(0), n=n, noise=noise),
            (K_x, K_z, d.one([None, 4, n])),
        )
    if which == "resolvent_kernel":
        L = d.one([np.diag([1.0, 1.0]) - np.fliplr(np.eye(2)), d.kernel(3), d.weights(3)])
        return Call(which, simulate.resolvent_kernel, (L, d.number()))
    if which == "stations":
        given = {"missing": d.one([0.0, 0.2, d.share()])} | (
            {"seed": d.seed()} if d.chance(0.3) else {}
        )
        return Call("make_stations", datasets.make_stations, (m, n), given)
    names = [d.one(["a", 1, 2.5, True, np.nan, None, ("a",), "ü", "\ud800"]) for _ in range(2)]
    return Call("stream", lambda root, *n: seeding.stream(root, *n).random(3), (d.seed(), *names))


def kernel(d: Draw) -> Call:
    """Make a kernel of covariates."""
    size = int(d.rng.integers(2, 7))
    X = d.covariates(size)
    names = "RBF Linear Mixed Auto Function Laplacian as_kernel cross check_kernel normalize"
    which = d.one([*names.split(), "nearest_psd", "kernel_eigen"])
    if which == "RBF":
        gamma = d.one([None, d.number()])
        bandwidth = d.option(list(kernels.BANDWIDTH_RULES))
        scale = d.one([None, "standard", "x", d.number(), [1.0, 2.0]])

        def run(X: Any) -> Any:
            spec = kernels.RBF(gamma=gamma, bandwidth=bandwidth, scale=scale)
            return spec.fit(X).matrix

        return Call(which, run, (X,), check=_psd)
    if which == "Linear":
        bias, scale = d.one([0.0, 1.0, d.number()]), d.one([None, "standard", d.number()])
        return Call(
            which, lambda X: kernels.Linear(bias=bias, scale=scale).fit(X).matrix, (X,), check=_psd
        )
    if which == "Mixed":
        theta, how = d.one([0.5, d.share()]), d.option(["product", "mean"])
        columns = d.one([None, [0], ["size"], "size", [9], d.strange()])

        def mixed(X: Any) -> Any:
            return kernels.Mixed(numeric=columns, theta=theta, combine=how).fit(X).matrix

        return Call(which, mixed, (X,), check=_psd)
    if which == "Auto":
        periods = d.one([(), (24,), (d.number(),), d.strange()])
        return Call(which, lambda X: kernels.Auto(periods=periods).fit(X).matrix, (X,), check=_psd)
    if which == "Function":
        wrong = [lambda a, b: "x", lambda a, b: -1.0, lambda a: 1.0, 3, None]
        function = d.one([lambda a, b: a @ b.T, lambda a, b: np.nan, lambda a, b: 1.0, *wrong])
        return Call(
            "FunctionKernel", lambda X: kernels.FunctionKernel(function).fit(X).matrix, (X,)
        )
    if which == "Laplacian":
        W = d.weights(size)
        kind = d.option(["resolvent", "diffusion", "pinv"])
        given = {d.one(["alpha", "t"]): d.number()} if d.chance(0.8) else {}
        return Call(
            "LaplacianKernel",
            lambda W: kernels.LaplacianKernel.from_adjacency(W, kind=kind, **given).fit().matrix,
            (W,), check=_psd,
        )  # fmt: skip
    if which == "as_kernel":
        spec = d.one(["rbf", "linear", "auto", "nope", None, 3, np.dot, kernels.RBF(), kernels.RBF])
        return Call(which, lambda s: type(kernels.as_kernel(s)).__name__, (spec,))
    if which == "cross":
        new = d.covariates(3)
        spec = d.one([kernels.RBF(), kernels.Linear(), kernels.Auto(), kernels.Mixed()])
        return Call("FittedKernel.cross", lambda X, new: spec.fit(X).cross(new), (X, new))
    K = d.kernel(size)
    if which == "check_kernel":
        return Call(which, kernels.check_kernel, (K, "K_x", d.one([None, size])))
    if which == "kernel_eigen":

        def check(found: Any, messages: list[str]) -> list[str]:
            close = np.allclose(
                found.matrix,
                np.asarray(K, dtype=float),
                rtol=1e-6,
                atol=1e-6 * np.abs(found.matrix).max(),
            )
            return [] if close else ["the decomposition gives another matrix back"]

        return Call(which, kernels.kernel_eigen, (K, "K_x", size), check=check)
    return Call(which, getattr(kernels, which), (K,))


def _psd(K: Any, messages: list[str]) -> list[str]:
    if not np.isfinite(K).all():
        return ["a kernel that is not finite"]
    if not np.allclose(K, K.T, rtol=1e-9, atol=1e-12 * np.abs(K).max()):
        return ["a kernel that is not symmetric"]
    values = np.linalg.eigvalsh((K + K.T) / 2 / max(np.abs(K).max(), 1e-300))
    return (
        []
        if values.min() > -1e-7 * len(K)
        else [f"a kernel with the eigenvalue {values.min():.1e}"]
    )


def fold(d: Draw) -> Call:
    n, m = int(d.rng.integers(1, 9)), int(d.rng.integers(1, 7))
    mask = d.one([np.ones((n, m), dtype=bool), d.rng.random((n, m)) < 0.8])
    how = d.option(["auto", "random", "blocks", "gaps"])
    rng_of = np.random.default_rng

    def check(found: Any, messages: list[str]) -> list[str]:
        wrong = any((held & ~mask).any() for held in found)
        return ["a fold holds out what is missing"] if wrong else []

    return Call(
        "folds.split",
        lambda mask, k: kgl.folds.split(mask, k, rng_of(0), how),
        (mask, d.count(2, 4)),
        check=check,
    )
