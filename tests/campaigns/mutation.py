"""Small faults in solvers, metrics, simulation, scores and claims; their tests must fail.

Every mutant (``mutants.py``) is run in a process of its own, forked from one that has loaded the
other packages, against those tests of its module that reach its line, the fastest first. Those that
survive are listed, and judged in ``judged.toml``: equivalent (no input tells it from the code),
speed (only time or memory differ), or real, which asks for a test. The score is the share that is
caught of all mutants but the equivalent ones.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import multiprocessing
import os
import pickle
import resource
import signal
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from tests.campaigns.mutants import Mutant, compiled, mutants
from tests.campaigns.result import ROOT, Tally

FAULTS = ("below nine of ten", "survivors that are not judged", "tests that fail without a fault")
LEAST = 0.9
JUDGED = Path(__file__).with_name("judged.toml")
#: Seconds that the tests of a mutant may take, beyond five times what they take without it.
LIMIT = 20.0
#: Seconds of tests of a mutant at most: the fastest ones that reach the line.
ENOUGH = 12.0
MEMORY = 4 << 30

#: Groups of modules, and the tests that are theirs.
GROUPS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "metrics": (
        ("kgl/metrics.py", "kgl/_graph_input.py", "kgl/_sparse_graphs.py"),
        (
            "tests/kgl/test_metrics.py", "tests/kgl/test_metrics_sparse.py",
            "tests/kgl/test_mutants.py",
            "tests/kgl/test_fuzzed_input.py",
        ),
    ),
    "simulate": (
        ("kgl/simulate.py", "kgl/random_graphs.py", "kgl/seeding.py"),
        (
            "tests/kgl/test_simulate.py", "tests/kgl/test_seeding.py", "tests/kgl/test_mutants.py",
            "tests/kgl/test_fuzzed_input.py",
        ),
    ),
    "score": (
        ("experiments/score.py", "experiments/metrics.py", "experiments/stats.py"),
        (
            "tests/experiments/test_score.py", "tests/experiments/test_metrics.py",
            "tests/experiments/test_stats.py", "tests/experiments/test_mutants.py",
            "tests/experiments/test_claims.py",
        ),
    ),
    "claims": (
        ("experiments/claims/*.py",),
        ("tests/experiments/test_claims*.py", "tests/experiments/test_mutants.py"),
    ),
    "solvers": (
        ("kgl/solvers/*.py",),
        (
            "tests/kgl/oracle", "tests/kgl/property", "tests/kgl/test_false_certificates.py",
            "tests/kgl/test_mutants.py", "tests/kgl/test_density.py", "tests/kgl/test_problem.py",
            "tests/kgl/test_grid.py", "tests/kgl/test_signed.py", "tests/kgl/test_models.py",
        ),
    ),
}  # fmt: skip
#: Modules of other packages, loaded once.
_LOADED = (
    "numpy", "scipy.linalg", "scipy.sparse.csgraph", "scipy.spatial.distance", "scipy.stats",
    "sklearn.base", "sklearn.metrics", "sklearn.cluster", "sklearn.utils.validation", "pandas",
    "networkx", "hypothesis", "hypothesis.extra.numpy", "pytest", "cvxpy", "matplotlib.pyplot",
    "pyarrow.parquet", "yaml", "hydra", "omegaconf", "jinja2",
)  # fmt: skip

Reached = dict[str, dict[int, list[tuple[float, str]]]]


# ------------------------------------------------------------------------- in the forked process


class _Faulty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from code with a fault."""

    def __init__(self, name: str, code: CodeType) -> None:
        self.name, self.code = name, code

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        file = self.code.co_filename
        return importlib.machinery.ModuleSpec(name, self, origin=file)

    def create_module(self, spec: Any) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = self.code.co_filename
        exec(self.code, module.__dict__)


class _Only:
    """Keep the tests that are wanted, in their order."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self.order = {name: k for k, name in enumerate(wanted)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order),
            key=lambda item: self.order[item.nodeid],
        )


class _Trace:
    """Note which lines of some files each test reaches, and how long it takes."""

    def __init__(self, files: Sequence[str]) -> None:
        self.files = {str(ROOT / file): file for file in files}
        self.reached: dict[str, dict[int, set[str]]] = {file: defaultdict(set) for file in files}
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self._lines: set[tuple[str, int]] = set()

    def _call(self, frame: Any, event: str, _: Any) -> Any:
        file = self.files.get(frame.f_code.co_filename)
        if file is None:
            return None
        lines = self._lines

        def line(frame: Any, event: str, _: Any) -> Any:
            lines.add((file, frame.f_lineno))
            return line

        return line

    def pytest_runtest_protocol(self, item: Any) -> None:
        self._lines.clear()
        self._begin = time.perf_counter()
        sys.settrace(self._call)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        sys.settrace(None)
        self.seconds[nodeid] = time.perf_counter() - self._begin
        for file, number in self._lines:
            self.reached[file][number].add(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def _pytest(arguments: Sequence[str], plugin: Any) -> int:
    """Run pytest in silence in this process."""
    import pytest

    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    options = ["-q", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return int(pytest.main([*options, *arguments], plugins=[plugin]))


def _in_child(work: Any, seconds: float) -> tuple[bool, Any]:
    """Fork, do some work and return its result; False if it took too long or died."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        os.setpgrp()
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            answer = pickle.dumps(work())
            with os.fdopen(write, "wb") as stream:
                stream.write(answer)
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    timer = _Alarm(pid, seconds)
    with os.fdopen(read, "rb") as stream, timer:
        answer = stream.read()
    os.waitpid(pid, 0)
    return (True, pickle.loads(answer)) if answer else (False, None)


