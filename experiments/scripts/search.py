"""Judge every specification by the printed numbers and the sentences."""

from pathlib import Path

from experiments.inference.summary import search
from experiments.io import load_arrays, logged, save_table

with logged(snakemake.log[0]) as report:
    arrays = {
        Path(path).name.removesuffix(".npz"): load_arrays(path)[0] for path in snakemake.input
    }
    table = search(arrays, snakemake.params.design)
    report(f"{len(table)} rows from {len(arrays)} jobs")
    save_table(snakemake.output[0], table, dict(snakemake.params.design))
