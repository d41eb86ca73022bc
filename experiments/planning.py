"""Make a plan from configurations: compose studies with overrides, and list their cells.

What cannot be meant is refused here, before any work starts: overrides that would do nothing, names
that lead nowhere, studies that describe one cell differently. ``experiments.plan`` says what a
plan is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from experiments.config import (
    GROUPS,
    check,
    check_path,
    compose,
    kind_of,
    last_of_each,
    override_key,
)
from experiments.datasets.real import choose_source
from experiments.io import digest
from experiments.kept import kept
from experiments.lookup import ConfigError, conf_dir
from experiments.plan import SUFFIX, Cell, Plan, Study
from kgl.problem import MODELS
from kgl.random_graphs import GRAPH_FAMILIES

__all__ = ["make_plan", "plan_specification", "single_cell"]


def _overrides(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Sequence) or not all(isinstance(text, str) for text in given):
        raise ConfigError(
            f"overrides = {given!r} is not a list of texts; write 'overrides=[data.noise=0.5]', "
            "with quotes around a value that has brackets: "
            "'overrides=[\"study.graph=[er]\"]'"
        )
    return tuple(given)


def make_plan(study: str = "paper", overrides: Any = None, run: Any = None) -> Plan:
    """Work out what a study, or a collection of studies, takes.

    Parameters
    ----------
    study : str
        An option of ``conf/study``.
    overrides : sequence of str, optional
        In Hydra's syntax. Their results go to a directory of their own.
    run : str, optional
        Name of that directory instead of one made from the overrides.

    Examples
    --------
    >>> plan = make_plan("fig2", ["replicates=3", "levels.noise=[0.5]"])
    >>> len(plan.cells), sorted({cell.dataset for cell in plan.cells.values()})
    (6, ['sbm-dependent/noise-0.5', 'sbm-independent/noise-0.5'])
    """
    given, source = _split_source(_overrides(overrides))
    run = None if run is None else str(run)  # the command line reads run=3 as a number
    chosen = {override_key(text) for text in given} & {"graph", "data", "model", "study"}
    if chosen:
        key = sorted(chosen)[0]
        instead = {"study": "--config study=..."}.get(key, "study.graph, study.models")
        raise ConfigError(
            f"override of {key!r}: the study chooses it; override {instead} instead, as in "
            "'overrides=[\"study.graph=[er]\"]'"
        )
    top = compose([f"study={study}"]).values()["study"]
    extra: tuple[str, ...] = ()
    names = [study]
    # a study that is no part of the paper's might describe the paper's cells otherwise
    base = "paper" if study in compose(["study=paper"]).values()["study"]["studies"] else study
    if "studies" in top:
        names, extra = top["studies"], tuple(top.get("overrides", ()))
        base = top.get("run", study)
    if given:
        default = f"{study}-{digest(sorted(last_of_each(given)), 8)}"
        if run in ("paper", "smoke"):
            raise ConfigError(f"run = {run!r} is not for results with overrides; take another name")
        if run is not None and not re.fullmatch(r"\w[\w-]*", run):
            raise ConfigError(
                f"run = {run!r} names a directory of results/; take letters, digits, - and _"
            )
        base = run or default
    elif run not in (None, base):
        raise ConfigError(f"run = {run!r} goes with overrides; without them the run is {base!r}")
    made = [_study(name, extra, given, source) for name in names]
    if source is not None and not any(study.files for study in made):
        raise ConfigError(
            f"override 'data.source={source}': no study of {study!r} is about real data; leave it "
            "out"
        )
    if "studies" in top:
        # other readings of the paper serve its claims, which simulated data cannot judge
        made = [s for s in made if not (s.simulated and s.config.get("readings"))]
    # what is made from simulated data has names of its own, and never takes the place of the other
    studies = {f"{s.name}{SUFFIX}" if s.simulated else s.name: s for s in made}
    _refuse_clashes(studies)
    _refuse_dead_paths(studies)
    kept(str(conf_dir())).save()
    return Plan(name=study, run=base, overrides=given, studies=studies, collection="studies" in top)


def plan_specification(collection: str, overrides: Sequence[str]) -> Plan:
    """Work out what a collection of studies takes under some overrides.

    They count as the collection's own do, not as those of a user: a study that sweeps over the
    number of nodes keeps its levels where a reading, or a smoke run, says another number.
    """
    top = compose([f"study={collection}"]).values()["study"]
    settings = (*top.get("overrides", ()), *overrides)
    studies = {name: _study(name, settings, (), None) for name in top["studies"]}
    _refuse_clashes(studies)
    _refuse_dead_paths(studies)
    return Plan(collection, top.get("run", collection), tuple(overrides), studies, True)


def _split_source(given: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """Take ``data.source=...`` out of the overrides.

    It says where data come from, not what is done with them: cells that it leads to simulated data
    have names of their own, so results need no directory of their own.
    """
    others = tuple(text for text in given if override_key(text) != "data.source")
    chosen = [text.partition("=")[2].strip() for text in given if text not in others]
    return others, chosen[-1] if chosen else None


def _study(name: str, extra: tuple[str, ...], given: tuple[str, ...], source: str | None) -> Study:
    # the study's own settings first, so that a collection's and then the user's win
    bare = compose([f"study={name}"]).values()["study"]
    if kind_of(bare) == "specifications":
        return _specification_study(name, bare, (*extra, *given))
    own = tuple(bare.get("overrides", ()))
    settings = (*own, *extra, *given)
    # keys are those of the study's own kind of data, not of the default one
    kind, models = next(iter(bare["models"].items()))
    groups = [f"graph={bare['graph'][0]}", f"data={kind}", f"model={models[0]}", f"study={name}"]
    composed = compose([*groups, *settings])
    config = composed.values()["study"]
    sweep: dict[str, list[Any]] = config["sweep"]
    before = compose([*groups, *own, *extra]).leaves
    for text in given:
        key = override_key(text)
        if key == "study.overrides":
            raise ConfigError(f"override {text!r}: give its texts as overrides themselves")
        # a key that only repeats a swept one is swept too
        for swept in sweep:
            if key == swept or before.get(key) == f"${{{swept}}}":
                raise ConfigError(
                    f"override {text!r}: {composed.file('study')} sweeps over {swept}, which sets "
                    f"{key}; override the levels instead, as in "
                    f"'levels.{swept.rpartition('.')[2]}=[...]'"
                )
    for_cells = [text for text in settings if not text.lstrip("+~").startswith("study.")]
    cells, styles, facts = [], {}, []
    once = config.get("once", {})
    for kind in once:
        if kind not in config["models"]:
            raise ConfigError(
                f"{composed.file('study')}: study.once names the data {kind!r}, which study.models "
                f"does not have; valid: {', '.join(config['models'])}"
            )
    for graph, data in product(config["graph"], config["models"]):
        for model in [*config["models"][data], *once.get(data, [])]:
            groups = [f"graph={graph}", f"data={data}", f"model={model}"]
            cell_config = compose([*groups, *for_cells])
            levels = list(product(*sweep.values()))
            for level in levels[:1] if model in once.get(data, []) else levels:
                setting = dict(zip(sweep, level, strict=True))
                values = cell_config.values(setting)
                if source is not None and "files" in values["data"]:
                    values["data"]["source"] = source
                    check(values, cell_config)
                cells.append(_cell(values, setting, (graph, data, model), config))
                facts.append(values)
            chosen = facts[-1]["model"]
            styles[model] = {"label": chosen["label"], **chosen["style"]}
    labels = {
        "graph": {
            c.labels["graph"]: f["graph"]["label"] for c, f in zip(cells, facts, strict=True)
        },
        "data": {c.labels["data"]: f["data"]["label"] for c, f in zip(cells, facts, strict=True)},
    }
    summary = _summary(facts, cells) | {"labels": labels}
    return Study(name, config, tuple(cells), styles, summary)


def _specification_study(name: str, config: dict[str, Any], extra: tuple[str, ...]) -> Study:
    """Return a study whose table comes from specifications instead of cells."""
    files = ["config.yaml", *(f"{group}/*.yaml" for group in GROUPS if group != "study")]
    reduced = compose([f"study={config['reduced']}"]).values()["study"]
    files += [f"study/{study}.yaml" for study in (config["reduced"], *reduced["studies"])]
    found = sorted({path for pattern in files for path in conf_dir().glob(pattern)})
    # what specifications are made of, so that an edit of it runs them again
    texts = digest([path.read_text(encoding="utf-8") for path in found])
    for key, spec in config["specifications"].items():
        if spec.get("base", key) not in config["specifications"]:
            raise ConfigError(
                f"conf/study/{name}.yaml: study.specifications.{key}.base = {spec['base']!r} is no "
                f"specification; valid: {', '.join(config['specifications'])}"
            )
        settings = (*reduced.get("overrides", ()), *spec["overrides"], *extra)
        try:  # a mistake is found now, not by the job
            compose([t for t in settings if not t.lstrip("+~").startswith("study.")]).values()
        except ConfigError as error:
            raise ConfigError(
                f"conf/study/{name}.yaml: study.specifications.{key}: {error}"
            ) from None
    specifications = {
        key: {"collection": config["reduced"], "overrides": [*spec["overrides"], *extra],
              "configurations": texts}
        for key, spec in config["specifications"].items()
    }  # fmt: skip
    return Study(name, config, (), {}, {"specifications": specifications})


def _cell(
    values: dict[str, Any],
    level: dict[str, Any],
    groups: tuple[str, str, str],
    study: Mapping[str, Any],
) -> Cell:
    graph, data, model = groups
    variant = f"-{study['variant']}" if study.get("variant") else ""
    short = {key.rpartition(".")[2]: value for key, value in level.items()}
    if len(short) < len(level):
        raise ConfigError(
            f"sweep over {', '.join(level)}: the last parts of these keys must differ"
        )
    levels = "_".join(f"{key}-{value}" for key, value in short.items())
    files = values["data"].get("files")
    reason = ""
    if files is not None:
        values["data"]["source"], reason = choose_source(files, values["data"]["source"])
    standin = SUFFIX if values["data"].get("source") == "simulated" else ""
    dataset = f"{graph}-{data}{variant}{standin}/{levels}"
    sweep, value = list(short.items())[-1]
    labels = {
        "graph": graph,
        "data": data,
        "sweep": sweep,
        "level": value,
        "m": values["graph"]["m"],
        "n": values["data"]["n"],
        "noise": values["data"]["noise"],
        "missing": values["data"]["missing"],
    }
    labels |= {k: v for k, v in short.items() if k not in labels and k != sweep}
    labels["model"] = model
    settings = {
        "make": values["data"]["make"],
        "seed": values["seed"],
        "replicates": values["replicates"],
        "graph": {k: v for k, v in values["graph"].items() if k != "label"},
        "data": {k: v for k, v in values["data"].items() if k not in ("label", "make", "credit")},
    }
    protocol = dict(values["protocol"]["fit"])
    densities, cut, folds, decimals = (
        protocol.pop(name) for name in ("density", "cut", "folds", "decimals")
    )
    grid = values["model"]["grid"]
    if densities is not None:
        grid = {
            "density" if k == "psi" else k: densities if k == "psi" else v for k, v in grid.items()
        }
    fit = {
        "estimator": values["model"]["estimator"],
        "grid": grid,
        "options": values["model"]["options"],
        "fit": protocol,
        "keep": study.get("keep", []),
    }
    if cut is not None:
        fit["cut"] = cut
    if decimals is not None:
        fit["decimals"] = decimals
    if folds:
        density = values["protocol"]["score"]["cv_density"]
        fit["held_out"] = {"folds": folds, "density": density}
    return Cell(f"{dataset}/{model}", dataset, model, labels, settings, fit, reason)


def single_cell(values: dict[str, Any], graph: str, data: str, model: str) -> Cell:
    """Return the one cell that a configuration without a study describes."""
    level = {"data.noise": values["data"]["noise"], "data.missing": values["data"]["missing"]}
    return _cell(values, level, (graph, data, model), {})


def _summary(facts: list[dict[str, Any]], cells: list[Cell]) -> dict[str, Any]:
    """Gather the settings of a study for its caption: one value, or those of a sweep."""

    def values(key: str, group: str) -> str:
        found = sorted({f[group][key] for f in facts if key in f[group]})
        return ", ".join(f"{v:g}" for v in found)

    points = max(prod(len(v) for v in cell.fit["grid"].values()) for cell in cells)
    return {
        "replicates": facts[0]["replicates"],
        "m": values("m", "graph"),
        "n": values("n", "data"),
        "alpha": values("alpha", "graph"),
        "points": points,
        "credit": facts[0]["data"].get("credit", ""),
        "protocol": facts[0]["protocol"],
    }


def _refuse_dead_paths(studies: Mapping[str, Study]) -> None:
    """Refuse functions that do not exist before any work starts, not after all of it."""
    named: dict[str, str] = {}
    axes: dict[str, Any] = {}
    for name, study in studies.items():
        named[f"experiments.figures.{study.config['figure']}"] = f"conf/study/{name}.yaml: figure"
        for cell in study.cells:
            model = f"conf/model/{cell.model}.yaml: estimator"
            named[cell.fit["estimator"]] = model
            axes[cell.fit["estimator"]] = cell.fit["grid"]
            named[cell.data["make"]] = f"conf/data/{cell.labels['data']}.yaml: make"
            family = f"conf/graph/{cell.labels['graph']}.yaml: family"
            named[cell.data["graph"]["family"]] = family
    for path, what in named.items():
        if "." in path:
            check_path(path, what)
        elif "estimator" in what and path not in MODELS:
            raise ConfigError(f"{what} = {path!r} is no model; valid: {', '.join(MODELS)}")
        elif "estimator" in what and {
            "psi" if name == "density" else name for name in axes[path]
        } != set(MODELS[path].hyperparameters):
            raise ConfigError(
                f"{what.partition(':')[0]}: grid has {', '.join(axes[path]) or 'nothing'}, but "
                f"{path} has the hyperparameters {', '.join(MODELS[path].hyperparameters)}; give "
                "values for each"
            )
        elif "family" in what and path not in (*GRAPH_FAMILIES, "given"):
            known = ", ".join([*sorted(GRAPH_FAMILIES), "given (with the data)"])
            raise ConfigError(f"{what} = {path!r} is no family; valid: {known}, or a dotted path")


def _refuse_clashes(studies: Mapping[str, Study]) -> None:
    seen: dict[str, tuple[str, Cell]] = {}
    for name, study in studies.items():
        for cell in study.cells:
            other, first = seen.setdefault(cell.name, (name, cell))
            if (first.data, first.fit) != (cell.data, cell.fit):
                raise ConfigError(
                    f"studies {other} and {name} describe the cell {cell.name} differently; give "
                    f"one of them a `variant` in conf/study/{name}.yaml"
                )
