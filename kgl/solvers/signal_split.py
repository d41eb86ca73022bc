"""Signal steps of incomplete data with a kernel over the observations: nodes alone, then links."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kgl._types import Array
from kgl.kernels import KernelEigen
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

__all__ = ["SplitStep"]


class SplitStep(SpectralBase):
    r"""Conjugate gradients on what links the nodes; what each node does alone is solved exactly.

    Let :math:`P \succeq \operatorname{diag}(p)`. Then :math:`\Sigma = \operatorname{diag}(p)
    \otimes K_z + \Phi s' \Phi^\top` with :math:`\Phi = U \otimes Q_z`, :math:`s' \ge 0`. One part
    keeps nodes apart, so that :math:`T = I + M (\operatorname{diag}(p) \otimes K_z) M` is inverted
    node by node. With :math:`x = \sqrt{s'}\, \Phi^\top \alpha` what is left of
    :math:`(I + M \Sigma M)\, \alpha = M y` is

    .. math::
        \alpha = T^{-1} M (y - \Phi \sqrt{s'} x), \qquad
        (I + \sqrt{s'}\, \Phi^\top M T^{-1} M \Phi \sqrt{s'})\, x
        = \sqrt{s'}\, \Phi^\top M T^{-1} M y .

    Its exact diagonal is the preconditioner. With weakly linked nodes :math:`s'` is next to nothing
    and so is the number of iterations, whatever is missing and however :math:`K_z` is conditioned.

    As :math:`L \preceq 2 \operatorname{diag}(L)`, one may take :math:`p_j = 1 / (\lambda h_j +
    2 \rho L_{jj})` with :math:`K_x^{-1} \preceq \operatorname{diag}(h)`: all of the prior for a
    node without links. Without whitening, nodes and observations are no Kronecker product, and the
    only p that leaves the eigenbasis as it is has equal entries.

    In the bases of :class:`ObservedEntries` T is the diagonal :math:`1 + p_j \theta_j`, and a
    product costs the same whatever the number of observations.
    """

    def __init__(self, data: SignalData, spec: ModelSpec, *, tol: float = 1e-12) -> None:
        super().__init__(data, spec)
        assert data.mask is not None
        self._entries = data.entries
        self.block = block_size(self._coefficients.size)
        self._bound = _diagonal_bound(data.K_x)
        self.tol = tol
        self.floats_per_point += 8 * self._coefficients.size + 3 * self._entries.rhs.size

    def _split(self, L: Array, lam: Array, rho: Array) -> tuple[Array, Array, Array]:
        """Return the node basis U, p (G, m), and the roots (G, m, r) of s' / z."""
        if not self.spec.whitened:
            U, s = self._prior(L, lam, rho)
            s /= self._z[:, None]
            least = s.reshape(len(s), -1).min(axis=1)
            s -= least[:, None, None]
            alone = np.broadcast_to(least[:, None], U.shape[:2])
            return U, alone, np.sqrt(s).swapaxes(-1, -2).copy()
        P, nodes = node_covariance(self.data, L, lam, rho), np.arange(L.shape[-1])
        degrees = np.einsum("gii->gi", L)
        alone = 1.0 / (lam[:, None] * self._bound + 2.0 * rho[:, None] * degrees)
        P[:, nodes, nodes] -= alone
        g, U = np.linalg.eigh(P)
        np.maximum(g, 0.0, out=g)
        root = np.broadcast_to(np.sqrt(g)[:, :, None], (*g.shape, len(self._z)))
        return U, alone, root.copy()

    def _solve(
        self, L: Array, lam: Array, rho: Array, warm: Array | None, want: Wanted
    ) -> SignalSolution:
        U, alone, root = self._split(L, lam, rho)
        Ut = np.ascontiguousarray(U.swapaxes(-1, -2))
        entries = self._entries
        damping = 1.0 / (1.0 + alone[:, :, None] * entries.theta)  # 1 / T
        each = np.matmul(damping.swapaxes(0, 1), entries.factors**2).swapaxes(0, 1)
        diagonal = 1.0 + root**2 * np.matmul(Ut**2, each)
        rhs = root * np.matmul(Ut, entries.spread(damping * entries.rhs))
        # at the solution x is this function of the residuals, whatever basis it was found in
        start = None if warm is None else root * np.matmul(Ut, warm)
        arrays = (U, Ut, root, damping)
        x, count = conjugate_gradients(self._operator, arrays, diagonal, rhs, start, self.tol)
        shared = np.matmul(U, root * x)
        residuals = (entries.rhs - entries.collect(shared)) * damping
        spread = np.ascontiguousarray(entries.spread(residuals))
        F = (alone[:, :, None] * spread + shared).swapaxes(-1, -2) * self._root_z
        solution = SignalSolution(np.empty(0), n_inner=count, warm=spread)
        if want.parts:
            solution.fit = dot(residuals, residuals) + entries.outside
            solution.prior = dot(residuals, entries.rhs - residuals)
        if want.signals:
            solution.signals = np.matmul(self._Qz, F)
        solution.gram = self._gram(F)
        return solution

    def _operator(
        self, U: Array, Ut: Array, root: Array, damping: Array
    ) -> Callable[[Array], Array]:
        inner, nodes = np.empty_like(root), np.empty_like(root)
        observed = np.empty_like(damping)

        def product(x: Array) -> Array:
            np.multiply(root, x, out=inner)
            np.matmul(U, inner, out=nodes)
            self._entries.collect(nodes, out=observed)
            np.multiply(observed, damping, out=observed)
            self._entries.spread(observed, out=nodes)
            np.matmul(Ut, nodes, out=inner)
            np.multiply(inner, root, out=inner)
            np.add(inner, x, out=inner)
            return inner

        return product


def _diagonal_bound(K: KernelEigen) -> Array:
    """Return h (m,) with ``K^-1 <= diag(h)``, infinite where K is singular.

    By Gershgorin's theorem the absolute row sums of the inverse will do, and so will its largest
    eigenvalue; the bound that leaves nodes more of their own is taken.
    """
    if K.is_identity:
        return np.ones(K.size)
    if K.rank < K.size:
        return np.full(K.size, np.inf)
    sums = np.abs((K.vectors / K.values) @ K.vectors.T).sum(axis=1)
    largest = np.full(K.size, 1.0 / K.values.min())
    return sums if (1.0 / sums).sum() > (1.0 / largest).sum() else largest
