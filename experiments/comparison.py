"""Two runs side by side: the same cells, paired by replicate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.io import load_table
from experiments.score import CRITERIA, KEYS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["common_studies", "compare_tables"]

#: What makes two rows the same measurement, besides sizes that a study sweeps over. A size that an
#: override changed for the whole study does not keep its rows apart.
_PAIR = ["study", "graph", "data", "sweep", "level", "model", "replicate", "metric"]
_SIZES = ["m", "n", "noise", "missing"]


def common_studies(first: str | Path, second: str | Path) -> list[str]:
    """Return the studies that both runs have tables of."""
    names = []
    for run in (first, second):
        tables = Path(run) / "tables"
        if not tables.is_dir():
            known = sorted(p.parent.name for p in Path(run).parent.glob("*/tables"))
            raise FileNotFoundError(
                f"{run} is not a run: it has no tables; runs here: {', '.join(known) or 'none'}"
            )
        names.append({path.stem for path in tables.glob("*.parquet")})
    both = sorted(names[0] & names[1])
    if not both:
        raise ValueError(
            f"{first} has the studies {', '.join(sorted(names[0]))} and {second} has "
            f"{', '.join(sorted(names[1]))}; none is in both"
        )
    return both


def compare_tables(first: str | Path, second: str | Path, study: str) -> pd.DataFrame:
    """Return, for each cell and metric, both means and the paired difference second - first.

    Each metric is taken where it is best, as in the figures. Replicates are paired: the same number
    is the same random draw, unless an override changed the seed. The interval runs from the 5th to
    the 95th percentile of the differences.
    """
    tables = [load_table(Path(run) / "tables" / f"{study}.parquet")[0] for run in (first, second)]
    swept = [key for key in _SIZES if all(table[key].nunique() > 1 for table in tables)]
    both = []
    for table in tables:
        own = table["metric"].isin(list(CRITERIA)) & (table["metric"] == table["selected_by"])
        both.append(table.loc[own, [*_PAIR, *swept, "value"]])
    pairs = both[0].merge(both[1], on=[*_PAIR, *swept], suffixes=("_first", "_second"))
    if pairs.empty:
        raise ValueError(f"{first} and {second} share no cell of {study}")
    pairs["difference"] = pairs["value_second"] - pairs["value_first"]
    keys = [key for key in KEYS if key in [*_PAIR, *swept]] + ["metric"]
    groups = pairs.groupby(keys, sort=False)
    out = groups.agg(
        first=("value_first", "mean"),
        second=("value_second", "mean"),
        difference=("difference", "mean"),
        p05=("difference", lambda v: np.percentile(v, 5)),
        p95=("difference", lambda v: np.percentile(v, 95)),
        pairs=("difference", "count"),
    )
    return out.reset_index()
