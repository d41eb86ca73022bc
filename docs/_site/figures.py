"""The page of the site with every figure of the replication, from the list in REPLICATION.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPENING = """# Every figure

All figures of the replication, as the last full run made them. *printed* and *described* are the
two [protocols](../../REPLICATION.md#protocols), choices for what the paper leaves open. The
[verdict](../../REPLICATION.md) judges the claims about them.

`make figures` makes all of them. In the environment that `make env` builds, the command below a
figure makes it alone, in `results/paper/figures` ([how](../replication.md)).
"""
#: A figure in the list: its title, and a link for each protocol.
ITEM = re.compile(r"(?:^|, )([^()\[\]]+) \(((?:\[\w+\]\(figures/[^)]+\)(?:, )?)+)\)")


def listed(replication: str) -> dict[str, list[tuple[str, dict[str, str]]]]:
    """Return the figures that REPLICATION.md lists.

    A title for each group of figures, and its figures: title, and file by label.
    """
    section = replication.partition("\n## Figures\n")[2].partition("\n## ")[0]
    found = {}
    for line in section.splitlines():
        group, _, items = line.partition(": ")
        figures = [
            (title, dict(re.findall(r"\[(\w+)\]\(([^)]+)\)", links)))
            for title, links in ITEM.findall(items)
        ]
        if figures:
            found[group] = figures
    return found


def command(names: list[str]) -> str:
    """Return what makes a figure alone, given the names of its files, without suffix."""
    study, _, protocol = names[0].partition("-")
    chosen = f" protocol={protocol}" if protocol and len(names) == 1 else ""
    return f"snakemake --cores all --config study={study}{chosen}"


def page(replication: str) -> str:
    """Return the page in MyST's notation."""
    lines = [OPENING]
    for group, figures in listed(replication).items():
        lines += [f"## {group}", ""]
        for title, files in figures:
            lines += [f"### {title}", ""]
            for label, file in files.items():
                name = Path(file).stem
                caption = f"Protocol {label}. " if len(files) > 1 or "-" in name else ""
                numbers = f"figures/{name}.csv"
                if (ROOT / numbers).exists():
                    caption += f"[Its numbers](../../{numbers})."
                lines += [f"```{{figure}} ../../{file}", f":alt: {title} ({label})"]
                lines += [":loading: lazy", "", caption, "```", ""]
            names = [Path(file).stem for file in files.values()]
            lines += ["```bash", command(names), "```", ""]
    return "\n".join(lines)
