"""Snakemake script: draw one dataset."""

from experiments.jobs import data_job

data_job(snakemake.params.spec, snakemake.output[0], snakemake.log[0])
