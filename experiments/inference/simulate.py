"""Simulate the cells of the study: scores of every grid point, in units of the signals' scale.

With ``K_x = s K0``, ``K0 = (I / alpha + L)^-1``, and signals divided by ``sqrt(s)``, a data set is
``F + sqrt(r) E``: ``F`` has the kernel ``K0``, ``E`` is standard normal, ``r = sigma^2 / s``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.inference.design import DEPENDENT, INDEPENDENT
from kgl._types import Array
from kgl.kernels import RBF
from kgl.laplacian import edges_from_adjacency, laplacian_from_adjacency
from kgl.metrics import aps_many, sse_many
from kgl.problem import MODELS
from kgl.seeding import stream
from kgl.simulate import make_dataset, missing_mask, smooth_signals
from kgl.solvers.alternating import Options
from kgl.solvers.grid import join, signal_data, solve_grid

__all__ = ["ESTIMATORS", "Draw", "draw", "grid_of", "node_kernel", "simulate"]

Report = Callable[[str], None]
#: Rows of :data:`kgl.problem.MODELS` by the identifiers of conf/model.
ESTIMATORS = {
    "gl": "GL", "gl2step": "GL-2step", "kgln": "KGL-N", "kgl": "KGL", "kglo": "KGL-O",
    "kglagnostic": "KGL-Agnostic",
}  # fmt: skip
_COVARIATES = 5


@dataclass(frozen=True)
class Draw:
    """One graph with signals and noise, in units of the signals' scale."""

    W: Array
    K0: Array
    K_z: Array | None
    F: Array
    E: Array
    seed: int
    names: tuple[str, int, int]

    def mask(self, rate: float) -> np.ndarray:
        """Return which entries are observed; masks of different rates are nested."""
        n, m = self.F.shape
        return missing_mask(n, m, rate, stream(self.seed, "mask", *self.names))


def draw(
    seed: int, family: str, replicate: int, *, m: int, n: int, alpha: float, data: str,
    **graph: Any,
) -> Draw:  # fmt: skip
    """Draw a data set; ``data`` is ``independent`` or the bandwidth of K_z, a rule or gamma."""
    dependent = data != "independent"
    rule: str | float = float(data) if data[:1].isdigit() else data
    made = make_dataset(
        family, m=m, n=n, alpha=alpha, dependent=dependent, noise=1.0, seed=seed,
        bandwidth=rule if dependent else 1.0, replicate=replicate, **graph,
    )  # fmt: skip
    noise, signals = made.Y_full - made.signals, np.sqrt(alpha) * made.signals
    return Draw(made.W, alpha * made.K_x, made.K_z, signals, noise, seed, (family, m, replicate))


def node_kernel(kernel: str, found: Draw, alpha: float, scale: float = 1.0) -> Array:
    """Return the K_x that models are given, in units of the signals' scale."""
    m = len(found.W)
    if kernel == "exact":
        return found.K0
    if kernel == "alpha1":
        return np.asarray(alpha * np.linalg.inv(np.eye(m) + laplacian_from_adjacency(found.W)))
    if kernel == "normalised":
        root = np.sqrt(np.maximum(found.W.sum(axis=1), 1e-12))
        normalised = np.eye(m) - found.W / np.outer(root, root)
        K = np.linalg.inv(np.eye(m) / alpha + normalised)
        return np.asarray((K + K.T) / 2)
    rng = stream(found.seed, "side-covariates", *found.names)
    values, _ = smooth_signals(found.K0, None, rng, n=_COVARIATES, noise=0.0)
    return np.asarray(RBF(bandwidth="median_sq")(values.T)) / scale


def grid_of(model: str, points: Mapping[str, Any], *, missing: bool = False) -> dict[str, Array]:
    """Return the hyperparameters that a model is fitted with, in units of the signals' scale."""
    if model == "gl":
        axes = {"psi": points["gl_psi"]}
    elif model == "gl2step":
        axes = {"rho": points["gl2step_rho"], "psi": points["psi"]}
    else:
        start = "missing_" * missing
        axes = {"lam": points[f"{start}lam"], "rho": points[f"{start}rho"], "psi": points["psi"]}
    crossed = np.meshgrid(*[np.asarray(a, dtype=float) for a in axes.values()], indexing="ij")
    return {name: values.ravel() for name, values in zip(axes, crossed, strict=True)}


def weights_of(
    model: str, Y: Array, K_x: Array, K_z: Array | None, points: Mapping[str, Array],
    solver: Mapping[str, Any],
) -> Array:  # fmt: skip
    """Return the edge weights at every point of a grid."""
    spec = MODELS[ESTIMATORS[model]]
    data = signal_data(Y, spec, K_x, K_z)
    limit = solver["missing_max_iter" if np.isnan(Y).any() else "max_iter"]
    options = Options(
        smoothness_scale=1.0 / len(Y), max_iter=limit, tol=solver["tol"],
        inner_tol=solver["inner_tol"], signals=False,
    )  # fmt: skip
    return np.asarray(
        edges_from_adjacency(join(list(solve_grid(data, spec, points, options))).weights)
    )


def _scores(W: Array, weights: Array) -> dict[str, Array]:
    """Return APS, also with weights of four decimals, and SSE of each point."""
    rounded = np.round(weights, 4)
    return {
        "aps": aps_many(W, weights).astype(np.float32),
        "aps4": aps_many(W, rounded).astype(np.float32),
        "sse": sse_many(W, weights).astype(np.float32),
    }


