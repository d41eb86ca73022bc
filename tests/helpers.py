"""What test modules share: a judge of graphs, inputs for the graph step, random kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import settings

from kgl._types import Array
from kgl.kernels import KernelEigen, kernel_eigen
from kgl.laplacian import pairwise_sq_distances
from kgl.solvers.signal_step import SignalData

REGULARIZERS = ("frobenius", "log-degree")


def share(part: float) -> settings:
    """Run a costly test on this part of the examples of the profile."""
    return settings(max_examples=int(part * settings.default.max_examples))


@dataclass(frozen=True)
class Optimality:
    """Relative violations of the optimality conditions of a graph; all zero at the optimum.

    Attributes
    ----------
    feasibility : float
        Asymmetry, self-loops, negative weights and weights on forbidden pairs, relative to the
        largest weight; error of the trace, relative to it.
    stationarity : float
        Spread of the gradient over the edges that carry weight, relative to its terms.
    dual_feasibility : float
        How far the gradient of a pair without an edge falls below that of the edges.
    complementarity : float
        Gap between the primal and the dual objective, relative to its terms.
    """

    feasibility: float
    stationarity: float
    dual_feasibility: float
    complementarity: float

    @property
    def worst(self) -> float:
        return max(self.feasibility, self.stationarity, self.dual_feasibility, self.complementarity)


def optimality(
    W: Array, Z: Array, psi: float, *, regularizer: str = "frobenius", barrier: float = 1.0
) -> Optimality:
    """Judge a graph by the textbook conditions, with no help from any solver.

    The only multipliers are read off the graph itself: for "frobenius" the gradient of the
    heaviest edge, for "log-degree" the derivative of the barrier. An edge is any pair with a
    positive weight, however small. The gradients are in units of 2 psi.
    """
    m = len(W)
    rows, cols = np.triu_indices(m, 1)
    w, z = W[rows, cols], Z[rows, cols]
    degrees = W.sum(axis=1)
    largest = np.abs(W).max()
    allowed = np.isfinite(z)
    faults = [np.abs(W - W.T).max(), np.abs(np.diag(W)).max(), -w.min()]
    faults.extend(np.abs(w[~allowed]))
    feasibility = max(0.0, *faults) / largest
    w, z, rows, cols = w[allowed], z[allowed], rows[allowed], cols[allowed]
    on = w > 0
    if regularizer == "frobenius":
        feasibility = max(feasibility, abs(np.trace(np.diag(degrees)) - m) / m)
        gradient = (z - z.min()) / (2 * psi) + 2 * w + degrees[rows] + degrees[cols]
        multiplier = np.full_like(gradient, gradient[w.argmax()])
        terms = multiplier
        gap = abs(w @ gradient - m / 2 * gradient.min()) / (m / 2 * multiplier[0])
    else:
        assert regularizer == "log-degree"
        if degrees.min() <= 0:  # outside the domain of the barrier
            return Optimality(np.inf, np.inf, np.inf, np.inf)
        potential = barrier / (2 * psi * degrees)
        gradient = z / (2 * psi) + 2 * w
        multiplier = potential[rows] + potential[cols]
        # each edge by its own terms: an outlying node must not excuse the others
        terms = gradient + multiplier
        # w (dL/dw) = 0 summed over the edges is Euler's identity of the objective
        gap = abs(z @ w + 2 * psi * np.sum(W**2) - barrier * m) / (barrier * m)
    excess = (gradient - multiplier) / terms
    return Optimality(
        feasibility=float(feasibility),
        stationarity=float(np.abs(excess[on]).max(initial=0.0)),
        dual_feasibility=float(-excess[~on].min(initial=0.0)),
        complementarity=float(gap),
    )


def distances(m: int, seed: int = 0, n: int = 30) -> Array:
    """Squared distances between the columns of a Gaussian matrix."""
    return pairwise_sq_distances(np.random.default_rng(seed).standard_normal((n, m)))


def n_edges(W: Array) -> int:
    return int(np.count_nonzero(np.triu(W, 1)))


def permuted(M: Array, order: np.ndarray) -> Array:
    """Renumber the nodes of matrices (..., m, m)."""
    return M[..., order[:, None], order]


def low_rank_kernel(size: int, rank: int, rng: np.random.Generator) -> Array:
    """Gram matrix of ``rank`` Gaussian features."""
    features = rng.standard_normal((size, rank))
    return features @ features.T / rank


def disguised_identity(size: int, rng: np.random.Generator) -> KernelEigen:
    """The identity as a kernel like any other, in a basis like any other."""
    basis, _ = np.linalg.qr(rng.standard_normal((size, size)))
    return KernelEigen(np.ones(size), basis, size, False)


def random_mask(n: int, m: int, missing: float, rng: np.random.Generator) -> np.ndarray:
    """Observed entries, at least one in every row and column."""
    mask = rng.random((n, m)) >= missing
    long = np.arange(max(n, m))
    mask[long % n, long % m] = True
    return mask


def signal_data(
    Y: Array, mask: np.ndarray | None, K_x: Array | None, K_z: Array | None
) -> SignalData:
    n, m = Y.shape
    observed = Y if mask is None else np.where(mask, Y, 0.0)
    return SignalData(observed, mask, kernel_eigen(K_x, "K_x", m), kernel_eigen(K_z, "K_z", n))
