"""Controls that the paper lacks: the same data, with a degraded K_x or another K_z.

In the synthetic experiments ``K_x = (I + alpha L)^-1`` is a function of the graph to be learned.
Here the signals are the paper's (or noise alone), and models are fitted with other kernels. The
keys of ``data.options``:

================  =================================================================================
``signal``        false: pure noise, of the variance ``data.noise``
``side``          what ``K_x`` is made from: ``oracle`` (the paper's), ``rewired-0.25`` (the graph
                  with a quarter of its edges moved to random pairs), ``covariates-1`` (an RBF
                  kernel of covariates that are smooth over the graph, with noise of that variance
                  relative to theirs), ``unrelated`` (another graph of the family, its nodes
                  shuffled), ``identity``
``covariates``    their number
``observations``  ``K_z``: ``identity``, or a factor on the gamma of the RBF of the time stamps
================  =================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from experiments.datasets.synthetic import draw
from experiments.lookup import ConfigError
from kgl._types import Array
from kgl.kernels import RBF
from kgl.laplacian import (
    adjacency_from_edges,
    edges_from_adjacency,
    laplacian_from_adjacency,
)
from kgl.seeding import stream
from kgl.simulate import random_graph, resolvent_kernel, smooth_signals

__all__ = ["SIDES", "custom_kernels", "node_kernel", "rewired"]

#: What a node kernel can be made from; a number follows those that end in a dash.
SIDES = ("oracle", "rewired-", "covariates-", "unrelated", "identity")


def custom_kernels(settings: Mapping[str, Any], replicate: int) -> dict[str, Array]:
    """Return the paper's data with other kernels: a source of data."""
    made = draw(settings, replicate)
    options = settings["data"]["options"]
    arrays = {"Y": made.Y, "Y_full": made.Y_full, "W": made.W}
    if not options["signal"]:
        arrays |= {"Y": made.Y - made.signals, "Y_full": made.Y_full - made.signals}
    arrays["K_x"] = node_kernel(options["side"], made.W, made.K_x, settings, replicate)
    if options["observations"] != "identity":
        arrays["K_z"] = _time_kernel(settings["data"], _factor(options["observations"]))
    return arrays


def _factor(observations: Any) -> float:
    try:
        factor = float(observations)
    except ValueError:
        factor = -1.0
    if not 0.0 < factor < np.inf:
        raise ConfigError(
            f"data.options.observations = {observations!r}: set it to identity, or to a number "
            "above 0"
        )
    return factor


def _time_kernel(data: Mapping[str, Any], factor: float) -> Array:
    """Return the RBF kernel of the time stamps with another gamma."""
    stamps = np.arange(data["n"], dtype=float)[:, None]
    rule = data["bandwidth"]
    gamma = RBF(bandwidth=rule).fit(stamps).gamma_ if isinstance(rule, str) else float(rule)
    return np.asarray(RBF(gamma=factor * gamma)(stamps))


def node_kernel(
    side: str, W: Array, oracle: Array, settings: Mapping[str, Any], replicate: int
) -> Array:
    """Return the node kernel that models are fitted with.

    Parameters
    ----------
    side : str
        One of :data:`SIDES`, with its number.
    W, oracle : array (m, m)
        The true graph, and the paper's kernel.
    settings : dict
        The groups ``graph`` and ``data`` and the root seed.
    replicate : int
        Its index. Random streams are named by family, size and replicate, not by the number that
        follows ``side``: all levels of degradation share their draws.
    """
    graph = settings["graph"]
    m, family = len(W), graph["family"]

    def rng(purpose: str) -> np.random.Generator:
        return stream(settings["seed"], f"side-{purpose}", family, m, replicate)

    kind, level = _parse(side)
    if kind == "identity":
        return np.eye(m)
    if kind == "unrelated":
        other = random_graph(
            family, m, rng("unrelated"), density=graph["density"], weights=graph["weights"],
            connected=graph["connected"], **graph["options"],
        )  # fmt: skip
        # nodes are shuffled, or blocks and hubs would be at the same nodes as in the true graph
        order = rng("shuffled").permutation(m)
        return _kernel_of(other[np.ix_(order, order)], graph)
    if kind == "rewired-":
        return _kernel_of(rewired(W, level, rng("rewired")), graph)
    if kind == "covariates-":
        count = settings["data"]["options"]["covariates"]
        values, _ = smooth_signals(oracle, None, rng("covariates"), n=count, noise=0.0)
        scale = values.std(axis=1, keepdims=True)
        noise = rng("covariate-noise").standard_normal(values.shape)
        return np.asarray(RBF(bandwidth="median_sq")((values / scale + np.sqrt(level) * noise).T))
    return oracle


def _parse(side: str) -> tuple[str, float]:
    """Return the one of :data:`SIDES` that a value of ``side`` begins with, and its number."""
    name, dash, number = side.partition("-")
    kind = name + dash
    if kind not in SIDES:
        raise ConfigError(
            f"data.options.side = {side!r} is none of {', '.join(SIDES)} (a number follows a dash)"
        )
    if not dash:
        return kind, 0.0
    try:
        level = float(number)
    except ValueError:
        level = -1.0
    most = 1.0 if kind == "rewired-" else np.inf
    if not (0.0 <= level <= most and level < np.inf):
        raise ConfigError(
            f"data.options.side = {side!r}: a number from 0{' to 1' * (most == 1.0)} must follow "
            f"{kind!r}"
        )
    return kind, level


def _kernel_of(W: Array, graph: Mapping[str, Any]) -> Array:
    """Return the paper's kernel of a graph."""
    kernel = resolvent_kernel(laplacian_from_adjacency(W), graph["alpha"])
    size = kernel.diagonal().mean() if graph.get("unit_variance") else 1.0
    return np.asarray(kernel * (graph.get("scale", 1.0) / size))


def rewired(W: Array, share: float, rng: np.random.Generator) -> Array:
    """Move a share of the edges, with their weights, to random pairs without an edge.

    The pairs that edges leave can be drawn again: with ``share=1`` the edges are at random pairs,
    independent of ``W``.

    Examples
    --------
    >>> W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    >>> bool((rewired(W, 0.0, np.random.default_rng(0)) == W).all())
    True
    >>> sorted(edges_from_adjacency(rewired(W, 1.0, np.random.default_rng(0))).tolist())
    [0.0, 1.0, 2.0]
    """
    edges = edges_from_adjacency(W)
    order = rng.permutation(np.flatnonzero(edges))
    leaving = order[: round(share * len(order))]
    weights = edges[leaving]
    edges = edges.copy()
    edges[leaving] = 0.0
    free = rng.permutation(np.flatnonzero(edges == 0))
    edges[free[: len(weights)]] = weights
    return adjacency_from_edges(edges)
