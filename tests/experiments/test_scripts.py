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

from experiments import fit as fitting
from experiments import io
from experiments.datasets.real import facts
from experiments.datasets.synthetic import build
from experiments.fit import fit_cell
from experiments.io import digest, load_arrays, load_fits, load_table, save_table
from experiments.lookup import ROOT, ConfigError
from experiments.score import score_study

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
GL: dict[str, Any] = {**FIT, "estimator": "GL", "grid": {"psi": [0.01, 0.1]}}
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


LEVEL = "noise-0.1"


def make_data(path: Path, spec: dict[str, Any] = DATA, **others: dict[str, Any]) -> Path:
    """Draw a level, and others by their names."""
    params = SimpleNamespace(specs={LEVEL: spec, **others})
    run("data", path.with_suffix(".log"), output=Named(str(path)), params=params)
    return path


def make_fits(data: Path, path: Path, kept: Path, code: str = "1", **models: Any) -> Path:
    """Fit models, given by name with their settings, or the one of the other tests."""
    models = models or {"gl2step": FIT}
    jobs = {name: {"fit": spec, "code": code} for name, spec in models.items()}
    params = SimpleNamespace(models=jobs, kept=str(kept))
    known = {"input": Named(data=str(data)), "output": Named(str(path)), "params": params}
    run("fit", path.with_suffix(".log"), **known, wildcards=SimpleNamespace(level=LEVEL))
    return path


