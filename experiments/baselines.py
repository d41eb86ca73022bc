"""Baselines without learning: the node kernel, or its inverse, used as the graph."""

from __future__ import annotations

import numpy as np

from kgl._types import Array
from kgl.kernels import kernel_eigen

__all__ = ["inverse_graph", "kernel_graph"]


def kernel_graph(Y: Array, *, K_x: Array, density: float | None = None) -> Array:
    """Use the node kernel as the graph; the signals are ignored.

    Parameters
    ----------
    Y : array (n, m)
        Not used.
    K_x : array (m, m)
        Node kernel.
    density : float, optional
        Share of pairs to keep, the heaviest ones; all of them by default.

    Returns
    -------
    array (m, m)
        Weights that sum to m, as those of the learned graphs do.

    Examples
    --------
    >>> K_x = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.1], [0.2, 0.1, 1.0]])
    >>> kernel_graph(np.zeros((1, 3)), K_x=K_x, density=1 / 3)
    array([[0. , 1.5, 0. ],
           [1.5, 0. , 0. ],
           [0. , 0. , 0. ]])
    """
    W = np.maximum(K_x, 0.0)
    np.fill_diagonal(W, 0.0)
    m = len(W)
    if density is not None:
        pairs = np.sort(W[np.triu_indices(m, 1)])[::-1]
        least = pairs[max(1, round(density * len(pairs))) - 1]
        W = np.where(least <= W, W, 0.0)
    return np.asarray(W * m / W.sum() if W.any() else W)


def inverse_graph(Y: Array, *, K_x: Array) -> Array:
    """Use the negative entries of the inverse of the node kernel as the graph.

    For ``K_x = (I + alpha L)^-1`` this is the true graph.

    Parameters
    ----------
    Y : array (n, m)
        Not used.
    K_x : array (m, m)
        Node kernel; of a singular one the pseudoinverse is used.

    Returns
    -------
    array (m, m)
        Weights that sum to m, as those of the learned graphs do.

    Examples
    --------
    >>> L = np.array([[1.0, -1.0, 0.0], [-1.0, 1.5, -0.5], [0.0, -0.5, 0.5]])
    >>> inverse_graph(np.zeros((1, 3)), K_x=np.linalg.inv(np.eye(3) + 100 * L)).round(3)
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    m = len(K_x)
    eigen = kernel_eigen(K_x, "K_x", m)
    if eigen.vectors is None:
        return np.zeros((m, m))
    inverse = (eigen.vectors / eigen.values) @ eigen.vectors.T
    W = np.maximum(-0.5 * (inverse + inverse.T), 0.0)
    np.fill_diagonal(W, 0.0)
    return np.asarray(W * m / W.sum() if W.any() else W)
