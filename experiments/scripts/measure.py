"""Measure all methods on one real table with one kind of gaps."""

from experiments.io import logged, save_table
from experiments.pays.measure import measure

with logged(snakemake.log[0]) as report:
    part, design = dict(snakemake.params.part), dict(snakemake.params.design)
    save_table(snakemake.output[0], measure(part, design, report), {"part": part, "design": design})
