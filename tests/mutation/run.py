"""Mutation check: put small faults into copies of the tree, one at a time, and run the tests.

    python -m tests.mutation.run --jobs 2
    python -m tests.mutation.run --only percentile drop-sign --json survivors.json

``mutations.toml`` lists the faults and the tests that cover each. Every job works in a temporary
copy, never in the checkout. First the tests must pass without a fault. The exit status is 1 if
fewer than ``LEAST`` of all faults are caught, or if one of those named by ``--only`` survives.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mutations.toml")
#: Faults that must be caught, of 40.
LEAST = 38
#: Seconds after which the tests of a fault count as failed: some faults never converge.
LIMIT = 300
#: Not copied: environments, results and caches.
LEFT_OUT = shutil.ignore_patterns(
    ".*", "__pycache__", "results", "raw", "build", "dist", "*.egg-info", "*.pdf", "node_modules"
)


@dataclass(frozen=True)
class Mutation:
    """A fault: ``text``, which occurs once in the files that ``files`` match, is replaced."""

    name: str
    files: Sequence[str]
    text: str
    replacement: str
    tests: Sequence[str]

    def locate(self, root: Path) -> Path:
        """Return the file that has the text; an error if it is not exactly one place."""
        found = {path: path.read_text(encoding="utf-8") for path in matching(root, self.files)}
        places = [path for path, text in found.items() for _ in range(text.count(self.text))]
        if len(places) != 1:
            where = ", ".join(path.relative_to(root).as_posix() for path in places) or "no file"
            raise LookupError(
                f"mutation {self.name!r}: {self.text!r} must occur once in {list(self.files)}, but "
                f"occurs in {where}; update {LIST.name}"
            )
        return places[0]

    def test_files(self, root: Path) -> list[str]:
        """Return the test files in the order in which they are tried."""
        found = [path.relative_to(root).as_posix() for path in matching(root, self.tests)]
        if not found:
            raise LookupError(f"mutation {self.name!r}: no test matches {list(self.tests)}")
        return found

    @contextmanager
    def applied(self, root: Path) -> Iterator[Path]:
        """Put the fault into a copy of the tree, and take it out again."""
        path = self.locate(root)
        before = path.read_bytes()
        after = before.decode().replace(self.text, self.replacement).encode()
        path.write_bytes(after)
        try:
            yield path
        finally:
            path.write_bytes(before)


@dataclass(frozen=True)
class Outcome:
    """What became of a mutation: the test that failed first, empty where it survived."""

    name: str
    file: str
    caught_by: str
    seconds: float


def load(path: Path = LIST) -> list[Mutation]:
    """Read the list of mutations."""
    with path.open("rb") as stream:
        return [Mutation(**entry) for entry in tomllib.load(stream)["mutation"]]


def matching(root: Path, globs: Iterable[str]) -> list[Path]:
    """Return the files that globs match, each once, in the order of the globs."""
    return list(dict.fromkeys(path for glob in globs for path in sorted(root.glob(glob))))


def first_failure(root: Path, tests: Sequence[str]) -> str:
    """Run tests until one fails; return its name, or nothing if all pass."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    # no bytecode: a fault of the same size within a second would not be noticed
    own = {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "KGL_OFFLINE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "--no-header", "--tb=no"]
    try:
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
            cwd=root,
            env={**os.environ, **threads, **own},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"stopped after {LIMIT} s"
    if done.returncode == 0:
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    if done.returncode != 1 and failed is None:
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout}")
    return failed[1] if failed else "a test"


class Copies:
    """Copies of the tree, one for each job."""

    def __init__(self, directory: Path, jobs: int) -> None:
        self.free: queue.Queue[Path] = queue.Queue()
        for job in range(jobs):
            copy = directory / str(job)
            shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
            self.free.put(copy)

    @contextmanager
    def one(self) -> Iterator[Path]:
        """Lend a copy that no other job uses."""
        copy = self.free.get()
        try:
            yield copy
        finally:
            self.free.put(copy)

    def check(self, test: str) -> tuple[str, str]:
        """Return a test file, and the test in it that fails without a fault."""
        with self.one() as copy:
            return test, first_failure(copy, [test])

    def try_out(self, mutation: Mutation) -> Outcome:
        """Apply a mutation and run its tests."""
        start = time.monotonic()
        with self.one() as copy, mutation.applied(copy) as path:
            failed = first_failure(copy, mutation.test_files(copy))
            file = path.relative_to(copy).as_posix()
        return Outcome(mutation.name, file, failed, round(time.monotonic() - start, 1))


def run(mutations: Sequence[Mutation], jobs: int) -> list[Outcome]:
    """Try all mutations out, with progress on the screen."""
    tests = sorted({test for mutation in mutations for test in mutation.test_files(ROOT)})
    for mutation in mutations:
        mutation.locate(ROOT)
    start, outcomes = time.monotonic(), []
    with tempfile.TemporaryDirectory(prefix="kgl-mutation-") as directory:
        copies = Copies(Path(directory), jobs)
        with ThreadPoolExecutor(jobs) as pool:
            print(f"{len(tests)} test files without a fault", flush=True)
            red = [f"{test}: {failed}" for test, failed in pool.map(copies.check, tests) if failed]
            if red:
                sys.exit("the tests fail without a fault; fix these first:\n" + "\n".join(red))
            waiting = [pool.submit(copies.try_out, mutation) for mutation in mutations]
            for count, done in enumerate(as_completed(waiting), 1):
                one = done.result()
                outcomes.append(one)
                word = "caught" if one.caught_by else "SURVIVED"
                spent = time.monotonic() - start
                print(f"{count:3}/{len(mutations)} {spent:5.0f} s  {word}: {one.name}", flush=True)
    order = {mutation.name: k for k, mutation in enumerate(mutations)}
    return sorted(outcomes, key=lambda one: order[one.name])


def main() -> None:
    """Run the check from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="copies of the tree, default 2")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some mutations")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes to a file")
    given = parser.parse_args()
    mutations = load()
    if given.only:
        unknown = set(given.only) - {mutation.name for mutation in mutations}
        if unknown:
            parser.error(f"no mutation {', '.join(sorted(unknown))} in {LIST.name}")
        mutations = [mutation for mutation in mutations if mutation.name in given.only]
    outcomes = run(mutations, given.jobs)
    width = max(len(one.name) for one in outcomes)
    print()
    for one in outcomes:
        print(f"{one.name:{width}}  {one.file}  {one.caught_by or 'SURVIVED'}  {one.seconds:.0f} s")
    caught = sum(bool(one.caught_by) for one in outcomes)
    least = len(mutations) if given.only else LEAST
    print(f"\n{caught} of {len(outcomes)} caught; at least {least} must be")
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1) + "\n")
    sys.exit(caught < least)


if __name__ == "__main__":
    main()
