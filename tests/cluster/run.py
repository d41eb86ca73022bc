"""Run a study through a real Slurm, lose its node twice, and compare with a local run.

    python -m tests.cluster.run --study pays_tiny     a few minutes
    python -m tests.cluster.run                       the smoke study: every rule (make slurm-test)

The cluster is one node on this machine (tests/cluster/node.py). Both runs are in copies of the
checkout in a temporary directory. The node is killed with the jobs on it: once while Snakemake
waits, which goes on by itself when the node is back, and once together with Snakemake, which goes
on with the same command. Then every file of the results is compared byte by byte.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from tests.cluster import files
from tests.cluster.node import Node, Unavailable, one_node, prints, wait_until
from tests.experiments.workflow.conftest import ROOT, Checkout

PROFILE = "profiles/slurm"
#: What is counted to see that a run gets on: the files that take the most work.
WORK = ("fits", "inference", "pays", "trust", "arena")
#: Seconds after which a run counts as hung.
LIMIT = 3 * 3600.0
#: One node without other users: the queue is looked at often. It keeps no accounts.
HERE = (
    "--slurm-no-account", "--slurm-status-command", "squeue",
    "--slurm-init-seconds-before-status-checks", "5", "--seconds-between-status-checks", "5",
)  # fmt: skip


class Run:
    """A study that Snakemake runs in a copy of the checkout."""

    def __init__(self, root: Path, study: str) -> None:
        self.checkout, self.study = Checkout.make(root), study
        self.log = root.with_suffix(".log")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start Snakemake in the background."""
        command = self.checkout.command(*arguments, "--config", f"study={self.study}")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.checkout.root, env=self.checkout.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        return self.process

    def finish(self) -> None:
        """Wait for the end, and check that it is a good one."""
        assert self.process is not None
        if code := self.process.wait(LIMIT):
            told = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-60:]
            raise SystemExit("\n".join([*told, f"error: Snakemake ended with {code}: {self.log}"]))

    def end(self) -> None:
        """End Snakemake and what it started, if it still runs."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def done(self) -> int:
        """Return how many files of results there are of the rules that take the most work."""
        found = (self.checkout.root / "results").glob("*/*/**/[!.]*")
        return sum(path.relative_to(self.checkout.root).parts[2] in WORK for path in found
                   if path.is_file())  # fmt: skip


def say(text: str) -> None:
    """Print a line at once."""
    print(f"[slurm-test] {text}", flush=True)


def minutes(since: float) -> str:
    """Return the minutes since a time."""
    return f"{(time.monotonic() - since) / 60:.1f} min"


def jobs(state: str) -> set[str]:
    """Return the jobs in the queue that are in a state of Slurm."""
    return set(prints("squeue", "--noheader", "--format", "%i", "--states", state).split())


def lose_node(node: Node, run: Run, at: int, limit: float = LIMIT) -> bool:
    """Kill the node once ``at`` files are there and jobs run; False if the run ended before."""

    def there() -> bool:
        assert run.process is not None
        return run.process.poll() is not None or (run.done() >= at and bool(jobs("RUNNING")))

    wait_until(there, f"{at} files of results", limit)
    assert run.process is not None
    if run.process.poll() is not None:
        return False
    under_way = jobs("RUNNING")
    killed = node.lose()
    before = run.done()
    say(f"slurmd was killed with {killed} processes of jobs, at {before} files of results")
    wait_until(node.is_down, "the controller does not see that its node is gone")
    if run.done() != before:
        raise SystemExit("error: results were written although the node was killed")
    if not (again := under_way & jobs("PENDING")):
        raise SystemExit("error: no job of the lost node is back in the queue")
    say(f"of its {len(under_way)} jobs {len(again)} are back in the queue")
    return True


def through_slurm(node: Node, run: Run, total: int) -> int:
    """Run the study on the cluster, lose the node twice on the way; return how often."""
    arguments = ("--profile", PROFILE, *HERE)
    begin, lost = time.monotonic(), 0
    try:
        run.start(*arguments)
        if lose_node(node, run, total // 4):
            lost += 1
            node.start_slurmd()
            say("slurmd was started again; Snakemake goes on by itself")
        if lose_node(node, run, total // 2):
            lost += 1
            run.end()
            say("Snakemake was killed too")
            prints("scancel", "--user", "root")
            node.start_slurmd()
            say("slurmd was started again, and the same command")
            run.start(*arguments)
        run.finish()
    finally:
        run.end()
    say(f"the run through Slurm took {minutes(begin)}, {lost} losses of the node included")
    return lost


def stop_on_signals() -> None:
    """Let signals end this process as an error would: what was started is stopped then."""

    def stop(number: int, _: object) -> None:
        raise SystemExit(f"error: ended by signal {number}; stopped what was started")

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def main() -> None:
    """Run the test; the exit status is 0 if no byte differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", default="smoke", help="a study of conf/study (default smoke)")
    parser.add_argument("--keep", action="store_true", help="keep the temporary directory")
    options = parser.parse_args()
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        raise SystemExit("error: no executor for Slurm here; run: make slurm-test")
    profile = yaml.safe_load((ROOT / PROFILE / "config.yaml").read_text(encoding="utf-8"))
    partition = profile["default-resources"]["slurm_partition"]
    stop_on_signals()
    folder = Path(tempfile.mkdtemp(prefix="kgl-slurm-"))
    try:
        verdict = both_runs(folder, options.study, partition)
    finally:
        if options.keep:
            say(f"kept: {folder}")
        else:
            shutil.rmtree(folder)
    print(verdict)


def both_runs(root: Path, study: str, partition: str) -> str:
    """Run both runs, compare them, and return what was found; an error if it is a difference."""
    begin, cpus = time.monotonic(), os.cpu_count() or 1
    local, cluster = Run(root / "local", study), Run(root / "cluster", study)
    with one_node(root / "node", partition) as node:
        say(f"Slurm {prints('sinfo', '--version').split()[-1]}, one node, {cpus} CPUs: up")
        local.start("--cores", str(cpus))
        try:
            local.finish()
        finally:
            local.end()
        say(f"the local run took {minutes(begin)}")
        lost = through_slurm(node, cluster, local.done())
    found = files.compare(local.checkout.files("results"), cluster.checkout.files("results"))
    for name in found.different:
        say(f"differs: {name}")
    for name in found.timed:
        say(f"differs in measured times alone: {name}")
    count = sum(map(len, found))
    if found.different or lost < 2:
        raise SystemExit(
            f"FAILED: {len(found.different)} of {count} files differ; losses of the node: {lost}"
        )
    return (
        f"PASSED: {len(found.same)} of {count} files of {study} have the bytes of the local run "
        f"and {len(found.timed)} others differ in measured times alone, after {lost} losses of the "
        f"node; {minutes(begin)} in all; everything that was started is stopped"
    )


if __name__ == "__main__":
    try:
        main()
    except Unavailable as error:
        sys.exit(f"error: {error}")
