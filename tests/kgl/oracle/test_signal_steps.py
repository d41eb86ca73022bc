"""Signal steps for incomplete data against dense algebra, where nodes differ in what is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from helpers import low_rank_kernel, signal_data

from kgl._types import Array
from kgl.laplacian import adjacency_from_edges, laplacian_from_adjacency
from kgl.problem import MODELS
from kgl.solvers import signal_step
from kgl.solvers.alternating import Batch, Options, solve_points
from kgl.solvers.signal_iterative import CoefficientStep, ResidualStep
from kgl.solvers.signal_masked import DirectStep, RowwiseStep
from kgl.solvers.signal_split import SplitStep
from kgl.solvers.signal_step import SignalData, SignalStep, make_signal_step
from tests.kgl.oracle.reference import dense_signals

N, M = 9, 6
#: Models with a ridge: only these take a mask.
MASKED = [name for name, spec in MODELS.items() if spec.fitted and spec.ridge]


def unequal(rng: np.random.Generator) -> np.ndarray:
    """Nodes with none, one, some and all of their entries."""
    counts = np.array([0, 1, 3, 5, N - 1, N])
    return np.argsort(np.argsort(rng.random((N, M)), axis=0), axis=0) < counts


MASKS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "unequal": unequal,
    "one entry": lambda rng: np.arange(N * M).reshape(N, M) == rng.integers(N * M),
    "an empty row": lambda rng: unequal(rng) & (np.arange(N) != 4)[:, None],
    "few": lambda rng: rng.random((N, M)) < 0.15,
}


class Problem:
    """Data of one model, three graphs and all pairs of lam and rho."""

    def __init__(self, model: str, mask: str, *, ranks: tuple[int, int] = (M, N)) -> None:
        rng = np.random.default_rng([len(model), len(mask), *ranks])
        self.spec = MODELS[model]
        self.mask = MASKS[mask](rng)
        self.Y = np.where(self.mask, rng.normal(size=(N, M)), 0.0)
        self.K_x = low_rank_kernel(M, ranks[0], rng) if self.spec.node_kernel else None
        self.K_z = low_rank_kernel(N, ranks[1], rng) if self.spec.observation_kernel else None
        edges = rng.uniform(size=(3, M * (M - 1) // 2)) * (rng.uniform(size=(3, 15)) < 0.6)
        graphs = laplacian_from_adjacency(adjacency_from_edges(edges))
        points = [(L, a, b) for L in graphs for a in (1e-3, 0.3) for b in (1e-2, 3.0)]
        self.L, self.lam, self.rho = (np.array(v) for v in zip(*points, strict=True))

    @property
    def data(self) -> SignalData:
        return signal_data(self.Y, self.mask, self.K_x, self.K_z)

    @property
    def steps(self) -> list[SignalStep]:
        if self.K_z is None:
            return [RowwiseStep(self.data, self.spec)]
        exact: list[SignalStep] = [DirectStep(self.data, self.spec)]
        return exact + [
            cls(self.data, self.spec, tol=1e-13)
            for cls in (CoefficientStep, ResidualStep, SplitStep)
        ]

    def dense(self, g: int) -> Array:
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


def test_the_models_include_whitened_ones_and_others_with_and_without_kernels() -> None:
    specs = [MODELS[name] for name in MASKED]
    assert {(s.node_kernel, s.observation_kernel) for s in specs if s.whitened} >= {
        (True, True),
        (False, True),
    }
    assert any(s.observation_kernel and not s.whitened for s in specs)
    assert any(not s.observation_kernel for s in specs)


@pytest.mark.parametrize("ranks", [(M, N), (3, 4), (1, 2)], ids=["full", "low", "least"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("model", MASKED)
def test_every_step_agrees_with_dense_algebra_whatever_is_known_of_each_node(
    model: str, mask: str, ranks: tuple[int, int]
) -> None:
    problem = Problem(model, mask, ranks=ranks)
    expected = np.stack([problem.dense(g) for g in range(len(problem.lam))])
    size = np.abs(expected).max()
    for step in problem.steps:
        found = step.solve(problem.L, problem.lam, problem.rho, signals=True, parts=True)
        assert found.signals is not None
        np.testing.assert_allclose(
            found.signals, expected, rtol=0.0, atol=1e-8 * size, err_msg=type(step).__name__
        )
        misfit = np.sum(np.where(problem.mask, expected - problem.Y, 0.0) ** 2, axis=(1, 2))
        np.testing.assert_allclose(found.fit, misfit, rtol=1e-7, atol=1e-9 * np.sum(problem.Y**2))


@pytest.mark.parametrize("model", [name for name in MASKED if MODELS[name].observation_kernel])
def test_all_steps_give_the_same_gram_matrix_and_objective(model: str) -> None:
    problem = Problem(model, "unequal", ranks=(3, 4))
    found = [step.solve(problem.L, problem.lam, problem.rho, parts=True) for step in problem.steps]
    for other in found[1:]:
        size = np.abs(found[0].gram).max()
        np.testing.assert_allclose(other.gram, found[0].gram, rtol=0.0, atol=1e-8 * size)
        np.testing.assert_allclose(other.prior, found[0].prior, rtol=1e-6, atol=1e-10)


# ------------------------------------------------------------------------------- which one is taken


def chosen(model: str, entries: int, rank: int, n: int = 30, m: int = 20) -> type[SignalStep]:
    rng = np.random.default_rng(0)
    mask = rng.permutation(n * m).reshape(n, m) < entries
    spec = MODELS[model]
    K_z = low_rank_kernel(n, rank, rng) if spec.observation_kernel else None
    K_x = low_rank_kernel(m, m, rng) if spec.node_kernel else None
    return type(make_signal_step(signal_data(np.zeros((n, m)), mask, K_x, K_z), spec))


@pytest.mark.parametrize("model", ["KGL", "KGL-O", "KGL-Agnostic"])
def test_few_entries_and_directions_are_solved_directly(model: str) -> None:
    assert chosen(model, 200, 12) is DirectStep
    assert chosen(model, 201, 12) is not DirectStep
    assert chosen(model, 200, 13) is not DirectStep


def test_residuals_are_solved_for_where_few_entries_meet_weak_links() -> None:
    assert chosen("KGL-O", 201, 40, n=50) is ResidualStep  # of 800 coefficients
    assert chosen("KGL-O", 241, 40, n=50) is SplitStep
    assert chosen("KGL-Agnostic", 241, 13) is ResidualStep  # of 260
    assert chosen("KGL-Agnostic", 261, 13) is SplitStep
    assert chosen("KGL", 201, 40, n=50) is SplitStep


def test_bases_of_all_nodes_that_take_too_much_memory_are_not_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(signal_step, "_MOST_FLOATS", 5 * 20 * 5 - 1)
    assert chosen("KGL", 250, 5) is CoefficientStep


def test_without_a_kernel_of_observations_rows_are_solved_one_by_one() -> None:
    assert chosen("KGL-N", 100, 30) is RowwiseStep


# --------------------------------------------------------------------------------- block by block


@pytest.mark.parametrize("model", [name for name in MASKED if MODELS[name].observation_kernel])
def test_blocks_of_points_give_what_all_points_at_once_give(model: str) -> None:
    problem = Problem(model, "unequal")
    for step in problem.steps[1:]:
        step.block = None
        whole = step.solve(problem.L, problem.lam, problem.rho, parts=True, signals=True)
        step.block = 5  # of 12 points
        parts = step.solve(problem.L, problem.lam, problem.rho, parts=True, signals=True)
        # the last iteration may depend on how a processor adds up
        assert parts.n_inner == pytest.approx(whole.n_inner, rel=0.02)
        for name in ("gram", "fit", "prior", "signals", "warm"):
            np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-10)


def test_nodes_without_links_take_no_iterations_when_split_off() -> None:
    problem = Problem("KGL-O", "unequal")
    step = SplitStep(problem.data, problem.spec, tol=1e-13)
    found = step.solve(np.zeros((1, M, M)), np.array([0.1]), np.array([1.0]))
    assert found.n_inner == 0


# ------------------------------------------------------------------------------ how exact it is


def test_the_last_step_has_a_tolerance_of_its_own() -> None:
    problem = Problem("KGL", "unequal")
    point = [np.array([value]) for value in (1e-3, 3.0, 0.1)]

    def fit(**options: float) -> Batch:
        return solve_points(problem.data, problem.spec, *point, Options(signals=True, **options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal_step, "_FEW_ENTRIES", 0)  # no dense system
        exact, loose = fit(), fit(inner_tol=1e-10, final_tol=1e-10)
        np.testing.assert_allclose(loose.signals, exact.signals, atol=1e-7)
        np.testing.assert_array_equal(fit(final_tol=1e-3).signals, fit(final_tol=1e-12).signals)
