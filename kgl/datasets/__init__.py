"""Data sets with side information: examples, and the real data of the paper.

`make_stations` draws a small simulated example. `load_swiss` (monthly temperatures at 89 Swiss
stations) and `load_sushi` (ratings of 32 sushis) read the two real data sets of the paper. No
data come with kgl: files are looked for in a few places, downloaded if need be, and used only if
their sha256 is right (`find`); ``data/README.md`` has sources, terms and how to place files by
hand. Where the files are unavailable, `simulate_swiss` and `simulate_sushi` make stand-ins of
the same form, labelled as such.
"""

from kgl.datasets.catalogue import CorruptDataError, DataUnavailableError
from kgl.datasets.files import find
from kgl.datasets.load import load_sushi, load_swiss
from kgl.datasets.standin import simulate_sushi, simulate_swiss
from kgl.datasets.stations import Stations, make_stations
from kgl.datasets.sushi import Sushi
from kgl.datasets.swiss import Swiss

__all__ = [
    "CorruptDataError",
    "DataUnavailableError",
    "Stations",
    "Sushi",
    "Swiss",
    "find",
    "load_sushi",
    "load_swiss",
    "make_stations",
    "simulate_sushi",
    "simulate_swiss",
]
