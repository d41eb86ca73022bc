"""Fit all models of one dataset, all replicates, and write their metrics."""

import traceback
from functools import partial
from typing import Any

from experiments import io
from experiments.fit import fit_cell

with io.logged(snakemake.log[0]) as report:
    level = snakemake.wildcards.level
    data, record = io.load_arrays(snakemake.input.data, level)
    arrays: dict[str, Any] = {}
    content = io.array_digest(data)
    made_by, errors = [], []
    for model, job in snakemake.params.models.items():
        report(f"{model}:")
        fit = partial(fit_cell, data, job["fit"], report)
        try:
            key = {"data": content, **job}
            fitted, made = io.cached(snakemake.params.kept, key, fit)
        except Exception as error:  # the other models are fitted first
            report("".join(traceback.format_exception(error)))
            errors.append(error)
            continue
        arrays |= {f"{model}/{name}": values for name, values in fitted.items()}
        made_by.append(io.state_of(made))
    if errors:
        raise errors[0]
    fits = {model: dict(job["fit"]) for model, job in snakemake.params.models.items()}
    settings = {"data": record["settings"][level], "fits": fits, "made_by": io.distinct(made_by)}
    io.save_arrays(snakemake.output[0], arrays, settings)
