"""The comparison with BDgraph: its figures, and the table of the documentation made from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import calibration, peers_table
from benchmarks.page import PAGE, inside, renew
from benchmarks.peers import INSTALL, STORED, main


def rows(n: int = 6, shift: float = 0.0, method: str = "bayesian") -> list[dict[str, Any]]:
    """Return graphs whose pairs are edges with the stated probability, but for ``shift``."""
    rng, out = np.random.default_rng(0), []
    for seed in range(n):
        p = rng.uniform(0.1, 0.8, size=2000)
        edge = rng.random(2000) < p
        score = p + shift
        out.append(
            {"method": method, "kind": "complete", "seed": seed, "edge": edge.astype(int).tolist(),
             "score": score.tolist(), "cpu": 2.0 + seed, "wall": 2.0}
        )  # fmt: skip
    return out


def test_calibrated_probabilities_have_no_calibration_error() -> None:
    assert peers_table.summary(rows(), "ECE")[0] < 0.02
    assert abs(peers_table.summary(rows(), "stated minus true")[0]) < 0.02
    assert peers_table.summary(rows(shift=0.1), "stated minus true")[0] > 0.08
    assert peers_table.summary(rows(shift=0.1), "ECE")[0] == pytest.approx(0.1, abs=0.02)


def test_the_error_of_a_mean_is_the_usual_one() -> None:
    value, error = peers_table.summary(rows(), "CPU s")
    seconds = 2.0 + np.arange(6)
    assert value == pytest.approx(seconds.mean())
    assert error == pytest.approx(seconds.std(ddof=1) / np.sqrt(6))


def test_differences_are_paired() -> None:
    # the same graphs, whose Brier scores vary far less between methods than between graphs
    value, low, high = peers_table.difference(rows(), rows(shift=0.1), "Brier")
    assert value < 0
    assert high < 0
    assert low < value < high
    value, low, high = peers_table.difference(rows(shift=0.1), rows(shift=-0.1), "CPU s")
    assert value == low == high == 0


def test_the_page_has_the_stored_figures() -> None:
    report = json.loads(STORED.read_text(encoding="utf-8"))
    assert inside(PAGE, "peers") == peers_table.render(report)
    assert len(report["settings"]["seeds"]) >= 10


def test_the_page_has_the_stored_calibration() -> None:
    report = json.loads(calibration.STORED.read_text(encoding="utf-8"))
    assert inside(PAGE, "calibration") == calibration.render(report)
    assert len(report["branches"]) == len(calibration.BRANCHES) + 1
    assert report["sets"] >= calibration.FEWEST
    # uniform ranks at the level of one per cent, all tests together, and honest probabilities
    assert report["tests"] * report["branches"][-1]["smallest_p"] > 0.01
    assert report["branches"][-1]["ece"] <= 0.02


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing", encoding="utf-8")
    with pytest.raises(ValueError, match="has no <!-- peers:start -->"):
        renew(page, "peers", "")


def test_without_r_the_message_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["peers"])
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(SystemExit, match="no Rscript here") as stopped:
        main()
    assert INSTALL in str(stopped.value)
