"""Alternating minimisation on random small problems, over all six models.

Kernels may be singular, entries missing, signals degenerate; hyperparameters span decades.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from helpers import (
    REGULARIZERS,
    low_rank_kernel,
    optimality,
    permuted,
    random_mask,
    share,
    signal_data,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from kgl._types import Array
from kgl.laplacian import complete_laplacian, laplacian_from_adjacency, pairwise_sq_distances
from kgl.problem import MODELS, graph_penalty
from kgl.solvers import signal_step
from kgl.solvers.alternating import Batch, Options, solve_points
from kgl.solvers.grid import solve_grid
from kgl.solvers.signal_complete import GramStep, SpectralStep
from kgl.solvers.signal_iterative import CoefficientStep, ResidualStep
from kgl.solvers.signal_masked import DirectStep, RowwiseStep
from kgl.solvers.signal_split import SplitStep
from kgl.solvers.signal_step import SignalData, make_signal_step

#: Models whose fit leaves missing entries out; the other two have none to leave out.
MASKED = [name for name, spec in MODELS.items() if spec.ridge]
FITTED = [name for name, spec in MODELS.items() if spec.fitted]
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True, scope="module")
def iterative() -> Iterator[None]:
    """Conjugate gradients for these small problems too, which a dense system would solve."""
    few = signal_step._FEW_ENTRIES
    signal_step._FEW_ENTRIES = 0
    yield
    signal_step._FEW_ENTRIES = few


@dataclass(frozen=True)
class Problem:
    """One data set and a few points of a grid."""

    model: str
    Y: Array
    mask: np.ndarray | None
    K_x: Array | None
    K_z: Array | None
    lam: Array
    rho: Array
    psi: Array

    @property
    def data(self) -> SignalData:
        return signal_data(self.Y, self.mask, self.K_x, self.K_z)

    def solve(self, options: Options, data: SignalData | None = None) -> Batch:
        spec = MODELS[self.model]
        return solve_points(data or self.data, spec, self.lam, self.rho, self.psi, options)


def _kernel(draw: st.DrawFn, size: int, rng: np.random.Generator) -> Array:
    if draw(st.booleans()):
        scale = 10.0 ** draw(st.integers(-2, 2))
        return scale * low_rank_kernel(size, draw(st.integers(1, size + 2)), rng)
    # smooth in one covariate: positive definite on paper, singular in double precision
    x = np.sort(rng.random(size))
    return np.exp(-(10.0 ** draw(st.integers(-2, 2))) * np.subtract.outer(x, x) ** 2)


def _signals(draw: st.DrawFn, n: int, m: int, rng: np.random.Generator) -> Array:
    kind = draw(st.sampled_from(["noise", "noise", "twins", "low rank", "constant", "zero"]))
    Y = rng.standard_normal((n, m))
    if kind == "twins":
        Y[:, m // 2 :] = Y[:, : m - m // 2]
    elif kind == "low rank":
        Y = np.outer(Y[:, 0], Y[0])
    elif kind == "constant":
        Y[:] = 1.0
    elif kind == "zero":
        Y[:] = 0.0
    return Y


@st.composite
def problems(
    draw: st.DrawFn, model: str, *, masked: bool | None = None, max_points: int = 3
) -> Problem:
    spec = MODELS[model]
    rng = np.random.default_rng(draw(seeds))
    m, n = draw(st.integers(3, 7)), draw(st.integers(2, 8))
    n_points = draw(st.integers(1, max_points))
    mask = None
    if spec.ridge and (draw(st.booleans()) if masked is None else masked):
        mask = random_mask(n, m, draw(st.sampled_from([0.1, 0.4, 0.8])), rng)

    def decades(low: float, high: float) -> Array:
        exponents = draw(st.lists(st.floats(low, high), min_size=n_points, max_size=n_points))
        return 10.0 ** np.array(exponents)

    return Problem(
        model=model,
        Y=_signals(draw, n, m, rng),
        mask=mask,
        K_x=_kernel(draw, m, rng) if spec.node_kernel else None,
        K_z=_kernel(draw, n, rng) if spec.observation_kernel else None,
        lam=decades(-4, 2) if spec.ridge else np.zeros(n_points),
        rho=decades(-4, 2),
        psi=decades(-3, 3),
    )


def objective_parts(problem: Problem, k: int, signals: Array, W: Array, options: Options) -> Array:
    """Evaluate the objective as the paper writes it, with pseudo-inverses of the kernels."""
    spec = MODELS[problem.model]
    L = laplacian_from_adjacency(W)
    penalty = graph_penalty(W[None], problem.psi[k : k + 1], options.regularizer)[0]
    if not spec.fitted:
        return np.array([0.0, 0.0, np.trace(problem.Y @ L @ problem.Y.T), penalty])
    error = problem.Y - signals
    if problem.mask is not None:
        error = error[problem.mask]
    white = whitened(problem, signals)
    smooth = white if spec.whitened else signals
    eigen = problem.data.K_x
    ridge = np.sum((white @ eigen.vectors) ** 2 / eigen.values)
    smoothness = np.sum((smooth @ L) * smooth)
    return np.array(
        [np.sum(error**2), problem.lam[k] * ridge, problem.rho[k] * smoothness, penalty]
    )


def whitened(problem: Problem, signals: Array) -> Array:
    """Return S with ``S' S = signals' K_z^+ signals``; never forms the inverse, which is huge."""
    eigen = problem.data.K_z
    return (eigen.vectors.T @ signals) / np.sqrt(eigen.values)[:, None]


def assert_close(actual: Array, expected: Array, tol: float, what: str = "") -> None:
    scale = np.abs(expected).max(initial=0.0)
    np.testing.assert_allclose(actual, expected, rtol=tol, atol=tol * scale, err_msg=what)


def assert_same_fit(actual: Batch, expected: Batch, tol: float) -> None:
    """Compare graphs, signals and objectives point by point."""
    assert actual.signals is not None
    assert expected.signals is not None
    for k in range(len(expected.weights)):
        assert_close(actual.weights[k], expected.weights[k], tol, "weights")
        assert_close(actual.signals[k], expected.signals[k], tol, "signals")
        if expected.history is not None and actual.history is not None:
            # one of the two may have come to rest, exactly, an iteration earlier
            ends = actual.history[k][-1], expected.history[k][-1]
            scale = np.abs(ends[1]).sum()
            assert abs(ends[0].sum() - ends[1].sum()) <= tol * scale, "objective"


def fixed(regularizer: str, iterations: int = 4) -> Options:
    """Return options for a given number of iterations, so that rounding cannot change the count."""
    return Options(
        regularizer=regularizer,
        tol=0.0,
        max_iter=iterations,
        inner_tol=1e-13,
        signals=True,
        history=True,
    )


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
def test_the_objective_never_rises(model: str, regularizer: str, data: st.DataObject) -> None:
    problem = data.draw(problems(model))
    options = Options(regularizer=regularizer, tol=1e-6, max_iter=30, signals=True, history=True)
    batch = problem.solve(options)
    m = problem.Y.shape[1]
    assert batch.history is not None
    assert batch.signals is not None
    for k, history in enumerate(batch.history):
        fitted = MODELS[model].fitted
        assert history.shape == (batch.n_iter[k] + fitted, 4)
        assert np.all(np.isfinite(history))
        objective = history.sum(axis=1)
        size = np.abs(history).sum(axis=1)
        rise = np.diff(objective) / size[:-1]
        assert np.all(rise <= 1e-9), rise
        least = history if regularizer == "frobenius" else history[:, :3]
        # a constant signal has no roughness, but its Gram matrix has rounding
        gram = problem.rho[k] * np.sum(problem.Y**2) / min(1.0, problem.lam[k] or 1.0)
        assert least.min() >= -1e-12 * (size.max() + gram)
        # the graph is a graph, and the best one for some signals
        W = batch.weights[k]
        assert_close(W, W.T, 1e-9)
        assert W.min() >= 0
        assert not np.diag(W).any()
        if regularizer == "frobenius":
            assert W.sum() == pytest.approx(m, rel=1e-10)
        else:
            assert W.sum(axis=1).min() > 0
        assert batch.residual[k] <= 1e-9
        assert batch.converged[k] or batch.n_iter[k] == options.max_iter


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
@share(0.4)
def test_the_history_ends_with_the_objective_of_what_is_returned(
    model: str, regularizer: str, data: st.DataObject
) -> None:
    problem = data.draw(problems(model))
    options = fixed(regularizer)
    batch = problem.solve(options)
    assert batch.history is not None
    assert batch.signals is not None
    for k, history in enumerate(batch.history):
        parts = objective_parts(problem, k, batch.signals[k], batch.weights[k], options)
        scale = np.abs(parts).sum()
        np.testing.assert_allclose(history[-1], parts, rtol=1e-7, atol=1e-7 * scale)


@pytest.mark.parametrize("model", FITTED)
@given(data=st.data())
@share(0.4)
def test_a_converged_pair_is_optimal_on_both_sides(model: str, data: st.DataObject) -> None:
    problem = data.draw(problems(model, max_points=1))
    options = Options(tol=1e-11, max_iter=400, inner_tol=1e-13, signals=True, history=True)
    batch = problem.solve(options)
    assume(batch.converged[0])
    assert batch.signals is not None
    signals, W = batch.signals[0], batch.weights[0]
    # the graph for these signals ...
    smooth = whitened(problem, signals) if MODELS[model].whitened else signals
    Z = problem.rho[0] * pairwise_sq_distances(smooth)
    assert optimality(W, Z, problem.psi[0]).feasibility <= 1e-10
    # relative to how strongly the graph reacts to the signals
    reaction = 1 + Z.max() / problem.psi[0]
    assert optimality(W, Z, problem.psi[0]).complementarity <= 1e-8 * reaction
    # ... and the signals for this graph: no step within the ranges of the kernels helps
    rng = np.random.default_rng(0)
    best = objective_parts(problem, 0, signals, W, options).sum()
    for size in (1e-1, 1e-3):
        for _ in range(5):
            step = size * rng.standard_normal(signals.shape)
            if problem.K_z is not None:
                step = problem.K_z @ step
            if problem.K_x is not None:
                step = step @ problem.K_x
            moved = objective_parts(problem, 0, signals + step, W, options).sum()
            assert moved >= best - 1e-9 * abs(best)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("model", MASKED)
@given(data=st.data())
@share(0.4)
def test_a_mask_that_hides_nothing_changes_nothing(
    model: str, regularizer: str, data: st.DataObject
) -> None:
    problem = data.draw(problems(model, masked=False))
    full = replace(problem, mask=np.ones(problem.Y.shape, dtype=bool))
    # other solvers, the same problem
    spec = MODELS[model]
    pair = (SpectralStep, SplitStep) if spec.observation_kernel else (GramStep, RowwiseStep)
    assert type(make_signal_step(problem.data, spec)) is pair[0]
    assert type(make_signal_step(full.data, spec)) is pair[1]
    options = fixed(regularizer)
    assert_same_fit(full.solve(options), problem.solve(options), 1e-7)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("model", ["KGL", "KGL-O", "KGL-Agnostic"])
@given(data=st.data())
@share(0.4)
def test_a_dense_system_gives_what_conjugate_gradients_give(
    model: str, regularizer: str, data: st.DataObject
) -> None:
    problem = data.draw(problems(model, masked=True))
    options = fixed(regularizer)
    iterated = problem.solve(options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal_step, "_FEW_ENTRIES", problem.Y.size)
        patch.setattr(signal_step, "_FEW_DIRECTIONS", len(problem.Y))
        assert type(make_signal_step(problem.data, MODELS[model])) is DirectStep
        assert_same_fit(problem.solve(options), iterated, 1e-7)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("model", MODELS)
@given(data=st.data())
@share(0.3)
def test_a_grid_is_its_points_one_by_one(model: str, regularizer: str, data: st.DataObject) -> None:
    problem = data.draw(problems(model, max_points=7))
    # points of equal lam and rho share the first signal step
    problem = replace(
        problem,
        lam=np.tile(problem.lam, 2),
        rho=np.tile(problem.rho, 2),
        psi=np.concatenate([problem.psi, problem.psi[::-1]]),
    )
    options = Options(
        regularizer=regularizer,
        tol=1e-5,
        max_iter=20,
        signals=True,
        history=True,
    )
    together = problem.solve(options)
    spec, ready = MODELS[model], problem.data
    grid = problem.lam, problem.rho, problem.psi
    points = dict(zip(("lam", "rho", "psi"), grid, strict=True))
    chunks = list(solve_grid(ready, spec, points, options, chunk_size=3))
    assert [len(chunk.where) for chunk in chunks[:-1]] == [3] * (len(chunks) - 1)
    covered = np.concatenate([chunk.where for chunk in chunks])
    np.testing.assert_array_equal(covered, np.arange(len(problem.psi)))
    for chunk in chunks:
        for position, k in enumerate(chunk.where):
            single = solve_points(ready, spec, *(a[k : k + 1] for a in grid), options)
            for batch, index in ((together, k), (chunk.batch, position)):
                assert batch.n_iter[index] == single.n_iter[0]
                assert batch.converged[index] == single.converged[0]
                assert_close(batch.weights[index], single.weights[0], 1e-8, "weights")
                assert_close(batch.signals[index], single.signals[0], 1e-8, "signals")
                assert_close(batch.history[index], single.history[0], 1e-8, "history")
    default = Options(regularizer=regularizer, max_iter=20)
    last = solve_points(ready, spec, *(a[-1:] for a in grid), default)
    assert_close(problem.solve(default).weights[-1:], last.weights, 1e-8, "weights")


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("model", MODELS)
@given(data=st.data(), seed=seeds)
@share(0.3)
def test_permuting_nodes_permutes_the_fit(
    model: str, regularizer: str, data: st.DataObject, seed: int
) -> None:
    problem = data.draw(problems(model))
    order = np.random.default_rng(seed).permutation(problem.Y.shape[1])
    moved = replace(
        problem,
        Y=problem.Y[:, order],
        mask=None if problem.mask is None else problem.mask[:, order],
        K_x=None if problem.K_x is None else permuted(problem.K_x, order),
    )
    options = fixed(regularizer)
    batch, other = problem.solve(options), moved.solve(options)
    assert batch.signals is not None
    expected = replace(
        batch, weights=permuted(batch.weights, order), signals=batch.signals[..., order]
    )
    assert_same_fit(other, expected, 1e-7)


@pytest.mark.parametrize("model", [name for name in MASKED if MODELS[name].observation_kernel])
@pytest.mark.parametrize("step", [CoefficientStep, ResidualStep, SplitStep])
def test_the_default_tolerance_is_tight_enough(
    model: str, step: type[CoefficientStep | ResidualStep | SplitStep]
) -> None:
    # Weak regularization is where conjugate gradients lose most between residual and solution:
    # prior variances of about 1e5, two entries in five missing. The bar is 1e-8.
    spec = MODELS[model]
    for seed in range(25):
        rng = np.random.default_rng(seed)
        data = signal_data(
            rng.standard_normal((8, 5)),
            random_mask(8, 5, 0.4, rng),
            low_rank_kernel(5, 5, rng) if spec.node_kernel else None,
            100 * low_rank_kernel(8, 8, rng),
        )
        lam, rho = np.array([1e-3]), np.array([1.0])
        L = complete_laplacian(5)[None]
        expected = step(data, spec, tol=1e-14).solve(L, lam, rho, signals=True)
        actual = step(data, spec, tol=Options().inner_tol).solve(L, lam, rho, signals=True)
        assert_close(actual.signals, expected.signals, 1e-8, f"seed = {seed}")


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("model", MODELS)
@given(data=st.data(), seed=seeds)
@share(0.2)
def test_edge_knowledge_is_kept(
    model: str, regularizer: str, data: st.DataObject, seed: int
) -> None:
    problem = data.draw(problems(model))
    m = problem.Y.shape[1]
    rng = np.random.default_rng(seed)
    cost = np.triu(rng.exponential(size=(m, m)), 1)
    forbidden = np.triu(rng.random((m, m)) < 0.5, 2)  # a path stays allowed
    cost = np.where(forbidden, np.inf, cost)
    cost = np.maximum(cost, cost.T)
    options = Options(regularizer=regularizer, edge_cost=cost, max_iter=10, history=True)
    batch = problem.solve(options)
    assert np.all(batch.weights[:, np.isinf(cost)] == 0)
    assert batch.residual.max() <= 1e-9
    assert batch.history is not None
    for k, history in enumerate(batch.history):
        size = np.abs(history).sum(axis=1)[:-1]
        assert np.all(np.diff(history.sum(axis=1)) <= 1e-9 * size)
        finite = np.where(np.isinf(cost), 0.0, cost)
        penalty = graph_penalty(batch.weights[k][None], problem.psi[k], regularizer)[0]
        expected = penalty + (finite * batch.weights[k]).sum() / 2
        assert history[-1, 3] == pytest.approx(expected, rel=1e-10, abs=1e-10)


@given(data=st.data(), model=st.sampled_from(FITTED))
def test_any_graph_may_be_the_start(data: st.DataObject, model: str) -> None:
    problem = data.draw(problems(model))
    first = problem.solve(replace(fixed("frobenius", 3), signals=False))
    # going on from where the first left off is what more iterations would have done
    assert first.history is not None
    for k in range(len(problem.psi)):
        point = replace(
            problem,
            lam=problem.lam[k : k + 1],
            rho=problem.rho[k : k + 1],
            psi=problem.psi[k : k + 1],
        )
        init = laplacian_from_adjacency(first.weights[k])
        resumed = point.solve(replace(fixed("frobenius", 2), init=init))
        whole = point.solve(fixed("frobenius", 5))
        assert_close(resumed.weights, whole.weights, 1e-7)
        assert resumed.history is not None
        before = first.history[k][-1]
        assert resumed.history[0][0].sum() <= before.sum() + 1e-9 * np.abs(before).sum()


@pytest.mark.parametrize("model", MODELS)
def test_graphs_are_symmetric_to_the_last_bit(model: str) -> None:
    # A small psi magnifies what rounding leaves in the distances; an edge in one triangle alone
    # would be half an edge.
    rng = np.random.default_rng(0)
    spec = MODELS[model]
    data = signal_data(
        rng.standard_normal((20, 12)),
        None,
        low_rank_kernel(12, 12, rng) if spec.node_kernel else None,
        low_rank_kernel(20, 20, rng) if spec.observation_kernel else None,
    )
    psi = 10.0 ** np.arange(-6, 1)
    lam, rho = np.full_like(psi, 0.1 * spec.ridge), np.full_like(psi, 1e-2)
    W = solve_points(data, spec, lam, rho, psi, Options(max_iter=5)).weights
    np.testing.assert_array_equal(W, W.swapaxes(-1, -2))
