"""One cell: one model on all replicates of one dataset, at every point of its grid.

A model is a row of :data:`kgl.problem.MODELS`, whose grid is solved as one batch; or any function
``f(Y, *, K_x, K_z, **point)`` that returns the weights ``W`` (m, m), or ``(W, signals)`` if it also
fits signals (n, m); or a subclass of :class:`kgl.models.GraphLearner`. The truth is used to score
every point, never to fit one.
"""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from experiments.datasets.centring import means
from experiments.lookup import ConfigError, resolve
from kgl._validation import check_hyperparameter, check_observations
from kgl.density import fit_edges
from kgl.folds import hold_out
from kgl.kernels import kernel_eigen
from kgl.laplacian import Array, adjacency_from_edges, edges_from_adjacency
from kgl.metrics import THRESHOLD, aps_many, nmi, sse_many
from kgl.problem import MODELS, ModelSpec
from kgl.seeding import stream
from kgl.solvers.alternating import Batch, Options, solve_in_chunks, solve_points
from kgl.solvers.routes import graph_solver
from kgl.solvers.signal_step import SignalData

__all__ = ["METRICS", "evaluate", "fit_cell", "grid_points", "shape"]

#: What is worked out at every grid point of every replicate, as far as the truth is known.
METRICS = ("aps_weights", "aps_scores", "sse", "nmi", "density", "mse_in", "mse_out", "mse_cv")
#: More fits that look for a density, where the first psi does not give it.
_MAX_FITS = 3
#: Held-out entries only choose a point, so these fits stop early.
_COUNTERPART_LAM = 1e-3
_LOOSE = {"tol": 2e-2, "max_iter": 8, "inner_tol": 1e-5}

Report = Callable[[str], None]

_ORDER = {"lam": 0, "rho": 1, "psi": 2, "density": 2}
_SHOWN = (("aps_weights", "APS", np.max), ("sse", "SSE", np.min), ("nmi", "NMI", np.max))
_OPTIONS = ("tol", "max_iter", "inner_tol", "regulariser", "barrier")


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


def evaluate(
    weights: Array,
    scores: Array,
    signals: Array | None,
    truth: Mapping[str, Array],
    seed: int = 0,
) -> dict[str, Array]:
    """Score the graphs (N, E) and signals (N, n, m) of a grid against what is known of the truth.

    The errors of signals are means over observed (``mse_in``) and over withheld entries
    (``mse_out``) of ``Y``; NaN where there is none, where it is not known, or where the model
    fits no signals. Clusters of the graph, found from ``seed``, are compared with true groups.
    """
    largest = weights.max(axis=1, keepdims=True)
    out = {}
    if "W" in truth:
        out["aps_weights"] = aps_many(truth["W"], weights)
        out["aps_scores"] = aps_many(truth["W"], scores, threshold=None)
        out["sse"] = sse_many(truth["W"], weights)
    if "groups" in truth:
        graphs = adjacency_from_edges(weights)
        out["nmi"] = np.array([nmi(truth["groups"], W, seed=seed) for W in graphs])
    out["density"] = (weights > THRESHOLD * largest).mean(axis=1)
    observed = ~np.isnan(truth["Y"])
    for name, where in (("mse_in", observed), ("mse_out", ~observed)):
        out[name] = _error(signals, truth["Y_full"], where, len(weights))
    return out


def shape(weights: Array, signals: Array | None, truth: Mapping[str, Array]) -> dict[str, Array]:
    """Describe graphs (N, E) and signals (N, n, m), for what happens at the ends of a grid.

    ``top_share`` is the share of all weight on the heaviest 5 % of pairs, ``uneven`` the standard
    deviation over the mean of the weights of all pairs, ``density_error`` the learned density less
    the true one. ``size`` is the root mean square of the signals over that of the data,
    ``row_spread`` that of the signals about the mean of their row over that of the signals
    themselves, and ``spread`` the same about the mean of all entries.
    """
    heavy = np.sort(weights, axis=1)[:, ::-1][:, : max(1, round(0.05 * weights.shape[1]))]
    out = {
        "top_share": heavy.sum(axis=1) / weights.sum(axis=1),
        "uneven": weights.std(axis=1) / weights.mean(axis=1),
    }
    if "W" in truth:
        linked = (weights > THRESHOLD * weights.max(axis=1, keepdims=True)).mean(axis=1)
        out["density_error"] = linked - (edges_from_adjacency(truth["W"]) > 0).mean()
    if signals is not None:

        def rms(values: Array) -> Array:
            return np.asarray(np.sqrt((values**2).mean(axis=(1, 2))))

        whole = rms(signals)
        floor = np.maximum(whole, np.finfo(float).tiny)
        out["size"] = whole / np.sqrt((truth["Y_full"] ** 2).mean())
        out["row_spread"] = rms(signals - signals.mean(axis=2, keepdims=True)) / floor
        out["spread"] = rms(signals - signals.mean(axis=(1, 2), keepdims=True)) / floor
    return out


