"""Snakemake script: draw the README's example."""

from experiments.config import resolve
from experiments.jobs import logged

with logged(snakemake.log[0]) as report:
    resolve("experiments.figures.readme_example.draw")(snakemake.output[0], report)
