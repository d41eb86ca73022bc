"""Read a directory of published figures and tables.

Every file but ``claims.csv`` may be absent: what would be reported from it is then left out. A file
made from simulated data in place of real ones ends in ``-SIMULATED-STAND-IN``; it is used only
where there is no other, and :attr:`Gallery.simulated` names it. Files of a synthetic study are
named by study and protocol; :meth:`Gallery.under` has those of one protocol by study alone.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from experiments.claims import Judgement, from_table
from experiments.io import load_table
from experiments.registry import PROTOCOLS, STANDIN_SUFFIX, split_protocol
from experiments.sums import check_sum
from kgl._optional import import_optional

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Gallery", "Picture", "load"]

#: Letters of the claims, in the order of the paper.
_ORDER = "NMYSHAWU"
#: Columns of the table of the jobs; a study about cost may have a table of the same name.
_COST = {"job", "minutes_in_all"}
#: The study of unstated settings, and its small twin; of these alone the whole table is read.
_INFERENCE = ("inference.parquet", "inference_tiny.parquet")

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Picture:
    """A PNG file: where it is and how large, in pixels."""

    path: Path
    width: int
    height: int


@dataclass(frozen=True)
class Gallery:
    """The files of a directory.

    Attributes
    ----------
    claims : DataFrame
        One row per claim, specification and criterion.
    tables : dict
        All other CSV files, by the name of the study.
    pictures : dict
        PNG files, by the name of the study.
    captions : dict
        For each study ``title``, ``caption`` and ``figure``, its number in the paper or None.
    provenance, run : dict
        What made the tables; the machine and the time. Empty where unknown.
    simulated : tuple of str
        Names of what was made from simulated data in place of real ones.
    inference : DataFrame or None
        The table of the study of unstated settings.
    """

    claims: pd.DataFrame
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    pictures: dict[str, Picture] = field(default_factory=dict)
    captions: dict[str, dict[str, Any]] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    simulated: tuple[str, ...] = ()
    inference: pd.DataFrame | None = None

    @cached_property
    def judged(self) -> list[Judgement]:
        """The claims under all specifications of the full tables."""
        return from_table(self.claims)

    @cached_property
    def defaults(self) -> list[Judgement]:
        """The claims under the default specification, in the order of the paper."""
        return sorted((one for one in self.judged if one.default), key=lambda j: _place(j.claim.id))

    @cached_property
    def protocols(self) -> list[str]:
        """The protocols under which claims were judged, those of the registry first.

        The report compares two; those of further ones are in ``claims.csv`` alone.
        """
        found = dict.fromkeys(one.protocol for one in self.judged if one.protocol)
        known = [name for name in PROTOCOLS if name in found]
        return (known + [name for name in found if name not in PROTOCOLS])[:2]

    @cached_property
    def views(self) -> dict[str, Gallery]:
        """What there is under each protocol; everything, under '', where there is none."""
        return {name: self.under(name) for name in self.protocols} or {"": self}

    def under(self, protocol: str) -> Gallery:
        """Return the files of one protocol, by study alone, and those that have none."""
        return replace(
            self,
            claims=self.claims[self.claims["protocol"].isin([protocol, ""])],
            tables=_of(self.tables, protocol),
            pictures=_of(self.pictures, protocol),
            captions=_of(self.captions, protocol),
        )

    def table(self, name: str, *columns: str) -> pd.DataFrame | None:
        """Return a table that has these columns, or None."""
        found = self.tables.get(name)
        return found if found is not None and set(columns) <= set(found.columns) else None

    @cached_property
    def cost(self) -> pd.DataFrame | None:
        """Time and memory of the jobs, by kind."""
        for table in self.tables.values():
            if set(table.columns) >= _COST:
                return table
        return None

    def title(self, study: str) -> str:
        """Return what a figure is called."""
        return str(self.captions.get(study, {}).get("title") or study.replace("_", " "))

    def caption(self, study: str) -> str:
        """Return the caption of a figure, without its title in front; empty where unknown."""
        text = str(self.captions.get(study, {}).get("caption") or "")
        return text.removeprefix(f"{self.title(study)}. ")


def load(found: str | Path | Iterable[str | Path]) -> Gallery:
    """Read published files.

    Parameters
    ----------
    found : path or iterable of paths
        A directory, or files; those of other formats are not looked at.

    Raises
    ------
    FileNotFoundError
        If there is no ``claims.csv``: without it there is nothing to report.
    """
    pd = import_optional("pandas", "workflow", "the replication")
    where = "among the files"
    if isinstance(found, str | Path):
        where = f"in {found}"
        found = Path(found).glob("*")
    files, simulated = _files(map(Path, found))
    for one in files.values():
        check_sum(one)
    tables = {
        path.stem.removesuffix(STANDIN_SUFFIX): _read(pd, path)
        for path in files.values()
        if path.suffix == ".csv"
    }
    if "claims" not in tables:
        raise FileNotFoundError(f"no claims.csv {where}: run the workflow first")
    return Gallery(
        claims=_named(tables.pop("claims")),
        tables=tables,
        pictures={
            path.stem.removesuffix(STANDIN_SUFFIX): Picture(path, *_size(path))
            for path in files.values()
            if path.suffix == ".png"
        },
        simulated=tuple(simulated),
        inference=next((load_table(files[n])[0] for n in _INFERENCE if n in files), None),
        **{
            name: json.loads(path.read_text(encoding="utf-8"))
            for name in ("captions", "provenance", "run")
            if (path := files.get(f"{name}.json"))
        },
    )


def _of(found: Mapping[str, _Found], protocol: str) -> dict[str, _Found]:
    """Return what is named by study and one protocol, by study; what has no protocol stays."""
    plain = {name: one for name, one in found.items() if not split_protocol(name)[1]}
    own = {
        split_protocol(name)[0]: one
        for name, one in found.items()
        if split_protocol(name)[1] == protocol
    }
    return plain | own


def _named(claims: pd.DataFrame) -> pd.DataFrame:
    """Return claims whose protocol is a text: an empty cell of a file is read as a number."""
    known = claims["protocol"] if "protocol" in claims else claims["claim"].map(lambda _: "")
    return claims.assign(protocol=[one if isinstance(one, str) else "" for one in known])


def _place(claim: str) -> tuple[int, int, str]:
    place = _ORDER.find(claim[:1])
    number = int(claim[1:]) if claim[1:].isdigit() else 0
    return place if place >= 0 else len(_ORDER), number, claim


def _files(found: Iterable[Path]) -> tuple[dict[str, Path], list[str]]:
    """Return files by name without the mark of simulated data, and the studies that have it."""
    files: dict[str, Path] = {}
    for path in sorted(found):
        if path.suffix in (".csv", ".png", ".json") or path.name in _INFERENCE:
            name = path.stem.removesuffix(STANDIN_SUFFIX) + path.suffix
            if name not in files or not path.stem.endswith(STANDIN_SUFFIX):
                files[name] = path
    marked = {
        path.stem.removesuffix(STANDIN_SUFFIX)
        for path in files.values()
        if path.stem.endswith(STANDIN_SUFFIX)
    }
    return dict(sorted(files.items())), sorted(marked)


def _read(pd: Any, path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()


def _size(path: Path) -> tuple[int, int]:
    """Return width and height from the header of a PNG file."""
    with path.open("rb") as stream:
        header = stream.read(24)
    if header[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError(f"{path.name} is not a PNG file")
    width, height = struct.unpack(">II", header[16:24])
    return width, height