def make_table(fits: list[Path], cells: list[tuple[str, dict[str, Any]]], path: Path) -> Path:
    run(
        "score",
        path.with_suffix(".log"),
        input=Named(files=[str(fit) for fit in fits]),
        output=Named(str(path)),
        params=SimpleNamespace(cells=cells, score=SCORE),
        wildcards=SimpleNamespace(study="fig2"),
    )
    return path


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The estimators that jobs fit, in order."""
    found: list[str] = []

    def counted(data: Any, spec: Any, report: Any) -> Any:
        found.append(spec["estimator"])
        return fit_cell(data, spec, report)

    monkeypatch.setattr(fitting, "fit_cell", counted)
    return found


def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    return set(found) == set(expected) and all(
        np.array_equal(found[k], expected[k], equal_nan=True) for k in expected
    )


def test_data_fit_and_table_through_files(tmp_path: Path) -> None:
    noisy = {**DATA, "data": {**DATA["data"], "noise": 1.0}}
    data = make_data(tmp_path / "data.npz", **{"noise-1.0": noisy})
    for level, spec in ((LEVEL, DATA), ("noise-1.0", noisy)):
        arrays, record = load_arrays(data, level)
        assert same(arrays, build(spec))
        assert record["settings"][level] == spec
    log = (tmp_path / "data.log").read_text()
    assert log.index(f"{LEVEL}:") < log.index("replicate 2/2") < log.index("noise-1.0:")

    specs, kept = {"gl2step": FIT, "gl": GL}, tmp_path / "kept"
    fit = make_fits(data, tmp_path / "a/er-independent/noise-0.1.npz", kept, **specs)
    fits, record = load_fits(fit)
    expected = {model: fit_cell(build(DATA), spec) for model, spec in specs.items()}
    assert list(fits) == list(specs)
    assert all(same(fits[model], expected[model]) for model in specs)
    state = io.state_of(record)
    assert record["settings"] == {"data": DATA, "fits": specs, "made_by": [state]}
    log = fit.with_suffix(".log").read_text()
    assert log.index("gl2step:") < log.index("gl:")

    other = make_fits(
        *(data, tmp_path / "a/er-independent/noise-0.2.npz", kept),
        gl2step={**FIT, "grid": {**FIT["grid"], "rho": [2.0]}},
    )
    # cells in an order of their own; one model of a file may be left out
    first, second = "er-independent/noise-0.1", "er-independent/noise-0.2"
    labels = [LABELS | {"model": "gl"}, LABELS | {"level": 0.2}, LABELS]
    cells = list(zip((first, second, first), labels, strict=True))
    table, made = load_table(make_table([fit, other], cells, tmp_path / "fig2.parquet"))
    by_model = [expected["gl"], load_fits(other)[0]["gl2step"], expected["gl2step"]]
    assert table.equals(score_study("fig2", zip(labels, by_model, strict=True), SCORE))
    fewer, _ = load_table(make_table([fit], cells[2:], tmp_path / "fewer.parquet"))
    assert fewer.equals(score_study("fig2", [(LABELS, expected["gl2step"])], SCORE))
    # a table names all of its fits, and the code that made them
    settings = made["settings"]
    assert (settings["study"], settings["score"]) == ("fig2", SCORE)
    digests = {first: digest(record["settings"]), second: load_arrays(other)[1]["digest"]}
    assert settings["files"] == digests
    assert settings["made_by"] == [state]


def test_a_new_model_is_fitted_and_the_others_are_kept(tmp_path, fitted, monkeypatch):
    data, kept = make_data(tmp_path / "data.npz"), tmp_path / "kept"
    old = {"commit": "0" * 40, "dirty": True}
    with monkeypatch.context() as patch:
        patch.setattr(io, "_git", lambda: old)
        before, record = load_fits(make_fits(data, tmp_path / "fit.npz", kept, gl=GL))
    files = {path: path.stat().st_mtime_ns for path in kept.iterdir()}
    assert (fitted, len(files)) == (["GL"], 1)
    after, made = load_fits(make_fits(data, tmp_path / "fit.npz", kept, gl2step=FIT, gl=GL))
    assert fitted == ["GL", "GL-2step"]
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in files.items())
    assert len(list(kept.iterdir())) == 2
    for name, values in before["gl"].items():
        assert after["gl"][name].dtype == values.dtype
        assert after["gl"][name].tobytes() == values.tobytes()
    assert same(after["gl2step"], fit_cell(build(DATA), FIT))
    # the file names the code of each of its fits, and so does a table of it
    states = [io.state_of(record), io.state_of(made)]
    assert states[0] != states[1]
    assert made["settings"]["made_by"] == io.distinct(states)
    names = [(f"{tmp_path.name}/fit", LABELS | {"model": model}) for model in ("gl", "gl2step")]
    _, table = load_table(make_table([tmp_path / "fit.npz"], names, tmp_path / "t.parquet"))
    assert table["settings"]["made_by"] == io.distinct(states)


@pytest.mark.parametrize("change", ["data", "fit", "code"])
def test_other_data_settings_or_code_are_another_fit(change, tmp_path, fitted):
    data, kept, out = make_data(tmp_path / "data.npz"), tmp_path / "kept", tmp_path / "fit.npz"
    make_fits(data, out, kept, gl=GL, gl2step=FIT)
    spec, code = GL, "1"
    if change == "data":
        data = make_data(tmp_path / "data.npz", {**DATA, "seed": 1})
    elif change == "fit":
        spec = {**GL, "fit": {**GL["fit"], "max_iter": 40}}
    else:
        code = "2"
    make_fits(data, out, kept, code, gl=spec, gl2step=FIT)
    # settings of one model leave the others alone
    assert fitted == ["GL", "GL-2step", "GL", *["GL-2step"] * (change != "fit")]
    # nothing is lost: what was fitted before is there, under any name, for any file
    make_fits(make_data(tmp_path / "data.npz"), tmp_path / "other.npz", kept, mine=GL, two=FIT)
    assert len(fitted) == 3 + (change != "fit")


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
        save_table(path, pd.DataFrame({"value": [float(k)], "seconds": [k]}), settings[name])
    found = summarise(tmp_path, tuple(paths.values()), facts=(paths["fig1"], paths["fig3"]))
    # of all data sets, one table
    assert found["facts"].splitlines() == ["value,seconds", "0,0", "2,2"]
    record = found["provenance"]
    assert (record["run"], record["digest"]) == (RUN, digest(RUN))
    for k, name in enumerate(paths):
        # of the numbers alone: times and the commit, which the file also holds, change
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
    sums = tmp_path / "gallery" / "SHA256SUMS"
    output = Named(shown=[*map(str, targets)], sums=[str(sums)])
    run("publish", tmp_path / "log", input=Named(*map(str, sources)), output=output)
    assert [path.read_bytes() for path in targets] == [b"a.png", b"b.csv"]
    assert sorted((tmp_path / "gallery").iterdir()) == sorted([*targets, sums])
    for path in targets:
        assert hashlib.sha256(path.read_bytes()).hexdigest() in sums.read_text()


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
        make_fits(data, tmp_path / "out/fit.npz", tmp_path / "kept", gl={**FIT, **(change or {})})
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["fit.log"]
    log = (tmp_path / "out/fit.log").read_text()
    assert "Traceback" in log
    assert str(caught.value) in log
    assert not (tmp_path / "kept").exists()


def test_a_model_that_fails_does_not_keep_the_others_from_being_fitted(tmp_path, fitted):
    data, out = make_data(tmp_path / "data.npz"), tmp_path / "out/fit.npz"
    broken = {**FIT, "fit": {**FIT["fit"], "backend": "OSQP"}}
    # an error of its own for each: the first is raised
    models = {"broken": broken, "gl": GL, "worse": {**FIT, "grid": {"rho": [0.1]}}, "gl2step": FIT}
    with pytest.raises(ValueError, match="OSQP"):
        make_fits(data, out, tmp_path / "kept", **models)
    assert fitted == ["GL-2step", "GL", "GL-2step", "GL-2step"]
    assert [path.name for path in out.parent.iterdir()] == ["fit.log"]
    log = out.with_suffix(".log").read_text()
    assert "Traceback" in log
    assert "OSQP" in log
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()}
    assert len(kept) == 2

    # the next run fits what failed, and no more
    fitted.clear()
    models |= {"broken": {**FIT, "estimator": "KGL-N", "grid": {"lam": [0.1], **FIT["grid"]}}}
    models |= {"worse": {**GL, "grid": {"psi": [1.0]}}}
    found, _ = load_fits(make_fits(data, out, tmp_path / "kept", **models))
    assert fitted == ["KGL-N", "GL"]
    assert {p: p.stat().st_mtime_ns for p in kept} == kept
    assert list(found) == list(models)
    assert same(found["gl2step"], fit_cell(build(DATA), FIT))


def test_other_jobs_that_fail_leave_no_file_but_a_log(tmp_path: Path) -> None:
    broken = {**DATA, "graph": {**DATA["graph"], "family": "nosuch"}}
    with pytest.raises(ValueError, match="nosuch"):
        make_data(tmp_path / "data.npz", broken)
    assert "nosuch" in (tmp_path / "data.log").read_text()
    fit = make_fits(make_data(tmp_path / "other.npz"), tmp_path / "fit.npz", tmp_path / "kept")
    # a cell of a file that is not there, and one of a model that its file does not have
    name = f"{tmp_path.name}/fit"
    for cell in ((f"{name}s", LABELS), (name, LABELS | {"model": "kgl"})):
        with pytest.raises(KeyError, match=r"fits|kgl"):
            make_table([fit], [(name, LABELS), cell], tmp_path / "t.parquet")
    with pytest.raises(FileNotFoundError, match="absent"):
        summarise(tmp_path, (tmp_path / "absent.parquet",))
    assert "absent.parquet" in (tmp_path / "log").read_text()
    assert not any((tmp_path / name).exists() for name in ("data.npz", "t.parquet", "out/run.json"))
