"""Tables that are read a piece at a time: whatever can be sliced, and iterables of chunks.

No package is imported: memory maps, Zarr and HDF5 arrays, Arrow tables, data frames and Dask arrays
are recognised by what they offer.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from kgl._labels import check_names
from kgl._types import Array
from kgl._validation import count_masked, refuse_masked

__all__ = ["Source"]

#: Doubles in a block of rows (16 MB).
BLOCK_FLOATS = 2_000_000
#: Rows of a block at least: matrix products of fewer rows are slow.
LEAST_ROWS = 256


@dataclass
class Source:
    """A table that is read from its first row to its last, more than once where it can be.

    Attributes
    ----------
    data : object
        What was given.
    names : list or None
        Names of the columns; those of the first chunk once it is read, None without any.
    width : int or None
        Number of columns, once it is known.
    n_rows : int or None
        Number of rows, where it is known before reading.
    done : int
        Rows read so far.
    like : str
        What has the names and the width that chunks must have, for messages.
    """

    data: Any
    names: list[Any] | None = None
    width: int | None = None
    n_rows: int | None = None
    done: int = 0
    like: str = "the first chunk"

    def __post_init__(self) -> None:
        if isinstance(self.data, str | bytes) or hasattr(self.data, "__fspath__"):
            raise TypeError(
                f"data = {self.data!r} is text, not a table; pass an open file, for example "
                "numpy.load(path, mmap_mode='r')"
            )
        refuse_masked(self.data, "data")
        shape = _shape(self.data)
        if shape is not None:
            if len(shape) != 2:
                raise ValueError(
                    f"data has {len(shape)} dimension(s), shape {shape}; pass a table whose "
                    "rows are observations and whose columns are nodes"
                )
            self.n_rows = shape[0]
        elif not callable(self.data) and not hasattr(self.data, "__iter__"):
            raise TypeError(
                f"data must be a table that can be sliced or an iterable of chunks of rows, got "
                f"{type(self.data).__name__}"
            )

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read a second time."""
        return not isinstance(self.data, Iterator)

    def block_rows(self, chunk_rows: int | None) -> int:
        """Return the number of rows of a block."""
        if chunk_rows is not None:
            whole = isinstance(chunk_rows, Integral) and not isinstance(chunk_rows, bool)
            if not (whole and chunk_rows >= 1):
                raise ValueError(
                    f"chunk_rows = {chunk_rows!r} must be a whole number of at least 1"
                )
            return int(chunk_rows)
        shape = _shape(self.data)
        width = shape[1] if shape else self.width
        return max(LEAST_ROWS, BLOCK_FLOATS // max(1, width or 200))

    def blocks(self, size: int) -> Iterator[Array]:
        """Yield all rows in blocks of ``size`` rows, the last one shorter.

        Sums over blocks do not depend on how the data come in chunks, not even by rounding.
        """
        kept: list[Array] = []
        count = 0
        for chunk in self._chunks(size):
            begin = 0
            while count + len(chunk) - begin >= size:
                end = begin + size - count
                kept.append(chunk[begin:end])
                yield kept[0] if len(kept) == 1 else np.concatenate(kept)
                kept, count, begin = [], 0, end
            if begin < len(chunk):
                kept.append(chunk[begin:].copy())  # whoever yields chunks may reuse the array
                count += len(chunk) - begin
        if kept:
            yield kept[0] if len(kept) == 1 else np.concatenate(kept)

    def _chunks(self, size: int) -> Iterator[Array]:
        """Yield chunks as they come, checked."""
        self.done = 0
        for k, chunk in enumerate(self._pieces(size)):
            if hasattr(chunk, "compute"):  # a block of Dask
                chunk = chunk.compute()
            values = self._read(chunk, k)
            if len(values):
                yield values
            release(self.data)

    def _pieces(self, size: int) -> Iterator[Any]:
        data, n = self.data, self.n_rows
        if n is not None:
            cut = _slicer(data)
            return (cut(begin, min(begin + size, n)) for begin in range(0, n, size))
        if hasattr(data, "partitions") and hasattr(data, "compute"):  # a frame of Dask
            return iter(data.partitions)
        pieces = data() if callable(data) else data
        if not isinstance(pieces, Iterable):
            raise TypeError(
                f"data = {data!r} is no table and gives no chunks; pass a table, an iterator of "
                "tables, or a function that returns one"
            )
        return iter(pieces)

    def _read(self, chunk: Any, k: int) -> Array:
        """Return a chunk as numbers, or refuse it by its number and the column."""
        where = f"chunk {k} of the data"
        if isinstance(chunk, str | bytes):
            raise TypeError(f"{where} is text, {chunk!r}; each must be a table of rows")
        if hasattr(chunk, "toarray"):
            raise TypeError(f"{where} is a sparse {type(chunk).__name__}; pass chunk.toarray()")
        if count_masked(chunk):
            chunk = np.ma.filled(np.ma.array(chunk, dtype=float), np.nan)
        labels = getattr(chunk, "column_names", getattr(chunk, "columns", None))
        names = None if labels is None or callable(labels) else list(labels)
        raw = _columns(chunk, names)
        values = _numbers(raw, where, names)
        if values.ndim != 2:
            raise ValueError(
                f"{where} has {values.ndim} dimension(s), shape {values.shape}; pass each chunk "
                "as a table of rows: one row has shape (1, columns)"
            )
        self._agree(values, names, where)
        if not np.isfinite(np.ones(len(values)) @ values).all():
            self._refuse_missing(values, where)
        self.done += len(values)
        return values

    def _refuse_missing(self, values: Array, where: str) -> None:
        """Name the first entry that is no finite number."""
        bad = np.argwhere(~np.isfinite(values))
        if not len(bad):
            return  # the sum alone is beyond double precision
        i, j = bad[0]
        name = int(j) if self.names is None else self.names[j]
        raise ValueError(
            f"{where}, row {i} (row {self.done + i} of all), column {name!r}, is {values[i, j]}: "
            "only complete rows "
            "of finite numbers can be summed. Drop such rows or fill them; or fit a table that "
            "fits in memory, from which missing entries are left out"
        )

    def _agree(self, values: Array, names: list[Any] | None, where: str) -> None:
        """Check width and names against those of the first chunk."""
        if self.width is None:
            self.width = values.shape[1]
            if self.names is None and names is not None:
                self.names = check_names(names, self.width)
        if values.shape[1] != self.width:
            raise ValueError(
                f"{where} has {values.shape[1]} columns but {self.like} has {self.width}; "
                "all chunks need the same columns"
            )
        if names is not None and self.names is not None and names != self.names:
            j = next(j for j in range(len(names)) if names[j] != self.names[j])
            raise ValueError(
                f"{where} has the column {names[j]!r} in place {j}, where {self.like} has "
                f"{self.names[j]!r}; put the columns in the same order"
            )


def _shape(data: Any) -> tuple[int, ...] | None:
    """Return the shape of a table that can be sliced, None for anything else."""
    if callable(data) or isinstance(data, list | tuple):
        return None
    if hasattr(data, "column_names") and hasattr(data, "num_rows"):
        return int(data.num_rows), len(data.column_names)
    shape = getattr(data, "shape", None)
    whole = isinstance(shape, tuple) and all(isinstance(k, Integral) for k in shape)
    return tuple(int(k) for k in shape) if whole and shape is not None else None


def _slicer(data: Any) -> Callable[[int, int], Any]:
    """Return how to cut rows out of a table."""
    if hasattr(data, "iloc"):
        return lambda begin, end: data.iloc[begin:end]
    if hasattr(data, "column_names") and hasattr(data, "slice"):
        return lambda begin, end: data.slice(begin, end - begin)
    return lambda begin, end: data[begin:end]


def _columns(chunk: Any, names: list[Any] | None) -> Any:
    """Return an array, or the columns of a frame or of an Arrow table one by one."""
    if names is None or isinstance(chunk, np.ndarray):
        return np.asarray(chunk)
    arrow = hasattr(chunk, "column_names")
    every: Iterable[Any] = (chunk.column(j) if arrow else None for j in range(len(names)))
    if arrow:
        return [np.asarray(column) for column in every]
    if hasattr(chunk, "iloc"):
        if all(np.dtype(kind).kind in "biuf" if _plain(kind) else False for kind in chunk.dtypes):
            return chunk.to_numpy()
        return [_nullable(chunk.iloc[:, j]) for j in range(len(names))]
    return [np.asarray(chunk[name]) for name in names]


def _plain(kind: Any) -> bool:
    return isinstance(kind, np.dtype)


def _nullable(column: Any) -> Any:
    """Return a column of pandas, with NaN for its own missing values where these are numbers."""
    if str(column.dtype).lower().startswith(("int", "uint", "float", "bool")):
        return column.to_numpy(dtype=float, na_value=np.nan)
    return column.to_numpy()


def _numbers(raw: Any, where: str, names: list[Any] | None) -> Array:
    """Convert an array or a list of columns, naming what is no number."""
    if not isinstance(raw, list):
        if raw.dtype.kind in "biuf":
            return np.asarray(raw, dtype=float)
        if raw.ndim != 2:
            raise TypeError(
                f"{where} has dtype {raw.dtype} and shape {raw.shape}; pass each chunk as a "
                "table of numbers"
            )
        raw = list(raw.T)
    out = np.empty((len(raw[0]) if raw else 0, len(raw)))
    for j, column in enumerate(raw):
        kind = column.dtype.kind
        try:
            if kind not in "biufO":
                raise TypeError
            out[:, j] = [np.nan if v is None else v for v in column] if kind == "O" else column
            if kind == "O" and any(isinstance(v, str) for v in column):
                raise TypeError
        except (TypeError, ValueError):
            example = next((v for v in column if isinstance(v, str)), column[0])
            raise TypeError(
                f"{where}, column {j if names is None else names[j]!r}, holds {example!r}, which "
                "is not a number: columns are nodes; drop the column or convert it"
            ) from None
    return out


def release(data: Any) -> None:
    """Give back the memory of the pages of a memory map that have been read.

    They stay in the cache of the operating system, which drops them when memory is short; without
    this they count as memory of the process.
    """
    pages = getattr(data, "_mmap", None)
    if isinstance(pages, mmap.mmap) and getattr(data, "mode", "c") in ("r", "r+", "w+"):
        advice = getattr(mmap, "MADV_DONTNEED", None)
        if advice is not None:
            pages.madvise(advice)
