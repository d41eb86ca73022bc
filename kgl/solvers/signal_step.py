r"""The signal step: fitted signals for a given graph, for a batch of graphs and hyperparameters.

For a fixed graph the objective is quadratic in :math:`\hat Y`, with the solution of Gaussian
process regression: a prior covariance :math:`\Sigma` over the entries of :math:`\hat Y` and unit
noise on the observed ones,

.. math::
    \hat y = \Sigma \alpha, \qquad (I + M \Sigma M)\, \alpha = M y.

In the whitened models :math:`\Sigma = P \otimes K_z` with
:math:`P = (\lambda K_x^{\dagger} + \rho L)^{\dagger}
= B (\lambda I + \rho B^\top L B)^{-1} B^\top` for any factor :math:`K_x = B B^\top`. No kernel is
ever inverted, so singular kernels need no treatment of their own. In the joint eigenbasis
(:math:`Q_z` of :math:`K_z`, :math:`U` of :math:`P` or :math:`L`) the prior is diagonal,
with variances

.. math::
    s_{ij} = z_i g_j \;\text{(whitened)}, \qquad
    s_{ij} = \frac{z_i}{\lambda + \rho\, l_j z_i} \;\text{(not whitened)}.

The cases below have one class each; all return the matrix :math:`G` for which the smoothness
term is :math:`\operatorname{tr}(G L)`, the only thing the graph step reads.

============  =======================  ==========================================
data          K_z = I                  K_z given
============  =======================  ==========================================
complete      :class:`GramStep`        :class:`SpectralStep`
incomplete    :class:`RowwiseStep`     :class:`DirectStep` for few entries, else
                                       :class:`CoefficientStep`, :class:`ResidualStep`
============  =======================  ==========================================
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kgl._types import Array
from kgl.kernels import KernelEigen
from kgl.problem import ModelSpec
from kgl.solvers.cg import conjugate_gradients, dot

#: Doubles held at once for the systems of single rows.
_ROW_BLOCK_FLOATS = 4_000_000

#: Observed entries up to which a dense system takes less time than conjugate gradients.
_FEW_ENTRIES = 200
#: Ratio of the smoothness and the ridge term above which ``lam I + rho L`` is no longer formed:
#: lam would be lost beside the rounding of rho L.
_STIFFEST = 2e12
#: The same ratio above which even squares of rounding errors decide the graph.
_HOPELESS = 1e26
#: Directions of K_z up to which it is put together where the prior is no Kronecker product.
_FEW_DIRECTIONS = 12

__all__ = ["SignalData", "SignalSolution", "SignalStep", "make_signal_step"]


@dataclass(frozen=True)
class SignalData:
    """One data set, prepared once and shared by all points of a grid.

    Attributes
    ----------
    Y : array (n, m)
        Observations, zero where missing.
    mask : bool array (n, m) or None
        True where observed; None when everything is.
    K_x, K_z : KernelEigen
        Eigendecompositions with the null directions dropped.
    """

    Y: Array
    mask: np.ndarray | None
    K_x: KernelEigen
    K_z: KernelEigen

    @cached_property
    def node_factor(self) -> Array | None:
        """``B`` (m, r) with ``K_x = B B'``, or None for the identity."""
        if self.K_x.is_identity:
            return None
        return np.asarray(self.K_x.vectors * np.sqrt(self.K_x.values))


@dataclass
class SignalSolution:
    """Fitted signals of a batch, as far as they have been worked out.

    Attributes
    ----------
    gram : array (G, m, m)
        ``tr(gram L)`` is the smoothness term.
    fit : array (G,) or None
        Squared error over the observed entries, where asked for.
    prior : array (G,) or None
        The ridge and smoothness terms together, weighted by lambda and rho, where asked for.
    signals : array (G, n, m) or None
        The fitted signals, where asked for.
    n_inner : int
        Iterations of an iterative solver, all points together; 0 for a closed form.
    warm : array (G, n, m) or None
        Residuals, from which a later solve of a similar problem can start.
    """

    gram: Array
    fit: Array | None = None
    prior: Array | None = None
    signals: Array | None = None
    n_inner: int = 0
    warm: Array | None = None

    def take(self, index: np.ndarray) -> SignalSolution:
        """Return the points of ``index``, repeated as often as it names them."""

        def pick(a: Array | None) -> Array | None:
            return None if a is None else a[index]

        return SignalSolution(
            self.gram[index],
            pick(self.fit),
            pick(self.prior),
            pick(self.signals),
            self.n_inner,
            pick(self.warm),
        )


