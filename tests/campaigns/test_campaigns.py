"""A short version of every campaign, and the machinery that they share."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("resource", reason="campaigns fork, limit and kill processes as on Unix")

import kgl
from tests.campaigns import bits, fuzz, hostile, page
from tests.campaigns.fuzz.judge import Call, fingerprint, judge, raw
from tests.campaigns.kills import rules
from tests.campaigns.mutants import compiled, mutants
from tests.campaigns.mutation import JUDGED, judged
from tests.campaigns.registry import CAMPAIGNS
from tests.campaigns.result import KEPT, ROOT, Tally, added, keep, load, passed

#: The kill campaign takes minutes at any size; tests/experiments/workflow kills one run.
SHORT = [name for name, campaign in CAMPAIGNS.items() if campaign.short]


@pytest.mark.parametrize("name", SHORT)
def test_nothing_is_found_at_a_small_size(name: str) -> None:
    campaign = CAMPAIGNS[name]
    found = campaign.run(campaign.short, 2024)
    assert found["tried"] >= campaign.short
    assert passed(found), json.dumps(found["examples"], indent=1)


# -- what the campaigns look for is found --------------------------------------------------------


def changed(array: Any) -> None:
    array[0] = 9.0


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda a: a / [], "raw"),
        (lambda a: {}["a"], "raw"),
        (lambda a: np.linalg.inv(np.zeros((2, 2))), "raw"),
        (lambda a: kgl.metrics.aps(a, a) if len(a) else 0, "refused"),
        (changed, "changed"),
        (lambda a: np.random.default_rng().random(), "wrong"),
        (lambda a: a.copy(), "fine"),
    ],
)
def test_calls_are_judged(function: Any, kind: str) -> None:
    assert judge(Call("call", function, (np.zeros(3),)), twice=True).kind == kind


def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tests.campaigns.fuzz.judge"], "LIMIT", 1)

    def hang() -> None:
        while True:
            pass

    assert judge(Call("call", hang), twice=False).kind == "hang"


def test_a_message_without_a_remedy_is_raw() -> None:
    assert "no remedy" in raw(ValueError("the value is not what it was meant to be"))
    assert fingerprint(np.zeros(2)) != fingerprint(np.array([0.0, -0.0]))


def test_wrong_certificates_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    Y = np.random.default_rng(0).normal(size=(20, 5))
    model = kgl.GL(psi=1.0, log=False).fit(Y)
    assert fuzz.fits.oracle.gl_certificate(model, Y, []) == []
    model.weights_ = model.weights_ * 1.01
    assert fuzz.fits.oracle.gl_certificate(model, Y, [])
    model.kkt_residual_ = 1e-3
    assert "no warning" in fuzz.fits.oracle.fit(model, [])[0]


def test_silent_damage_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(folder: Path) -> Path:
        (folder / "a.txt").write_text("12345678")
        return folder / "a.txt"

    def read(path: Path) -> str:
        return path.read_bytes().decode("latin-1")

    monkeypatch.setattr(bits, "KINDS", (bits.Kind("text", make, read),))
    assert bits.run(20, 0)["faults"]["silently different"] == 20


def test_markup_in_a_page_is_found() -> None:
    assert hostile.elements("<p>a</p>&lt;script&gt;") == []
    assert hostile.elements("<p onclick='x'>a</p><script>x</script>") == ["onclick", "script"]


def test_rules_of_the_workflow_are_known() -> None:
    assert {"data", "fit", "score", "figure", "claims", "publish", "verdict"} <= rules()


# -- mutants ------------------------------------------------------------------------------------

CODE = '''"""Text 1."""
from typing import TYPE_CHECKING

def half(x: int, y: float = 2.0) -> float:
    """Text 2."""
    if x < 0 and not x == 3:
        raise ValueError(f"{x + 1} is wrong")
    return max(x / 2, -y)
'''


def test_mutants_change_one_thing_and_no_text(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(CODE)
    found = mutants(tmp_path, "half.py")
    assert {one.change for one in found} == {
        "Lt -> LtE", "0 -> 1", "Eq -> NotEq", "3 -> 4", "Not x -> x", "and <-> or", "Div -> Mult",
        "2 -> 3", "USub x -> x", "max -> min", "2.0 -> 6.0",
    }  # fmt: skip
    assert len({one.key for one in found}) == len(found)
    results = set()
    for one in found:
        module: dict[str, Any] = {}
        exec(compiled(tmp_path, one), module)
        results.add(tuple(_outcome(module["half"], x) for x in (-1, 0, 3, 7)))
    assert len(results) >= 8


def _outcome(function: Any, x: int) -> Any:
    try:
        return function(x)
    except ValueError:
        return "refused"


def test_every_verdict_is_on_a_mutant_that_there_is() -> None:
    known = judged()
    if not known:
        pytest.skip(f"no {JUDGED.name}")
    files = {name.split("::")[0] for name in known}
    keys = {one.key for file in files for one in mutants(ROOT, file)}
    assert set(known) <= keys
    for name, one in known.items():
        assert one["verdict"] in ("equivalent", "speed", "real"), name
        assert len(one["reason"]) > 10, name


# -- results and the page -----------------------------------------------------------------------


def test_runs_add_up_and_are_kept_once(tmp_path: Path) -> None:
    tally = Tally(2, "calls", ["raw tracebacks"])
    tally.step(2)
    tally.fault("raw tracebacks", what="a")
    with pytest.raises(KeyError, match="is not one of the faults"):
        tally.fault("other")
    record = {**tally.record(), "seed": 1, "seconds": 2.0}
    for seed in (1, 2, 1):
        keep(tmp_path / "found.json", "fuzz", {**record, "seed": seed})
    runs = load(tmp_path / "found.json")["fuzz"]
    assert [one["seed"] for one in runs] == [1, 2]
    total = added(runs)
    assert (total["tried"], total["faults"]) == (4, {"raw tracebacks": 2})
    assert not passed(total)


def test_the_page_has_the_figures_of_the_last_full_run() -> None:
    assert page.stale() == [], "renew it: python -m tests.campaigns page"
    text = page.PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in CAMPAIGNS)
    assert set(load(KEPT)) <= set(CAMPAIGNS)
    assert not re.search(r"/(work|tmp|home)/", KEPT.read_text(encoding="utf-8"))
