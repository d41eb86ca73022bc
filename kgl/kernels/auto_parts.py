"""The parts of the kernel that fits the data: widths, a trend, seasons and categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kgl._types import Array
from kgl.kernels.covariates import Covariates, Schema, Table, read_table
from kgl.kernels.numeric import some_rows

__all__ = ["Part", "Points", "Reader", "parts_of"]

#: Factor between widths, and how many there are at most.
FACTOR, MOST = 3.0, 6
#: Calendar periods of dates, in days; one is used if the data span two and have four rows in one.
CALENDAR = {"year": 365.2425, "week": 7.0, "day": 1.0}
SPANNED, ROWS_PER_PERIOD = 2.0, 4.0
#: Kernel between two sets of points, given as numbers (rows, p) and category codes (rows, q).
Part = Callable[["Points", "Points"], Array]


@dataclass(frozen=True)
class Points:
    """Points as standardised numbers (rows, p) and category codes (rows, q)."""

    numbers: Array
    codes: NDArray[np.intp]

    def take(self, rows: np.ndarray) -> Points:
        """Return some of the points."""
        return Points(self.numbers[rows], self.codes[rows])


@dataclass(frozen=True, eq=False)
class Reader:
    """Covariates -> standardised numbers and category codes, the same way every time."""

    schema: Schema
    numeric: tuple[int, ...]
    categorical: tuple[int, ...]
    offset: Array
    spread: Array
    categories: tuple[dict[object, int], ...]
    dates: bool
    points: Points

    @classmethod
    def fit(cls, X: Covariates) -> Reader:
        """Learn scales and categories."""
        table = read_table(X, "X")
        every = range(len(table.columns))
        categorical = tuple(k for k in every if table.categorical[k])
        numeric = tuple(k for k in every if not table.categorical[k])
        rows = len(table.columns[0])
        values = table.numbers(numeric) if numeric else np.zeros((rows, 0))
        spread = values.std(axis=0)
        spread = np.where(np.ptp(values, axis=0) > 0, np.where(spread > 0, spread, 1.0), 1.0)
        offset = values.mean(axis=0)
        known = tuple(
            {label: code for code, label in enumerate(dict.fromkeys(table.labels(k)))}
            for k in categorical
        )
        dates = len(numeric) == 1 and table.columns[numeric[0]].dtype.kind == "M"
        points = Points((values - offset) / spread, _codes(table, categorical, known))
        schema = Schema(table.names, len(table.columns))
        return cls(schema, numeric, categorical, offset, spread, known, dates, points)

    def read(self, X_new: Covariates) -> Points:
        """Return new covariates as points."""
        table, at = self.schema.read(X_new, self.numeric + self.categorical)
        p = len(self.numeric)
        rows = len(table.columns[0])
        values = table.numbers(at[:p]) if p else np.zeros((rows, 0))
        codes = _codes(table, at[p:], self.categories)
        return Points((values - self.offset) / self.spread, codes)


def _codes(
    table: Table, positions: Sequence[int], categories: Sequence[dict[object, int]]
) -> NDArray[np.intp]:
    """Return category codes (rows, q); -1 stands for categories not seen in training."""
    codes = np.empty((len(table.columns[0]), len(positions)), dtype=np.intp)
    for column, (position, known) in enumerate(zip(positions, categories, strict=True)):
        codes[:, column] = [known.get(value, -1) for value in table.labels(position)]
    return codes


def _squared(A: Points, B: Points) -> Array:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(A.numbers, B.numbers, "sqeuclidean"))


def parts_of(reader: Reader, periods: tuple[float, ...]) -> dict[str, Part]:
    """Return the parts of the kernel by name."""
    points, found = reader.points, dict[str, Part]()
    found["constant"] = _constant
    if np.ptp(points.numbers, axis=0).any():
        for width in _widths(points):
            found[f"width {width:.3g}"] = partial(_gaussian, width)
        found["trend"] = _trend
    if points.numbers.shape[1] == 1:
        for name, period in _periods(reader, periods).items():
            found[name] = partial(_periodic, period)
    elif periods:
        raise ValueError(
            f"periods = {periods!r} need a single numeric covariate, but there are "
            f"{points.numbers.shape[1]}; pass the times alone, or leave periods out"
        )
    names = reader.schema.names
    for k, position in enumerate(reader.categorical):
        label = position if names is None else names[position]
        found[f"category {label}"] = partial(_category, k)
    return found


# Functions with a name, not lambdas: fitted models are pickled.


def _constant(A: Points, B: Points) -> Array:
    return np.ones((len(A.numbers), len(B.numbers)))


def _gaussian(width: float, A: Points, B: Points) -> Array:
    return np.asarray(np.exp(-_squared(A, B) / (2.0 * width**2)))


def _trend(A: Points, B: Points) -> Array:
    return np.asarray(A.numbers @ B.numbers.T)


def _periodic(period: float, A: Points, B: Points) -> Array:
    return np.asarray(np.exp(-2.0 * np.sin(np.pi * (A.numbers - B.numbers.T) / period) ** 2))


def _category(k: int, A: Points, B: Points) -> Array:
    a, b = A.codes[:, k, None], B.codes[None, :, k]
    return np.asarray((a == b) & (a >= 0), dtype=float)


def _widths(points: Points) -> list[float]:
    """Return widths from the typical distance of nearest points to the largest distance."""
    some = some_rows(len(points.numbers))
    distances = np.sqrt(_squared(points.take(some), points.take(some)))
    distances[distances == 0.0] = np.inf  # itself, and points at the same place
    nearest = distances.min(axis=1)
    if len(some) < len(points.numbers):
        nearest = _nearest(points)
    if not np.isfinite(nearest).any():
        raise ValueError(
            "the squares of all differences between covariates vanish in double precision; "
            "rescale the covariates, or drop those that are constant"
        )
    first = float(np.median(nearest[np.isfinite(nearest)]))
    last = float(distances[np.isfinite(distances)].max())
    count = 1 + int(np.log(max(last / first, 1.0)) / np.log(FACTOR))
    factor = FACTOR if count <= MOST else (last / first) ** (1.0 / (MOST - 1))
    return [first * factor**k for k in range(min(count, MOST))]


def _nearest(points: Points) -> Array:
    """Return the distance of each point to the nearest other place."""
    from scipy.spatial import cKDTree

    places, which = np.unique(points.numbers, axis=0, return_inverse=True)
    distances, _ = cKDTree(places).query(places, k=2)
    return np.asarray(distances[which.reshape(-1), 1])


def _periods(reader: Reader, given: tuple[float, ...]) -> dict[str, float]:
    """Return periods in standardised units: those given, and of dates the calendar's."""
    values = np.unique(reader.points.numbers[:, 0]) * reader.spread[0]
    span = float(np.ptp(values))
    found = {f"period {period:g}": period for period in given}
    if reader.dates and len(values) > 1:
        step = float(np.median(np.diff(values)))
        found |= {
            name: period
            for name, period in CALENDAR.items()
            if span >= SPANNED * period and step * ROWS_PER_PERIOD <= period
        }
    return {name: period / float(reader.spread[0]) for name, period in found.items()}
