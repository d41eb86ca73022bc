"""What a run publishes: pictures, tables and records for ``figures/``, and its report."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from experiments.cells import Study
from experiments.claims.specifications import FACTS, STUDIES
from experiments.inference.design import load_design, parts
from experiments.io import digest
from experiments.measured import BESIDE, KINDS, PAGES, Measured, measured
from experiments.plan import Plan
from experiments.registry import model
from experiments.sums import SUMS

__all__ = [
    "EXAMPLE", "arrays", "benchmarks", "captions", "claim_tables", "designs", "drawn", "looks",
    "measured_parts", "measured_studies", "page", "pictures", "published", "record",
    "report_files", "scored", "simulated", "simulated_parts", "sums",
]  # fmt: skip

#: The picture of the README's example.
EXAMPLE = "readme_stations.png"
#: Studies that are no part of the paper's run, but are published too.
APART = ("inference", *KINDS, *BESIDE)
#: What is written about a run as a whole, and in which format.
RECORDS = {"provenance": "json", "captions": "json", "run": "json", "jobs": "csv",
           "facts": "csv", "claims": "csv"}  # fmt: skip


def claim_tables(plan: Plan) -> dict[str, str]:
    """Return the tables that claims are judged by; single studies and previews are not judged."""
    if not plan.collection or any("notice" in s.settings for s in plan.studies.values()):
        return {}
    root = f"{plan.directory}/tables"
    tables = {s.name: f"{root}/{key}.parquet" for key, s in plan.studies.items()
              if s.option in STUDIES}  # fmt: skip
    facts = {f"{FACTS}-{about['files']}": key for key, about in plan.facts.items()}
    return tables | {name: f"{root}/{FACTS}-{key}.parquet" for name, key in facts.items()}


def simulated(plan: Plan) -> list[str]:
    """Return the studies and tables of facts that are made from simulated data."""
    facts = [f"{FACTS}-{a['files']}" for a in plan.facts.values() if a["source"] != "real"]
    return [study.name for study in plan.studies.values() if study.simulated] + facts


def designs(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return the designs of the studies of unstated settings, by study."""
    named = {name: study.config.get("inference") for name, study in plan.studies.items()}
    return {name: load_design(design) for name, design in named.items() if design}


def simulated_parts(plan: Plan, study: str) -> list[str]:
    """Return the files of the simulations of a study of unstated settings."""
    design = plan.studies[study].config.get("inference")
    names = parts(load_design(design)) if design else {}
    return [f"{plan.directory}/inference/{study}/simulated/{name}.npz" for name in names]


def measured_studies(plan: Plan) -> dict[str, Measured]:
    """Return the studies that are measured by jobs of their own, by name."""
    found = {name: measured(study.config) for name, study in plan.studies.items()}
    return {name: one for name, one in found.items() if one is not None}


def measured_parts(plan: Plan, study: str) -> list[str]:
    """Return the files of the jobs of such a study."""
    found = measured(plan.studies[study].config)
    if found is None:
        return []
    return [f"{plan.directory}/{found.kind}/{study}/{name}.parquet" for name in found.parts]


def pictures(plan: Plan) -> dict[str, tuple[str, Study]]:
    """Return the pictures of a run: from which study, and that study as it is drawn there.

    A study has one of its own name, and those that it has under ``more``.
    """
    found = {}
    for name, study in plan.studies.items():
        found[name] = (name, study)
        for key, other in study.config.get("more", {}).items():
            found[f"{name}_{key}"] = (name, replace(study, config={**study.config, **other}))
    return found


def scored(plan: Plan, study: str) -> list[str]:
    """Return the files that the table of a study is made from: fits, jobs of it, or tables."""
    found = [f"fits/{cell.dataset}.npz" for cell in plan.studies[study].cells]
    compared = plan.studies[study].config.get("tables", ())
    found += [f"tables/{n}.parquet" for n, s in plan.studies.items() if s.option in compared]
    found = [f"{plan.directory}/{name}" for name in dict.fromkeys(found)]
    return found + simulated_parts(plan, study) + measured_parts(plan, study)


def arrays(plan: Plan, study: str, kind: str) -> list[str]:
    """Return the files of arrays (``fits`` or ``data``) that a figure reads besides its table."""
    found = plan.studies[study]
    cells = found.cells if found.config.get("arrays") else ()
    names = [cell.dataset if kind == "fits" else cell.dataset.partition("/")[0] for cell in cells]
    return [f"{plan.directory}/{kind}/{name}.npz" for name in names]


def drawn(plan: Plan, picture: str) -> dict[str, Any]:
    """Return what a figure needs of its study."""
    found = pictures(plan)[picture][1]
    labels = [cell.labels for cell in found.cells]
    known = {"config": found.config, "settings": found.settings, "simulated": found.simulated}
    return {**known, "labels": labels, "protocol": found.protocol}


