"""What is known about pairs: which may be edges, and which cost more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kgl._types import Array

__all__ = ["PairRules", "RuleIndex", "contains", "positions"]


@dataclass(frozen=True)
class PairRules:
    """Rules for pairs of nodes, each a sparse matrix (m, m) or None.

    A pair has a property if either of its two entries has it, so one triangle is enough.

    Attributes
    ----------
    allowed : sparse matrix or None
        Its entries that are not zero are the only pairs that may be edges.
    forbidden : sparse matrix or None
        Its entries that are not zero are pairs that may not.
    penalty : sparse matrix or None
        Added to the costs of pairs; not negative.
    """

    allowed: Any = None
    forbidden: Any = None
    penalty: Any = None


def _upper_keys(matrix: Any, m: int, name: str) -> tuple[np.ndarray, Array]:
    """Return sorted keys ``i m + j`` of the pairs in either triangle, and their largest values."""
    found = sparse.coo_array(matrix)
    if found.shape != (m, m):
        raise ValueError(
            f"rules.{name} has shape {found.shape}; pass a sparse matrix of shape ({m}, {m})"
        )
    data = np.asarray(found.data, dtype=float)
    rows, cols = found.coords
    use = (rows != cols) & (data != 0)
    if np.isnan(data[use]).any() or (data[use] < 0).any():
        raise ValueError(f"rules.{name} has negative entries or NaN; entries are at least 0")
    low, high = np.minimum(rows, cols)[use], np.maximum(rows, cols)[use]
    key = low.astype(np.int64) * m + high
    order = np.lexsort((-data[use], key))
    key, value = key[order], data[use][order]
    first = np.ones(len(key), dtype=bool)
    first[1:] = key[1:] != key[:-1]
    return key[first], value[first]


def positions(sorted_keys: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where keys stand among sorted ones, and whether they are there at all."""
    if not len(sorted_keys):
        return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool)
    at = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return at, sorted_keys[at] == keys


def contains(sorted_keys: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return which keys are among sorted ones."""
    return positions(sorted_keys, keys)[1]


class RuleIndex:
    """Rules by key, so that lists of pairs can be looked up."""

    def __init__(self, rules: PairRules | None, m: int) -> None:
        rules = PairRules() if rules is None else rules
        none = np.zeros(0, dtype=np.int64)
        self.allowed: np.ndarray | None = None
        self.forbidden, self.penalised, self.penalty = none, none, np.zeros(0)
        if rules.forbidden is not None:
            self.forbidden, _ = _upper_keys(rules.forbidden, m, "forbidden")
        if rules.penalty is not None:
            self.penalised, self.penalty = _upper_keys(rules.penalty, m, "penalty")
            # an infinite penalty forbids a pair
            infinite = np.isinf(self.penalty)
            self.forbidden = np.union1d(self.forbidden, self.penalised[infinite])
            self.penalised, self.penalty = self.penalised[~infinite], self.penalty[~infinite]
        if rules.allowed is not None:
            keys, _ = _upper_keys(rules.allowed, m, "allowed")
            self.allowed = keys[~contains(self.forbidden, keys)]

    def count(self, m: int) -> int:
        """Return how many pairs may be edges."""
        if self.allowed is not None:
            return len(self.allowed)
        return m * (m - 1) // 2 - len(self.forbidden)

    def permitted(self, keys: np.ndarray) -> np.ndarray:
        """Return which pairs may be edges."""
        fine = ~contains(self.forbidden, keys)
        if self.allowed is not None:
            fine &= contains(self.allowed, keys)
        return fine

    def penalties(self, keys: np.ndarray) -> Array | float:
        """Return what is added to the costs of pairs."""
        if not len(self.penalised):
            return 0.0
        at, found = positions(self.penalised, keys)
        return np.where(found, self.penalty[at], 0.0)
