"""Tests do not depend on their order: no module of the checkout is loaded twice."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PLUGIN = """
import sys

def pytest_collection_finish(session):
    for name, module in sorted(sys.modules.items()):
        print("loaded", name, getattr(module, "__file__", None))
"""


def test_no_module_is_loaded_twice(tmp_path: Path) -> None:
    (tmp_path / "loaded.py").write_text(PLUGIN)
    # a module of tests, and tests that import it
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "loaded"]
    command += ["-p", "no:cacheprovider", "tests/mutation", "kgl/seeding.py"]
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.argv = {command[2:]!r}; "
    done = subprocess.run(
        [sys.executable, "-c", f"{code}import pytest; sys.exit(pytest.main(sys.argv[1:]))"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = defaultdict(set)
    for line in done.stdout.splitlines():
        if line.startswith("loaded ") and line.endswith(".py"):
            _, name, file = line.split(" ", 2)
            if Path(file).is_relative_to(ROOT) and name != "__main__":
                loaded[Path(file).relative_to(ROOT).as_posix()].add(name)
    assert {"tests/mutation/run.py", "kgl/seeding.py"} <= set(loaded)
    twice = {file: names for file, names in loaded.items() if len(names) > 1}
    inside = {file for file in twice if not file.startswith(".venv")}
    assert not inside, {file: twice[file] for file in inside}
