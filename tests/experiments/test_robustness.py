"""The study of robustness: what its choices change, its contrasts, and where a sign differs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from figure_checks import drawn, legend, where

from experiments.cells import Study
from experiments.figures import Inputs
from experiments.figures.robustness import contrasts
from experiments.plan import make_plan
from experiments.registry import ALL_POINTS
from experiments.stats import mean_interval

RUNS = 4
CONFIG: dict[str, Any] = {
    "figure": "robustness.draw",
    "graph": ["sbm", "ba", "ba_attachment4"],
    "options": {
        "contrasts": {"independent": [["kgln", "gl"]]},
        "choices": {
            "ba_attachment4": {"kind": "graphs", "graph": "ba_attachment4", "default": "ba"},
            "loose": {"kind": "solver", "label": "loose", "variant": "loose"},
            "untied_scores": {"kind": "scoring", "label": "untied", "metric": "aps_scores"},
            "one_point": {"kind": "scoring", "label": "one point", "best": "mean"},
        },
    },
}
#: The score of each model by graph and metric, at two grid points.
SCORES = {
    ("sbm", "kgln", "aps"): (0.8, 0.7),
    ("sbm", "kgln_loose", "aps"): (0.2, 0.1),
    ("sbm", "gl", "aps"): (0.5, 0.4),
    ("sbm", "kgln", "aps_scores"): (0.5, 0.6),
    ("sbm", "gl", "aps_scores"): (0.2, 0.3),
    ("ba", "kgln", "aps"): (0.38, 0.28),
    ("ba", "gl", "aps"): (0.5, 0.4),
    ("ba_attachment4", "kgln", "aps"): (0.9, 0.8),
    ("ba_attachment4", "gl", "aps"): (0.5, 0.4),
}


def _inputs(runs: int = RUNS) -> Inputs:
    """Return a table in which replicates of KGL-N vary, and gain at either point by turns."""
    rows = []
    for ((graph, model, metric), values), r in product(SCORES.items(), range(runs)):
        for point, value in enumerate(values):
            more = 0.0 if model == "gl" else 0.01 * r + 0.15 * (point == r % 2)
            rows.append({"graph": graph, "data": "independent", "noise": 1.0, "model": model,
                         "replicate": r, "selected_by": ALL_POINTS, "metric": metric,
                         "value": value + more})  # fmt: skip
    return Inputs("made", CONFIG, {}, pd.DataFrame(rows))


@pytest.fixture(scope="module")
def study() -> Study:
    return make_plan("robustness").studies["robustness-described"]


def test_each_choice_changes_one_thing(study: Study) -> None:
    cells = {(c.labels["graph"], c.labels["data"], c.labels["noise"], c.model): c
             for c in study.cells}  # fmt: skip
    choices = study.config["options"]["choices"]
    assert {about["kind"] for about in choices.values()} == {"graphs", "solver", "scoring"}
    for choice, about in choices.items():
        base = about.get("default", "sbm")
        for data, pairs in study.config["options"]["contrasts"].items():
            for model in {name for pair in pairs for name in pair}:
                default = cells[base, data, 1.0, model]
                if "graph" in about:
                    changed = cells[about["graph"], data, 1.0, model]
                    assert changed.fit == default.fit
                    assert changed.data["data"] == default.data["data"]
                    assert _differing(changed.data["graph"], default.data["graph"]) == 1, choice
                elif "variant" in about and (model, choice) != ("gl", "loose"):
                    changed = cells[base, data, 1.0, f"{model}_{about['variant']}"]
                    assert changed.data == default.data
                    assert changed.fit["options"]
                    # grid points of the default: its band is about the same ones
                    assert changed.fit | {"options": {}} == default.fit
    assert {c.labels["graph"] for c in study.cells if "_" in c.model} == {"sbm"}
    assert {c.data["data"]["missing"] for c in study.cells} == {0.0}


def _differing(one: dict[str, Any], other: dict[str, Any]) -> int:
    flat = [{**graph, **graph["options"], "options": None} for graph in (one, other)]
    return sum(flat[0][key] != flat[1].get(key) for key in flat[0])


def test_contrasts_are_paired_differences_at_the_selected_points() -> None:
    numbers = contrasts(_inputs()).set_index("choice")
    assert numbers["contrast"].unique().tolist() == ["kgln-gl"]
    assert numbers["kind"].tolist() == ["graphs", "solver", "scoring", "scoring"]
    r = np.arange(RUNS)
    # even replicates gain at the first point, which is the better one, odd ones at the second
    replicate = np.where(r % 2 == 0, 0.95, 0.85) + 0.01 * r - 0.5
    mean = np.where(r % 2 == 0, 0.95, 0.80) + 0.01 * r - 0.5
    expected = {
        "ba_attachment4": (replicate + 0.1, replicate - 0.42),
        "loose": (replicate - 0.6, replicate),  # of KGL-N alone
        "untied_scores": (np.where(r % 2 == 0, 0.65, 0.75) + 0.01 * r - 0.3, replicate),
        "one_point": (mean, replicate),
    }
    for choice, values in expected.items():
        row = numbers.loc[choice]
        for prefix, own in zip(("", "default_"), values, strict=True):
            found = [row[f"{prefix}{name}"] for name in ("mean", "low", "high")]
            np.testing.assert_allclose(found, mean_interval(own), err_msg=choice)


def test_a_choice_that_reverses_a_sign_is_marked() -> None:
    fig, numbers = drawn(_inputs())
    marked = numbers.set_index("choice")["same_sign"].to_dict()
    # the interval of loose is below zero instead of above, and zero is inside that of BA
    assert marked == {"ba_attachment4": False, "loose": False, "untied_scores": True,
                      "one_point": True}  # fmt: skip
    (ax,) = fig.axes
    crosses = {round(float(line.get_xdata()[0]), 9) for line in ax.get_lines()
               if line.get_marker() == "x"}  # fmt: skip
    assert crosses == {round(value, 9) for value in where(numbers, same_sign=False)["mean"]}
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["graphs", "BA, attachment 4", "solver", "loose", "scoring", "untied",
                     "one point"]  # fmt: skip
    assert ax.get_title() == "KGL-N minus\nGL"
    assert "default" in legend(fig)
    # the band of each row is the interval of its own default
    bands = {(patch.get_x(), round(patch.get_x() + patch.get_width(), 9)) for patch in ax.patches}
    assert bands == {(row.default_low, round(row.default_high, 9)) for row in numbers.itertuples()}


def test_one_replicate_has_no_interval_and_no_sign() -> None:
    _, numbers = drawn(_inputs(1))
    assert numbers[["low", "high", "default_low", "default_high"]].isna().all(axis=None)
    assert numbers["mean"].notna().all()
    assert numbers["same_sign"].all()
