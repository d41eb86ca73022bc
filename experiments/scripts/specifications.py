"""Snakemake script: the verdicts under all readings, as one table."""

from experiments.jobs import specifications_job

specifications_job(
    snakemake.params.specifications, snakemake.input.files, snakemake.output[0], snakemake.log[0]
)
