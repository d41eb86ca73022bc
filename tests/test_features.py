"""The tables of other packages' features: the page and its evidence agree, cell by cell."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from benchmarks.features import FEATURES_PAGE, faults, load, render
from benchmarks.page import inside


@pytest.fixture
def report() -> dict[str, Any]:
    return load()


def test_every_cell_has_evidence(report: dict[str, Any]) -> None:
    assert faults(report) == []


def test_the_page_has_the_cells_that_have_evidence(report: dict[str, Any]) -> None:
    text = FEATURES_PAGE.read_text(encoding="utf-8")
    assert inside(FEATURES_PAGE, "features") == render(report).strip()
    # no table of features beside the one that has evidence
    heads = [line for line in text.splitlines() if line.startswith("|") and "BDgraph" in line]
    outside = [line for line in heads if line not in render(report).splitlines()]
    assert not any(line.count("|") > 4 for line in outside)


def test_peers_do_what_kgl_does_not(report: dict[str, Any]) -> None:
    """A comparison in one direction only would be no comparison."""
    own = report["packages"]["kgl"]["cells"]
    lacking = {name for name, (value, *_) in own.items() if value.startswith("no")}
    others = [p["cells"] for key, p in report["packages"].items() if key != "kgl"]
    offered = {name for name in lacking if any(c[name][0].startswith("yes") for c in others)}
    assert len(offered) >= 5
    assert {"GPU", "time-varying graphs", "ordinal and binary data"} <= offered


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (["", "source", "some file"], "has the value ''"),
        (["?", "source", "some file"], r"has the value '?'"),
        (["yes", "guess", "some file"], "was checked by 'guess'"),
        (["yes", "run", "some file"], "there is no output"),
        (["yes", "test", "tests/test_features.py::test_that_is_not_there"], "names no test"),
        (["yes", "manual", ""], "has no evidence"),
    ],
)
def test_each_fault_is_found(report: dict[str, Any], cell: list[str], message: str) -> None:
    wrong = copy.deepcopy(report)
    wrong["packages"]["bgms"]["cells"]["GPU"] = cell
    assert any(message in fault and "GPU" in fault for fault in faults(wrong))


def test_missing_and_unknown_cells_are_found(report: dict[str, Any]) -> None:
    wrong = copy.deepcopy(report)
    cells = wrong["packages"]["bgms"]["cells"]
    cells["speed"] = cells.pop("GPU")
    assert faults(wrong) == ["bgms: no cell for GPU", "bgms: speed is in no table"]
