"""What all signal steps share: the data, their solutions, and the prior of the nodes."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kgl._types import Array
from kgl.kernels import KernelEigen
from kgl.problem import ModelSpec
from kgl.solvers.observed import ObservedEntries

__all__ = [
    "SignalData",
    "SignalSolution",
    "SignalStep",
    "SpectralBase",
    "Wanted",
    "block_size",
    "node_covariance",
    "node_precision",
    "sandwich",
]

#: Ratio of the smoothness and the ridge term above which ``lam I + rho L`` is no longer formed:
#: lam would be lost beside the rounding of rho L.
_STIFFEST = 2e12
#: Doubles of one array of a block of points (400 kB): a few of them fit the cache of a core.
_BLOCK_FLOATS = 50_000
#: The same ratio above which even squares of rounding errors decide the graph.
_HOPELESS = 1e26
#: The same for signed graphs, whose nodes have no common part that could be taken off first.
_HOPELESS_SIGNED = 1e14


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

    def with_values(self, Y: Array) -> SignalData:
        """Return other data with the same mask and kernels, whose decompositions are kept."""
        other = replace(self, Y=Y)
        if self.mask is not None and "entries" in self.__dict__:
            # cached_property looks here
            other.__dict__["entries"] = self.entries.with_values(Y, self.mask, self.K_z)
        return other

    @cached_property
    def entries(self) -> ObservedEntries:
        """The observed entries, in a basis of their own for every node; see there."""
        assert self.mask is not None
        return ObservedEntries.of(self.Y, self.mask, self.K_z)


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

    @classmethod
    def join(cls, parts: Sequence[SignalSolution]) -> SignalSolution:
        """Return the points of all parts, in their order."""

        def chain(name: str) -> Array | None:
            arrays = [getattr(part, name) for part in parts]
            return None if arrays[0] is None else np.concatenate(arrays)

        gram = chain("gram")
        assert gram is not None
        rest = {name: chain(name) for name in ("fit", "prior", "signals", "warm")}
        return cls(gram, n_inner=sum(part.n_inner for part in parts), **rest)

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

    #: makes the solver of points at which rho is beyond all bounds beside lam
    make_stiff: Callable[[], SignalStep] | None = None
    #: doubles held per grid point while solving: what the size of a chunk is worked out from
    floats_per_point: int
    #: points solved at once, if not all: as many as the processor's cache holds
    block: int | None = None

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
        if self.make_stiff is None:
            return self._solve_blocks(L, lam, rho, warm, want)
        ratio = self._stiffness(L, lam, rho)
        # a ratio that is not a number is one of 0 / 0 and goes the usual way
        stiff = ratio > _STIFFEST
        if not stiff.any():
            return self._solve_blocks(L, lam, rho, warm, want)
        if ratio.max() > (_HOPELESS_SIGNED if self.spec.signed else _HOPELESS):
            _warn_hopeless(float(ratio.max()))
        # one such point must not cost the others of its batch their way of being solved
        solution = self.make_stiff()._solve(L[stiff], lam[stiff], rho[stiff], None, want)
        solution.warm = None
        if stiff.all():
            return solution
        warm = None if warm is None else warm[~stiff]
        rest = self._solve_blocks(L[~stiff], lam[~stiff], rho[~stiff], warm, want)
        return _merge(stiff, solution, rest)

    def _solve_blocks(
        self, L: Array, lam: Array, rho: Array, warm: Array | None, want: Wanted
    ) -> SignalSolution:
        """Solve a few points at a time where many would not fit the cache."""
        if self.block is None or len(L) <= self.block:
            return self._solve(L, lam, rho, warm, want)
        parts = []
        for begin in range(0, len(L), self.block):
            some = slice(begin, begin + self.block)
            start = None if warm is None else warm[some]
            parts.append(self._solve(L[some], lam[some], rho[some], start, want))
        return SignalSolution.join(parts)

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
    """Join two parts of a batch; ``first`` marks the points of ``one``."""

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


def node_precision(data: SignalData, L: Array, lam: Array, rho: Array, noise: float) -> Array:
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


def sandwich(data: SignalData, M: Array) -> Array:
    """Return ``B M^-1 B'``, symmetric to the last bit."""
    B = data.node_factor
    if B is None:
        P = np.linalg.inv(M)
    else:
        P = np.matmul(B, np.linalg.solve(M, np.broadcast_to(B.T, (len(M), *B.T.shape))))
    return np.asarray(0.5 * (P + P.swapaxes(-1, -2)))


def node_covariance(data: SignalData, L: Array, lam: Array, rho: Array) -> Array:
    """Return ``P = (lam K_x^+ + rho L)^+`` on the range of K_x."""
    return sandwich(data, node_precision(data, L, lam, rho, 0.0))


def block_size(floats: int) -> int:
    """Return how many points to solve at once if an array of one takes that many doubles."""
    return max(8, _BLOCK_FLOATS // floats)


class SpectralBase(SignalStep):
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
