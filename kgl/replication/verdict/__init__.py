"""The verdict of the replication, told from published files alone, in Markdown and as a page.

``loading`` reads a directory, ``ledger``, ``tables`` and ``sentences`` work out what is told,
``report`` gathers it, ``markdown`` and ``page`` write it. Both renderings can be made again from
the tracked files at any time, so a test can tell that they are up to date.
"""

from __future__ import annotations

from pathlib import Path

from kgl.replication.verdict.ledger import differences
from kgl.replication.verdict.loading import Gallery, load

__all__ = ["Gallery", "differences", "load", "verdict_job"]


def verdict_job(
    directory: str | Path,
    markdown: str | Path,
    page: str | Path,
    log: str | Path,
    *,
    strict: bool = False,
) -> None:
    """Write the verdict on a directory of published files, as Markdown and as HTML.

    Parameters
    ----------
    directory : path
        Where the published figures and tables are.
    markdown, page : path
        What is written.
    log : path
        Of the job.
    strict : bool
        Whether a claim that is not reproduced and has no cause is an error.
    """
    from kgl.replication.jobs import logged
    from kgl.replication.records import atomic
    from kgl.replication.verdict.markdown import render as render_markdown
    from kgl.replication.verdict.page import render as render_page

    with logged(log) as report:
        gallery = load(directory)
        for path, render in ((markdown, render_markdown), (page, render_page)):
            text = render(gallery, strict=strict)
            with atomic(path) as part:
                part.write_text(text, encoding="utf-8", newline="\n")
            report(f"{path}: {len(text) / 1e6:.2f} MB")
