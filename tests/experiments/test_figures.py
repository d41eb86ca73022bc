"""Figures: each function draws what its table says, from made-up numbers."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from experiments.figures import (
    Inputs,
    curves,
    draw,
    heatmaps,
    maps,
    real,
    sparsity,
    style,
    viewpoint,
)
from experiments.io import save_table
from experiments.registry import STANDIN
from experiments.score import HELD_OUT, score_study
from kgl.laplacian import adjacency_from_edges, edges_from_adjacency

STYLES = {
    "gl": {"label": "GL", "color": "#000000", "marker": "x"},
    "kgln": {"label": "KGL-N", "color": "#56B4E9", "marker": "o"},
    "kgl": {"label": "KGL", "color": "#0072B2", "marker": "o"},
    "kernel": {"label": "K_x alone", "color": "#777777", "marker": "v"},
    "kernel_sparse": {"label": "K_x alone", "color": "#777777", "marker": "v"},
}
LABELS = {
    "graph": {"sbm": "stochastic block model", "ring": "ring"},
    "data": {
        "independent": "independent data",
        "dependent": "dependent data",
        "sushi": "reviewers centred",
        "sushi_literal": "literal median heuristic",
    },
}
SCORE = {"aps": "weights", "best": "replicate"}
M, N, REPLICATES = 6, 9, 3
PSI = (1e-7, 1e-5, 1e-3, 1e-1)

Draw = Callable[[Inputs], tuple[Figure, pd.DataFrame]]


@pytest.fixture(autouse=True)
def _look() -> Iterator[None]:
    with mpl.rc_context():
        style.use()
        yield


class Study:
    """Builds the inputs of a figure from random data and fits."""

    score: dict[str, Any] = SCORE

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def inputs(
        self,
        figure: str,
        *,
        metrics: list[str],
        models: dict[str, list[str]],
        levels: dict[str, list[Any]],
        graphs: tuple[str, ...] = ("sbm",),
        axes: dict[str, tuple[float, ...]] | None = None,
        **more: Any,
    ) -> Inputs:
        config = {"figure": figure, "metrics": metrics, "models": models, "sweep": levels, **more}
        axes = axes or {"lam": (0.1, 1.0), "rho": (0.01, 1.0), "psi": PSI}
        labels, made = [], []
        for graph, data in product(graphs, models):
            for model, level in product(models[data], product(*levels.values())):
                known = {"m": M, "n": N, "noise": 0.01, "missing": 0.0}
                known |= dict(zip(levels, level, strict=True))
                point = {"sweep": list(levels)[-1], "level": level[-1]}
                labels.append({"graph": graph, "data": data, **point, **known, "model": model})
                made.append(self._arrays(len(made), axes, known["missing"], model))
        paths = [[self._save(f"{k}-{j}", a[j]) for k, a in enumerate(made)] for j in (0, 1)]
        cells = ((what, fit) for what, (_, fit) in zip(labels, made, strict=True))
        table = score_study("made", cells, self.score)
        settings = {"labels": LABELS, "protocol": {"score": self.score}}
        return Inputs("made", config, STYLES, settings, table, labels, paths[1], paths[0])

    def _save(self, name: str, arrays: dict[str, Any]) -> str:
        path = self.folder / f"{name}.npz"
        np.savez(path, **arrays, provenance=np.array("{}"))
        return str(path)

    def _arrays(
        self, seed: int, axes: dict[str, tuple[float, ...]], missing: float, model: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        rng = np.random.default_rng(seed)
        full = rng.normal(size=(REPLICATES, N, M))
        pairs = M * (M - 1) // 2
        W = adjacency_from_edges(rng.random((REPLICATES, pairs)) * (rng.random(pairs) < 0.5))
        gaps = rng.random(full.shape) < missing
        points = np.array(list(product(*axes.values()))).T
        count = points.shape[1]
        fit: dict[str, Any] = dict(zip((f"grid.{k}" for k in axes), points, strict=True))
        names = ("aps_weights", "aps_scores", "sse", "density", "mse_in", "mse_out")
        fit |= {k: rng.random((REPLICATES, count)) for k in (*names, "n_iter", "kkt_residual")}
        if missing == 0 or model == "gl":
            fit["mse_out"] = np.full((REPLICATES, count), np.nan)
        weights = rng.random((REPLICATES, count, pairs))
        fit["weights"] = np.where(weights < 0.4, 0.0, weights)
        fit["signals"] = rng.normal(size=(REPLICATES, count, N, M))
        return {"Y": np.where(gaps, np.nan, full), "Y_full": full, "W": W}, fit


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


def _recovery(study: Study, levels: list[float], **more: Any) -> Inputs:
    models = {"independent": ["gl", "kgln"], "dependent": ["kgl"]}
    more = {"metrics": ["aps", "sse"], "models": models} | more
    return study.inputs("curves.recovery", levels={"missing": levels}, **more)


def _completion(study: Study, **more: Any) -> Inputs:
    models = {"independent": ["kgln"], "dependent": ["kgl"]}
    more = {"levels": {"missing": [0.0, 0.3, 0.6]}, "graphs": ("sbm", "ring")} | more
    known = {"metrics": ["mse_out"], "models": models, "pool": True}
    return study.inputs("curves.completion", **known, **more)


def _sizes(study: Study) -> Inputs:
    levels = {"m": [10, 20, 40], "n": [10, 100]}
    known = {"metrics": ["aps"], "models": {"dependent": ["kgl"]}, "pool": True}
    return study.inputs("curves.sizes", levels=levels, **known)


def _viewpoint(study: Study) -> Inputs:
    known = {"metrics": ["aps"], "models": {"dependent": ["kgl"]}}
    return study.inputs("viewpoint.draw", levels={"missing": [0.3]}, **known)


def _psi_path(study: Study, figure: str = "graphs", **more: Any) -> Inputs:
    models = {"independent": ["kgl"], "dependent": ["kgl"]}
    known = {"metrics": ["aps", "density"], "models": models, "levels": {"missing": [0.0]}}
    known["options"] = {"data": "independent"}
    return study.inputs(f"sparsity.{figure}", **(known | more))


def _heat_maps(study: Study, psi: tuple[float, ...] = PSI, **more: Any) -> Inputs:
    known = {"metrics": ["mse_out", "aps"], "models": {"dependent": ["kgl"]}}
    known |= {"levels": {"missing": [0.3]}, "options": {"psi": list(psi)}}
    return study.inputs("heatmaps.draw", **(known | more))


def _means(numbers: pd.DataFrame, **where: Any) -> pd.DataFrame:
    return numbers[(numbers[list(where)] == list(where.values())).all(axis=1)]


def _line(ax: Any, label: str) -> Any:
    (line,) = [line for line in ax.get_lines() if line.get_label() == label]
    return line


def _bars(ax: Any, line: Any) -> Any:
    """Return the ends of the error bars in the colour of a line."""
    colour = mpl.colors.to_rgba(line.get_color())
    (bars,) = [c for c in ax.collections if tuple(c.get_colors()[0]) == colour]
    return np.array([segment[:, 1] for segment in bars.get_segments()])


# ---------------------------------------------------------------------------------------- all


@pytest.mark.parametrize(
    ("draw", "make"),
    [
        (curves.recovery, lambda s: _recovery(s, [0.5], models={"dependent": ["kgl"]})),
        (curves.completion, _completion),
        (curves.sizes, _sizes),
        (viewpoint.draw, _viewpoint),
        (sparsity.graphs, lambda s: _psi_path(s, axes={"psi": PSI[:1]})),
        (sparsity.printed, _psi_path),
        (heatmaps.draw, lambda s: _heat_maps(s, PSI[:1])),
    ],
)
def test_the_same_inputs_give_the_same_bytes(
    study: Study, draw: Draw, make: Callable[[Study], Inputs]
) -> None:
    inputs = make(study)
    files = []
    for _ in range(2):
        fig, numbers = draw(inputs)
        fig.set_layout_engine("none")  # most of the time
        stream = io.BytesIO()
        fig.savefig(stream, dpi=40, metadata={"Software": None})
        files.append((stream.getvalue(), numbers.to_csv(index=False)))
    assert files[0] == files[1]


# ------------------------------------------------------------------------------------- curves


def test_recovery_draws_the_means_of_its_table(study: Study) -> None:
    levels = [0.5, 0.0, 0.25]
    fig, numbers = curves.recovery(_recovery(study, levels))
    top_left, top_right, low_left, low_right = fig.axes
    for ax, data, metric, model in (
        (top_left, "independent", "aps", "gl"),
        (top_right, "independent", "sse", "kgln"),
        (low_left, "dependent", "aps", "kgl"),
        (low_right, "dependent", "sse", "kgl"),
    ):
        part = _means(numbers, data=data, metric=metric, model=model).sort_values("level")
        line = _line(ax, STYLES[model]["label"])
        np.testing.assert_allclose(line.get_ydata(), part["mean"])
        np.testing.assert_allclose(line.get_xdata(), sorted(levels), atol=0.02)
        assert line.get_color() == STYLES[model]["color"]
        np.testing.assert_allclose(_bars(ax, line), part[["p05", "p95"]])
    assert top_left.get_title() == "SBM, independent data"
    assert top_left.get_ylim() == (0, 1)
    assert [t.get_text() for t in top_right.get_legend().get_texts()] == ["GL", "KGL-N"]
    assert [t.get_text() for t in low_right.get_legend().get_texts()] == ["KGL"]


def test_a_single_level_shows_as_points(study: Study) -> None:
    fig, numbers = curves.recovery(_recovery(study, [0.2]))
    line = _line(fig.axes[0], "GL")
    assert line.get_marker() == "x"
    low, high = fig.axes[0].get_xlim()
    assert low < line.get_xdata()[0] < high
    assert len(numbers) == 6


def test_families_that_are_not_pooled_get_rows_of_their_own(study: Study) -> None:
    inputs = _recovery(study, [0.2], graphs=("sbm", "ring"), models={"dependent": ["kgl"]})
    fig, _ = curves.recovery(inputs)
    titles = [ax.get_title() for ax in fig.axes[::2]]
    assert titles == ["SBM, dependent data", "ring, dependent data"]


def test_two_swept_keys_are_refused(study: Study) -> None:
    inputs = _sizes(study)
    with pytest.raises(ValueError, match=r"study\.sweep of made has 2 keys"):
        curves.recovery(inputs)


def test_bars_do_not_depend_on_the_mean(study: Study) -> None:
    part = pd.DataFrame({"mean": [0.9], "p05": [0.1], "p95": [0.3]})
    ax = Figure().subplots()
    line = style.curve(ax, [1.0], part, color="#123456")
    np.testing.assert_allclose(_bars(ax, line), [[0.1, 0.3]])


def test_completion_pools_families_and_starts_where_entries_are_withheld(study: Study) -> None:
    fig, numbers = curves.completion(_completion(study))
    assert sorted(numbers["level"].unique()) == [0.3, 0.6]
    assert set(numbers["runs"]) == {2 * REPLICATES}
    for ax, model in zip(fig.axes, ("kgln", "kgl"), strict=True):
        expected = _means(numbers, model=model)["mean"]
        np.testing.assert_allclose(_line(ax, STYLES[model]["label"]).get_ydata(), expected)
    assert [ax.get_title() for ax in fig.axes] == ["Independent data", "Dependent data"]


def test_completion_takes_logarithms_of_a_wide_range(study: Study) -> None:
    inputs = _completion(study)
    assert curves.completion(inputs)[0].axes[0].get_yscale() == "linear"
    values = inputs.table["value"].where(inputs.table["model"] != "kgl", 1000.0)
    wide = replace(inputs, table=inputs.table.assign(value=values))
    assert curves.completion(wide)[0].axes[0].get_yscale() == "log"


def test_sizes_draws_a_line_per_number_of_nodes(study: Study) -> None:
    fig, numbers = curves.sizes(_sizes(study))
    (ax,) = fig.axes
    assert ax.get_xscale() == "log"
    lines = [_line(ax, f"$m$ = {m}") for m in (10, 20, 40)]
    for m, line in zip((10, 20, 40), lines, strict=True):
        np.testing.assert_allclose(line.get_ydata(), _means(numbers, m=m)["mean"])
        np.testing.assert_allclose(line.get_xdata(), [10, 100], rtol=0.1)
    assert len({mpl.colors.to_hex(line.get_color()) for line in lines}) == 3


# ---------------------------------------------------------------------------------- viewpoint


def test_viewpoint_draws_the_arrays_of_its_table(study: Study) -> None:
    inputs = _viewpoint(study)
    _, data, fit = next(inputs.arrays())
    fig, numbers = viewpoint.draw(inputs)
    best = int(np.argmin(fit["sse"][0]))
    (image,) = [image for ax in fig.axes for image in ax.get_images()]
    np.testing.assert_array_equal(image.get_array().filled(np.nan), data["Y"][0])
    matrix = _means(numbers, panel="a")["value"].to_numpy(float).reshape(N, M)
    np.testing.assert_array_equal(matrix, data["Y"][0])
    functions = [ax for ax in fig.axes if len(ax.get_lines()) == 3]
    assert len(functions) == 2
    for ax, row in zip(functions, _means(numbers, panel="b")["row"].unique(), strict=True):
        fitted, seen, withheld = (line.get_ydata() for line in ax.get_lines())
        np.testing.assert_array_equal(fitted, fit["signals"][0, best, row])
        part = _means(numbers, panel="b", row=row)
        for values, kind in ((fitted, "fitted"), (seen, "observed"), (withheld, "withheld")):
            np.testing.assert_array_equal(values, part.loc[part["kind"] == kind, "value"])
    learned = numbers[(numbers["panel"] == "c") & numbers["kind"].isin(["correct", "false"])]
    weights = fit["weights"][0, best]
    np.testing.assert_allclose(sorted(learned["value"]), np.sort(weights[weights > 0]))
    true = data["W"][0][learned["node"].to_list(), learned["other"].to_list()] > 0
    assert (learned["kind"] == np.where(true, "correct", "false")).all()


def test_viewpoint_says_which_arrays_it_needs(study: Study) -> None:
    inputs = _viewpoint(study)
    arrays = dict(np.load(inputs.fits[0]))
    del arrays["signals"]
    np.savez(inputs.fits[0], **arrays)
    with pytest.raises(ValueError, match=r"study\.keep of made: .* no signals"):
        viewpoint.draw(inputs)


# ----------------------------------------------------------------------------------- sparsity


def test_graphs_draws_weights_and_truth_on_one_scale(study: Study) -> None:
    inputs = _psi_path(study, graphs=("sbm", "ring"))
    fig, numbers = sparsity.graphs(inputs)
    images = [image for ax in fig.axes[:10] for image in ax.get_images()]
    assert len(images) == 10
    assert len({(image.norm.vmin, image.norm.vmax) for image in images}) == 1
    _, data, fit = next(inputs.arrays())
    point = np.flatnonzero((fit["grid.lam"] == 0.1) & (fit["grid.rho"] == 0.01))[1]
    edges = fit["weights"][0, point]
    np.testing.assert_array_equal(edges_from_adjacency(images[1].get_array().filled(0.0)), edges)
    np.testing.assert_array_equal(images[4].get_array().filled(0.0), data["W"][0])
    shown = _means(numbers, graph="sbm", psi=1e-5, quantity="weight")
    np.testing.assert_array_equal(shown["value"], edges[edges > 0])
    mean = _means(numbers, graph="sbm", psi=1e-5, quantity="mean")["value"].item()
    assert mean == pytest.approx(fit["aps_weights"][:, point].mean())
    title = fig.axes[1].get_title()
    assert f"mean {mean:.2f}" in title
    assert "paper 0.86" in title
    assert "paper" not in fig.axes[6].get_title()  # not a family of the paper


def test_graphs_refuses_data_that_it_has_not(study: Study) -> None:
    inputs = _psi_path(study, options={"data": "spatial"})
    with pytest.raises(
        ValueError, match=r"study\.options\.data = 'spatial'.*independent, dependent"
    ):
        sparsity.graphs(inputs)


def test_printed_puts_intervals_beside_the_paper(study: Study) -> None:
    inputs = _psi_path(study, "printed")
    fig, numbers = sparsity.printed(inputs)
    (ax,) = fig.axes
    for data in ("independent", "dependent"):
        part = _means(numbers, data=data)
        assert part["psi"].tolist() == list(PSI)
        assert part["paper"].tolist() == [0.39, 0.86, 0.80, 0.52]
        line = _line(ax, f"KGL, {data} data")
        np.testing.assert_allclose(line.get_ydata(), part["mean"])
        inside = (part["p05"] <= part["paper"]) & (part["paper"] <= part["p95"])
        assert (part["inside"] == inside).all()
    np.testing.assert_allclose(_line(ax, "paper").get_ydata(), sparsity.PAPER["sbm"])


def test_other_grids_are_drawn_at_the_nearest_point(study: Study) -> None:
    axes = {"lam": (0.02, 5.0), "rho": (0.05,), "psi": (1e-4, 1e-5)}
    inputs = _psi_path(study, axes=axes, models={"independent": ["kgl"]})
    _, numbers = sparsity.printed(inputs)
    assert numbers["psi"].tolist() == [1e-5, 1e-4]
    assert numbers["paper"].tolist()[0] == 0.86
    assert np.isnan(numbers["paper"].tolist()[1])
    _, _, fit = next(inputs.arrays())
    near = fit["grid.lam"] == 0.02
    expected = fit["aps_weights"][:, near].mean(axis=0)[::-1]
    np.testing.assert_allclose(numbers["mean"], expected)
    sparsity.graphs(inputs)


# ----------------------------------------------------------------------------------- heatmaps


def test_heat_maps_draw_the_means_of_their_table(study: Study) -> None:
    fig, numbers = heatmaps.draw(_heat_maps(study))
    panels = list(product(("mse_out", "aps"), PSI))
    for ax, (metric, psi) in zip(fig.axes, panels, strict=False):
        part = _means(numbers, metric=metric, psi=psi)
        table = part.pivot(index="rho", columns="lam", values="mean")
        (image,) = ax.get_images()
        np.testing.assert_array_equal(image.get_array(), table)
        best = part.loc[part["best"], "mean"].item()
        assert best == (part["mean"].min() if metric == "mse_out" else part["mean"].max())
        ((x, y),) = ax.get_lines()[0].get_xydata()
        assert table.iloc[int(y), int(x)] == best
    scales = [(image.norm.vmin, image.norm.vmax) for ax in fig.axes for image in ax.get_images()]
    assert len(set(scales[:4])) == len(set(scales[4:8])) == 1
    assert list(numbers.columns[3:10]) == ["psi", "lam", "rho", "metric", "mean", "p05", "p95"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"psi": (1e-7, 0.5)}, r"study\.options\.psi: 0\.5 is not in the grid, .*1e-07, 1e-05"),
        ({"axes": {"rho": (1.0,), "psi": PSI}}, r"study\.models of made: kgl has no lam"),
        ({"levels": {"missing": [0.0]}}, r"study\.metrics of made: kgl has no mse_out"),
    ],
)
def test_heat_maps_say_what_to_change(study: Study, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        heatmaps.draw(_heat_maps(study, **change))


# ------------------------------------------------------------------------------------- real data

NAMES = np.array([f"node_{k}" for k in range(M)])
KINDS = np.array(["roe", "roe", "clam", "clam", "vegetable", "vegetable"])


class RealStudy(Study):
    """The same for real data: points are chosen by held-out entries too."""

    score = SCORE | {"folds": 3, "cv_density": 0.3}
    groups = False

    def _arrays(
        self, seed: int, axes: dict[str, tuple[float, ...]], missing: float, model: str
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        learned = not model.startswith("kernel")
        data, fit = super()._arrays(seed, axes if learned else {}, missing, model)
        rng = np.random.default_rng([seed, 1])
        count = fit["sse"].shape[1]
        fit["mse_cv"] = (
            rng.random((REPLICATES, count)) if learned else np.full_like(fit["sse"], np.nan)
        )
        extra = {"names": NAMES, "altitude": 500.0 * np.arange(1, M + 1), "groups": KINDS}
        extra |= {"place": rng.random((M, 2)), "month_mean": 10.0 * np.arange(1, N + 1)}
        data |= {name: np.stack([values] * REPLICATES) for name, values in extra.items()}
        if self.groups:
            fit["nmi"] = fit.pop("aps_weights")
            del fit["aps_scores"], fit["sse"], fit["mse_out"], data["W"]
        return data, fit


class GroupStudy(RealStudy):
    groups = True


@pytest.fixture
def stations(tmp_path: Path) -> RealStudy:
    return RealStudy(tmp_path)


@pytest.fixture
def items(tmp_path: Path) -> GroupStudy:
    return GroupStudy(tmp_path)


GRID = {"lam": (0.1, 1.0), "rho": (0.01, 1.0), "density": (0.3,)}


def _swiss(study: Study) -> Inputs:
    models = {"dependent": ["gl", "kgl", "kernel_sparse"]}
    levels = {"missing": [0.0, 0.3, 0.6]}
    known: dict[str, Any] = {"models": models, "levels": levels, "axes": GRID}
    return study.inputs("real.swiss", metrics=["aps", "sse", "mse_out"], **known)


def _sushi(study: Study) -> Inputs:
    models = {"sushi": ["kgln", "kgl", "kernel"]}
    return study.inputs(
        "real.sushi", metrics=["nmi"], models=models, levels={"n": [20, 40, 80]}, axes=GRID
    )


def _attributes(study: Study) -> Inputs:
    levels = {"scale": ["none", "minmax"], "bandwidth_x": ["median_sq", "median_distance", "unit"]}
    return study.inputs(
        "real.attributes", metrics=["nmi"], models={"sushi": ["kernel"]}, levels=levels
    )


def _readings(study: Study) -> Inputs:
    models = {"sushi": ["kgl", "kernel"], "sushi_literal": ["kgl", "kernel"]}
    models |= {f"sushi_{k}": ["kgl", "kernel"] for k in range(3)}
    LABELS["data"].update({f"sushi_{k}": f"reading {k}" for k in range(3)})
    return study.inputs(
        "real.readings", metrics=["nmi"], models=models, levels={"n": [20, 40]}, axes=GRID
    )


def _map(study: Study) -> Inputs:
    known: dict[str, Any] = {"models": {"dependent": ["kgl"]}, "levels": {"missing": [0.5]}}
    known |= {"options": {"model": "kgl", "edges": 4}, "axes": GRID}
    return study.inputs("maps.station_map", metrics=["aps"], **known)


def _imputed(study: Study) -> Inputs:
    known: dict[str, Any] = {"models": {"dependent": ["kgln", "kgl"]}, "axes": GRID}
    return study.inputs("maps.imputed", metrics=["mse_out"], levels={"missing": [0.8]}, **known)


def _items(study: Study) -> Inputs:
    known: dict[str, Any] = {"models": {"sushi": ["kgl"]}, "axes": GRID}
    return study.inputs("maps.item_graph", metrics=["nmi"], levels={"n": [160]}, **known)


def _expected(inputs: Inputs, metric: str, model: str, by: str) -> Any:
    """Means over replicates of a metric, by level, straight from the table."""
    table = inputs.table
    rows = table[(table["metric"] == metric) & (table["model"] == model)]
    return rows[rows["selected_by"] == by].groupby("level")["value"].mean()


def _legend(fig: Figure) -> list[str]:
    (legend,) = fig.legends
    return [text.get_text() for text in legend.get_texts()]


def test_swiss_draws_both_choices_and_the_altitudes_alone(stations: RealStudy) -> None:
    inputs = _swiss(stations)
    fig, numbers = real.swiss(inputs)
    assert len(fig.axes) == 4
    panels = list(product((None, HELD_OUT), ("aps", "sse")))
    for ax, (choice, metric) in zip(fig.axes, panels, strict=True):
        for model in ("gl", "kgl"):
            by = choice or metric
            if (model, choice) == ("gl", HELD_OUT):
                continue
            expected = _expected(inputs, metric, model, by)
            line = _line(ax, STYLES[model]["label"])
            np.testing.assert_allclose(line.get_ydata(), expected)
            np.testing.assert_allclose(line.get_xdata(), expected.index, atol=0.03)
            assert line.get_color() == STYLES[model]["color"]
            part = _means(numbers, metric=metric, model=model, selected_by=by)
            np.testing.assert_allclose(_bars(ax, line), part[["p05", "p95"]])
        alone = _line(ax, "K_x alone")
        assert alone.get_linestyle() == "--"
        assert alone.get_ydata()[0] == pytest.approx(
            _expected(inputs, metric, "kernel_sparse", choice or metric).mean()
        )
        assert ("held-out" in ax.get_title()) == (choice == HELD_OUT)
    assert _legend(fig) == ["GL", "KGL", "altitude alone"]
    assert set(numbers["selected_by"]) == {"aps", "sse", "mse_out", HELD_OUT}


def test_sushi_draws_both_choices_and_the_attributes_alone(items: GroupStudy) -> None:
    inputs = _sushi(items)
    fig, numbers = real.sushi(inputs)
    assert len(fig.axes) == 2
    for ax, by in zip(fig.axes, ("nmi", HELD_OUT), strict=True):
        for model in ("kgln", "kgl"):
            expected = _expected(inputs, "nmi", model, by)
            line = _line(ax, STYLES[model]["label"])
            np.testing.assert_allclose(line.get_ydata(), expected)
            np.testing.assert_allclose(line.get_xdata(), expected.index, atol=3)
        alone = _expected(inputs, "nmi", "kernel", by).mean()
        assert _line(ax, "K_x alone").get_ydata()[0] == pytest.approx(alone)
    assert _legend(fig) == ["KGL-N", "KGL", "attributes alone"]
    assert set(numbers["metric"]) == {"nmi"}
    assert len(numbers) == 2 * 3 * 3


def test_attributes_draws_a_dot_for_each_reading_beside_the_paper(items: GroupStudy) -> None:
    inputs = _attributes(items)
    fig, numbers = real.attributes(inputs)
    (ax,) = fig.axes
    (legend,) = [ax.get_legend()]
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [
        real.RULES["median_distance"],
        real.RULES["median_sq"],
        real.RULES["unit"],
        "paper: 0.34",
    ]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["as they are", "scaled to [0, 1]"]
    table = inputs.table[inputs.table["metric"] == "nmi"]
    for rule in ("median_sq", "median_distance", "unit"):
        line = _line(ax, real.RULES[rule])
        rows = table[(table["level"] == rule) & (table["selected_by"] == "nmi")]
        expected = rows.groupby("scale")["value"].mean()[["none", "minmax"]]
        np.testing.assert_allclose(line.get_ydata(), expected)
        np.testing.assert_allclose(line.get_xdata(), [0, 1], atol=0.3)
    dashed = [line for line in ax.get_lines() if line.get_linestyle() == "--"]
    assert {y for line in dashed for y in line.get_ydata()} == {0.34}
    assert set(numbers["paper"]) == {0.34}
    assert len(numbers) == 6


def test_readings_have_a_panel_each(items: GroupStudy) -> None:
    inputs = _readings(items)
    fig, numbers = real.readings(inputs)
    shown = [ax for ax in fig.axes if ax.get_visible()]
    kinds = list(dict.fromkeys(numbers["data"]))
    assert len(shown) == len(kinds) == 5
    assert len(fig.axes) == 8  # two rows of four
    first = kinds[0]
    for ax, kind in zip(shown, kinds, strict=True):
        assert ax.get_title() == LABELS["data"][kind] + " (as in the figure)" * (kind == first)
        part = _means(numbers, data=kind, model="kgl").sort_values("level")
        np.testing.assert_allclose(_line(ax, "KGL").get_ydata(), part["mean"])
        alone = _means(numbers, data=kind, model="kernel")["mean"].mean()
        assert _line(ax, "K_x alone").get_ydata()[0] == pytest.approx(alone)
    assert _legend(fig) == ["KGL", "attributes alone"]


def _chosen(inputs: Inputs, fit: dict[str, Any]) -> int:
    return int(np.argmin(fit["mse_cv"][0]))


def test_a_point_is_that_which_held_out_entries_chose(stations: RealStudy) -> None:
    inputs = _imputed(stations)
    places = []
    for labels, _, fit in inputs.arrays():
        places.append(maps.chosen_point(inputs, labels, fit))
        assert places[-1] == _chosen(inputs, fit)
    assert len(set(places)) > 1  # the models differ, or this would see little


def test_the_map_draws_the_heaviest_edges_and_writes_all(stations: RealStudy) -> None:
    inputs = _map(stations)
    _, data, fit = next(inputs.arrays())
    fig, numbers = maps.station_map(inputs)
    learned = adjacency_from_edges(fit["weights"][0, _chosen(inputs, fit)])
    titles = [ax.get_title() for ax in fig.axes[:2]]
    assert titles == ["GL, all twelve months (the truth)", f"KGL, {N} months, 50% missing"]
    for title, W, ax in zip(titles, (data["W"][0], learned), fig.axes, strict=False):
        part = _means(numbers, graph=title)
        first, second = (part[c].map(NAMES.tolist().index) for c in ("node", "other"))
        assert len(part) == np.count_nonzero(np.triu(W))
        np.testing.assert_array_equal(part["weight"], W[first, second])
        assert part["weight"].is_monotonic_decreasing
        right, wrong, dots = ax.collections
        assert len(right.get_segments()) + len(wrong.get_segments()) == min(4, len(part))
        heaviest = list(zip(first[:4], second[:4], strict=True))
        false = [pair for pair in heaviest if data["W"][0][pair] == 0]
        assert len(wrong.get_segments()) == len(false)
        for (a, b), segment in zip(sorted(false), wrong.get_segments(), strict=True):
            np.testing.assert_allclose(segment, dots.get_offsets()[[a, b]])
        np.testing.assert_allclose(dots.get_offsets()[:, 1], data["place"][0][:, 1])
        np.testing.assert_allclose(dots.get_array(), data["altitude"][0])
    assert not fig.axes[0].collections[1].get_segments()  # the truth lacks none of its own
    assert fig.axes[1].collections[1].get_segments()
    both = np.triu((data["W"][0] > 0) & (learned > 0)).sum() / np.triu(learned > 0).sum()
    (legend,) = fig.legends
    assert legend.get_title().get_text() == f"{both:.0%} of the learned edges are in the truth"
    assert _legend(fig) == ["edge of the truth", "edge that the truth lacks"]


def test_imputed_draws_what_was_withheld_and_writes_errors_alone(stations: RealStudy) -> None:
    inputs = _imputed(stations)
    fig, numbers = maps.imputed(inputs)
    cells = list(inputs.arrays())
    for ax, (labels, data, fit) in zip(fig.axes, cells, strict=True):
        level = data["month_mean"][0][:, None]
        true = data["Y_full"][0] + level
        filled = fit["signals"][0, _chosen(inputs, fit)] + level
        hidden = np.isnan(data["Y"][0])
        for k, dots in enumerate(ax.collections):
            expected = np.column_stack([true[k, hidden[k]], filled[k, hidden[k]]])
            np.testing.assert_allclose(dots.get_offsets(), expected)
        error = (filled - true)[hidden]
        rmse = np.sqrt(np.mean(error**2))
        assert ax.get_title() == f"{STYLES[labels['model']]['label']}\nRMSE {rmse:.2f} °C"
        (row,) = _means(numbers, model=labels["model"], month="all").to_dict("records")
        assert row["withheld"] == hidden.sum()
        assert row["rmse"] == pytest.approx(rmse)
        assert row["bias"] == pytest.approx(error.mean())
        assert row["correlation"] == pytest.approx(np.corrcoef(true[hidden], filled[hidden])[0, 1])
        # the data are not ours to pass on
        written = numbers.select_dtypes("number").to_numpy().ravel()
        for temperatures in (true, data["Y_full"][0], filled):
            assert np.abs(written[:, None] - temperatures.ravel()).min() > 1e-9
    assert numbers.columns.tolist() == ["model", "month", "withheld", "rmse", "bias", "correlation"]
    assert _legend(fig)[:4] == ["January", "February", "March", "month 4"]


def test_the_graph_of_items_marks_the_groups(items: GroupStudy) -> None:
    inputs = _items(items)
    _, _, fit = next(inputs.arrays())
    at = _chosen(inputs, fit)
    fig, numbers = maps.item_graph(inputs)
    (ax,) = fig.axes
    assert _legend(fig) == ["roe", "clam", "vegetable"]
    W = adjacency_from_edges(fit["weights"][0, at])
    within = np.equal.outer(KINDS, KINDS)
    share = W[within].sum() / W.sum()
    # of 15 pairs, 3 are of one group
    *names, said = (text.get_text() for text in ax.texts)
    assert names == [f"node {k}" for k in range(M)]
    assert said == (
        f"KGL, 160 reviewers: NMI {fit['nmi'][0, at]:.2f}\n{share:.0%} of the weight lies within "
        "groups; by chance 20%"
    )
    between, inside, *dots = ax.collections
    assert len(between.get_segments()) == np.count_nonzero(np.triu(W) * ~within)
    assert len(inside.get_segments()) == np.count_nonzero(np.triu(W) * within)
    assert [len(part.get_offsets()) for part in dots] == [2, 2, 2]
    assert numbers["weight"].sum() == pytest.approx(np.triu(W).sum())
    assert set(numbers["node"]) | set(numbers["other"]) <= set(NAMES)


@pytest.mark.parametrize("make", [_swiss, _map, _imputed])
def test_figures_of_stations_are_the_same_bytes_again(stations: RealStudy, make: Any) -> None:
    _same_bytes(make(stations))


@pytest.mark.parametrize("make", [_sushi, _attributes, _readings, _items])
def test_figures_of_items_are_the_same_bytes_again(items: GroupStudy, make: Any) -> None:
    _same_bytes(make(items))


def _same_bytes(inputs: Inputs) -> None:
    module, name = inputs.config["figure"].split(".")
    figure: Draw = getattr({"real": real, "maps": maps}[module], name)
    files = []
    for _ in range(2):
        fig, numbers = figure(inputs)
        fig.set_layout_engine("none")
        stream = io.BytesIO()
        fig.savefig(stream, dpi=40, metadata={"Software": None})
        files.append((stream.getvalue(), numbers.to_csv(index=False)))
    assert files[0] == files[1]


REAL = [(_swiss, False), (_map, False), (_imputed, False)]
REAL += [(make, True) for make in (_sushi, _attributes, _readings, _items)]


@pytest.mark.parametrize("simulated", [True, False])
@pytest.mark.parametrize(("make", "groups"), REAL)
def test_a_stand_in_says_so_in_the_picture_and_in_the_table(
    make: Any, groups: bool, simulated: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = make((GroupStudy if groups else RealStudy)(tmp_path))
    save_table(tmp_path / "t.parquet", inputs.table, {})
    titles: list[str] = []
    saved = Figure.savefig

    def spy(figure: Figure, *args: Any, **kwargs: Any) -> None:
        titles.append(figure.get_suptitle())
        figure.set_layout_engine("none")  # most of the time
        saved(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, "savefig", spy)
    known = {"config": inputs.config, "styles": STYLES, "settings": inputs.settings}
    known |= {"labels": inputs.labels, "simulated": simulated}
    outputs = [str(tmp_path / f"made.{kind}") for kind in ("png", "csv")]
    paths: dict[str, Any] = {"fits": inputs.fits, "data": inputs.data, "outputs": outputs}
    draw("made", known, table=str(tmp_path / "t.parquet"), **paths)
    assert titles == [STANDIN if simulated else ""]
    written = pd.read_csv(outputs[1])
    if simulated:
        assert set(written["source"]) == {STANDIN}
    else:
        assert not written.isin([STANDIN]).any(axis=None)
