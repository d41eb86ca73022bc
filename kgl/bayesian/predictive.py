"""Signals at observations and nodes that were not in the data, draw by draw."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from kgl._types import Array
from kgl.bayesian.draws import Draws
from kgl.bayesian.priors import Prior
from kgl.bayesian.signals import Rows
from kgl.laplacian import adjacency_from_edges, laplacian_from_adjacency

__all__ = ["new_nodes", "new_observations"]


def covariances(draws: Draws) -> Array:
    """Return the node covariances Theta^-1 (kept, m, m) of the draws whose signals are kept."""
    m = draws.signal_mean.shape[1]
    chain, draw = draws.chosen.T
    precision = np.stack(
        [laplacian_from_adjacency(adjacency_from_edges(w)) for w in draws.weights[chain, draw]]
    )
    precision[:, np.arange(m), np.arange(m)] += draws.scalars["kappa"][chain, draw][:, None]
    return np.asarray(np.linalg.inv(precision) * np.outer(draws.flips, draws.flips))


def new_observations(
    draws: Draws, rows: Rows, cross: Array | None, batch: slice
) -> tuple[Array, Array, Array]:
    r"""Return means (kept, rows, m) of the signals, what is left of K_z there, and K_z (rows,).

    Given a draw, new rows are normal with mean :math:`k K_z^{\dagger} F` and covariance
    :math:`(k_0 - k K_z^{\dagger} k^\top) \Theta^{-1}`. The kernel at a new row, :math:`k_0`, is
    taken to be the mean of those of the fit. Without ``cross``, rows are those of the fit. Only the
    rows of ``batch`` are returned.
    """
    if cross is None:
        # at the rows of the fit, the draw is the signal
        kernel = np.ones(rows.n) if rows.vectors is None else np.square(rows.vectors) @ rows.values
        return draws.signals[:, batch], np.zeros(rows.n)[batch], kernel[batch]
    assert rows.vectors is not None  # without K_z there is no kernel with new observations
    cross = cross[batch]
    inside = (cross @ rows.vectors) / rows.values
    level = draws.levels[:, None]
    means = level + (inside @ rows.vectors.T) @ (draws.signals - rows.constant() * level)
    size = float(rows.values.sum()) / rows.n
    left = np.maximum(size - np.sum(inside * (cross @ rows.vectors), axis=1), 0.0)
    return means, left, np.full(len(cross), size)


def new_nodes(
    draws: Draws,
    prior: Prior,
    means: Array,
    left: Array,
    kernel: Array,
    odds: Array,
    covariance: Array,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    r"""Return means and variances (kept, rows, new nodes) of the signals of new nodes.

    Given a draw, a new node gets weights :math:`w_j` from the prior, with log odds that side
    information implies; its signal is then normal with mean :math:`\sum_j w_j F_j / d` and variance
    :math:`k_0 / d`, where :math:`d = \kappa + \sum_j w_j`.

    Parameters
    ----------
    means : array (kept, rows, m)
        Signals of the nodes of the fit.
    left, kernel : array (rows,)
        What is left of K_z at the rows given those of the fit, and K_z there.
    odds : array (new nodes, kept, m)
        Log odds of edges between new nodes and those of the fit.
    covariance : array (kept, m, m)
        From :func:`covariances`.
    """
    chain, draw = draws.chosen.T
    kappa, rate = (draws.scalars[name][chain, draw] for name in ("kappa", "rate"))
    shape = (*means.shape[:2], len(odds))
    found, spread = np.empty(shape), np.empty(shape)
    for v, own in enumerate(odds):
        on = rng.random(own.shape) < expit(own)
        w = np.where(on, rng.gamma(prior.slab_shape, size=own.shape) / rate[:, None], 0.0)
        degree = kappa + w.sum(axis=1)
        # a new node has the sign of most of its neighbours
        side = np.where(w @ draws.flips < 0, -1.0, 1.0)
        share = side[:, None] * draws.flips * w / degree[:, None]
        found[:, :, v] = np.einsum("sim,sm->si", means, share)
        variance = np.einsum("sj,sjk,sk->s", share, covariance, share)
        spread[:, :, v] = left * variance[:, None] + kernel / degree[:, None]
    return found, spread
