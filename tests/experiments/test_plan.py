"""What a plan holds: the paper's run, the files that rules ask for, the code that reruns them."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.plan import CODE, Plan
from experiments.planning import make_plan
from kgl.problem import MODELS

ROOT = Path(__file__).parents[2]

RECOVERY = ["fig2", "fig3", "fig8", "fig9", "fig10", "fig11"]
#: Of the names of what is made from simulated data in place of real ones.
SUFFIX = "-SIMULATED-STAND-IN"


@pytest.fixture(scope="module")
def paper() -> Plan:
    """The paper's run without files of real data, whatever this machine has."""
    return make_plan("paper", ["data.source=simulated"])


def synthetic(plan: Plan) -> dict[str, Any]:
    """Return the studies of a plan that are not about real data."""
    return {name: study for name, study in plan.studies.items() if not study.files}


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
        # kernels are taken for graphs, solvers of CVXPY are another way to KGL
        fitted = {c.model: c.fit["estimator"] for c in cells if "_" not in c.model}
        fitted.pop("kernel")
        assert sorted(fitted.values()) == sorted(MODELS)
    assert {cell.model for cell in given if "_" in cell.model} == {"kernel_sparse"}
    solvers = {"kgl_clarabel", "kgl_osqp", "kgl_scs"}
    assert {cell.model for cell in drawn if "_" in cell.model} == {"kernel_inverse", *solvers}


def test_the_paper_has_ten_replicates_and_full_grids(paper: Plan) -> None:
    for name, study in synthetic(paper).items():
        drawing = name == "fig1"  # one small data set, to look at
        if not drawing and not name.startswith("fig") and name != "h1":
            continue  # studies that the paper does not have
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


def test_further_studies_have_the_replicates_and_grids_that_they_are_for(paper: Plan) -> None:
    for name in ("control_noise", "control_kx", "control_kz"):
        for cell in paper.studies[name].cells:
            assert cell.data["replicates"] == 10
            fig3 = {c.model: c.fit for c in paper.studies["fig3"].cells}
            # the grids of the figure that they are the controls of; kernels have nothing to choose
            expected = {} if "kernel" in cell.model else fig3[cell.model]["grid"]
            assert cell.fit["grid"] == expected
    for name in ("cv_noise", "cv_missing", "cv_sizes"):
        for cell in paper.studies[name].cells:
            assert cell.data["replicates"] == 10
            assert cell.fit["held_out"]["folds"] > 1
            assert len(cell.fit["grid"]["density"]) == 1  # graphs of one density
    for name, axis in (("limits_psi", "psi"), ("limits_lam", "lam"), ("limits_rho", "rho")):
        for cell in paper.studies[name].cells:
            sizes = {key: len(values) for key, values in cell.fit["grid"].items()}
            assert sizes.pop(axis) >= 9
            assert set(sizes.values()) == {1}
    for cell in paper.studies["precision"].cells:
        assert ("solver" in cell.fit["options"]) == (cell.model != "kgl")
        assert "decimals" in cell.fit
    # a model of `once` is fitted at the first level alone, whatever is swept
    cells = [c for c in paper.studies["control_kx"].cells if c.model == "gl"]
    groups = {(c.labels["graph"], c.labels["data"]) for c in cells}
    assert len(cells) == len(groups)
    swept = [c for c in paper.studies["control_kx"].cells if c.model == "kgln"]
    assert len(swept) > len({(c.labels["graph"], c.labels["data"]) for c in swept})


def test_specifications_are_jobs_of_their_own(paper: Plan) -> None:
    assert paper.specification_studies == ["specifications"]
    assert "specifications" not in paper.scored
    assert set(paper.scored) == set(paper.studies) - {"specifications"}
    named = {key.partition("/")[2]: spec for key, spec in paper.specifications.items()}
    assert named["default"]["overrides"] == []
    assert named["alpha10"]["overrides"] == ["protocol.data.alpha=10"]
    assert {spec["collection"] for spec in named.values()} == {"reduced"}
    files = paper.specification_files("specifications")
    assert files[0] == "results/paper/specifications/specifications/default.parquet"
    assert len(files) == len(named) > 20
    assert paper.benchmarks["specification"][0] == (
        "results/paper/benchmarks/specifications/specifications/default.tsv"
    )
    assert (
        paper.record["specifications"]
        != make_plan("smoke", ["data.source=simulated"]).record["specifications"]
    )
    alone = make_plan("fig2")
    assert alone.specifications == {}
    assert "specifications" not in alone.record


