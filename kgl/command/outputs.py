"""Files that the command writes: all of them or none, and none that exists without --force."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl._optional import import_optional
from kgl.command.errors import CommandError
from kgl.command.inputs import Inputs
from kgl.command.learning import Learned
from kgl.command.tables import STDIN

if TYPE_CHECKING:
    import networkx as nx

    from kgl.command.arguments import Arguments

__all__ = [
    "Write",
    "check_outputs",
    "edge_list",
    "filled_in",
    "graph_file",
    "text_file",
    "write_all",
]

#: Endings that each option can write.
ENDINGS = {
    "out": (".graphml", ".gexf", ".csv", ".json"),
    "report": (".html", ".htm"),
    "edges": (".csv",),
    "imputed": (".csv", ".tsv"),
    "imputed_std": (".csv", ".tsv"),
    "picture": (".png", ".svg", ".pdf"),
}
#: Names that the formats give a meaning of their own.
_RESERVED = frozenset({"id", "label", "viz", "start", "end", "pid", "spells", "slices", "parents"})

Write = Callable[[Path], None]


def check_outputs(args: Arguments) -> dict[str, Path]:
    """Return the files to write by option, refusing before any work what cannot be written."""
    found: dict[str, Path] = {}
    for option, endings in ENDINGS.items():
        name = getattr(args, option)
        if name is not None:
            found[option] = _check_output(option, name, endings, args)
    inputs = [Path(name).resolve() for name in (args.data, args.nodes) if name not in (None, STDIN)]
    taken: dict[Path, str] = {}
    for option, path in found.items():
        place = path.resolve()
        if place in inputs:
            problem = f"{_flag(option)} is a file to read"
            raise CommandError(problem, "choose another", file=str(path))
        if place in taken:
            both = f"{_flag(taken[place])} and by {_flag(option)}"
            raise CommandError(f"named by {both}", "choose another", file=str(path))
        taken[place] = option
    if "picture" in found:
        import_optional("matplotlib", "plot", "--picture")
    return found


def _flag(option: str) -> str:
    """Return an option as it is typed."""
    return "--" + option.replace("_", "-")


def _check_output(option: str, name: str, endings: tuple[str, ...], args: Arguments) -> Path:
    path = Path(name)
    if path.suffix.lower() not in endings:
        raise CommandError(
            f"{_flag(option)} cannot write this kind of file",
            f"choose a name that ends in {' or '.join(endings)}",
            file=name,
        )
    if path.is_dir():
        raise CommandError("is a folder", "name a file in it", file=name)
    if not path.parent.is_dir():
        raise CommandError("its folder does not exist", "create the folder first", file=name)
    if not os.access(path.parent, os.W_OK):
        raise CommandError("its folder cannot be written to", "choose another", file=name)
    if path.exists() and not args.force:
        raise CommandError("exists already", "pass --force to overwrite it", file=name)
    return path


def write_all(files: dict[Path, Write]) -> None:
    """Write every file beside its place, and move them there once all are complete."""
    mark = f"{os.getpid()}.part"
    parts = {path: path.with_name(f".{path.stem}.{mark}{path.suffix}") for path in files}
    for path in files:
        _clear(path)
    try:
        for path, write in files.items():
            try:
                write(parts[path])
            except OSError as error:
                reason = error.strerror or "it cannot be written"
                raise CommandError(reason, "nothing was written", file=str(path)) from None
        for path, part in parts.items():
            os.replace(part, path)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def _clear(path: Path) -> None:
    """Remove what writers of the same file have left that were killed."""
    for part in path.parent.glob(f".{escape(path.stem)}.*.part{escape(path.suffix)}"):
        process = part.name.removesuffix(f".part{path.suffix}").rpartition(".")[2]
        if process.isdigit() and not _lives(int(process)):
            part.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    """Return whether a process exists; true where that cannot be told."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def text_file(text: str) -> Write:
    """Return a writer of a text in UTF-8."""

    def write(path: Path) -> None:
        path.write_bytes(text.encode("utf-8"))

    return write


