"""The two real data sets of the paper, as sources of the workflow.

Both come from :mod:`kgl.datasets`. Where the files are not to be had, a simulated stand-in of the
same shape takes their place, and everything made from it says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from experiments.datasets.centring import means
from experiments.lookup import ConfigError
from experiments.registry import STANDIN
from kgl import datasets
from kgl.datasets.catalogue import CorruptDownloadError
from kgl.datasets.files import search
from kgl.kernels import RBF, Mixed
from kgl.laplacian import Array, edges_from_adjacency, pairwise_sq_distances
from kgl.metrics import aps
from kgl.seeding import stream
from kgl.simulate import missing_mask
from kgl.solvers.density_step import density_step

__all__ = ["STANDIN", "WORTH", "choose_source", "facts", "sushi", "swiss", "why_missing"]

#: Of the names of the facts that say what K_x alone knows of the truth.
WORTH = "K_x alone"
_UNITS = {"m": 1.0, "km": 1000.0}


def choose_source(files: str, source: str) -> tuple[str, str]:
    """Return what a data set is made from, before any work starts, and why it is simulated.

    Parameters
    ----------
    files : {"swiss", "sushi"}
        Whose files.
    source : {"auto", "real", "simulated"}
        ``auto`` takes the files if they are to be had, ``real`` refuses to go on without them.

    Raises
    ------
    ConfigError
        Without the files, where ``source`` is ``real``.
    kgl.datasets.CorruptDataError
        If a file here is not what it should be, even with ``auto``: a wrong file is a mistake to
        mend, not a missing one. A wrong download is refused, and the data are not to be had.
    """
    if source == "simulated":
        return source, "data.source=simulated was asked for"
    why = why_missing(files)
    if why and source == "real":
        raise ConfigError(f"data.source = real, but {why}")
    return "simulated" if why else "real", why


@cache
def why_missing(files: str) -> str:
    """Return why a data set is not to be had, or nothing if it is."""
    try:
        found = search(files)
    except CorruptDownloadError as error:
        return f"the download was refused: {error}"
    return "" if found.directory is not None else found.explain()


def swiss(settings: Mapping[str, Any], replicate: int) -> dict[str, Array]:
    """Return the first months of the Swiss temperatures with entries removed at random.

    The truth is the graph that GL learns from all twelve months.
    """
    data, options = settings["data"], settings["data"]["options"]
    loaded = datasets.load_swiss(source=data["source"])
    Y = loaded.Y.to_numpy()
    n, m = data["n"], Y.shape[1]
    if n > len(Y):
        raise ConfigError(f"data.n = {n} months; the year has {len(Y)}")
    _check(m, settings)
    if options["unit"] not in _UNITS:
        raise ConfigError(f"data.options.unit = {options['unit']!r}; valid: {', '.join(_UNITS)}")
    altitude = loaded.x["altitude"].to_numpy()
    mask = missing_mask(
        n,
        m,
        data["missing"],
        stream(settings["seed"], "swiss", "mask", replicate),
        ensure_observed=options["keep_one"],
    )
    return {
        "Y": np.where(mask, Y[:n], np.nan),
        "Y_full": Y[:n],
        "W": _learned(Y, settings["graph"]["density"]),
        "K_x": _rbf(options["bandwidth_x"])(altitude / _UNITS[options["unit"]]),
        "K_z": _rbf(data["bandwidth"])(loaded.z["month"].to_numpy()[:n]),
        "names": np.array(loaded.temperature.columns, dtype=str),
        "altitude": altitude,
        "place": loaded.x[["longitude", "latitude"]].to_numpy(),
        "month_mean": loaded.temperature.to_numpy()[:n].mean(axis=1),
    }


def _learned(Y: Array, density: float) -> Array:
    """Return the graph of a given density that GL learns."""
    m = Y.shape[1]
    edges = round(density * m * (m - 1) / 2)
    truth, _ = density_step(pairwise_sq_distances(Y)[None], np.zeros(1), edges)
    return np.asarray(truth.weights[0])


@cache
def _sushi(source: str, min_rated: int) -> datasets.Sushi:
    return datasets.load_sushi(source=source, min_rated=min_rated)


def sushi(settings: Mapping[str, Any], replicate: int) -> dict[str, Array]:
    """Return the ratings of reviewers drawn at random; the truth is the group of each item.

    Draws of different sizes are nested: who is among the first twenty is among the first forty.
    """
    data, options = settings["data"], settings["data"]["options"]
    loaded = _sushi(data["source"], options["min_rated"])
    ratings = loaded.ratings.to_numpy()
    n = data["n"]
    if n > len(ratings):
        raise ConfigError(
            f"data.n = {n} reviewers; {len(ratings)} have rated at least {options['min_rated']} "
            "of the items: take fewer, or lower data.options.min_rated"
        )
    _check(ratings.shape[1], settings)
    rng = stream(settings["seed"], "sushi", "reviewers", replicate)
    drawn = rng.permutation(len(ratings))[:n]
    raw = ratings[drawn]
    Y = raw - means(raw, options["centre"])
    kernel_x = _rbf(options["bandwidth_x"], options["scale"])
    kernel_z = Mixed(combine=options["combine"], kernel=_rbf(data["bandwidth"], "standard"))
    return {
        "Y": Y,
        "Y_full": Y,  # what nobody rated, nobody knows
        # for entries that are held out, whose values must not be part of a mean
        "raw": raw,
        "centre": np.array(options["centre"]),
        "K_x": kernel_x(loaded.attributes),
        "K_z": kernel_z(loaded.z.iloc[drawn]),
        "groups": loaded.groups.to_numpy().astype(str),
        "names": np.array(loaded.ratings.columns, dtype=str),
    }


def _check(m: int, settings: Mapping[str, Any]) -> None:
    if m != settings["graph"]["m"]:
        raise ConfigError(
            f"graph.m = {settings['graph']['m']}, but the data have {m} nodes; name the graph that "
            "goes with them: stations (Swiss) or items (Sushi)"
        )


def _rbf(bandwidth: str | float, scale: Any = None) -> RBF:
    scale = None if scale == "none" else scale
    if isinstance(bandwidth, str):
        return RBF(bandwidth=bandwidth, scale=scale)
    return RBF(gamma=bandwidth, scale=scale)


def _worth(kernel: Array, W: Array) -> list[tuple[str, float, float]]:
    """Say how much a kernel of the nodes knows of the truth: a graph, or pairs of one group."""
    pairs = edges_from_adjacency(W)
    precision = aps(W, np.asarray(kernel), threshold=None)
    return [
        (f"{WORTH}: APS", precision, np.nan),
        (f"{WORTH}: share of true pairs", float((pairs > 0).mean()), np.nan),
    ]


def facts(files: str, source: str) -> list[dict[str, Any]]:
    """Return what a data set is, in numbers, beside what the paper says of it (NaN: nothing)."""
    rows: list[tuple[str, float, float]]
    if files == "swiss":
        stations = datasets.load_swiss(source=source)
        altitude = stations.x["altitude"]
        rows = [
            ("stations", len(stations.x), 89),
            ("months", len(stations.temperature), 12),
            ("lowest altitude (m)", altitude.min(), np.nan),
            ("highest altitude (m)", altitude.max(), np.nan),
        ]
        kernel = _rbf("median_distance")(altitude.to_numpy() / _UNITS["km"])
        rows += _worth(kernel, _learned(stations.Y.to_numpy(), 0.3))
    else:
        reviews = datasets.load_sushi(source=source, min_rated=0)
        rated = reviews.ratings.notna().sum(axis=1)
        paper = {"red-meat": 7, "clam": 6, "blue-skinned": 8, "vegetable": 6, "roe": 5}
        rows = [("items", reviews.ratings.shape[1], 32)]
        sizes = reviews.groups.astype(str).value_counts()
        rows += [(f"items: {name}", sizes.get(name, 0), size) for name, size in paper.items()]
        for k in range(4, 11):
            kept = rated[rated >= k]
            share = 1 - kept.mean() / reviews.ratings.shape[1]
            rows.append((f"reviewers with {k} or more ratings", len(kept), np.nan))
            rows.append((f"sparsity with {k} or more ratings", share, np.nan))
        rows.append(("sparsity", datasets.load_sushi(source=source).sparsity, 0.74))
        groups = reviews.groups.to_numpy().astype(str)
        same = (groups[:, None] == groups) & ~np.eye(len(groups), dtype=bool)
        rows += _worth(_rbf("median_distance")(reviews.attributes), same.astype(float))
    return [
        {"files": files, "source": source, "quantity": name, "value": float(value), "paper": paper}
        for name, value, paper in rows
    ]
