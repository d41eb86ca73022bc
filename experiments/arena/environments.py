"""Build the environments of the peers: ``python -m experiments.arena.environments [NAME ...]``.

Each list of packages in ``peers/`` becomes an environment of its name, in ``.arena`` or where
``KGL_ARENA`` points. A list may name the Python that it needs, which must be on the path. One that
cannot be built is reported, and the others are built all the same.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.arena.entrants import ADAPTERS, environments
from experiments.lookup import suggest

__all__ = ["build", "main", "python_of"]


def python_of(packages: Path) -> str | None:
    """Return the Python that a list of packages needs: this one, or None if it is not here."""
    found = re.search(r"^# python: (\S+)$", packages.read_text(encoding="utf-8"), re.MULTILINE)
    here = "{}.{}".format(*sys.version_info[:2])
    if found is None or found[1] == here:
        return sys.executable
    return shutil.which(f"python{found[1]}")


def build(packages: Path, place: Path) -> str:
    """Build an environment, and return an empty text or why there is none."""
    python = python_of(packages)
    if python is None:
        return "the Python that it needs is not on the path"
    commands = ([python, "-m", "venv", "--clear", str(place)],
                [str(place / ("Scripts" if sys.platform == "win32" else "bin") / "python"), "-m",
                 "pip", "install", "--quiet", "-r", str(packages)])  # fmt: skip
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            return lines[-1] if lines else f"exit code {done.returncode}"
    return ""


def main(names: Sequence[str]) -> int:
    """Build environments, all of them if none is named."""
    known = {path.stem: path for path in sorted(ADAPTERS.glob("*.txt"))}
    failed = 0
    for name in names:
        if name not in known:
            print(f"no list of packages {name!r}; {suggest(name, list(known))}", file=sys.stderr)
            return 2
    for name in names or known:
        why = build(known[name], environments() / name)
        failed += bool(why)
        print(f"{name}: {why or environments() / name}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
