"""Figures of controls, limits and cross-validation, from made-up tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from figure_checks import drawn, labelled, ticks, where
from matplotlib.colors import to_hex

from experiments.figures import Inputs, panels
from experiments.figures.gains import ALONE, gains
from experiments.registry import ALL_POINTS, CV, FAMILIES, PRINTED_APS, axis_label, model
from experiments.stats import mean_interval

R = 4
SIDES = ("oracle", "rewired-0.25", "identity")
SETTINGS = {"protocol": {"data": {"density": 0.3}, "score": {"aps": "weights"}}}


def _inputs(figure: str, rows: list[dict[str, Any]], **config: Any) -> Inputs:
    """Return inputs of a table whose values are made up where they are not given."""
    rng = np.random.default_rng(0)
    known = {"study": "made", "graph": "sbm", "data": "independent", "sweep": "missing",
             "level": 0.0, "m": 20, "n": 100, "noise": 0.01, "missing": 0.0, "model": "kgl",
             "replicate": 0, "selected_by": "aps", "lam": 0.1, "rho": 0.01, "psi": 1e-3,
             "at_edge": "", "metric": "aps"}  # fmt: skip
    rows = [{**known, "value": 0.05 + 0.9 * rng.random()} | row for row in rows]
    table = pd.DataFrame(rows)[[*known, "value"]]
    return Inputs("made", {"figure": figure, "metrics": ["aps"]} | config, SETTINGS, table)


def _rows(metrics: tuple[str, ...] = ("aps",), runs: int = R, **axes: Any) -> list[dict[str, Any]]:
    """Cross the given columns with replicates and with metrics, each at its own best."""
    found = []
    for values in product(*axes.values(), range(runs), metrics):
        row = dict(zip((*axes, "replicate", "metric"), values, strict=True))
        found.append({"selected_by": row["metric"]} | row)
    return found


def _heights(ax: Any, color: str) -> list[float]:
    """Return the heights of the lines in a color."""
    lines = [line for line in ax.get_lines() if to_hex(line.get_color()) == color.lower()]
    return [y for line in lines if line.get_linestyle() != "none" for y in line.get_ydata()]


def _marks(ax: Any) -> dict[float, Any]:
    """Return the single points of a panel by their height."""
    return {round(float(line.get_ydata()[0]), 9): line for line in ax.get_lines()
            if len(line.get_ydata()) == 1 and line.get_marker() not in ("_", "|")}  # fmt: skip


def _no_signal(graphs: tuple[str, ...] = ("sbm", "er"), runs: int = R) -> Inputs:
    rows = []
    for data, name in (("independent", "kgln"), ("pure_noise", "kgln"), ("dependent", "kgl"),
                       ("pure_noise_dependent", "kgl")):  # fmt: skip
        rows += _rows(("aps", "sse"), runs, graph=graphs, data=[data], model=[name, *ALONE])
    return _inputs("controls.no_signal", rows, metrics=["aps", "sse"])


def _degraded(sides: tuple[str, ...] = SIDES, **more: Any) -> Inputs:
    axes = {"graph": ["sbm"]} | more
    rows = _rows(data=["custom_kernel"], level=sides, model=["kgln", *ALONE], **axes)
    for data, noise in (("custom_kernel", 0.01), ("custom_kernel_noisy", 1.0)):
        rows += _rows(data=[data], level=sides[:1], model=["gl"], noise=[noise], **axes)
    noisy = {"data": ["custom_kernel_noisy"], "noise": [1.0], "model": ["kgln"]}
    return _inputs("controls.degraded_kx", rows + _rows(level=sides, **noisy, **axes))


def _wrong_kz(levels: tuple[str, ...] = ("0.1", "1", "10", "identity"), runs: int = R) -> Inputs:
    kinds = ["custom_kernel_dependent", "custom_kernel_independent"]
    rows = _rows(runs=runs, data=kinds, level=levels, model=["kglo", "kgl"])
    rows += _rows(runs=runs, data=kinds, level=levels[:1], model=["gl", "kernel"])
    return _inputs("controls.wrong_kz", rows, once={"any": ["gl", "kernel"]})


def test_no_signal_draws_the_papers_data_filled_and_noise_hollow() -> None:
    inputs = _no_signal()
    fig, numbers = drawn(inputs)
    for ax, graph in zip(fig.axes, ("sbm", "er"), strict=True):
        assert ax.get_title() == FAMILIES[graph].label
        marks = _marks(ax)
        for data, name in (("independent", "kgln"), ("pure_noise_dependent", "kgl")):
            mean = where(numbers, graph=graph, data=data, model=name, metric="aps")["mean"].item()
            mark = marks[round(mean, 9)]
            assert to_hex(mark.get_color()) == model(name).color.lower()
            assert (mark.get_markerfacecolor() == "white") == data.startswith("pure_noise")
        assert len(marks) == 8  # four models, with and without a signal
        assert ticks(ax) == [panels.model_label(name) for name in ("kgln", "kgl", *ALONE)]
    assert set(numbers.loc[numbers["metric"] == "aps", "guessing"]) == {0.3}
    key = {"graph": "er", "data": "dependent", "model": "kgl", "metric": "sse"}
    values = where(inputs.table, **key)["value"].to_numpy()
    row = where(numbers, **key).iloc[0]
    assert (row["mean"], row["low"], row["high"]) == pytest.approx(mean_interval(values))
    assert (row["p05"], row["p95"]) == pytest.approx(np.percentile(values, [5, 95]))


def test_bars_of_few_runs_end_at_the_range_of_an_aps() -> None:
    fig, numbers = drawn(_no_signal(("sbm",), runs=2))
    assert numbers["low"].min() < 0 < 1 < numbers["high"].max()
    (ax,) = fig.axes
    ends = np.concatenate([bar[:, 1] for found in ax.collections for bar in found.get_segments()])
    assert len(ends) >= 8
    assert (ends.min(), ends.max()) == pytest.approx((0, 1))


def test_degraded_kx_draws_a_place_per_kernel() -> None:
    fig, numbers = drawn(_degraded(graph=["sbm", "er"]))
    cells = product(("custom_kernel", "custom_kernel_noisy"), ("sbm", "er"))
    for ax, (data, graph) in zip(fig.axes, cells, strict=True):
        assert ax.get_title() == panels.title(graph, data)
        # the kernel alone has rows for one noise, and is drawn for both
        for name, known in (("kgln", {"data": data}), ("kernel", {})):
            own = where(numbers, graph=graph, model=name, metric="aps", **known)["mean"]
            assert _heights(ax, model(name).color) == pytest.approx(list(own))
        level = where(numbers, graph=graph, data=data, model="gl", metric="aps")["mean"].item()
        assert _heights(ax, model("gl").color) == pytest.approx([level, level])
    assert ticks(fig.axes[-1]) == ["true graph", "25 % moved", "identity"]


def test_gains_are_paired_over_replicates() -> None:
    inputs = _degraded()
    numbers = gains(inputs.table)
    scores = inputs.table.set_index(["data", "model", "level", "replicate"])["value"].sort_index()

    def of(name: str, level: str, data: str = "custom_kernel_noisy") -> Any:
        return scores[data, name, level].to_numpy()

    own, gl = of("kgln", "rewired-0.25"), of("gl", "oracle")
    here = where(numbers, data="custom_kernel_noisy", level="rewired-0.25").set_index("metric")
    row = here.loc["gap_kept"]
    share = (own - gl).mean() / (of("kgln", "oracle") - gl).mean()
    assert row["mean"] == pytest.approx(share)
    assert row["low"] <= share <= row["high"]
    oracle = where(numbers, level="oracle", metric="gap_kept")
    assert oracle[["mean", "low", "high"]].to_numpy() == pytest.approx(1.0)
    rivals = {"gl": gl, "kernel": of("kernel", "rewired-0.25", "custom_kernel")}
    best = max(rivals, key=lambda name: rivals[name].mean())
    row = here.loc["gap_over_best"]
    assert row["against"] == best
    assert row[["mean", "low", "high"]].tolist() == pytest.approx(mean_interval(own - rivals[best]))
    pd.testing.assert_frame_equal(numbers, gains(inputs.table))  # the same draws
    found = gains(inputs.table[inputs.table["model"].isin(["kgln", "kernel"])])
    assert set(found["metric"]) == {"gap_over_best", "gap_over_any"}  # without GL
    assert set(found["against"]) == {"kernel"}


def test_wrong_kz_has_the_identity_at_its_end() -> None:
    fig, numbers = drawn(_wrong_kz())
    ax = fig.axes[0]
    assert ax.get_xscale() == "log"
    assert ticks(ax) == ["0.1", "1", "10", "$I$"]
    own = where(numbers, data="custom_kernel_dependent").set_index("model")["mean"]
    for name in ("kgl", "kglo"):
        assert _heights(ax, model(name).color) == pytest.approx(list(own[name]))
    assert _heights(ax, model("kernel").color) == pytest.approx([own["kernel"]] * 2)


def _points(metrics: tuple[str, ...], runs: int = R, **axes: Any) -> list[dict[str, Any]]:
    return [row | {"selected_by": ALL_POINTS} for row in _rows(metrics, runs, **axes)]


def _limits(psi: tuple[float, ...] = (1e-7, 1e-5, 1e-3), runs: int = R, **more: Any) -> Inputs:
    axes = {"graph": ["sbm", "er"], "data": ["independent", "dependent"], "psi": psi} | more
    rows = _points(("aps", "density", "uneven", "density_error"), runs, **axes)
    for row in rows:
        made = {"density": 0.5, "density_error": 0.2, "uneven": 1e-3 / row["psi"]}
        row |= {"value": made[row["metric"]]} if row["metric"] in made else {}
    tuned = _rows(graph=axes["graph"], data=axes["data"])  # not drawn
    config = {"metrics": ["aps", "density", "uneven"], "options": {"axis": "psi"}}
    return _inputs("limits.draw", rows + tuned, **config)


def _convergence(counts: tuple[int, ...] = (2, 3, 12, 100), **more: Any) -> Inputs:
    axes = {"data": ["independent", "dependent"], "missing": [0.0, 0.5]} | more
    rows = _points(("n_iter", "converged", "rise"), len(counts), **axes)
    for row in rows:
        count = counts[row["replicate"]]
        made = {"n_iter": count, "converged": count < 100, "rise": 1e-9 * count}
        row["value"] = float(made[row["metric"]])
    return _inputs("convergence.draw", rows)


def _cost(m: tuple[int, ...] = (50, 100), n: tuple[int, ...] = (100, 200), runs: int = 3) -> Inputs:
    rows = _points(("seconds",), runs, m=m, n=n, sweep=["n"])
    for row in rows:
        row["value"] = 1e-9 * (row["m"] ** 3 + row["n"] ** 3) * (1 + row["replicate"])
    return _inputs("cost.draw", rows)


def _precision(decimals: tuple[int, ...] = (15, 6, 4), runs: int = R, **more: Any) -> Inputs:
    axes = {"graph": ["sbm", "er", "ba"], "psi": [1e-7, 1e-5, 1e-3, 1e-1]} | more
    rows = _points(("aps",), runs, level=decimals, model=["kgl"], **axes)
    rows += _points(("aps",), runs, level=decimals[:1], model=["kgl_osqp"], **axes)
    return _inputs("precision.draw", rows, once={"independent": ["kgl_osqp"]})


def test_limits_draws_a_panel_per_metric() -> None:
    fig, numbers = drawn(_limits())
    aps, density, uneven = fig.axes
    names = [axis_label(name) for name in ("aps", "density", "uneven")]
    assert [ax.get_ylabel() for ax in fig.axes] == names
    for graph, data, dash in (("sbm", "independent", "-"), ("er", "dependent", "--")):
        (line,) = [one for one in aps.get_lines()
                   if to_hex(one.get_color()) == FAMILIES[graph].color.lower()
                   and one.get_linestyle() == dash]  # fmt: skip
        part = where(numbers, graph=graph, data=data, metric="aps")
        np.testing.assert_allclose(line.get_xydata(), part[["psi", "mean"]])
    assert (aps.get_xscale(), aps.get_yscale(), uneven.get_yscale()) == ("log", "linear", "log")
    np.testing.assert_allclose(where(numbers, metric="density")["true_density"], 0.3)
    assert sum(np.allclose(line.get_ydata(), 0.3) for line in density.get_lines()) == 2


def test_convergence_counts_the_fits_that_have_converged() -> None:
    inputs = _convergence()
    fig, numbers = drawn(inputs)
    (ax,) = fig.axes
    done = where(numbers, data="dependent", missing=0.5, quantity="share_converged")
    shares = done.set_index("iterations")["value"]
    # the fit that stopped at the limit has not converged
    assert [shares[k] for k in (1, 2, 3, 12, 100)] == [0.0, 0.25, 0.5, 0.75, 0.75]
    np.testing.assert_allclose(where(numbers, quantity="largest_rise")["value"], 1e-7)
    assert "$10^{-7}$" in ax.texts[0].get_text()
    line = labelled(ax, "dependent, 50 % missing")
    np.testing.assert_allclose(line.get_ydata(), done["value"])
    assert any(np.allclose(one.get_xdata(), 10) for one in ax.get_lines())
    values = inputs.table["value"].where(inputs.table["metric"] != "rise", -1)
    fig, _ = drawn(replace(inputs, table=inputs.table.assign(value=values)))
    assert fig.axes[0].texts[0].get_text().endswith("none")


def test_cost_draws_medians_and_the_third_power() -> None:
    fig, numbers = drawn(_cost())
    for ax, along, other, size in zip(fig.axes, "nm", "mn", (100, 200), strict=True):
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        part = numbers[numbers[other] == size].sort_values(along)
        np.testing.assert_allclose(labelled(ax, f"${other}$ = {size}").get_ydata(), part["median"])
        np.testing.assert_allclose(part["median"], 2e-9 * (part["m"] ** 3 + part["n"] ** 3))
        (x0, x1), (y0, y1) = labelled(ax, "third power").get_data()
        assert np.log(y1 / y0) == pytest.approx(3 * np.log(x1 / x0))


def test_precision_draws_printed_values_beside_ours() -> None:
    fig, numbers = drawn(_precision())
    left, right = fig.axes
    assert ticks(left) == ["exact", "6", "4", "paper"]
    assert ticks(right) == ["exact", "OSQP", "paper"]
    assert set(where(numbers, graph="ba", psi=0.1)["paper"]) == {PRINTED_APS["ba"][-1]}
    stars = {float(line.get_ydata()[0]) for line in right.get_lines() if line.get_marker() == "*"}
    assert stars == {values[-1] for values in PRINTED_APS.values()}
    own = where(numbers, graph="er", psi=0.1, model="kgl")["mean"]
    lines = [line for line in left.get_lines() if len(line.get_ydata()) == 3]
    assert any(np.allclose(line.get_ydata(), own) for line in lines)
    osqp = where(numbers, graph="er", psi=0.1, model="kgl_osqp")["mean"].item()
    assert any(np.isclose(height, osqp) for height in _marks(right))


def _tuned(
    graphs: tuple[str, ...] = ("sbm", "er", "ba"), levels: tuple[float, ...] = (0.0, 0.4, 0.8),
    metrics: tuple[str, ...] = ("aps", "sse", "mse_out"), runs: int = R,
) -> Inputs:  # fmt: skip
    rows = []
    for data, models in {"independent": ["gl", "kgln"], "dependent": ["kglo", "kgl"]}.items():
        for row in _rows(metrics, runs, graph=graphs, data=[data], level=levels, model=models):
            unknown = row["level"] == 0 or row["model"] == "gl"
            if row["metric"] != "mse_out" or not unknown:
                rows.append(row | {"missing": row["level"]})
    rows += [row | {"selected_by": CV} for row in rows]
    return _inputs("cross_validation.recovery", rows, metrics=list(metrics))


def _sizes(m: tuple[int, ...] = (10, 20), n: tuple[int, ...] = (30, 300), runs: int = R) -> Inputs:
    rows = _rows(runs=runs, graph=["sbm", "er"], data=["dependent"], m=m, level=n, sweep=["n"])
    rows = [row | {"n": row["level"]} for row in rows]
    rows += [row | {"selected_by": CV} for row in rows]
    return _inputs("cross_validation.sizes", rows, pool=True)


def test_recovery_draws_both_selections() -> None:
    fig, numbers = drawn(_tuned())
    shown = [ax for ax in fig.axes if ax.axison]
    assert len(shown) == 8  # two kinds of data, three families; errors of pooled families
    for ax, graph, data, metric in (
        (shown[1], "er", "independent", "aps"),
        (shown[7], "sbm+er+ba", "dependent", "mse_out"),
    ):
        assert panels.title(graph, data) in ax.get_title()
        name = {"independent": "kgln", "dependent": "kgl"}[data]
        for dash, by in (("-", CV), (":", metric)):
            known = {"graph": graph, "data": data, "model": name, "metric": metric}
            (line,) = [one for one in ax.get_lines() if one.get_linestyle() == dash
                       and to_hex(one.get_color()) == model(name).color.lower()]  # fmt: skip
            part = where(numbers, selected_by=by, **known)
            np.testing.assert_allclose(line.get_ydata(), part["mean"])
    assert shown[0].get_ylim() == (0, 1)
    fig, _ = drawn(_tuned(metrics=("aps", "sse")))
    assert (len(fig.axes), len(fig.legends)) == (6, 1)


def test_sizes_pools_families() -> None:
    fig, numbers = drawn(_sizes())
    (ax,) = fig.axes
    assert ax.get_xscale() == "log"
    assert set(numbers["runs"]) == {2 * R}
    solid = [line for line in ax.get_lines() if line.get_linestyle() == "-"]
    for line, m in zip(solid, (10, 20), strict=True):
        part = where(numbers, m=m, selected_by=CV)
        np.testing.assert_allclose(line.get_ydata(), part["mean"])
        np.testing.assert_allclose(line.get_xdata(), [30, 300], rtol=0.05)


@pytest.mark.parametrize(
    "inputs",
    [
        _no_signal(("ring",), runs=1),
        _degraded(("identity",), runs=1),
        _wrong_kz(("1",), runs=1),
        _wrong_kz(("identity",), runs=1),
        _limits((1e-3,), runs=1, graph=["ring"], data=["dependent"]),
        _convergence((2,), data=["dependent"], missing=[0.2]),
        _cost((10,), (20,), runs=1),
        _precision((15,), runs=1, graph=["ring"], psi=[1e-3]),
        _tuned(("ring",), (0.0,), runs=1),
        _tuned(("sbm",), (0.0, 0.4)),
        _sizes((10,), (30,), runs=1),
    ],
)
def test_reduced_runs_are_drawn(inputs: Inputs) -> None:
    _, numbers = drawn(inputs)
    assert len(numbers)
    if "low" in numbers:  # one replicate has no interval
        assert numbers[["low", "high"]].isna().all(axis=None)
        assert numbers["mean"].notna().all()


@pytest.mark.parametrize(
    ("figure", "key"), [("limits.draw", "points"), ("cross_validation.sizes", "folds")]
)
def test_a_table_without_the_selection_is_refused(figure: str, key: str) -> None:
    with pytest.raises(ValueError, match=rf"made: .* set [\w.]+\.{key}"):
        drawn(_inputs(figure, _rows(level=[0.0, 0.5]), options={"axis": "psi"}))
