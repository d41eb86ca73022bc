"""Render REPLICATION.md, docs/findings.md and the findings of README.md again, without a run.

``python -m experiments.report figures`` does, from published files; ``--page PATH`` also writes the
report page.
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
own = tracked and given.text is None
write_report(
    given.figures,
    text,
    given.page,
    readme=ROOT / "README.md" if own else None,
    findings=ROOT / "docs/findings.md" if own else None,
    log=print,
)
