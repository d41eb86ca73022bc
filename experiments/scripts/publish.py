"""Copy figures, tables and records to the gallery."""

import shutil
from pathlib import Path

from experiments.io import atomic, logged
from experiments.sums import save_sums

with logged(snakemake.log[0]) as report:
    for source, target in zip(snakemake.input, snakemake.output.shown, strict=True):
        with atomic(target) as part:
            shutil.copyfile(source, part)
        report(f"{source} -> {target}")
    for sums in snakemake.output.sums:
        save_sums(Path(sums).parent, [Path(target).name for target in snakemake.output.shown])
