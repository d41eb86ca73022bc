"""Compare the files of two runs of a study byte by byte, measured times apart."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pandas as pd
from pyarrow import parquet

from experiments import times
from experiments.sums import SUMS

Files = Mapping[str, bytes]
#: Kinds of files that show the scores of a study.
DRAWN = ("figures", "gallery")
ABOUT_THE_RUN = rb'<section id="%s">.*?</section>' % times.SECTION.encode()


class Comparison(NamedTuple):
    """Names of files: equal ones, those that differ in measured times alone, and all others."""

    same: list[str]
    timed: list[str]
    different: list[str]


def results(files: Files) -> dict[str, bytes]:
    """Return the results among the files of ``results/``: what is not a record of times."""
    found = {}
    for name, content in files.items():
        parts = PurePosixPath(name).parts
        # results/<run>/<kind>/...; kept fits and the lock are beside the runs
        if parts[1].startswith(".") or parts[2] in times.KINDS:
            continue
        if not (parts[2] == "gallery" and parts[-1].startswith(times.KINDS)):
            found[name] = content
    return found


def compare(first: Files, second: Files) -> Comparison:
    """Compare the results of two runs, by name relative to the checkout."""
    one, two = results(first), results(second)
    drawn = only_times(one)
    found = Comparison([], [], [])
    for name in sorted(one.keys() | two.keys()):
        if one.get(name) == two.get(name):
            found.same.append(name)
        elif name in one and name in two and (
            _shows(name, drawn) or without_times(name, one[name]) == without_times(name, two[name])
        ):  # fmt: skip
            found.timed.append(name)
        else:
            found.different.append(name)
    return found


def only_times(files: Files) -> set[str]:
    """Return the studies whose scores are times alone: so is what their figures show."""
    found = set()
    for path in map(PurePosixPath, files):
        if path.match("results/*/tables/*.parquet"):
            table = parquet.read_table(io.BytesIO(files[str(path)])).to_pandas()
            if len(table) and times.without_times(table).empty:
                found.add(path.stem)
    return found


def _shows(name: str, studies: set[str]) -> bool:
    path = PurePosixPath(name)
    return path.parts[2] in DRAWN and path.stem in studies


def without_times(name: str, content: bytes) -> Any:
    """Return what a file holds besides measured times."""
    kind = PurePosixPath(name).suffix
    if PurePosixPath(name).name == SUMS:  # of files with times, too
        return [line[66:] for line in content.decode().splitlines()]
    if kind == ".parquet":
        table = parquet.read_table(io.BytesIO(content))
        made = (table.schema.metadata or {}).get(b"kgl.provenance")
        return times.without_times(table.to_pandas()).to_csv(), made
    if kind == ".csv":
        return times.without_times(pd.read_csv(io.BytesIO(content), dtype=str)).to_csv()
    if kind == ".npz":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [n for n in archive.namelist() if not times.is_time(n.removesuffix(".npy"))]
            return {n: archive.read(n) for n in names}
    if kind == ".html":
        return re.sub(ABOUT_THE_RUN, b"", content, flags=re.DOTALL)
    return content
