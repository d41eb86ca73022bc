"""One cell: one model on all replicates of one dataset, at every point of its grid.

A model is a row of :data:`kgl.problem.MODELS`, whose grid is solved as one batch; or any function
``f(Y, *, K_x, K_z, **point)`` that returns the weights ``W`` (m, m), or ``(W, signals)`` if it also
fits signals (n, m); or a subclass of :class:`kgl.base.GraphLearner`. The ground truth is used to
score every point, never to fit one.

Models of the table go to :func:`kgl.solvers.grid.solve_grid`, which is what :func:`kgl.fit_grid`
calls: the estimators load scikit-learn, which takes longer than many cells take to fit.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from experiments.datasets.centring import means
from experiments.lookup import ConfigError, resolve
from experiments.metrics import Fits, compute
from kgl._types import Array
from kgl._validation import check_hyperparameter
from kgl.folds import (
    COUNTERPART_LAM,
    cross_validate_grid,
    hold_out,
    loosened,
    masked_counterpart,
)
from kgl.laplacian import edges_from_adjacency
from kgl.problem import MODELS, ModelSpec
from kgl.seeding import stream
from kgl.solvers.alternating import Options
from kgl.solvers.grid import join, signal_data, solve_grid
from kgl.solvers.routes import graph_solver

__all__ = ["fit_cell", "grid_points"]

#: Fits at most that look for a density, besides the first.
_MAX_FITS = 3

Report = Callable[[str], None]

_ORDER = {"lam": 0, "rho": 1, "psi": 2, "density": 2}
_SHOWN = (("aps_weights", "APS", np.max), ("sse", "SSE", np.min), ("nmi", "NMI", np.max))
_OPTIONS = ("tol", "max_iter", "inner_tol", "final_tol", "regularizer", "barrier")


@dataclass
class _Cell:
    """One model on one data set: what a fit needs besides the observations.

    ``kernels`` are those of the data (``K_x``, ``K_z``); ``spec`` is that of :func:`fit_cell`.
    """

    model: Any
    kernels: dict[str, Array | None]
    points: dict[str, Array]
    spec: Mapping[str, Any]

    @property
    def n_points(self) -> int:
        """A model without hyperparameters has one point and no axis."""
        return len(next(iter(self.points.values()))) if self.points else 1


@dataclass
class _Solution:
    weights: Array
    scores: Array
    signals: Array | None
    n_iter: Array
    converged: Array
    kkt_residual: Array
    psi: Array | None = None
    objectives: list[Array] | None = None


def grid_points(grid: Mapping[str, list[float]]) -> dict[str, Array]:
    """Cross the axes of a grid, the last varying fastest.

    Examples
    --------
    >>> grid_points({"rho": [1.0, 2.0], "psi": [3.0, 4.0]})["psi"]
    array([3., 4., 3., 4.])

    A model without hyperparameters has one point and no axis.
    """
    points = np.array(list(product(*grid.values())), dtype=float)
    return {name: points[:, k].copy() for k, name in enumerate(grid)}


def fit_cell(
    data: Mapping[str, Array], spec: Mapping[str, Any], report: Report = lambda _: None
) -> dict[str, Array]:
    """Fit one model to all replicates of a dataset.

    Parameters
    ----------
    data : dict of arrays
        From :func:`experiments.datasets.synthetic.build`, replicates along the first axis.
    spec : dict
        ``estimator``, ``grid``, ``options``, ``fit`` (the protocol) and ``keep``; a density to
        ``cut`` learned graphs to, their heaviest edges being kept; a number of ``decimals`` that
        weights are rounded to; and, for cross-validation, ``held_out``: a number of ``folds``, and
        the ``density`` of the graphs that are compared where densities set psi.
    report : callable
        Receives a line of progress per replicate.

    Returns
    -------
    dict of arrays
        ``grid.<name>`` (N,) for each hyperparameter; as (R, N) the metrics of the registry that
        are defined for the data and need nothing that ``keep`` does not name, and ``psi`` where
        the grid has densities instead; and, where ``keep`` names them, ``weights`` (R, N, E) and
        ``signals`` (R, N, n, m).
    """
    model = _find(spec["estimator"])
    # the order of kgl.fit_grid, whatever the order in the file
    names = sorted(spec["grid"], key=lambda name: _ORDER.get(name, len(_ORDER)))
    points = grid_points({name: spec["grid"][name] for name in names})
    cell, replicates = _Cell(model, {}, points, spec), len(data["Y"])
    report(f"{spec['estimator']}: {cell.n_points} grid points, {replicates} replicates")
    rows: list[dict[str, Array]] = []
    begin = time.perf_counter()
    for r in range(replicates):
        known = {name: values[r] for name, values in data.items()}
        cell = replace(cell, kernels={name: known.get(name) for name in ("K_x", "K_z")})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows.append(_fit_replicate(cell, known, r))
        for message in dict.fromkeys(str(w.message) for w in caught):
            report(f"  warning: {message}")
        left = (time.perf_counter() - begin) / (r + 1) * (replicates - r - 1)
        report(f"replicate {r + 1}/{replicates}: {_summary(rows[-1])}; about {left:.0f} s left")
    return {f"grid.{name}": values for name, values in points.items()} | {
        name: np.stack([row[name] for row in rows]) for name in rows[0]
    }


def _summary(row: Mapping[str, Array]) -> str:
    best = ", ".join(
        f"best {label} {pick(row[name]):.3f}" for name, label, pick in _SHOWN if name in row
    )
    unfinished = int((row["converged"] == 0).sum())
    return best + (f", {unfinished} points not converged" if unfinished else "")


def _find(name: str) -> Any:
    """Return the model of a name: a row of the table, or what a dotted path leads to."""
    if "." in name:
        return resolve(name, what="model.estimator")
    if name not in MODELS:
        raise ConfigError(
            f"model.estimator = {name!r} is none of the models {', '.join(MODELS)}; name one, or "
            "give the dotted path of a function such as experiments.my_models.fit"
        )
    return MODELS[name]


def _fit_replicate(
    cell: _Cell, ground_truth: Mapping[str, Array], replicate: int
) -> dict[str, Array]:
    spec, keep = cell.spec, cell.spec["keep"]
    begin = time.process_time()  # other work on the machine counts little
    found = _fit(cell, ground_truth["Y"])
    elapsed = time.process_time() - begin
    weights = found.weights
    if "cut" in spec:
        weights = _heaviest(weights, spec["cut"])
    if "decimals" in spec:
        weights = np.round(weights, spec["decimals"])
    fits = Fits(
        weights,
        found.scores,
        found.signals,
        found.n_iter,
        found.converged,
        found.kkt_residual,
        ground_truth,
        replicate,
        found.objectives,
        _cv_error(cell, ground_truth, replicate) if "held_out" in spec else None,
        elapsed / max(1, int(found.n_iter.max())),
    )
    row = compute(fits, keep)
    optional = {"weights": weights, "signals": found.signals}
    row |= {name: a for name, a in optional.items() if name in keep and a is not None}
    return row if found.psi is None else {**row, "psi": found.psi}


def _heaviest(weights: Array, density: float) -> Array:
    """Keep the heaviest edges of each graph (N, E), with the total weight they all had."""
    least = np.sort(weights, axis=1)[:, -max(1, round(density * weights.shape[1]))]
    kept = np.where(weights >= least[:, None], weights, 0.0)
    return np.asarray(kept * (weights.sum(axis=1) / kept.sum(axis=1))[:, None])


def _cv_error(cell: _Cell, ground_truth: Mapping[str, Array], replicate: int) -> Array:
    """Return the error of observed entries that were left out of the fit, averaged over folds.

    NaN throughout where the model predicts nothing, and at densities other than the one at which
    points are compared.
    """
    settings, model, points = cell.spec["held_out"], cell.model, cell.points
    compared = np.ones(cell.n_points, dtype=bool)
    error = np.full(cell.n_points, np.nan)
    if isinstance(model, ModelSpec):
        counterpart = masked_counterpart(model)
        if counterpart is None:
            return error
        if counterpart is not model:
            model, points = counterpart, {"lam": np.full(cell.n_points, COUNTERPART_LAM), **points}
        if settings["density"] in points.get("density", ()):
            compared = points["density"] == settings["density"]
    inside = {name: values[compared] for name, values in points.items()}
    tuned = _Cell(model, cell.kernels, inside, cell.spec)
    raw = ground_truth.get("raw", ground_truth["Y"])
    how = str(ground_truth["centre"]) if "centre" in ground_truth else "none"
    # the same folds for every model
    rng = stream(0, "held-out", replicate)
    errors = cross_validate_grid(
        raw,
        hold_out(~np.isnan(raw), settings["folds"], rng, empty_nodes=True),
        lambda train: _predictions(tuned, train),
        tuned.n_points,
        offset=lambda train: means(train, how),
    )
    error[compared] = np.mean(errors, axis=0)
    return error


def _predictions(cell: _Cell, train: Array) -> Iterator[tuple[np.ndarray, Array | None]]:
    """Yield positions of grid points and the signals that were fitted to the training data."""
    if not isinstance(cell.model, ModelSpec):
        yield np.arange(cell.n_points), _fit(cell, train).signals
        return
    options, pairwise = _solver_options(cell, len(train))
    data = signal_data(train, cell.model, **cell.kernels, pairwise=pairwise)
    for chunk in solve_grid(data, cell.model, cell.points, loosened(options), refit=False):
        yield chunk.where, chunk.batch.signals


def _fit(cell: _Cell, Y: Array) -> _Solution:
    if isinstance(cell.model, ModelSpec):
        return _fit_spec(cell, Y)
    if isinstance(cell.model, type):
        return _fit_class(cell, Y)
    return _fit_function(cell, Y)


def _fit_spec(cell: _Cell, Y: Array) -> _Solution:
    """Fit a model of the table."""
    model = cell.model
    sparsity = "density" if "density" in cell.points else "psi"
    _check_axes(cell.spec, [sparsity if name == "psi" else name for name in model.hyperparameters])
    for name, values in cell.points.items():
        for value in np.unique(values):
            check_hyperparameter(name, value)
    options, pairwise = _solver_options(cell, len(Y), history="rise" in cell.spec["keep"])
    data = signal_data(Y, model, **cell.kernels, pairwise=pairwise)
    batch = join(list(solve_grid(data, model, cell.points, options, max_fits=_MAX_FITS)))
    history = batch.history
    return _Solution(
        edges_from_adjacency(batch.weights),
        edges_from_adjacency(batch.scores),
        batch.signals if model.fitted else None,
        batch.n_iter,
        batch.converged,
        batch.residual,
        batch.psi if sparsity == "density" else None,
        None if history is None else [parts.sum(axis=1) for parts in history],
    )


def _solver_options(cell: _Cell, n: int, *, history: bool = False) -> tuple[Options, bool]:
    """Return the options of the solvers, and whether GL takes distances over shared rows."""
    options = {**cell.spec["fit"], **cell.spec["options"]}
    pairwise = options.pop("missing", "zero") == "pairwise"
    own = options.pop("backend_settings", "tight") == "own"
    route = graph_solver(options.pop("solver"), options.pop("backend"), own_settings=own)
    scale = 1.0 / n if options.pop("average") else 1.0
    for name in options:
        if name not in _OPTIONS:
            listed = ", ".join((*_OPTIONS, "average", "solver", "backend", "missing"))
            raise ConfigError(
                f"model.options.{name}: not an option of {cell.model.name}; valid: {listed}"
            )
    return Options(
        smoothness_scale=scale,
        solve_graph=route,
        signals=cell.model.fitted,
        history=history,
        **options,
    ), pairwise


def _fit_class(cell: _Cell, Y: Array) -> _Solution:
    """Fit an estimator class: a subclass of :class:`kgl.base.GraphLearner`."""
    from kgl.grid import fit_grid

    model, spec = cell.model._spec, cell.spec
    used = {"K_x": model.node_kernel, "K_z": model.observation_kernel}
    kernels: dict[str, Any] = {
        name: K for name, K in cell.kernels.items() if used[name] and K is not None
    }
    # synthetic data have no levels, real ones are centred as the paper centres them, and its graphs
    # have no signs
    options: dict[str, Any] = {
        "center": "none", "scale": "none", "log": False, "signed": False,
        **spec["fit"], **spec["options"],
    }  # fmt: skip
    for name in ("inner_tol", "final_tol", "backend_settings"):  # estimators have the library's own
        options.pop(name, None)
    grid = fit_grid(cell.model, Y, **kernels, **spec["grid"], signals=model.fitted, **options)
    assert grid.weights is not None
    assert grid.scores is not None
    return _Solution(
        grid.weights, grid.scores, grid.signals, grid.n_iter, grid.converged, grid.residual
    )


def _check_axes(spec: Mapping[str, Any], known: Iterable[str], *, exactly: bool = True) -> None:
    known = list(known)
    for name in spec["grid"]:
        if name not in known:
            raise ConfigError(
                f"model.grid.{name}: {spec['estimator']} takes no {name!r}; it takes "
                f"{', '.join(known)}"
            )
    for name in known if exactly else ():
        if name not in spec["grid"]:
            raise ConfigError(
                f"model.grid lacks {name!r}, which {spec['estimator']} has; add its values"
            )


def _fit_function(cell: _Cell, Y: Array) -> _Solution:
    spec, parameters = cell.spec, inspect.signature(cell.model).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        _check_axes(spec, parameters, exactly=False)
    kernels = {name: K for name, K in cell.kernels.items() if name in parameters}
    weights, signals = [], []
    for point in _each(cell.points):
        answer = cell.model(Y, **kernels, **point, **spec["options"])
        W, fitted = answer if isinstance(answer, tuple) else (answer, None)
        _check_answer(W, fitted, Y.shape, spec["estimator"], f"at {point}")
        weights.append(edges_from_adjacency(np.asarray(W, dtype=float)))
        signals.append(fitted)
    if any((fitted is None) != (signals[0] is None) for fitted in signals):
        raise ValueError(
            f"{spec['estimator']} returned signals at some points only; at all or none"
        )
    edges = np.array(weights)
    n_points = len(edges)
    return _Solution(
        edges,
        edges,
        None if signals[0] is None else np.array(signals),
        np.ones(n_points, dtype=int),
        np.ones(n_points, dtype=bool),
        np.full(n_points, np.nan),
    )


def _check_answer(W: Any, signals: Any, shape: tuple[int, ...], what: str, where: str) -> None:
    """Refuse what a function must not return."""
    m = shape[1]
    if np.shape(W) != (m, m) or not np.isfinite(W).all():
        raise ValueError(
            f"{what} returned weights of shape {np.shape(W)} {where}; return a finite symmetric "
            f"{m} x {m} matrix, or it and the fitted signals"
        )
    if not np.allclose(W, np.transpose(W)):
        raise ValueError(
            f"{what} returned weights that are not symmetric {where}; return (W + W.T) / 2"
        )
    if signals is not None and (np.shape(signals) != shape or not np.isfinite(signals).all()):
        raise ValueError(
            f"{what} returned signals of shape {np.shape(signals)} {where}; return "
            f"{shape[0]} x {m} finite numbers, one for each entry of Y"
        )


def _each(points: dict[str, Array]) -> Iterator[dict[str, float]]:
    if not points:
        yield {}
    for values in zip(*points.values(), strict=True):
        yield dict(zip(points, map(float, values), strict=True))
