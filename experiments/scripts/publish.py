"""Copy figures, tables and records to the gallery."""

import shutil

from experiments.io import atomic, logged

with logged(snakemake.log[0]) as report:
    for source, target in zip(snakemake.input, snakemake.output, strict=True):
        with atomic(target) as part:
            shutil.copyfile(source, part)
        report(f"{source} -> {target}")
