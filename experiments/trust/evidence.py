r"""How likely data are under a learned graph: the evidence of a point of the grid.

With the graph and the hyperparameters of a point as known, signals are Gaussian with covariance
:math:`\sigma^2 K_z \otimes P`, :math:`P = (\lambda K_x^{\dagger} + \rho L)^{\dagger}`, and are
observed with noise of variance :math:`\sigma^2`. So the N observed entries y are Gaussian with
covariance :math:`\sigma^2 C`, :math:`C = I + M (K_z \otimes P) M`. At the variance that makes them
most likely, :math:`\hat\sigma^2 = y^\top C^{-1} y / N`,

.. math:: \log p(y) = -\tfrac{N}{2} (\log 2 \pi \hat\sigma^2 + 1) - \tfrac12 \log \det C.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgl._types import Array
from kgl.solvers.signal_base import SignalData, node_covariance

__all__ = ["NotRun", "log_evidence"]


class NotRun(ValueError):
    """A rule that is left out for what it costs: no failure."""


def log_evidence(data: SignalData, L: Array, lam: Array, rho: Array) -> Array:
    """Return the log evidence of G graphs.

    Parameters
    ----------
    data : SignalData
        The data and kernels of KGL or KGL-N.
    L : array (G, m, m)
        Laplacians.
    lam, rho : array (G,)
        Weights of the ridge and smoothness terms.

    Raises
    ------
    NotRun
        With gaps and a kernel over observations: C is then a dense matrix of all entries.
    """
    covariance = node_covariance(data, L, lam, rho)
    complete = data.mask is None or bool(data.mask.all())
    if not complete and not data.K_z.is_identity:
        raise NotRun("dependent data with gaps take a dense matrix of all entries")
    form = _complete(data, covariance) if complete else _by_row(data, covariance)
    noise = form.quadratic / form.count
    return np.asarray(-0.5 * form.count * (np.log(2 * np.pi * noise) + 1) - 0.5 * form.log_det)


@dataclass(frozen=True)
class _Form:
    """``y' C^-1 y`` and ``log det C`` of each graph, and the number of entries."""

    quadratic: Array
    log_det: Array
    count: int


def _complete(data: SignalData, covariance: Array) -> _Form:
    """Work in the eigenbases of K_z and P, in which C is diagonal."""
    own, U = np.linalg.eigh(covariance)
    rotated = data.K_z.vectors.T @ data.Y
    diagonal = 1.0 + data.K_z.values[:, None] * np.maximum(own, 0.0)[:, None, :]
    inside = ((rotated @ U) ** 2 / diagonal).sum(axis=(1, 2))
    # directions that K_z lacks have noise alone
    outside = max(float((data.Y**2).sum() - (rotated**2).sum()), 0.0)
    return _Form(inside + outside, np.log(diagonal).sum(axis=(1, 2)), data.Y.size)


def _by_row(data: SignalData, covariance: Array) -> _Form:
    """Rows are independent: C is made of a block for each."""
    assert data.mask is not None
    both = data.mask[:, :, None] & data.mask[:, None, :]
    identity = np.eye(data.Y.shape[1])
    quadratic, log_det = np.empty(len(covariance)), np.empty(len(covariance))
    for k, own in enumerate(covariance):
        # missing entries have a row of the identity: they add nothing
        lower = np.linalg.cholesky(np.where(both, own, 0.0) + identity)
        white = np.linalg.solve(lower, data.Y[:, :, None])
        quadratic[k] = (white**2).sum()
        log_det[k] = 2.0 * np.log(lower.diagonal(axis1=1, axis2=2)).sum()
    return _Form(quadratic, log_det, int(data.mask.sum()))
