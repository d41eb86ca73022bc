"""The slow routes of the oracle against the fast solvers, and against closed forms."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest

pytest.importorskip("cvxpy")

from kgl.kernels import kernel_eigen
from kgl.laplacian import (
    adjacency_from_edges,
    laplacian_from_adjacency,
    sq_distances_from_gram,
)
from kgl.problem import MODELS, PARTS
from kgl.solvers.alternating import Options, solve_points
from kgl.solvers.cvxpy_step import cvxpy_graph_step
from kgl.solvers.graph_step import graph_step
from kgl.solvers.signal_iterative import CoefficientStep, ResidualStep
from kgl.solvers.signal_masked import DirectStep
from kgl.solvers.signal_split import SplitStep
from kgl.solvers.signal_step import SignalData, SignalStep, make_signal_step
from tests.kgl.oracle.reference import dense_objective, dense_signals

# Error of a weight that a backend is allowed with the settings of BACKEND_SETTINGS, a few times
# what it was measured to make.
TOLERANCE = {"OSQP": 1e-12, "PIQP": 1e-7, "CLARABEL": 1e-7, "SCS": 1e-8}
SIZES = (2, 3, 5, 12, 30)


def distances(m: int, seed: int = 0, *, ties: bool = False) -> np.ndarray:
    X = np.random.default_rng([seed, m]).normal(size=(8, m))
    if ties:
        X = np.round(X)
    G = X.T @ X
    return sq_distances_from_gram(G)


def installed(backend: str) -> str:
    import cvxpy

    if backend not in cvxpy.installed_solvers():
        pytest.skip(f"{backend} is not installed")
    return backend


# --------------------------------------------------------------------------------------------
# Graph step
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("backend", ["CLARABEL", "OSQP", "PIQP"])
def test_edges_agree_with_newton_over_fifteen_decades(backend: str, m: int) -> None:
    psi = 10.0 ** np.arange(-9.0, 7.0, 1.5)
    for ties in (False, True):
        Z = np.broadcast_to(distances(m, ties=ties), (len(psi), m, m))
        exact = graph_step(Z, psi)
        found = cvxpy_graph_step(Z, psi, backend=installed(backend))
        tol = TOLERANCE[backend]
        np.testing.assert_allclose(found.weights, exact.weights, rtol=0.0, atol=tol)
        np.testing.assert_allclose(found.scores, exact.scores, rtol=tol, atol=tol)
        np.testing.assert_allclose(found.dual, exact.dual, rtol=tol, atol=10 * tol)
        assert found.residual.max() < tol
        assert (found.n_steps > 0).all()
        # a good start for Newton, which then has next to nothing left to do
        assert graph_step(Z, psi, start=found.dual).n_steps.max() <= 3


# None is CVXPY's choice, OSQP at eps = 1e-5, which now and then fails to polish. OSQP can run out
# of iterations on the unscaled problem where psi is small.
@pytest.mark.parametrize(
    ("backend", "lowest", "tol"),
    [(None, -2.0, 1e-3), ("CLARABEL", -5.0, 1e-7), ("OSQP", -2.0, 1e-9), ("PIQP", -5.0, 1e-5)],
)
@pytest.mark.parametrize("m", SIZES)
def test_matrix_agrees_with_newton_and_edges(
    m: int, backend: str | None, lowest: float, tol: float
) -> None:
    if backend is not None:
        installed(backend)
    psi = 10.0 ** np.arange(lowest, 3.0)
    Z = np.broadcast_to(distances(m, 1), (len(psi), m, m))
    found = cvxpy_graph_step(Z, psi, formulation="matrix", backend=backend)
    np.testing.assert_allclose(found.weights, graph_step(Z, psi).weights, rtol=0.0, atol=tol)
    edges = cvxpy_graph_step(Z, psi)
    np.testing.assert_allclose(found.weights, edges.weights, rtol=0.0, atol=tol + 1e-7)
    np.testing.assert_allclose(found.scores, edges.scores, rtol=tol, atol=10 * tol)
    assert found.residual.max() < 10 * tol


@pytest.mark.parametrize("formulation", ["edges", "matrix"])
def test_extremes_of_psi_have_closed_forms(formulation: str) -> None:
    m = 7
    Z = distances(m, 2)
    one = cvxpy_graph_step(Z[None], 1e-7, formulation=formulation, backend="CLARABEL")
    expected = np.zeros((m, m))
    i, j = np.unravel_index(np.argmin(Z + 1e9 * np.eye(m)), Z.shape)
    expected[i, j] = expected[j, i] = m / 2  # all weight on the shortest distance
    np.testing.assert_allclose(one.weights[0], expected, atol=1e-6)

    every = cvxpy_graph_step(Z[None], 1e7, formulation=formulation, backend="CLARABEL")
    equal = (np.ones((m, m)) - np.eye(m)) / (m - 1)
    np.testing.assert_allclose(every.weights[0], equal, atol=1e-5)
    np.testing.assert_allclose(every.scores[0][equal > 0], equal[equal > 0], atol=1e-5)


@pytest.mark.parametrize("formulation", ["edges", "matrix"])
@pytest.mark.parametrize("regularizer", ["frobenius", "log-degree"])
def test_infinite_distance_forbids_an_edge(formulation: str, regularizer: str) -> None:
    m = 8
    Z = distances(m, 3)
    free = graph_step(Z[None], 1.0, regularizer=regularizer).weights[0]
    i, j = np.unravel_index(np.argmax(free), free.shape)
    Z[i, j] = Z[j, i] = np.inf  # the heaviest edge, so that it matters
    found = cvxpy_graph_step(
        Z[None], 1.0, regularizer=regularizer, formulation=formulation, backend="CLARABEL"
    )
    exact = graph_step(Z[None], 1.0, regularizer=regularizer)
    assert found.weights[0, i, j] == found.weights[0, j, i] == 0.0
    assert found.scores[0, i, j] == -np.inf
    np.testing.assert_allclose(found.weights, exact.weights, atol=1e-5)
    assert np.abs(found.weights[0] - free).max() > 1e-2
    assert found.residual[0] < 1e-5


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize(("backend", "tol"), [("SCS", 1e-6), ("CLARABEL", 1e-4)])
def test_log_degree_agrees_with_newton(backend: str, tol: float, m: int) -> None:
    # CLARABEL stalls at about 1e-5 on some exponential cones; SCS does not on the scaled problem
    psi = 10.0 ** np.arange(-4.0, 5.0)
    Z = np.broadcast_to(distances(m, 4), (len(psi), m, m))
    options = {"regularizer": "log-degree", "barrier": 0.7}
    exact = graph_step(Z, psi, **options)  # type: ignore[arg-type]
    found = cvxpy_graph_step(Z, psi, backend=installed(backend), **options)  # type: ignore[arg-type]
    size = exact.weights.max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(found.weights / size, exact.weights / size, rtol=0.0, atol=tol)
    np.testing.assert_allclose(found.dual, exact.dual, rtol=10 * tol)
    assert found.residual.max() < tol
    # scores are differences of multipliers, so errors count relative to those
    scale = exact.dual.max(axis=1)[:, None, None]
    np.testing.assert_allclose(found.scores / scale, exact.scores / scale, atol=10 * tol)


def test_bad_input_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    Z = distances(5)[None]
    with pytest.raises(ValueError, match=r"installed CVXPY solvers: .*CLARABEL"):
        cvxpy_graph_step(Z, 1.0, backend="nonesuch")
    with pytest.raises(ValueError, match="unknown formulation 'dual'"):
        cvxpy_graph_step(Z, 1.0, formulation="dual")
    with pytest.raises(ValueError, match="unknown regularizer 'l1'"):
        cvxpy_graph_step(Z, 1.0, regularizer="l1")
    with pytest.raises(ValueError, match="every pair is forbidden"):
        cvxpy_graph_step(np.full((1, 5, 5), np.inf), 1.0)
    lonely = Z.copy()
    lonely[0, 2] = lonely[0, :, 2] = np.inf
    assert cvxpy_graph_step(lonely, 1.0).weights[0, 2].max() == 0.0
    with pytest.raises(ValueError, match="node 2 has no allowed edge"):
        cvxpy_graph_step(lonely, 1.0, regularizer="log-degree")
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"pip install kernel-graph-learning\[cvxpy\]"):
        cvxpy_graph_step(Z, 1.0)


def test_takes_the_place_of_the_newton_step_in_the_alternation() -> None:
    case = Case("KGL", "invertible", masked=True)
    lam, rho, psi = np.array([0.1, 1.0]), np.array([1.0, 0.1]), np.array([0.3, 0.1])
    runs = [
        solve_points(case.data, case.spec, lam, rho, psi, Options(tol=1e-8, solve_graph=solve))
        for solve in (
            graph_step,
            partial(cvxpy_graph_step, backend="OSQP"),
            partial(cvxpy_graph_step, formulation="matrix", backend="CLARABEL"),
        )
    ]
    assert all(run.converged.all() for run in runs)
    for run in runs[1:]:
        np.testing.assert_allclose(run.weights, runs[0].weights, atol=1e-6)
        np.testing.assert_allclose(run.scores, runs[0].scores, rtol=1e-5, atol=1e-5)


# --------------------------------------------------------------------------------------------
# Signals
# --------------------------------------------------------------------------------------------


def kernel(size: int, rank: int, rng: np.random.Generator) -> np.ndarray:
    Q = np.linalg.qr(rng.normal(size=(size, size)))[0][:, :rank]
    return (Q * np.geomspace(2.0, 0.02, rank)) @ Q.T


class Case:
    """A small data set for one model, with a node and a row that are never observed."""

    def __init__(self, model: str, kind: str, *, masked: bool, share: float = 0.3) -> None:
        n, m = 11, 7
        rng = np.random.default_rng([len(model), masked, sum(map(ord, kind))])
        self.spec = MODELS[model]
        if kind == "rbf":  # singular to working precision, but of full rank on paper
            x, z = np.arange(float(m)), np.arange(float(n))
            K_x = np.exp(-(np.subtract.outer(x, x) ** 2) / 40.0)
            K_z = np.exp(-(np.subtract.outer(z, z) ** 2) / 40.0)
        else:
            full = kind == "invertible"
            K_x, K_z = kernel(m, m if full else 4, rng), kernel(n, n if full else 5, rng)
        self.K_x = K_x if self.spec.node_kernel else None
        self.K_z = K_z if self.spec.observation_kernel else None
        self.mask = None
        self.Y = rng.normal(size=(n, m))
        if masked:
            self.mask = rng.uniform(size=(n, m)) > share
            self.mask[:, 2] = False
            self.mask[3] = False
            self.Y = np.where(self.mask, self.Y, 0.0)
        self.data = SignalData(
            self.Y, self.mask, kernel_eigen(self.K_x, "K_x", m), kernel_eigen(self.K_z, "K_z", n)
        )
        W = adjacency_from_edges(
            np.stack([rng.uniform(size=21) * (rng.uniform(size=21) < p) for p in (0.3, 0.6, 1.0)])
        )
        graphs = laplacian_from_adjacency(m * W / W.sum(axis=(1, 2), keepdims=True))
        lam = np.array([1e-4, 1e-2, 1.0]) if self.spec.ridge else np.zeros(1)
        rho = np.array([1e-2, 1.0, 10.0])
        points = [(L, a, b) for L in graphs for a in lam for b in rho]
        self.L, self.lam, self.rho = (np.array(v) for v in zip(*points, strict=True))

    def dense(self, g: int) -> np.ndarray:
        return dense_signals(
            self.Y,
            self.mask,
            self.K_x,
            self.K_z,
            self.L[g],
            self.lam[g],
            self.rho[g],
            whitened=self.spec.whitened,
        )

    def steps(self, tol: float) -> list[SignalStep]:
        if self.K_z is None or self.mask is None:
            return [make_signal_step(self.data, self.spec)]
        iterative = [
            cls(self.data, self.spec, tol=tol) for cls in (CoefficientStep, ResidualStep, SplitStep)
        ]
        return [DirectStep(self.data, self.spec), *iterative]


# Without a ridge the observed entries may not determine the signals, so GL-2step has no mask.
FITTED = [
    (name, masked)
    for name, spec in MODELS.items()
    for masked in (False, True)
    if spec.fitted and (spec.ridge or not masked)
]
EXPECTED_STEP = {  # data -> class, by (K_z given, masked)
    (False, False): {"GramStep"},
    (True, False): {"SpectralStep"},
    (False, True): {"RowwiseStep"},
    (True, True): {"DirectStep", "CoefficientStep", "ResidualStep", "SplitStep"},
}


@pytest.mark.parametrize("kind", ["invertible", "singular", "rbf"])
@pytest.mark.parametrize(("model", "masked"), FITTED)
def test_every_signal_step_agrees_with_dense_algebra(model: str, kind: str, masked: bool) -> None:
    case = Case(model, kind, masked=masked)
    steps = case.steps(tol=1e-13)
    assert {type(s).__name__ for s in steps} == EXPECTED_STEP[case.K_z is not None, masked]
    expected = np.stack([case.dense(g) for g in range(len(case.lam))])
    size = np.abs(expected).max(axis=(1, 2), keepdims=True)
    for step in steps:
        found = step.solve(case.L, case.lam, case.rho, signals=True).signals
        assert found is not None
        np.testing.assert_allclose(found / size, expected / size, rtol=0.0, atol=1e-8)
    for step in case.steps(tol=1e-10):  # the default, which leaves an error in proportion
        found = step.solve(case.L, case.lam, case.rho, signals=True).signals
        np.testing.assert_allclose(found / size, expected / size, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("kind", ["invertible", "singular", "rbf"])
@pytest.mark.parametrize("model", [name for name, spec in MODELS.items() if spec.ridge])
def test_nodes_without_any_observation_get_the_signals_of_dense_algebra(
    model: str, kind: str
) -> None:
    case = Case(model, kind, masked=True)
    assert case.mask is not None
    case.mask[:, [0, 2, 5]] = False  # nearly half the nodes, the first among them
    case.Y = np.where(case.mask, case.Y, 0.0)
    case.data = SignalData(case.Y, case.mask, case.data.K_x, case.data.K_z)
    expected = np.stack([case.dense(g) for g in range(len(case.lam))])
    size = np.abs(expected).max(axis=(1, 2), keepdims=True)
    for step in [*case.steps(tol=1e-13), make_signal_step(case.data, case.spec)]:
        found = step.solve(case.L, case.lam, case.rho, signals=True).signals
        np.testing.assert_allclose(found / size, expected / size, rtol=0.0, atol=1e-8)
    assert np.abs(expected[:, :, [0, 2, 5]]).max() > 1e-3  # the graph or the kernel reaches them


@pytest.mark.parametrize("kind", ["invertible", "singular"])
@pytest.mark.parametrize(("model", "masked"), FITTED)
def test_every_signal_step_agrees_with_the_objective_in_coefficients(
    model: str, masked: bool, kind: str
) -> None:
    case = Case(model, kind, masked=masked)
    n, m = case.Y.shape
    pinv_x = np.eye(m) if case.K_x is None else np.linalg.pinv(case.K_x, rcond=1e-10)
    pinv_z = np.eye(n) if case.K_z is None else np.linalg.pinv(case.K_z, rcond=1e-10)
    for step in case.steps(tol=1e-13):
        found = step.solve(case.L, case.lam, case.rho, parts=True)
        assert found.fit is not None
        assert found.prior is not None
        for g in range(len(case.lam)):
            Yhat = case.dense(g)
            parts = dense_objective(
                case.Y,
                case.mask,
                case.K_x,
                case.K_z,
                case.L[g],
                pinv_z @ Yhat @ pinv_x,
                case.lam[g],
                case.rho[g],
                0.0,
                whitened=case.spec.whitened,
            )
            # errors of the dense solution count in proportion to the squared data
            size = 1e-9 * np.sum(case.Y**2)
            assert found.fit[g] == pytest.approx(parts["fit"], rel=1e-8, abs=size)
            prior = parts["ridge"] + parts["smoothness"]
            assert found.prior[g] == pytest.approx(prior, rel=1e-8, abs=size)
            gram = Yhat.T @ (pinv_z if case.spec.whitened else np.eye(n)) @ Yhat
            np.testing.assert_allclose(
                found.gram[g], gram, rtol=0.0, atol=1e-8 * np.abs(gram).max()
            )


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("model", ["KGL", "KGL-O", "KGL-N", "KGL-Agnostic"])
def test_dense_signals_solve_the_normal_equations(model: str, masked: bool) -> None:
    # The precision form needs inverses but no derivation: grad of the objective in Yhat is zero.
    case = Case(model, "invertible", masked=masked)
    n, m = case.Y.shape
    inv_x = np.eye(m) if case.K_x is None else np.linalg.inv(case.K_x)
    inv_z = np.eye(n) if case.K_z is None else np.linalg.inv(case.K_z)
    seen = np.ones((n, m)) if case.mask is None else case.mask.astype(float)
    for g in range(len(case.lam)):
        Yhat, L = case.dense(g), case.L[g]
        gradient = seen * (Yhat - case.Y) + case.lam[g] * inv_z @ Yhat @ inv_x
        gradient += case.rho[g] * (inv_z if case.spec.whitened else np.eye(n)) @ Yhat @ L
        assert np.abs(gradient).max() < 1e-9 * np.abs(case.Y).max()


def test_without_ridge_signals_are_smoothed_data() -> None:
    case = Case("GL-2step", "invertible", masked=False)
    n, m = case.Y.shape
    L = case.L[-1]
    found = dense_signals(case.Y, None, None, None, L, 0.0, 3.0)
    np.testing.assert_allclose(found, case.Y @ np.linalg.inv(np.eye(m) + 3.0 * L), atol=1e-12)
    with pytest.raises(ValueError, match="only identity kernels"):
        dense_signals(case.Y, None, 2.0 * np.eye(m), None, L, 0.0, 3.0)
    # a mask is fine as long as every row is observed somewhere: the limit of a small ridge
    mask = np.random.default_rng(0).uniform(size=(n, m)) < 0.5
    mask[:, 0] = True
    limit = dense_signals(case.Y, mask, None, None, L, 1e-9, 3.0)
    found = dense_signals(case.Y, mask, None, None, L, 0.0, 3.0)
    np.testing.assert_allclose(found, limit, atol=1e-6)
    mask[4] = False
    with pytest.raises(ValueError, match="do not determine the signals"):
        dense_signals(case.Y, mask, None, None, L, 0.0, 3.0)


@pytest.mark.parametrize("regularizer", ["frobenius", "log-degree"])
@pytest.mark.parametrize(("model", "masked"), FITTED)
def test_objective_in_coefficients_equals_the_parts_of_the_alternation(
    model: str, masked: bool, regularizer: str
) -> None:
    case = Case(model, "invertible", masked=masked)
    lam = np.array([0.01, 0.3]) * case.spec.ridge
    rho, psi = np.array([0.5, 2.0]), np.array([0.2, 0.05])
    options = Options(
        regularizer=regularizer, barrier=0.6, signals=True, history=True, inner_tol=1e-13
    )
    run = solve_points(case.data, case.spec, lam, rho, psi, options)
    assert run.history is not None
    assert run.signals is not None
    n, m = case.Y.shape
    inv_x = np.eye(m) if case.K_x is None else np.linalg.inv(case.K_x)
    inv_z = np.eye(n) if case.K_z is None else np.linalg.inv(case.K_z)
    for g in range(2):
        L = laplacian_from_adjacency(run.weights[g])
        A = inv_z @ run.signals[g] @ inv_x
        parts = dense_objective(
            case.Y,
            case.mask,
            case.K_x,
            case.K_z,
            L,
            A,
            lam[g],
            rho[g],
            psi[g],
            whitened=case.spec.whitened,
            regularizer=regularizer,
            barrier=0.6,
        )
        assert tuple(parts) == PARTS
        total = sum(abs(v) for v in parts.values())
        np.testing.assert_allclose(
            run.history[g][-1], list(parts.values()), rtol=1e-9, atol=1e-10 * total
        )
        dense = dense_signals(
            case.Y, case.mask, case.K_x, case.K_z, L, lam[g], rho[g], whitened=case.spec.whitened
        )
        np.testing.assert_allclose(run.signals[g], dense, atol=1e-8 * np.abs(dense).max())


def test_objective_parts_on_a_graph_of_two_nodes() -> None:
    L = np.array([[1.0, -1.0], [-1.0, 1.0]])
    Y, A = np.array([[3.0, 5.0]]), np.array([[1.0, 2.0]])
    K_x, K_z, mask = np.diag([2.0, 1.0]), np.array([[2.0]]), np.array([[True, False]])
    # Yhat = 2 A K_x = (4, 4); tr(K_z A K_x A') = 2 (2 + 4); A K_x = (2, 2) is constant
    parts = dense_objective(Y, mask, K_x, K_z, L, A, 0.5, 3.0, 0.25)
    assert parts == {"fit": 1.0, "ridge": 6.0, "smoothness": 0.0, "graph": 1.0}
    plain = dense_objective(Y, None, None, K_z, L, A, 0.5, 3.0, 0.25, whitened=False)
    # Yhat = (2, 4): fit 1 + 1, ridge .5 * 2 * 5, smoothness 3 * (4 - 2)^2
    assert plain == {"fit": 2.0, "ridge": 5.0, "smoothness": 12.0, "graph": 1.0}
    white = dense_objective(Y, None, None, K_z, L, A, 0.5, 3.0, 0.25, regularizer="log-degree")
    assert white["smoothness"] == 6.0  # 3 * 2 * (2 - 1)^2
    assert white["graph"] == pytest.approx(0.5)  # psi |W|^2, and log 1 = 0
    with pytest.raises(ValueError, match="unknown regularizer"):
        dense_objective(Y, None, None, K_z, L, A, 0.5, 3.0, 0.25, regularizer="l1")
