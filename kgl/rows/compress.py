"""Turn rows that do not fit in memory into what estimators read of them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from kgl._labels import check_names
from kgl._progress import reporter
from kgl._types import Array
from kgl.rows.compressed import CompressedRows, Totals
from kgl.rows.observations import ROW_TOL, row_kernel
from kgl.rows.sources import Source
from kgl.rows.sums import RowSums
from kgl.rows.tally import Tally, Watch
from kgl.skewness import CLEAR, check_log, log_fits, log_origins

__all__ = ["compress"]

#: Doubles (32 MB) of whole columns that are read at a time where logarithms need them.
COLUMN_FLOATS = 4_000_000
#: A gain of logarithms in a sample of k rows that is nearer to the limit than this over the root of
#: k leaves the decision to all rows.
MARGIN = 6.0


def compress(
    data: Any,
    *,
    K_z: Any = None,
    z: Any = None,
    kernel_z: Any = None,
    factor_z: Any = None,
    white: float = 0.0,
    kernel_tol: float = ROW_TOL,
    max_rank: int | None = None,
    log: str | bool = "auto",
    names: Any = None,
    n_folds: int = 5,
    chunk_rows: int | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
) -> CompressedRows:
    """Read a long table once, piece by piece, and keep what graph learners need of it.

    The result takes the place of the table in ``fit``, :func:`kgl.fit_grid` and
    :func:`kgl.select_held_out`: the graph is that of the table, up to rounding and to what
    ``kernel_tol`` leaves out, with the same defaults for ``center``, ``scale``, ``log`` and
    ``signed``. Rows must be complete.

    Parameters
    ----------
    data : array-like, iterable, callable or RowSums
        One row per observation, one column per node: anything with a shape that can be sliced
        (arrays, memory maps, Zarr, HDF5, Dask arrays, data frames, Arrow tables); an iterable of
        such pieces (Arrow batches, blocks of Dask, a generator); a function that returns a new
        iterator of them; or sums made elsewhere, a :class:`kgl.RowSums` or a list of them, one for
        each fold.
    K_z : array (n, n), optional
        Kernel over the rows, for as many rows as such a matrix can have.
    z, kernel_z : array or DataFrame (n, q), kernel, optional
        Covariates of the rows and the kernel that they go into, without an (n, n) matrix.
    factor_z : array (n, r), optional
        A factor of the kernel over the rows: it is ``factor_z @ factor_z.T``.
    white : float
        White noise added to the kernel over the rows: ``white`` times the identity.
    kernel_tol, max_rank : float, int, optional
        Share of the trace of the kernel that may be left out, and directions at most (1,000 if not
        given). A kernel that needs more directions is refused.
    log : {"auto", True, False}
        As for estimators. A second pass over the data is needed where logarithms are taken of more
        rows than a sample of 8 MB holds. Sums made elsewhere are never of logarithms.
    names : sequence, optional
        Names of the nodes; those of the columns if not given.
    n_folds : int
        Folds of rows, every k-th one, that cross-validation can leave out; 1 for none. Each takes
        memory for m x m numbers. There are none with a kernel over the rows; a list of RowSums has
        one for each.
    chunk_rows : int, optional
        Rows that are read and summed at a time; 16 MB of them if not given. However the data come
        in pieces, results are the same to the last bit.
    progress : callable or bool, optional
        Called as ``progress(rows done, rows)``; True writes to standard error, and so does None on
        a terminal if the work is long.

    Returns
    -------
    CompressedRows

    Examples
    --------
    >>> import kgl
    >>> Y = kgl.simulate.make_dataset("er", m=8, n=500).Y
    >>> small = kgl.compress(Y[k : k + 100] for k in range(0, 500, 100))
    >>> small
    CompressedRows: 500 rows of 8 nodes, independent
    >>> model = kgl.KGLN(density=0.3).fit(small)
    >>> bool(np.allclose(model.weights_, kgl.KGLN(density=0.3).fit(Y).weights_))
    True
    """
    check_log(log)
    whole = isinstance(n_folds, Integral) and not isinstance(n_folds, bool)
    if not (whole and n_folds >= 1):
        raise ValueError(f"n_folds = {n_folds!r} must be a whole number of at least 1, such as 5")
    side = {"K_z": K_z, "z": z, "factor_z": factor_z}
    summed = handed_in(data)
    if summed:
        numbers = {"white": (white, 0.0), "kernel_tol": (kernel_tol, ROW_TOL)}
        _refuse_options({**side, "kernel_z": kernel_z, "max_rank": max_rank}, numbers, log)
        return CompressedRows(_totals(summed, names, n_folds), None)
    source = Source(data, None if names is None else list(names))
    kernel = row_kernel(side, kernel_z, white, kernel_tol, max_rank, source.n_rows)
    factor = None if kernel is None else kernel.factor
    report = reporter(progress, "row")
    size = source.block_rows(chunk_rows)
    tally, watch = Tally(1 if kernel is not None else n_folds, factor), Watch()
    for block in source.blocks(size):
        if factor is not None and tally.n_rows + len(block) > len(factor):
            _refuse_length(source.n_rows, len(factor))
        tally.add(block)
        if log is not False:
            watch.add(block)
        _report(report, tally.n_rows, source.n_rows)
    if not tally.n_rows:
        raise ValueError("data has no rows; give at least one (an iterator may have been used up)")
    if factor is not None and tally.n_rows != len(factor):
        _refuse_length(tally.n_rows, len(factor))
    values = Totals.of(tally, source.names)

    def columns(which: slice) -> Array:
        return np.concatenate([block[:, which].copy() for block in source.blocks(size)])

    origin, least = log_origins_of(watch, log, columns if source.rereadable else None)
    logs = None
    if origin is not None and least is not None:
        summed_logs = _logs(source, watch, origin, least, size, tally)
        logs = Totals.of(summed_logs, source.names, origin, least)
    return CompressedRows(values, kernel, logs)


def handed_in(data: Any) -> list[RowSums]:
    """Return the sums that were given in place of rows, none where there are rows."""
    if isinstance(data, RowSums):
        return [data]
    if isinstance(data, list | tuple) and any(isinstance(part, RowSums) for part in data):
        if not all(isinstance(part, RowSums) for part in data):
            raise TypeError("data is a list of RowSums and of something else; give one kind")
        return list(data)
    return []


def _refuse_options(
    options: dict[str, Any], numbers: dict[str, tuple[float, float]], log: str | bool
) -> None:
    """Refuse options of a kernel over single rows, and logarithms of these.

    ``numbers`` are options with their defaults.
    """
    given = [name for name, value in options.items() if value is not None]
    given += [name for name, (value, default) in numbers.items() if value != default]
    if given:
        raise ValueError(
            f"{given[0]} needs the rows, of which RowSums has only sums; give the rows themselves"
        )
    if log is True:
        raise ValueError(
            "log=True needs the rows, of which RowSums has only sums; sum logarithms of the data, "
            "or give the rows themselves"
        )


def _totals(folds: list[RowSums], names: Any, n_folds: int) -> Totals:
    if n_folds not in (5, len(folds)):
        raise ValueError(
            f"n_folds = {n_folds}, but {len(folds)} RowSums were given, which cannot be split; "
            "give a list of one for each fold"
        )
    total = sum(folds[1:], folds[0])
    total.check_digits()
    known = total.names if names is None else check_names(names, len(total.sums))
    return Totals(total, folds if len(folds) > 1 else [], known)


def _report(report: Any, done: int, total: int | None) -> None:
    if report is not None:
        report(done, done if total is None else total)


def _refuse_length(n_rows: int | None, given: int) -> None:
    found = f"more than {given}" if n_rows is None else str(n_rows)
    raise ValueError(
        f"the kernel over the rows is of {given} rows but data has {found}; give one row of "
        "covariates, or of the factor, for each row of data"
    )


def log_origins_of(
    watch: Watch, log: str | bool, columns: Callable[[slice], Array] | None = None
) -> tuple[Array | None, Array | None]:
    """Return origins of logarithms as a fit to all rows has them, None where it takes none.

    Parameters
    ----------
    watch : Watch
        What was seen of the rows.
    log : {"auto", True, False}
        As for estimators.
    columns : callable, optional
        Returns all rows of some columns, where they can be read again.
    """
    check_log(log)
    if log is False:
        return None, None
    sample = watch.sample
    seen = np.ones(sample.shape, dtype=bool)
    if watch.complete:
        return log_origins(sample, seen, log)
    gain = float(np.median(log_fits(sample, seen)[2]))
    if log is not True and gain < CLEAR - MARGIN / np.sqrt(len(sample)):
        return None, None
    if columns is None:
        raise ValueError(
            "the data may grow by factors, so that their logarithms are to be used, which takes a "
            f"second look at the {watch.n_rows} rows, but these came once; use kgl.compress on "
            "the table itself, a list of chunks or a function that returns a new iterator, or set "
            "log=False"
        )
    m = sample.shape[1]
    origin, least, gains = np.empty((3, m))
    step = max(1, COLUMN_FLOATS // watch.n_rows)
    for begin in range(0, m, step):
        which = slice(begin, min(begin + step, m))
        own = columns(which)
        every = np.ones(own.shape, dtype=bool)
        origin[which], least[which], gains[which] = log_fits(own, every)
    if log is not True and not np.median(gains) > CLEAR:
        return None, None
    return origin, least


def _logs(
    source: Source, watch: Watch, origin: Array, least: Array, size: int, first: Tally
) -> Tally:
    """Sum the logarithms of all rows."""
    tally = Tally(first.n_folds, first.factor)
    blocks = source.blocks(size)
    if watch.complete:
        kept = watch.sample
        blocks = (kept[k : k + size] for k in range(0, len(kept), size))
    for block in blocks:
        tally.add(np.log(np.maximum(block - origin, least)))
    if tally.n_rows != first.n_rows:
        raise ValueError(
            f"the second pass over the data found {tally.n_rows} rows, the first {first.n_rows}; "
            "the data must not change while they are read"
        )
    return tally
