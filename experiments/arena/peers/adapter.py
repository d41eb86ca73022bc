"""What every adapter of a Python package shares; it needs NumPy alone.

An adapter is a program of its own that runs in the environment of its package:
``python run_NAME.py FOLDER [ARGUMENT]``. The folder has ``task.txt``, lines of a key and a whole
number: ``n``, ``m``, ``p`` (covariates of a node, 0 for none), ``z`` (1 if rows have times),
``replicates`` and ``values``, the number of tuning values. Each replicate is a folder ``0``, ``1``
and so on, with arrays of 64-bit floats, row by row: ``Y`` (n x m, NaN where missing), ``x`` (m x p)
and ``z`` (n); and for packages that cannot have gaps ``C`` (m x m), correlations over shared rows,
and ``filled`` (n x m), the table as an imputer fills it.

Answers lie beside the arrays: ``default``, ``own`` (the package's own rule of tuning) and
``grid-0``, ``grid-1`` and so on. Each has ``.bin``, the weights of all pairs in the order of
``np.triu_indices(m, 1)``; perhaps ``.scores``, a ranking of all pairs where the package has one;
perhaps ``.filled``, the table with its gaps filled; and ``.txt``, lines of a key and a number:
``seconds`` of processor time, and ``memory`` of the process so far, in MB. It is written last. A
failure is a ``.error`` with its message. ``about.txt`` has packages and their versions.

All replicates at the default come first, then the own rule, then the tuning values: whoever stops
the program at a time limit has the first answers.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np


@dataclass
class Problem:
    """One table, see above; and the number of tuning values."""

    Y: np.ndarray
    x: np.ndarray | None
    z: np.ndarray | None
    correlation: np.ndarray
    filled: np.ndarray
    values: int

    @property
    def table(self):
        """Columns of mean zero and variance one, without gaps."""
        scale = self.filled.std(axis=0)
        return (self.filled - self.filled.mean(axis=0)) / np.where(scale > 0, scale, 1.0)

    @property
    def gaps(self):
        """Whether entries are missing."""
        return bool(np.isnan(self.Y).any())

    def penalty(self, k):
        """Return the k-th tuning value of methods that penalise absolute correlations.

        From nine tenths of the largest correlation, which leaves hardly an edge, to a fiftieth.
        """
        largest = np.abs(self.correlation - np.eye(self.Y.shape[1])).max()
        return float(largest * np.geomspace(0.9, 0.02, self.values)[k])


@dataclass
class Answer:
    """Weights (m, m) of a graph; perhaps scores (m, m) and filled values (n, m)."""

    weights: np.ndarray
    scores: np.ndarray | None = None
    filled: np.ndarray | None = None


def partial_correlations(precision):
    """Return the absolute partial correlations of a precision matrix."""
    d = np.sqrt(np.maximum(np.diag(precision), 1e-300))
    return np.abs(np.asarray(precision) / np.outer(d, d))


def serve(packages, default, own=None, point=None):
    """Answer a task.

    Parameters
    ----------
    packages : list of str
        Names of distributions whose versions are recorded.
    default, own : callable
        From a problem to an answer, or to a matrix of weights; None if there is no such rule.
    point : callable
        From a problem and the number of a tuning value.
    """
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    lines = (folder / "task.txt").read_text().splitlines()
    task = {key: int(value) for key, value in map(str.split, lines)}
    about = [f"Python {sys.version.split()[0]}", *(f"{name} {version(name)}" for name in packages)]
    (folder / "about.txt").write_text("\n".join(about) + "\n")
    numbers = range(task["replicates"])
    calls = [(r, "default", default) for r in numbers]
    calls += [(r, "own", own) for r in numbers if own]
    if point:
        for k in range(task["values"]):
            calls += [(r, f"grid-{k}", lambda given, k=k: point(given, k)) for r in numbers]
    for r, name, work in calls:
        _answer(folder / str(r), task, name, work)


def _answer(folder, task, name, work):
    given = _read(folder, task)
    begin = time.process_time()
    try:
        found = work(given)
        seconds = time.process_time() - begin
        if not isinstance(found, Answer):
            found = Answer(found)
        _write(folder / f"{name}.bin", _pairs(found.weights))
        if found.scores is not None:
            _write(folder / f"{name}.scores", _pairs(found.scores, absolute=False))
        if found.filled is not None:
            _write(folder / f"{name}.filled", found.filled)
    except Exception as failure:  # of any kind: it is a result
        text = f"{type(failure).__name__}: {failure}"
        (folder / f"{name}.error").write_text(text, encoding="utf-8")
        return
    part = folder / f"{name}.part"
    part.write_text(f"seconds {seconds}\nmemory {_memory()}\n")
    os.replace(part, folder / f"{name}.txt")


def _read(folder, task):
    def array(name, *shape):
        return np.fromfile(folder / name, dtype="<f8").reshape(shape)

    n, m, p = task["n"], task["m"], task["p"]
    x = array("x", m, p) if p else None
    z = array("z", n) if task["z"] else None
    made = array("C", m, m), array("filled", n, m)
    return Problem(array("Y", n, m), x, z, *made, task["values"])


def _pairs(matrix, absolute=True):
    matrix = np.asarray(matrix, dtype=float)
    chosen = matrix[np.triu_indices(len(matrix), 1)]
    return np.abs(chosen) if absolute else chosen


def _write(path, array):
    np.ascontiguousarray(array, dtype="<f8").tofile(path)


def _memory():
    """Return the peak memory of this process in MB, NaN where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
