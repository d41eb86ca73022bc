r"""Pairs that may be edges, so many that no other pair can be one.

Pairs that are looked at are *candidates*. The others are covered by *ceilings*: one number a node
with

.. math:: \text{cost}_{ij} \ge \bar v_i + \bar v_j \quad \text{for every pair that is none.}

While levels stay below the ceilings of all nodes no other pair can enter the graph. Where some rise
above, the rows of those nodes alone are priced again. Ceilings are in units of costs, so they hold
for every psi.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kgl._types import Array
from kgl.solvers.sparse.candidates import near_pairs, pair_keys
from kgl.solvers.sparse.features import Features
from kgl.solvers.sparse.pricing import Screen
from kgl.solvers.sparse.rules import RuleIndex, contains

__all__ = ["PairPool"]

#: Pairs at most: at about 100 bytes each they and the graph take some gigabytes.
_MOST = 60_000_000
#: Axes on which near neighbours are sought.
_NEIGHBOUR_AXES = 32
#: Factor by which neighbours are made more where they are too few.
_WIDER = 2

Progress = Callable[[int, int], None]


class PairPool:
    """Candidate pairs of one problem, with their costs.

    Parameters
    ----------
    features : Features
        The nodes.
    rho : float
        Weight of a distance in the cost of a pair.
    rules : RuleIndex
        What is known about pairs.
    progress : callable or None
        Called as ``progress(done, total)`` with the rows of a pass over pairs.
    """

    def __init__(
        self, features: Features, rho: float, rules: RuleIndex, progress: Progress | None = None
    ) -> None:
        self.features, self.rho, self.rules, self.progress = features, rho, rules, progress
        self.m = len(features)
        self.keys = np.zeros(0, dtype=np.int64)
        self.cost = np.zeros(0)
        self.signs = np.zeros(0, dtype=np.int8) if features.signed else None
        #: None until all pairs have been looked at
        self.ceilings: Array | None = None
        self.n_passes = 0
        self._screen: Screen | None = None
        self._n_neighbours = 0

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Candidates, sorted by row and column."""
        return np.divmod(self.keys, self.m)

    @property
    def complete(self) -> bool:
        """Whether candidates are all pairs that may be edges."""
        return self.rules.allowed is not None

    def fill(self, k: int, start: tuple[np.ndarray, np.ndarray] | None, least: int = 1) -> None:
        """Put the first candidates in: those allowed, those of an earlier result, or neighbours.

        Parameters
        ----------
        k : int
            Neighbours of each node, where they are used.
        start : tuple of arrays or None
            Rows and columns of the candidates of an earlier result.
        least : int
            Neighbours are added where those are fewer.
        """
        if self.rules.allowed is not None:
            self.add(self.rules.allowed)
            return
        if start is not None:
            self.add(pair_keys(*start, self.m))
        if len(self.keys) < least:
            self._add_neighbours(k)
        self._reach_all()

    def _add_neighbours(self, k: int) -> None:
        self._n_neighbours = min(k, self.m - 1)
        points = self.screen.axes.points[:, :_NEIGHBOUR_AXES]
        self.add(near_pairs(points, k, signed=self.features.signed))

    def widen(self) -> bool:
        """Add more neighbours of each node; return whether there was anything to add.

        Potentials over too few candidates are far above those over all pairs, and would bring in
        pairs that nobody needs.
        """
        if self.complete or self._n_neighbours == self.m - 1:
            return False
        held = math.ceil(2 * len(self.keys) / self.m)
        k = _WIDER * max(held, self._n_neighbours)
        if k * self.m > 2 * _MOST:  # pricing will refuse them too, with the reason
            return False
        self._add_neighbours(k)
        return True

    def _reach_all(self) -> None:
        """Give each node a candidate, if it may have any: its nearest permitted pairs."""
        lonely = np.setdiff1d(np.arange(self.m), np.concatenate(self.pairs))
        every = np.arange(self.m)
        for i in lonely:
            others = every[every != i]
            key = np.minimum(i, others) * self.m + np.maximum(i, others)
            key = key[self.rules.permitted(key)]
            if len(key):
                cost = self.costs(key)
                self.add(np.sort(key[np.argsort(cost, kind="stable")[:3]]))

    @property
    def screen(self) -> Screen:
        """The bound of distances, made when it is first used."""
        if self._screen is None:
            self._screen = Screen(self.features, self.features.axes(), self.rho)
        return self._screen

    def costs(self, keys: np.ndarray) -> Array:
        """Return the costs of pairs given by keys."""
        return self._price(keys)[0]

    def _price(self, keys: np.ndarray) -> tuple[Array, np.ndarray | None]:
        z, signs = self.features.distances(*np.divmod(keys, self.m))
        return self.rho * z + self.rules.penalties(keys), signs

    def add(self, keys: np.ndarray) -> int:
        """Add those of some sorted, distinct pairs that are permitted and new; return how many."""
        keys = keys[~contains(self.keys, keys)]
        keys = keys[self.rules.permitted(keys)]
        if not len(keys):
            return 0
        total = len(self.keys) + len(keys)
        if total > _MOST:
            raise MemoryError(
                f"the graph step would keep {total:.3g} pairs of {self.m} nodes, more than "
                f"{_MOST:.3g}: at this psi the graph is not sparse. Lower psi, ask for fewer "
                "edges, or pass a sparse matrix of allowed pairs"
            )
        cost, signs = self._price(keys)
        order = np.argsort(np.concatenate([self.keys, keys]), kind="stable")
        self.keys = np.concatenate([self.keys, keys])[order]
        self.cost = np.concatenate([self.cost, cost])[order]
        if self.signs is not None and signs is not None:
            self.signs = np.concatenate([self.signs, signs])[order]
        return len(keys)

    def cover(self, levels: Array, margin: Array | float) -> int:
        """Make candidates complete at some levels; return how many pairs below them were new.

        Parameters
        ----------
        levels : array (m,)
            The v of each node: pairs with cost below ``v_i + v_j`` are wanted.
        margin : array (m,) or float
            How far above a level the new ceilings are put.
        """
        rows: np.ndarray | None = None
        ceilings = levels + margin
        if self.ceilings is not None:
            rows = np.flatnonzero(levels > self.ceilings)
            if not len(rows):
                return 0
            raised = self.ceilings.copy()
            raised[rows] = ceilings[rows]
            ceilings = raised
        self.n_passes += 1
        new = self._below(ceilings, rows)
        before = self.keys
        self.add(new)
        self.ceilings = ceilings
        added = ~contains(before, self.keys)
        i, j = np.divmod(self.keys[added], self.m)
        return int(np.count_nonzero(self.cost[added] < levels[i] + levels[j]))

    def _below(self, levels: Array, rows: np.ndarray | None) -> np.ndarray:
        """Return sorted keys of the pairs below levels, without their penalties."""
        found, count = [np.zeros(0, dtype=np.int64)], 0
        for i, j, _, _ in self.screen.below(levels, rows, self.progress):
            found.append(i.astype(np.int64) * self.m + j)
            count += len(i)
            if count > _MOST + len(self.rules.forbidden):
                self.add(np.sort(np.concatenate(found)))
                raise MemoryError(  # unless penalties left some out
                    f"more than {_MOST:.3g} pairs of {self.m} nodes are near the graph; lower psi "
                    "or ask for fewer edges"
                )
        return np.sort(np.concatenate(found))

    def sample(self, levels: Array, rows: np.ndarray) -> tuple[int, Array]:
        """Return how many pairs with an end in ``rows`` are below levels and no candidates.

        The second result is their shortfalls ``v_i + v_j - cost`` relative to nothing, in units of
        costs.
        """
        keys = self._below(levels, rows)
        keys = keys[~contains(self.keys, keys)]
        keys = keys[self.rules.permitted(keys)]
        cost = self.costs(keys)
        i, j = np.divmod(keys, self.m)
        short = levels[i] + levels[j] - cost
        return int(np.count_nonzero(short > 0)), short[short > 0]
