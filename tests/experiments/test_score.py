"""Tables and summaries, on numbers made up so that the answers can be read off."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.registry import ALL_POINTS, CV, METRICS
from experiments.score import SELECTING, score_study, summarise
from kgl._types import Array

PLAIN = {"aps": "weights", "best": "replicate"}
#: What studies ask for besides.
ASKED = {name for name, m in METRICS.items() if m.needs in ("shape", "rise", "seconds")}
#: What a true graph and no held-out entries give.
GRAPHS = set(METRICS) - {"nmi", "mse_cv"} - ASKED
LABELS = {"graph": "er", "data": "dependent", "sweep": "missing", "level": 0.2, "m": 20, "n": 100,
          "noise": 0.01, "missing": 0.2, "model": "kgl"}  # fmt: skip

# two replicates, three values of lam and two of psi; the best points all differ
ARRAYS: dict[str, Array] = {
    "grid.lam": np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]),
    "grid.psi": np.array([0.1, 0.2, 0.1, 0.2, 0.1, 0.2]),
    "aps_weights": np.array([[0.1, 0.2, 0.9, 0.3, 0.3, 0.3], [0.1, 0.8, 0.6, 0.3, 0.3, 0.2]]),
    "aps_scores": np.array([[0.1, 0.2, 0.3, 0.3, 0.9, 0.3], [0.1, 0.2, 0.3, 0.9, 0.3, 0.2]]),
    "sse": np.array([[0.5, 0.4, 0.3, 0.2, 0.3, 0.4], [0.5, 0.4, 0.1, 0.3, 0.3, 0.4]]),
    "density": np.array([[0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [0.5, 0.4, 0.3, 0.2, 0.1, 0.0]]),
    "mse_in": np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]]),
    "mse_out": np.array([[9.0, 8.0, 7.0, 6.0, 5.0, 4.0], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]]),
    "n_iter": np.array([[1, 2, 3, 4, 5, 6], [11, 12, 13, 14, 15, 16]]),
    "kkt_residual": np.full((2, 6), 1e-12),
    "converged": np.ones((2, 6), dtype=bool),
}
NO_SIGNALS = {
    name: np.full((2, 6), np.nan) if name.startswith("mse") else values
    for name, values in ARRAYS.items()
}


def table_of(arrays: dict[str, Array] = ARRAYS, **score: Any) -> pd.DataFrame:
    return score_study("fig3", [(LABELS, arrays)], PLAIN | score)


def values(table: pd.DataFrame, metric: str, by: str) -> list[float]:
    rows = table[(table["metric"] == metric) & (table["selected_by"] == by)]
    assert rows["replicate"].tolist() == [0, 1]
    return rows["value"].tolist()


def test_columns_and_rows() -> None:
    table = table_of()
    assert table.columns.tolist() == [
        *("study", "graph", "data", "sweep", "level", "m", "n", "noise", "missing", "model"),
        *("replicate", "selected_by", "lam", "rho", "psi", "at_edge", "metric", "value"),
    ]
    # every criterion, replicate and metric once
    assert len(table) == 3 * 2 * 9
    assert not table.duplicated(["selected_by", "replicate", "metric"]).any()
    assert set(table["selected_by"]) == set(SELECTING) - {"nmi"}
    assert set(table["metric"]) == GRAPHS
    for name, value in {"study": "fig3", **LABELS}.items():
        assert set(table[name]) == {value}
    assert table["rho"].isna().all()  # the model has none


def test_each_criterion_takes_its_own_point_and_all_metrics_there() -> None:
    table = table_of()
    assert values(table, "aps", "aps") == [0.9, 0.8]
    assert values(table, "sse", "sse") == [0.2, 0.1]
    assert values(table, "mse_out", "mse_out") == [4.0, 4.0]
    # by aps: the third point of the first replicate, the second of the second
    assert values(table, "sse", "aps") == [0.3, 0.4]
    assert values(table, "density", "aps") == [0.2, 0.4]
    assert values(table, "n_iter", "aps") == [3, 12]
    assert values(table, "aps", "mse_out") == [0.3, 0.1]
    points = table[table["metric"] == "aps"].set_index(["selected_by", "replicate"])
    assert points.loc[("aps", 0), ["lam", "psi"]].tolist() == [2.0, 0.1]
    assert points.loc[("aps", 1), ["lam", "psi"]].tolist() == [1.0, 0.2]
    assert points.loc[("sse", 0), ["lam", "psi"]].tolist() == [2.0, 0.2]
    assert points.loc[("mse_out", 1), ["lam", "psi"]].tolist() == [1.0, 0.1]


def test_an_axis_at_whose_end_the_point_lies_is_named() -> None:
    table = table_of()
    edges = table[table["metric"] == "aps"].set_index(["selected_by", "replicate"])["at_edge"]
    # two values of psi have no inside, so psi is never named
    assert edges[("aps", 0)] == ""
    assert edges[("aps", 1)] == "lam"
    assert edges[("sse", 0)] == ""
    assert edges[("mse_out", 0)] == edges[("mse_out", 1)] == "lam"
    wide = ARRAYS | {"grid.psi": np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])}
    edges = table_of(wide)[lambda t: t["metric"] == "aps"]["at_edge"]
    assert edges.tolist() == ["", "lam", "", "", "lam+psi", "lam+psi"]


def test_average_precision_may_rank_scores() -> None:
    table = table_of(aps="scores")
    assert values(table, "aps", "aps") == [0.9, 0.9]
    assert values(table, "sse", "aps") == [0.3, 0.3]  # at the fifth and the fourth point
    # the untied scores are written beside it either way
    assert values(table, "aps_scores", "aps") == [0.9, 0.9]
    assert values(table_of(), "aps_scores", "aps") == [0.3, 0.2]


def test_one_point_for_all_replicates_where_the_protocol_asks() -> None:
    table = table_of(best="mean")
    assert values(table, "aps", "aps") == [0.9, 0.6]
    chosen = table[table["selected_by"] == "aps"]
    assert set(chosen["lam"]) == {2.0}
    assert set(chosen["psi"]) == {0.1}


def test_models_without_signals_have_no_rows_of_nothing() -> None:
    table = table_of(NO_SIGNALS)
    assert set(table["selected_by"]) == {"aps", "sse"}
    assert set(table["metric"]) == GRAPHS - {"mse_in", "mse_out"}
    assert len(table) == 2 * 2 * 7
    assert table["value"].notna().all()


def test_cells_stand_one_under_the_other_and_an_axis_of_ones_own_has_a_column() -> None:
    own = {k: v for k, v in ARRAYS.items() if not k.startswith("grid.")}
    own["grid.width"] = np.arange(6.0)
    cells = [(LABELS, ARRAYS), (LABELS | {"model": "mine"}, own)]
    table = score_study("fig3", cells, PLAIN)
    assert table["model"].tolist() == ["kgl"] * 54 + ["mine"] * 54
    assert table.columns[-3:].tolist() == ["at_edge", "metric", "value"]
    mine = table[table["model"] == "mine"]
    assert mine[["lam", "rho", "psi"]].isna().all(axis=None)
    assert set(mine[mine["selected_by"] == "aps"]["width"]) == {2.0, 1.0}
    assert table[table["model"] == "kgl"]["width"].isna().all()


def test_ties_are_broken_towards_the_inside_of_the_grid() -> None:
    tied = {f"aps_{kind}": np.full((2, 6), 0.5) for kind in ("weights", "scores")}
    for best in ("replicate", "mean"):
        chosen = table_of(ARRAYS | tied, best=best)[lambda t: t["selected_by"] == "aps"]
        # lam = 2 is inside; psi has no inside, so the first of its values is taken
        assert set(zip(chosen["lam"], chosen["psi"], strict=True)) == {(2.0, 0.1)}
        assert set(chosen["at_edge"]) == {""}


def test_a_replicate_is_selected_for_only_if_all_points_that_count_have_a_value() -> None:
    errors = ARRAYS["mse_out"].copy()
    errors[:, 5] = np.nan  # a point without any value does not count
    chosen = table_of(ARRAYS | {"mse_out": errors})[lambda t: t["selected_by"] == "mse_out"]
    assert set(chosen["replicate"]) == {0, 1}
    assert not ((chosen["lam"] == 3.0) & (chosen["psi"] == 0.2)).any()
    errors[0, 2] = np.nan  # one that only this replicate lacks
    chosen = table_of(ARRAYS | {"mse_out": errors})[lambda t: t["selected_by"] == "mse_out"]
    assert set(chosen["replicate"]) == {1}


FOLDS: dict[str, Any] = {"folds": 3, "cv_density": 0.1}
HELD = np.array([[5.0, 4.0, 3.0, 2.0, 1.0, 0.5], [0.1, 1.0, 1.5, 3.0, 4.0, 5.0]])


def test_held_out_entries_choose_a_point_beside_the_truth() -> None:
    table = table_of(ARRAYS | {"mse_cv": HELD}, **FOLDS)
    assert set(table["selected_by"]) == {"aps", "sse", "mse_out", CV}
    # the last point of the first replicate, the first of the second
    assert values(table, "mse_cv", CV) == [0.5, 0.1]
    assert values(table, "aps", CV) == [0.3, 0.1]
    assert values(table, "density", CV) == [0.5, 0.5]
    # which leaves the other choices alone
    others = table[(table["selected_by"] != CV) & (table["metric"] != "mse_cv")]
    assert others.reset_index(drop=True).equals(table_of())


DENSE = {k: v for k, v in ARRAYS.items() if k != "grid.psi"} | {
    "grid.density": np.array([0.1, 0.2, 0.1, 0.2, 0.1, 0.2]),
    "psi": np.arange(12.0).reshape(2, 6),
}


def test_other_densities_are_never_chosen_by_held_out_entries() -> None:
    # the better points have no error, since they are not compared
    held = np.where(DENSE["grid.density"] == 0.1, HELD, np.nan)
    table = table_of(DENSE | {"mse_cv": held}, **FOLDS)
    chosen = table[table["selected_by"] == CV]
    assert set(chosen["density"]) == {0.1}
    assert values(table, "mse_cv", CV) == [1.0, 0.1]
    assert set(table[table["selected_by"] == "aps"]["density"]) == {0.1, 0.2}


def test_the_psi_of_a_density_is_written_beside_it() -> None:
    table = table_of(DENSE)
    points = table[table["metric"] == "aps"].set_index(["selected_by", "replicate"])
    assert points.loc[("aps", 0), ["lam", "density", "psi"]].tolist() == [2.0, 0.1, 2.0]
    assert points.loc[("aps", 1), ["lam", "density", "psi"]].tolist() == [1.0, 0.2, 7.0]


def test_a_model_that_predicts_nothing_is_taken_at_the_one_graph_that_there_is_to_compare() -> None:
    arrays = {k: v[..., :2] for k, v in DENSE.items() if k != "grid.lam"}
    nothing = np.full((2, 2), np.nan)
    table = table_of(arrays | {"mse_cv": nothing}, **FOLDS)
    chosen = table[table["selected_by"] == CV]
    assert set(chosen["density"]) == {0.1}
    assert values(table, "aps", CV) == [0.1, 0.1]
    assert values(table, "sse", CV) == [0.5, 0.5]
    # it does not matter whether the fit says that there is no error, or nothing
    assert table_of(arrays, **FOLDS).equals(table)
    # with an error at that graph alone it is selected once, by the error
    partly = table_of(arrays | {"mse_cv": np.array([[1.0, np.nan]] * 2)}, **FOLDS)
    assert values(partly, "aps", CV) == [0.1, 0.1]
    # a truth still chooses the other density
    assert values(table, "aps", "aps") == [0.2, 0.8]


def test_of_several_graphs_a_model_that_predicts_nothing_chooses_none() -> None:
    several = table_of(DENSE | {"mse_cv": np.full((2, 6), np.nan)}, **FOLDS)
    assert CV not in set(several["selected_by"])
    psi = {k: v for k, v in ARRAYS.items() if k != "grid.lam"}
    assert CV not in set(table_of(psi, **FOLDS)["selected_by"])
    # a density that is not in the grid leaves several too
    arrays = {k: v[..., :2] for k, v in DENSE.items() if k != "grid.lam"}
    assert CV not in set(table_of(arrays, **FOLDS | {"cv_density": 0.3})["selected_by"])


GROUPS = {
    k: v for k, v in ARRAYS.items() if k not in ("aps_weights", "aps_scores", "sse", "mse_out")
} | {"nmi": ARRAYS["aps_weights"]}


def test_groups_choose_where_no_graph_is_known() -> None:
    table = table_of(GROUPS)
    assert set(table["selected_by"]) == {"nmi"}
    assert "aps" not in set(table["metric"])
    assert values(table, "nmi", "nmi") == [0.9, 0.8]
    means = summarise(table, ["nmi", "density"]).set_index("metric")["mean"]
    assert means["density"] == pytest.approx((0.2 + 0.4) / 2)


def test_a_model_without_hyperparameters_has_one_choice_and_no_edge() -> None:
    one = {k: v[:, 2:3] for k, v in ARRAYS.items() if not k.startswith("grid.")}
    table = table_of(one, **FOLDS)
    assert set(table["at_edge"]) == {""}
    assert table[["lam", "rho", "psi"]].isna().all(axis=None)
    assert values(table, "aps", "aps") == values(table, "aps", CV) == [0.9, 0.6]


def test_a_summary_may_take_all_metrics_at_one_choice() -> None:
    table = table_of(ARRAYS | {"mse_cv": HELD}, **FOLDS)
    summary = summarise(table, ["aps", "sse", "density"], selected_by=CV)
    assert summary["mean"].tolist() == pytest.approx([(0.3 + 0.1) / 2, (0.4 + 0.5) / 2, 0.5])
    assert summarise(table, ["aps"])["mean"].item() == pytest.approx((0.9 + 0.8) / 2)


def test_every_swept_key_keeps_cells_apart() -> None:
    keys = list(LABELS)
    cells = []
    for scale in ("none", "standard"):
        labels: dict[str, Any] = {k: LABELS[k] for k in keys[:-1]} | {
            "scale": scale,
            "model": "kgl",
        }
        cells.append((labels, ARRAYS if scale == "none" else ARRAYS | {"aps_weights": HELD / 10}))
    summary = summarise(score_study("fig3", cells, PLAIN), ["aps"])
    assert summary["scale"].tolist() == ["none", "standard"]
    assert summary["mean"].tolist() == pytest.approx([0.85, 0.5])
    assert set(summary["runs"]) == {2}


@pytest.mark.parametrize("pool", [False, True])
def test_bars_are_means_and_percentiles_over_replicates(pool: bool) -> None:
    drawn = {family: np.random.default_rng(k).random((7, 1)) ** 3 for k, family in enumerate("ab")}
    cells = [(LABELS | {"graph": name}, {"aps_weights": v, "aps_scores": v, "sse": 1 - v})
             for name, v in drawn.items()]  # fmt: skip
    summary = summarise(score_study("fig4", cells, PLAIN), ["sse", "aps"], pool=pool)
    groups = {"a+b": np.vstack([*drawn.values()])} if pool else drawn
    assert list(summary).index("graph") == 1
    found = {(row["metric"], row["graph"]): row for row in summary.to_dict("records")}
    assert list(found) == [(metric, name) for metric in ("sse", "aps") for name in groups]
    for (metric, name), row in found.items():
        values = groups[name] if metric == "aps" else 1 - groups[name]
        expected = [values.mean(), *np.percentile(values, [5, 95]), len(values)]
        assert [row[k] for k in ("mean", "p05", "p95", "runs")] == pytest.approx(expected)


def test_each_metric_is_taken_where_it_is_best_itself() -> None:
    summary = summarise(table_of(), ["aps", "sse", "mse_out", "density", "mse_in"])
    means = summary.set_index("metric")["mean"]
    assert means["aps"] == pytest.approx((0.9 + 0.8) / 2)
    assert means["sse"] == pytest.approx((0.2 + 0.1) / 2)
    assert means["mse_out"] == pytest.approx(4.0)
    # these choose nothing, and are taken where aps is best
    assert means["density"] == pytest.approx((0.2 + 0.4) / 2)
    assert means["mse_in"] == pytest.approx((3.0 + 5.0) / 2)


def test_labels_that_are_unknown_are_a_group_too() -> None:
    table = table_of()
    table[table.columns[1]] = np.nan
    assert summarise(table, ["aps"])["mean"].tolist() == pytest.approx([(0.9 + 0.8) / 2])


def test_the_share_of_replicates_at_an_edge() -> None:
    edges = summarise(table_of(), ["aps", "sse", "mse_out"]).set_index("metric")["at_edge"]
    assert edges.tolist() == [0.5, 0.0, 1.0]


def test_a_model_without_a_metric_is_not_in_its_summary() -> None:
    cells = [(LABELS, ARRAYS), (LABELS | {"model": "gl"}, NO_SIGNALS)]
    table = score_study("fig3", cells, PLAIN)
    assert summarise(table, ["mse_out"])["model"].tolist() == ["kgl"]
    assert summarise(table, ["aps"])["model"].tolist() == ["kgl", "gl"]


def test_a_study_may_want_every_point() -> None:
    table, plain = table_of(points=True), table_of()
    every = table[table["selected_by"] == ALL_POINTS]
    # what is chosen is what it was, and comes first
    assert table[: len(plain)].equals(plain)
    assert len(table) == len(plain) + len(every)
    assert len(every) == 2 * 6 * len(GRAPHS)
    for metric, name in (("aps", "aps_weights"), ("mse_out", "mse_out")):
        rows = every[every["metric"] == metric].sort_values(["replicate", "lam", "psi"])
        assert rows["value"].tolist() == ARRAYS[name].ravel().tolist()
    # points at the end of an axis are named here too
    assert set(every[every["lam"] == 2.0]["at_edge"]) == {""}
    assert set(every[every["lam"] != 2.0]["at_edge"]) == {"lam"}


def test_what_studies_ask_for_is_in_the_table() -> None:
    extra = {name: np.full((2, 6), 0.5) for name in ASKED}
    assert set(table_of(ARRAYS | extra)["metric"]) == GRAPHS | ASKED
