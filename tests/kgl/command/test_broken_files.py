"""Broken files: one line that names the place and the remedy, exit code 2, and nothing written."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from kgl.command import main

GOOD = "date,a,b,c\n" + "".join(
    f"2024-01-{k:02d},{k},{(k * 7) % 5}.5,{(k * 3) % 4}\n" for k in range(1, 13)
)
NODES = "name,lon,lat,kind\na,1,2,alp\nb,2,3,alp\nc,3,5,valley\n"


def change(text: str, line: int, new: str | None) -> str:
    """Replace a line, counted from 1, or delete it."""
    lines = text.splitlines()
    lines[line - 1 : line] = [] if new is None else [new]
    return "\n".join(lines) + "\n"


#: The file, and words of the message, among which are the place and the remedy.
DATA: dict[str, tuple[str | bytes, list[str]]] = {
    "empty": ("", ["is empty"]),
    "only blank lines": ("\n\n  \n", ["is empty"]),
    "header only": ("date,a,b\n", ["no rows"]),
    "no header": (change(GOOD, 1, None), ["line 1", "'2024-01-01'", "add a first line"]),
    "no header and no dates": ("1.5,2.5\n3.5,4.0\n2.0,1.0\n", ["line 1", "add a first line"]),
    "long row": (change(GOOD, 5, "2024-01-04,1,2,3,4"), ["line 5", "5 cells", "header has 4"]),
    "short row": (change(GOOD, 5, "2024-01-04,1"), ["line 5", "2 cells", "header has 4"]),
    "duplicate names": (change(GOOD, 1, "date,a,b,a"), ["line 1", "columns 2 and 4", "'a'"]),
    "column without a name": (change(GOOD, 1, "date,a,,c"), ["line 1", "column 3 has no name"]),
    "text": (change(GOOD, 7, "2024-01-06,6,hot,2"), ["line 7", "column 'b'", "'hot'", "correct"]),
    "a column of text": (
        "date,a,b,who\n2024-01-01,1,2,me\n2024-01-02,2,1,you\n",
        ["line 2", "column 'who'", "delete the column"],
    ),
    "infinite": (change(GOOD, 4, "2024-01-03,inf,1,2"), ["line 4", "column 'a'", "infinite"]),
    "decimal comma": (
        change(GOOD, 4, '2024-01-03,"1,5",1,2'),
        ["line 4", "column 'a'", "--decimal ,"],
    ),
    "thousands": (
        change(GOOD, 4, '2024-01-03,"1,500.0",1,2'),
        ["line 4", "column 'a'", "thousands"],
    ),
    "semicolons": (GOOD.replace(",", ";"), ["line 1", "one column", "--separator ';'"]),
    "tabs": (GOOD.replace(",", "\t"), ["line 1", "one column", "--separator tab"]),
    "one column of data": ("date,a\n2024-01-01,1\n2024-01-02,2\n", ["1 column(s)", "each node"]),
    "bad date": (change(GOOD, 8, "2024-13-07,1,2,3"), ["line 8", "column 'date'", "2024-03-31"]),
    "no date": (change(GOOD, 8, ",1,2,3"), ["line 8", "column 'date'", "no time"]),
    "day or month": (
        "date,a,b\n03/04/2024,1,2\n04/05/2024,2,1\n",
        ["line 2", "column 'date'", "month first", "2024-03-31"],
    ),
    "one time": ("date,a,b\n2024-01-01,1,2\n2024-01-01,2,1\n", ["column 'date'", "--time"]),
    "time zones": (
        change(GOOD, 3, "2024-01-02T00:00:00+01:00,1,2,3"),
        ["line 3", "column 'date'", "time zone"],
    ),
    "no time column": (GOOD.replace("date", "day"), ["'date'", "--time", "'day', 'a', 'b'"]),
    "empty column": (
        "date,a,b,c\n2024-01-01,1,,2\n2024-01-02,2,NA,1\n",
        ["column 'b'", "delete the column"],
    ),
    "constant column": (
        "date,a,b,c\n2024-01-01,1,3,2\n2024-01-02,2,3,1\n",
        ["column 'b'", "never varies"],
    ),
    "empty row": (change(GOOD, 6, "2024-01-05,,NA,-"), ["line 6", "no value", "delete the line"]),
    "unclosed quote": (change(GOOD, 6, '2024-01-05,"1,2,3'), ["line 6", "quotes"]),
    "control character": (change(GOOD, 1, "date,a\x1b,b,c"), ["line 1", "column 2", "rename"]),
    "binary": (bytes(range(256)) * 8, ["not a text file", "CSV"]),
    "latin 1": (GOOD.replace(",a,", ",ä,").encode("latin-1"), ["line 1", "0xe4", "UTF-8"]),
    "parquet by another name": (b"PAR1" + bytes(100), [".parquet"]),
    "excel by another name": (b"PK\x03\x04" + bytes(100), [".xlsx"]),
}
TABLE_OF_NODES: dict[str, tuple[str, list[str]]] = {
    "lacks a node": (change(NODES, 3, None), ["no row for the node 'b'", "data.csv"]),
    "names another": (NODES + "d,1,1,alp\n", ["line 5", "'d' is not a node", "data.csv"]),
    "twice": (NODES + "a,1,1,alp\n", ["line 5", "'a' is on line 2 already"]),
    "text among numbers": (change(NODES, 3, "b,two,3,alp"), ["line 3", "column 'lon'", "'two'"]),
    "no value": (change(NODES, 3, "b,,3,alp"), ["line 3", "column 'lon'", "--x"]),
    "no category": (change(NODES, 4, "c,3,5,"), ["line 4", "column 'kind'", "--x"]),
    "infinite": (change(NODES, 3, "b,inf,3,alp"), ["line 3", "column 'lon'", "infinite"]),
    "empty": ("", ["is empty"]),
}


def fails(capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
    """Run the command, which must fail with one line, and return that line."""
    assert main(["learn", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    return err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(GOOD, encoding="utf-8")
    (tmp_path / "nodes.csv").write_text(NODES, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", DATA)
def test_broken_data(name, folder, capsys):
    content, words = DATA[name]
    content = content if isinstance(content, bytes) else content.encode("utf-8")
    (folder / "data.csv").write_bytes(content)
    line = fails(capsys, ["data.csv", "--time", "date", "--out", "g.graphml", "--report", "g.html"])
    assert line.startswith("error: data.csv")
    assert not [word for word in words if word not in line], line
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "nodes.csv"]


@pytest.mark.parametrize("name", TABLE_OF_NODES)
def test_broken_table_of_nodes(name, folder, capsys):
    content, words = TABLE_OF_NODES[name]
    (folder / "nodes.csv").write_text(content, encoding="utf-8")
    words_in = ["data.csv", "--time", "date", "--nodes", "nodes.csv", "--edges", "e.csv"]
    line = fails(capsys, words_in)
    assert line.startswith("error: nodes.csv")
    assert not [word for word in words if word not in line], line
    assert not (folder / "e.csv").exists()


def test_missing_file_and_folder(folder, capsys):
    assert "gone.csv: no such file" in fails(capsys, ["gone.csv"])
    (folder / "some").mkdir()
    assert "some: is a folder" in fails(capsys, ["some"])


def test_a_date_without_time_names_the_option(folder, capsys):
    assert "--time 'date'" in fails(capsys, ["data.csv"])


@pytest.mark.parametrize("content", [b"junk", b"PK\x03\x04junk"])
@pytest.mark.parametrize("suffix", [".parquet", ".xlsx"])
def test_junk_in_binary_formats(suffix, content, folder, capsys):
    pytest.importorskip("pandas")
    (folder / f"d{suffix}").write_bytes(content)
    assert "save the table as CSV" in fails(capsys, [f"d{suffix}"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--density", "2"], "--density"),
        (["--model", "KGLX"], "KGLAgnostic"),
        (["--separator", ";;"], "--separator"),
        (["--position", "lon"], "two columns"),
        (["--seed", "-1"], "--seed"),
        (["--unknown"], "--unknown"),
        (["--nodes", "nodes.csv", "--x", "height"], "'height' for --x; the columns are 'lon'"),
        (["--nodes", "nodes.csv", "--color", "height"], "for --color"),
        (["--nodes", "nodes.csv", "--node-name", "height"], "for --node-name"),
        (["--nodes", "nodes.csv", "--position", "lon,kind"], "column 'kind'"),
        (["--color", "kind"], "--nodes"),
        (["--model", "GL", "--imputed", "i.csv"], "--imputed"),
        (["--nodes", "nodes.csv", "--x", "lon", "--model", "KGL-O"], "leave out --x"),
    ],
)
def test_wrong_options(words, expected, folder, capsys):
    assert expected in fails(capsys, ["data.csv", "--time", "date", *words])


def test_broken_standard_input(folder, capsys, monkeypatch):
    text = change(GOOD, 7, "2024-01-06,6,hot,2")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    line = fails(capsys, ["-", "--time", "date"])
    assert line.startswith("error: standard input, line 7, column 'b'")
