"""From studies to cells: what the paper's run holds, what is refused, what an edit reruns."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_files import described, sushi_files, swiss_files, write

from kgl.datasets import CorruptDataError
from kgl.datasets import files as data_sets
from kgl.problem import MODELS
from kgl.replication import real
from kgl.replication.config import STANDIN, ConfigError
from kgl.replication.plan import CODE, EXAMPLE, Plan, make_plan

ROOT = Path(__file__).parents[2]

RECOVERY = ["fig2", "fig3", "fig8", "fig9", "fig10", "fig11"]
#: Of the names of what is made from simulated data in place of real ones.
SUFFIX = "-SIMULATED-STAND-IN"


SMALL = """
title: small
figure: curves.recovery
graph: [sbm]
models:
  independent: [gl]
  dependent: [kgl]
sweep:
  data.noise: [0.0, 1.0]
metrics: [aps]
caption: small
"""
GL = {f"sbm-independent/noise-{level}/gl" for level in (0.0, 1.0)}
KGL = {f"sbm-dependent/noise-{level}/kgl" for level in (0.0, 1.0)}


def forget() -> None:
    """Forget where the files of real data were found."""
    for function in vars(real).values():
        if hasattr(function, "cache_clear") and function.__module__ == real.__name__:
            function.cache_clear()


@pytest.fixture(scope="module", autouse=True)
def _nowhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No files of real data anywhere, whatever this machine has."""
    empty = tmp_path_factory.mktemp("nowhere")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KGL_DATA_DIR", raising=False)
        patch.setattr(data_sets, "_checkout", lambda: empty)
        patch.setattr(data_sets, "_cache", lambda: empty)
        forget()
        yield
    forget()


@pytest.fixture(scope="module")
def paper() -> Plan:
    return make_plan()


def synthetic(plan: Plan) -> dict[str, Any]:
    """Return the studies of a plan that are not about real data."""
    return {name: study for name, study in plan.studies.items() if not study.files}


