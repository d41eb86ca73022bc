"""Progress of a run, with a clock of our own and files that a test touches."""

from __future__ import annotations

import io
import logging
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.plan import Cell, Plan, Study
from experiments.progress import SPECIFICATION, Progress, calm, duration, watch


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


COSTS = {"a": 1.0, "b": 3.0, "c": 4.0, "d": 8.0}
STUDIES = {"first": ["a", "b"], "second": ["b", "c", "d"], "third": ["d"]}


def make(root: Path, clock: Clock, stale: tuple[str, ...] = ()) -> Progress:
    return Progress(
        {root / name: cost for name, cost in COSTS.items()},
        {study: [root / name for name in names] for study, names in STUDIES.items()},
        [root / name for name in stale],
        clock,
    )


def test_cells_studies_and_time_left(tmp_path: Path) -> None:
    clock = Clock()
    progress = make(tmp_path, clock)
    assert "0 of 4 cells, 0% of the work, time left not known yet" in progress.line()
    assert progress.line().endswith("0 of 3 studies fitted")
    (tmp_path / "b").touch()
    clock.now += 60
    # a minute for 3 of 16 units, 13 are left
    assert progress.line() == (
        "[kgl] 1 min: 1 of 4 cells, 19% of the work, about 4 min 20 s left | "
        "0 of 3 studies fitted: first 1/2; second 1/3"
    )
    (tmp_path / "a").touch()
    clock.now += 40
    # 100 s for 4 of 16
    assert progress.line() == (
        "[kgl] 1 min 40 s: 2 of 4 cells, 25% of the work, about 5 min left | "
        "1 of 3 studies fitted: second 1/3"
    )
    for name in COSTS:
        (tmp_path / name).touch()
    assert "4 of 4 cells, 100% of the work, all fits done" in progress.line()
    assert progress.line().endswith("3 of 3 studies fitted")


def test_what_was_there_before_is_done_but_says_nothing_of_the_speed(tmp_path: Path) -> None:
    (tmp_path / "d").touch()
    clock = Clock()
    progress = make(tmp_path, clock)
    clock.now += 10
    assert "1 of 4 cells, 50% of the work, time left not known yet" in progress.line()
    (tmp_path / "c").touch()
    # ten seconds for 4 units, 4 are left
    assert "2 of 4 cells, 75% of the work, about 10 s left" in progress.line()


def test_what_is_made_again_is_not_done_until_it_is(tmp_path: Path) -> None:
    (tmp_path / "d").touch()
    os.utime(tmp_path / "d", (1, 1))
    clock = Clock()
    progress = make(tmp_path, clock, stale=("d",))
    clock.now += 10
    assert "0 of 4 cells, 0% of the work, time left not known yet" in progress.line()
    (tmp_path / "d").touch()
    assert "1 of 4 cells, 50% of the work, about 10 s left" in progress.line()
    assert "1 of 3 studies fitted: second 1/3" in progress.line()


