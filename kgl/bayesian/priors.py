r"""What the Bayesian model believes before it sees data, for data of unit variance.

.. math::
    Y_{ij} \mid F \sim N(F_{ij}, \sigma^2), \qquad
    \operatorname{vec}(F) \sim N(0, \Theta^{-1} \otimes K_z), \qquad
    \Theta = \kappa I + \sum_e w_e b_e b_e^\top,

with :math:`b_e` the difference of the two ends of a pair. A weight is zero with probability
:math:`1 - \pi_e`, and else :math:`w_e \sim \operatorname{Gamma}(a, \tau)`. The noise variance is
uniform on (0, 1); what is left, :math:`\omega = 1 - \sigma^2`, is the variance that signals are
expected to have, so that :math:`\kappa \omega` is log-normal and :math:`\tau / \omega` has a Gamma
distribution: a weak signal has large weights, not a different graph. The rate :math:`\tau` and,
without side information, the density are integrated out when edges are drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from kgl._types import Array

__all__ = ["Prior", "log_odds"]

#: The variance of signals that the scales of weights refer to is not taken to be smaller.
WEAKEST = 0.02
#: The largest strength: pairs one standard deviation apart are then told apart for certain.
MOST_STRENGTH = 20.0
#: Steps towards an intercept at most, and the error of the density that ends them.
MOST_STEPS, SETTLED = 50, 1e-7


@dataclass(frozen=True)
class Prior:
    r"""Constants of the prior.

    Attributes
    ----------
    slab_shape : float
        The shape a of the Gamma distribution of weights; above 1, small weights are unlikely.
    kappa_center, kappa_spread : float
        Median and standard deviation of the logarithm of :math:`\kappa \omega`.
    rate_shape : float
        Shape of the Gamma distribution of :math:`\tau / \omega`, whose mean is a: weights of
        about 1 at unit variance.
    density : float or None
        Share of pairs that are edges; None for a Beta distribution of it.
    density_counts : tuple of float
        Parameters of that Beta distribution.
    strength_scale : float
        Median of each strength of side information that is not zero: half-Cauchy distributed up to
        :data:`MOST_STRENGTH`, for there is side information that gives edges away.
    strength_probability : float
        Probability that a form of side information matters at all.
    """

    slab_shape: float = 2.0
    kappa_center: float = 0.3
    kappa_spread: float = 1.5
    rate_shape: float = 1.5
    density: float | None = None
    density_counts: tuple[float, float] = (6.0, 14.0)
    strength_scale: float = 0.25
    strength_probability: float = 0.35

    def rate_offset(self, noise: Array) -> Array:
        """Return the rate of the Gamma distribution of tau, given the noise variance."""
        return np.asarray(self.rate_shape / (self.slab_shape * signal_share(noise)))

    def log_scales(self, noise: Array, kappa: Array, count: Array, total: Array) -> Array:
        """Return the log density of log kappa and of the weights, given the noise variance.

        Only what depends on the scale of the weights is included: their number ``count`` and their
        sum ``total``, with tau integrated out, and the Jacobian of that scale.
        """
        offset = self.rate_offset(noise)
        share = signal_share(noise)
        a = (np.log(kappa * share) - math.log(self.kappa_center)) / self.kappa_spread
        b = self.rate_shape * np.log(offset)
        power = self.rate_shape + self.slab_shape * count
        return np.asarray(-0.5 * a**2 + b - power * np.log(offset + total))

    def draw_scales(self, rng: np.random.Generator, chains: int) -> tuple[Array, Array, Array]:
        """Draw noise variance, kappa and tau."""
        noise = rng.random(chains)
        spread = np.exp(self.kappa_spread * rng.standard_normal(chains))
        kappa = self.kappa_center / signal_share(noise) * spread
        return noise, kappa, rng.gamma(self.rate_shape, size=chains) / self.rate_offset(noise)

    def draw_density(self, rng: np.random.Generator, chains: int) -> Array:
        """Draw the share of pairs that are edges."""
        if self.density is not None:
            return np.full(chains, self.density)
        return rng.beta(*self.density_counts, size=chains)

    def draw_strengths(self, rng: np.random.Generator, chains: int, forms: int) -> Array:
        """Draw the strengths of side information."""
        on = rng.random((chains, forms)) < self.strength_probability
        return np.where(on, self.draw_slab_strengths(rng, (chains, forms)), 0.0)

    def draw_slab_strengths(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw strengths that are not zero."""
        most = math.atan(MOST_STRENGTH / self.strength_scale)
        return np.asarray(self.strength_scale * np.tan(most * rng.random(shape)))

    def log_strength(self, strength: Array) -> Array:
        """Return the log density of strengths that are not zero, without constants."""
        inside = strength <= MOST_STRENGTH
        return np.where(inside, -np.log1p((strength / self.strength_scale) ** 2), -np.inf)

    def draw_weights(self, rng: np.random.Generator, odds: Array, rate: Array) -> Array:
        """Draw weights (chains, pairs), given the log odds of edges."""
        on = rng.random(odds.shape) < expit(odds)
        return np.where(on, rng.gamma(self.slab_shape, size=odds.shape) / rate[:, None], 0.0)


def signal_share(noise: Array) -> Array:
    """Return the variance that signals are expected to have, given that of the noise."""
    return np.asarray(np.maximum(1.0 - noise, WEAKEST))


def log_odds(density: Array, strengths: Array, forms: Array) -> Array:
    r"""Return the log odds of every edge, :math:`c_0 + \sum_k c_k \phi_{ke}`.

    The intercept is such that the mean probability is the density.

    Parameters
    ----------
    density : array (chains,)
        Mean probability.
    strengths : array (chains, K)
        Strengths of side information.
    forms : array (K, pairs)
        Side information about pairs, in its K forms.
    """
    start = np.log(density) - np.log1p(-density)
    if not len(forms):
        return np.broadcast_to(start[:, None], (len(density), forms.shape[1])).copy()
    tilt = strengths @ forms
    # Newton's iteration, kept inside a bracket that shrinks
    low, high = start - tilt.max(axis=1), start - tilt.min(axis=1)
    middle = np.clip(start - tilt.mean(axis=1), low, high)
    for _ in range(MOST_STEPS):
        p = expit(middle[:, None] + tilt)
        gap = p.mean(axis=1) - density
        low, high = np.where(gap < 0, middle, low), np.where(gap < 0, high, middle)
        step = middle - gap / np.maximum((p * (1.0 - p)).mean(axis=1), 1e-300)
        step = np.where((step >= low) & (step <= high), step, 0.5 * (low + high))
        if np.abs(gap).max() < SETTLED:
            break
        middle = step
    return np.asarray(middle[:, None] + tilt)
