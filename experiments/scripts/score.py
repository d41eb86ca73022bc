"""Write the table of one study: scores of its fits, or verdicts under its specifications."""

from pathlib import Path
from typing import Any

from experiments.io import distinct, load_fits, load_table, logged, save_table, state_of
from experiments.score import join_verdicts, score_study

study, params = snakemake.wildcards.study, snakemake.params
with logged(snakemake.log[0]) as report:
    read: Any = load_table if params.specifications else load_fits
    names = ["/".join(Path(path).with_suffix("").parts[-2:]) for path in snakemake.input.files]
    loaded = {n: read(path) for n, path in zip(names, snakemake.input.files, strict=True)}
    report(f"{study}: {len(loaded)} files")
    if params.specifications:
        table = join_verdicts(params.specifications, [part for part, _ in loaded.values()])
    else:
        cells = [(labels, loaded[name][0][labels["model"]]) for name, labels in params.cells]
        table = score_study(study, cells, params.score)
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
