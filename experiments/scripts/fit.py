"""Snakemake script: fit one model to one dataset."""

from experiments.jobs import fit_job

fit_job(snakemake.input.data, snakemake.params.spec, snakemake.output[0], snakemake.log[0])
