"""Simulate one job of the study of unstated settings."""

from experiments.inference.simulate import simulate
from experiments.io import logged, save_arrays

with logged(snakemake.log[0]) as report:
    part = dict(snakemake.params.part)
    save_arrays(snakemake.output[0], simulate(part, snakemake.params.design, report), part)
