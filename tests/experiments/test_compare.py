"""Two runs compared: paired differences of made-up tables, and what is refused."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import compare
from experiments.compare import common_studies, compare_tables
from experiments.io import load_table, save_table


def table(shift: float, runs: int = 4, models: tuple[str, ...] = ("gl", "kgl")) -> pd.DataFrame:
    rows = []
    for model, level, run in product(models, (0.0, 1.0), range(runs)):
        known = {"study": "fig2", "graph": "sbm", "data": "independent", "sweep": "noise",
                 "level": level, "m": 20, "n": 100, "noise": level, "missing": 0.0,
                 "model": model, "replicate": run, "metric": "aps"}  # fmt: skip
        value = np.sin(7 * len(model) + 3 * level + run) + shift * (run + 1)
        # the metric where another one selected the point must not be read
        for selected_by, more in (("aps", 0.0), ("sse", 99.0)):
            rows.append({**known, "selected_by": selected_by, "value": value + more})
    return pd.DataFrame(rows)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compare, "RESULTS", tmp_path)
    save_table(tmp_path / "paper" / "tables" / "fig2.parquet", table(0.0), {})
    save_table(tmp_path / "other" / "tables" / "fig2.parquet", table(0.1, runs=3), {})
    save_table(tmp_path / "other" / "tables" / "fig3.parquet", table(0.1), {})
    return tmp_path


def test_sizes_are_not_mixed(tmp_path: Path) -> None:
    """A study of sizes against itself differs nowhere, and each size has its line."""
    sizes = pd.concat([table(0.0).assign(m=m, value=lambda t, m=m: t["value"] * m) for m in (8, 9)])
    save_table(tmp_path / "a" / "tables" / "fig5.parquet", sizes, {})
    save_table(tmp_path / "b" / "tables" / "fig5.parquet", sizes, {})
    found = compare_tables(tmp_path / "a", tmp_path / "b", "fig5")
    assert len(found) == 8
    assert set(found["pairs"]) == {4}
    assert (found[["difference", "p05", "p95"]] == 0).all(axis=None)
    (ax,) = compare.draw(found, "a", "b").axes
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["GL, m = 8", "KGL, m = 8", "GL, m = 9", "KGL, m = 9"]


def test_the_command_writes_and_draws_paired_differences(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert common_studies(results / "paper", results / "other") == ["fig2"]
    compare.main(["paper", "other"])
    assert "fig2: 4 differences" in capsys.readouterr().out
    out = results / "other" / "compared-with-paper"
    assert sorted(path.name for path in out.iterdir()) == ["fig2.csv", "fig2.png"]
    found = pd.read_csv(out / "fig2.csv")
    # replicates 0, 1, 2 are in both runs and differ by 0.1, 0.2, 0.3
    ends = np.percentile([0.1, 0.2, 0.3], [5, 95])
    for _, row in found.iterrows():
        assert row[["difference", "p05", "p95"]].tolist() == pytest.approx([0.2, *ends])
        assert row["second"] - row["first"] == pytest.approx(0.2, abs=1e-5)
    assert found["pairs"].tolist() == [3] * 4  # two models, two levels, one metric
    (ax,) = compare.draw(found, "a", "b").axes
    drawn = [container.lines[0].get_ydata(orig=False) for container in ax.containers]
    np.testing.assert_allclose(drawn, 0.2)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["GL", "KGL"]


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (["papr", "other"], r"papr is not a run.*other, paper"),
        (["paper", "third"], "none is in both"),
        (["paper", "fourth"], "share no cell of fig2"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(
    results: Path, runs: list[str], message: str
) -> None:
    save_table(results / runs[1] / "tables" / "fig5.parquet", table(0.0), {})
    if "fourth" in runs:
        save_table(results / "fourth" / "tables" / "fig2.parquet", table(0.0, models=("kgln",)), {})
    with pytest.raises(SystemExit, match=message):
        compare.main(runs)


def test_a_run_agrees_with_the_published_tables_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare, "RESULTS", tmp_path)
    names = [name for name in compare.tables_of("published") if name.startswith("fig2")]
    assert len(names) == 2
    published, _ = load_table(compare.FIGURES / f"{names[0]}.parquet")
    save_table(tmp_path / "mine" / "tables" / f"{names[0]}.parquet", published, {})
    compare.main(["published", "mine"])
    assert "cells agree" in capsys.readouterr().out.splitlines()[1]
    one = published["model"].eq("gl") & published["metric"].eq("aps")
    published.loc[one, "value"] += 0.25
    save_table(tmp_path / "mine" / "tables" / f"{names[0]}.parquet", published, {})
    compare.main(["published", "mine"])
    line = capsys.readouterr().out.splitlines()[1]
    assert " of " in line
    assert "+0.25" in line
    assert "gl" in line


def test_tables_that_hold_no_scores_are_not_compared() -> None:
    found = set(compare.tables_of("published"))
    assert {"pays", "inference"} & found == set()
    assert "fig2-described" in found
