"""Verifying the files of a data set by their hashes, and unpacking their archive.

Files that are wrong are reported, never used, overwritten or deleted.

The one file of which not every release is known by its hash is ``sushi3.udata``. The archive it
comes in is, so the archive is kept beside the files that were taken out of it: the file is right
if its hash is the known one, or if it equals its copy inside the archive, whose own hash is right.
Nothing that could be edited (a note "verified before") has to be trusted.
"""

from __future__ import annotations

import hashlib
import secrets
import time
import zipfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path, PurePosixPath

from kgl.datasets.catalogue import CorruptDataError, DataFile, DataSet, DataUnavailableError

__all__ = ["holds", "members", "mismatch", "place", "sha256"]

#: Age from which a file that is still being written is what a killed job left.
_HOUR = 3600.0


def sha256(path: Path) -> str:
    """Return the sha256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def mismatch(
    what: str, expected: str, found: str, size: int, *, because: str = "", remedy: str
) -> CorruptDataError:
    """Return the error of a file whose hash is not the expected one."""
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
        raise mismatch(
            str(path),
            file.sha256,
            found,
            path.stat().st_size,
            because=f" or that of its copy in a {archive} beside it" if archive else "",
            remedy=f"It was left alone: delete it, or replace it from {data.source(file)}",
        )


# ------------------------------------------------------------------------------------ archive


def members(content: bytes, data: DataSet, what: str) -> dict[str, bytes]:
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
    except CorruptDataError:
        raise
    except Exception as error:  # a corrupt archive can lead to any
        raise CorruptDataError(f"{what} is not a zip archive that can be read: {error}") from error
    for file in data.files:
        if file.name not in found:
            raise CorruptDataError(f"{what} has no file {file.name}")
        have = hashlib.sha256(found[file.name]).hexdigest()
        if have != file.sha256 and not file.releases:
            size = len(found[file.name])
            remedy = "Neither of them is used: report this"
            raise mismatch(f"{file.name} in {what}", file.sha256, have, size, remedy=remedy)
    return found


# ------------------------------------------------------------------------------------ one place


def place(folder: Path, name: str, content: bytes) -> None:
    """Write a file in one step: other processes see the whole file or none."""
    folder.mkdir(parents=True, exist_ok=True)
    # A plain open rather than tempfile, whose files only their owner may read. The name begins
    # with a dot and is random: two jobs may be at it.
    for old in folder.glob(f".{name}.*.part"):  # of jobs that were killed
        with suppress(FileNotFoundError):
            if time.time() - old.stat().st_mtime > _HOUR:
                old.unlink()
    part = folder / f".{name}.{secrets.token_hex(8)}.part"
    try:
        part.write_bytes(content)
        # what is there already came from another job a moment ago; whoever looks will verify it
        if not (folder / name).exists():
            part.replace(folder / name)
    finally:
        part.unlink(missing_ok=True)


def holds(folder: Path, data: DataSet) -> bool:
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
        inside = members(path.read_bytes(), data, str(path))
    for file in present:
        _verify(folder / file.name, file, data, inside.get(file.name))
    if missing and inside:
        try:
            for file in missing:
                place(folder, file.name, inside[file.name])
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