def _write_rows(path: Path, rows: list[list[str]], separator: str = ",") -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    path.write_bytes(text.getvalue().encode("utf-8"))


def edge_numbers(learned: Learned, i: int, j: int) -> dict[str, float]:
    """Return what is known about an edge, under the names that files have."""
    found = {"weight": float(learned.weights[i, j])}
    if learned.sure is not None:
        found = {
            "probability": float(learned.sure.values[i, j]),
            **found,
            "weight_low": float(learned.sure.low[i, j]),
            "weight_high": float(learned.sure.high[i, j]),
        }
    return found | {"sign": learned.sign(i, j)}


def edge_list(inputs: Inputs, learned: Learned) -> Write:
    """Return a writer of the edges as CSV, heaviest or most probable first."""
    names = inputs.names
    rows = [
        [names[i], names[j], *(format(v, ".10g") for v in edge_numbers(learned, i, j).values())]
        for i, j, _ in learned.edges
    ]
    # of any pair: a graph without edges has a header too
    header = ["source", "target", *edge_numbers(learned, 0, 1)]
    return lambda path: _write_rows(path, [header, *rows])


def filled_in(inputs: Inputs, learned: Learned, target: Path, *, std: bool = False) -> Write:
    """Return a writer of the data file with missing values filled in, all else as it was.

    With ``std``, of their standard deviations instead, and 0 where a value was observed.
    """
    values = learned.std if std else learned.signals
    assert values is not None
    table = inputs.table
    rows = [list(row) for row in table.rows]
    column = {name: table.names.index(name) for name in inputs.names}
    cells = np.ones_like(inputs.Y, dtype=bool) if std else np.isnan(inputs.Y)
    for i, j in np.argwhere(cells):
        number = format(values[i, j], ".8g").replace(".", table.decimal)
        rows[i][column[inputs.names[j]]] = number
    separator = "\t" if target.suffix.lower() == ".tsv" else table.separator
    if table.separator == "\t" and target.suffix.lower() == ".csv":
        separator = ","
    return lambda path: _write_rows(path, [table.names, *rows], separator)


def make_graph(inputs: Inputs, learned: Learned, *, viz: bool = False) -> nx.Graph:
    """Return the graph with the attributes of its nodes; with ``viz``, positions as GEXF has."""
    import networkx as nx

    graph = nx.Graph()
    for k, name in enumerate(inputs.names):
        graph.add_node(name, **_node_attributes(inputs, k))
        if viz and inputs.positions is not None:
            across, up = inputs.positions.values[k].tolist()
            graph.nodes[name]["viz"] = {"position": {"x": across, "y": up, "z": 0.0}}
    for i, j, _ in learned.edges:
        graph.add_edge(inputs.names[i], inputs.names[j], **edge_numbers(learned, i, j))
    return graph


def _node_attributes(inputs: Inputs, k: int) -> dict[str, Any]:
    """Return the known attributes of a node, under names that no format takes for its own."""
    return {
        f"node {one.name}" if one.name.lower() in _RESERVED else one.name: one.values[k]
        for one in inputs.attributes
        if one.values[k] is not None
    }


def graph_file(inputs: Inputs, learned: Learned, target: Path) -> Write:
    """Return a writer of the graph in the format of the file's ending."""
    suffix = target.suffix.lower()
    if suffix == ".csv":
        return edge_list(inputs, learned)
    if suffix == ".json":
        return text_file(_node_link(inputs, learned))
    import networkx as nx

    graph = make_graph(inputs, learned, viz=suffix == ".gexf")
    write = nx.write_gexf if suffix == ".gexf" else nx.write_graphml_xml
    return lambda path: write(graph, path)


def _node_link(inputs: Inputs, learned: Learned) -> str:
    names = inputs.names
    content = {
        "directed": False,
        "multigraph": False,
        "graph": {},
        "nodes": [{"id": name, **_node_attributes(inputs, k)} for k, name in enumerate(names)],
        "edges": [
            {"source": names[i], "target": names[j], **edge_numbers(learned, i, j)}
            for i, j, _ in learned.edges
        ],
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
