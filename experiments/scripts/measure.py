"""Do one job of a study that is measured by jobs of its own."""

from experiments.io import logged, save_table
from experiments.measured import Measured

with logged(snakemake.log[0]) as report:
    part, design = dict(snakemake.params.part), dict(snakemake.params.design)
    table = Measured(snakemake.wildcards.kind, design).measure(part, design, report)
    save_table(snakemake.output[0], table, {"part": part, "design": design})
