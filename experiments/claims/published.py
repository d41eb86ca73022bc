"""Judge the claims from published files alone: a row per replicate, and the facts on real data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from experiments.claims.ledger import Judgement, judge
from experiments.claims.specifications import FACTS, STUDIES, protocols_of, specifications
from experiments.io import load_table
from experiments.registry import STANDIN_SUFFIX, of_protocol, split_protocol
from experiments.sums import check_sum
from kgl._optional import import_optional

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["judge_published", "published_tables"]


def published_tables(directory: str | Path) -> dict[str, pd.DataFrame | None]:
    """Return the tables that claims are judged by; None where data are simulated.

    They are named by study and protocol (:func:`experiments.registry.of_protocol`).

    Parameters
    ----------
    directory : path
        With a ``.parquet`` file per study and protocol, and ``facts.csv``; studies without a file
        are left out.
    """
    read_csv = import_optional("pandas", "workflow", "the replication").read_csv
    found: dict[str, pd.DataFrame | None] = {}
    files = {path.stem: path for path in sorted(Path(directory).glob("*.parquet"))}
    of_claims = [name for name in files if split_protocol(name)[0] in STUDIES]
    for protocol in protocols_of(of_claims):
        for study in STUDIES:
            name = of_protocol(study, protocol)
            if name in files:
                found[name] = load_table(files[name])[0]
            elif name + STANDIN_SUFFIX in files:
                found[name] = None
    for path in (Path(directory) / f"{FACTS}{mark}.csv" for mark in ("", STANDIN_SUFFIX)):
        if path.exists():
            check_sum(path)
            facts = read_csv(path)
            for (files, source), rows in facts.groupby(["files", "source"], sort=False):
                known = rows.reset_index(drop=True) if source == "real" else None
                found.setdefault(f"{FACTS}-{files}", known)
    return found


def judge_published(directory: str | Path) -> list[Judgement]:
    """Judge every claim that the files of a directory are about, under every specification."""
    return judge(specifications(published_tables(directory)))
