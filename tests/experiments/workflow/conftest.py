"""Runs of the real workflow in copies of the repository, never in the repository itself."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import matplotlib
import pytest

ROOT = Path(__file__).resolve().parents[3]
#: What a workflow needs of the repository.
PARTS = ("Snakefile", "conf", "profiles", "experiments", "kgl", "pyproject.toml")
#: Seconds after which a run counts as hung; the longest takes a minute on two free cores.
LIMIT = 900
#: A run ends up to a timespan after its last job, see profiles/default; `make smoke` has the same.
QUICK = ("--max-jobs-per-timespan", "1000/3s")


class Job(NamedTuple):
    """A job that Snakemake would run: its rule and what it writes."""

    rule: str
    outputs: frozenset[str]


class Checkout:
    """A copy of the repository in which Snakemake runs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def make(cls, root: Path) -> "Checkout":
        """Copy the repository to a directory that is absent or empty."""
        root.mkdir(exist_ok=True)
        for part in PARTS:
            if (ROOT / part).is_file():
                shutil.copy2(ROOT / part, root / part)
            else:
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / part, root / part, ignore=ignored)
        return cls(root)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a user, with the code of this copy, one thread and no real data."""
        inherited = ("KGL_CONF", "KGL_DATA_DIR", "SNAKEMAKE_PROFILE", "COLUMNS")
        kept = {name: value for name, value in os.environ.items() if name not in inherited}
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        # shell commands of the workflow call `python`, which is that of the tests
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
        own = {"PATH": path, "MPLBACKEND": "Agg", "PYTHONPATH": str(self.root)}
        # neither downloads nor the files that an installed kgl may have fetched; fonts stay cached
        away = {"KGL_OFFLINE": "1", "XDG_CACHE_HOME": str(self.root / ".cache")}
        return {**kept, **threads, **own, **away, "MPLCONFIGDIR": matplotlib.get_cachedir()}

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of Snakemake."""
        return [sys.executable, "-m", "snakemake", "--nocolor", *QUICK, *arguments]

    def snakemake(self, *arguments: str, fails: bool = False, **variables: str) -> str:
        """Run Snakemake and return what it prints; check that it succeeds, or that it fails.

        Other arguments are variables of the environment.
        """
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.root,
            env=self.environment | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout
        return done.stdout

    def pending(self, *config: str) -> list[Job]:
        """Return the jobs that a run would take now, by a dry run; `all` is not among them."""
        text = self.snakemake("--dry-run", "--quiet", "host", "--config", *config)
        # a block per job: "rule fit:", then indented lines
        blocks = re.findall(r"^(?:local)?rule (\w+):\n((?: {4}.*\n)+)", text, re.MULTILINE)
        jobs = []
        for rule, lines in blocks:
            output = re.search(r"^    output: (.*)$", lines, re.MULTILINE)
            jobs.append(Job(rule, frozenset(output[1].split(", ") if output else ())))
        counts = re.search(r"^total +(\d+)$", text, re.MULTILINE)
        assert ("Nothing to be done" in text) == (not jobs), text
        assert not jobs or (counts is not None and int(counts[1]) == len(jobs)), text
        return [job for job in jobs if job.rule != "all"]

    def append(self, path: str, line: str = "# edited") -> None:
        """Add a line to a file."""
        with (self.root / path).open("a", encoding="utf-8") as stream:
            stream.write(f"{line}\n")

    def replace(self, path: str, old: str, new: str) -> None:
        """Change some text of a file."""
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text
        (self.root / path).write_text(text.replace(old, new), encoding="utf-8")

    def files(self, folder: str) -> dict[str, bytes]:
        """Return the contents of all files of a folder."""
        found = sorted(path for path in (self.root / folder).rglob("*") if path.is_file())
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in found}


@pytest.fixture
def checkout(tmp_path):
    """A fresh copy of the repository, without results."""
    return Checkout.make(tmp_path / "checkout")


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """A copy in which the study `smoke` has been run. Shared: look, do not touch.

    All workers of pytest-xdist share one run: the first to ask makes it, the others wait.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    root, outcome = shared / "smoke", shared / "smoke.json"
    try:
        root.mkdir()
    except FileExistsError:
        end = time.monotonic() + LIMIT
        while not outcome.exists():
            assert time.monotonic() < end, "the smoke run of another worker does not end"
            time.sleep(0.2)
    else:
        _run_smoke(root, outcome)
    failure = json.loads(outcome.read_text(encoding="utf-8"))
    if failure is not None:
        pytest.fail(f"the smoke run failed:\n{failure}", pytrace=False)
    return Checkout(root)


def _run_smoke(root: Path, outcome: Path) -> None:
    failure: str | None = "it was interrupted"
    try:
        printed = Checkout.make(root).snakemake("--cores", "2", "--config", "study=smoke")
        (root / "printed.txt").write_text(printed, encoding="utf-8")
        failure = None
    except Exception as error:
        failure = str(error)
    finally:
        part = outcome.with_suffix(".part")
        part.write_text(json.dumps(failure), encoding="utf-8")
        part.replace(outcome)


@pytest.fixture
def finished(smoke, tmp_path):
    """A copy of the finished smoke run, to be edited; times of files are kept."""
    shutil.copytree(smoke.root, tmp_path / "finished")
    return Checkout(tmp_path / "finished")