def test_what_the_specifications_are_made_of_is_part_of_them(tmp_path: Path) -> None:
    """An edit of a configuration that they read runs them again, one of another does not."""
    plain = make_plan("specifications").specifications
    copy = tmp_path / "conf"
    shutil.copytree(ROOT / "conf", copy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGL_CONF", str(copy))
        assert make_plan("specifications").specifications == plain
        for file, same in (("study/fig1.yaml", True), ("study/fig2.yaml", False)):
            with (copy / file).open("a", encoding="utf-8") as stream:
                stream.write("# edited\n")
            assert (make_plan("specifications").specifications == plain) is same
    added = make_plan("specifications", ["replicates=2"]).specifications
    assert all(spec["overrides"][-1] == "replicates=2" for spec in added.values())


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
        "cv_density": 0.3,
        "best": "replicate",
        "folds": 3,
        "points": False,
    }
    assert paper.score("limits_psi")["points"] is True
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
    records = ("captions.json", "claims.csv", "facts.csv", "jobs.csv", "run.json")
    for kind, end in (name.split(".") for name in records):
        path = paper.published[f"figures/{kind}{SUFFIX}.{end}"]
        assert path == f"results/paper/{kind}/paper{SUFFIX}.{end}"
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
    expected = (
        len(paper.datasets) + len(paper.cells) + len(paper.scored) + len(paper.specifications)
    )
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


def test_real_cells_weigh_more_with_folds_and_cost_something_without_a_grid(paper: Plan) -> None:
    cells = paper.cells
    by_model = {c.model: c.cost for c in paper.studies[f"fig6{SUFFIX}"].cells}
    assert by_model["kgl"] > by_model["gl"] > 0
    assert by_model["kernel_sparse"] > 0
    assert np.isfinite([cell.cost for cell in cells.values()]).all()


def test_the_ledger_reads_the_tables_of_the_studies_that_claims_are_about(paper: Plan) -> None:
    assert paper.judged["fig6"] == f"results/paper/tables/fig6{SUFFIX}.parquet"
    assert paper.judged["facts-sushi"] == f"results/paper/tables/facts-sushi{SUFFIX}.parquet"
    assert paper.judged["limits_psi"] == "results/paper/tables/limits_psi.parquet"
    simulated = set(paper.ledger["simulated"]) & set(paper.judged)
    assert simulated == {"fig6", "fig7", "facts-swiss", "facts-sushi"}
    assert not any(name.startswith(("control", "specifications")) for name in paper.judged)
    assert paper.ledger["labels"]["models"]["kgln"] == "KGL-N"
    assert make_plan("fig6", ["data.source=simulated"]).judged == {}


def test_the_record_of_a_run_follows_its_settings_alone() -> None:
    record = make_plan("fig13", ["seed=1"], "mine").record
    assert record == make_plan("fig13", ["seed=1"], "mine").record
    assert record["cells"] != make_plan("fig13", ["seed=2"], "mine").record["cells"]
    assert (record["name"], record["overrides"]) == ("mine", ["seed=1"])


def test_the_protocol_of_a_run_is_the_one_that_most_studies_share(paper: Plan) -> None:
    # figure 1 comes first and is smaller
    first = paper.studies["fig1"].settings["protocol"]["data"]
    assert (first["m"], first["n"]) == (12, 40)
    shared = paper.record["protocol"]
    assert shared == paper.studies["fig2"].settings["protocol"]
    assert (shared["data"]["m"], shared["data"]["n"]) == (20, 100)
    assert make_plan("fig1").record["protocol"]["data"]["m"] == 12


def test_captions_are_by_study_with_the_number_in_the_paper(paper: Plan) -> None:
    found = paper.captions
    assert list(found) == [study.name for study in paper.studies.values()]
    assert found["fig2"]["figure"] == 2
    assert found["fig6"]["figure"] == 6  # a stand-in for it is still for figure 6
    assert found["fig6"]["caption"].startswith("SIMULATED STAND-IN, no real data. ")
    assert {name for name in found if found[name]["figure"]} == {f"fig{k}" for k in range(1, 14)}
    assert found["specifications"]["caption"] == paper.studies["specifications"].caption
    for name, caption in found.items():
        assert caption["title"] in caption["caption"], name
    json.dumps(found)


def test_the_verdict_on_stand_ins_does_not_take_the_place_of_the_tracked_one(paper: Plan) -> None:
    assert paper.verdict == {
        "text": f"results/paper/REPLICATION{SUFFIX}.md",
        "page": f"results/paper/report{SUFFIX}.html",
    }
    real = replace(
        paper, studies={key: study for key, study in paper.studies.items() if not study.simulated}
    )
    assert real.verdict == {"text": "REPLICATION.md", "page": "results/paper/report.html"}
    assert replace(real, name="smoke", run="smoke").verdict["text"] == (
        "results/smoke/REPLICATION.md"
    )
    # a single study, or a run with overrides, is not judged as a whole
    assert make_plan("fig2").verdict == {}
    assert replace(real, overrides=("seed=1",), run="paper-seed1").verdict == {}


