"""The certificates campaign at a small size, and that it finds what it looks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import kgl
from campaigns import certificates
from campaigns.certificates import PATHS, Claim, judge, main, run
from kgl.problem import kkt_residuals


def test_residuals_are_those_of_the_problem_asked_on_every_path() -> None:
    found = run(problems=200, seed=20)
    assert found["passed"], {key: found[key] for key in ("beyond", "silent", "errors")}
    assert set(found["paths"]) == set(PATHS)
    assert all(row["problems"] >= 20 for row in found["paths"].values())
    assert found == run(problems=200, seed=20)
    json.dumps(found)


def scaled(factor: float) -> Any:
    """Return a certificate that is off by a factor."""
    return lambda *given, **options: factor * (1e-12 + kkt_residuals(*given, **options))


@pytest.mark.parametrize(("factor", "finding"), [(1e4, "beyond"), (1e-4, "beyond")])
def test_certificates_that_are_off_are_found(factor: float, finding: str) -> None:
    with mock.patch("kgl.solvers.log_degree.kkt_residuals", scaled(factor)):
        found = run(problems=40, seed=0)
    assert found[finding]
    assert not found["passed"]


def test_a_failure_without_a_warning_and_an_error_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Y = np.random.default_rng(0).normal(size=(9, 4))
    Z = certificates.distances(certificates.Problem(Y, 1.0, 1.0, False, None, 0.0))
    model = kgl.GL(psi=1.0, signed=False, **certificates.RAW).fit(Y)
    right = Claim(model.weights_, Z, 1.0, 1.0, model.kkt_residual_, False)
    assert judge(right)["ratio"] < 2.0
    assert not judge(right)["silent"]
    for W in (2.0 * model.weights_, np.full((4, 4), np.nan), np.zeros((4, 4))):
        wrong = judge(Claim(W, Z, 1.0, 1.0, 1e-16, False))
        assert wrong["silent"]
        assert wrong["ratio"] > certificates.WITHIN
        assert not judge(Claim(W, Z, 1.0, 1.0, np.nan, True))["silent"]

    def fail(_: Any) -> Any:
        raise ZeroDivisionError("by hand")

    monkeypatch.setattr(certificates, "PATHS", {"fail": fail})
    with pytest.raises(SystemExit) as end:
        main(["--problems", "3", "--json", str(tmp_path / "found.json")])
    assert end.value.code == 1
    found = json.loads((tmp_path / "found.json").read_text())
    assert [one["error"] for one in found["errors"]] == ["ZeroDivisionError: by hand"] * 3
