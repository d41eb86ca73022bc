"""Reading conf/: everything in it composes as Hydra would, and what is wrong is refused by name."""

import copy
import shutil
import sys
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import hydra
import pytest
import yaml
from jsonschema import Draft202012Validator
from omegaconf import OmegaConf

from experiments import registry
from experiments.config import GROUPS, compose, option, options, override_key
from experiments.inference.design import load_design
from experiments.lookup import ROOT, ConfigError, conf_dir, resolve
from experiments.schema import STUDY_KINDS, check, kind_of

CONF = ROOT / "conf"
FILES = sorted(path for path in CONF.rglob("*.yaml") if path.parent != CONF)

Spoil = Callable[[str, str, str], str]


def of(group: str) -> list[str]:
    """Options of a group, from the directory itself."""
    return sorted(path.stem for path in FILES if path.parent.name == group)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(CONF, tmp_path_factory.mktemp("repository") / "conf"))


@pytest.fixture
def copied(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of conf/ to which tests may add, and its directory on the path while they run."""
    monkeypatch.setenv("KGL_CONF", str(shared))
    monkeypatch.setattr(sys, "path", list(sys.path))
    return shared


@pytest.fixture
def spoil(copied: Path) -> Spoil:
    """Add a file to the copy like one that is there, but for a text; return its name."""

    def add(name: str, old: str, new: str) -> str:
        text = (copied / f"{name}.yaml").read_text(encoding="utf-8")
        assert text.count(old) == 1
        spoiled = f"{name}{len(list(copied.rglob('*.yaml')))}"
        (copied / f"{spoiled}.yaml").write_text(text.replace(old, new), encoding="utf-8")
        return spoiled

    return add


def refusal(overrides: list[str], settings: dict[str, Any] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        compose(overrides).values(settings)
    return str(caught.value)


@pytest.mark.parametrize("k", range(max(len(of(group)) for group in GROUPS if group != "study")))
def test_options_and_overrides_compose_as_hydra_composes_them(k: int) -> None:
    given = [f"{group}={of(group)[k % len(of(group))]}" for group in GROUPS if group != "study"]
    given += ["data.noise=0.5", "levels.m=[8, 10]", "+graph.options.own={a: 1e-3}", "seed=3"]
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        expected = hydra.compose("config", given)
    found: dict[str, Any] = dict(compose(given).values())
    assert found.pop("study") is None
    assert found == OmegaConf.to_container(expected, resolve=True)


def test_options_and_edits_are_seen(copied: Path) -> None:
    text = (copied / "model/gl.yaml").read_text(encoding="utf-8")
    (copied / "model/mine.yaml").write_text(text.replace("label: GL", "label: Mine"))
    (copied / "model/heir.yaml").write_text("defaults: [mine, _self_]\noptions: {tol: 0.5}\n")
    assert {"mine", "heir"} <= set(options("model"))
    heir = compose(["model=heir"]).values()["model"]
    assert (heir["label"], heir["options"]) == ("Mine", {"tol": 0.5})
    (copied / "model/mine.yaml").write_text(text.replace("label: GL", "label: Other"))
    assert compose(["model=heir"]).values()["model"]["label"] == "Other"
    assert option("model", "heir")["grid"] == option("model", "gl")["grid"]
    # without _self_ its own keys come last, as Hydra has it
    (copied / "model/heir.yaml").write_text("defaults: [mine]\nlabel: Heir\n")
    assert compose(["model=heir"]).values()["model"]["label"] == "Heir"


def test_other_options_are_put_in_place() -> None:
    plain = compose(["data.noise=0.5", "protocol.data.m=7"])
    placed = plain.place({"graph": "er", "data": "dependent"}, ["data.missing=0.25"])
    expected = compose(["graph=er", "data=dependent", "data.missing=0.25", "protocol.data.m=7"])
    assert placed.values() == expected.values()  # a new option starts from its file
    assert (placed.choices["graph"], plain.choices["graph"]) == ("er", "sbm")
    assert plain.values()["data"]["noise"] == 0.5
    assert plain.place({"study": None}).values()["study"] is None


def test_references_follow_what_they_refer_to() -> None:
    values = compose(["levels.families=[er]"]).values({"protocol.data.m": 7})
    assert values["graph"]["m"] == values["protocol"]["data"]["m"] == 7
    assert values == compose(["levels.families=[er]", "protocol.data.m=7"]).values()
    assert values["levels"]["pooled"] == values["levels"]["families"] == ["er"]


def test_what_is_done_to_values_stays_there() -> None:
    composed = compose()
    before = copy.deepcopy(composed.values())
    for values in (composed.values({"protocol.data.m": 7}), composed.values()):
        values["grid"]["psi"].append(-1.0)
        values["model"]["grid"]["psi"].clear()
        del values["data"]["noise"]
    assert composed.values() == before


def test_the_schema_is_one_and_its_metrics_are_those_of_the_registry() -> None:
    schema = yaml.safe_load((CONF / "schema.yaml").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    message = refusal(["study=fig4", "study.metrics=[mse]"])
    assert f"valid: {', '.join(registry.METRICS)}" in message
    assert compose(["study=fig4", f"study.metrics=[{', '.join(registry.METRICS)}]"]).values()
    kept = {metric.needs for metric in registry.METRICS.values()} - {"", "graph", "groups"}
    assert kept <= set(schema["$defs"]["study"]["properties"]["keep"]["items"]["enum"])
    assert {kind_of(option("study", name)) for name in of("study")} == set(STUDY_KINDS)


def test_no_part_of_a_configuration_takes_unknown_keys_but_those_that_are_open() -> None:
    # a family, a source or an estimator takes other options; grids have any axes
    free = {"graph.options", "model.options", "model.grid", "grid", "study.sweep", "study.models"}
    composed = compose(["study=fig4"])
    places = {key.rpartition(".")[0] for key in composed.leaves if "sweep" not in key}
    places |= {"", "graph.options", "model.options", "protocol"}
    assert len(places) > 10
    for place in places:
        values = composed.values()
        inside: Any = values
        for key in filter(None, place.split(".")):
            inside = inside[key]
        inside["zzz"] = ["0.5"] if place.startswith("study") else [0.5]
        if place in free:
            check(values, composed.blame)
        else:
            with pytest.raises(ConfigError, match="zzz") as caught:
                check(values, composed.blame)
            assert f"{place}.zzz".strip(".") in str(caught.value)
            assert "valid: " in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "texts"),
    [
        # impossible values name the override
        (["data.noise=-1"], ["override 'data.noise=-1'", "data.noise = -1"]),
        (["protocol.fit.solver=fast"], ["'fast'", "valid: newton, cvxpy, cvxpy-matrix"]),
        (["protocol.fit.backend=MOSEK"], ["'MOSEK'", "valid: null, CLARABEL"]),
        (["replicates=2.5"], ["replicates = 2.5", "integer"]),
        (["levels.m=[10, 10]"], ["levels.m", "non-unique"]),
        (["model.grid.psi=[0]"], ["override 'model.grid.psi=[0]'", "model.grid.psi"]),
        (["data.noise=0.5", "protocol.data.n=0"], ["override 'protocol.data.n=0'"]),
        # unknown keys name those that are valid
        (["data.nois=1"], ["'data.nois'", "did you mean 'data.noise'?", "data.missing"]),
        (["model=gl", "model.grid.rho=[1]"], ["'model.grid.rho'", "valid: model.grid.psi"]),
        (["+data.nois=1"], ["override '+data.nois=1'", "noise"]),
        (["grph=er"], ["'grph'", "did you mean 'graph'?"]),
        (
            ["data=dependen"],
            ["conf/data/dependen.yaml does not exist", "did you mean 'dependent'?"],
        ),
        # what cannot be read
        (["replicates"], ["'replicates'", "key=value"]),
        (["data.noise=[1"], ["data.noise=[1"]),
        (["=3"], ["valid: "]),
        (["~data.noise"], ["override '~data.noise'", "lacks the key 'noise'"]),
        (["~replicates"], ["override '~replicates' deletes", "write key=value"]),
        (["+data.noise.x=1"], ["'data.noise.x'", "no keys below"]),
        (["data.noise=1,2"], ["data.noise=1,2", "[1, 2]"]),
        # references
        (["data.noise=${nosuch}"], ["override 'data.noise=${nosuch}'", "data.noise"]),
        (["data.noise=${data.nois}"], ["refers to nothing", "did you mean 'data.noise'?"]),
    ],
)
def test_overrides_are_refused_by_name_with_a_remedy(overrides, texts):
    message = refusal(overrides)
    assert all(text in message for text in texts)


def test_keys_can_be_added_and_deleted():
    texts = ["study=fig2", "~study.models.independent", "+study.models.sushi=[kgl]"]
    assert list(compose(texts).values()["study"]["models"]) == ["dependent", "sushi"]


@pytest.mark.parametrize(
    "overrides",
    [
        ["data.noise=${data.noise}"],
        ["data.noise=${data.missing}", "data.missing=${data.noise}"],
        ["data.noise=${data}"],
    ],
)
def test_references_in_a_circle_are_refused(overrides: list[str]) -> None:
    message = refusal(overrides)
    assert overrides[0] in message
    assert "refers to itself" in message


@pytest.mark.parametrize(
    ("key", "value"),
    [("data.noise", nan), ("data.noise", inf), ("model.grid.psi", [1.0, inf]),
     ("data.missing", 1.5), ("model.options", {"x": nan})],
)  # fmt: skip
def test_a_sweep_is_checked_like_the_rest(key: str, value: Any) -> None:
    assert key in refusal([], {key: value})
    assert "did you mean 'data.noise'?" in refusal([], {"data.nois": 1.0})


@pytest.mark.parametrize(
    ("name", "old", "new", "texts"),
    [
        ("data/dependent", "noise: 0.01", "noise: -2", ["data.noise = -2"]),
        ("data/dependent", "noise: 0.01", "noise: 1\nnosuchkey: 1", ["'data.nosuchkey'", "valid"]),
        ("data/independent", "dependent: false\n", "", ["data lacks the key 'dependent'"]),
        ("graph/er", "family: er", "family: er\nconected: false", ["did you mean 'connected'?"]),
        ("model/gl", "${grid.psi_fine}", "[]", ["model.grid.psi = []"]),
        ("model/gl", "${grid.psi_fine}", "${grid.psi_fin}", ["did you mean 'grid.psi_fine'?"]),
        ("grid/tiny", "lam: [1.0e-2, 1.0]", "lam: [1.0e-2, 1.0", ["YAML"]),
    ],
)
def test_what_is_wrong_in_a_file_is_refused_by_key_and_file(name, old, new, texts, spoil):
    spoiled = spoil(name, old, new)
    message = refusal([spoiled.replace("/", "=")])
    assert all(text in message for text in [f"conf/{spoiled}.yaml", *texts])


def test_the_directory_of_the_configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("KGL_CONF", str(tmp_path))
    with pytest.raises(ConfigError, match="KGL_CONF") as caught:
        compose()
    assert str(tmp_path) in str(caught.value)
    monkeypatch.setenv("KGL_CONF", "")
    assert conf_dir() == CONF.resolve()


@pytest.mark.parametrize("name", of("study"))
def test_every_study_names_what_there_is(name: str) -> None:
    study = compose([f"study={name}"]).values()["study"]
    assert set(study.get("studies", ())) <= set(of("study"))
    assert set(study.get("graph", ())) <= set(of("graph"))
    assert set(study.get("models", ())) <= set(of("data"))
    if "figure" in study:
        assert callable(resolve(f"experiments.figures.{study['figure']}"))
    for drawn in study.get("models", {}).values():
        assert set(drawn) <= set(of("model"))
        looks = {registry.model(model) for model in drawn}
        assert len({look.label for look in looks}) == len(drawn)
        assert len({(look.color, look.marker) for look in looks}) == len(drawn)


def test_functions_that_are_absent_are_refused_with_a_remedy(copied: Path) -> None:
    for path, texts in (
        ("kgl.models.KGLM", ["model.estimator 'kgl.models.KGLM'", "did you mean 'KGL'?"]),
        ("experiments.nosuch.fit", ["no module 'experiments.nosuch'", "dotted path"]),
        ("nosuch.models.fit", ["no module 'nosuch'"]),
        ("kgl.models.KGL.fit", ["no module 'kgl.models.KGL'"]),
    ):
        with pytest.raises(ConfigError) as caught:
            resolve(path, what="model.estimator")
        assert all(text in str(caught.value) for text in texts)
    # modules beside the configuration are found; one that fails inside raises its own error
    (copied.parent / "config_beside.py").write_text("def answer():\n    return 42\n")
    (copied.parent / "config_needs.py").write_text("import config_absent\n")
    assert resolve("config_beside.answer")() == 42
    with pytest.raises(ModuleNotFoundError, match="No module named 'config_absent'"):
        resolve("config_needs.fit")


def test_the_verdict_has_a_seed_that_no_search_had_and_no_file_changes_it() -> None:
    used, seed = load_design("registered")["seeds"], compose([]).values()["seed"]
    assert set(used) == {"search", "confirm", "final"}
    assert len({*used.values(), seed}) == 4
    for name in of("protocol"):
        assert compose([f"protocol={name}"]).values()["seed"] == seed
    for name in of("study"):
        study = option("study", name)
        texts = list(study.get("overrides", ()))
        for specification in study.get("specifications", {}).values():
            texts += specification["overrides"]
        keys = {*map(override_key, texts), *study.get("sweep", {})}
        assert "seed" not in keys, name
        # whatever it composes with
        if kind_of(study) == "study":
            assert compose([f"study={name}"]).values()["seed"] == seed
