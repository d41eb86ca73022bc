"""Small problems that both the dense and the sparse way can solve."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kgl._types import Array
from kgl.kernels import kernel_eigen
from kgl.problem import MODELS, ModelSpec
from kgl.solvers.alternating import Batch, Options, solve_points
from kgl.solvers.lowrank import LargeData, LargeFit, LargeOptions, NodeKernel, solve_large
from kgl.solvers.signal_step import SignalData

__all__ = ["Case", "make_case", "solve_both", "table"]


class Case:
    """One problem in both forms."""

    def __init__(self, dense: SignalData, large: LargeData, spec: ModelSpec) -> None:
        self.dense, self.large, self.spec = dense, large, spec
        self.lam = 0.05 if spec.ridge else 0.0
        self.rho = 0.05 if spec.fitted else 1.0
        self.psi = float(np.median(np.sum(large.Y**2, axis=0))) * self.rho * 0.003


def make_case(
    name: str,
    *,
    signed: bool = False,
    masked: bool = False,
    white: float | None = None,
    m: int = 40,
    n: int = 30,
    r: int = 8,
    seed: int = 0,
) -> Case:
    """Return a problem; ``white=None`` has no kernel over the nodes."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((m, r)) / np.sqrt(r)
    spec = replace(MODELS[name], signed=signed)
    t = np.linspace(0.0, 1.0, n)
    K_z = np.exp(-30.0 * (t[:, None] - t) ** 2) + 0.1 * np.eye(n)
    Y = np.linalg.cholesky(K_z) @ rng.standard_normal((n, r)) @ B.T
    Y += 0.1 * rng.standard_normal((n, m))
    mask = rng.random((n, m)) < 0.6 if masked else None
    Y = Y if mask is None else Y * mask
    mask = mask if spec.masked else None
    K_x, nodes = None, NodeKernel(m)
    if white is not None and spec.node_kernel:
        K_x, nodes = B @ B.T + white * np.eye(m), NodeKernel(m, B, white)
    rows = kernel_eigen(K_z if spec.observation_kernel else None, "K_z", n)
    dense = SignalData(Y, mask, kernel_eigen(K_x, "K_x", m), rows)
    return Case(dense, LargeData(Y, mask, nodes, rows), spec)


def solve_both(case: Case, **options: Any) -> tuple[Batch, LargeFit]:
    """Return the dense and the sparse fit of a problem."""
    one = np.ones(1)
    how = {"inner_tol": 1e-12, "max_iter": 100, **options}
    dense = solve_points(
        case.dense, case.spec, case.lam * one, case.rho * one, case.psi * one,
        Options(signals=True, history=True, **how),
    )  # fmt: skip
    large = solve_large(case.large, case.spec, case.lam, case.rho, case.psi, LargeOptions(**how))
    return dense, large


def table(m: int = 60, n: int = 40, r: int = 8, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return data (n, m), positions of the nodes (m, 2), and features (m, r) behind the data."""
    rng = np.random.default_rng(seed)
    x = rng.random((m, 2))
    B = np.cos(4.0 * x @ rng.standard_normal((2, r)) + 6.0 * rng.random(r))
    Y = rng.standard_normal((n, r)) @ B.T + 0.2 * rng.standard_normal((n, m))
    return Y, x, B
