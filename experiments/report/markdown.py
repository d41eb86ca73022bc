"""The verdict as a page of Markdown, the same bytes from the same files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from experiments.claims.causes import CAUSES, Cause
from experiments.report.ledger import Entry, Measured
from experiments.report.loading import Gallery
from experiments.report.paper import READINGS, SPECIFICATIONS, TITLE, WORTH
from experiments.report.report import Report, gather
from experiments.report.tables import Table

__all__ = ["SYMBOLS", "render"]

#: What stands beside the words of a verdict.
SYMBOLS = {"reproduced": "✓", "partly": "◐", "not reproduced": "✗", "not evaluated": "?"}


def render(
    gallery: Gallery, causes: Mapping[str, Cause] | None = None, *, strict: bool = False
) -> str:
    """Return the verdict as Markdown.

    Parameters
    ----------
    gallery : Gallery
        What a directory of published files holds.
    causes : dict, optional
        By claim; those of :mod:`experiments.claims.causes` by default.
    strict : bool
        Whether a claim that is not reproduced and has no cause is an error.
    """
    report = gather(gallery, CAUSES if causes is None else causes, strict=strict, most=24)
    parts = [
        "# Replication: the verdict",
        f"*{TITLE}*, replicated by this repository. Made from the files in [figures/](figures) by "
        "`experiments.report`; do not edit by hand.",
        f"> **{report.notice}**" if report.notice else "",
        "\n".join(f"{i}. {_text(s)}" for i, s in enumerate(report.sentences, 1)),
        *_ledger(report),
        *_printed(report),
        *_explained(report),
        *_readings(report),
        *_controls(report),
        *_run(report),
        _REGENERATE,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


_REGENERATE = """## How to regenerate

```bash
make figures
```

This runs the whole replication and writes `figures/`, this page and the report page anew.
`make smoke` is the same at a tiny size; [docs/replication.md](docs/replication.md) explains
studies, readings and claims, and [conf/protocol/paper.yaml](conf/protocol/paper.yaml) holds what
the paper leaves open, with the reason for each choice."""


def _ledger(report: Report) -> list[str]:
    parts = [
        "## Ledger",
        "Each claim is a list of yes-or-no statements: all true, *reproduced*; none, *not "
        "reproduced*; otherwise *partly*. Figures have their 95 % interval over replicates in "
        "brackets; a statement holds only if the whole interval says so.",
        _counts(report),
    ]
    for experiment, found in groupby(report.ledger, key=lambda entry: entry.experiment):
        header = ("claim", "the paper says", "where", "verdict", "measured")
        parts.append(f"### {_text(experiment)}")
        parts.append(_markup(header, [_row(entry) for entry in found]))
    return parts


def _counts(report: Report) -> str:
    rows = []
    for experiment in report.experiments:
        found = [e.verdict for e in report.ledger if e.experiment == experiment]
        counts = [str(found.count(name)) for name in report.counts]
        rows.append([_text(experiment), *counts, str(len(found))])
    rows.append(["all", *map(str, report.counts.values()), str(len(report.ledger))])
    header = ["experiment", *(f"{SYMBOLS[name]} {name}" for name in report.counts), "claims"]
    return _markup(header, rows)


def _row(entry: Entry) -> list[str]:
    parts = "<br>".join(_part(part) for part in entry.parts) or "none"
    verdict = f"{SYMBOLS[entry.verdict]} {entry.verdict}"
    return [f"**{entry.claim}**", _text(entry.statement), _text(entry.where), verdict, parts]


def _part(part: Measured) -> str:
    sign = SYMBOLS["reproduced"] if part.holds else SYMBOLS["not reproduced"]
    more = [note for note in (part.note, "timed on one machine" * part.timed) if note]
    tail = f" ({_text('; '.join(more))})" if more else ""
    return f"{sign} {_text(part.text)}: **{_text(part.figures)}**{tail}"


def _printed(report: Report) -> list[str]:
    if report.printed is None:
        return []
    parts = [
        "## The default reading",
        f"{_text(report.default)} How near that is:",
        _table(report.printed),
    ]
    if report.printed_values is not None:
        parts += [_table(report.printed_values), _note(report.printed_values)]
    return parts


def _explained(report: Report) -> list[str]:
    if not report.explained:
        return []
    parts = ["## What is not reproduced, and why"]
    for one in report.explained:
        lines = [
            f"**{one.entry.claim}** ({one.entry.verdict}): {_text(one.entry.statement)} "
            f"{_text(one.cause)}",
            *(f"- {_text(line)}" for line in one.evidence),
        ]
        parts.append(f"{lines[0]}\n\n" + "\n".join(lines[1:]))
    return parts


def _readings(report: Report) -> list[str]:
    parts = []
    for table, about in ((report.specifications, SPECIFICATIONS), (report.readings, READINGS)):
        if table is not None:
            parts += [f"{about}.", _table(table)]
    return ["## Readings", *parts] if parts else []


def _controls(report: Report) -> list[str]:
    if not report.controls:
        return []
    parts = ["## Controls", "Comparisons that the paper does not make."]
    if report.worth is not None:
        parts += [f"### {_text(WORTH)}", _table(report.worth), _note(report.worth)]
    for panel in report.controls:
        standin = "**SIMULATED STAND-IN.** " if panel.simulated else ""
        parts += [f"### {_text(panel.heading)}", f"{standin}{_text(panel.says)}"]
        if panel.table is not None:
            parts += [_table(panel.table), _note(panel.table)]
    return parts


def _run(report: Report) -> list[str]:
    parts = []
    for heading, tables in (
        ("## Settings", [report.settings, report.versions]),
        ("## Machine and time", [report.machine, report.costs]),
    ):
        found = [_table(table) for table in tables if table is not None]
        parts += [heading, *found] if found else []
    return parts


def _table(table: Table) -> str:
    return _markup(table.header, [[_text(cell) for cell in row] for row in table.rows])


def _note(table: Table) -> str:
    return f"*{_text(table.note[0].upper() + table.note[1:])}.*" if table.note else ""


def _markup(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _text(text: str) -> str:
    """Escape what Markdown, or HTML inside it, would take for markup; ``K_x`` stays as it is."""
    text = re.sub(r"[\\*|<`~]|(?<!\w)_|_(?!\w)|(?<=\])\(|&(?=#?\w+;)", r"\\\g<0>", text)
    return " ".join(text.split())
