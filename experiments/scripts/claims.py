"""Snakemake script: judge the claims of the paper from the tables of the run."""

from experiments.claims import judge, to_table
from experiments.claims.specifications import specifications
from experiments.io import load_table, logged, save_csv

with logged(snakemake.log[0]) as report:
    # claims about real data are not evaluated where simulated data replace them
    tables = {
        name: None if name in snakemake.params.simulated else load_table(path)[0]
        for name, path in snakemake.params.tables.items()
    }
    judged = judge(specifications(tables))
    for one in judged:
        if one.default:
            held = f"{one.held} of {len(one.criteria)}"
            report(f"{one.claim.id}: {one.verdict.label}, {held}. {one.claim.statement}")
    save_csv(snakemake.output[0], to_table(judged))
