"""Simulate the cells of the study: scores of every grid point, in units of the signals' scale.

With ``K_x = s K0``, ``K0 = (I / alpha + L)^-1``, and signals divided by ``sqrt(s)``, a data set is
``F + sqrt(r) E``: ``F`` has the kernel ``K0``, ``E`` is standard normal, ``r = sigma^2 / s``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from experiments.inference.design import DEPENDENT, INDEPENDENT
from kgl._types import Array
from kgl.kernels import RBF, KernelEigen, kernel_eigen
from kgl.laplacian import edges_from_adjacency, laplacian_from_adjacency
from kgl.metrics import aps_many, sse_many
from kgl.problem import MODELS
from kgl.seeding import stream
from kgl.simulate import make_dataset, missing_mask, smooth_signals, time_kernel
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
    K_z: KernelEigen  # the same for all draws of a kind of data
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
    trace: float = 1.0, **graph: Any,
) -> Draw:  # fmt: skip
    """Draw a data set.

    Parameters
    ----------
    data : str
        ``independent``, or the bandwidth of K_z: a rule or gamma.
    trace : float
        Of L, over m: the signals' kernel is ``(I / alpha + trace L)^-1``, with ``tr(L) = m``.
    """
    dependent = data != "independent"
    rule: str | float = float(data) if data[:1].isdigit() else data
    made = make_dataset(
        family, m=m, n=n, alpha=trace * alpha, dependent=dependent, noise=1.0, seed=seed,
        bandwidth=rule if dependent else 1.0, replicate=replicate, **graph,
    )  # fmt: skip
    noise, signals = made.Y_full - made.signals, np.sqrt(alpha) * made.signals
    eigen = _eigen(n, data)
    return Draw(made.W, alpha * made.K_x, eigen, signals, noise, seed, (family, m, replicate))


@cache
def _eigen(n: int, data: str) -> KernelEigen:
    rule = float(data) if data[:1].isdigit() else data
    K_z = None if data == "independent" else time_kernel(n, rule)
    return kernel_eigen(K_z, "K_z", n)


def node_kernel(
    kernel: str, found: Draw, alpha: float, *, scale: float = 1.0, trace: float = 1.0
) -> Array:
    """Return the K_x that models are given, in units of the signals' scale.

    The kernel of covariates has unit diagonal whatever the scale: it is divided by ``scale``.
    """
    m = len(found.W)
    if kernel == "exact":
        return found.K0
    if kernel == "alpha1":
        L = trace * laplacian_from_adjacency(found.W)
        K = alpha * np.linalg.inv(np.eye(m) + L)
    elif kernel == "normalised":
        root = np.sqrt(np.maximum(found.W.sum(axis=1), 1e-12))
        K = np.linalg.inv((1 + 1 / alpha) * np.eye(m) - found.W / np.outer(root, root))
    else:
        rng = stream(found.seed, "side-covariates", *found.names)
        values, _ = smooth_signals(found.K0, None, rng, n=_COVARIATES, noise=0.0)
        K = np.asarray(RBF(bandwidth="median_sq")(values.T)) / scale
    return np.asarray((K + K.T) / 2)


def grid_of(model: str, points: Mapping[str, Any], *, missing: bool = False) -> dict[str, Array]:
    """Return the hyperparameters that a model is fitted with, in units of the signals' scale."""
    if model == "gl":
        return {"psi": np.asarray(points["fine_ratio"], dtype=float)}
    if model == "gl2step":
        axes = {"rho": points["gl2step_rho"], "psi": points["fine_ratio"]}
    else:
        start = "missing_" * missing
        axes = {"lam": points[f"{start}lam"], "rho": points[f"{start}rho"], "psi": points["ratio"]}
    crossed = np.meshgrid(*[np.asarray(a, dtype=float) for a in axes.values()], indexing="ij")
    found = {name: values.ravel() for name, values in zip(axes, crossed, strict=True)}
    return {**found, "psi": found["psi"] * found["rho"]}


