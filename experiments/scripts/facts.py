"""Write what a real data set, or the data that replace it, is in numbers."""

import pandas as pd

from experiments.datasets.real import facts
from experiments.io import logged, save_table

with logged(snakemake.log[0]) as report:
    rows = facts(**snakemake.params.about)
    for row in rows:
        report(f"{row['files']} ({row['source']}): {row['quantity']} = {row['value']:g}")
    save_table(snakemake.output[0], pd.DataFrame(rows), dict(snakemake.params.about))
