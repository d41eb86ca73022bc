"""What is measured of the fits of a cell: one function per row of the registry's metrics.

Each function takes the :class:`Fits` of one replicate and returns a number for every grid point
(N,), or None where the metric is not defined. To add a metric, write a function here and add a row
of the same name to :data:`experiments.registry.METRICS`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from experiments.registry import METRICS
from kgl._types import Array, Mask
from kgl.laplacian import adjacency_from_edges, edges_from_adjacency
from kgl.metrics import THRESHOLD, aps_many, sse_many
from kgl.metrics import nmi as nmi_of_clusters

__all__ = ["Fits", "compute"]

#: Both average precisions are stored; ``protocol.score.aps`` selects the one that is reported.
_STORED_AS = {"aps": "aps_weights"}


@dataclass(frozen=True)
class Fits:
    """The fits of one replicate at all N points of a grid.

    Attributes
    ----------
    weights, scores : array (N, E)
        Edge weights and scores.
    signals : array (N, n, m) or None
        Fitted signals.
    n_iter, converged, kkt_residual : array (N,)
        Outer iterations, whether they converged, and the certificate of the graph.
    ground_truth : mapping
        The data and what is known of how they came about: ``Y``, ``Y_full``, and perhaps the
        weights ``W`` or the ``groups``.
    replicate : int
        Its number, from which random choices are seeded.
    objectives : list of arrays, or None
        The objective of each point after each outer iteration.
    cv_error : array (N,) or None
        Cross-validated error.
    seconds_per_iteration : float
        Of the whole grid.
    """

    weights: Array
    scores: Array
    signals: Array | None
    n_iter: Array
    converged: Array
    kkt_residual: Array
    ground_truth: Mapping[str, Array]
    replicate: int = 0
    objectives: list[Array] | None = None
    cv_error: Array | None = None
    seconds_per_iteration: float = np.nan

    def known(self) -> set[str]:
        """Return which needs of metrics the data meet."""
        keys = {"graph": "W", "groups": "groups"}
        return {"", *(need for need, key in keys.items() if key in self.ground_truth)}


def compute(fits: Fits, keep: Collection[str] = ()) -> dict[str, Array]:
    """Return the metrics of the registry that are defined for these fits and asked for."""
    out = {}
    available = fits.known() | set(keep)
    for name, metric in METRICS.items():
        if metric.needs in available:
            values = getattr(sys.modules[__name__], name)(fits)
            if values is not None:
                out[_STORED_AS.get(name, name)] = values
    return out


def aps(fits: Fits) -> Array:
    """Return the average precision of the weights."""
    return aps_many(fits.ground_truth["W"], fits.weights)


def aps_scores(fits: Fits) -> Array:
    """Return the average precision of the scores, which have no ties."""
    return aps_many(fits.ground_truth["W"], fits.scores, threshold=None)


def sse(fits: Fits) -> Array:
    """Return the squared error of the weights, relative to those of the true graph."""
    return sse_many(fits.ground_truth["W"], fits.weights)


def nmi(fits: Fits) -> Array:
    """Return the mutual information of the true groups and the clusters of the graph."""
    groups, graphs = fits.ground_truth["groups"], adjacency_from_edges(fits.weights)
    return np.array([nmi_of_clusters(groups, W, seed=fits.replicate) for W in graphs])


def density(fits: Fits) -> Array:
    """Return the share of pairs that are linked."""
    largest = fits.weights.max(axis=1, keepdims=True)
    return np.asarray((fits.weights > THRESHOLD * largest).mean(axis=1))


def mse_in(fits: Fits) -> Array:
    """Return the mean squared error of observed entries."""
    return _mse(fits, ~np.isnan(fits.ground_truth["Y"]))


def mse_out(fits: Fits) -> Array:
    """Return the mean squared error of withheld entries."""
    return _mse(fits, np.isnan(fits.ground_truth["Y"]))


def _mse(fits: Fits, where: Mask) -> Array:
    """Return the error of some entries; NaN without such entries or signals."""
    if fits.signals is None or not where.any():
        return np.full(len(fits.weights), np.nan)
    expected = fits.ground_truth["Y_full"][where]
    return np.asarray(((fits.signals[:, where] - expected) ** 2).mean(axis=1))


def mse_cv(fits: Fits) -> Array | None:
    """Return the mean squared error of entries that were left out of a fit."""
    return fits.cv_error


def n_iter(fits: Fits) -> Array:
    """Return the number of outer iterations."""
    return fits.n_iter


def converged(fits: Fits) -> Array:
    """Return whether the tolerance was reached."""
    return fits.converged


def kkt_residual(fits: Fits) -> Array:
    """Return the relative KKT residual of the graph."""
    return fits.kkt_residual


def top_share(fits: Fits) -> Array:
    """Return the share of all weight on the heaviest 5 % of pairs."""
    ordered = np.sort(fits.weights, axis=1)[:, ::-1]
    heavy = ordered[:, : max(1, round(0.05 * ordered.shape[1]))]
    return np.asarray(heavy.sum(axis=1) / fits.weights.sum(axis=1))


def uneven(fits: Fits) -> Array:
    """Return the standard deviation over the mean of the weights of all pairs."""
    return np.asarray(fits.weights.std(axis=1) / fits.weights.mean(axis=1))


def density_error(fits: Fits) -> Array | None:
    """Return the learned density minus the true one."""
    if "W" not in fits.ground_truth:
        return None
    return density(fits) - (edges_from_adjacency(fits.ground_truth["W"]) > 0).mean()


def size(fits: Fits) -> Array | None:
    """Return the root mean square of the signals over that of the data."""
    if fits.signals is None:
        return None
    return np.asarray(_rms(fits.signals) / np.sqrt((fits.ground_truth["Y_full"] ** 2).mean()))


def row_spread(fits: Fits) -> Array | None:
    """Return the root mean square of the signals about their row means, over that about zero."""
    return _spread(fits, axis=(2,))


def spread(fits: Fits) -> Array | None:
    """Return the root mean square of the signals about their mean, over that about zero."""
    return _spread(fits, axis=(1, 2))


def _spread(fits: Fits, axis: tuple[int, ...]) -> Array | None:
    if fits.signals is None:
        return None
    floor = np.maximum(_rms(fits.signals), np.finfo(float).tiny)
    return np.asarray(_rms(fits.signals - fits.signals.mean(axis=axis, keepdims=True)) / floor)


def _rms(values: Array) -> Array:
    return np.asarray(np.sqrt((values**2).mean(axis=(1, 2))))


def rise(fits: Fits) -> Array | None:
    """Return the largest increase of the objective in an outer iteration, over its first value."""
    if fits.objectives is None:
        return None
    return np.array([np.diff(path).max(initial=-np.inf) / abs(path[0]) for path in fits.objectives])


def seconds(fits: Fits) -> Array:
    """Return the seconds per outer iteration of the whole grid."""
    return np.full(len(fits.weights), fits.seconds_per_iteration)
