"""What a run was and what it cost."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kgl.replication.records import (
    atomic,
    content_hash,
    load_table,
    provenance,
    state_of,
)

__all__ = ["read_costs", "write_summary"]


def read_costs(benchmarks: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Add up Snakemake's benchmark files by kind of job; those that are absent are left out."""
    rows = []
    for kind, paths in benchmarks.items():
        seconds, memory = [], []
        for path in paths:
            if not Path(path).exists():
                continue
            with Path(path).open(encoding="utf-8") as stream:
                for line in csv.DictReader(stream, delimiter="\t"):
                    seconds.append(float(line["s"]))
                    memory.append(_number(line["max_rss"]))
        if seconds:
            rows.append(
                {
                    "job": kind,
                    "jobs": len(seconds),
                    "minutes_in_all": round(sum(seconds) / 60, 2),
                    "seconds_longest": round(max(seconds), 1),
                    "memory_mb_largest": round(max(memory)),
                }
            )
    return rows


def _number(text: str) -> float:
    # a job shorter than the sampling interval has "-" or "NA" for its memory
    try:
        return float(text)
    except ValueError:
        return 0.0


def write_summary(
    run: Mapping[str, Any],
    *,
    tables: Sequence[str],
    benchmarks: Mapping[str, Sequence[str]],
    provenance: str,
    cost: str,
) -> None:
    """Write the provenance of a run (JSON) and what its jobs cost (CSV)."""
    record = _record(run, tables)
    with atomic(provenance) as part:
        part.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    rows = read_costs(benchmarks)
    with atomic(cost) as part, part.open("w", newline="", encoding="utf-8") as stream:
        names = ["job", "jobs", "minutes_in_all", "seconds_longest", "memory_mb_largest"]
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _record(run: Mapping[str, Any], tables: Sequence[str]) -> dict[str, Any]:
    """Gather what the tables say of themselves: every state of the code that had a part in them."""
    states: dict[str, set[str]] = {}
    hashes = {}
    for path in tables:
        table, made = load_table(path)
        name = Path(path).stem
        hashes[name] = {"sha256": content_hash(table), "settings": made["digest"]}
        # the table's own state, and those of the fits it was made from
        for state in (state_of(made), *made["settings"].get("made_by", [])):
            states.setdefault(json.dumps(state, sort_keys=True), set()).add(name)
    code = [{**json.loads(text), "tables": sorted(states[text])} for text in sorted(states)]
    digest = provenance(dict(run))["digest"]
    return {"run": dict(run), "digest": digest, "code": code, "tables": hashes}
