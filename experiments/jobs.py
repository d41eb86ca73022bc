"""The bodies of the workflow's jobs: read, call, write. Scripts in experiments/ only name them."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments.io import (
    distinct,
    load_arrays,
    load_table,
    save_arrays,
    save_table,
    state_of,
)

__all__ = [
    "data_job",
    "facts_job",
    "fit_job",
    "logged",
    "score_job",
    "specification_job",
    "specifications_job",
]


@contextmanager
def logged(path: str | Path) -> Iterator[Callable[[str], None]]:
    """Give a function that writes lines to a log; an exception is written there as well.

    The log can be watched while the job runs. The message of a failure also goes to the
    screen, where Snakemake shows it.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    with Path(path).open("w", encoding="utf-8", buffering=1) as stream:

        def report(line: str) -> None:
            print(f"{time.perf_counter() - begin:7.1f} s  {line}", file=stream)

        try:
            yield report
        except Exception as error:
            traceback.print_exc(file=stream)
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            raise
        report("done")


def data_job(spec: Mapping[str, Any], output: str, log: str) -> None:
    """Write the arrays of one dataset, all replicates."""
    from experiments.datasets.synthetic import build

    with logged(log) as report:
        save_arrays(output, build(spec, report), spec)


def fit_job(data: str, spec: Mapping[str, Any], output: str, log: str) -> None:
    """Fit one model to one dataset, all replicates, and write its metrics."""
    from experiments.fit import fit_cell

    with logged(log) as report:
        arrays, record = load_arrays(data)
        fitted = fit_cell(arrays, spec, report)
        save_arrays(output, fitted, {"data": record["settings"], "fit": dict(spec)})


def score_job(
    study: str,
    fits: Sequence[str],
    labels: Sequence[Mapping[str, Any]],
    score: Mapping[str, str],
    output: str,
    log: str,
) -> None:
    """Write the table of one study."""
    from experiments.score import score_study

    with logged(log) as report:
        loaded = [load_arrays(path) for path in fits]
        report(f"{study}: {len(loaded)} cells")
        cells = [(label, arrays) for label, (arrays, _) in zip(labels, loaded, strict=True)]
        table = score_study(study, cells, score)
        settings = {
            "study": study,
            "score": dict(score),
            "fits": {_name(path): r["digest"] for path, (_, r) in zip(fits, loaded, strict=True)},
            # the fits may be older than this table
            "made_by": distinct([state_of(record) for _, record in loaded]),
        }
        report(f"{len(table)} rows")
        save_table(output, table, settings)


def specification_job(spec: Mapping[str, Any], output: str, log: str) -> None:
    """Run the small experiments under one reading, and write its verdicts."""
    from experiments.specifications import judge_specification

    with logged(log) as report:
        table = judge_specification(spec["collection"], spec["overrides"], report)
        for row in table.itertuples():
            report(f"{row.claim}: {row.verdict} ({row.held} of {row.criteria})")
        save_table(output, table, dict(spec))


def specifications_job(
    specifications: Mapping[str, Mapping[str, Any]], files: Sequence[str], output: str, log: str
) -> None:
    """Write the verdicts of all specifications as one table."""
    import pandas as pd

    with logged(log) as report:
        loaded = [load_table(path) for path in files]
        parts = []
        for (name, about), (table, _) in zip(specifications.items(), loaded, strict=True):
            known = {"specification": name, "setting": about["setting"], "change": about["change"]}
            base = about.get("base", next(iter(specifications)))
            parts.append(table.assign(**known, default=not about["overrides"], base=base))
            report(f"{name}: {(table['verdict'] == 'reproduced').sum()} reproduced")
        table = pd.concat(parts, ignore_index=True)
        first = ["specification", "setting", "change", "default", "base"]
        made_by = distinct([state_of(record) for _, record in loaded])
        settings = {
            "specifications": {k: dict(v) for k, v in specifications.items()},
            "made_by": made_by,
        }
        save_table(output, table[first + [c for c in table if c not in first]], settings)


def facts_job(files: str, source: str, output: str, log: str) -> None:
    """Write what a real data set, or its stand-in, is, in numbers."""
    import pandas as pd

    from experiments.datasets.real import facts

    with logged(log) as report:
        rows = facts(files, source)
        for row in rows:
            report(f"{row['files']} ({row['source']}): {row['quantity']} = {row['value']:g}")
        save_table(output, pd.DataFrame(rows), {"files": files, "source": source})


def _name(path: str | Path) -> str:
    """Name a fit as the plan does: dataset, level, model."""
    return "/".join(Path(path).with_suffix("").parts[-3:])
