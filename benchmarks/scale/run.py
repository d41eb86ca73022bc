"""Run the tasks of this package, each in a fresh process with one thread, and store the numbers.

They go to ``benchmarks/scale.json`` task by task, so an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import importlib.util
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import kgl

__all__ = ["main"]

ROOT = Path(__file__).parent.parent.parent
STORED = Path(__file__).parent.parent / "scale.json"
#: Modules with tasks: each has a table TASKS from names to functions that return numbers.
MODULES = ("graph", "route", "peers", "fits", "rows")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
#: Seconds, as the clock has them, after which a task is stopped and stored as such.
LIMIT = 3600.0

Task = Callable[[], dict[str, Any]]


def all_tasks() -> dict[str, Task]:
    """Return the tasks of all modules that exist, as ``module:name``."""
    found: dict[str, Task] = {}
    for module in MODULES:
        name = f"benchmarks.scale.{module}"
        if importlib.util.find_spec(name) is not None:
            tasks = importlib.import_module(name).TASKS
            found.update({f"{module}:{task}": function for task, function in tasks.items()})
    return found


def run_one(name: str) -> None:
    """Run one task in this process and print its numbers as the last line."""
    module, task = name.split(":")
    found = importlib.import_module(f"benchmarks.scale.{module}").TASKS[task]()
    print(json.dumps(found))


def run_apart(name: str) -> dict[str, Any]:
    """Run one task in a process of its own."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, "-m", "benchmarks.scale", "--one", name]
    begin = time.perf_counter()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=LIMIT,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"stopped_after_s": LIMIT}
    if done.returncode:
        raise RuntimeError(f"{name} failed:\n{done.stderr.strip()[-2000:]}")
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return {**found, "wall_s": time.perf_counter() - begin}


def store(report: dict[str, Any], path: Path) -> None:
    """Write the report whole or not at all."""
    part = path.with_suffix(".tmp")
    part.write_text(json.dumps(report, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(path)


def settings() -> dict[str, Any]:
    return {
        "threads": 1,
        "machine": platform.machine(),
        "python": platform.python_version(),
        "versions": {
            "kgl": kgl.__version__, "numpy": np.__version__, "scipy": scipy.__version__,
        },
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("only", nargs="*", help="tasks to run, as module:name; * stands for any")
    parser.add_argument("--list", action="store_true", help="name the tasks and what is stored")
    parser.add_argument("--again", action="store_true", help="run tasks that are stored already")
    parser.add_argument("--report", action="store_true", help="only write tables and figures")
    parser.add_argument("--output", type=Path, default=STORED)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        run_one(options.one)
        return
    known: dict[str, Any] = {}
    if options.output.exists():
        known = json.loads(options.output.read_text(encoding="utf-8"))["tasks"]
    if not options.report:
        _run(options, known)
    if not options.list and options.output == STORED:
        from benchmarks.scale.report import write  # draws figures, so only where needed

        write(known)


def _run(options: argparse.Namespace, known: dict[str, Any]) -> None:
    names = [n for n in all_tasks() if not options.only or _wanted(n, options.only)]
    if options.only and not names:
        sys.exit(f"no task is called {' or '.join(options.only)}; --list names them")
    if options.list:
        for name in names:
            print(f"{name:<40}{'stored' if name in known else ''}")
        return
    todo = [name for name in names if options.again or name not in known]
    print(f"{len(todo)} of {len(names)} tasks to run; the others are stored", flush=True)
    for count, name in enumerate(todo, 1):
        print(f"[{count}/{len(todo)}] {name}", end=" ", flush=True)
        try:
            known[name] = run_apart(name)
        except RuntimeError as error:
            print(f"\n{error}", flush=True)
            continue
        store({"settings": settings(), "tasks": known}, options.output)
        print(f"{known[name].get('wall_s', LIMIT):.1f} s", flush=True)


def _wanted(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
