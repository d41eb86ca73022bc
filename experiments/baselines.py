"""Models that learn nothing, to measure the others by."""

from __future__ import annotations

import numpy as np

from kgl.kernels import kernel_eigen
from kgl.laplacian import Array

__all__ = ["inverse_graph", "kernel_graph"]


def kernel_graph(Y: Array, *, K_x: Array, density: float | None = None) -> Array:
    """Take the kernel of the nodes for the weights of a graph; the signals are not looked at.

    Parameters
    ----------
    Y : array (n, m)
        Not used.
    K_x : array (m, m)
        Kernel of the nodes.
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
    """Take the negative entries of the inverse of the kernel for the weights of a graph.

    A kernel ``(I + alpha L)^-1`` gives the graph itself: nothing is left to be learned.

    Parameters
    ----------
    Y : array (n, m)
        Not used.
    K_x : array (m, m)
        Kernel of the nodes; a singular one is inverted where it can be.

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
