"""The report on the replication, made from published files alone, in Markdown and as a page.

``load`` reads a directory; ``compare`` puts the verdicts under two protocols side by side;
``tables``, ``explain``, ``findings``, ``inference`` and ``protocols`` compute what is shown, and
``render`` gathers it and fills the templates. The same files give the same bytes, so a test can
compare the tracked renderings with fresh ones. ``numbers`` looks up those of docs/findings.md.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from experiments.io import atomic
from experiments.report.explain import differences
from experiments.report.load import Gallery, load
from experiments.report.render import block, gather, markdown, page, paper_text, replace_block
from kgl._optional import import_optional

__all__ = ["Gallery", "differences", "load", "write_report"]


def write_report(
    found: str | Path | Iterable[str | Path],
    text: str | Path,
    html: str | Path | None = None,
    *,
    readme: str | Path | None = None,
    findings: str | Path | None = None,
    committed: str | None = None,
    strict: bool = False,
    log: Callable[[str], None] = lambda _: None,
) -> None:
    """Write the report on published files.

    Parameters
    ----------
    found : path or iterable of paths
        Directory of the published figures and tables, or these files.
    text, html : path
        Of the Markdown, and of the page.
    readme : path, optional
        File whose generated part, between its two markers, is replaced.
    findings : path, optional
        Of docs/findings.md; left as it is, with a line on the screen, if a table that it needs is
        not there.
    committed : str, optional
        A tracked ``claims.csv`` to compare with.
    strict : bool
        Whether a cause whose evidence is in no table is an error.
    log : callable
        Takes lines about what was done.
    """
    gallery = load(found)
    for line in _changes(gallery, committed) if committed else ():
        log(line)
    report = gather(gallery, strict=strict)
    contents = {text: markdown(report)}
    if html is not None:
        contents[html] = page(report)
    if readme is not None:
        contents[readme] = replace_block(Path(readme).read_text(encoding="utf-8"), block(report))
    if findings is not None:
        try:
            contents[findings] = paper_text(gallery)
        except LookupError as error:
            line = f"{findings} was not written: {error.args[0]}"
            print(line, file=sys.stderr)
            log(line)
    for path, content in contents.items():
        with atomic(path) as part:
            part.write_text(content, encoding="utf-8", newline="\n")
        log(f"{path}: {len(content) / 1e6:.2f} MB")


def _changes(gallery: Gallery, committed: str) -> list[str]:
    """Compare the claims with those that are committed; where they differ, also on the screen."""
    pd = import_optional("pandas", "workflow", "the replication")
    command = ["git", "show", f"HEAD:{committed}"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # no git, no repository, or no such file
        return [f"no {committed} is committed here: nothing to compare with"]
    old = pd.read_csv(io.StringIO(shown))
    if not set(gallery.claims.columns) <= set(old.columns):
        return [f"the committed {committed} has other columns: not compared"]
    changes = differences(old, gallery.claims)
    if not changes:
        return [f"the claims agree with the committed {committed}"]
    print(f"The claims differ from the committed {committed}:", *changes, sep="\n  ",
          file=sys.stderr)  # fmt: skip
    return changes
