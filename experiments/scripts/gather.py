"""Write the table of the study of real tables."""

from typing import Any

import pandas as pd

from experiments.io import load_table, logged, save_table

with logged(snakemake.log[0]) as report:
    table = pd.concat([load_table(path)[0] for path in snakemake.input], ignore_index=True)
    failed = table[table["error"] != ""]
    report(f"{len(table)} runs, {len(failed)} of them failed")
    rows: list[Any] = failed.to_dict("records")
    for row in rows:
        report("{dataset} {pattern} {rate:g} {method} {seed}: {error}".format(**row))
    settings = {"design": dict(snakemake.params.design), "study": snakemake.wildcards.study}
    save_table(snakemake.output[0], table, settings)
