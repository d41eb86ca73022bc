"""Markov chains side by side: one array axis, one pass over the parameters per sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit

from kgl._types import Array, Mask
from kgl.bayesian.edges import EdgeSweep, Odds, Slab, draw_pairs, gamma_factor
from kgl.bayesian.priors import MOST_STRENGTH, Prior, log_odds, signal_share
from kgl.bayesian.signals import Rotated, Rows, draw_rows, draw_whitened, group_moments

__all__ = ["Chains", "Steps"]

#: Proposals for each pair of scales in a sweep.
PROPOSALS = 4
#: Rounds of signals and missing entries in a sweep, where observations depend on each other.
ROUNDS = 4
#: Factors on the width of a proposal when it is accepted and when not: 0.4 are accepted.
WIDER, NARROWER = 1.06, 0.9618
#: Levels are drawn where at least this share of a constant lies in the range of K_z.
CONSTANT = 0.9
#: Widest proposal, of a logarithm.
WIDEST = 3.0


@dataclass
class Steps:
    """Widths of random-walk proposals, adapted while ``adapting``."""

    chains: int
    adapting: bool = True
    widths: dict[str, Array] = field(default_factory=dict)

    def accept(self, name: str, log_ratio: Array, rng: np.random.Generator) -> Mask:
        """Return which proposals are accepted, and adapt the width of their kind."""
        taken = np.log(rng.random(self.chains)) < log_ratio
        if self.adapting:
            factor = np.where(taken, WIDER, NARROWER)
            # what could not be accepted, a strength of zero times a factor, tells nothing
            wider = self.widths[name] * np.where(np.isneginf(log_ratio), 1.0, factor)
            # what the data do not see is accepted always: the scale of the weights of no edge
            self.widths[name] = np.minimum(wider, WIDEST)
        return np.asarray(taken)

    def move(self, name: str, rng: np.random.Generator, start: float = 0.3) -> Array:
        """Return random steps of the width of this kind of proposal."""
        width = self.widths.setdefault(name, np.full(self.chains, start))
        return np.asarray(width * rng.standard_normal(self.chains))


class Chains:
    """A chunk of Markov chains over all parameters.

    Parameters
    ----------
    Y : array (n, m)
        Data of unit variance, zero where missing.
    mask : bool array (n, m) or None
        True where observed.
    rows : Rows
        The eigenbasis of K_z.
    forms : array (K, pairs)
        Side information about pairs; K = 0 without any.
    prior : Prior
        What is believed beforehand.
    chains : int
        Number of chains.
    rng : numpy.random.Generator
        Source of randomness.
    centered : bool
        Whether nodes were centred by the mean of their observed entries, which is uncertain: a
        level of each node is then drawn too, all being equally likely beforehand. Not for a K_z
        that can hardly represent a constant, :data:`CONSTANT`.
    """

    def __init__(
        self, Y: Array, mask: Mask | None, rows: Rows, forms: Array, prior: Prior, chains: int,
        rng: np.random.Generator, centered: bool = False,
    ) -> None:  # fmt: skip
        self.Y, self.mask, self.rows, self.forms = Y, mask, rows, forms
        self.prior, self.rng = prior, rng
        self.m = Y.shape[1]
        self.pairs = np.triu_indices(self.m, 1)
        self.steps = Steps(chains)
        self.spread: Array = np.eye(3)
        self.spread_root: Array = np.eye(3)
        self.noise, self.kappa, self.rate = prior.draw_scales(rng, chains)
        self.density = prior.draw_density(rng, chains)
        self.strengths = prior.draw_strengths(rng, chains, len(forms))
        self.odds = log_odds(self.density, self.strengths, forms)
        self.weights = prior.draw_weights(rng, self.odds, self.rate)
        # missing entries start near zero, their mean; complete data are shared by all chains
        self.full = Y[None]
        if mask is not None:
            start = 0.1 * rng.standard_normal((chains, *Y.shape))
            self.full = np.where(mask, Y, start)
        self.signals: Array = np.zeros((chains, *Y.shape))
        self.levels: Array = np.zeros((chains, self.m))
        self.leveled: Mask | None = None
        if centered and np.square(rows.constant()).mean() > CONSTANT:
            self.leveled = np.ones(self.m, bool) if mask is None else np.asarray(mask.any(axis=0))
            self.full = np.broadcast_to(self.full, (chains, *Y.shape))
        self.inclusion = np.zeros_like(self.weights)
        self.means = np.zeros_like(self.weights)

    # ------------------------------------------------------------------------------- one sweep

    def sweep(self) -> None:
        """Update every parameter once."""
        values, vectors = spectrum(self.weights, self.m)
        if self.mask is not None and self.rows.vectors is None:
            self._draw_missing(draw_rows(
                self._observed(), self.mask, values + self.kappa[:, None], vectors, self.noise,
                self.rng,
            ))  # fmt: skip
        elif self.mask is not None:
            for _ in range(ROUNDS):
                G = draw_whitened(
                    self.rows, self.rows.rotate(self.full), values + self.kappa[:, None], vectors,
                    self.noise, self.rng,
                )  # fmt: skip
                self._draw_missing(self._unwhitened(G))
        rotated = self.rows.rotate(self.full)
        values = self._draw_scales(Rotated.of(self.rows, self.full, rotated, vectors), values)
        precision = values + self.kappa[:, None]
        G = draw_whitened(self.rows, rotated, precision, vectors, self.noise, self.rng)
        if self.leveled is not None:
            G = G + self._draw_levels(G, precision, vectors)
            rotated = self.rows.rotate(self.full)
        self.signals = self._unwhitened(G)
        groups = group_moments(self.rows, rotated, G, self.noise, self.rng)
        self._draw_edges(EdgeSweep(precision, vectors, groups))
        self._draw_rate()
        self._draw_density(rotated)

    def _draw_levels(self, G: Array, precision: Array, vectors: Array) -> Array:
        r"""Draw levels of nodes given all but the mean of their signals; return the change of G.

        A level h mu, with h the projection of ones on the range of K_z, and a mean of the signals,
        h c, make up for each other in the data. With all levels equally likely, c has its prior
        distribution, :math:`N(0, \Theta^{-1} / h^\top K_z^{-1} h)`, whatever the data.
        """
        assert self.leveled is not None
        ones = self.rows.rotate(np.ones((self.rows.n, 1)))
        a = ones / np.sqrt(self.rows.values)[:, None]  # h, whitened
        size = float((a**2).sum())
        old = (a.T @ G)[:, 0] / size
        random = self.rng.standard_normal(old.shape) / np.sqrt(precision * size)
        change = (vectors @ random[..., None])[..., 0] - old
        # what was never observed has no level: its signal alone changes
        self.levels = self.levels - np.where(self.leveled, change, 0.0)
        self.full = self.full + self.rows.back(ones) * change[:, None]
        return np.asarray(a * change[:, None])

    def _observed(self) -> Array:
        """Return the data without levels, per chain where there are levels."""
        if self.leveled is None:
            return self.Y
        return np.asarray(self.Y - self._leveled_rows())

    def _leveled_rows(self) -> Array:
        """Return the levels at all observations (chains, n, m)."""
        return np.asarray(self.rows.constant() * self.levels[:, None])

    def joint_signals(self, rng: np.random.Generator) -> Array:
        """Draw signals (chains, n, m) with levels, given the present graphs.

        A sweep draws signals before the graph, which is enough for their moments. Draws of both
        that belong together need this; the chains' own random numbers stay what they are.
        """
        values, vectors = spectrum(self.weights, self.m)
        own = (values + self.kappa[:, None], vectors, self.noise, rng)
        found = self._unwhitened(draw_whitened(self.rows, self.rows.rotate(self.full), *own))
        return found if self.leveled is None else found + self._leveled_rows()

    def with_levels(self) -> Array:
        """Return signals (chains, n, m) with levels, as the data have them."""
        return self.signals if self.leveled is None else self.signals + self._leveled_rows()

    def _unwhitened(self, G: Array) -> Array:
        """Return signals of whitened ones."""
        return self.rows.back(np.sqrt(self.rows.values)[:, None] * G)

    def _draw_missing(self, signals: Array) -> None:
        """Draw missing entries given signals."""
        assert self.mask is not None
        noise = np.sqrt(self.noise)[:, None, None] * self.rng.standard_normal(signals.shape)
        self.full = np.where(self.mask, self._observed(), signals + noise)

    def _draw_scales(self, data: Rotated, values: Array) -> Array:
        """Draw noise variance, kappa and the scale of all weights; return the eigenvalues of L.

        Signals are integrated out. A new noise variance comes with weights and kappa scaled to the
        variance that it leaves to the signals, so that the total stays what the data have.
        """
        steps, rng, prior = self.steps, self.rng, self.prior
        scale = np.ones_like(self.noise)  # of the weights
        count, total = (self.weights > 0).sum(axis=1), self.weights.sum(axis=1)

        def log_posterior(noise: Array, kappa: Array, scale: Array) -> Array:
            evidence = data.log_evidence(scale[:, None] * values + kappa[:, None], noise)
            slopes = np.log(noise) + np.log1p(-noise)  # the walk is over the logit of the noise
            # weights scaled by c have c^(a k) times the density: their own powers and the Jacobian
            slopes += prior.slab_shape * count * np.log(scale)
            return evidence + prior.log_scales(noise, kappa, count, scale * total) + slopes

        now = log_posterior(self.noise, self.kappa, scale)
        for kind in PROPOSALS * ("noise", "kappa", "scale", "joint"):
            directions = self._directions(kind)
            step = steps.move(kind, rng)[:, None] * directions
            logit = np.log(self.noise) - np.log1p(-self.noise) + step[:, 0]
            noise = np.clip(expit(logit), 1e-9, 1.0 - 1e-9)
            ratio = signal_share(self.noise) / signal_share(noise)
            kappa, new = (v * ratio * np.exp(step[:, k]) for k, v in ((1, self.kappa), (2, scale)))
            after = log_posterior(noise, kappa, new)
            taken = steps.accept(kind, after - now, rng)
            self.noise = np.where(taken, noise, self.noise)
            self.kappa = np.where(taken, kappa, self.kappa)
            scale, now = np.where(taken, new, scale), np.where(taken, after, now)
        self.weights = self.weights * scale[:, None]
        return np.asarray(values * scale[:, None])

    def _directions(self, kind: str) -> Array:
        """Return directions (chains, 3) of steps of logit noise, log kappa and log scale.

        A joint step follows the differences between chains, as far as these are learned: noise and
        weights make up for each other along a ridge that steps of one of them cross.
        """
        axes = {"noise": 0, "kappa": 1, "scale": 2}
        if kind in axes:
            return np.eye(3)[[axes[kind]]]
        if self.steps.adapting:
            share = signal_share(self.noise)
            place = np.stack(
                [np.log(self.noise) - np.log1p(-self.noise), np.log(self.kappa * share),
                 np.log(self.weights.sum(axis=1) * share + 1e-9)], axis=1,
            )  # fmt: skip
            centred = place - place.mean(axis=0)
            own = centred.T @ centred / max(1, len(place) - 1) + 1e-4 * np.eye(3)
            self.spread = self.spread + 0.05 * (own - self.spread)
            self.spread_root = np.asarray(np.linalg.cholesky(self.spread))
        random = self.rng.standard_normal((len(self.noise), 3))
        return np.asarray(random @ self.spread_root.T)

    def _draw_edges(self, sweep: EdgeSweep) -> None:
        """Draw every weight given the others, signals integrated out."""
        chains, pairs = self.weights.shape
        prior, shape = self.prior, self.prior.slab_shape
        powers = prior.rate_shape + shape * np.arange(1.0, pairs + 1.0)
        total = prior.rate_offset(self.noise) + self.weights.sum(axis=1)
        # without side information an unknown density is integrated out
        free = prior.density is None and not len(self.forms)
        draw_pairs(
            sweep, self.weights, self.pairs, self.rng.permutation(pairs),
            self.rng.random((pairs, 2, chains)),
            Slab(shape, total, powers, gamma_factor(powers, shape)),
            Odds(self.odds, np.array(prior.density_counts if free else ())),
            self.inclusion, self.means,
        )  # fmt: skip

    def _draw_rate(self) -> None:
        """Draw the rate of the weights' distribution; the density is drawn given it."""
        prior = self.prior
        shape = prior.rate_shape + prior.slab_shape * (self.weights > 0).sum(axis=1)
        total = prior.rate_offset(self.noise) + self.weights.sum(axis=1)
        self.rate = self.rng.gamma(shape) / total

    def _draw_density(self, rotated: Array) -> None:
        """Draw the density and the strengths of side information.

        Twice: given the edges, and given random numbers that decide which pairs are edges (the
        ancillary parametrization of Yu and Meng, 2011). Where data hardly tell edges from other
        pairs, edges follow the density and the strengths that they should inform, and only steps of
        the second kind get far; where they do, only those of the first.
        """
        on, free = self.weights > 0, self.prior.density is None
        forms = range(len(self.forms))
        if free and not forms:
            a, b = self.prior.density_counts
            count = on.sum(axis=1)
            self.density = self.rng.beta(a + count, b + on.shape[1] - count)
            self.odds = log_odds(self.density, self.strengths, self.forms)

        def given_edges(odds: Array, _: Array) -> Array:
            return np.where(on, odds, 0.0).sum(axis=1) - np.logaddexp(0.0, odds).sum(axis=1)

        if forms:
            steps = [(kind, k) for k in forms for kind in ("walk", "switch", "swap")]
            self._move_odds("edges", given_edges, (*2 * free * [("density", 0)], *steps, *steps))
        if not (forms or free):
            return
        p, uniform = expit(self.odds), self.rng.random(on.shape)
        uniform = np.where(on, uniform * p, p + uniform * (1.0 - p))
        spare = self.rng.gamma(self.prior.slab_shape, size=on.shape)
        possible = np.where(on, self.weights * self.rate[:, None], spare)

        def graph_of(odds: Array, rate: Array) -> Array:
            return np.where(uniform < expit(odds), possible, 0.0) / rate[:, None]

        def given_uniforms(odds: Array, rate: Array) -> Array:
            values, vectors = spectrum(graph_of(odds, rate), self.m)
            data = Rotated.of(self.rows, self.full, rotated, vectors)
            return data.log_evidence(values + self.kappa[:, None], self.noise)

        # these take an eigendecomposition each: one form of side information in a sweep
        chosen = [int(self.rng.integers(len(forms)))] if forms else []
        steps = [(kind, k) for k in chosen for kind in ("walk", "switch", "swap")]
        self._move_odds("uniforms", given_uniforms, (*free * [("dilution", 0)], *steps))
        self.weights = graph_of(self.odds, self.rate)

    def _move_odds(
        self,
        given: str,
        log_likelihood: Callable[[Array, Array], Array],
        moves: Iterable[tuple[str, int]],
    ) -> None:
        """Propose densities and strengths, whose likelihood depends on log odds and rate alone."""
        now = log_likelihood(self.odds, self.rate)
        for kind, k in moves:
            name = f"{kind} {k} given {given}"
            density, strengths, rate, extra = self._proposed(kind, k, name)
            odds = log_odds(density, strengths, self.forms)
            after = log_likelihood(odds, rate)
            if kind in ("switch", "swap"):
                taken = np.log(self.rng.random(len(now))) < after - now + extra
            else:
                taken = self.steps.accept(name, after - now + extra, self.rng)
            self.density = np.where(taken, density, self.density)
            self.strengths = np.where(taken[:, None], strengths, self.strengths)
            self.rate = np.where(taken, rate, self.rate)
            self.odds = np.where(taken[:, None], odds, self.odds)
            now = np.where(taken, after, now)

    def _proposed(self, kind: str, k: int, name: str) -> tuple[Array, Array, Array, Array]:
        """Return a density, strengths and a rate, and the log ratio of prior and proposal."""
        rng, prior, density, rate = self.rng, self.prior, self.density, self.rate
        if kind in ("density", "dilution"):
            a, b = prior.density_counts
            new = expit(np.log(density / (1.0 - density)) + self.steps.move(name, rng))
            new = np.clip(new, 1e-9, 1.0 - 1e-9)
            # the walk is over the logit: one more power of each factor
            extra = a * np.log(new / density) + b * (np.log1p(-new) - np.log1p(-density))
            if kind == "dilution":
                # more edges of less weight: degrees stay what they are
                more = new / density
                extra += prior.rate_shape * np.log(more)
                extra -= prior.rate_offset(self.noise) * rate * (more - 1.0)
                rate = rate * more
            return new, self.strengths, rate, extra
        old, strengths = self.strengths[:, k], self.strengths.copy()
        if kind == "walk":
            step = self.steps.move(name, rng)
            strengths[:, k] = np.minimum(old * np.exp(step), 2.0 * MOST_STRENGTH)
            # the step is the Jacobian of the logarithm
            extra = prior.log_strength(strengths[:, k]) - prior.log_strength(old) + step
            return density, strengths, rate, np.where(old > 0, extra, -np.inf)
        if kind == "swap":
            # the next form in the place of this one: their priors are the same
            other = (k + 1) % strengths.shape[1]
            strengths[:, [k, other]] = strengths[:, [other, k]]
            return density, strengths, rate, np.zeros(len(old))
        # what is switched on comes from the prior, whose density drops out
        strengths[:, k] = np.where(old > 0, 0.0, prior.draw_slab_strengths(rng, old.shape))
        odd = np.log(prior.strength_probability / (1.0 - prior.strength_probability))
        return density, strengths, rate, np.where(old > 0, -odd, odd)


def spectrum(weights: Array, m: int) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of the Laplacians of weights (chains, pairs)."""
    rows, cols = np.triu_indices(m, 1)
    L = np.zeros((len(weights), m, m))
    L[:, rows, cols] = L[:, cols, rows] = -weights
    diagonal = np.arange(m)
    L[:, diagonal, diagonal] = -L.sum(axis=2)
    values, vectors = np.linalg.eigh(L)
    return np.maximum(values, 0.0), vectors
