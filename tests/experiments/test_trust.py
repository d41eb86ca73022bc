"""The study of trust: evidence, rules, reliability, real data, plan, figures and text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments import publish
from experiments.config import compose
from experiments.figures import draw
from experiments.io import load_table, save_table
from experiments.lookup import ConfigError
from experiments.measured import KINDS, PAGES, Measured
from experiments.plan import make_plan
from experiments.report.trust import text_of
from experiments.times import without_times
from experiments.trust import measure, real
from experiments.trust.design import JOB, parts
from experiments.trust.evidence import NotRun, log_evidence
from experiments.trust.names import PURE_NOISE, REAL
from experiments.trust.reliability import BINS, Z90, coverage, edge_rows, histogram
from experiments.trust.rules import RAW, RULES, _axes, stability
from experiments.trust.summary import (
    CELL,
    bins,
    coverages,
    gains,
    ratio,
    regrets,
    reliability,
    with_regret,
)
from kgl.grid import DEFAULT_GRID
from kgl.laplacian import laplacian_from_adjacency
from kgl.models import KGL, KGLN
from kgl.selection import select_held_out
from kgl.simulate import make_dataset
from kgl.solvers.grid import signal_data

ROOT = Path(__file__).resolve().parents[2]


def tiny(**changes: Any) -> dict[str, Any]:
    """The design of the tiny twin, with changes."""
    return {**publish.measured_studies(make_plan("trust_tiny"))["trust_tiny"].design, **changes}


# ------------------------------------------------------------------------------------- evidence


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("side", [None, "full", "low rank"])
def test_the_evidence_is_that_of_dense_algebra(missing, dependent, side) -> None:
    made = make_dataset("er", m=6, n=9, dependent=dependent, missing=missing, noise=0.1, seed=61)
    rng = np.random.default_rng(0)
    B = rng.normal(size=(6, 6 if side == "full" else 3))
    K_x = None if side is None else B @ B.T
    model = KGL if dependent else KGLN
    kernels = {"K_x": K_x, "K_z": made.K_z} if dependent else {"K_x": K_x}
    data = signal_data(made.Y, model._spec, **kernels)
    W = np.triu(rng.random((6, 6)), 1)
    L = laplacian_from_adjacency(W + W.T)
    points = np.array([[0.3, 2.0], [1.0, 0.1]])
    call = (data, np.stack([L, L]), points[:, 0], points[:, 1])
    if missing and dependent:
        with pytest.raises(NotRun, match="dependent data with gaps"):
            log_evidence(*call)
        return
    seen = np.isfinite(made.Y).ravel()
    y, own = made.Y.ravel()[seen], data.node_factor
    K_z = np.eye(9) if made.K_z is None else data.K_z.matrix
    for (lam, rho), found in zip(points, log_evidence(*call), strict=True):
        if own is None:
            P = np.linalg.inv(lam * np.eye(6) + rho * L)
        else:
            P = own @ np.linalg.inv(lam * np.eye(own.shape[1]) + rho * own.T @ L @ own) @ own.T
        C = np.eye(len(y)) + np.kron(K_z, P)[np.ix_(seen, seen)]
        noise = y @ np.linalg.solve(C, y) / len(y)
        dense = -0.5 * len(y) * (np.log(2 * np.pi * noise) + 1) - 0.5 * np.linalg.slogdet(C)[1]
        assert found == pytest.approx(dense, rel=1e-8)


# ---------------------------------------------------------------------------------------- rules


def replicate(**changes: Any) -> Any:
    """A replicate of a small cell."""
    about: dict[str, Any] = {"family": "er", "data": "independent", "noise": 0.01, "missing": 0.0}
    part = {**about, "side": "none", **changes}
    return measure.draw(part, tiny(seed=61, m=8, n=40), 0)[0]


def test_no_rule_on_the_grid_is_better_than_the_oracle() -> None:
    one = replicate()
    found = {name: RULES[name].reach(one) for name in ("oracle", "random", "evidence")}
    assert found["oracle"] == one.grid_aps.max() == max(found.values())
    assert one.grid.shape == tuple(len(values) for values in DEFAULT_GRID.values())
    fixed = pd.DataFrame(measure._fixed(one))
    assert fixed.groupby("name")["aps"].max().tolist() == [found["oracle"]] * 3


def test_stability_is_that_of_one_call_over_the_whole_grid() -> None:
    one = replicate(missing=0.5)
    settings = one.design["held_out"]
    whole = select_held_out(
        one.model, one.Y, **_axes(settings), **RAW, graph="stability",
        n_folds=settings["folds"], seed=one.seed("folds"), progress=False,
    )  # fmt: skip
    assert stability(one) == one.of(whole.estimator)


def test_cells_of_a_replicate_share_the_graph_and_differ_in_their_kernels() -> None:
    plain, other = replicate(), replicate(data="dependent", side="oracle", missing=0.5)
    np.testing.assert_array_equal(plain.W, other.W)
    assert (plain.model, plain.kernels) == (KGLN, {})
    assert (other.model, set(other.kernels)) == (KGL, {"K_x", "K_z"})
    covariates = replicate(side="covariates").K_x
    assert covariates.shape == other.K_x.shape
    assert np.abs(covariates - other.K_x).max() > 0.1
    assert plain.seed("folds") != plain.seed("bayesian")


def test_pure_noise_does_not_depend_on_the_graph() -> None:
    design = tiny(m=8, n=3000)
    part = parts(design)[f"{PURE_NOISE}-dependent"]
    one, _ = measure.draw(part, design, 0)
    assert one.K_z is not None
    np.testing.assert_allclose(np.cov(one.Y.T), np.eye(8), atol=0.12)


def test_failures_and_what_is_left_out_are_results() -> None:
    def fail() -> dict[str, Any]:
        raise ArithmeticError("no inverse")

    def skip() -> dict[str, Any]:
        raise NotRun("too slow")

    assert measure.attempt(fail)["error"] == "ArithmeticError: no inverse"
    assert measure.attempt(skip)["note"] == "too slow"
    done = measure.attempt(lambda: {"aps": 0.5})
    assert (done["aps"], done["error"], done["note"]) == (0.5, "", "")
    assert done["seconds"] >= 0


# ---------------------------------------------------------------------------------- reliability


def test_bins_hold_every_pair_once() -> None:
    rng = np.random.default_rng(0)
    stated = np.concatenate([rng.random(500), [0.0, 1.0]])
    true = rng.random(502) < stated
    rows = histogram(stated, true)
    assert [row["bin"] for row in rows] == list(range(BINS))
    assert sum(row["pairs"] for row in rows) == 502
    assert sum(row["true"] for row in rows) == true.sum()
    assert sum(row["stated"] for row in rows) == pytest.approx(stated.sum())


def test_scores_of_probabilities_are_those_of_their_definitions() -> None:
    stated, true = np.array([0.9, 0.6, 0.2, 0.1]), np.array([True, False, False, True])
    *_, row = edge_rows(stated, true, 0.3)
    assert row["table"] == "edges"
    assert (row["likely"], row["likely_true"]) == (2, 1)
    assert row["likely_stated"] == pytest.approx(1.5)
    assert row["brier"] == pytest.approx((0.01 + 0.36 + 0.04 + 0.81) / 4)
    assert row["brier_share"] == 0.25
    assert row["brier_believed"] == pytest.approx((2 * 0.49 + 2 * 0.09) / 4)
    assert row["ece"] == pytest.approx((0.1 + 0.6 + 0.2 + 0.9) / 4)
    assert row["largest"] == 0.9


def test_coverage_of_gaussian_values_is_nine_in_ten() -> None:
    rng = np.random.default_rng(0)
    values, hidden = rng.normal(size=(200, 100)) * 3.0, np.zeros((200, 100), dtype=bool)
    hidden[:, 30:] = True
    found = coverage(np.zeros_like(values), np.full_like(values, 3.0), values, hidden)
    assert found["entries"] == hidden.sum()
    assert found["covered"] / found["entries"] == pytest.approx(0.9, abs=0.01)
    assert found["width"] == pytest.approx(1.0, abs=0.02)
    narrow = coverage(np.zeros_like(values), np.full_like(values, 1.0), values, hidden)
    assert narrow["covered"] < found["covered"]
    with pytest.raises(ValueError, match="not finite"):
        coverage(values, np.full_like(values, np.nan), values, hidden)
    assert pytest.approx(1.645) == Z90


# ------------------------------------------------------------------------------------ real data


@pytest.mark.parametrize("name", ["swiss", "sushi"])
def test_settings_of_real_data_are_those_of_the_replication(name: str) -> None:
    graph = {"swiss": "stations", "sushi": "items"}[name]
    composed = compose([f"data={name}", f"graph={graph}"]).values()
    for group in ("data", "graph"):
        own = real.FILES[name][group]
        assert own == {key: composed[group][key] for key in own}
    assert real.FILES[name]["data"]["options"] == composed["data"]["options"]


def test_hidden_ratings_have_no_part_in_what_is_fitted() -> None:
    design, part = tiny(), {"files": "sushi", "n": 20, "input": "kernels"}
    part["source"] = "simulated"
    one = real.hidden_entries(part, design, 0)
    assert np.isnan(one.given["Y"][one.hidden]).all()
    assert np.nanmean(one.given["Y"], axis=1) == pytest.approx(np.zeros(20), abs=1e-12)
    assert np.isfinite(one.values[one.hidden]).all()
    share = one.hidden.sum() / np.isfinite(one.values).sum()
    assert share == pytest.approx(design["hidden"], abs=0.03)
    raw = real.hidden_entries({**part, "input": "covariates"}, design, 0)
    np.testing.assert_array_equal(raw.hidden, one.hidden)  # the same reviewers, the same entries
    difference = (raw.values - one.values)[np.isfinite(raw.values)]
    assert np.ptp(difference) > 0  # by reviewer means
    assert set(raw.given) == {"Y", "x", "z"}


# --------------------------------------------------------------------------------------- tables


@pytest.fixture(scope="module")
def measured() -> pd.DataFrame:
    """The tiny study, measured."""
    study = publish.measured_studies(make_plan("trust_tiny"))["trust_tiny"]
    study.check()
    lines: list[str] = []
    found = [study.measure(part, study.shared, lines.append) for part in study.parts.values()]
    assert any("replicate 1/1" in line for line in lines)
    assert any("STAND-IN" in line for line in lines)
    return pd.concat(found, ignore_index=True)


def test_the_tiny_study_measures_every_table_without_failure(measured: pd.DataFrame) -> None:
    assert (measured["error"].fillna("") == "").all()
    tables = {"rules", "fixed", "bins", "edges", "fit", "coverage"}
    assert set(measured["table"]) == tables
    rules = measured[measured["table"] == "rules"]
    assert set(rules.loc[rules["family"] == "er", "rule"]) == set(RULES)
    assert set(rules.loc[rules["family"] == PURE_NOISE, "rule"]) == {"bayesian"}
    assert rules["aps"].between(0, 1).all()
    own = measured[(measured["table"] == "coverage") & (measured["family"] == REAL)]
    assert set(own["source"]) == {"simulated"}
    shown = own.set_index("model")
    assert set(shown.index) == {"bayesian", *real.MODELS}
    assert (shown.loc[["GL", "GL2Step"], "note"] != "").all()
    assert (shown["entries"].notna() == (shown["note"] == "")).all()


def test_measuring_again_gives_the_same(measured: pd.DataFrame) -> None:
    study = publish.measured_studies(make_plan("trust_tiny"))["trust_tiny"]
    name, part = next(iter(study.parts.items()))
    again = study.measure(part, study.shared, lambda _: None)
    first = measured[measured["family"] == "er"][again.columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(without_times(again), without_times(first), check_dtype=False)
    assert name == "er-independent-0.01-0.5-none"


def made_up(graphs: int = 4, gaps: int = 2) -> pd.DataFrame:
    """A table: regret 0.1 and 0.2 of two rules, probabilities that are 0.1 too high."""
    rows: list[dict[str, Any]] = []
    for r in range(graphs):
        for k in range(gaps):
            cell = {"family": "er", "data": "independent", "noise": 0.01, "missing": 0.1 * k}
            cell |= {"side": "none", "replicate": r, "error": "", "note": "", "seconds": 1.0}
            best = 0.6 + 0.01 * r
            reached = {"oracle": best, "constants": best - 0.2, "bayesian": best - 0.1}
            rows += [{**cell, "table": "rules", "rule": n, "aps": v} for n, v in reached.items()]
            rows += [{**cell, "table": "fixed", "name": n, "value": v, "aps": best - 0.01 * v}
                     for n in ("lam", "rho", "psi") for v in (0.0, 1.0)]  # fmt: skip
            rows.append({**cell, "table": "bins", "bin": 6, "pairs": 100, "stated": 60.0,
                         "true": 50.0 + r})  # fmt: skip
            rows.append({**cell, "table": "edges", "pairs": 190, "likely": 100,
                         "likely_stated": 60.0, "likely_true": 50, "ece": 0.1, "brier": 0.1,
                         "brier_share": 0.2, "brier_believed": 0.25, "largest": 0.65, "mean": 0.3,
                         "share": 0.3})  # fmt: skip
            rows.append({**cell, "table": "fit", "converged": r > 0, "r_hat": 1.1, "ess": 60.0,
                         "pairs": 190, "likely": 100, "sure": 0})  # fmt: skip
            own = {**cell, "table": "coverage", "entries": 200.0, "width": 0.5}
            rows += [{**own, "model": "bayesian", "covered": 180.0}]
            rows += [{**own, "model": "KGLN", "covered": 150.0}]
    cell = {"replicate": 0, "error": "", "note": "", "seconds": 9.0}
    noise = {**cell, "family": PURE_NOISE, "data": "dependent", "noise": 1.0, "missing": 0.0}
    rows.append({**noise, "side": "none", "table": "edges", "likely": 0, "largest": 0.37,
                 "mean": 0.31})  # fmt: skip
    known = {**cell, "family": REAL, "files": "sushi", "n": 80, "input": "kernels"}
    known |= {"source": "simulated"}
    rows.append({**known, "table": "coverage", "model": "bayesian", "entries": 100.0,
                 "covered": 93.0, "width": 0.7})  # fmt: skip
    rows.append({**known, "table": "fit", "converged": False, "pairs": 496, "likely": 25,
                 "sure": 1})  # fmt: skip
    return pd.DataFrame(rows)


def test_regret_and_gain_are_over_graphs() -> None:
    table = made_up()
    found = regrets(table, ["side"]).set_index("rule")
    assert found.loc["constants", "mean"] == pytest.approx(0.2)
    assert found.loc["bayesian", "worst"] == pytest.approx(0.1)
    assert found.loc["bayesian", ["graphs", "cells"]].tolist() == [4, 2]
    assert gains(table, "constants")["mean"].tolist() == pytest.approx([0.1])
    assert "oracle" not in found.index
    # a rule that was not run has no regret
    table.loc[(table["rule"] == "constants") & (table["missing"] > 0), "aps"] = np.nan
    assert regrets(table).set_index("rule").loc["constants", "cells"] == 1
    assert len(with_regret(table)) == 4 * (3 + 2)


def test_more_cells_of_the_same_graphs_do_not_narrow_intervals() -> None:
    few, many = (bins(made_up(gaps=gaps)).iloc[0] for gaps in (1, 3))
    assert few["mean"] == pytest.approx(0.515) == many["mean"]
    assert few["high"] - few["low"] == pytest.approx(many["high"] - many["low"])
    more = bins(made_up(graphs=16)).iloc[0]
    assert more["graphs"] == 16
    single = ratio(made_up(graphs=1).query("table == 'bins'"), "true", "pairs")
    assert np.isnan(single["low"])


def test_reliability_and_coverage_are_ratios_of_sums() -> None:
    row = reliability(made_up(), ["side", "noise"]).iloc[0]
    assert row["excess"] == pytest.approx(0.1)
    assert (row["stated"], row["true"]) == (0.6, 0.5)
    assert row["skill"] == pytest.approx(0.5)
    assert row["skill_believed"] == pytest.approx(0.6)
    assert row["converged"] == 0.75
    found = coverages(made_up(), CELL).groupby("model")["mean"].mean()
    assert found.to_dict() == pytest.approx({"bayesian": 0.9, "KGLN": 0.75})
    own = coverages(made_up(), ["files"], real=True).iloc[0]
    assert (own["model"], own["mean"]) == ("bayesian", 0.93)


@pytest.mark.parametrize("kind", ["made up", "measured"])
def test_figures_and_text_are_made_from_the_table(tmp_path: Path, kind: str, measured) -> None:
    path = tmp_path / "trust.parquet"
    save_table(path, made_up() if kind == "made up" else measured, {"design": {}})
    for figure in ("regret", "reliability"):
        outputs = [str(tmp_path / f"{figure}.{end}") for end in ("png", "csv", "pdf")]
        known = {"config": {"figure": f"trust.{figure}"}, "settings": {}, "labels": [],
                 "simulated": False, "protocol": ""}  # fmt: skip
        draw("trust", known, table=str(path), fits=[], data=[], outputs=outputs)
        assert all(Path(name).stat().st_size for name in outputs)
    drawn = pd.read_csv(tmp_path / "reliability.csv")
    assert set(drawn["drawn"]) == {"bins", "coverage", "real"}
    text = text_of(path)
    assert "SIMULATED STAND-IN" in text
    if kind == "made up":
        assert "| former constants | 0.200 (0.200 to 0.200) | 0.200 | 2 |" in text
        assert "| BayesianKGL | 0.100 (0.100 to 0.100) | 0.100 | 2 |" in text
        assert "| none | 0.01 | 800 | 0.60 | 0.50 | 0.10 (0.10 to 0.10) | 0.500" in text
        assert "| dependent | 0.37 | 0 | 0.31 |" in text
        assert "| 93.0 | 0.70 | 25, 1 of 496 | 0 of 1 |" in text
        assert "| rho | 0.000 (0.000 to 0.000) | 0 | 0.010 | 1 |" in text


def test_the_tracked_text_is_what_the_published_table_gives() -> None:
    found = (ROOT / PAGES["trust"]).read_text(encoding="utf-8")
    assert found == text_of(ROOT / "figures/trust.parquet")


# ----------------------------------------------------------------------------------------- plan


def test_the_study_has_one_job_for_each_cell() -> None:
    plan = make_plan("trust")
    study = publish.measured_studies(plan)["trust"]
    design = study.design
    assert design["replicates"] >= 10
    assert set(design["rules"]) == set(RULES)
    cells = 3 * 2 * 3 * 2 * 3
    jobs = cells + len(design["pure_noise"]) + len(design["real"]) * len(design["inputs"])
    files = publish.scored(plan, "trust")
    assert len(study.parts) == len(files) == len(set(files)) == jobs
    names = {"trust.png", "trust.csv", "trust.parquet"}
    names |= {"trust_reliability.png", "trust_reliability.csv"}
    assert set(publish.published(plan)) == {f"figures/{name}" for name in names}
    assert publish.page(plan)["text"] == PAGES["trust"]
    assert publish.page(make_plan("trust_tiny")) == {}
    assert len(publish.benchmarks(plan)["measure trust"]) == jobs
    captions = publish.captions(plan)
    assert captions["trust"]["caption"] != captions["trust_reliability"]["caption"]
    assert publish.drawn(plan, "trust_reliability")["config"]["figure"] == "trust.reliability"
    assert not publish.measured_studies(make_plan("paper"))


def test_what_other_jobs_are_does_not_change_a_job() -> None:
    study = Measured("trust", tiny())
    other = Measured("trust", tiny(families=["er", "ba"], real=[]))
    assert study.shared == other.shared
    assert set(JOB) == set(study.shared)
    assert set(study.parts) - set(other.parts) == {"sushi-20-kernels-SIMULATED-STAND-IN"}


def test_overrides_choose_a_part_of_the_study() -> None:
    plan = make_plan("trust", ["study.trust.families=[er]", "study.trust.replicates=2"])
    assert plan.run.startswith("trust-")
    assert publish.published(plan) == publish.page(plan) == {}
    assert publish.measured_studies(plan)["trust"].design["families"] == ["er"]
    with pytest.raises(ConfigError, match=r"replicates=3.*study\.trust"):
        make_plan("trust", ["replicates=3"])
    with pytest.raises(ConfigError, match="real"):
        make_plan("trust", ["study.trust.real=[lake-3]"])
    assert "trust_tiny" in make_plan("smoke", ["seed=1"]).studies


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"families": ["err"]}, "families: no 'err'; did you mean 'er'"),
        ({"rules": ["oracle", "bayes"]}, "rules: no 'bayes'; did you mean 'bayesian'"),
        ({"sides": ["covariate"]}, "sides: no 'covariate'; did you mean 'covariates'"),
        ({"data": ["depend"]}, "data: no 'depend'; did you mean 'dependent'"),
        ({"rules": ["bayesian"]}, "lacks 'oracle'"),
        ({"families": [], "pure_noise": [], "real": []}, "no cell"),
    ],
)
def test_names_that_lead_nowhere_are_refused(change: dict[str, Any], message: str) -> None:
    measure.check(tiny())
    with pytest.raises(ConfigError, match=message):
        measure.check(tiny(**change))


def test_every_kind_has_its_page_and_modules() -> None:
    assert set(PAGES) == set(KINDS)
    for kind in KINDS:
        assert (ROOT / PAGES[kind]).is_file()
        assert callable(Measured(kind, {}).measure)


def test_the_published_table_is_one_of_the_study() -> None:
    path = ROOT / "figures/trust.parquet"
    if not path.exists():
        pytest.skip("the study has not been run")
    table, record = load_table(path)
    design = record["settings"]["design"]
    assert set(table.loc[table["files"].isna(), "family"]) <= {*design["families"], PURE_NOISE}
