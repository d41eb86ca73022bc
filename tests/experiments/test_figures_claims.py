"""Figures of controls, limits, held-out choices and readings, from made-up tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from experiments.figures import Inputs, controls, cross_validation, limits, specifications, style
from experiments.score import EVERY, HELD_OUT
from experiments.stats import mean_interval

STYLES = {
    "gl": {"label": "GL", "color": "#000000", "marker": "x"},
    "gl2step": {"label": "GL-2step", "color": "#CC79A7", "marker": "D"},
    "kgln": {"label": "KGL-N", "color": "#56B4E9", "marker": "o"},
    "kglo": {"label": "KGL-O", "color": "#009E73", "marker": "s"},
    "kgl": {"label": "KGL", "color": "#0072B2", "marker": "o"},
    "kgl_osqp": {"label": "KGL by CVXPY (OSQP)", "color": "#009E73", "marker": "s"},
    "kernel": {"label": "K_x alone", "color": "#777777", "marker": "v"},
    "kernel_inverse": {"label": "inverse of K_x", "color": "#AA8800", "marker": "P"},
}
KINDS = {
    "independent": "independent data",
    "dependent": "dependent data",
    "pure_noise": "pure noise",
    "pure_noise_dependent": "pure noise",
    "custom_kernel": "mild noise",
    "custom_kernel_noisy": "noise of variance 1",
    "custom_kernel_dependent": "dependent data",
    "custom_kernel_independent": "independent data",
}
SETTINGS = {
    "labels": {"graph": {"sbm": "stochastic block model", "ring": "ring"}, "data": KINDS},
    "protocol": {"data": {"density": 0.3}, "score": {"aps": "weights"}},
}
R = 4

Draw = Callable[[Inputs], tuple[Figure, pd.DataFrame]]


@pytest.fixture(autouse=True)
def _look() -> Iterator[None]:
    with mpl.rc_context(), warnings.catch_warnings():
        style.use()
        warnings.simplefilter("error")
        yield


def _inputs(config: dict[str, Any], rows: list[dict[str, Any]]) -> Inputs:
    """Return inputs of a table whose values are made up where they are not given."""
    rng = np.random.default_rng(0)
    known = {"study": "made", "graph": "sbm", "data": "independent", "sweep": "missing",
             "level": 0.0, "m": 20, "n": 100, "noise": 0.01, "missing": 0.0, "model": "kgl",
             "replicate": 0, "selected_by": "aps", "lam": 0.1, "rho": 0.01, "psi": 1e-3,
             "at_edge": "", "metric": "aps"}  # fmt: skip
    rows = [{**known, "value": 0.05 + 0.9 * rng.random()} | row for row in rows]
    table = pd.DataFrame(rows)[[*known, "value"]]
    return Inputs("made", {"metrics": ["aps"]} | config, STYLES, SETTINGS, table, [], [], [])


def _rows(metrics: tuple[str, ...] = ("aps",), runs: int = R, **axes: Any) -> list[dict[str, Any]]:
    """Cross the given columns with replicates and with metrics, each at its own best."""
    found = []
    for values in product(*axes.values(), range(runs), metrics):
        row = dict(zip((*axes, "replicate", "metric"), values, strict=True))
        found.append({"selected_by": row["metric"]} | row)
    return found


def _where(numbers: pd.DataFrame, **values: Any) -> pd.DataFrame:
    return numbers[(numbers[list(values)] == list(values.values())).all(axis=1)]


def _drawn(ax: Any, colour: str) -> list[float]:
    """Return the heights of everything in a colour, except horizontal lines over the panel."""
    lines = [line for line in ax.get_lines() if to_hex(line.get_color()) == colour.lower()]
    return [y for line in lines if len(line.get_ydata()) and line.get_linestyle() != "none"
            for y in line.get_ydata()]  # fmt: skip


def _marks(ax: Any) -> dict[float, Any]:
    """Return the single points of a panel by their height."""
    return {round(float(line.get_ydata()[0]), 9): line for line in ax.get_lines()
            if len(line.get_ydata()) == 1 and line.get_marker() not in ("_", "|")}  # fmt: skip


def _render(figure: Figure) -> None:
    figure.canvas.draw()  # a label without a glyph, or a layout without room, would warn


# ----------------------------------------------------------------------------------- controls


def _noise(graphs: tuple[str, ...] = ("sbm", "er"), runs: int = R) -> Inputs:
    rows = []
    for data, model in (("independent", "kgln"), ("pure_noise", "kgln"), ("dependent", "kgl"),
                        ("pure_noise_dependent", "kgl")):  # fmt: skip
        models = [model, "kernel", "kernel_inverse"]
        rows += _rows(("aps", "sse"), runs, graph=graphs, data=[data], model=models)
    return _inputs({"metrics": ["aps", "sse"]}, rows)


def _dial(sides: tuple[str, ...] = ("oracle", "rewired-0.25", "identity"), **more: Any) -> Inputs:
    graphs = more.pop("graph", ["sbm"])
    rows = _rows(
        graph=graphs, data=["custom_kernel"], level=sides, model=["kgln", *controls.ALONE], **more
    )
    rows += _rows(graph=graphs, data=["custom_kernel_noisy"], level=sides, model=["kgln"], noise=[1.0],
                  **more)  # fmt: skip
    for data, noise in (("custom_kernel", 0.01), ("custom_kernel_noisy", 1.0)):
        rows += _rows(
            graph=graphs, data=[data], level=sides[:1], model=["gl"], noise=[noise], **more
        )
    return _inputs({"once": {"custom_kernel": ["gl"], "custom_kernel_noisy": ["gl"]}}, rows)


def _misspecified(
    levels: tuple[str, ...] = ("0.1", "1", "10", "identity"), runs: int = R
) -> Inputs:
    kinds = ["custom_kernel_dependent", "custom_kernel_independent"]
    rows = _rows(runs=runs, data=kinds, level=levels, model=["kglo", "kgl"])
    rows += _rows(runs=runs, data=kinds, level=levels[:1], model=["gl", "kernel"])
    return _inputs({"once": {kind: ["gl", "kernel"] for kind in kinds}}, rows)


def test_noise_draws_the_papers_data_filled_and_noise_hollow() -> None:
    fig, numbers = controls.noise(_noise())
    _render(fig)
    assert [ax.get_title() for ax in fig.axes] == ["SBM", "ER"]
    for ax, graph in zip(fig.axes, ("sbm", "er"), strict=True):
        marks = _marks(ax)
        for data, model in (("independent", "kgln"), ("pure_noise_dependent", "kgl")):
            mean = _where(numbers, graph=graph, data=data, model=model, metric="aps")["mean"].item()
            mark = marks[round(mean, 9)]
            assert to_hex(mark.get_color()) == STYLES[model]["color"].lower()
            hollow = mark.get_markerfacecolor() == "white"
            assert hollow == data.startswith("pure_noise")
        assert len(marks) == 8  # four models, with and without a signal
        names = [tick.get_text() for tick in ax.get_xticklabels()]
        assert names == ["KGL-N", "KGL", "$K_x$ alone", "inverse of $K_x$"]
    assert set(numbers["metric"]) == {"aps", "sse"}
    assert set(numbers.loc[numbers["metric"] == "aps", "guessing"]) == {0.3}


def test_intervals_are_those_of_the_mean() -> None:
    inputs = _noise()
    _, numbers = controls.noise(inputs)
    key = {"graph": "er", "data": "dependent", "model": "kgl", "metric": "sse"}
    values = _where(inputs.table, **key)["value"].to_numpy()
    row = _where(numbers, **key).iloc[0]
    assert (row["mean"], row["low"], row["high"]) == pytest.approx(mean_interval(values))
    assert (row["p05"], row["p95"]) == pytest.approx(np.percentile(values, [5, 95]))


def test_bars_of_few_runs_end_where_an_aps_does() -> None:
    fig, numbers = controls.noise(_noise(("sbm",), runs=2))
    assert numbers["low"].min() < 0 < 1 < numbers["high"].max()
    (ax,) = fig.axes
    ends = np.concatenate([bar[:, 1] for bars in ax.collections for bar in bars.get_segments()])
    assert len(ends) >= 8
    assert (ends.min(), ends.max()) == pytest.approx((0, 1))
    _render(fig)


def test_dial_draws_a_place_per_side() -> None:
    fig, numbers = controls.dial(_dial(graph=["sbm", "er"]))
    _render(fig)
    assert [ax.get_title() for ax in fig.axes] == [
        "SBM, mild noise", "ER, mild noise", "SBM, noise of variance 1", "ER, noise of variance 1",
    ]  # fmt: skip
    for ax, (data, graph) in zip(
        fig.axes, product(("custom_kernel", "custom_kernel_noisy"), ("sbm", "er")), strict=True
    ):
        own = _where(numbers, graph=graph, data=data, model="kgln", metric="aps")["mean"]
        assert _drawn(ax, STYLES["kgln"]["color"]) == pytest.approx(list(own))
        # the kernel alone has rows for one noise, and is drawn for both
        alone = _where(numbers, graph=graph, model="kernel", metric="aps")["mean"]
        assert _drawn(ax, STYLES["kernel"]["color"]) == pytest.approx(list(alone))
        level = _where(numbers, graph=graph, data=data, model="gl", metric="aps")["mean"].item()
        assert _drawn(ax, STYLES["gl"]["color"]) == pytest.approx([level, level])
    names = [tick.get_text() for tick in fig.axes[-1].get_xticklabels()]
    assert names == ["true graph", "25 % moved", "nothing"]


def test_gains_are_paired_over_replicates() -> None:
    inputs = _dial()
    numbers = controls.gains(inputs.table)
    scores = inputs.table.set_index(["data", "model", "level", "replicate"])["value"].sort_index()

    def of(model: str, level: str, data: str = "custom_kernel_noisy") -> Any:
        return scores[data, model, level].to_numpy()

    own, gl = of("kgln", "rewired-0.25"), of("gl", "oracle")
    row = _where(numbers, data="custom_kernel_noisy", level="rewired-0.25", metric="gap_kept").iloc[
        0
    ]
    share = (own - gl).mean() / (of("kgln", "oracle") - gl).mean()
    assert row["mean"] == pytest.approx(share)
    assert row["low"] <= share <= row["high"]
    oracle = _where(numbers, level="oracle", metric="gap_kept")
    assert oracle[["mean", "low", "high"]].to_numpy() == pytest.approx(1.0)
    rivals = {"gl": gl, "kernel": of("kernel", "rewired-0.25", "custom_kernel")}
    best = max(rivals, key=lambda name: rivals[name].mean())
    row = _where(
        numbers, data="custom_kernel_noisy", level="rewired-0.25", metric="gap_over_best"
    ).iloc[0]
    assert row["against"] == best
    assert (row["mean"], row["low"], row["high"]) == pytest.approx(
        mean_interval(own - rivals[best])
    )
    pd.testing.assert_frame_equal(numbers, controls.gains(inputs.table))  # the same draws


def test_gains_lack_what_was_not_run() -> None:
    rows = _rows(data=["custom_kernel"], level=["identity"], model=["kgln", "kernel"])
    numbers = controls.gains(_inputs({}, rows).table)
    assert set(numbers["metric"]) == {"gap_over_best", "gap_over_any"}
    assert set(numbers["against"]) == {"kernel"}


def test_misspecified_has_the_identity_at_its_end() -> None:
    fig, numbers = controls.misspecified(_misspecified())
    _render(fig)
    assert [ax.get_title() for ax in fig.axes] == ["SBM, dependent data", "SBM, independent data"]
    ax = fig.axes[0]
    assert ax.get_xscale() == "log"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.1", "1", "10", "$I$"]
    for model in ("kgl", "kglo"):
        own = _where(numbers, data="custom_kernel_dependent", model=model)["mean"]
        assert _drawn(ax, STYLES[model]["color"]) == pytest.approx(list(own))
    level = _where(numbers, data="custom_kernel_dependent", model="kernel")["mean"].item()
    assert _drawn(ax, STYLES["kernel"]["color"]) == pytest.approx([level, level])


# ------------------------------------------------------------------------------------- limits


def _every(metrics: tuple[str, ...], runs: int = R, **axes: Any) -> list[dict[str, Any]]:
    return [row | {"selected_by": EVERY} for row in _rows(metrics, runs, **axes)]


def _limits(psi: tuple[float, ...] = (1e-7, 1e-5, 1e-3), runs: int = R, **more: Any) -> Inputs:
    axes = {"graph": ["sbm", "er"], "data": ["independent", "dependent"], "psi": psi} | more
    rows = _every(("aps", "density", "uneven", "density_error"), runs, **axes)
    for row in rows:
        if row["metric"] in ("density", "density_error"):
            row["value"] = 0.5 if row["metric"] == "density" else 0.2
        elif row["metric"] == "uneven":
            row["value"] = 1e-3 / row["psi"]
    best = _rows(graph=axes["graph"], data=axes["data"])  # a choice, which is not drawn
    config = {"metrics": ["aps", "density", "uneven"], "options": {"axis": "psi"}}
    return _inputs(config, rows + best)


def _convergence(counts: tuple[int, ...] = (2, 3, 12, 100), **more: Any) -> Inputs:
    axes = {"data": ["independent", "dependent"], "missing": [0.0, 0.5]} | more
    rows = _every(("n_iter", "converged", "rise"), len(counts), **axes)
    for row in rows:
        count = counts[row["replicate"]]
        made = {"n_iter": count, "converged": count < 100, "rise": 1e-9 * count}
        row["value"] = float(made[row["metric"]])
    return _inputs({"metrics": ["n_iter", "rise"]}, rows)


def _cost(m: tuple[int, ...] = (50, 100), n: tuple[int, ...] = (100, 200), runs: int = 3) -> Inputs:
    rows = _every(("seconds",), runs, m=m, n=n, sweep=["n"])
    for row in rows:
        row["value"] = 1e-9 * (row["m"] ** 3 + row["n"] ** 3) * (1 + row["replicate"])
    return _inputs({"metrics": ["seconds"]}, rows)


def _precision(decimals: tuple[int, ...] = (15, 6, 4), runs: int = R, **more: Any) -> Inputs:
    axes = {"graph": ["sbm", "er", "ba"], "psi": [1e-7, 1e-5, 1e-3, 1e-1]} | more
    rows = _every(("aps",), runs, level=decimals, model=["kgl"], **axes)
    rows += _every(("aps",), runs, level=decimals[:1], model=["kgl_osqp"], **axes)
    return _inputs({"once": {"independent": ["kgl_osqp"]}}, rows)


def test_limits_draws_a_panel_per_metric() -> None:
    fig, numbers = limits.draw(_limits())
    _render(fig)
    aps, density, uneven = fig.axes
    assert [ax.get_ylabel() for ax in fig.axes] == [
        style.label(name) for name in ("aps", "density", "uneven")
    ]
    for graph, data, dash in (("sbm", "independent", "-"), ("er", "dependent", "--")):
        (line,) = [one for one in aps.get_lines()
                   if to_hex(one.get_color()) == style.FAMILY_COLOURS[graph].lower()
                   and one.get_linestyle() == dash]  # fmt: skip
        part = _where(numbers, graph=graph, data=data, metric="aps")
        np.testing.assert_allclose(line.get_xdata(), part["psi"])
        np.testing.assert_allclose(line.get_ydata(), part["mean"])
    assert (aps.get_xscale(), aps.get_yscale(), uneven.get_yscale()) == ("log", "linear", "log")
    truth = numbers.loc[numbers["metric"] == "density", "truth"]
    np.testing.assert_allclose(truth, 0.3)
    assert sum(np.allclose(line.get_ydata(), 0.3) for line in density.get_lines()) == 2
    assert set(numbers["runs"]) == {R}


def test_limits_says_what_the_table_must_hold() -> None:
    with pytest.raises(ValueError, match=r"made: .* set study\.points"):
        limits.draw(_inputs({"metrics": ["aps"], "options": {"axis": "psi"}}, _rows()))


def test_convergence_counts_the_fits_that_are_done() -> None:
    fig, numbers = limits.convergence(_convergence())
    _render(fig)
    (ax,) = fig.axes
    done = _where(numbers, data="dependent", missing=0.5, quantity="share of fits done")
    shares = done.set_index("iterations")["value"]
    # the fit that stopped at the limit is not done
    assert [shares[k] for k in (1, 2, 3, 12, 100)] == [0.0, 0.25, 0.5, 0.75, 0.75]
    np.testing.assert_allclose(_where(numbers, quantity="largest rise")["value"], 1e-7)
    assert "$10^{-7}$" in ax.texts[0].get_text()
    label = "dependent, 50 % missing"
    (line,) = [one for one in ax.get_lines() if one.get_label() == label]
    np.testing.assert_allclose(line.get_ydata(), done["value"])
    assert any(np.allclose(one.get_xdata(), 10) for one in ax.get_lines())


def test_convergence_without_a_rise_says_so() -> None:
    inputs = _convergence()
    table = inputs.table.copy()
    table.loc[table["metric"] == "rise", "value"] = -1e-3
    fig, _ = limits.convergence(Inputs("made", inputs.config, STYLES, SETTINGS, table, [], [], []))
    assert fig.axes[0].texts[0].get_text().endswith("none")


def test_cost_draws_medians_and_the_third_power() -> None:
    fig, numbers = limits.cost(_cost())
    _render(fig)
    for ax, along, other, size in zip(fig.axes, "nm", "mn", (100, 200), strict=True):
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        (line,) = [one for one in ax.get_lines() if one.get_label() == f"${other}$ = {size}"]
        part = numbers[numbers[other] == size].sort_values(along)
        np.testing.assert_allclose(line.get_ydata(), part["median"])
        np.testing.assert_allclose(part["median"], 2e-9 * (part["m"] ** 3 + part["n"] ** 3))
        (guide,) = [one for one in ax.get_lines() if one.get_label() == "third power"]
        (x0, x1), (y0, y1) = guide.get_data()
        assert np.log(y1 / y0) == pytest.approx(3 * np.log(x1 / x0))


def test_precision_draws_printed_values_beside_ours() -> None:
    fig, numbers = limits.precision(_precision())
    _render(fig)
    left, right = fig.axes
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["exact", "6", "4", "paper"]
    assert [tick.get_text() for tick in right.get_xticklabels()] == ["exact", "OSQP", "paper"]
    assert set(numbers["psi"]) == {1e-7, 1e-5, 1e-3, 1e-1}
    assert set(_where(numbers, graph="ba", psi=0.1)["paper"]) == {0.67}
    stars = {float(line.get_ydata()[0]) for line in right.get_lines() if line.get_marker() == "*"}
    assert stars == {0.52, 0.48, 0.67}
    own = _where(numbers, graph="er", psi=0.1, model="kgl")["mean"]
    lines = [line for line in left.get_lines() if len(line.get_ydata()) == 3]
    assert any(np.allclose(line.get_ydata(), own) for line in lines)
    osqp = _where(numbers, graph="er", psi=0.1, model="kgl_osqp")["mean"].item()
    assert any(np.isclose(height, osqp) for height in _marks(right))


# --------------------------------------------------------------------------------------- fair


def _fair(
    graphs: tuple[str, ...] = ("sbm", "er", "ba"), levels: tuple[float, ...] = (0.0, 0.4, 0.8),
    metrics: tuple[str, ...] = ("aps", "sse", "mse_out"), runs: int = R,
) -> Inputs:  # fmt: skip
    rows = []
    for data, models in {"independent": ["gl", "kgln"], "dependent": ["kglo", "kgl"]}.items():
        made = _rows(metrics, runs, graph=graphs, data=[data], level=levels, model=models)
        for row in made:
            unknown = row["level"] == 0 or row["model"] == "gl"
            if row["metric"] != "mse_out" or not unknown:
                rows.append(row | {"missing": row["level"]})
    rows += [row | {"selected_by": HELD_OUT} for row in rows]
    return _inputs({"metrics": list(metrics)}, rows)


def _sizes(m: tuple[int, ...] = (10, 20), n: tuple[int, ...] = (30, 300), runs: int = R) -> Inputs:
    rows = _rows(runs=runs, graph=["sbm", "er"], data=["dependent"], m=m, level=n, sweep=["n"])
    rows = [row | {"n": row["level"]} for row in rows]
    rows += [row | {"selected_by": HELD_OUT} for row in rows]
    return _inputs({"pool": True}, rows)


def test_recovery_draws_both_choices() -> None:
    fig, numbers = cross_validation.recovery(_fair())
    _render(fig)
    shown = [ax for ax in fig.axes if ax.axison]
    assert [ax.get_title() for ax in shown] == [
        "SBM, independent data", "ER, independent data", "BA, independent data",
        "SBM, dependent data", "ER, dependent data", "BA, dependent data",
        "Independent data, all families", "Dependent data, all families",
    ]  # fmt: skip
    for ax, graph, data, metric in (
        (shown[1], "er", "independent", "aps"),
        (shown[7], "sbm+er+ba", "dependent", "mse_out"),
    ):
        model = {"independent": "kgln", "dependent": "kgl"}[data]
        for dash, choice in (("-", HELD_OUT), (":", metric)):
            part = _where(numbers, graph=graph, data=data, model=model, metric=metric,
                          selected_by=choice)  # fmt: skip
            (line,) = [one for one in ax.get_lines() if one.get_linestyle() == dash
                       and to_hex(one.get_color()) == STYLES[model]["color"].lower()]  # fmt: skip
            np.testing.assert_allclose(line.get_ydata(), part["mean"])
    assert set(numbers["metric"]) == {"aps", "sse", "mse_out"}
    assert shown[0].get_ylim() == (0, 1)


def test_recovery_without_errors_has_a_row_per_kind_of_data() -> None:
    fig, _ = cross_validation.recovery(_fair(metrics=("aps", "sse")))
    _render(fig)
    assert len(fig.axes) == 6
    assert len(fig.legends) == 1


def test_sizes_pools_families() -> None:
    fig, numbers = cross_validation.sizes(_sizes())
    _render(fig)
    (ax,) = fig.axes
    assert ax.get_xscale() == "log"
    assert set(numbers["runs"]) == {2 * R}
    solid = [line for line in ax.get_lines() if line.get_linestyle() == "-"]
    for line, m in zip(solid, (10, 20), strict=True):
        part = _where(numbers, m=m, selected_by=HELD_OUT)
        np.testing.assert_allclose(line.get_ydata(), part["mean"])
        np.testing.assert_allclose(line.get_xdata(), [30, 300], rtol=0.05)


def test_a_table_without_held_out_choices_is_refused() -> None:
    inputs = _inputs({}, _rows(level=[0.0, 0.5]))
    with pytest.raises(ValueError, match=r"made: nothing is chosen .* protocol\.fit\.folds"):
        cross_validation.recovery(inputs)


# --------------------------------------------------------------------------------- specifications


def _specification_study(readings: int = 21, claims: int = 27) -> Inputs:
    rng = np.random.default_rng(0)
    rows = []
    for k in range(readings):
        known = {"reading": f"r{k}", "setting": "default" if k == 1 else f"s{k % 3}",
                 "change": f"change {k}", "default": k == min(1, readings - 1),
                 "base": "r20" if k in (19, 20) else "r1"}  # fmt: skip
        for c in range(claims):
            verdict = list(style.VERDICT_COLOURS)[rng.integers(4)]
            rows.append({**known, "claim": f"C{c}", "verdict": verdict, "held": 1, "parts": 2,
                         "h1_distance": 0.01 * k if k else np.nan})  # fmt: skip
    return Inputs("made", {}, {}, {}, pd.DataFrame(rows), [], [], [])


def test_specification_study_draws_every_verdict() -> None:
    inputs = _specification_study()
    fig, numbers = specifications.draw(inputs)
    _render(fig)
    pd.testing.assert_frame_equal(numbers, inputs.table)
    bars, dots, cells = fig.axes
    order = ["r1", *(f"r{k}" for s in (0, 2, 1) for k in range(21) if k % 3 == s and k != 1)]
    assert [tick.get_text() for tick in cells.get_xticklabels()] == [
        f"change {name[1:]}" for name in order
    ]
    assert [tick.get_text() for tick in cells.get_yticklabels()] == [f"C{c}" for c in range(27)]
    verdicts = numbers.pivot(index="claim", columns="reading", values="verdict")
    for container in bars.containers:
        counts = [patch.get_height() for patch in container]
        expected = [(verdicts[name] == container.get_label()).sum() for name in order]
        assert counts == expected
    picture = cells.get_images()[0].get_array()
    symbols = {tuple(map(int, text.get_position())): text.get_text() for text in cells.texts}
    assert len(symbols) == 21 * 27
    for row, column in ((0, 0), (5, 13), (26, 20)):
        verdict = verdicts.loc[f"C{row}", order[column]]
        assert to_hex(picture[row, column]) == style.VERDICT_COLOURS[verdict].lower()
        assert symbols[column, row] == style.VERDICT_SYMBOLS[verdict]
    heights = [0.01 * int(name[1:]) if name != "r0" else np.nan for name in order]
    np.testing.assert_allclose(dots.get_lines()[0].get_ydata(), heights)
    assert sorted(text.get_text() for text in bars.texts) == ["default", "s0", "s1", "s2"]


def test_specification_study_refuses_a_verdict_that_it_does_not_know() -> None:
    inputs = _specification_study(2, 2)
    inputs.table["verdict"] = "perhaps"
    with pytest.raises(ValueError, match="made: perhaps is no verdict"):
        specifications.draw(inputs)


# ------------------------------------------------------------------------------- reduced runs


@pytest.mark.parametrize(
    ("draw", "inputs"),
    [
        (controls.noise, _noise(("ring",), runs=1)),
        (controls.dial, _dial(("identity",), runs=1)),
        (controls.misspecified, _misspecified(("1",), runs=1)),
        (controls.misspecified, _misspecified(("identity",), runs=1)),
        (limits.draw, _limits((1e-3,), runs=1, graph=["ring"], data=["dependent"])),
        (limits.convergence, _convergence((2,), data=["dependent"], missing=[0.2])),
        (limits.cost, _cost((10,), (20,), runs=1)),
        (limits.precision, _precision((15,), runs=1, graph=["ring"], psi=[1e-3])),
        (cross_validation.recovery, _fair(("ring",), (0.0,), runs=1)),
        (cross_validation.recovery, _fair(("sbm",), (0.0, 0.4))),
        (cross_validation.sizes, _sizes((10,), (30,), runs=1)),
        (specifications.draw, _specification_study(1, 3)),
    ],
)
def test_reduced_runs_are_drawn(draw: Draw, inputs: Inputs) -> None:
    fig, numbers = draw(inputs)
    _render(fig)
    assert len(numbers)
    if "low" in numbers:  # one replicate has no interval
        assert numbers[["low", "high"]].isna().all(axis=None)
        assert numbers["mean"].notna().all()
