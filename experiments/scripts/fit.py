"""Fit one model to one dataset, all replicates, and write its metrics."""

from experiments.fit import fit_cell
from experiments.io import load_arrays, logged, save_arrays

with logged(snakemake.log[0]) as report:
    arrays, record = load_arrays(snakemake.input.data)
    fitted = fit_cell(arrays, snakemake.params.spec, report)
    settings = {"data": record["settings"], "fit": dict(snakemake.params.spec)}
    save_arrays(snakemake.output[0], fitted, settings)
