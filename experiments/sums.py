"""Checksums of published files: a list beside them, with which those that are read are compared.

Tables and pictures of ``figures/`` are read long after they were written, on other machines. CSV,
JSON and PNG files would not tell that they were damaged on the way.

    python -m experiments.sums figures      # renew the list, after a merge for example
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from experiments.io import atomic

__all__ = ["SUMS", "check_sum", "save_sums"]

#: Name of the list, of the format of sha256sum.
SUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")


def save_sums(directory: str | Path, names: Iterable[str]) -> None:
    """List the checksums of some files of a directory; those of other files are kept."""
    directory = Path(directory)
    kept = {name: found for name, found in _read(directory).items() if (directory / name).exists()}
    kept |= {name: _of(directory / name) for name in names}
    with atomic(directory / SUMS) as part:
        lines = [f"{found}  {name}\n" for name, found in sorted(kept.items())]
        part.write_text("".join(lines), encoding="utf-8")


def check_sum(path: str | Path) -> None:
    """Refuse a file that is not the one that was published; one that is not listed passes."""
    path = Path(path)
    known = _read(path.parent).get(path.name)
    if known is not None and known != _of(path):
        raise ValueError(
            f"{path} is not the file that was published: its checksum differs from that in "
            f"{SUMS}; restore the file, or publish it again"
        )


def _of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read(directory: Path) -> dict[str, str]:
    """Return checksums by name; nothing where there is no list."""
    path = directory / SUMS
    if not path.exists():
        return {}
    found = {}
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        match = _LINE.fullmatch(line.decode("utf-8", errors="replace"))
        if match is None:
            raise ValueError(
                f"{path}, line {number}, is no checksum and name; restore the file, or renew it "
                f"with python -m experiments.sums {directory}"
            )
        found[match[2]] = match[1]
    return found


if __name__ == "__main__":
    for given in map(Path, sys.argv[1:]):
        (given / SUMS).unlink(missing_ok=True)
        save_sums(given, [path.name for path in given.iterdir() if path.name[0] != "."])
