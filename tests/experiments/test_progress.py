"""Progress of a run, with a clock of our own and files that a test touches."""

import io
import logging
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.cells import Cell, Study
from experiments.plan import Plan
from experiments.progress import Progress, calm, watch


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


#: Cells of studies: a dataset, and behind a colon its model, unless it is the usual one.
STUDIES = {"first": ["a", "b"], "second": ["b", "c", "d"], "third": ["d"]}


def cell(dataset: str, model: str = "gl") -> Cell:
    data: Any = {"replicates": 10, "data": {"missing": 0.0}, "graph": {"m": 20}}
    fit: Any = {"grid": {"psi": [1.0]}}
    return Cell(f"er/{dataset}/{model}", f"er/{dataset}", model, {}, data, fit)


def make_plan(studies: dict[str, list[str]]) -> Plan:
    """A plan of cells of the same cost."""
    made = {
        name: Study(name, {}, tuple(cell(*c.split(":")) for c in cells), {})
        for name, cells in studies.items()
    }
    return Plan("all", "mine", (), made, True)


def finish(root: Path, *names: str) -> None:
    for name in names:
        path = root / f"results/mine/fits/er/{name}.npz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_jobs_studies_and_time_left(tmp_path: Path) -> None:
    clock = Clock()
    progress = Progress(make_plan(STUDIES), root=tmp_path, clock=clock)
    assert "0 of 4 fit jobs, 0% of the work" in progress.line()
    assert "not known" in progress.line()
    assert "0 of 3 studies" in progress.line()
    finish(tmp_path, "b")  # shared by two studies
    clock.now += 60
    # a minute for one of four, three are left
    for text in ("1 min: 1 of 4 fit jobs, 25%", "about 3 min left", "first 1/2; second 1/3"):
        assert text in progress.line()
    finish(tmp_path, "a")
    clock.now += 40
    for text in ("1 min 40 s: 2 of 4 fit jobs, 50%", "about 1 min 40 s left", "1 of 3 studies"):
        assert text in progress.line()
    assert "first" not in progress.line()
    finish(tmp_path, "c", "d")
    assert "4 of 4 fit jobs, 100% of the work" in progress.line()
    assert " left" not in progress.line()
    assert progress.line().endswith("3 of 3 studies fitted")


def test_what_is_made_again_is_not_done_until_it_is(tmp_path: Path) -> None:
    finish(tmp_path, "c", "d")
    stale = "results/mine/fits/er/d.npz"
    os.utime(tmp_path / stale, (1, 1))
    clock = Clock()
    progress = Progress(make_plan(STUDIES), [stale], tmp_path, clock)
    clock.now += 10
    assert "1 of 4 fit jobs, 25%" in progress.line()
    assert "not known" in progress.line()
    finish(tmp_path, "d")
    assert "2 of 4 fit jobs, 50% of the work, about 20 s left" in progress.line()
    assert "1 of 3 studies fitted: second 2/3" in progress.line()


def test_models_of_a_dataset_are_one_job_that_costs_what_they_do(tmp_path: Path) -> None:
    plan = make_plan({"one": ["a:gl", "a:kgl", "a:kgln", "b:gl"], "two": ["a:gl"], "three": ["c"]})
    progress = Progress(plan, root=tmp_path)
    assert "0 of 3 fit jobs" in progress.line()
    assert sum(progress.costs.values()) == pytest.approx(5 * cell("a").cost)  # shared ones once
    finish(tmp_path, "a")
    assert "1 of 3 fit jobs, 60% of the work" in progress.line()
    # of a study by its files
    assert progress.line().endswith("1 of 3 studies fitted: one 1/2")
    finish(tmp_path, "b")
    assert "2 of 3 fit jobs, 80% of the work" in progress.line()
    assert progress.line().endswith("2 of 3 studies fitted")


def test_a_run_is_watched_until_it_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finish(tmp_path, "a")
    before = set(threading.enumerate())
    stream = io.StringIO()
    stop = watch(make_plan(STUDIES), every=0.01, stream=stream)
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
    assert all(line.startswith("[kgl] 0 s: 1 of 4 fit jobs") for line in lines)


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
