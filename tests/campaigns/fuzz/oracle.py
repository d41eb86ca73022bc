"""What must hold of results, worked out without the library's own solvers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from kgl._types import Array

#: A certificate above this must come with a warning. The library warns from 1e-8 on.
WARNED = 3e-8
#: Reported and recomputed residuals must be within this factor; smaller ones count as ``ROUNDING``.
FACTOR, ROUNDING = 10.0, 1e-12
#: Words of the warning that weights are so far apart that rounding decides.
_LOST = "times the ridge term"


def certificate(W: Array, Z: Array, psi: float, regularizer: str, barrier: float) -> float:
    """Return the relative violation of the optimality conditions, in extended precision."""
    exact = np.longdouble
    W, Z = np.asarray(W, dtype=exact), np.asarray(Z, dtype=exact)
    psi, barrier = exact(psi), exact(barrier)
    m = len(W)
    i, j = np.triu_indices(m, 1)
    w, z, d = W[i, j], Z[i, j], W.sum(axis=1)
    open_ = np.isfinite(z)
    if (w[~open_] != 0).any() or not np.isfinite(w).all():
        return float("inf")
    i, j, w, z = i[open_], j[open_], w[open_], z[open_]
    if regularizer == "log-degree":
        if d.min() <= 0:
            return float("inf")
        pull = barrier / d[i] + barrier / d[j]
        slope = (z + 4 * psi * w - pull) / pull
        return float(np.abs(np.minimum(w / np.minimum(d[i], d[j]), slope)).max())
    slope = (z - z.min()) / (2 * psi) + 2 * w + d[i] + d[j]
    scale = max(2 * w.max(), d.max())
    heavy = w > 1e-9 * w.max()
    level = np.average(slope[heavy], weights=w[heavy])
    worst = np.abs(np.minimum(2 * w, slope - level)).max()
    return float(max(worst, abs(d.sum() - m) / m * scale) / scale)


def prepared_distances(Y: Any, center: str, scale: str, signed: bool) -> Array | None:
    """Return distances between the columns of complete data, prepared by hand.

    None where rounding in the preparation could matter as much as the solver.
    """
    Y = np.asarray(Y, dtype=np.longdouble)
    if center == "node":
        Y = Y - Y.mean(axis=0)
    elif center == "both":
        Y = Y - Y.mean(axis=0)
        Y = Y - Y.mean(axis=1, keepdims=True)
    size = np.sqrt((Y**2).mean(axis=0))
    if scale == "node":
        if (size < 1e-6 * np.abs(Y).max()).any() or not (size > 0).all():
            return None
        Y = Y / size
    elif scale == "common":
        Y = Y / (np.sqrt((Y**2).mean()) or 1)
    near = ((Y[:, :, None] - Y[:, None, :]) ** 2).sum(axis=0)
    if signed:
        near = np.minimum(near, ((Y[:, :, None] + Y[:, None, :]) ** 2).sum(axis=0))
        np.fill_diagonal(near, 0)
    return np.asarray(near, dtype=float)


def graph(W: Any, *, trace: float | None = None, name: str = "weights") -> list[str]:
    """Return what is wrong with a weighted graph."""
    W = W.toarray() if issparse(W) else np.asarray(W)
    if not np.isfinite(W).all():
        return [f"{name} are not finite"]
    found = []
    if not np.array_equal(W, W.T):
        found.append(f"{name} are not symmetric")
    if W.min() < 0:
        found.append(f"{name} are negative")
    if np.diag(W).any():
        found.append(f"{name} link a node with itself")
    if trace is not None and abs(W.sum() - trace) > 1e-6 * trace:
        found.append(f"the sum of {name} is {W.sum():.6g}, not {trace:g}")
    return found


def ratio_of(model: Any) -> float:
    """Return rho / lam: terms that are far apart lose digits. 0 for a model without signals."""
    if not hasattr(model, "rho"):
        return 0.0
    return float(model.rho) / float(getattr(model, "lam", 1.0))


def fit(model: Any, messages: list[str]) -> list[str]:
    """Return what is wrong with a fitted estimator, and warnings that are missing."""
    poor = not model.kkt_residual_ <= WARNED
    said = any("KKT residual" in text for text in messages)
    slow = any("did not converge" in text for text in messages)
    found = []
    if poor and not said and not model.solver.startswith("cvxpy"):
        found.append(f"no warning of the certificate {model.kkt_residual_:.1e}")
    if not model.converged_ and not slow:
        found.append("no warning that it did not converge")
    if not np.isfinite(model.kkt_residual_) and said:
        return found  # the warning says that it is no solution
    m = len(model.node_names_)
    own = model.regularizer == "frobenius" and not poor
    found += graph(model.weights_, trace=float(m) if own else None)
    if found:
        return found
    W = model.weights_.toarray() if issparse(model.weights_) else model.weights_
    L = model.laplacian_.toarray() if issparse(model.laplacian_) else model.laplacian_
    if not np.allclose(np.diag(L), W.sum(axis=0), rtol=1e-12):
        found.append("the Laplacian's diagonal is not the degrees")
    if not np.array_equal(np.abs(L) * ~np.eye(m, dtype=bool), W):
        found.append("the Laplacian and the weights differ")
    history = model.objective_history_
    if not np.isfinite(history).all():
        found.append("the objective is not finite")
    elif not poor and len(history) > 1 and not any(_LOST in text for text in messages):
        size = float(np.sum(np.asarray(model._fitted, dtype=float) ** 2)) if ratio_of(model) else 0
        rise = np.diff(history) / (np.abs(history[:-1]) + np.abs(history[0]) + 1e-9 * size + 1e-300)
        if rise.max() > 1e-7 + 1e-15 * ratio_of(model):
            found.append(f"the objective rises by {rise.max():.1e} of itself")
    signals = getattr(model, "signals_", None)
    if signals is not None and not np.isfinite(np.asarray(signals, dtype=float)).all() and not said:
        found.append("signals are not finite, without a warning")
    return found


def gl_certificate(model: Any, Y: Any, messages: list[str]) -> list[str]:
    """Recompute the certificate of a fit of GL to complete data from the data alone."""
    said = any("KKT residual" in text for text in messages)
    if model._logs or said:
        return []
    Z = prepared_distances(Y, model.center, model.scale, bool(model.signed))
    if Z is None:
        return []
    if model.average:
        Z = Z / len(Y)
    # rounding of distances is that of squares of the data, which they are differences of
    squares = len(Y) if model.scale == "node" else float((np.asarray(Y) ** 2).sum(axis=0).max())
    floor = 1e-14 * max(float(Z.max()), squares) / (2 * model.psi_)
    floor = 1e-11 + floor / max(float(model.weights_.max()), 1e-300)
    own = certificate(model.weights_, Z, model.psi_, model.regularizer, float(model.barrier))
    if own > FACTOR * max(model.kkt_residual_, floor):
        return [f"the certificate is {own:.1e}, but {model.kkt_residual_:.1e} is reported"]
    return []
