"""The benchmarks of scale: resumable, and tables of what is stored."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.scale import report, run


def numbers(m: int) -> dict[str, Any]:
    return {
        "m": m, "degree": 15.0, "cpu_s": 1e-8 * m**2, "peak_mb": 100.0 + 0.01 * m,
        "before_mb": 100.0, "rounds": 3, "residual": 3e-15, "violated": 0, "examined": m**2 // 2,
    }  # fmt: skip


def test_exponents_are_those_of_large_problems() -> None:
    time, memory = report.exponents([numbers(m) for m in (10, 6000, 12_000, 50_000)])
    assert (time, memory) == pytest.approx((2.0, 1.0))


def test_tables_have_a_row_for_each_size() -> None:
    known = {f"graph:step-{m}-frobenius": numbers(m) for m in (6000, 12_000)}
    known["graph:dense-6000-frobenius"] = {**numbers(6000), "cpu_s": 3.6, "peak_mb": 1600.0}
    known["graph:lost-frobenius"] = {"m": 2000, "degree": 15.0, "lost_8": 0.25, "lost_30": 0.0}
    text = report.graph_tables(known)
    assert "3.60 (10.0 times)" in text
    assert "| 12,000 |" in text
    assert "25.0 %" in text


def test_a_run_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def apart(name: str) -> dict[str, Any]:
        if name == "graph:b" and len(ran) == 1:
            ran.append(name)
            raise RuntimeError("killed")
        ran.append(name)
        return {"value": len(ran), "wall_s": 0.1}

    monkeypatch.setattr(run, "all_tasks", lambda: dict.fromkeys(["graph:a", "graph:b"], dict))
    monkeypatch.setattr(run, "run_apart", apart)
    monkeypatch.setattr(report, "write", lambda known: None)
    output = tmp_path / "scale.json"
    monkeypatch.setattr(sys, "argv", ["scale", "--output", str(output)])
    run.main()
    run.main()
    assert ran == ["graph:a", "graph:b", "graph:b"]
    assert set(json.loads(output.read_text())["tasks"]) == {"graph:a", "graph:b"}
    assert "1 of 2 tasks to run" in capsys.readouterr().out


def test_a_task_runs_in_a_process_of_its_own_and_says_what_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(RuntimeError, match="KeyError"):
        run.run_apart("graph:none")


def test_every_task_has_a_psi_for_its_size() -> None:
    from benchmarks.scale.graph import PSI, SIZES

    assert all(set(psi) == set(SIZES) for psi in PSI.values())
    assert all(np.all(np.diff(list(psi.values())) < 0) for psi in PSI.values())
