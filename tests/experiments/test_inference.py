"""The study of unstated settings: its scales, statements, distances, search and conclusion."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path
from typing import Any

import inference_cases as cases
import numpy as np
import pandas as pd
import pytest
from inference_cases import CONFIRM, changed, joined, paper_fit, read, study

from experiments.config import compose
from experiments.figures import draw as draw_figure
from experiments.fit import grid_points
from experiments.inference import naming, posterior, printed, sentences, simulate, summary
from experiments.inference.design import INDEPENDENT, Score, load_design, statements
from experiments.inference.simulate import ESTIMATORS, draw, grid_of, node_kernel, weights_of
from experiments.io import load_table, save_table
from experiments.lookup import ROOT, ConfigError
from experiments.registry import PRINTED_APS
from kgl._types import Array
from kgl.metrics import aps_many
from kgl.problem import MODELS
from kgl.simulate import time_kernel

DATA = ("independent", "dependent")
KEYS = {"printed": printed.KEYS, "sentences": sentences.KEYS}
TINY = load_design("tiny")


# -- scales -------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [True, False], ids=["averaged", "summed"])
@pytest.mark.parametrize(("model", "missing"), [*product(ESTIMATORS, [0.0]), ("kgl", 0.4)])
def test_a_fit_in_units_of_the_scale_is_the_fit_in_the_papers_units(
    model: str, missing: float, average: bool
) -> None:
    s, n, data = 0.03, 25, "independent" if model in INDEPENDENT else "median_distance"
    found = draw(5, "er", 0, m=8, n=n, alpha=10, data=data)
    Y = np.where(found.mask(missing), found.F + found.E, np.nan)
    every = {"lam": [0.003, 0.3], "rho": [0.01, 0.2], "psi": [1e-3, 1e-1]}
    grid = {name: every[name] for name in MODELS[ESTIMATORS[model]].hyperparameters}
    K_z = None if model in INDEPENDENT else time_kernel(n, data)
    expected = paper_fit(model, s**0.5 * Y, s * found.K0, K_z, grid, n if average else 1)
    factors = cases.in_units(model, s, 1 if average else n)
    points = {name: values * factors[name] for name, values in grid_points(grid).items()}
    weights = weights_of(model, Y, found.K0, found.K_z, points, TINY["solver"])
    np.testing.assert_allclose(weights, expected, rtol=1e-5, atol=1e-6)
    assert np.ptp(expected, axis=0).max() > 1e-2  # the points differ


KERNELS = ["exact", "alpha1", "normalised", "covariates"]


@pytest.fixture(scope="module")
def figure12() -> dict[str, Array]:
    part = {"kind": "printed", "data": "independent", "alpha": 10, "n": 30, "runs": 2}
    return simulate.simulate(part, changed(factors__kernel=KERNELS, factors__scale=[1, 0.1]))


@pytest.mark.parametrize("axis", ["variance", "deviation"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("trace", "family"), [("m", "sbm"), ("2m", "er")])
def test_figures_12_and_13_are_those_of_the_papers_units(
    figure12: Any, trace: str, family: str, kernel: str, axis: str
) -> None:
    place = 0, ["variance", "deviation"].index(axis), 1
    scores, checks = cases.paper_figures(TINY, trace, family, kernel, axis)
    np.testing.assert_allclose(figure12[f"{family}.{kernel}.{trace}"][place], scores, atol=1e-6)
    if trace == "m":
        np.testing.assert_allclose(figure12[f"checks.{kernel}"][place], checks, atol=1e-6)


# -- the design ---------------------------------------------------------------------------------


def test_every_registered_statement_is_read() -> None:
    design = load_design("registered")
    assert len(design["statements"]) > 30
    for one, row in zip(statements(design), design["statements"], strict=True):
        signs = [1] + [1 if sign == "+" else -1 for sign in row["score"].split() if sign in "+-"]
        assert [[sign for sign, _ in terms] for terms in one.terms] == [signs] * len(one.terms)
        levels = [{score.level for _, score in terms} for terms in one.terms]
        assert "over" not in row or levels == [{level} for level in row["over"]]
        assert (one.claim, one.target) == (row["claim"], row[one.kind])
        own = {"within": 0, "tolerance": design["tolerance"]} | row
        assert (one.within, one.tolerance) == (own["within"], own["tolerance"])
    one = read(score="kgl aps noise {x} - kglo sse missing 0.8 ba n=100", near=0, over=[0.5, 2])
    other = (-1, Score("kglo", "sse", "missing", 0.8, "ba", 100))
    assert one.terms == tuple(((1, Score("kgl", "aps", "noise", x)), other) for x in (0.5, 2.0))


@pytest.mark.parametrize("score", ["kgl aps noise", "lasso aps noise 0", "kgl aps noise 0 ring"])
def test_a_score_that_cannot_be_read_is_refused(score: str) -> None:
    with pytest.raises(ConfigError, match=f"'{score}'"):
        read(score=f"gl aps noise 0 - {score}", at_least=0)


@pytest.mark.parametrize(
    ("row", "values", "expected"),
    [
        ({"at_least": 0.5}, [0.5, 0.6, 0.45, -1.0], [0.0, 0.0, 0.5, 5.0]),
        ({"at_most": 0.5}, [0.5, 0.4, 0.55, 1.1], [0.0, 0.0, 0.5, 5.0]),
        ({"at_most": 0.5, "tolerance": 0.02}, [0.5, 0.4, 0.55, 1.1], [0.0, 0.0, 2.5, 5.0]),
        ({"near": 0.5}, [0.5, 0.4, 0.55, 0.95], [0.0, 1.0, 0.5, 4.5]),
        ({"near": 0.5, "within": 0.05}, [0.5, 0.4, 0.55, 0.95], [0.0, 0.5, 0.0, 4.0]),
    ],
)
def test_a_penalty_counts_tolerances_up_to_the_cap(row: Any, values: Any, expected: Any) -> None:
    one = read(score="gl aps noise 0", **row)
    found = sentences.penalty(one, np.array(values), {"cap": 5})
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("prior: [1, 1, 1, 1]}", "prior: [1, 1, 1]}", r"mine\.yaml.*factors\.n .*4.*3.*give one"),
        ("prior: [4, 1]", "prior: [4, -1]", r"mine\.yaml.*factors\.axis.*at least 0"),
        ("confirm: 2000", "confirm: 1000", r"mine\.yaml.*seeds.*give each its own"),
        ("gl aps noise 0.5 -", "gl aps noise half -", "'gl aps noise half'.*write it as"),
    ],
)
def test_a_design_that_cannot_be_meant_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, words: str
) -> None:
    shutil.copytree(ROOT / "conf/inference", tmp_path / "inference")
    shutil.copy(ROOT / "conf/config.yaml", tmp_path)
    monkeypatch.setenv("KGL_CONF", str(tmp_path))
    text = (tmp_path / "inference/registered.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "inference/mine.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        load_design("mine")
    with pytest.raises(ConfigError, match=r"inference/tinny\.yaml.*did you mean 'tiny'.*mine"):
        load_design("tinny")


def test_the_tiny_design_differs_in_size_alone_and_no_two_seeds_are_equal() -> None:
    whole = load_design("registered")
    sizes = {"factors": "alpha n bandwidth kernel scale", "naming": "candidates runs replicates",
             "printed": "bandwidths grid_runs decades", "missing": "alpha"}  # fmt: skip
    others = {"m", "replicates", "r", "points"}
    assert list(TINY) == list(whole)
    assert {key for key in whole if whole[key] != TINY[key]} <= {*sizes, *others}
    for group, names in sizes.items():
        found = {key for key in whole[group] if whole[group][key] != TINY[group][key]}
        assert found <= set(names.split())
    for name, factor in TINY["factors"].items():
        assert set(factor["values"]) <= set(whole["factors"][name]["values"])
    assert len({*whole["seeds"].values(), compose([]).values()["seed"]}) == 4  # of the verdict too


# -- simulation and printed numbers -------------------------------------------------------------


def test_a_simulation_has_every_r_and_replicate_in_its_place() -> None:
    design = changed(replicates={"sbm": 2, "er": 1, "ba": 2}, r__sbm=[0, 4], r__others=[0, 1, 9])
    part = {"kind": "noise", "data": "independent", "alpha": 10, "n": 20}
    found, again = simulate.simulate(part, design), simulate.simulate(part, design)
    assert all((found[key] == again[key]).all() for key in found | again)
    for model, family, k, i in product(("kgln", "gl"), ("sbm", "ba"), (0, 1), (0, -1)):
        levels = design["r"]["sbm" if family == "sbm" else "others"]
        kernel, grid = "exact" if model == "gl" else "normalised", grid_of(model, design["points"])
        values = found[f"{model}.{family}.{kernel}.aps"]
        assert values.shape == (len(levels), 2, len(grid["psi"]))
        one = draw(1000, family, k, m=8, n=20, alpha=10, data="independent")
        Y, K_x = one.F + levels[i] ** 0.5 * one.E, node_kernel(kernel, one, 10)
        weights = weights_of(model, Y, K_x, one.K_z, grid, design["solver"])
        np.testing.assert_allclose(values[i, k], aps_many(one.W, weights), atol=1e-6)
    assert not any(key.startswith(("gl2step.ba.", "gl.er.")) for key in found)  # `models`


def test_distances_and_null_are_those_of_all_combinations() -> None:
    runs = np.random.default_rng(0).random((3, 4, 4))
    distance, null, single = printed.distance_and_null(runs)
    targets = np.array([PRINTED_APS[name] for name in ("sbm", "er", "ba")])
    assert distance == pytest.approx(np.mean(np.abs(runs.mean(axis=1) - targets)))
    expected = []
    for chosen in product(range(4), repeat=3):
        one = np.array([runs[f, k] for f, k in enumerate(chosen)])
        rest = np.array([np.delete(runs[f], k, axis=0).mean(axis=0) for f, k in enumerate(chosen)])
        expected.append([np.mean(np.abs(one - other)) for other in (rest, targets)])
    np.testing.assert_allclose(np.transpose([null, single]), expected)


def test_a_specification_is_judged_by_its_own_runs() -> None:
    arrays, table = study().arrays, printed.judge_printed(study().arrays, TINY)
    # two kernels, of dependent data one; two traces, axes, scales and averages; three decimals
    assert len(table) == (2 + 1) * 2 * 2 * 2 * 2 * 3
    assert not table.duplicated(printed.KEYS).any()
    values = {name: factor["values"] for name, factor in TINY["factors"].items()}
    for row in table.sample(20, random_state=0).to_dict("records"):
        data = "independent" if row["bandwidth"] == printed.NONE else row["bandwidth"]
        own = tuple(values[k].index(row[k]) for k in ("axis", "scale", "smoothness", "decimals"))
        found = arrays[f"printed-{data}-alpha10-n100"]
        families = [found[f"{f}.{row['kernel']}.{row['trace']}"] for f in ("sbm", "er", "ba")]
        mine = np.array([[run[own] for run in runs] for runs in families], dtype=float)
        distance, null, single = printed.distance_and_null(mine)
        assert row["distance_printed"] == pytest.approx(distance)
        assert row["p_value"] == pytest.approx((1 + sum(null >= distance)) / (1 + len(null)))
        assert row["near_share"] == pytest.approx(np.mean(single <= TINY["printed"]["near"]))
        assert row["aps_er_2"] == pytest.approx(mine[1, :, 2].mean())
        (checks,) = found[f"checks.{row['kernel']}"]
        assert [row["size"], row["lost"]] == checks[own[:2]][[0, 1 + own[2]]].tolist()


@pytest.mark.parametrize(("shift", "p_value"), [(0.0, 1.0), (0.3, 1 / 9)])
def test_runs_around_the_printed_values_are_not_rejected(shift: float, p_value: float) -> None:
    shape = (2, 2, 2, 2, 3, 4)  # run, axis, scale, smoothness, decimals, psi
    around = np.array([-0.02, 0.02]).reshape(2, 1, 1, 1, 1, 1) + np.zeros(shape)
    made = {f"{family}.exact.{trace}": np.array(PRINTED_APS[family]) + shift + around
            for family in PRINTED_APS for trace in ("m", "2m")}  # fmt: skip
    made["checks.exact"] = np.zeros((1, 2, 2, 3))
    kinds = {f"printed-{data}-alpha10-n100": made for data in ("independent", "median_distance")}
    table = printed.judge_printed(kinds, changed(factors__kernel=["exact"]))
    assert set(table["p_value"]) == {p_value}  # one of 1 + 2^3, at the least
    np.testing.assert_allclose(table["distance_printed"], shift, atol=1e-12)


# -- sentences ----------------------------------------------------------------------------------


def test_sentences_are_judged_by_the_scores_of_their_words() -> None:
    design, arrays = random = cases.made_up()
    table = sentences.judge_sentences(sentences.Curves(arrays, design))
    assert len(table) == 2 * 2 * 2 * 3 * 2**3  # alpha, n, kernel, scale; three with two values
    assert not table.duplicated(sentences.KEYS).any()
    rows = table[table["grid"] == "wide"].sample(30, random_state=1)
    assert all(rows[name].nunique() > 1 for name in ("alpha", "n", "kernel", "axis", "decimals"))
    simulated, made = 0, statements(design)
    for row in rows.to_dict("records"):
        found = []
        for k, one in enumerate(made):
            scores = [[(sign, *cases.by_words(s, row, random)) for sign, s in t] for t in one.terms]
            simulated += sum(exact for terms in scores for *_, exact in terms)
            gaps = [sum(sign * value for sign, value, _ in t) - one.target for t in scores]
            short = {"at_least": -min(gaps), "at_most": max(gaps),
                     "near": max(map(abs, gaps)) - one.within}[one.kind]  # fmt: skip
            found.append(min(max(0.0, short) / one.tolerance, 6))
            assert row[f"p{k}"] == pytest.approx(found[-1], abs=1e-4), (one.text, row)
        noise = [p for p, one in zip(found, made, strict=True) if one.claim.startswith("N")]
        assert row["distance_sentences"] == pytest.approx(np.mean(np.square(found)) ** 0.5)
        assert row["distance_noise"] == pytest.approx(np.mean(np.square(noise)) ** 0.5)
        assert row["met"] == sum(p <= 0.5 for p in found)
    assert simulated > 100


SPEC = {"alpha": 10, "n": 50, "bandwidth": "median_distance", "kernel": "exact", "scale": 100.0,
        "decimals": "none", "axis": "variance", "grid": "figure13"}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "kernel", "lam"),
    [
        *product(["kgl", "kgln"], ["exact", "covariates"], [[1e-6, 1, 100, 1e6]]),
        *product(["kglo", "kglagnostic"], ["exact"], [[1e-6, 1, 100, 1e6]]),
        *product(["gl", "gl2step"], ["exact"], [[]]),
        *product(["kgl"], ["exact"], [[1e5, 1e6], [1e-7, 1e-6]]),  # the nearest instead
    ],
)
def test_a_point_outside_the_range_of_figure_13_does_not_count(
    model: str, kernel: str, lam: list[float]
) -> None:
    axes = {"lam": lam, "rho": [0.01, 1], "gl2step_rho": [1]}
    axes |= {name: [1e-9, 1.0] for name in ("ratio", "fine_ratio")}
    design, points = changed(points=axes, r__sbm=[0, 1]), grid_of(model, axes)
    inside = np.ones(len(points["psi"]), dtype=bool)
    if lam:  # K_x of covariates does not go with the signals
        unit = 1 if kernel == "covariates" else cases.in_units(model, 100.0)["lam"]
        gaps = np.abs(np.log10(points["lam"] / unit))
        inside = gaps <= 3
        inside = inside if inside.any() else gaps == gaps.min()
        assert 0 < inside.sum() < len(inside)
    part = f"noise-{'independent' if model in INDEPENDENT else 'median_distance'}-alpha10-n50"
    for k, counts in enumerate(inside):
        values = np.broadcast_to(np.arange(len(inside)) == k, (2, 1, len(inside))).astype(float)
        curves = sentences.Curves({part: {f"{model}.sbm.{kernel}.aps": values}}, design)
        spec, score = {**SPEC, "kernel": kernel}, Score(model, "aps", "mild", 0.0)
        assert curves.score(score, spec, np.array([100.0])) == float(counts), (k, points)
        assert curves.score(score, {**spec, "grid": "wide"}, np.array([100.0])) == 1.0


def test_specifications_are_judged_alike_alone_and_together() -> None:
    design, arrays = cases.made_up()
    one, other = ({**SPEC, "scale": scale} for scale in (0.05, 9))
    found = [sentences.judge_sentences(sentences.Curves(arrays, design), several)
             for several in ([one, other], [one], [other])]  # fmt: skip
    pd.testing.assert_frame_equal(found[0], pd.concat(found[1:], ignore_index=True))


# -- posterior ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", summary.KINDS)
def test_prior_and_marginals_follow_the_priors_of_the_factors(kind: str) -> None:
    design, table = load_design("tiny"), study().tables[kind]
    design["factors"]["kernel"]["prior"] = [5, 3]
    names = [name for name in design["factors"] if name in table]
    prior, evidence = posterior.prior_of(table, design), np.arange(1.0, len(table) + 1)
    weights, groups = cases.products(table, design), [np.ones(len(table), dtype=bool)]
    if kind == "printed":  # each kind of data has its weight, however often it is tried
        groups = [(table["printed_data"] == data).to_numpy() for data in DATA]
    for mine in groups:
        np.testing.assert_allclose(prior[mine], weights[mine] / weights[mine].sum() / len(groups))
    found = posterior.marginals(table, evidence, design, names)
    sums = found.groupby("factor")[["prior", "posterior"]].sum()
    assert set(sums.index) == set(names)
    np.testing.assert_allclose(sums, 1.0)
    (row,) = found[found["value"] == "normalised"].to_dict("records")
    mine, weighted = (table["kernel"] == "normalised").to_numpy(), prior * evidence
    assert row["prior"] == pytest.approx(prior[mine].sum())
    assert row["posterior"] == pytest.approx(weighted[mine].sum() / weighted.sum())


def test_the_front_is_what_no_other_beats() -> None:
    rng, names = np.random.default_rng(0), ["distance_printed", "distance_sentences"]
    pairs = zip(study().tables.values(), names, strict=True)
    drawn = [table.assign(**{name: rng.random(len(table)).round(2)}) for table, name in pairs]
    found, both = posterior.front(*drawn), joined(*drawn)
    points, ahead = both[names].to_numpy(), found[names].to_numpy()
    assert 1 < len(found) < 20
    for point in ahead:
        assert not ((points <= point).all(axis=1) & (points < point).any(axis=1)).any()
    assert all((ahead <= point).all(axis=1).any() for point in points)
    keys = [*names, *posterior.SHARED, "trace", "smoothness", "printed_data", "grid"]
    assert len(found.merge(both[keys].drop_duplicates(), on=keys)) == len(found)


def test_nothing_that_is_free_is_chosen_by_the_sentences() -> None:
    one, told = (table.reset_index(drop=True) for table in study().tables.values())
    found = posterior.likelihood_of_sentences(one, told, TINY, "p_value")
    both = joined(one.assign(weight=posterior.prior_of(one, TINY)), told.assign(row=told.index))
    for row, mine in both.groupby("row"):
        assert found[row] == pytest.approx(np.average(mine["p_value"], weights=mine["weight"]))
    assert len(found) == both["row"].nunique() == len(told)


def test_evidence_predicts_itself_better_than_the_prior_does() -> None:
    one, told = study().tables.values()
    one = one.assign(p_value=1 - one["distance_printed"] / one["distance_printed"].max())
    table = posterior.cross_prediction(one, told, TINY).set_index(["fitted_to", "predicted"])
    assert len(table) == 9
    for name in ("printed", "noise", "missing"):
        row = table.loc[(name, name)]
        assert row["least"] <= row["posterior"] < row["prior"]
    prior, noise = posterior.prior_of(told, TINY), told["distance_noise"]
    weight = prior * posterior.likelihood_of_sentences(one, told, TINY, "p_value")
    row = table.loc[("printed", "noise")]
    assert row["prior"] == pytest.approx(prior @ noise)
    assert row["posterior"] == pytest.approx(weight @ noise / weight.sum())


# -- named protocols and the conclusion ---------------------------------------------------------

LITERAL = {"kernel": "exact", "axis": "variance", "decimals": "none", "trace": "m", "alpha": 10.0,
           "bandwidth": "median_sq", "scale": 0.1}  # fmt: skip


def test_departures_are_from_the_text() -> None:
    for count, changes in (
        (0, {"bandwidth": "median_sq_half", "alpha": 3.0, "scale": 0.3333}),
        (0, {"bandwidth": printed.NONE}),
        (1, {"scale": 0.2}),
        (2, {"bandwidth": "0.5", "axis": "deviation"}),
        (3, {"scale": 0.01, "alpha": 100.0, "kernel": "alpha1", "decimals": "5", "trace": "2m"}),
    ):
        table = pd.DataFrame([LITERAL, LITERAL | changes])
        assert naming.departures(table, TINY).tolist() == [0, count], changes


def test_candidates_are_the_nearest_and_the_named_one_departs_least() -> None:
    design = changed(naming__candidates=3)
    near = [(0.3, "m"), (0.1, "2m"), (0.1 + 1e-9, "m"), (0.102, "m"), (0.2, "m"), (0.1, "2m")]
    rows = pd.DataFrame([{**LITERAL, "distance_printed": d, "trace": t} for d, t in near])
    rows["kernel"] = ["exact" if d == 0.102 else "alpha1" for d, _ in near]
    found = naming.candidates(rows, "printed", design)
    np.testing.assert_allclose(found["distance_printed"], [0.1, 0.102, 0.2], atol=1e-6)
    assert found["departures"].tolist() == [1, 0, 1]  # of those that tie the least
    assert naming.choose(found, "printed", design)["distance_printed"] == 0.102
    design["naming"]["tie"]["printed"] = 1e-4
    assert naming.choose(found, "printed", design)["distance_printed"] == pytest.approx(0.1)


@pytest.mark.parametrize(("seed", "same"), [("search", True), ("confirm", False)])
@pytest.mark.parametrize("kind", summary.KINDS)
def test_a_candidate_is_confirmed_with_seeds_of_its_own(kind: str, seed: str, same: bool) -> None:
    design, distance, row = load_design("tiny"), f"distance_{kind}", study().rows[kind]
    design["seeds"][seed] = 7
    found = CONFIRM[kind](row, design)
    assert [found[key] for key in KEYS[kind]] == [row[key] for key in KEYS[kind]]
    assert bool(found[distance] == study().confirmed[kind][distance].item()) is same
    last = CONFIRM[kind](row, {**design, "seeds": {"last": 7}}, seed="last")
    assert bool(last[distance] == found[distance]) is (seed == "confirm")
    assert found[distance] != row[distance]


@pytest.mark.parametrize(
    "change",
    [
        {"trace": "2m"},
        {"printed_data": "dependent", "bandwidth": "0.5", "kernel": "normalised"},
        {"printed_data": "dependent", "bandwidth": "0.5", "kernel": "exact", "axis": "deviation"},
    ],
)  # fmt: skip
def test_any_protocol_can_be_simulated_again(change: dict[str, Any]) -> None:
    row = study().rows["printed"] | change
    found = naming.confirm_printed(row, TINY, seed="final")
    assert [found[key] for key in printed.KEYS] == [row[key] for key in printed.KEYS]


def test_the_conclusion_has_all_parts_and_is_drawn(tmp_path: Path) -> None:
    searched, confirmed, path = study().searched, study().confirmed, tmp_path / "all.parquet"
    save_table(path, searched, {})
    table = summary.conclude(load_table(path)[0], confirmed, TINY)
    named: list[Any] = table[table["table"] == "named"].to_dict("records")
    assert [row["name"] for row in named] == ["printed", "described"]
    for row, kind in zip(named, summary.KINDS, strict=True):  # every setting, its own first
        assert all(row[name] in factor["values"] for name, factor in TINY["factors"].items())
        own = {key: confirmed[kind].iloc[0][key] for key in KEYS[kind]}
        assert all(row[k] == v for k, v in own.items() if (k, v) != ("bandwidth", printed.NONE))
    more = {"distance_sentences": 1.5, "axis": "other"}
    last = {row["name"]: {**confirmed["printed"].iloc[0], **more} for row in named}
    table, told = summary.finish(table, last), len(statements(TINY))
    rows = table[table["table"] == "named"]
    assert rows["distance_sentences"].tolist() == [1.5, 1.5]
    assert rows["axis"].tolist() == [row["axis"] for row in named]  # a protocol keeps its settings
    counts = table["table"].value_counts()
    assert {"confirmed_printed", "confirmed_sentences", "front", "marginal"} < set(counts.index)
    assert (counts["named"], counts["predicted"], counts["statement"]) == (2, 9, told)
    assert all(counts[kind] == (searched["table"] == kind).sum() for kind in summary.KINDS)
    save_table(path, table, {"design": TINY})
    pd.testing.assert_frame_equal(load_table(path)[0], table)
    outputs = [str(tmp_path / f"inference.{kind}") for kind in ("png", "csv")]
    known = dict.fromkeys(("settings", "labels", "simulated", "protocol"), ())
    known["config"] = {"figure": "inference.overview"}
    draw_figure("inference", known, table=str(path), fits=[], data=[], outputs=outputs)
    assert Path(outputs[0]).stat().st_size > 10_000
    panels = {str(name): part for name, part in pd.read_csv(outputs[1]).groupby("panel")}
    assert (len(panels["values"]), len(panels["sentences"])) == (12, told)
    assert panels["values"]["paper"].tolist() == [v for row in PRINTED_APS.values() for v in row]
    least = panels["lines"].set_index("what").loc["printed", "distance"].min()
    assert least == pytest.approx(searched["distance_printed"].min(), rel=1e-5)
