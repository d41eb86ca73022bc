"""The two real data sets of the paper, as sources of the workflow.

Both come from :mod:`kgl.datasets`. Where the files are unavailable, a simulated stand-in of the
same shape replaces them, and every table and figure made from it is labelled as a stand-in.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from experiments.datasets.centring import means
from experiments.lookup import ConfigError
from kgl import datasets
from kgl._types import Array
from kgl.datasets.catalogue import CorruptDownloadError
from kgl.datasets.files import search
from kgl.kernels import RBF, Mixed
from kgl.laplacian import edges_from_adjacency, pairwise_sq_distances
from kgl.metrics import aps
from kgl.seeding import stream
from kgl.simulate import missing_mask
from kgl.solvers.density_step import density_step

__all__ = ["choose_source", "facts", "reviewers", "sushi", "swiss", "why_unavailable"]

_UNITS = {"m": 1.0, "km": 1000.0}


def choose_source(files: str, source: str) -> tuple[str, str]:
    """Return ``real`` or ``simulated``, and the reason for ``simulated``, before any work starts.

    Parameters
    ----------
    files : {"swiss", "sushi"}
        The data set.
    source : {"auto", "real", "simulated"}
        ``auto`` uses the files if they are available, ``real`` raises an error without them.

    Raises
    ------
    ConfigError
        If the files are unavailable and ``source`` is ``real``.
    kgl.datasets.CorruptDataError
        If a file on this machine has wrong contents, even with ``auto``: the user must fix it. A
        download with wrong contents is refused, and the data are unavailable.
    """
    if source == "simulated":
        return source, "data.source=simulated was asked for"
    why = why_unavailable(files)
    if why and source == "real":
        raise ConfigError(f"data.source = real, but {why}")
    return "simulated" if why else "real", why


@cache
def why_unavailable(files: str) -> str:
    """Return why a data set is unavailable; an empty string if it is available."""
    try:
        found = search(files)
    except CorruptDownloadError as error:
        return f"the download was refused: {error}"
    return "" if found.directory is not None else found.explain()


def swiss(settings: Mapping[str, Any], replicate: int) -> dict[str, Array]:
    """Return the first months of the Swiss temperatures with entries removed at random.

    The ground truth is the graph that GL learns from all twelve months.
    """
    data, options = settings["data"], settings["data"]["options"]
    loaded = datasets.load_swiss(source=data["source"])
    Y = loaded.Y.to_numpy()
    n, m = data["n"], Y.shape[1]
    if n > len(Y):
        raise ConfigError(f"data.n = {n} months; the data have {len(Y)}: lower data.n")
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
    learned, _ = density_step(pairwise_sq_distances(Y)[None], np.zeros(1), edges)
    return np.asarray(learned.weights[0])


@cache
def _sushi(source: str, min_rated: int) -> datasets.Sushi:
    return datasets.load_sushi(source=source, min_rated=min_rated)


def sushi(settings: Mapping[str, Any], replicate: int) -> dict[str, Array]:
    """Return the ratings of reviewers drawn at random; the ground truth is the group of each item.

    Draws of different sizes are nested: the first twenty reviewers are among the first forty.
    """
    data, options = settings["data"], settings["data"]["options"]
    loaded = _sushi(data["source"], options["min_rated"])
    ratings = loaded.ratings.to_numpy()
    n = data["n"]
    if n > len(ratings):
        raise ConfigError(
            f"data.n = {n} reviewers; {len(ratings)} rated at least {options['min_rated']} of the "
            "items: lower data.n or data.options.min_rated"
        )
    _check(ratings.shape[1], settings)
    drawn = reviewers(len(ratings), n, settings["seed"], replicate)
    raw = ratings[drawn]
    Y = raw - means(raw, options["centre"])
    kernel_x = _rbf(options["bandwidth_x"], options["scale"])
    kernel_z = Mixed(combine=options["combine"], kernel=_rbf(data["bandwidth"], "standard"))
    return {
        "Y": Y,
        "Y_full": Y,  # ratings that were not given are unknown
        # cross-validation centres again, without the entries that it withholds
        "raw": raw,
        "centre": np.array(options["centre"]),
        "K_x": kernel_x(loaded.attributes),
        "K_z": kernel_z(loaded.z.iloc[drawn]),
        "groups": loaded.groups.to_numpy().astype(str),
        "names": np.array(loaded.ratings.columns, dtype=str),
    }


def reviewers(total: int, n: int, seed: int, replicate: int) -> np.ndarray:
    """Return the rows of reviewers drawn at random."""
    return stream(seed, "sushi", "reviewers", replicate).permutation(total)[:n]


def _check(m: int, settings: Mapping[str, Any]) -> None:
    if m != settings["graph"]["m"]:
        raise ConfigError(
            f"graph.m = {settings['graph']['m']}, but the data have {m} nodes; set the graph of "
            "the data: graph=stations (Swiss) or graph=items (Sushi)"
        )


def _rbf(bandwidth: str | float, scale: Any = None) -> RBF:
    scale = None if scale == "none" else scale
    if isinstance(bandwidth, str):
        return RBF(bandwidth=bandwidth, scale=scale)
    return RBF(gamma=bandwidth, scale=scale)


#: Key, name and value of a fact, and the paper's value (NaN: not given).
_Fact = tuple[str, str, float, float]


def facts(files: str, source: str) -> list[dict[str, Any]]:
    """Return counts and other quantities of a data set beside the paper's values (NaN: not given).

    ``key`` identifies a fact, ``quantity`` is its name for people.
    """
    rows = _swiss_facts(source) if files == "swiss" else _sushi_facts(source)
    return [
        {
            "files": files,
            "source": source,
            "key": key,
            "quantity": name,
            "value": float(value),
            "paper": paper,
        }
        for key, name, value, paper in rows
    ]


def _swiss_facts(source: str) -> list[_Fact]:
    loaded = datasets.load_swiss(source=source)
    altitude = loaded.x["altitude"]
    kernel = _rbf("median_distance")(altitude.to_numpy() / _UNITS["km"])
    return [
        ("stations", "stations", len(loaded.x), 89),
        ("months", "months", len(loaded.temperature), 12),
        ("altitude_min", "lowest altitude (m)", altitude.min(), np.nan),
        ("altitude_max", "highest altitude (m)", altitude.max(), np.nan),
        *_informativeness(kernel, _learned(loaded.Y.to_numpy(), 0.3)),
    ]


def _sushi_facts(source: str) -> list[_Fact]:
    loaded = datasets.load_sushi(source=source, min_rated=0)
    items = loaded.ratings.shape[1]
    rows: list[_Fact] = [("items", "items", items, 32)]
    sizes = loaded.groups.astype(str).value_counts()
    printed = {"red-meat": 7, "clam": 6, "blue-skinned": 8, "vegetable": 6, "roe": 5}
    for name, size in printed.items():
        rows.append((f"items_{name}", f"items: {name}", sizes.get(name, 0), size))
    rated = loaded.ratings.notna().sum(axis=1)
    for k in range(4, 11):
        those = rated[rated >= k]
        share = 1 - those.mean() / items
        rows.append((f"reviewers_{k}", f"reviewers with {k} or more ratings", len(those), np.nan))
        rows.append((f"sparsity_{k}", f"sparsity with {k} or more ratings", share, np.nan))
    rows.append(("sparsity", "sparsity", datasets.load_sushi(source=source).sparsity, 0.74))
    groups = loaded.groups.to_numpy().astype(str)
    same = (groups[:, None] == groups) & ~np.eye(len(groups), dtype=bool)
    kernel = _rbf("median_distance")(loaded.attributes)
    return rows + _informativeness(kernel, same.astype(float))


def _informativeness(kernel: Array, W: Array) -> list[_Fact]:
    """Return the APS of a node kernel used as the graph, and that of guessing.

    ``W`` is the ground truth: a graph, or the pairs of nodes of one group.
    """
    precision = aps(W, np.asarray(kernel), threshold=None)
    share = float((edges_from_adjacency(W) > 0).mean())
    return [
        ("kx_aps", "K_x alone: APS", precision, np.nan),
        ("kx_share", "K_x alone: share of true pairs", share, np.nan),
    ]
