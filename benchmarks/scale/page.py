"""What the tables and figures of ``docs/scale.md`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["COLORS", "FIGURES", "PAGE", "Numbers", "save", "table"]

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = DOCS / "scale.md"
FIGURES = DOCS / "_static"
COLORS = ("#1b6ca8", "#c8553d")

#: Numbers of the tasks that are stored, by the names of the tasks.
Numbers = dict[str, dict[str, Any]]


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def save(figure: Any, name: str) -> None:
    """Write a figure of the page; the same numbers give the same bytes."""
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = "kgl"
    FIGURES.mkdir(exist_ok=True)
    figure.savefig(FIGURES / name, metadata={"Date": None})
