"""From a study to the work it takes: datasets, cells, files.

A *study* is a figure: families of graphs, models for each kind of data, and a sweep. A *cell* is
one point of it for one model, with all replicates; its file is named by what it holds, so studies
that share a cell share its file. A *run* is a directory of results: ``results/paper``, or one of
its own where anything is overridden.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from kgl.problem import MODELS
from kgl.random_graphs import GRAPH_FAMILIES
from kgl.replication.claims.readings import FACTS
from kgl.replication.claims.readings import STUDIES as CLAIM_STUDIES
from kgl.replication.config import (
    STANDIN,
    ConfigError,
    check,
    check_path,
    compose,
    conf_dir,
    last_of_each,
    override_key,
    source_file,
)
from kgl.replication.real import choose_source
from kgl.replication.records import digest

__all__ = ["Cell", "Plan", "Study", "make_plan", "single_cell"]

#: The picture of the README's example.
EXAMPLE = "readme_stations.png"
#: Of the names of what is made from simulated data in place of real ones.
_SUFFIX = f"-{STANDIN.replace(' ', '-')}"

#: Code that decides what a rule writes, besides its script and the functions that configurations
#: name. An edit here reruns the rule; one elsewhere does not. tests/unit/test_replication_plan.py
#: checks that the lists cover what the scripts import.
CODE = {
    "data": (
        "kgl/kernels/*.py",
        "kgl/laplacian.py",
        "kgl/random_graphs.py",
        "kgl/replication/sources.py",
        "kgl/seeding.py",
        "kgl/simulate.py",
    ),
    # what real data take besides
    "real": (
        "kgl/datasets/*.py",
        "kgl/_validation.py",
        "kgl/replication/centring.py",
        "kgl/solvers/density_step.py",
        "kgl/solvers/graph_step.py",
    ),
    "fit": (
        "kgl/_validation.py",
        "kgl/density.py",
        "kgl/folds.py",
        "kgl/kernels/*.py",
        "kgl/laplacian.py",
        "kgl/metrics.py",
        "kgl/problem.py",
        "kgl/replication/centring.py",
        "kgl/replication/fitting.py",
        "kgl/seeding.py",
        "kgl/solvers/alternating.py",
        "kgl/solvers/cg.py",
        "kgl/solvers/cvxpy_step.py",
        "kgl/solvers/density_step.py",
        "kgl/solvers/graph_step.py",
        "kgl/solvers/routes.py",
        "kgl/solvers/signal_step.py",
    ),
    # estimator classes bring these, besides what the models of the table need
    "class": ("kgl/base.py", "kgl/density.py", "kgl/grid.py", "kgl/models.py"),
    "example": (
        "experiments/readme_example.py",
        "experiments/style.py",
        "kgl/_validation.py",
        "kgl/base.py",
        "kgl/datasets/*.py",
        "kgl/density.py",
        "kgl/kernels/*.py",
        "kgl/laplacian.py",
        "kgl/models.py",
        "kgl/plotting.py",
        "kgl/problem.py",
        "kgl/seeding.py",
        "kgl/simulate.py",
        "kgl/solvers/*.py",
    ),
    "score": ("kgl/replication/scoring.py",),
    "facts": ("kgl/datasets/*.py", "kgl/replication/real.py", "kgl/seeding.py"),
    "claims": ("kgl/replication/claims/*.py", "kgl/replication/scoring.py"),
    "figure": (
        "experiments/style.py",
        "kgl/laplacian.py",
        "kgl/plotting.py",
        "kgl/replication/scoring.py",
    ),
}


@dataclass(frozen=True)
class Cell:
    """One dataset and one model: a job."""

    name: str
    dataset: str
    model: str
    labels: dict[str, Any] = field(hash=False)
    data: dict[str, Any] = field(hash=False)
    fit: dict[str, Any] = field(hash=False)
    reason: str = ""  # why simulated data stand for real ones

    @property
    def cost(self) -> float:
        """Seconds that the fit takes, roughly: enough to weigh cells against each other."""
        points = prod(len(values) for values in self.fit["grid"].values())
        data = self.data["data"]
        masked = (data["missing"] > 0 or "files" in data) and "rho" in self.fit["grid"]
        three = "lam" in self.fit["grid"]
        per_point = (4e-3 if masked and three else 4e-4) * (self.data["graph"]["m"] / 20) ** 2
        fits = 1 + self.fit.get("held_out", {}).get("folds", 0)
        return 2.0 + self.data["replicates"] * points * per_point * fits

    @property
    def simulated(self) -> bool:
        """Whether simulated data stand for real ones."""
        return bool(self.data["data"].get("source") == "simulated")


@dataclass(frozen=True)
class Study:
    """A figure and its cells."""

    name: str
    config: dict[str, Any] = field(hash=False)
    cells: tuple[Cell, ...] = field(hash=False)
    styles: dict[str, dict[str, str]] = field(hash=False)
    settings: dict[str, Any] = field(hash=False)

    @property
    def caption(self) -> str:
        """What the figure shows, with the settings behind it, in one paragraph."""
        facts = self.settings
        count = facts["replicates"]
        replicates = f"{count} replicate{'s' * (count > 1)}"
        families = f" of each of {len(self.config['graph'])} families" * bool(
            self.config.get("pool")
        )
        standin = f"{STANDIN}, no real data. " if self.simulated else ""
        alpha = f"alpha = {facts['alpha']}, " if facts["alpha"] else ""
        credit = f"Data: {facts['credit']}. " if facts["credit"] and not self.simulated else ""
        return (
            f"{standin}{self.config['title']}. {' '.join(self.config['caption'].split())} "
            f"{credit}Settings: {replicates}{families}, m = {facts['m']}, n = {facts['n']}, {alpha}"
            f"grids of up to {facts['points']} points."
        )

    @property
    def simulated(self) -> bool:
        """Whether any of it is made from simulated data that stand for real ones."""
        return any(cell.simulated for cell in self.cells)

    @property
    def files(self) -> list[str]:
        """Return the real data sets that it is about."""
        return sorted({f for cell in self.cells if (f := cell.data["data"].get("files"))})


@dataclass(frozen=True)
class Plan:
    """All that a run makes."""

    name: str
    run: str
    overrides: tuple[str, ...]
    studies: dict[str, Study]
    collection: bool

    @property
    def directory(self) -> str:
        """Where results go, relative to the repository."""
        return f"results/{self.run}"

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """All cells by name, those shared by several studies once."""
        return {cell.name: cell for study in self.studies.values() for cell in study.cells}

    @cached_property
    def datasets(self) -> dict[str, dict[str, Any]]:
        """Settings of all datasets by name."""
        return {cell.dataset: cell.data for cell in self.cells.values()}

    # -- what the rules of the Snakefile ask for -----------------------------------------------

    def code(self, rule: str, *paths: str) -> list[str]:
        """Return the source files of a rule and of functions that configurations name."""
        root = conf_dir().parent
        files = {
            found.relative_to(root).as_posix()
            for pattern in CODE[rule]
            for found in root.glob(pattern)
        }
        files |= {name for path in paths if "." in path and (name := source_file(path))}
        return sorted(files)

    def data_code(self, dataset: str) -> list[str]:
        """Return the source files that a dataset depends on."""
        settings = self.datasets[dataset]
        extra = self.code("real") if "files" in settings["data"] else []
        return sorted({*self.code("data", settings["make"], settings["graph"]["family"]), *extra})

    def fit_code(self, cell: str) -> list[str]:
        """Return the source files that a fit depends on."""
        path = self.cells[cell].fit["estimator"]
        extra = self.code("class") if "." in path else []
        return sorted({*self.code("fit", path), *extra})

    def figure_code(self, study: str) -> list[str]:
        """Return the source files that a figure depends on."""
        found = self.studies[study]
        path = f"experiments.figures.{found.config['figure']}"
        # those of real data take their curves from the others
        curves = ["experiments.figures.curves.draw_models"] * bool(found.files)
        return self.code("figure", "experiments.figures.draw", path, *curves)

    def fits(self, study: str) -> list[str]:
        """Return the files of the fits of a study."""
        return [f"{self.directory}/fits/{cell.name}.npz" for cell in self.studies[study].cells]

    def labels(self, study: str) -> list[dict[str, Any]]:
        """Return what each of these fits is."""
        return [cell.labels for cell in self.studies[study].cells]

    def drawn(self, study: str, kind: str) -> list[str]:
        """Return the files of arrays that a figure reads besides its table."""
        if not self.studies[study].config.get("arrays"):
            return []
        if kind == "fits":
            return self.fits(study)
        return [f"{self.directory}/data/{cell.dataset}.npz" for cell in self.studies[study].cells]

    def score(self, study: str) -> dict[str, Any]:
        """Return how the points of a study are chosen and scored."""
        protocol = self.studies[study].settings["protocol"]
        return {**protocol["score"], "folds": protocol["fit"]["folds"]}

    def title(self, study: str) -> str:
        """Return what a report calls a study, in the order of the paper."""
        found = self.studies[study]
        number = found.name.removeprefix("fig")
        name = f"Figure {int(number):02d}" if number.isdigit() else found.name
        standin = f"{STANDIN}: " if found.simulated else ""
        return f"{standin}{name}: {found.config['title']}"

    @property
    def real_sets(self) -> dict[str, str]:
        """Where each real data set comes from: ``real`` or ``simulated``."""
        settings = [cell.data["data"] for cell in self.cells.values()]
        return {s["files"]: s["source"] for s in settings if "files" in s}

    @property
    def facts(self) -> dict[str, dict[str, str]]:
        """What the tables of facts are about, by the ends of their names."""
        return {
            f"{files}{_SUFFIX * (source == 'simulated')}": {"files": files, "source": source}
            for files, source in self.real_sets.items()
        }

    @property
    def judged(self) -> dict[str, str]:
        """Tables that the ledger reads, by study or facts; a single study is not judged."""
        if not self.collection:
            return {}
        root = f"{self.directory}/tables"
        found = {s.name: key for key, s in self.studies.items() if s.name in CLAIM_STUDIES}
        tables = {name: f"{root}/{key}.parquet" for name, key in found.items()}
        return tables | {
            f"{FACTS}-{about['files']}": f"{root}/{FACTS}-{key}.parquet"
            for key, about in self.facts.items()
        }

    @property
    def suffix(self) -> str:
        """End of the names of what is about the whole run: says if simulated data had a part."""
        return _SUFFIX * any(study.simulated for study in self.studies.values())

    @property
    def claims(self) -> list[str]:
        """The ledger, if anything is judged."""
        return [f"{self.directory}/claims/{self.name}{self.suffix}.csv"] * bool(self.judged)

    @property
    def ledger(self) -> dict[str, Any]:
        """What the ledger needs to know besides the tables."""
        simulated = [study.name for study in self.studies.values() if study.simulated]
        simulated += [f"{FACTS}-{a['files']}" for a in self.facts.values() if a["source"] != "real"]
        models = {k: v["label"] for s in self.studies.values() for k, v in s.styles.items()}
        kinds = {
            k: v for s in self.studies.values() for k, v in s.settings["labels"]["data"].items()
        }
        return {"simulated": simulated, "labels": {"models": models, "kinds": kinds}}

    @property
    def notice(self) -> str:
        """What must be known of the run as a whole: where simulated data stand for real ones."""
        drawn = [study for study in self.studies.values() if study.simulated]
        if not drawn:
            return ""
        cells = [cell for study in drawn for cell in study.cells if cell.simulated]
        why = {cell.data["data"]["files"]: cell.reason for cell in cells}
        return (
            "".join(f"{STANDIN} for {name}: {reason}.\n" for name, reason in why.items())
            + f"{', '.join(study.name for study in drawn)} are made from simulated data and say so "
            "in their names; their claims are not evaluated.\n"
            "data/README.md says how to get the files; with data.source=real their absence is an "
            "error.\n"
        )

    def figure(self, study: str) -> dict[str, Any]:
        """Return what a figure needs to know of its study."""
        found = self.studies[study]
        known = {"config": found.config, "styles": found.styles, "labels": self.labels(study)}
        return known | {"settings": found.settings, "simulated": found.simulated}

    @property
    def gallery(self) -> str:
        """Where pictures and tables are shown: ``figures/`` for the paper's own run alone."""
        return "figures" if self.name == self.run == "paper" else f"{self.directory}/gallery"

    @property
    def published(self) -> dict[str, str]:
        """Files of the gallery, from where; a single study, or one with overrides, has none."""
        if not self.collection or self.overrides:
            return {}
        names = [f"{name}.{kind}" for name in self.studies for kind in ("png", "csv")]
        sources = {name: f"{self.directory}/figures/{name}" for name in [*names, EXAMPLE]}
        for kind, end in (("provenance", "json"), ("claims", "csv")):
            path = f"{self.directory}/{kind}/{self.name}{self.suffix}.{end}"
            if kind == "provenance" or path in self.claims:
                sources[f"{kind}{self.suffix}.{end}"] = path
        return {f"{self.gallery}/{name}": path for name, path in sources.items()}

    @property
    def record(self) -> dict[str, Any]:
        """What the run is, for its provenance."""
        cells = {name: digest([cell.data, cell.fit]) for name, cell in self.cells.items()}
        return {"name": self.run, "overrides": list(self.overrides), "cells": digest(cells)}

    @property
    def benchmarks(self) -> dict[str, list[str]]:
        """Benchmark files by kind of job; fits by kind of study, since they cost the most."""
        root = f"{self.directory}/benchmarks"
        files = {"data": [f"{root}/data/{name}.tsv" for name in self.datasets]}
        for cell in self.cells.values():
            kind = f"fit {cell.model}, {cell.labels['data']}, {cell.labels['sweep']}"
            files.setdefault(kind, []).append(f"{root}/fit/{cell.name}.tsv")
        files["score"] = [f"{root}/score/{name}.tsv" for name in self.studies]
        return files


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
    studies = {f"{s.name}{_SUFFIX}" if s.simulated else s.name: s for s in made}
    _refuse_clashes(studies)
    _refuse_dead_paths(studies)
    return Plan(name=study, run=base, overrides=given, studies=studies, collection="studies" in top)


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
    for graph, data in product(config["graph"], config["models"]):
        for model in config["models"][data]:
            groups = [f"graph={graph}", f"data={data}", f"model={model}"]
            cell_config = compose([*groups, *for_cells])
            for level in product(*sweep.values()):
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
    standin = _SUFFIX if values["data"].get("source") == "simulated" else ""
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
    densities, cut, folds = (protocol.pop(name) for name in ("density", "cut", "folds"))
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
    if folds:
        density = values["protocol"]["score"]["held_out_density"]
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
