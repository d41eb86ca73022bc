"""The sweep over pairs of :mod:`kgl.bayesian.edges`, compiled with Numba where it is installed.

It does what the NumPy code does, from the same random numbers, chain by chain, up to rounding. Over
many sweeps chains amplify rounding, so a whole fit differs by its Monte Carlo error. Without Numba
the functions run uncompiled, for tests.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

__all__ = ["TINY", "available", "sweep_pairs"]

#: Smallest share of a resistance that is left without the pair's own weight.
TINY = 1e-12


def available() -> bool:
    """Return whether Numba is installed."""
    return find_spec("numba") is not None


if TYPE_CHECKING or not available():

    def compiled(function: Any) -> Any:
        """Leave a function as it is."""
        return function

else:
    from numba import njit

    # No flag here assumes finite numbers: unlikely values have a log density of -inf. All functions
    # become one: apart, code from the cache rounds unlike code that was compiled just now, so the
    # first fit on a machine would differ from the next.
    flags = {"nsz", "arcp", "contract", "reassoc"}
    compiled = njit(cache=True, inline="always", fastmath=flags)


@compiled
def _quadratic(matrix: Any, i: Any, j: Any) -> Any:
    """Return b' A b for the difference vector b of a pair i < j."""
    return matrix[i, i] + matrix[j, j] - 2.0 * matrix[j, i]


@compiled
def _difference(matrix: Any, i: Any, j: Any, out: Any) -> None:
    """Write A b into ``out``, for the difference vector b of a pair i < j."""
    m = len(out)
    for q in range(i):
        out[q] = matrix[i, q] - matrix[j, q]
    for q in range(i, j):
        out[q] = matrix[q, i] - matrix[j, q]
    for q in range(j, m):
        out[q] = matrix[q, i] - matrix[q, j]


@compiled
def _integrate(
    r: Any, h: Any, t: Any, counts: Any, shape: Any, others: Any, power: Any, low: Any, width: Any,
    fine: Any, log_slope: Any, mass: Any, d: Any,
) -> Any:  # fmt: skip
    """Fill in masses and weights of the cells; return the logarithm of the largest density."""
    rise, log_r, top = 1.0 + 0.5 * counts.sum(), math.log(r), -np.inf
    for q in range(len(fine)):
        x = low + width * fine[q]
        weight = (math.exp(x) - 1.0) / r
        value = rise * x - log_r - power * math.log(others + weight) + log_slope[q]
        if shape != 1.0:
            value += (shape - 1.0) * math.log(max(weight, 1e-300))
        for g in range(len(counts)):
            left = 1.0 + weight * h[g]
            value -= 0.5 * (counts[g] * math.log(left) + t[g] * weight / left)
        mass[q], d[q] = value, weight
        top = max(top, value)
    for q in range(len(fine)):
        mass[q] = math.exp(mass[q] - top)
    return top


@compiled
def _draw(uniform: Any, whole: Any, mass: Any) -> Any:
    """Return where, between 0 and 1, a draw falls among the cells."""
    aim, passed, cell = uniform * whole, mass[0], 0
    while cell < len(mass) - 1 and passed < aim:
        cell += 1
        passed += mass[cell]
    return (cell + 1.0 - (passed - aim) / mass[cell]) / len(mass)


@compiled
def _change(matrices: Any, noise: Any, i: Any, j: Any, change: Any, u: Any, s: Any) -> None:
    """Add to the weight of a pair; ``u`` and ``s`` (m,) are scratch space.

    Matrices are symmetric: only what is on and below the diagonal is kept up to date.
    """
    m, groups = len(u), len(noise)
    covariance = matrices[0]
    scale = change / (1.0 + change * _quadratic(covariance, i, j))
    _difference(covariance, i, j, u)
    for a in range(m):
        left = scale * u[a]
        for b in range(a + 1):
            covariance[a, b] -= left * u[b]
    for g in range(groups):
        smooth, moment = matrices[1 + g], matrices[1 + groups + g]
        step = noise[g] * change / (1.0 + change * noise[g] * _quadratic(smooth, i, j))
        half = 0.5 * step * _quadratic(moment, i, j)
        _difference(smooth, i, j, u)
        _difference(moment, i, j, s)
        for q in range(m):
            s[q] -= half * u[q]
        for a in range(m):
            left, right = step * u[a], step * s[a]
            for b in range(a + 1):
                smooth[a, b] -= left * u[b]
                moment[a, b] -= left * s[b] + right * u[b]


