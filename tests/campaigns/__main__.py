"""Run campaigns: ``python -m tests.campaigns NAME [--budget N] [--seed S] [--out FILE]``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before NumPy is imported
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("KGL_OFFLINE", "1")

from tests.campaigns import page  # noqa: E402
from tests.campaigns.registry import CAMPAIGNS, Campaign  # noqa: E402
from tests.campaigns.result import KEPT, added, commit, keep, passed  # noqa: E402


def part(name: str, budget: int, seed: int) -> dict[str, Any]:
    """Run a campaign, or a part of it, in this process."""
    return CAMPAIGNS[name].run(budget, seed)


def run(campaign: Campaign, budget: int, seed: int, jobs: int) -> dict[str, Any]:
    """Run a campaign, shared out over processes, each with a seed of its own."""
    begin = time.monotonic()
    if jobs == 1:
        found = part(campaign.name, budget, seed)
    else:
        shares = [budget // jobs + (k < budget % jobs) for k in range(jobs)]
        with ProcessPoolExecutor(jobs) as pool:
            parts = [
                pool.submit(part, campaign.name, share, 1000 * seed + k)
                for k, share in enumerate(shares)
            ]
            found = added(one.result() for one in parts)
    about = {"budget": budget, "seed": seed, "jobs": jobs, "commit": commit()}
    return {**found, **about, "seconds": round(time.monotonic() - begin, 1)}


def show(name: str, record: dict[str, Any]) -> None:
    """Print what a campaign found."""
    word = "passed" if passed(record) else "FAILED"
    faults = ", ".join(f"{count} {kind}" for kind, count in record["faults"].items())
    print(f"{name}: {word}; {record['tried']:,} tried in {record['seconds']:.0f} s; {faults}")
    for name, count in record["counts"].items():
        print(f"    {count:>9,}  {name}")
    for example in record["examples"]:
        print("    " + "; ".join(f"{key}: {value}" for key, value in example.items()))


def main() -> None:
    """Run campaigns from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("name", choices=[*CAMPAIGNS, "all", "page"], help="page: renew the page")
    parser.add_argument("--budget", type=int, help="attempts; the full size by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the budget")
    parser.add_argument("--out", type=Path, help=f"file to add the result to; all: {KEPT.name}")
    given = parser.parse_args()
    if given.name == "page":
        page.write()
        return
    chosen = list(CAMPAIGNS.values()) if given.name == "all" else [CAMPAIGNS[given.name]]
    out = KEPT if given.out is None and given.name == "all" else given.out
    fine = True
    for campaign in chosen:
        budget = campaign.full if given.budget is None else given.budget
        print(f"{campaign.name}: {budget:,} {campaign.unit}", file=sys.stderr, flush=True)
        record = run(campaign, budget, given.seed, given.jobs)
        show(campaign.name, record)
        fine &= passed(record)
        if out is not None:
            keep(out, campaign.name, record)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
