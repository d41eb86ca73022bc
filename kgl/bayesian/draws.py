"""Running the chains, in chunks that fit into memory, and what is kept of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kgl._progress import Progress
from kgl._types import Array, Mask
from kgl.bayesian.priors import Prior
from kgl.bayesian.sampler import Chains
from kgl.bayesian.signals import Rows

__all__ = ["Draws", "draw_posterior"]

#: Numbers that the chains of one chunk may take: 256 MB.
CHUNK = 32_000_000
#: Draws of signals that are kept, at most, and numbers they may take: 256 MB.
MOST_SIGNALS, SIGNALS = 400, 32_000_000


@dataclass
class Draws:
    """Draws from the posterior distribution, for data of unit variance.

    Attributes
    ----------
    scalars : dict of arrays (chains, draws)
        ``noise``, ``kappa``, ``rate``, ``density``, ``edges`` (their share among pairs) and
        ``strength`` (standard deviation over pairs of the prior log odds, 0 without side
        information).
    strengths : array (chains, draws, forms)
        Strength of each form of side information.
    weights, inclusion, means : array (chains, draws, pairs)
        Weights; probability and mean weight of each pair given the rest of the draw.
    signal_mean, signal_variance : array (n, m)
        Posterior moments of the signals.
    signals, chosen : array (kept, n, m), array of int (kept, 2)
        Some draws of the signals given the graph of their draw, and the chain and draw of each.
    levels : array (kept, m)
        The levels of nodes that these signals include.
    flips : array (m,)
        -1 for nodes that the graph has turned round; signals have their own sign.
    """

    scalars: dict[str, Array]
    strengths: Array
    weights: Array
    inclusion: Array
    means: Array
    signal_mean: Array
    signal_variance: Array
    signals: Array
    chosen: np.ndarray
    levels: Array
    flips: Array

    def silenced(self, nodes: Mask) -> Draws:
        """Return the draws with no signal and no level at some nodes (m,)."""
        keep = ~nodes
        return replace(
            self,
            signal_mean=self.signal_mean * keep,
            signal_variance=self.signal_variance * keep,
            signals=self.signals * keep,
            levels=self.levels * keep,
        )

    def turned(self, flips: Array) -> Draws:
        """Return the draws for data whose columns had been multiplied by ``flips`` (m,)."""
        return replace(
            self,
            signal_mean=self.signal_mean * flips,
            signals=self.signals * flips,
            levels=self.levels * flips,
            flips=self.flips * flips,
        )


def chunk_size(n: int, m: int, groups: int) -> int:
    """Return how many chains may run at once."""
    each = 8 * n * m + (6 + 4 * groups) * m * m + 30 * m * (m - 1)
    return max(1, CHUNK // each)


def draw_posterior(
    Y: Array,
    mask: Mask | None,
    rows: Rows,
    forms: Array,
    prior: Prior,
    *,
    chains: int,
    warmup: int,
    draws: int,
    seed: np.random.SeedSequence,
    centered: bool = False,
    progress: Progress | None = None,
) -> Draws:
    """Run all chains.

    Parameters
    ----------
    Y, mask, rows, forms, prior
        As for :class:`Chains`.
    chains, warmup, draws : int
        Number of chains, sweeps that are not kept, and sweeps that are.
    seed : numpy.random.SeedSequence
        Each chunk of chains has a child of it.
    centered : bool
        As for :class:`Chains`: signals then include the levels of nodes.
    progress : callable, optional
        Called as ``progress(done, total)``, in sweeps.
    """
    n, m = Y.shape
    pairs = m * (m - 1) // 2
    size = min(chains, chunk_size(n, m, len(rows.edges)))
    parts = [min(size, chains - start) for start in range(0, chains, size)]
    names = ("noise", "kappa", "rate", "density", "edges", "strength")
    chosen = _spread(chains, draws, max(1, min(MOST_SIGNALS, SIGNALS // (n * m))))
    kept = Draws(
        scalars={name: np.empty((chains, draws)) for name in names},
        strengths=np.empty((chains, draws, len(forms))),
        weights=np.empty((chains, draws, pairs)),
        inclusion=np.empty((chains, draws, pairs)),
        means=np.empty((chains, draws, pairs)),
        signal_mean=np.zeros((n, m)),
        signal_variance=np.zeros((n, m)),
        signals=np.empty((len(chosen), n, m)),
        chosen=chosen,
        levels=np.zeros((len(chosen), m)),
        flips=np.ones(m),
    )
    where = {tuple(place): k for k, place in enumerate(kept.chosen.tolist())}
    square, done, first = np.zeros((n, m)), 0, 0
    total = len(parts) * (warmup + draws)
    for part, child in zip(parts, seed.spawn(len(parts)), strict=True):
        rng = np.random.default_rng(child)
        running = Chains(Y, mask, rows, forms, prior, part, rng, centered)
        (extra,) = rng.spawn(1)
        own = slice(first, first + part)
        for sweep in range(warmup + draws):
            running.steps.adapting = sweep < warmup
            running.sweep()
            done += 1
            if progress is not None:
                progress(done, total)
            if sweep < warmup:
                continue
            draw = sweep - warmup
            _keep(kept, own, draw, running)
            signals = running.with_levels()
            kept.signal_mean += signals.sum(axis=0)
            square += np.einsum("cij,cij->ij", signals, signals)
            wanted = [chain for chain in range(first, first + part) if (chain, draw) in where]
            if wanted:
                joint = running.joint_signals(extra)
            for chain in wanted:
                kept.signals[where[chain, draw]] = joint[chain - first]
                kept.levels[where[chain, draw]] = running.levels[chain - first]
        first += part
    kept.signal_mean /= chains * draws
    kept.signal_variance = np.maximum(square / (chains * draws) - kept.signal_mean**2, 0.0)
    return kept


def _spread(chains: int, draws: int, most: int) -> np.ndarray:
    """Return the chain and draw (kept, 2) of at most so many draws, evenly spread over all."""
    flat = np.unique(np.linspace(0, chains * draws - 1, min(most, chains * draws)).astype(int))
    return np.stack(np.divmod(flat, draws), axis=1)


def _keep(kept: Draws, own: slice, draw: int, running: Chains) -> None:
    """Copy the state of a chunk of chains."""
    kept.scalars["noise"][own, draw] = running.noise
    kept.scalars["kappa"][own, draw] = running.kappa
    kept.scalars["rate"][own, draw] = running.rate
    kept.scalars["density"][own, draw] = running.density
    kept.scalars["edges"][own, draw] = (running.weights > 0).mean(axis=1)
    kept.scalars["strength"][own, draw] = (running.strengths @ running.forms).std(axis=1)
    kept.strengths[own, draw] = running.strengths
    kept.weights[own, draw] = running.weights
    kept.inclusion[own, draw] = running.inclusion
    kept.means[own, draw] = running.means
