"""Reading conf/: everything in it composes, and what is wrong is refused by name."""

from __future__ import annotations

import copy
import shutil
import sys
from collections.abc import Callable, Iterator
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from experiments.config import GROUPS, Composed, check, compose, options, source_file
from experiments.lookup import ConfigError, conf_dir, resolve
from kgl.problem import MODELS
from kgl.random_graphs import GRAPH_FAMILIES

CONF = Path(__file__).parents[2] / "conf"
FILES = sorted(path for path in CONF.rglob("*.yaml") if path.parent != CONF)

Spoil = Callable[[str, str, str], str]


def of(group: str) -> list[str]:
    """Options of a group, from the directory itself."""
    return sorted(path.stem for path in FILES if path.parent.name == group)


# Composing takes a tenth of a second, so files are tried one of each group at a time.
ROUNDS = [
    [f"{group}={of(group)[k % len(of(group))]}" for group in GROUPS]
    for k in range(max(len(of(group)) for group in GROUPS))
]


def composed_with(group: str, option: str) -> Composed:
    return compose(next(choices for choices in ROUNDS if f"{group}={option}" in choices))


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


# ---------------------------------------------------------------------------- what there is


def test_the_groups_are_the_directories_and_the_options_their_files() -> None:
    assert sorted(GROUPS) == sorted({path.parent.name for path in FILES})
    for group in GROUPS:
        assert options(group) == of(group) != []


