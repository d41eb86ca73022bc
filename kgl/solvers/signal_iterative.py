"""Signal steps of incomplete data with a kernel over the observations: conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kgl._types import Array
from kgl.problem import ModelSpec
from kgl.solvers.cg import conjugate_gradients, dot
from kgl.solvers.signal_base import (
    SignalData,
    SignalSolution,
    SpectralBase,
    Wanted,
    block_size,
    node_covariance,
)

__all__ = ["CoefficientStep", "ResidualStep"]


class CoefficientStep(SpectralBase):
    r"""Incomplete data, kernel over the observations: conjugate gradients on coefficients.

    With whitened coefficients x, where :math:`\hat Y = Q_z (\sqrt{s} \circ x) U^\top`, the system
    is :math:`(I + \sqrt{s}\, \Phi^\top M \Phi \sqrt{s})\, x = \sqrt{s}\, \Phi^\top M y` with
    :math:`\Phi = U \otimes Q_z`. It is preconditioned by its exact diagonal, which is the closed
    form of complete data when nothing is missing. A product costs four thin matrix products.
    """

    def __init__(self, data: SignalData, spec: ModelSpec, *, tol: float = 1e-12) -> None:
        super().__init__(data, spec)
        assert data.mask is not None
        self._mask_t = data.mask.T.astype(float)
        self._Qz_t = np.ascontiguousarray(self._Qz.T)
        self._sq_mask = (self._Qz**2).T @ data.mask  # (r, m)
        self.tol = tol
        self.floats_per_point += 6 * self._coefficients.size + 2 * data.Y.size

    def _solve(
        self, L: Array, lam: Array, rho: Array, warm: Array | None, want: Wanted
    ) -> SignalSolution:
        U, s = self._prior(L, lam, rho)
        # Nodes first, (G, m, r): products with Q_z are then one matrix product for all points.
        Ut = np.ascontiguousarray(U.swapaxes(-1, -2))
        root = np.sqrt(s).swapaxes(-1, -2).copy()
        diagonal = 1.0 + root**2 * np.matmul(Ut**2, self._sq_mask.T)
        rhs = root * np.matmul(Ut, self._coefficients.T)
        start = None
        if warm is not None:
            # at the solution x = sqrt(s) Phi' M (y - yhat), whatever basis it was found in
            start = root * np.matmul(Ut, flat_product(warm, self._Qz))

        def operator(U: Array, Ut: Array, root: Array) -> Callable[[Array], Array]:
            inner, spread = np.empty_like(root), np.empty_like(root)
            V = np.empty((len(U), *self._mask_t.shape))

            def product(x: Array) -> Array:
                np.multiply(root, x, out=inner)
                np.matmul(U, inner, out=spread)
                flat_product(spread, self._Qz_t, out=V)
                np.multiply(V, self._mask_t, out=V)
                flat_product(V, self._Qz, out=spread)
                np.matmul(Ut, spread, out=inner)
                np.multiply(inner, root, out=inner)
                np.add(inner, x, out=inner)
                return inner

            return product

        x, count = conjugate_gradients(operator, (U, Ut, root), diagonal, rhs, start, self.tol)
        F = np.matmul(U, root * x)
        fitted = flat_product(F, self._Qz_t)  # before the Gram matrix overwrites F
        residuals = (self.data.Y.T - fitted) * self._mask_t
        solution = SignalSolution(self._gram(F.swapaxes(-1, -2)), n_inner=count, warm=residuals)
        if want.parts:
            solution.fit = dot(residuals, residuals)
            solution.prior = dot(residuals, fitted)
        if want.signals:
            solution.signals = fitted.swapaxes(-1, -2)
        return solution


class ResidualStep(SpectralBase):
    r"""Sparsely observed data, kernel over the observations: conjugate gradients on residuals.

    The system :math:`(I + M \Sigma M)\, \alpha = M y` has one unknown per observed entry. It is
    written in a separate basis for every node, the eigenvectors :math:`V_j` of :math:`K_z`
    restricted to the rows in which node j is observed, found once per data set. With
    :math:`E_j = V_j^\top Q_z \sqrt{z}` (restricted to the same rows) and nodes coupled by C,

    .. math:: (\Sigma \alpha)_j = E_j \Big(\sum_k C_{jk} E_k^\top \alpha_k\Big),

    and the part of a node alone is diagonal, :math:`1 + \tau_j \theta_j` with
    :math:`E_j E_j^\top = \theta_j`: it is the preconditioner. How many iterations are needed then
    depends on how strongly nodes are correlated, not on the condition of :math:`K_z`.
    """

    def __init__(self, data: SignalData, spec: ModelSpec, *, tol: float = 1e-12) -> None:
        super().__init__(data, spec)
        assert data.mask is not None
        self._entries = data.entries
        self.block = block_size(self._coefficients.size)
        self.tol = tol
        self.floats_per_point += 6 * self._entries.rhs.size + 2 * self._coefficients.size

    def _coupling(self, L: Array, lam: Array, rho: Array) -> tuple[tuple[Array, ...], Array]:
        """Return the arrays :func:`_couple` applies and the prior variances of nodes alone."""
        theta = self._entries.theta
        if self.spec.whitened:
            P = node_covariance(self.data, L, lam, rho)
            return (P,), np.einsum("gii->gi", P)[:, :, None] * theta
        U, s = self._prior(L, lam, rho)
        s /= self._z[:, None]
        alone = (rho[:, None] * np.einsum("gii->gi", L))[:, :, None] * theta
        return (U, s.swapaxes(-1, -2).copy()), theta / (lam[:, None, None] + alone)

    def _solve(
        self, L: Array, lam: Array, rho: Array, warm: Array | None, want: Wanted
    ) -> SignalSolution:
        coupling, diagonal = self._coupling(L, lam, rho)
        diagonal = diagonal + 1.0
        entries = self._entries
        rhs = np.broadcast_to(entries.rhs, diagonal.shape)

        def operator(*coupling: Array) -> Callable[[Array], Array]:
            out = np.empty((len(coupling[0]), *entries.rhs.shape))

            def product(x: Array) -> Array:
                entries.collect(_couple(coupling, entries.spread(x)), out=out)
                np.add(out, x, out=out)
                return out

            return product

        x, count = conjugate_gradients(operator, coupling, diagonal, rhs, warm, self.tol)
        W = _couple(coupling, entries.spread(x))  # F' / sqrt(z), with fitted signals Q_z F
        F = W.swapaxes(-1, -2) * self._root_z
        solution = SignalSolution(np.empty(0), n_inner=count, warm=x)
        if want.parts:
            solution.fit = dot(x, x) + entries.outside
            solution.prior = dot(x, rhs - x)
        if want.signals:
            solution.signals = np.matmul(self._Qz, F)
        solution.gram = self._gram(F)
        return solution


def flat_product(A: Array, B: Array, out: Array | None = None) -> Array:
    """Multiply the last axis of a batch by one matrix, as a single matrix product."""
    shape = (*A.shape[:-1], B.shape[1])
    flat = None if out is None else out.reshape(-1, B.shape[1])
    return np.matmul(A.reshape(-1, A.shape[-1]), B, out=flat).reshape(shape)


def _couple(coupling: Sequence[Array], W: Array) -> Array:
    """Mix the nodes: by P, or in the eigenbasis of L where the prior is no Kronecker product."""
    if len(coupling) == 1:
        return np.asarray(np.matmul(coupling[0], W))
    U, s = coupling
    inner = np.matmul(U.swapaxes(-1, -2), W)
    inner *= s
    return np.asarray(np.matmul(U, inner))
