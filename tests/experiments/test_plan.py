"""What a run makes: the cells of studies, what overrides and edits change, what is refused."""

import re
import shutil
import sys
from collections.abc import Iterator
from itertools import combinations, product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_files import described, sushi_files, swiss_files, write

from experiments.config import compose, option
from experiments.datasets import real
from experiments.lookup import ROOT, ConfigError
from experiments.plan import Plan, make_plan, plan_of_config
from experiments.registry import PROTOCOLS, STANDIN, STANDIN_SUFFIX
from kgl.datasets import CorruptDataError
from kgl.datasets import files as data_sets
from kgl.problem import MODELS

RECOVERY = {"fig2": "sbm", "fig3": "sbm", "fig8": "er", "fig9": "ba", "fig10": "er", "fig11": "ba"}
DESCRIBED = ["protocol=described"]
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
ONCE = "once:\n  independent: [gl2step]\n  dependent: [kglo, kglagnostic]\n"
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
        other=alone.replace("[gl]", "[kgln]") + "overrides: [seed=7]\n",
        clash_of_data="studies: [small, other]\n",
        tight=alone + "overrides: [protocol.fit.tol=0.5]\n",
        clash_of_fits="studies: [small, tight]\n",
        loose=alone.replace("[gl]", "[kgln]") + "overrides: [protocol.fit.tol=0.5]\n",
        beside="studies: [small, loose]\n",
        fine="studies: [small, apart]\n",
        little="studies: [seven]\nrun: little\noverrides: [seed=8, replicates=4]\n",
        **{"with-dash": SMALL},
        chosen=SMALL + "overrides: [protocol=alpha1000]\n",
        under="studies: [seven]\nprotocols: {alpha1000: [small], printed: [small]}\n",
        under_nothing="studies: [seven]\nprotocols: {alpha100: [small]}\n",
        real_under="studies: [seven]\nprotocols: {described: [fig6]}\n",
        design_under="studies: [seven]\nprotocols: {described: [inference]}\n",
        clash_under="studies: [fig1]\nprotocols: {described: [small, seven]}\n",
        once=SMALL.replace("sweep:", ONCE + "sweep:").replace("[sbm]", "[sbm, er]"),
    )
    family = (conf / "graph/er.yaml").read_text(encoding="utf-8")
    (conf / "graph/ring.yaml").write_text(family.replace("family: er", "family: plan_own.ring"))
    (conf / "model/mine.yaml").write_text(
        "label: Mine\nestimator: plan_own.fit\ngrid: {k: [1, 2]}\noptions: {}\n"
        'style: {color: "#123456", marker: "o"}\n'
    )
    (conf.parent / "plan_own.py").write_text("def fit(Y):\n    ...\n\n\ndef ring(m):\n    ...\n")
    return conf