# --------------------------------------------------------------------- code that jobs depend on

# Modules that a job loads but that cannot change a number it writes: they name, check, read or
# write. Any other module of kgl must be in CODE, or an edit of it would leave old results.
HARMLESS = {
    "experiments/__init__.py",
    "experiments/kept.py",
    "kgl/__init__.py",
    "kgl/_optional.py",
    "experiments/config.py",
    "experiments/jobs.py",
    "experiments/io.py",
    "kgl/solvers/__init__.py",
}
# Scores, claims and the verdict take no more than the type of an array from kgl/laplacian.py, and
# the verdict names from experiments/score.py; facts draw no graph, check no estimator and
# centre no ratings; specifications have no real data.
HARMLESS_FOR = {
    "score": {"kgl/laplacian.py"},
    "claims": {"kgl/laplacian.py"},
    "verdict": {"kgl/laplacian.py", "experiments/score.py"},
    "facts": {"kgl/_validation.py", "kgl/random_graphs.py", "experiments/datasets/centring.py"},
    "specification": {
        "experiments/datasets/real.py",
        *(p.relative_to(ROOT).as_posix() for p in (ROOT / "kgl/datasets").glob("*.py")),
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
from experiments.jobs import data_job

graph = {"m": 6, "density": 0.5, "alpha": 10.0, "weights": "uniform", "connected": True}
data = {"n": 8, "noise": 0.1, "missing": 0.2, "bandwidth": "median_distance", "dependent": True}
for family in ("sbm", "er", "ba"):
    settings = {"make": "experiments.datasets.synthetic.synthetic", "seed": 0, "replicates": 1}
    settings |= {"graph": {**graph, "family": family, "options": {}}, "data": data}
    data_job(settings, work / "data.npz", work / "log")
seen["data"] = loaded()

forget()
from experiments.jobs import data_job

graph |= {"family": "sbm", "options": {}, "unit_variance": False}
for side in ("oracle", "rewired-0.5", "covariates-1", "unrelated", "identity"):
    settings = {"make": "experiments.datasets.custom_kernels.custom_kernels", "seed": 0, "replicates": 1}
    own = {"signal": side != "oracle", "side": side, "covariates": 3, "observations": "2"}
    settings |= {"graph": graph, "data": {**data, "options": own}}
    data_job(settings, work / "handed.npz", work / "log")
seen["custom_kernel"] = loaded()

forget()
from experiments.jobs import data_job

own = {
    "swiss": {"unit": "km", "bandwidth_x": "median_distance", "keep_one": True},
    "sushi": {
        **{"min_rated": 8, "centre": "item", "scale": "minmax", "combine": "mean"},
        **{"bandwidth_x": "median_distance"},
    },
}
for files, m in (("swiss", 89), ("sushi", 32)):
    settings = {"make": f"experiments.datasets.real.{files}", "seed": 0, "replicates": 1}
    settings |= {"graph": {"family": "given", "m": m, "density": 0.3}}
    settings |= {"data": {**data, "n": 3, "source": "simulated", "options": own[files]}}
    data_job(settings, work / "real.npz", work / "log")
seen["real"] = loaded()

forget()
from experiments.jobs import facts_job

for files in ("swiss", "sushi"):
    facts_job(files, "simulated", work / "facts.parquet", work / "log")
seen["facts"] = loaded()

forget()
from experiments.jobs import claims_job

claims_job({"fig6": ""}, ["fig6"], {"models": {}, "kinds": {}}, work / "claims.csv", work / "log")
seen["claims"] = loaded()

forget()
import kgl.solvers.cvxpy_step  # only where a protocol asks for it
from kgl.problem import MODELS
from experiments.jobs import fit_job

fit = {"average": True, "tol": 1e-4, "max_iter": 3, "solver": "newton", "backend": None}
for name, model in MODELS.items():
    settings = {"estimator": name, "grid": {axis: [0.1] for axis in model.hyperparameters}}
    settings |= {"options": {}, "fit": fit, "keep": ["weights", "signals"]}
    settings |= {"held_out": {"folds": 2, "density": 0.3}}
    fit_job(work / "data.npz", settings, work / "fit.npz", work / "log")
seen["fit"] = loaded()

forget()
from experiments.jobs import score_job

score = {"aps": "weights", "best": "replicate"}
score_job("one", [work / "fit.npz"], [{}], score, work / "table.parquet", work / "log")
seen["score"] = loaded()

forget()
from experiments.jobs import specification_job

small = ["replicates=1", "grid=tiny", "protocol.data.m=8", "protocol.data.n=12"]
small += ["levels.families=[sbm]", "levels.noise=[0.0]", "levels.missing=[0.2]"]
small += ["levels.m=[8]", "levels.n=[12]"]
spec = {"collection": "reduced", "overrides": small}
specification_job(spec, work / "specification.parquet", work / "log")
seen["specification"] = loaded()

forget()
from experiments.jobs import specifications_job

about = {"setting": "a", "change": "b", "overrides": []}
made = [work / "specification.parquet"]
specifications_job({"default": about}, made, work / "specifications.parquet", work / "log")
seen["specifications"] = loaded()

forget()
sys.path.insert(0, str(root / "tests"))
from verdict_files import publish
from experiments.report import verdict_job

verdict_job(publish(work / "figures"), work / "a.md", work / "a.html", work / "log")
seen["verdict"] = loaded()
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
        ("specification", "specifications"),
        ("verdict", "verdict/worth"),
    ],
)
def test_the_code_that_jobs_run_reruns_them_when_edited(
    rule: str, heart: str, paper: Plan, loaded: dict[str, set[str]]
) -> None:
    files = loaded[rule]
    assert f"experiments/{heart}.py" in files
    whole = CODE[rule]
    if rule == "specification":  # it makes data, fits, tables and a ledger
        whole = tuple(p for part in ("data", "fit", "score", "claims", rule) for p in CODE[part])
    assert uncovered(files, whole, rule) == set()
    # the patterns are all needed, so this test sees a module that is forgotten
    for pattern in CODE[rule]:
        assert uncovered(files, [other for other in whole if other != pattern], rule), pattern
    # and the rules are told of the files
    name, cell = next(iter(paper.cells.items()))
    told = {"data": paper.data_code(cell.dataset), "fit": paper.fit_code(name)}
    told["specification"] = paper.specification_code()
    assert uncovered(files, told.get(rule, paper.code(rule)), rule) == set()


