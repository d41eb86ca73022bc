"""Whole fits of many nodes: time, memory, and agreement with dense fits.

Each task runs in a process of its own (see :mod:`benchmarks.scale.run`) and returns numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import kgl
from benchmarks.scale.data import places
from benchmarks.scale.measure import measured
from kgl._types import Array
from kgl.kernels import RBF, LowRank

__all__ = ["TASKS"]

#: Features of the nodes, neighbours per node, and weights of the terms.
RANK, DEGREE = 300, 12
LAM, RHO = 1e-1, 1e-2
#: Seeds of these data are no others'.
SEED = 250
#: Covariates whose Gaussian kernel has about that rank at the default tolerance.
GAMMA = 0.55


def problem(m: int, n: int, *, missing: float = 0.0) -> tuple[Array, Array, Array]:
    """Return data (n, m), features of the nodes (m, RANK), and times (n,)."""
    rng = np.random.default_rng([SEED, m, n])
    x = places(m, SEED)
    frequencies = rng.standard_normal((3, RANK)) / 0.7
    F = np.cos(x @ frequencies + rng.uniform(0.0, 2.0 * np.pi, RANK)) * np.sqrt(2.0 / RANK)
    t = np.linspace(0.0, 1.0, n)
    K_z = np.exp(-200.0 * (t[:, None] - t) ** 2) + 1e-9 * np.eye(n)
    Y = np.linalg.cholesky(K_z) @ rng.standard_normal((n, RANK)) @ F.T
    Y += 0.1 * rng.standard_normal(Y.shape)
    if missing:
        Y[rng.random(Y.shape) < missing] = np.nan
    return Y, F, t


def make(F: Array, **options: Any) -> kgl.KGL:
    """Return the model: K_x of rank 300 from features, K_z an RBF over time."""
    how = {"lam": LAM, "rho": RHO, "kernel_z": RBF(gamma=200.0), "log": False, **options}
    return kgl.KGL(kernel_x=LowRank(F), **how)


def fit(
    m: int, n: int = 200, *, signed: bool, missing: float = 0.0, psi: float | None = None
) -> dict[str, Any]:
    """Fit KGL with psi given, or found for a degree."""
    Y, F, t = problem(m, n, missing=missing)
    target = {"average_degree": DEGREE} if psi is None else {"psi": psi}
    model, cost = measured(lambda: make(F, signed=signed, solver="sparse", **target).fit(Y, z=t))
    return {**described(model, m, n), "signed": signed, "missing": missing, **cost}


def described(model: kgl.KGL, m: int, n: int) -> dict[str, Any]:
    """Return what a fit reports."""
    return {
        "m": m, "n": n, "psi": model.psi_, "degree": model.weights_.nnz / m,
        "n_iter": model.n_iter_, "converged": model.converged_,
        "residual": model.kkt_residual_, "examined": model.pairs_examined_,
        "violated": model.pairs_violated_,
    }  # fmt: skip


def same(m: int, *, signed: bool) -> dict[str, Any]:
    """Fit the sparse and the dense way at one psi and compare."""
    Y, F, t = problem(m, 200)
    sparse = make(F, signed=signed, solver="sparse", average_degree=DEGREE).fit(Y, z=t)
    psi = sparse.psi_
    sparse, cost = measured(lambda: make(F, signed=signed, solver="sparse", psi=psi).fit(Y, z=t))
    dense, dense_cost = measured(
        lambda: make(F, signed=signed, solver="newton", psi=psi).fit(Y, z=t)
    )
    W = sparse.weights_.toarray()
    return {
        **described(sparse, m, 200), "signed": signed,
        "edges": int((W > 0).sum()) // 2,
        "edges_different": int(((W > 0) != (dense.weights_ > 0)).sum()) // 2,
        "weights_differ": float(np.abs(W - dense.weights_).max() / dense.weights_.max()),
        "signals_differ": float(np.abs(sparse.signals_ - dense.signals_).max()),
        **cost, "dense_cpu_s": dense_cost["cpu_s"],
    }  # fmt: skip


def crossing(m: int) -> dict[str, Any]:
    """Fit with the defaults the sparse and the dense way: where ``solver="auto"`` changes."""
    Y, F, t = problem(m, 200)
    found: dict[str, Any] = {"m": m}
    for solver in ("sparse", "newton"):
        model = make(F, solver=solver, average_degree=10.0)
        _, cost = measured(lambda model=model: model.fit(Y, z=t))  # type: ignore[misc]
        found[f"{solver}_cpu_s"] = cost["cpu_s"]
    return found


def covariates(m: int, tol: float) -> dict[str, Any]:
    """Fit with a kernel of covariates at a tolerance, beside one at a tolerance of 1e-12."""
    Y, _, t = problem(m, 200)
    x = places(m, SEED)

    def fitted(tol: float, **target: Any) -> kgl.KGL:
        model = kgl.KGL(
            lam=LAM, rho=RHO, kernel_x=RBF(gamma=GAMMA), kernel_z=RBF(gamma=200.0), log=False,
            solver="sparse", kernel_tol=tol, max_rank=m, **target,
        )  # fmt: skip
        return model.fit(Y, x=x, z=t)

    best = fitted(1e-12, average_degree=DEGREE)
    model, cost = measured(lambda: fitted(tol, psi=best.psi_))
    best = fitted(1e-12, psi=best.psi_)
    W, V = model.weights_, best.weights_
    return {
        **described(model, m, 200), "kernel_tol": tol,
        "trace_error": model.kernel_trace_error_,
        "rank": model._ready.data.K_x.factor.shape[1],
        "edges": V.nnz // 2, "edges_different": int((W.astype(bool) != V.astype(bool)).nnz) // 2,
        "weights_differ": float(abs(W - V).max() / V.max()), **cost,
    }  # fmt: skip


TASKS: dict[str, Callable[[], dict[str, Any]]] = {
    **{
        f"kgl_{m}_{'signed' if signed else 'plain'}{'' if psi is None else '_psi'}": partial(
            fit, m, signed=signed, psi=psi
        )
        for m, at in ((5000, 0.045), (20_000, 0.055))
        for signed in (False, True)
        for psi in (None, at)
    },
    **{
        f"kgl_{m}_{'signed' if signed else 'plain'}": partial(fit, m, signed=signed)
        for m in (2000, 10_000)
        for signed in (False, True)
    },
    **{
        f"kgl_gaps_5000_{'signed' if signed else 'plain'}{'' if psi is None else '_psi'}": partial(
            fit, 5000, 500, signed=signed, missing=0.5, psi=psi
        )
        for signed in (False, True)
        for psi in (None, 0.06)
    },
    **{
        f"same_1500_{'signed' if signed else 'plain'}": partial(same, 1500, signed=signed)
        for signed in (False, True)
    },
    **{f"crossing_{m}": partial(crossing, m) for m in (250, 500, 1000)},
    **{f"trace_1000_1e-{k}": partial(covariates, 1000, 10.0**-k) for k in (2, 4, 6, 8, 10)},
}