def looks(plan: Plan, study: str) -> dict[str, Any]:
    """Return the label and look of each model of a study: a change of these draws it again."""
    return {cell.model: asdict(model(cell.model)) for cell in plan.studies[study].cells}


def _gallery(plan: Plan) -> str:
    """Return where pictures and tables are shown: ``figures/`` for a run as it is committed."""
    tracked = plan.name == plan.run and plan.run in ("paper", *APART)
    return "figures" if tracked else f"{plan.directory}/gallery"


def published(plan: Plan) -> dict[str, str]:
    """Return the files of the gallery, from where; a single study, or overrides, have none."""
    if plan.overrides or not (plan.collection or plan.name in APART):
        return {}
    out = plan.directory
    files = {f"{n}.{kind}": f"{out}/figures/{n}.{kind}" for n in pictures(plan)
             for kind in ("png", "csv")}  # fmt: skip
    # a row per replicate, so that every interval can be computed again
    files |= {f"{n}.parquet": f"{out}/tables/{n}.parquet" for n in plan.studies}
    if not plan.collection:
        return {f"{_gallery(plan)}/{name}": source for name, source in files.items()}
    files[EXAMPLE] = f"{out}/figures/{EXAMPLE}"
    absent = {"claims": not claim_tables(plan), "facts": not plan.facts}
    for kind, end in RECORDS.items():
        if not absent.get(kind):
            files[f"{kind}{plan.suffix}.{end}"] = f"{out}/{kind}/{plan.name}{plan.suffix}.{end}"
    return {f"{_gallery(plan)}/{name}": source for name, source in files.items()}


def sums(plan: Plan) -> list[str]:
    """Return the list of checksums of the gallery, if there is one."""
    return [f"{_gallery(plan)}/{SUMS}"] if published(plan) else []


def report_files(plan: Plan) -> dict[str, str]:
    """Return where the report is written: a text, tracked for the paper's own run, and a page."""
    if not published(plan) or not claim_tables(plan):
        return {}
    tracked = _gallery(plan) == "figures" and not plan.suffix
    text = "REPLICATION.md" if tracked else f"{plan.directory}/REPLICATION{plan.suffix}.md"
    return {"text": text, "page": f"{plan.directory}/report{plan.suffix}.html"}


def page(plan: Plan) -> dict[str, str]:
    """Return the text of docs/ that a run renders from its table: its kind, table and name."""
    found = {
        kind: {"kind": kind, "table": f"figures/{kind}.parquet", "text": text}
        for kind, text in PAGES.items()
    }
    return found[plan.name] if found.get(plan.name, {}).get("table") in published(plan) else {}


def captions(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return title, caption and number in the paper of every figure."""
    found = {s.name: s for s in plan.studies.values()}
    found |= {name: s for name, (study, s) in pictures(plan).items() if name != study}
    return {
        name: {"title": s.config["title"], "caption": s.caption, "figure": s.number}
        for name, s in found.items()
    }


def record(plan: Plan) -> dict[str, Any]:
    """Return what the run is, for its provenance."""
    cells = {name: digest([cell.data, cell.fit]) for name, cell in plan.cells.items()}
    found: dict[str, Any] = {"name": plan.run, "overrides": list(plan.overrides)}
    found["cells"] = digest(cells)
    protocols: dict[str, Any] = {}
    for name in dict.fromkeys(s.protocol for s in plan.studies.values() if s.settings.get("alpha")):
        # a study may have settings that differ: those that most of them share
        drawn = [s.settings["protocol"] for s in plan.studies.values()
                 if s.protocol == name and s.settings.get("alpha")]  # fmt: skip
        protocols[name] = max(drawn, key=drawn.count)
    return {**found, "protocols": protocols}


def benchmarks(plan: Plan) -> dict[str, list[str]]:
    """Return benchmark files by kind of job; fits by kind of study, since they cost the most."""
    root = f"{plan.directory}/benchmarks"
    files = {"data": [f"{root}/data/{name}.tsv" for name in plan.groups]}
    for name, (cell, *_) in plan.datasets.items():
        kind = f"fit {cell.labels['data']}, {cell.labels['sweep']}"
        files.setdefault(kind, []).append(f"{root}/fit/{name}.tsv")
    files["simulation"] = [
        f"{root}/simulate/{study}/{part}.tsv"
        for study, design in designs(plan).items()
        for part in parts(design)
    ]
    for study, found in measured_studies(plan).items():
        own = [f"{root}/measure/{found.kind}/{study}/{part}.tsv" for part in found.parts]
        files.setdefault(f"measure {found.kind}", []).extend(own)
    files["score"] = [f"{root}/score/{n}.tsv" for n in plan.studies]
    return files
