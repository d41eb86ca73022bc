r"""The learning problem: one objective, six models, and the certificate of a graph.

With fitted signals :math:`\hat Y = K_z A K_x`, every model minimises over :math:`(\hat Y, L)`

.. math::
    \|M \circ (Y - \hat Y)\|_F^2
    + \lambda \operatorname{tr}(K_z^{\dagger} \hat Y K_x^{\dagger} \hat Y^\top)
    + \rho\, s(\hat Y, L) + \Omega(L),

with :math:`M` the 0/1 mask of observed entries, and smoothness
:math:`s = \operatorname{tr}(K_z^{\dagger} \hat Y L \hat Y^\top)` (whitened by the dependence of
the observations) or :math:`\operatorname{tr}(\hat Y L \hat Y^\top)` (not whitened). A model is a
choice of kernels and of that smoothness: a row of :data:`MODELS`, not a separate solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgl._types import Array
from kgl._validation import as_numbers, check_hyperparameter, check_option

__all__ = [
    "MODELS",
    "PARTS",
    "ModelSpec",
    "graph_penalty",
    "kkt_residual",
    "kkt_residuals",
]

#: Names of the parts of the objective, in the order in which histories list them.
PARTS = ("fit", "ridge", "smoothness", "graph")
#: Numbers that the certificate works on at a time: they stay in the cache.
_BLOCK = 1 << 17


@dataclass(frozen=True)
class ModelSpec:
    """One row of the table of models.

    Attributes
    ----------
    name : str
        The paper's name.
    node_kernel, observation_kernel : bool
        Whether K_x and K_z are used; the identity takes the place of an unused one.
    ridge : bool
        Whether the model has the lambda term.
    whitened : bool
        Whether the smoothness term is whitened by K_z.
    fitted : bool
        Whether signals are fitted at all; GL reads the graph off the data.
    masked : bool
        Whether missing entries are left out of the fit; the paper's first two baselines take
        them for zero.
    signed : bool
        Whether edges also link nodes that move opposite to each other, with a sign of -1; the sign
        of a pair is the one with the smaller distance. No model of the paper has this.
    """

    name: str
    node_kernel: bool
    observation_kernel: bool
    ridge: bool = True
    whitened: bool = True
    fitted: bool = True
    masked: bool = True
    signed: bool = False

    def __post_init__(self) -> None:
        if self.node_kernel and not self.whitened:
            raise ValueError(
                f"model {self.name!r}: smoothness that is not whitened goes with K_x = I; "
                "set node_kernel=False or whitened=True"
            )
        if not self.ridge and (self.node_kernel or self.observation_kernel or self.masked):
            raise ValueError(
                f"model {self.name!r}: without the ridge term missing entries and kernels leave "
                "the fit undetermined; set ridge=True, or masked=False and no kernels"
            )

    @property
    def hyperparameters(self) -> tuple[str, ...]:
        """Names of the weights that the model has, in the order lam, rho, psi."""
        names = ("lam",) if self.ridge else ()
        return (*names, "rho", "psi") if self.fitted else ("psi",)


MODELS = {
    "GL": ModelSpec("GL", False, False, ridge=False, fitted=False, masked=False),
    "GL-2step": ModelSpec("GL-2step", False, False, ridge=False, masked=False),
    "KGL-N": ModelSpec("KGL-N", True, False),
    "KGL-O": ModelSpec("KGL-O", False, True),
    "KGL": ModelSpec("KGL", True, True),
    "KGL-Agnostic": ModelSpec("KGL-Agnostic", False, True, whitened=False),
}


def graph_penalty(
    W: Array, psi: Array, regularizer: str = "frobenius", barrier: float = 1.0
) -> Array:
    r"""Return :math:`\Omega` for a batch of graphs ``(G, m, m)``.

    ``frobenius``: :math:`\psi\|L\|_F^2 = \psi(\|W\|_F^2 + |d|^2)`;
    ``log-degree``: :math:`\psi\|W\|_F^2 - \beta \sum_i \log d_i`.
    """
    degrees = W.sum(axis=-1)
    squares = np.einsum("gij,gij->g", W, W)
    if regularizer == "frobenius":
        return np.asarray(psi * (squares + np.einsum("gi,gi->g", degrees, degrees)))
    with np.errstate(divide="ignore"):
        return np.asarray(psi * squares - barrier * np.log(degrees).sum(axis=-1))


def kkt_residual(
    W: Any, Z: Any, psi: float, *, regularizer: str = "frobenius", barrier: float = 1.0
) -> float:
    r"""Relative violation of the optimality conditions by one graph, from the primal side alone.

    For the Frobenius problem the gradient
    :math:`g_{ij} = Z_{ij}/2\psi + 2 w_{ij} + d_i + d_j` must equal one multiplier :math:`t` on
    the edges and be at least :math:`t` elsewhere; for the log-degree problem
    :math:`Z_{ij} + 4 \psi w_{ij}` must equal :math:`v_i + v_j` on the edges, with
    :math:`v = \beta / d`, and be at least that elsewhere. The residual is the largest of
    the gaps ``min(2 w, g - t)``, negative weights, asymmetry and the error in the trace, relative
    to the size of the weights and multipliers involved; a log-degree problem judges each pair
    in the units of its ends. It looks neither at the solver's dual variables nor at its units, so
    it can judge any solver.

    Parameters
    ----------
    W : array or sparse array (m, m)
        Weights of the graph.
    Z : array (m, m)
        Distances; ``inf`` forbids an edge; the diagonal is ignored.
    psi : float
        Weight of the Frobenius norm, positive.
    regularizer : {"frobenius", "log-degree"}
        Which of the two problems.
    barrier : float
        Weight of the log-degree barrier.

    Returns
    -------
    float
        0 for an exact solution; NaN or infinity where the graph cannot be judged or is no graph.

    Examples
    --------
    >>> Z = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> kkt_residual(np.array([[0.0, 1.0], [1.0, 0.0]]), Z, 0.5)
    0.0
    >>> kkt_residual(np.array([[0.0, 2.0], [2.0, 0.0]]), Z, 0.5)
    1.0
    """
    check_option("regularizer", regularizer, ("frobenius", "log-degree"))
    psi, barrier = check_hyperparameter("psi", psi), check_hyperparameter("barrier", barrier)
    if hasattr(Z, "toarray"):
        raise TypeError(
            f"Z is a sparse {type(Z).__name__}, whose missing entries would be distances of zero; "
            "pass Z.toarray(), or read kkt_residual_ off a sparse fit"
        )
    W = W.toarray() if hasattr(W, "toarray") else W
    weights, distances = (_square(as_numbers(values, n), n) for values, n in ((W, "W"), (Z, "Z")))
    if weights.shape != distances.shape:
        raise ValueError(
            f"W is {weights.shape} and Z is {distances.shape}; pass the weights and the distances "
            "of the same nodes"
        )
    found = kkt_residuals(
        weights[None], distances[None], np.array([psi]), regularizer=regularizer, barrier=barrier
    )
    return float(found[0])


def _square(matrix: Array, name: str) -> Array:
    """Return a matrix over two nodes or more."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise ValueError(
            f"{name} must be a square matrix of at least 2 nodes, got shape {matrix.shape}"
        )
    return matrix


