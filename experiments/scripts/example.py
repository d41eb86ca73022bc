"""Snakemake script: draw the README's example."""

from experiments.jobs import logged
from experiments.lookup import resolve

with logged(snakemake.log[0]) as report:
    resolve("experiments.figures.readme_example.draw")(snakemake.output[0], report)
