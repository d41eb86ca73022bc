"""Snakemake script: choose grid points and write the table of one study."""

from experiments.jobs import score_job

score_job(
    snakemake.wildcards.study,
    list(snakemake.input.fits),
    snakemake.params.labels,
    snakemake.params.score,
    snakemake.output[0],
    snakemake.log[0],
)
