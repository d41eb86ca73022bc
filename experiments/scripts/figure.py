"""Snakemake script: draw the figure of one study and write its numbers beside it."""

from experiments.jobs import logged
from experiments.lookup import resolve

with logged(snakemake.log[0]):
    draw = resolve("experiments.figures.draw")
    draw(
        snakemake.wildcards.study,
        snakemake.params.study,
        table=snakemake.input.table,
        fits=list(snakemake.input.fits),
        data=list(snakemake.input.data),
        outputs=list(snakemake.output),
    )
