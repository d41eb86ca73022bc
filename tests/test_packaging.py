"""What is installed is the library alone; the project's files agree and name no machine."""

import csv
import email
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this checkout, built once, from a copy: building leaves files behind."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, source / name)
    for name in ("kgl", "experiments", "benchmarks", "tests", "conf"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--no-index", "--wheel-dir", target, source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = target.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_the_wheel_holds_the_library_and_nothing_of_the_replication(wheel):
    names = [n for n in wheel.namelist() if ".dist-info/" not in n]
    expected = {p.relative_to(ROOT).as_posix() for p in (ROOT / "kgl").rglob("*.py")}
    page = {f"kgl/command/page.{suffix}" for suffix in ("css", "html", "js")}
    assert set(names) == expected | {"kgl/py.typed"} | page
    for name in names:
        assert not re.search(r"^\s*(?:from|import) experiments", wheel.read(name).decode(), re.M)


def test_the_wheel_installs_the_command(wheel):
    (entries,) = (n for n in wheel.namelist() if n.endswith(".dist-info/entry_points.txt"))
    assert "kgl = kgl.command:main" in wheel.read(entries).decode()


def test_the_library_needs_four_packages_and_what_one_of_them_brings(wheel):
    (metadata,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    needed = email.message_from_bytes(wheel.read(metadata)).get_all("Requires-Dist")
    always = {canonical(line) for line in needed if "extra ==" not in line}
    # scikit-learn needs threadpoolctl itself
    assert always == {"networkx", "numpy", "scikit-learn", "scipy", "threadpoolctl"}


def description(wheel) -> str:
    """The text that the package index shows."""
    (metadata,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    message = email.message_from_bytes(wheel.read(metadata))
    assert message["Description-Content-Type"] == "text/markdown"
    text = message.get_payload(decode=True)
    assert isinstance(text, bytes)
    return text.decode("utf-8")


def test_links_and_images_on_the_package_index_are_absolute(wheel):
    text = description(wheel)
    source = PROJECT["urls"]["Source"]
    targets = re.findall(r"(!?)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)", text)
    assert len(targets) > 20
    for image, target in targets:
        assert re.match(r"https://|#", target), target
        if target.startswith(source):
            kind, ref, path = target.removeprefix(f"{source}/").split("/", 2)
            assert kind == ("raw" if image else "blob")
            assert ref == ("main" if "dev" in PROJECT["version"] else f"v{PROJECT['version']}")
            assert (ROOT / path.partition("#")[0]).exists(), target
    # nothing else differs: the same words in the same order
    plain = re.compile(r"\]\([^)\s]+\)")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert plain.sub("", text).split() == plain.sub("", readme).split()


def test_the_addresses_of_the_project_agree():
    urls = PROJECT["urls"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    meta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    assert citation["repository-code"] == meta["codeRepository"] == urls["Source"]
    assert citation["url"] == urls["Documentation"]
    assert meta["issueTracker"] == urls["Issues"]
    assert meta["description"] == PROJECT["description"]
    json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    written = "\n".join(
        p.read_text(encoding="utf-8") for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    )
    named = set(re.findall(r"https://github\.com/kernel-graph-learning/[\w/.-]+\w", written))
    assert named == {urls["Source"], urls["Issues"]}
    # for a BibTeX entry of the software
    faq = (ROOT / "docs/faq.md").read_text(encoding="utf-8")
    assert f"version = {{{citation['version']}}}" in faq


def test_importing_the_library_loads_nothing_of_the_replication():
    loaded = "import kgl, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", loaded], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = set(done.stdout.split())
    assert "kgl" in names
    replication = {"experiments", "hydra", "omegaconf", "snakemake", "jinja2", "yaml", "pyarrow"}
    optional = {"pandas", "matplotlib", "cvxpy", "pooch"}
    assert not names & (replication | optional)


def test_one_version_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    installed = importlib.metadata.version(PROJECT["name"])
    assert kgl.__version__ == installed == PROJECT["version"] == citation["version"]
    meta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    assert meta["version"] == PROJECT["version"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_lock_pins_every_package_with_a_hash(lock):
    entries = re.split(r"\n(?=[a-z0-9])", lock.read_text(encoding="utf-8"))[1:]
    assert entries
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==\S+", entry), entry.splitlines()[0]
        assert "--hash=sha256:" in entry, entry.splitlines()[0]


def test_lock_covers_every_declared_dependency():
    # the study `pays` names the packages that it lacks, and `make slurm-test` installs its own
    extras = PROJECT["optional-dependencies"]
    groups = [lines for name, lines in extras.items() if name not in ("docs", "pays", "slurm")]
    groups.append(PROJECT["dependencies"])
    declared = {canonical(line) for group in groups for line in group} - {PROJECT["name"]}
    assert declared <= locked(ROOT / "requirements/dev.txt").keys()
    site = {canonical(line) for line in extras["docs"]} - {PROJECT["name"]}
    assert site <= locked(ROOT / "requirements/docs.txt").keys()


def test_locks_agree_on_the_packages_they_share():
    dev = locked(ROOT / "requirements/dev.txt")
    for other in ("build", "docs"):
        pins = locked(ROOT / f"requirements/{other}.txt")
        shared = pins.keys() & dev.keys()
        assert {name: pins[name] for name in shared} == {name: dev[name] for name in shared}


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


def test_the_table_of_the_sparsity_figure_separates_small_psi():
    with (ROOT / "figures" / "h1-printed.csv").open(encoding="utf-8", newline="") as stream:
        values = {float(row["psi"]) for row in csv.DictReader(stream)}
    assert sorted(values) == [1e-7, 1e-5, 1e-3, 1e-1]
