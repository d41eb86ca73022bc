"""What a run makes: studies, cells, datasets.

A *run* is a directory of results: ``results/paper``, or its own where anything is overridden. What
cannot be meant is refused here, before any work starts: overrides without effect, names that lead
nowhere, studies that describe one cell differently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from experiments.cells import Cell, Study, read_study
from experiments.config import compose, last_of_each, option, options, override_key
from experiments.dependencies import module_file
from experiments.io import digest
from experiments.lookup import ConfigError, resolve, suggest
from experiments.measured import KINDS
from experiments.registry import STANDIN, STANDIN_SUFFIX, of_protocol, split_protocol
from experiments.schema import kind_of
from kgl.problem import MODELS
from kgl.random_graphs import GRAPH_FAMILIES

__all__ = ["Plan", "make_plan", "plan_of_config"]

#: What can be set with ``snakemake --config``.
KEYS = ("study", "protocol", "overrides", "run")


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
    def datasets(self) -> dict[str, list[Cell]]:
        """The cells of each dataset, by its name: its fits are one job.

        In the paper's directory they are those of all studies of the paper, so that a run of one
        study does not leave other fits than a run of them all.
        """
        found: dict[str, list[Cell]] = {cell.dataset: [] for cell in self.cells.values()}
        for cell in self._shared.values():
            if cell.dataset in found:
                found[cell.dataset].append(cell)
        return found

    @cached_property
    def groups(self) -> dict[str, dict[str, Any]]:
        """What decides the data of each kind, by the level: one job draws them all.

        As with fits, in the paper's directory these are the levels of all studies of the paper.
        """
        found: dict[str, dict[str, Any]] = {name.partition("/")[0]: {} for name in self.datasets}
        for cell in self._shared.values():
            group, _, level = cell.dataset.partition("/")
            if group in found:
                found[group][level] = cell.data
        return found

    @cached_property
    def _shared(self) -> dict[str, Cell]:
        """The cells of the directory, which other studies of the paper may share."""
        base, protocol = split_protocol(self.run)
        if self.overrides or base != "paper" or self.name == self.run:
            return self.cells
        return make_plan("paper", protocol=protocol).cells | self.cells

    @property
    def facts(self) -> dict[str, dict[str, str]]:
        """The real data sets, with their sources, by the ends of the names of their tables."""
        settings = [cell.data["data"] for cell in self.cells.values()]
        sources = {s["files"]: s["source"] for s in settings if "files" in s}
        return {
            f"{files}{STANDIN_SUFFIX * (source == 'simulated')}": {"files": files, "source": source}
            for files, source in sources.items()
        }

    @property
    def suffix(self) -> str:
        """Mark in the names of files about the whole run, if simulated data have a part in it."""
        return STANDIN_SUFFIX * any(study.simulated for study in self.studies.values())

    @property
    def notice(self) -> str:
        """Where simulated data replace real ones, and why; empty if nowhere."""
        drawn = [study for study in self.studies.values() if study.simulated]
        if not drawn:
            return ""
        cells = [cell for study in drawn for cell in study.cells if cell.simulated]
        why = {cell.data["data"]["files"]: cell.reason for cell in cells}
        return (
            "".join(f"{STANDIN} for {name}: {reason}.\n" for name, reason in why.items())
            + f"{', '.join(study.name for study in drawn)} are made from simulated data and are "
            "labelled so; their claims are not evaluated.\n"
            "data/README.md explains how to get the files; with data.source=real their absence is "
            "an error.\n"
        )


def plan_of_config(config: Mapping[str, Any]) -> Plan:
    """Return the plan that ``snakemake --config`` asks for; unknown keys are refused."""
    for key in config:
        if key not in KEYS:
            raise ConfigError(f"--config {key}={config[key]}: unknown key; {suggest(key, KEYS)}")
    known = {key: config.get(key) for key in ("overrides", "run", "protocol")}
    return make_plan(config.get("study", "paper"), **known)


def make_plan(
    study: str = "paper", overrides: Any = None, run: Any = None, protocol: str | None = None
) -> Plan:
    """Work out what a study, or a collection of studies, takes.

    Parameters
    ----------
    study : str
        An option of ``conf/study``.
    overrides : sequence of str, optional
        In Hydra's syntax. Their results go to another directory.
    run : str, optional
        Name of that directory instead of one made from the overrides.
    protocol : str, optional
        An option of ``conf/protocol`` for the synthetic experiments, instead of those that the
        collection names; for a single study instead of those that ``paper`` names.

    Examples
    --------
    >>> plan = make_plan("fig2", ["replicates=3", "levels.noise=[0.5]"], protocol="described")
    >>> len(plan.cells), sorted({cell.dataset for cell in plan.cells.values()})
    (6, ['sbm-dependent-described/noise-0.5', 'sbm-independent-described/noise-0.5'])
    """
    given, source = _split_source(_overrides(overrides))
    given, protocol = _split_chosen(given, protocol)
    top = compose([f"study={study}"]).values()["study"]
    collection = "studies" in top
    names = _under_protocols(study, top, protocol)
    extra = tuple(top.get("overrides", ())) if collection else ()
    if given and kind_of(top) == "inference":
        raise ConfigError(
            f"override {given[0]!r}: study {study} has a registered design, which overrides do not "
            "change; copy conf/inference/registered.yaml and name the copy in a study"
        )
    if kind_of(top) in KINDS:
        _refuse_others(study, kind_of(top), given)
    directory = _directory(study, top, given, run, protocol)
    made = [_read(name, extra, given, source, under) for name, under in names]
    if source is not None and not any("files" in c.data["data"] for s in made for c in s.cells):
        raise ConfigError(
            f"override 'data.source={source}': no study of {study!r} uses real data; leave it out"
        )
    if collection:
        # other specifications serve the claims, which simulated data cannot judge
        made = [s for s in made if not (s.simulated and s.config.get("only_claims"))]
    if "notice" in top:
        made = [replace(s, settings={**s.settings, "notice": top["notice"]}) for s in made]
    # files made from simulated data have other names, and never replace those of real data
    studies = {f"{s.name}{STANDIN_SUFFIX * s.simulated}": s for s in made}
    _refuse_clashes(studies)
    _refuse_dead_paths(studies)
    _refuse_absent_tables(studies)
    # files about a run as a whole have the protocol that it was restricted to in their names
    return Plan(of_protocol(study, protocol), directory, given, studies, collection)


def _split_chosen(given: tuple[str, ...], protocol: Any) -> tuple[tuple[str, ...], str]:
    """Take ``protocol=...`` out of the overrides: it is the same as ``--config protocol=...``."""
    others = tuple(text for text in given if override_key(text) != "protocol")
    chosen = [text.partition("=")[2].strip() for text in given if text not in others]
    if protocol not in (None, ""):
        chosen.append(str(protocol))  # the command line reads protocol=3 as a number
    if len(found := sorted(set(chosen))) > 1:
        raise ConfigError(f"two protocols are chosen: {', '.join(found)}; leave one")
    for name in found:
        if name not in (known := options("protocol")):
            raise ConfigError(
                f"protocol = {name!r} is not a file of conf/protocol; {suggest(name, known)}"
            )
    return others, "".join(found)


def _under_protocols(study: str, top: dict[str, Any], protocol: str) -> list[tuple[str, str]]:
    """Return the studies to make, each with its protocol, which is empty where none bears on it."""
    if "studies" not in top:
        paper = option("study", "paper")
        if protocol and (kind_of(top) != "study" or study in paper["studies"]):
            raise ConfigError(_no_protocol(study, protocol))
        chosen = paper.get("protocols", {})
        under = [name for name, names in chosen.items() if study in names]
        made = [(study, name) for name in ([protocol] if protocol else under or [""])]
        compared = top.get("tables", ())  # made with it
        return made + [(s, p) for p, names in chosen.items() for s in compared if s in names]
    chosen = top.get("protocols", {})
    if protocol:
        if not chosen:
            raise ConfigError(_no_protocol(study, protocol))
        every = dict.fromkeys(name for names in chosen.values() for name in names)
        chosen = {protocol: list(chosen.get(protocol, every))}
    found = [(name, "") for name in top["studies"]]
    return found + [(name, under) for under, names in chosen.items() for name in names]


def _no_protocol(study: str, protocol: str) -> str:
    return (
        f"protocol = {protocol!r} does not apply to {study}, see conf/study/paper.yaml; leave it "
        "out, or override single settings, as in 'overrides=[protocol.fit.average=false]'"
    )


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
    for text in given:
        key = override_key(text)
        if key in ("graph", "data", "model", "study"):
            instead = "--config study=..." if key == "study" else "study.graph, study.models"
            raise ConfigError(
                f"override of {key!r}: the study chooses it; override {instead} instead, as in "
                "'overrides=[\"study.graph=[er]\"]'"
            )
    return tuple(given)


def _split_source(given: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """Take ``data.source=...`` out of the overrides.

    It chooses where data come from, not what is done with them: cells that use simulated data have
    other names, so that results need no other directory.
    """
    others = tuple(text for text in given if override_key(text) != "data.source")
    chosen = [text.partition("=")[2].strip() for text in given if text not in others]
    return others, chosen[-1] if chosen else None


def _directory(
    study: str, top: dict[str, Any], given: tuple[str, ...], run: Any, protocol: str
) -> str:
    """Return the name of the directory of results."""
    run = None if run is None else str(run)  # the command line reads run=3 as a number
    if "studies" in top:
        base = of_protocol(top.get("run", study), protocol)
    else:
        # a study that is not part of the paper's might describe the paper's cells otherwise
        whole = _under_protocols("paper", option("study", "paper"), "")
        same = all(one in whole for one in _under_protocols(study, top, protocol))
        base = "paper" if same else of_protocol(study, protocol)
    if not given:
        if run not in (None, base):
            raise ConfigError(
                f"run = {run!r} goes with overrides; without them the run is {base!r}"
            )
        return base
    if run is not None and _taken(run):
        raise ConfigError(f"run = {run!r}: results/{run} holds other results; choose another name")
    if run is not None and not re.fullmatch(r"\w[\w-]*", run):
        raise ConfigError(
            f"run = {run!r} is not a valid name of a directory; use letters, digits, - and _"
        )
    return run or f"{of_protocol(study, protocol)}-{digest(sorted(last_of_each(given)), 8)}"


def _taken(run: str) -> bool:
    """Whether a run without overrides has this directory, for all protocols or one of them."""
    whole = ("paper", "smoke", "one-off")
    return run in (
        of_protocol(name, under) for name in whole for under in ("", *options("protocol"))
    )


def _read(
    name: str, extra: tuple[str, ...], given: tuple[str, ...], source: str | None, protocol: str
) -> Study:
    kind = kind_of(option("study", name))
    if protocol and kind != "study":
        raise ConfigError(_no_protocol(name, protocol))
    if kind in ("inference", "comparison", *KINDS):
        own = [text for text in given if override_key(text).startswith(f"study.{kind}.")]
        return Study(name, compose([f"study={name}", *own]).values()["study"], (), {})
    study = read_study(name, extra, given, source, protocol)
    if protocol and any("files" in cell.data["data"] for cell in study.cells):
        raise ConfigError(_no_protocol(name, protocol))  # real data are not drawn by a protocol
    return study


# -- what cannot be meant -----------------------------------------------------------------------


def _refuse_others(study: str, kind: str, given: Sequence[str]) -> None:
    """Refuse overrides that a study with jobs of its own has no use for."""
    for text in given:
        if not override_key(text).startswith(f"study.{kind}."):
            raise ConfigError(
                f"override {text!r}: study {study} has no such setting; its own are those of "
                f"study.{kind}, as in 'overrides=[study.{kind}.seeds=2]'"
            )


def _refuse_clashes(studies: Mapping[str, Study]) -> None:
    seen: dict[str, tuple[str, Any]] = {}
    for name, study in studies.items():
        for cell in study.cells:
            for key, spec in ((cell.dataset, cell.data), (cell.name, cell.fit)):
                other, first = seen.setdefault(key, (name, spec))
                if first != spec:
                    raise ConfigError(
                        f"studies {other} and {name} describe {key} differently; give one of them "
                        f"a `variant` in conf/study/{study.option}.yaml"
                    )


def _refuse_absent_tables(studies: Mapping[str, Study]) -> None:
    made = {study.option for study in studies.values()}
    for study in studies.values():
        for table in study.config.get("tables", ()):
            if table not in made:
                raise ConfigError(
                    f"conf/study/{study.option}.yaml: study.tables names {table!r}, which this run "
                    "does not make; add it to the collection"
                )


def _refuse_dead_paths(studies: Mapping[str, Study]) -> None:
    """Refuse functions that do not exist before any work starts, not after all of it."""
    for study in studies.values():
        for drawn in (study.config, *study.config.get("more", {}).values()):
            figure = f"experiments.figures.{drawn['figure']}"
            _check_path(figure, f"conf/study/{study.option}.yaml: figure")
    cells = {cell.name: cell for study in studies.values() for cell in study.cells}
    estimators = {(c.model, c.fit["estimator"]): list(c.fit["grid"]) for c in cells.values()}
    for (model, path), axes in estimators.items():
        _check_estimator(path, axes, f"conf/model/{model}.yaml")
    for kind, make in {(c.labels["data"], c.data["make"]) for c in cells.values()}:
        _check_path(make, f"conf/data/{kind}.yaml: make")
    families = {(c.labels["graph"], c.data["graph"]["family"]) for c in cells.values()}
    for graph, family in families:
        what = f"conf/graph/{graph}.yaml: family"
        if "." in family:
            _check_path(family, what)
        elif family not in (*GRAPH_FAMILIES, "given"):
            known = ", ".join([*sorted(GRAPH_FAMILIES), "given (with the data)"])
            raise ConfigError(
                f"{what} = {family!r} is not a family; valid: {known}, or a dotted path"
            )


def _check_estimator(path: str, axes: list[str], file: str) -> None:
    if "." in path:
        _check_path(path, f"{file}: estimator")
        return
    if path not in MODELS:
        raise ConfigError(
            f"{file}: estimator = {path!r} is not a model; valid: {', '.join(MODELS)}"
        )
    wanted = MODELS[path].hyperparameters
    if {"psi" if name == "density" else name for name in axes} != set(wanted):
        raise ConfigError(
            f"{file}: grid has {', '.join(axes) or 'nothing'}, but {path} has the hyperparameters "
            f"{', '.join(wanted)}; give values for each"
        )


def _check_path(path: str, what: str) -> None:
    """Refuse a dotted path that leads nowhere; what a module here defines is read, not imported."""
    module, _, name = path.rpartition(".")
    file, defined = module_file(module), rf"^(def|class) {re.escape(name)}\b"
    if file is None or not re.search(defined, file.read_text(encoding="utf-8"), re.MULTILINE):
        resolve(path, what=what)
