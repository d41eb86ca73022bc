"""From studies to cells: what overrides and edits change, what is refused, which data are used."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data_files import described, sushi_files, swiss_files, write

from experiments.datasets import real
from experiments.lookup import ConfigError
from experiments.plan import EXAMPLE, Plan
from experiments.planning import make_plan
from experiments.registry import STANDIN
from kgl.datasets import CorruptDataError
from kgl.datasets import files as data_sets

ROOT = Path(__file__).parents[2]

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
#: Models that the sweep does not change.
ONCE = "once:\n  independent: [gl2step]\n  dependent: [kglo, kglagnostic]\n"
READINGS = """
title: many
figure: specifications.draw
reduced: little
specifications:
  default: {setting: default, change: none, overrides: []}
  other: {setting: seed, change: seed 9, overrides: [seed=9, protocol=summed]}
caption: >-
  of   many
  lines
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
        once=SMALL.replace("sweep:", ONCE + "sweep:").replace("[sbm]", "[sbm, er]"),
        readings=READINGS,
        many="studies: [small, readings]\nrun: many\noverrides: [replicates=4]\n",
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
    """A copy of conf/ with studies of its own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("KGL_CONF", str(shared))
    return shared


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
    mine = {"label": "Mine", "color": "#123456", "marker": "o"}
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
        ("data.make=experiments.datasets.synthetic.real", ["has no 'real'", "synthetic"]),
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


# --------------------------------------------------------------------- models that do not change


@pytest.mark.usefixtures("conf")
def test_models_that_the_sweep_does_not_change_have_one_cell() -> None:
    study = make_plan("once").studies["once"]
    single = {
        f"{graph}-{data}/noise-0.0/{model}"  # at the first level
        for graph in ("sbm", "er")
        for data, model in (
            ("independent", "gl2step"),
            ("dependent", "kglo"),
            ("dependent", "kglagnostic"),
        )
    }
    others = GL | KGL | {name.replace("sbm", "er") for name in GL | KGL}
    names = [cell.name for cell in study.cells]
    assert len(names) == len(set(names))
    assert set(names) == others | single
    assert set(study.styles) == {"gl", "kgl", "gl2step", "kglo", "kglagnostic"}
    # their data are those of the others at that level
    by_name = {cell.name: cell for cell in study.cells}
    for name in single:
        cell = by_name[name]
        model = "gl" if "independent" in name else "kgl"
        assert cell.data == by_name[f"{cell.dataset}/{model}"].data
        assert cell.labels["level"] == 0.0


@pytest.mark.usefixtures("conf")
def test_a_swept_key_of_a_model_that_is_there_once_is_the_first_level() -> None:
    plan = make_plan("once", ["study.sweep={data.noise: [0.25, 1.0, 2.0]}", "study.graph=[sbm]"])
    levels: dict[str, set[float]] = {}
    for cell in plan.cells.values():
        levels.setdefault(cell.model, set()).add(cell.data["data"]["noise"])
    assert levels.pop("gl") == levels.pop("kgl") == {0.25, 1.0, 2.0}
    assert set(map(frozenset, levels.values())) == {frozenset({0.25})}


def test_the_lines_of_the_controls_are_fitted_once() -> None:
    plan = make_plan("control_kz", ["replicates=2"])
    count = dict.fromkeys(("custom_kernel_dependent", "custom_kernel_independent"), 0)
    for cell in plan.cells.values():
        count[cell.labels["data"]] += cell.model in ("gl", "kernel")
    assert count == {"custom_kernel_dependent": 2, "custom_kernel_independent": 2}


# --------------------------------------------------------------------------------- many readings


@pytest.mark.usefixtures("conf")
def test_a_specification_study_has_specifications_instead_of_cells() -> None:
    plan = make_plan("readings")
    study = plan.studies["readings"]
    assert study.cells == ()
    assert (plan.scored, plan.specification_studies, plan.cells) == ([], ["readings"], {})
    assert list(plan.specifications) == ["readings/default", "readings/other"]
    assert {spec["collection"] for spec in plan.specifications.values()} == {"little"}
    assert [spec["overrides"] for spec in plan.specifications.values()] == [
        [],
        ["seed=9", "protocol=summed"],
    ]
    assert plan.specification_files("readings") == [
        f"results/readings/specifications/readings/{name}.parquet" for name in ("default", "other")
    ]
    assert study.caption == "many. of many lines"
    assert not study.simulated
    assert study.files == []
    assert plan.title("readings") == "readings: many"
    assert plan.record["specifications"]


@pytest.mark.usefixtures("conf")
def test_overrides_of_a_collection_and_of_a_user_follow_those_of_a_specification() -> None:
    plan = make_plan("many", ["seed=5"])
    assert (plan.scored, plan.specification_studies) == (["small"], ["readings"])
    assert [spec["overrides"] for spec in plan.specifications.values()] == [
        ["replicates=4", "seed=5"],
        ["seed=9", "protocol=summed", "replicates=4", "seed=5"],
    ]
    assert set(plan.cells) == GL | KGL
    assert {(c.data["seed"], c.data["replicates"]) for c in plan.cells.values()} == {(5, 4)}
    # another run, with other files
    plain = make_plan("many")
    assert plain.run == "many" != plan.run
    assert not set(plain.specification_files("readings")) & set(
        plan.specification_files("readings")
    )
    assert plain.record["specifications"] != plan.record["specifications"]
    assert "specifications" not in make_plan("small").record


@pytest.mark.parametrize(
    ("name", "old", "new", "again"),
    [
        ("study/seven", "seed=7", "seed=6", True),  # a study of the collection
        ("study/little", "replicates=4", "replicates=5", True),
        ("protocol/summed", "average: false", "average: true", True),
        ("model/gl", "options: {}", "options: {tol: 0.5}", True),
        ("data/independent", "missing: 0.0", "missing: 0.1", True),
        ("grid/tiny", "lam: [1.0e-2, 1.0]", "lam: [1.0e-2]", True),
        ("config", "seed: 0", "seed: 1", True),
        ("study/small", "caption: small", "caption: other", False),  # no study of it
        ("study/readings", "change: none", "change: nothing", False),
    ],
)
def test_an_edit_of_what_specifications_are_made_of_runs_them_again(
    name: str, old: str, new: str, again: bool, shared: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    copy = Path(shutil.copytree(shared, tmp_path / "conf"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("KGL_CONF", str(copy))
    before = make_plan("readings").specifications
    path = copy / f"{name}.yaml"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    after = make_plan("readings").specifications
    assert list(after) == list(before)
    for key in before:
        assert (after[key]["configurations"] != before[key]["configurations"]) is again
        assert (after[key] != before[key]) is again


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("change: none,", "change: none, seed: 3,", ["seed"]),
        ("setting: default, ", "", ["setting"]),
        ("  other:", "  Other:", ["Other"]),
        ("overrides: []", "overrides: seed=3", ["overrides", "seed=3"]),
        ("reduced: little", "reduced: little\nmodels: [gl]", ["models"]),
        ("reduced: little\n", "", ["reduced"]),
        ("reduced: little", "reduced: lettle", ["conf/study/lettle.yaml does not exist"]),
        ("specifications.draw", "specifications.drew", ["drew", "did you mean 'draw'?"]),
        ("seed=9", "sede=9", ["study.specifications.other", "'sede'", "did you mean 'seed'?"]),
        ("=summed", "=sumed", ["study.specifications.other", "did you mean 'summed'?"]),
        ("seed=9", "replicates=0", ["study.specifications.other", "replicates=0"]),
        ("change: none,", "change: none, base: othr,", ["base = 'othr'", "default, other"]),
    ],
)
def test_a_specification_study_that_means_nothing_is_refused(
    old: str, new: str, says: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert READINGS.count(old) == 1
    copy = copy_conf(tmp_path, little="studies: [fig13]\n", broken=READINGS.replace(old, new))
    monkeypatch.setenv("KGL_CONF", str(copy))
    with pytest.raises(ConfigError) as caught:
        make_plan("broken")
    for text in says:
        assert text in str(caught.value)


# ---------------------------------------------------------------------- what studies ask of a fit


def test_a_number_of_decimals_reaches_the_fit() -> None:
    (cell,) = make_plan("fig13").cells.values()
    assert "decimals" not in cell.fit
    (cell,) = make_plan("fig13", ["protocol.fit.decimals=4"]).cells.values()
    assert cell.fit["decimals"] == 4
    (zero,) = make_plan("fig13", ["protocol.fit.decimals=0"]).cells.values()
    assert zero.fit["decimals"] == 0
    assert "decimals" not in zero.fit["fit"]  # the solvers know nothing of it
    swept = make_plan("precision", ["study.graph=[sbm]"]).cells.values()
    decimals = [cell.fit["decimals"] for cell in swept if cell.model == "kgl"]
    assert decimals == [15, 8, 7, 6, 5, 4, 3]
    assert len({cell.name for cell in swept}) == len(decimals) + 3


@pytest.mark.parametrize("value", ["-1", "16", "2.5", "many"])
def test_a_number_of_decimals_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"protocol\.fit\.decimals"):
        make_plan("fig13", [f"protocol.fit.decimals={value}"])


def test_whose_tolerances_backends_have_reaches_the_fit() -> None:
    (cell,) = make_plan("fig13").cells.values()
    assert cell.fit["fit"]["backend_settings"] == "tight"
    (cell,) = make_plan("fig13", ["protocol.fit.backend_settings=own"]).cells.values()
    assert cell.fit["fit"]["backend_settings"] == "own"
    with pytest.raises(ConfigError, match=r"backend_settings.*'loose'"):
        make_plan("fig13", ["protocol.fit.backend_settings=loose"])


def test_points_and_what_is_kept_are_the_studys() -> None:
    plan = make_plan("convergence", ["study.graph=[sbm]"])
    assert plan.score("convergence")["points"] is True
    assert {tuple(cell.fit["keep"]) for cell in plan.cells.values()} == {("rise",)}
    other = make_plan("fig2", ["levels.noise=[0.5]"])
    assert other.score("fig2")["points"] is False
    assert {tuple(cell.fit["keep"]) for cell in other.cells.values()} == {()}


def test_unit_variance_reaches_the_data() -> None:
    for given, unit in (([], False), (["protocol=unit_variance"], True)):
        (cell,) = make_plan("fig13", given).cells.values()
        assert cell.data["graph"]["unit_variance"] is unit


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
    assert not {"fig6", "swiss_specifications", "facts-swiss"} & set(plan.ledger["simulated"])
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


def test_other_readings_are_worked_out_for_real_data_alone(folder: Path, paper: Plan) -> None:
    others = {"swiss_specifications", "swiss_cut", "sushi_specifications"}
    assert not others & {study.name for study in paper.studies.values()}
    place(folder, "swiss")
    plan = make_plan("real")
    assert others & {study.name for study in plan.studies.values()} == {
        *("swiss_specifications", "swiss_cut")
    }
    assert {"swiss_specifications", "swiss_cut"} <= set(plan.judged)
    assert plan.ledger["labels"]["kinds"]["swiss_metres"] == "altitude in metres"
    # by itself a reading can be looked at all the same
    assert list(make_plan("sushi_specifications").studies) == [f"sushi_specifications{SUFFIX}"]


def test_whose_data_they_are_is_in_the_caption_of_what_is_made_from_them(
    folder: Path, paper: Plan
) -> None:
    place(folder, "swiss")
    assert "Data: MeteoSwiss. " in make_plan("fig6").studies["fig6"].caption
    assert not any("Data: " in study.caption for study in paper.studies.values())
