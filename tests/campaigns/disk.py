"""A full disk, a directory that cannot be written to, and two runs at once.

Writers of the workflow and the command ``kgl learn`` write over files that are there, where there
is no room (a small file system in memory) or no permission (the same, mounted for reading). They
must fail with a message that names the cause, and leave what was there as it was and nothing else.
Without the right to mount, files are limited in size instead, and read-only attempts are left out.
"""

from __future__ import annotations

import contextlib
import errno
import io
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments import io as files
from experiments.sums import save_sums
from kgl.command import main as command
from kgl.datasets.verify import place
from tests.campaigns.result import ROOT, Tally

FAULTS = ("unclear messages", "lost or truncated", "stray files", "unexpected success")
#: Words of the causes.
CAUSES = re.compile(
    "no space left|file too large|read-only file system|permission denied|cannot be written|"
    "another run is under way|disk",
    re.IGNORECASE,
)
ROOM = 192 * 1024


def _rng(size: int) -> np.random.Generator:
    return np.random.default_rng(size)


def _arrays(folder: Path, size: int) -> None:
    files.save_arrays(folder / "fits.npz", {"w": _rng(size).random((size, 40))}, {"n": size})


def _table(folder: Path, size: int) -> None:
    table = pd.DataFrame({"value": _rng(size).random(40 * size)})
    files.save_table(folder / "table.parquet", table, {"n": size})


def _csv(folder: Path, size: int) -> None:
    files.save_csv(folder / "table.csv", pd.DataFrame({"value": _rng(size).random(30 * size)}))


def _json(folder: Path, size: int) -> None:
    files.save_json(folder / "record.json", {"values": _rng(size).random(20 * size).tolist()})


def _kept(folder: Path, size: int) -> None:
    files.cached(folder, ["key", size], lambda: {"w": _rng(size).random((size, 40))})


def _data(folder: Path, size: int) -> None:
    place(folder, f"data-{size}.bin", _rng(size).bytes(320 * size))


def _sums(folder: Path, size: int) -> None:
    _csv(folder, SMALL)
    save_sums(folder, ["table.csv"])
    if size > SMALL:
        _json(folder, size)


def _learn(folder: Path, size: int) -> None:
    """Run ``kgl learn``; its message becomes an error, as of the other writers."""
    with tempfile.TemporaryDirectory() as elsewhere:
        data = Path(elsewhere) / "data.csv"
        pd.DataFrame(_rng(3).normal(size=(max(8, size), 5)), columns=list("abcde")).to_csv(
            data, index=False
        )
        words = ["learn", str(data), "--force", "--quiet", "--out", str(folder / "graph.graphml")]
        words += ["--report", str(folder / "report.html"), "--imputed", str(folder / "i.csv")]
        told = io.StringIO()
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
            code = command(words)
    if code:
        raise OSError(told.getvalue())


WRITERS: tuple[Callable[[Path, int], None], ...] = (
    _arrays, _table, _csv, _json, _kept, _data, _sums, _learn,
)  # fmt: skip
#: Sizes: what fits, and what does not.
SMALL, LARGE = 12, 1500


@contextlib.contextmanager
def file_system(folder: Path) -> Iterator[bool]:
    """Mount a small file system in memory there; False where that is not allowed."""
    how = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "kgl-campaign", str(folder)]
    mounted = subprocess.run(how, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)


