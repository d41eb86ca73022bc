# The replication: data -> fit -> score -> figure, claims -> report.
#
#   snakemake --cores 8                                                  the paper
#   snakemake --cores 8 --config protocol=described                      under one protocol, in results/paper-described
#   snakemake --cores 8 --config study=fig2                              one study of it, under each of its protocols
#   snakemake --cores 8 --config study=fig2 protocol=printed             under one of them
#   snakemake --cores 8 --config study=fig2 'overrides=[replicates=3]'   an ablation, in its own directory
#   snakemake --report workflow.html                                     Snakemake's page of jobs and files
#
# conf/ describes what is run, experiments/ what the rules do, profiles/default how Snakemake runs.

import sys
import time
from pathlib import Path

from snakemake.logging import logger
from snakemake.utils import min_version

min_version("9.0")
# `experiments` is not installed: it lies beside the Snakefile.
sys.path.insert(0, workflow.basedir)

from experiments import publish
from experiments.dependencies import data_sources, fingerprint, fit_sources, sources
from experiments.io import only_run, sweep
from experiments.lookup import importable_by_jobs
from experiments.measured import KINDS
from experiments.plan import plan_of_config
from experiments.progress import calm, duration, watch

importable_by_jobs()
PLAN = plan_of_config(config)
OUT = PLAN.directory
NAME = f"{PLAN.name}{PLAN.suffix}"
CELLS = {name: study.cells for name, study in PLAN.studies.items()}
DESIGNS = publish.designs(PLAN)
MEASURED = publish.measured_studies(PLAN)
PICTURES = publish.pictures(PLAN)
CLAIMS = publish.claim_tables(PLAN)
PUBLISHED = publish.published(PLAN)
REPORT = publish.report_files(PLAN)
PAGE = publish.page(PLAN)
STARTED = time.time()
print(PLAN.notice, end="", file=sys.stderr)


report: "experiments/report/workflow.rst"


wildcard_constraints:
    study="|".join(PLAN.studies),
    picture="|".join(PICTURES),
    files="|".join(PLAN.facts),
    group="[^/]+",
    level="[^/]+",


onstart:
    print(
        f"[kgl] run {PLAN.run}: {len(PLAN.cells)} cells of {', '.join(PLAN.studies)} -> {OUT}"
    )
    only_run("results/.running")
    sweep("results", "figures")
    calm(logger)
    Path(OUT, "logs").mkdir(parents=True, exist_ok=True)
    Path(OUT, "logs/started").write_text(f"{STARTED:.0f}\n")
    watch(PLAN, [path for job in workflow.dag.needrun_jobs() for path in job.output])


onsuccess:
    print(f"[kgl] run {PLAN.run} done in {duration(time.time() - STARTED)}: {OUT}/figures")
    if REPORT:
        print(f"[kgl] the verdict: {REPORT['text']}, and as a page: {REPORT['page']}")
    print(PLAN.notice, end="")


onerror:
    print(
        f"[kgl] run {PLAN.run} stopped after {duration(time.time() - STARTED)}; results are kept"
    )
    print(f"[kgl] fix the error and rerun the same command. Logs: {OUT}/logs")


rule all:
    input:
        expand(f"{OUT}/figures/{{name}}.{{kind}}", name=PICTURES, kind=["png", "pdf", "csv"]),
        f"{OUT}/provenance/{NAME}.json",
        f"{OUT}/claims/{NAME}.csv" if CLAIMS else [],
        list(PUBLISHED),
        publish.sums(PLAN),
        list(REPORT.values()),
        PAGE.get("text", []),
        # Intermediate files too: a corrupt one that was removed is made again, instead of a run
        # that reports success without it.
        expand(f"{OUT}/data/{{group}}.npz", group=PLAN.groups),
        expand(f"{OUT}/fits/{{dataset}}.npz", dataset=PLAN.datasets),
        expand(f"{OUT}/tables/{{table}}.parquet", table=CELLS),
        list(CLAIMS.values()),
        [path for study in DESIGNS for path in publish.simulated_parts(PLAN, study)],
        [path for study in MEASURED for path in publish.measured_parts(PLAN, study)],
    localrule: True


# All levels of one kind of data in one job: drawing them takes less than the start of a process.
rule data:
    output:
        f"{OUT}/data/{{group}}.npz",
    log:
        f"{OUT}/logs/data/{{group}}.log",
    benchmark:
        f"{OUT}/benchmarks/data/{{group}}.tsv"
    params:
        specs=lambda w: PLAN.groups[w.group],
        code=lambda w: fingerprint(data_sources(*PLAN.groups[w.group].values())),
    script:
        "experiments/scripts/data.py"


# All models of a dataset in one job: most fits are shorter than the start of a process. Each model's
# fit is also kept in results/.fits, so a job that runs again fits only what changed.
rule fit:
    input:
        data=f"{OUT}/data/{{group}}.npz",
    output:
        f"{OUT}/fits/{{group}}/{{level}}.npz",
    log:
        f"{OUT}/logs/fit/{{group}}/{{level}}.log",
    benchmark:
        f"{OUT}/benchmarks/fit/{{group}}/{{level}}.tsv"
    params:
        models=lambda w: {
            cell.model: {"fit": cell.fit, "code": fingerprint(fit_sources(cell.fit))}
            for cell in PLAN.datasets[f"{w.group}/{w.level}"]
        },
        kept="results/.fits",
    script:
        "experiments/scripts/fit.py"


