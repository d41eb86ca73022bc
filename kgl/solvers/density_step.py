"""The graph step for a number of edges: psi is found instead of given.

The more psi weighs, the more pairs share the total weight, so the number of edges grows with psi.
A batch of searches brackets the wanted number on the scale of log psi and closes in; a psi that
is near enough already is kept, so that alternating with a signal step settles on one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from kgl._types import Array
from kgl.problem import kkt_residuals
from kgl.solvers.graph_step import GraphStep, graph_step

__all__ = ["close_in", "count_edges", "density_step", "edge_tolerance", "first_guess", "typical"]

#: Rough exponent of the growth of edges with psi, for the first steps of a search.
_GROWTH = 0.35
_LONGEST = np.log(1e4)
#: Smallest psi, relative to the psi at which costs and multipliers balance. Nodes with the same
#: signal lie at distance zero but for rounding; a smaller psi would let that rounding choose among
#: their edges.
_SMALLEST = 1e-9
#: Cost of a pair, relative to the mean, below which it may be rounding.
_NEGLIGIBLE = 1e-9


def edge_tolerance(m: int) -> int:
    """Return by how many edges a target may be missed: none for up to 32 nodes.

    Examples
    --------
    >>> edge_tolerance(20), edge_tolerance(89)
    (0, 7)
    """
    return m * (m - 1) // 2 // 500


def count_edges(weights: Array) -> np.ndarray:
    """Count the edges of graphs (G, m, m)."""
    rows, cols = np.triu_indices(weights.shape[-1], 1)
    return np.count_nonzero(weights[:, rows, cols], axis=1)


def density_step(
    Z: Array,
    psi: Array,
    target: int | np.ndarray,
    *,
    start: Array | None = None,
    solve: Callable[..., GraphStep] = graph_step,
    regularizer: str = "frobenius",
    barrier: float = 1.0,
) -> tuple[GraphStep, Array]:
    """Solve graph steps whose psi gives ``target`` edges, or as near as it gets.

    Parameters
    ----------
    Z : array (G, m, m)
        Distances, as for :func:`kgl.solvers.graph_step.graph_step`.
    psi : array (G,)
        Where to start; zero or less where nothing is known.
    target : int or array of int (G,)
        Number of edges. Where fewer pairs are allowed, all of those.
    start : array (G, k), optional
        ``dual`` of an earlier result for similar problems.
    solve : callable
        The graph step: one whose zeros are zeros, since edges are counted.
    regularizer, barrier
        As for the graph step.

    Returns
    -------
    GraphStep
        The solutions.
    array (G,)
        Their psi. The number of edges is within :func:`edge_tolerance` of the target if it can be.
        Where pairs at equal distances enter together, it may jump over the target; the psi with
        the nearest number is returned then, or the smallest psi that is tried, about a billionth
        of the cost of a pair, where even that gives too many edges.
    """
    m = Z.shape[-1]
    costs = np.sort(Z[(slice(None), *np.triu_indices(m, 1))], axis=1)
    wanted = np.minimum(target, np.isfinite(costs).sum(axis=1))
    guess, floor = first_guess(
        costs, wanted, m, None if regularizer == "frobenius" else barrier, typical(costs)
    )
    duals = {} if start is None else dict(enumerate(start))

    def step(which: np.ndarray, psi: Array) -> GraphStep:
        warm = np.stack([duals[k] for k in which]) if duals else None
        found = solve(Z[which], psi, start=warm, regularizer=regularizer, barrier=barrier)
        duals.update(zip(which, found.dual, strict=True))
        return found

    psi = np.where(psi > 0, psi, guess)
    best, psi = close_in(step, psi, wanted, edge_tolerance(m), floor=floor)
    # each problem is that of the psi that came nearest
    best.certificate = partial(
        kkt_residuals, best.weights, Z, psi, regularizer=regularizer, barrier=barrier
    )
    return best, psi


class Graphs(Protocol):
    """What a search looks at: graphs of a batch."""

    weights: Array


T = TypeVar("T")


def _edges_of(found: Any) -> np.ndarray:
    """Count the edges of a batch of :class:`Graphs`."""
    return count_edges(found.weights)


def close_in(
    solve: Callable[[np.ndarray, Array], T],
    psi: Array,
    wanted: np.ndarray,
    enough: int,
    *,
    floor: Array,
    narrow: float = 1e-7,
    max_tries: int = 60,
    patience: int = 60,
    fair: np.ndarray | None = None,
    count_found: Callable[[T], np.ndarray] = _edges_of,
) -> tuple[T, Array]:
    """Search for psi that give wanted numbers of edges, all searches of a batch at once.

    Parameters
    ----------
    solve : callable
        ``solve(which, psi)`` solves the problems ``which`` (an index array) at psi.
    psi : array (G,)
        Where to start.
    wanted : array of int (G,)
        Numbers of edges.
    enough : int
        By how many edges they may be missed.
    floor : array (G,)
        Smallest psi to try.
    narrow : float
        Width of a bracket, in log psi, inside which edges count as entering together.
    max_tries : int
        Calls of ``solve`` at most, besides the first.
    patience : int
        Calls of ``solve`` after which being off by ``fair`` edges is near enough too.
    fair : array of int (G,), optional
        See there.
    count_found : callable
        Counts the edges in what ``solve`` returns.

    Returns
    -------
    T
        What ``solve`` returned, for each problem at the psi that came nearest.
    array (G,)
        That psi.
    """
    running = np.arange(len(psi))
    lowest = np.log(floor)
    here = np.maximum(np.log(psi), lowest)
    best, at = solve(running, np.exp(here)), here.copy()
    count = count_found(best)
    gap = np.abs(count - wanted)
    ends = _Ends(len(psi))
    for attempt in range(max_tries):
        few = count < wanted[running]
        ends.move(running, few, here, count)
        near: Any = enough
        if attempt >= patience and fair is not None:
            near = np.maximum(enough, fair[running])
        go_on = (gap[running] > near) & (ends.width(running) > narrow)
        go_on &= few | (here > lowest[running])
        running, here, count = running[go_on], here[go_on], count[go_on]
        if not len(running):
            break
        here = ends.next(running, here, count, wanted[running], attempt)
        here = np.maximum(here, lowest[running])
        found = solve(running, np.exp(here))
        count = count_found(found)
        new_gap = np.abs(count - wanted[running])
        better = new_gap < gap[running]
        gap[running[better]], at[running[better]] = new_gap[better], here[better]
        _put(best, running[better], found, np.flatnonzero(better))
    return best, np.exp(at)


def _put(best: Any, where: np.ndarray, found: Any, which: np.ndarray) -> None:
    """Overwrite some problems of a batch of results by others."""
    for f in fields(best):
        old, new = getattr(best, f.name), getattr(found, f.name)
        if isinstance(old, np.ndarray):
            old[where] = new[which]
        elif isinstance(old, list):
            for i, k in zip(where, which, strict=True):
                old[i] = new[k]


class _Ends:
    """The ends of a batch of brackets on the scale of log psi, infinite where none is known."""

    def __init__(self, n_problems: int) -> None:
        self.low, self.high = np.full(n_problems, -np.inf), np.full(n_problems, np.inf)
        self.low_count, self.high_count = np.zeros(n_problems), np.zeros(n_problems)

    def move(self, running: np.ndarray, few: np.ndarray, here: Array, count: np.ndarray) -> None:
        """Put the lower end where there are too few edges, the upper end elsewhere."""
        low, high = running[few], running[~few]
        self.low[low], self.low_count[low] = here[few], count[few]
        self.high[high], self.high_count[high] = here[~few], count[~few]

    def width(self, running: np.ndarray) -> Array:
        return self.high[running] - self.low[running]

    def next(
        self, running: np.ndarray, here: Array, count: np.ndarray, wanted: np.ndarray, attempt: int
    ) -> Array:
        """Return where to look next: between the ends where there are two, further out otherwise.

        Inside a bracket the number of edges is treated as linear, but for every third step and for
        long searches, which halve it: a jump in the number would keep one end where it is.
        """
        low, high = self.low[running], self.high[running]
        bracketed = np.isfinite(low) & np.isfinite(high)
        stride = np.log(wanted / np.maximum(count, 1)) / _GROWTH
        # longer each time, or a search that is one edge short would creep
        length = np.clip(1.5 * np.abs(stride), 0.02, _LONGEST) * 2.0**attempt
        out = here + np.sign(stride) * np.minimum(length, _LONGEST)
        rise = np.maximum(self.high_count[running] - self.low_count[running], 1.0)
        share = np.clip((wanted - self.low_count[running]) / rise, 0.05, 0.95)
        if attempt % 3 == 2 or attempt > 9:
            share = np.full_like(share, 0.5)
        inside = np.where(bracketed, low, 0.0) + share * np.where(bracketed, high - low, 0.0)
        return np.where(bracketed, inside, out)


def first_guess(
    costs: Array, wanted: np.ndarray, m: int, barrier: float | None, typical: Array
) -> tuple[Array, Array]:
    """Return a psi to start from, and the smallest psi to try; ``costs`` are sorted.

    Only the cheapest of the costs matter, a few more than wanted; ``typical`` are those of
    :func:`typical`, of all pairs or of a sample.

    Were all nodes alike, edges would be the cheapest pairs, with weights in proportion to how far
    they fall short of the next cost; the total weight then gives psi.
    """
    finite = np.where(np.isfinite(costs), costs, 0.0)
    every = np.arange(len(costs))
    last = np.minimum(wanted, np.isfinite(costs).sum(axis=1) - 1)  # the first pair to stay out
    level = 0.5 * (finite[every, wanted - 1] + finite[every, last])
    excess = wanted * level - np.cumsum(finite, axis=1)[every, wanted - 1]
    if barrier is None:
        guess, balance = excess / (2.0 * m), typical
    else:
        guess, balance = excess * level / (4.0 * m * barrier), typical**2 / barrier
    floor = _SMALLEST * balance
    # costs that are all equal, or equal but for rounding, say nothing
    return np.where(guess > floor, guess, balance), floor


def typical(costs: Array) -> Array:
    """Return the lower quartile of costs that are more than rounding, 1 where there are none.

    A quartile, since a few outlying nodes or penalised pairs can make the mean as large as one
    likes.
    """
    usable = np.where(np.isfinite(costs), costs, np.nan)
    mean = np.nanmean(usable, axis=1, keepdims=True)
    usable[usable <= _NEGLIGIBLE * mean] = np.nan
    out = np.ones(len(costs))
    known = np.isfinite(usable).any(axis=1)
    out[known] = np.nanquantile(usable[known], 0.25, axis=1)
    return out
