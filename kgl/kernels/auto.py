r"""A kernel that fits the data: several widths, a trend, seasons and categories, weighted by them.

.. math:: K = \sum_k w_k K_k + w_0 I

with Gaussian kernels of a geometric series of widths, a linear trend, a constant, a periodic kernel
for each calendar period of dates, and one kernel for each categorical column. The weights maximise
the evidence of the data under :math:`y \sim N(0, K)`, every column of the data by itself (a
composite likelihood: links between columns are what the graph is for). The white part has no value
at new points.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kgl._types import Array
from kgl.kernels.auto_parts import Part, Points, Reader, parts_of
from kgl.kernels.base import FittedKernel, Kernel, number
from kgl.kernels.covariates import Covariates
from kgl.kernels.factors import KernelAccess, is_low_rank
from kgl.kernels.names import KERNELS
from kgl.kernels.numeric import SUBSET

__all__ = ["Auto", "FittedAuto"]

#: Rows and columns of the data that the weights are learned from, at most.
MAX_ROWS, MAX_COLUMNS = 200, 12
#: Updates of the weights, and the change of the logarithm of the evidence per entry that ends them.
UPDATES, SETTLED = 60, 1e-4
#: Least share of white noise, which keeps kernels well conditioned.
LEAST_WHITE = 1e-4


@dataclass(frozen=True)
class Auto(Kernel):
    """Kernel whose widths and parts are weighted by the data: see :mod:`kgl.kernels.auto`.

    Numeric columns are standardised, dates are read in days, and columns of text are categories.

    Parameters
    ----------
    periods : tuple of float
        Further periods of a single numeric column, in its units: 12 for months of a year.

    Examples
    --------
    A slow wave that two columns share, and noise:

    >>> t = np.arange(60.0)
    >>> rng = np.random.default_rng(0)
    >>> Y = np.sin(t / 8)[:, None] + 0.1 * rng.normal(size=(60, 2))
    >>> fitted = Auto().fit_to(t, Y)
    >>> bool(fitted.weights_["white"] < 0.1)
    True
    >>> fitted.cross([59.5]).shape
    (1, 60)
    """

    periods: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        periods = tuple(self.periods) if np.ndim(self.periods) else (self.periods,)
        checked = tuple(number(period, "period", "> 0") for period in periods)
        object.__setattr__(self, "periods", checked)

    def fit(self, X: Covariates) -> FittedAuto:
        """Evaluate the kernel with equal weights: without data there is nothing to learn from."""
        return self.fit_to(X, None)

    def fit_to(
        self, X: Covariates, targets: Array | None, mask: np.ndarray | None = None
    ) -> FittedAuto:
        """Choose the weights by the evidence of ``targets`` (rows, columns), and evaluate."""
        reader = Reader.fit(X)
        points = reader.points
        parts = parts_of(reader, self.periods)
        sizes, weights, _ = _scaled_weights(parts, points, targets, mask)
        total = np.zeros((len(points.numbers), len(points.numbers)))
        for part, weight in zip(parts.values(), weights[:-1] / sizes, strict=True):
            matrix = part(points, points)  # one part at a time: all of them may not fit in memory
            matrix *= weight
            total += matrix
        total[np.diag_indices(len(total))] += weights[-1]
        shares = dict(zip([*parts, "white"], weights.tolist(), strict=True))
        return FittedAuto(self, total, shares, reader, list(parts.values()), weights[:-1] / sizes)

    def access(
        self, X: Covariates, targets: Array | None = None, mask: np.ndarray | None = None
    ) -> KernelAccess:
        """Choose the weights as :meth:`fit_to` does, from the same rows of the data.

        Above :data:`kgl.kernels.numeric.SUBSET` rows the largest distance is that of a subset of
        so many, and widths whose kernel is not low rank are not offered: what they would take,
        shorter distances than the nodes resolve, is left to the white part. ``notes`` lists them.
        """
        reader = Reader.fit(X)
        parts = parts_of(reader, self.periods)
        return _access(reader, parts, targets, mask, [])


@dataclass(frozen=True, eq=False)
class FittedAuto(FittedKernel):
    """Fitted :class:`Auto`; `weights_` has the share of each part in the variance."""

    spec: Auto
    matrix: Array = field(repr=False)
    weights_: dict[str, float]
    _reader: Reader = field(repr=False)
    _parts: list[Part] = field(repr=False)
    _weights: Array = field(repr=False)

    def cross(self, X_new: Covariates) -> Array:
        """Kernel between new and training covariates, of shape (n_new, n_train)."""
        new, own = self._reader.read(X_new), self._reader.points
        return np.asarray(
            sum(w * part(new, own) for w, part in zip(self._weights, self._parts, strict=True))
        )


def _access(
    reader: Reader,
    parts: dict[str, Part],
    targets: Array | None,
    mask: np.ndarray | None,
    dropped: list[str],
) -> KernelAccess:
    """Return the weighted sum of some parts by its columns."""
    points = reader.points
    if len(points.numbers) > SUBSET and not dropped:
        for name in [name for name in parts if name.startswith("width")]:
            if is_low_rank(_one_part(parts[name], points)):
                break
            dropped = [*dropped, name]
        parts = {name: part for name, part in parts.items() if name not in dropped}
    sizes, weights, diagonals = _scaled_weights(parts, points, targets, mask)
    kernel = _Sum(reader, list(parts.values()), weights[:-1] / sizes)
    shares = dict(zip([*parts, "white"], weights.tolist(), strict=True))
    widths = [name for name in parts if name.startswith("width")]

    def shorten() -> KernelAccess:
        fewer = {name: part for name, part in parts.items() if name != widths[0]}
        return _access(reader, fewer, targets, mask, [*dropped, widths[0]])

    large = len(points.numbers) > SUBSET
    return KernelAccess(
        (weights[:-1] / sizes) @ diagonals,
        kernel.columns,
        kernel,
        float(weights[-1]),
        notes={"weights": shares, "left out": dropped},
        shorten=shorten if large and widths else None,
    )


def _scaled_weights(
    parts: dict[str, Part], points: Points, targets: Array | None, mask: np.ndarray | None
) -> tuple[Array, Array, Array]:
    """Return the mean variance of each part, its weight with white noise last, and its diagonal.

    The weights are of parts scaled to a mean variance of one, by the evidence of some of the data.
    """
    diagonals = np.stack([_one_part(part, points).diagonal for part in parts.values()])
    sizes = diagonals.mean(axis=1)
    if targets is None:
        return sizes, np.full(len(parts) + 1, 1.0 / (len(parts) + 1)), diagonals
    rows, columns = _sample(targets.shape, mask)
    some = points.take(rows)
    matrices = np.stack([part(some, some) for part in parts.values()]) / sizes[:, None, None]
    values = np.asarray(targets, dtype=float)
    return sizes, _weights_of_sample(matrices, values, mask, rows, columns), diagonals


def _one_part(part: Part, points: Points) -> KernelAccess:
    """Return one part by its columns."""
    rows = np.arange(len(points.numbers))
    blocks = [points.take(rows[k : k + 256]) for k in range(0, len(rows), 256)]
    diagonal = np.concatenate([np.diag(part(block, block)) for block in blocks])
    return KernelAccess(diagonal, lambda index: part(points, points.take(index)))


@dataclass(frozen=True, eq=False)
class _Sum:
    """Weighted sum of parts. A class and no closure, so that it pickles."""

    reader: Reader
    parts: list[Part]
    weights: Array

    def columns(self, index: np.ndarray) -> Array:
        return self._between(self.reader.points, self.reader.points.take(index))

    def __call__(self, X_new: Covariates, index: np.ndarray) -> Array:
        return self._between(self.reader.read(X_new), self.reader.points.take(index))

    def _between(self, A: Points, B: Points) -> Array:
        return np.asarray(
            sum(w * part(A, B) for w, part in zip(self.weights, self.parts, strict=True))
        )


def _weights_of_sample(
    matrices: Array,
    targets: Array,
    mask: np.ndarray | None,
    rows: np.ndarray,
    columns: np.ndarray,
) -> Array:
    r"""Return the variances of the parts and of white noise, summing to one, from a sample.

    Multiplicative updates (Zhou, Hu, Qiao, Wang and Zhou, 2019), which never lower the evidence:
    with :math:`S = \sum_k w_k K_k` over the observed rows of a column y and :math:`q = S^{-1} y`,

    .. math:: w_k \leftarrow w_k \sqrt{\sum q^\top K_k q / \sum \operatorname{tr}(S^{-1} K_k)}

    with sums over columns. ``matrices`` are the parts over the rows of the sample.
    """
    y = targets[np.ix_(rows, columns)].T
    n_parts, n = matrices.shape[:2]
    parts = np.concatenate([matrices, np.eye(n)[None]])
    weights = np.full(n_parts + 1, 1.0 / (n_parts + 1))
    if mask is None:
        seen = np.ones((1, n))
    else:
        seen = mask[np.ix_(rows, columns)].T.astype(float)
        y = y * seen
    entries = float(seen.sum()) * (len(y) if mask is None else 1.0)
    # a power of two, which changes no digit, keeps squares in range
    y = y / np.ldexp(1.0, np.frexp(np.abs(y).max(initial=0.0))[1] - 1)
    power = float(np.sum(y**2))
    if power == 0.0:
        return weights
    y = y * np.sqrt(entries / power)
    both = seen[:, :, None] * seen[:, None, :]
    outside = np.eye(n) * (1.0 - seen)[:, :, None]
    before = -np.inf
    for _ in range(UPDATES):
        S = np.tensordot(weights, parts, axes=1) * both + outside
        try:
            inverse = np.linalg.inv(S)
        except np.linalg.LinAlgError:  # beyond double precision: the weights so far
            break
        q = (inverse @ y[:, :, None])[..., 0] if mask is not None else y @ inverse[0]
        evidence = -0.5 * float(
            np.sum(q * y) + np.linalg.slogdet(S)[1].sum() * (len(y) if mask is None else 1)
        )
        inverse *= both
        total = inverse.sum(axis=0) * (len(y) if mask is None else 1)
        outer = q.T @ q
        top = np.einsum("kij,ij->k", parts, outer)
        bottom = np.einsum("kij,ij->k", parts, total)
        weights = weights * np.sqrt(np.maximum(top, 0.0) / np.maximum(bottom, 1e-300))
        weights[-1] = max(weights[-1], LEAST_WHITE * weights.sum())
        if evidence - before <= SETTLED * entries and np.isfinite(before):
            break
        before = evidence
    return np.asarray(weights / weights.sum())


def _sample(shape: tuple[int, ...], mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns to learn from: half of the rows in one piece, others spread out.

    Neighbouring rows tell short widths, rows far apart long ones.
    """
    n, m = shape
    rows = np.arange(n)
    if n > MAX_ROWS:
        start = (n - MAX_ROWS // 2) // 2
        piece = np.arange(start, start + MAX_ROWS // 2)
        spread = np.linspace(0, n - 1, MAX_ROWS // 2).round().astype(int)
        rows = np.union1d(piece, spread)
    columns = np.arange(m)
    if mask is not None and m > MAX_COLUMNS:
        # columns with the most entries, and of those with as many the first
        columns = np.sort(np.argsort(-mask[rows].sum(axis=0), kind="stable")[:MAX_COLUMNS])
    return rows, columns


KERNELS["auto"] = Auto