def simulate(
    part: Mapping[str, Any], design: Mapping[str, Any], report: Report = lambda _: None
) -> dict[str, Array]:
    """Run one job of the study.

    Returns
    -------
    dict of arrays
        ``noise`` and ``missing``: ``model.family.kernel.metric`` of shape (r, replicate, points),
        the second with the missing rate after the family. ``printed``: ``family.kernel.trace`` of
        shape (replicate, scale, smoothness, decimals, psi).
    """
    run = {"noise": _noise, "missing": _missing, "printed": _printed}[part["kind"]]
    stacked: dict[str, list[Array]] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for key, shape, values in run(part, design, report):
        stacked.setdefault(key, []).append(values)
        shapes[key] = shape
    return {k: np.reshape(np.stack(v), (*shapes[k], *v[0].shape)) for k, v in stacked.items()}


_Rows = Iterator[tuple[str, tuple[int, ...], Array]]


def _models(part: Mapping[str, Any], design: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Return the models of a kind of data, each with the kernels it is fitted with."""
    models = INDEPENDENT if part["data"] == "independent" else DEPENDENT
    kernels = design["factors"]["kernel"]["values"]
    return [(model, kernels if model == models[0] else ["exact"]) for model in models]


def _draws(
    part: Mapping[str, Any], design: Mapping[str, Any], family: str, count: int
) -> list[Draw]:
    known = {key: part[key] for key in ("alpha", "n", "data")}
    seed, graph = design["seeds"][part.get("seed", "search")], part.get("graph", {})
    return [draw(seed, family, k, m=design["m"], **known, **graph) for k in range(count)]


def _noise(part: Mapping[str, Any], design: Mapping[str, Any], report: Report) -> _Rows:
    replicates = part.get("replicates", design["replicates"])
    for family in ("sbm", "er", "ba"):
        levels = design["r"]["sbm" if family == "sbm" else "others"]
        drawn = _draws(part, design, family, replicates[family])
        for r in levels:
            for found in drawn:
                Y = found.F + np.sqrt(r) * found.E
                for model, kernels in _models(part, design):
                    grid = grid_of(model, design["points"])
                    for kernel in kernels if family == "sbm" else kernels[:1]:
                        K_x = node_kernel(kernel, found, part["alpha"])
                        weights = weights_of(model, Y, K_x, found.K_z, grid, design["solver"])
                        for metric, values in _scores(found.W, weights).items():
                            key = f"{model}.{family}.{kernel}.{metric}"
                            yield key, (len(levels), len(drawn)), values
            report(f"{family}, r = {r:g}: {len(drawn)} replicates")


def _missing(part: Mapping[str, Any], design: Mapping[str, Any], report: Report) -> _Rows:
    replicates = part.get("replicates", design["replicates"])
    levels = design["r"]["missing"]
    drawn = _draws(part, design, "sbm", replicates["missing"])
    for r in levels:
        for found in drawn:
            full = found.F + np.sqrt(r) * found.E
            for model, kernels in _models(part, design):
                grid = grid_of(model, design["points"], missing=True)
                for rate in design["missing"]["rates"].get(model, []):
                    Y = np.where(found.mask(rate), full, np.nan)
                    for kernel in kernels:
                        K_x = node_kernel(kernel, found, part["alpha"])
                        weights = weights_of(model, Y, K_x, found.K_z, grid, design["solver"])
                        for metric, values in _scores(found.W, weights).items():
                            key = f"{model}.sbm.{rate:g}.{kernel}.{metric}"
                            yield key, (len(levels), len(drawn)), values
        report(f"r = {r:g}: {len(drawn)} replicates")


def _printed(part: Mapping[str, Any], design: Mapping[str, Any], report: Report) -> _Rows:
    """Simulate Figure 12 at its true scale: KGL at one lam, one rho and four psi."""
    known, n = design["printed"], part["n"]
    kernels = design["factors"]["kernel"]["values"]
    independent = part["data"] == "independent"
    count = part.get("runs", design["replicates"]["printed"])
    scales = part.get("scales", design["factors"]["scale"]["values"])
    for trace in design["factors"]["trace"]["values"]:
        # L of twice the trace: the data of 2 alpha, and twice the weights in the model
        factor = 2.0 if trace == "2m" else 1.0
        for family in ("sbm", "er", "ba"):
            for found in _draws({**part, "alpha": factor * part["alpha"]}, design, family, count):
                for kernel in kernels if independent else kernels[:1]:
                    K_x = node_kernel(kernel, found, factor * part["alpha"])
                    rows = [_figure12(found, K_x / (s if kernel == "covariates" else 1.0), s, n,
                                      factor, known, design["solver"]) for s in scales]  # fmt: skip
                    yield f"{family}.{kernel}.{trace}", (count,), np.stack(rows)
        report(f"trace {trace}: {count} runs of each family")


def _figure12(
    found: Draw, K_x: Array, scale: float, n: int, factor: float, known: Mapping[str, Any],
    solver: Mapping[str, Any],
) -> Array:  # fmt: skip
    """Return APS by smoothness (averaged, summed), decimals (none, 5, 4) and psi."""
    Y = found.F + np.sqrt(known["noise"] / scale) * found.E
    psi = np.asarray(known["psi"]) * factor**2 / scale
    rho = known["rho"] * factor * np.array([1.0, n])
    points = {
        "lam": np.full(2 * len(psi), known["lam"] / scale),
        "rho": np.repeat(rho, len(psi)),
        "psi": np.tile(psi, 2),
    }
    weights = weights_of("kgl", Y, K_x, found.K_z, points, solver)
    kept = [weights, np.round(factor * weights, 5), np.round(factor * weights, 4)]
    scores = [aps_many(found.W, one).reshape(2, len(psi)) for one in kept]
    return np.stack(scores, axis=1).astype(np.float32)