class Wanted(NamedTuple):
    """What is asked of a solve beyond the Gram matrix."""

    parts: bool
    signals: bool


class SignalStep(ABC):
    """Solve for the signals of a batch of graphs."""

    #: doubles held per grid point while solving: what the size of a chunk is worked out from
    floats_per_point: int

    def __init__(self, data: SignalData, spec: ModelSpec) -> None:
        self.data = data
        self.spec = spec

    def solve(
        self,
        L: Array,
        lam: Array,
        rho: Array,
        *,
        warm: Array | None = None,
        parts: bool = False,
        signals: bool = False,
    ) -> SignalSolution:
        """Solve for graphs ``L`` (G, m, m) with weights ``lam`` and ``rho`` (G,).

        Parameters
        ----------
        L : array (G, m, m)
            Laplacians.
        lam, rho : array (G,)
            Weights of the ridge and smoothness terms.
        warm : array, optional
            ``warm`` of the solution of a similar problem.
        parts, signals : bool
            Whether to work out the terms of the objective, and the signals themselves.
        """
        want = Wanted(parts, signals)
        ratio = self._stiffness(L, lam, rho)
        # a ratio that is not a number is one of 0 / 0 and goes the usual way
        stiff = ratio > _STIFFEST
        if not stiff.any():
            return self._solve(L, lam, rho, warm, want)
        if ratio.max() > _HOPELESS:
            _warn_hopeless(float(ratio.max()))
        # one such point must not cost the others of its batch their way of being solved
        step = (StiffStep if self.data.mask is None else StiffMaskedStep)(self.data, self.spec)
        solution = step._solve(L[stiff], lam[stiff], rho[stiff], None, want)
        solution.warm = None
        if stiff.all():
            return solution
        warm = None if warm is None else warm[~stiff]
        rest = self._solve(L[~stiff], lam[~stiff], rho[~stiff], warm, want)
        return _merge(stiff, solution, rest)

    def _stiffness(self, L: Array, lam: Array, rho: Array) -> Array:
        """Return how large the smoothness term is beside the ridge term: rho / lam at unit scale.

        Unit scale means tr(L) = m and kernels with a mean diagonal of 1. Without a ridge term the
        noise takes its place, as in (I + rho L)^-1.
        """
        kernel = self.data.K_x if self.spec.whitened else self.data.K_z
        scale = 1.0 if kernel.is_identity else kernel.values.sum() / kernel.size
        size = rho * np.einsum("gii->g", L) / L.shape[-1] * scale
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(size / (lam if self.spec.ridge else lam + 1.0))

    @abstractmethod
    def _solve(
        self, L: Array, lam: Array, rho: Array, warm: Array | None, want: Wanted
    ) -> SignalSolution: ...


def _warn_hopeless(ratio: float) -> None:
    from sklearn.exceptions import ConvergenceWarning  # slow to load, so only where needed

    warnings.warn(
        f"the smoothness term is {ratio:.0e} times the ridge term: beyond {_HOPELESS:.0e} the "
        "differences between nodes are lost to rounding, and so is the graph; lower rho or raise "
        "lam (from a ratio of about 1e12 on, signals are equal on all linked nodes anyway)",
        ConvergenceWarning,
        stacklevel=3,
    )


