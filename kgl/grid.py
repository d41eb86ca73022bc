"""Whole grids of hyperparameters in one batched call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kgl._parallel import check_n_jobs, in_order
from kgl._progress import reporter
from kgl._types import Array
from kgl._validation import check_flag, check_fraction, check_hyperparameter
from kgl.base import GraphLearner
from kgl.grid_result import KERNEL_AXES, GridResult
from kgl.laplacian import edges_from_adjacency
from kgl.prediction import Prepared
from kgl.solvers.alternating import Options, fit_signals
from kgl.solvers.density import n_edges, short_patience, warn_if_missed
from kgl.solvers.graph_step import warn_if_inexact
from kgl.solvers.grid import Chunk, Piece, gather, grid_pieces, solve_piece

__all__ = ["DEFAULT_GRID", "GridResult", "fit_grid"]

#: A grid that covers the paper's range: from a fit that follows the noise to one that is zero,
#: and from a graph of one edge to the complete graph.
DEFAULT_GRID: dict[str, Array] = {
    "lam": np.logspace(-3, 3, 7),
    "rho": np.logspace(-4, 2, 7),
    "psi": np.logspace(-7, 2, 10),
}


def fit_grid(
    model: type[GraphLearner],
    Y: Any,
    *,
    K_x: Any = None,
    K_z: Any = None,
    x: Any = None,
    z: Any = None,
    lam: Sequence[float] | Array | None = None,
    rho: Sequence[float] | Array | None = None,
    psi: Sequence[float] | Array | None = None,
    density: float | Sequence[float] | Array | None = None,
    signals: bool = False,
    objective: bool = False,
    evaluate: Callable[[GridResult], Mapping[str, Array]] | None = None,
    keep: bool = True,
    chunk_size: int | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
    **options: Any,
) -> GridResult:
    """Fit one model to one data set at every point of a grid of hyperparameters.

    The result of each point is that of a single fit; the work is shared: kernels are decomposed
    once, and all points are solved together as arrays.

    Parameters
    ----------
    model : type
        One of the estimator classes, e.g. ``kgl.KGL``.
    Y, K_x, K_z, x, z
        As for ``fit``.
    lam, rho, psi : sequence of float, optional
        Values to cross. Those the model has and that are not given are taken from
        :data:`DEFAULT_GRID`; one that the model lacks is an error.
    density : float or sequence of float, optional
        Shares of pairs that are edges, as an axis in place of psi. Each point is the fit of an
        estimator with that ``density``; the psi found are in ``params["psi"]``.
    signals : bool
        Whether to work out the fitted signals of every point.
    objective : bool
        Whether to work out the objective of every point.
    evaluate : callable, optional
        Called with the :class:`GridResult` of each chunk; returns arrays of metrics, one number
        per point, collected in ``metrics``.
    keep : bool
        Whether to keep weights, scores and signals. With False only ``metrics`` and diagnostics
        are kept, so that memory stays bounded for any grid.
    chunk_size : int, optional
        Points solved together; chosen to bound memory if not given.
    n_jobs : int, optional
        Workers that share the chunks, through joblib: -1 is one per core; None is none, unless
        ``joblib.parallel_config`` names a backend (Dask or Ray, say) around the call. A small
        grid is one chunk, so give a ``chunk_size`` too. Each worker has one BLAS thread; results
        are the same to the byte for any number of workers. ``evaluate`` runs in the workers.
    progress : callable or bool, optional
        Called as ``progress(done, total)`` after each chunk; True writes to standard error, and so
        does None (the default) on a terminal if the work is long.
    **options
        Other parameters of the estimator. ``kernel_x`` and ``kernel_z`` may be lists of kernels,
        which are then axes too, before the others.

    Returns
    -------
    GridResult

    Examples
    --------
    >>> import numpy as np, kgl
    >>> Y = np.random.default_rng(0).normal(size=(30, 5))
    >>> grid = kgl.fit_grid(kgl.GL2Step, Y, rho=[0.1, 1.0], psi=[1.0, 10.0, 100.0])
    >>> grid.shape, grid.weights.shape
    ((2, 3), (6, 10))
    >>> grid = kgl.fit_grid(kgl.GL2Step, Y, rho=[0.1, 1.0], density=0.4)
    >>> np.count_nonzero(grid.weights, axis=1), grid.params["psi"].shape
    (array([4, 4]), (2,))
    """
    if chunk_size is not None and not (isinstance(chunk_size, Integral) and chunk_size >= 1):
        raise ValueError(
            f"chunk_size = {chunk_size!r} must be at least 1, or None; give a whole number"
        )
    n_jobs = check_n_jobs(n_jobs)
    for name, flag in (("signals", signals), ("objective", objective), ("keep", keep)):
        check_flag(name, flag)
    given = {"lam": lam, "rho": rho, "psi": psi, "density": density}
    side = {"K_x": K_x, "K_z": K_z, "x": x, "z": z}
    kernels = kernel_axes(model, options)
    problems = [
        prepare_grid(model, Y, side, given, {**options, **chosen})
        for chosen in kernel_choices(kernels)
    ]
    problem, each = problems[0], problems[0].n_points
    if signals and problem.ready.n_rows is not None:
        raise ValueError(
            "signals=True needs the rows, but Y are sums over rows; leave it out, and take the "
            "signals of one fit from kgl.compress(...).signals(model, data)"
        )
    solver_options = replace(problem.ready.options, signals=signals, history=objective)
    report = reporter(progress, "grid point")
    done: list[tuple[np.ndarray, GridResult]] = []
    gaps: list[tuple[np.ndarray, np.ndarray]] = []
    parts = _parts(problems, kernels, solver_options, chunk_size)
    for where, gap, part in in_order(partial(_solved, evaluate=evaluate, keep=keep), parts, n_jobs):
        done.append((where, part))
        gaps.append((where, gap))
        if report is not None:
            report(sum(len(where) for where, _ in done), len(problems) * each)
    result = _gathered(done)
    if density is not None:
        m = len(problem.ready.names)
        target = np.array([n_edges(value, m) for value in problem.params["density"]])
        warn_if_missed(gather(gaps), np.tile(target, len(problems)), solver_options, m)
    problem.warn(result.residual, result.converged)
    return result


def kernel_axes(model: type[GraphLearner], options: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the lists of kernels among the options."""
    lists = {
        name: list(options[name])
        for name in KERNEL_AXES
        if isinstance(options.get(name), list | tuple)
    }
    for name, kernels in lists.items():
        used = model._spec.node_kernel if name == "kernel_x" else model._spec.observation_kernel
        if not used:
            raise ValueError(f"{model._spec.name} has no {name}; leave it out, or use kgl.KGL")
        if not kernels:
            raise ValueError(f"{name} is an empty list; give at least one kernel")
    return lists


