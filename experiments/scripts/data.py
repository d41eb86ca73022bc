"""Draw the datasets of one kind: every level, all replicates."""

from collections.abc import Iterator
from typing import Any

from experiments.datasets.synthetic import build
from experiments.io import logged, save_arrays

with logged(snakemake.log[0]) as report:

    def drawn() -> Iterator[tuple[str, Any]]:
        """Yield the arrays of one level after the other, so that one is in memory at a time."""
        for level, spec in snakemake.params.specs.items():
            report(f"{level}:")
            yield from ((f"{level}/{name}", array) for name, array in build(spec, report).items())

    save_arrays(snakemake.output[0], drawn(), dict(snakemake.params.specs))
