"""Whole grids of hyperparameters, in chunks of bounded memory; psi or a density is an axis.

It underlies :func:`kgl.fit_grid`, :func:`kgl.select_held_out` and the fits of the replication, and
it needs no scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgl._types import Array
from kgl._validation import check_observations
from kgl.kernels import kernel_eigen
from kgl.problem import ModelSpec
from kgl.solvers.alternating import Batch, Options, solve_points
from kgl.solvers.density import PATIENCE, fit_edges, n_edges
from kgl.solvers.signal_step import SignalData, make_signal_step

__all__ = [
    "Chunk", "Piece", "gather", "grid_pieces", "join", "signal_data", "solve_grid", "solve_piece",
]  # fmt: skip

#: Doubles per chunk (256 MB): it bounds memory for any grid. The larger a chunk, the less
#: NumPy's overhead per call weighs.
CHUNK_FLOATS = 32_000_000


#: The points of a chunk, and the number of edges that their density asks for.
Piece = tuple[np.ndarray, int | None]


@dataclass(frozen=True)
class Chunk:
    """Grid points that were solved together.

    Attributes
    ----------
    where : array of int (G,)
        Their positions in the grid.
    batch : Batch
        Their solutions.
    gap : array of int (G,)
        By how many edges each misses the number that its density asks for.
    """

    where: np.ndarray
    batch: Batch
    gap: np.ndarray


def signal_data(
    Y: Array,
    spec: ModelSpec,
    K_x: Array | None = None,
    K_z: Array | None = None,
    *,
    pairwise: bool = False,
) -> SignalData:
    """Check one data set and decompose its kernels, for models that are fitted to plain arrays.

    Nodes without any observed entry are allowed: a kernel over the nodes may inform on them. A
    model that does not mask missing entries (NaN) treats them as zero; with ``pairwise`` GL takes
    each distance over the rows that both nodes have. Kernels that the model lacks are not used.
    """
    values, mask = check_observations(Y, empty_nodes=True)
    n, m = values.shape
    return SignalData(
        values,
        mask if spec.masked or (pairwise and not spec.fitted) else None,
        kernel_eigen(K_x if spec.node_kernel else None, "K_x", m),
        kernel_eigen(K_z if spec.observation_kernel else None, "K_z", n),
    )


def solve_grid(
    data: SignalData,
    spec: ModelSpec,
    points: Mapping[str, Array],
    options: Options,
    *,
    chunk_size: int | None = None,
    max_fits: int | None = None,
    patience: int = PATIENCE,
    refit: bool = True,
) -> Iterator[Chunk]:
    """Solve one model on one data set at every point of a grid.

    Parameters
    ----------
    data, spec, options
        As for :func:`kgl.solvers.alternating.solve_points`.
    points : mapping of str to array (N,)
        The hyperparameters that the model has: ``lam``, ``rho``, and ``psi`` or the ``density``
        that psi is found for.
    chunk_size : int, optional
        Points solved together; chosen to bound memory if not given.
    max_fits, patience : int, optional
        Fits at most that look for a density, and those after which a near one will do; see
        :func:`kgl.solvers.density.fit_edges`.
    refit : bool
        Whether the graph of a density is that of a fit at the psi that was found. Without it, it is
        the graph of the alternation that finds psi: enough to compare predictions.

    Yields
    ------
    Chunk
    """
    for piece in grid_pieces(data, spec, points, options, chunk_size):
        yield solve_piece(
            data, spec, points, options, piece, max_fits=max_fits, patience=patience, refit=refit
        )


def grid_pieces(
    data: SignalData,
    spec: ModelSpec,
    points: Mapping[str, Array],
    options: Options,
    chunk_size: int | None = None,
) -> Iterator[Piece]:
    """Yield the points of each chunk, with the number of edges that their density asks for."""
    n_points = len(next(iter(points.values())))
    for group, target in _groups(points, n_points, data.Y.shape[1]):
        aimed = replace(options, target_edges=target)
        size = _chunk_size(data, spec, aimed) if chunk_size is None else chunk_size
        for begin in range(0, len(group), size):
            yield group[begin : begin + size], target


def solve_piece(
    data: SignalData,
    spec: ModelSpec,
    points: Mapping[str, Array],
    options: Options,
    piece: Piece,
    *,
    max_fits: int | None = None,
    patience: int = PATIENCE,
    refit: bool = True,
) -> Chunk:
    """Solve one chunk of a grid; it needs none of the others. See :func:`solve_grid`."""
    where, target = piece
    zero = np.zeros(len(next(iter(points.values()))))
    lam, rho, psi = (
        points.get(name, other)[where]
        for name, other in (("lam", zero), ("rho", zero + 1.0), ("psi", zero))
    )
    part = _some(replace(options, target_edges=target), where)
    if target is None or not refit:
        return Chunk(where, solve_points(data, spec, lam, rho, psi, part), np.zeros_like(where))
    batch, gap = fit_edges(data, spec, lam, rho, part, max_fits=max_fits, patience=patience)
    return Chunk(where, batch, gap)


def _groups(
    points: Mapping[str, Array], n_points: int, m: int
) -> Iterator[tuple[np.ndarray, int | None]]:
    """Yield the points of each density with their number of edges, or all points."""
    if "density" not in points:
        yield np.arange(n_points), None
        return
    for density in np.unique(points["density"]):
        yield np.flatnonzero(points["density"] == density), n_edges(density, m)


def _chunk_size(data: SignalData, spec: ModelSpec, options: Options) -> int:
    m = data.Y.shape[1]
    per_point = 10 * m * m
    if spec.fitted:
        per_point += make_signal_step(data, spec).floats_per_point
    if options.signals:
        per_point += 2 * data.Y.size
    return max(1, CHUNK_FLOATS // per_point)


def _some(options: Options, where: np.ndarray) -> Options:
    """Return the options of some of the points."""
    if options.init is None or options.init.ndim == 2:
        return options
    return replace(options, init=options.init[where])


def gather(parts: Sequence[tuple[np.ndarray, Any]]) -> Any:
    """Put arrays of chunks, given with the positions of their points, in the order of the grid."""
    if len(parts) == 1 or parts[0][1] is None:
        return parts[0][1]
    n_points = sum(len(where) for where, _ in parts)
    out = np.empty((n_points, *parts[0][1].shape[1:]), dtype=parts[0][1].dtype)
    for where, values in parts:
        out[where] = values
    return out


def join(chunks: Sequence[Chunk]) -> Batch:
    """Return the solutions of all points, in the order of the grid."""

    def all_of(name: str) -> Any:
        values = gather([(chunk.where, getattr(chunk.batch, name)) for chunk in chunks])
        # one layout, however many chunks: sums over the points then round alike
        return None if values is None else np.ascontiguousarray(values)

    history: list[Array] | None = None
    if chunks[0].batch.history is not None:
        found = {
            k: rows
            for chunk in chunks
            for k, rows in zip(chunk.where.tolist(), chunk.batch.history or (), strict=True)
        }
        history = [found[k] for k in range(len(found))]
    names = ("weights", "scores", "residual", "n_iter", "converged", "psi", "signals", "signs")
    inner = sum(chunk.batch.inner_iterations for chunk in chunks)
    return Batch(**{name: all_of(name) for name in names}, history=history, inner_iterations=inner)
