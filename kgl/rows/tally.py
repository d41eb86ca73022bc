"""Adding up rows block by block, and watching what decides on logarithms."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kgl._memory import Estimate, check_memory
from kgl._types import Array
from kgl.rows.sums import RowSums

__all__ = ["Tally", "Watch"]

#: Doubles of the sample that decides on logarithms (8 MB), and its rows at least.
SAMPLE_FLOATS, SAMPLE_ROWS = 1_000_000, 2_000
#: Arrays of nodes by nodes beside those of the folds, while sums are added up and roots are taken.
COPIES = 5


@dataclass
class Tally:
    """Running sums about the mean of the first block, split into folds of every k-th row.

    Attributes
    ----------
    n_folds : int
        Number of folds; 1 for none.
    factor : array (n, r) or None
        Factor of the kernel over the rows, whose products with the rows are summed too.
    """

    n_folds: int = 1
    factor: Array | None = None
    count: np.ndarray = field(init=False)
    origin: Array = field(init=False)
    sums: Array = field(init=False)
    products: Array = field(init=False)
    largest: Array = field(init=False)
    cross: Array | None = field(init=False, default=None)
    n_rows: int = field(init=False, default=0)

    def add(self, block: Array) -> None:
        """Add rows, which follow those that were added before."""
        begin = self.n_rows
        if begin == 0:
            self._begin(block)
        top = np.maximum(block.max(axis=0), -block.min(axis=0))
        np.maximum(self.largest, top, out=self.largest)
        for fold in range(self.n_folds):
            part = block[(fold - begin) % self.n_folds :: self.n_folds] - self.origin
            self.count[fold] += len(part)
            self.sums[fold] += np.ones(len(part)) @ part
            self.products[fold] += part.T @ part
            if self.factor is not None:
                rows = self.factor[begin : begin + len(block)]
                assert self.cross is not None
                self.cross += rows.T @ part
        self.n_rows += len(block)

    def copy(self) -> Tally:
        """Return a copy with arrays of its own."""
        made = copy(self)
        if made.n_rows:
            made.count, made.sums = self.count.copy(), self.sums.copy()
            made.products, made.largest = self.products.copy(), self.largest.copy()
            made.cross = None if self.cross is None else self.cross.copy()
        return made

    def _begin(self, block: Array) -> None:
        m = block.shape[1]
        need = 8 * (self.n_folds + COPIES) * m * m
        what = f"{self.n_folds + COPIES} arrays of {m} x {m} nodes ({self.n_folds} folds)"
        check_memory(Estimate(need, what, "use n_folds=1, or fewer nodes"), "compressing rows")
        self.origin = block.mean(axis=0)
        self.count = np.zeros(self.n_folds, dtype=int)
        self.sums = np.zeros((self.n_folds, m))
        self.products = np.zeros((self.n_folds, m, m))
        self.largest = np.zeros(m)
        if self.factor is not None:
            self.cross = np.zeros((self.factor.shape[1], m))

    def folds(self, names: list[Any] | None) -> list[RowSums]:
        """Return the sums of each fold that has rows."""
        if not np.isfinite(self.products).all():
            raise ValueError(
                "the squares of the data are beyond double precision; rescale the data, for "
                "instance to unit variance"
            )
        return [
            RowSums(
                int(self.count[k]), self.sums[k], self.products[k], self.origin, names, self.largest
            )
            for k in range(self.n_folds)
            if self.count[k]
        ]


@dataclass
class Watch:
    """Least entries of the columns, and rows spread evenly over those seen so far.

    All rows are kept while they are few. Then every second one is, every fourth, and so on,
    whatever blocks they come in.
    """

    n_rows: int = 0
    stride: int = 1
    smallest: Array | None = None
    kept: list[Array] = field(default_factory=list)

    def add(self, block: Array) -> None:
        """Look at rows, which follow those seen before."""
        least = block.min(axis=0)
        self.smallest = least if self.smallest is None else np.minimum(self.smallest, least)
        self.kept.append(block[-self.n_rows % self.stride :: self.stride].copy())
        self.n_rows += len(block)
        most = max(SAMPLE_ROWS, SAMPLE_FLOATS // max(1, block.shape[1]))
        while sum(map(len, self.kept)) > most:
            self.kept = [np.concatenate(self.kept)[::2].copy()]
            self.stride *= 2

    def copy(self) -> Watch:
        """Return a copy with a list of its own; rows that were kept are never changed."""
        return replace(self, kept=list(self.kept))

    @property
    def complete(self) -> bool:
        """Whether all rows are in the sample."""
        return self.stride == 1

    @property
    def sample(self) -> Array:
        """The rows kept, with one of the least entries where rows were left out."""
        assert self.smallest is not None
        return np.concatenate(self.kept if self.complete else [*self.kept, self.smallest[None]])