class _Alarm:
    """Kill a process after some seconds."""

    def __init__(self, pid: int, seconds: float) -> None:
        self.pid, self.seconds = pid, seconds

    def _kill(self, *_: Any) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def __enter__(self) -> None:
        signal.signal(signal.SIGALRM, self._kill)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def _baseline(files: Sequence[str], tests: Sequence[str]) -> tuple[Any, Any, Any]:
    trace = _Trace(files)
    _pytest([*tests, "--maxfail=1000"], trace)
    reached = {
        file: {
            line: sorted((trace.seconds[name], name) for name in names)
            for line, names in lines.items()
        }
        for file, lines in trace.reached.items()
    }
    return reached, trace.failed, len(trace.seconds)


def _tried(mutant: Mutant, wanted: Sequence[str]) -> bool:
    """Whether a test fails with the fault in place."""
    name = mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    sys.meta_path.insert(0, _Faulty(name, compiled(ROOT, mutant)))
    files = list(dict.fromkeys(test.split("::")[0] for test in wanted))
    return _pytest(files, _Only(wanted)) != 0


# ------------------------------------------------------------------------------------ the server


def _matching(globs: Sequence[str]) -> list[str]:
    found = [path for glob in globs for path in sorted(ROOT.glob(glob))]
    return [path.relative_to(ROOT).as_posix() for path in found if path.name != "__main__.py"]


def _sample(budget: int, seed: int) -> dict[str, list[Mutant]]:
    """Return mutants of each group, of modules in proportion to the places in them."""
    rng = np.random.default_rng([seed, 6])
    found = {}
    for k, (group, (modules, _)) in enumerate(GROUPS.items()):
        share = budget // len(GROUPS) + (k < budget % len(GROUPS))
        pool = [one for file in _matching(modules) for one in mutants(ROOT, file)]
        chosen = rng.choice(len(pool), min(share, len(pool)), replace=False)
        found[group] = [pool[i] for i in sorted(chosen)]
    return found


def _fast(reached: Reached, mutant: Mutant) -> tuple[list[str], float]:
    """Return the tests that reach a fault, the fastest first, and how long they take."""
    chosen: list[str] = []
    seconds = 0.0
    lines = reached.get(mutant.file, {})
    span = range(mutant.first, mutant.last + 1)
    found = {one for line in span for one in lines.get(line, [])}
    if not found:  # what runs when the module is loaded, such as constants
        found = {one for tests in lines.values() for one in tests}
    for length, name in sorted(found):
        if chosen and seconds + length > ENOUGH:
            break
        chosen.append(name)
        seconds += length
    return chosen, seconds


def serve(pipe: Any, chosen: dict[str, list[Mutant]]) -> None:
    """Try all mutants out, and send what becomes of each: a process with nothing of ours loaded."""
    os.chdir(ROOT)
    for name in _LOADED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    for group, sample in chosen.items():
        if not sample:
            continue
        tests = _matching(GROUPS[group][1])
        files = sorted({one.file for one in sample})
        fine, answer = _in_child(lambda files=files, tests=tests: _baseline(files, tests), 900)
        if not fine:
            pipe.send(("broken", group, "the tests did not end"))
            continue
        reached, failed, n_tests = answer
        pipe.send(("tests", group, n_tests))
        if failed:
            pipe.send(("broken", group, failed[:5]))
            continue
        for mutant in sample:
            wanted, seconds = _fast(reached, mutant)
            if not wanted:
                pipe.send(("mutant", group, mutant, "not reached"))
                continue
            fine, caught = _in_child(lambda m=mutant, w=wanted: _tried(m, w), LIMIT + 5 * seconds)
            pipe.send(("mutant", group, mutant, "caught" if caught or not fine else "survived"))
    pipe.send(None)


def judged() -> dict[str, dict[str, str]]:
    """Return the verdicts on survivors, by mutant."""
    if not JUDGED.exists():
        return {}
    with JUDGED.open("rb") as stream:
        return {one["mutant"]: one for one in tomllib.load(stream)["judged"]}


def run(budget: int, seed: int) -> dict[str, Any]:
    """Try ``budget`` mutants out."""
    tally = Tally(budget, "mutants", FAULTS)
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    server = context.Process(target=serve, args=(theirs, _sample(budget, seed)))
    server.start()
    known, survivors = judged(), []
    caught = equivalent = 0
    while (message := ours.recv()) is not None:
        kind, group, *what = message
        if kind == "broken":
            tally.fault("tests that fail without a fault", group=group, tests=str(what[0]))
        elif kind == "mutant":
            mutant, outcome = what
            tally.counts[f"{group}: {'caught' if outcome == 'caught' else 'survived'}"] += 1
            caught += outcome == "caught"
            if outcome != "caught":
                verdict = known.get(mutant.key, {}).get("verdict", "not judged")
                reason = known.get(mutant.key, {}).get("reason", "")
                equivalent += verdict == "equivalent"
                print(f"survived: {mutant.key} (line {mutant.line})", file=sys.stderr, flush=True)
                survivors.append(
                    {"mutant": mutant.key, "line": mutant.line, "outcome": outcome,
                     "verdict": verdict, "reason": reason}
                )  # fmt: skip
            tally.step()
    server.join()
    tally.details["survivors"] = survivors
    tally.counts["caught"] = caught
    tally.counts["equivalent"] = equivalent
    if caught < LEAST * (tally.tried - equivalent):
        tally.fault("below nine of ten", caught=caught, of=tally.tried - equivalent)
    for one in survivors:
        if one["verdict"] == "not judged":
            tally.fault("survivors that are not judged", mutant=one["mutant"], line=one["line"])
    return tally.record()