@contextlib.contextmanager
def limited(bytes_: int) -> Iterator[None]:
    """Let no file grow beyond a size: writing more fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def attempt(tally: Tally, what: str, folder: Path, write: Callable[[], None]) -> None:
    """Write what cannot be written, and look at the message and at what is there then."""
    before = contents(folder)
    try:
        write()
    except OSError as error:
        if not (
            error.errno in (errno.ENOSPC, errno.EROFS, errno.EFBIG) or CAUSES.search(str(error))
        ):
            tally.fault("unclear messages", what=what, error=str(error)[:300])
        tally.counts["refused"] += 1
    except BaseException as error:
        tally.fault("unclear messages", what=what, error=f"{type(error).__name__}: {error}"[:300])
    else:
        tally.fault("unexpected success", what=what)
    after = contents(folder)
    for name, content in before.items():
        if after.get(name) != content:
            tally.fault("lost or truncated", what=what, file=name)
    for name in after.keys() - before.keys():
        tally.fault("stray files", what=what, file=name)
    tally.step()


def full_disk(tally: Tally, writer: Callable[[Path, int], None], folder: Path) -> None:
    """Write over a file where there is no room."""
    with file_system(folder) as mounted:
        writer(folder, SMALL)
        name = f"{writer.__name__[1:]}, full disk"
        if mounted:
            used = sum(len(content) for content in contents(folder).values())
            filler = folder / "filler.bin"
            filler.write_bytes(bytes(max(0, ROOM - used - 24 * 1024)))
            attempt(tally, name, folder, lambda: writer(folder, LARGE))
        else:
            with limited(16 * 1024):
                attempt(tally, f"{name} (limited)", folder, lambda: writer(folder, LARGE))


def read_only(tally: Tally, writer: Callable[[Path, int], None], folder: Path) -> None:
    """Write over a file where nothing may be written."""
    with file_system(folder) as mounted:
        writer(folder, SMALL)
        name = f"{writer.__name__[1:]}, read-only"
        if mounted:
            command_ = ["mount", "-o", "remount,ro", str(folder)]
            subprocess.run(command_, capture_output=True, check=True)
        elif os.geteuid() != 0:
            folder.chmod(0o500)
        else:
            tally.counts["left out"] += 1
            tally.step()
            return
        attempt(tally, name, folder, lambda: writer(folder, LARGE))
        folder.chmod(0o700) if not mounted else None


def _hold(path: str, ready: Any, end: Any) -> None:
    files.only_run(path)
    ready.set()
    end.wait(60)


def two_runs(tally: Tally, folder: Path) -> None:
    """Start a run where one is under way."""
    context = multiprocessing.get_context("spawn")
    ready, end = context.Event(), context.Event()
    lock = folder / ".running"
    first = context.Process(target=_hold, args=(str(lock), ready, end))
    first.start()
    try:
        ready.wait(60)

        def second() -> None:
            code = f"from experiments.io import only_run; only_run({str(lock)!r})"
            done = subprocess.run(
                [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise OSError(done.stderr)

        attempt(tally, "two runs", folder, second)
    finally:
        end.set()
        first.join(60)


def _write_often(folder: str, size: int, n_times: int) -> None:
    for _ in range(n_times):
        _arrays(Path(folder), size)
        _csv(Path(folder), size)


def two_writers(tally: Tally, folder: Path) -> None:
    """Let two processes write the same files while they are read: whole ones at any time."""
    context = multiprocessing.get_context("spawn")
    _write_often(str(folder), 20, 1)
    given = [(str(folder), 20, 30), (str(folder), 20, 30)]
    writers = [context.Process(target=_write_often, args=one) for one in given]
    expected = contents(folder)
    for one in writers:
        one.start()
    while any(one.is_alive() for one in writers):
        for name in expected:
            if (folder / name).read_bytes() != expected[name]:
                tally.fault("lost or truncated", what="two writers", file=name)
    if contents(folder) != expected:
        tally.fault("stray files", what="two writers", file=str(sorted(contents(folder))))
    tally.counts["two writers"] += 1
    tally.step()


def run(budget: int, seed: int) -> dict[str, Any]:
    """Make the attempts in turn, in an order that the seed gives."""
    tally = Tally(budget, "attempts", FAULTS)
    rng = np.random.default_rng([seed, 4])
    attacks: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
        (kind, (writer,)) for writer in WRITERS for kind in (full_disk, read_only)
    ]
    attacks += [(two_runs, ()), (two_writers, ())]
    with tempfile.TemporaryDirectory(prefix="kgl-disk-") as directory:
        while tally.tried < budget:
            for k in rng.permutation(len(attacks)):
                if tally.tried >= budget:
                    break
                folder = Path(directory) / f"{tally.tried}"
                folder.mkdir()
                kind, given = attacks[k]
                kind(tally, *given, folder)
    return tally.record()
