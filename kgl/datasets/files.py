"""Finding, verifying and downloading the files of the real data sets.

A file is used only if its sha256 is the one written down here. Files that are wrong are reported,
never used, overwritten or deleted.

The one file of which not every release is known by its hash is ``sushi3.udata``. The archive it
comes in is, so the archive is kept beside the files that were taken out of it: the file is right
if its hash is the known one, or if it equals its copy inside the archive, whose own hash is right.
Nothing that could be edited (a note "verified before") has to be trusted.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from logging import WARNING
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from kgl._optional import import_optional
from kgl._validation import check_option

__all__ = [
    "DATA_SETS",
    "CorruptDataError",
    "DataFile",
    "DataSet",
    "DataUnavailableError",
    "Search",
    "find",
    "real_or_none",
    "search",
]

#: Seconds without a connection or without a byte after which a download is given up.
TIMEOUT = 10.0


class CorruptDataError(ValueError):
    """A data file is there, or was downloaded, but is not what it should be."""


class CorruptDownloadError(CorruptDataError):
    """What a download brought is not what it should be; nothing of it was kept."""


class DataUnavailableError(FileNotFoundError):
    """The files of a data set are not to be had."""


@dataclass(frozen=True)
class DataFile:
    """A file known by its hash.

    Attributes
    ----------
    name, sha256 : str
        Name without directory, and hash of the contents.
    url : str
        Where it is downloaded from; empty for a file that comes in an archive.
    required : bool
        Whether the data set is of no use without it.
    releases : bool
        Whether the archive may hold another release than the one of this hash.
    """

    name: str
    sha256: str
    url: str = ""
    required: bool = True
    releases: bool = False


@dataclass(frozen=True)
class DataSet:
    """The files of a data set, and the archive they come in, if they do."""

    title: str
    files: tuple[DataFile, ...]
    archive: DataFile | None = None

    def source(self, file: DataFile) -> str:
        """Say where a file is to be had."""
        if file.url or self.archive is None:
            return file.url
        return f"{self.archive.name}, {self.archive.url}"


#: The data sets by name; tests put others in their place.
DATA_SETS = {
    "swiss": DataSet(
        title="Swiss temperatures",
        files=(
            DataFile(
                "temperature.mat",
                "2c95748181c8d31f2386bbd330866e31969eda15845173be1d82d001d4124978",
                "https://raw.githubusercontent.com/xwangcu/mugl/"
                "245986c51bf3f325234f0219800361c8b23eaf5e/data/temperature.mat",
            ),
            DataFile(
                "nvrep_np8110_tre200m0_e.txt",
                "96966059aa4025f052a4e0184b74d9f9b5968cbbdbb94d485c81ba9f9615e64a",
                "https://raw.githubusercontent.com/Jianfeng-Huang-at-github/GFT/"
                "2875b4971eab7e932daf5a4ef177163e6316b4be/nvrep_np8110_tre200m0_e.txt",
                required=False,
            ),
        ),
    ),
    "sushi": DataSet(
        title="SUSHI preferences",
        files=(
            DataFile(
                "sushi3.idata",
                "568d73580f82a9ffba7ee1a3750506a0517c9ce904eec41559fe4ab573911fde",
            ),
            DataFile(
                "sushi3.udata",
                "592d345613b6fbc1d7d126775eb5fb5628619e855c292166250f09651716eca2",
                releases=True,
            ),
            DataFile(
                "sushi3b.5000.10.score",
                "4a600bbbdea7f75dc218e14776fa41228f9bd553842997ffe79c1227f3ec119d",
            ),
        ),
        archive=DataFile(
            "sushi3-2016.zip",
            "4f8bbf3acd6f796cb3d0add6c73c394664982c57d3b48e75e92014e5278558a8",
            "https://www.kamishima.net/asset/sushi3-2016.zip",
        ),
    ),
}


# ------------------------------------------------------------------------------------ hashes


def sha256(path: Path) -> str:
    """Return the sha256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _mismatch(
    what: str, expected: str, found: str, size: int, *, because: str = "", remedy: str
) -> CorruptDataError:
    return CorruptDataError(
        f"{what} is not the file it should be: its sha256 is {found} ({size} bytes), expected "
        f"{expected}{because}. {remedy} (see data/README.md)"
    )


def _verify(path: Path, file: DataFile, data: DataSet, inside: bytes | None) -> None:
    """Refuse a local file that has neither the known hash nor, if it may, that in the archive."""
    found = sha256(path)
    allowed = {file.sha256}
    if file.releases and inside is not None:
        allowed.add(hashlib.sha256(inside).hexdigest())
    if found not in allowed:
        archive = data.archive.name if data.archive is not None and file.releases else ""
        raise _mismatch(
            str(path),
            file.sha256,
            found,
            path.stat().st_size,
            because=f" or that of its copy in a {archive} beside it" if archive else "",
            remedy=f"It was left alone: delete it, or replace it from {data.source(file)}",
        )


# ------------------------------------------------------------------------------------ archive


def _members(content: bytes, data: DataSet, what: str) -> dict[str, bytes]:
    """Contents of the data set's files in a zip archive, found by base name in any folder.

    Nothing is ever written to the path that the archive names, so that no path can lead astray;
    an archive with such paths, or with two files of one name, is refused all the same.
    """
    found: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            for info in archive.infolist():
                path = PurePosixPath(info.filename.replace("\\", "/"))
                if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
                    raise CorruptDataError(f"{what} has a file {info.filename!r} outside of it")
                if info.is_dir() or path.name not in {file.name for file in data.files}:
                    continue
                if path.name in found:
                    raise CorruptDataError(f"{what} has two files of the name {path.name}")
                found[path.name] = archive.read(info)
    except zipfile.BadZipFile as error:
        raise CorruptDataError(f"{what} is not a zip archive that can be read: {error}") from error
    for file in data.files:
        if file.name not in found:
            raise CorruptDataError(f"{what} has no file {file.name}")
        have = hashlib.sha256(found[file.name]).hexdigest()
        if have != file.sha256 and not file.releases:
            size = len(found[file.name])
            remedy = "Neither of them is used: report this"
            raise _mismatch(f"{file.name} in {what}", file.sha256, have, size, remedy=remedy)
    return found


