"""Call an adapter as a program of its own: arrays in, edge weights out.

``peers/adapter.py`` describes the files. What was answered before the time limit counts.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgl._types import Array

try:
    import resource
except ImportError:  # Windows has no limits of processes: the clock alone stops a program
    resource = None  # type: ignore[assignment]

__all__ = ["PATIENCE", "Answer", "Call", "Table", "call"]

#: Of a program that waits, or of a busy machine: times the limit of processor time.
PATIENCE = 6.0

#: One thread for all libraries: times compare, and packages do not take the cores of others.
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1"
    for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM", "NUMBA")
}


@dataclass(frozen=True)
class Table:
    """One table as an entrant gets it: ``Y`` (n, m), perhaps ``x`` (m, p) and ``z`` (n,).

    And ``Y`` for those that cannot have gaps, both made by :mod:`experiments.arena.complete`:
    ``C`` (m, m), its correlations, and ``filled`` (n, m), the table without gaps.
    """

    Y: Array
    x: Array | None = None
    z: Array | None = None
    C: Array | None = None
    filled: Array | None = None


@dataclass(frozen=True)
class Answer:
    """What became of one fit: weights (pairs,), perhaps scores and filled values, or why not."""

    status: str
    error: str = ""
    weights: Array | None = None
    scores: Array | None = None
    filled: Array | None = None
    seconds: float = np.nan
    memory: float = np.nan


@dataclass(frozen=True)
class Call:
    """The answers of one call by replicate and name, and the versions of the packages."""

    answers: dict[tuple[int, str], Answer]
    versions: str = ""


def call(
    command: Sequence[str], tables: Sequence[Table], names: Sequence[str], values: int, limit: float
) -> Call:
    """Run an adapter on tables of one shape.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments; the folder is put after the script, the second of them.
    tables : sequence of Table
        The replicates.
    names : sequence of str
        The answers that the adapter gives: ``default``, ``own``, ``grid-0`` and so on.
    values : int
        Number of tuning values.
    limit : float
        Seconds of processor time after which the program is stopped; or :data:`PATIENCE` times as
        many seconds of waiting.
    """
    with tempfile.TemporaryDirectory(prefix="kgl-arena-") as place:
        folder = Path(place)
        _write(folder, tables, values)
        program, script, *more = command
        failure = _run([program, script, str(folder), *more], folder, limit)
        about = folder / "about.txt"
        lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
        # after a crash, what was not answered failed; at the limit it was stopped
        rest = Answer("failed", failure or "no answer")
        if failure is None:
            rest = Answer("stopped")
        shape = tables[0].Y.shape
        answers = {
            (r, name): _read(folder / str(r), name, shape) or rest
            for r in range(len(tables))
            for name in names
        }
    return Call(answers, ", ".join(lines))


def _write(folder: Path, tables: Sequence[Table], values: int) -> None:
    first = tables[0]
    (n, m), p = first.Y.shape, 0 if first.x is None else first.x.shape[1]
    task = {"n": n, "m": m, "p": p, "z": int(first.z is not None)}
    task |= {"replicates": len(tables), "values": values}
    lines = "".join(f"{key} {value}\n" for key, value in task.items())
    (folder / "task.txt").write_text(lines, encoding="utf-8")
    for r, table in enumerate(tables):
        place = folder / str(r)
        place.mkdir()
        for name in ("Y", "x", "z", "C", "filled"):
            array = getattr(table, name)
            if array is not None:
                np.ascontiguousarray(array, dtype="<f8").tofile(place / name)


def _run(command: Sequence[str], folder: Path, limit: float) -> str | None:
    """Return the end of what a program wrote as it failed, or an empty text; None if stopped."""
    log = folder / "log.txt"
    # what adapters import beside them must not be written into the checkout
    environment = {**os.environ, **ONE_THREAD, "PYTHONDONTWRITEBYTECODE": "1"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            env=environment, start_new_session=True,
        )  # fmt: skip
        try:
            _limit(process.pid, limit)
            code = process.wait(limit * PATIENCE)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process)
    if code in _LIMITED:
        return None
    if code == 0:
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f"exit code {code}: {lines[-1].strip() if lines else 'no message'}"[:300]


#: How a program ends that has used up its processor time.
_LIMITED = tuple(-getattr(signal, name) for name in ("SIGXCPU", "SIGKILL") if hasattr(signal, name))


def _limit(process: int, seconds: float) -> None:
    """Let the system stop a program after so much processor time, where it can."""
    if resource is None or not hasattr(resource, "prlimit"):
        return
    most = max(1, round(seconds))
    with contextlib.suppress(ProcessLookupError):  # it has ended already
        resource.prlimit(process, resource.RLIMIT_CPU, (most, most + 5))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program with all that it started."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
        process.wait()


def _read(folder: Path, name: str, shape: tuple[int, ...]) -> Answer | None:
    """Return an answer, checked; None if there is none."""
    n, m = shape
    error, done = folder / f"{name}.error", folder / f"{name}.txt"
    if error.exists():
        text = " ".join(error.read_text(encoding="utf-8", errors="replace").split())
        return Answer("failed", text[:300] or "no message")
    if not done.exists():
        return None
    numbers = dict(line.split() for line in done.read_text(encoding="utf-8").splitlines())
    spent: dict[str, Any] = {k: _number(numbers.get(k, "nan")) for k in ("seconds", "memory")}
    found: dict[str, Any] = {}
    for key, end, size in _wanted(n, m):
        path = folder / f"{name}.{end}"
        if not path.exists():
            continue
        values = np.fromfile(path, dtype="<f8")
        if values.size != size:
            return Answer("failed", f"{values.size} {key} in place of {size}", **spent)
        if np.isnan(values).any() or (key != "scores" and np.isinf(values).any()):
            return Answer("failed", f"{key} are not all finite", **spent)
        found[key] = values
    if "weights" not in found:
        return Answer("failed", "no weights", **spent)
    if "filled" in found:
        found["filled"] = found["filled"].reshape(n, m)
    return Answer("ok", **found, **spent)


def _wanted(n: int, m: int) -> Iterator[tuple[str, str, int]]:
    pairs = m * (m - 1) // 2
    yield from (("weights", "bin", pairs), ("scores", "scores", pairs), ("filled", "filled", n * m))


def _number(text: str) -> float:
    return float(text) if text not in ("NA", "NaN") else np.nan
