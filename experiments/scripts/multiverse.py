"""Snakemake script: the verdicts under all readings, as one table."""

from experiments.jobs import multiverse_job

multiverse_job(
    snakemake.params.universes, snakemake.input.files, snakemake.output[0], snakemake.log[0]
)