def _merge(first: np.ndarray, one: SignalSolution, other: SignalSolution) -> SignalSolution:
    """Join two parts of a batch; ``first`` says which points are those of ``one``."""

    def join(a: Array | None, b: Array | None) -> Array | None:
        if b is None:
            return None
        out = np.zeros((len(first), *b.shape[1:]))
        out[~first] = b
        if a is not None:  # a part without a warm start starts from zero
            out[first] = a
        return out

    gram = join(one.gram, other.gram)
    assert gram is not None
    return SignalSolution(
        gram,
        join(one.fit, other.fit),
        join(one.prior, other.prior),
        join(one.signals, other.signals),
        one.n_inner + other.n_inner,
        join(one.warm, other.warm),
    )


def make_signal_step(data: SignalData, spec: ModelSpec, *, tol: float = 1e-12) -> SignalStep:
    """Choose the solver for a data set: complete or not, dependent observations or not."""
    if data.mask is None:
        return (GramStep if data.K_z.is_identity else SpectralStep)(data, spec)
    if data.K_z.is_identity:
        return RowwiseStep(data, spec)
    few = int(data.mask.sum()) <= _FEW_ENTRIES
    if few and (spec.whitened or len(data.K_z.values) <= _FEW_DIRECTIONS):
        return DirectStep(data, spec)
    # solve in whichever space is clearly smaller
    n_coefficients = len(data.K_z.values) * data.Y.shape[1]
    sparse = 2 * int(data.mask.sum()) < n_coefficients
    return (ResidualStep if sparse else CoefficientStep)(data, spec, tol=tol)


def _node_precision(data: SignalData, L: Array, lam: Array, rho: Array, noise: float) -> Array:
    """Return ``lam I + rho B'LB + noise B'B``, with B = I where K_x is the identity."""
    B = data.node_factor
    if B is None:
        M = rho[:, None, None] * L
        diagonal = lam[:, None] + noise
    else:
        M = np.matmul(B.T, np.matmul(L, B))
        M *= rho[:, None, None]
        diagonal = lam[:, None] + noise * data.K_x.values
    index = np.arange(M.shape[-1])
    M[:, index, index] += diagonal
    return M


def _sandwich(data: SignalData, M: Array) -> Array:
    """Return ``B M^-1 B'``, symmetric to the last bit."""
    B = data.node_factor
    if B is None:
        P = np.linalg.inv(M)
    else:
        P = np.matmul(B, np.linalg.solve(M, np.broadcast_to(B.T, (len(M), *B.T.shape))))
    return np.asarray(0.5 * (P + P.swapaxes(-1, -2)))


def node_covariance(data: SignalData, L: Array, lam: Array, rho: Array) -> Array:
    """Return ``P = (lam K_x^+ + rho L)^+`` on the range of K_x."""
    return _sandwich(data, _node_precision(data, L, lam, rho, 0.0))


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
        R = _sandwich(self.data, _node_precision(self.data, L, lam, rho, 1.0))
        solution = SignalSolution(np.matmul(R, np.matmul(self._gram, R)))
        if want.parts:
            noise = np.eye(R.shape[-1]) - R  # Y - Yhat = Y noise
            product = np.matmul(self._gram, noise)
            solution.fit = dot(noise, product)
            solution.prior = dot(R, product)
        if want.signals:
            solution.signals = np.matmul(self.data.Y, R)
        return solution


class _SpectralBase(SignalStep):
    """What the two solvers with a kernel over the observations share: the joint eigenbasis."""

    def __init__(self, data: SignalData, spec: ModelSpec) -> None:
        super().__init__(data, spec)
        self._z = data.K_z.values
        self._root_z = np.sqrt(self._z)[:, None]
        self._Qz = data.K_z.vectors
        self._coefficients = self._Qz.T @ data.Y  # (r, m)
        self.floats_per_point = 4 * self._coefficients.size + 4 * data.Y.shape[1] ** 2

    def _prior(self, L: Array, lam: Array, rho: Array) -> tuple[Array, Array]:
        """Return the node basis U (G, m, m) and the prior variances s (G, r, m)."""
        if self.spec.whitened and self.data.node_factor is not None:
            g, U = np.linalg.eigh(node_covariance(self.data, L, lam, rho))
            np.maximum(g, 0.0, out=g)
        else:
            eigenvalues, U = np.linalg.eigh(L)
            np.maximum(eigenvalues, 0.0, out=eigenvalues)
            if not self.spec.whitened:
                z = self._z[:, None]
                denominator = (rho[:, None] * eigenvalues)[:, None, :] * z
                denominator += lam[:, None, None]
                return U, z / denominator
            g = 1.0 / (lam[:, None] + rho[:, None] * eigenvalues)
        return U, self._z[:, None] * g[:, None, :]

    def _gram(self, F: Array) -> Array:
        """Return ``F' Q_z' K_z^+ Q_z F`` or ``F' F``; overwrites ``F``."""
        if self.spec.whitened:
            F /= self._root_z
        return np.matmul(F.swapaxes(-1, -2), F)


