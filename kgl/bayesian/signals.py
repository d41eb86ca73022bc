r"""Data in the eigenbasis of K_z, the evidence with signals integrated out, and draws of signals.

With :math:`K_z = Q \operatorname{diag}(z) Q^\top` and :math:`\Theta = U \operatorname{diag}(l)
U^\top`, entries of :math:`T = Q^\top Y U` are independent, with variance
:math:`z_k / l_j + \sigma^2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kgl._types import Array, Mask
from kgl.bayesian.edges import Groups

__all__ = ["Rotated", "Rows", "draw_rows"]

#: Rows of K_z's eigenbasis whose eigenvalues differ by less than this factor are one group.
FACTOR = 8.0
#: Directions of K_z below this share of its largest eigenvalue hold noise alone.
NO_SIGNAL = 1e-5
#: Numbers that one batch of row-wise systems may take: 64 MB.
BATCH = 8_000_000


@dataclass(frozen=True)
class Rows:
    """The eigenbasis of K_z, and its directions in groups of similar eigenvalues.

    Attributes
    ----------
    n : int
        Number of observations.
    values : array (k,)
        Eigenvalues, descending; ones for independent observations.
    vectors : array (n, k) or None
        Eigenvectors; None for the identity.
    edges : list of tuple
        First and last (exclusive) direction of each group.
    """

    n: int
    values: Array
    vectors: Array | None
    edges: list[tuple[int, int]]

    @classmethod
    def of(cls, kernel: Any) -> Rows:
        """Return the rows of a :class:`kgl.kernels.KernelEigen`."""
        if kernel.is_identity:
            return cls(kernel.size, kernel.values, None, [(0, kernel.size)])
        keep = kernel.values > NO_SIGNAL * kernel.values[0]
        values = kernel.values[keep]
        edges, start = [], 0
        for k in range(1, len(values) + 1):
            if k == len(values) or values[k] * FACTOR < values[start]:
                edges.append((start, k))
                start = k
        return cls(kernel.size, values, np.ascontiguousarray(kernel.vectors[:, keep]), edges)

    @property
    def counts(self) -> Array:
        """Number of directions in each group."""
        return np.array([float(last - first) for first, last in self.edges])

    def rotate(self, Y: Array) -> Array:
        """Return the coordinates (..., k, m) of data (..., n, m)."""
        return Y if self.vectors is None else np.asarray(self.vectors.T @ Y)

    def back(self, rotated: Array) -> Array:
        """Return data (..., n, m) of coordinates (..., k, m)."""
        return rotated if self.vectors is None else np.asarray(self.vectors @ rotated)

    def constant(self) -> Array:
        """Return the projection (n, 1) of ones on the range of K_z."""
        return self.back(self.rotate(np.ones((self.n, 1))))


@dataclass
class Rotated:
    """Squared coordinates of complete data, and what is left outside of K_z's range.

    Attributes
    ----------
    squares : array (chains, k, m), or (chains, 1, m) for independent observations
        Squares of T, summed over rows where these are alike.
    repeats : float
        Rows in each sum.
    values : array (k,) or (1,)
        Eigenvalues of K_z.
    outside, outside_count : array (chains,), float
        Sum of squares outside of the range, and its degrees of freedom.
    """

    squares: Array
    repeats: float
    values: Array
    outside: Array
    outside_count: float

    @classmethod
    def of(cls, rows: Rows, Y: Array, rotated: Array, vectors: Array) -> Rotated:
        """Rotate data Y (chains or 1, n, m), whose coordinates are ``rotated``."""
        chains, m = vectors.shape[:2]
        T = rotated @ vectors
        if rows.vectors is None:
            squares = np.einsum("ckj,ckj->cj", T, T)[:, None]
            return cls(squares, float(rows.n), np.ones(1), np.zeros(chains), 0.0)
        whole = np.einsum("ckj,ckj->c", Y, Y) - np.einsum("ckj,ckj->c", rotated, rotated)
        outside = np.broadcast_to(np.maximum(whole, 0.0), (chains,))
        return cls(T**2, 1.0, rows.values, outside, float((rows.n - len(rows.values)) * m))

    def log_evidence(self, precision: Array, noise: Array) -> Array:
        """Return the log evidence (chains,), without constants.

        Parameters
        ----------
        precision : array (chains, m)
            Eigenvalues of Theta.
        noise : array (chains,)
            Noise variance.
        """
        variance = self.values[:, None] / precision[:, None, :] + noise[:, None, None]
        inside = self.repeats * np.log(variance) + self.squares / variance
        outside = self.outside_count * np.log(noise) + self.outside / noise
        return np.asarray(-0.5 * (inside.sum(axis=(1, 2)) + outside))


def draw_whitened(
    rows: Rows, rotated: Array, precision: Array, vectors: Array, noise: Array,
    rng: np.random.Generator,
) -> Array:  # fmt: skip
    """Draw whitened signals G (chains, k, m), with F = Q diag(z)^(1/2) G, given complete data."""
    root = np.sqrt(rows.values)[:, None] / noise[:, None, None]
    total = precision[:, None, :] + rows.values[:, None] / noise[:, None, None]
    mean = root * (rotated @ vectors) / total
    shape = (len(noise), len(rows.values), vectors.shape[1])
    drawn = mean + rng.standard_normal(shape) / np.sqrt(total)
    return np.asarray(drawn @ vectors.swapaxes(1, 2))


def draw_rows(
    Y: Array, mask: Mask, precision: Array, vectors: Array, noise: Array, rng: np.random.Generator
) -> Array:
    r"""Draw signals (chains, n, m) of independent rows, given their observed entries.

    :math:`F_i = (\Theta + M_i / \sigma^2)^{-1} (M_i y_i / \sigma^2 + e)` with e normal with the
    covariance of the matrix that is inverted: one solve gives mean and draw.
    """
    chains, (n, m) = len(noise), mask.shape
    theta = (vectors * precision[:, None]) @ vectors.swapaxes(1, 2)
    scaled = mask / noise[:, None, None]
    e = (np.sqrt(precision)[:, None] * rng.standard_normal((chains, n, m))) @ vectors.swapaxes(1, 2)
    right = scaled * Y + e + np.sqrt(scaled) * rng.standard_normal((chains, n, m))
    drawn = np.empty((chains, n, m))
    size = max(1, BATCH // (chains * m * m))
    diagonal = np.arange(m)
    for start in range(0, n, size):
        part = slice(start, start + size)
        system = np.repeat(theta[:, None], len(mask[part]), axis=1)
        system[..., diagonal, diagonal] += scaled[:, part]
        drawn[:, part] = np.linalg.solve(system, right[:, part, :, None])[..., 0]
    return drawn


def group_moments(
    rows: Rows, rotated: Array, whitened: Array | None, noise: Array, rng: np.random.Generator
) -> Groups:
    r"""Return the second moments that edges are drawn from.

    Whitened rows of a group differ in their noise, :math:`\sigma^2 / z_k`. Each is replaced by a
    row with the least noise of its group, :math:`v`, drawn given the present signals G: the
    observed row is that one with noise of variance :math:`\sigma^2 / z_k - v` added, so the model
    is the same one. Independent observations have one group and nothing is drawn.
    """
    counts = rows.counts
    if rows.vectors is None:
        return Groups(counts, noise[:, None], (rotated.swapaxes(1, 2) @ rotated)[:, None])
    assert whitened is not None
    chains, _, m = whitened.shape
    scaled = rotated / np.sqrt(rows.values)[:, None]
    least = np.stack([noise / rows.values[first] for first, _ in rows.edges], axis=1)
    moments = np.empty((chains, len(rows.edges), m, m))
    for g, (first, last) in enumerate(rows.edges):
        v = least[:, g, None, None]
        more = noise[:, None, None] / rows.values[first:last, None] - v
        part = more / (more + v)  # share of the signal in the mean of the replaced row
        mean = part * whitened[:, first:last] + (1.0 - part) * scaled[:, first:last]
        drawn = mean + np.sqrt(part * v) * rng.standard_normal((chains, last - first, m))
        moments[:, g] = drawn.swapaxes(1, 2) @ drawn
    return Groups(counts, least, moments)
