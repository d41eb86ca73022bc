"""Judge the claims from published files alone: a row per replicate, and the facts on real data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from experiments.claims.ledger import Judgement, judge
from experiments.claims.specifications import FACTS, STUDIES, specifications
from experiments.io import load_table
from experiments.registry import STANDIN_SUFFIX
from kgl._optional import import_optional

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["judge_published", "published_tables"]


def published_tables(directory: str | Path) -> dict[str, pd.DataFrame | None]:
    """Return the tables that claims are judged by, by study; None where data are simulated.

    Parameters
    ----------
    directory : path
        With a ``.parquet`` file per study, and ``facts.csv``; studies without a file are left out.
    """
    read_csv = import_optional("pandas", "workflow", "the replication").read_csv
    found: dict[str, pd.DataFrame | None] = {}
    for study in STUDIES:
        path = Path(directory) / f"{study}.parquet"
        if path.exists():
            found[study] = load_table(path)[0]
        elif path.with_stem(study + STANDIN_SUFFIX).exists():
            found[study] = None
    for path in (Path(directory) / f"{FACTS}{mark}.csv" for mark in ("", STANDIN_SUFFIX)):
        if path.exists():
            facts = read_csv(path)
            for (files, source), rows in facts.groupby(["files", "source"], sort=False):
                known = rows.reset_index(drop=True) if source == "real" else None
                found.setdefault(f"{FACTS}-{files}", known)
    return found


def judge_published(directory: str | Path) -> list[Judgement]:
    """Judge every claim that the files of a directory are about, under every specification."""
    return judge(specifications(published_tables(directory)))
