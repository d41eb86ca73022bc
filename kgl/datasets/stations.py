"""Simulated temperatures at made-up weather stations, for examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgl._optional import import_optional
from kgl._validation import check_whole
from kgl.kernels import RBF
from kgl.seeding import stream
from kgl.simulate import missing_mask, smooth_signals

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Stations", "make_stations"]

_SYLLABLES = ("al", "ber", "cor", "dun", "el", "fal", "gri", "hol", "is", "jor", "kel", "lun")
_ENDINGS = ("au", "berg", "dorf", "egg", "feld", "horn", "matt", "see", "stein", "tal", "wil", "ya")


@dataclass(frozen=True)
class Stations:
    """Simulated temperatures at made-up weather stations.

    Attributes
    ----------
    Y : DataFrame (hours, stations)
        Departures from each station's mean temperature in degrees Celsius, NaN where missing.
    x : DataFrame (stations, 3)
        Position (``east``, ``north``) and ``altitude``, all in kilometres.
    z : DataFrame (hours, 1)
        ``hour`` of the record.
    signals : array (hours, stations)
        The noise-free values, without gaps.
    """

    Y: pd.DataFrame
    x: pd.DataFrame
    z: pd.DataFrame
    signals: np.ndarray


def _scatter(m: int, rng: np.random.Generator) -> np.ndarray:
    """Place ``m`` points in 100 x 60 km, each at the roomiest of thirty random spots."""
    places = rng.uniform((0, 0), (100, 60), (1, 2))
    while len(places) < m:
        spots = rng.uniform((0, 0), (100, 60), (30, 2))
        room = np.linalg.norm(spots[:, None] - places, axis=2).min(axis=1)
        places = np.vstack([places, spots[np.argmax(room)]])
    return places


def make_stations(m: int = 24, n: int = 72, *, missing: float = 0.2, seed: int = 0) -> Stations:
    """Simulate hourly temperatures at ``m`` stations: near ones at like altitudes go together.

    Parameters
    ----------
    m, n : int
        Stations (at most 144, the names there are) and hours.
    missing : float
        Share of records that are missing.
    seed : int
        Root of the random streams.

    Returns
    -------
    Stations

    Examples
    --------
    >>> data = make_stations()
    >>> data.Y.shape, round(float(data.Y.isna().mean().mean()), 1)
    ((72, 24), 0.2)
    """
    pd = import_optional("pandas", "frame", "make_stations")
    names = [(a + b).capitalize() for b in _ENDINGS for a in _SYLLABLES]
    check_whole("m", m, 2, len(names))  # stations need names
    check_whole("n", n, 1)
    rng = stream(seed, "stations", "places")
    east, north = _scatter(m, rng).T
    # a ridge along the northern edge, and valleys
    altitude = 0.4 + 2.0 * (north / 60) ** 2 * rng.uniform(0.3, 1.0, m)
    x = pd.DataFrame(
        {"east": east, "north": north, "altitude": altitude},
        index=pd.Index(rng.choice(names, m, replace=False), name="station"),
    ).round(2)
    hours = np.arange(n, dtype=float)
    K_x = RBF(gamma=1.0)(np.column_stack([east / 30, north / 30, altitude / 0.5]))
    K_z = RBF(gamma=1.0 / 18.0)(hours)
    signals, Y = smooth_signals(
        4.0 * K_x,
        K_z,
        stream(seed, "stations", "signals", m, n),
        noise=0.09,
        noise_rng=stream(seed, "stations", "noise", m, n),
    )
    mask = missing_mask(n, m, missing, stream(seed, "stations", "mask", m, n))
    index = pd.Index(hours.astype(int), name="hour")
    return Stations(
        Y=pd.DataFrame(np.where(mask, Y, np.nan), index=index, columns=x.index).round(2),
        x=x,
        z=pd.DataFrame({"hour": hours}, index=index),
        signals=signals,
    )