@compiled
def sweep_pairs(
    stack: Any, counts: Any, noise: Any, weights: Any, rows: Any, cols: Any, order: Any,
    random: Any, low: Any, high: Any, shape: Any, total: Any, powers: Any, factors: Any, odds: Any,
    beta: Any, inclusion: Any, means: Any, fine: Any, log_slope: Any,
) -> None:  # fmt: skip
    """Draw the weights of all pairs, in place.

    Parameters
    ----------
    stack : array (chains, 1 + 2G, m, m)
        Covariance, smoothers and smoothed moments; on and below the diagonal kept up to date.
    counts, noise : array (G,), array (chains, G)
        Rows and noise variances of the groups.
    weights : array (chains, pairs)
        Present weights; replaced.
    rows, cols, order : array of int (pairs,)
        Ends of the pairs, and the order of the sweep.
    random : array (pairs, 2, chains)
        Random numbers from (0, 1).
    low, high : array (chains, pairs)
        Where conditional distributions are.
    shape, total, powers, factors
        The slab: its shape, offset plus sum of all weights (chains,), and by number of other edges
        the power and the logarithm of the constant's ratio of Gamma functions.
    odds : array (chains, pairs)
        Log odds of edges. Not used with ``beta``.
    beta : array (2,), or empty
        Parameters of the density's distribution, where it is integrated out.
    inclusion, means : array (chains, pairs)
        Probability and mean weight of each pair; replaced.
    fine, log_slope : array (cells,)
        The grid of the integral, and the logarithm of its slope.
    """
    (chains, pairs), cells = weights.shape, len(fine)
    groups, m = len(counts), stack.shape[2]
    mass, d, h, t = np.empty(cells), np.empty(cells), np.empty(groups), np.empty(groups)
    u, s = np.empty(m), np.empty(m)
    for c in range(chains):
        matrices, edges = stack[c], 0
        edges = int((weights[c] > 0.0).sum())
        for e in order:
            i, j, w = rows[e], cols[e], weights[c, e]
            edges -= int(w > 0.0)
            # without its own weight
            r = _quadratic(matrices[0], i, j)
            r /= max(1.0 - w * r, TINY)
            for g in range(groups):
                own = noise[c, g] * _quadratic(matrices[1 + g], i, j)
                left = max(1.0 - w * own, TINY)
                h[g] = own / left
                t[g] = _quadratic(matrices[1 + groups + g], i, j) / (left * left)
            others, power, width = total[c] - w, powers[edges], high[c, e] - low[c, e]
            top = _integrate(
                r, h, t, counts, shape, others, power, low[c, e], width, fine, log_slope, mass, d
            )
            whole = mass.sum()
            factor = top + math.log(whole * width / cells)
            factor += (power - shape) * math.log(others) + factors[edges]
            if len(beta):
                factor += math.log((beta[0] + edges) / (beta[1] + pairs - 1.0 - edges))
            else:
                factor += odds[c, e]
            p = 1.0 / (1.0 + math.exp(-max(factor, -700.0)))
            inclusion[c, e], means[c, e] = p, p * (mass * d).sum() / whole
            new = 0.0
            if random[e, 0, c] < p:
                place = _draw(random[e, 1, c], whole, mass)
                new = math.expm1(low[c, e] + place * place * width) / r
            edges += int(new > 0.0)
            if new != w:
                _change(matrices, noise[c], i, j, new - w, u, s)
                weights[c, e] = new
                total[c] += new - w
