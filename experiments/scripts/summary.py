"""Write what the run was, what it cost, and the hash of every table."""

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

from experiments.io import content_hash, digest, load_table, logged, save_csv, save_json, state_of
from experiments.times import without_times

COSTS = ["job", "jobs", "minutes_in_all", "seconds_longest", "memory_mb_largest"]


def costs(benchmarks: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Add up Snakemake's benchmark files by kind of job; those that are absent are left out."""
    rows = []
    for kind, paths in benchmarks.items():
        found = [pd.read_csv(path, sep="\t") for path in paths if Path(path).exists()]
        if found:
            table = pd.concat(found)
            # a job shorter than the sampling interval has no number for its memory
            memory = round(pd.to_numeric(table["max_rss"], errors="coerce").fillna(0).max())
            minutes, longest = round(table["s"].sum() / 60, 2), round(table["s"].max(), 1)
            rows.append((kind, len(table), minutes, longest, memory))
    return pd.DataFrame(rows, columns=COSTS)


def about(rows: pd.DataFrame, started: str) -> dict[str, Any]:
    """Return the machine, how long the jobs took in all, and how long this run."""
    cpu = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next(x.partition(":")[2].strip() for x in lines if x.startswith("model name"))
    machine = {
        "cores": os.cpu_count(),
        "cpu": cpu,
        "platform": platform.platform(terse=True),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
    }
    found = {
        "machine": machine,
        "jobs": int(rows["jobs"].sum()),
        "cpu_seconds": round(60 * rows["minutes_in_all"].sum()),
    }
    with suppress(OSError, ValueError):
        begin = float(Path(started).read_text(encoding="utf-8"))
        found["started"] = time.strftime("%Y-%m-%d %H:%M", time.gmtime(begin))
        found["wall_seconds"] = round(time.time() - begin)
    return found


def origin(run: Mapping[str, Any], tables: Sequence[str]) -> dict[str, Any]:
    """Gather the provenance of the tables: every state of the code that had a part in them."""
    states: dict[str, set[str]] = {}
    hashes = {}
    for path in tables:
        table, made = load_table(path)
        name = Path(path).stem
        # the same run has the same record
        hashes[name] = {"sha256": content_hash(without_times(table)), "settings": made["digest"]}
        # the table's own state, and those of the fits it was made from
        for state in (state_of(made), *made["settings"].get("made_by", [])):
            states.setdefault(json.dumps(state, sort_keys=True), set()).add(name)
    code = [{**json.loads(text), "tables": sorted(states[text])} for text in sorted(states)]
    return {"run": dict(run), "digest": digest(dict(run)), "code": code, "tables": hashes}


with logged(snakemake.log[0]):
    rows = costs(snakemake.params.benchmarks)
    save_csv(snakemake.output.cost, rows)
    save_json(snakemake.output.provenance, origin(snakemake.params.run, snakemake.input.tables))
    save_json(snakemake.output.captions, dict(snakemake.params.captions))
    save_json(snakemake.output.run, about(rows, snakemake.params.started))
    known = [load_table(path)[0] for path in snakemake.input.facts]
    save_csv(
        snakemake.output.facts, pd.concat(known, ignore_index=True) if known else pd.DataFrame()
    )
