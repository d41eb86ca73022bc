"""Snakemake script: the report on the run, as text and as a page, and what it changes."""

from pathlib import Path

from experiments.io import logged
from experiments.report import write_report

# only the paper's own run is tracked; README.md is not an output: only a part of it is generated,
# nor is docs/findings.md, which needs more tables than a run may have
tracked = snakemake.output.text == "REPLICATION.md"
# the study of unstated settings has a target of its own; its published files are read, if any
extra = sorted(Path("figures").glob("inference.*")) if tracked else []
with logged(snakemake.log[0]) as report:
    write_report(
        [*snakemake.input.files, *extra],
        snakemake.output.text,
        snakemake.output.page,
        readme="README.md" if tracked else None,
        findings="docs/findings.md" if tracked else None,
        committed="figures/claims.csv" if tracked else None,
        log=report,
    )
