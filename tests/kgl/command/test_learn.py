"""What the command writes and prints for files that are fine."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import kgl
from kgl.command import main
from kgl.command.cells import read_times
from kgl.command.outputs import text_file, write_all
from kgl.command.tables import Table

ROOT = Path(__file__).resolve().parents[3]
NAMES = ["Bern", "Chur", "Genf", "Zug", "Thun", "Basel"]


def rows_of(path: Path, separator: str = ",") -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream, delimiter=separator))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Thirty days at six towns, with gaps; levels and units differ."""
    monkeypatch.chdir(tmp_path)
    data = kgl.simulate.make_dataset("er", m=6, n=30, dependent=True, seed=3)
    Y = data.Y * np.array([1, 10, 100, 1, 0.1, 5]) + np.array([0, 500, -30, 8, 2, 1])
    lines = ["date," + ",".join(NAMES)]
    for k, row in enumerate(Y):
        cells = ["" if (k + j) % 9 == 0 else f"{value:.4f}" for j, value in enumerate(row)]
        lines.append(f"2024-02-{k + 1:02d}," + ",".join(cells) if k < 29 else "")
    (tmp_path / "data.csv").write_text("\n".join(filter(None, lines)) + "\n", encoding="utf-8")
    nodes = ["town,lon,lat,label,kind"]
    kinds = ["flat", "alp", "flat", "flat", "alp", "flat"]
    for k, name in reversed(list(enumerate(NAMES))):
        nodes.append(f"{name},{6 + k / 2},{46 + (k * 3 % 5) / 4},{k * k},{kinds[k]}")
    (tmp_path / "nodes.csv").write_text("\n".join(nodes) + "\n", encoding="utf-8")
    return tmp_path


def run(*words: str) -> None:
    assert main(["learn", *words]) == 0


def test_all_outputs_agree(folder, capsys):
    run("data.csv", "--nodes", "nodes.csv", "--time", "date", "--density", "0.4",
        "--out", "g.graphml", "--edges", "e.csv", "--report", "g.html")  # fmt: skip
    graph = nx.read_graphml(folder / "g.graphml")
    assert sorted(graph) == sorted(NAMES)
    assert 5 <= graph.number_of_edges() <= 7  # 0.4 of 15 pairs, as nearly as some psi allows
    header, *edges = rows_of(folder / "e.csv")
    assert header == ["source", "target", "weight", "sign"]
    weights = [float(weight) for _, _, weight, _ in edges]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(3.0)  # the trace of the Laplacian is the number of nodes
    for source, target, weight, sign in edges:
        assert graph.edges[source, target]["weight"] == pytest.approx(float(weight))
        assert graph.edges[source, target]["sign"] == int(sign)
    assert graph.nodes["Chur"]["kind"] == "alp"
    assert graph.nodes["Chur"]["lon"] == 6.5
    assert graph.nodes["Chur"]["node label"] == 1.0
    page = (folder / "g.html").read_text(encoding="utf-8")
    assert "Graph of data.csv" in page
    assert "blocks of consecutive rows" in page
    assert str(folder) not in page
    assert capsys.readouterr().out.splitlines()[1:] == [
        "wrote g.graphml",
        "wrote g.html",
        "wrote e.csv",
    ]


@pytest.mark.parametrize("suffix", [".gexf", ".json", ".csv"])
def test_other_graph_files(folder, suffix):
    name = f"g{suffix}"
    run("data.csv", "--nodes", "nodes.csv", "--time", "date", "--out", name, "--quiet")
    if suffix == ".gexf":
        graph = nx.read_gexf(folder / name)
        assert graph.nodes["Chur"]["viz"]["position"]["x"] == 6.5
    elif suffix == ".json":
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        graph = nx.Graph()
        graph.add_nodes_from((node["id"], node) for node in content["nodes"])
        graph.add_edges_from((e["source"], e["target"]) for e in content["edges"])
        assert {node["kind"] for node in content["nodes"]} == {"alp", "flat"}
    else:
        graph = nx.Graph([row[:2] for row in rows_of(folder / name)[1:]])
    assert set(graph) <= set(NAMES)
    assert graph.number_of_edges() > 0


