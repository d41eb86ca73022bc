"""What a campaign counts, how it shows progress, and the file that results are kept in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: Results of full runs; docs/campaigns.md is made from them.
KEPT = ROOT / "benchmarks" / "campaigns.json"
#: Examples of faults that a result lists.
SHOWN = 40
#: Seconds between two lines of progress.
EVERY = 10.0


class Tally:
    """Counts of one run.

    Parameters
    ----------
    total : int
        Attempts that are planned, for the progress.
    unit : str
        What an attempt is called.
    faults : sequence of str
        Kinds of faults, none of which may occur.
    """

    def __init__(self, total: int, unit: str, faults: Sequence[str]) -> None:
        self.total, self.unit = total, unit
        self.tried = 0
        self.faults = Counter(dict.fromkeys(faults, 0))
        self.counts: Counter[str] = Counter()
        self.examples: list[dict[str, Any]] = []
        self.details: dict[str, Any] = {}
        self._begin = self._shown = time.monotonic()

    def fault(self, kind: str, /, **what: Any) -> None:
        """Count a fault and keep what is needed to see it again."""
        if kind not in self.faults:
            raise KeyError(f"{kind!r} is not one of the faults {list(self.faults)}")
        self.faults[kind] += 1
        if len(self.examples) < SHOWN:
            self.examples.append({"fault": kind, **what})

    def step(self, n: int = 1) -> None:
        """Count attempts, and show now and then how far the run is."""
        self.tried += n
        now = time.monotonic()
        if now - self._shown >= EVERY or self.tried >= self.total:
            self._shown = now
            left = (now - self._begin) * (self.total - self.tried) / max(self.tried, 1)
            print(
                f"{self.tried:,} of {self.total:,} {self.unit}, {sum(self.faults.values())} "
                f"faults, about {max(0.0, left):.0f} s left",
                file=sys.stderr,
                flush=True,
            )

    def record(self) -> dict[str, Any]:
        """Return the result."""
        return {
            "tried": self.tried,
            "faults": dict(self.faults),
            "counts": dict(sorted(self.counts.items())),
            "examples": self.examples,
            "details": self.details,
        }


def added(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the results of several runs of one campaign."""
    tried, faults, counts = 0, Counter[str](), Counter[str]()
    examples: list[Any] = []
    details: dict[str, Any] = {}
    for record in records:
        tried += record["tried"]
        for name, count in record["faults"].items():
            faults[name] += count
        for name, count in record.get("counts", {}).items():
            counts[name] += count
        examples += record.get("examples", [])
        for name, value in record.get("details", {}).items():
            both = isinstance(value, list) and isinstance(details.get(name), list)
            details[name] = details[name] + value if both else value
    return {
        "tried": tried,
        "faults": dict(faults),
        "counts": dict(sorted(counts.items())),
        "examples": examples[:SHOWN],
        "details": details,
    }


def passed(record: Mapping[str, Any]) -> bool:
    """Whether no fault occurred."""
    return record["tried"] > 0 and not any(record["faults"].values())


def commit() -> str:
    """Return the commit of the checkout, with a mark if files differ from it."""
    git = ["git", "-C", str(ROOT)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=True
        )
        state = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.stdout.strip() + "+" * bool(state.stdout.strip())


def keep(path: Path, campaign: str, record: Mapping[str, Any]) -> None:
    """Add a run to a file of results; one with the same campaign and seed is replaced."""
    kept = load(path)
    same = [one for one in kept.get(campaign, []) if one["seed"] != record["seed"]]
    kept[campaign] = sorted([*same, dict(record)], key=lambda one: one["seed"])
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    part.replace(path)


def load(path: Path = KEPT) -> dict[str, list[dict[str, Any]]]:
    """Read a file of results: the runs of each campaign."""
    if not path.exists():
        return {}
    found: dict[str, list[dict[str, Any]]] = json.loads(path.read_text(encoding="utf-8"))
    return found
