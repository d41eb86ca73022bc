"""Files: written whole or not at all, with their provenance, and checked when they are read."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
import traceback
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.lookup import ROOT
from kgl._types import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "array_digest", "atomic", "cached", "content_hash", "digest", "distinct", "load_arrays",
    "load_fits", "load_table", "logged", "only_run", "provenance", "save_arrays", "save_csv",
    "save_json", "save_table", "state_of", "sweep",
]  # fmt: skip

_LOCKS: list[Any] = []
#: Names of files that are being written: machine and process.
_PART = re.compile(r"\.(\w+)-(\d+)\.part(?:\.\w+)?$")
_DAY = 86_400.0
#: Sources: a change elsewhere does not make a result "dirty".
SOURCES = ("kgl", "conf", "experiments", "Snakefile")


def digest(value: Any, length: int = 12) -> str:
    """Return a short name for a plain value, the same on every machine.

    Examples
    --------
    >>> digest({"b": 1, "a": [0.5]}) == digest({"a": [0.5], "b": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:length]


@contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; move it there only if the block succeeds."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # machine and process separate two writers; the suffix stays, since writers go by it
    part = path.with_name(f".{path.stem}.{_host()}-{os.getpid()}.part{path.suffix}")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


@cache
def _host() -> str:
    return re.sub(r"[^A-Za-z0-9]", "", platform.node()) or "host"


def sweep(*directories: str | Path) -> list[Path]:
    """Remove what writers that were killed have left, and return it.

    Those of this machine are known to be dead by their process; those of another, as on a cluster,
    count as dead where nothing was written for a day.
    """
    import psutil

    left = []
    for directory in directories:
        for path in Path(directory).rglob(".*.part*"):
            found = _PART.search(path.name)
            if found is None:
                continue
            with suppress(FileNotFoundError):  # its writer has just ended
                host, process = found.groups()
                dead = time.time() - path.stat().st_mtime > _DAY
                if host == _host():
                    dead = not psutil.pid_exists(int(process))
                if dead:
                    path.unlink()
                    left.append(path)
    return left


@cache
def _git() -> dict[str, Any]:
    def run(*command: str) -> str | None:
        try:
            git = ["git", "-C", str(ROOT), *command]
            return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return None

    changed = run("status", "--porcelain", "--", *SOURCES)
    return {"commit": run("rev-parse", "HEAD"), "dirty": None if changed is None else bool(changed)}


@cache
def _machine() -> dict[str, Any]:
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[call-overload, index, unused-ignore]
    return {
        "kgl": version("kernel-graph-learning"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": version("scipy"),
        "cvxpy": version("cvxpy"),
        "blas": f"{blas['name']} {blas['version']}",
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def provenance(settings: Any) -> dict[str, Any]:
    """Return the settings, code and libraries behind a result.

    Neither a time nor a host name is part of it: the same code and settings give the same bytes.
    """
    return {"settings": settings, "digest": digest(settings), **_git(), **_machine()}


def state_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a provenance that is about code and libraries."""
    return {k: v for k, v in record.items() if k not in ("settings", "digest")}


def distinct(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return each record once, in a fixed order."""
    texts = sorted({json.dumps(record, sort_keys=True) for record in records})
    return [json.loads(text) for text in texts]


def save_arrays(
    path: str | Path, arrays: Mapping[str, Array] | Iterable[tuple[str, Array]], settings: Any
) -> None:
    """Write arrays and their provenance as a compressed ``.npz`` file.

    Arrays may come one by one, so that they need not be in memory at once.
    """
    record = np.array(json.dumps(provenance(settings), sort_keys=True))
    pairs = arrays.items() if isinstance(arrays, Mapping) else arrays
    # the lowest level takes a fifth of the time and some per cent more space
    how: Any = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 1}
    with atomic(path) as part, zipfile.ZipFile(part, "w", **how) as archive:
        for name, values in chain(pairs, [("provenance", record)]):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asanyarray(values), allow_pickle=False)
            del values  # before the next one is made


def load_arrays(path: str | Path, level: str = "") -> tuple[dict[str, Array], dict[str, Any]]:
    """Read what :func:`save_arrays` wrote: the arrays and the provenance.

    With a ``level``, only the arrays whose names begin with it and a slash, without that part.
    """
    prefix, name = f"{level}/" * bool(level), ""
    arrays: dict[str, Array] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.startswith(prefix) or name == "provenance.npy":
                    # whole members: their checksums are compared at the end of each
                    part = np.lib.format.read_array(BytesIO(archive.read(name)))
                    arrays[name.removesuffix(".npy").removeprefix(prefix)] = part
        name = ""
        record = json.loads(str(arrays.pop("provenance")))
        if level and not arrays:
            raise ValueError(f"it has no level {level!r}")
    except FileNotFoundError:
        raise
    except Exception as error:  # a corrupt file can lead to any
        where = f"{name}: {error}" if name else str(error)
        raise ValueError(
            f"{path} is not a file of this workflow ({where}); remove it and run again"
        ) from error
    return arrays, record


def load_fits(path: str | Path) -> tuple[dict[str, dict[str, Array]], dict[str, Any]]:
    """Read the fits of one dataset, whose arrays are named ``model/array``: arrays by model."""
    arrays, record = load_arrays(path)
    fits: dict[str, dict[str, Array]] = {}
    for name, values in arrays.items():
        model, _, short = name.partition("/")
        fits.setdefault(model, {})[short] = values
    return fits, record


def array_digest(arrays: Mapping[str, Array]) -> str:
    """Return a name for the contents of arrays."""
    parts = {name: [str(a.dtype), a.shape, hashlib.sha256(a.tobytes()).hexdigest()]
             for name, a in arrays.items()}  # fmt: skip
    return digest(parts, 32)


def cached(
    directory: str | Path, key: Any, make: Callable[[], Mapping[str, Array]]
) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return arrays by what they are made from: those kept in a directory, or else made now.

    Other libraries count as another key. A file that cannot be read is made again.
    """
    path = Path(directory) / f"{digest([key, _machine()], 32)}.npz"
    with suppress(FileNotFoundError, ValueError):
        return load_arrays(path)
    save_arrays(path, make(), key)
    return load_arrays(path)


def save_table(path: str | Path, table: pd.DataFrame, settings: Any) -> None:
    """Write a table as Parquet, with its provenance in the file's metadata."""
    import pyarrow as pa
    from pyarrow import parquet

    arrow = pa.Table.from_pandas(table, preserve_index=False)
    record = json.dumps(provenance(settings), sort_keys=True)
    # Pages have checksums, the footer has none: this one covers names, types and provenance too.
    stamp = _fingerprint(arrow.to_pandas(), record)
    arrow = arrow.replace_schema_metadata({"kgl.provenance": record, "kgl.sha256": stamp})
    with atomic(path) as part:
        parquet.write_table(arrow, part, compression="zstd", write_page_checksum=True)


def load_table(path: str | Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read what :func:`save_table` wrote: the table and its provenance.

    Raises
    ------
    ValueError
        Where the file is not a table of this workflow, or not the one that was written.
    """
    from pyarrow import parquet

    try:
        arrow = parquet.read_table(path, page_checksum_verification=True)
        table = arrow.to_pandas()
        stored = {k.decode(): v.decode() for k, v in (arrow.schema.metadata or {}).items()}
    except FileNotFoundError:
        raise
    except Exception as error:  # a corrupt file can lead to any
        raise ValueError(f"{path} cannot be read ({error}); remove it and run again") from error
    if "kgl.provenance" not in stored:
        raise ValueError(f"{path} is not a table of this workflow: it has no provenance")
    if stored.get("kgl.sha256") != _fingerprint(table, stored["kgl.provenance"]):
        raise ValueError(f"{path} is corrupt: its checksum differs; remove it and run again")
    return table, json.loads(stored["kgl.provenance"])


def _fingerprint(table: pd.DataFrame, record: str) -> str:
    """Return the SHA-256 of the values, names and types of a table and of its provenance."""
    from pandas.util import hash_pandas_object

    found = hashlib.sha256(record.encode())
    for name in table.columns:
        found.update(f"{name} {table[name].dtype}".encode())
        found.update(hash_pandas_object(table[name], index=False).to_numpy().tobytes())
    return found.hexdigest()


def save_csv(path: str | Path, table: pd.DataFrame) -> None:
    """Write a table to read: six digits, no index."""
    with atomic(path) as part:
        table.to_csv(part, index=False, float_format="%.6g", lineterminator="\n")


def save_json(path: str | Path, content: Any) -> None:
    """Write a plain value to read."""
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
    with atomic(path) as part:
        part.write_text(f"{text}\n", encoding="utf-8")


def content_hash(table: pd.DataFrame) -> str:
    """Return the SHA-256 of the values of a table."""
    return hashlib.sha256(table.to_csv(index=False, lineterminator="\n").encode()).hexdigest()


def only_run(path: str | Path) -> None:
    """Refuse a second run in one checkout; the lock ends with the process, however it ends."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    stream = Path(path).open("a+", encoding="utf-8")  # noqa: SIM115 - open until the process ends
    try:
        import fcntl

        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # not on Windows
        return
    except BlockingIOError:
        stream.seek(0)
        raise SystemExit(
            f"error: another run is under way in this checkout (process {stream.read().strip()}); "
            "wait until it ends, or use another checkout"
        ) from None
    except OSError:  # a shared file system without locks
        return
    stream.truncate(0)
    print(os.getpid(), file=stream, flush=True)
    _LOCKS.append(stream)


@contextmanager
def logged(path: str | Path) -> Iterator[Callable[[str], None]]:
    """Give a function that writes lines to the log of a job.

    An exception is written there too; its message also goes to the screen.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    with Path(path).open("w", encoding="utf-8", buffering=1) as stream:

        def report(line: str) -> None:
            print(f"{time.perf_counter() - begin:7.1f} s  {line}", file=stream)

        try:
            yield report
        except Exception as error:
            traceback.print_exc(file=stream)
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            raise
        report("done")
