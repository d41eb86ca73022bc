"""Features of other packages: from ``docs/peers.toml``, with evidence, to ``docs/peers.md``.

``python -m benchmarks.features`` checks the evidence and renews the tables of the page.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from benchmarks.page import renew

__all__ = ["EVIDENCE", "FEATURES_PAGE", "HOW", "faults", "load", "render"]

ROOT = Path(__file__).parent.parent
EVIDENCE = ROOT / "docs" / "peers.toml"
FEATURES_PAGE = ROOT / "docs" / "peers.md"
#: How a cell was checked. ``test``: by a test of this repository, so in the column of kgl alone.
HOW = ("run", "source", "manual", "test")


def load(path: Path = EVIDENCE) -> dict[str, Any]:
    """Return the tables (titles and features) and the packages (cells by feature)."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def faults(report: dict[str, Any]) -> list[str]:
    """Return what is wrong: cells without evidence, and evidence that is none."""
    features = [name for table in report["tables"] for name in table["features"]]
    found = [f"{name} is in two tables" for name in set(features) if features.count(name) > 1]
    for key, package in report["packages"].items():
        cells = package["cells"]
        found += [f"{key}: no cell for {name}" for name in features if name not in cells]
        found += [f"{key}: {name} is in no table" for name in cells if name not in features]
        for name, (value, how, evidence) in cells.items():
            if not value or "?" in value or "|" in value:
                found.append(f"{key}: {name} has the value {value!r}")
            if how not in HOW:
                found.append(f"{key}: {name} was checked by {how!r}, not one of {', '.join(HOW)}")
            if how == "run" and "->" not in evidence:
                found.append(f"{key}: {name} was run, but there is no output")
            if how == "test" and not _is_test(evidence):
                found.append(f"{key}: {name} names no test: {evidence}")
            if len(evidence) < 6:
                found.append(f"{key}: {name} has no evidence")
    return found


def _is_test(evidence: str) -> bool:
    path, _, function = evidence.split()[0].partition("::")
    file = ROOT / path
    return file.is_file() and f"def {function}(" in file.read_text(encoding="utf-8")


def render(report: dict[str, Any]) -> str:
    """Return the tables in Markdown, one row per feature and one column per package."""
    packages = report["packages"].values()
    lines: list[str] = []
    for table in report["tables"]:
        heads = [p["heading"] for p in packages]
        rows = [
            [name, *(package["cells"][name][0] for package in packages)]
            for name in table["features"]
        ]
        lines += [f"### {table['title']}", ""]
        lines += [_line(["", *heads]), _line(["---"] * (len(heads) + 1))]
        lines += [*map(_line, rows), ""]
    checked = [[p["heading"], p["version"], p["checked"]] for p in packages]
    lines += ["### Versions", "", _line(["", "version", "checked with"]), _line(["---"] * 3)]
    lines += map(_line, checked)
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    report = load()
    if wrong := faults(report):
        raise SystemExit("\n".join(wrong))
    renew(FEATURES_PAGE, "features", render(report))


if __name__ == "__main__":
    main()
