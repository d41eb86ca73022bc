"""Run the reduced experiments under one specification, and judge the claims."""

from experiments.io import logged, save_table
from experiments.specifications import judge_specification

with logged(snakemake.log[0]) as report:
    spec = dict(snakemake.params.spec)
    table = judge_specification(spec["collection"], spec["overrides"], report)
    for row in table.itertuples():
        report(f"{row.claim}: {row.verdict} ({row.held} of {row.criteria})")
    save_table(snakemake.output[0], table, spec)
