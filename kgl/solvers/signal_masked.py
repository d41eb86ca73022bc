"""Signal steps of incomplete data by dense systems: of single rows, or of few entries."""

from __future__ import annotations

from collections.abc import Iterator

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
#: Rows from which on the inverse of a whole matrix pays.
_MANY_ROWS = 8


class RowwiseStep(SignalStep):
    r"""Incomplete data, independent rows: one small system per row, all rows batched.

    For a row with observed entries o and missing ones u, :math:`(I + P)_{oo}\, \alpha = y_o` has
    as many unknowns as entries. Where fewer are missing than observed, the inverse of the whole
    matrix, :math:`S = (I + P)^{-1}`, gives the inverse of the block by one of the other,

    .. math:: (I + P)_{oo}^{-1} = S_{oo} - S_{ou} S_{uu}^{-1} S_{uo},

    so that no system of many rows has more than m/2 unknowns. S and I + P are equally well
    conditioned.
    """

    def __init__(self, data: SignalData, spec: ModelSpec) -> None:
        super().__init__(data, spec)
        assert data.mask is not None
        n, m = data.Y.shape
        self._groups = list(_row_groups(data.mask))
        self.floats_per_point = 3 * n * m + 5 * m * m

    def _residuals(self, P: Array) -> Array:
        """Return alpha (G, n, m), in blocks of rows to bound memory."""
        n, m = self.data.Y.shape
        A = P + np.eye(m)
        S = A
        if any(flipped for _, _, flipped in self._groups):
            S = np.asarray(np.linalg.inv(A), dtype=float)
        out = np.zeros((len(P), n, m))
        for rows, entries, flipped in self._groups:
            size = max(1, _ROW_BLOCK_FLOATS // (len(P) * max(1, entries.shape[1]) ** 2))
            for begin in range(0, len(rows), size):
                some, where = rows[begin : begin + size], entries[begin : begin + size]
                start = np.matmul(self.data.Y[some], S) if flipped else self.data.Y[some]
                found = _solve_blocks(S if flipped else A, where, start)
                if flipped:
                    out[:, some] = start - np.matmul(found, S)
                else:
                    out[:, some] = found
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


def _row_groups(mask: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
    """Yield rows with equally many entries to solve for, those entries, and if they are missing.

    The entries to solve for are the observed ones, or the missing ones where they are fewer and
    there are enough rows to make up for the inverse of the whole matrix.
    """
    flipped = (2 * mask.sum(axis=1) > mask.shape[1]) & (len(mask) >= _MANY_ROWS)
    for missing in (False, True):
        chosen = ~mask if missing else mask
        for count in np.unique(chosen[flipped == missing].sum(axis=1)):
            rows = np.flatnonzero((flipped == missing) & (chosen.sum(axis=1) == count))
            yield rows, np.nonzero(chosen[rows])[1].reshape(len(rows), int(count)), missing


def _solve_blocks(A: Array, entries: np.ndarray, rhs: Array) -> Array:
    """Solve ``A_ee x_e = b_e`` for the entries e of each row (R, k), zero elsewhere: (G, R, m)."""
    rows = np.arange(len(entries))[:, None]
    system = A[:, entries[:, :, None], entries[:, None, :]]
    b = np.broadcast_to(rhs, (len(A), *rhs.shape[-2:]))[:, rows, entries]
    x = np.zeros((len(A), len(entries), A.shape[-1]))
    x[:, rows, entries] = np.linalg.solve(system, b[..., None])[..., 0]
    return x


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
