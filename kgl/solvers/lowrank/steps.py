r"""Signal steps of large graphs: fitted signals as factors.

Signals are :math:`\hat Y = Q_z \sqrt z X^\top` with node coefficients X (m, r_z). In the whitened
models the smoothness term is :math:`\rho \operatorname{tr}(X^\top L X)`, so X, or any root of
:math:`X X^\top` with fewer columns, has the features that the graph step needs: the squared
distances of its rows. Without whitening they are those of :math:`X \sqrt z`.

============================  ==========================================================
kernel over the nodes         method
============================  ==========================================================
``B B'``, complete data       :class:`FactorStep`: one pencil of r x r an iteration
``B B'``, incomplete data     :class:`MaskedFactorStep`: conjugate gradients on r_z x r
``white I`` (and ``B B'``)    :class:`NodeStep`: conjugate gradients on r_z x m
============================  ==========================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kgl._types import Array
from kgl.problem import ModelSpec
from kgl.solvers.cg import conjugate_gradients
from kgl.solvers.lowrank.data import CompleteGraph, Laplacian, LargeData

__all__ = [
    "FactorStep",
    "LargeSignals",
    "LargeStep",
    "MaskedFactorStep",
    "NodeStep",
    "make_large_step",
]


#: Relative tolerance of the first step, from the complete graph, where its products are rough.
#: Only the start depends on it.
ROUGH = 1e-5


@dataclass(eq=False)
class LargeSignals:
    """Fitted signals as factors.

    Attributes
    ----------
    features : array (m, k)
        Their rows have the distances that the graph step needs.
    nodes : array (m, r_z) or None
        X, with signals ``Q_z sqrt(z) X'``, where asked for.
    coefficients : array (r, r_z) or None
        ``X = B coefficients`` plus what nodes have by themselves, for new nodes.
    fit, ridge : float
        Terms of the objective.
    warm : array or None
        Where a later solve of a similar problem can start.
    n_inner : int
        Iterations of conjugate gradients.
    """

    features: Array
    fit: float
    ridge: float
    nodes: Array | None = None
    coefficients: Array | None = None
    warm: Array | None = None
    n_inner: int = 0


class LargeStep(ABC):
    """Solve for the signals of one graph."""

    def __init__(self, data: LargeData, spec: ModelSpec, tol: float) -> None:
        self.data, self.spec, self.tol = data, spec, tol

    @abstractmethod
    def solve(
        self,
        L: Laplacian,
        lam: float,
        rho: float,
        *,
        warm: Array | None = None,
        signals: bool = False,
    ) -> LargeSignals:
        """Solve for a graph and the weights of the ridge and smoothness terms."""


def make_large_step(data: LargeData, spec: ModelSpec, tol: float) -> LargeStep:
    """Choose the solver for a large data set."""
    if data.K_x.white > 0.0:
        return NodeStep(data, spec, tol)
    return (FactorStep if data.mask is None else MaskedFactorStep)(data, spec, tol)


class _FactorBase(LargeStep):
    """What the steps with a kernel over the nodes of low rank share."""

    def __init__(self, data: LargeData, spec: ModelSpec, tol: float) -> None:
        super().__init__(data, spec, tol)
        assert data.K_x.factor is not None
        self._B = data.K_x.factor
        self._square = self._B.T @ self._B

    def _pencil(self, L: Laplacian, lam: float, rho: float) -> tuple[Array, Array]:
        """Return mu (r,) and X with ``X' M X = I``, ``X' B'B X = diag(mu)``, M the precision.

        So ``P = (lam K_x^+ + rho L)^+ = (B X)(B X)'``.
        """
        B = self._B
        inner = L.congruence(B) if isinstance(L, CompleteGraph) else B.T @ L.product(B)
        M = 0.5 * rho * (inner + inner.T)
        M[np.diag_indices(len(M))] += lam
        root = np.linalg.cholesky(M)
        half = np.linalg.solve(root, self._square)
        S = np.linalg.solve(root, half.T)
        mu, V = np.linalg.eigh(0.5 * (S + S.T))
        return np.maximum(mu, 0.0), np.linalg.solve(root.T, V)

    def _result(self, T: Array, lam: float, fit: float, signals: bool) -> LargeSignals:
        """Return signals from coefficients T (r, r_z) of the nodes in B."""
        ridge = lam * float(np.sum(T**2))
        root = T if T.shape[1] <= T.shape[0] else np.asarray(np.linalg.qr(T.T, mode="r")).T
        out = LargeSignals(np.ascontiguousarray(self._B @ root), fit, ridge)
        if signals:
            out.nodes, out.coefficients = self._B @ T, T
        return out


class FactorStep(_FactorBase):
    """Complete data, kernel over the nodes of low rank: closed form in its coefficients."""

    def __init__(self, data: LargeData, spec: ModelSpec, tol: float) -> None:
        super().__init__(data, spec, tol)
        self._power = float(np.sum(data.Y**2))
        self._seen = data.coefficients @ self._B  # (r_z, r)
        self._root = self._seen
        if data.K_z.is_identity and self._seen.shape[0] > self._seen.shape[1]:
            # independent rows count by their Gram matrix alone
            self._root = np.asarray(np.linalg.qr(self._seen, mode="r"))

    def solve(
        self,
        L: Laplacian,
        lam: float,
        rho: float,
        *,
        warm: Array | None = None,
        signals: bool = False,
    ) -> LargeSignals:
        """See the base class."""
        mu, X = self._pencil(L, lam, rho)
        seen = self._seen if signals else self._root
        z = np.ones((len(seen), 1)) if self.data.K_z.is_identity else self.data.root_z**2
        e = seen @ X
        kept = 1.0 / (1.0 + z * mu)
        a = np.sqrt(z) * e * kept  # coefficients of the node side in X
        # |c - yhat|^2 with yhat = sqrt(z) B X a
        fit = self._power - float(np.sum(z * e**2 * kept * (2.0 - z * mu * kept)))
        return self._result(X @ a.T, lam, max(fit, 0.0), signals)


class MaskedFactorStep(_FactorBase):
    r"""Incomplete data, kernel over the nodes of low rank: conjugate gradients on coefficients.

    With :math:`P = N N^\top`, :math:`N^\top N = \operatorname{diag}(\mu)`, and
    :math:`\hat Y = Q_z \sqrt z\, x N^\top`, the system is
    :math:`x + \sqrt z\, Q_z^\top (M \circ (Q_z \sqrt z\, x N^\top)) N = \sqrt z\, Q_z^\top Y N`.
    Its preconditioner is the diagonal of complete data, scaled by the share of observed entries.
    """

    def solve(
        self,
        L: Laplacian,
        lam: float,
        rho: float,
        *,
        warm: Array | None = None,
        signals: bool = False,
    ) -> LargeSignals:
        """See the base class."""
        data = self.data
        mask = data.mask
        assert mask is not None
        mu, X = self._pencil(L, lam, rho)
        N, root = self._B @ X, data.root_z
        share = float(mask.mean())
        diagonal = 1.0 + share * root**2 * mu
        rhs = root * (data.coefficients @ N)
        # at the solution x is this function of the residuals, whatever basis it was found in
        start = None if warm is None else (root * (data.lower(warm) @ N))[None]

        def fitted(x: Array) -> Array:
            values = data.lift(root * x) @ N.T
            values *= mask
            return np.asarray(values)

        def operator(_: Array) -> object:
            return lambda x: (x[0] + root * (data.lower(fitted(x[0])) @ N))[None]

        x, count = conjugate_gradients(
            operator,  # type: ignore[arg-type]
            (np.zeros(1),), diagonal[None], rhs[None], start, self.tol,
        )  # fmt: skip
        residuals = data.Y - fitted(x[0])
        out = self._result(X @ x[0].T, lam, float(np.sum(residuals**2)), signals)
        out.warm, out.n_inner = residuals, count
        return out


class NodeStep(LargeStep):
    r"""Nodes that vary by themselves: conjugate gradients on all node coefficients.

    The unknowns are :math:`X^\top` (r_z, m) with :math:`\hat Y = Q_z \sqrt z X^\top`:

    .. math:: \sqrt z\, Q_z^\top (M \circ (Q_z \sqrt z X^\top)) + X^\top (\lambda K_x^{-1} + \rho L)
              = \sqrt z\, Q_z^\top Y,

    with :math:`\rho z L` for :math:`\rho L` where the smoothness is not whitened. Complete data
    leave one system of m unknowns for each direction of K_z.
    """

    def __init__(self, data: LargeData, spec: ModelSpec, tol: float) -> None:
        super().__init__(data, spec, tol)
        self._seen = data.coefficients
        self._root = self._seen
        n, m = self._seen.shape
        if data.K_z.is_identity and data.mask is None and n > m:
            # independent rows count by their Gram matrix alone
            self._root = np.asarray(np.linalg.qr(self._seen, mode="r"))
        self._outside = max(float(np.sum(data.Y**2) - np.sum(self._seen**2)), 0.0)

    def _precision(self, x: Array, lam: float) -> Array:
        """Return ``lam x K_x^-1`` for x (k, m)."""
        K = self.data.K_x
        if K.factor is None:
            return np.asarray(x * (lam / K.white))
        C = K.correction
        return np.asarray((x - (x @ C) @ C.T) * (lam / K.white))

    def _diagonal(self, L: Laplacian, z: Array, lam: float, rho: float) -> Array:
        K, mask = self.data.K_x, self.data.mask
        own = np.full(K.size, lam / K.white)
        if K.factor is not None:
            own *= np.maximum(1.0 - np.einsum("ij,ij->i", K.correction, K.correction), 1e-12)
        seen: Array = np.ones((1, K.size))
        if mask is not None and self.data.K_z.is_identity:
            seen = mask.astype(float)
        elif mask is not None:
            seen = (self.data.K_z.vectors**2).T @ mask
        smooth = rho * L.degrees * (np.ones_like(z) if self.spec.whitened else z)
        return np.asarray(z * seen + own + smooth)

    def solve(
        self,
        L: Laplacian,
        lam: float,
        rho: float,
        *,
        warm: Array | None = None,
        signals: bool = False,
    ) -> LargeSignals:
        """See the base class."""
        data = self.data
        seen = self._seen if signals else self._root
        z = np.ones((len(seen), 1)) if data.K_z.is_identity else data.root_z**2
        root = np.sqrt(z)
        strength = rho * (np.ones_like(z) if self.spec.whitened else z)
        rhs, diagonal = root * seen, self._diagonal(L, z, lam, rho)
        start = warm if warm is not None and warm.shape == rhs.shape else None
        tol = max(self.tol, ROUGH) if isinstance(L, CompleteGraph) and L.is_rough else self.tol

        def prior(x: Array, strength: Array) -> Array:
            return self._precision(x, lam) + strength * L.product(x.T).T

        if data.mask is None or data.K_z.is_identity:
            # directions or rows are systems of their own
            own = z if data.mask is None else data.mask.astype(float)
            x, count = conjugate_gradients(
                lambda own, strength: lambda x: own * x + prior(x, strength),
                (own, strength), diagonal, rhs, start, tol,
            )  # fmt: skip
        else:
            x, count = self._together(root, strength, prior, diagonal, rhs, start, tol)
        ridge = float(np.sum(x * self._precision(x, lam)))
        features = x.T if self.spec.whitened else (root * x).T
        fit = self._error(seen, root * x)
        out = LargeSignals(np.ascontiguousarray(features), fit, ridge, warm=x, n_inner=count)
        if signals:
            out.nodes = np.ascontiguousarray(x.T)
            if data.K_x.factor is not None:
                out.coefficients = data.K_x.coefficients(out.nodes)
        return out

    def _together(
        self,
        root: Array,
        strength: Array,
        prior: Callable[[Array, Array], Array],
        diagonal: Array,
        rhs: Array,
        start: Array | None,
        tol: float,
    ) -> tuple[Array, int]:
        """Solve one system of all directions and nodes, which gaps link."""
        data, mask = self.data, self.data.mask
        assert mask is not None

        def product(x: Array) -> Array:
            values = data.lift(root * x[0])
            values *= mask
            return (root * data.lower(values) + prior(x[0], strength))[None]

        first = None if start is None else start[None]
        x, count = conjugate_gradients(
            lambda _: product, (np.zeros(1),), diagonal[None], rhs[None], first, tol
        )
        return x[0], count

    def _error(self, seen: Array, fitted: Array) -> float:
        """Return the squared error over the observed entries."""
        mask = self.data.mask
        if mask is None:
            return float(np.sum((seen - fitted) ** 2)) + self._outside
        return float(np.sum((self.data.Y - mask * self.data.lift(fitted)) ** 2))
