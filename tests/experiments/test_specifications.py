"""Specifications: one process gives what the jobs of the workflow give; settings change it."""

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.claims.printed import h1_distance
from experiments.datasets.synthetic import build
from experiments.fit import fit_cell
from experiments.io import load_arrays, load_fits, save_arrays
from experiments.lookup import ROOT, ConfigError
from experiments.plan import Plan, make_plan, plan_specification
from experiments.registry import ALL_POINTS, Verdict
from experiments.score import score_study
from experiments.specifications import judge_specification, run_plan

SIZES = """
overrides:
  - replicates=2
  - grid=tiny
  - protocol.data.m=8
  - protocol.data.n=12
  - levels.families=[sbm]
  - levels.noise=[0.0, 1.0]
  - levels.m=[8, 10]
  - levels.n=[12]
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of conf/ with tiny collections; its reduced one has two studies left."""
    conf = Path(shutil.copytree(ROOT / "conf", tmp_path_factory.mktemp("own") / "conf"))
    for name, studies in (
        ("little", "fig2, fig5, fig12, convergence"),
        ("printed", "fig12"),
        ("sizes", "fig5"),
    ):
        (conf / f"study/{name}.yaml").write_text(f"studies: [{studies}]{SIZES}", encoding="utf-8")
    reduced = conf / "study/reduced.yaml"
    text = reduced.read_text(encoding="utf-8")
    for old, new in (
        (r"^studies: \[[^]]*\]", "studies: [fig5, fig12]"),
        (r"levels\.m=.*", "levels.m=[10]\n  - levels.families=[sbm, ba]"),
        (r"levels\.n=.*", "levels.n=[30]"),
    ):
        text, count = re.subn(f"(?m){old}", new, text)
        assert count == 1
    reduced.write_text(text, encoding="utf-8")
    return conf


