"""The paper's synthetic data, and :func:`build`, which runs any source of data.

A source is a function ``f(settings, replicate) -> dict of arrays`` that ``make`` of a file in
``conf/data`` names. ``settings`` has the composed groups ``graph`` and ``data`` and the root seed.
The arrays are ``Y`` (n, m) with NaN for missing entries and ``Y_full``, the same with the known
values; ``W`` (m, m), the true graph, or ``groups`` (m,), the true clusters of the nodes; ``K_x``
(m, m), ``K_z`` (n, n) for dependent observations; and any others that figures use. All models are
fitted to the same arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from experiments.lookup import resolve
from kgl._types import Array
from kgl.simulate import GRAPH_FAMILIES, SyntheticData, make_dataset

__all__ = ["build", "draw", "synthetic"]


def draw(settings: Mapping[str, Any], replicate: int) -> SyntheticData:
    """Draw a random graph and smooth signals on it, as in the paper's synthetic experiments."""
    graph, data = settings["graph"], settings["data"]
    family = graph["family"]
    if "." in family:
        # not a family of kgl: registered under its dotted path, which also names its random streams
        GRAPH_FAMILIES[family] = resolve(family, what="graph family")
    return make_dataset(
        family,
        m=graph["m"],
        n=data["n"],
        alpha=graph["alpha"],
        dependent=data["dependent"],
        bandwidth=data["bandwidth"],
        noise=data["noise"] ** (2 if data.get("noise_axis") == "deviation" else 1),
        missing=data["missing"],
        density=graph["density"],
        weights=graph["weights"],
        connected=graph["connected"],
        unit_variance=graph.get("unit_variance", False),
        scale=graph.get("scale", 1.0),
        seed=settings["seed"],
        replicate=replicate,
        **graph["options"],
    )


def synthetic(settings: Mapping[str, Any], replicate: int) -> dict[str, Array]:
    """Return the arrays of :func:`draw` that models and metrics use: a source of data."""
    made = draw(settings, replicate)
    arrays = {"Y": made.Y, "Y_full": made.Y_full, "W": made.W, "K_x": made.K_x}
    return arrays if made.K_z is None else {**arrays, "K_z": made.K_z}


def build(
    settings: Mapping[str, Any], report: Callable[[str], None] = lambda _: None
) -> dict[str, Array]:
    """Return the arrays of all replicates of a dataset, stacked along a first axis."""
    source = resolve(settings["make"], what="data.make")
    replicates = settings["replicates"]
    made = []
    for replicate in range(replicates):
        made.append(source(settings, replicate))
        n, m = made[-1]["Y"].shape
        gaps = float(np.isnan(made[-1]["Y"]).mean())
        report(f"replicate {replicate + 1}/{replicates}: {n} x {m}, {gaps:.1%} missing")
    return {name: np.stack([arrays[name] for arrays in made]) for name in made[0]}