rule score:
    input:
        files=lambda w: publish.scored(PLAN, w.study),
    output:
        f"{OUT}/tables/{{study}}.parquet",
    log:
        f"{OUT}/logs/score/{{study}}.log",
    benchmark:
        f"{OUT}/benchmarks/score/{{study}}.tsv"
    wildcard_constraints:
        study="|".join(name for name in PLAN.studies if name not in {**DESIGNS, **MEASURED})
        or "none",
    params:
        cells=lambda w: [(cell.dataset, cell.labels) for cell in CELLS[w.study]],
        score=lambda w: PLAN.studies[w.study].score,
        code=fingerprint(sources("score")),
    script:
        "experiments/scripts/score.py"


include: "experiments/inference/rules.smk"
include: "experiments/measured.smk"


rule figure:
    input:
        table=lambda w: f"{OUT}/tables/{PICTURES[w.picture][0]}.parquet",
        fits=lambda w: publish.arrays(PLAN, PICTURES[w.picture][0], "fits"),
        data=lambda w: publish.arrays(PLAN, PICTURES[w.picture][0], "data"),
    output:
        report(
            f"{OUT}/figures/{{picture}}.png",
            caption="experiments/report/figure.rst",
            category="Figures",
            subcategory=lambda w: PICTURES[w.picture][1].config["title"],
        ),
        f"{OUT}/figures/{{picture}}.csv",
        f"{OUT}/figures/{{picture}}.pdf",
    log:
        f"{OUT}/logs/figure/{{picture}}.log",
    benchmark:
        f"{OUT}/benchmarks/figure/{{picture}}.tsv"
    params:
        study=lambda w: publish.drawn(PLAN, w.picture),
        caption=lambda w: PICTURES[w.picture][1].caption,
        looks=lambda w: publish.looks(PLAN, PICTURES[w.picture][0]),
        code=lambda w: fingerprint(
            sources("figure", f"experiments.figures.{PICTURES[w.picture][1].config['figure']}")
        ),
    script:
        "experiments/scripts/figure.py"


rule facts:
    output:
        f"{OUT}/tables/facts-{{files}}.parquet",
    log:
        f"{OUT}/logs/facts/{{files}}.log",
    # seconds, less than a cluster takes to start a job
    localrule: True
    params:
        about=lambda w: PLAN.facts[w.files],
        code=fingerprint(sources("facts")),
    script:
        "experiments/scripts/facts.py"


rule claims:
    input:
        tables=list(CLAIMS.values()),
    output:
        f"{OUT}/claims/{{name}}.csv",
    log:
        f"{OUT}/logs/claims/{{name}}.log",
    localrule: True
    params:
        tables=CLAIMS,
        simulated=publish.simulated(PLAN),
        looks=[publish.looks(PLAN, study) for study in PLAN.studies],
        code=fingerprint(sources("claims")),
    script:
        "experiments/scripts/claims.py"


rule summary:
    input:
        tables=expand(f"{OUT}/tables/{{study}}.parquet", study=CELLS),
        # last, since it records how long everything took
        pictures=expand(f"{OUT}/figures/{{name}}.png", name=PICTURES),
        facts=expand(f"{OUT}/tables/facts-{{files}}.parquet", files=PLAN.facts),
    output:
        provenance=f"{OUT}/provenance/{NAME}.json",
        captions=f"{OUT}/captions/{NAME}.json",
        run=f"{OUT}/run/{NAME}.json",
        facts=f"{OUT}/facts/{NAME}.csv",
        cost=f"{OUT}/jobs/{NAME}.csv",
    log:
        f"{OUT}/logs/summary.log",
    localrule: True
    params:
        run=publish.record(PLAN),
        benchmarks=publish.benchmarks(PLAN),
        captions=publish.captions(PLAN),
        started=f"{OUT}/logs/started",
    script:
        "experiments/scripts/summary.py"


rule example:
    output:
        f"{OUT}/figures/{publish.EXAMPLE}",
    log:
        f"{OUT}/logs/example.log",
    benchmark:
        f"{OUT}/benchmarks/example/readme.tsv"
    params:
        code=fingerprint(sources("example")),
    script:
        "experiments/scripts/example.py"


rule publish:
    input:
        list(PUBLISHED.values()),
    output:
        # tracked files: Snakemake would delete plain outputs first, and lose them if the job fails
        shown=update(list(PUBLISHED)),
        sums=update(publish.sums(PLAN)),
    log:
        f"{OUT}/logs/publish.log",
    localrule: True
    script:
        "experiments/scripts/publish.py"


if REPORT:

    rule verdict:
        input:
            files=list(PUBLISHED),
            sums=publish.sums(PLAN),
            templates=sorted(map(str, Path("experiments/report").glob("*.[cj]*"))),
            # made by a target of its own, and read from figures/
            inference=sorted(map(str, Path("figures").glob("inference.*"))),
        output:
            **{name: update(path) for name, path in REPORT.items()},
        log:
            f"{OUT}/logs/verdict.log",
        localrule: True
        params:
            code=fingerprint(sources("verdict")),
        script:
            "experiments/scripts/verdict.py"
