"""The scripts of the rules, each run as Snakemake runs it: with the global ``snakemake``."""

import hashlib
import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments import io
from experiments.datasets.real import facts
from experiments.datasets.synthetic import build
from experiments.fit import fit_cell
from experiments.io import digest, load_arrays, load_table, save_table
from experiments.lookup import ROOT, ConfigError
from experiments.score import score_study
from experiments.specifications import judge_specification

DATA: dict[str, Any] = {
    "make": "experiments.datasets.synthetic.synthetic",
    "seed": 0,
    "replicates": 2,
    "graph": {"family": "er", "m": 6, "density": 0.5, "alpha": 10.0, "weights": "uniform",
              "connected": False, "options": {}},
    "data": {"dependent": False, "n": 10, "noise": 0.1, "missing": 0.2,
             "bandwidth": "median_distance"},
}  # fmt: skip
FIT: dict[str, Any] = {
    "estimator": "GL-2step",
    "grid": {"rho": [0.1, 1.0], "psi": [0.01, 0.1, 1.0]},
    "options": {},
    "fit": {"average": True, "tol": 1e-4, "max_iter": 50, "solver": "newton", "backend": None},
    "keep": [],
}
SCORE = {"aps": "weights", "best": "replicate"}
LABELS = {"graph": "er", "data": "independent", "sweep": "noise", "level": 0.1, "m": 6, "n": 10,
          "noise": 0.1, "missing": 0.2, "model": "gl2step"}  # fmt: skip


class Named(list):  # type: ignore[type-arg]
    """A list with names, as Snakemake gives inputs, outputs and parameters."""

    def __init__(self, *items: Any, **named: Any) -> None:
        flat = [[v] if isinstance(v, str) else v for v in named.values()]
        super().__init__([*items, *(path for part in flat for path in part)])
        self.__dict__.update(named)


def run(script: str, log: Path, **known: Any) -> None:
    fake = SimpleNamespace(log=[str(log)], **known)
    runpy.run_path(str(ROOT / f"experiments/scripts/{script}.py"), init_globals={"snakemake": fake})


def make_data(path: Path, spec: dict[str, Any] = DATA) -> Path:
    params = SimpleNamespace(spec=spec)
    run("data", path.with_suffix(".log"), output=Named(str(path)), params=params)
    return path


def make_fit(data: Path, path: Path, **change: Any) -> Path:
    params = SimpleNamespace(spec={**FIT, **change})
    known = {"input": Named(data=str(data)), "output": Named(str(path)), "params": params}
    run("fit", path.with_suffix(".log"), **known)
    return path


def make_table(fits: list[Path], labels: list[dict[str, Any]], path: Path) -> Path:
    run(
        "score",
        path.with_suffix(".log"),
        input=Named(files=[str(fit) for fit in fits]),
        output=Named(str(path)),
        params=SimpleNamespace(labels=labels, score=SCORE, specifications=None),
        wildcards=SimpleNamespace(study="fig2"),
    )
    return path


def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    return set(found) == set(expected) and all(
        np.array_equal(found[k], expected[k], equal_nan=True) for k in expected
    )


def test_data_fit_and_table_through_files(tmp_path: Path) -> None:
    data = make_data(tmp_path / "data.npz")
    arrays, record = load_arrays(data)
    assert same(arrays, build(DATA))
    assert record["settings"] == DATA
    assert "replicate 2/2" in (tmp_path / "data.log").read_text()

    fit = make_fit(data, tmp_path / "a/er-independent/noise-0.1/gl2step.npz")
    fitted, record = load_arrays(fit)
    expected = fit_cell(build(DATA), FIT)
    assert same(fitted, expected)
    assert record["settings"] == {"data": DATA, "fit": FIT}

    grid = {**FIT["grid"], "rho": [2.0]}
    other = make_fit(data, tmp_path / "a/er-independent/noise-0.2/gl2step.npz", grid=grid)
    labels = [LABELS, LABELS | {"level": 0.2}]
    table, made = load_table(make_table([fit, other], labels, tmp_path / "fig2.parquet"))
    cells = [(labels[0], expected), (labels[1], load_arrays(other)[0])]
    assert table.equals(score_study("fig2", cells, SCORE))
    # a table names all of its fits, and the code that made them
    settings = made["settings"]
    assert (settings["study"], settings["score"]) == ("fig2", SCORE)
    assert settings["files"] == {
        "er-independent/noise-0.1/gl2step": digest(record["settings"]),
        "er-independent/noise-0.2/gl2step": load_arrays(other)[1]["digest"],
    }
    assert settings["made_by"] == [io.state_of(record)]


@pytest.mark.parametrize("files", ["swiss", "sushi"])
def test_facts_of_a_data_set_go_to_a_table_and_a_log(files: str, tmp_path: Path) -> None:
    path, about = tmp_path / "facts.parquet", {"files": files, "source": "simulated"}
    params = SimpleNamespace(about=about)
    run("facts", tmp_path / "log", output=Named(str(path)), params=params)
    table, record = load_table(path)
    expected = [pytest.approx(row, nan_ok=True) for row in facts(files, "simulated")]
    assert table.to_dict("records") == expected
    assert record["settings"] == about
    assert f"{files} (simulated): " in (tmp_path / "log").read_text()


