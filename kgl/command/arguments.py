"""The arguments of the command."""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass, fields
from typing import NoReturn

from kgl.command.errors import CommandError, shorten

__all__ = ["BAYESIAN", "LOGS", "MODELS", "Arguments", "parse"]

#: Estimators by the names that the command takes.
MODELS = ("KGL", "KGLN", "KGLO", "KGLAgnostic", "GL", "GL2Step", "BayesianKGL")
#: The one that draws graphs and so has probabilities.
BAYESIAN = "BayesianKGL"
#: Whether the graph is one of logarithms, as people say it and as the estimators do.
LOGS: dict[str, str | bool] = {"auto": "auto", "yes": True, "no": False}

_EXAMPLES = """\
examples:
  kgl learn data.csv
  kgl learn data.csv --nodes nodes.csv --time date --out graph.graphml --report graph.html
  kgl learn data.csv --time date --imputed filled.csv
  kgl learn data.csv --time date --model bayesian --report graph.html
"""


@dataclass(frozen=True)
class Arguments:
    """What the user asked for; see ``kgl learn --help``."""

    data: str
    nodes: str | None = None
    node_name: str | None = None
    x: list[str] | None = None
    time: str | None = None
    position: list[str] | None = None
    color: str | None = None
    model: str = "KGL"
    density: float | None = None
    min_probability: float | None = None
    draws: int | None = None
    log: str = "auto"
    unsigned: bool = False
    seed: int = 0
    out: str | None = None
    report: str | None = None
    edges: str | None = None
    imputed: str | None = None
    imputed_std: str | None = None
    picture: str | None = None
    separator: str | None = None
    decimal: str = "."
    force: bool = False
    quiet: bool = False

    @property
    def bayesian(self) -> bool:
        """Whether graphs are drawn, so that edges have probabilities."""
        return self.model == BAYESIAN


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, as those of files."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(message, f"see {self.prog} --help")


def parse(words: list[str] | None) -> Arguments:
    """Return the arguments, with ``words`` in place of those of the process."""
    parser = _Parser(prog="kgl", description="Learn the graph that links the columns of a table.")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    learn = commands.add_parser(
        "learn",
        help="learn a graph from a table",
        description=(
            "Learn the weighted graph that links the columns (nodes) of a table. One row is one "
            "observation; empty cells are missing."
        ),
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_inputs(learn)
    _add_outputs(learn)
    found = vars(parser.parse_args(words))
    if found.pop("version"):
        import kgl

        print(kgl.__version__)
        raise SystemExit(0)
    if found.pop("command") is None:
        parser.print_help()
        raise SystemExit(0)
    return Arguments(**{one.name: found[one.name] for one in fields(Arguments)})


def _add_inputs(learn: argparse.ArgumentParser) -> None:
    learn.add_argument("data", help="CSV, TSV, Parquet or Excel file; - reads CSV from a pipe")
    group = learn.add_argument_group("what the files hold")
    add = group.add_argument
    add("--time", metavar="COLUMN", help="column with the date or number of each row")
    add("--nodes", metavar="FILE", help="table with one row per node, its name first")
    add("--node-name", metavar="COLUMN", help="column of that table that names the nodes")
    add("--x", metavar="A,B", type=_names, help="columns of that table that inform the graph (all)")
    add("--position", metavar="A,B", type=_pair, help="columns across and up, such as lon,lat")
    add("--separator", metavar="MARK", type=_separator, help="what separates cells: , ; or tab")
    add("--decimal", metavar="MARK", choices=[".", ","], default=".", help="decimal mark: . or ,")
    group = learn.add_argument_group("the graph")
    add = group.add_argument
    add("--model", type=_model, default="KGL", help=f"{', '.join(MODELS)} (KGL)")
    add("--density", type=_density, help="share of the pairs of nodes that are linked (0.3)")
    add(
        "--min-probability",
        metavar="SHARE",
        type=_probability,
        help="least probability of an edge, by BayesianKGL (0.5)",
    )
    add("--draws", metavar="NUMBER", type=_draws, help="draws of each of its chains (60)")
    add(
        "--log",
        choices=list(LOGS),
        default="auto",
        help="graph of logarithms: auto, yes or no (auto)",
    )
    add("--unsigned", action="store_true", help="link no nodes that move opposite to each other")
    add("--seed", type=_seed, default=0, help="seed of layout, withheld values and draws (0)")


def _add_outputs(learn: argparse.ArgumentParser) -> None:
    group = learn.add_argument_group("what to write")
    add = group.add_argument
    add("--out", metavar="FILE", help="the graph: .graphml, .gexf, .csv (edges) or .json")
    add("--report", metavar="FILE.html", help="a page with the graph, for any browser")
    add("--edges", metavar="FILE.csv", help="the edges, heaviest or most probable first")
    add("--imputed", metavar="FILE.csv", help="the data with missing values filled in")
    add("--imputed-std", metavar="FILE.csv", help="standard deviations of the values filled in")
    add("--picture", metavar="FILE.png", help="a picture of the graph (.png, .svg or .pdf)")
    add("--color", metavar="COLUMN", help="column of the table of nodes that colors them")
    add("--force", action="store_true", help="overwrite files that exist")
    add("--quiet", action="store_true", help="print errors only")


def _names(text: str) -> list[str]:
    """Split names at commas, except inside quotes."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"{shorten(text)} is not a list of columns such as a,b")
    return list(dict.fromkeys(names))


def _pair(text: str) -> list[str]:
    names = _names(text)
    if len(names) != 2:
        raise argparse.ArgumentTypeError(f"{shorten(text)} is not two columns such as lon,lat")
    return names


def _separator(text: str) -> str:
    mark = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(text.lower(), text)
    if len(mark) != 1 or mark in '"\r\n':
        raise argparse.ArgumentTypeError(f"{shorten(text)} is not one mark such as ; or tab")
    return mark


def _model(text: str) -> str:
    known = {name.lower(): name for name in MODELS} | {"bayesian": BAYESIAN}
    name = known.get(text.lower().replace("-", ""))
    if name is None:
        raise argparse.ArgumentTypeError(f"{shorten(text)} is not one of {', '.join(MODELS)}")
    return name


def _density(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 < value <= 1.0:
        raise argparse.ArgumentTypeError(f"{shorten(text)} is not a share above 0 and at most 1")
    return value


def _probability(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"{shorten(text)} is not a probability from 0 to 1")
    return value


def _draws(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 4 <= int(text) <= 1_000_000):
        raise argparse.ArgumentTypeError(
            f"{shorten(text)} is not a whole number of at least 4, such as 240"
        )
    return int(text)


def _seed(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) < 2**32):
        raise argparse.ArgumentTypeError(f"{shorten(text)} is not a whole number of at least 0")
    return int(text)
