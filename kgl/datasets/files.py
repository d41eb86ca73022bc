"""Finding the files of the real data sets, on this machine or by a download.

A file is used only if its sha256 is the one of :mod:`kgl.datasets.catalogue`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kgl._optional import import_optional
from kgl._validation import check_option
from kgl.datasets.catalogue import (
    DATA_SETS,
    CorruptDataError,
    CorruptDownloadError,
    DataUnavailableError,
)
from kgl.datasets.download import brief
from kgl.datasets.download import download as download_files
from kgl.datasets.verify import holds

__all__ = ["Search", "find", "real_or_none", "search"]


def _checkout() -> Path | None:
    """Root of the repository if kgl runs from one, and not from an installed copy."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() else None


def _cache() -> Path:
    """Directory for downloads of kgl outside of a repository."""
    return Path(import_optional("pooch", "data", "downloading data").os_cache("kgl"))


def _offline() -> bool:
    return os.environ.get("KGL_OFFLINE", "") not in ("", "0")


@dataclass(frozen=True)
class Search:
    """What a search found, or what was tried in vain."""

    name: str
    directory: Path | None
    tried: tuple[str, ...]
    place: Path | None

    def explain(self) -> str:
        """Say what was tried and what to do."""
        data = DATA_SETS[self.name]
        files = ", ".join(file.name for file in data.files if file.required)
        address = data.archive.url if data.archive is not None else data.files[0].url
        place = self.place or Path("$KGL_DATA_DIR", self.name)
        return (
            f"the {data.title} were not found. Tried: {'; '.join(self.tried)}. To place them by "
            f"hand, put {files} from {address} into {place}, or into the directory {self.name} of "
            "one that the environment variable KGL_DATA_DIR names (see data/README.md)"
        )


def _places(name: str, tried: list[str]) -> Iterator[Path]:
    """Directories to look into, in order; where there is none to look into, why."""
    value = os.environ.get("KGL_DATA_DIR", "")
    if not value:
        tried.append("KGL_DATA_DIR is not set")
    elif not Path(value).is_dir():
        raise DataUnavailableError(
            f"the environment variable KGL_DATA_DIR names {value!r}, which is not a directory; "
            "correct it or unset it"
        )
    else:
        yield Path(value) / name
    root = _checkout()
    if root is None:
        tried.append("kgl does not run from a repository with a data/raw")
    else:
        yield root / "data" / "raw" / name
    try:
        yield _cache() / name
    except ImportError as error:
        tried.append(str(error))


def search(name: str, *, download: bool = True) -> Search:
    """Look for the files of a data set as `find` does, and keep a record of what was tried."""
    data = DATA_SETS[check_option("data set", name, DATA_SETS)]
    tried: list[str] = []
    first = next(file.name for file in data.files if file.required)
    visited = []
    for folder in _places(name, tried):
        if holds(folder, data):
            return Search(name, folder, tuple(tried), folder)
        tried.append(f"{folder} has no {first}")
        visited.append(folder)
    # KGL_DATA_DIR belongs to the user: downloads go to data/raw, or else to the cache
    own = visited[1:] if os.environ.get("KGL_DATA_DIR") else visited
    target = own[0] if own else None
    if not download:
        tried.append("no download was asked for")
    elif _offline():
        tried.append("no download, because KGL_OFFLINE is set")
    elif target is not None:
        try:
            download_files(target, data)
            if holds(target, data):
                return Search(name, target, tuple(tried), target)
        except CorruptDataError as error:
            raise CorruptDownloadError(str(error)) from error
        except (OSError, ImportError) as error:
            tried.append(f"the download failed ({brief(error)})")
    return Search(name, None, tuple(tried), target)


def find(name: str, *, download: bool = True) -> Path | None:
    """Return the directory that holds the verified files of a data set.

    Parameters
    ----------
    name : {"swiss", "sushi"}
    download : bool
        Whether to download the files if they are nowhere.

    Returns
    -------
    Path or None
        None if the files are unavailable: not on this machine, and no download.

    Raises
    ------
    CorruptDataError
        If a file is there, or was downloaded, whose sha256 is wrong, or some files of the data set
        are there and others are not. The search does not go on then, and nothing is changed.
    DataUnavailableError
        If ``KGL_DATA_DIR`` names a directory that does not exist.

    Notes
    -----
    Places, in order: ``$KGL_DATA_DIR/<name>``; ``data/raw/<name>`` of the repository, if kgl runs
    from one; kgl's directory in the user's cache. A download goes to the second of these, without
    a repository to the third; ``KGL_OFFLINE=1`` forbids it.
    """
    return search(name, download=download).directory


def real_or_none(name: str, source: str) -> Path | None:
    """Return the directory of the real data, or None for the stand-in, as ``source`` asks.

    To be called by the loaders themselves: the warning points at the line that called them.
    """
    if check_option("source", source, ("auto", "real", "simulated")) == "simulated":
        return None
    result = search(name)
    if result.directory is None:
        if source == "real":
            raise DataUnavailableError(result.explain())
        warnings.warn(
            f"SIMULATED STAND-IN in place of real data: {result.explain()}. Pass source="
            "'simulated' to have the stand-in without this warning, 'real' to have an error",
            UserWarning,
            stacklevel=3,
        )
    return result.directory
