"""What a run makes: studies, cells, datasets, and the files of each.

A *study* is a figure: families of graphs, models for each kind of data, and a sweep. A *cell* is
one point of it for one model, with all replicates; its file is named by what it holds, so studies
that share a cell share its file. A *run* is a directory of results: ``results/paper``, or one of
its own where anything is overridden. The rules of the Snakefile ask a plan for all they need;
``experiments.planning`` makes it from configurations.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

from experiments.claims.specifications import FACTS
from experiments.claims.specifications import STUDIES as CLAIM_STUDIES
from experiments.config import source_file
from experiments.io import digest
from experiments.lookup import conf_dir
from experiments.registry import STANDIN

__all__ = ["CODE", "EXAMPLE", "SUFFIX", "Cell", "Plan", "Study"]

#: The picture of the README's example.
EXAMPLE = "readme_stations.png"
#: What a run says of itself as a whole, and in which format.
RECORDS = {
    "provenance": "json",
    "captions": "json",
    "run": "json",
    "jobs": "csv",
    "facts": "csv",
    "claims": "csv",
}
#: Of the names of what is made from simulated data in place of real ones.
SUFFIX = f"-{STANDIN.replace(' ', '-')}"

#: Code that decides what a rule writes, besides its script and the functions that configurations
#: name. An edit here reruns the rule; one elsewhere does not. tests/unit/test_replication_plan.py
#: checks that the lists cover what the scripts import.
CODE = {
    "data": (
        "kgl/kernels/*.py",
        "kgl/laplacian.py",
        "kgl/random_graphs.py",
        "experiments/datasets/synthetic.py",
        "kgl/seeding.py",
        "kgl/simulate.py",
    ),
    # what real data take besides
    "real": (
        "kgl/datasets/*.py",
        "kgl/_validation.py",
        "kgl/metrics.py",
        "experiments/datasets/centring.py",
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
        "experiments/datasets/centring.py",
        "experiments/fit.py",
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
        "experiments/figures/readme_example.py",
        "experiments/figures/style.py",
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
    "score": ("experiments/score.py",),
    # what a specification takes besides the code of data, fits, scores and claims
    "specification": ("experiments/specifications.py", "experiments/plan*.py"),
    "verdict": ("experiments/claims/*.py", "experiments/report/*"),
    "facts": (
        "kgl/datasets/*.py",
        "kgl/kernels/*.py",
        "kgl/laplacian.py",
        "kgl/metrics.py",
        "experiments/datasets/real.py",
        "kgl/seeding.py",
        "kgl/simulate.py",
        "kgl/solvers/density_step.py",
        "kgl/solvers/graph_step.py",
    ),
    "claims": ("experiments/claims/*.py", "experiments/score.py"),
    "figure": (
        "experiments/figures/style.py",
        "kgl/laplacian.py",
        "kgl/plotting.py",
        "experiments/score.py",
    ),
}


#: Where the modules of figures find what only some of them need.
_SHARED = ("experiments.figures.", "experiments.claims.")


def _taken(root: Path, file: str) -> set[str]:
    """Return the files of shared modules that a module of figures imports, directly or not."""
    found: set[str] = set()
    todo = [file] if file.startswith("experiments/") else []
    while todo:
        tree = ast.parse((root / todo.pop()).read_text(encoding="utf-8"))
        modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
        for module in (m for m in modules if m.startswith(_SHARED)):
            name = source_file(f"{module}.any")
            if name is not None and name not in found:
                found.add(name)
                todo.append(name)
    return found


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
        if not self.cells:
            return f"{self.config['title']}. {' '.join(self.config['caption'].split())}"
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

    @property
    def scored(self) -> list[str]:
        """Names of the studies whose tables are made from fits."""
        return [name for name, study in self.studies.items() if study.cells]

    @property
    def specification_studies(self) -> list[str]:
        """Names of the studies whose tables are made from specifications."""
        return [name for name in self.studies if name not in self.scored]

    @cached_property
    def specifications(self) -> dict[str, dict[str, Any]]:
        """What each specification is, by the name of its study and its own."""
        return {
            f"{name}/{key}": spec
            for name in self.specification_studies
            for key, spec in self.studies[name].settings["specifications"].items()
        }

    # -- what the rules of the Snakefile ask for -----------------------------------------------

    def code(self, rule: str, *paths: str) -> list[str]:
        """Return the source files of a rule and of functions that configurations name."""
        root = conf_dir().parent
        files = {
            found.relative_to(root).as_posix()
            for pattern in CODE[rule]
            for found in root.glob(pattern)
            if found.is_file()  # what Python keeps beside its sources is none
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

    def specification_code(self) -> list[str]:
        """Return the source files that a specification depends on."""
        rules = ("data", "fit", "score", "claims", "specification")
        return sorted({path for rule in rules for path in self.code(rule)})

    def specification_files(self, study: str) -> list[str]:
        """Return the files of the specifications of a study."""
        names = self.studies[study].settings["specifications"]
        return [f"{self.directory}/specifications/{study}/{name}.parquet" for name in names]

    def figure_code(self, study: str) -> list[str]:
        """Return the source files that a figure depends on."""
        found = self.studies[study]
        paths = ("experiments.figures.draw", f"experiments.figures.{found.config['figure']}")
        files = self.code("figure", *paths)
        # figures take curves, intervals and the like from one another and from the claims
        root = conf_dir().parent
        return sorted({*files, *(name for file in files for name in _taken(root, file))})

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
        points = bool(self.studies[study].config.get("points"))
        return {**protocol["score"], "folds": protocol["fit"]["folds"], "points": points}

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
            f"{files}{SUFFIX * (source == 'simulated')}": {"files": files, "source": source}
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
        return SUFFIX * any(study.simulated for study in self.studies.values())

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
            k: v
            for name in self.scored
            for k, v in self.studies[name].settings["labels"]["data"].items()
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
        for kind, end in RECORDS.items():
            path = f"{self.directory}/{kind}/{self.name}{self.suffix}.{end}"
            if (kind != "claims" or self.claims) and (kind != "facts" or self.facts):
                sources[f"{kind}{self.suffix}.{end}"] = path
        return {f"{self.gallery}/{name}": path for name, path in sources.items()}

    @property
    def captions(self) -> dict[str, dict[str, Any]]:
        """Title, caption and number in the paper of every figure."""
        return {
            study.name: {
                "title": study.config["title"],
                "caption": study.caption,
                "figure": int(no) if (no := study.name.removeprefix("fig")).isdigit() else None,
            }
            for study in self.studies.values()
        }

    @property
    def verdict(self) -> dict[str, str]:
        """Where the verdict is written: a text, tracked for the paper's own run, and a page."""
        if not self.published or not self.claims:
            return {}
        tracked = self.gallery == "figures" and not self.suffix
        return {
            "text": "REPLICATION.md"
            if tracked
            else f"{self.directory}/REPLICATION{self.suffix}.md",
            "page": f"{self.directory}/report{self.suffix}.html",
        }

    @property
    def record(self) -> dict[str, Any]:
        """What the run is, for its provenance."""
        cells = {name: digest([cell.data, cell.fit]) for name, cell in self.cells.items()}
        record = {"name": self.run, "overrides": list(self.overrides), "cells": digest(cells)}
        drawn = [s.settings["protocol"] for s in self.studies.values() if s.settings.get("alpha")]
        if drawn:  # a study may have settings of its own: the one that most of them share
            record["protocol"] = max(drawn, key=drawn.count)
        return record | (
            {"specifications": digest(self.specifications)} if self.specifications else {}
        )

    @property
    def benchmarks(self) -> dict[str, list[str]]:
        """Benchmark files by kind of job; fits by kind of study, since they cost the most."""
        root = f"{self.directory}/benchmarks"
        files = {"data": [f"{root}/data/{name}.tsv" for name in self.datasets]}
        for cell in self.cells.values():
            kind = f"fit {cell.model}, {cell.labels['data']}, {cell.labels['sweep']}"
            files.setdefault(kind, []).append(f"{root}/fit/{cell.name}.tsv")
        files["specification"] = [
            f"{root}/specifications/{name}.tsv" for name in self.specifications
        ]
        files["score"] = [f"{root}/score/{name}.tsv" for name in self.scored]
        return files