def test_many_studies_under_way_do_not_fill_the_line(tmp_path: Path) -> None:
    paths = [tmp_path / str(k) for k in range(12)]
    studies = {f"s{k}": paths[2 * k : 2 * k + 2] for k in range(6)}
    progress = Progress(dict.fromkeys(paths, 1.0), studies, clock=Clock())
    for path in paths[::2]:
        path.touch()
    assert progress.line().endswith("0 of 6 studies fitted: s0 1/2; s1 1/2; s2 1/2; s3 1/2; ...")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (599, "9 min 59 s"),
        (600, "10 min"),
        (659, "10 min"),
        (3599, "59 min"),
        (3600, "1 h 0 min"),
        (7265, "2 h 1 min"),
        (90000, "25 h 0 min"),
    ],
)
def test_a_time_reads_like_one(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# -------------------------------------------------------------------------------------- of a plan


def cell(name: str) -> Cell:
    data = {"replicates": 10, "data": {"missing": 0.0}, "graph": {"m": 20}}
    fit = {"grid": {"psi": [1.0]}}
    return Cell(name, str(Path(name).parent), Path(name).name, {}, data, fit)


def plan() -> Plan:
    cells = [cell(f"er-dependent/noise-{k}/kgl") for k in range(3)]
    settings: Any = {"config": {}, "styles": {}, "settings": {}}
    studies = {"one": Study(name="one", cells=tuple(cells[:2]), **settings)}
    studies["two"] = Study(name="two", cells=tuple(cells[1:]), **settings)
    return Plan("both", "mine", (), studies, False)


def finish(root: Path, name: str) -> None:
    path = root / "results/mine/fits" / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def test_the_progress_of_a_plan_counts_its_files(tmp_path: Path) -> None:
    progress = Progress.of(plan(), root=tmp_path)
    assert "0 of 3 cells" in progress.line()
    finish(tmp_path, "er-dependent/noise-1/kgl")  # shared by both
    assert "1 of 3 cells, 33% of the work" in progress.line()
    assert progress.line().endswith("0 of 2 studies fitted: one 1/2; two 1/2")
    finish(tmp_path, "er-dependent/noise-0/kgl")
    assert progress.line().endswith("1 of 2 studies fitted: two 1/2")


def test_files_that_are_made_again_are_those_of_the_plan(tmp_path: Path) -> None:
    finish(tmp_path, "er-dependent/noise-1/kgl")
    finish(tmp_path, "er-dependent/noise-2/kgl")
    again = "results/mine/fits/er-dependent/noise-1/kgl.npz"
    assert "1 of 3 cells" in Progress.of(plan(), [again], tmp_path).line()


def test_specifications_count_as_cells(tmp_path: Path) -> None:
    plain = plan()
    names = ("default", "summed", "n50")
    settings = {"specifications": {name: {"overrides": []} for name in names}}
    many = Study("readings", config={}, cells=(), styles={}, settings=settings)
    both = Plan("both", "mine", (), {**plain.studies, "readings": many}, True)
    progress = Progress.of(both, root=tmp_path)
    cells = sum(cell.cost for cell in both.cells.values())
    assert sum(progress.costs.values()) == pytest.approx(cells + 3 * SPECIFICATION)
    assert "0 of 6 cells" in progress.line()
    for done, name in enumerate(names, start=1):
        path = tmp_path / f"results/mine/specifications/readings/{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        share = done * SPECIFICATION / (cells + 3 * SPECIFICATION)
        assert f"{done} of 6 cells, {share:.0%} of the work" in progress.line()
        part = f": readings {done}/3" if done < 3 else ""
        assert progress.line().endswith(f"{done // 3} of 3 studies fitted{part}")
    again = "results/mine/specifications/readings/n50.parquet"
    assert "2 of 6 cells" in Progress.of(both, [again], tmp_path).line()


def test_a_run_is_watched_until_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finish(tmp_path, "er-dependent/noise-1/kgl")
    before = set(threading.enumerate())
    stream = io.StringIO()
    stop = watch(plan(), every=0.01, stream=stream)
    try:
        (thread,) = set(threading.enumerate()) - before
        assert thread.daemon  # or a run would never end
        end = time.monotonic() + 10
        while stream.getvalue().count("\n") < 2 and time.monotonic() < end:
            time.sleep(0.01)
    finally:
        stop.set()
    thread.join(10)
    assert not thread.is_alive()
    lines = stream.getvalue().splitlines()
    assert len(lines) >= 2
    assert all(line.startswith("[kgl] 0 s: 1 of 3 cells") for line in lines)


def test_lines_about_single_jobs_stay_off_the_screen_but_not_out_of_the_log(tmp_path: Path) -> None:
    screen, log = io.StringIO(), tmp_path / "log"
    logger = logging.Logger("kgl-test")
    logger.addHandler(logging.StreamHandler(screen))
    logger.addHandler(logging.FileHandler(log))
    calm(logger)
    event = SimpleNamespace(value="job_info")
    logger.info("rule fit:", extra={"event": event})
    logger.info("Select jobs to execute...")
    logger.info("Building DAG")
    logger.error("a job failed", extra={"event": event})
    logger.handlers[1].close()
    assert screen.getvalue().splitlines() == ["Building DAG", "a job failed"]
    assert len(log.read_text().splitlines()) == 4
