"""Snakemake script: the small experiments under one reading, judged."""

from experiments.jobs import specification_job

specification_job(snakemake.params.spec, snakemake.output[0], snakemake.log[0])
