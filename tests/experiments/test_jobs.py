"""Jobs: data to fit to table through files, logs, and failures that leave nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments import specifications as specifications
from experiments.datasets.real import facts
from experiments.datasets.synthetic import build
from experiments.fit import fit_cell
from experiments.io import digest, load_arrays, load_table
from experiments.jobs import (
    data_job,
    facts_job,
    fit_job,
    logged,
    score_job,
    specification_job,
    specifications_job,
)
from experiments.lookup import ConfigError
from experiments.score import score_study

DATA = {
    "make": "experiments.datasets.synthetic.synthetic",
    "seed": 0,
    "replicates": 2,
    "graph": {
        "family": "er",
        "m": 6,
        "density": 0.5,
        "alpha": 10.0,
        "weights": "uniform",
        "connected": False,
        "options": {},
    },
    "data": {
        "dependent": False,
        "n": 10,
        "noise": 0.1,
        "missing": 0.2,
        "bandwidth": "median_distance",
    },
}
FIT = {
    "estimator": "GL-2step",
    "grid": {"rho": [0.1, 1.0], "psi": [0.01, 0.1, 1.0]},
    "options": {},
    "fit": {"average": True, "tol": 1e-4, "max_iter": 50, "solver": "newton", "backend": None},
    "keep": [],
}
SCORE = {"aps": "weights", "best": "replicate"}
LABELS = {"graph": "er", "data": "independent", "sweep": "noise", "level": 0.1}
LABELS |= {"m": 6, "n": 10, "noise": 0.1, "missing": 0.2, "model": "gl2step"}


@pytest.fixture
def data(tmp_path: Path) -> str:
    data_job(DATA, str(tmp_path / "data.npz"), str(tmp_path / "data.log"))
    return str(tmp_path / "data.npz")


# ---------------------------------------------------------------------------------------- logs


def test_a_log_can_be_followed_and_ends_with_done(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "deep" / "job.log"
    with logged(path) as report:
        report("first")
        assert "first" in path.read_text()
    lines = path.read_text().splitlines()
    assert [line.split(" s  ")[1] for line in lines] == ["first", "done"]


def test_a_failure_is_in_the_log_on_the_screen_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        with logged(tmp_path / "job.log") as report:
            report("first")
            raise ZeroDivisionError("no such number")

    with pytest.raises(ZeroDivisionError, match="no such number"):
        fail()
    text = (tmp_path / "job.log").read_text()
    assert "first" in text
    assert "Traceback (most recent call last)" in text
    assert 'raise ZeroDivisionError("no such number")' in text
    assert "done" not in text
    assert capsys.readouterr().err == "ZeroDivisionError: no such number\n"


def test_a_log_is_of_the_last_run(tmp_path: Path) -> None:
    for word in ("old", "new"):
        with logged(tmp_path / "job.log") as report:
            report(word)
    assert "old" not in (tmp_path / "job.log").read_text()


# ---------------------------------------------------------------------------------------- files


def test_data_fit_and_table_through_files(data: str, tmp_path: Path) -> None:
    arrays, record = load_arrays(data)
    direct = build(DATA)
    assert set(arrays) == set(direct)
    assert all(np.array_equal(arrays[k], direct[k], equal_nan=True) for k in direct)
    assert record["settings"] == DATA
    assert "replicate 2/2" in (tmp_path / "data.log").read_text()

    fit_job(data, FIT, str(tmp_path / "fit.npz"), str(tmp_path / "fit.log"))
    fitted, record = load_arrays(tmp_path / "fit.npz")
    expected = fit_cell(direct, FIT)
    assert set(fitted) == set(expected)
    assert all(np.array_equal(fitted[k], expected[k], equal_nan=True) for k in expected)
    assert record["settings"] == {"data": DATA, "fit": FIT}
    assert "replicate 2/2: best APS" in (tmp_path / "fit.log").read_text()

    table_path = tmp_path / "fig2.parquet"
    fits = [str(tmp_path / "fit.npz")]
    score_job("fig2", fits, [LABELS], SCORE, str(table_path), str(tmp_path / "score.log"))
    table, record = load_table(table_path)
    assert table.equals(score_study("fig2", [(LABELS, expected)], SCORE))
    assert record["settings"]["score"] == SCORE
    assert digest({"data": DATA, "fit": FIT}) in str(record["settings"])
    assert f"{len(table)} rows" in (tmp_path / "score.log").read_text()


def test_a_job_run_again_writes_the_same_bytes(data: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        data_job(DATA, str(tmp_path / name / "data.npz"), str(tmp_path / "log"))
        fit_job(data, FIT, str(tmp_path / name / "fit.npz"), str(tmp_path / "log"))
    for name in ("data.npz", "fit.npz"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_table_knows_all_of_its_fits(data: str, tmp_path: Path) -> None:
    fits, digests = [], set()
    for level in (0.1, 0.2, 0.3):
        spec = {**FIT, "grid": {"rho": [level], "psi": [1.0]}}
        fits.append(str(tmp_path / f"er-independent/noise-{level}/gl2step.npz"))
        fit_job(data, spec, fits[-1], str(tmp_path / "log"))
        digests.add(load_arrays(fits[-1])[1]["digest"])
    labels = [LABELS | {"level": level} for level in (0.1, 0.2, 0.3)]
    score_job("fig2", fits, labels, SCORE, str(tmp_path / "t.parquet"), str(tmp_path / "log"))
    _, record = load_table(tmp_path / "t.parquet")
    assert set(record["settings"]["fits"].values()) == digests
    assert len(digests) == 3
    assert "er-independent/noise-0.2/gl2step" in record["settings"]["fits"]


def test_what_a_data_set_is_goes_to_a_table_and_a_log(tmp_path: Path) -> None:
    for files in ("swiss", "sushi"):
        path, log = tmp_path / f"{files}.parquet", tmp_path / "log"
        facts_job(files, "simulated", str(path), str(log))
        table, record = load_table(path)
        assert table.to_dict("records") == [
            pytest.approx(row, nan_ok=True) for row in facts(files, "simulated")
        ]
        assert record["settings"] == {"files": files, "source": "simulated"}
        assert f"{files} (simulated): " in log.read_text()
    assert "sushi (simulated): items = 32" in log.read_text()


# ------------------------------------------------------------------------------------- specifications

JUDGED = pd.DataFrame(
    {
        "claim": ["N1", "H1"],
        "verdict": ["reproduced", "partly"],
        "held": [3, 1],
        "parts": [3, 4],
        "h1_distance": 0.25,
    }
)


def spec_of(*overrides: str) -> dict[str, Any]:
    return {"collection": "reduced", "overrides": list(overrides), "configurations": "abc"}


def test_a_specification_is_judged_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, list[str]]] = []

    def judge(collection: str, overrides: list[str], report: Any) -> pd.DataFrame:
        asked.append((collection, overrides))
        report("1/2 some cell")
        return JUDGED

    monkeypatch.setattr(specifications, "judge_specification", judge)
    path, log = tmp_path / "deep" / "n50.parquet", tmp_path / "log"
    specification_job(spec_of("protocol.data.n=50"), str(path), str(log))
    assert asked == [("reduced", ["protocol.data.n=50"])]
    table, record = load_table(path)
    assert table.equals(JUDGED)
    assert record["settings"] == spec_of("protocol.data.n=50")
    for line in ("1/2 some cell", "N1: reproduced (3 of 3)", "H1: partly (1 of 4)", "done"):
        assert line in log.read_text()


def test_a_specification_that_fails_leaves_no_file_but_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(*_: Any) -> pd.DataFrame:
        raise ConfigError("no such reading")

    monkeypatch.setattr(specifications, "judge_specification", judge)
    with pytest.raises(ConfigError, match="no such reading"):
        specification_job(spec_of(), str(tmp_path / "u.parquet"), str(tmp_path / "log"))
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert "no such reading" in (tmp_path / "log").read_text()


def test_specifications_stand_one_under_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about: dict[str, dict[str, Any]] = {
        "default": {"setting": "default", "change": "as in the figures", "overrides": []},
        "n50": {"setting": "n", "change": "n = 50", "overrides": ["protocol.data.n=50"]},
        "few": {"setting": "solver", "change": "few", "overrides": ["replicates=3"], "base": "few"},
        "other": {
            "setting": "solver", "change": "other", "overrides": ["replicates=3", "protocol=cvxpy"],
            "base": "few",
        },
    }  # fmt: skip
    other = JUDGED.assign(verdict=["reproduced", "reproduced"], held=[3, 4], h1_distance=0.5)
    files = []
    made_up = (JUDGED, other, JUDGED, other)
    for (name, spec), made in zip(about.items(), made_up, strict=True):
        monkeypatch.setattr(specifications, "judge_specification", lambda *_, made=made: made)
        files.append(str(tmp_path / f"{name}.parquet"))
        specification_job(spec_of(*spec["overrides"]), files[-1], str(tmp_path / "log"))
    output, log = tmp_path / "specifications.parquet", tmp_path / "log"
    specifications_job(about, files, str(output), str(log))
    table, record = load_table(output)
    assert table.columns.tolist() == [
        *("reading", "setting", "change", "default", "base"),
        *("claim", "verdict", "held", "parts", "h1_distance"),
    ]
    assert table["reading"].tolist() == [name for name in about for _ in range(2)]
    assert table["default"].tolist() == [True] * 2 + [False] * 6
    for column in ("change", "setting"):
        assert table[column].tolist() == [one[column] for one in about.values() for _ in range(2)]
    # compared with the first, unless another is named
    assert table["base"].tolist() == ["default"] * 4 + ["few"] * 4
    columns = JUDGED.columns.tolist()
    assert table[columns].equals(pd.concat(made_up, ignore_index=True))
    assert record["settings"]["specifications"] == about
    assert len(record["settings"]["made_by"]) == 1
    for line in ("default: 1 reproduced", "n50: 2 reproduced"):
        assert line in log.read_text()
    with pytest.raises(ValueError, match="zip"):
        specifications_job(about, files[:1], str(tmp_path / "fewer.parquet"), str(log))
    assert not (tmp_path / "fewer.parquet").exists()


# ------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"estimator": "GLX"}, ConfigError),
        ({"estimator": "kgl.nosuch.fit"}, ConfigError),
        ({"grid": {"rho": [0.1]}}, ConfigError),
        ({"fit": {**FIT["fit"], "backend": "OSQP"}}, ValueError),
    ],
)
def test_a_fit_that_fails_leaves_no_file_but_a_log(
    change: dict[str, Any], error: type[Exception], data: str, tmp_path: Path
) -> None:
    output, log = tmp_path / "out" / "fit.npz", tmp_path / "fit.log"
    with pytest.raises(error) as caught:
        fit_job(data, {**FIT, **change}, str(output), str(log))
    assert not output.parent.exists() or list(output.parent.iterdir()) == []
    assert "Traceback" in log.read_text()
    assert str(caught.value) in log.read_text()


def test_a_fit_without_its_data_says_which(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        fit_job(str(tmp_path / "absent.npz"), FIT, str(tmp_path / "f.npz"), str(tmp_path / "log"))
    assert not (tmp_path / "f.npz").exists()
    assert "absent.npz" in (tmp_path / "log").read_text()


def test_data_that_cannot_be_drawn_leave_no_file(tmp_path: Path) -> None:
    broken = {**DATA, "graph": {**DATA["graph"], "family": "nosuch"}}
    with pytest.raises(ValueError, match="nosuch"):
        data_job(broken, str(tmp_path / "data.npz"), str(tmp_path / "log"))
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_a_table_of_fits_and_labels_that_do_not_match_is_refused(data: str, tmp_path: Path) -> None:
    fit_job(data, FIT, str(tmp_path / "fit.npz"), str(tmp_path / "log"))
    output = tmp_path / "t.parquet"
    with pytest.raises(ValueError, match="zip"):
        score_job(
            "fig2", [str(tmp_path / "fit.npz")], [], SCORE, str(output), str(tmp_path / "log")
        )
    assert not output.exists()
