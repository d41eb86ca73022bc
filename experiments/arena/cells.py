"""The data of the study: simulated cells, and real tables with a reference graph.

Simulated graphs have an average degree that is no package's default, and families take turns.
Signals are smooth over the graph: their precision matrix is a Laplacian plus a multiple of the
identity, so that graphical models are well specified too. ``signed`` is their home ground: a
precision matrix of random signs.

The reference of a real table is known beside the data, and not what any method estimates:
neighbouring pixels, states with a border, the nearest stations, items of one group. Methods get no
covariates that it follows from. A share of the entries is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.arena.calls import Table
from experiments.arena.names import REAL
from experiments.pays.gaps import hide
from kgl import datasets
from kgl._types import Array
from kgl.laplacian import edges_from_adjacency
from kgl.random_graphs import random_graph
from kgl.seeding import stream
from kgl.simulate import SyntheticData, make_dataset, smooth_signals

__all__ = ["REAL_TABLES", "Replicate", "draw"]

FAMILIES = ("er", "ba", "sbm")
#: Variance of the noise of covariates, in units of their own variance.
SIDES = {"side_high": 0.1, "side_medium": 1.0, "side_low": 10.0, "all": 1.0}
#: Stations that are linked to each one in the reference: the nearest.
NEAREST = 5


@dataclass(frozen=True)
class Replicate:
    """A table, which pairs (pairs,) are true edges, and all values (n, m), NaN where unknown."""

    table: Table
    edges: np.ndarray
    values: Array


def draw(part: Mapping[str, Any], design: Mapping[str, Any], replicate: int) -> Replicate:
    """Return one replicate of a cell."""
    if part["kind"] == REAL:
        return _real(part, design, replicate)
    return _simulated(part, design, replicate)


# ------------------------------------------------------------------------------------ simulated


def _simulated(part: Mapping[str, Any], design: Mapping[str, Any], r: int) -> Replicate:
    kind, m, seed = part["kind"], part["m"], design["seed"]
    family = FAMILIES[r % len(FAMILIES)]
    if kind == "signed":
        return _signed(family, m, design, r)
    degree = design["degree"]
    # a Barabasi-Albert graph has half as many links per new node as its average degree
    options = {"attachment": degree // 2} if family == "ba" else {}
    made = make_dataset(
        family, m=m, n=design["n"], density=degree / (m - 1), noise=design["noise"],
        dependent=kind in ("dependent", "all"),
        missing=design["missing"] if kind in ("gaps", "all") else 0.0,
        seed=seed, replicate=r, **options,
    )  # fmt: skip
    x = _covariates(made, SIDES[kind], design, (seed, family, m, r)) if kind in SIDES else None
    z = np.arange(design["n"], dtype=float) if kind in ("dependent", "all") else None
    return Replicate(Table(made.Y, x, z), edges_from_adjacency(made.W) > 0, made.Y_full)


def _covariates(
    made: SyntheticData, noise: float, design: Mapping[str, Any], name: tuple[Any, ...]
) -> Array:
    """Return covariates (m, p) that are smooth over the graph, with noise."""
    seed, *names = name
    count = design["covariates"]
    values, _ = smooth_signals(
        made.K_x, None, stream(seed, "arena-covariates", *names), n=count, noise=0.0
    )
    scaled = values / values.std(axis=1, keepdims=True)
    errors = stream(seed, "arena-covariate-noise", *names).standard_normal(values.shape)
    return np.asarray((scaled + np.sqrt(noise) * errors).T)


def _signed(family: str, m: int, design: Mapping[str, Any], r: int) -> Replicate:
    """Draw from a Gaussian graphical model with partial correlations of both signs."""
    rng = stream(design["seed"], "arena-signed", family, m, r)
    degree = design["degree"]
    options = {"attachment": degree // 2} if family == "ba" else {}
    W = random_graph(family, m, rng, density=degree / (m - 1), **options)
    edges = edges_from_adjacency(W) > 0
    signs = np.triu(np.where(rng.random((m, m)) < 0.5, -1.0, 1.0), 1)
    precision = W * (signs + signs.T)
    # positive definite, with its least eigenvalue a tenth of the largest degree
    degrees = W.sum(axis=0)
    precision += (0.1 * degrees.max() - np.linalg.eigvalsh(precision)[0]) * np.eye(m)
    root = np.linalg.inv(np.linalg.cholesky(precision))
    Y = rng.standard_normal((design["n"], m)) @ root
    return Replicate(Table(Y), edges, Y)


# ----------------------------------------------------------------------------------------- real


@dataclass(frozen=True)
class RealTable:
    """A real table: values, covariates that methods get, and the reference graph."""

    Y: Array
    edges: np.ndarray
    x: Array | None = None
    z: Array | None = None


def _real(part: Mapping[str, Any], design: Mapping[str, Any], r: int) -> Replicate:
    found = REAL_TABLES[part["dataset"]](part["source"])
    hidden = hide(found.Y, "random", design["hidden"], design["seed"] + r, part["dataset"])
    given = np.where(hidden, np.nan, found.Y)
    return Replicate(Table(given, found.x, found.z), found.edges, found.Y)


def _near(points: Array, k: int) -> np.ndarray:
    """Return which pairs are linked: one is among the k nearest of the other."""
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    linked = np.zeros(distance.shape, dtype=bool)
    np.put_along_axis(linked, np.argsort(distance, axis=1, kind="stable")[:, :k], True, axis=1)
    return np.asarray((linked | linked.T)[np.triu_indices(len(points), 1)])


def swiss(source: str) -> RealTable:
    """Monthly temperatures; altitude and month are given, places are the reference."""
    loaded = datasets.load_swiss(source=source)
    place = loaded.x[["longitude", "latitude"]].to_numpy() * [np.cos(np.deg2rad(46.8)), 1.0]
    return RealTable(
        loaded.temperature.to_numpy(), _near(place, NEAREST),
        loaded.x[["altitude"]].to_numpy(dtype=float), loaded.z["month"].to_numpy(dtype=float),
    )  # fmt: skip


def sushi(source: str) -> RealTable:
    """Ratings of a hundred reviewers; attributes of the items are given, their groups are not."""
    loaded = datasets.load_sushi(source=source, min_rated=8)
    groups = loaded.groups.to_numpy()
    same = (groups[:, None] == groups[None])[np.triu_indices(len(groups), 1)]
    # reviewers who rated most, so that no two items lack common reviewers
    order = np.argsort(-loaded.ratings.notna().sum(axis=1).to_numpy(), kind="stable")[:100]
    return RealTable(loaded.ratings.to_numpy(dtype=float)[order], same,
                     np.asarray(loaded.attributes, dtype=float))  # fmt: skip


def digits(source: str) -> RealTable:
    """Grey values of handwritten digits; pixels side by side are the reference."""
    from experiments.pays.datasets import load

    table = load("digits")
    assert table.x is not None
    place = table.x.to_numpy()
    beside = np.abs(place[:, None] - place[None]).sum(axis=2) == 1
    return RealTable(table.Y.to_numpy(), beside[np.triu_indices(len(place), 1)])


def incomes(source: str) -> RealTable:
    """Incomes of states by year; states with a common border are the reference."""
    import geopandas

    from experiments.pays.datasets import _package, load

    table = load("incomes")
    assert table.z is not None
    shapes = geopandas.read_file(_package("libpysal") / "examples" / "us_income" / "us48.shp")
    areas = shapes.set_index(shapes["STATE_NAME"].astype(str)).loc[list(table.Y.columns)].geometry
    touch = np.array([areas.intersects(area).to_numpy() for area in areas])
    return RealTable(table.Y.to_numpy(), touch[np.triu_indices(len(areas), 1)],
                     z=table.z.to_numpy(dtype=float))  # fmt: skip


#: The real tables by name.
REAL_TABLES: dict[str, Callable[[str], RealTable]] = {
    make.__name__: make for make in (swiss, sushi, digits, incomes)
}