def test_the_graph_depends_neither_on_level_nor_on_unit(folder):
    run("data.csv", "--time", "date", "--edges", "e.csv")
    header, *rows = rows_of(folder / "data.csv")
    for row in rows:
        row[2] = row[2] and str(1000.0 * float(row[2]) - 77.0)
    with (folder / "other.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    run("other.csv", "--time", "date", "--edges", "f.csv")
    ours, theirs = (rows_of(folder / name)[1:] for name in ("e.csv", "f.csv"))
    assert [row[:2] for row in ours] == [row[:2] for row in theirs]
    np.testing.assert_allclose(
        [float(r[2]) for r in ours], [float(r[2]) for r in theirs], rtol=1e-4
    )


def test_imputed_values(folder):
    run("data.csv", "--time", "date", "--imputed", "filled.csv")
    before, after = rows_of(folder / "data.csv"), rows_of(folder / "filled.csv")
    assert before[0] == after[0]
    filled = 0
    for row, new in zip(before[1:], after[1:], strict=True):
        for column, (cell, value) in enumerate(zip(row, new, strict=True)):
            if cell:
                assert cell == value
            else:
                others = [float(r[column]) for r in before[1:] if r[column]]
                spread = max(others) - min(others)
                assert min(others) - spread < float(value) < max(others) + spread
                filled += 1
    assert filled > 10


def test_semicolons_and_decimal_commas(folder):
    text = (folder / "data.csv").read_text(encoding="utf-8")
    (folder / "euro.csv").write_text(text.replace(",", ";").replace(".", ","), encoding="utf-8")
    how = ["--separator", ";", "--decimal", ","]
    run("euro.csv", "--time", "date", *how, "--edges", "e.csv", "--imputed", "i.csv")
    run("data.csv", "--time", "date", "--edges", "f.csv", "--imputed", "j.csv")
    assert rows_of(folder / "e.csv") == rows_of(folder / "f.csv")
    theirs = [[cell.replace(".", ",") for cell in row] for row in rows_of(folder / "j.csv")]
    assert rows_of(folder / "i.csv", ";") == theirs


def test_dates_may_repeat_and_need_no_order(folder):
    header, *rows = rows_of(folder / "data.csv")
    for k, row in enumerate(rows):
        row[0] = f"2024-02-{28 - k // 3:02d}"
    with (folder / "other.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    run("other.csv", "--time", "date", "--edges", "e.csv", "--report", "g.html")
    assert len(rows_of(folder / "e.csv")) > 1


def test_tsv_utf16_and_a_byte_order_mark(folder):
    text = (folder / "data.csv").read_text(encoding="utf-8")
    (folder / "data.tsv").write_bytes(text.replace(",", "\t").encode("utf-16"))
    (folder / "mark.csv").write_bytes(text.encode("utf-8-sig"))
    run("data.csv", "--time", "date", "--edges", "e.csv")
    run("data.tsv", "--time", "date", "--edges", "f.csv")
    run("mark.csv", "--time", "date", "--edges", "h.csv")
    assert rows_of(folder / "e.csv") == rows_of(folder / "f.csv") == rows_of(folder / "h.csv")


def test_parquet(folder):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.read_csv(folder / "data.csv", parse_dates=["date"], index_col="date")
    frame.to_parquet(folder / "data.parquet")
    run("data.parquet", "--time", "date", "--edges", "e.csv")
    run("data.csv", "--time", "date", "--edges", "f.csv")
    assert rows_of(folder / "e.csv") == rows_of(folder / "f.csv")


def test_excel_without_its_reader(folder, monkeypatch, capsys):
    pandas = pytest.importorskip("pandas")

    def missing(*_: object, **__: object) -> None:
        raise ImportError("Missing optional dependency 'openpyxl'.")

    monkeypatch.setattr(pandas, "read_excel", missing)
    (folder / "data.xlsx").write_bytes(b"PK")
    assert main(["learn", "data.xlsx"]) == 2
    assert "pip install openpyxl, or save the table as CSV" in capsys.readouterr().err


def test_the_cells_of_excel(folder, monkeypatch):
    """As pandas hands them over, without the package that reads the file."""
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(folder / "data.csv", parse_dates=["date"])
    cells = pandas.DataFrame([list(table.columns), *table.astype(object).to_numpy().tolist()])
    monkeypatch.setattr(pandas, "read_excel", lambda *_, **__: cells)
    (folder / "data.xlsx").write_bytes(b"PK")
    run("data.xlsx", "--time", "date", "--edges", "e.csv")
    run("data.csv", "--time", "date", "--edges", "f.csv")
    assert rows_of(folder / "e.csv") == rows_of(folder / "f.csv")


def test_excel(folder):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("openpyxl")
    pandas.read_csv(folder / "data.csv").to_excel(folder / "data.xlsx", index=False)
    run("data.xlsx", "--time", "date", "--edges", "e.csv")
    run("data.csv", "--time", "date", "--edges", "f.csv")
    assert rows_of(folder / "e.csv") == rows_of(folder / "f.csv")


@pytest.mark.parametrize("color", ["kind", "lat", None])
def test_picture(folder, color):
    pytest.importorskip("matplotlib")
    chosen = [] if color is None else ["--color", color]
    run("data.csv", "--nodes", "nodes.csv", "--time", "date", "--picture", "p.png", *chosen)
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("model", ["KGL", "KGLN", "kgl-o", "KGLAgnostic", "GL", "GL2Step"])
def test_every_model(folder, model):
    run("data.csv", "--nodes", "nodes.csv", "--time", "date", "--model", model,
        "--out", "g.graphml", "--report", "g.html")  # fmt: skip
    page = (folder / "g.html").read_text(encoding="utf-8")
    assert ("GL predicts no values" in page) == (model == "GL")


def test_nothing_is_overwritten_without_force(folder, capsys):
    (folder / "g.graphml").write_text("mine")
    before = sorted(folder.iterdir())
    words = ["learn", "data.csv", "--time", "date", "--edges", "new.csv", "--out", "g.graphml"]
    assert main(words) == 2
    assert (
        capsys.readouterr().err
        == "error: g.graphml: exists already; pass --force to overwrite it\n"
    )
    assert sorted(folder.iterdir()) == before
    assert (folder / "g.graphml").read_text() == "mine"
    assert main([*words, "--force"]) == 0
    assert "<graphml" in (folder / "g.graphml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        ["--out", "g.txt"],
        ["--out", "none/g.graphml"],
        ["--report", "."],
        ["--edges", "data.csv", "--force"],
        ["--edges", "e.csv", "--out", "e.csv"],
        ["--picture", "p.bmp"],
        ["--imputed", "filled.xlsx"],
    ],
)
def test_outputs_are_checked_before_the_data_are_read(folder, capsys, words):
    (folder / "data.csv").write_text("broken")
    before = sorted(folder.iterdir())
    assert main(["learn", "data.csv", *words]) == 2
    assert "line" not in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before


def test_a_failing_writer_leaves_nothing_behind(folder, monkeypatch, capsys):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(nx, "write_graphml_xml", full)
    before = sorted(folder.iterdir())
    words = ["learn", "data.csv", "--time", "date", "--edges", "e.csv", "--out", "g.graphml"]
    assert main(words) == 2
    assert capsys.readouterr().err == (
        "error: g.graphml: No space left on device; nothing was written\n"
    )
    assert sorted(folder.iterdir()) == before


def test_what_a_killed_command_left_is_removed_by_the_next(tmp_path):
    shown = [sys.executable, "-c", "import os; print(os.getpid())"]
    ended = subprocess.run(shown, capture_output=True, text=True, check=True).stdout.strip()
    alive = f".out.{os.getppid()}.part.csv"
    for name in (f".out.{ended}.part.csv", alive, f".else.{ended}.part.csv"):
        (tmp_path / name).write_text("half")
    write_all({tmp_path / "out.csv": text_file("whole")})
    left = {path.name for path in tmp_path.iterdir()} - {f".out.{ended}.part.csv"}
    assert left == {"out.csv", alive, f".else.{ended}.part.csv"}
    assert (tmp_path / f".out.{ended}.part.csv").exists() == (os.name != "posix")
    assert (tmp_path / "out.csv").read_text() == "whole"


def test_summary_without_outputs(folder, capsys):
    run("data.csv", "--time", "date", "--density", "0.8")
    out, err = capsys.readouterr()
    lines = out.splitlines()
    # edges that enter together may make it one more or less
    shown = r"1[123] edges among 6 nodes \((73|80|87)% of 15 pairs\), learned by KGL from 29 rows"
    assert re.match(shown, lines[0])
    assert sum(line.startswith("RMSE of") for line in lines) == 2
    assert sum(line.startswith("  ") for line in lines) == 10
    assert err == ""


def test_standard_input_from_a_shell(folder):
    words = [sys.executable, "-m", "kgl", "learn", "-", "--time", "date", "--quiet"]
    done = subprocess.run(
        words,
        input=(folder / "data.csv").read_bytes(),
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert b"the 4 heaviest edges" in done.stdout  # 0.3 of 15 pairs


def test_help_and_version(capsys):
    for words, expected in (["learn", "--help"], "--report"), (["--version"], kgl.__version__):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0
        assert expected in capsys.readouterr().out


def test_a_seed_repeats_everything_but_the_time_taken(folder):
    pages = []
    for name in ("a.html", "b.html"):
        run("data.csv", "--time", "date", "--report", name, "--seed", "5")
        page = (folder / name).read_text(encoding="utf-8")
        pages.append("".join(line for line in page.splitlines() if "Time taken" not in line))
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["2024-01-01", "2024-01-03", "2024-01-03"], [0, 2, 2]),
        (["2024-01-01 00:00", "2024-01-01 12:00"], [0, 0.5]),
        (["2024-01", "2024-02"], [0, 31]),
        (["20240101", "20240131"], [0, 30]),
        (["31.01.2024", "01.02.2024"], [0, 1]),
        (["13/01/2024", "01/02/2024"], [0, 19]),
        (["01/13/2024", "02/01/2024"], [0, 19]),
        (["2024-01-01T00:00:00Z", "2024-01-01T00:00:00-06:00"], [0, 0.25]),
        (["2001", "1999"], [2001, 1999]),
        (["0.5", "1e1"], [0.5, 10]),
    ],
)
def test_times(cells, days):
    table = Table("t.csv", ["t"], [[cell] for cell in cells], list(range(2, 9)))
    assert read_times(table, "t").values.tolist() == days


def test_signs_and_logarithms_can_be_switched_off(folder, capsys):
    lines = (folder / "data.csv").read_text().splitlines()
    flipped = [lines[0]]
    for line in lines[1:]:
        cells = line.split(",")
        cells[1] = str(-float(cells[1])) if cells[1] else ""
        flipped.append(",".join(cells))
    (folder / "flipped.csv").write_text("\n".join(flipped) + "\n")
    run("flipped.csv", "--time", "date", "--density", "0.8", "--edges", "e.csv")
    run("flipped.csv", "--time", "date", "--density", "0.8", "--unsigned", "--edges", "f.csv")
    assert {row[3] for row in rows_of(folder / "e.csv")[1:]} == {"1", "-1"}
    assert {row[3] for row in rows_of(folder / "f.csv")[1:]} == {"1"}
    run("data.csv", "--time", "date", "--log", "yes", "--report", "log.html")
    assert "learned from their logarithms" in (folder / "log.html").read_text()
    capsys.readouterr()
    assert main(["learn", "data.csv", "--log", "maybe"]) == 2
