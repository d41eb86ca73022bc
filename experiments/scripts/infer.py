"""Write the table of the study of unstated settings."""

from typing import Any

import pandas as pd

from experiments.inference.naming import confirm_printed, confirm_sentences
from experiments.inference.summary import KINDS, conclude, finish
from experiments.io import load_table, logged, save_table

with logged(snakemake.log[0]) as report:
    files = {kind: [f for f in snakemake.input.confirmed if f"/{kind}-" in f] for kind in KINDS}
    confirmed = {
        kind: pd.concat([load_table(path)[0] for path in paths], ignore_index=True)
        for kind, paths in files.items()
    }
    design = dict(snakemake.params.design)
    table = conclude(load_table(snakemake.input.search)[0], confirmed, design)
    last = {}
    rows: list[Any] = table[table["table"] == "named"].to_dict("records")
    for row in rows:
        report(f"{row['name']}: { ({name: row[name] for name in design['factors']}) }")
        last[row["name"]] = confirm_printed(row, design, report, seed="final") | confirm_sentences(
            row, design, report, seed="final"
        )
    table = finish(table, last)
    save_table(snakemake.output[0], table, {"design": design, "study": snakemake.wildcards.study})
