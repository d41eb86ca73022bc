"""Kills at random moments of the smoke study, which the same command must go on from.

A run of the study is killed many times: the whole of it, its jobs included; one job alone;
Snakemake alone, whose jobs go on without it while the next run starts; and by Ctrl-C. After every
kill the same command is started again. In the end it must have succeeded without any other step,
and the results must have the bytes of a run that nobody disturbed, with no file more or less. Rules
that no kill has hit yet are waited for, so that every rule is hit.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from tests.campaigns.result import ROOT, Tally
from tests.cluster.files import compare
from tests.cluster.run import Run
from tests.experiments.workflow.conftest import PARTS, Checkout

FAULTS = ("different results", "manual steps", "stray files", "rules that were never hit")
STUDY = "smoke"
#: Kills of one run of the study.
EACH = 25
#: Seconds that the study takes after its start, and that a start takes, on two free cores.
LENGTH, START = 110.0, 6.0
#: Seconds after which a run that nobody kills counts as hanging.
LIMIT = 3600.0
#: Kinds of kills; those of single jobs cost no new start.
KINDS = ("run", "run", "job", "job", "job", "job", "snakemake", "ctrl-c")
#: Snakemake runs the script of a rule from a copy of this name.
_SCRIPT = re.compile(r"/\.snakemake/scripts/tmp\w+\.(\w+)\.py")
#: Of runs whose results are tracked: the page of a study.
_TRACKED = {"page"}


def rules() -> set[str]:
    """Return the rules of the workflow, by their scripts."""
    names = ("Snakefile", "experiments/inference/rules.smk", "experiments/measured.smk")
    text = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in names)
    return set(re.findall(r"scripts/(\w+)\.py", text)) - _TRACKED


def attacked() -> str:
    """Return a name for what the copies of the checkout hold."""
    found = hashlib.sha256()
    for part in PARTS:
        paths = [ROOT / part] if (ROOT / part).is_file() else sorted((ROOT / part).rglob("*"))
        for path in paths:
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return found.hexdigest()[:12]


def jobs(process: subprocess.Popen[bytes]) -> dict[int, str]:
    """Return the processes of jobs, and their rules."""
    found = {}
    try:
        for child in psutil.Process(process.pid).children(recursive=True):
            match = _SCRIPT.search(" ".join(child.cmdline()))
            if match:
                found[child.pid] = match[1]
    except psutil.Error:  # it ended meanwhile
        pass
    return found


def end_tree(pid: int) -> None:
    """Kill a process and all that it started."""
    try:
        parent = psutil.Process(pid)
        for process in [*parent.children(recursive=True), parent]:
            process.kill()
    except psutil.Error:
        pass


@dataclass
class Attack:
    """Kills of one run of the study after another."""

    rng: np.random.Generator
    tally: Tally
    wanted: set[str] = field(default_factory=rules)

    def strike(self, process: subprocess.Popen[bytes], slow: float) -> None:
        """Wait for a random moment, or for a rule that was not hit yet, and kill."""
        kind = str(self.rng.choice(KINDS))
        fresh = 0.0 if jobs(process) else START
        wait = slow * self.rng.uniform(0.2, 1.5) * (fresh + LENGTH / EACH)
        aimed = bool(self.wanted) and self.rng.random() < 0.7
        end = time.monotonic() + (2 * wait if aimed else wait)
        running: dict[int, str] = {}
        while time.monotonic() < end and process.poll() is None:
            running = jobs(process)
            if aimed and self.wanted & set(running.values()):
                break
            time.sleep(0.1)
        if process.poll() is not None:
            return
        hit = set(running.values())
        if kind == "job" and running:
            pid = int(self.rng.choice(sorted(running)))
            hit = {running[pid]}
            end_tree(pid)
        elif kind == "ctrl-c":
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        elif kind == "snakemake":
            process.kill()  # its jobs go on
        else:
            kind = "run"
            os.killpg(process.pid, signal.SIGKILL)
        self.wanted -= hit
        for rule in hit or {"between jobs"}:
            self.tally.counts[f"at rule: {rule}"] += 1
        self.tally.counts[f"of: {kind}"] += 1
        self.tally.step()


def slowness(plain: Path) -> float:
    """Return how many times slower than on two free cores the undisturbed run was."""
    return max(1.0, float((plain / "seconds").read_text()) / (LENGTH + START))


def undisturbed(folder: Path) -> Run:
    """Return a run without kills, which other runs of the campaign may have made before."""
    kept = folder / "plain"
    if (kept / "seconds").exists():
        run = Run.__new__(Run)
        run.checkout, run.study, run.process = Checkout(kept), STUDY, None
        return run
    shutil.rmtree(kept, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    run = Run(kept, STUDY)
    run.start("--cores", "2")
    run.finish()
    (kept / "seconds").write_text(f"{time.monotonic() - begin}")
    return run


def end_orphans(root: Path) -> None:
    """Kill what still runs in a copy of the checkout."""
    for process in psutil.process_iter(["cwd"]):
        if process.info["cwd"] == str(root):
            end_tree(process.pid)


def stray(run: Run) -> list[str]:
    """Return files of writers that were killed."""
    results = run.checkout.root / "results"
    return [str(path.relative_to(results)) for path in results.rglob("*.part*")]


def whole(run: Run, attack: Attack, kills: int, slow: float) -> str:
    """Run the study with so many kills to its end; return why it did not get there."""
    done = attack.tally.tried + kills
    failures = 0
    while True:
        process = run.start("--cores", "2")
        disturbed = False
        while attack.tally.tried < done and process.poll() is None:
            before = attack.tally.tried
            attack.strike(process, slow)
            disturbed |= attack.tally.tried > before
            if disturbed and process.poll() is not None:
                break
        if process.poll() is None and attack.tally.tried >= done:
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                run.end()
                return f"still running after {LIMIT:.0f} s"
        process.wait()
        if process.returncode == 0:
            return ""
        if disturbed:
            continue
        failures += 1
        if failures > 1:  # orphans of a killed Snakemake may still hold the lock of the checkout
            told = run.log.read_text(encoding="utf-8", errors="replace")
            return f"ended with {process.returncode}: {told[-300:]}"
        time.sleep(5)


def run(budget: int, seed: int) -> dict[str, Any]:
    """Kill ``budget`` times."""
    tally = Tally(budget, "kills", FAULTS)
    if budget < 1:
        return tally.record()
    attack = Attack(np.random.default_rng([seed, 3]), tally)
    # parts of a campaign share the run without kills of the same files
    folder = Path(tempfile.gettempdir()) / f"kgl-kills-{attacked()}"
    plain = undisturbed(folder)
    slow = slowness(folder / "plain")
    while tally.tried < budget:
        root = folder / f"killed-{os.getpid()}"
        shutil.rmtree(root, ignore_errors=True)
        one = Run(root, STUDY)
        try:
            reason = whole(one, attack, min(EACH, budget - tally.tried), slow)
            if reason:
                tally.fault("manual steps", what=reason)
                continue
            found = compare(plain.checkout.files("results"), one.checkout.files("results"))
            tally.counts["studies finished"] += 1
            tally.counts["files compared"] += sum(map(len, found))
            for path in found.different:
                tally.fault("different results", what=path)
            for path in stray(one):
                tally.fault("stray files", what=path)
        finally:
            one.end()
            end_orphans(root)
            shutil.rmtree(root, ignore_errors=True)
    tally.details["rules never hit"] = sorted(attack.wanted)
    if budget >= 5 * EACH:
        for rule in attack.wanted:
            tally.fault("rules that were never hit", rule=rule)
    return tally.record()