def kkt_residuals(
    W: Array, Z: Array, psi: Array, *, regularizer: str = "frobenius", barrier: float = 1.0
) -> Array:
    """Return :func:`kkt_residual` for a batch: ``W`` and ``Z`` (G, m, m), ``psi`` (G,)."""
    n_problems, m, _ = W.shape
    residual = np.empty(n_problems)
    size = max(1, _BLOCK // (m * m))
    # what is no number makes the residual none, or infinite, which is the answer
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for begin in range(0, n_problems, size):
            part = slice(begin, begin + size)
            graphs = _Graphs(W[part], Z[part], psi[part, None, None])
            if regularizer == "frobenius":
                residual[part] = _frobenius_residuals(graphs)
            else:
                residual[part] = _log_degree_residuals(graphs, barrier)
    return residual


class _Graphs:
    """Some graphs of a batch, looked at by blocks of rows: large ones leave little memory."""

    def __init__(self, W: Array, Z: Array, psi: Array) -> None:
        self.W, self.Z, self.psi = W, Z, psi
        self.m = W.shape[-1]
        self.degrees = W.sum(axis=2)

    def rows(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield rows, their weights, and their distances, infinite to the nodes themselves."""
        step = max(1, _BLOCK // (self.m * len(self.W)))
        for begin in range(0, self.m, step):
            rows = slice(begin, min(begin + step, self.m))
            Z = np.array(self.Z[:, rows], dtype=float)
            own = np.arange(rows.start, rows.stop)
            Z[:, own - begin, own] = np.inf
            yield rows, self.W[:, rows], Z

    def asymmetry(self, rows: slice) -> Array:
        """Return the largest differences between the weights of a pair in its two places."""
        return _largest(self.W[:, rows] - self.W[:, :, rows].swapaxes(1, 2))


def _largest(values: Array) -> Array:
    """Return the largest absolute values (G,), NaN where there is one."""
    return np.asarray(np.abs(values, out=values).max(axis=(1, 2)))


def _frobenius_residuals(graphs: _Graphs) -> Array:
    """Return the residuals of the problem with a trace constraint."""
    m, degrees, twice_psi = graphs.m, graphs.degrees, 2.0 * graphs.psi
    largest = graphs.W.max(axis=(1, 2))
    scale = np.maximum(np.maximum(2.0 * largest, degrees.max(axis=1)), np.finfo(float).tiny)
    # A common shift of Z only moves t; taking it off first avoids cancellation at small psi.
    shift = np.min([Z.min(axis=(1, 2)) for _, _, Z in graphs.rows()], axis=0)[:, None, None]

    def gradients() -> Iterator[tuple[slice, Array, Array]]:
        for rows, W, Z in graphs.rows():
            Z -= shift
            Z /= twice_psi
            Z += 2.0 * W
            Z += degrees[:, rows, None] + degrees[:, None, :]
            yield rows, W, Z

    cut = 1e-9 * largest[:, None, None]
    weighted, total, least = np.zeros(len(scale)), np.zeros(len(scale)), np.full(len(scale), np.inf)
    for _, W, gradient in gradients():
        on = (cut < W) & np.isfinite(gradient)
        share = np.where(on, W, 0.0)
        total += share.sum(axis=(1, 2))
        least = np.minimum(least, gradient.min(axis=(1, 2)))
        weighted += np.einsum("gij,gij->g", share, np.where(on, gradient, 0.0))
    t = np.where(total > 0.0, weighted / total, least)[:, None, None]
    gap = np.zeros(len(scale))
    for rows, W, gradient in gradients():
        # nodes themselves and forbidden pairs have an infinite gradient, so a weight there counts
        gradient -= t
        gap = np.maximum(gap, _largest(np.minimum(2.0 * W, gradient)))
        gap = np.maximum(gap, graphs.asymmetry(rows))
    return np.asarray(np.maximum(gap / scale, np.abs(degrees.sum(axis=1) - m) / m))


def _log_degree_residuals(graphs: _Graphs, barrier: float) -> Array:
    """Return the residuals of the problem with a log-degree barrier."""
    degrees, four_psi = graphs.degrees, 4.0 * graphs.psi
    potential = barrier / degrees
    gap = np.zeros(len(degrees))
    for rows, W, Z in graphs.rows():
        pair = potential[:, rows, None] + potential[:, None, :]
        Z -= pair
        Z += four_psi * W
        Z /= pair
        # each edge in the units of its ends: a remote node must not excuse the others
        share = W / np.minimum(degrees[:, rows, None], degrees[:, None, :])
        gap = np.maximum(gap, _largest(np.minimum(share, Z)))
        gap = np.maximum(gap, graphs.asymmetry(rows) / degrees.max(axis=1))
    gap = np.where(degrees.min(axis=1) <= 0.0, np.inf, gap)
    return np.where(np.isfinite(degrees).all(axis=1), gap, np.nan)