# ------------------------------------------------------------------------------------ one place


def _place(folder: Path, name: str, content: bytes) -> None:
    """Write a file in one step: other processes see the whole file or none."""
    folder.mkdir(parents=True, exist_ok=True)
    # A plain open rather than tempfile, whose files only their owner may read. The name begins
    # with a dot and is random: two jobs may be at it.
    part = folder / f".{name}.{secrets.token_hex(8)}.part"
    try:
        part.write_bytes(content)
        # what is there already came from another job a moment ago; whoever looks will verify it
        if not (folder / name).exists():
            part.replace(folder / name)
    finally:
        part.unlink(missing_ok=True)


def _holds(folder: Path, data: DataSet) -> bool:
    """Whether a directory has all required files, every file of the data set verified.

    Files that are missing are taken out of the archive, if that is there.
    """
    # The files before the archive: a job that is unpacking has placed the archive first, so one
    # that sees some of the files sees the archive too and does not think them incomplete.
    present = [file for file in data.files if (folder / file.name).is_file()]
    missing = [file for file in data.files if file.required and file not in present]
    inside: dict[str, bytes] = {}
    if data.archive is not None and (folder / data.archive.name).is_file():
        path = folder / data.archive.name
        _verify(path, data.archive, data, None)
        inside = _members(path.read_bytes(), data, str(path))
    for file in present:
        _verify(folder / file.name, file, data, inside.get(file.name))
    if missing and inside:
        try:
            for file in missing:
                _place(folder, file.name, inside[file.name])
        except OSError as error:
            raise DataUnavailableError(
                f"{folder} has an archive but cannot be written to ({error}); unpack "
                + ", ".join(file.name for file in missing)
                + " there yourself"
            ) from error
        for file in missing:  # where they lie now, whoever put them there
            _verify(folder / file.name, file, data, inside[file.name])
        return True
    if missing and any(file.required for file in present):
        names = ", ".join(file.name for file in missing)
        raise CorruptDataError(
            f"{folder} is incomplete: it lacks {names}. Add what is missing from "
            f"{data.source(missing[0])}, or delete the rest (see data/README.md)"
        )
    return not missing


# ------------------------------------------------------------------------------------ download


def _fetch(file: DataFile) -> bytes:
    """Download a file; OSError where that cannot be done, CorruptDataError if it is wrong."""
    pooch = import_optional("pooch", "data", "downloading data")
    broken_off = import_module("requests.exceptions").ChunkedEncodingError
    http = pooch.HTTPDownloader(progressbar=False, timeout=TIMEOUT)
    seen: list[tuple[str, int]] = []

    def downloader(url: str, output: str, caller: Any) -> None:
        http(url, output, caller)
        seen.append((sha256(Path(output)), Path(output).stat().st_size))

    def warns(record: Any) -> bool:
        return bool(record.levelno >= WARNING)

    logger = pooch.get_logger()
    with TemporaryDirectory(prefix="kgl-") as scratch:
        logger.addFilter(warns)  # it would tell of a path in the scratch directory
        try:
            path = pooch.retrieve(
                file.url,
                known_hash=f"sha256:{file.sha256}",
                fname=file.name,
                path=scratch,
                downloader=downloader,
            )
            return Path(path).read_bytes()
        except broken_off as error:
            raise CorruptDataError(
                f"the download of {file.url} broke off: fewer bytes came than were announced "
                f"({error}). Nothing was kept; try again"
            ) from error
        except ValueError as error:
            if not seen:  # not a hash: some errors of requests are ValueErrors besides OSErrors
                raise
            remedy = (
                "Nothing was kept: try again, or place the file by hand"
                if seen[-1][1]
                else "The server sent nothing: try again later"
            )
            what = f"what came from {file.url}"
            raise _mismatch(what, file.sha256, *seen[-1], remedy=remedy) from error
        finally:
            logger.removeFilter(warns)


def _download(folder: Path, data: DataSet) -> None:
    """Fetch what a directory lacks; OSError where that cannot be done."""
    if data.archive is not None:
        content = _fetch(data.archive)
        _members(content, data, f"what came from {data.archive.url}")
        _place(folder, data.archive.name, content)
        return
    contents: dict[str, bytes] = {}
    wanted = [file for file in data.files if not (folder / file.name).is_file()]
    for file in sorted(wanted, key=lambda file: not file.required):
        try:
            contents[file.name] = _fetch(file)
        except OSError as error:
            if file.required:
                raise
            warnings.warn(
                f"{file.name} of the {data.title} could not be downloaded ({_brief(error)}); the "
                "data are used without it (see data/README.md)",
                stacklevel=2,
            )
    # Required files last: who finds those finds the others as well.
    for name in reversed(contents):
        _place(folder, name, contents[name])


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# ------------------------------------------------------------------------------------ search


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
        if _holds(folder, data):
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
            _download(target, data)
            if _holds(target, data):
                return Search(name, target, tuple(tried), target)
        except CorruptDataError as error:
            raise CorruptDownloadError(str(error)) from error
        except (OSError, ImportError) as error:
            tried.append(f"the download failed ({_brief(error)})")
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
        None if the files are not to be had: not on this machine, and no download.

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
    """Return the directory of the real data, or None for the stand-in, as ``source`` says.

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
