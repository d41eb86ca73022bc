"""Snakemake script: what a real data set is, in numbers."""

from experiments.jobs import facts_job

facts_job(**snakemake.params.about, output=snakemake.output[0], log=snakemake.log[0])
