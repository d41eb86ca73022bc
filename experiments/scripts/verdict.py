"""Snakemake script: the report on the run, as text and as a page, and what it changes."""

from experiments.io import logged
from experiments.report import write_report

# only the paper's own run is tracked; README.md is not an output: only a part of it is generated
tracked = snakemake.output.text == "REPLICATION.md"
with logged(snakemake.log[0]) as report:
    write_report(
        snakemake.input.files,
        snakemake.output.text,
        snakemake.output.page,
        readme="README.md" if tracked else None,
        committed="figures/claims.csv" if tracked else None,
        log=report,
    )
