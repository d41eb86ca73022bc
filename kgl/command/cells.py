"""From texts to numbers, dates and categories; what does not convert is named with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from kgl._types import Array
from kgl.command.errors import CommandError, shorten
from kgl.command.tables import Table

__all__ = [
    "NO_NUMBER",
    "NO_TEXT",
    "Times",
    "are_numbers",
    "read_number",
    "read_numbers",
    "read_times",
]

#: Cells without a value, in lower case. The last three are no categories but mark missing numbers.
NO_TEXT = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "<na>"})
NO_NUMBER = NO_TEXT | {"none", "-", ".", "?"}
_TIMES_OF_DAY = ("", " %H:%M", " %H:%M:%S")
#: Dates that are not ISO 8601. Day and month of the last two can be told apart only by days above
#: 12.
_ORDERED = ("%Y-%m", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d-%m-%Y", "%d %b %Y", "%d %B %Y")
_EITHER = ("%d/%m/%Y", "%m/%d/%Y")


def read_number(cell: str, decimal: str = ".") -> float | None:
    """Return the number in a cell, NaN for a missing one, None for a text.

    Examples
    --------
    >>> read_number("1.5"), read_number("1,5", ","), read_number("n/a"), read_number("high")
    (1.5, 1.5, nan, None)
    """
    if cell.lower() in NO_NUMBER:
        return float("nan")
    if decimal != ".":
        cell = cell.replace(".", " ").replace(decimal, ".")
    if "_" in cell or not cell.isascii():
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def are_numbers(table: Table, name: str) -> bool:
    """Whether a column holds numbers; a text among many numbers is refused as a slip."""
    found = [read_number(cell, table.decimal) for cell in table.column(name)]
    texts = [k for k, value in enumerate(found) if value is None]
    numbers = sum(value is not None and value == value for value in found)
    if texts and numbers > len(texts):
        read_numbers(table, name)
    return numbers > 0 and not texts


def read_numbers(table: Table, name: str) -> Array:
    """Return a column as numbers, NaN where nothing was observed."""
    values = np.empty(len(table.rows))
    for row, cell in enumerate(table.column(name)):
        value = read_number(cell, table.decimal)
        if value is None:
            raise _no_number(table, name, row, cell)
        if np.isinf(value):
            raise table.error(
                f"{shorten(cell)} is infinite",
                "give a number, or leave the cell empty where nothing was observed",
                row=row,
                column=name,
            )
        values[row] = value
    return values


def _no_number(table: Table, name: str, row: int, cell: str) -> CommandError:
    remedy = "correct it, or leave the cell empty where nothing was observed"
    if re.fullmatch(r"[+-]?\d+,\d+", cell) and table.decimal == ".":
        remedy = "pass --decimal , if that is a decimal comma"
    elif re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?", cell):
        remedy = "write it without thousands separators"
    elif all(read_number(other, table.decimal) is None for other in table.column(name)):
        remedy = "delete the column, which is not numeric"
        if _first_failure(table.column(name), _parser("iso")) is None:
            remedy = f"pass --time {shorten(name)} if these are the times of the rows"
    return table.error(f"{shorten(cell)} is not a number", remedy, row=row, column=name)


@dataclass(frozen=True)
class Times:
    """The times of the rows.

    Attributes
    ----------
    name : str
        The column.
    values : array (n,)
        Numbers as they are, dates as days since the first.
    first, last : str
        The ends of the period, for people.
    dates : bool
        Whether the column held dates.
    """

    name: str
    values: Array
    first: str
    last: str
    dates: bool


def read_times(table: Table, name: str) -> Times:
    """Return a column of dates or numbers as times."""
    if name not in table.names:
        raise table.error(
            f"there is no column {shorten(name)} for --time",
            f"the columns are {', '.join(shorten(one) for one in table.names[:6])}"
            + (", ..." if len(table.names) > 6 else ""),
        )
    cells = table.column(name)
    if len(set(cells)) == 1:
        raise table.error(
            f"each row has the time {shorten(cells[0])}", "leave --time out", column=name
        )
    for row, cell in enumerate(cells):
        if cell.lower() in NO_NUMBER:
            raise table.error("no time", "give one, or delete the row", row=row, column=name)
    packed = all(re.fullmatch(r"(19|20)\d{6}", cell) for cell in cells)
    if not packed and all(read_number(cell, table.decimal) is not None for cell in cells):
        values = read_numbers(table, name)
        first, last = (f"{value:g}" for value in (values.min(), values.max()))
        return Times(name, values, first, last, False)
    stamps = _read_dates(table, name, cells)
    start = min(stamps)
    days = np.array([(stamp - start).total_seconds() / 86400.0 for stamp in stamps])
    whole = all(stamp.time() == datetime.min.time() for stamp in stamps)
    first, last = (
        str(stamp.date()) if whole else stamp.strftime("%Y-%m-%d %H:%M")
        for stamp in (start, max(stamps))
    )
    return Times(name, days, first, last, True)


def _parser(kind: str) -> Callable[[str], datetime]:
    if kind == "iso":
        return datetime.fromisoformat
    return lambda cell: datetime.strptime(cell, kind)


def _first_failure(cells: Sequence[str], parse: Callable[[str], datetime]) -> int | None:
    """Return the first cell that is not a date of one kind, None if all are."""
    for row, cell in enumerate(cells):
        try:
            parse(cell)
        except ValueError:
            return row
    return None


def _read_dates(table: Table, name: str, cells: list[str]) -> list[datetime]:
    """Find the one way of writing dates that fits all cells."""
    kinds = ["iso", *(day + clock for day in (*_ORDERED, *_EITHER) for clock in _TIMES_OF_DAY)]
    failures = {kind: _first_failure(cells, _parser(kind)) for kind in kinds}
    fitting = [kind for kind, row in failures.items() if row is None]
    if not fitting:
        row = max(row for row in failures.values() if row is not None)
        raise table.error(
            f"{shorten(cells[row])} is not a date or number like those above it"
            if row
            else f"{shorten(cells[row])} is not a date or number",
            "write dates as 2024-03-31 or 2024-03-31 14:00",
            row=row,
            column=name,
        )
    readings = [[_parser(kind)(cell) for cell in cells] for kind in fitting]
    stamps = readings[0]
    other = next((reading for reading in readings if reading != stamps), None)
    if other is not None:
        row = next(k for k in range(len(cells)) if stamps[k] != other[k])
        raise table.error(
            f"{shorten(cells[row])} may have the day or the month first",
            "write dates as 2024-03-31",
            row=row,
            column=name,
        )
    aware = [stamp.tzinfo is not None for stamp in stamps]
    if any(aware) and not all(aware):
        row = aware.index(not aware[0])
        raise table.error(
            f"{shorten(cells[row])} differs from the first time in having a time zone or none",
            "give all times a zone, or none",
            row=row,
            column=name,
        )
    if not all(aware):
        return stamps
    return [stamp.astimezone(UTC).replace(tzinfo=None) for stamp in stamps]
