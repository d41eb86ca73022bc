"""Hide observed entries of a table: at random, or in runs of consecutive rows of a node.

Every node keeps :data:`KEPT_PER_NODE` observed entries and every row one, so a rate can be missed
by a few entries; the runs of one node may meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kgl._types import Array, Mask
from kgl.seeding import stream

__all__ = ["KEPT_PER_NODE", "PATTERNS", "RUN", "hide"]

#: Observed entries that each node keeps: two, so that it has a mean and a standard deviation.
KEPT_PER_NODE = 2
#: Shortest and longest run of hidden rows, as shares of all rows.
RUN = (0.10, 0.15)


def hide(Y: Array, pattern: str, rate: float, seed: int, name: str) -> Mask:
    """Return which observed entries to hide, about ``rate`` of them.

    Parameters
    ----------
    Y : array of shape (n, m)
        NaN where nothing was observed.
    pattern : str
        Key of :data:`PATTERNS`: ``random`` or ``blocks``.
    rate : float
        Share of the observed entries to hide; with ``blocks`` of those of each node.
    seed, name : int, str
        Replicate and name of the table: its random stream.

    Examples
    --------
    >>> hidden = hide(np.ones((40, 8)), "blocks", 0.3, 0, "example")
    >>> hidden.shape, hidden.mean(axis=0)[:3]
    ((40, 8), array([0.3, 0.3, 0.3]))
    """
    rng = stream(seed, "gaps", name, pattern, rate)
    observed = np.isfinite(Y)
    rows, nodes = observed.sum(axis=1), observed.sum(axis=0)
    hidden = np.zeros_like(observed)
    for wanted, entries in PATTERNS[pattern](observed, rate, rng):
        for i, j in entries:
            if wanted == 0:
                break
            free = observed[i, j] and not hidden[i, j]
            if free and rows[i] > 1 and nodes[j] > KEPT_PER_NODE:
                hidden[i, j] = True
                rows[i] -= 1
                nodes[j] -= 1
                wanted -= 1
    return hidden


#: How many entries to hide, and entries in the order in which they are tried.
Candidates = Iterator[tuple[int, Iterator[tuple[int, int]]]]


def _random(observed: Mask, rate: float, rng: np.random.Generator) -> Candidates:
    places = np.argwhere(observed)
    order = rng.permutation(len(places))
    yield round(rate * len(places)), ((int(i), int(j)) for i, j in places[order])


def _blocks(observed: Mask, rate: float, rng: np.random.Generator) -> Candidates:
    n, m = observed.shape
    for j in rng.permutation(m):
        yield round(rate * observed[:, j].sum()), _runs(n, int(j), rng)


def _runs(n: int, node: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Yield runs of rows of one node; they start anywhere, so those at an end are shorter."""
    shortest, longest = (max(2, round(share * n)) for share in RUN)
    for _ in range(100):  # enough to cover all rows nearly surely
        length = int(rng.integers(shortest, longest + 1))
        begin = int(rng.integers(1 - length, n))
        yield from ((i, node) for i in range(max(begin, 0), min(begin + length, n)))


#: How entries are hidden.
PATTERNS: dict[str, Callable[[Mask, float, np.random.Generator], Candidates]] = {
    "random": _random,
    "blocks": _blocks,
}
