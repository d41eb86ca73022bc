"""Signal steps of complete data: closed forms."""

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
    node_precision,
    sandwich,
)

__all__ = ["GramStep", "SpectralStep"]


class GramStep(SignalStep):
    """Complete data, independent rows: only the Gram matrix Y'Y matters, at O(m^3) a point."""

    def __init__(self, data: SignalData, spec: ModelSpec) -> None:
        super().__init__(data, spec)
        self._gram = data.Y.T @ data.Y
        self.floats_per_point = 4 * self._gram.size

    def _solve(
        self, L: Array, lam: Array, rho: Array, warm: Array | None, want: Wanted
    ) -> SignalSolution:
        # R = (I + P^+)^+, so that Yhat = Y R
        R = sandwich(self.data, node_precision(self.data, L, lam, rho, 1.0))
        solution = SignalSolution(np.matmul(R, np.matmul(self._gram, R)))
        if want.parts:
            noise = np.eye(R.shape[-1]) - R  # Y - Yhat = Y noise
            product = np.matmul(self._gram, noise)
            solution.fit = dot(noise, product)
            solution.prior = dot(R, product)
        if want.signals:
            solution.signals = np.matmul(self.data.Y, R)
        return solution


class SpectralStep(SpectralBase):
    """Complete data with a kernel over the observations: a filter in the joint eigenbasis."""

    def _solve(
        self, L: Array, lam: Array, rho: Array, warm: Array | None, want: Wanted
    ) -> SignalSolution:
        U, s = self._prior(L, lam, rho)
        C = np.matmul(self._coefficients, U)
        C /= 1.0 + s  # the residuals, in the joint basis
        solution = SignalSolution(np.empty(0))
        if want.parts:
            outside = np.sum(self.data.Y**2) - np.sum(self._coefficients**2)
            solution.fit = dot(C, C) + max(outside, 0.0)
            solution.prior = dot(C, s * C)
        C *= s  # the fitted signals
        if want.signals:
            solution.signals = np.matmul(self._Qz, np.matmul(C, U.swapaxes(-1, -2)))
        inner = self._gram(C)
        solution.gram = np.matmul(U, np.matmul(inner, U.swapaxes(-1, -2)))
        return solution
