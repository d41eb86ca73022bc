"""The verdict of the replication, told from published files alone, in Markdown and as a page.

``loading`` reads a directory, ``ledger``, ``tables`` and ``sentences`` work out what is told,
``report`` gathers it, ``markdown`` and ``page`` write it. Both renderings can be made again from
the tracked files at any time, so a test can tell that they are up to date.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from experiments.report.ledger import differences
from experiments.report.loading import Gallery, load
from kgl._optional import import_optional

__all__ = ["Gallery", "differences", "load", "verdict_job"]


def verdict_job(
    found: str | Path | Iterable[str | Path],
    markdown: str | Path,
    page: str | Path,
    log: str | Path,
    *,
    strict: bool = False,
    committed: str | None = None,
) -> None:
    """Write the verdict on published files, as Markdown and as HTML.

    Parameters
    ----------
    found : path or iterable of paths
        Directory of the published figures and tables, or these files.
    markdown, page : path
        What is written.
    log : path
        Of the job.
    strict : bool
        Whether a claim that is not reproduced and has no cause is an error.
    committed : str, optional
        The ledger that is tracked, to compare with.
    """
    from experiments.io import atomic
    from experiments.jobs import logged
    from experiments.report.markdown import render as render_markdown
    from experiments.report.page import render as render_page

    with logged(log) as report:
        gallery = load(found)
        for line in _changes(gallery, committed) if committed else ():
            report(line)
        for path, render in ((markdown, render_markdown), (page, render_page)):
            text = render(gallery, strict=strict)
            with atomic(path) as part:
                part.write_text(text, encoding="utf-8", newline="\n")
            report(f"{path}: {len(text) / 1e6:.2f} MB")


def _changes(gallery: Gallery, committed: str) -> list[str]:
    """Compare the ledger with the one that is committed, and say so where a verdict differs."""
    pd = import_optional("pandas", "workflow", "the replication")
    command = ["git", "show", f"HEAD:{committed}"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # no git, no repository, or no such file
        return [f"no {committed} is committed here: nothing to compare with"]
    changes = differences(pd.read_csv(io.StringIO(shown)), gallery.claims)
    if not changes:
        return [f"the ledger agrees with the committed {committed}"]
    print(f"The ledger departs from the committed {committed}:", *changes, sep="\n  ",
          file=sys.stderr)  # fmt: skip
    return changes