@pytest.fixture(autouse=True)
def _conf(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGL_CONF", str(shared))


def by_files(plan: Plan, root: Path) -> dict[str, pd.DataFrame]:
    """The tables of a plan with every dataset and fit written to a file and read again."""
    for name, cells in plan.datasets.items():
        save_arrays(root / f"data/{name}.npz", build(cells[0].data), {})
        data, _ = load_arrays(root / f"data/{name}.npz")
        fits = {c.model: fit_cell(data, c.fit) for c in cells}
        arrays = {f"{model}/{key}": a for model, fit in fits.items() for key, a in fit.items()}
        save_arrays(root / f"fits/{name}.npz", arrays, {})
    read = {name: load_fits(root / f"fits/{name}.npz")[0] for name in plan.datasets}
    return {
        name: score_study(
            name, [(c.labels, read[c.dataset][c.model]) for c in study.cells], study.score
        )
        for name, study in plan.studies.items()
    }


def test_one_process_gives_the_tables_of_separate_jobs(tmp_path, monkeypatch):
    plan = make_plan("little")
    lines: list[str] = []
    monkeypatch.chdir(tmp_path)
    tables = run_plan(plan, lines.append)
    assert not list(tmp_path.iterdir())  # nothing is written
    expected = by_files(plan, tmp_path)
    assert list(tables) == list(expected) == ["fig2", "fig5", "fig12", "convergence"]
    for study, table in tables.items():
        pd.testing.assert_frame_equal(table, expected[study], check_exact=True, obj=study)
        # every point is there where a study asks for it
        assert (ALL_POINTS in set(table["selected_by"])) == (study in ("fig12", "convergence"))
    count = len(plan.cells)
    assert lines == [f"{k}/{count} {name}" for k, name in enumerate(plan.cells, start=1)]


def test_a_study_that_sweeps_over_a_size_keeps_its_levels() -> None:
    # a user's override of what is swept is refused; a specification is about the other studies
    with pytest.raises(ConfigError, match=r"fig5\.yaml sweeps over protocol\.data\.n"):
        make_plan("little", ["protocol.data.n=20"])
    plan = plan_specification("little", ["protocol.data.n=20", "protocol.data.m=9"])
    sizes = {name: {(c.labels["m"], c.labels["n"]) for c in plan.studies[name].cells}
             for name in plan.studies}  # fmt: skip
    assert sizes["fig5"] == {(8, 12), (10, 12)}
    assert sizes["fig2"] == sizes["fig12"] == {(9, 20)}


@pytest.mark.parametrize(
    ("study", "studies"),
    [
        ("specifications", {"fig5", "fig12"}),
        ("specifications_tiny", {"fig2", "fig12", "convergence"}),
    ],
)
def test_every_specification_can_be_planned(study: str, studies: set[str]) -> None:
    plan = make_plan(study)
    seen = set()
    for name, spec in plan.specifications.items():
        made = plan_specification(spec["collection"], spec["overrides"])
        assert set(made.studies) == studies, name
        seen.add(
            str([(c.data, c.fit) for c in made.cells.values()]) + str(made.studies["fig12"].score)
        )
    assert len(seen) == len(plan.specifications)  # no two are the same


def test_a_specification_is_compared_with_one_of_its_own_size() -> None:
    study = make_plan("specifications").studies["specifications"]
    known = study.config["specifications"]
    first = next(iter(known))
    assert known[first]["overrides"] == []
    bases = {name: spec.get("base", first) for name, spec in known.items()}
    assert {name for name, base in bases.items() if base != first} == {"small", "cvxpy"}
    assert all(bases[base] == base for base in bases.values())
    # the solver is all that they differ by
    more = set(known["cvxpy"]["overrides"]) - set(known["small"]["overrides"])
    assert more == {"protocol=cvxpy", "protocol.fit.backend_settings=own"}
    assert set(known["small"]["overrides"]) < set(known["cvxpy"]["overrides"])
    # what changes the size of a run has another base
    sizing = ("replicates=", "grid", "levels.")
    for name, spec in known.items():
        assert (bases[name] != first) == any(o.startswith(sizing) for o in spec["overrides"]), name


def test_a_specification_is_a_row_per_claim() -> None:
    lines: list[str] = []
    table = judge_specification("little", [], lines.append)
    assert table.columns.tolist() == ["claim", "verdict", "held", "criteria", "h1_distance"]
    assert table["claim"].is_unique
    assert {"H", "A"} <= {claim[0] for claim in table["claim"]}  # hyperparameters, algorithm
    for row in table.to_dict("records"):
        held, criteria = row["held"], row["criteria"]
        assert 0 <= held <= criteria
        expected = Verdict.PARTLY if held else Verdict.NOT_REPRODUCED
        expected = Verdict.REPRODUCED if held == criteria else expected
        assert row["verdict"] == (expected if criteria else Verdict.NOT_EVALUATED)
    assert table["criteria"].max() > 1
    assert {table[column].dtype.kind for column in ("held", "criteria")} == {"i"}
    assert len(lines) == len(plan_specification("little", []).cells)
    (distance,) = set(table["h1_distance"])
    assert distance == h1_distance(run_plan(make_plan("printed"))["fig12"])


def test_another_specification_is_another_distance() -> None:
    found = {
        change: set(judge_specification("printed", change.split())["h1_distance"])
        for change in ("", "protocol.data.alpha=1", "protocol=summed", "protocol.fit.decimals=2")
    }
    assert all(len(values) == 1 and np.isfinite(list(values)).all() for values in found.values())
    assert len(set.union(*found.values())) == len(found)


def test_without_the_printed_values_there_is_no_distance() -> None:
    assert judge_specification("sizes", [])["h1_distance"].isna().all()
    # the study is there, without any point that the paper prints
    other = judge_specification("printed", ["grid.lam=[0.5]"])
    assert other["h1_distance"].isna().all()
    row = other.set_index("claim").loc["H1"]
    assert (row["verdict"], row["held"], row["criteria"]) == (Verdict.NOT_EVALUATED, 0, 0)
