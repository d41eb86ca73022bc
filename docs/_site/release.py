"""Check that a release is ready, and print its part of CHANGELOG.md.

    python docs/_site/release.py 0.1.0

Used by .github/workflows/release.yml. Needs the standard library alone.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def notes(changelog: str, version: str) -> str:
    """Return the section of a version, which must have a date: ``## 0.1.0 (2026-11-30)``."""
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$"
    found = re.search(rf"{heading}\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE)
    if found is None or not found[1].strip():
        raise ValueError(f"CHANGELOG.md has no text under a heading '## {version} (date)'")
    return found[1].strip() + "\n"


def main(version: str) -> int:
    """Print the notes of the version; return 1 where it is not ready."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    try:
        if project["version"] != version:
            raise ValueError(f"the tag is {version}, pyproject.toml has {project['version']}")
        print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version), end="")
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
