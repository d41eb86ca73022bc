"""Write the table of one study: scores of its fits, or the tables of other studies together."""

from pathlib import Path
from typing import Any

import pandas as pd

from experiments.io import distinct, load_fits, load_table, logged, save_table, state_of
from experiments.score import score_study

study, params = snakemake.wildcards.study, snakemake.params
with logged(snakemake.log[0]) as report:
    read: Any = load_fits if params.cells else load_table
    names = ["/".join(Path(path).with_suffix("").parts[-2:]) for path in snakemake.input.files]
    loaded = {n: read(path) for n, path in zip(names, snakemake.input.files, strict=True)}
    report(f"{study}: {len(loaded)} files")
    if params.cells:
        cells = [(labels, loaded[name][0][labels["model"]]) for name, labels in params.cells]
        table = score_study(study, cells, params.score)
    else:
        # levels are numbers in one study and names in another
        parts = [part.assign(level=part["level"].astype(str)) for part, _ in loaded.values()]
        table = pd.concat(parts, ignore_index=True)
    records = [record for _, record in loaded.values()]
    made_by = [state for r in records for state in r["settings"].get("made_by", [state_of(r)])]
    settings = {
        "study": study,
        "score": dict(params.score),
        "files": {name: record["digest"] for name, (_, record) in loaded.items()},
        # the fits may be older than this table
        "made_by": distinct(made_by),
    }
    report(f"{len(table)} rows")
    save_table(snakemake.output[0], table, settings)
