"""Pairs to start from: near neighbours, most of them the nearest, in less than m^2 operations.

Column generation is exact whatever it starts from, so neighbours are sought only in the cells
around a node's own.
"""

from __future__ import annotations

import numpy as np

from kgl._types import Array

__all__ = ["near_pairs", "nearest", "pair_keys"]

#: Nodes up to which all pairs are looked at.
_SMALL = 2000
#: Cells around a node in which its neighbours are sought.
_PROBES = 10
#: Nodes to choose from for each neighbour wanted.
_SPARE = 4
_BLOCK = 1 << 19


def pair_keys(rows: np.ndarray, cols: np.ndarray, m: int) -> np.ndarray:
    """Return sorted, distinct keys ``i m + j`` with i < j."""
    low, high = np.minimum(rows, cols), np.maximum(rows, cols)
    return np.unique((low.astype(np.int64) * m + high)[low < high])


def nearest(
    points: Array, rows: np.ndarray, cols: np.ndarray, k: int, *, signed: bool
) -> np.ndarray:
    """Return for each row the k nearest of some columns, as an array (rows, k) of nodes."""
    out = np.empty((len(rows), k), dtype=np.int64)
    right = points[cols]
    squares = np.einsum("ij,ij->i", right, right)
    step = max(1, _BLOCK // len(cols))
    for b in range(0, len(rows), step):
        own = rows[b : b + step]
        product = points[own] @ right.T
        if signed:
            np.abs(product, out=product)
        distance = squares - 2.0 * product
        # a node is no neighbour of itself
        distance[own[:, None] == cols] = np.inf
        out[b : b + step] = cols[np.argpartition(distance, k - 1, axis=1)[:, :k]]
    return out


def near_pairs(points: Array, k: int, *, signed: bool) -> np.ndarray:
    """Return keys of the pairs of each node with about its k nearest.

    Parameters
    ----------
    points : array (m, q)
        Nodes on their leading principal axes.
    k : int
        Neighbours of each node.
    signed : bool
        Whether the negative of a node may be near too.
    """
    m = len(points)
    k = min(k, m - 1)
    points = np.ascontiguousarray(points, dtype=np.float32)
    every = np.arange(m)
    if m <= _SMALL:
        found = nearest(points, every, every, k, signed=signed)
        return pair_keys(np.repeat(every, k), found.ravel(), m)
    centres = np.random.default_rng(0).choice(m, int(2 * np.sqrt(m)), replace=False)
    own = nearest_centre(points, centres, signed=signed)
    order = np.argsort(own, kind="stable")
    start = np.searchsorted(own[order], np.arange(len(centres) + 1))
    members = [order[start[c] : start[c + 1]] for c in range(len(centres))]
    sizes = np.diff(start)
    keys = []
    closest = _by_distance(points[centres], signed=signed)
    for c, inside in enumerate(members):
        if not len(inside):
            continue
        # more cells where a few do not hold nodes enough
        held = np.cumsum(sizes[closest[c]])
        n_cells = max(_PROBES, 1 + int(np.searchsorted(held, min(_SPARE * k + 1, m))))
        around = np.concatenate([members[other] for other in closest[c][:n_cells]])
        found = nearest(points, inside, around, k, signed=signed)
        keys.append(pair_keys(np.repeat(inside, k), found.ravel(), m))
    return np.unique(np.concatenate(keys))


def nearest_centre(points: Array, centres: np.ndarray, *, signed: bool) -> np.ndarray:
    """Return for each node the index of the nearest centre."""
    right = points[centres]
    squares = np.einsum("ij,ij->i", right, right)
    out = np.empty(len(points), dtype=np.int64)
    step = max(1, _BLOCK // len(centres))
    for b in range(0, len(points), step):
        product = points[b : b + step] @ right.T
        if signed:
            np.abs(product, out=product)
        out[b : b + step] = np.argmin(squares - 2.0 * product, axis=1)
    return out


def _by_distance(centres: Array, *, signed: bool) -> np.ndarray:
    """Return for each centre all centres, the nearest first."""
    product = centres @ centres.T
    if signed:
        np.abs(product, out=product)
    return np.argsort(np.diag(product) - 2.0 * product, axis=1, kind="stable")