def kernel_choices(kernels: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Cross lists of kernels, the last varying fastest."""
    return [dict(zip(kernels, chosen, strict=True)) for chosen in product(*kernels.values())]


@dataclass(frozen=True)
class _Part:
    """A chunk of a grid, with all that a worker needs to solve it."""

    first: int
    problem: GridProblem
    piece: Piece
    kernels: Mapping[str, list[Any]]
    options: Options


def _parts(
    problems: Sequence[GridProblem],
    kernels: Mapping[str, list[Any]],
    options: Options,
    chunk_size: int | None,
) -> list[_Part]:
    """Return the chunks of all problems."""
    return [
        _Part(k * problem.n_points, problem, piece, kernels, options)
        for k, problem in enumerate(problems)
        for piece in grid_pieces(
            problem.ready.data, problem.ready.spec, problem.params, options, chunk_size
        )
    ]


def _solved(
    work: _Part, *, evaluate: Callable[[GridResult], Mapping[str, Array]] | None, keep: bool
) -> tuple[np.ndarray, np.ndarray, GridResult]:
    """Return the positions of a chunk in the whole grid, its misses of the density, its results."""
    problem, kernels, ready = work.problem, work.kernels, work.problem.ready
    chunk = solve_piece(
        ready.data,
        ready.spec,
        problem.params,
        work.options,
        work.piece,
        patience=short_patience(len(ready.names)),
    )
    part = _as_result(problem, chunk)
    part.axes = {**{name: _objects(values) for name, values in kernels.items()}, **part.axes}
    own = {name: problem.options[name] for name in kernels}
    part.params = {
        **{name: _objects([kernel] * len(part)) for name, kernel in own.items()},
        **part.params,
    }
    part.options = {n: v for n, v in problem.options.items() if n not in kernels}
    if evaluate is not None:
        part.metrics = _evaluated(evaluate, part)
    if not keep:
        part.weights = part.scores = part.signals = part.signs = None
    return work.first + chunk.where, chunk.gap, part


def _objects(values: Sequence[Any]) -> np.ndarray:
    """Return an array of objects, whatever they are."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


@dataclass(frozen=True)
class GridProblem:
    """One data set and model with a grid, checked and ready for the solvers."""

    estimator: GraphLearner
    ready: Prepared
    axes: dict[str, Array]
    params: dict[str, Array]
    options: dict[str, Any]
    values: Prepared

    @property
    def n_points(self) -> int:
        """Number of points of the grid."""
        return len(next(iter(self.params.values())))

    def signals(self, chunk: Chunk) -> Array:
        """Return the signals of solved points in the units of the data."""
        signals = chunk.batch.signals
        assert signals is not None
        if self.values is not self.ready:
            one = np.ones(self.n_points)
            lam, rho = (self.params.get(name, one)[chunk.where] for name in ("lam", "rho"))
            data, spec = self.values.data, self.ready.spec
            signals = fit_signals(data, spec, lam, rho, chunk.batch, self.ready.options)
        return self.values.preparation.undo(signals)

    def warn(self, residual: Array, converged: np.ndarray, stacklevel: int = 3) -> None:
        """Warn where a graph is inexact or the alternation was cut short."""
        solver = self.estimator.solver
        warn_if_inexact(float(residual.max()), stacklevel=stacklevel + 1, solver=solver)
        left = int(np.count_nonzero(~converged))
        if left:
            warnings.warn(
                f"{left} of {converged.size} grid points did not converge in max_iter = "
                f"{self.estimator.max_iter} outer iterations (see converged); raise max_iter",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )


def prepare_grid(
    model: type[GraphLearner],
    Y: Any,
    side: Mapping[str, Any],
    given: Mapping[str, Any],
    options: dict[str, Any],
) -> GridProblem:
    """Check a model, its data and the axes of its grid before any work starts."""
    check_model(model)
    if options.get("average_degree") is not None:
        raise ValueError(
            f"average_degree = {options['average_degree']!r} sets psi, which is an axis of the "
            "grid; leave it out, or give density = average_degree / (nodes - 1)"
        )
    axes = _axes(model, given)
    estimator = model(**options)
    ready = estimator._prepare(Y, **side)
    if "density" in axes:
        estimator._check_density_sets_psi()
    mesh = np.meshgrid(*axes.values(), indexing="ij")
    params = {name: values.reshape(-1) for name, values in zip(axes, mesh, strict=True)}
    return GridProblem(estimator, ready, axes, params, options, estimator._values(ready, Y, **side))


def _as_result(problem: GridProblem, chunk: Chunk) -> GridResult:
    batch, params = chunk.batch, problem.params
    parts, signals = None, batch.signals
    if signals is not None:
        signals = problem.signals(chunk)
    if batch.history is not None:
        parts = np.array([rows[-1] for rows in batch.history])
    return GridResult(
        model=type(problem.estimator),
        params={name: values[chunk.where] for name, values in params.items()} | {"psi": batch.psi},
        axes=problem.axes,
        weights=edges_from_adjacency(batch.weights),
        scores=edges_from_adjacency(batch.scores),
        signs=None if batch.signs is None else edges_from_adjacency(batch.signs),
        n_iter=batch.n_iter,
        converged=batch.converged,
        residual=batch.residual,
        signals=signals,
        objective_parts=parts,
        node_names=problem.ready.names,
        options=problem.options,
    )


def _evaluated(
    evaluate: Callable[[GridResult], Mapping[str, Array]], chunk: GridResult
) -> dict[str, Array]:
    metrics = {k: np.asarray(v) for k, v in evaluate(chunk).items()}
    for name, metric in metrics.items():
        if metric.shape[:1] != (len(chunk),):
            raise ValueError(
                f"evaluate returned {name!r} of shape {metric.shape} for {len(chunk)} "
                "points; return one value per point"
            )
    return metrics


def check_model(model: Any) -> None:
    """Refuse what is not an estimator class."""
    if not (isinstance(model, type) and issubclass(model, GraphLearner)):
        raise TypeError(f"model must be an estimator class such as kgl.KGL, got {model!r}")


def _axes(model: type[GraphLearner], given: Mapping[str, Any]) -> dict[str, Array]:
    """Return the values to cross: those given, or the default ones of the model."""
    names = model._spec.hyperparameters
    if given["density"] is not None:
        if given["psi"] is not None:
            raise ValueError(
                f"psi = {given['psi']!r} and density = {given['density']!r} were both given; a "
                "density sets psi, so give one of them"
            )
        names = tuple("density" if name == "psi" else name for name in names)
    axes = {}
    for name, values in given.items():
        if name in names:
            axes[name] = _axis(name, DEFAULT_GRID[name] if values is None else values)
        elif values is not None:
            raise ValueError(
                f"{model._spec.name} has no {name}; its hyperparameters are "
                f"{', '.join(model._spec.hyperparameters)}"
            )
    return axes


def _axis(name: str, values: Any) -> Array:
    check = check_fraction if name == "density" else check_hyperparameter
    values = np.atleast_1d(values)
    if not len(values):
        raise ValueError(f"the grid of {name} is empty; give at least one value")
    return np.array([check(name, value) for value in values])


def _gathered(chunks: list[tuple[np.ndarray, GridResult]]) -> GridResult:
    """Put the chunks of a grid together, in the order of its points."""
    first = chunks[0][1]

    def all_of(*path: str) -> Any:
        def read(chunk: GridResult) -> Any:
            value = getattr(chunk, path[0])
            return value[path[1]] if len(path) > 1 else value

        return gather([(where, read(chunk)) for where, chunk in chunks])

    arrays = (
        "weights", "scores", "signs", "n_iter", "converged", "residual", "signals",
        "objective_parts",
    )  # fmt: skip
    return replace(
        first,
        params={name: all_of("params", name) for name in first.params},
        metrics={name: all_of("metrics", name) for name in first.metrics},
        **{name: all_of(name) for name in arrays},
    )
