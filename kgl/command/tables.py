"""Reading tables: every cell as the text that the file holds, and the line that it is on.

Text files are read here rather than by pandas, so that an error can name the line, and so that a
CSV file needs no further package.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from kgl._optional import import_optional
from kgl.command.errors import CommandError, shorten

__all__ = ["STDIN", "UNPRINTABLE", "Table", "read_table"]

#: Name of standard input among the arguments, and in messages.
STDIN = "-"
_EXCEL = (".xlsx", ".xls", ".xlsm", ".ods")
_MAGIC = ((b"PAR1", "Parquet", ".parquet"), (b"PK\x03\x04", "Excel", ".xlsx"))
_READERS = ("pyarrow", "openpyxl", "xlrd", "odfpy")
_TABS = (".tsv", ".tab")
_NEEDS_HEADER = "add a first line with the name of each column"
#: Characters that XML, and so GraphML and GEXF, cannot hold.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Attributes
    ----------
    source : str
        The file as the user named it.
    names : list of str
        Names of the columns.
    rows : list of lists of str
        Cells without surrounding blanks.
    lines : list of int
        Where in the file each row begins.
    separator, decimal : str
        How cells and the decimals of numbers are separated.
    unit : str
        What the numbers in ``lines`` count.
    """

    source: str
    names: list[str]
    rows: list[list[str]]
    lines: list[int]
    separator: str = ","
    decimal: str = "."
    unit: str = field(default="line")

    def column(self, name: str) -> list[str]:
        """Return the cells of one column."""
        position = self.names.index(name)
        return [row[position] for row in self.rows]

    def error(
        self, problem: str, remedy: str, *, row: int | None = None, column: str | None = None
    ) -> CommandError:
        """Return an error that names a place of this table."""
        line = None if row is None else f"{self.unit} {self.lines[row]}"
        return CommandError(problem, remedy, file=self.source, line=line, column=column)


def read_table(path: str, *, separator: str | None = None, decimal: str = ".") -> Table:
    """Read a CSV, TSV, Parquet or Excel file, or CSV from standard input.

    Parameters
    ----------
    path : str
        The file, or "-" for standard input.
    separator : str, optional
        What separates the cells of a text file; by default a tab for .tsv and .tab, else a comma.
    decimal : str
        Decimal mark of the numbers.

    Returns
    -------
    Table
    """
    if path == STDIN:
        source = "standard input"
        text = _decode(sys.stdin.buffer.read(), source)
        return _from_text(text, source, separator or ",", decimal)
    suffix = Path(path).suffix.lower()
    content = _read_bytes(path)
    if suffix == ".parquet":
        return _from_parquet(path, content)
    if suffix in _EXCEL:
        return _from_excel(path, content)
    text = _decode(content, path)
    return _from_text(text, path, separator or ("\t" if suffix in _TABS else ","), decimal)


def _read_bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise CommandError("no such file", "check its name and folder", file=path) from None
    except IsADirectoryError:
        raise CommandError("is a folder", "name the file in it", file=path) from None
    except OSError as error:
        if Path(path).is_dir():  # Windows calls this a lack of permission
            raise CommandError("is a folder", "name the file in it", file=path) from None
        reason = error.strerror or "it cannot be read"
        raise CommandError(reason, "check that you may read it", file=path) from None


def _decode(content: bytes, source: str) -> str:
    """Turn bytes into text, refusing what is not text in UTF-8 or UTF-16."""
    for magic, kind, suffix in _MAGIC:
        if content.startswith(magic):
            raise CommandError(
                f"looks like a file of the kind {kind}, not like text",
                f"give it a name that ends in {suffix}, or save it as CSV",
                file=source,
            )
    utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        if b"\x00" in content:
            raise _not_text(source) from None
        line = content[: error.start].count(b"\n") + 1
        raise CommandError(
            f"byte 0x{content[error.start]:02x} is not text in UTF-8",
            "save the file in the encoding UTF-8 (in Excel: CSV UTF-8)",
            file=source,
            line=f"line {line}",
        ) from None
    if "\x00" in text:
        raise _not_text(source)
    return text


def _not_text(source: str) -> CommandError:
    return CommandError("is not a text file", "save the table as CSV", file=source)


def _from_text(text: str, source: str, separator: str, decimal: str) -> Table:
    rows, lines = [], []
    for line, row in _records(text, source, separator):
        rows.append([cell.strip() for cell in row])
        lines.append(line)
    return _from_rows(rows, lines, Table(source, [], [], [], separator, decimal))


def _records(text: str, source: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each record begins, and its cells; empty lines are left out."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    begin = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise CommandError(
            f"cannot be split into cells ({error})",
            'check the quotes: a cell in quotes ends with ", and " inside it is written twice',
            file=source,
            line=f"line {begin}",
        ) from None


