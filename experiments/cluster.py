"""What a run asks of a cluster: memory and time per rule, from the benchmarks that runs write.

    python -m experiments.cluster plan study=inference     what a study would submit, by rule
    python -m experiments.cluster measure results/paper    note the benchmarks of a run
    python -m experiments.cluster profiles                 write the profiles from what is noted
    python -m experiments.cluster page                     write the table of docs/cluster.md

Snakemake and its executor plugins do the work; here are only the numbers that they are given.
"""

from __future__ import annotations

import argparse
import math
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from experiments.io import save_csv
from experiments.lookup import ROOT

__all__ = ["allocation", "main", "measure", "plan", "profile_text"]

#: Seconds from which the processor time of a job is sampled well enough to count.
SAMPLED = 30.0
#: What runs took, by run and rule; written by ``measure``.
MEASURED = ROOT / "profiles/measured.csv"
COLUMNS = ["run", "rule", "jobs", "seconds_in_all", "seconds_longest", "memory_mb_largest"]
#: The row of Snakemake itself. Slurm's executor starts it once for a submission and, within that,
#: once for each of its jobs; so two are in memory at a time.
START, AT_A_TIME = "(start)", 2
#: Profiles that have the numbers, between these lines.
PROFILES = ("slurm", "generic")
BEGIN, END = (f"# {word} of what python -m experiments.cluster profiles writes" for word in
              ("begin", "end"))  # fmt: skip
#: The page that shows what these runs cost.
PAGE, SHOWN = ROOT / "docs/cluster.md", ("paper", "inference")
#: Machines differ and the largest job may not have been measured: factors on the largest time and
#: memory, and the least that is asked for. A second attempt gets twice as much.
SLACK_TIME, SLACK_MEMORY = 4.0, 1.5
LEAST_MINUTES, STEP_MB = 5, 500
#: Runs of reduced size say little about a whole one. What a rule that was measured in these alone
#: asks for at least, in minutes and MB, and how many of its jobs are one submission at most.
REDUCED, REDUCED_MINUTES, REDUCED_MB, REDUCED_MOST = ("smoke", "preview"), 60, 3000, 4
#: Minutes of work that make one submission: jobs are short beside what a start takes.
TARGET, MOST = 5.0, 16


def load_measured() -> pd.DataFrame:
    """Return what is noted of runs."""
    return pd.read_csv(MEASURED) if MEASURED.exists() else pd.DataFrame(columns=COLUMNS)


