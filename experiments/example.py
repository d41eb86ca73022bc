"""Snakemake script: draw the README's example."""

from kgl.replication.config import resolve
from kgl.replication.jobs import logged

with logged(snakemake.log[0]) as report:
    resolve("experiments.readme_example.draw")(snakemake.output[0], report)
