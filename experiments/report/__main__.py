"""Render REPLICATION.md and the findings of README.md again, from published files, without a run.

``python -m experiments.report figures`` does; ``--page PATH`` also writes the report page.
"""

import argparse

from experiments.lookup import ROOT
from experiments.report import write_report

parser = argparse.ArgumentParser(prog="python -m experiments.report", description=__doc__)
parser.add_argument("figures", nargs="?", default=str(ROOT / "figures"))
parser.add_argument("--text", default=str(ROOT / "REPLICATION.md"))
parser.add_argument("--readme", default=str(ROOT / "README.md"))
parser.add_argument("--page")
given = parser.parse_args()
write_report(given.figures, given.text, given.page, readme=given.readme, log=print)
