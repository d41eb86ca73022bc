"""Simulate one candidate of the search again, with other seeds."""

import pandas as pd

from experiments.inference.naming import confirm_printed, confirm_sentences
from experiments.inference.summary import candidate
from experiments.io import load_table, logged, save_table

confirm = {"printed": confirm_printed, "sentences": confirm_sentences}
with logged(snakemake.log[0]) as report:
    kind, rank = snakemake.wildcards.kind, int(snakemake.wildcards.rank)
    design = snakemake.params.design
    row = candidate(load_table(snakemake.input[0])[0], kind, rank, design)
    report(f"rank {rank}: {row}")
    found = pd.DataFrame([confirm[kind](row, design, report)])
    save_table(snakemake.output[0], found, {"kind": kind, "rank": rank})
