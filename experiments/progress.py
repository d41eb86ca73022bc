"""How far a run is and about how long it still takes.

The files of finished cells (a specification is one, here) are counted, so this works whoever makes them:
this process, others, or a cluster. Cells are weighed by what they are expected to cost; the time
per unit of cost is measured while the run goes on.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from experiments.plan import Plan

__all__ = ["Progress", "calm", "duration", "note_start", "watch"]

#: Expected cost of a specification, in the seconds of the costs of cells.
SPECIFICATION = 75.0


def duration(seconds: float) -> str:
    """Write a time as a person would.

    Examples
    --------
    >>> duration(42), duration(61), duration(605), duration(5400)
    ('42 s', '1 min 1 s', '10 min', '1 h 30 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


class Progress:
    """Counts the finished cells of a run.

    Parameters
    ----------
    costs : dict
        Expected cost of each cell, by the path of its file.
    studies : dict
        Paths of the cells of each study.
    stale : set of paths
        Cells whose files exist already and are made again.
    clock : callable
        Seconds; a test passes its own.
    """

    def __init__(
        self,
        costs: Mapping[Path, float],
        studies: Mapping[str, Sequence[Path]],
        stale: Iterable[Path] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.costs, self.studies, self.clock = dict(costs), dict(studies), clock
        self.begin = clock()
        self.before = self._stamps()
        self.stale = set(stale)

    @classmethod
    def of(cls, plan: Plan, stale: Iterable[str] = (), root: Path = Path()) -> Progress:
        """Return the progress of a plan, some of whose existing files are made again."""
        paths = {n: root / plan.directory / "fits" / f"{n}.npz" for n in plan.cells}
        costs = {paths[name]: cell.cost for name, cell in plan.cells.items()}
        studies = {
            name: [paths[cell.name] for cell in study.cells] for name, study in plan.studies.items()
        }
        for name in plan.specification_studies:
            studies[name] = [root / path for path in plan.specification_files(name)]
            costs |= dict.fromkeys(studies[name], SPECIFICATION)
        return cls(costs, studies, {root / path for path in stale})

    def _stamps(self) -> dict[Path, int]:
        stamps = {}
        for path in self.costs:
            try:
                stamps[path] = path.stat().st_mtime_ns
            except FileNotFoundError:
                continue
        return stamps

    def _done(self) -> set[Path]:
        """Return the cells that are ready: there, and not the old file of one made again."""
        now = self._stamps()
        return {p for p in now if p not in self.stale or now[p] != self.before.get(p)}

    def line(self) -> str:
        """Return one line: overall, what is left, and each study that is under way."""
        now = self._done()
        fresh = now - (self.before.keys() - self.stale)
        total = sum(self.costs.values())
        done = sum(self.costs[path] for path in now)
        new = sum(self.costs[path] for path in fresh)
        elapsed = self.clock() - self.begin
        left = "time left not known yet"
        if done >= total:
            left = "all fits done, scoring and drawing"
        elif new:
            left = f"about {duration(elapsed * (total - done) / new)} left"
        under_way, finished = [], 0
        for name, paths in self.studies.items():
            ready = sum(path in now for path in paths)
            if ready == len(paths):
                finished += 1
            elif ready:
                under_way.append(f"{name} {ready}/{len(paths)}")
        shown = "; ".join(under_way[:4]) + ("; ..." if len(under_way) > 4 else "")
        return (
            f"[kgl] {duration(elapsed)}: {len(now)} of {len(self.costs)} cells, "
            f"{done / total:.0%} of the work, {left} | {finished} of {len(self.studies)} studies "
            f"fitted{': ' * bool(shown)}{shown}"
        )


def watch(
    plan: Plan, stale: Iterable[str] = (), every: float = 15.0, stream: TextIO | None = None
) -> threading.Event:
    """Print a line of progress now and then, from a thread that ends with the process.

    Parameters
    ----------
    plan : Plan
        What is made.
    stale : iterable of str
        Files that exist and are made again.
    every : float
        Seconds between lines.
    stream : file, optional
        Where to print; standard error by default.

    Returns
    -------
    threading.Event
        Set it to stop.
    """
    progress, stop = Progress.of(plan, stale), threading.Event()

    def run() -> None:
        while not stop.wait(every):
            print(progress.line(), file=stream or sys.stderr, flush=True)

    threading.Thread(target=run, name="kgl-progress", daemon=True).start()
    return stop


def note_start(path: str | Path) -> None:
    """Write down when a run began, for its record."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(f"{time.time():.0f}\n", encoding="utf-8")


def calm(logger: logging.Logger) -> None:
    """Keep Snakemake's lines about single jobs off the screen; errors and its log file stay whole.

    Several hundred jobs of a few lines each would bury the progress. ``snakemake -n`` and
    ``--verbose`` print everything.
    """
    routine = {"job_info", "job_started", "job_finished", "progress", "shellcmd"}

    def keep(record: logging.LogRecord) -> bool:
        event = getattr(record, "event", None)
        name = str(getattr(event, "value", event)).lower()
        chatter = name in routine or record.getMessage().startswith("Select jobs to execute")
        return record.levelno > logging.INFO or not chatter

    for handler in logger.handlers:
        if not isinstance(handler, logging.FileHandler):
            handler.addFilter(keep)
