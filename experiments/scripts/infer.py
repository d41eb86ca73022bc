"""Write the table of the study of unstated settings."""

import pandas as pd

from experiments.inference.summary import KINDS, conclude
from experiments.io import load_table, logged, save_table

with logged(snakemake.log[0]) as report:
    files = {kind: [f for f in snakemake.input.confirmed if f"/{kind}-" in f] for kind in KINDS}
    confirmed = {
        kind: pd.concat([load_table(path)[0] for path in paths], ignore_index=True)
        for kind, paths in files.items()
    }
    design = dict(snakemake.params.design)
    table = conclude(load_table(snakemake.input.search)[0], confirmed, design)
    named = table[table["table"] == "named"].dropna(axis=1, how="all")
    report(named.T.to_string())
    save_table(snakemake.output[0], table, {"design": design, "study": snakemake.wildcards.study})
