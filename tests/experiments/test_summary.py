"""What a run was and cost: benchmark files added up, tables hashed."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from experiments import io as records
from experiments import summary
from experiments.io import digest, save_table
from experiments.progress import note_start
from experiments.summary import machine, read_costs, write_summary

HEAD = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time"


@pytest.fixture
def benchmarks(tmp_path: Path) -> dict[str, list[str]]:
    """Files as Snakemake writes them: seconds and megabytes, or no megabytes for a short job."""

    def file(name: str, *rows: tuple[str, str]) -> str:
        path = tmp_path / f"{name}.tsv"
        lines = [f"{s}\t0:00:01\t{rss}\t-\t-\t-\t0.0\t0.0\t0.0\t0.5" for s, rss in rows]
        path.write_text("\n".join([HEAD, *lines]) + "\n")
        return str(path)

    return {
        "fit kgl": [
            file("a", ("90.25", "150.75")),
            file("b", ("30.5", "420.2")),
            file("c", ("60.0", "99.0")),
        ],
        "data": [file("d", ("0.04", "-")), file("e", ("0.05", "NA"))],
        "score": [str(tmp_path / "absent.tsv")],
        "figure": [str(tmp_path / "absent.tsv"), file("f", ("1.0", "10.0"), ("2.0", "20.0"))],
    }


def test_costs_are_added_up_by_kind(benchmarks: dict[str, list[str]]) -> None:
    rows = {row["job"]: row for row in read_costs(benchmarks)}
    assert list(rows) == ["fit kgl", "data", "figure"]  # nothing is known of the others
    assert rows["fit kgl"] == {
        "job": "fit kgl",
        "jobs": 3,
        "minutes_in_all": 3.01,  # 180.75 s
        "seconds_longest": 90.2,
        "memory_mb_largest": 420,
    }
    assert rows["data"]["memory_mb_largest"] == 0
    assert rows["data"]["jobs"] == 2
    assert rows["figure"]["jobs"] == 2
    assert rows["figure"]["minutes_in_all"] == 0.05


CAPTIONS = {"fig1": {"title": "a", "caption": "a. An “edge”.", "figure": 1}}


def write(
    tmp_path: Path,
    tables: list[str],
    benchmarks: dict[str, list[str]],
    facts: tuple[str, ...] = (),
    started: str = "nowhere",
) -> dict[str, Any]:
    run = {"name": "mine", "overrides": ["seed=1"], "cells": "abc"}
    write_summary(
        run,
        tables=tables,
        benchmarks=benchmarks,
        provenance=str(tmp_path / "out/provenance.json"),
        cost=str(tmp_path / "out/jobs.csv"),
        captions=(CAPTIONS, str(tmp_path / "out/captions.json")),
        facts=(facts, str(tmp_path / "out/facts.csv")),
        about=(started, str(tmp_path / "out/run.json")),
    )
    record: dict[str, Any] = json.loads((tmp_path / "out/provenance.json").read_text())
    return record


NUMBERS = {"fig1": 1.0, "fig2": 2.0, "fig3": 1.0}
OLD = {"commit": "0" * 40, "dirty": True}
SETTINGS: dict[str, Any] = {
    "fig1": {"study": "fig1"},
    "fig2": {"study": "fig2"},
    "fig3": {"study": "fig3", "made_by": [OLD]},
}


def test_the_summary_of_a_run(
    tmp_path: Path, benchmarks: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {name: tmp_path / f"{name}.parquet" for name in ("fig1", "fig2", "fig3")}
    state = {"commit": "1" * 40, "dirty": False}
    monkeypatch.setattr(records, "_git", lambda: state)
    for name in ("fig1", "fig2"):
        save_table(paths[name], pd.DataFrame({"value": [NUMBERS[name]]}), SETTINGS[name])
    state = {"commit": "2" * 40, "dirty": True}
    save_table(paths["fig3"], pd.DataFrame({"value": [NUMBERS["fig3"]]}), SETTINGS["fig3"])

    record = write(tmp_path, [str(path) for path in paths.values()], benchmarks)
    assert record["run"] == {"name": "mine", "overrides": ["seed=1"], "cells": "abc"}
    assert record["digest"] == digest(record["run"])
    for name in paths:
        assert record["tables"][name] == {
            # of the numbers alone: the file also holds the commit, which changes with every one
            "sha256": hashlib.sha256(f"value\n{NUMBERS[name]}\n".encode()).hexdigest(),
            "settings": digest(SETTINGS[name]),
        }
    # tables made by the same code are named together, and so is the code that made their fits
    found = {state["commit"][0]: (state["tables"], state["dirty"]) for state in record["code"]}
    expected = {"0": (["fig3"], True), "1": (["fig1", "fig2"], False), "2": (["fig3"], True)}
    assert found == expected
    assert {"python", "numpy", "scipy", "blas"} <= set(record["code"][1])

    with (tmp_path / "out/jobs.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["job"] for row in rows] == ["fit kgl", "data", "figure"]
    assert rows[0]["minutes_in_all"] == "3.01"


def test_the_same_run_has_the_same_record(tmp_path: Path, benchmarks: dict[str, list[str]]) -> None:
    path = tmp_path / "fig1.parquet"
    save_table(path, pd.DataFrame({"value": [1.0]}), {})
    write(tmp_path, [str(path)], benchmarks)
    first = (tmp_path / "out/provenance.json").read_bytes()
    write(tmp_path, [str(path)], {})  # what it cost is no part of it
    assert (tmp_path / "out/provenance.json").read_bytes() == first
    save_table(path, pd.DataFrame({"value": [1.5]}), {})
    write(tmp_path, [str(path)], {})
    assert (tmp_path / "out/provenance.json").read_bytes() != first


def test_a_run_without_benchmarks_has_an_empty_table_of_costs(tmp_path: Path) -> None:
    write(tmp_path, [], {})
    lines = (tmp_path / "out/jobs.csv").read_text().splitlines()
    assert lines == ["job,jobs,minutes_in_all,seconds_longest,memory_mb_largest"]


def test_captions_are_written_as_they_are(tmp_path: Path) -> None:
    write(tmp_path, [], {})
    text = (tmp_path / "out/captions.json").read_text(encoding="utf-8")
    assert json.loads(text) == CAPTIONS
    assert "An “edge”" in text  # readable, not in escapes
    assert text.endswith("}\n")


def test_facts_of_all_data_sets_are_one_table(tmp_path: Path) -> None:
    paths = []
    for files, source in (("swiss", "real"), ("sushi", "simulated")):
        paths.append(str(tmp_path / f"facts-{files}.parquet"))
        row = {"files": files, "source": source, "quantity": "items", "value": 3.0, "paper": 4.0}
        save_table(paths[-1], pd.DataFrame([row]), {})
    write(tmp_path, [], {}, tuple(paths))
    found = pd.read_csv(tmp_path / "out/facts.csv")
    assert list(found["files"]) == ["swiss", "sushi"]
    assert list(found["source"]) == ["real", "simulated"]
    write(tmp_path, [], {})  # a run without real data
    assert (tmp_path / "out/facts.csv").read_text().strip() == ""


def test_the_record_of_machine_and_time(
    tmp_path: Path, benchmarks: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "logs/started"
    monkeypatch.setattr("time.time", lambda: 1_000_000.4)
    note_start(started)
    assert started.read_text() == "1000000\n"
    monkeypatch.setattr("time.time", lambda: 1_000_090.0)
    write(tmp_path, [], benchmarks, started=str(started))
    about = json.loads((tmp_path / "out/run.json").read_text())
    assert about["jobs"] == 7
    assert about["cpu_seconds"] == round(60 * (3.01 + 0.0 + 0.05))
    assert about["started"] == "1970-01-12 13:46"
    assert about["wall_seconds"] == 90
    assert about["machine"] == machine()


@pytest.mark.parametrize("content", [None, "", "yesterday"])
def test_a_run_whose_start_is_not_known_has_no_time(tmp_path: Path, content: str | None) -> None:
    started = tmp_path / "started"
    if content is not None:
        started.write_text(content)
    write(tmp_path, [], {}, started=str(started))
    about = json.loads((tmp_path / "out/run.json").read_text())
    assert set(about) == {"machine", "jobs", "cpu_seconds"}
    assert (about["jobs"], about["cpu_seconds"]) == (0, 0)


def test_a_start_is_noted_anew_by_each_run(tmp_path: Path) -> None:
    path = tmp_path / "a/b/started"
    note_start(path)
    path.write_text("0\n")
    note_start(str(path))
    assert float(path.read_text()) > 1e9


def test_a_machine_says_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    found = machine()
    assert found["cores"] >= 1
    assert isinstance(found["cpu"], str)
    assert found["memory_gb"] > 0

    # another system has neither /proc nor sysconf
    def absent(*_: Any, **__: Any) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", absent)
    monkeypatch.delattr(summary.os, "sysconf")
    monkeypatch.setattr(summary.platform, "processor", lambda: "")
    monkeypatch.setattr(summary.platform, "machine", lambda: "arm64")
    less = machine()
    assert less == {"cores": found["cores"], "cpu": "arm64", "platform": found["platform"]}


def test_a_processor_is_named_as_linux_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "processor\t: 0\nmodel name\t: Fast: 3 GHz\nmodel name\t: other\n"
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: text)
    assert machine()["cpu"] == "Fast: 3 GHz"
