"""Simulated nodes: clusters in three dimensions, with signals that vary smoothly over space."""

from __future__ import annotations

import numpy as np

from kgl._types import Array

__all__ = ["places", "smooth_features"]

#: Nodes in a cluster on average, its radius, and the length over which signals vary.
_CLUSTER, _RADIUS, _LENGTH = 250, 0.35, 0.7
_FREQUENCIES = 300
_NOISE = 0.1


def places(m: int, seed: int = 0) -> Array:
    """Return positions (m, 3) of nodes."""
    rng = np.random.default_rng(seed)
    n_clusters = max(4, m // _CLUSTER)
    centres = rng.uniform(0.0, 1.0, (n_clusters, 3)) * n_clusters ** (1 / 3)
    return np.asarray(
        centres[rng.integers(n_clusters, size=m)] + _RADIUS * rng.standard_normal((m, 3))
    )


def smooth_features(m: int, n: int = 200, seed: int = 0) -> Array:
    """Return (m, n) features: n smooth functions of the positions of m nodes, and noise."""
    rng = np.random.default_rng([seed, 1])
    x = places(m, seed)
    frequencies = rng.standard_normal((3, _FREQUENCIES)) / _LENGTH
    phases = rng.uniform(0.0, 2.0 * np.pi, _FREQUENCIES)
    amplitudes = rng.standard_normal((_FREQUENCIES, n)) * np.sqrt(2.0 / _FREQUENCIES)
    out = np.empty((m, n))
    for b in range(0, m, 4096):  # in blocks: the data must not take more memory than the solver
        part = slice(b, b + 4096)
        out[part] = np.cos(x[part] @ frequencies + phases) @ amplitudes
        out[part] += _NOISE * rng.standard_normal(out[part].shape)
    return out
