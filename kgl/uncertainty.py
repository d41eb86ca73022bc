r"""How far to trust fitted values: standard deviations by pathwise conditioning.

Signals are the posterior mean of a Gaussian process: with :math:`\Sigma` the covariance that the
ridge and smoothness terms stand for, :math:`F \sim N(0, \sigma^2 \Sigma)` and entries observed with
noise of variance :math:`\sigma^2`. The fit does not depend on :math:`\sigma^2`; intervals do, and
its profile estimate is

.. math:: \hat\sigma^2 = \frac{1}{N} y^\top (I + M \Sigma M)^{-1} y,

the objective without the graph term at the fitted signals, per observed entry. Signals that are
drawn from the prior, observed where the data are, and fitted by the same signal step miss what was
drawn by an error that has the posterior's covariance (Matheron's rule). So standard deviations take
a few signal steps and no matrix of the size of the data. The graph and the kernels count as known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgl._types import Array
from kgl.kernels import KernelEigen
from kgl.problem import ModelSpec
from kgl.solvers.signal_base import SignalData, node_covariance
from kgl.solvers.signal_step import make_signal_step

__all__ = ["DRAWS", "Interpolator", "noise_variance", "prior_draw", "signal_variance"]

#: Draws that a standard deviation is computed from: its own relative error is about a tenth.
DRAWS = 64
#: Relative tolerance of iterative signal steps; errors of draws are far larger.
TOL = 1e-6


def noise_variance(data: SignalData, spec: ModelSpec, L: Array, lam: float, rho: float) -> float:
    """Return the profile estimate of the variance of the noise, in units of the prepared data."""
    step = make_signal_step(data, spec, tol=TOL)
    solution = step.solve(L[None], np.array([lam]), np.array([rho]), parts=True)
    assert solution.fit is not None and solution.prior is not None
    count = data.Y.size if data.mask is None else int(data.mask.sum())
    return float(solution.fit[0] + solution.prior[0]) / count


def prior_draw(
    data: SignalData, spec: ModelSpec, L: Array, lam: float, rho: float, rng: np.random.Generator
) -> Array:
    """Return signals (n, m) drawn from the prior, for noise of variance one."""
    Q, z = data.K_z.vectors, data.K_z.values
    if spec.whitened:
        g, U = np.linalg.eigh(node_covariance(data, L[None], np.array([lam]), np.array([rho]))[0])
        deviations = np.sqrt(z)[:, None] * np.sqrt(np.maximum(g, 0.0))
    else:
        values, U = np.linalg.eigh(L)
        deviations = np.sqrt(z[:, None] / (lam + rho * np.maximum(values, 0.0) * z[:, None]))
    # drawn per node and then rotated: signs of eigenvectors, which are arbitrary, do not count
    own = ((rng.standard_normal((len(z), len(U))) @ U) * deviations) @ U.T
    return np.asarray(own if data.K_z.is_identity else Q @ own)


def signal_variance(
    data: SignalData,
    spec: ModelSpec,
    L: Array,
    lam: float,
    rho: float,
    *,
    left: Array | None = None,
    right: Array | None = None,
    draws: int = DRAWS,
    rng: np.random.Generator,
) -> Array:
    """Return variances of signals, for noise of variance one.

    Parameters
    ----------
    data, spec, L, lam, rho
        The fit: the graph by its Laplacian, and the weights of the terms.
    left, right : array (n_new, n), array (m_new, m), optional
        Kernels between new and fitted observations and nodes; those of the fit if not given.
    draws : int
        Signal steps that the variances are computed from.
    rng : Generator
        Source of the draws.

    Returns
    -------
    array (n_new, m_new)
        What the fitted signals leave open, and at new observations and nodes what the kernel does:
        its own variance there is taken to be the mean one of the fit.
    """
    rows, columns = Interpolator.of(data.K_z, left), Interpolator.of(data.K_x, right)
    total: Array | float = 0.0
    for _ in range(draws):
        truth = prior_draw(data, spec, L, lam, rho, rng)
        seen = truth + rng.standard_normal(truth.shape)
        if data.mask is not None:
            seen *= data.mask
        step = make_signal_step(data.with_values(seen), spec, tol=TOL)
        found = step.solve(L[None], np.array([lam]), np.array([rho]), signals=True)
        assert found.signals is not None
        error = found.signals[0] - truth
        error = error if rows.matrix is None else rows.matrix @ error
        total = total + (error if columns.matrix is None else error @ columns.matrix.T) ** 2
    variance = np.asarray(total) / draws
    if rows.open is not None:
        node = np.full(len(L), 1.0 / lam)
        if spec.whitened:
            P = node_covariance(data, L[None], np.array([lam]), np.array([rho]))[0]
            D = columns.matrix
            node = np.diag(P if D is None else D @ P @ D.T)
        variance = variance + rows.open[:, None] * node
    if columns.open is not None:
        own = np.diag(data.K_z.matrix) if rows.open is None else np.full(len(rows.open), rows.prior)
        variance = variance + own[:, None] * columns.open / lam
    return np.asarray(variance)


@dataclass(frozen=True)
class Interpolator:
    """How new points depend on those of the fit: by a matrix, and by what it leaves open."""

    matrix: Array | None
    open: Array | None
    prior: float

    @classmethod
    def of(cls, kernel: KernelEigen, cross: Array | None) -> Interpolator:
        """Work it out from the kernel between new and fitted points."""
        prior = float(kernel.values.sum()) / kernel.size
        if cross is None:
            return cls(None, None, prior)
        scores = cross @ kernel.vectors / np.sqrt(kernel.values)
        explained = np.einsum("ij,ij->i", scores, scores)
        matrix = (scores / np.sqrt(kernel.values)) @ kernel.vectors.T
        return cls(matrix, np.maximum(prior - explained, 0.0), prior)
