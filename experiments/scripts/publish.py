"""Snakemake script: copy the figures of the full run, and the tables behind them, to figures/."""

import shutil

from experiments.jobs import logged

with logged(snakemake.log[0]) as report:
    for source, target in zip(snakemake.input, snakemake.output, strict=True):
        shutil.copyfile(source, target)
        report(f"{source} -> {target}")
