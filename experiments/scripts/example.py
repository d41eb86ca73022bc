"""Draw the README's example."""

from experiments.figures.readme_example import draw
from experiments.io import logged

with logged(snakemake.log[0]) as report:
    draw(snakemake.output[0], report)
