"""The observed entries of incomplete data, in a basis that makes each node's own part diagonal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kgl._types import Array
from kgl.kernels import KernelEigen

__all__ = ["ObservedEntries"]


class ObservedEntries(NamedTuple):
    r"""Observed entries of all nodes, each node in the eigenbasis of its part of K_z.

    For the rows in which node j is observed, :math:`Q_z \sqrt z = V_j\, E_j` with the left singular
    vectors :math:`V_j`. Then :math:`V_j^\top K_z V_j = E_j E_j^\top = \theta_j` is diagonal. Nodes
    with fewer entries than others are filled up with zeros, so that one matrix product serves all.

    Attributes
    ----------
    factors : array (m, length, r)
        ``E_j``.
    factors_t : array (m, r, length)
        Their transposes.
    theta : array (m, length)
        ``theta_j``.
    rhs : array (m, length)
        ``V_j' y_j``.
    outside : float
        Sum of squares of the part of the data that no direction of K_z reaches.
    """

    factors: Array
    factors_t: Array
    theta: Array
    rhs: Array
    outside: float

    @classmethod
    def of(cls, Y: Array, mask: np.ndarray, K_z: KernelEigen) -> ObservedEntries:
        """Decompose K_z over the rows in which each node is observed."""
        root, n_nodes = K_z.vectors * np.sqrt(K_z.values), Y.shape[1]
        length = min(int(mask.sum(axis=0).max()), len(K_z.values))
        factors = np.zeros((n_nodes, length, len(K_z.values)))
        theta, rhs = np.zeros((2, n_nodes, length))
        for j in range(n_nodes):
            rows = mask[:, j]
            # the left singular vectors of the factor are the eigenvectors of the restricted K_z
            V, values, right = np.linalg.svd(root[rows], full_matrices=False)
            factors[j, : len(values)] = values[:, None] * right
            theta[j, : len(values)] = values**2
            rhs[j, : len(values)] = V.T @ Y[rows, j]
        outside = max(float(np.sum(Y**2) - np.sum(rhs**2)), 0.0)
        return cls(factors, np.ascontiguousarray(factors.swapaxes(-1, -2)), theta, rhs, outside)

    def with_values(self, Y: Array, mask: np.ndarray, K_z: KernelEigen) -> ObservedEntries:
        """Return the same entries with other values, without decomposing anything again.

        ``V_j' y = theta_j^-1 E_j (Q_z sqrt(z))' y``; directions with next to no variance, of which
        this would know little, have no effect on signals and are left out.
        """
        root = K_z.vectors * np.sqrt(K_z.values)
        spread = root.T @ np.where(mask, Y, 0.0)  # (r, m)
        products = np.matmul(self.factors, spread.T[:, :, None])[..., 0]
        known = self.theta > 1e-10 * self.theta.max()
        rhs = np.where(known, products / np.where(known, self.theta, 1.0), 0.0)
        outside = max(float(np.sum(np.where(mask, Y, 0.0) ** 2) - np.sum(rhs**2)), 0.0)
        return self._replace(rhs=rhs, outside=outside)

    def collect(self, nodes: Array, out: Array | None = None) -> Array:
        """Return ``E_j w_j`` (G, m, length) for nodes w (G, m, r)."""
        out = None if out is None else out.swapaxes(0, 1)
        return np.matmul(nodes.swapaxes(0, 1), self.factors_t, out=out).swapaxes(0, 1)

    def spread(self, entries: Array, out: Array | None = None) -> Array:
        """Return ``E_j' c_j`` (G, m, r) for entries c (G, m, length)."""
        out = None if out is None else out.swapaxes(0, 1)
        return np.matmul(entries.swapaxes(0, 1), self.factors, out=out).swapaxes(0, 1)
