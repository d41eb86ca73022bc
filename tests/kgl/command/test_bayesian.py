"""``kgl learn --model bayesian``: probabilities and intervals in all files, and its options."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import kgl
from kgl.command import main
from kgl.command.withheld import HALF

NAMES = ["Bern", "Chur", "Genf", "Zug", "Thun", "Basel"]
Capture = pytest.CaptureFixture[str]
QUICK = ("--model", "bayesian", "--draws", "10")


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def write(path: Path, Y: np.ndarray) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        cells = np.where(np.isnan(Y), "", np.round(Y, 4).astype(str)).tolist()
        csv.writer(stream).writerows([["hour", *NAMES], *([k, *r] for k, r in enumerate(cells))])


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Forty hours at six towns, with gaps, in ``data.csv`` of the working directory."""
    monkeypatch.chdir(tmp_path)
    found = kgl.simulate.make_dataset("er", m=6, n=40, dependent=True, missing=0.1, seed=3)
    write(tmp_path / "data.csv", found.Y)
    return found


def run(*words: str) -> None:
    assert main(["learn", "data.csv", "--time", "hour", *QUICK, *words]) == 0


def fails(capsys: Capture, *words: str) -> str:
    assert main(["learn", "data.csv", *words]) == 2
    return capsys.readouterr().err


def test_all_files_have_the_same_probabilities(data: Any) -> None:
    run("--edges", "e.csv", "--out", "g.graphml", "--report", "r.html", "--picture", "p.png")
    header, *edges = rows_of(Path("e.csv"))
    names = ["source", "target", "probability", "weight", "weight_low", "weight_high", "sign"]
    assert header == names
    assert edges
    chances = [float(row[2]) for row in edges]
    assert chances == sorted(chances, reverse=True)
    assert min(chances) >= 0.5
    graph = nx.read_graphml("g.graphml")
    assert sorted(graph) == sorted(NAMES)
    assert graph.number_of_edges() == len(edges)
    for source, target, *numbers in edges:
        found = graph.edges[source, target]
        for name, value in zip(names[2:], numbers, strict=True):
            assert found[name] == pytest.approx(float(value), rel=1e-8)
    page = Path("r.html").read_text(encoding="utf-8")
    (block,) = re.findall(r'id="data">(.*?)</script>', page, re.S)
    content = json.loads(block)
    assert content["probability"] is True
    likely = [edge for edge in content["edges"] if edge[2] >= content["least"]]
    assert [edge[2] for edge in likely] == pytest.approx(chances)
    assert len(content["filled"]["cells"]) == np.isnan(data.Y).sum()
    assert "R-hat" in page
    assert "In 90 % intervals" in page
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_does_what_the_library_does(data: Any) -> None:
    run("--edges", "e.csv", "--imputed", "i.csv", "--imputed-std", "s.csv", "--seed", "4")
    cells = [[float(cell or "nan") for cell in row[1:]] for row in rows_of(Path("data.csv"))[1:]]
    Y, hours = np.array(cells), np.arange(40.0)
    with pytest.warns(UserWarning, match="not converged"):
        model = kgl.BayesianKGL(n_draws=10, random_state=4).fit(Y, z=hours)
    filled, std = model.impute(Y, return_std=True)
    written = np.array([[float(cell) for cell in row[1:]] for row in rows_of(Path("i.csv"))[1:]])
    assert np.allclose(written, filled, rtol=1e-6)
    header, *rows = rows_of(Path("s.csv"))
    assert header == ["hour", *NAMES]
    written = np.array([[float(cell) for cell in row[1:]] for row in rows])
    assert np.allclose(written, std, rtol=1e-6)
    assert (written[~np.isnan(Y)] == 0).all()
    edges = [float(row[2]) for row in rows_of(Path("e.csv"))[1:]]
    chances = model.edge_probability_[np.triu_indices(6, 1)]
    assert edges == pytest.approx(sorted(chances[chances >= 0.5], reverse=True))


