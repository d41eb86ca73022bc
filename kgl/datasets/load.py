"""The loaders of the real data sets, which return stand-ins where files are unavailable."""

from __future__ import annotations

import numpy as np

from kgl.datasets import sushi, swiss
from kgl.datasets.catalogue import DATA_SETS
from kgl.datasets.files import real_or_none
from kgl.datasets.standin import simulate_sushi, simulate_swiss
from kgl.datasets.verify import sha256

__all__ = ["load_sushi", "load_swiss"]

#: The first 50 items: the one prefix of the list that has the paper's 7, 6, 8, 6 and 5 sushis.
_FIRST = 50


def load_swiss(*, source: str = "auto") -> swiss.Swiss:
    """Load the monthly mean temperatures at 89 Swiss stations, normals of 1981-2010.

    Parameters
    ----------
    source : {"auto", "real", "simulated"}
        ``"real"`` finds or downloads the files, see `find`, and raises `DataUnavailableError` where
        they are unavailable; ``"auto"`` warns then and returns the stand-in; ``"simulated"`` is
        the stand-in, ``simulate_swiss()``.

    Returns
    -------
    Swiss

    Notes
    -----
    Source: MeteoSwiss. Station names are matched by position from a later table of MeteoSwiss;
    without that file, stations are called "station 01", "station 02", ...

    Examples
    --------
    >>> data = load_swiss(source="simulated")
    >>> data.Y.shape, data.simulated
    ((12, 89), True)
    """
    folder = real_or_none("swiss", source)
    if folder is None:
        return simulate_swiss()
    main, table = (folder / file.name for file in DATA_SETS["swiss"].files)
    temperature, altitude, places = swiss.read_temperature(main)
    origin = f"MeteoSwiss normals 1981-2010, {main.name} (sha256 {sha256(main)[:12]})"
    if table.is_file():
        names = swiss.match_names(places, *swiss.read_stations(table))
        origin += f", names from {table.name} (sha256 {sha256(table)[:12]})"
    else:
        names = [f"station {k:02d}" for k in range(1, len(altitude) + 1)]
        origin += ", without station names"
    return swiss.assemble(temperature, altitude, places, names, simulated=False, origin=origin)


def load_sushi(*, source: str = "auto", min_rated: int = 8) -> sushi.Sushi:
    """Load the ratings of the paper's 32 sushis.

    Parameters
    ----------
    source : {"auto", "real", "simulated"}
        ``"real"`` finds or downloads the files, see `find`, and raises `DataUnavailableError` where
        they are unavailable; ``"auto"`` warns then and returns the stand-in; ``"simulated"`` is
        the stand-in, ``simulate_sushi()``.
    min_rated : int, default 8
        Keep the reviewers who rated at least as many of the 32, from 0 (all 5000, two of whom
        rated none) to 10. With 8, 182 reviewers are left and 74.6 % of the cells are empty, the
        nearest to the paper's 74 %.

    Returns
    -------
    Sushi

    Notes
    -----
    Cite T. Kamishima, "Nantonac Collaborative Filtering: Recommendation Based on Order Responses",
    KDD 2003. The data must not be passed on. The paper does not list its 32 sushis: those of its
    five groups among the first 50 of the list have the numbers it gives, 7, 6, 8, 6 and 5.

    Examples
    --------
    >>> data = load_sushi(source="simulated")
    >>> data.ratings.shape, round(data.sparsity, 3)
    ((182, 32), 0.746)
    """
    min_rated = sushi.check_min_rated(min_rated)
    folder = real_or_none("sushi", source)
    if folder is None:
        return simulate_sushi(min_rated=min_rated)
    paths = [folder / file.name for file in DATA_SETS["sushi"].files]
    names, attributes = sushi.read_items(paths[0])
    features, ratings = sushi.read_reviewers(paths[1]), sushi.read_scores(paths[2])
    minor = attributes[:, 2]
    chosen, groups = [], []
    for group, code in sushi.GROUPS.items():
        members = np.flatnonzero(minor[:_FIRST] == code).tolist()
        chosen += members
        groups += [group] * len(members)
    hashes = ", ".join(f"{path.name} (sha256 {sha256(path)[:12]})" for path in paths)
    return sushi.assemble(
        [names[k] for k in chosen],
        groups,
        np.delete(attributes[chosen], 2, axis=1),
        features,
        ratings[:, chosen],
        min_rated=min_rated,
        simulated=False,
        origin=f"SUSHI Preference Data Sets of T. Kamishima, {hashes}",
    )
