"""Write the verdicts under all specifications as one table."""

import pandas as pd

from experiments.io import distinct, load_table, logged, save_table, state_of
from experiments.registry import Verdict

specifications = snakemake.params.specifications
with logged(snakemake.log[0]) as report:
    loaded = [load_table(path) for path in snakemake.input.files]
    parts = []
    for (name, about), (table, _) in zip(specifications.items(), loaded, strict=True):
        known = {"specification": name, "setting": about["setting"], "change": about["change"]}
        base = about.get("base", next(iter(specifications)))
        parts.append(table.assign(**known, default=not about["overrides"], base=base))
        report(f"{name}: {(table['verdict'] == Verdict.REPRODUCED).sum()} reproduced")
    table = pd.concat(parts, ignore_index=True)
    first = ["specification", "setting", "change", "default", "base"]
    made_by = distinct([state_of(record) for _, record in loaded])
    settings = {
        "specifications": {k: dict(v) for k, v in specifications.items()},
        "made_by": made_by,
    }
    save_table(snakemake.output[0], table[first + [c for c in table if c not in first]], settings)