JUDGED = pd.DataFrame(
    {"claim": ["N1", "H1"], "verdict": ["reproduced", "partly"], "held": [3, 1],
     "criteria": [3, 4], "h1_distance": 0.25}
)  # fmt: skip


def test_a_specification_is_judged_and_written(tmp_path: Path) -> None:
    sizes = ["replicates=1", "protocol.data.m=8", "protocol.data.n=12", "levels.noise=[0.0]"]
    spec = {"collection": "reduced_tiny", "overrides": sizes, "configurations": "abc"}
    path, params = tmp_path / "s.parquet", SimpleNamespace(spec=spec)
    run("specification", tmp_path / "log", output=Named(str(path)), params=params)
    table, record = load_table(path)
    assert table.equals(judge_specification("reduced_tiny", sizes))
    assert record["settings"] == spec
    assert f"{table['claim'][0]}: {table['verdict'][0]}" in (tmp_path / "log").read_text()


def test_the_verdicts_of_all_specifications_are_one_table(tmp_path: Path) -> None:
    about = {
        "default": {"detail": "default", "choice": "none", "overrides": []},
        "n50": {"detail": "n", "choice": "n = 50", "overrides": ["protocol.data.n=50"]},
        "cvxpy": {"detail": "solver", "choice": "CVXPY", "overrides": ["a=1"], "base": "n50"},
    }
    files = [str(tmp_path / f"{name}.parquet") for name in about]
    made = [JUDGED.assign(h1_distance=0.1 * k) for k in range(3)]
    for path, table in zip(files, made, strict=True):
        save_table(path, table, {})

    def gather(name: str, files: list[str]) -> Path:
        known = {"input": Named(files=files), "output": Named(str(tmp_path / name))}
        params = SimpleNamespace(specifications=about, labels=[], score={})
        wildcards = SimpleNamespace(study="specifications")
        run("score", tmp_path / "log", **known, params=params, wildcards=wildcards)
        return tmp_path / name

    table, record = load_table(gather("all.parquet", files))
    first = ["specification", "detail", "choice", "default", "base"]
    assert table.columns.tolist() == [*first, *JUDGED.columns]
    assert table["specification"].tolist() == [name for name in about for _ in range(2)]
    assert table["default"].tolist() == [True] * 2 + [False] * 4
    # compared with the first, unless another is named
    assert table["base"].tolist() == ["default"] * 4 + ["n50"] * 2
    assert table[list(JUDGED)].equals(pd.concat(made, ignore_index=True))
    assert {Path(name).name for name in record["settings"]["files"]} == set(about)
    assert len(record["settings"]["made_by"]) == 1
    with pytest.raises(ValueError, match="zip"):
        gather("fewer.parquet", files[:2])
    assert not (tmp_path / "fewer.parquet").exists()


HEAD = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time"
COSTS = "job,jobs,minutes_in_all,seconds_longest,memory_mb_largest"
CAPTIONS = {"fig1": {"title": "a", "caption": "a. An “edge”.", "figure": 1}}
RUN = {"name": "mine", "overrides": ["seed=1"], "cells": "abc"}


def benchmark(path: Path, *rows: tuple[str, str]) -> str:
    """Write a file as Snakemake does: seconds, and megabytes, or none for a short job."""
    lines = [f"{s}\t0:00:01\t{rss}\t-\t-\t-\t0.0\t0.0\t0.0\t0.5" for s, rss in rows]
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    return str(path)


def summarise(
    root: Path,
    tables: tuple[Path, ...] = (),
    benchmarks: dict[str, list[str]] | None = None,
    facts: tuple[Path, ...] = (),
) -> dict[str, Any]:
    """Run the script; return what it wrote, by kind."""
    ends = {"provenance": "json", "captions": "json", "run": "json", "facts": "csv", "cost": "csv"}
    paths = {kind: root / f"out/{kind}.{end}" for kind, end in ends.items()}
    run(
        "summary",
        root / "log",
        input=Named(tables=[str(p) for p in tables], pictures=[], facts=[str(p) for p in facts]),
        output=Named(**{kind: str(path) for kind, path in paths.items()}),
        params=SimpleNamespace(
            run=RUN, benchmarks=benchmarks or {}, captions=CAPTIONS, started=str(root / "started")
        ),
    )
    texts = {kind: path.read_text(encoding="utf-8") for kind, path in paths.items()}
    return {k: json.loads(t) if ends[k] == "json" else t for k, t in texts.items()}


