"""From studies to cells: what the paper's run holds, what is refused, what an edit reruns."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kgl.problem import MODELS
from kgl.replication.config import ConfigError
from kgl.replication.plan import CODE, Plan, make_plan

ROOT = Path(__file__).parents[2]

RECOVERY = ["fig2", "fig3", "fig8", "fig9", "fig10", "fig11"]


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


@pytest.fixture(scope="module")
def paper() -> Plan:
    return make_plan()


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
    assert {f"fig{k}" for k in (1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13)} <= set(paper.studies)
    assert {cell.labels["graph"] for cell in paper.cells.values()} == {"sbm", "er", "ba"}
    assert {cell.data["graph"]["family"] for cell in paper.cells.values()} == {"sbm", "er", "ba"}
    fitted = {cell.fit["estimator"] for cell in paper.cells.values()}
    assert fitted == set(MODELS)
    assert len(fitted) == len({cell.model for cell in paper.cells.values()}) == 6


def test_the_paper_has_ten_replicates_and_full_grids(paper: Plan) -> None:
    for name, study in paper.studies.items():
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
    assert shown | {"figures/provenance.json"} <= set(paper.published)
    assert {str(Path(path).parent) for path in paper.published} == {"figures"}
    one = make_plan("fig13")
    assert (one.directory, one.published) == ("results/paper", [])
    assert all(cell == paper.cells[name] for name, cell in one.cells.items())
    assert make_plan("fig13", ["seed=1"]).published == []


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
        ("fig13", ["study.graph=[err]"], ["conf/graph/err.yaml", "valid: ba, er, sbm"]),
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
# Scores take no more than the type of an array from it.
HARMLESS_FOR = {"score": {"kgl/laplacian.py"}}

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
import kgl.solvers.cvxpy_step  # only where a protocol asks for it
from kgl.problem import MODELS
from kgl.replication.jobs import fit_job

fit = {"average": True, "tol": 1e-4, "max_iter": 3, "solver": "newton", "backend": None}
for name, model in MODELS.items():
    settings = {"estimator": name, "grid": {axis: [0.1] for axis in model.hyperparameters}}
    settings |= {"options": {}, "fit": fit, "keep": ["weights", "signals"]}
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
    ("rule", "heart"), [("data", "sources"), ("fit", "fitting"), ("score", "scoring")]
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