def copy_conf(folder: Path, **studies: str) -> Path:
    """Copy conf/ and add studies to it."""
    conf = Path(shutil.copytree(ROOT / "conf", folder / "conf"))
    for name, text in studies.items():
        (conf / "study" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return conf


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    alone = SMALL.replace("  dependent: [kgl]\n", "")
    conf = copy_conf(
        tmp_path_factory.mktemp("repository"),
        small=SMALL,
        own=SMALL.replace("[gl]", "[gl, mine]").replace("[sbm]", "[sbm, ring]"),
        seven=alone + "overrides: [seed=7]\n",
        apart=alone + "overrides: [seed=7]\nvariant: seven\n",
        clash="studies: [small, seven]\n",
        fine="studies: [small, apart]\n",
        little="studies: [seven]\nrun: little\noverrides: [seed=8, replicates=4]\n",
    )
    family = (conf / "graph/er.yaml").read_text(encoding="utf-8")
    (conf / "graph/ring.yaml").write_text(family.replace("family: er", "family: plan_own.ring"))
    (conf / "model/mine.yaml").write_text(
        "label: Mine\nestimator: plan_own.fit\ngrid: {k: [1, 2]}\noptions: {}\n"
        'style: {colour: "#123456", marker: "o"}\n'
    )
    (conf.parent / "plan_own.py").write_text("def fit(Y):\n    ...\n\n\ndef ring(m):\n    ...\n")
    return conf


@pytest.fixture
def conf(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of conf/ with studies of its own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("KGL_CONF", str(shared))
    return shared


def names(plan: Plan, study: str) -> set[str]:
    return {cell.name for cell in plan.studies[study].cells}


# -------------------------------------------------------------------------------- the paper's run


def test_the_paper_has_every_figure_family_and_model(paper: Plan) -> None:
    assert {f"fig{k}" for k in range(1, 14)} <= {study.name for study in paper.studies.values()}
    drawn = [cell for cell in paper.cells.values() if "files" not in cell.data["data"]]
    given = [cell for cell in paper.cells.values() if "files" in cell.data["data"]]
    assert {cell.labels["graph"] for cell in drawn} == {"sbm", "er", "ba"}
    assert {cell.data["graph"]["family"] for cell in drawn} == {"sbm", "er", "ba"}
    assert {cell.data["graph"]["family"] for cell in given} == {"given"}
    assert {cell.data["data"]["files"] for cell in given} == {"swiss", "sushi"}
    for cells in (drawn, given):
        fitted = {cell.fit["estimator"] for cell in cells if "kernel" not in cell.model}
        assert fitted == set(MODELS)
        assert len(fitted) == len({c.model for c in cells if "kernel" not in c.model}) == 6
    assert {cell.model for cell in given if "kernel" in cell.model} == {"kernel", "kernel_sparse"}


def test_the_paper_has_ten_replicates_and_full_grids(paper: Plan) -> None:
    for name, study in synthetic(paper).items():
        drawing = name == "fig1"  # one small data set, to look at
        path = name in ("fig12", "h1")  # four psi at one lam and rho, as the paper says
        for cell in study.cells:
            assert cell.data["replicates"] == (1 if drawing else 10)
            assert set(cell.fit["grid"]) == set(MODELS[cell.fit["estimator"]].hyperparameters)
            sizes = [len(values) for values in cell.fit["grid"].values()]
            if path:
                assert cell.fit["grid"] == {
                    "lam": [0.1],
                    "rho": [0.01],
                    "psi": [1e-7, 1e-5, 1e-3, 0.1],
                }
            elif not drawing:
                assert min(sizes) >= 7
                assert len(sizes) == 3 or max(sizes) > 7  # fewer axes, finer steps


def test_real_data_have_graphs_of_the_density_that_the_paper_states(paper: Plan) -> None:
    by_name = {study.name: study for study in paper.studies.values()}
    for name in ("fig6", "fig7"):
        for cell in by_name[name].cells:
            assert cell.data["replicates"] == 10
            assert cell.fit["held_out"] == {"folds": 3, "density": 0.3}
            if "kernel" in cell.model:
                assert cell.fit["grid"] == {}
                continue
            axes = [
                "density" if k == "psi" else k
                for k in MODELS[cell.fit["estimator"]].hyperparameters
            ]
            assert list(cell.fit["grid"]) == axes
            assert 0.3 in cell.fit["grid"]["density"]
    assert {c.fit["options"].get("density") for c in by_name["fig6"].cells} == {None, 0.3}
    rates = [c.data["data"]["missing"] for c in by_name["fig6"].cells if c.model == "kgl"]
    assert rates == [k / 10 for k in range(10)]
    numbers = [c.data["data"]["n"] for c in by_name["fig7"].cells if c.model == "kgl"]
    assert (numbers[0], numbers[-1]) == (20, 160)
    # the protocol of the solvers has neither densities nor folds, which are what is solved
    for cell in paper.cells.values():
        assert not {"density", "folds", "cut"} & set(cell.fit["fit"])
    assert paper.score(f"fig6{SUFFIX}") == {
        "aps": "weights",
        "held_out_density": 0.3,
        "best": "replicate",
        "folds": 3,
    }
    assert paper.score("fig2")["folds"] == 0


def test_every_swept_key_is_a_label_of_a_cell(paper: Plan) -> None:
    for cell in paper.studies[f"sushi_attributes{SUFFIX}"].cells:
        options = cell.data["data"]["options"]
        assert cell.labels["scale"] == options["scale"]
        assert (cell.labels["sweep"], cell.labels["level"]) == (
            "bandwidth_x",
            options["bandwidth_x"],
        )
        assert list(cell.labels)[-1] == "model"
    assert len(paper.studies[f"sushi_attributes{SUFFIX}"].cells) == 15


@pytest.mark.parametrize("study", RECOVERY)
def test_each_recovery_figure_compares_six_models_on_the_same_data(study: str, paper: Plan) -> None:
    family = dict(zip(RECOVERY, ["sbm", "sbm", "er", "ba", "er", "ba"], strict=True))[study]
    swept = "noise" if study in ("fig2", "fig8", "fig9") else "missing"
    cells = paper.studies[study].cells
    assert {cell.labels["graph"] for cell in cells} == {family}
    levels = sorted({cell.data["data"][swept] for cell in cells})
    assert levels[0] == 0.0
    assert levels[-1] == (2.0 if swept == "noise" else 0.9)
    assert len(cells) == 6 * len(levels) >= 6 * 9
    for dependent, models in (
        (False, {"GL", "GL-2step", "KGL-N"}),
        (True, {"KGL-Agnostic", "KGL-O", "KGL"}),
    ):
        for level in levels:
            group = [
                cell
                for cell in cells
                if cell.data["data"]["dependent"] is dependent and cell.data["data"][swept] == level
            ]
            assert {cell.fit["estimator"] for cell in group} == models
            assert len({cell.dataset for cell in group}) == 1
            assert {cell.labels["level"] for cell in group} == {level}


def test_the_sizes_of_figure_5_are_those_of_the_data(paper: Plan) -> None:
    sizes = {(c.data["graph"]["m"], c.data["data"]["n"]) for c in paper.studies["fig5"].cells}
    assert len(sizes) >= 12
    assert {cell.labels["graph"] for cell in paper.studies["fig5"].cells} == {"sbm", "er", "ba"}
    for cell in paper.studies["fig5"].cells:
        m, n = cell.data["graph"]["m"], cell.data["data"]["n"]
        assert cell.name == f"{cell.labels['graph']}-dependent/m-{m}_n-{n}/kgl"
        assert (cell.labels["m"], cell.labels["n"], cell.labels["level"]) == (m, n, n)


def test_studies_share_cells(paper: Plan) -> None:
    missing = names(paper, "fig3") | names(paper, "fig10") | names(paper, "fig11")
    assert names(paper, "fig4") < missing
    assert missing - names(paper, "fig4") == {name for name in missing if name.endswith("/gl")}
    assert names(paper, "fig13") < names(paper, "fig3")
    assert names(paper, "fig12") == names(paper, "h1")
    assert set(paper.fits("fig4")) <= {file for s in RECOVERY for file in paper.fits(s)}
    assert len(paper.cells) == len(set().union(*(names(paper, study) for study in paper.studies)))
    assert len(paper.cells) < sum(len(study.cells) for study in paper.studies.values())


def test_only_the_whole_run_of_the_paper_changes_the_tracked_figures(paper: Plan) -> None:
    assert paper.directory == "results/paper"
    shown = {f"figures/{name}.{kind}" for name in paper.studies for kind in ("png", "csv")}
    assert shown | {f"figures/provenance{SUFFIX}.json"} <= set(paper.published)
    assert f"figures/claims{SUFFIX}.csv" in paper.published
    assert {str(Path(path).parent) for path in paper.published} == {"figures"}
    one = make_plan("fig13")
    assert (one.directory, one.published) == ("results/paper", {})
    assert all(cell == paper.cells[name] for name, cell in one.cells.items())
    assert make_plan("fig13", ["seed=1"]).published == {}


def test_the_files_that_rules_ask_for(paper: Plan) -> None:
    fig1 = paper.studies["fig1"].cells[0].name
    assert paper.drawn("fig1", "fits") == paper.fits("fig1") == [f"results/paper/fits/{fig1}.npz"]
    assert paper.drawn("fig1", "data") == [f"results/paper/data/{Path(fig1).parent}.npz"]
    assert paper.drawn("fig2", "fits") == paper.drawn("fig2", "data") == []
    listed = [path for paths in paper.benchmarks.values() for path in paths]
    assert len(listed) == len(set(listed))
    expected = len(paper.datasets) + len(paper.cells) + len(paper.studies)
    assert len(listed) == expected
    kinds = set(paper.benchmarks)
    assert {"data", "score", "fit kgl, dependent, missing", "fit gl, independent, noise"} <= kinds


def test_captions_say_what_was_done(paper: Plan) -> None:
    caption = paper.studies["fig2"].caption
    for text in ("10 replicates,", "m = 20,", "n = 100,", "alpha = 100,", "810 points"):
        assert text in caption
    assert "stochastic block model" in caption
    assert "343 points" in paper.studies["fig3"].caption
    assert "10 replicates of each of 3 families" in paper.studies["fig4"].caption
    assert "1 replicate, m = 12, n = 40" in paper.studies["fig1"].caption
    assert "m = 10, 20, 40, 80, n = 10, 30, 100, 300" in paper.studies["fig5"].caption
    for study in paper.studies.values():
        assert "\n" not in study.caption


def test_masked_and_large_cells_weigh_more(paper: Plan) -> None:
    cost = {name: cell.cost for name, cell in paper.cells.items()}
    assert min(cost.values()) > 0
    assert cost["sbm-dependent/missing-0.5/kgl"] > cost["sbm-dependent/missing-0.0/kgl"]
    assert cost["sbm-dependent/m-80_n-100/kgl"] > cost["sbm-dependent/m-10_n-100/kgl"]
    assert cost["sbm-independent/noise-0.0/gl"] < cost["sbm-independent/noise-0.0/kgln"]


# -------------------------------------------------------------------------------------- overrides


def test_overrides_go_to_a_directory_of_their_own() -> None:
    given = [["seed=1"], ["seed=2"], ["seed=1", "replicates=2"], ["replicates=2", "seed=1"]]
    runs = [make_plan("fig13", overrides).run for overrides in given]
    assert "paper" not in runs
    assert all(re.fullmatch(r"fig13-[0-9a-f]{8}", run) for run in runs)
    assert len(set(runs[:3])) == 3
    assert runs[2] == runs[3]
    assert make_plan("fig13", "seed=1").run == runs[0]  # one text is a list of one


def test_overrides_reach_the_cells_and_the_caption() -> None:
    given = ["replicates=3", "protocol.data.alpha=50", "grid=tiny", "data.noise=0.5"]
    plan = make_plan("fig13", given, "mine")
    assert (plan.directory, plan.overrides) == ("results/mine", tuple(given))
    (cell,) = plan.cells.values()
    assert cell.data["replicates"] == 3
    assert cell.data["graph"]["alpha"] == 50
    assert cell.data["data"]["noise"] == 0.5
    assert len(cell.fit["grid"]["lam"]) == 2
    caption = plan.studies["fig13"].caption
    for text in ("3 replicates", "alpha = 50", "16 points"):
        assert text in caption


@pytest.mark.usefixtures("conf")
def test_overrides_win_over_those_of_a_study_and_of_a_collection() -> None:
    without = make_plan("little")
    assert without.directory == "results/little"
    assert not any(path.startswith("figures/") for path in without.published)
    # the study itself says seed=7, the collection seed=8
    assert {c.data["seed"] for c in without.cells.values()} == {8}
    assert {c.data["replicates"] for c in without.cells.values()} == {4}
    plan = make_plan("little", ["replicates=6"])
    assert {c.data["seed"] for c in plan.cells.values()} == {8}
    assert {c.data["replicates"] for c in plan.cells.values()} == {6}
    assert plan.run.startswith("little-")


def test_overrides_that_differ_in_what_they_do_differ_in_directory() -> None:
    first = make_plan("fig13", ["seed=1", "seed=2"])
    second = make_plan("fig13", ["seed=2", "seed=1"])
    assert first.cells != second.cells
    assert first.run != second.run


@pytest.mark.parametrize(
    ("overrides", "run", "says"),
    [
        (["seed=1"], "paper", ["run = 'paper'", "another name"]),
        (["seed=1"], "smoke", ["run = 'smoke'", "another name"]),
        (None, "mine", ["run = 'mine'", "without them the run is 'paper'"]),
        (["seed=1"], "../elsewhere", ["run = '../elsewhere'", "letters, digits"]),
        (["seed=1"], "./paper", ["run = './paper'"]),
        (["seed=1"], "paper/", ["run = 'paper/'"]),
    ],
)
def test_names_of_runs_that_would_mix_results_are_refused(
    overrides: list[str] | None, run: str, says: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        make_plan("fig13", overrides, run)
    for text in says:
        assert text in str(caught.value)


def test_names_of_runs_that_are_taken() -> None:
    assert make_plan("fig13", None, "paper").run == "paper"
    assert make_plan("fig13", ["seed=1"], "my-run_2").directory == "results/my-run_2"


def test_a_run_may_be_named_by_a_number() -> None:
    # Snakemake's --config run=3 gives a number
    assert make_plan("fig13", ["seed=1"], 3).directory == "results/3"


@pytest.mark.parametrize(
    ("study", "given", "says"),
    [
        ("fig13", ["data.missing=0.5"], ["conf/study/fig13.yaml", "levels.missing=[...]"]),
        ("fig5", ["protocol.data.m=9"], ["conf/study/fig5.yaml", "levels.m=[...]"]),
        ("fig13", ["graph=er"], ["'graph'", "study.graph=[er]"]),
        ("fig13", ["data=dependent"], ["'data'", "study.models"]),
        ("fig13", ["model=gl"], ["'model'", "study.models"]),
        ("fig13", ["study=fig2"], ["'study'", "--config study="]),
        ("fig13", {"seed": 1}, ["not a list of texts", "overrides=[data.noise=0.5]"]),
        ("fig13", [1], ["not a list of texts"]),
        ("fig13", ["sed=1"], ["'sed'", "did you mean 'seed'?"]),
        (
            "fig13",
            ["study.graph=[err]"],
            ["conf/graph/err.yaml", "valid: ba, er, items, sbm, stations"],
        ),
        ("fig14", None, ["conf/study/fig14.yaml does not exist", "fig13"]),
        ("fig13", ["++data.missing=0.5"], ["++data.missing=0.5", "levels.missing=[...]"]),
        ("fig5", ["graph.m=9", "study.graph=[er]"], ["graph.m", "levels.m=[...]"]),
    ],
)
def test_overrides_that_would_do_nothing_are_refused_with_a_remedy(
    study: str, given: Any, says: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        make_plan(study, given)
    for text in says:
        assert text in str(caught.value)


# ------------------------------------------------------------------------------------------ edits


def test_an_edit_changes_what_depends_on_it_and_nothing_else(
    tmp_path: Path, conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = make_plan("small").cells
    assert set(before) == GL | KGL
    edits: list[tuple[dict[str, tuple[str, str]], set[str], set[str]]] = [
        (
            {
                "model/gl": ("options: {}", "options: {tol: 0.5}"),
                "data/dependent": ("missing: 0.0", "missing: 0.25"),
            },
            KGL,
            GL,
        ),
        (
            {
                "grid/paper": ("lam: [1.0e-3, ", "lam: ["),
                "protocol/paper": ("best: replicate", "best: mean"),
                # what things are called decides nothing
                "model/gl": ("label: GL", "label: one"),
                "graph/sbm": ("label: ", "label: the "),
                "data/independent": ("label: ", "label: the "),
            },
            set(),
            KGL,
        ),
    ]
    for k, (edit, data, fit) in enumerate(edits):
        copy = copy_conf(tmp_path / str(k), small=SMALL)
        for name, (old, new) in edit.items():
            text = (copy / f"{name}.yaml").read_text(encoding="utf-8")
            assert text.count(old) == 1
            (copy / f"{name}.yaml").write_text(text.replace(old, new), encoding="utf-8")
        monkeypatch.setenv("KGL_CONF", str(copy))
        after = make_plan("small").cells
        assert set(after) == GL | KGL
        assert {name for name in after if after[name].data != before[name].data} == data
        assert {name for name in after if after[name].fit != before[name].fit} == fit


@pytest.mark.usefixtures("conf")
def test_a_model_and_a_family_of_ones_own_are_a_file_and_a_word_each() -> None:
    plan = make_plan("own")
    expected = GL | KGL | {name.replace("/gl", "/mine") for name in GL}
    assert set(plan.cells) == expected | {name.replace("sbm", "ring") for name in expected}
    mine = {"label": "Mine", "colour": "#123456", "marker": "o"}
    assert plan.studies["own"].styles["mine"] == mine
    # an edit of the module reruns its cells, and no others
    for name in plan.cells:
        assert ("plan_own.py" in plan.fit_code(name)) is name.endswith("/mine")
        assert ("plan_own.py" in plan.data_code(str(Path(name).parent))) is ("ring" in name)


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("study.figure=curves.recoverie", ["did you mean 'recovery'?", "completion"]),
        ("study.figure=nosuch.draw", ["no such module"]),
        ("model.estimator=KGLX", ["'KGLX' is no model", "KGL-Agnostic"]),
        ("model.estimator=experiments.nosuch.fit", ["no such module"]),
        ("graph.family=sbn", ["'sbn' is no family", "sbm"]),
        ("data.make=kgl.replication.sources.real", ["has no 'real'", "synthetic"]),
    ],
)
def test_names_that_lead_nowhere_are_refused_before_any_work(
    override: str, says: list[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        make_plan("fig13", [override])
    for text in says:
        assert text in str(caught.value)


def test_a_grid_without_an_axis_of_the_model_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"hyperparameters lam, rho, psi"):
        make_plan("fig13", ["~model.grid.lam"])
    with pytest.raises(
        ConfigError, match=r"conf/model/kgl\.yaml: grid has .*hyperparameters lam, rho"
    ):
        make_plan("fig13", [f"~model.grid.{axis}" for axis in ("lam", "rho", "psi")])


@pytest.mark.usefixtures("conf")
def test_studies_that_describe_a_cell_differently_are_refused() -> None:
    with pytest.raises(ConfigError, match="small and seven") as caught:
        make_plan("clash")
    assert "sbm-independent/noise-0.0/gl" in str(caught.value)
    assert "`variant` in conf/study/seven.yaml" in str(caught.value)
    plan = make_plan("fine")
    apart = {name.replace("dependent/", "dependent-seven/") for name in GL}
    assert set(plan.cells) == GL | KGL | apart
    assert {name for name, cell in plan.cells.items() if cell.data["seed"] == 7} == apart


def test_the_record_of_a_run_follows_its_settings_alone() -> None:
    record = make_plan("fig13", ["seed=1"], "mine").record
    assert record == make_plan("fig13", ["seed=1"], "mine").record
    assert record["cells"] != make_plan("fig13", ["seed=2"], "mine").record["cells"]
    assert (record["name"], record["overrides"]) == ("mine", ["seed=1"])


# -------------------------------------------------------------------------------------- real data


#: Made once: a MATLAB file has the time in it.
MADE_UP = {"swiss": swiss_files(), "sushi": sushi_files()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for files of real data, which are made up and taken for the real ones."""
    for name, files in MADE_UP.items():
        monkeypatch.setitem(data_sets.DATA_SETS, name, described(name, files))
    monkeypatch.setenv("KGL_DATA_DIR", str(tmp_path))
    forget()
    yield tmp_path
    forget()


def place(folder: Path, *names: str) -> None:
    for name in names:
        write(folder / name, MADE_UP[name])
    forget()


def sources(plan: Plan) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for cell in plan.cells.values():
        if "files" in cell.data["data"]:
            found.setdefault(cell.data["data"]["files"], set()).add(cell.data["data"]["source"])
    return found


def test_a_stand_in_takes_the_place_of_files_that_are_not_there_and_says_so(paper: Plan) -> None:
    assert sources(paper) == {"swiss": {"simulated"}, "sushi": {"simulated"}}
    for key, study in paper.studies.items():
        assert study.simulated == bool(study.files)
        assert key == study.name + SUFFIX * study.simulated
        assert study.caption.startswith(f"{STANDIN}, no real data. ") == study.simulated
        assert paper.title(key).startswith(f"{STANDIN}: ") == study.simulated
        assert paper.figure(key)["simulated"] == study.simulated
        for cell in study.cells:
            assert (SUFFIX in cell.dataset) == (SUFFIX in cell.name) == study.simulated
    assert paper.suffix == SUFFIX
    assert paper.claims == [f"results/paper/claims/paper{SUFFIX}.csv"]
    said = paper.notice.splitlines()
    assert said[0].startswith(f"{STANDIN} for ")
    for name in ("sushi", "swiss", "fig6", "fig7", "swiss_imputed", "data.source=real"):
        assert name in paper.notice
    assert "fig2" not in paper.notice
    assert "KGL_OFFLINE" in paper.notice


def test_files_that_are_there_are_used_and_nothing_is_said(folder: Path, paper: Plan) -> None:
    place(folder, "swiss", "sushi")
    plan = make_plan("real")
    assert sources(plan) == {"swiss": {"real"}, "sushi": {"real"}}
    assert not any(study.simulated for study in plan.studies.values())
    assert plan.notice == plan.suffix == ""
    assert not any(SUFFIX in text for text in (*plan.studies, *plan.cells, *plan.claims))
    assert plan.ledger["simulated"] == []
    # both have a place in the same directory: no name of one is a name of the other
    other = make_plan("real", ["data.source=simulated"])
    assert plan.directory == other.directory == paper.directory
    for attribute in ("cells", "datasets", "studies", "facts"):
        assert not set(getattr(plan, attribute)) & set(getattr(other, attribute))
    assert not set(plan.claims) & set(other.claims)
    # but for the example of the README, which is about neither
    assert {Path(name).name for name in set(plan.published) & set(other.published)} == {EXAMPLE}
    assert not set(plan.judged.values()) & set(other.judged.values())


def test_one_data_set_may_be_there_without_the_other(folder: Path) -> None:
    place(folder, "swiss")
    plan = make_plan("real")
    assert sources(plan) == {"swiss": {"real"}, "sushi": {"simulated"}}
    assert {"fig6", f"fig7{SUFFIX}"} <= set(plan.studies)
    assert "fig7" in plan.notice
    assert "fig6" not in plan.notice
    assert f"{STANDIN} for sushi: " in plan.notice
    assert f"{STANDIN} for swiss" not in plan.notice
    assert set(plan.ledger["simulated"]) >= {"fig7", "facts-sushi"}
    assert not {"fig6", "swiss_readings", "facts-swiss"} & set(plan.ledger["simulated"])
    # the run as a whole is not all real
    assert plan.suffix == SUFFIX


def test_the_stand_in_may_be_asked_for_where_files_are(folder: Path) -> None:
    place(folder, "swiss", "sushi")
    plan = make_plan("fig6", ["data.source=simulated"])
    assert (plan.run, plan.overrides) == ("paper", ())
    assert list(plan.studies) == [f"fig6{SUFFIX}"]
    assert "data.source=simulated was asked for" in plan.notice
    assert make_plan("fig6").cells.keys().isdisjoint(plan.cells)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("study", ["fig6", "fig7", "real", "paper"])
def test_real_data_that_are_asked_for_and_not_there_are_an_error(study: str) -> None:
    with pytest.raises(ConfigError, match=r"data\.source = real, but .* were not found") as caught:
        make_plan(study, ["data.source=real"])
    assert "README" in str(caught.value)


def test_real_data_that_are_asked_for_and_there_change_no_name(folder: Path) -> None:
    place(folder, "swiss", "sushi")
    asked, plain = make_plan("real", ["data.source=real"]), make_plan("real")
    assert asked.cells == plain.cells
    assert (asked.run, asked.overrides, asked.published) == ("paper", (), plain.published)
    changed = make_plan("fig6", ["data.source=real", "replicates=2"])
    assert changed.run == make_plan("fig6", ["replicates=2"]).run != "paper"
    assert changed.overrides == ("replicates=2",)


@pytest.mark.parametrize("given", [[], ["data.source=auto"], ["data.source=real"]])
def test_a_file_that_is_not_what_it_should_be_stops_everything(
    folder: Path, given: list[str]
) -> None:
    place(folder, "swiss", "sushi")
    spoiled = folder / "sushi/sushi3.idata"
    spoiled.write_bytes(spoiled.read_bytes() + b"x")
    forget()
    with pytest.raises(CorruptDataError, match=r"sushi3\.idata is not the file it should be"):
        make_plan("real", given)
    # which does not keep others from running
    assert sources(make_plan("fig6", given)) == {"swiss": {"real"}}
    assert make_plan("fig13").notice == ""


def test_a_spoiled_file_does_not_matter_where_the_stand_in_is_asked_for(folder: Path) -> None:
    write(folder / "swiss", {"temperature.mat": b"rain"})
    forget()
    plan = make_plan("fig6", ["data.source=simulated"])
    assert plan.studies[f"fig6{SUFFIX}"].simulated
    assert f"{STANDIN} for swiss: data.source=simulated was asked for" in plan.notice


def test_a_directory_that_does_not_exist_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGL_DATA_DIR", str(folder / "absent"))
    forget()
    with pytest.raises(FileNotFoundError, match="KGL_DATA_DIR"):
        make_plan("fig6")


@pytest.mark.parametrize("source", ["auto", "real", "simulated"])
def test_a_source_is_refused_where_no_study_is_about_real_data(source: str) -> None:
    with pytest.raises(ConfigError, match="no study of 'fig13' is about real data"):
        make_plan("fig13", [f"data.source={source}"])


def test_a_source_that_is_none_is_refused(folder: Path) -> None:
    place(folder, "swiss")
    with pytest.raises(ConfigError, match=r"data\.source = 'fake'.*valid: auto, real, simulated"):
        make_plan("fig6", ["data.source=fake"])


def test_of_two_sources_the_later_one_counts(folder: Path) -> None:
    place(folder, "swiss")
    assert sources(make_plan("fig6", ["data.source=simulated", "data.source=real"])) == {
        "swiss": {"real"}
    }


def test_synthetic_studies_have_nothing_to_do_with_files(paper: Plan) -> None:
    plan = make_plan("fig13")
    assert (plan.notice, plan.suffix, plan.facts, plan.judged, plan.claims) == ("", "", {}, {}, [])
    assert all("source" not in cell.data["data"] for cell in plan.cells.values())
    assert set(paper.facts) == {f"swiss{SUFFIX}", f"sushi{SUFFIX}"}


def test_the_ledger_reads_the_tables_of_the_studies_that_claims_are_about(paper: Plan) -> None:
    assert paper.judged["fig6"] == f"results/paper/tables/fig6{SUFFIX}.parquet"
    assert paper.judged["facts-sushi"] == f"results/paper/tables/facts-sushi{SUFFIX}.parquet"
    assert set(paper.ledger["simulated"]) >= set(paper.judged)
    assert paper.ledger["labels"]["models"]["kgln"] == "KGL-N"
    assert make_plan("fig6").judged == {}


def test_other_readings_are_worked_out_for_real_data_alone(folder: Path, paper: Plan) -> None:
    others = {"swiss_readings", "swiss_cut", "sushi_readings"}
    assert not others & {study.name for study in paper.studies.values()}
    place(folder, "swiss")
    plan = make_plan("real")
    assert others & {study.name for study in plan.studies.values()} == {
        *("swiss_readings", "swiss_cut")
    }
    assert {"swiss_readings", "swiss_cut"} <= set(plan.judged)
    assert plan.ledger["labels"]["kinds"]["swiss_metres"] == "altitude in metres"
    # by itself a reading can be looked at all the same
    assert list(make_plan("sushi_readings").studies) == [f"sushi_readings{SUFFIX}"]


def test_whose_data_they_are_is_in_the_caption_of_what_is_made_from_them(
    folder: Path, paper: Plan
) -> None:
    place(folder, "swiss")
    assert "Data: MeteoSwiss. " in make_plan("fig6").studies["fig6"].caption
    assert not any("Data: " in study.caption for study in paper.studies.values())


def test_real_cells_weigh_more_with_folds_and_cost_something_without_a_grid(paper: Plan) -> None:
    cells = paper.cells
    by_model = {c.model: c.cost for c in paper.studies[f"fig6{SUFFIX}"].cells}
    assert by_model["kgl"] > by_model["gl"] > 0
    assert by_model["kernel_sparse"] > 0
    assert np.isfinite([cell.cost for cell in cells.values()]).all()


# --------------------------------------------------------------------- code that jobs depend on

# Modules that a job loads but that cannot change a number it writes: they name, check, read or
# write. Any other module of kgl must be in CODE, or an edit of it would leave old results.
HARMLESS = {
    "experiments/__init__.py",
    "kgl/__init__.py",
    "kgl/_optional.py",
    "kgl/replication/__init__.py",
    "kgl/replication/config.py",
    "kgl/replication/jobs.py",
    "kgl/replication/records.py",
    "kgl/solvers/__init__.py",
}
# Scores and claims take no more than the type of an array from it; facts are counts and extremes,
# which neither kernels nor solvers have a part in.
HARMLESS_FOR = {
    "score": {"kgl/laplacian.py"},
    "claims": {"kgl/laplacian.py"},
    "facts": {
        "kgl/_validation.py",
        *(p.relative_to(ROOT).as_posix() for p in (ROOT / "kgl/kernels").glob("*.py")),
        *("kgl/laplacian.py", "kgl/random_graphs.py", "kgl/simulate.py"),
        "kgl/replication/centring.py",
        *("kgl/solvers/density_step.py", "kgl/solvers/graph_step.py"),
    },
}

# Runs each kind of job, since modules may be loaded late, and prints which modules it loaded.
SPY = """
import json, sys
from pathlib import Path

root, work = Path(sys.argv[1]), Path(sys.argv[2])


def loaded():
    named = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    files = [Path(name).resolve() for name in named if name]
    return [f.relative_to(root).as_posix() for f in files if f.is_relative_to(root / "kgl")]


def forget():
    for name in list(sys.modules):
        if name.partition(".")[0] == "kgl":
            del sys.modules[name]


seen = {}
from kgl.replication.jobs import data_job

graph = {"m": 6, "density": 0.5, "alpha": 10.0, "weights": "uniform", "connected": True}
data = {"n": 8, "noise": 0.1, "missing": 0.2, "bandwidth": "median_distance", "dependent": True}
for family in ("sbm", "er", "ba"):
    settings = {"make": "kgl.replication.sources.synthetic", "seed": 0, "replicates": 1}
    settings |= {"graph": {**graph, "family": family, "options": {}}, "data": data}
    data_job(settings, work / "data.npz", work / "log")
seen["data"] = loaded()

forget()
from kgl.replication.jobs import data_job

own = {
    "swiss": {"unit": "km", "bandwidth_x": "median_distance", "keep_one": True},
    "sushi": {
        **{"min_rated": 8, "centre": "item", "scale": "minmax", "combine": "mean"},
        **{"bandwidth_x": "median_distance"},
    },
}
for files, m in (("swiss", 89), ("sushi", 32)):
    settings = {"make": f"kgl.replication.real.{files}", "seed": 0, "replicates": 1}
    settings |= {"graph": {"family": "given", "m": m, "density": 0.3}}
    settings |= {"data": {**data, "n": 3, "source": "simulated", "options": own[files]}}
    data_job(settings, work / "real.npz", work / "log")
seen["real"] = loaded()

forget()
from kgl.replication.jobs import facts_job

for files in ("swiss", "sushi"):
    facts_job(files, "simulated", work / "facts.parquet", work / "log")
seen["facts"] = loaded()

forget()
from kgl.replication.jobs import claims_job

claims_job({"fig6": ""}, ["fig6"], {"models": {}, "kinds": {}}, work / "claims.csv", work / "log")
seen["claims"] = loaded()

forget()
import kgl.solvers.cvxpy_step  # only where a protocol asks for it
from kgl.problem import MODELS
from kgl.replication.jobs import fit_job

fit = {"average": True, "tol": 1e-4, "max_iter": 3, "solver": "newton", "backend": None}
for name, model in MODELS.items():
    settings = {"estimator": name, "grid": {axis: [0.1] for axis in model.hyperparameters}}
    settings |= {"options": {}, "fit": fit, "keep": ["weights", "signals"]}
    settings |= {"held_out": {"folds": 2, "density": 0.3}}
    fit_job(work / "data.npz", settings, work / "fit.npz", work / "log")
seen["fit"] = loaded()

forget()
from kgl.replication.jobs import score_job

score = {"aps": "weights", "best": "replicate"}
score_job("one", [work / "fit.npz"], [{}], score, work / "table.parquet", work / "log")
seen["score"] = loaded()
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    work = tmp_path_factory.mktemp("spy")
    done = subprocess.run(
        [sys.executable, "-c", SPY, str(ROOT), str(work)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {rule: set(files) for rule, files in json.loads(done.stdout).items()}


def uncovered(files: set[str], patterns: tuple[str, ...] | list[str], rule: str) -> set[str]:
    needed = files - HARMLESS - HARMLESS_FOR.get(rule, set())
    return {name for name in needed if not any(fnmatch(name, pattern) for pattern in patterns)}


@pytest.mark.parametrize(
    ("rule", "heart"),
    [
        ("data", "sources"),
        ("fit", "fitting"),
        ("score", "scoring"),
        ("facts", "real"),
        ("claims", "claims/real"),
    ],
)
def test_the_code_that_jobs_run_reruns_them_when_edited(
    rule: str, heart: str, paper: Plan, loaded: dict[str, set[str]]
) -> None:
    files = loaded[rule]
    assert f"kgl/replication/{heart}.py" in files
    assert uncovered(files, CODE[rule], rule) == set()
    # the patterns are all needed, so this test sees a module that is forgotten
    for pattern in CODE[rule]:
        assert uncovered(files, [other for other in CODE[rule] if other != pattern], rule), pattern
    # and the rules are told of the files
    name, cell = next(iter(paper.cells.items()))
    told = {"data": paper.data_code(cell.dataset), "fit": paper.fit_code(name)}
    assert uncovered(files, told.get(rule, paper.code(rule)), rule) == set()


def test_the_code_of_real_data_makes_them_anew_when_edited(
    paper: Plan, loaded: dict[str, set[str]]
) -> None:
    files = loaded["real"]
    assert {"kgl/replication/real.py", "kgl/datasets/standin.py"} <= files
    told = {
        name: paper.data_code(name)
        for name, settings in paper.datasets.items()
        if "files" in settings["data"]
    }
    assert told
    for name, code in told.items():
        assert uncovered(files, code, "data") == set(), name
    # and the patterns are all needed
    both = [*CODE["data"], *CODE["real"], "kgl/replication/real.py"]
    for pattern in CODE["real"]:
        assert uncovered(files, [other for other in both if other != pattern], "data"), pattern
    # while other data do not wait for it
    plain = next(c.dataset for c in paper.cells.values() if "files" not in c.data["data"])
    assert not any("real" in name or "datasets" in name for name in paper.data_code(plain))


@cache
def imported(path: str) -> set[str]:
    """Files of the repository that a file of it imports, and those that they import in turn."""
    found: set[str] = set()
    todo = [path]
    while todo:
        tree = ast.parse((ROOT / todo.pop()).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                modules = [str(node.module), *(f"{node.module}.{a.name}" for a in node.names)]
            else:
                modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                stem = module.replace(".", "/")
                for file in (f"{stem}.py", f"{stem}/__init__.py"):
                    if (ROOT / file).is_file() and file not in found:
                        found.add(file)
                        todo.append(file)
    return found


def test_the_code_of_figures_redraws_them_when_edited(paper: Plan) -> None:
    for name, study in paper.studies.items():
        module = study.config["figure"].partition(".")[0]
        file = f"experiments/figures/{module}.py"
        files = imported(file) | {file}
        assert {"experiments/style.py", "experiments/figures/__init__.py"} <= files
        assert uncovered(files, paper.figure_code(name), "figure") == set(), name


def test_every_pattern_of_code_finds_a_file() -> None:
    for patterns in CODE.values():
        for pattern in patterns:
            assert list(ROOT.glob(pattern)), pattern
