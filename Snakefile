# The replication: data -> fit -> score -> figure, claims -> verdict.
#
#   conf/                what is run: one file per family, kind of data, model and study
#   experiments/     what the rules do, as functions that are tested without Snakemake
#   experiments/*.py     the scripts of the rules; experiments/figures the drawing
#   profiles/default/    settings of Snakemake itself
#   results/<run>/       data, fits, tables, figures, logs, benchmarks of a run
#   figures/             the figures of the full run, tracked
#
#   snakemake --cores 8                                                     the paper
#   snakemake --cores 8 --config study=fig2                                 one study of it
#   snakemake --cores 8 --config study=fig2 'overrides=[replicates=3]'      an ablation, kept apart
#   snakemake --report workflow.html                                        Snakemake's own page of jobs and files

import os
import sys
import time

from snakemake.logging import logger
from snakemake.utils import min_version

# `experiments` is not installed: this process and its jobs find it beside the Snakefile.
sys.path.insert(0, workflow.basedir)
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [workflow.basedir, os.environ.get("PYTHONPATH")])
)

from experiments.planning import make_plan
from experiments.progress import calm, duration, note_start, watch

min_version("9.0")


# Read only with --software-deployment-method apptainer; `make env` is the way to the environment.
container: "docker://python:3.11-slim"


PLAN = make_plan(config.get("study", "paper"), config.get("overrides"), config.get("run"))
OUT = PLAN.directory
STARTED = time.time()
print(PLAN.notice, end="", file=sys.stderr)
config["kgl"] = {
    "run": PLAN.run,
    "studies": len(PLAN.studies),
    "cells": len(PLAN.cells),
    "overrides": " ".join(PLAN.overrides),
}


report: "experiments/report/workflow.rst"


wildcard_constraints:
    study="|".join(PLAN.studies),
    files="|".join(PLAN.facts),
    dataset="[^/]+/[^/]+",
    model="[^/]+",
    specification="[^/]+",


onstart:
    print(
        f"[kgl] run {PLAN.run}: {len(PLAN.cells)} cells of {', '.join(PLAN.studies)} -> {OUT}"
    )
    calm(logger)
    note_start(f"{OUT}/logs/started")
    if workflow.local_exec:
        # Snakemake looks at its queue once a second for every job started so far: after several
        # hundred jobs that takes a core. The limit it is for is meant for clusters.
        workflow.scheduler.job_rate_limiter = None
    watch(PLAN, [path for job in workflow.dag.needrun_jobs() for path in job.output])


onsuccess:
    print(f"[kgl] run {PLAN.run} done in {duration(time.time() - STARTED)}: {OUT}/figures")
    if PLAN.verdict:
        print(f"[kgl] the verdict: {PLAN.verdict['text']}; to read it: {PLAN.verdict['page']}")
    print(PLAN.notice, end="")


onerror:
    print(
        f"[kgl] run {PLAN.run} failed after {duration(time.time() - STARTED)}; what was computed is kept:"
    )
    print(f"[kgl] mend the cause and run the same command again. Logs: {OUT}/logs")


rule all:
    input:
        expand(f"{OUT}/figures/{{study}}.{{kind}}", study=PLAN.studies, kind=["png", "pdf", "csv"]),
        f"{OUT}/provenance/{PLAN.name}{PLAN.suffix}.json",
        PLAN.claims,
        list(PLAN.published),
        # Intermediate files too: one that was removed because it was corrupt is made again, instead
        # of a run that reports success without it.
        expand(f"{OUT}/data/{{dataset}}.npz", dataset=PLAN.datasets),
        expand(f"{OUT}/fits/{{cell}}.npz", cell=PLAN.cells),
        expand(f"{OUT}/specifications/{{specification}}.parquet", specification=PLAN.specifications),
        expand(f"{OUT}/tables/{{table}}.parquet", table=PLAN.studies),
        list(PLAN.judged.values()),
        list(PLAN.verdict.values()),


rule data:
    input:
        src=lambda w: PLAN.data_code(w.dataset),
    output:
        f"{OUT}/data/{{dataset}}.npz",
    log:
        f"{OUT}/logs/data/{{dataset}}.log",
    benchmark:
        f"{OUT}/benchmarks/data/{{dataset}}.tsv"
    retries: 1
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        spec=lambda w: PLAN.datasets[w.dataset],
    script:
        "experiments/scripts/data.py"


rule fit:
    input:
        data=f"{OUT}/data/{{dataset}}.npz",
        src=lambda w: PLAN.fit_code(f"{w.dataset}/{w.model}"),
    output:
        f"{OUT}/fits/{{dataset}}/{{model}}.npz",
    log:
        f"{OUT}/logs/fit/{{dataset}}/{{model}}.log",
    benchmark:
        f"{OUT}/benchmarks/fit/{{dataset}}/{{model}}.tsv"
    retries: 1
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        spec=lambda w: PLAN.cells[f"{w.dataset}/{w.model}"].fit,
    script:
        "experiments/scripts/fit.py"


