r"""How far to trust fitted values: standard deviations by pathwise conditioning.

Signals are the posterior mean of a Gaussian process: with :math:`\Sigma` the covariance that the
ridge and smoothness terms stand for, :math:`F \sim N(0, \sigma^2 \Sigma)` and entries observed with
noise of variance :math:`\sigma^2`. The fit does not depend on :math:`\sigma^2`; intervals do. With
:math:`A = (I + M \Sigma M)^{-1}` and residuals :math:`r = A y`, an observed entry that is left out
is missed by :math:`r_i / A_{ii}`, with variance :math:`\sigma^2 / A_{ii}`. There are two estimates,

.. math::
    \frac{1}{N} \sum_i \frac{r_i^2}{A_{ii}}
    \quad\text{and}\quad \frac{1}{N} y^\top A y = \frac{1}{N} \sum_i y_i r_i.

The first makes intervals as wide as the errors of entries that are left out one at a time. The
second is that of maximum likelihood. Where the model is right both estimate the same. Where ``lam``
and ``rho`` are not those of the data the second is too small; where a graph of many nodes is
learned from few observations, so that it knows the entries left out, the first is. The larger of
the two is taken.

Signals that are drawn from the prior, observed where the data are, and fitted by the same signal
step miss what was drawn by an error that has the posterior's covariance (Matheron's rule), and
their residuals have the variances :math:`A_{ii}`. So standard deviations take a few signal steps
and no matrix of the size of the data. The graph and the kernels count as known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgl._types import Array
from kgl.kernels import KernelEigen
from kgl.problem import ModelSpec
from kgl.solvers.signal_base import SignalData, node_covariance
from kgl.solvers.signal_step import make_signal_step

__all__ = ["DRAWS", "Interpolator", "Spread", "noise_variance", "prior_draw", "signal_spread"]

#: Draws that a standard deviation is computed from: its own relative error is about a tenth.
DRAWS = 64
#: Relative tolerance of iterative signal steps; errors of draws are far larger.
TOL = 1e-6


@dataclass(frozen=True)
class Spread:
    """What fitted signals leave open, for noise of variance one.

    Attributes
    ----------
    variance : array (n_new, m_new)
        Variances of signals at the fit, or at new observations and nodes.
    residual : array (n, m)
        Variances of residuals at the fit; zero where entries are missing.
    draws : int
        Draws that both are computed from.
    """

    variance: Array
    residual: Array
    draws: int


def noise_variance(
    data: SignalData, spec: ModelSpec, L: Array, lam: float, rho: float, spread: Spread
) -> float:
    """Return the variance of the noise in units of the prepared data: the larger estimate."""
    seen = np.ones(data.Y.shape, dtype=bool) if data.mask is None else data.mask
    residuals = (data.Y - _fitted(data, spec, L, lam, rho))[seen]
    # the mean of 1 / A_ii, where A_ii is itself a mean of squares of so many draws
    bias = (spread.draws - 2) / spread.draws
    left_out = bias * float(np.mean(residuals**2 / spread.residual[seen]))
    return max(left_out, float(np.mean(data.Y[seen] * residuals)))


def _fitted(data: SignalData, spec: ModelSpec, L: Array, lam: float, rho: float) -> Array:
    step = make_signal_step(data, spec, tol=TOL)
    solution = step.solve(L[None], np.array([lam]), np.array([rho]), signals=True)
    assert solution.signals is not None
    return np.asarray(solution.signals[0])


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


def signal_spread(
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
) -> Spread:
    """Return variances of signals and residuals, for noise of variance one.

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
    Spread
        At new observations and nodes with what the kernel leaves open: its own variance there is
        taken to be the mean one of the fit.
    """
    rows, columns = Interpolator.of(data.K_z, left), Interpolator.of(data.K_x, right)
    total, left_over = np.zeros(1), np.zeros(data.Y.shape)
    for _ in range(draws):
        truth = prior_draw(data, spec, L, lam, rho, rng)
        seen = truth + rng.standard_normal(truth.shape)
        if data.mask is not None:
            seen *= data.mask
        found = _fitted(data.with_values(seen), spec, L, lam, rho)
        left_over += (seen - found) ** 2
        error = found - truth
        error = error if rows.matrix is None else rows.matrix @ error
        total = total + (error if columns.matrix is None else error @ columns.matrix.T) ** 2
    variance = total / draws
    residual = left_over / draws if data.mask is None else np.where(data.mask, left_over, 0) / draws
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
    return Spread(variance, residual, draws)


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
