"""The project's own files agree with each other and hold nothing of one machine."""

import importlib.metadata
import re
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import kgl

ROOT = Path(__file__).resolve().parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def canonical(requirement: str) -> str:
    """Name of the distribution in a requirement line, in the registry's spelling."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def locked(path: Path) -> dict[str, str]:
    """Version of every package in a lock."""
    pins = re.findall(r"^([a-z0-9-]+)==(\S+)", path.read_text(encoding="utf-8"), flags=re.M)
    return dict(pins)


def tracked_text() -> list[Path]:
    """Text files of the repository, committed or staged."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    # safe.directory: a CI may run as another user than the one that cloned.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    return [p for p in paths if p.is_file() and b"\0" not in p.read_bytes()]


def test_one_version_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    installed = importlib.metadata.version(PROJECT["name"])
    assert kgl.__version__ == installed == PROJECT["version"] == citation["version"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_lock_pins_every_package_with_a_hash(lock):
    entries = re.split(r"\n(?=[a-z0-9])", lock.read_text(encoding="utf-8"))[1:]
    assert entries
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==\S+", entry), entry.splitlines()[0]
        assert "--hash=sha256:" in entry, entry.splitlines()[0]


def test_lock_covers_every_declared_dependency():
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    declared = {canonical(line) for group in groups for line in group} - {PROJECT["name"]}
    assert declared <= locked(ROOT / "requirements/dev.txt").keys()


def test_locks_agree_on_the_packages_they_share():
    build, dev = (locked(ROOT / f"requirements/{name}.txt") for name in ("build", "dev"))
    shared = build.keys() & dev.keys()
    assert {name: build[name] for name in shared} == {name: dev[name] for name in shared}


def test_no_file_names_an_index_or_a_path_of_one_machine():
    forbidden = re.compile(
        r"--(?:extra-)?index-url[ =]|--find-links[ =]|file:/{2}"
        r"|(?<![\w.])/(?:home|root|Users|tmp|opt|work)/\w"
    )
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_text()
        if (match := forbidden.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert not found


def test_the_quick_benchmark_samples_every_value_of_the_grid():
    pytest.importorskip("threadpoolctl")
    from benchmarks.run import grid_points, some_points

    sample = some_points(0.1)
    assert len(sample) == 49
    assert np.array_equal(sample, some_points(0.1))
    for values in grid_points():
        assert set(values[sample]) == set(values)
    assert np.array_equal(some_points(1.0), np.arange(490))


def test_the_table_of_the_sparsity_figure_tells_small_psi_apart():
    table = pd.read_csv(ROOT / "figures" / "h1.csv")
    assert sorted(set(table["psi"])) == [1e-7, 1e-5, 1e-3, 1e-1]
