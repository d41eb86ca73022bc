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

__all__ = ["TINY", "all_windows", "available", "sweep_pairs"]

#: Changes that are carried out together.
PENDING = 4
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
def all_windows(
    w: Any, r: Any, h: Any, t: Any, counts: Any, shape: Any, total: Any, power: Any, reach: Any,
    negligible: Any, coarse: Any, low: Any, high: Any,
) -> None:  # fmt: skip
    """Fill in where conditional distributions are, as :func:`kgl.bayesian.edges.windows` does.

    Arguments are arrays (chains, pairs), and (G, chains, pairs) for ``h`` and ``t``.
    """
    (chains, pairs), cells, groups = w.shape, len(coarse), len(counts)
    value, own, squares = np.empty(cells), np.empty(groups), np.empty(groups)
    rise = 1.0 + 0.5 * counts.sum()
    for c in range(chains):
        for e in range(pairs):
            resistance = r[c, e] / max(1.0 - w[c, e] * r[c, e], TINY)
            for g in range(groups):
                left = max(1.0 - w[c, e] * h[g, c, e], TINY)
                own[g], squares[g] = h[g, c, e] / left, t[g, c, e] / (left * left)
            scale = total[c, e] / power[c, e] * (rise - 1.0 + shape)
            top, largest = math.log1p(reach * scale * resistance), -np.inf
            for q in range(cells):
                x = top * coarse[q]
                d = (math.exp(x) - 1.0) / resistance
                found = rise * x - power[c, e] * math.log(total[c, e] + d)
                if shape != 1.0:
                    found += (shape - 1.0) * math.log(max(d, 1e-300))
                for g in range(groups):
                    left = 1.0 + d * own[g]
                    found -= 0.5 * (counts[g] * math.log(left) + squares[g] * d / left)
                value[q] = found
                largest = max(largest, found)
            first, last = 0, cells - 1
            while value[first] <= largest - negligible:
                first += 1
            while value[last] <= largest - negligible:
                last -= 1
            low[c, e] = max(first - 1, 0) / cells * top
            high[c, e] = min(last + 2, cells) / cells * top


@compiled
def _draw(uniform: Any, whole: Any, mass: Any) -> Any:
    """Return where, between 0 and 1, a draw falls among the cells."""
    aim, passed, cell = uniform * whole, mass[0], 0
    while cell < len(mass) - 1 and passed < aim:
        cell += 1
        passed += mass[cell]
    return (cell + 1.0 - (passed - aim) / mass[cell]) / len(mass)


@compiled
def _pending(own: Any, other: Any, scale: Any, count: Any, i: Any, j: Any) -> Any:
    """Return the sum over pending changes of scale (b' own) (b' other), for a pair i, j."""
    total = 0.0
    for k in range(count):
        total += scale[k] * (own[k, i] - own[k, j]) * (other[k, i] - other[k, j])
    return total


@compiled
def _less(out: Any, own: Any, other: Any, scale: Any, count: Any, i: Any, j: Any) -> None:
    """Subtract from ``out`` the columns, scale own (b' other), of pending changes."""
    for k in range(count):
        part = scale[k] * (other[k, i] - other[k, j])
        for q in range(len(out)):
            out[q] -= part * own[k, q]


@compiled
def _flush(matrix: Any, own: Any, other: Any, scale: Any) -> None:
    """Subtract scale own other' of all pending changes, on and below the diagonal."""
    u, v, x, y = other[0], other[1], other[2], other[3]
    for a in range(len(matrix)):
        row = matrix[a]
        c, d = scale[0] * own[0, a], scale[1] * own[1, a]
        e, f = scale[2] * own[2, a], scale[3] * own[3, a]
        for b in range(a + 1):
            row[b] -= c * u[b] + d * v[b] + e * x[b] + f * y[b]


@compiled
def _flush_all(matrices: Any, vectors: Any, scales: Any) -> None:
    """Carry out all pending changes, and forget them."""
    groups = (len(matrices) - 1) // 2
    _flush(matrices[0], vectors[0], vectors[0], scales[0])
    for g in range(groups):
        smooth, moment, scale = vectors[1 + g], vectors[1 + groups + g], scales[1 + g]
        _flush(matrices[1 + g], smooth, smooth, scale)
        _flush(matrices[1 + groups + g], smooth, moment, scale)
        _flush(matrices[1 + groups + g], moment, smooth, scale)
    scales[:] = 0.0


@compiled
def _change(
    matrices: Any, vectors: Any, scales: Any, count: Any, noise: Any, i: Any, j: Any, change: Any,
    r: Any, h: Any, t: Any,
) -> None:  # fmt: skip
    """Note a change of the weight of a pair, whose r, h and t are those before it.

    Matrices are symmetric: only what is on and below the diagonal is kept up to date, and that in
    steps of four changes, which go through memory once. ``vectors`` (1 + 2G, 4, m) and ``scales``
    (1 + G, 4) hold the ``count`` changes since.
    """
    groups = len(noise)
    _difference(matrices[0], i, j, vectors[0, count])
    _less(vectors[0, count], vectors[0], vectors[0], scales[0], count, i, j)
    scales[0, count] = change / (1.0 + change * r)
    for g in range(groups):
        smooth, moment, scale = vectors[1 + g], vectors[1 + groups + g], scales[1 + g]
        u, s = smooth[count], moment[count]
        _difference(matrices[1 + g], i, j, u)
        _less(u, smooth, smooth, scale, count, i, j)
        _difference(matrices[1 + groups + g], i, j, s)
        _less(s, smooth, moment, scale, count, i, j)
        _less(s, moment, smooth, scale, count, i, j)
        step = noise[g] * change / (1.0 + change * h[g])
        half = 0.5 * step * t[g]
        for q in range(len(u)):
            s[q] -= half * u[q]
        scale[count] = step


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
    present, squares = np.empty(groups), np.empty(groups)
    vectors, scales = np.zeros((1 + 2 * groups, PENDING, m)), np.zeros((1 + groups, PENDING))
    for c in range(chains):
        matrices, waiting = stack[c], 0
        edges = int((weights[c] > 0.0).sum())
        for e in order:
            i, j, w = rows[e], cols[e], weights[c, e]
            edges -= int(w > 0.0)
            now = _quadratic(matrices[0], i, j)
            now -= _pending(vectors[0], vectors[0], scales[0], waiting, i, j)
            # without its own weight
            r = now / max(1.0 - w * now, TINY)
            for g in range(groups):
                smooth, moment = vectors[1 + g], vectors[1 + groups + g]
                own = _quadratic(matrices[1 + g], i, j)
                own -= _pending(smooth, smooth, scales[1 + g], waiting, i, j)
                present[g] = noise[c, g] * own
                squares[g] = _quadratic(matrices[1 + groups + g], i, j)
                squares[g] -= 2.0 * _pending(smooth, moment, scales[1 + g], waiting, i, j)
                left = max(1.0 - w * present[g], TINY)
                h[g], t[g] = present[g] / left, squares[g] / (left * left)
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
                _change(
                    matrices, vectors, scales, waiting, noise[c], i, j, new - w, now, present,
                    squares,
                )  # fmt: skip
                weights[c, e] = new
                total[c] += new - w
                waiting += 1
                if waiting == PENDING:
                    _flush_all(matrices, vectors, scales)
                    waiting = 0
        _flush_all(matrices, vectors, scales)
