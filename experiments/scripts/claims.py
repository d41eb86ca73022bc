"""Snakemake script: judge the claims of the paper from the tables of the run."""

from experiments.jobs import claims_job

claims_job(
    snakemake.params.tables,
    snakemake.params.simulated,
    snakemake.params.labels,
    snakemake.output[0],
    snakemake.log[0],
)