def test_the_code_of_controls_makes_their_data_anew_when_edited(
    paper: Plan, loaded: dict[str, set[str]]
) -> None:
    files = loaded["custom_kernel"]
    assert "experiments/datasets/custom_kernels.py" in files
    handed = {
        name: paper.data_code(name)
        for name, settings in paper.datasets.items()
        if settings["make"] == "experiments.datasets.custom_kernels.custom_kernels"
    }
    assert {"custom_kernel_independent", "pure_noise"} <= {
        name.partition("/")[0].partition("-")[2].partition("-")[0] for name in handed
    }
    for name, code in handed.items():
        assert uncovered(files, code, "data") == set(), name
    # while the paper's own data do not wait for it
    assert "experiments/datasets/custom_kernels.py" not in paper.data_code(
        "sbm-independent/noise-0.0"
    )


def test_gathering_specifications_takes_no_code_but_reading_and_writing(
    loaded: dict[str, set[str]],
) -> None:
    assert loaded["specifications"] <= HARMLESS | {"kgl/laplacian.py"}  # the type of an array


def test_the_verdict_follows_its_template_and_style_but_not_what_python_keeps(paper: Plan) -> None:
    told = paper.code("verdict")
    assert {f"experiments/report/page.{end}" for end in ("html.jinja", "css", "js")} < set(told)
    assert "experiments/claims/causes.py" in told
    kept = ROOT / "experiments/report/__pycache__"
    there = kept.exists()
    kept.mkdir(exist_ok=True)
    try:
        assert paper.code("verdict") == told
    finally:
        if not there:
            kept.rmdir()
    assert not any("__pycache__" in name for name in told)


def test_the_code_of_real_data_makes_them_anew_when_edited(
    paper: Plan, loaded: dict[str, set[str]]
) -> None:
    files = loaded["real"]
    assert {"experiments/datasets/real.py", "kgl/datasets/standin.py"} <= files
    told = {
        name: paper.data_code(name)
        for name, settings in paper.datasets.items()
        if "files" in settings["data"]
    }
    assert told
    for name, code in told.items():
        assert uncovered(files, code, "data") == set(), name
    # and the patterns are all needed
    both = [*CODE["data"], *CODE["real"], "experiments/datasets/real.py"]
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
        assert {"experiments/figures/style.py", "experiments/figures/__init__.py"} <= files
        assert uncovered(files, paper.figure_code(name), "figure") == set(), name
        # what only other figures take does not redraw this one
        others = {f for f in paper.figure_code(name) if f.startswith("experiments/figures/")}
        assert others == {f for f in files if f.startswith("experiments/figures/")}, name
    assert "experiments/claims/evidence.py" in paper.figure_code("control_kx")
    assert "experiments/claims/evidence.py" not in paper.figure_code("fig2")


def test_every_pattern_of_code_finds_a_file() -> None:
    for patterns in CODE.values():
        for pattern in patterns:
            assert list(ROOT.glob(pattern)), pattern