class SpectralStep(_SpectralBase):
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


class DirectStep(_SpectralBase):
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


class CoefficientStep(_SpectralBase):
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
            start = root * np.matmul(Ut, _flat_product(warm, self._Qz))

        def operator(U: Array, Ut: Array, root: Array) -> Callable[[Array], Array]:
            inner, spread = np.empty_like(root), np.empty_like(root)
            V = np.empty((len(U), *self._mask_t.shape))

            def product(x: Array) -> Array:
                np.multiply(root, x, out=inner)
                np.matmul(U, inner, out=spread)
                _flat_product(spread, self._Qz_t, out=V)
                np.multiply(V, self._mask_t, out=V)
                _flat_product(V, self._Qz, out=spread)
                np.matmul(Ut, spread, out=inner)
                np.multiply(inner, root, out=inner)
                np.add(inner, x, out=inner)
                return inner

            return product

        x, count = conjugate_gradients(operator, (U, Ut, root), diagonal, rhs, start, self.tol)
        F = np.matmul(U, root * x)
        fitted = _flat_product(F, self._Qz_t)  # before the Gram matrix overwrites F
        residuals = (self.data.Y.T - fitted) * self._mask_t
        solution = SignalSolution(self._gram(F.swapaxes(-1, -2)), n_inner=count, warm=residuals)
        if want.parts:
            solution.fit = dot(residuals, residuals)
            solution.prior = dot(residuals, fitted)
        if want.signals:
            solution.signals = fitted.swapaxes(-1, -2)
        return solution


def _stiff_modes(data: SignalData, L: Array) -> tuple[Array, Array]:
    r"""Return eigenvalues (G, r) and eigenvectors (G, r, r) of ``B'LB``, null ones exactly zero.

    They are read off the singular values of :math:`\sqrt{w_{ij}} (b_i - b_j)`, one row an edge.
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
        weights = np.maximum(-graph[rows, cols], 0.0)
        on = weights > 0.0
        factor = np.sqrt(weights[on])[:, None] * (B[rows[on]] - B[cols[on]])
        if len(factor) > rank:
            factor = np.linalg.qr(factor, mode="r")
        padded = np.zeros((rank, rank))
        padded[: len(factor)] = factor
        _, singular, right = np.linalg.svd(padded)
        singular[singular <= 8 * m * np.finfo(float).eps * singular[0]] = 0.0
        values[g], vectors[g] = singular**2, right.T
    return values, vectors


class StiffStep(_SpectralBase):
    """Complete data where rho is beyond all bounds beside lam, in the eigenbasis of the graph.

    Only ratios that lie between 0 and 1 are formed. The Gram matrix is that of signals less their
    mean over the nodes, which changes neither tr(G L) nor a distance: differences between nodes
    are then not lost beside what the nodes have in common.
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
        centred = U - U.mean(axis=1, keepdims=True)
        inner = self._gram(C)
        solution.gram = np.matmul(centred, np.matmul(inner, centred.swapaxes(-1, -2)))
        return solution


class StiffMaskedStep(CoefficientStep, StiffStep):
    """Incomplete data where rho is beyond all bounds beside lam: as :class:`StiffStep`."""

    def _prior(self, L: Array, lam: Array, rho: Array) -> tuple[Array, Array]:
        U, precision = self._precisions(L, lam, rho)
        return U, 1.0 / precision

    def _gram(self, F: Array) -> Array:
        return super()._gram(F - F.mean(axis=-1, keepdims=True))


