"""Judging the claims from published files, and what the tracked ones hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from experiments.claims import ALL, judge, to_table
from experiments.claims.ledger import from_table
from experiments.claims.published import judge_published, published_tables
from experiments.claims.specifications import STUDIES, specifications
from experiments.io import load_table, save_csv, save_table
from experiments.registry import PROTOCOLS, STANDIN_SUFFIX, of_protocol, split_protocol

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


def noise(lift: float) -> pd.DataFrame:
    """Scores of Figure 2 in which KGL-N is ``lift`` above GL and GL-2step."""
    own = {"gl": 0.4, "gl2step": 0.4, "kgln": 0.4 + lift}
    return pd.DataFrame(
        [
            {"graph": "sbm", "data": "independent", "level": level, "model": model, "replicate": r,
             "selected_by": metric, "metric": metric, "value": sign * value + 0.001 * r}
            for level in (0.0, 1.0) for r in range(4) for model, value in own.items()
            for metric, sign in (("aps", 1.0), ("sse", -1.0))
        ]
    )  # fmt: skip


def test_each_protocol_is_judged_by_its_own_tables(tmp_path: Path) -> None:
    publish(tmp_path)
    lifts = {"printed": 0.2, "described": -0.2}
    for protocol, lift in lifts.items():
        save_table(tmp_path / f"{of_protocol('fig2', protocol)}.parquet", noise(lift), {})
    judged = judge_published(tmp_path)
    n1 = {j.protocol: j.verdict.value for j in judged if j.default and j.claim.id == "N1"}
    assert n1 == {"printed": "reproduced", "described": "not_reproduced"}
    assert list(n1) == list(PROTOCOLS)
    # real data come last, and no protocol bears on them
    others = [j for j in judged if j.claim.id[0] == "U"]
    assert {j.protocol for j in others} == {""}
    assert judged[-len(others) :] == others
    # a verdict is compared with the default of its own protocol
    rows = to_table(judged).query("claim == 'N1' and specification == 'untied_scores'")
    assert list(rows.columns[5:7]) == ["specification", "protocol"]
    save_csv(tmp_path / "claims.csv", to_table(judged))
    for table in (to_table(judged), pd.read_csv(tmp_path / "claims.csv")):
        again = from_table(table)
        assert [(j.claim.id, j.specification, j.protocol) for j in again] == [
            (j.claim.id, j.specification, j.protocol) for j in judged
        ]
    # a table whose name has no protocol is judged too
    save_table(tmp_path / "fig2.parquet", noise(0.2), {})
    (only,) = (j for j in judge(specifications({"fig2": noise(0.2)}))
               if j.default and j.claim.id == "N1")  # fmt: skip
    assert (only.protocol, only.verdict.value) == ("", "reproduced")
    assert {j.protocol for j in judge_published(tmp_path)} == {*PROTOCOLS, ""}


def test_a_change_of_a_verdict_is_one_from_the_default_of_its_protocol() -> None:
    tables = {"fig2-printed": noise(0.2), "fig2-described": noise(-0.2)}
    for name, lift in (("cv_noise-printed", 0.2), ("cv_noise-described", 0.2)):
        tables[name] = pd.concat([noise(lift), noise(lift).assign(selected_by="cv")])
    found = to_table(judge(specifications(tables))).query("claim == 'N1'")
    changes = found[found["specification"] == "cv"].groupby("protocol")["changes"].all()
    assert changes.to_dict() == {"printed": False, "described": True}


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
    files = [path for path in FIGURES.glob("*.parquet") if split_protocol(path.stem)[0] in STUDIES]
    tables = {path.stem: load_table(path)[0] for path in files}
    facts = pd.read_csv(FIGURES / "facts.csv")
    for files, rows in facts.groupby("files"):
        tables[f"facts-{files}"] = rows.reset_index(drop=True)
    pd.testing.assert_frame_equal(to_table(judge(specifications(tables))), to_table(judged))
    for protocol in {one.protocol for one in judged}:
        found = [one.claim.id for one in judged if one.default and one.protocol == protocol]
        assert found == [claim.id for claim in ALL if claim.id in found]
    assert {one.claim.id for one in judged if one.default} == {claim.id for claim in ALL}


def test_no_criterion_has_a_power_below_one_half(judged: list[Any]) -> None:
    found = {
        (one.claim.id, one.protocol, criterion.text): criterion.power
        for one in judged if one.default
        for criterion in one.criteria if criterion.power is not None
    }  # fmt: skip
    assert len(found) > 100
    assert {key: value for key, value in found.items() if value < 0.5} == {}
