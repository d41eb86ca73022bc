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

from dataclasses import dataclass

import numpy as np

from kgl._types import Array

__all__ = ["MODELS", "PARTS", "ModelSpec", "graph_penalty", "kkt_residual"]

#: Names of the parts of the objective, in the order in which histories list them.
PARTS = ("fit", "ridge", "smoothness", "graph")


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
    W: Array, Z: Array, psi: float, *, regularizer: str = "frobenius", barrier: float = 1.0
) -> float:
    r"""Relative violation of the optimality conditions by one graph, from the primal side alone.

    For the Frobenius problem the gradient
    :math:`g_{ij} = Z_{ij}/2\psi + 2 w_{ij} + d_i + d_j` must equal one multiplier :math:`t` on
    the edges and be at least :math:`t` elsewhere; for the log-degree problem
    :math:`Z_{ij}/2\psi + 2 w_{ij}` must equal :math:`u_i + u_j` on the edges, with
    :math:`u = \beta / (2 \psi d)`, and be at least that elsewhere. The residual is the largest of
    the gaps ``min(2 w, g - t)``, negative weights, asymmetry and the error in the trace, relative
    to the size of the weights and multipliers involved. It does not look at the solver's dual
    variables, so it can judge any solver.

    Examples
    --------
    >>> Z = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> kkt_residual(np.array([[0.0, 1.0], [1.0, 0.0]]), Z, 0.5)
    0.0
    >>> kkt_residual(np.array([[0.0, 2.0], [2.0, 0.0]]), Z, 0.5)
    1.0
    """
    m = len(W)
    rows, cols = np.triu_indices(m, 1)
    w, z = W[rows, cols], np.asarray(Z, dtype=float)[rows, cols]
    allowed = np.isfinite(z)
    degrees = W.sum(axis=1)
    violations = [np.abs(W - W.T).max(), max(0.0, -float(w.min())), np.abs(np.diag(W)).max()]
    if not allowed.all():
        violations.append(np.abs(w[~allowed]).max())
    w, z, rows, cols = w[allowed], z[allowed], rows[allowed], cols[allowed]
    scale = max(2.0 * float(w.max()), float(degrees.max()), np.finfo(float).tiny)
    if regularizer == "frobenius":
        # A common shift of z only moves t; taking it off first avoids cancellation at small psi.
        gradient = (z - z.min()) / (2.0 * psi) + 2.0 * w + degrees[rows] + degrees[cols]
        on = w > 1e-9 * w.max()
        t = float(np.average(gradient[on], weights=w[on])) if on.any() else float(gradient.min())
        slack = gradient - t
        violations.append(abs(float(degrees.sum()) - m) / m * scale)
    elif regularizer == "log-degree":
        if degrees.min() <= 0.0:
            return float("inf")
        u = barrier / (2.0 * psi * degrees)
        pair = u[rows] + u[cols]
        slack = (z / (2.0 * psi) + 2.0 * w - pair) / pair
        # each edge in the units of its ends: a remote node must not excuse the others
        share = w / np.minimum(degrees[rows], degrees[cols])
        gaps = np.abs(np.minimum(share, slack))
        return float(max(gaps.max(), max(violations) / scale))
    else:
        raise ValueError(f"unknown regularizer {regularizer!r}; use 'frobenius' or 'log-degree'")
    violations.append(np.abs(np.minimum(2.0 * w, slack)).max())
    return float(max(violations)) / scale
