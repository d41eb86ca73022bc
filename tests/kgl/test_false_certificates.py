"""No certificate without a solution: wide scales, overflow, and a rho beyond all bounds.

Every certificate is that of the problem that was asked: from the weights, in the units of the data.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import low_rank_kernel
from sklearn.exceptions import ConvergenceWarning

import kgl
from kgl._types import Array
from kgl.laplacian import pairwise_sq_distances, signed_sq_distances
from kgl.models import GraphLearner
from kgl.problem import kkt_residuals
from kgl.solvers import cvxpy_step
from kgl.solvers.cg import conjugate_gradients
from kgl.solvers.cvxpy_step import cvxpy_graph_step
from kgl.solvers.graph_step import GraphStep, graph_step, warn_if_inexact
from kgl.solvers.interior_point import log_degree_interior_point
from kgl.solvers.sparse.linear import ActiveSystem

# --- log-degree: the certificate is that of the problem that was asked --------------------------

#: No preparation: the certificate is that of the data as they are.
RAW: dict[str, Any] = {"center": "none", "scale": "none", "log": False, "signed": False}


def residual_by_hand(W: Array, Z: Array, psi: float) -> float:
    """Return the residual of a log-degree graph, pair by pair, in extended precision.

    Z w + 2 psi w^2 - log d_i - log d_j over the pairs has the derivative Z + 4 psi w - 1/d_i -
    1/d_j, which is zero on an edge and not negative elsewhere; relative to its last two terms. A
    weight is relative to the smaller degree of its ends.
    """
    exact = np.longdouble
    m = len(W)
    degree = [sum((exact(W[i, j]) for j in range(m) if j != i), exact(0)) for i in range(m)]
    worst = exact(0)
    for i in range(m):
        for j in range(m):
            if i == j:
                continue
            barrier = 1 / degree[i] + 1 / degree[j]
            slope = (exact(Z[i, j]) + 4 * exact(psi) * exact(W[i, j]) - barrier) / barrier
            share = exact(W[i, j]) / min(degree[i], degree[j])
            worst = max(worst, abs(min(share, slope)))
    return float(worst)


def test_the_reported_residual_is_that_of_the_problem_asked() -> None:
    # Node scales spread over 0 to 8 decades, hence distances over 0 to 16. Residuals below 1e-13
    # are rounding, which two ways of adding up need not share, so they count as 1e-13.
    rng = np.random.default_rng(1)
    ratios, residuals, n_warnings = [], [], 0
    for decades in np.linspace(0.0, 8.0, 200):
        m = int(rng.integers(3, 15))
        Y = rng.normal(size=(20, m)) * 10.0 ** rng.uniform(0.0, decades, m)
        psi = 10.0 ** rng.uniform(-3.0, 3.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = kgl.GL(**RAW, psi=psi, regularizer="log-degree").fit(Y)
        own = residual_by_hand(model.weights_, pairwise_sq_distances(Y), psi)
        reported, recomputed = max(model.kkt_residual_, 1e-13), max(own, 1e-13)
        ratios.append(max(reported / recomputed, recomputed / reported))
        residuals.append(own)
        n_warnings += len(caught)
        assert own <= 1e-8 or caught, f"silent failure: {own:.1e} at {decades:.1f} decades"
    print(
        f"largest ratio {max(ratios):.4f}, largest residual {max(residuals):.1e}, "
        f"{n_warnings} warnings"
    )
    assert max(ratios) <= 10.0
    # the solver is accurate too, not only honest
    assert max(residuals) <= 1e-9


def test_columns_of_metres_beside_kilometres() -> None:
    Y = np.random.default_rng(0).normal(size=(50, 6))
    Y[:, 3:] *= 1000
    model = kgl.GL(**RAW, psi=1.0, regularizer="log-degree").fit(Y)
    Z = pairwise_sq_distances(Y)
    assert kgl.kkt_residual(model.weights_, Z, 1.0, regularizer="log-degree") <= 1e-9
    assert model.kkt_residual_ <= 1e-9


@pytest.mark.parametrize("m", [2, 3, 12, 60])
def test_the_interior_point_method_agrees_with_newton(m: int) -> None:
    Z = pairwise_sq_distances(np.random.default_rng(m).normal(size=(30, m)))
    if m > 3:
        Z[0, 2:] = Z[2:, 0] = np.inf
    for psi in (1e-2, 1.0, 1e3):
        newton = graph_step(Z[None], psi, regularizer="log-degree", barrier=2.0).weights[0]
        W, n_steps = log_degree_interior_point(Z, psi, 2.0, 80)
        np.testing.assert_allclose(W, newton, rtol=1e-7, atol=1e-9 * newton.max())
        np.testing.assert_array_equal(W, W.T)
        assert n_steps <= 40


def test_wide_scales_in_a_batch_and_from_a_warm_start() -> None:
    rng = np.random.default_rng(3)
    Y = rng.normal(size=(20, 8))
    Z = np.stack([pairwise_sq_distances(Y * scale ** np.arange(8)) for scale in (1.0, 2.0, 10.0)])
    together = graph_step(Z, 1.0, regularizer="log-degree")
    again = graph_step(Z, 1.0, regularizer="log-degree", start=together.dual)
    assert together.residual.max() <= 1e-9
    for k in range(3):
        alone = graph_step(Z[k : k + 1], 1.0, regularizer="log-degree")
        for step in (alone.weights[0], again.weights[k]):
            np.testing.assert_allclose(step, together.weights[k], rtol=1e-7, atol=1e-300)
        W, scores = together.weights[k], together.scores[k]
        assert np.all(np.where(W > 0, scores == W, scores <= 0))


# --- any solution, finished or not, has the certificate that it deserves -----------------------


def frobenius_residual_by_hand(W: Array, Z: Array, psi: float) -> float:
    """Return the residual of a graph with a trace constraint, pair by pair, in extended precision.

    Z w + psi (2 w^2 + sum of d^2) over the pairs with trace m has the derivative, divided by
    2 psi, Z / 2 psi + 2 w + d_i + d_j: the multiplier t on an edge, not less elsewhere.
    """
    exact = np.longdouble
    m = len(W)
    pairs = [(i, j) for i in range(m) for j in range(m) if i != j and np.isfinite(Z[i, j])]
    degree = [sum((exact(W[i, j]) for j in range(m) if j != i), exact(0)) for i in range(m)]
    least = min(exact(Z[i, j]) for i, j in pairs)
    slope = {
        (i, j): (exact(Z[i, j]) - least) / (2 * exact(psi))
        + 2 * exact(W[i, j]) + degree[i] + degree[j]
        for i, j in pairs
    }  # fmt: skip
    edges = [pair for pair in pairs if W[pair] > 1e-9 * W.max()]
    t = sum(exact(W[e]) * slope[e] for e in edges) / sum(exact(W[e]) for e in edges)
    size = max(2 * exact(W.max()), *degree)
    gap = max(abs(min(2 * exact(W[p]), slope[p] - t)) for p in pairs)
    return float(max(gap / size, abs(sum(degree) - m) / m))


BY_HAND = {"frobenius": frobenius_residual_by_hand, "log-degree": residual_by_hand}


@pytest.mark.parametrize("regularizer", BY_HAND)
def test_unfinished_solutions_have_the_residual_of_the_problem_asked(regularizer: str) -> None:
    rng = np.random.default_rng(2)
    seen = []
    for decades in (0.0, 2.0, 6.0):
        Y = rng.normal(size=(20, 9)) * 10.0 ** rng.uniform(0.0, decades, 9)
        Z = np.stack([pairwise_sq_distances(Y)] * 4)
        if decades == 2.0:
            Z[:, 0, 4:] = Z[:, 4:, 0] = np.inf
        psi = np.array([1e-3, 0.1, 10.0, 1e4])
        for max_steps in (1, 2, 4, 200) if regularizer == "log-degree" else (0, 1, 2, 200):
            found = graph_step(Z, psi, regularizer=regularizer, max_steps=max_steps)
            for W, z, p, reported in zip(found.weights, Z, psi, found.residual, strict=True):
                if not W.any():
                    assert reported >= 1.0
                    continue
                own = BY_HAND[regularizer](W, z, p)
                assert reported == pytest.approx(own, rel=1e-6, abs=1e-14)
                seen.append(reported)
    assert min(seen) < 1e-13  # solved
    assert sum(one > 1e-6 for one in seen) >= 5  # and not


@pytest.mark.parametrize("regularizer", BY_HAND)
def test_batches_and_large_graphs_are_certified_block_by_block(
    regularizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    Z = np.stack([pairwise_sq_distances(rng.normal(size=(9, 7))) for _ in range(5)])
    W = graph_step(Z, 1.0, regularizer=regularizer).weights + 1e-3 * rng.random((5, 7, 7))
    psi = rng.uniform(0.5, 2.0, 5)
    whole = kkt_residuals(W, Z, psi, regularizer=regularizer)
    for block in (1, 15, 100):
        monkeypatch.setattr("kgl.problem._BLOCK", block)
        parts = kkt_residuals(W, Z, psi, regularizer=regularizer)
        np.testing.assert_allclose(parts, whole, rtol=1e-12)


@pytest.mark.parametrize("regularizer", BY_HAND)
def test_no_certificate_for_what_is_no_graph(regularizer: str) -> None:
    Z = pairwise_sq_distances(np.random.default_rng(0).normal(size=(30, 6)))
    solved = graph_step(Z[None], 1.0, regularizer=regularizer).weights[0]

    def residual(W: Array, Z: Array = Z, **options: Any) -> float:
        return kgl.kkt_residual(W, Z, 1.0, regularizer=regularizer, **options)

    assert residual(solved) < 1e-12
    assert residual(solved.tolist(), Z.tolist()) < 1e-12  # type: ignore[arg-type]
    lopsided = solved.copy()
    lopsided[0, 1] += 0.5
    spoiled = solved.copy()
    spoiled[0, 1] = spoiled[1, 0] = np.nan
    forbidden = Z.copy()
    i, j = np.unravel_index(solved.argmax(), Z.shape)
    forbidden[i, j] = forbidden[j, i] = np.inf
    unknown = Z.copy()
    unknown[0, 1] = unknown[1, 0] = np.nan
    for W in (0.0 * solved, -solved, 2.0 * solved, lopsided, spoiled, solved + np.eye(6)):
        assert not residual(W) <= 0.1
    assert residual(solved, forbidden) > 0.1
    assert np.isnan(residual(solved, unknown))


@pytest.mark.parametrize(
    ("W", "Z", "psi", "message"),
    [
        (np.ones((3, 4)), np.ones((3, 3)), 1.0, r"W must be a square matrix .* shape \(3, 4\)"),
        (np.ones((2, 2)), np.ones((3, 3)), 1.0, r"W is \(2, 2\) and Z is \(3, 3\); pass"),
        (np.ones((4, 4)), np.ones((3, 3)), 1.0, r"W is \(4, 4\) and Z is \(3, 3\); pass"),
        (np.ones(3), np.ones((3, 3)), 1.0, r"W must be a square matrix .* shape \(3,\)"),
        (np.ones((1, 1)), np.ones((1, 1)), 1.0, r"of at least 2 nodes, got shape \(1, 1\)"),
        ("W", np.ones((3, 3)), 1.0, r"W does not hold numbers; pass an array"),
        (np.ones((3, 3)), [["a"]], 1.0, r"Z does not hold numbers; pass an array"),
        (np.ones((3, 3)), np.ones((3, 3)), 0.0, r"psi = 0 .* must be positive and finite"),
        (np.ones((3, 3)), np.ones((3, 3)), np.nan, r"psi = nan .* must be positive and finite"),
    ],
)
def test_residuals_of_what_cannot_be_meant_are_refused(
    W: Any, Z: Any, psi: float, message: str
) -> None:
    for regularizer in BY_HAND:
        with pytest.raises(ValueError, match=message):
            kgl.kkt_residual(W, Z, psi, regularizer=regularizer)
    with pytest.raises(TypeError, match=r"psi must be one number, got 'a'"):
        kgl.kkt_residual(np.ones((3, 3)), np.ones((3, 3)), "a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"unknown regularizer 'lasso'"):
        kgl.kkt_residual(np.ones((3, 3)), np.ones((3, 3)), 1.0, regularizer="lasso")


def test_nearly_equal_columns_with_gaps_keep_their_distance() -> None:
    rng = np.random.default_rng(5)
    Y = rng.normal(size=(40, 4)) * [1.0, 1e4, 1.0, 1e4]
    Y[:, 2] = Y[:, 0] + 1e-7 * rng.normal(size=40)
    Y[:, 3] = Y[:, 1] + 1e-4 * rng.normal(size=40)
    mask = rng.random(Y.shape) < 0.7
    Z = pairwise_sq_distances(np.where(mask, Y, 0.0), mask)
    opposite = pairwise_sq_distances(np.where(mask, Y * [1, 1, -1, -1], 0.0), mask, opposite=True)
    for i, j in ((0, 2), (1, 3), (0, 1)):
        both = mask[:, i] & mask[:, j]
        exact = np.sum((Y[both, i] - Y[both, j]) ** 2) * len(Y) / both.sum()
        assert Z[i, j] == Z[j, i] == pytest.approx(exact, rel=1e-12)
    assert opposite[0, 2] == pytest.approx(Z[0, 2], rel=1e-12)
    assert opposite[1, 3] == pytest.approx(Z[1, 3], rel=1e-12)


def test_products_of_weights_and_slacks_that_vanish_end_the_interior_point_method() -> None:
    near, far = 3.426225293636314e-08, 4.211555444970215e13
    Z = np.array([[0.0, near, far], [near, 0.0, 4.211555444970354e13], [far, far, 0.0]])
    Z[2, 1] = Z[1, 2]
    found = graph_step(Z[None], 0.0609, regularizer="log-degree", barrier=9.42)
    assert found.residual[0] <= 1e-8
    assert found.residual[0] == kgl.kkt_residual(
        found.weights[0], Z, 0.0609, regularizer="log-degree", barrier=9.42
    )


@pytest.mark.parametrize("n", [6, 40])
def test_a_sparse_fit_keeps_the_digits_of_twins(n: int) -> None:
    # with more rows than columns the fit changes the basis, which costs digits where scales differ
    rng = np.random.default_rng(7)
    Y = rng.normal(size=(n, 8)) * np.array([1e6, 1e6, 1, 1, 1, 1, 1, 1])
    Y[:, 1] = Y[:, 0] * (1 + 1e-7 * rng.normal(size=n))
    Y[:, 3] = -Y[:, 2] * (1 + 1e-5 * rng.normal(size=n))
    for signed in (False, True):
        raw = {**RAW, "signed": signed, "regularizer": "log-degree"}
        model = kgl.GL(**raw, psi=0.1, solver="sparse").fit(Y)
        Z = signed_sq_distances(Y)[0] if signed else pairwise_sq_distances(Y)
        own = residual_by_hand(model.weights_.toarray(), Z, 0.1)
        assert max(model.kkt_residual_, 1e-13) == pytest.approx(max(own, 1e-13), rel=0.5)
        assert own <= 1e-9


def test_a_singular_system_is_solved_nearby() -> None:
    # without a diagonal of its own the matrix of a path is singular
    rows, cols = np.array([0, 1, 2]), np.array([1, 2, 3])
    system = ActiveSystem(rows, cols, np.zeros(4), stiff=True)
    rhs = np.array([[0.5], [1.0], [1.0], [0.5]])  # in the range of the matrix
    np.testing.assert_allclose(system._times(system.solve(rhs, 1e-12)), rhs, atol=1e-6)


# --- whoever learns a graph warns of a bad certificate ------------------------------------------


def inexact(residual: float, step: Callable[..., GraphStep]) -> Callable[..., GraphStep]:
    """Return a graph step that reports a given residual."""

    def solve(*args: Any, **options: Any) -> GraphStep:
        found = step(*args, **options)
        found.certificate = np.full(len(found.weights), residual).__getitem__
        return found

    return solve


@pytest.mark.parametrize("residual", [1e-3, np.nan, np.inf])
@pytest.mark.parametrize("solver", ["newton", "cvxpy"])
def test_every_way_to_a_graph_warns_of_its_certificate(
    solver: str, residual: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if solver == "cvxpy":
        pytest.importorskip("cvxpy")
        monkeypatch.setattr(cvxpy_step, "cvxpy_graph_step", inexact(residual, cvxpy_graph_step))
    else:
        monkeypatch.setattr("kgl.solvers.routes.graph_step", inexact(residual, graph_step))
        monkeypatch.setattr("kgl.solvers.density.graph_step", inexact(residual, graph_step))
    Y = np.random.default_rng(0).normal(size=(12, 5))
    options = {"solver": solver}
    held_out: dict[str, Any] = {"lam": [0.1], "rho": [0.1], "psi": [1.0], "n_folds": 2}
    for learn in (
        lambda: kgl.GL(psi=1.0, **options).fit(Y),
        lambda: kgl.KGL(psi=1.0, **options).fit(Y),
        lambda: kgl.fit_grid(kgl.GL2Step, Y, psi=[1.0, 2.0], rho=[0.1], **options),
        lambda: kgl.select_held_out(kgl.KGL, Y, graph="mse", **held_out, **options),
        lambda: kgl.stability(kgl.GL(psi=1.0, **options), Y, n_pairs=1),
        lambda: kgl.stability(kgl.KGL(psi=1.0, **options), Y, n_pairs=1),
        lambda: kgl.KGLImputer(estimator=kgl.KGL(psi=1.0, **options)).fit(Y),
    ):
        with pytest.warns(ConvergenceWarning, match="relative KKT residual of"):
            learn()


def test_cvxpy_is_allowed_what_its_backends_reach() -> None:
    for residual, warned in ((1e-5, False), (2e-4, True)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn_if_inexact(residual, solver="cvxpy-matrix")
        assert bool(caught) == warned


# --- no number is no certificate ----------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e81, 1e100, 1e150, 1e-100])
def test_log_degree_of_data_of_any_size(scale: float) -> None:
    Y = np.random.default_rng(0).normal(size=(30, 8))
    model = kgl.GL(**RAW, psi=1.0, regularizer="log-degree").fit(scale * Y)
    assert np.isfinite(model.laplacian_).all()
    own = residual_by_hand(model.weights_, pairwise_sq_distances(scale * Y), 1.0)
    assert max(own, model.kkt_residual_) <= 1e-9


@pytest.mark.parametrize("regularizer", ["frobenius", "log-degree"])
def test_distances_that_overflow_are_an_error(regularizer: str) -> None:
    Y = np.random.default_rng(0).normal(size=(30, 8))
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(ValueError, match=r"is (inf|nan) .*rescale the data"),
    ):
        kgl.GL(**RAW, psi=1.0, regularizer=regularizer).fit(1e160 * Y)


def test_conjugate_gradients_that_overflow_warn() -> None:
    # the second system is no number: it must not pass for one that has converged
    scale = np.array([[1.0], [np.nan]])
    with pytest.warns(ConvergenceWarning, match=r"for 1 point\(s\).*rescale the data"):
        x, _ = conjugate_gradients(
            lambda s: lambda p: s * p, (scale,), np.ones((2, 3)), np.ones((2, 3)), None, 1e-12
        )
    np.testing.assert_allclose(x[0], 1.0)


# --- rho / lam beyond 1e12 ----------------------------------------------------------------------

MODELS = [kgl.GL2Step, kgl.KGLN, kgl.KGLO, kgl.KGL, kgl.KGLAgnostic]


def a_data_set(model: type[GraphLearner], masked: bool) -> tuple[Array, dict[str, Array]]:
    rng = np.random.default_rng(0)
    n, m = 18, 7
    Y = rng.normal(size=(n, m)) + rng.normal(size=(n, 1))
    if masked:
        Y[rng.random(Y.shape) < 0.2] = np.nan
    kernels = {}
    if model._spec.node_kernel:
        kernels["K_x"] = low_rank_kernel(m, 12, rng) + 0.1 * np.eye(m)
    if model._spec.observation_kernel:
        kernels["K_z"] = low_rank_kernel(n, 30, rng) + 0.1 * np.eye(n)
    return Y, kernels


def settings(model: type[GraphLearner], **values: object) -> dict[str, object]:
    known = {k: v for k, v in values.items() if k in model._spec.hyperparameters}
    return {**known, "signed": False}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_signals_have_a_limit_as_rho_grows(model: type[GraphLearner], masked: bool) -> None:
    # Linked nodes have equal signals in the limit, which is reached to seven digits at 1e8.
    Y, kernels = a_data_set(model, masked)
    limit = model(**settings(model, lam=0.1, rho=1e8, psi=1.0)).fit(Y, **kernels)
    for rho in (1e14, 1e18, 1e22):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            far = model(**settings(model, lam=0.1, rho=rho, psi=1.0)).fit(Y, **kernels)
        np.testing.assert_allclose(far.signals_, limit.signals_, atol=1e-5)
        assert far.objective_ == pytest.approx(limit.objective_, rel=1e-5)
        np.testing.assert_allclose(far.weights_, limit.weights_, atol=1e-3)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_one_extreme_point_leaves_the_grid_as_it_is(
    model: type[GraphLearner], masked: bool
) -> None:
    Y, kernels = a_data_set(model, masked)
    axes = settings(model, lam=[0.1], rho=[0.1, 1.0, 1e22], psi=[1.0, 10.0])
    grid = kgl.fit_grid(model, Y, signals=True, **axes, **kernels)
    assert np.isfinite(grid.weights).all()
    axes = settings(model, lam=[0.1], rho=[0.1, 1.0], psi=[1.0, 10.0])
    usual = kgl.fit_grid(model, Y, signals=True, **axes, **kernels)
    np.testing.assert_allclose(grid.signals[:4], usual.signals, rtol=1e-8, atol=1e-10)
    limit = model(**settings(model, lam=0.1, rho=1e8, psi=1.0)).fit(Y, **kernels)
    np.testing.assert_allclose(grid.signals[4], limit.signals_, atol=1e-5)


def test_a_ratio_beyond_rounding_warns() -> None:
    Y, kernels = a_data_set(kgl.GL2Step, False)
    with pytest.warns(ConvergenceWarning, match=r"1e\+30 times the ridge term.*lower rho"):
        kgl.GL2Step(rho=1e30, psi=1.0).fit(Y, **kernels)
