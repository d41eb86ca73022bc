"""Claims about real data, their evidence, the forms of criteria, and the table of judgements."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from experiments.claims import (
    Claim,
    Criterion,
    Evidence,
    Specification,
    from_table,
    judge,
    to_table,
)
from experiments.claims.criteria import all_within, at_most, beats, inside, near
from experiments.claims.evidence import drop
from experiments.claims.real import SUSHI, SWISS
from experiments.claims.specifications import label_of, scores, specifications
from experiments.registry import CV, Verdict
from experiments.stats import MissingEvidence, joint_power, mean_interval, power
from kgl._types import Array

CLAIMS = {claim.id: claim for claim in (*SWISS, *SUSHI)}
RUNS = 6
#: What all models share in a run: far more than what tells them apart.
LUCK = np.array([0.3, -0.2, 0.1, -0.4, 0.25, -0.05])

Curve = Callable[[float], float]
World = dict[tuple[str, str], Curve]


def noise(metric: str, model: str, level: float) -> Array:
    """Small departures of single runs, other ones for each cell."""
    return 0.002 * np.sin(np.arange(RUNS) * (1 + len(model)) + 10 * level + len(metric))


def rows(world: World, levels: Iterable[float], extra: float = 0.0) -> pd.DataFrame:
    """One row per level, model, run and metric."""
    made = []
    for (metric, model), curve in world.items():
        for level in levels:
            values = curve(level) + LUCK + noise(metric, model, level) * (1 + extra)
            for r, value in enumerate(values):
                made.append((level, model, r, metric, value))
    return pd.DataFrame(made, columns=["level", "model", "replicate", "metric", "value"])


def evidence(world: World, levels: Iterable[float], extra: float = 0.0) -> Evidence:
    return Evidence(rows(world, levels, extra))


RATES = (0.0, 0.2, 0.4, 0.5, 0.8)
NUMBERS = (20.0, 80.0, 160.0)
#: All that the paper says of the Swiss data.
SWISS_WORLD: World = {
    ("aps", "kgl"): lambda x: 0.90 - 0.2 * x,
    ("aps", "kgln"): lambda x: 0.88 - 0.2 * x,
    ("aps", "gl"): lambda x: 0.85 - 0.8 * x,
    ("aps", "gl2step"): lambda x: 0.84 - 0.8 * x,
    ("aps", "kglo"): lambda x: 0.60 - 0.2 * x,
    ("aps", "kglagnostic"): lambda x: 0.40 - 0.2 * x,
    ("sse", "kgl"): lambda x: 1.0 + x,
    ("sse", "kgln"): lambda x: 1.1 + x,
    ("sse", "gl"): lambda x: 2.0 + x,
    ("sse", "gl2step"): lambda x: 2.0 + x,
    ("sse", "kglo"): lambda x: 2.2 + x,
    ("sse", "kglagnostic"): lambda x: 2.4 + x,
}
#: And of the Sushi data, whose kernel alone has the printed 0.34.
SUSHI_WORLD: World = {
    ("nmi", "kgl"): lambda n: 0.80 + n / 1000,
    ("nmi", "kgln"): lambda n: 0.70 + n / 1000,
    ("nmi", "kglagnostic"): lambda n: 0.50 + n / 1000,
    ("nmi", "kglo"): lambda n: 0.45 + n / 1000,
    ("nmi", "gl2step"): lambda n: 0.40 + n / 1000,
    ("nmi", "gl"): lambda n: 0.35 + n / 1000,
    ("nmi", "kernel"): lambda n: 0.34 - float(LUCK.mean()),
}
FACTS = {"items": 32.0, "items_red-meat": 7.0, "items_clam": 6.0, "items_blue-skinned": 8.0}
FACTS |= {"items_vegetable": 6.0, "items_roe": 5.0, "sparsity": 0.7459}


def good(name: str) -> Any:
    if name == "U3":
        return dict(FACTS)
    return evidence(SWISS_WORLD, RATES) if name[0] == "W" else evidence(SUSHI_WORLD, NUMBERS)


def bent(name: str, changes: World, extra: float = 0.0) -> Evidence:
    if name[0] == "W":
        return evidence(SWISS_WORLD | changes, RATES, extra)
    return evidence(SUSHI_WORLD | changes, NUMBERS, extra)


def at(level: float, value: float, curve: Curve) -> Curve:
    """A curve that has another value at one level."""
    return lambda x: value if x == level else curve(x)


def shifted(curve: Curve, by: float) -> Curve:
    return lambda x: curve(x) + by


def failing(name: str, found: Any) -> set[int]:
    return {k for k, criterion in enumerate(CLAIMS[name].check(found)) if not criterion.holds}


# ---- every criterion of a claim

W, U = SWISS_WORLD, SUSHI_WORLD
KGL, KGLN = W["aps", "kgl"], W["aps", "kgln"]
#: Changes of the data that make criteria of a claim fail, and which ones.
BROKEN: list[tuple[str, World, set[int]]] = [
    # W1: APS and then SSE, with nothing missing, and on average of KGL and of KGL-N
    ("W1", {("aps", "kgln"): at(0.0, 0.5, KGLN)}, {0}),
    ("W1", {("aps", "kgl"): at(0.8, -1.0, KGL)}, {1}),
    ("W1", {("aps", "kgln"): at(0.8, -1.0, KGLN)}, {2}),
    ("W1", {("aps", "kglagnostic"): at(0.8, 3.0, W["aps", "kglagnostic"])}, {1, 2}),
    ("W1", {("sse", "gl"): at(0.0, 0.5, W["sse", "gl"])}, {3}),
    ("W1", {("sse", "kgl"): at(0.4, 9.0, W["sse", "kgl"])}, {4}),
    ("W1", {("sse", "kgln"): at(0.5, 9.0, W["sse", "kgln"])}, {5}),
    # W2: better in APS, but slightly; better in SSE
    ("W2", {("aps", "kgln"): shifted(KGL, 0.01)}, {0}),
    ("W2", {("sse", "kgln"): shifted(W["sse", "kgl"], -0.1)}, {1}),
    ("W2", {("aps", "kgln"): shifted(KGL, -0.2)}, {0}),
    # W3: not far behind, sharp fall, sharper than KGL's; GL, then GL-2step
    ("W3", {("aps", "gl"): shifted(W["aps", "gl"], -0.2)}, {0}),
    ("W3", {("aps", "gl"): shifted(W["aps", "gl"], 0.1)}, {0}),
    ("W3", {("aps", "gl"): lambda x: 0.85 - 0.3 * x}, {1}),
    ("W3", {("aps", "kgl"): lambda x: 0.9 - 0.9 * x}, {2, 5}),
    ("W3", {("aps", "gl2step"): shifted(W["aps", "gl2step"], -0.2)}, {3}),
    ("W3", {("aps", "gl2step"): lambda x: 0.84 - 0.3 * x}, {4}),
    ("W3", {("aps", "gl2step"): lambda x: 0.84 - 0.1 * x}, {4, 5}),
    # W4: by a margin with few missing, at all rates, in SSE too
    ("W4", {("aps", "kglagnostic"): shifted(W["aps", "kglo"], -0.04)}, {0}),
    ("W4", {("aps", "kglagnostic"): at(0.8, 1.5, W["aps", "kglagnostic"])}, {1}),
    ("W4", {("sse", "kglagnostic"): at(0.2, 0.1, W["sse", "kglagnostic"])}, {2}),
    # U1: KGL over KGL-N, KGL over the others, KGL-N over the others
    ("U1", {("nmi", "kgl"): shifted(U["nmi", "kgln"], -0.05)}, {0}),
    ("U1", {("nmi", "kgl"): shifted(U["nmi", "kglo"], 0.01)}, {0, 1}),
    ("U1", {("nmi", "kgln"): shifted(U["nmi", "gl2step"], 0.01)}, {2}),
    ("U1", {("nmi", "gl"): at(160.0, 2.0, U["nmi", "gl"])}, {1, 2}),
    ("U1", {("nmi", "kgln"): shifted(U["nmi", "kglagnostic"], 0.04)}, {2}),
    # U2: over the attributes alone
    ("U2", {("nmi", "kgl"): shifted(U["nmi", "kernel"], -0.1)}, {0}),
    ("U2", {("nmi", "kgln"): shifted(U["nmi", "kernel"], -0.1)}, {1}),
]


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_reproduced_where_it_is_true(name: str) -> None:
    criteria = CLAIMS[name].check(good(name))
    assert all(criterion.holds for criterion in criteria), [
        criterion for criterion in criteria if not criterion.holds
    ]
    assert len(criteria) > 1
    assert len({criterion.text for criterion in criteria}) == len(criteria)


@pytest.mark.parametrize(("name", "changes", "expected"), BROKEN)
def test_each_criterion_can_fail(name: str, changes: World, expected: set[int]) -> None:
    found = bent(name, changes)
    assert failing(name, found) == expected


@pytest.mark.parametrize("quantity", [name for name in FACTS if name != "sparsity"])
def test_every_fact_is_asked_for(quantity: str) -> None:
    order = list(FACTS)
    for value in (FACTS[quantity] + 1, FACTS[quantity] - 1):
        assert failing("U3", FACTS | {quantity: value}) == {order.index(quantity)}


def test_the_sparsity_by_which_reviewers_were_picked_is_shown_and_not_judged() -> None:
    assert failing("U3", FACTS | {"sparsity": 0.2}) == set()
    (first, *_) = CLAIMS["U3"].check(FACTS | {"sparsity": 0.2})
    assert "sparsity 0.2 is not judged" in first.note


def test_every_criterion_of_every_claim_is_seen_failing() -> None:
    seen: dict[str, set[int]] = {name: set() for name in CLAIMS}
    for name, _, expected in BROKEN:
        seen[name] |= expected
    for name, claim in CLAIMS.items():
        if name != "U3":
            assert seen[name] == set(range(len(claim.check(good(name))))), name


# ------------------------------------------------------------------------------------- the evidence


def test_the_interval_is_that_of_student() -> None:
    values = np.random.default_rng(0).normal(size=7)
    error = stats.sem(values)
    for level in (0.95, 0.8):
        low, high = stats.t.interval(level, 6, loc=values.mean(), scale=error)
        assert mean_interval(values, level) == pytest.approx((values.mean(), low, high))
    assert mean_interval(values) == mean_interval(values, 0.95)
    assert mean_interval(np.full(4, 2.5)) == (2.5, 2.5, 2.5)


def paired(first: Array, second: Array, metric: str = "aps") -> Evidence:
    made = [
        (0.0, model, r, metric, value)
        for model, values in (("a", first), ("b", second))
        for r, value in enumerate(values)
    ]
    columns = ["level", "model", "replicate", "metric", "value"]
    return Evidence(pd.DataFrame(made, columns=columns).sample(frac=1.0, random_state=0))


def test_models_are_compared_run_by_run() -> None:
    first = LUCK + 0.01 + 0.001 * np.arange(RUNS)
    criterion = beats(paired(first, LUCK), "aps", ["a"], ["b"])
    assert criterion.holds
    assert (criterion.estimate, criterion.low, criterion.high) == pytest.approx(
        mean_interval(first - LUCK)
    )
    # the same numbers in another order: no run is better than another, as far as can be told
    shuffled = beats(paired(first, np.roll(LUCK, 1)), "aps", ["a"], ["b"])
    assert shuffled.estimate == pytest.approx(criterion.estimate)
    assert not shuffled.holds
    assert shuffled.high - shuffled.low > 10 * (criterion.high - criterion.low)


@pytest.mark.parametrize("metric", ["sse", "mse_out"])
def test_less_of_an_error_is_better(metric: str) -> None:
    found = paired(LUCK, LUCK + 0.5, metric)
    assert found.gain(metric, "a", "b")[0.0].to_numpy() == pytest.approx(np.full(RUNS, 0.5))
    assert beats(found, metric, ["a"], ["b"]).holds
    assert not beats(found, metric, ["b"], ["a"]).holds
    assert beats(paired(LUCK, LUCK + 0.5), "aps", ["b"], ["a"]).holds


@pytest.mark.parametrize(("metric", "sign"), [("aps", 1.0), ("nmi", 1.0), ("sse", -1.0)])
def test_a_drop_is_a_loss(metric: str, sign: float) -> None:
    found = evidence({(metric, "gl"): lambda x: 2.0 - sign * x}, (0.0, 0.5))
    np.testing.assert_allclose(drop(found, metric, "gl", 0.0, 0.5), 0.5, atol=0.01)


def test_a_comparison_is_asked_at_every_level_of_every_pair() -> None:
    world: World = {
        ("aps", "kgl"): lambda x: 0.8,
        ("aps", "gl"): lambda x: 0.3 + x,
        ("aps", "kglo"): lambda x: 0.1,
    }
    found = evidence(world, (0.0, 0.3, 0.6))
    criterion = beats(found, "aps", ["kgl"], ["gl", "kglo"], where="everywhere")
    assert not criterion.holds
    assert criterion.estimate == pytest.approx(-0.1, abs=0.01)
    assert criterion.text == "KGL beats GL and KGL-O in APS, everywhere"
    assert criterion.note == "weakest: KGL over GL at 0.6; 5 of 6 comparisons"
    assert beats(found, "aps", ["kgl"], ["gl", "kglo"], [0.0, 0.3]).holds
    # on average the one level does not matter
    average = beats(found, "aps", ["kgl"], ["gl", "kglo"], average=True)
    assert average.holds
    assert average.estimate == pytest.approx(0.2, abs=0.01)
    assert "KGL over GL, ahead in the mean at 2 of 3 levels" in average.note
    assert not beats(found, "aps", ["kgl"], ["gl"], average=True, margin=0.25).holds
    assert "by more than 0.25" in beats(found, "aps", ["kgl"], ["gl"], margin=0.25).text


def test_a_value_is_inside_if_its_whole_interval_is() -> None:
    values = np.array([0.1, 0.2, 0.3])
    mean, low, high = mean_interval(values)
    found = inside("in", values, above=low - 0.01, below=high + 0.01, note="so")
    assert (found.holds, found.estimate, found.note) == (True, mean, "so")
    assert not inside("in", values, above=low + 0.01).holds
    assert not inside("in", values, below=high - 0.01).holds
    # an end itself is not inside
    same = np.full(3, 0.5)
    for end in ({"above": 0.5}, {"below": 0.5}):
        assert not inside("in", same, **end).holds
        assert not all_within("in", {"a": same}, **end).holds
    assert not beats(paired(same, np.zeros(3)), "aps", ["a"], ["b"], margin=0.5).holds
    assert beats(paired(same, np.zeros(3)), "aps", ["a"], ["b"], margin=0.49).holds


def test_the_weakest_comparison_is_the_one_that_reaches_lowest() -> None:
    table = pd.concat(
        [
            paired(LUCK + 0.2, LUCK).scores,
            paired(LUCK, LUCK - 0.3 + 3 * LUCK).scores.query("model == 'b'").assign(model="c"),
        ]
    )
    criterion = beats(Evidence(table), "aps", ["a"], ["b", "c"])
    # more of a gain on average, but an uncertain one
    assert criterion.estimate > 0.2
    assert criterion.low < 0
    assert criterion.note == "weakest: a over c at 0; 1 of 2 comparisons"
    assert not criterion.holds


def test_a_run_that_one_model_does_not_have_proves_nothing() -> None:
    with pytest.raises(MissingEvidence, match="not all of them numbers"):
        beats(paired(LUCK + 1.0, LUCK[:-1]), "aps", ["a"], ["b"])


def test_one_run_proves_nothing() -> None:
    with pytest.raises(MissingEvidence, match="needs two or more"):
        mean_interval(np.array([1.0]))
    single = Evidence(good("W1").scores.query("replicate == 0"))
    (one,) = judge([Specification("single", True, single, [CLAIMS["W1"]])])
    assert one.verdict is Verdict.NOT_EVALUATED


@pytest.mark.parametrize(
    ("value", "holds"), [(0.39, True), (0.29, True), (0.4, False), (0.28, False)]
)
def test_a_number_is_near_the_printed_one_up_to_the_tolerance(value: float, holds: bool) -> None:
    found = near("n", value, 0.34, 0.05 + 1e-9)
    assert (found.holds, found.low, found.high) == (holds, value, value)
    assert (found.above, found.below) == pytest.approx((0.29, 0.39))
    assert (found.effect, found.power) == (0.34, None)


@pytest.mark.parametrize(
    ("ends", "effect"),
    [({"above": 0.1}, 0.15), ({"below": 0.5}, 0.45), ({"above": 0.0, "below": 0.1}, 0.05),
     ({"above": 0.0, "effect": 0.3}, 0.3), ({}, None)],
)  # fmt: skip
def test_a_criterion_has_its_bounds_and_the_effect_that_they_imply(
    ends: dict[str, float], effect: float | None
) -> None:
    found = inside("in", LUCK, **ends)
    assert (found.above, found.below) == (ends.get("above"), ends.get("below"))
    if effect is None:
        assert found.effect is found.power is None
    else:
        half = (found.high - found.low) / 2
        bounds = {k: v for k, v in ends.items() if k != "effect"}
        assert found.effect == pytest.approx(effect)
        assert found.power == pytest.approx(power(effect, half, RUNS - 1, **bounds))


def test_the_power_of_several_comparisons_is_that_of_all_together() -> None:
    world: World = {
        ("aps", "kgl"): lambda x: 0.8,
        ("aps", "gl"): lambda x: 0.3,
        ("aps", "kglo"): lambda x: 0.1,
    }
    rough = rows(world, (0.0, 0.5))
    rough["value"] += np.random.default_rng(0).normal(0, 0.05, len(rough))
    found = Evidence(rough)
    single = [
        beats(found, "aps", ["kgl"], [other], [level])
        for other in ("gl", "kglo") for level in (0.0, 0.5)
    ]  # fmt: skip
    together = beats(found, "aps", ["kgl"], ["gl", "kglo"])
    powers = [one.power for one in single]
    assert all(one is not None and 0.02 < one < 0.98 for one in powers)
    # all differences share the scores of KGL, so that they are correlated
    assert together.power is not None
    assert np.prod(np.array(powers, dtype=float)) < together.power < min(filter(None, powers))
    assert (together.above, together.effect) == (0.0, 0.05)
    # of cells with other runs it is the product
    cells = {name: rough["value"].to_numpy()[k : k + 6 + k] for k, name in enumerate("ab")}
    both = all_within("t", cells, above=0.0, below=1.0, effect=0.3)
    alone = [inside("t", x, above=0.0, below=1.0, effect=0.3).power for x in cells.values()]
    assert both.power == pytest.approx(np.prod(np.array(alone, dtype=float)))


def test_joint_power_is_that_of_simulated_experiments() -> None:
    rng = np.random.default_rng(3)
    root = np.array([[0.06, 0.05, 0.0], [0.0, 0.04, 0.03], [0.0, 0.0, 0.06]])
    runs = rng.standard_normal((12, 3)) @ root
    claimed = joint_power(runs, 0.05, above=0.0, below=0.2)
    covariance, held = np.cov(runs, rowvar=False), 0
    for _ in range(1500):
        again = 0.05 + rng.multivariate_normal(np.zeros(3), covariance, size=12)
        ends = [mean_interval(column)[1:] for column in again.T]
        held += all(low > 0.0 and high < 0.2 for low, high in ends)
    assert 0.2 < claimed < 0.95
    assert claimed == pytest.approx(held / 1500, abs=0.05)


def test_the_power_has_the_spread_of_a_true_statement() -> None:
    far = 6.0 + 2.0 * LUCK
    assert inside("t", far, below=0.1, effect=0.0).power < 0.2  # type: ignore[operator]
    found = inside("t", far, below=0.1, effect=0.0, if_true=at_most(far, 0.1))
    assert not found.holds
    assert found.estimate == pytest.approx(far.mean())
    assert found.power == pytest.approx(
        inside("t", far / far.mean() * 0.1, below=0.1, effect=0.0).power
    )


# ------------------------------------------------------------------------------ the table of claims

YES = Criterion("yes", 1.0, 0.9, 1.1, True, "noted", above=0.5, below=1.5, effect=1.0, power=0.75)
NO = Criterion("no", 0.0, -1.0, 1.0, False, timed=True)


def claim(name: str) -> Claim:
    """A claim whose criteria are that its evidence is positive, and that it is above one."""

    def check(found: float) -> list[Criterion]:
        return [YES if found > 0 else NO, YES if found > 1 else NO]

    hard = "It is so by definition." * (name == "C")
    return Claim(name, "made up", "Figure 0", f"{name} is so.", check, hard)


def made_up() -> pd.DataFrame:
    both = [claim("A"), claim("B")]
    return to_table(
        judge(
            [
                Specification("drawn", True, 0.5, both),
                Specification("same", False, 0.7, both),
                Specification("other", False, 2.0, both[1:]),
                Specification("worse", False, -1.0, both[1:]),
                Specification("elsewhere", False, 2.0, [claim("C")]),
                Specification("none", False, None, both[:1]),
            ]
        )
    )


def test_verdicts_and_what_changes_against_the_default() -> None:
    table = made_up()
    first = table.drop_duplicates(["claim", "specification"]).set_index(["claim", "specification"])
    assert first["verdict"].to_dict() == {
        ("A", "drawn"): "partly", ("B", "drawn"): "partly",
        ("A", "same"): "partly", ("B", "same"): "partly",
        ("B", "other"): "reproduced", ("B", "worse"): "not_reproduced",
        ("C", "elsewhere"): "reproduced", ("A", "none"): "not_evaluated",
    }  # fmt: skip
    changed = {("B", "other"), ("B", "worse"), ("A", "none")}
    assert {key for key, row in first.iterrows() if row["changes"]} == changed
    assert len(table) == 7 * 2 + 1
    assert table["default"].tolist() == [True] * 4 + [False] * 11
    one = table[(table["claim"] == "A") & table["default"]]
    assert one["holds"].tolist() == [True, False]
    assert one[["estimate", "low", "high"]].to_numpy().tolist() == [[1, 0.9, 1.1], [0, -1, 1]]
    assert one["power"].tolist() == pytest.approx([0.75, np.nan], nan_ok=True)
    assert first["held"].tolist() == [1, 1, 1, 1, 2, 0, 2, 0]
    assert first["criteria"].tolist() == [2] * 7 + [0]
    assert first["hard_to_fail"].unique().tolist() == ["", "It is so by definition."]
    none = table.iloc[-1]
    assert none["holds"] is None
    assert np.isnan(none["estimate"])


def test_a_table_comes_back_from_a_file_as_it_was(tmp_path: Any) -> None:
    table = made_up()
    table.to_csv(tmp_path / "claims.csv", index=False)
    judged = from_table(pd.read_csv(tmp_path / "claims.csv"))
    pd.testing.assert_frame_equal(to_table(judged), table)
    assert judged[0].criteria == (YES, NO)
    # of an earlier version, without bounds, power and remarks
    new = ["above", "below", "effect", "power", "hard_to_fail", "held", "criteria"]
    (early, *_) = from_table(table.drop(columns=new))
    assert early.criteria == (Criterion("yes", 1.0, 0.9, 1.1, True, "noted"), NO)
    with pytest.raises(MissingEvidence, match="read from a table"):
        judged[0].claim.check(2.0)


# ----------------------------------------------------------------------- tables and specifications


def table_of(world: World, levels: Iterable[float], kinds: tuple[str, ...] = ("swiss",)) -> Any:
    """A table of scores, each metric best by itself and worse by cross-validation."""
    plain = rows(world, levels)
    parts = []
    for kind in kinds:
        own = plain.assign(selected_by=plain["metric"], data=kind)
        untied = own[own["metric"] == "aps"].assign(metric="aps_scores", selected_by="aps")
        parts += [
            own,
            plain.assign(selected_by=CV, data=kind, value=plain["value"] - 0.5),
            untied.assign(value=0.125),
            own.assign(selected_by="mse_out", value=-1.0),
        ]
    return pd.concat(parts, ignore_index=True)


def test_scores_are_those_of_one_specification() -> None:
    table = table_of(SWISS_WORLD, RATES, ("swiss", "swiss_metres"))
    key = ["level", "model", "replicate", "metric"]
    plain = rows(SWISS_WORLD, RATES).sort_values(key, ignore_index=True)
    best = scores(table, data="swiss").sort_values(key, ignore_index=True)
    pd.testing.assert_frame_equal(best, plain)
    tuned = scores(table, data="swiss", selected_by=CV).sort_values(key)["value"].to_numpy()
    np.testing.assert_allclose(tuned, plain["value"].to_numpy() - 0.5)
    assert len(scores(table)) == 2 * len(plain)
    untied = scores(table, ranking="aps_scores")
    assert set(untied.loc[untied["metric"] == "aps", "value"]) == {0.125}
    assert set(untied["metric"]) == {"aps", "sse"}


def all_tables() -> dict[str, Any]:
    return {
        "fig6": table_of(SWISS_WORLD, RATES),
        "swiss_specifications": table_of(SWISS_WORLD, RATES, ("swiss", "swiss_metres")),
        "swiss_cut": table_of(SWISS_WORLD, RATES),
        "fig7": table_of(SUSHI_WORLD, NUMBERS, ("sushi",)),
        "sushi_specifications": table_of(SUSHI_WORLD, NUMBERS, ("sushi", "sushi_literal")),
        "facts-sushi": pd.DataFrame({"key": list(FACTS), "value": list(FACTS.values())}),
    }


def test_each_claim_is_judged_under_each_specification_of_its_data() -> None:
    judged = judge(specifications(all_tables()))
    found: dict[str, list[str]] = {}
    for one in judged:
        found.setdefault(one.claim.id, []).append(one.specification)
        assert one.default == (one.specification in ("figure", "files"))
        assert not one.default or one.verdict is Verdict.REPRODUCED
    swiss = ["figure", "cv", "untied_scores", "cut", "swiss", "swiss_metres"]
    sushi = ["figure", "cv", "sushi", "sushi_literal"]
    expected = dict.fromkeys(("W1", "W2", "W3", "W4"), swiss) | {"U1": sushi, "U2": sushi}
    assert found == expected | {"U3": ["files"]}
    labels = [label_of(name) for name in (*swiss, *sushi[2:], "files")]
    assert len(set(labels)) == len(labels)


def test_a_specification_may_change_a_verdict() -> None:
    tables = all_tables()
    table = tables["fig6"]
    worse = (table["selected_by"] == CV) & (table["model"] == "kgl")
    bad = np.where(table["metric"] == "sse", 10.0, -10.0)
    tables["fig6"] = table.assign(value=np.where(worse, bad, table["value"]))
    w1 = {j.specification: j for j in judge(specifications(tables)) if j.claim.id == "W1"}
    assert w1["figure"].verdict is w1["swiss"].verdict is Verdict.REPRODUCED
    assert w1[CV].verdict is Verdict.PARTLY
    # KGL-N is still ahead of the others, but where both models must be
    assert [criterion.holds for criterion in w1[CV].criteria] == [False, False, True] * 2


@pytest.mark.parametrize(
    ("standin", "left"),
    [
        (("fig6", "swiss_specifications", "swiss_cut"), ["U1", "U2", "U3"]),
        (("fig7", "sushi_specifications", "facts-sushi"), ["W1", "W2", "W3", "W4"]),
    ],
)
def test_claims_are_not_evaluated_on_a_stand_in(standin: tuple[str, ...], left: list[str]) -> None:
    judged = judge(specifications(all_tables() | dict.fromkeys(standin)))
    assert sorted({one.claim.id for one in judged if one.criteria}) == left
    assert {one.claim.id for one in judged} == set(CLAIMS)


def test_a_run_without_a_study_has_none_of_its_claims() -> None:
    tables = {"fig7": all_tables()["fig7"]}
    assert {one.claim.id for one in judge(specifications(tables))} == {"U1", "U2"}
    assert judge(specifications({})) == []