def test_least_probability_and_density(data: Any, capsys: Capture) -> None:
    run("--edges", "all.csv", "--min-probability", "0")
    run("--edges", "few.csv", "--min-probability", "0.9")
    assert len(rows_of(Path("all.csv"))) == 1 + 15
    few = [float(row[2]) for row in rows_of(Path("few.csv"))[1:]]
    assert few == [p for row in rows_of(Path("all.csv"))[1:] if (p := float(row[2])) >= 0.9]
    run("--edges", "dense.csv", "--min-probability", "0", "--density", "0.8")
    total = [
        sum(float(row[2]) for row in rows_of(Path(name))[1:]) for name in ("all.csv", "dense.csv")
    ]
    assert total[1] > total[0]
    capsys.readouterr()
    run()
    out, err = capsys.readouterr()
    assert "of probability 0.5 or more among 6 nodes" in out
    assert out.count("90 % intervals cover") == 2
    assert "most probable edges" in out
    assert "pass --draws 40 for a longer run" in err


def test_options_that_a_model_lacks_are_named(data: Any, capsys: Capture) -> None:
    assert "--log yes: BayesianKGL takes no logarithms" in fails(capsys, *QUICK, "--log", "yes")
    assert "density = 1 makes every pair" in fails(capsys, *QUICK, "--density", "1")
    assert "pass --model bayesian too" in fails(capsys, "--min-probability", "0.4")
    assert "--draws is for edges with probabilities" in fails(capsys, "--draws", "50")
    assert "not a probability from 0 to 1" in fails(capsys, *QUICK, "--min-probability", "50")
    assert "whole number of at least 4" in fails(capsys, "--model", "bayesian", "--draws", "3")
    assert "a ridge term" in fails(capsys, "--model", "gl2step", "--imputed-std", "s.csv")
    assert "fits signals" in fails(capsys, "--model", "gl", "--imputed-std", "s.csv")
    files = "--imputed", "s.csv", "--imputed-std", "s.csv"
    assert "named by --imputed and by --imputed-std" in fails(capsys, *files)


def test_values_that_grow_by_factors_are_noted(data: Any, capsys: Capture) -> None:
    write(Path("data.csv"), np.exp(3.0 * data.Y))
    run("--edges", "e.csv")
    assert "values grow by factors" in capsys.readouterr().err
    run("--edges", "f.csv", "--log", "no")
    assert "values grow by factors" not in capsys.readouterr().err


def test_signs_are_honoured_where_the_model_has_them(data: Any) -> None:
    Y = data.Y.copy()
    # as a reversed item: clearly opposite to another
    Y[:, 0] = -Y[:, 1] + 0.01 * np.random.default_rng(0).standard_normal(len(Y))
    write(Path("data.csv"), Y)
    run("--edges", "e.csv", "--min-probability", "0", "--unsigned")
    assert {row[-1] for row in rows_of(Path("e.csv"))[1:]} == {"1"}
    run("--edges", "s.csv", "--min-probability", "0")
    assert {row[-1] for row in rows_of(Path("s.csv"))[1:]} == {"1", "-1"}


def test_other_models_write_deviations_too(data: Any) -> None:
    words = ["learn", "data.csv", "--time", "hour", "--imputed-std", "s.csv", "--report", "r.html"]
    assert main(words) == 0
    written = np.array([[float(cell) for cell in row[1:]] for row in rows_of(Path("s.csv"))[1:]])
    missing = np.isnan(data.Y)
    assert (written[missing] > 0).all()
    assert (written[~missing] == 0).all()
    page = Path("r.html").read_text(encoding="utf-8")
    (block,) = re.findall(r'id="data">(.*?)</script>', page, re.S)
    j, _, value, low, high = json.loads(block)["filled"]["cells"][0]
    i = int(np.flatnonzero(missing[:, j])[0])
    assert (high - low) / 2 == pytest.approx(HALF * written[i, j], rel=1e-4)
    assert low < value < high
