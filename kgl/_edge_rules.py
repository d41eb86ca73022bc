"""What users know about edges: pairs that may be edges, pairs that may not, and penalties."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from kgl._types import Array
from kgl._validation import as_numbers, refuse_masked

__all__ = ["check_every_node", "edge_cost_matrix", "is_matrix", "named_ends", "refuse_nan"]


def _pairs_to_mask(pairs: Any, names: list[Any], what: str) -> np.ndarray:
    """Turn a boolean matrix or a collection of pairs of node names into a symmetric mask."""
    m = len(names)
    refuse_masked(pairs, what)
    if hasattr(pairs, "edges") and hasattr(pairs, "nodes"):  # a networkx graph
        pairs = list(pairs.edges)
    if hasattr(pairs, "to_numpy"):  # a DataFrame, of pairs or a matrix
        pairs = pairs.to_numpy()
    is_array = is_matrix(pairs)
    try:
        array = np.asarray(pairs)
    except ValueError:  # entries of several lengths: no matrix, and the loop below names them
        array = np.empty(0)
    # a list of two pairs is not a 2 x 2 matrix
    if array.dtype == bool or (is_array and array.shape == (m, m)):
        if array.shape != (m, m):
            raise ValueError(
                f"{what} is a {array.shape} matrix but there are {m} nodes; pass one row and one "
                "column for each"
            )
        refuse_nan(array, what)
        matrix = array.astype(bool)
        if not np.array_equal(matrix, matrix.T):
            raise ValueError(f"{what} is not symmetric; edges have no direction, use M | M.T")
        return matrix
    return _named_pairs(pairs, names, what)


def refuse_nan(entries: np.ndarray, what: str) -> None:
    """Refuse NaN among the entries of a pattern, which say neither yes nor no."""
    if entries.dtype.kind == "f" and np.isnan(entries).any():
        raise ValueError(f"{what} holds NaN; give True or False, or numbers, for each pair")


def is_matrix(pairs: Any) -> bool:
    """Return whether an array holds numbers or truth values, not names of nodes."""
    if not isinstance(pairs, np.ndarray):
        return False
    if pairs.dtype == object:
        return all(isinstance(value, bool | np.bool_) for value in pairs.flat)
    return pairs.dtype.kind in "biuf"


def named_ends(pairs: Iterable[Any], names: list[Any], what: str) -> np.ndarray:
    """Return the columns (k, 2) that pairs of node names stand for."""
    position = {name: k for k, name in enumerate(names)}
    ends = []
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise ValueError(
            f"{what} = {pairs!r} is no collection of pairs; pass pairs such as [({names[0]!r}, "
            f"{names[1]!r})], a boolean matrix or a networkx graph"
        )
    for pair in pairs:
        try:
            a, b = [pair] if isinstance(pair, str) else pair
        except (TypeError, ValueError):
            raise ValueError(
                f"{what} holds {pair!r}, which is not a pair of nodes; pass pairs such as "
                f"({names[0]!r}, {names[1]!r}), a boolean matrix or a networkx graph"
            ) from None
        for node in (a, b):
            if not isinstance(node, Hashable) or node not in position:
                raise ValueError(
                    f"{what} names the node {node!r}, which is not a column of Y; "
                    f"nodes are {names[:5]!r}{'...' if len(names) > 5 else ''}"
                )
        ends.append((position[a], position[b]))
    return np.array(ends, dtype=np.intp).reshape(-1, 2)


def _named_pairs(pairs: Iterable[Any], names: list[Any], what: str) -> np.ndarray:
    """Turn pairs of node names into a symmetric mask."""
    matrix = np.zeros((len(names), len(names)), dtype=bool)
    rows, cols = named_ends(pairs, names, what).T
    matrix[rows, cols] = matrix[cols, rows] = True
    return matrix


def check_every_node(allowed: np.ndarray, names: Iterable[Any]) -> None:
    """Refuse nodes without an allowed edge, which the log-degree barrier cannot do with."""
    for name, row in zip(names, allowed & ~np.eye(len(allowed), dtype=bool), strict=True):
        if not row.any():
            raise ValueError(
                f"node {name!r} has no allowed edge, but the log-degree barrier gives every node "
                "one; allow an edge or use regularizer='frobenius'"
            )


def edge_cost_matrix(
    names: list[Any], allowed: Any = None, forbidden: Any = None, penalty: Any = None
) -> Array | None:
    """Combine knowledge about edges into one matrix of extra costs, ``inf`` where forbidden."""
    m = len(names)
    if allowed is None and forbidden is None and penalty is None:
        return None
    cost = np.zeros((m, m))
    if penalty is not None:
        refuse_masked(penalty, "edge_penalty")
        cost = np.array(as_numbers(penalty, "edge_penalty"))
        if cost.shape != (m, m):
            raise ValueError(
                f"edge_penalty is {cost.shape} but there are {m} nodes; pass one number for each "
                "pair, as a matrix"
            )
        bad = np.argwhere(~(cost >= 0))
        if len(bad):
            i, j = bad[0]
            raise ValueError(
                f"edge_penalty[{i}, {j}] = {cost[i, j]:g}; penalties are non-negative numbers "
                "(inf forbids an edge)"
            )
        if not np.array_equal(cost, cost.T):
            raise ValueError("edge_penalty is not symmetric; use (P + P.T) / 2")
    if allowed is not None:
        cost[~_pairs_to_mask(allowed, names, "allowed_edges")] = np.inf
    if forbidden is not None:
        cost[_pairs_to_mask(forbidden, names, "forbidden_edges")] = np.inf
    np.fill_diagonal(cost, 0.0)
    off = cost[~np.eye(m, dtype=bool)]
    if not np.isfinite(off).any():
        raise ValueError("every edge is forbidden; allow at least one pair of nodes")
    return cost
