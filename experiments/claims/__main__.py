"""Judge the claims anew from published tables, without a run.

``python -m experiments.claims figures`` reads ``figures/*.parquet`` and ``facts.csv`` and writes
``figures/claims.csv``; ``python -m experiments.report figures`` then renders the report again.
"""

import argparse
from pathlib import Path

from experiments.claims import to_table
from experiments.claims.published import judge_published
from experiments.io import save_csv
from experiments.lookup import ROOT

parser = argparse.ArgumentParser(prog="python -m experiments.claims", description=__doc__)
parser.add_argument("figures", nargs="?", default=str(ROOT / "figures"))
parser.add_argument("--out", help="the table; claims.csv beside the tables by default")
given = parser.parse_args()
judged = judge_published(given.figures)
if not judged:
    parser.error(f"{given.figures} has no table that a claim is about")
path = Path(given.out or Path(given.figures) / "claims.csv")
save_csv(path, to_table(judged))
print(f"{path}: {len({one.claim.id for one in judged})} claims")
