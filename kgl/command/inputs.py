"""What the files hold: data, times, and covariates and positions of the nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl._types import Array
from kgl.command.cells import NO_NUMBER, NO_TEXT, Times, are_numbers, read_numbers, read_times
from kgl.command.errors import CommandError, shorten
from kgl.command.tables import UNPRINTABLE, Table, read_table

if TYPE_CHECKING:
    from kgl.command.arguments import Arguments

__all__ = ["Attribute", "Inputs", "Positions", "read_inputs"]

#: Names of columns that give positions, across and up, and whether they are degrees on the globe.
_POSITION_NAMES = (
    ("lon", "lat", True),
    ("longitude", "latitude", True),
    ("lng", "lat", True),
    ("x", "y", False),
    ("east", "north", False),
)


@dataclass(frozen=True)
class Attribute:
    """One column of the table of nodes, in the order of the nodes.

    Attributes
    ----------
    name : str
        The column.
    values : list
        Numbers or texts; None where the table has none.
    numeric : bool
        Whether they are numbers.
    """

    name: str
    values: list[Any]
    numeric: bool


@dataclass(frozen=True)
class Positions:
    """Where the nodes are: columns across and up, and whether these are degrees on the globe."""

    names: tuple[str, str]
    values: Array
    degrees: bool


@dataclass(frozen=True)
class Inputs:
    """Everything that the files hold, checked.

    Attributes
    ----------
    table : Table
        The data file.
    names : list of str
        The nodes.
    Y : array (n, m)
        The data, NaN where missing.
    times : Times or None
        Times of the rows.
    attributes : list of Attribute
        Columns of the table of nodes.
    covariates : list of str
        Those that the node kernel uses.
    positions : Positions or None
        Where the nodes are.
    """

    table: Table
    names: list[str]
    Y: Array
    times: Times | None
    attributes: list[Attribute] = field(default_factory=list)
    covariates: list[str] = field(default_factory=list)
    positions: Positions | None = None

    def attribute(self, name: str) -> Attribute:
        """Return the column of a name."""
        return next(one for one in self.attributes if one.name == name)


def read_inputs(args: Arguments) -> Inputs:
    """Read and check the files that the arguments name."""
    table = read_table(args.data, separator=args.separator, decimal=args.decimal)
    times = None if args.time is None else read_times(table, args.time)
    names = [name for name in table.names if times is None or name != times.name]
    if len(names) < 2:
        raise table.error(
            f"{len(names)} column(s) of data, but a graph links at least two",
            "give one column for each node"
            + (" and check that commas separate them" if table.separator == "," else ""),
        )
    Y = np.column_stack([read_numbers(table, name) for name in names])
    _check_data(table, names, Y)
    if args.nodes is None:
        _check_no_nodes(args)
        return Inputs(table, names, Y, times)
    nodes = read_table(args.nodes, separator=args.separator, decimal=args.decimal)
    attributes = _read_attributes(nodes, args, table.source, names)
    covariates = _choose_covariates(nodes, args, attributes)
    positions = _read_positions(nodes, args, attributes)
    if args.color is not None:
        _check_column(nodes, "--color", args.color, attributes)
    return Inputs(table, names, Y, times, attributes, covariates, positions)


def _check_data(table: Table, names: list[str], Y: Array) -> None:
    observed = ~np.isnan(Y)
    for column, name in enumerate(names):
        values = Y[observed[:, column], column]
        if not len(values):
            raise table.error("no value in any row", "delete the column", column=name)
        if values.min() == values.max():
            what = f"no value but {values[0]:g}"
            remedy = "delete the column: nothing can be learned about a node that never varies"
            raise table.error(what, remedy, column=name)
        if not np.isfinite(values.std()):
            raise table.error("values too large to compute with", "rescale them", column=name)
    empty = np.flatnonzero(~observed.any(axis=1))
    if len(empty):
        raise table.error("no value in any column", "delete the line", row=int(empty[0]))


def _check_no_nodes(args: Arguments) -> None:
    for option, value in (
        ("--x", args.x),
        ("--color", args.color),
        ("--position", args.position),
        ("--node-name", args.node_name),
    ):
        if value is not None:
            raise CommandError(
                f"{option} names a column of the table of nodes", "pass that table with --nodes"
            )


def _read_attributes(nodes: Table, args: Arguments, data: str, names: list[str]) -> list[Attribute]:
    """Match the rows with the nodes, one each, and read the other columns."""
    key = nodes.names[0] if args.node_name is None else args.node_name
    if key not in nodes.names:
        raise nodes.error(
            f"there is no column {shorten(key)} for --node-name",
            f"the columns are {_some(nodes.names)}",
        )
    places: dict[str, int] = {}
    for row, name in enumerate(nodes.column(key)):
        if name in places:
            first = nodes.lines[places[name]]
            raise nodes.error(
                f"the node {shorten(name)} is on {nodes.unit} {first} already",
                "keep one of the two",
                row=row,
                column=key,
            )
        if name not in names:
            raise nodes.error(
                f"{shorten(name)} is not a node, which are the columns of {data}: {_some(names)}",
                "correct the name or delete the row",
                row=row,
                column=key,
            )
        places[name] = row
    for name in names:
        if name not in places:
            raise nodes.error(
                f"no row for the node {shorten(name)}, a column of {data}",
                "add a row, or delete that column",
            )
    order = [places[name] for name in names]
    return [_read_attribute(nodes, name, order) for name in nodes.names if name != key]


def _read_attribute(nodes: Table, name: str, order: list[int]) -> Attribute:
    if are_numbers(nodes, name):
        numbers = read_numbers(nodes, name)[order].tolist()
        return Attribute(name, [None if value != value else value for value in numbers], True)
    cells = nodes.column(name)
    for row, cell in enumerate(cells):
        if UNPRINTABLE.search(cell):
            problem = f"{shorten(cell)} holds a control character"
            raise nodes.error(problem, "delete it", row=row, column=name)
    texts = [None if cells[k].lower() in NO_TEXT else cells[k] for k in order]
    return Attribute(name, texts, False)


def _choose_covariates(nodes: Table, args: Arguments, attributes: list[Attribute]) -> list[str]:
    """Return the columns that feed the kernel: those asked for, or all with a value per node."""
    wanted = [one.name for one in attributes] if args.x is None else args.x
    remedy = "fill it in" + (", or choose columns with --x" if args.x is None else "")
    for name in wanted:
        attribute = _check_column(nodes, "--x", name, attributes)
        if None in attribute.values:
            none = NO_NUMBER if attribute.numeric else NO_TEXT
            row = next(k for k, cell in enumerate(nodes.column(name)) if cell.lower() in none)
            raise nodes.error("no value", remedy, row=row, column=name)
    return list(wanted)


def _check_column(nodes: Table, option: str, name: str, attributes: list[Attribute]) -> Attribute:
    for one in attributes:
        if one.name == name:
            return one
    raise nodes.error(
        f"there is no column {shorten(name)} for {option}",
        f"the columns are {_some([one.name for one in attributes])}",
    )


def _read_positions(nodes: Table, args: Arguments, attributes: list[Attribute]) -> Positions | None:
    """Return the columns asked for, or those with the names of coordinates if they are complete."""
    known = {one.name.lower(): one for one in attributes}
    if args.position is not None:
        across, up = (_check_column(nodes, "--position", n, attributes) for n in args.position)
        for one in (across, up):
            if not one.numeric or None in one.values:
                raise nodes.error(
                    "not a number for each node, as --position needs",
                    "correct the column, or leave --position out",
                    column=one.name,
                )
        names = (across.name.lower(), up.name.lower())
        degrees = any(names == (a, b) and globe for a, b, globe in _POSITION_NAMES)
        return _positions(across, up, degrees)
    for a, b, globe in _POSITION_NAMES:
        if a in known and b in known:
            pair = known[a], known[b]
            if all(one.numeric and None not in one.values for one in pair):
                return _positions(*pair, globe)
    return None


def _positions(across: Attribute, up: Attribute, degrees: bool) -> Positions:
    values = np.column_stack([np.array(one.values, dtype=float) for one in (across, up)])
    return Positions((across.name, up.name), values, degrees)


def _some(names: list[str]) -> str:
    return ", ".join(shorten(name, 24) for name in names[:6]) + (", ..." if len(names) > 6 else "")
