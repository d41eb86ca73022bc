"""How far a run is and how long it still takes.

Files of fitted datasets and of simulations are counted, so it does not matter which process,
or which machine of a cluster, makes them. They are weighed by their expected cost; the time per
unit of cost is measured while the run goes on.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from experiments.plan import Plan
from experiments.publish import measured_parts, scored, simulated_parts

__all__ = ["Progress", "calm", "duration", "watch"]

#: Expected cost of a job of simulations, or of measurements, in the seconds of the costs of cells.
SIMULATION, MEASUREMENT = 20.0, 60.0


def duration(seconds: float) -> str:
    """Write a time as a person would.

    Examples
    --------
    >>> duration(42), duration(61), duration(605), duration(5400)
    ('42 s', '1 min 1 s', '10 min', '1 h 30 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    shown = [f"{hours} h"] * (hours > 0) + [f"{minutes} min"] * (minutes > 0)
    if not hours and minutes < 10 and (rest or not minutes):
        shown.append(f"{rest} s")
    return " ".join(shown)


class Progress:
    """Counts the finished files of a run; those that exist but are stale are made again."""

    def __init__(
        self,
        plan: Plan,
        stale: Iterable[str] = (),
        root: Path = Path(),
        clock: Callable[[], float] = time.time,
    ) -> None:
        out = root / plan.directory
        self.costs = {
            out / f"fits/{name}.npz": sum(cell.cost for cell in cells)
            for name, cells in plan.datasets.items()
        }
        simulated = [path for name in plan.studies for path in simulated_parts(plan, name)]
        self.costs |= {root / path: SIMULATION for path in simulated}
        measured = [path for name in plan.studies for path in measured_parts(plan, name)]
        self.costs |= {root / path: MEASUREMENT for path in measured}
        self.studies = {name: [root / path for path in scored(plan, name)] for name in plan.studies}
        self.clock, self.begin = clock, clock()
        self.stale = {root / path for path in stale}
        self.before = self._stamps()

    def _stamps(self) -> dict[Path, int]:
        found = {}
        for path in self.costs:
            with suppress(FileNotFoundError):
                found[path] = path.stat().st_mtime_ns
        return found

    def _done(self) -> set[Path]:
        now = self._stamps()
        return {p for p, t in now.items() if p not in self.stale or t != self.before.get(p)}

    def line(self) -> str:
        """Return one line: time, share of the work done, time left, studies under way."""
        done = self._done()
        total, spent = sum(self.costs.values()), sum(self.costs[path] for path in done)
        new = sum(self.costs[path] for path in done - (self.before.keys() - self.stale))
        elapsed = self.clock() - self.begin
        left = "time left not known yet"
        if len(done) == len(self.costs):
            left = "all fits done, scoring and drawing"
        elif new:
            left = f"about {duration(elapsed * (total - spent) / new)} left"
        counts = {name: (sum(p in done for p in paths), len(paths))
                  for name, paths in self.studies.items()}  # fmt: skip
        under_way = [f"{name} {k}/{n}" for name, (k, n) in counts.items() if 0 < k < n]
        shown = "; ".join(under_way[:4] + ["..."] * (len(under_way) > 4))
        return (
            f"[kgl] {duration(elapsed)}: {len(done)} of {len(self.costs)} fit jobs, "
            f"{spent / total:.0%} of the work, {left} | {sum(k == n for k, n in counts.values())} "
            f"of {len(counts)} studies fitted{f': {shown}' * bool(shown)}"
        )


def watch(plan: Plan, stale: Iterable[str] = (), every: float = 15.0,
          stream: TextIO | None = None) -> threading.Event:  # fmt: skip
    """Print a line of progress now and then, until the event is set or the process ends."""
    progress, stop = Progress(plan, stale), threading.Event()

    def run() -> None:
        while not stop.wait(every):
            print(progress.line(), file=stream or sys.stderr, flush=True)

    threading.Thread(target=run, name="kgl-progress", daemon=True).start()
    return stop


def calm(logger: logging.Logger) -> None:
    """Keep Snakemake's lines about single jobs off the screen; errors and its log file stay whole.

    Hundreds of jobs of a few lines each would bury the progress. ``snakemake -n`` and ``--verbose``
    print everything.
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
