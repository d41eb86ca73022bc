"""Tables of the documentation that programs renew, each between two marks of a page."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["PAGE", "inside", "renew"]

#: The page with the tables of this package.
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}:start -->", f"<!-- {name}:end -->"


def renew(page: Path, name: str, text: str) -> None:
    """Replace what stands between the marks of a table by a text."""
    start, end = _marks(name)
    old = page.read_text(encoding="utf-8")
    if start not in old or end not in old:
        raise ValueError(f"{page.name} has no {start} and {end}; put them where the tables belong")
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    new = pattern.sub(lambda _: f"{start}\n{text}\n{end}", old)
    page.write_text(new, encoding="utf-8")


def inside(page: Path, name: str) -> str:
    """Return what stands between the marks of a table."""
    start, end = _marks(name)
    return page.read_text(encoding="utf-8").split(start)[1].split(end)[0].strip()
