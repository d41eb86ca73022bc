"""Judging the claims from published files, and what the tracked ones hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from experiments.claims import ALL, judge, to_table
from experiments.claims.published import judge_published, published_tables
from experiments.claims.specifications import STUDIES, specifications
from experiments.io import load_table, save_csv, save_table
from experiments.registry import STANDIN_SUFFIX

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "figures"


def sushi(source: str = "real") -> pd.DataFrame:
    facts = {"items": 32.0, "items_red-meat": 7.0, "items_clam": 6.0, "items_blue-skinned": 8.0}
    facts |= {"items_vegetable": 6.0, "items_roe": 4.0, "sparsity": 0.7459}
    rows = {"files": "sushi", "source": source, "key": list(facts), "value": list(facts.values())}
    return pd.DataFrame(rows)


def scores() -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"data": "sushi", "level": level, "model": model, "replicate": r, "at_edge": "",
             "selected_by": "nmi", "metric": "nmi", "value": value + 0.01 * r + 0.001 * level}
            for level in (20, 80) for r in range(4)
            for model, value in (("kgl", 0.8), ("kgln", 0.7), ("kglo", 0.4), ("gl", 0.3),
                                 ("gl2step", 0.3), ("kglagnostic", 0.5), ("kernel", 0.34))
        ]
    )  # fmt: skip


def publish(directory: Path, mark: str = "", source: str = "real") -> None:
    save_table(directory / f"fig7{mark}.parquet", scores(), {})
    save_csv(directory / f"facts{mark}.csv", sushi(source))


def test_published_tables_give_what_the_same_tables_in_memory_give(tmp_path: Path) -> None:
    publish(tmp_path)
    tables: dict[str, Any] = {"fig7": scores(), "facts-sushi": sushi()}
    expected = to_table(judge(specifications(tables)))
    pd.testing.assert_frame_equal(to_table(judge_published(tmp_path)), expected)
    assert set(expected["claim"]) == {"U1", "U2", "U3"}
    command = [sys.executable, "-m", "experiments.claims", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert "claims.csv: 3 claims" in done.stdout
    save_csv(tmp_path / "expected.csv", expected)
    assert (tmp_path / "claims.csv").read_bytes() == (tmp_path / "expected.csv").read_bytes()


def test_simulated_files_are_evidence_of_nothing(tmp_path: Path) -> None:
    publish(tmp_path, STANDIN_SUFFIX, "simulated")
    assert published_tables(tmp_path) == {"fig7": None, "facts-sushi": None}
    judged = judge_published(tmp_path)
    assert {one.claim.id for one in judged} == {"U1", "U2", "U3"}
    assert not any(one.criteria for one in judged)
    # real ones come first
    publish(tmp_path)
    assert all(table is not None for table in published_tables(tmp_path).values())


def test_a_directory_without_tables_is_an_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "experiments.claims", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no table that a claim is about" in done.stderr


@pytest.fixture(scope="module")
def judged() -> list[Any]:
    return judge_published(FIGURES)


def test_the_tracked_claims_are_what_the_published_tables_give(
    judged: list[Any], tmp_path: Path
) -> None:
    save_csv(tmp_path / "claims.csv", to_table(judged))
    ours, tracked = (pd.read_csv(path / "claims.csv") for path in (tmp_path, FIGURES))
    pd.testing.assert_frame_equal(ours, tracked, rtol=1e-4)
    tables = {name: load_table(FIGURES / f"{name}.parquet")[0] for name in STUDIES}
    facts = pd.read_csv(FIGURES / "facts.csv")
    for files, rows in facts.groupby("files"):
        tables[f"facts-{files}"] = rows.reset_index(drop=True)
    pd.testing.assert_frame_equal(to_table(judge(specifications(tables))), to_table(judged))
    assert [one.claim.id for one in judged if one.default] == [claim.id for claim in ALL]


def test_no_criterion_has_a_power_below_one_half(judged: list[Any]) -> None:
    found = {
        (one.claim.id, criterion.text): criterion.power
        for one in judged if one.default
        for criterion in one.criteria if criterion.power is not None
    }  # fmt: skip
    assert len(found) > 100
    assert {key: value for key, value in found.items() if value < 0.5} == {}