def _error(signals: Array | None, Y: Array, where: np.ndarray, n_points: int) -> Array:
    """Return the mean squared error of some entries at every point; NaN where it is not known."""
    if signals is None or not where.any():
        return np.full(n_points, np.nan)
    return np.asarray(((signals[:, where] - Y[where]) ** 2).mean(axis=1))


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
        weights are rounded to; and, for a choice
        without the truth, ``held_out``: a number of ``folds``, and the ``density`` of the graphs
        that are compared where densities set psi.
    report : callable
        Receives a line of progress per replicate.

    Returns
    -------
    dict of arrays
        ``grid.<name>`` (N,) for each hyperparameter; each of :data:`METRICS` for which the data
        know enough, ``n_iter``, ``converged`` and ``kkt_residual`` as (R, N), and ``psi`` where the
        grid has densities instead; and what ``keep`` names: ``weights`` (R, N, E), ``signals``
        (R, N, n, m), ``shape`` (see :func:`shape`), ``rise`` (the greatest increase of the
        objective between outer iterations, over its first value) and ``seconds`` (per outer
        iteration of the whole grid), these last three as (R, N).
    """
    model = _find(spec["estimator"])
    # the order of kgl.fit_grid, whatever the order in the file
    names = sorted(spec["grid"], key=lambda name: _ORDER.get(name, len(_ORDER)))
    points = grid_points({name: spec["grid"][name] for name in names})
    n_points, replicates = _count(points), len(data["Y"])
    report(f"{spec['estimator']}: {n_points} grid points, {replicates} replicates")
    rows: list[dict[str, Array]] = []
    begin = time.perf_counter()
    for r in range(replicates):
        truth = {name: values[r] for name, values in data.items()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows.append(_fit_replicate(model, truth, spec, points, r))
        for message in dict.fromkeys(str(w.message) for w in caught):
            report(f"  warning: {message}")
        left = (time.perf_counter() - begin) / (r + 1) * (replicates - r - 1)
        row = rows[-1]
        best = ", ".join(
            f"best {label} {pick(row[name]):.3f}" for name, label, pick in _SHOWN if name in row
        )
        unfinished = int((row["converged"] == 0).sum())
        note = f", {unfinished} points not converged" if unfinished else ""
        report(f"replicate {r + 1}/{replicates}: {best}{note}; about {left:.0f} s left")
    return {f"grid.{name}": values for name, values in points.items()} | {
        name: np.stack([row[name] for row in rows]) for name in rows[0]
    }


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


def _count(points: Mapping[str, Array]) -> int:
    return len(next(iter(points.values()))) if points else 1


def _fit_replicate(
    model: Any,
    truth: Mapping[str, Array],
    spec: Mapping[str, Any],
    points: dict[str, Array],
    replicate: int,
) -> dict[str, Array]:
    begin = time.perf_counter()
    (weights, scores, signals), extra = _fit(model, truth, spec, points)
    if "seconds" in spec["keep"]:
        seconds = (time.perf_counter() - begin) / max(1, int(extra["n_iter"].max()))
        extra["seconds"] = np.full(_count(points), seconds)
    if "cut" in spec:
        weights = _heaviest(weights, spec["cut"])
    if "decimals" in spec:
        weights = np.round(weights, spec["decimals"])
    row = {**evaluate(weights, scores, signals, truth, replicate), **extra}
    if "shape" in spec["keep"]:
        row |= shape(weights, signals, truth)
    if "held_out" in spec:
        row["mse_cv"] = _held_out_error(model, truth, spec, points, replicate)
    if "weights" in spec["keep"]:
        row["weights"] = weights
    if "signals" in spec["keep"] and signals is not None:
        row["signals"] = signals
    return row


def _heaviest(weights: Array, density: float) -> Array:
    """Keep the heaviest edges of each graph (N, E), with the total weight they all had."""
    least = np.sort(weights, axis=1)[:, -max(1, round(density * weights.shape[1]))]
    kept = np.where(weights >= least[:, None], weights, 0.0)
    return np.asarray(kept * (weights.sum(axis=1) / kept.sum(axis=1))[:, None])


def _held_out_error(
    model: Any,
    truth: Mapping[str, Array],
    spec: Mapping[str, Any],
    points: dict[str, Array],
    replicate: int,
) -> Array:
    """Return the error of observed entries that were left out of the fit, averaged over folds.

    NaN throughout where the model predicts nothing, and at densities other than the one at which
    points are compared.
    """
    settings = spec["held_out"]
    if isinstance(model, ModelSpec) and model.fitted and not model.masked:
        # It takes held-out entries for zero, so that its error would say nothing: its counterpart
        # that leaves them out chooses.
        model = replace(MODELS["KGL-N"], node_kernel=False)
        points = {"lam": np.full(_count(points), _COUNTERPART_LAM), **points}
        spec = {**spec, "grid": {"lam": [_COUNTERPART_LAM], **spec["grid"]}}
    chosen = np.ones(_count(points), dtype=bool)
    if isinstance(model, ModelSpec) and settings["density"] in points.get("density", ()):
        chosen = points["density"] == settings["density"]
    inside = {name: values[chosen] for name, values in points.items()}
    error = np.full(len(chosen), np.nan)
    if isinstance(model, ModelSpec) and not model.fitted:
        return error
    raw = truth.get("raw", truth["Y"])
    how = str(truth["centre"]) if "centre" in truth else "none"
    # the same folds for every model
    rng = stream(0, "held-out", replicate)
    folds = []
    for held in hold_out(~np.isnan(raw), settings["folds"], rng, empty_nodes=True):
        train = np.where(held, np.nan, raw)
        # means are those of the entries that the fit sees, or they would tell of the others
        offset = means(train, how)
        (_, _, signals), _ = _fit(model, {**truth, "Y": train - offset}, spec, inside, loose=True)
        folds.append(_error(signals, raw - offset, held, int(chosen.sum())))
    error[chosen] = np.mean(folds, axis=0)
    return error


_Fitted = tuple[Array, Array, Array | None]


def _fit(
    model: Any,
    truth: Mapping[str, Array],
    spec: Mapping[str, Any],
    points: dict[str, Array],
    *,
    loose: bool = False,
) -> tuple[_Fitted, dict[str, Array]]:
    if isinstance(model, ModelSpec):
        return _fit_row(model, truth, spec, points, loose=loose)
    if isinstance(model, type):
        return _fit_class(model, truth, spec)
    return _fit_function(model, truth, spec, points)


def _kernels(model: ModelSpec, truth: Mapping[str, Array]) -> dict[str, Array | None]:
    """Return the kernels that a model uses: one that it has no place for is not passed."""
    used = {"K_x": model.node_kernel, "K_z": model.observation_kernel}
    return {name: truth.get(name) if wanted else None for name, wanted in used.items()}


def _fit_row(
    model: ModelSpec,
    truth: Mapping[str, Array],
    spec: Mapping[str, Any],
    points: dict[str, Array],
    *,
    loose: bool = False,
) -> tuple[_Fitted, dict[str, Array]]:
    """Fit a model of the table, as :func:`kgl.fit_grid` does.

    It goes to the solvers directly: the estimators bring scikit-learn, which takes longer to load
    than many cells take to fit. And nodes that nothing was observed of are allowed: the paper's
    masks make some, and a kernel of the nodes knows something of them.
    """
    sparsity = "density" if "density" in points else "psi"
    known = [sparsity if name == "psi" else name for name in model.hyperparameters]
    _check_axes(spec, known)
    for name, values in points.items():
        for value in np.unique(values):
            check_hyperparameter(name, value)
    options = {**spec["fit"], **spec["options"]}
    values, mask = check_observations(truth["Y"], empty_nodes=True)
    n, m = values.shape
    kernels = _kernels(model, truth)
    pairwise = options.pop("missing", "zero") == "pairwise" and not model.fitted
    data = SignalData(
        values,
        mask if model.masked or pairwise else None,
        kernel_eigen(kernels["K_x"], "K_x", m),
        kernel_eigen(kernels["K_z"], "K_z", n),
    )
    own = options.pop("backend_settings", "tight") == "own"
    route = graph_solver(options.pop("solver"), options.pop("backend"), own_settings=own)
    scale = 1.0 / n if options.pop("average") else 1.0
    for name in options:
        if name not in _OPTIONS:
            listed = ", ".join((*_OPTIONS, "average", "solver", "backend", "missing"))
            raise ConfigError(f"model.options.{name}: no option of {model.name}; valid: {listed}")
    rise = "rise" in spec["keep"] and not loose
    solve = Options(
        smoothness_scale=scale, solve_graph=route, signals=model.fitted, history=rise, **options
    )
    if loose:
        eased = {
            name: min(limit, getattr(solve, name))
            if name == "max_iter"
            else max(limit, getattr(solve, name))
            for name, limit in _LOOSE.items()
        }
        solve = replace(solve, **eased)
    batches = list(_solve(data, model, points, sparsity, solve, loose=loose))

    def join(name: str) -> Array:
        """Return a result of all points, in their order."""
        parts = [(where, getattr(batch, name)) for where, batch in batches]
        out = np.empty((_count(points), *parts[0][1].shape[1:]), dtype=parts[0][1].dtype)
        for where, values in parts:
            out[where] = values
        return out

    extra = {"n_iter": join("n_iter"), "converged": join("converged")}
    extra["kkt_residual"] = join("residual")
    if sparsity == "density":
        extra["psi"] = join("psi")
    if rise:
        extra["rise"] = np.empty(_count(points))
        for where, batch in batches:
            assert batch.history is not None
            extra["rise"][where] = [_rise(parts.sum(axis=1)) for parts in batch.history]
    signals = join("signals") if model.fitted else None
    weights, scores = (edges_from_adjacency(join(name)) for name in ("weights", "scores"))
    return (weights, scores, signals), extra


def _rise(objective: Array) -> float:
    """Return the greatest increase of an objective from one iteration to the next, relative."""
    return float(np.diff(objective).max(initial=-np.inf) / abs(objective[0]))


def _solve(
    data: SignalData,
    model: ModelSpec,
    points: dict[str, Array],
    sparsity: str,
    solve: Options,
    *,
    loose: bool,
) -> Iterator[tuple[np.ndarray, Batch]]:
    """Yield the positions of points that were solved together, and their solutions.

    For a density the graph is that of a fit at the psi that was found; where fits are loose, the
    alternation that finds psi is enough.
    """

    def at_density(*problem: Any) -> Batch:
        data, spec, lam, rho, _, options = problem
        return fit_edges(data, spec, lam, rho, options, max_fits=_MAX_FITS)[0]

    n_points, m = _count(points), data.Y.shape[1]
    lam = points.get("lam", np.zeros(n_points))
    rho = points.get("rho", np.ones(n_points))
    if sparsity == "psi":
        groups = [(np.arange(n_points), points["psi"], solve)]
    else:
        groups = []
        for density in np.unique(points["density"]):
            where = np.flatnonzero(points["density"] == density)
            target = max(1, round(float(density) * m * (m - 1) / 2))
            groups.append((where, np.zeros(len(where)), replace(solve, target_edges=target)))
    for where, psi, options in groups:
        route = solve_points if sparsity == "psi" or loose else at_density
        for part, batch in solve_in_chunks(
            data, model, lam[where], rho[where], psi, options, solve=route
        ):
            yield where[part], batch


def _fit_class(
    model: Any, truth: Mapping[str, Array], spec: Mapping[str, Any]
) -> tuple[_Fitted, dict[str, Array]]:
    """Fit an estimator class: a subclass of :class:`kgl.models.GraphLearner`."""
    from kgl.grid import fit_grid

    kernels: dict[str, Any] = {
        k: v for k, v in _kernels(model._spec, truth).items() if v is not None
    }
    options = {**spec["fit"], **spec["options"]}
    for name in ("inner_tol", "backend_settings"):  # estimators have the library's own
        options.pop(name, None)
    grid = fit_grid(
        model, truth["Y"], **kernels, **spec["grid"], signals=model._spec.fitted, **options
    )
    assert grid.weights is not None
    assert grid.scores is not None
    extra = {"n_iter": grid.n_iter, "converged": grid.converged, "kkt_residual": grid.residual}
    return (grid.weights, grid.scores, grid.signals), extra


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


def _fit_function(
    model: Callable[..., Any],
    truth: Mapping[str, Array],
    spec: Mapping[str, Any],
    points: dict[str, Array],
) -> tuple[_Fitted, dict[str, Array]]:
    given = {name: truth.get(name) for name in ("K_x", "K_z")}
    parameters = inspect.signature(model).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        _check_axes(spec, parameters, exactly=False)
    used = {k: v for k, v in given.items() if k in parameters}
    weights, signals = [], []
    for point in _each(points):
        answer = model(truth["Y"], **used, **point, **spec["options"])
        W, fitted = answer if isinstance(answer, tuple) else (answer, None)
        _check_answer(W, fitted, truth["Y"].shape, spec["estimator"], f"at {point}")
        weights.append(edges_from_adjacency(np.asarray(W, dtype=float)))
        signals.append(fitted)
    if any((fitted is None) != (signals[0] is None) for fitted in signals):
        raise ValueError(
            f"{spec['estimator']} returned signals at some points only; at all or none"
        )
    edges = np.array(weights)
    n_points = len(edges)
    extra = {
        "n_iter": np.ones(n_points, dtype=int),
        "converged": np.ones(n_points, dtype=bool),
        "kkt_residual": np.full(n_points, np.nan),
    }
    return (edges, edges, None if signals[0] is None else np.array(signals)), extra


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
