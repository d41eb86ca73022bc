"""Measured times and memory: all in which two runs of the same code and settings may differ.

All else has the same bytes on whatever machine and however often it is computed. What measures
them writes them under a name of this module, and what compares runs leaves these out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KINDS", "MEMORY", "SECONDS", "SECTION", "TIMED", "is_time", "without_times"]

#: A column of tables, a metric of scores, and an array of fits.
SECONDS = "seconds"
#: A column of tables: the peak of a process.
MEMORY = "memory"
#: The column of the claims that marks criteria which are judged by times.
TIMED = "timed"
#: Kinds of files about the jobs of a run and its machine: directories of ``results/<run>``, and
#: names of records in the gallery.
KINDS = ("logs", "benchmarks", "jobs", "run")
#: The section of the report page about the machine and its jobs.
SECTION = "machine"


def is_time(array: str) -> bool:
    """Return whether an array of a file of fits, named ``model/array``, holds times."""
    return array.rpartition("/")[2] == SECONDS


def without_times(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table without its times: columns, or rows of a metric or of claims about them."""
    kept = table.drop(columns=[SECONDS, MEMORY], errors="ignore")
    if "metric" in kept:
        kept = kept[kept["metric"] != SECONDS]
    if TIMED in kept:
        kept = kept[~kept[TIMED].astype(str).eq("True")]
    return kept
