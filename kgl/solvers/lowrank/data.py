"""Large data sets: kernels by factors, and Laplacians that are applied and never formed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array, diags_array

from kgl._types import Array
from kgl.kernels import KernelEigen

__all__ = ["CompleteGraph", "Laplacian", "LargeData", "NodeKernel", "SparseLaplacian"]

#: Nodes up to which products with the signs of all pairs are in double precision.
EXACT_UP_TO = 2000
#: Rows of a block of the signs of all pairs.
BLOCK = 1024


@dataclass(frozen=True, eq=False)
class NodeKernel:
    """Kernel over the nodes, ``B B' + white I``; without a factor it is ``white I``.

    Attributes
    ----------
    size : int
        Number of nodes.
    factor : array (m, r) or None
        B.
    white : float
        Variance of each node by itself.
    """

    size: int
    factor: Array | None = None
    white: float = 1.0

    @property
    def is_identity(self) -> bool:
        """Whether there is no information on the nodes."""
        return self.factor is None and self.white == 1.0

    @property
    def mean_variance(self) -> float:
        """Mean of the diagonal."""
        own = 0.0 if self.factor is None else float(np.sum(self.factor**2)) / self.size
        return own + self.white

    @cached_property
    def correction(self) -> Array:
        """``C`` (m, r) with ``K^-1 = (I - C C') / white``, by Woodbury's formula."""
        B = self.factor
        assert B is not None and self.white > 0.0
        inner = np.linalg.cholesky(B.T @ B + self.white * np.eye(B.shape[1]))
        return np.ascontiguousarray(np.linalg.solve(inner, B.T).T)

    def coefficients(self, nodes: Array) -> Array:
        """Return ``c`` (r, k) with ``K^+ nodes`` turned to the factor: new nodes are ``b c``."""
        B = self.factor
        assert B is not None
        inner = B.T @ B + self.white * np.eye(B.shape[1])
        return np.asarray(np.linalg.solve(inner, B.T @ nodes))


@dataclass(frozen=True, eq=False)
class LargeData:
    """One large data set.

    Attributes
    ----------
    Y : array (n, m)
        Observations, zero where missing.
    mask : bool array (n, m) or None
        True where observed; None when everything is.
    K_x : NodeKernel
        Kernel over the nodes.
    K_z : KernelEigen
        Kernel over the observations, decomposed.
    """

    Y: Array
    mask: np.ndarray | None
    K_x: NodeKernel
    K_z: KernelEigen

    @cached_property
    def coefficients(self) -> Array:
        """``Q_z' Y`` (r_z, m); the data themselves where K_z is the identity."""
        return self.Y if self.K_z.is_identity else self.K_z.vectors.T @ self.Y

    @property
    def root_z(self) -> Array:
        """Roots of the eigenvalues of K_z (r_z, 1)."""
        return np.sqrt(self.K_z.values)[:, None]

    def lift(self, X: Array) -> Array:
        """Return ``Q_z X`` (n, k)."""
        return X if self.K_z.is_identity else self.K_z.vectors @ X

    def lower(self, V: Array) -> Array:
        """Return ``Q_z' V`` (r_z, k)."""
        return V if self.K_z.is_identity else self.K_z.vectors.T @ V


class Laplacian(Protocol):
    """A Laplacian that is applied."""

    def product(self, X: Array) -> Array:
        """Return ``L X`` for X (m, k)."""
        ...

    @property
    def degrees(self) -> Array:
        """Its diagonal."""
        ...


@dataclass(frozen=True, eq=False)
class SparseLaplacian:
    """The Laplacian of a sparse graph."""

    matrix: csr_array

    @classmethod
    def of(cls, weights: csr_array, signs: csr_array | None) -> SparseLaplacian:
        """Return ``diag(W 1) - signs o W``."""
        degrees = np.asarray(weights.sum(axis=1)).ravel()
        links = weights if signs is None else weights.multiply(signs)
        return cls(csr_array(diags_array(degrees) - links))

    def product(self, X: Array) -> Array:
        """Return ``L X``."""
        return np.asarray(self.matrix @ X)

    @cached_property
    def degrees(self) -> Array:
        """Its diagonal."""
        return np.asarray(self.matrix.diagonal())


@dataclass(frozen=True, eq=False)
class CompleteGraph:
    """The complete graph with equal weights and trace m, with the signs of the data if signed.

    Signs of all pairs are those of the products of the columns of Y. They are found in blocks, in
    single precision where that decides them, and never kept.

    Attributes
    ----------
    size : int
        Number of nodes m.
    Y : array (n, m) or None
        The data, zero where missing, where graphs are signed.
    """

    size: int
    Y: Array | None = None

    @property
    def degrees(self) -> Array:
        """Its diagonal."""
        return np.ones(self.size)

    @property
    def is_rough(self) -> bool:
        """Whether products are in single precision: where the signs of all pairs are many."""
        return self.Y is not None and self.size > EXACT_UP_TO

    def signs(self, rows: np.ndarray, cols: np.ndarray) -> Array:
        """Return the signs of some pairs."""
        if self.Y is None:
            return np.ones(len(rows))
        out = np.empty(len(rows))
        for begin in range(0, len(rows), 100_000):
            some = slice(begin, begin + 100_000)
            products = np.einsum("ij,ij->j", self.Y[:, rows[some]], self.Y[:, cols[some]])
            out[some] = np.where(products < 0.0, -1.0, 1.0)
        return out

    def product(self, X: Array) -> Array:
        """Return ``L X``."""
        m = self.size
        if self.Y is None:
            return np.asarray((m * X - X.sum(axis=0)) / (m - 1))
        return (m * X - self._signs_times(X)) / (m - 1)

    def congruence(self, B: Array) -> Array:
        """Return ``B' L B`` (r, r)."""
        m, total = self.size, B.sum(axis=0)
        square = m * (B.T @ B)
        if self.Y is None:
            return (square - np.outer(total, total)) / (m - 1)
        return (square - self._signs_between(B)) / (m - 1)

    def _single(self) -> tuple[Any, Any]:
        assert self.Y is not None
        size = np.sqrt(np.einsum("ij,ij->j", self.Y, self.Y))
        scaled = (self.Y / np.where(size > 0.0, size, 1.0)).astype(np.float32)
        return scaled, np.ascontiguousarray(scaled.T)

    def _signs_times(self, X: Array) -> Array:
        own, across = self._single()
        kind: Any = np.float32 if self.is_rough else float
        out, right = np.empty_like(X, dtype=float), X.astype(kind)
        for begin in range(0, self.size, BLOCK):
            block = _signs(across[begin : begin + BLOCK] @ own)
            out[begin : begin + BLOCK] = block.astype(kind, copy=False) @ right
        return out

    def _signs_between(self, B: Array) -> Array:
        """Return ``B' S B`` for the signs S of all pairs.

        Of many nodes its entries are summed in single precision, a relative error of about 1e-7:
        it is divided by m and weighted by rho, and only the start depends on it.
        """
        own, across = self._single()
        scale = np.sqrt(np.einsum("ij,ij->j", B, B))
        scale = np.where(scale > 0.0, scale, 1.0)
        kind: Any = np.float32 if self.is_rough else float
        single = (B / scale).astype(kind)
        upper = np.zeros((B.shape[1],) * 2)
        within = np.zeros_like(upper)
        for begin in range(0, self.size, BLOCK):
            end = min(begin + BLOCK, self.size)
            block = _signs(across[begin:end] @ own[:, begin:]).astype(kind, copy=False)
            inner = block[:, : end - begin] @ single[begin:end]
            within += single[begin:end].T @ inner
            if end < self.size:
                upper += single[begin:end].T @ (block[:, end - begin :] @ single[end:])
        total = upper + upper.T + 0.5 * (within + within.T)
        return np.asarray(total * np.outer(scale, scale))


def _signs(products: Any) -> Any:
    """Replace products by their signs, 1 for zero."""
    return np.copysign(np.float32(1.0), products + np.float32(0.0), out=products)
