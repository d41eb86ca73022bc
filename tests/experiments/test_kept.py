"""What is kept of compositions: the same answers sooner, and never an old one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from experiments import config, kept
from experiments.kept import STATES, Kept
from experiments.planning import make_plan

CONF = Path(__file__).parents[2] / "conf"
FEW = ("fig2", ["replicates=2", "levels.noise=[0.5]", "study.graph=[sbm]"])


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of conf/ that nothing has been read from."""
    copy = tmp_path / "conf"
    shutil.copytree(CONF, copy)
    monkeypatch.setenv("KGL_CONF", str(copy))
    return copy


def as_if_started_anew() -> None:
    kept.kept.cache_clear()
    config._compose.cache_clear()


@pytest.fixture(autouse=True)
def no_memory_of_the_process():
    as_if_started_anew()
    yield
    as_if_started_anew()


def files(conf: Path) -> list[Path]:
    return sorted((conf.parent / kept.DIRECTORY).glob("*"))


def test_a_second_plan_is_the_first_without_hydra(conf, monkeypatch):
    first = make_plan(*FEW)
    (file,) = files(conf)
    as_if_started_anew()

    def refuse(*_):
        raise AssertionError("composed again")

    monkeypatch.setattr(config, "_hydra", refuse)
    monkeypatch.setattr(config.Composed, "_resolved", refuse)
    second = make_plan(*FEW)
    assert second.cells == first.cells
    assert [study.config for study in second.studies.values()] == [
        study.config for study in first.studies.values()
    ]
    assert files(conf) == [file]


def test_an_edit_is_seen(conf):
    make_plan(*FEW)
    as_if_started_anew()
    path = conf / "grid/noise.yaml"
    old = next(line for line in path.read_text().splitlines() if line.startswith("lam:"))
    path.write_text(path.read_text().replace(old, "lam: [0.125]"))
    plan = make_plan(*FEW)
    assert {tuple(c.fit["grid"]["lam"]) for c in plan.cells.values() if c.model == "kgl"} == {
        (0.125,)
    }
    assert len(files(conf)) == 2


def test_what_was_composed_before_an_edit_is_not_kept_as_of_after_it(conf):
    config.compose(["grid=tiny"]).values()
    (conf / "grid/tiny.yaml").write_text((conf / "grid/tiny.yaml").read_text() + "# edited\n")
    make_plan(*FEW)
    assert files(conf) == []


@pytest.mark.parametrize("spoiled", ["", "{", "[]", "\0"])
def test_a_spoiled_file_is_made_again(conf, spoiled):
    first = make_plan(*FEW)
    (file,) = files(conf)
    file.write_text(spoiled)
    as_if_started_anew()
    assert make_plan(*FEW).cells == first.cells
    assert json.loads(file.read_text())


def test_two_processes_keep_what_both_found(conf):
    one, other = Kept(conf), Kept(conf)
    one.get("a", lambda: "1")
    other.get("b", lambda: "2")
    one.save()
    other.save()
    assert Kept(conf).texts == {"a": "1", "b": "2"}


def test_old_states_are_forgotten(conf):
    for k in range(STATES + 2):
        (conf / "config.yaml").write_text(f"# {k}\n")
        state = Kept(conf)
        state.get("a", lambda: "1")
        state.save()
    assert len(files(conf)) == STATES
    assert state.path in files(conf)


def test_a_place_that_cannot_be_written_to_costs_no_result(conf):
    (conf.parent / ".cache").write_text("a file is in the way")
    assert make_plan(*FEW).cells
