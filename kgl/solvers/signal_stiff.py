"""Signal steps where rho is so large beside lam that ``lam I + rho L`` would lose lam."""

from __future__ import annotations

import numpy as np

from kgl._types import Array
from kgl.solvers.cg import dot
from kgl.solvers.signal_base import SignalData, SignalSolution, SpectralBase, Wanted
from kgl.solvers.signal_iterative import CoefficientStep

__all__ = ["StiffMaskedStep", "StiffStep"]


def _stiff_modes(data: SignalData, L: Array) -> tuple[Array, Array]:
    r"""Return eigenvalues (G, r) and eigenvectors (G, r, r) of ``B'LB``, null ones exactly zero.

    They are read off the singular values of :math:`\sqrt{w_{ij}} (b_i - s_{ij} b_j)`, one row an
    edge, with the sign of the edge in a signed graph and 1 otherwise.
    A singular value is known to about 1e-16 of the largest, hence its square to 1e-32, where an
    eigenvalue of the product itself would be known to 1e-16 alone; and what is zero but for
    rounding is set to zero, so that no rho makes a penalty of it.
    """
    m = L.shape[-1]
    B = np.eye(m) if data.node_factor is None else data.node_factor
    rank = B.shape[1]
    rows, cols = np.triu_indices(m, 1)
    values, vectors = np.empty((len(L), rank)), np.empty((len(L), rank, rank))
    for g, graph in enumerate(L):
        links = -graph[rows, cols]
        on = links != 0.0
        far = np.sign(links[on])[:, None] * B[cols[on]]
        factor = np.sqrt(np.abs(links[on]))[:, None] * (B[rows[on]] - far)
        if len(factor) > rank:
            factor = np.linalg.qr(factor, mode="r")
        padded = np.zeros((rank, rank))
        padded[: len(factor)] = factor
        _, singular, right = np.linalg.svd(padded)
        singular[singular <= 8 * m * np.finfo(float).eps * singular[0]] = 0.0
        values[g], vectors[g] = singular**2, right.T
    return values, vectors


class StiffStep(SpectralBase):
    """Complete data where rho is beyond all bounds beside lam, in the eigenbasis of the graph.

    Only ratios that lie between 0 and 1 are formed. The Gram matrix is that of signals less their
    mean over the nodes, which changes neither tr(G L) nor a distance: differences between nodes
    are then not lost beside what the nodes have in common. In a signed graph the mean counts.
    """

    def _precisions(self, L: Array, lam: Array, rho: Array) -> tuple[Array, Array]:
        """Return the node basis U (G, m, m) and the prior precisions (G, r, m), possibly inf."""
        values, V = _stiff_modes(self.data, L)
        B, z = self.data.node_factor, self._z[:, None]
        with np.errstate(divide="ignore", over="ignore"):
            penalty = rho[:, None] * values
            if not self.spec.whitened:
                return V, lam[:, None, None] / z + penalty[:, None, :]
            penalty += lam[:, None]
            if B is None:
                return V, penalty[:, None, :] / z
            # P = F F' with F = B V penalty^(-1/2), so its eigenvalues are squares too
            U, singular, _ = np.linalg.svd(np.matmul(B, V) / np.sqrt(penalty)[:, None, :])
            variance = np.zeros((len(L), len(B)))
            variance[:, : singular.shape[1]] = singular**2
            return U, 1.0 / (z * variance[:, None, :])

    def _solve(
        self, L: Array, lam: Array, rho: Array, warm: Array | None, want: Wanted
    ) -> SignalSolution:
        U, precision = self._precisions(L, lam, rho)
        with np.errstate(divide="ignore"):
            kept, lost = 1.0 / (1.0 + precision), 1.0 / (1.0 + 1.0 / precision)
        C = np.matmul(self._coefficients, U)
        solution = SignalSolution(np.empty(0))
        if want.parts:
            outside = np.sum(self.data.Y**2) - np.sum(self._coefficients**2)
            solution.fit = dot(lost * C, lost * C) + max(outside, 0.0)
            solution.prior = dot(lost * C, kept * C)
        C *= kept  # the fitted signals
        if want.signals:
            solution.signals = np.matmul(self._Qz, np.matmul(C, U.swapaxes(-1, -2)))
        centred = U if self.spec.signed else U - U.mean(axis=1, keepdims=True)
        inner = self._gram(C)
        solution.gram = np.matmul(centred, np.matmul(inner, centred.swapaxes(-1, -2)))
        return solution


class StiffMaskedStep(CoefficientStep, StiffStep):
    """Incomplete data where rho is beyond all bounds beside lam: as :class:`StiffStep`."""

    def _prior(self, L: Array, lam: Array, rho: Array) -> tuple[Array, Array]:
        U, precision = self._precisions(L, lam, rho)
        return U, 1.0 / precision

    def _gram(self, F: Array) -> Array:
        return super()._gram(F if self.spec.signed else F - F.mean(axis=-1, keepdims=True))
