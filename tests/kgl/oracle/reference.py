r"""Slow, independent routes to the answers of the signal step: oracles.

* :func:`dense_signals` solves the signal step as one system of ``n m`` unknowns.
* :func:`dense_objective` writes the objective in the coefficients ``A``, as the paper does.

Nothing here shares formulas with the fast solvers, and nothing here is fast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kgl._types import Array

__all__ = ["dense_objective", "dense_signals"]


def _kernel(K: Array | None, size: int) -> Array:
    return np.eye(size) if K is None else np.asarray(K, dtype=float)


def _root(K: Array) -> Array:
    """Symmetric square root of a positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(K)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _observed(Y: Array, mask: NDArray[np.bool_] | None) -> tuple[Array, NDArray[np.bool_]]:
    """Return Y with zeros for what is missing, and the mask."""
    Y = np.asarray(Y, dtype=float)
    seen = np.ones(Y.shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    return np.where(seen, Y, 0.0), seen


def dense_signals(
    Y: Array,
    mask: NDArray[np.bool_] | None,
    K_x: Array | None,
    K_z: Array | None,
    L: Array,
    lam: float,
    rho: float,
    *,
    whitened: bool = True,
) -> Array:
    r"""Solve the signal step of one graph as one dense system of ``n m`` unknowns.

    With :math:`C = K_x \otimes K_z` and columns stacked, the prior covariance of the signals is

    .. math::
        \Sigma = C^{1/2} \Big(\lambda I + \rho\, (K_x^{1/2} L K_x^{1/2}) \otimes D\Big)^{-1}
                 C^{1/2}, \qquad D = I \text{ (whitened) or } K_z,

    which is :math:`(\lambda C^{-1} + \rho\, L \otimes K_z^{-1})^{-1}`, or
    :math:`(\lambda C^{-1} + \rho\, L \otimes I)^{-1}`, where the kernels are invertible, and is
    defined where they are not. With M the rows of the identity at the observed entries,

    .. math:: \hat y = \Sigma M^\top (M \Sigma M^\top + I)^{-1} M y.

    Parameters
    ----------
    Y : array (n, m)
        Observations; what the mask hides is not read.
    mask : bool array (n, m) or None
        True where observed; None when everything is.
    K_x, K_z : array (m, m), array (n, n), or None
        Kernels; None is the identity.
    L : array (m, m)
        Laplacian.
    lam, rho : float
        Weights. ``lam = 0`` only with identity kernels, where the prior has no covariance and
        :math:`(M^\top M + \rho\, L \otimes I)\, \hat y = M^\top M y` is solved instead.
    whitened : bool
        Whether the smoothness term is whitened by K_z.

    Returns
    -------
    array (n, m)
        Fitted signals.
    """
    Y, seen = _observed(Y, mask)
    n, m = Y.shape
    K_x, K_z, L = _kernel(K_x, m), _kernel(K_z, n), np.asarray(L, dtype=float)
    y, index = Y.ravel(order="F"), np.flatnonzero(seen.ravel(order="F"))
    if lam == 0.0:
        if not (np.array_equal(K_x, np.eye(m)) and np.array_equal(K_z, np.eye(n))):
            raise ValueError("lam = 0 leaves the ridge out, which only identity kernels allow")
        precision = np.diag(seen.ravel(order="F").astype(float)) + rho * np.kron(L, np.eye(n))
        if np.linalg.matrix_rank(precision, hermitian=True) < n * m:
            raise ValueError(
                "with lam = 0 the observed entries do not determine the signals: a row has a "
                "component of the graph without observations; use lam > 0"
            )
        return np.asarray(np.linalg.solve(precision, y).reshape(Y.shape, order="F"))
    root_x, root_z = _root(K_x), _root(K_z)
    inner = rho * np.kron(root_x @ L @ root_x, np.eye(n) if whitened else K_z)
    inner[np.diag_indices_from(inner)] += lam
    root = np.kron(root_x, root_z)
    covariance = root @ np.linalg.solve(inner, root)
    system = covariance[np.ix_(index, index)] + np.eye(len(index))
    fitted = covariance[:, index] @ np.linalg.solve(system, y[index])
    return np.asarray(fitted.reshape(Y.shape, order="F"))


def _signal_parts(
    Y: Array,
    seen: NDArray[np.bool_],
    K_x: Array,
    K_z: Array,
    L: Array,
    A: Array,
    lam: float,
    rho: float,
    whitened: bool,
) -> dict[str, float]:
    fitted = K_z @ A @ K_x
    if whitened:
        smoothness = np.trace(A @ K_x @ L @ K_x @ A.T @ K_z)
    else:
        smoothness = np.trace(fitted @ L @ fitted.T)
    return {
        "fit": float(np.sum(np.where(seen, Y - fitted, 0.0) ** 2)),
        "ridge": float(lam * np.trace(K_z @ A @ K_x @ A.T)),
        "smoothness": float(rho * smoothness),
    }


def dense_objective(
    Y: Array,
    mask: NDArray[np.bool_] | None,
    K_x: Array | None,
    K_z: Array | None,
    L: Array,
    A: Array,
    lam: float,
    rho: float,
    psi: float,
    *,
    whitened: bool = True,
    regularizer: str = "frobenius",
    barrier: float = 1.0,
) -> dict[str, float]:
    r"""Return the parts of the paper's objective, written in the coefficients A.

    .. math::
        \|M \circ (Y - K_z A K_x)\|_F^2 + \lambda \operatorname{tr}(K_z A K_x A^\top)
        + \rho \operatorname{tr}(A K_x L K_x A^\top K_z) + \psi \|L\|_F^2,

    with smoothness :math:`\operatorname{tr}(K_z A K_x L K_x A^\top K_z)` where it is not
    whitened, and :math:`\psi \|W\|_F^2 - \beta \sum_i \log L_{ii}` as the log-degree penalty.

    Parameters
    ----------
    Y, mask, K_x, K_z, L, lam, rho, whitened
        As in :func:`dense_signals`.
    A : array (n, m)
        Coefficients.
    psi, regularizer, barrier
        As in :func:`cvxpy_graph_step`.

    Returns
    -------
    dict
        ``fit``, ``ridge``, ``smoothness`` and ``graph``, each with its weight; their sum is the
        objective.
    """
    Y, seen = _observed(Y, mask)
    n, m = Y.shape
    K_x, K_z, L = _kernel(K_x, m), _kernel(K_z, n), np.asarray(L, dtype=float)
    parts = _signal_parts(Y, seen, K_x, K_z, L, np.asarray(A, dtype=float), lam, rho, whitened)
    if regularizer == "frobenius":
        parts["graph"] = float(psi * np.linalg.norm(L, "fro") ** 2)
    elif regularizer == "log-degree":
        degrees = np.diag(L)
        weights = np.diag(degrees) - L
        parts["graph"] = float(
            psi * np.linalg.norm(weights, "fro") ** 2 - barrier * np.sum(np.log(degrees))
        )
    else:
        raise ValueError(f"unknown regularizer {regularizer!r}; use 'frobenius' or 'log-degree'")
    return parts
