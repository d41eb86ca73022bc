"""Render REPLICATION.md and the findings of README.md again, from published files, without a run.

``python -m experiments.report figures`` does; ``--page PATH`` also writes the report page.
"""

import argparse
from pathlib import Path

from experiments.lookup import ROOT
from experiments.report import write_report

parser = argparse.ArgumentParser(prog="python -m experiments.report", description=__doc__)
parser.add_argument("figures", nargs="?", default=str(ROOT / "figures"))
parser.add_argument("--text", help="the Markdown; REPLICATION.md for figures/ itself")
parser.add_argument("--page", help="the HTML page")
given = parser.parse_args()
tracked = Path(given.figures).resolve() == ROOT / "figures"
if not tracked and given.text is None:
    parser.error(f"{given.figures} is not figures/: name the text to write with --text")
text = given.text or ROOT / "REPLICATION.md"
readme = ROOT / "README.md" if tracked and given.text is None else None
write_report(given.figures, text, given.page, readme=readme, log=print)