rule score:
    input:
        fits=lambda w: PLAN.fits(w.study),
        src=PLAN.code("score"),
    output:
        f"{OUT}/tables/{{study}}.parquet",
    log:
        f"{OUT}/logs/score/{{study}}.log",
    benchmark:
        f"{OUT}/benchmarks/score/{{study}}.tsv"
    wildcard_constraints:
        study="|".join(PLAN.scored) or "-",
    retries: 1
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        labels=lambda w: PLAN.labels(w.study),
        score=lambda w: PLAN.score(w.study),
    script:
        "experiments/scripts/score.py"


rule specification:
    input:
        src=PLAN.specification_code(),
    output:
        f"{OUT}/specifications/{{study}}/{{specification}}.parquet",
    log:
        f"{OUT}/logs/specifications/{{study}}/{{specification}}.log",
    benchmark:
        f"{OUT}/benchmarks/specifications/{{study}}/{{specification}}.tsv"
    retries: 1
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        spec=lambda w: PLAN.specifications[f"{w.study}/{w.specification}"],
    script:
        "experiments/scripts/specification.py"


rule specifications:
    input:
        files=lambda w: PLAN.specification_files(w.study),
    output:
        f"{OUT}/tables/{{study}}.parquet",
    log:
        f"{OUT}/logs/specifications/{{study}}.log",
    wildcard_constraints:
        study="|".join(PLAN.specification_studies) or "-",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        specifications=lambda w: PLAN.studies[w.study].config["specifications"],
    script:
        "experiments/scripts/specifications.py"


rule figure:
    input:
        table=f"{OUT}/tables/{{study}}.parquet",
        fits=lambda w: PLAN.drawn(w.study, "fits"),
        data=lambda w: PLAN.drawn(w.study, "data"),
        src=lambda w: PLAN.figure_code(w.study),
    output:
        report(
            f"{OUT}/figures/{{study}}.png",
            caption="experiments/report/figure.rst",
            category="Figures",
            subcategory=lambda w: PLAN.title(w.study),
            labels={"shown as": "picture"},
        ),
        report(
            f"{OUT}/figures/{{study}}.csv",
            caption="experiments/report/figure.rst",
            category="Figures",
            subcategory=lambda w: PLAN.title(w.study),
            labels={"shown as": "table"},
        ),
        f"{OUT}/figures/{{study}}.pdf",
    log:
        f"{OUT}/logs/figure/{{study}}.log",
    benchmark:
        f"{OUT}/benchmarks/figure/{{study}}.tsv"
    retries: 1
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        study=lambda w: PLAN.figure(w.study),
        caption=lambda w: PLAN.studies[w.study].caption,
    script:
        "experiments/scripts/figure.py"


rule facts:
    input:
        src=PLAN.code("facts"),
    output:
        f"{OUT}/tables/facts-{{files}}.parquet",
    log:
        f"{OUT}/logs/facts-{{files}}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        about=lambda w: PLAN.facts[w.files],
    script:
        "experiments/scripts/facts.py"


rule claims:
    input:
        tables=list(PLAN.judged.values()),
        src=PLAN.code("claims"),
    output:
        report(f"{OUT}/claims/{{name}}.csv", category="Claims", labels={"table": "claims"}),
    log:
        f"{OUT}/logs/claims/{{name}}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        tables=PLAN.judged,
        simulated=PLAN.ledger["simulated"],
        labels=PLAN.ledger["labels"],
    script:
        "experiments/scripts/claims.py"


rule summary:
    input:
        tables=expand(f"{OUT}/tables/{{study}}.parquet", study=PLAN.studies),
        # last, since it says how long all took
        pictures=expand(f"{OUT}/figures/{{study}}.png", study=PLAN.studies),
        facts=expand(f"{OUT}/tables/facts-{{files}}.parquet", files=PLAN.facts),
    output:
        provenance=f"{OUT}/provenance/{PLAN.name}{PLAN.suffix}.json",
        captions=f"{OUT}/captions/{PLAN.name}{PLAN.suffix}.json",
        run=f"{OUT}/run/{PLAN.name}{PLAN.suffix}.json",
        facts=f"{OUT}/facts/{PLAN.name}{PLAN.suffix}.csv",
        cost=report(
            f"{OUT}/jobs/{PLAN.name}{PLAN.suffix}.csv",
            category="The run",
            labels={"table": "jobs"},
        ),
    log:
        f"{OUT}/logs/summary.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        run=PLAN.record,
        benchmarks=PLAN.benchmarks,
        captions=PLAN.captions,
        started=f"{OUT}/logs/started",
    script:
        "experiments/scripts/summary.py"


rule example:
    input:
        src=PLAN.code("example"),
    output:
        f"{OUT}/figures/readme_stations.png",
    log:
        f"{OUT}/logs/example.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    script:
        "experiments/scripts/example.py"


rule publish:
    input:
        list(PLAN.published.values()),
    output:
        list(PLAN.published),
    log:
        f"{OUT}/logs/publish.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    script:
        "experiments/scripts/publish.py"


if PLAN.verdict:

    rule verdict:
        input:
            files=list(PLAN.published),
            src=PLAN.code("verdict"),
        output:
            text=PLAN.verdict["text"],
            page=report(PLAN.verdict["page"], category="Verdict", labels={"shown as": "page"}),
        log:
            f"{OUT}/logs/verdict.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        script:
            "experiments/scripts/verdict.py"
