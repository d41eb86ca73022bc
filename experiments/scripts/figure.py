"""Draw the figure of one study and write its numbers beside it."""

from experiments.figures import draw
from experiments.io import logged

with logged(snakemake.log[0]):
    draw(
        snakemake.wildcards.picture,
        snakemake.params.study,
        table=snakemake.input.table,
        fits=list(snakemake.input.fits),
        data=list(snakemake.input.data),
        outputs=list(snakemake.output),
    )