def literals(values: Any, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Values of a file that are written out in it, with their place."""
    if isinstance(values, dict) and values:
        for key, value in values.items():
            yield from literals(value, (*prefix, key))
    elif "${" not in str(values):
        yield prefix, values


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}={path.stem}")
def test_every_file_composes_passes_the_schema_and_is_what_comes_out(path: Path) -> None:
    group = path.parent.name
    composed = composed_with(group, path.stem)
    values = composed.values()
    assert composed.choices[group] == path.stem
    assert "${" not in str(values)
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    written.pop("defaults", None)
    for place, expected in literals(written):
        found = values[group]
        for key in place:
            found = found[key]
        assert found == expected, place


def test_a_variant_of_the_protocol_changes_what_it_names_and_nothing_else() -> None:
    plain, variant = compose().values(), compose(["protocol=alpha1000"]).values()
    assert variant["graph"]["alpha"] == 1000.0
    assert variant["data"]["n"] == 500
    assert variant["protocol"]["fit"].pop("average") is False
    plain["protocol"]["fit"].pop("average")
    for values in (plain, variant):
        for group, keys in (("protocol", ["alpha", "n"]), ("graph", ["alpha"]), ("data", ["n"])):
            place = values[group]["data"] if group == "protocol" else values[group]
            for key in keys:
                place.pop(key)
    assert plain == variant


def test_a_file_that_is_added_is_an_option(copied: Path) -> None:
    text = (copied / "model" / "gl.yaml").read_text(encoding="utf-8")
    (copied / "model" / "mine.yaml").write_text(text.replace("label: GL", "label: Mine"))
    assert "mine" in options("model")
    assert "mine" not in of("model")
    assert compose(["model=mine"]).values()["model"]["label"] == "Mine"


def test_the_schema_is_one() -> None:
    schema = yaml.safe_load((CONF / "schema.yaml").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)


def mappings(values: dict[str, Any], prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield prefix
    for key, value in values.items():
        if isinstance(value, dict):
            yield from mappings(value, (*prefix, key))


def test_no_part_of_a_configuration_takes_unknown_keys_but_those_that_are_open() -> None:
    # what a family, a source or an estimator takes is known to it alone; grids have any axes
    free = {("graph", "options"), ("model", "options"), ("model", "grid"), ("grid",)}
    free |= {("study", "sweep"), ("study", "models")}
    composed = compose(["study=fig4"])
    places = list(mappings(composed.values()))
    assert len(places) > 12
    for place in places:
        values = composed.values()
        inside = values
        for key in place:
            inside = inside[key]
        inside["zzz"] = ["0.5"] if place[:1] == ("study",) else [0.5]
        if place in free:
            check(values, composed)
            continue
        with pytest.raises(ConfigError, match="zzz") as caught:
            check(values, composed)
        assert ".".join([*place, "zzz"]) in str(caught.value)


# ---------------------------------------------------------------------- overrides that are wrong


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("data.noise", -1, "minimum of 0"),
        ("data.missing", 1, "maximum of 1"),
        ("data.missing", True, "number"),
        ("data.dependent", "maybe", "boolean"),
        ("replicates", 0, "minimum of 1"),
        ("replicates", "many", "integer"),
        ("replicates", 2.5, "integer"),
        ("seed", -1, "minimum of 0"),
        ("levels.noise", [], "non-empty"),
        ("levels.m", [10, 10], "non-unique"),
        ("graph.density", 0, "minimum of 0"),
        ("graph.m", 1, "minimum of 2"),
        ("protocol.fit.tol", 0, "minimum of 0"),
        ("protocol.fit.solver", "fast", "valid: newton, cvxpy, cvxpy-matrix"),
        ("protocol.fit.backend", "MOSEK", "valid: null, CLARABEL, OSQP, PIQP, SCS"),
        ("protocol.fit.density", [], "non-empty"),
        ("protocol.fit.density", [1.5], "maximum of 1"),
        ("protocol.fit.folds", -1, "minimum of 0"),
        ("protocol.fit.folds", 2.5, "integer"),
        ("protocol.score.cv_density", 0, "minimum of 0"),
        ("protocol.score.best", "all", "valid: replicate, mean"),
        ("protocol.score.aps", "ranks", "valid: weights, scores"),
        ("graph.weights", "normal", "valid: uniform, unit"),
        ("model.style.colour", "blue", "does not match"),
        ("model.estimator", "", "non-empty"),
        ("data.make", "synthetic", "does not match"),
        ("data.files", "rain", "valid: swiss, sushi"),
        ("data.source", "experiments.datasets.real.swiss", "valid: auto, real, simulated"),
        ("model.grid.psi", [], "non-empty"),
        ("model.grid.psi", 1.0, "array"),
        ("study.pool", 1, "boolean"),
        ("study.metrics", ["mse"], "valid: aps, aps_scores, sse, density, mse_in, mse_out"),
        ("study.graph", [], "non-empty"),
        ("study.keep", ["kernels"], "valid: weights, signals"),
    ],
)
def test_impossible_values_are_refused_by_key(key: str, value: Any, says: str) -> None:
    composed = compose(["study=fig4"])
    values = composed.values()
    *parents, name = key.split(".")
    place = values
    for parent in parents:
        place = place[parent]
    place[name] = value
    with pytest.raises(ConfigError) as caught:
        check(values, composed)
    message = str(caught.value)
    assert key in message
    assert repr(value).strip("[]") in message
    assert says in message


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("data.noise=-1", ["data.noise = -1", "minimum of 0"]),
        ("protocol.fit.solver=fast", ["'fast'", "newton, cvxpy, cvxpy-matrix"]),
        ("model.grid.psi=[0]", ["model.grid.psi", "minimum of 0"]),
        ("++data.noise=-1", ["data.noise = -1", "minimum of 0"]),
        ("protocol.data.n=0", ["protocol.data.n", "minimum of 1"]),
    ],
)
def test_impossible_overrides_are_refused_by_name(override: str, says: list[str]) -> None:
    message = refusal([override])
    assert f"override {override!r}" in message
    for text in says:
        assert text in message


@pytest.mark.parametrize(
    ("key", "value"), [("data.noise", nan), ("data.noise", inf), ("model.grid.psi", [1.0, inf])]
)
def test_values_that_are_no_number_are_refused(key: str, value: Any) -> None:
    assert key in refusal([], {key: value})


def test_an_override_is_not_blamed_for_a_key_that_begins_alike() -> None:
    assert "override 'protocol.data.n=0'" in refusal(["data.noise=0.5", "protocol.data.n=0"])


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (["data.nois=1"], ["'data.nois'", "did you mean 'data.noise'?", "data.missing"]),
        (["replicate=3"], ["'replicate'", "did you mean 'replicates'?", "seed"]),
        (["model=gl", "model.grid.rho=[1]"], ["'model.grid.rho'", "valid: model.grid.psi"]),
        (["+data.nois=1"], ["override '+data.nois=1'", "noise"]),
        (["grph=er"], ["'grph'", "did you mean 'graph'?"]),
    ],
)
def test_unknown_keys_are_refused_with_those_that_are_valid(
    overrides: list[str], says: list[str]
) -> None:
    message = refusal(overrides)
    for text in says:
        assert text in message


@pytest.mark.parametrize("group", ["data", "study"])
def test_an_unknown_option_is_refused_with_those_that_there_are(group: str) -> None:
    near = of(group)[0] + "x"
    message = refusal([f"{group}={near}"])
    assert f"conf/{group}/{near}.yaml does not exist" in message
    assert f"did you mean {near[:-1]!r}?" in message
    assert message.endswith(f"valid: {', '.join(of(group))}")


def test_an_override_without_a_value_is_told_how_to_write_one() -> None:
    message = refusal(["replicates"])
    assert "'replicates'" in message
    assert "key=value" in message


@pytest.mark.parametrize("override", ["data.noise=[1", "data.noise=${nosuch}", "grid=null", "=3"])
def test_a_malformed_override_is_refused_by_name(override: str) -> None:
    assert override in refusal([override])


def test_a_key_taken_away_is_missed() -> None:
    assert "data lacks the key 'noise'" in refusal(["~data.noise"])


# ------------------------------------------------------------------------- files that are wrong


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("config", []),
        ("protocol/paper", []),
        ("study/fig4", ["study=fig4"]),
    ],
)
def test_an_unknown_key_in_a_file_is_refused_by_key_and_file(
    name: str, overrides: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(CONF, tmp_path / "conf")
    monkeypatch.setenv("KGL_CONF", str(tmp_path / "conf"))
    with (tmp_path / "conf" / f"{name}.yaml").open("a") as stream:
        stream.write("\nnosuchkey: 1\n")
    message = refusal(overrides)
    group = name.partition("/")[0] + "." if "/" in name else ""
    assert f"unknown key '{group}nosuchkey'" in message
    assert "valid: " in message
    assert f"conf/{name}.yaml" in message


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("data/dependent", "noise: 0.01", "noise: -2", ["data.noise = -2", "minimum of 0"]),
        ("model/gl", "${grid.psi_fine}", "[]", ["model.grid.psi = []", "non-empty"]),
    ],
)
def test_impossible_values_in_a_file_are_refused_by_key_and_file(
    name: str, old: str, new: str, says: list[str], spoil: Spoil
) -> None:
    spoiled = spoil(name, old, new)
    message = refusal([spoiled.replace("/", "=")])
    assert message.startswith(f"conf/{spoiled}.yaml: ")
    for text in says:
        assert text in message


def test_a_file_that_lacks_a_key_is_refused_by_key_and_file(spoil: Spoil) -> None:
    name = spoil("data/independent", "dependent: false\n", "")
    message = refusal([name.replace("/", "=")])
    assert "data lacks the key 'dependent'" in message
    assert f"conf/{name}.yaml" in message


def test_a_file_that_is_not_yaml_is_refused_by_name(spoil: Spoil, copied: Path) -> None:
    name = spoil("grid/tiny", "lam: [1.0e-2, 1.0]", "lam: [1.0e-2, 1.0")
    message = refusal([name.replace("/", "=")])
    assert "YAML" in message
    assert str(copied / f"{name}.yaml") in message


def test_a_reference_to_nothing_is_refused_by_name(spoil: Spoil) -> None:
    name = spoil("model/gl", "${grid.psi_fine}", "${grid.psi_fin}")
    message = refusal([name.replace("/", "=")])
    assert f"conf/{name}.yaml" in message
    assert "grid.psi_fin" in message


def test_where_there_is_no_configuration_the_message_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGL_CONF", str(tmp_path))
    with pytest.raises(ConfigError, match="KGL_CONF") as caught:
        compose()
    assert str(tmp_path) in str(caught.value)
    monkeypatch.delenv("KGL_CONF")
    assert conf_dir() == CONF.resolve()


# ----------------------------------------------------------------------------- sweeps and copies


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("data.noise", 0.5, "0.5"),
        ("protocol.data.m", 7, "7"),
        ("grid.psi", [0.5, 2.0], "[0.5,2.0]"),
    ],
)
def test_a_sweep_does_what_an_override_does(key: str, value: Any, text: str) -> None:
    overridden = compose([f"{key}={text}"]).values()
    assert compose().values({key: value}) == overridden
    assert compose().values() != overridden


def test_a_swept_key_reaches_those_that_refer_to_it() -> None:
    values = compose().values({"protocol.data.m": 7, "protocol.data.n": 11})
    assert values["graph"]["m"] == values["protocol"]["data"]["m"] == 7
    assert values["data"]["n"] == values["protocol"]["data"]["n"] == 11


def test_what_is_done_to_values_stays_there() -> None:
    composed = compose()
    before = copy.deepcopy(composed.values())
    swept = composed.values({"protocol.data.m": 7, "data.noise": 2.0})
    for values in (swept, composed.values()):
        values["grid"]["psi"].append(-1.0)
        values["model"]["grid"]["psi"].clear()
        values["model"]["style"]["marker"] = "?"
        del values["data"]["noise"]
    assert composed.values() == before
    again = composed.values({"protocol.data.m": 7, "data.noise": 2.0})
    assert (again["graph"]["m"], again["data"]["noise"]) == (7, 2.0)
    assert again["model"]["grid"] == before["model"]["grid"]


def test_a_sweep_is_checked_like_the_rest() -> None:
    assert "data.missing = 1.5" in refusal([], {"data.missing": 1.5})
    message = refusal([], {"data.nois": 1.0})
    assert "'data.nois'" in message
    assert "did you mean 'data.noise'?" in message


def test_of_two_overrides_the_later_one_counts() -> None:
    composed = compose(["data.noise=1.5", "grid=tiny", "data.noise=0.25", "grid=wide"])
    assert composed.values()["data"]["noise"] == 0.25
    assert composed.choices["grid"] == "wide"


# -------------------------------------------------------------------------------------- functions


@pytest.mark.parametrize("name", of("study"))
def test_every_study_names_a_figure_or_studies_that_there_are(name: str) -> None:
    study = composed_with("study", name).values()["study"]
    if "studies" in study:
        assert set(study["studies"]) <= set(of("study"))
    else:
        assert callable(resolve(f"experiments.figures.{study['figure']}", what="study.figure"))
        if "specifications" in study:
            assert study["reduced"] in of("study")
            assert "studies" in composed_with("study", study["reduced"]).values()["study"]
            assert [u["overrides"] for u in study["specifications"].values()].count([]) == 1
            return
        assert set(study["graph"]) <= set(of("graph"))
        assert set(study["models"]) <= set(of("data"))
        assert set().union(*study["models"].values()) <= set(of("model"))


@pytest.mark.parametrize("name", of("model"))
def test_every_model_names_an_estimator_with_the_axes_of_its_grid(name: str) -> None:
    model = composed_with("model", name).values()["model"]
    if "." in model["estimator"]:
        assert callable(resolve(model["estimator"], what="model.estimator"))
    else:
        assert tuple(model["grid"]) == MODELS[model["estimator"]].hyperparameters
        by_solver = "solver" in model["options"]
        assert model["label"].startswith(model["estimator"])
        assert (model["label"] == model["estimator"]) == (not by_solver)


@pytest.mark.parametrize("name", of("data"))
def test_every_kind_of_data_names_a_source(name: str) -> None:
    assert callable(resolve(composed_with("data", name).values()["data"]["make"]))


@pytest.mark.parametrize("name", of("graph"))
def test_every_family_is_known(name: str) -> None:
    family = composed_with("graph", name).values()["graph"]["family"]
    # the graph of real data comes with them
    known = (*GRAPH_FAMILIES, "given")
    assert callable(resolve(family)) if "." in family else family in known


@pytest.mark.parametrize("name", of("graph"))
def test_a_graph_is_given_where_the_data_have_one_and_nowhere_else(name: str) -> None:
    graph = composed_with("graph", name).values()["graph"]
    drawn = {"alpha", "weights", "connected", "options"}
    assert (graph["family"] == "given") == (not drawn & set(graph))


@pytest.mark.parametrize("key", ["alpha", "weights", "connected", "options"])
def test_a_family_that_is_drawn_has_every_key(key: str) -> None:
    assert f"graph lacks the key {key!r}" in refusal([f"~graph.{key}"])


def test_models_can_be_told_apart() -> None:
    models = [composed_with("model", name).values()["model"] for name in of("model")]
    # variants of one estimator may look alike, as long as no figure has two of them
    own = [m for m in models if "solver" not in m["options"]]  # other ways to a model are apart
    looks = {(m["estimator"], m["label"], m["style"]["color"]) for m in own}
    assert len(looks) == len({m["estimator"] for m in own}) >= 8
    assert len({label for _, label, _ in looks}) == len({c for *_, c in looks}) == len(looks)
    for name in of("study"):
        study = composed_with("study", name).values()["study"]
        for drawn in study.get("models", {}).values():
            chosen = [composed_with("model", model).values()["model"] for model in drawn]
            assert len({model["label"] for model in chosen}) == len(drawn)
            shown = {(m["style"]["color"], m["style"]["marker"]) for m in chosen}
            assert len(shown) == len(drawn)


def test_functions_that_are_not_there_are_refused_with_a_remedy() -> None:
    with pytest.raises(ConfigError, match=r"model\.estimator 'kgl\.models\.KGLM'") as caught:
        resolve("kgl.models.KGLM", what="model.estimator")
    assert "did you mean 'KGL'?" in str(caught.value)
    assert "GL2Step" in str(caught.value)
    for path, absent in (
        ("experiments.nosuch.fit", "experiments.nosuch"),
        ("nosuch.models.fit", "nosuch"),
        ("kgl.models.KGL.fit", "kgl.models.KGL"),
    ):
        with pytest.raises(ConfigError, match="dotted path of a function") as caught:
            resolve(path)
        assert repr(path) in str(caught.value)
        assert f"no module {absent!r}" in str(caught.value)


def test_modules_beside_the_configuration_are_found(copied: Path) -> None:
    (copied.parent / "replication_beside.py").write_text("def answer():\n    return 42\n")
    assert resolve("replication_beside.answer")() == 42
    assert source_file("replication_beside.answer") == "replication_beside.py"


@pytest.mark.parametrize("absent", ["replication_absent", "replication_needs"])
def test_a_module_that_fails_inside_says_so_itself(copied: Path, absent: str) -> None:
    (copied.parent / f"replication_needs_{absent}.py").write_text(f"import {absent}\n")
    with pytest.raises(ModuleNotFoundError, match=f"No module named '{absent}'"):
        resolve(f"replication_needs_{absent}.fit")


def test_files_of_functions_are_those_of_the_repository_alone() -> None:
    assert source_file("kgl.models.KGL") == "kgl/models.py"
    assert source_file("experiments.figures.draw") == "experiments/figures/__init__.py"
    assert source_file("kgl.kernels.RBF") == "kgl/kernels/__init__.py"
    assert source_file("json.dumps") is None
    assert source_file("nosuch.module.f") is None
