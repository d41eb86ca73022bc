"""Kernels between the nodes of a known graph."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kgl._types import Array
from kgl.kernels.base import FittedKernel, Kernel, choice, number
from kgl.kernels.covariates import Covariates, read_table
from kgl.kernels.matrices import rebuild, symmetric_matrix


@dataclass(frozen=True, eq=False, repr=False)
class LaplacianKernel(Kernel):
    """Kernel between the nodes of a known graph with Laplacian ``L = V diag(l) V'``.

    The covariates of such a kernel are nodes: ``fit(X)`` and ``cross(X_new)`` take node indices
    (or labels, where `nodes` names them); ``fit()`` takes all nodes in order.

    Parameters
    ----------
    L : (m, m) array, sparse matrix or DataFrame
        Combinatorial Laplacian: symmetric, off-diagonal entries <= 0, rows that sum to 0. For an
        adjacency (weight) matrix, see :meth:`from_adjacency`.
    kind : {"resolvent", "diffusion", "pinv"}
        ``(I + alpha L)^-1``, ``exp(-t L)`` or the pseudo-inverse ``L^+``.
    alpha, t : float, optional
        Strength of the resolvent and of the diffusion, > 0, default 1.
    nodes : sequence, optional
        Labels of the nodes; default the columns of a DataFrame `L`, else 0 to m - 1.

    Examples
    --------
    >>> spec = LaplacianKernel([[1, -1], [-1, 1]], alpha=1.0)
    >>> spec.fit().matrix.round(4)
    array([[0.6667, 0.3333],
           [0.3333, 0.6667]])
    >>> spec.fit([0]).cross([1]).round(4)
    array([[0.3333]])
    """

    L: Any
    kind: Literal["resolvent", "diffusion", "pinv"] = "resolvent"
    alpha: float | None = None
    t: float | None = None
    nodes: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        choice(self.kind, "kind of Laplacian kernel", ("resolvent", "diffusion", "pinv"))
        for name, kind in (("alpha", "resolvent"), ("t", "diffusion")):
            value = getattr(self, name)
            if self.kind == kind:
                value = number(1.0 if value is None else value, name, "> 0")
            elif value is not None:
                raise ValueError(
                    f"{name} = {value!r} has no meaning for kind={self.kind!r}: leave it out, or "
                    f"use kind={kind!r}"
                )
            object.__setattr__(self, name, value)
        L = _check_laplacian(self.L)
        nodes = _frame_labels(self.L, "L") if self.nodes is None else tuple(self.nodes)
        if nodes is None:
            nodes = tuple(range(len(L)))
        if len(nodes) != len(L):
            raise ValueError(
                f"nodes has {len(nodes)} labels but L has {len(L)} nodes: give one each"
            )
        if len(set(nodes)) < len(nodes):
            twice = next(node for node in nodes if nodes.count(node) > 1)
            raise ValueError(f"two nodes are labelled {twice!r}: node labels must be unique")
        L.setflags(write=False)
        object.__setattr__(self, "L", L)
        object.__setattr__(self, "nodes", nodes)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # NumPy's copies and unpickled arrays are writable.
        self.__dict__.update(state)
        self.L.setflags(write=False)

    @classmethod
    def from_adjacency(cls, W: Any, **options: Any) -> LaplacianKernel:
        """Take the graph from a weight matrix ``W >= 0``, through ``L = diag(W 1) - W``."""
        weights, _ = symmetric_matrix(_dense(W), "W")
        loops = "an adjacency matrix has a zero diagonal; remove self-loops"
        signs = "edge weights must be >= 0; pass a Laplacian to LaplacianKernel(L)"
        for bad, remedy in ((np.diag(np.diag(weights)) != 0, loops), (weights < 0, signs)):
            if bad.any():
                i, j = np.argwhere(bad)[0]
                raise ValueError(f"W[{i}, {j}] = {weights[i, j]:g}: {remedy}")
        options.setdefault("nodes", _frame_labels(W, "W"))
        return cls(np.diag(weights.sum(axis=1)) - weights, **options)

    def __repr__(self) -> str:
        strength = {"resolvent": f", alpha={self.alpha!r}", "diffusion": f", t={self.t!r}"}
        shown = f"<{len(self.L)} nodes>, kind={self.kind!r}{strength.get(self.kind, '')}"
        return f"LaplacianKernel({shown})"

    def _key(self) -> tuple[Hashable, ...]:
        # + 0.0 turns -0.0 into 0.0, which compare equal but differ in their bytes.
        return self.kind, self.alpha, self.t, self.nodes, (self.L + 0.0).tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LaplacianKernel) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def fit(self, X: Covariates = None) -> FittedLaplacian:
        """Evaluate the kernel at the nodes `X` (all of them by default)."""
        eigenvalues, V = np.linalg.eigh(self.L)
        eigenvalues = np.maximum(eigenvalues, 0.0)
        if self.kind == "resolvent":
            assert self.alpha is not None
            response = 1.0 / (1.0 + self.alpha * eigenvalues)
        elif self.kind == "diffusion":
            assert self.t is not None
            response = np.exp(-self.t * eigenvalues)
        else:
            cutoff = len(self.L) * np.finfo(np.float64).eps * eigenvalues[-1]
            response = np.zeros_like(eigenvalues)
            np.divide(1.0, eigenvalues, out=response, where=eigenvalues > cutoff)
        full = rebuild(response, V)
        at = np.arange(len(self.L)) if X is None else self._indices(X, "X")
        return FittedLaplacian(self, full[np.ix_(at, at)], at, full)

    def _indices(self, X: Covariates, what: str) -> NDArray[np.intp]:
        assert self.nodes is not None
        table = read_table(X, what)
        if len(table.columns) != 1:
            raise ValueError(
                f"{what} has {len(table.columns)} columns: the covariates of a LaplacianKernel "
                "are nodes, one per row"
            )
        where = {node: index for index, node in enumerate(self.nodes)}
        found = []
        for value in table.labels(0):
            if isinstance(value, bool) or value not in where:
                raise ValueError(
                    f"{what} holds {value!r}, which is not one of the {len(where)} nodes "
                    f"({self.nodes[0]!r} ... {self.nodes[-1]!r}) of the graph: for new nodes use "
                    "a kernel of covariates, such as RBF"
                )
            found.append(where[value])
        return np.array(found, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class FittedLaplacian(FittedKernel):
    """Fitted :class:`LaplacianKernel`; `indices_` are the positions of the training nodes."""

    spec: LaplacianKernel
    matrix: Array = field(repr=False)
    indices_: NDArray[np.intp]
    _full: Array = field(repr=False)

    def cross(self, X_new: Covariates) -> Array:
        """Kernel between new and training nodes, of shape (n_new, n_train)."""
        return self._full[np.ix_(self.spec._indices(X_new, "X_new"), self.indices_)]


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if hasattr(matrix, "toarray") else matrix


def _frame_labels(frame: Any, name: str) -> tuple[Hashable, ...] | None:
    """Node labels of a square DataFrame, or None for anything else."""
    if not hasattr(frame, "columns"):
        return None
    labels = tuple(frame.columns)
    if hasattr(frame, "index") and tuple(frame.index) != labels:
        raise ValueError(
            f"the rows and columns of {name} are labelled differently: use "
            f"{name}.loc[{name}.columns] so that both name the nodes in the same order"
        )
    return labels


def _check_laplacian(L: Any) -> Array:
    matrix, eps = symmetric_matrix(_dense(L), "L")
    tolerance = math.sqrt(eps) * float(np.abs(matrix).max())
    off = matrix - np.diag(np.diag(matrix))
    if off.max() > tolerance:
        i, j = np.unravel_index(int(np.argmax(off)), off.shape)
        raise ValueError(
            f"L is not a graph Laplacian: L[{i}, {j}] = {off[i, j]:g} > 0; off-diagonal entries "
            "are minus the edge weights, <= 0; for weights use LaplacianKernel.from_adjacency(W)"
        )
    sums = matrix.sum(axis=1)
    worst = int(np.argmax(np.abs(sums)))
    if abs(sums[worst]) > tolerance * max(1.0, math.sqrt(len(matrix))):
        raise ValueError(
            f"L is not a graph Laplacian: row {worst} sums to {sums[worst]:g} instead of 0; use "
            "the combinatorial Laplacian diag(W 1) - W, not a normalised one"
        )
    return matrix
