"""Draw one dataset: all replicates."""

from experiments.datasets.synthetic import build
from experiments.io import logged, save_arrays

with logged(snakemake.log[0]) as report:
    save_arrays(snakemake.output[0], build(snakemake.params.spec, report), snakemake.params.spec)