def of_directory(results: Path) -> pd.DataFrame:
    """Add up the benchmark files of a run by rule, which is the first part of their path."""
    rows = []
    for folder in sorted(path for path in (results / "benchmarks").glob("*") if path.is_dir()):
        table = pd.concat([pd.read_csv(path, sep="\t") for path in folder.rglob("*.tsv")])
        # a job shorter than the sampling interval has no number for its memory
        memory = pd.to_numeric(table["max_rss"], errors="coerce").max()
        seconds = _own_seconds(table)
        rows.append((results.name, folder.name, len(table), seconds.sum(), seconds.max(),
                     memory))  # fmt: skip
    if not rows:
        raise SystemExit(
            f"error: {results} has no benchmarks; give the directory of a finished run"
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _own_seconds(table: pd.DataFrame) -> pd.Series[float]:
    """Return the time that jobs had a core to themselves: on a busy machine they wait as well."""
    if "cpu_time" not in table:
        return table["s"]
    used = pd.to_numeric(table["cpu_time"], errors="coerce").fillna(table["s"])
    return used.where(table["s"] > SAMPLED, table["s"])


def of_published(jobs: Path = ROOT / "figures/jobs.csv") -> pd.DataFrame:
    """Return the same from the published costs of the paper's run, which has kinds of jobs."""
    table = pd.read_csv(jobs)
    table["rule"] = table["job"].str.partition(" ")[0]
    table["seconds_in_all"] = 60 * table["minutes_in_all"]
    how = {"jobs": "sum", "seconds_in_all": "sum", "seconds_longest": "max",
           "memory_mb_largest": "max"}  # fmt: skip
    found = table.groupby("rule", sort=False).agg(how).reset_index()
    return found.assign(run="paper")[COLUMNS]


def measure(results: Sequence[str]) -> pd.DataFrame:
    """Note the benchmarks of runs, in place of what was noted of them; return the whole table."""
    known = load_measured()
    found = [of_directory(Path(path)) for path in results]
    if not any(table["run"].eq("paper").any() for table in found):
        found.append(of_published())
    found.append(_start())
    new = pd.concat(found)
    names = new[["run", "rule"]].apply(tuple, axis=1)
    kept = known[~known[["run", "rule"]].apply(tuple, axis=1).isin(names)] if len(known) else known
    table = pd.concat([t for t in (kept, new) if len(t)]).sort_values(["run", "rule"])
    for name in COLUMNS[3:]:
        table[name] = table[name].round(1)
    save_csv(MEASURED, table)
    return table


def _start() -> pd.DataFrame:
    """Measure what it takes to start Snakemake on the paper, by a dry run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    dry_run({}, [])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = after.ru_maxrss / 1024
    return pd.DataFrame([("paper", START, 1, seconds, seconds, memory)], columns=COLUMNS)


def allocation(measured: pd.DataFrame) -> pd.DataFrame:
    """Return what each rule asks for, and how many of its jobs are one submission."""
    # memory counts for all processes of a submission, and Snakemake is two of them
    start = AT_A_TIME * _largest(measured[measured["rule"] == START], "memory_mb_largest")
    rows = {}
    for rule, found in measured[measured["rule"] != START].groupby("rule"):
        memory = SLACK_MEMORY * (_largest(found, "memory_mb_largest") + start)
        minutes = SLACK_TIME * _largest(found, "seconds_longest") / 60
        each = float(found["seconds_in_all"].sum()) / 60 / int(found["jobs"].sum())
        reduced = bool(found["run"].isin(REDUCED).all())
        least_mb, least_minutes, most = (
            (REDUCED_MB, REDUCED_MINUTES, REDUCED_MOST) if reduced else (0, LEAST_MINUTES, MOST)
        )
        rows[rule] = {
            "mem_mb": max(least_mb, STEP_MB * math.ceil(memory / STEP_MB)),
            "minutes": max(least_minutes, math.ceil(minutes)),
            "together": min(most, max(1, math.floor(TARGET / each))),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def _largest(found: pd.DataFrame, name: str) -> float:
    values = found[name].dropna()
    return float(values.max()) if len(values) else 0.0


def profile_text(measured: pd.DataFrame) -> str:
    """Return the part of a profile that has the numbers."""
    table = allocation(measured)
    lines = [BEGIN, "set-resources:"]
    for rule, row in table.iterrows():
        lines += [f"  {rule}:", f"    mem_mb: attempt * {row.mem_mb}",
                  f"    runtime: attempt * {row.minutes}"]  # fmt: skip
    many = table[table["together"] > 1]["together"]
    lines += ["groups:", *(f"  - {rule}={rule}" for rule in many.index)]
    lines += ["group-components:", *(f"  - {rule}={count}" for rule, count in many.items()), END]
    return "\n".join(lines)


def write_profiles() -> list[Path]:
    """Write the numbers into the profiles; return those that changed."""
    text = profile_text(load_measured())
    paths = [ROOT / "profiles" / name / "config.yaml" for name in PROFILES]
    return [path for path in paths if _rewrite(path, BEGIN, END, text)]


def _rewrite(path: Path, begin: str, end: str, text: str) -> bool:
    """Replace a part of a file, its first and last line included; return whether it changed."""
    old = path.read_text(encoding="utf-8")
    new = re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: text, old, flags=re.DOTALL)
    if new != old:
        path.write_text(new, encoding="utf-8")
    return new != old


def write_page() -> bool:
    """Write what runs cost into the documentation; return whether it changed."""
    begin, end = (f"<!-- {word} of what python -m experiments.cluster page writes -->"
                  for word in ("begin", "end"))  # fmt: skip
    shown = [
        f"The run `{name}`:\n\n```text\n{plan('profiles/slurm', [f'study={name}'])}```\n"
        for name in SHOWN
    ]
    return _rewrite(PAGE, begin, end, "\n".join([begin, "", *shown, end]))


# -------------------------------------------------------------------------- what a run would submit


def dry_run(profile: Mapping[str, Any], config: Sequence[str], root: Path = ROOT) -> str:
    """Return what Snakemake's dry run prints under a profile.

    The executor is left out with its options, so that its plugin need not be installed.
    """
    kept = {
        key: value
        for key, value in profile.items()
        if key != "executor" and not key.startswith(("slurm-", "cluster-generic-"))
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.yaml").write_text(yaml.safe_dump(kept), encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "--nocolor", "--profile", folder]
        command += ["--dry-run", "--forceall", "--quiet", "host"]
        command += ["--config", *config] if config else []
        done = subprocess.run(
            command, cwd=root, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    text = done.stdout + done.stderr
    if done.returncode:
        raise SystemExit(f"{text}error: the dry run failed")
    return text


def local_rules(root: Path = ROOT) -> set[str]:
    """Return the rules that run beside Snakemake; its dry run does not mark them."""
    found, rule = set(), ""
    for path in (root / "Snakefile", *sorted((root / "experiments").rglob("*.smk"))):
        for line in path.read_text(encoding="utf-8").splitlines():
            if named := re.match(r" *rule (\w+):$", line):
                rule = named[1]
            elif line.strip() == "localrule: True":
                found.add(rule)
    return found


def jobs_of(text: str, local: Iterable[str]) -> pd.DataFrame:
    """Return the jobs of a dry run: rule, submission (none if local), and what they ask for."""
    rows: list[dict[str, Any]] = []
    submission = 0
    for line in text.splitlines():
        if "Group job " in line:
            submission += 1
        elif found := re.match(r"( *)(?:local)?rule (\w+):$", line):
            here = found[2] in local
            # one that is not indented is no part of a group
            submission += not found[1] and not here
            rows.append({"rule": found[2], "submission": 0 if here else submission})
        elif rows and (found := re.match(r" +resources: (.*)$", line)):
            asked = dict(part.partition("=")[::2] for part in found[1].split(", "))
            names = {"partition": "slurm_partition", "mem_mb": "mem_mb", "minutes": "runtime"}
            rows[-1] |= {name: asked.get(key, "") for name, key in names.items()}
    return pd.DataFrame(rows)


def mean_seconds(measured: pd.DataFrame, run: str) -> dict[str, tuple[float, str]]:
    """Return the mean time of a rule's jobs, and of which: of this run, or else of all runs."""
    means = {}
    for rule, found in measured.groupby("rule"):
        own = found[found["run"] == run]
        rows = own if len(own) else found
        count = int(rows["jobs"].sum())
        source = f"{count} jobs of {'this run' if len(own) else ', '.join(found['run'])}"
        means[str(rule)] = (float(rows["seconds_in_all"].sum()) / count, source)
    return means


def plan(profile: str, config: Sequence[str], root: Path = ROOT) -> str:
    """Return a table of what a run would submit, and what it costs in core hours."""
    settings = yaml.safe_load((root / profile / "config.yaml").read_text(encoding="utf-8"))
    jobs = jobs_of(dry_run(settings, config, root), local_rules(root))
    measured = load_measured()
    run = next((c.partition("=")[2] for c in config if c.startswith("study=")), "paper")
    means = mean_seconds(measured, run)
    rows = [("rule", "jobs", "submissions", "partition", "memory MB", "minutes", "core hours",
             "measured")]  # fmt: skip
    work = 0.0
    for rule, found in jobs[jobs["submission"] > 0].groupby("rule", sort=False):
        mean, source = means.get(str(rule), (0.0, "not yet"))
        seconds = mean * len(found)
        work += seconds
        first = found.iloc[0]
        rows.append((str(rule), str(len(found)), str(found["submission"].nunique()),
                     first["partition"], first["mem_mb"], first["minutes"],
                     f"{seconds / 3600:.2f}", source))  # fmt: skip
    local = jobs[jobs["submission"] == 0]
    for rule, found in local.groupby("rule", sort=False):
        rows.append((str(rule), str(len(found)), "0", "(where Snakemake runs)", "", "", "", ""))
    remote = jobs[jobs["submission"] > 0]
    count = int(remote["submission"].nunique())
    start = (count + len(remote)) * means.get(START, (0.0, ""))[0]
    text = "\n".join(_lines(rows))
    return (
        f"{text}\n\n{len(remote)} jobs in {count} submissions of one core each. Core hours: "
        f"{work / 3600:.1f} of work and {start / 3600:.1f} to start Snakemake\nfor each job and "
        "submission (profiles/measured.csv). Memory and minutes are those of one job at the first\n"
        "attempt; minutes of jobs in one submission add up. The last column says which jobs were\n"
        "measured, by the maintainers unless you noted your own; this run: of the same study.\n"
    )


def _lines(rows: Iterable[Sequence[Any]]) -> list[str]:
    texts = [[str(value) for value in row] for row in rows]
    widths = [max(len(row[k]) for row in texts) for k in range(len(texts[0]))]
    return ["  ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip()
            for row in texts]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one of the three commands."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.cluster", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    commands = parser.add_subparsers(dest="command", required=True)
    shown = commands.add_parser("plan", help="what a run would submit, by rule")
    shown.add_argument("config", nargs="*", help="as for snakemake --config: study=inference")
    shown.add_argument("--profile", default="profiles/slurm")
    noted = commands.add_parser("measure", help="note the benchmarks of runs")
    noted.add_argument("results", nargs="*", help="directories of runs, such as results/paper")
    commands.add_parser("profiles", help="write the profiles from what is noted")
    commands.add_parser("page", help="write the table of docs/cluster.md")
    given = parser.parse_args(arguments)
    if given.command == "plan":
        print(plan(given.profile, given.config), end="")
    elif given.command == "measure":
        print(measure(given.results).to_string(index=False))
    elif given.command == "page":
        print(f"wrote {PAGE}" if write_page() else "nothing to change")
    else:
        print("\n".join(f"wrote {path}" for path in write_profiles()) or "nothing to change")


if __name__ == "__main__":
    main()
