"""Signal steps of incomplete data by dense systems: of single rows, or of few entries."""

from __future__ import annotations

import numpy as np

from kgl._types import Array
from kgl.problem import ModelSpec
from kgl.solvers.cg import dot
from kgl.solvers.signal_base import (
    SignalData,
    SignalSolution,
    SignalStep,
    SpectralBase,
    Wanted,
    node_covariance,
)

__all__ = ["DirectStep", "RowwiseStep"]

#: Doubles held at once for the systems of single rows.
_ROW_BLOCK_FLOATS = 4_000_000


class RowwiseStep(SignalStep):
    """Incomplete data, independent rows: one m x m system per row, all rows batched."""

    def __init__(self, data: SignalData, spec: ModelSpec) -> None:
        super().__init__(data, spec)
        assert data.mask is not None
        self._mask = data.mask.astype(float)
        n, m = data.Y.shape
        self.floats_per_point = 3 * n * m + 4 * m * m

    def _residuals(self, P: Array) -> Array:
        # (I + M P M) a = M y for each row of each graph, in blocks of rows to bound memory
        n, m = self.data.Y.shape
        nodes = np.arange(m)
        out = np.empty((len(P), n, m))
        size = max(1, _ROW_BLOCK_FLOATS // (len(P) * m * m))
        for begin in range(0, n, size):
            rows = slice(begin, min(begin + size, n))
            mask = self._mask[rows]
            system = P[:, None] * mask[:, :, None]
            system *= mask[:, None, :]
            system[..., nodes, nodes] += 1.0
            rhs = np.broadcast_to(self.data.Y[rows, :, None], (*system.shape[:2], m, 1))
            out[:, rows] = np.linalg.solve(system, rhs)[..., 0]
        return out

    def _solve(
        self, L: Array, lam: Array, rho: Array, warm: Array | None, want: Wanted
    ) -> SignalSolution:
        P = node_covariance(self.data, L, lam, rho)
        residuals = self._residuals(P)
        fitted = np.matmul(residuals, P)
        solution = SignalSolution(np.matmul(fitted.swapaxes(-1, -2), fitted))
        if want.parts:
            solution.fit = dot(residuals, residuals)
            solution.prior = dot(residuals, fitted)
        if want.signals:
            solution.signals = fitted
        return solution


class DirectStep(SpectralBase):
    r"""Few observed entries, kernel over the observations: one dense system per point.

    The covariance of the observed entries, :math:`M \Sigma M` without its empty rows, is
    :math:`P_{jj'} (K_z)_{ii'}` for entries (i, j) and (i', j') in the whitened models, and
    :math:`\sum_k q_{ik} q_{i'k} (P_k)_{jj'}` over the directions :math:`q_k` of :math:`K_z` in the
    other.
    """

    def __init__(self, data: SignalData, spec: ModelSpec) -> None:
        super().__init__(data, spec)
        assert data.mask is not None
        self._rows, self._nodes = np.nonzero(data.mask)
        self._values = data.Y[self._rows, self._nodes]
        self._Q = self._Qz[self._rows]  # (N, r)
        count, m = len(self._values), data.Y.shape[1]
        self.floats_per_point += 3 * count**2 + (2 + len(self._z)) * m * m + 2 * data.Y.size

    def _between(self, P: Array, weight: Array) -> Array:
        """Return ``weight[a, b] P[node of a, node of b]`` for observed entries a, b."""
        return np.asarray(P[:, self._nodes[:, None], self._nodes] * weight)

    def _solve(
        self, L: Array, lam: Array, rho: Array, warm: Array | None, want: Wanted
    ) -> SignalSolution:
        Q, entry = self._Q, np.arange(len(self._values))
        if self.spec.whitened:
            P = node_covariance(self.data, L, lam, rho)
            system = self._between(P, (Q * self._z) @ Q.T)
        else:
            U, s = self._prior(L, lam, rho)
            system = np.zeros((len(L), len(entry), len(entry)))
            for k in range(len(self._z)):
                part = np.matmul(U * s[:, k, None, :], U.swapaxes(-1, -2))
                system += self._between(part, np.outer(Q[:, k], Q[:, k]))
        system[:, entry, entry] += 1.0
        rhs = np.broadcast_to(self._values[:, None], (len(L), len(entry), 1))
        x = np.asarray(np.linalg.solve(system, rhs)[..., 0], dtype=float)
        residuals = np.zeros((len(L), *self.data.Y.shape))
        residuals[:, self._rows, self._nodes] = x
        C = np.matmul(self._Qz.T, residuals)
        if self.spec.whitened:
            F = self._z[:, None] * np.matmul(C, P)
        else:
            F = np.matmul(s * np.matmul(C, U), U.swapaxes(-1, -2))
        solution = SignalSolution(np.empty(0))
        if want.parts:
            solution.fit = dot(x, x)
            solution.prior = dot(x, self._values - x)
        if want.signals:
            solution.signals = np.matmul(self._Qz, F)
        solution.gram = self._gram(F)
        return solution
