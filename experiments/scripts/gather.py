"""Write the table of a study that is measured by jobs of its own."""

from pathlib import Path
from typing import Any

import pandas as pd

from experiments.io import load_table, logged, save_table

#: What tells the rows of a job apart, where it has it.
NAMES = ("method", "table", "rule", "model", "seed", "replicate")

with logged(snakemake.log[0]) as report:
    parts = {Path(path).stem: load_table(path)[0] for path in snakemake.input}
    table = pd.concat(parts.values(), ignore_index=True)
    # rows of numbers that cannot fail have no message
    failed = table["error"].fillna("") != ""
    report(f"{len(table)} rows, {int(failed.sum())} of them failed")
    for name, part in parts.items():
        rows: list[Any] = part[part["error"].fillna("") != ""].to_dict("records")
        for row in rows:
            about = " ".join(f"{row[key]}" for key in NAMES if pd.notna(row.get(key)))
            report(f"{name} {about}: {row['error']}")
    settings = {"design": dict(snakemake.params.design), "study": snakemake.wildcards.study}
    save_table(snakemake.output[0], table, settings)
