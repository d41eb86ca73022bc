"""Long tables: rows read from disk in pieces, and dependent rows without a matrix of all pairs.

Every task runs in a fresh process with one thread and returns numbers: CPU seconds, memory above
that of the imports, and how far graphs of different ways to the same rows are apart.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import kgl
from kgl._types import Array

NODES, EDGES_PER_NODE = 200, 10
#: Length of the smooth functions of time, in rows.
LENGTH = 500.0


def peak() -> float:
    """Return the largest memory of this process so far, in MB."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1024.0 if sys.platform != "darwin" else 1024.0**2)


def node_kernel(m: int = NODES) -> Array:
    """Return a kernel over nodes at random places."""
    x = np.random.default_rng(1).uniform(0.0, 3.0, size=(m, 2))
    return np.asarray(kgl.kernels.RBF(gamma=1.0)(x))


def write_table(path: Path, n: int, m: int = NODES) -> None:
    """Write rows that are smooth over the nodes, with noise and levels, a piece at a time."""
    values, vectors = np.linalg.eigh(node_kernel(m))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    rng = np.random.default_rng(2)
    table = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, m))
    for begin in range(0, n, 10_000):
        size = min(10_000, n - begin)
        rows = rng.standard_normal((size, m)) @ root
        table[begin : begin + size] = rows + 0.3 * rng.standard_normal((size, m)) + np.arange(m)
    table.flush()


def in_pieces(table: Array, size: int) -> Iterator[Array]:
    """Yield pieces of a table."""
    return (table[begin : begin + size] for begin in range(0, len(table), size))


def fit(rows: Any) -> kgl.KGLN:
    """Fit KGL-N at the settings of all tasks."""
    return kgl.KGLN(average_degree=EDGES_PER_NODE).fit(rows, K_x=node_kernel())


def independent(n: int) -> dict[str, float]:
    """KGL-N on n x 200 from a memory map, compressed and fitted.

    The table is written by another process, so that its memory does not count.
    """
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "rows.npy"
        _elsewhere(partial(write_table, path, n))
        table = np.load(path, mmap_mode="r")
        fit(kgl.compress(np.asarray(table[:500])))  # loads what is loaded when first used
        before, begin = peak(), time.process_time()
        small = kgl.compress(table)
        summed = time.process_time() - begin
        model = fit(small)
        total, memory = time.process_time() - begin, peak() - before
        return {
            "n": float(n),
            "m": float(NODES),
            "cpu_s": total,
            "cpu_s_compress": summed,
            "mb_above_imports": memory,
            "edges": float(np.count_nonzero(model.weights_)) / 2.0,
            "kkt_residual": model.kkt_residual_,
        }


def chunkings(n: int) -> dict[str, float]:
    """Largest relative difference of weights between ways to cut the same rows, and from fit."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "rows.npy"
        write_table(path, n)
        table = np.load(path, mmap_mode="r")
        whole = fit(np.asarray(table)).weights_
        ways: dict[str, Any] = {
            "sliced": kgl.compress(table),
            "chunk_rows_777": kgl.compress(table, chunk_rows=777),
            "pieces_of_33": kgl.compress(in_pieces(table, 33)),
            "pieces_of_50000": kgl.compress(in_pieces(table, 50_000)),
            "handed_in": kgl.compress(sum(kgl.RowSums.of(p) for p in in_pieces(table, 9_999))),
        }
        model = kgl.KGLN(average_degree=EDGES_PER_NODE)
        for piece in in_pieces(table, 20_000):
            model.partial_fit(piece, K_x=node_kernel(), refit=False)
        graphs = {name: fit(rows).weights_ for name, rows in ways.items()}
        last = np.asarray(table[-1:])
        model = kgl.KGLN(average_degree=EDGES_PER_NODE)
        for piece in in_pieces(table[:-1], 20_000):
            model.partial_fit(piece, K_x=node_kernel(), refit=False)
        graphs["partial_fit"] = model.partial_fit(last).weights_
        scale = float(whole.max())
        apart = {name: float(np.abs(W - whole).max()) / scale for name, W in graphs.items()}
        edges = {name: float(np.sum((W > 0) != (whole > 0)) / 2) for name, W in graphs.items()}
        return {
            "n": float(n),
            "largest_difference": max(apart.values()),
            "edges_different": max(edges.values()),
            **{f"difference_{name}": value for name, value in apart.items()},
        }


def dependent_table(n: int, m: int) -> Array:
    """Return smooth functions of time, correlated between neighbouring nodes, with noise."""
    rng = np.random.default_rng(3)
    t = np.arange(n)
    waves = np.empty((n, m))
    step = LENGTH / 3.0
    knots = rng.standard_normal((int(n / step) + 8, m))
    knots = knots + np.roll(knots, 1, axis=1)
    at = np.arange(len(knots)) * step - 3.0 * step
    for j in range(m):
        waves[:, j] = np.interp(t, at, knots[:, j])
    waves += 0.3 * rng.standard_normal((n, m))
    return waves


def dependent(n: int, m: int = 100) -> dict[str, float]:
    """KGL on dependent rows: the kernel over time by its factor, the table compressed."""
    Y = dependent_table(n, m)
    K_x = node_kernel(m)
    kernel = kgl.kernels.RBF(gamma=0.5 / LENGTH**2)
    few = np.arange(500.0)
    warm = kgl.compress(Y[:500], z=few, kernel_z=kernel)
    kgl.KGL(average_degree=EDGES_PER_NODE).fit(warm, K_x=K_x)
    before, begin = peak(), time.process_time()
    small = kgl.compress(Y, z=np.arange(float(n)), kernel_z=kernel)
    summed = time.process_time() - begin
    model = kgl.KGL(average_degree=EDGES_PER_NODE).fit(small, K_x=K_x)
    total = time.process_time() - begin
    assert small.kernel is not None
    return {
        "n": float(n),
        "m": float(m),
        "rank": float(len(small.kernel.values)),
        "trace_error": small.kernel.trace_error,
        "cpu_s": total,
        "cpu_s_compress": summed,
        "mb_above_imports": peak() - before,
        "mb": peak(),
        "edges": float(np.count_nonzero(model.weights_)) / 2.0,
        "kkt_residual": model.kkt_residual_,
    }


def _elsewhere(work: Callable[[], None]) -> None:
    """Do work in a process of its own."""
    import multiprocessing

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"writing the table failed (exit code {process.exitcode})")


#: Name of a task -> function that does it.
TASKS: dict[str, Callable[[], dict[str, float]]] = {
    "rows-10000": partial(independent, 10_000),
    "rows-100000": partial(independent, 100_000),
    "rows-1000000": partial(independent, 1_000_000),
    "rows-chunkings": partial(chunkings, 200_000),
    "dependent-10000": partial(dependent, 10_000),
    "dependent-30000": partial(dependent, 30_000),
    "dependent-100000": partial(dependent, 100_000),
}
