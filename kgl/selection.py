"""Choosing hyperparameters without ground truth (with it: :mod:`kgl.oracle`).

:func:`select_held_out` hides observed entries, picks the (lam, rho) that predict them best, and
sets psi, on which predictions hardly depend, by a target density or by the stability of edges.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from kgl._parallel import check_n_jobs, in_order
from kgl._progress import Progress, reporter
from kgl._types import Array
from kgl._validation import as_floats, check_option, is_number
from kgl.base import GraphLearner
from kgl.folds import choose_folds, cross_validate_grid, hold_out, loosened, masked_counterpart
from kgl.grid import (
    GridProblem,
    check_model,
    fit_grid,
    kernel_axes,
    kernel_choices,
    prepare_grid,
)
from kgl.preparation import Preparation
from kgl.rows import CompressedRows
from kgl.rows.folds import check_row_folds, row_fold_errors
from kgl.skewness import check_log
from kgl.solvers.grid import solve_grid

__all__ = [
    "HELD_OUT_GRID",
    "HeldOut",
    "hold_out",
    "select_held_out",
]

#: What held-out entries choose from where nothing is given, for data in units of their scales: from
#: a noise of a third of a per cent of the signals to one of a tenth; from a graph that hardly
#: matters to one that shapes the signals.
HELD_OUT_GRID: dict[str, Array] = {
    "lam": np.logspace(-5, -2, 4),
    "rho": 3.0 * np.logspace(-4, -1, 4),
}


@dataclass(frozen=True)
class HeldOut:
    """A choice made without ground truth.

    Attributes
    ----------
    estimator : GraphLearner
        Fitted to all data at the chosen hyperparameters.
    params : dict
        The chosen lam, rho and psi (those the model has).
    mse : array (N,)
        Mean squared error over the held-out entries, averaged over folds, at every grid point, in
        units of the nodes' scales: 1 is about the error of the node means where ``scale="node"``.
        Graphs of folds are those of values, also where the final one is that of logarithms.
    mse_se : array (N,)
        Its standard error over folds.
    grid_params : dict of arrays (N,)
        Hyperparameters of those points: lam and rho, with psi, or with the density that sets it in
        each fold.
    instability : array or None
        With ``graph="stability"``: disagreement of edges between folds for each psi.
    kernels : dict
        The chosen ``kernel_x`` and ``kernel_z``, where there was a choice; errors are those of
        these kernels.
    """

    estimator: GraphLearner
    params: dict[str, float]
    mse: Array
    mse_se: Array
    grid_params: dict[str, Array]
    instability: Array | None = None
    kernels: dict[str, Any] = field(default_factory=dict)


def _hide(Y: Any, held: np.ndarray) -> Any:
    """Return a copy of the data without the held-out entries, node names kept."""
    if hasattr(Y, "columns"):
        return Y.mask(held)
    return np.where(held, np.nan, as_floats(Y))


def select_held_out(
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
    graph: str = "density",
    density: float | None = None,
    average_degree: float | None = None,
    max_instability: float = 0.05,
    n_folds: int = 5,
    folds: str | Sequence[np.ndarray] = "auto",
    seed: int | np.random.Generator = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | bool | None = None,
    **options: Any,
) -> HeldOut:
    """Choose hyperparameters by predicting held-out entries of the data, then fit.

    Parameters
    ----------
    model, Y, K_x, K_z, x, z, lam, rho, **options
        As for :func:`kgl.fit_grid`, with lam and rho of :data:`HELD_OUT_GRID` by default;
        ``kernel_x`` and ``kernel_z`` may be lists of kernels to choose from. The model must predict
        entries that it leaves out of the fit: GL predicts nothing and GL2Step treats them as zero,
        so both are refused. Of compressed rows (:func:`kgl.compress`) whole rows are held out, and
        each of their entries is predicted from the others of its row.
    psi : sequence of float, optional
        Values to cross with the others. With ``graph="density"`` none are needed: the errors of
        (lam, rho) are then those of graphs with the wanted density. Where psi is given all the
        same, (lam, rho) are those of the least error over all its values, and only the final fit
        has the density.
    graph : {"density", "stability", "mse"}
        How psi is set: to reach ``density`` or ``average_degree``; once (lam, rho) are chosen, as
        the densest graph, not complete, before edges disagree between folds by more than
        ``max_instability`` on average (2 p (1 - p), with p the share of folds that have the
        edge), or where they disagree most if that is never too much; or by the error alone.
    density, average_degree : float, optional
        Share of pairs that are edges, or edges per node, with ``graph="density"``; a density of
        0.3 if neither is given.
    max_instability : float
        Tolerated disagreement, with ``graph="stability"``.
    n_folds : int
        Number of folds.
    folds : {"auto", "random", "blocks", "gaps"} or list of bool arrays (n, m)
        Which entries are held out in a fold: see :func:`kgl.folds.split`. Hide what you want to
        predict: single entries, or blocks where values are missing in blocks.
    seed : int or Generator
        Source of the split.
    n_jobs : int, optional
        Workers that share the folds, as for :func:`kgl.fit_grid`, with the same bytes for any
        number of them.
    progress : callable or bool, optional
        Called as ``progress(done, total)`` after each fold; True writes to standard error, and so
        does None (the default) on a terminal if the work is long.

    Returns
    -------
    HeldOut
    """
    check_option("graph", graph, ("density", "stability", "mse"))
    if not is_number(max_instability):
        raise TypeError(
            f"max_instability must be one number, got {max_instability!r}; pass a share of folds "
            "such as 0.05"
        )
    n_jobs = check_n_jobs(n_jobs)
    check_model(model)
    target: dict[str, Any] = {"density": density, "average_degree": average_degree}
    _check_held_out(model, graph, target, options)
    compressed = isinstance(Y, CompressedRows)
    if compressed:
        check_row_folds(Y, folds, n_folds)
    values = np.empty((0, len(Y.names))) if compressed else as_floats(Y)
    m = max([2, *values.shape[-1:]])  # tables with fewer are refused with the others below
    edges = model(**target)._target_edges(m)  # a bad target is refused before the work
    axes: dict[str, Any] = {"lam": lam, "rho": rho, "psi": psi, "density": None}
    for name in model._spec.hyperparameters:
        if axes[name] is None and name in HELD_OUT_GRID:
            axes[name] = HELD_OUT_GRID[name]
    if graph == "density" and psi is None:
        axes["density"] = edges / (m * (m - 1) / 2)
    side = {"K_x": K_x, "K_z": K_z, "x": x, "z": z}
    choices = kernel_choices(kernel_axes(model, options))
    # errors are those of values, also where the graph of the final fit is one of logarithms
    check_log(options.get("log", "auto"))
    plain = {**options, "log": False}
    problems = [prepare_grid(model, Y, side, axes, {**plain, **kernels}) for kernels in choices]
    held_out = [] if compressed else choose_folds(folds, values, n_folds, seed)
    n_folds = Y.n_folds if compressed else len(held_out)
    report = reporter(progress, "fold")
    if compressed:
        found = _row_errors(problems, Y, report)
    else:
        found = _all_errors(problems, values, held_out, n_jobs, report)
    which = int(np.argmin([np.mean(errors, axis=0).min() for errors in found]))
    problem, errors, options = problems[which], found[which], {**options, **choices[which]}
    mse = np.mean(errors, axis=0)
    best: dict[str, Any] = {
        name: float(values[int(np.argmin(mse))]) for name, values in problem.params.items()
    }
    _warn_at_end({n: v for n, v in problem.axes.items() if n in HELD_OUT_GRID}, best)
    instability = None
    if graph == "stability":
        trains = [_hide(Y, held) for held in held_out]
        if compressed:
            trains = [Y.without(fold) for fold in range(n_folds)]
        best["psi"], instability = _stable_psi(
            trains, model, side, problem, best, max_instability, n_jobs
        )
    elif graph == "density":
        best = {name: best[name] for name in ("lam", "rho")}
        options = {**options, **target}
    estimator = model(**best, **options).fit(Y, **side)
    return HeldOut(
        estimator,
        {**best, "psi": estimator.psi_},
        mse,
        np.std(errors, axis=0, ddof=1) / np.sqrt(n_folds),
        problem.params,
        instability,
        choices[which],
    )


def _counted(report: Progress | None, before: int, total: int) -> Progress | None:
    """Return a report that counts on from ``before``."""
    return None if report is None else lambda done, _: report(before + done, total)


def _row_errors(
    problems: Sequence[GridProblem], Y: CompressedRows, report: Progress | None
) -> list[Array]:
    """Return the errors of folds of rows at every point, for each problem, of compressed data."""
    found: list[Array] = []
    total = len(problems) * Y.n_folds
    for problem in problems:
        counted = _counted(report, len(found) * Y.n_folds, total)
        errors, residual = row_fold_errors(problem, Y, counted)
        problem.warn(residual, np.ones(1, dtype=bool), stacklevel=4)
        found.append(errors)
    return found


def _all_errors(
    problems: Sequence[GridProblem],
    values: Array,
    folds: list[np.ndarray],
    n_jobs: int | None,
    report: Progress | None,
) -> list[Array]:
    """Return the error of each fold at every point, for each problem; one warning for its folds."""
    parts = [(problem, held) for problem in problems for held in folds]
    errors: list[Array] = []
    residuals: list[Array] = []
    for error, residual in in_order(partial(_fold_errors, values), parts, n_jobs):
        errors.append(error)
        residuals.append(residual)
        if report is not None:
            report(len(errors), len(parts))
    found = []
    for k, problem in enumerate(problems):
        own = slice(k * len(folds), (k + 1) * len(folds))
        found.append(np.concatenate(errors[own]))
        # fits of folds are cut short on purpose
        problem.warn(np.concatenate(residuals[own]), np.ones(1, dtype=bool), stacklevel=4)
    return found


def _check_held_out(
    model: type[GraphLearner], graph: str, target: dict[str, Any], options: dict[str, Any]
) -> None:
    """Refuse models that held-out entries cannot tune, and targets that contradict ``graph``."""
    spec = model._spec
    counterpart = masked_counterpart(spec)
    if counterpart is None:
        raise ValueError(
            "GL predicts nothing, so held-out entries cannot choose its psi; "
            "give GL(density=...) a target density instead"
        )
    if counterpart is not spec:
        raise ValueError(
            f"{spec.name} treats held-out entries as zero, so their error is not one of "
            f"prediction; give {model.__name__}(density=...) a target density, or use KGLN without "
            "a kernel, its counterpart that leaves entries out"
        )
    given = [f"{name} = {value!r}" for name, value in target.items() if value is not None]
    if graph != "density" and given:
        raise ValueError(
            f"{given[0]} goes with graph='density', but graph = {graph!r} sets psi; leave one out"
        )
    if graph == "density" and options.get("regularizer") == "log-degree":
        raise ValueError(
            "regularizer='log-degree' needs psi, which no density determines; choose psi by "
            "graph='stability' or graph='mse'"
        )


def _fold_errors(values: Array, part: tuple[GridProblem, np.ndarray]) -> tuple[Array, Array]:
    """Return the error of one fold at every point, and the residuals of its graphs."""
    problem, held = part
    ready, estimator = problem.ready, problem.estimator
    options = loosened(replace(ready.options, signals=True))
    residual = []
    units = ready.preparation.scale

    def predict(train: Array) -> Iterator[tuple[np.ndarray, Array | None]]:
        mask = ~np.isnan(train)
        # means and scales of the training entries alone: others would tell of those held out
        own = Preparation.fit(train, mask, estimator.center, estimator.scale)
        data = replace(ready.data, Y=own.apply(np.where(mask, train, 0.0), mask), mask=mask)
        # points whose density is out of reach matter only if they are chosen: no warning here
        for chunk in solve_grid(data, ready.spec, problem.params, options, refit=False):
            residual.append(chunk.batch.residual)
            signals = chunk.batch.signals
            yield chunk.where, None if signals is None else own.undo(signals)

    errors = cross_validate_grid(values / units, [held], predict, problem.n_points)
    return errors, np.concatenate(residual)


def _warn_at_end(axes: dict[str, Array], best: dict[str, Any]) -> None:
    for name, values in axes.items():
        axis = np.sort(values)
        if len(axis) > 2 and best[name] in (axis[0], axis[-1]):
            warnings.warn(
                f"the error is least at the end of the grid, {name} = {best[name]:g}; extend the "
                f"values of {name} beyond it",
                UserWarning,
                stacklevel=3,
            )


def _stable_psi(
    trains: list[Any],
    model: type[GraphLearner],
    side: dict[str, Any],
    problem: GridProblem,
    best: dict[str, Any],
    max_instability: float,
    n_jobs: int | None,
) -> tuple[float, Array]:
    """Return the psi whose edges are stable between folds, and the instability of every psi."""
    psi = problem.axes["psi"]
    fixed: dict[str, Any] = {name: [best[name]] for name in problem.axes if name != "psi"}
    # edges are counted, which takes a solver whose zeros are zeros, whatever the fit uses
    exact = {**problem.options, "solver": "newton", "backend": None}
    edge_sets, complete = [], np.zeros(len(psi), dtype=bool)
    for train in trains:
        path = fit_grid(model, train, **side, **fixed, psi=psi, n_jobs=n_jobs, **exact)
        assert path.weights is not None and path.scores is not None
        edge_sets.append(path.weights > 0)
        complete |= (edge_sets[-1] | np.isneginf(path.scores)).all(axis=1)
    share = np.mean(edge_sets, axis=0)
    instability = 2.0 * np.mean(share * (1.0 - share), axis=1)
    return _densest_stable(psi, instability, complete, max_instability), instability


def _densest_stable(
    psi: Array, instability: Array, complete: np.ndarray, max_instability: float
) -> float:
    """Return the psi of the densest graph whose edges can be trusted, as in StARS.

    Dense graphs agree because they have no choice: the complete graph is perfectly stable. So walk
    from sparse to dense over graphs that are not complete in any fold, and stop before edges
    first disagree too much; where they never do, stop where they disagree most.
    """
    order = np.argsort(psi)
    walk = order[~complete[order]]
    if not len(walk):
        reason, remedy = "is complete in some fold", ""
    elif instability[walk[0]] > max_instability:
        reason = f"disagrees between folds by more than max_instability = {max_instability:g}"
        remedy = " or raise max_instability"
    else:
        path = instability[walk]
        trouble = np.flatnonzero(path > max_instability)
        last = trouble[0] - 1 if len(trouble) else np.flatnonzero(path == path.max())[-1]
        return float(psi[walk[last]])
    sparsest = float(psi[walk[0] if len(walk) else order[0]])
    warnings.warn(
        f"no psi of the grid is stable: even the sparsest graph {reason}; psi = {sparsest:g} is "
        f"taken; extend the grid to smaller psi{remedy}",
        stacklevel=4,
    )
    return sparsest
