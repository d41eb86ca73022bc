"""Render a page of docs/ from the published table of a study."""

from experiments.io import atomic, logged
from experiments.lookup import resolve

with logged(snakemake.log[0]), atomic(snakemake.output[0]) as part:
    text_of = resolve(f"experiments.report.{snakemake.params.kind}.text_of")
    part.write_text(text_of(snakemake.input[0]), encoding="utf-8")
