"""Monthly mean temperatures at 89 Swiss stations, normals of 1981-2010 (MeteoSwiss)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kgl._optional import import_optional
from kgl._types import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MONTHS", "Swiss", "assemble", "match_names", "read_stations", "read_temperature"]

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

#: A station of the table of names may lie this far (km) from where the data have it: stations
#: were moved, the farthest by 1.5 km, between the two editions.
_FARTHEST = 5.0


@dataclass(frozen=True, eq=False)
class Swiss:
    """Monthly temperatures at weather stations, with the stations' altitude and position.

    Attributes
    ----------
    temperature : DataFrame (12 months, 89 stations)
        Mean temperature in degrees Celsius, not centred.
    x : DataFrame (89, 3)
        ``altitude`` in metres, ``latitude`` and ``longitude`` in degrees.
    z : DataFrame (12, 1)
        ``month``, 1.0 to 12.0.
    simulated : bool
        Whether this is the stand-in and not the real data.
    origin : str
        Where the data come from, in one line.
    """

    temperature: pd.DataFrame
    x: pd.DataFrame
    z: pd.DataFrame
    simulated: bool
    origin: str

    @property
    def Y(self) -> pd.DataFrame:
        """Temperatures less the mean over the stations of each month: the paper's signals."""
        return self.temperature.sub(self.temperature.mean(axis=1), axis=0)


def assemble(
    temperature: Array,
    altitude: Array,
    places: Array,
    names: list[str],
    *,
    simulated: bool,
    origin: str,
) -> Swiss:
    """Put arrays (temperatures stations x months, latitude and longitude) into a `Swiss`."""
    pd = import_optional("pandas", "data", "load_swiss")
    stations = pd.Index(names, name="station")
    months = pd.Index(MONTHS, name="month")
    return Swiss(
        temperature=pd.DataFrame(temperature.T, index=months, columns=stations),
        x=pd.DataFrame(
            {"altitude": altitude, "latitude": places[:, 0], "longitude": places[:, 1]},
            index=stations,
        ),
        z=pd.DataFrame({"month": np.arange(1.0, 13.0)}, index=months),
        simulated=simulated,
        origin=origin,
    )


# ------------------------------------------------------------------------------------ files


def read_temperature(path: Path) -> tuple[Array, Array, Array]:
    """Read temperatures (stations x 12), altitudes and positions from the MATLAB file."""
    content = import_optional("scipy.io", "data", "load_swiss").loadmat(path)
    # altitudes are stored as uint16, in which differences would wrap around
    names = ("temp_records", "altitude", "coordinates")
    temperature, altitude, places = (np.asarray(content[name], dtype=float) for name in names)
    return temperature, altitude[:, 0], places


def to_wgs84(east: Array, north: Array) -> Array:
    """Latitude and longitude in degrees of Swiss LV03 coordinates in metres.

    By swisstopo's approximate formulas, which are good to about a metre.

    Examples
    --------
    >>> to_wgs84(np.array([700000.0]), np.array([100000.0])).round(5)
    array([[46.04413,  8.7305 ]])
    """
    y, x = (east - 600000.0) / 1e6, (north - 200000.0) / 1e6
    longitude = 2.6779094 + 4.728982 * y + 0.791484 * y * x + 0.1306 * y * x**2 - 0.0436 * y**3
    latitude = (
        16.9023892
        + 3.238272 * x
        - 0.270978 * y**2
        - 0.002528 * x**2
        - 0.0447 * y**2 * x
        - 0.0140 * x**3
    )
    return np.asarray(np.column_stack([latitude, longitude]) * (100 / 36))


def read_stations(path: Path) -> tuple[list[str], Array]:
    """Read names and positions (latitude, longitude) of stations from MeteoSwiss's table."""
    lines = path.read_text(encoding="utf-8").split("\n")
    rows = [line.rstrip("\r").split("\t") for line in lines if line.strip()]
    header = [row[0] for row in rows].index("Station")  # there are lines of text above it
    stations = rows[header + 1 :]
    east, north = np.array([row[2].split(" / ") for row in stations], dtype=float).T
    return [row[0] for row in stations], to_wgs84(east, north)


def match_names(places: Array, names: list[str], known: Array) -> list[str]:
    """Name each position by the nearest known one; no name twice, none from far away."""
    # kilometres on the plane that touches Switzerland: it is small
    km = np.array([111.2, 111.2 * np.cos(np.deg2rad(46.8))])
    distance = np.linalg.norm((places[:, None] - known) * km, axis=2)
    nearest = distance.argmin(axis=1)
    taken: dict[int, int] = {}
    for k, j in enumerate(nearest.tolist()):
        if distance[k, j] > _FARTHEST:
            raise ValueError(
                f"station {k + 1} lies {distance[k, j]:.1f} km from the nearest station of the "
                f"table, {names[j]}; delete the table to number the stations instead"
            )
        if j in taken:
            raise ValueError(f"stations {taken[j] + 1} and {k + 1} are both nearest to {names[j]}")
        taken[j] = k
    return [names[j] for j in nearest]
