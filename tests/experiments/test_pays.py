"""The study of real tables: gaps, methods against closed forms, failures, plan, figure and text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import publish
from experiments.figures import draw
from experiments.io import load_table, save_table
from experiments.lookup import ConfigError
from experiments.pays import datasets, measure, methods, nodes
from experiments.pays.design import NEW_NODES, parts
from experiments.pays.gaps import KEPT_PER_NODE, PATTERNS, RUN, hide
from experiments.pays.summary import LABELS, relative
from experiments.plan import make_plan
from experiments.report.pays import Results, text_of

ROOT = Path(__file__).resolve().parents[2]


def signals(n: int = 40, m: int = 8) -> pd.DataFrame:
    """A table of rank two with nodes on very different scales."""
    at = np.linspace(0, 2, n)[:, None]
    values = (np.sin(at) * np.arange(1, m + 1) + np.cos(3 * at)) * 10.0 ** np.arange(m) + 5.0
    return pd.DataFrame(values, columns=list("abcdefgh")[:m])


# ----------------------------------------------------------------------------------------- gaps


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_gaps_have_their_rate_and_repeat(pattern: str, rate: float) -> None:
    Y = signals(n=60).to_numpy(copy=True)
    Y[:5, 0] = np.nan
    hidden = hide(Y, pattern, rate, 3, "one")
    assert not hidden[np.isnan(Y)].any()
    assert hidden.sum() == pytest.approx(rate * np.isfinite(Y).sum(), abs=Y.shape[1])
    np.testing.assert_array_equal(hidden, hide(Y, pattern, rate, 3, "one"))
    for other in (hide(Y, pattern, rate, 4, "one"), hide(Y, pattern, rate, 3, "two")):
        assert (other != hidden).any()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_gaps_empty_no_row_and_leave_each_node_its_entries(pattern: str) -> None:
    rng = np.random.default_rng(0)
    Y = np.where(rng.random((15, 8)) < 0.5, np.nan, 1.0)
    Y[0], Y[:, 0] = np.nan, np.nan
    Y[0, 1] = Y[1, 0] = Y[2, 0] = 1.0
    left = np.isfinite(Y) & ~hide(Y, pattern, 0.95, 0, "sparse")
    assert (left.sum(axis=1) >= np.minimum(1, np.isfinite(Y).sum(axis=1))).all()
    assert (left.sum(axis=0) >= np.minimum(KEPT_PER_NODE, np.isfinite(Y).sum(axis=0))).all()


def test_blocks_are_runs_of_rows() -> None:
    n = 200
    hidden = hide(np.ones((n, 20)), "blocks", 0.1, 0, "runs")
    lengths = [
        len(run)
        for column in hidden.T
        for run in np.split(np.arange(n), np.flatnonzero(np.diff(column.astype(int))) + 1)
        if column[run[0]]
    ]
    assert np.median(lengths) >= 0.5 * RUN[0] * n
    random = hide(np.ones((n, 20)), "random", 0.1, 0, "runs")
    assert np.diff(random.astype(int), axis=0).any(axis=0).all()
    assert len(lengths) < np.abs(np.diff(random.astype(int), axis=0)).sum() / 4


# -------------------------------------------------------------------------------------- methods


@pytest.mark.parametrize("name", methods.METHODS)
def test_every_method_keeps_what_was_observed_and_fills_the_rest(name: str) -> None:
    Y = signals(n=24, m=6)
    hidden = hide(Y.to_numpy(), "random", 0.2, 0, "small")
    x = pd.DataFrame({"place": np.arange(6.0)}, index=Y.columns)
    z = pd.Series(pd.date_range("2001-01", periods=24, freq="MS"))
    filled = methods.METHODS[name].fill(Y.mask(hidden), x, z)
    assert filled.shape == Y.shape
    assert np.isfinite(filled).all()
    np.testing.assert_allclose(filled[~hidden], Y.to_numpy()[~hidden], rtol=1e-9)


def test_the_column_mean_has_an_error_of_about_one() -> None:
    Y = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 8)) * 10.0 ** np.arange(8))
    hidden = hide(Y.to_numpy(), "random", 0.3, 0, "noise")
    given = Y.mask(hidden)
    found = measure.attempt(lambda: methods.column_mean(given, None, None), Y.to_numpy(), hidden)
    assert found["rmse"] == pytest.approx(1.0, abs=0.05)


def test_interpolation_is_exact_on_lines_and_constant_beyond_the_ends() -> None:
    z = pd.Series([0.0, 4.0, 1.0, 2.0, 8.0])  # not in order, not equally spaced
    Y = pd.DataFrame({"a": 3 * z + 1, "b": [np.nan, 7.0, np.nan, 5.0, np.nan]})
    given = Y.assign(a=Y["a"].where(z != 2.0))
    filled = methods.interpolate(given, None, z)
    np.testing.assert_allclose(filled[:, 0], Y["a"])
    np.testing.assert_allclose(filled[:, 1], [5.0, 7.0, 5.0, 5.0, 7.0])
    in_order = methods.interpolate(pd.DataFrame({"a": [0.0, np.nan, 4.0]}), None, None)
    np.testing.assert_allclose(in_order[:, 0], [0.0, 2.0, 4.0])


def test_soft_impute_without_gaps_is_soft_thresholding() -> None:
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.normal(size=(k, 3)))[0] for k in (9, 5))
    fitted = methods.soft_impute((U * [5.0, 2.0, 0.5]) @ V.T, 1.0, np.zeros((9, 5)))
    np.testing.assert_allclose(fitted, (U * [4.0, 1.0, 0.0]) @ V.T, atol=1e-9)


def test_low_rank_completes_a_matrix_of_low_rank() -> None:
    Y = signals(n=60)
    hidden = hide(Y.to_numpy(), "random", 0.2, 0, "rank")
    given = Y.mask(hidden)
    found = measure.attempt(lambda: methods.low_rank(given, None, None), Y.to_numpy(), hidden)
    assert found["rmse"] < 0.15


def test_a_gaussian_process_follows_a_smooth_curve_and_needs_z() -> None:
    z = pd.Series(np.linspace(0, 6, 40))
    Y = pd.DataFrame({"a": np.sin(z), "b": np.cos(z)})
    hidden = hide(Y.to_numpy(), "random", 0.3, 0, "smooth")
    filled = methods.gaussian_process(Y.mask(hidden), None, z)
    np.testing.assert_allclose(filled, Y, atol=0.02)
    with pytest.raises(ValueError, match="needs z"):
        methods.gaussian_process(Y, None, None)


def test_columns_are_standardised_in_one_place() -> None:
    seen = []

    def fill(Y, x, z):
        seen.append(Y)
        return Y.fillna(0.0).to_numpy()

    Y = pd.DataFrame({"a": [1e6, 3e6, np.nan], "b": [7.0, 7.0, np.nan]})
    filled = methods.standardised(fill)(Y, None, None)
    np.testing.assert_allclose(filled, [[1e6, 7.0], [3e6, 7.0], [2e6, 7.0]])
    np.testing.assert_allclose(seen[0]["a"], [-1.0, 1.0, np.nan])
    np.testing.assert_allclose(seen[0]["b"], [0.0, 0.0, np.nan])


def test_dates_become_days_and_numbers_stay() -> None:
    dates = pd.Series(pd.to_datetime(["2001-01-01", "2001-01-31"]))
    assert methods.numbers(dates)["z"].tolist() == [0.0, 30.0]
    assert methods.numbers(pd.Series([1856, 1860]))["z"].tolist() == [1856.0, 1860.0]
    assert methods.numbers(None) is None


# ------------------------------------------------------------------------------------ new nodes


def test_new_nodes_are_predicted_from_their_neighbours() -> None:
    x = pd.DataFrame({"place": [0.0, 1.0, 2.0, 10.0]}, index=list("abcd"))
    Y = pd.DataFrame({"a": [1.0, 0.0], "b": [2.0, 0.0], "c": [6.0, 0.0], "d": [99.0, 4.0]})
    new = pd.DataFrame({"place": [1.1]}, index=["e"])
    np.testing.assert_allclose(nodes.nearest(Y, x, None, new), [[3.0], [0.0]])
    np.testing.assert_allclose(nodes.row_mean(Y, x, None, new), [[27.0], [1.0]])


@pytest.mark.parametrize("name", ["kgl", "kgl_tuned"])
def test_kgl_predicts_new_nodes_in_the_units_of_the_table(name: str) -> None:
    x = pd.DataFrame({"place": np.linspace(0, 1, 9)}, index=list("abcdefghi"))
    rows = np.random.default_rng(0).normal(size=(20, 1))
    Y = pd.DataFrame(1e4 + 1e3 * rows * x["place"].to_numpy(), columns=x.index)
    found = nodes.PREDICTORS[name](Y.drop(columns="e"), x.drop(index="e"), None, x.loc[["e"]])
    assert found.shape == (20, 1)
    assert np.abs(found[:, 0] - Y["e"]).mean() < Y.to_numpy().std()


# ------------------------------------------------------------------------------------- measures


def test_a_failure_is_recorded(monkeypatch) -> None:
    def fail(*_):
        raise ArithmeticError("no inverse")

    failing = methods.Method("failing", fail)
    strange = methods.Method("strange", lambda Y, x, z: Y.to_numpy() * np.nan)
    shapeless = methods.Method("shapeless", lambda Y, x, z: np.zeros((2, 2)))
    known = {"mean": methods.METHODS["mean"], "gp": methods.METHODS["gp"]}
    known |= {"failing": failing, "strange": strange, "shapeless": shapeless}
    monkeypatch.setattr(measure, "METHODS", known)
    design = {"seeds": 2, "methods": list(known), "left_out": 1}
    part = {"dataset": "wine", "pattern": "random", "rate": 0.1}
    lines: list[str] = []
    table = measure.measure(part, design, lines.append)
    # wine has no z, so the Gaussian process does not apply: that is no failure
    assert table.groupby("method").size().to_dict() == dict.fromkeys(set(known) - {"gp"}, 2)
    errors = table.drop_duplicates("method").set_index("method")["error"]
    assert errors["mean"] == ""
    assert errors["failing"] == "ArithmeticError: no inverse"
    assert "not finite" in errors["strange"]
    assert "shape (2, 2)" in errors["shapeless"]
    assert table["rmse"].isna().tolist() == (table["error"] != "").tolist()
    assert len(lines) == len(table)
    found = relative(table).set_index("method")
    assert found.loc["failing", "failures"] == found.loc["failing", "runs"] == 2
    assert set(found["best_baseline"]) == {"mean"}


def results(failed: bool = False) -> pd.DataFrame:
    """A small table of the study: KGL best on one table, worst on the other."""
    errors = {"sea": {"mean": 1.0, "knn": 0.5, "kgl_tuned": 0.25, "kgl_tuned_no_graph": 0.5}}
    errors["wine"] = {"mean": 1.0, "knn": 0.8, "kgl_tuned": 1.6, "kgl_tuned_no_graph": 1.6}
    rows = [
        {"dataset": name, "about": f"about {name}", "source": "here", "n": 61, "m": 12,
         "x": name == "sea", "z": name == "sea", "pattern": pattern, "rate": 0.3,
         "method": method, "seed": seed, "rmse": error + 0.01 * seed - 0.005, "seconds": 0.5,
         "error": ""}
        for name, found in errors.items()
        for pattern in ("random", "blocks")
        for method, error in found.items()
        for seed in range(2)
    ]  # fmt: skip
    new = {"row_mean": 1.0, "nearest": 0.8, "kgl": 0.4}
    rows += [{**rows[0], "pattern": NEW_NODES, "rate": 0.0, "method": method, "rmse": error}
             for method, error in new.items()]  # fmt: skip
    table = pd.DataFrame(rows)
    if failed:
        table.loc[0, ["rmse", "error"]] = [np.nan, "ValueError: no"]
    return table


def test_errors_are_relative_to_the_best_baseline() -> None:
    found = relative(results()).set_index(["dataset", "pattern", "method"])["relative"]
    assert found["sea", "random", "kgl_tuned"] == pytest.approx(0.5)
    assert found["wine", "blocks", "kgl_tuned"] == pytest.approx(2.0)
    assert found["wine", "random", "knn"] == pytest.approx(1.0)
    assert found["sea", NEW_NODES, "kgl"] == pytest.approx(0.5)
    assert found["sea", NEW_NODES, "row_mean"] == pytest.approx(1.25)


@pytest.mark.parametrize("failed", [False, True])
def test_the_figure_and_the_text_are_made_from_the_table(tmp_path: Path, failed: bool) -> None:
    path = tmp_path / "pays.parquet"
    save_table(path, results(failed), {})
    outputs = [str(tmp_path / f"pays.{kind}") for kind in ("png", "csv", "pdf")]
    known = {"config": {"figure": "pays.overview"}, "settings": {}, "labels": [],
             "simulated": False, "protocol": ""}  # fmt: skip
    draw("pays", known, table=str(path), fits=[], data=[], outputs=outputs)
    assert all(Path(name).stat().st_size for name in outputs)
    drawn = pd.read_csv(outputs[1])
    assert drawn["failures"].sum() == int(failed)
    assert set(drawn["method"]) <= set(LABELS)
    text = text_of(path)
    assert "- sea, gaps at random, 30 % (0.50; best baseline: KNNImputer)" in text
    assert "- wine, gaps in runs of rows, 30 % (2.00; best baseline: KNNImputer)" in text
    assert "1.25 with" not in text
    assert ("| 0 of 2 | 1 of 4 | 0.5 |" in text) == failed
    gain = Results(results(), relative(results())).graph_gain()
    assert gain == {"median": "0.75", "wins": "2 of 4"}


def test_the_tracked_text_is_what_the_published_table_gives() -> None:
    found = (ROOT / "docs/when-it-pays.md").read_text(encoding="utf-8")
    assert found == text_of(ROOT / "figures/pays.parquet")


# ----------------------------------------------------------------------------------------- plan


def test_the_study_has_one_job_for_each_table_pattern_and_rate() -> None:
    plan = make_plan("pays")
    design = publish.measured_studies(plan)["pays"].design
    assert set(design["datasets"]) == set(datasets.DATASETS)
    assert len(design["datasets"]) >= 8
    assert set(design["methods"]) == set(methods.METHODS)
    jobs = len(design["datasets"]) * 6 + len(design["new_nodes"])
    files = publish.scored(plan, "pays")
    assert len(parts(design)) == len(files) == len(set(files)) == jobs
    assert set(publish.published(plan)) == {f"figures/pays.{k}" for k in ("png", "csv", "parquet")}
    assert publish.report_files(plan) == publish.claim_tables(plan) == {}
    assert len(publish.benchmarks(plan)["measure pays"]) == jobs
    assert not publish.measured_studies(make_plan("paper"))


def test_overrides_choose_a_part_of_the_study() -> None:
    given = ["study.pays.datasets=[sea]", "study.pays.seeds=2"]
    plan = make_plan("pays", given)
    assert plan.run.startswith("pays-")
    assert publish.published(plan) == {}
    assert publish.measured_studies(plan)["pays"].design["seeds"] == 2
    with pytest.raises(ConfigError, match=r"replicates=3.*study\.pays"):
        make_plan("pays", ["replicates=3"])
    with pytest.raises(ConfigError, match=r"seeds"):
        make_plan("pays", ["study.pays.seeds=0"])
    assert "pays_tiny" in make_plan("smoke", ["seed=1"]).studies


def test_the_tiny_twin_needs_no_further_package() -> None:
    design = publish.measured_studies(make_plan("pays_tiny"))["pays_tiny"].design
    measure.check(design)
    assert not {*design["datasets"], *design["new_nodes"]} & set(datasets.PACKAGES)
    (one, new) = parts(design).values()
    for part in (one, new):
        table = measure.measure(part, design, lambda _: None)
        assert (table["error"] == "").all()
        assert table["rmse"].between(0, 3).all()


def test_names_that_lead_nowhere_and_absent_packages_are_refused(monkeypatch) -> None:
    design = {"datasets": ["wine"], "new_nodes": [], "methods": ["mean"]}
    measure.check(design)
    with pytest.raises(ConfigError, match="no table 'win'; did you mean 'wine'"):
        measure.check({**design, "datasets": ["win"]})
    with pytest.raises(ConfigError, match="no method 'meen'; did you mean 'mean'"):
        measure.check({**design, "methods": ["meen"]})
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    with pytest.raises(datasets.PackageMissingError, match=r"incomes, sea come .*pip install geop"):
        datasets.require("incomes", "sea", "digits")


# --------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("name", datasets.DATASETS)
def test_tables_are_as_a_user_would_have_them(name: str) -> None:
    try:
        table = datasets.load(name)
    except datasets.PackageMissingError as error:
        pytest.skip(str(error))
    n, m = table.Y.shape
    assert table.name == name
    assert n >= 15
    assert m >= 8
    assert table.Y.notna().any(axis=1).all()
    assert table.Y.notna().sum().min() > KEPT_PER_NODE
    assert (table.Y.std(ddof=0) > 0).all()
    assert table.Y.columns.is_unique
    assert table.x is None or list(table.x.index) == list(table.Y.columns)
    assert table.z is None or (list(table.z.index) == list(table.Y.index) and table.z.is_unique)


def test_packages_are_those_of_the_extra() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = " ".join(project["optional-dependencies"]["pays"])
    for packages in datasets.PACKAGES.values():
        assert all(package in extra for package in packages)


def test_the_published_table_is_one_of_the_study() -> None:
    path = ROOT / "figures/pays.parquet"
    if not path.exists():
        pytest.skip("the study has not been run")
    table, record = load_table(path)
    assert set(table["dataset"]) == set(record["settings"]["design"]["datasets"])