def test_costs_are_added_up_by_kind_of_job(tmp_path: Path) -> None:
    one = benchmark(tmp_path / "a", ("90.25", "150.75"))
    two = benchmark(tmp_path / "b", ("30.5", "420.2"), ("60.0", "99.0"))
    short = benchmark(tmp_path / "c", ("0.04", "-"), ("0.06", "NA"))
    files = {"fit kgl": [one, two], "data": [short], "score": [str(tmp_path / "absent")]}
    (tmp_path / "started").write_text("1000000\n")
    found = summarise(tmp_path, benchmarks=files)
    head, *rows = found["cost"].splitlines()
    assert head == COSTS
    assert rows == ["fit kgl,3,3.01,90.2,420", "data,2,0,0.1,0"]  # 180.75 s; nothing of others
    about = found["run"]
    assert (about["jobs"], about["cpu_seconds"]) == (5, round(60 * 3.01))
    assert about["started"] == "1970-01-12 13:46"
    assert about["wall_seconds"] > 1e9
    assert about["machine"]["cores"] >= 1
    assert about["machine"]["cpu"]


@pytest.mark.parametrize("started", [None, "", "yesterday"])
def test_a_run_without_benchmarks_start_or_real_data_is_recorded_too(started, tmp_path):
    if started is not None:
        (tmp_path / "started").write_text(started)
    found = summarise(tmp_path)
    assert set(found["run"]) == {"machine", "jobs", "cpu_seconds"}
    assert (found["run"]["jobs"], found["run"]["cpu_seconds"]) == (0, 0)
    assert found["cost"].splitlines() == [COSTS]
    assert found["facts"].strip() == ""
    assert found["captions"] == CAPTIONS
    assert "An “edge”" in (tmp_path / "out/captions.json").read_text(encoding="utf-8")


def test_the_record_names_every_table_and_the_code_behind_it(tmp_path, monkeypatch):
    old = {"commit": "0" * 40, "dirty": True}
    settings: dict[str, Any] = {"fig1": {}, "fig2": {}, "fig3": {"made_by": [old]}}
    paths = {name: tmp_path / f"{name}.parquet" for name in settings}
    for k, (name, path) in enumerate(paths.items()):
        state = {"commit": str(1 + k // 2) * 40, "dirty": k == 2}
        monkeypatch.setattr(io, "_git", lambda state=state: state)
        save_table(path, pd.DataFrame({"value": [float(k)]}), settings[name])
    found = summarise(tmp_path, tuple(paths.values()), facts=(paths["fig1"], paths["fig3"]))
    assert found["facts"].splitlines() == ["value", "0", "2"]  # of all data sets, one table
    record = found["provenance"]
    assert (record["run"], record["digest"]) == (RUN, digest(RUN))
    for k, name in enumerate(paths):
        # of the numbers alone: the file also holds the commit, which changes with every one
        text = f"value\n{float(k)}\n".encode()
        assert record["tables"][name] == {
            "sha256": hashlib.sha256(text).hexdigest(),
            "settings": digest(settings[name]),
        }
    made = {state["commit"][0]: (state["tables"], state["dirty"]) for state in record["code"]}
    assert made == {"0": (["fig3"], True), "1": (["fig1", "fig2"], False), "2": (["fig3"], True)}
    # the same run has the same record, whatever it cost
    files = {"data": [benchmark(tmp_path / "a", ("1", "2"))]}
    assert summarise(tmp_path, tuple(paths.values()), files)["provenance"] == record


def test_files_are_published_as_they_are(tmp_path: Path) -> None:
    sources = [tmp_path / name for name in ("a.png", "b.csv")]
    for path in sources:
        path.write_bytes(path.name.encode())
    targets = [tmp_path / "gallery" / path.name for path in sources]
    known = {"input": Named(*map(str, sources)), "output": Named(*map(str, targets))}
    run("publish", tmp_path / "log", **known)
    assert [path.read_bytes() for path in targets] == [b"a.png", b"b.csv"]
    assert sorted((tmp_path / "gallery").iterdir()) == targets


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"estimator": "kgl.nosuch.fit"}, ConfigError),
        ({"grid": {"rho": [0.1]}}, ConfigError),
        ({"fit": {**FIT["fit"], "backend": "OSQP"}}, ValueError),
        (None, FileNotFoundError),
    ],
)
def test_a_fit_that_fails_leaves_no_file_but_a_log(change, error, tmp_path):
    data = tmp_path / "absent.npz" if change is None else make_data(tmp_path / "data.npz")
    with pytest.raises(error) as caught:
        make_fit(data, tmp_path / "out/fit.npz", **(change or {}))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["fit.log"]
    log = (tmp_path / "out/fit.log").read_text()
    assert "Traceback" in log
    assert str(caught.value) in log


def test_other_jobs_that_fail_leave_no_file_but_a_log(tmp_path: Path) -> None:
    broken = {**DATA, "graph": {**DATA["graph"], "family": "nosuch"}}
    with pytest.raises(ValueError, match="nosuch"):
        make_data(tmp_path / "data.npz", broken)
    assert "nosuch" in (tmp_path / "data.log").read_text()
    fit = make_fit(make_data(tmp_path / "other.npz"), tmp_path / "fit.npz")
    with pytest.raises(ValueError, match="zip"):
        make_table([fit], [], tmp_path / "t.parquet")
    with pytest.raises(FileNotFoundError, match="absent"):
        summarise(tmp_path, (tmp_path / "absent.parquet",))
    assert "absent.parquet" in (tmp_path / "log").read_text()
    assert not any((tmp_path / name).exists() for name in ("data.npz", "t.parquet", "out/run.json"))
