"""The comparison of packages: data, adapters that run, fail or stop, and what is said of them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import publish
from experiments.arena import calls, environments, measure, summary
from experiments.arena.calls import Table, call
from experiments.arena.cells import REAL_TABLES, draw
from experiments.arena.complete import completed, pairwise
from experiments.arena.design import cells, parts
from experiments.arena.entrants import ADAPTERS, ENTRANTS, OURS, Entrant
from experiments.arena.names import KINDS, PLAIN
from experiments.figures import draw as draw_figure
from experiments.io import load_table, save_table
from experiments.lookup import ROOT, ConfigError
from experiments.plan import make_plan
from experiments.report.arena import Results, text_of

DESIGN = {
    "seed": 3, "n": 40, "degree": 4, "noise": 0.01, "missing": 0.4, "covariates": 6, "hidden": 0.2,
    "values": 2,
}  # fmt: skip


def part(kind: str = "plain", m: int = 12, replicates: int = 1, **more) -> dict:
    cell = {"cell": f"{kind}-{m}", "kind": kind, "m": m, "dataset": "", "replicates": replicates}
    return {**cell, "limit": 60, "entrants": {}, **more}


# ------------------------------------------------------------------------------------- adapters

PROGRAM = """
import os, signal, sys
sys.path.insert(0, {adapters!r})
import numpy as np
from adapter import Answer, serve
def good(problem):
    n, m = problem.Y.shape
    return Answer(np.eye(m) - 2.0, scores=np.arange(m * m).reshape(m, m), filled=problem.filled)
def bad(problem):
    raise ArithmeticError("no inverse")
def strange(problem):
    return np.full((problem.Y.shape[1],) * 2, np.nan)
def small(problem):
    return np.zeros((2, 2))
def slow(problem):
    os.kill(os.getpid(), signal.SIGXCPU)  # what the system does at the limit