class ResidualStep(_SpectralBase):
    r"""Sparsely observed data, kernel over the observations: conjugate gradients on residuals.

    The system :math:`(I + M \Sigma M)\, \alpha = M y` has one unknown per observed entry. It is
    written in a basis of its own for every node, the eigenvectors :math:`V_j` of :math:`K_z`
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
        n_nodes = data.Y.shape[1]
        root = self._Qz * np.sqrt(self._z)
        # Nodes with fewer entries than others are filled up with zeros, so that one matrix product
        # serves all nodes.
        length = min(int(data.mask.sum(axis=0).max()), len(self._z))
        self._factors = np.zeros((n_nodes, length, len(self._z)))
        theta, rhs = np.zeros((2, n_nodes, length))
        for j in range(n_nodes):
            rows = data.mask[:, j]
            # the left singular vectors of the factor are the eigenvectors of the restricted K_z
            V, values, right = np.linalg.svd(root[rows], full_matrices=False)
            self._factors[j, : len(values)] = values[:, None] * right
            theta[j, : len(values)] = values**2
            rhs[j, : len(values)] = V.T @ data.Y[rows, j]
        self._factors_t = np.ascontiguousarray(self._factors.swapaxes(-1, -2))
        self._theta, self._rhs = theta.reshape(-1), rhs.reshape(-1)
        self._outside = max(float(np.sum(data.Y**2) - self._rhs @ self._rhs), 0.0)
        self._node = np.repeat(np.arange(n_nodes), length)
        self.tol = tol
        self.floats_per_point += 6 * len(self._rhs) + 2 * n_nodes * len(self._z)

    def _spread(self, x: Array) -> Array:
        """Return ``E_j' x_j`` for all nodes: (G, m, r)."""
        by_node = x.reshape(len(x), *self._factors.shape[:2]).swapaxes(0, 1)
        return np.matmul(by_node, self._factors).swapaxes(0, 1)

    def _collect(self, W: Array) -> Array:
        """Return ``E_j w_j`` for all nodes: the adjoint of :meth:`_spread`."""
        by_node = np.matmul(W.swapaxes(0, 1), self._factors_t)
        return by_node.swapaxes(0, 1).reshape(len(W), -1)

    def _coupling(self, L: Array, lam: Array, rho: Array) -> tuple[tuple[Array, ...], Array]:
        """Return the arrays :func:`_couple` applies and the prior variances of nodes alone."""
        if self.spec.whitened:
            P = node_covariance(self.data, L, lam, rho)
            return (P,), np.einsum("gii->gi", P)[:, self._node] * self._theta
        U, s = self._prior(L, lam, rho)
        s /= self._z[:, None]
        alone = (rho[:, None] * np.einsum("gii->gi", L))[:, self._node] * self._theta
        return (U, s.swapaxes(-1, -2).copy()), self._theta / (lam[:, None] + alone)

    def _solve(
        self, L: Array, lam: Array, rho: Array, warm: Array | None, want: Wanted
    ) -> SignalSolution:
        coupling, diagonal = self._coupling(L, lam, rho)
        diagonal = diagonal + 1.0
        rhs = np.broadcast_to(self._rhs, diagonal.shape)

        def operator(*coupling: Array) -> Callable[[Array], Array]:
            return lambda x: x + self._collect(_couple(coupling, self._spread(x)))

        x, count = conjugate_gradients(operator, coupling, diagonal, rhs, warm, self.tol)
        W = _couple(coupling, self._spread(x))  # F' / sqrt(z), with fitted signals Q_z F
        F = W.swapaxes(-1, -2) * self._root_z
        solution = SignalSolution(np.empty(0), n_inner=count, warm=x)
        if want.parts:
            solution.fit = dot(x, x) + self._outside
            solution.prior = dot(x, rhs - x)
        if want.signals:
            solution.signals = np.matmul(self._Qz, F)
        solution.gram = self._gram(F)
        return solution


def _flat_product(A: Array, B: Array, out: Array | None = None) -> Array:
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
