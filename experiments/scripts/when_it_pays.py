"""Render docs/when-it-pays.md from the published table."""

from experiments.io import atomic, logged
from experiments.report.pays import text_of

with logged(snakemake.log[0]), atomic(snakemake.output[0]) as part:
    part.write_text(text_of(snakemake.input[0]), encoding="utf-8")
