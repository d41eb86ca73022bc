"""What a run was and what it cost."""

from __future__ import annotations

import csv
import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from experiments.io import (
    atomic,
    content_hash,
    load_table,
    provenance,
    save_csv,
    state_of,
)
from kgl._optional import import_optional

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
    captions: tuple[Mapping[str, Any], str],
    facts: tuple[Sequence[str], str],
    about: tuple[str, str],
) -> None:
    """Write what a run was.

    Parameters
    ----------
    run : dict
        Its name and settings.
    tables : list of str
        The tables of its studies.
    benchmarks : dict
        Snakemake's benchmark files, by kind of job.
    provenance, cost : str
        Where to write what made the tables (JSON), and what the jobs cost (CSV).
    captions : (dict, str)
        Those of the figures, and where to write them.
    facts : (list of str, str)
        Tables of what the real data sets are, and where to write them as one (CSV).
    about : (str, str)
        A file with the time of the start, and where to write the machine and the time (JSON).
    """
    rows = read_costs(benchmarks)
    for content, path in (
        (_record(run, tables), provenance),
        (dict(captions[0]), captions[1]),
        (_about(rows, about[0]), about[1]),
    ):
        with atomic(path) as part:
            text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
            part.write_text(text + "\n", encoding="utf-8")
    pd = import_optional("pandas", "workflow", "the replication")
    known = [load_table(path)[0] for path in facts[0]]
    save_csv(facts[1], pd.concat(known, ignore_index=True) if known else pd.DataFrame())
    with atomic(cost) as part, part.open("w", newline="", encoding="utf-8") as stream:
        names = ["job", "jobs", "minutes_in_all", "seconds_longest", "memory_mb_largest"]
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def machine() -> dict[str, Any]:
    """Return what the machine is, as far as it says."""
    cpu = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), cpu)
    found = {"cores": os.cpu_count(), "cpu": cpu, "platform": platform.platform(terse=True)}
    with suppress(AttributeError, ValueError, OSError):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        found["memory_gb"] = round(memory / 2**30)
    return found


def _about(rows: Sequence[Mapping[str, Any]], started: str) -> dict[str, Any]:
    """Return the machine, how long the jobs took in all, and how long this call of Snakemake."""
    about: dict[str, Any] = {
        "machine": machine(),
        "jobs": sum(row["jobs"] for row in rows),
        "cpu_seconds": round(60 * sum(row["minutes_in_all"] for row in rows)),
    }
    with suppress(OSError, ValueError):
        begin = float(Path(started).read_text(encoding="utf-8"))
        about["started"] = time.strftime("%Y-%m-%d %H:%M", time.gmtime(begin))
        about["wall_seconds"] = round(time.time() - begin)
    return about


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