def weights_of(
    model: str, Y: Array, K_x: Array, K_z: KernelEigen, points: Mapping[str, Array],
    solver: Mapping[str, Any],
) -> Array:  # fmt: skip
    """Return the edge weights at every point of a grid."""
    spec = MODELS[ESTIMATORS[model]]
    data = signal_data(Y, spec, K_x)
    if spec.observation_kernel:  # decomposed once for all fits
        data = replace(data, K_z=K_z)
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
        shape (replicate, axis, scale, smoothness, decimals, psi), and ``checks.kernel`` of shape
        (replicate, axis, scale, 3): the results of :func:`_figure13`.
    """
    run = {"noise": _noise, "missing": _missing, "printed": _printed}[part["kind"]]
    stacked: dict[str, list[Array]] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    for key, shape, values in run(part, design, report):
        stacked.setdefault(key, []).append(values)
        shapes[key] = shape
    return {k: np.reshape(np.stack(v), (*shapes[k], *v[0].shape)) for k, v in stacked.items()}


_Rows = Iterator[tuple[str, tuple[int, ...], Array]]


def _models(
    part: Mapping[str, Any], design: Mapping[str, Any], family: str = "sbm"
) -> list[tuple[str, list[str]]]:
    """Return the models of a kind of data, each with the kernels it is fitted with."""
    models = INDEPENDENT if part["data"] == "independent" else DEPENDENT
    kernels = design["factors"]["kernel"]["values"]
    own = [model for model in models if model in design["models"][family]]
    return [(model, kernels if model == models[0] else ["exact"]) for model in own]


def _draws(
    part: Mapping[str, Any], design: Mapping[str, Any], family: str, count: int, **more: Any
) -> list[Draw]:
    known = {key: part[key] for key in ("alpha", "n", "data")}
    seed = design["seeds"][part.get("seed", "search")]
    return [draw(seed, family, k, m=design["m"], **known, **more) for k in range(count)]


def _fitted(
    model: str, kernels: Sequence[str], grid: Mapping[str, Array], Y: Array, found: Draw,
    part: Mapping[str, Any], design: Mapping[str, Any],
) -> Iterator[tuple[str, Array]]:  # fmt: skip
    """Fit a model with each of its kernels; yield ``kernel.metric`` and the score of each point."""
    for kernel in kernels:
        K_x = node_kernel(kernel, found, part["alpha"])
        weights = weights_of(model, Y, K_x, found.K_z, grid, design["solver"])
        for metric, values in _scores(found.W, weights).items():
            yield f"{kernel}.{metric}", values


def _noise(part: Mapping[str, Any], design: Mapping[str, Any], report: Report) -> _Rows:
    replicates = part.get("replicates", design["replicates"])
    for family in ("sbm", "er", "ba"):
        levels = design["r"]["sbm" if family == "sbm" else "others"]
        drawn = _draws(part, design, family, replicates[family])
        for r in levels:
            for found in drawn:
                Y = found.F + np.sqrt(r) * found.E
                for model, kernels in _models(part, design, family):
                    grid = grid_of(model, design["points"])
                    for end, values in _fitted(model, kernels, grid, Y, found, part, design):
                        yield f"{model}.{family}.{end}", (len(levels), len(drawn)), values
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
                    for end, values in _fitted(model, kernels, grid, Y, found, part, design):
                        yield f"{model}.sbm.{rate:g}.{end}", (len(levels), len(drawn)), values
        report(f"r = {r:g}: {len(drawn)} replicates")


def _printed(part: Mapping[str, Any], design: Mapping[str, Any], report: Report) -> _Rows:
    """Simulate Figure 12 at its true scale: KGL at one lam, one rho and four psi."""
    factors = {name: factor["values"] for name, factor in design["factors"].items()}
    kernels = printed_kernels(factors["kernel"], part["data"])
    count = part.get("runs", design["replicates"]["printed"])
    cells = list(product(factors["axis"], factors["scale"]))
    for name in factors["trace"]:
        trace = 2.0 if name == "2m" else 1.0
        for family in ("sbm", "er", "ba"):
            for k, found in enumerate(_draws(part, design, family, count, trace=trace)):
                for kernel in kernels:
                    K_x = [node_kernel(kernel, found, part["alpha"], scale=s, trace=trace)
                           for _, s in cells]  # fmt: skip
                    rows = [_figure12(found, K, axis, s, trace, design)
                            for K, (axis, s) in zip(K_x, cells, strict=True)]  # fmt: skip
                    yield f"{family}.{kernel}.{name}", (count,), _folded(rows, factors)
                    first = family == "sbm" and name == factors["trace"][0]
                    if first and k < design["printed"]["grid_runs"]:
                        lost = [_figure13(found, K, axis, s, trace, design)
                                for K, (axis, s) in zip(K_x, cells, strict=True)]  # fmt: skip
                        runs = min(count, design["printed"]["grid_runs"])
                        yield f"checks.{kernel}", (runs,), _folded(lost, factors)
        report(f"trace {name}: {count} runs of each family")


def printed_kernels(kernels: Sequence[str], data: str) -> Sequence[str]:
    """Return the kernels that Figure 12 is simulated with: all, but one if data are dependent."""
    return kernels if data == "independent" else kernels[:1]


def _folded(rows: list[Array], factors: Mapping[str, Any]) -> Array:
    return np.reshape(rows, (len(factors["axis"]), len(factors["scale"]), *rows[0].shape))


def _noisy(found: Draw, axis: str, scale: float, design: Mapping[str, Any]) -> Array:
    level = design["printed"]["noise"]
    variance = level if axis == "variance" else level**2
    return np.asarray(found.F + np.sqrt(variance / scale) * found.E)


def _figure12(
    found: Draw, K_x: Array, axis: str, scale: float, trace: float, design: Mapping[str, Any]
) -> Array:
    """Return APS by smoothness (averaged, summed), decimals (none, 5, 4) and psi."""
    Y, known = _noisy(found, axis, scale, design), design["printed"]
    # a graph of twice the trace is twice a graph: twice the smoothness, four times the norm
    psi = np.asarray(known["psi"]) * trace**2 / scale
    rho = known["rho"] * trace * np.array([1.0, len(Y)])
    points = {
        "lam": np.full(2 * len(psi), known["lam"] / scale),
        "rho": np.repeat(rho, len(psi)),
        "psi": np.tile(psi, 2),
    }
    weights = weights_of("kgl", Y, K_x, found.K_z, points, design["solver"])
    kept = [weights, np.round(trace * weights, 5), np.round(trace * weights, 4)]
    scores = [aps_many(found.W, one).reshape(2, len(psi)) for one in kept]
    return np.stack(scores, axis=1).astype(np.float32)


def _figure13(
    found: Draw, K_x: Array, axis: str, scale: float, trace: float, design: Mapping[str, Any]
) -> Array:
    """Return the size of fits at lam = 100 (H5), and the loss of APS at a named point (H7).

    The second by smoothness (averaged, summed): lam = rho = 0.01 against the best of a grid, with
    psi = 1e-5.
    """
    Y, known = _noisy(found, axis, scale, design), design["printed"]
    k_x, Q = np.linalg.eigh(K_x)
    rotated = found.K_z.vectors.T @ Y @ Q
    spread = np.clip(np.outer(found.K_z.values, k_x), 0.0, None)
    fitted = rotated * spread / (spread + 100.0 / scale)
    size = np.sqrt((fitted**2).sum() / (Y**2).sum())
    lam, rho = (x.ravel() for x in np.meshgrid(known["decades"], known["decades"], indexing="ij"))
    named = int(np.argmin(np.abs(np.log(lam / 0.01)) + np.abs(np.log(rho / 0.01))))
    lost = []
    for times in (1.0, len(Y)):
        psi = np.full(len(lam), 1e-5 * trace**2 / scale)
        points = {"lam": lam / scale, "rho": rho * trace * times, "psi": psi}
        weights = weights_of("kgl", Y, K_x, found.K_z, points, design["solver"])
        scores = aps_many(found.W, weights)
        lost.append(scores.max() - scores[named])
    return np.array([size, *lost], dtype=np.float32)
