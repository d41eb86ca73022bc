"""Write the table of one study: scores of its fits, or verdicts under its specifications."""

from pathlib import Path
from typing import Any

from experiments.io import distinct, load_arrays, load_table, logged, save_table, state_of
from experiments.score import join_verdicts, score_study

study, files, params = snakemake.wildcards.study, snakemake.input.files, snakemake.params
with logged(snakemake.log[0]) as report:
    loaded = [(load_table if params.specifications else load_arrays)(path) for path in files]
    report(f"{study}: {len(loaded)} files")
    parts: list[Any] = [part for part, _ in loaded]
    if params.specifications:
        table = join_verdicts(params.specifications, parts)
    else:
        table = score_study(study, list(zip(params.labels, parts, strict=True)), params.score)
    names = ["/".join(Path(path).with_suffix("").parts[-3:]) for path in files]
    settings = {
        "study": study,
        "score": dict(params.score),
        "files": {name: record["digest"] for name, (_, record) in zip(names, loaded, strict=True)},
        # the files may be older than this table
        "made_by": distinct([state_of(record) for _, record in loaded]),
    }
    report(f"{len(table)} rows")
    save_table(snakemake.output[0], table, settings)
