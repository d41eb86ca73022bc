"""Snakemake script: the verdict on the run, as text and as a page, and what it changes."""

from experiments.report import verdict_job

verdict_job(
    snakemake.input.files,
    snakemake.output.text,
    snakemake.output.page,
    snakemake.log[0],
    # only the paper's own run is tracked
    committed="figures/claims.csv" if snakemake.output.text == "REPLICATION.md" else None,
)
