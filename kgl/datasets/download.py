"""Downloading the files of a data set."""

from __future__ import annotations

import warnings
from importlib import import_module
from logging import WARNING
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kgl._optional import import_optional
from kgl.datasets.catalogue import CorruptDataError, DataFile, DataSet
from kgl.datasets.verify import members, mismatch, place, sha256

__all__ = ["brief", "download"]

#: Seconds without a connection or without a byte after which a download is given up.
TIMEOUT = 10.0


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
        logger.addFilter(warns)  # it would name a path in the scratch directory
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
            raise mismatch(what, file.sha256, *seen[-1], remedy=remedy) from error
        finally:
            logger.removeFilter(warns)


def download(folder: Path, data: DataSet) -> None:
    """Fetch what a directory lacks; OSError where that cannot be done."""
    if data.archive is not None:
        content = _fetch(data.archive)
        members(content, data, f"what came from {data.archive.url}")
        place(folder, data.archive.name, content)
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
                f"{file.name} of the {data.title} could not be downloaded ({brief(error)}); the "
                "data are used without it (see data/README.md)",
                stacklevel=2,
            )
    # Required files last: who finds those finds the others as well.
    for name in reversed(contents):
        place(folder, name, contents[name])


def brief(error: Exception) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {error}"