@pytest.fixture
def conf(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of conf/ with other studies."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("KGL_CONF", str(shared))
    return shared


def names(plan: Plan, study: str) -> set[str]:
    return {cell.name for cell in plan.studies[study].cells}


def refusal(*arguments: Any, **named: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        make_plan(*arguments, **named)
    return str(caught.value)


def test_a_plan_is_small() -> None:
    public = [name for name in {*vars(Plan), *Plan.__annotations__} if not name.startswith("_")]
    assert len(public) <= 12


def test_the_paper_has_every_figure_family_and_model(paper: Plan) -> None:
    assert paper.directory == "results/paper"
    found = {study.name for study in paper.studies.values()}
    for k in range(1, 14):  # those of real data, and the sketch, once
        ends = ("",) if k in (1, 6, 7) else ("-printed", "-described")
        assert {f"fig{k}{end}" for end in ends} <= found
    drawn = [cell for cell in paper.cells.values() if "files" not in cell.data["data"]]
    given = [cell for cell in paper.cells.values() if "files" in cell.data["data"]]
    assert {cell.data["graph"]["family"] for cell in drawn} == {"sbm", "er", "ba"}
    assert {cell.data["graph"]["family"] for cell in given} == {"given"}
    assert {cell.data["data"]["files"] for cell in given} == {"swiss", "sushi"}
    for cells in (drawn, given):
        estimators = {cell.fit["estimator"] for cell in cells}
        assert {name for name in estimators if "." not in name} == set(MODELS)
    for cell in paper.cells.values():
        assert np.isfinite(cell.cost)
        assert cell.cost > 0
        assert paper.datasets[cell.dataset][0].data == cell.data
        # the solvers have neither densities nor folds, which are what is solved
        assert not {"density", "folds", "cut", "decimals"} & set(cell.fit["fit"])


def test_the_figures_of_the_paper_have_ten_replicates_or_more_and_full_grids(paper: Plan) -> None:
    figures = [*RECOVERY, "fig4", "fig5", "fig12", "fig13", "h1"]
    for name, protocol in product(figures, PROTOCOLS):
        for cell in paper.studies[f"{name}-{protocol}"].cells:
            assert cell.data["replicates"] == (14 if name == "fig2" else 10)
            assert set(cell.fit["grid"]) == set(MODELS[cell.fit["estimator"]].hyperparameters)
            sizes = [len(values) for values in cell.fit["grid"].values()]
            if name in ("fig12", "h1"):  # four psi at one lam and rho, as the paper states
                psi = [1e-7, 1e-5, 1e-3, 0.1]
                assert cell.fit["grid"] == {"lam": [0.1], "rho": [0.01], "psi": psi}
            else:
                assert prod(sizes) >= 20
                assert len(sizes) == 3 or max(sizes) > 15  # fewer axes, finer steps


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("study", RECOVERY)
def test_each_recovery_figure_compares_six_models_on_the_same_data(
    study: str, protocol: str, paper: Plan
) -> None:
    swept = "noise" if study in ("fig2", "fig8", "fig9") else "missing"
    cells = paper.studies[f"{study}-{protocol}"].cells
    assert {cell.labels["graph"] for cell in cells} == {RECOVERY[study]}
    levels = sorted({cell.data["data"][swept] for cell in cells})
    assert (levels[0], levels[-1]) == (0.0, 2.0 if swept == "noise" else 0.9)
    assert len(cells) == 6 * len(levels) >= 6 * 9
    compared = {False: {"GL", "GL-2step", "KGL-N"}, True: {"KGL-Agnostic", "KGL-O", "KGL"}}
    groups: dict[tuple[bool, float], list[Any]] = {}
    for cell in cells:
        assert cell.labels["level"] == cell.data["data"][swept]
        groups.setdefault((cell.data["data"]["dependent"], cell.labels["level"]), []).append(cell)
    for (dependent, _), group in groups.items():
        assert {cell.fit["estimator"] for cell in group} == compared[dependent]
        assert len({cell.dataset for cell in group}) == 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_cells_are_named_by_what_they_hold_and_shared(protocol: str, paper: Plan) -> None:
    def mine(study: str) -> set[str]:
        return names(paper, f"{study}-{protocol}")

    for cell in paper.studies[f"fig5-{protocol}"].cells:
        m, n = cell.data["graph"]["m"], cell.data["data"]["n"]
        assert cell.name == f"{cell.labels['graph']}-dependent-{protocol}/m-{m}_n-{n}/kgl"
        assert (cell.labels["m"], cell.labels["n"], cell.labels["level"]) == (m, n, n)
    assert mine("fig4") < mine("fig3") | mine("fig10") | mine("fig11")
    assert mine("fig12") == mine("h1")
    # over lam and rho Figure 13 has a grid of its own
    assert mine("fig13") == {f"sbm-dependent-lam-rho-{protocol}/missing-0.2/kgl"}


def test_each_cell_of_a_plan_is_in_one_dataset_and_its_data_in_one_file(paper: Plan) -> None:
    assert set(paper.cells) == set().union(*(names(paper, study) for study in paper.studies))
    assert len(paper.cells) < sum(len(study.cells) for study in paper.studies.values())
    # of each dataset all cells, each once, whatever study they come from
    listed = [cell for cells in paper.datasets.values() for cell in cells]
    assert {cell.name: cell for cell in listed} == paper.cells
    assert len(listed) == len(paper.cells)
    assert all(c.dataset == name for name, cells in paper.datasets.items() for c in cells)
    # one file for each kind of data, with all of its levels
    levels = [f"{group}/{level}" for group, specs in paper.groups.items() for level in specs]
    assert sorted(levels) == sorted(paper.datasets)
    for name, (cell, *_) in paper.datasets.items():
        group, _, level = name.partition("/")
        assert paper.groups[group][level] == cell.data


@pytest.mark.parametrize(
    ("study", "protocol"),
    [("fig13", None), ("fig13", "printed"), ("verdict", None), ("fig6", None)],
)
def test_a_run_of_one_study_makes_the_files_that_a_run_of_the_paper_makes(study, protocol, paper):
    one = make_plan(study, protocol=protocol)
    assert one.directory == "results/paper"
    assert all(cell == paper.cells[name] for name, cell in one.cells.items())
    for files in ("datasets", "groups"):
        found, whole = getattr(one, files), getattr(paper, files)
        assert found == {name: whole[name] for name in found}
        assert 0 < len(found) < len(whole)


def test_a_collection_under_one_protocol_has_a_directory_of_its_own(paper: Plan) -> None:
    plan, part = make_plan(protocol="described"), make_plan("verdict", protocol="described")
    assert (plan.name, plan.run) == ("paper-described", "paper-described")
    assert (part.name, part.run) == ("verdict-described", "paper-described")
    once = {name for name in paper.studies if "-printed" not in name}
    assert set(plan.studies) == once
    assert all(plan.studies[name] == paper.studies[name] for name in plan.studies)
    for files in ("datasets", "groups"):  # as in results/paper
        found, whole = getattr(part, files), getattr(plan, files)
        assert found == {name: whole[name] for name in found}
    assert plan_of_config({"protocol": "described"}) == plan == make_plan("paper", DESCRIBED)


def test_a_protocol_that_a_collection_does_not_name_has_all_of_its_synthetic_studies() -> None:
    plan = make_plan("smoke", protocol="paper")
    assert plan.run == "smoke-paper"
    under = option("study", "smoke")["protocols"]
    every = {f"{name}-paper" for names in under.values() for name in names}
    assert {name for name, study in plan.studies.items() if study.protocol} == every
    # one that it does name has those that it lists
    printed = make_plan("smoke", protocol="printed").studies.values()
    assert {study.option for study in printed if study.protocol} == set(under["printed"])


def test_a_study_is_made_under_one_protocol_or_under_those_of_the_paper() -> None:
    both = make_plan("fig2")
    assert (both.name, both.run) == ("fig2", "paper")
    assert list(both.studies) == ["fig2-printed", "fig2-described"]
    for protocol in PROTOCOLS:
        one = make_plan("fig2", protocol=protocol)
        assert (one.name, one.run) == (f"fig2-{protocol}", "paper")
        assert one.studies == {one.name: both.studies[one.name]}
        (study,) = one.studies.values()
        assert (study.option, study.protocol, study.number) == ("fig2", protocol, 2)
        assert f"Protocol {protocol} (" in study.caption
        assert study.settings["protocol"] != make_plan("fig1").studies["fig1"].settings["protocol"]
        assert make_plan("fig2", [f"protocol={protocol}"]) == one
        assert make_plan("fig2", [f"protocol={protocol}"], protocol=protocol) == one
        other = make_plan("fig2", [f"protocol={protocol}", "seed=1"])
        assert re.fullmatch(rf"fig2-{protocol}-[0-9a-f]{{8}}", other.run)
        assert other.overrides == ("seed=1",)
    # the former default by name: not one of the paper's, so in a directory of its own
    former = make_plan("fig2", ["protocol=paper"])
    assert (former.run, list(former.studies)) == ("fig2-paper", ["fig2-paper"])
    settings = former.studies["fig2-paper"].settings["protocol"]
    assert settings == option("protocol", "paper")
    assert make_plan("fig2", ["protocol=paper", "seed=1"], "mine").directory == "results/mine"


def test_cells_of_different_protocols_share_no_name_unless_they_are_equal(paper: Plan) -> None:
    plans = [make_plan(protocol=name) for name in (*PROTOCOLS, "paper")]
    for one, other in combinations([paper, *plans], 2):
        for files in ("cells", "datasets"):
            mine, theirs = getattr(one, files), getattr(other, files)
            assert all(mine[name] == theirs[name] for name in mine.keys() & theirs.keys())
    for one, other in combinations(plans, 2):  # what is drawn under both has two names
        shared = one.cells.keys() & other.cells.keys()
        assert shared == {c.name for s in one.studies.values() if not s.protocol for c in s.cells}


def test_protocols_that_cannot_be_meant_are_refused(folder: Path) -> None:
    place(folder, "swiss", "sushi")
    for study, given, protocol, texts in (
        ("fig2", None, "describd", ["'describd'", "did you mean 'described'?", "conf/protocol"]),
        ("paper", ["protocol=printd"], None, ["'printd'", "did you mean 'printed'?"]),
        ("fig2", None, 3, ["'3'", "valid: "]),
        ("fig2", ["protocol=printed"], "described", ["described, printed", "leave one"]),
        ("fig2", ["protocol=printed", "protocol=paper"], None, ["paper, printed", "leave one"]),
        # none applies: real data, what is made once, a registered design
        *((name, None, "described", [f"'described' does not apply to {name}", "leave it out"])
          for name in ("fig6", "swiss_cut", "fig1", "cost", "real", "inference")),
        ("fig6", ["protocol=alpha1000"], None, ["'alpha1000' does not apply", "protocol.fit."]),
    ):  # fmt: skip
        message = refusal(study, given, protocol=protocol)
        assert all(text in message for text in texts), message
    assert "run = 'paper-printed'" in refusal("fig2", ["seed=1"], "paper-printed")
    assert "'paper'" in refusal("fig2", None, "mine", protocol="printed")
    assert make_plan("fig6", ["protocol.fit.average=false"]).run.startswith("fig6-")


@pytest.mark.usefixtures("conf")
def test_a_study_of_ones_own_has_the_protocol_of_the_default_or_one_by_name() -> None:
    for name in ("small", "with-dash"):  # a dash is not the beginning of a protocol
        plan = make_plan(name)
        (study,) = plan.studies.values()
        assert (plan.run, study.name, study.option, study.protocol) == (name, name, name, "")
        assert set(plan.cells) == GL | KGL
        assert study.settings["protocol"] == compose([]).values()["protocol"]
        assert "Protocol" not in study.caption
        plan = make_plan(name, protocol="alpha1000")
        (study,) = plan.studies.values()
        assert plan.run == study.name == f"{name}-alpha1000"
        assert (study.option, study.protocol) == (name, "alpha1000")
        assert "Protocol alpha1000: " in study.caption
        assert set(plan.cells) == {
            n.replace("dependent/", "dependent-alpha1000/") for n in GL | KGL
        }
    # its own choice is in force, and not overridden without a word
    assert not any(cell.fit["fit"]["average"] for cell in make_plan("chosen").cells.values())
    message = refusal("chosen", protocol="described")
    assert all(text in message for text in ("'described'", "conf/study/chosen.yaml", "alpha1000"))


@pytest.mark.usefixtures("conf")
def test_protocols_of_a_collection_that_cannot_be_meant_are_refused() -> None:
    assert list(make_plan("under").studies) == ["seven", "small-alpha1000", "small-printed"]
    assert "'described' does not apply to fine" in refusal("fine", protocol="described")
    for name, texts in (
        (
            "under_nothing",
            ["conf/protocol/alpha100.yaml does not exist", "did you mean 'alpha1000'?"],
        ),
        ("real_under", ["'described' does not apply to fig6"]),
        ("design_under", ["'described' does not apply to inference"]),
    ):
        message = refusal(name)
        assert all(text in message for text in texts), message
    message = refusal("clash_under")  # the file of a study, not its name under a protocol
    assert "small-described and seven-described" in message
    assert "conf/study/seven.yaml" in message


def test_settings_of_the_protocol_reach_the_fit_and_the_score(paper: Plan) -> None:
    fig6 = paper.studies[f"fig6{STANDIN_SUFFIX}"]
    assert {str(c.fit["held_out"]) for c in fig6.cells} == {"{'folds': 3, 'density': 0.3}"}
    assert all(0.3 in c.fit["grid"]["density"] for c in fig6.cells if c.fit["grid"])
    assert (fig6.score["folds"], fig6.score["cv_density"]) == (3, 0.3)
    for protocol in PROTOCOLS:
        under = {s.option: s for s in paper.studies.values() if s.protocol == protocol}
        assert under["limits_psi"].score["points"] is True
        assert (under["fig2"].score["folds"], under["fig2"].score["points"]) == (0, False)
        assert {tuple(c.fit["keep"]) for c in under["convergence"].cells} == {("rise",)}
    swept = [c for c in paper.studies["precision-printed"].cells if c.labels["graph"] == "sbm"]
    assert [c.fit["decimals"] for c in swept if c.model == "kgl"] == [15, 8, 7, 6, 5, 4, 3]
    assert all(("solver" in c.fit["options"]) == (c.model != "kgl") for c in swept)
    given = ["protocol.data.unit_variance=true", "protocol.fit.decimals=0"]
    (cell,) = make_plan("fig13", given, protocol="printed").cells.values()
    assert cell.data["graph"]["unit_variance"] is True
    assert cell.fit["decimals"] == 0


def test_overrides_go_to_a_directory_of_their_own() -> None:
    given = [["seed=1"], ["seed=2"], ["seed=1", "replicates=2"], ["replicates=2", "seed=1"]]
    runs = [make_plan("fig13", overrides).run for overrides in given]
    assert all(re.fullmatch(r"fig13-[0-9a-f]{8}", run) for run in runs)
    assert len(set(runs[:3])) == 3
    assert runs[2] == runs[3]
    assert make_plan("fig13", "seed=1").run == runs[0]  # one text is a list of one
    # of two overrides of a key the later one is in force
    assert make_plan("fig13", ["seed=2", "seed=1"]).run == runs[0]
    assert make_plan("fig13", ["seed=1", "seed=2"]).run == runs[1]
    assert make_plan("fig13", ["seed=1"], 3).directory == "results/3"  # --config run=3


def test_overrides_reach_the_cells_and_the_caption() -> None:
    given = ["replicates=3", "protocol.data.alpha=50", "grid=tiny", "data.noise=0.5",
             "levels.families=[sbm]", "levels.m=[20]", "levels.n=[30]"]  # fmt: skip
    plan = make_plan("fig5", given, "mine-2", "described")
    assert (plan.directory, plan.overrides) == ("results/mine-2", tuple(given))
    (cell,) = plan.cells.values()
    assert (cell.data["replicates"], cell.data["graph"]["alpha"]) == (3, 50)
    assert (cell.data["data"]["noise"], len(cell.fit["grid"]["lam"])) == (0.5, 2)
    caption = plan.studies["fig5-described"].caption
    assert all(t in caption for t in ("3 replicates", "m = 20", "alpha = 50", "16 points"))
    assert "\n" not in caption


@pytest.mark.usefixtures("conf")
def test_overrides_of_a_user_win_over_those_of_a_collection_and_these_over_the_studys() -> None:
    for given, expected in (([], (8, 4)), (["replicates=6"], (8, 6)), (["seed=5"], (5, 4))):
        plan = make_plan("little", given)
        assert plan.run.startswith("little-") == bool(given)
        assert {(c.data["seed"], c.data["replicates"]) for c in plan.cells.values()} == {expected}


@pytest.mark.parametrize("run", ["paper", "smoke-printed", "../elsewhere", "./paper", "paper/"])
def test_names_of_runs_that_would_mix_results_are_refused(run: str) -> None:
    assert f"run = {run!r}" in refusal("fig13", ["seed=1"], run)
    assert "'paper'" in refusal("fig13", None, "mine")  # without overrides there is one name


@pytest.mark.parametrize(
    ("study", "given", "texts"),
    [
        # keys that a study sweeps over, by any name
        ("fig13", ["data.missing=0.5"], ["conf/study/fig13.yaml", "levels.missing=[...]"]),
        ("fig5", ["protocol.data.m=9"], ["conf/study/fig5.yaml", "levels.m=[...]"]),
        ("fig5", ["graph.m=9", "study.graph=[er]"], ["graph.m", "levels.m=[...]"]),
        # what the study chooses
        ("fig13", ["graph=er"], ["'graph'", "study.graph=[er]"]),
        ("fig13", ["study=fig2"], ["'study'", "--config study="]),
        ("fig13", ["study.overrides=[seed=1]"], ["study.overrides"]),
        # what is not a list of overrides, or names nothing
        ("fig13", {"seed": 1}, ["not a list of texts", "overrides=[data.noise=0.5]"]),
        ("fig13", ["sed=1"], ["'sed'", "did you mean 'seed'?"]),
        ("fig13", ["study.graph=[err]"], ["conf/graph/err.yaml", "valid: ba, "]),
        ("fig14", None, ["conf/study/fig14.yaml does not exist", "fig13"]),
        # paths, endings and blanks are not names, wherever they lead
        ("./fig13", None, ["conf/study/./fig13.yaml does not exist", "did you mean 'fig13'?"]),
        ("../study/fig13", None, ["conf/study/../study/fig13.yaml does not exist"]),
        ("fig13.yaml", None, ["conf/study/fig13.yaml.yaml does not exist", "'fig13'"]),
        ("fig13 ", None, ["conf/study/fig13 .yaml does not exist", "did you mean 'fig13'?"]),
        ("/etc/passwd", None, ["conf/study//etc/passwd.yaml does not exist"]),
        # settings of Hydra, which does not run a study
        ("fig13", ["hydra.run.dir=elsewhere"], ["'hydra.run.dir'", "not a valid key"]),
        ("fig13", ["hydra/launcher=basic"], ["'hydra/launcher'", "not a valid key"]),
        ("fig13", ["+hydra.job.name=mine"], ["unknown key 'hydra'"]),
        # names that lead nowhere
        ("fig13", ["study.figure=curves.recoverie"], ["did you mean 'recovery'?"]),
        ("fig13", ["model.estimator=KGLX"], ["conf/model/kgl.yaml", "'KGLX'", "KGL-Agnostic"]),
        ("fig13", ["model.estimator=experiments.nosuch.fit"], ["no module", "nosuch"]),
        ("fig13", ["graph.family=sbn"], ["conf/graph/sbm.yaml", "'sbn'", "valid: ba, er, sbm"]),
        ("fig13", ["data.make=experiments.datasets.synthetic.real"], ["conf/data/", "synthetic"]),
        ("fig13", ["model.grid={psi: [1.0]}"], ["conf/model/kgl.yaml", "lam, rho, psi"]),
    ],
)
def test_what_cannot_be_meant_is_refused_before_any_work(study, given, texts):
    message = refusal(study, given)
    assert all(text in message for text in texts)


@pytest.mark.usefixtures("conf")
def test_functions_may_be_imported_or_lie_beside_the_configuration() -> None:
    (cell,) = make_plan("fig13", ["model.estimator=kgl.KGL"], protocol="paper").cells.values()
    assert cell.fit["estimator"] == "kgl.KGL"
    # a model and a family of one's own are a file and a word each
    expected = GL | KGL | {name.replace("/gl", "/mine") for name in GL}
    assert set(make_plan("own").cells) == expected | {n.replace("sbm", "ring") for n in expected}


def test_the_command_line_has_four_keys() -> None:
    given = {"study": "fig13", "overrides": ["seed=1"], "run": "mine"}
    plan = plan_of_config(given)
    assert (plan.name, plan.overrides, plan.run) == ("fig13", ("seed=1",), "mine")
    plan = plan_of_config({**given, "protocol": "printed"})
    assert (plan.name, list(plan.studies)) == ("fig13-printed", ["fig13-printed"])
    with pytest.raises(ConfigError, match="did you mean 'overrides'") as caught:
        plan_of_config({"override": ["seed=1"]})
    assert "override=" in str(caught.value)


def test_an_edit_changes_what_depends_on_it_and_nothing_else(tmp_path, conf, monkeypatch):
    before = make_plan("small").cells
    assert set(before) == GL | KGL
    copy = copy_conf(tmp_path, small=SMALL)
    monkeypatch.setenv("KGL_CONF", str(copy))
    for name, old, new, data, fit in (
        ("model/gl", "options: {}", "options: {tol: 0.5}", set(), GL),
        ("data/dependent", "missing: 0.0", "missing: 0.25", KGL, set()),
        ("grid/paper", "lam: [1.0e-3, ", "lam: [", set(), KGL),
        ("protocol/paper", "best: replicate", "best: mean", set(), set()),
        ("model/gl", "label: GL", "label: one", set(), set()),
        ("graph/sbm", "label: ", "label: the ", set(), set()),
    ):
        path = copy / f"{name}.yaml"
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1
        path.write_text(text.replace(old, new), encoding="utf-8")
        after = make_plan("small").cells
        assert set(after) == set(before)
        assert {key for key in after if after[key].data != before[key].data} == data
        assert {key for key in after if after[key].fit != before[key].fit} == fit
        before = after


@pytest.mark.usefixtures("conf")
def test_studies_that_describe_data_or_a_cell_differently_are_refused() -> None:
    dataset = "sbm-independent/noise-0.0"
    for clash, other, what in (
        ("clash", "seven", dataset),
        ("clash_of_data", "other", dataset),  # of one dataset, though no model is in both
        ("clash_of_fits", "tight", f"{dataset}/gl"),
    ):
        message = refusal(clash)
        for text in (f"small and {other}", f" {what} ", f"conf/study/{other}.yaml"):
            assert text in message
    # models of one dataset may be fitted in different ways
    cells = make_plan("beside").datasets[dataset]
    assert [(cell.model, cell.fit["fit"]["tol"] == 0.5) for cell in cells] == [
        *(("gl", False), ("kgln", True)),
    ]
    plan = make_plan("fine")
    apart = {name.replace("dependent/", "dependent-seven/") for name in GL}
    assert set(plan.cells) == GL | KGL | apart
    assert {name for name, cell in plan.cells.items() if cell.data["seed"] == 7} == apart


@pytest.mark.usefixtures("conf")
def test_models_that_the_sweep_does_not_change_have_one_cell() -> None:
    plan = make_plan("once", ["study.sweep={data.noise: [0.25, 1.0, 2.0]}"])
    levels: dict[tuple[str, str], list[float]] = {}
    for cell in plan.studies["once"].cells:
        assert cell.labels["level"] == cell.data["data"]["noise"]
        levels.setdefault((cell.labels["graph"], cell.model), []).append(cell.labels["level"])
    assert len(levels) == 2 * 5
    for (_, model), found in levels.items():
        assert found == ([0.25, 1.0, 2.0] if model in ("gl", "kgl") else [0.25])
    message = refusal("once", ["study.once={swiss: [gl]}"])
    assert "'swiss'" in message
    assert "valid: independent, dependent" in message


@pytest.mark.usefixtures("conf")
def test_models_of_the_first_graph_have_no_cells_on_the_others() -> None:
    first = "+study.first_graph={dependent: [kgl_scs]}"
    plan = make_plan("small", ["study.graph=[er, sbm]", first])
    found = {(c.labels["graph"], c.model, c.labels["level"]) for c in plan.cells.values()}
    assert {key for key in found if key[1] == "kgl_scs"} == {
        *(("er", "kgl_scs", level) for level in (0.0, 1.0)),
    }
    assert {(graph, "kgl", 1.0) for graph in ("er", "sbm")} < found
    message = refusal("small", ["+study.first_graph={swiss: [gl]}"])
    assert "study.first_graph names the data 'swiss'" in message


MADE_UP = {"swiss": swiss_files(), "sushi": sushi_files()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for files of real data, which are made up and used as the real ones."""
    for name, files in MADE_UP.items():
        monkeypatch.setitem(data_sets.DATA_SETS, name, described(name, files))
    monkeypatch.setenv("KGL_DATA_DIR", str(tmp_path))
    forget()
    yield tmp_path
    forget()


def place(folder: Path, *data_sets: str) -> None:
    for name in data_sets:
        write(folder / name, MADE_UP[name])
    forget()


def origins(plan: Plan) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for cell in plan.cells.values():
        if "files" in cell.data["data"]:
            found.setdefault(cell.data["data"]["files"], set()).add(cell.data["data"]["source"])
    return found


def test_stand_ins_replace_files_that_are_absent_and_are_named_so(paper: Plan) -> None:
    assert origins(paper) == {"swiss": {"simulated"}, "sushi": {"simulated"}}
    about_real = {"fig6", "fig7", "swiss_map", "swiss_imputed", "sushi_graph", "sushi_attributes"}
    assert {study.name for study in paper.studies.values() if study.simulated} == about_real
    for key, study in paper.studies.items():
        assert key == study.name + STANDIN_SUFFIX * study.simulated
        assert study.caption.startswith(STANDIN) == study.simulated
        assert "Data: " not in study.caption
        for cell in study.cells:
            assert (STANDIN_SUFFIX in cell.dataset) == cell.simulated == study.simulated
    assert paper.suffix == STANDIN_SUFFIX
    assert set(paper.facts) == {f"swiss{STANDIN_SUFFIX}", f"sushi{STANDIN_SUFFIX}"}
    assert all(
        text in paper.notice
        for text in (f"{STANDIN} for ", "sushi", "swiss", "fig6", "data.source=real", "KGL_OFFLINE")
    )
    assert "fig2" not in paper.notice
    plain = make_plan("fig13")
    assert (plain.notice, plain.suffix, plain.facts) == ("", "", {})


def test_files_that_are_there_are_used_and_share_no_name_with_stand_ins(folder: Path) -> None:
    place(folder, "swiss", "sushi")
    plan, other = make_plan("real"), make_plan("real", ["data.source=simulated"])
    assert origins(plan) == {"swiss": {"real"}, "sushi": {"real"}}
    assert plan.notice == plan.suffix == ""
    assert "Data: MeteoSwiss. " in plan.studies["fig6"].caption
    assert plan.directory == other.directory == "results/paper"
    for attribute in ("cells", "datasets", "studies", "facts"):
        assert getattr(plan, attribute)
        assert not set(getattr(plan, attribute)) & set(getattr(other, attribute))
    # asked for by name nothing changes; other specifications serve real data alone
    assert make_plan("real", ["data.source=real"]) == plan
    further = {"swiss_specifications", "swiss_cut", "sushi_specifications"}
    assert further <= set(plan.studies)
    assert not further & {study.name for study in other.studies.values()}
    changed = make_plan("fig6", ["data.source=real", "replicates=2"])
    assert changed.run == make_plan("fig6", ["replicates=2"]).run != "paper"


@pytest.mark.parametrize("given", [[], ["data.source=auto"], ["data.source=real"]])
def test_a_corrupt_file_stops_what_uses_it_and_nothing_else(folder: Path, given: list[str]) -> None:
    place(folder, "swiss", "sushi")
    spoiled = folder / "sushi/sushi3.idata"
    spoiled.write_bytes(spoiled.read_bytes() + b"x")
    forget()
    with pytest.raises(CorruptDataError, match=r"sushi3\.idata"):
        make_plan("real", given)
    assert origins(make_plan("fig6", given)) == {"swiss": {"real"}}
    assert origins(make_plan("fig7", ["data.source=simulated"])) == {"sushi": {"simulated"}}


def test_sources_that_cannot_be_meant_are_refused(folder: Path) -> None:
    place(folder, "swiss")
    for study, given, texts in (
        ("fig7", ["data.source=real"], ["sushi", "README"]),  # asked for, and absent
        ("fig13", ["data.source=auto"], ["'fig13'", "real data"]),
        ("fig6", ["data.source=fake"], ["'fake'", "valid: auto, real, simulated"]),
    ):
        message = refusal(study, given)
        assert all(text in message for text in texts)
    plan = make_plan("real")  # one data set without the other
    assert origins(plan) == {"swiss": {"real"}, "sushi": {"simulated"}}
    assert "fig7" in plan.notice
    assert "fig6" not in plan.notice
    assert plan.suffix == STANDIN_SUFFIX  # the run as a whole is not all real
    # of two sources the later one is in force
    given = ["data.source=simulated", "data.source=real"]
    assert origins(make_plan("fig6", given)) == {"swiss": {"real"}}


def test_a_registered_design_takes_no_overrides() -> None:
    with pytest.raises(ConfigError, match=r"replicates=1.*registered"):
        make_plan("inference", ["replicates=1"])
    assert "inference_tiny" in make_plan("smoke", ["seed=1"]).studies
