"""Problems that the user of the command can solve: one line each."""

from __future__ import annotations

import re

__all__ = ["CommandError", "shorten"]


def shorten(text: str, length: int = 48) -> str:
    """Return a text in quotes on one line, cut where it is long.

    Examples
    --------
    >>> shorten("temp")
    "'temp'"
    >>> shorten("a" * 60, 5)
    "'aaaaa...'"
    """
    return repr(text if len(text) <= length else text[:length] + "...")


class CommandError(Exception):
    """A problem with a file or an option.

    Parameters
    ----------
    problem, remedy : str
        What is wrong and what to do about it.
    file : str, optional
        Where it is.
    line : str, optional
        Such as "line 7".
    column : str, optional
        Name of the column.

    Examples
    --------
    >>> print(CommandError("'x' is not a number", "correct it", file="a.csv", line="line 7"))
    a.csv, line 7: 'x' is not a number; correct it
    """

    def __init__(
        self,
        problem: str,
        remedy: str,
        *,
        file: str | None = None,
        line: str | None = None,
        column: str | None = None,
    ) -> None:
        named = None if column is None else f"column {shorten(column)}"
        place = ", ".join(part for part in (file, line, named) if part)
        text = f"{place}: {problem}" if place else problem
        text = f"{text}; {remedy}" if remedy else text
        super().__init__(re.sub(r"\s+", " ", text))