def _from_excel(path: str, content: bytes) -> Table:
    pandas = import_optional("pandas", "frame", f"reading {path}")
    try:
        frame = pandas.read_excel(io.BytesIO(content), header=None, dtype=object)
    except ImportError as error:
        raise _missing_reader(path, error) from None
    except Exception as error:
        raise _unreadable(path, error) from None
    rows = [[_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    kept = [k for k, row in enumerate(rows) if any(row)]
    empty = Table(path, [], [], [], unit="row")
    return _from_rows([rows[k] for k in kept], [k + 1 for k in kept], empty)


def _from_parquet(path: str, content: bytes) -> Table:
    pandas = import_optional("pandas", "frame", f"reading {path}")
    try:
        frame = pandas.read_parquet(io.BytesIO(content))
    except ImportError as error:
        raise _missing_reader(path, error) from None
    except Exception as error:
        raise _unreadable(path, error) from None
    if not isinstance(frame.index, pandas.RangeIndex):
        frame = frame.reset_index()  # such as dates that pandas kept as the index
    rows = [[_cell(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    names = [_cell(name) for name in frame.columns]
    empty = Table(path, [], [], [], unit="row")
    return _from_rows([names, *rows], list(range(len(rows) + 1)), empty)


def _missing_reader(path: str, error: ImportError) -> CommandError:
    package = next((name for name in _READERS if name in str(error)), "another package")
    return CommandError(
        f"reading it needs {package}", f"pip install {package}, or save the table as CSV", file=path
    )


def _unreadable(path: str, error: Exception) -> CommandError:
    reason = shorten(str(error).splitlines()[0] if str(error) else type(error).__name__, 80)
    return CommandError(f"cannot be read ({reason})", "save the table as CSV", file=path)


def _cell(value: Any) -> str:
    """Return a typed value as the text that a CSV file would hold."""
    if value is None or value != value:  # NaN and NaT differ from themselves
        return ""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(float(value))
    return str(value).strip()


def _from_rows(rows: list[list[str]], lines: list[int], empty: Table) -> Table:
    """Check the header and the lengths of rows, the first of which holds the names."""
    source, unit = empty.source, empty.unit
    if not rows:
        raise CommandError("is empty", "give a file with a header and data", file=source)
    header, rows = rows[0], rows[1:]
    while header and not header[-1] and all(len(r) < len(header) or not r[-1] for r in rows):
        # spreadsheets leave empty columns at the end
        rows = [r[:-1] if len(r) == len(header) else r for r in rows]
        header = header[:-1]
    if not header:
        raise CommandError("has no columns", "give a file with a header and data", file=source)
    _check_header(header, source, unit, empty.separator)
    for row, line in zip(rows, lines[1:], strict=True):
        if len(row) != len(header):
            raise CommandError(
                f"{len(row)} cells where the header has {len(header)}",
                "give each line as many cells as the header, empty ones where nothing is known",
                file=source,
                line=f"{unit} {line}",
            )
    if not rows:
        raise CommandError("has a header but no rows", "add the observations", file=source)
    return Table(source, header, rows, lines[1:], empty.separator, empty.decimal, unit)


def _check_header(header: list[str], source: str, unit: str, separator: str) -> None:
    first = f"{unit} 1"
    if len(header) == 1:
        other = next((mark for mark in (";", "\t", ",", "|") if mark in header[0]), None)
        if other is not None and other != separator:
            called = "a tab" if other == "\t" else f"'{other}'"
            given = "tab" if other == "\t" else f"'{other}'"
            raise CommandError(
                f"one column, and its name holds {called}",
                f"pass --separator {given} if that separates the columns",
                file=source,
                line=first,
            )
    if all(_looks_like_data(name) for name in header) and not _counts_up(header):
        raise CommandError(
            f"holds values such as {shorten(header[0])}, not names",
            _NEEDS_HEADER,
            file=source,
            line=first,
        )
    seen: dict[str, int] = {}
    for position, name in enumerate(header, 1):
        if not name:
            raise CommandError(
                f"column {position} has no name",
                "name it, or delete it if it only numbers the rows",
                file=source,
                line=first,
            )
        if UNPRINTABLE.search(name):
            raise CommandError(
                f"the name of column {position}, {shorten(name)}, holds a control character",
                "rename it",
                file=source,
                line=first,
            )
        if name in seen:
            raise CommandError(
                f"columns {seen[name]} and {position} have the same name {shorten(name)}",
                "rename one of them",
                file=source,
                line=first,
            )
        seen[name] = position


def _looks_like_data(name: str) -> bool:
    """Whether a name is a number or begins like a date."""
    try:
        float(name)
    except ValueError:
        return bool(re.match(r"\d{4}-\d\d(-\d\d)?\b|\d{1,2}[./]\d{1,2}[./]\d{2,4}\b", name))
    return True


def _counts_up(header: list[str]) -> bool:
    """Whether names are whole numbers one after the other, such as years: names, not data."""
    if len(header) < 2 or not all(name.isdecimal() for name in header):
        return False
    numbers = [int(name) for name in header]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))
