"""Have the chains converged? Split R-hat and effective sample size of draws (chain, draw, ...)."""

from __future__ import annotations

import numpy as np

from kgl._types import Array

__all__ = ["effective_sample_size", "split_r_hat"]


def _split(draws: Array) -> Array:
    """Return the halves of each chain as chains of their own (2 chains, draws // 2, ...)."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _variances(halves: Array) -> tuple[Array, Array]:
    """Return the variance within chains, and the estimate of the whole variance."""
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    return within, (n - 1) / n * within + between


def split_r_hat(draws: Array) -> Array:
    r"""Return split R-hat (Gelman et al., 2013, Section 11.4) of every quantity.

    Parameters
    ----------
    draws : array (chains, draws, ...)
        At least four draws of each chain.

    Returns
    -------
    array (...)
        Near 1 where chains agree; 1 for quantities that do not vary.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(4, 100))
    >>> round(float(split_r_hat(x)), 1), round(float(split_r_hat(x + np.arange(4)[:, None])), 1)
    (1.0, 1.5)
    """
    within, whole = _variances(_split(np.asarray(draws, dtype=float)))
    stuck = np.where(whole > 0, np.inf, 1.0)  # chains that never move, in different places or not
    return np.asarray(np.sqrt(np.divide(whole, within, out=stuck, where=within > 0)))


def effective_sample_size(draws: Array) -> Array:
    """Return the number of independent draws that are worth as much (Geyer's initial sequence).

    Parameters
    ----------
    draws : array (chains, draws, ...)
        At least four draws of each chain.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(4, 500))
    >>> bool(1500 < effective_sample_size(x) < 2500)
    True
    """
    halves = _split(np.asarray(draws, dtype=float))
    chains, n = halves.shape[:2]
    within, whole = _variances(halves)
    centred = halves - halves.mean(axis=1, keepdims=True)
    length = 2 * n
    spectrum = np.abs(np.fft.rfft(centred, length, axis=1)) ** 2
    lagged = np.fft.irfft(spectrum, length, axis=1)[:, :n].mean(axis=0) / n
    safe = np.where(whole > 0, whole, 1.0)
    correlation = 1.0 - (within - lagged * n / (n - 1)) / safe
    correlation[0] = 1.0
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, *correlation.shape[1:]).sum(axis=1)
    # sums of pairs are positive and fall: what follows the first negative one is noise
    pairs = np.where(np.logical_and.accumulate(pairs > 0, axis=0), pairs, 0.0)
    pairs = np.minimum.accumulate(pairs, axis=0)
    time = np.maximum(2.0 * pairs.sum(axis=0) - 1.0, 1.0 / np.log10(chains * n + 10.0))
    return np.asarray(np.where(whole > 0, chains * n / time, float(chains * n)))
