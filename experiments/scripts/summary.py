"""Snakemake script: what the run was, what it cost, and the hash of every table."""

from experiments.jobs import logged
from experiments.summary import write_summary

with logged(snakemake.log[0]):
    write_summary(
        snakemake.params.run,
        tables=list(snakemake.input.tables),
        benchmarks=snakemake.params.benchmarks,
        provenance=snakemake.output.provenance,
        cost=snakemake.output.cost,
        captions=(snakemake.params.captions, snakemake.output.captions),
        facts=(list(snakemake.input.facts), snakemake.output.facts),
        about=(snakemake.params.started, snakemake.output.run),
    )