serve(["numpy"], {default}, {own}, {point})
"""


def adapter(tmp_path: Path, default="good", own="None", point="None") -> list[str]:
    """Write an adapter with these answers, and return how it is called."""
    file = tmp_path / "run_it.py"
    known = {"default": default, "own": own, "point": point, "adapters": str(ADAPTERS)}
    file.write_text(PROGRAM.format(**known), encoding="utf-8")
    return [sys.executable, str(file)]


@pytest.fixture
def tables() -> list[Table]:
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((9, 4)) < 0.2, np.nan, rng.normal(size=(9, 4)))
    return [completed(Table(Y, x=np.ones((4, 2)), z=np.arange(9.0))) for _ in range(2)]


def test_answers_come_back_and_failures_spoil_no_other(tmp_path: Path, tables) -> None:
    names = ["default", "own", "grid-0", "grid-1"]
    command = adapter(tmp_path, own="bad", point="lambda problem, k: (strange, small)[k](problem)")
    found = call(command, tables, names, 2, 60)
    assert found.versions == f"Python {sys.version.split()[0]}, numpy {np.__version__}"
    assert set(found.answers) == {(r, name) for r in range(2) for name in names}
    for r in range(2):
        good = found.answers[r, "default"]
        assert good.status == "ok"
        # absolute weights above the diagonal, row by row; scores as they are
        np.testing.assert_array_equal(good.weights, np.full(6, 2.0))
        np.testing.assert_array_equal(good.scores, [1, 2, 3, 6, 7, 11])
        np.testing.assert_array_equal(good.filled, tables[r].filled)
        assert good.memory > 1
        assert good.seconds >= 0
        assert found.answers[r, "own"].error == "ArithmeticError: no inverse"
        assert "not all finite" in found.answers[r, "grid-0"].error
        assert "1 weights in place of 6" in found.answers[r, "grid-1"].error


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of processor time")
def test_what_was_answered_before_the_limit_counts(tmp_path: Path, tables) -> None:
    found = call(adapter(tmp_path, own="slow"), tables, ["default", "own"], 2, 60)
    assert {found.answers[r, "default"].status for r in range(2)} == {"ok"}
    assert {found.answers[r, "own"].status for r in range(2)} == {"stopped"}


def test_a_program_that_only_waits_is_stopped_too(tmp_path: Path, tables) -> None:
    file = tmp_path / "waits.py"
    file.write_text("import time; time.sleep(600)", encoding="utf-8")
    found = call([sys.executable, str(file)], tables, ["default"], 2, 0.01)
    assert {answer.status for answer in found.answers.values()} == {"stopped"}


def test_a_program_that_breaks_down_is_a_failure_with_its_message(tmp_path: Path, tables) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import nothing_of_this_name", encoding="utf-8")
    found = call([sys.executable, str(file)], tables, ["default"], 2, 60)
    assert found.answers[1, "default"].status == "failed"
    assert "No module named 'nothing_of_this_name'" in found.answers[1, "default"].error


def test_every_entrant_has_an_adapter_and_every_environment_a_list() -> None:
    for name, entrant in ENTRANTS.items():
        assert entrant.file.is_file(), name
        assert not entrant.environment or (ADAPTERS / f"{entrant.environment}.txt").is_file()
    used = {entrant.environment for entrant in ENTRANTS.values()}
    for file in ADAPTERS.glob("*.txt"):
        assert file.stem in used
        for line in file.read_text(encoding="utf-8").splitlines():
            # names and versions: no addresses
            assert re.fullmatch(r"#.*|[A-Za-z0-9_.-]+(==[0-9.]+)?", line), line
    assert len([e for e in ENTRANTS.values() if e.environment or e.file.suffix == ".R"]) >= 9


def test_an_edit_of_an_adapter_runs_its_jobs_again(monkeypatch, tmp_path: Path) -> None:
    design = publish.measured_studies(make_plan("arena_tiny"))["arena_tiny"].design
    (before,) = parts(design).values()
    monkeypatch.setattr(Entrant, "file", tmp_path / "other.py")
    (tmp_path / "other.py").write_text("edited", encoding="utf-8")
    (after,) = parts(design).values()
    assert before["entrants"].keys() == after["entrants"].keys()
    assert not set(before["entrants"].values()) & set(after["entrants"].values())


def test_environments_name_the_python_that_they_need(tmp_path: Path) -> None:
    file = tmp_path / "one.txt"
    file.write_text("# python: 2.1\nnumpy\n", encoding="utf-8")
    assert environments.python_of(file) is None
    assert "Python that it needs" in environments.build(file, tmp_path / "one")
    file.write_text("numpy\n", encoding="utf-8")
    assert environments.python_of(file) == sys.executable
    assert environments.main(["sklern"]) == 2


# ----------------------------------------------------------------------------------------- data


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "real"])
def test_simulated_cells_are_what_they_are_called(kind: str) -> None:
    made = draw(part(kind, m=30), DESIGN, 1)
    table, again = made.table, draw(part(kind, m=30), DESIGN, 1).table
    np.testing.assert_array_equal(table.Y, again.Y)
    assert (draw(part(kind, m=30), DESIGN, 4).edges != made.edges).any()
    share = np.isnan(table.Y).mean()
    assert share == pytest.approx(0.4 if kind in ("gaps", "all") else 0.0, abs=0.05)
    assert (table.x is not None) == (kind.startswith("side_") or kind == "all")
    assert (table.z is not None) == (kind in ("dependent", "all"))
    assert made.edges.sum() * 2 / 30 == pytest.approx(4, abs=1.5)
    np.testing.assert_array_equal(table.Y[~np.isnan(table.Y)], made.values[~np.isnan(table.Y)])


def test_covariates_lose_what_they_tell_and_share_all_else() -> None:
    plain = draw(part("plain", m=30), DESIGN, 0)
    told = []
    for kind in ("side_high", "side_medium", "side_low"):
        made = draw(part(kind, m=30), DESIGN, 0)
        np.testing.assert_array_equal(made.table.Y, plain.table.Y)
        near = -np.linalg.norm(made.table.x[:, None] - made.table.x[None], axis=2)
        near = near[np.triu_indices(30, 1)]
        told.append((near[made.edges].mean() - near[~made.edges].mean()) / near.std())
    assert told[0] > told[1] > told[2]


def test_signed_rows_have_the_precision_matrix_of_the_graph() -> None:
    made = draw(part("signed", m=8), {**DESIGN, "n": 40_000}, 1)
    precision = np.linalg.inv(np.cov(made.table.Y.T))
    d = np.sqrt(precision.diagonal())
    partial = (-precision / np.outer(d, d))[np.triu_indices(8, 1)]
    assert np.abs(partial[~made.edges]).max() < 0.03
    assert partial[made.edges].min() < -0.05
    assert partial[made.edges].max() > 0.05


def test_tables_without_gaps_are_made_for_packages_that_need_them() -> None:
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(12, 1)) + 0.1 * rng.normal(size=(12, 15))
    whole = completed(Table(Y))
    np.testing.assert_allclose(whole.C, np.corrcoef(Y.T))
    assert whole.filled is Y
    hidden = rng.random(Y.shape) < 0.4
    hidden[0] = False
    made = completed(Table(np.where(hidden, np.nan, Y)))
    assert np.linalg.eigvalsh(made.C)[0] > 0
    np.testing.assert_allclose(made.C.diagonal(), 1.0)
    np.testing.assert_array_equal(made.filled[~hidden], Y[~hidden])
    assert np.abs(made.filled - Y)[hidden].mean() < 0.5 * np.abs(Y).mean()
    # over shared rows: what is missing in one column leaves the others alone
    np.testing.assert_allclose(
        pairwise(np.where(np.arange(15) == 0, np.where(hidden, np.nan, Y), Y))[3:, 3:],
        np.corrcoef(Y.T)[3:, 3:], atol=0.05,
    )  # fmt: skip


def test_references_of_real_tables_follow_from_nothing_that_is_given() -> None:
    swiss = REAL_TABLES["swiss"]("simulated")
    assert swiss.x.shape[1] == 1  # altitude; the reference is of places
    digits = draw(part("real", dataset="digits", source="real"), DESIGN, 0)
    assert digits.table.x is None
    assert np.isnan(digits.table.Y).mean() == pytest.approx(0.2, abs=0.01)
    assert np.isfinite(digits.values).all()
    assert 0 < digits.edges.mean() < 0.2


# -------------------------------------------------------------------------------------- measure


def test_entrants_are_scored_and_absent_ones_counted(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KGL_ARENA", str(tmp_path))
    given = dict.fromkeys(["correlation", "knn_x", "skglm"], "")
    lines: list[str] = []
    table = measure.measure(part("side_high", entrants=given), DESIGN, lines.append)
    assert list(table["entrant"].unique()) == ["correlation", "knn_x", "skglm"]
    # without covariates, their neighbours take no part: that is no failure
    without = measure.measure(part("plain", entrants={"knn_x": ""}), DESIGN, lines.append)
    assert without.empty
    status = table.groupby("entrant")["status"].unique()
    assert list(status["skglm"]) == ["absent"]
    assert list(status["correlation"]) == list(status["knn_x"]) == ["ok"]
    assert list(table.loc[table["entrant"] == "knn_x", "point"]) == [-1, 0, 1]
    done = table[table["status"] == "ok"]
    assert done["aps"].between(0.1, 1.0).all()
    assert len(lines) == 3
    assert lines[2] == "skglm: default absent (0/1), grid absent (0/2)"


def test_scores_of_weights_and_of_rankings_differ_by_ties() -> None:
    made = draw(part("gaps"), DESIGN, 0)
    pairs = len(made.edges)
    weights = np.where(np.arange(pairs) == np.argmax(made.edges), 1.0, 0.0)
    filled = np.where(np.isnan(made.table.Y), made.values, 1e9)
    answer = calls.Answer("ok", weights=weights, scores=made.edges * 1.0, filled=filled)
    row = measure.scored(answer, made)
    assert row["aps"] < 0.6
    assert row["aps_scores"] == 1.0
    assert row["rmse"] == 0.0  # hidden entries alone
    assert np.isnan(measure.scored(calls.Answer("stopped"), made)["aps"])


def test_names_that_lead_nowhere_are_refused() -> None:
    design = publish.measured_studies(make_plan("arena_tiny"))["arena_tiny"].design
    measure.check(design)
    size = design["sizes"][0]
    with pytest.raises(ConfigError, match="no kind 'plane'; did you mean 'plain'"):
        measure.check({**design, "sizes": [{**size, "kinds": ["plane"]}]})
    with pytest.raises(ConfigError, match="no entrant 'sklern'; did you mean 'sklearn'"):
        measure.check({**design, "groups": [{"name": "one", "entrants": ["sklern"]}]})
    with pytest.raises(ConfigError, match=r"groups: correlation, gl, .* in several groups"):
        measure.check({**design, "groups": [*design["groups"], *design["groups"]]})
    with pytest.raises(ConfigError, match="no cell"):
        measure.check({**design, "sizes": []})


# -------------------------------------------------------------------------------------- summary


def results(**changes: float) -> pd.DataFrame:
    """A small table: scikit-learn best in one cell, KGL in the other, skglm stopped in one."""
    reached = {
        "plain-20": {"kgl": 0.5, "bayesian": 0.6, "sklearn": 0.7, "skglm": 0.4, "correlation": 0.3},
        "side_high-20": {"kgl": 0.8, "bayesian": 0.6},
        "all-20": {"kgl": 0.9, "bayesian": 0.2, "sklearn": 0.6, "skglm": 0.5, "knn_x": 0.4},
    }
    rows = []
    for cell, found in reached.items():
        kind = cell.partition("-")[0]
        known = {"cell": cell, "kind": kind, "m": 20, "n": 100, "source": "", "dataset": ""}
        known |= {"x": kind != "plain", "z": kind == "all", "gaps": kind == "all"}
        for entrant, value in found.items():
            for name in ENTRANTS[entrant].names(2):
                tuning, _, point = name.partition("-")
                for r in range(3):
                    better = {"own": 0.02, "grid": 0.05 * (int(point or 0) == r % 2)}
                    aps = value + better.get(tuning, 0.0) + 0.01 * (r - 1)
                    rows.append({**known, "entrant": entrant, "tuning": tuning, "replicate": r,
                                 "point": int(point or -1), "status": "ok", "error": "",
                                 "aps": aps, "aps_scores": aps, "rmse": np.nan, "seconds": 0.25,
                                 "memory": 80.0, "versions": "Python 3, one 1.0"})  # fmt: skip
    table = pd.DataFrame(rows)
    table.loc[table["gaps"] & (table["entrant"] == "kgl"), "rmse"] = 0.75
    lost = (table["cell"] == "all-20") & (table["entrant"] == "skglm") & (table["replicate"] == 2)
    table.loc[lost, "status"] = "stopped"
    broken = (table["entrant"] == "correlation") & (table["replicate"] == 0)
    table.loc[broken, ["status", "error"]] = ["failed", "Oops: no"]
    table.loc[lost | broken, ["aps", "aps_scores", "seconds"]] = np.nan
    return table


def test_entrants_without_use_for_covariates_are_those_of_the_plain_cell() -> None:
    table = summary.with_shared(results())
    own = table[table["cell"] == "side_high-20"]
    assert {*own["entrant"]} == {"kgl", "bayesian", "sklearn", "skglm", "correlation"}
    assert own["x"].all()
    # those measured there keep their own figures
    assert summary.answers(table, "default").loc[("side_high-20", 1), "kgl"] == pytest.approx(0.8)
    assert len(table[table["cell"] == "all-20"]) == len(results()[results()["cell"] == "all-20"])


def test_the_oracle_takes_the_best_value_of_each_replicate() -> None:
    found = summary.answers(results(), "oracle")
    # the better value of replicate 1 is the second one
    assert found.loc[("plain-20", 1), "sklearn"] == pytest.approx(0.75)
    assert found.loc[("plain-20", 2), "sklearn"] == pytest.approx(0.76)
    # nothing to tune: as it comes
    assert found.loc[("plain-20", 1), "bayesian"] == pytest.approx(0.6)
    assert summary.answers(results(), "own").loc[("plain-20", 1), "skglm"] == pytest.approx(0.4)


def test_an_entrant_counts_in_a_cell_if_it_answered_throughout() -> None:
    found = summary.answers(results(), "default")
    assert found.loc["all-20", "skglm"].isna().all()
    assert found.loc["plain-20", "correlation"].isna().all()
    rows = summary.behind(results(), "default").set_index(["cell", "entrant"])
    assert rows.loc[("all-20", "skglm"), "why"] == "stopped"
    assert rows.loc[("plain-20", "correlation"), "why"] == "failed"
    assert rows.loc[("plain-20", "kgl"), "behind"] == pytest.approx(0.2)
    assert rows.loc[("plain-20", "sklearn"), "behind"] == 0.0


def test_ours_are_judged_by_cells_with_help_and_plain_ones() -> None:
    table = summary.with_shared(results())
    rows = summary.contests(table, "default").set_index("cell")
    assert rows.loc["plain-20", ["ours", "peer"]].tolist() == ["bayesian", "sklearn"]
    assert rows.loc["plain-20", "difference"] == pytest.approx(-0.1)
    assert rows["assisted"].to_dict() == {"plain-20": False, "side_high-20": True, "all-20": True}
    found = summary.share(table, "default")
    assert (found["close"], found["cells"], found["share"]) == (2, 2, 1.0)
    alone = summary.share(table, "default", ours=["bayesian"])
    assert (alone["close"], alone["share"]) == (0, 0.0)
    assert set(OURS) | set(summary.PEERS) == set(ENTRANTS)
    assert not set(OURS) & set(summary.PEERS)
    assert PLAIN == ("plain", "signed")


# ---------------------------------------------------------------------------- figure, text, plan


def test_the_figure_and_the_text_are_made_from_the_table(tmp_path: Path) -> None:
    path = tmp_path / "arena.parquet"
    design = publish.measured_studies(make_plan("arena"))["arena"].design
    save_table(path, results(), {"design": design})
    outputs = [str(tmp_path / f"arena.{kind}") for kind in ("png", "csv", "pdf")]
    known = {"config": {"figure": "arena.best"}, "settings": {}, "labels": [],
             "simulated": False, "protocol": ""}  # fmt: skip
    draw_figure("arena", known, table=str(path), fits=[], data=[], outputs=outputs)
    assert all(Path(name).stat().st_size for name in outputs)
    assert set(pd.read_csv(outputs[1])["entrant"]) == set(results()["entrant"])
    text = text_of(path)
    assert "| own rule | 2 of 2 | 2 of 2 | 100 % (100 to 100 %) | met |" in text
    assert "- independent rows, m = 20: BayesianKGL 0.60, scikit-learn GraphicalLasso 0.72" in text
    assert "- correlation: 1 answers, such as: Oops: no" in text
    assert "| **KGL** | 0.75 |" in text
    rows = Results(results(), design).summary()
    lacks = {row["label"]: row["lacking"] for row in rows}
    assert lacks["correlation"] == "1 failed"
    assert lacks["skglm"] == "3 stopped"
    # the text changes with the table
    save_table(path, results().assign(aps=0.5), {"design": design})
    assert text_of(path) != text


def test_the_tracked_text_is_what_the_published_table_gives() -> None:
    found = (ROOT / "docs/arena.md").read_text(encoding="utf-8")
    assert found == text_of(ROOT / "figures/arena.parquet")


def test_the_study_measures_each_entrant_once_in_each_cell() -> None:
    plan = make_plan("arena")
    design = publish.measured_studies(plan)["arena"].design
    entrants = [name for group in design["groups"] for name in group["entrants"]]
    assert sorted(entrants) == sorted(ENTRANTS)
    assert {size["m"] for size in design["sizes"]} == {20, 100, 500}
    assert set(design["real"]["datasets"]) == set(REAL_TABLES)
    made = parts(design)
    for about in cells(design).values():
        if about["kind"].startswith("side_"):
            here = {n for p in made.values() if p["kind"] == about["kind"] for n in p["entrants"]}
            assert {n for n, e in ENTRANTS.items() if e.x} <= here
            # what is not measured with covariates is measured without, as often
            plain = cells(design)[f"plain-{about['m']}"]
            assert plain["replicates"] == about["replicates"]
            assert plain["limit"] == about["limit"]
    files = {f"figures/arena.{kind}" for kind in ("png", "csv", "parquet")}
    assert set(publish.published(plan)) == files
    assert "arena_tiny" in make_plan("smoke", ["seed=1"]).studies
    tiny = publish.measured_studies(make_plan("arena_tiny"))["arena_tiny"].design
    assert tiny["seed"] != design["seed"]


def test_the_published_table_is_one_of_the_study() -> None:
    path = ROOT / "figures/arena.parquet"
    if not path.exists():
        pytest.skip("the study has not been run")
    table, record = load_table(path)
    design = record["settings"]["design"]
    assert set(table["cell"]) == set(cells(design))
