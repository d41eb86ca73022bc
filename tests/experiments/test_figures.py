"""Figures of the paper and of the real data: each draws the numbers of its table."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from figure_checks import bars, drawn, labelled, legend, ticks, where
from matplotlib.figure import Figure

from experiments import registry
from experiments.figures import Inputs, draw, panels, real
from experiments.io import save_table
from experiments.lookup import resolve
from experiments.registry import CV, PRINTED_APS, STANDIN
from experiments.score import score_study
from kgl.laplacian import adjacency_from_edges, edges_from_adjacency

M, N, REPLICATES = 6, 9, 3
PSI = (1e-7, 1e-5, 1e-3, 1e-1)
AXES = {"lam": (0.1, 1.0), "rho": (0.01, 1.0), "psi": PSI}
TUNED = {"lam": (0.1, 1.0), "rho": (0.01, 1.0), "density": (0.3,)}
NAMES = np.array([f"node_{k}" for k in range(M)])
GROUPS = np.array(["roe", "roe", "clam", "clam", "vegetable", "vegetable"])


KGL = {"dependent": ["kgl"]}
BOTH = {"independent": ["kgl"], "dependent": ["kgl"]}
SUSHI = ("sushi", "sushi_literal", "sushi_scaled", "sushi_product", "sushi_rated7")
#: By name: the figure, its metrics, its models by kind of data, its levels, and other settings.
FIGURES: dict[str, tuple[Any, ...]] = {
    "recovery": ("curves.recovery", ["aps", "sse"],
                 {"independent": ["gl", "kgln"], "dependent": ["kgl"]},
                 {"missing": [0.5, 0.0, 0.25]}),
    "completion": ("curves.completion", ["mse_out"],
                   {"independent": ["kgln"], "dependent": ["kgl"]}, {"missing": [0.0, 0.3, 0.6]},
                   {"graphs": ("sbm", "ring"), "pool": True}),
    "sizes": ("curves.sizes", ["aps"], KGL, {"m": [10, 20, 40], "n": [10, 100]}, {"pool": True}),
    "viewpoint": ("viewpoint.draw", ["aps"], KGL, {"missing": [0.3]}),
    "graphs": ("sparsity.graphs", ["aps", "density"], BOTH, {"missing": [0.0]},
               {"options": {"data": "independent"}}),
    "printed": ("sparsity.printed", ["aps", "density"], BOTH, {"missing": [0.0]}),
    "heat_maps": ("heatmaps.draw", ["mse_out", "aps"], KGL, {"missing": [0.3]}),
    "swiss": ("real.swiss", ["aps", "sse", "mse_out"], {"swiss": ["gl", "kgl", "kernel_sparse"]},
              {"missing": [0.0, 0.3, 0.6]}),
    "map": ("maps.station_map", ["aps"], {"swiss": ["kgl"]}, {"missing": [0.5]},
            {"options": {"edges": 4}}),
    "imputed": ("maps.imputed", ["mse_out"], {"swiss": ["kgln", "kgl"]}, {"missing": [0.8]}),
    "sushi": ("real.sushi", ["nmi"], {"sushi": ["kgln", "kgl", "kernel"]}, {"n": [20, 40, 80]}),
    "attributes": ("real.attributes", ["nmi"], {"sushi": ["kernel"]},
                   {"scale": ["none", "minmax"],
                    "bandwidth_x": ["median_sq", "median_distance", "unit"]}),
    "specifications": ("real.specifications", ["nmi"],
                       {kind: ["kgl", "kernel"] for kind in SUSHI}, {"n": [20, 40]}),
    "items": ("maps.item_graph", ["nmi"], {"sushi": ["kgl"]}, {"n": [160]}),
}  # fmt: skip
REAL = list(FIGURES)[7:]


def make(folder: Path, name: str, **more: Any) -> Inputs:
    """Build the inputs of a figure from random data and fits, with some settings changed."""
    figure, metrics, models, levels, *rest = FIGURES[name]
    known = {"metrics": metrics, "models": models, "levels": levels, "graphs": ("sbm",)}
    known |= {"axes": TUNED if name in REAL else AXES} | (rest[0] if rest else {}) | more
    axes, levels, models = (known.pop(key) for key in ("axes", "levels", "models"))
    score: dict[str, Any] = {"aps": "weights", "best": "replicate"}
    score |= {"folds": 3, "cv_density": 0.3} if name in REAL else {}
    labels, made = [], []
    for graph, data in product(known.pop("graphs"), models):
        for model, level in product(models[data], product(*levels.values())):
            sizes = {"m": M, "n": N, "noise": 0.01, "missing": 0.0}
            sizes |= dict(zip(levels, level, strict=True))
            point = {"sweep": list(levels)[-1], "level": level[-1]}
            labels.append({"graph": graph, "data": data, **point, **sizes, "model": model})
            made.append(_arrays(len(made), axes, sizes["missing"], model))
            if name in REAL:
                _add_real(len(made) - 1, *made[-1], kernel=model.startswith("kernel"))
            if "sushi" in models:
                data_arrays, fit = made[-1]
                fit["nmi"] = fit.pop("aps_weights")
                del fit["aps_scores"], fit["sse"], fit["mse_out"], data_arrays["W"]
    cells = [(what, fit) for what, (_, fit) in zip(labels, made, strict=True)]
    table = score_study("made", cells, score)
    levelled = [_of(f"level-{k}", arrays) for k, (arrays, _) in enumerate(made)]
    together = {name: values for arrays in levelled for name, values in arrays.items()}
    drawn_from = [_save(folder / "data.npz", together)] * len(made)
    fits = [
        # a file of fits may have a model that the study has not
        _save(folder / f"level-{k}.npz", _of("other", {n: np.zeros_like(a) for n, a in fit.items()})
              | _of(what["model"], fit))
        for k, (what, fit) in enumerate(cells)
    ]  # fmt: skip
    config = {"figure": figure, "models": models, "sweep": levels, **known}
    return Inputs("made", config, {"protocol": {"score": score}}, table, labels, fits, drawn_from)


def _of(part: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Name arrays as in a file of several parts: models of fits, levels of data."""
    return {f"{part}/{name}": values for name, values in arrays.items()}


def _save(path: Path, arrays: dict[str, Any]) -> str:
    np.savez(path, **arrays, provenance=np.array("{}"))
    return str(path)


def _arrays(
    seed: int, axes: dict[str, tuple[float, ...]], missing: float, model: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    full = rng.normal(size=(REPLICATES, N, M))
    pairs = M * (M - 1) // 2
    W = adjacency_from_edges(rng.random((REPLICATES, pairs)) * (rng.random(pairs) < 0.5))
    gaps = rng.random(full.shape) < missing
    axes = {} if model.startswith("kernel") else axes
    points = np.array(list(product(*axes.values()))).T
    shape = (REPLICATES, points.shape[1])
    fit: dict[str, Any] = dict(zip((f"grid.{k}" for k in axes), points, strict=True))
    names = ("aps_weights", "aps_scores", "sse", "density", "mse_in", "mse_out")
    fit |= {k: rng.random(shape) for k in (*names, "n_iter", "kkt_residual")}
    if missing == 0 or model == "gl":
        fit["mse_out"] = np.full(shape, np.nan)
    weights = rng.random((*shape, pairs))
    fit["weights"] = np.where(weights < 0.4, 0.0, weights)
    fit["signals"] = rng.normal(size=(*shape, N, M))
    return {"Y": np.where(gaps, np.nan, full), "Y_full": full, "W": W}, fit


def _add_real(seed: int, data: dict[str, Any], fit: dict[str, Any], *, kernel: bool) -> None:
    """Add cross-validation, and what real data hold."""
    rng = np.random.default_rng([seed, 1])
    fit["mse_cv"] = np.full_like(fit["sse"], np.nan) if kernel else rng.random(fit["sse"].shape)
    extra = {"names": NAMES, "altitude": 500.0 * np.arange(1, M + 1), "groups": GROUPS}
    extra |= {"place": rng.random((M, 2)), "month_mean": 10.0 * np.arange(1, N + 1)}
    data |= {name: np.stack([values] * REPLICATES) for name, values in extra.items()}


@pytest.mark.parametrize("name", list(FIGURES))
def test_the_same_inputs_give_the_same_bytes(tmp_path: Path, name: str) -> None:
    inputs = make(tmp_path, name)
    files = []
    for _ in range(2):
        fig, numbers = resolve(f"experiments.figures.{inputs.config['figure']}")(inputs)
        fig.set_layout_engine("none")  # most of the time
        stream = io.BytesIO()
        fig.savefig(stream, dpi=40, metadata={"Software": None})
        files.append((stream.getvalue(), numbers.to_csv(index=False)))
    assert files[0] == files[1]


@pytest.fixture
def titles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The titles of the pictures that are written, without the time of drawing them."""
    found: list[str] = []

    def record(fig: Figure, path: Path, **_: Any) -> None:
        found.append(fig.get_suptitle())
        path.touch()

    monkeypatch.setattr(Figure, "savefig", record)
    return found


def known_of(inputs: Inputs) -> dict[str, Any]:
    """What the workflow gives to a figure besides files."""
    names = ("config", "settings", "labels", "simulated", "protocol")
    return {name: getattr(inputs, name) for name in names}


@pytest.mark.parametrize("simulated", [True, False])
@pytest.mark.parametrize("name", REAL)
def test_a_stand_in_is_marked_in_the_picture_and_in_the_table(
    name: str, simulated: bool, tmp_path: Path, titles: list[str]
) -> None:
    inputs = make(tmp_path, name)
    save_table(tmp_path / "t.parquet", inputs.table, {})
    known = known_of(inputs)
    outputs = [str(tmp_path / "made.csv"), str(tmp_path / "made.png")]
    paths: dict[str, Any] = {"fits": inputs.fits, "data": inputs.data, "outputs": outputs}
    draw("made", known | {"simulated": simulated}, table=str(tmp_path / "t.parquet"), **paths)
    assert titles == [STANDIN if simulated else ""]
    known["settings"] = {**inputs.settings, "notice": "PREVIEW"}
    draw("made", known | {"simulated": simulated}, table=str(tmp_path / "t.parquet"), **paths)
    assert titles[1] == (f"{STANDIN}, PREVIEW" if simulated else "PREVIEW")
    written = pd.read_csv(outputs[0])
    if simulated:
        assert set(written["source"]) == {STANDIN}
    else:
        assert not written.isin([STANDIN]).any(axis=None)


def test_a_picture_names_its_protocol(tmp_path: Path, titles: list[str]) -> None:
    inputs = make(tmp_path, "recovery")
    save_table(tmp_path / "t.parquet", inputs.table, {})
    noticed = {"settings": {**inputs.settings, "notice": "PREVIEW"}}
    for more in ({}, {"protocol": "printed"}, {"protocol": "printed", **noticed}):
        paths = {"fits": [], "data": [], "outputs": [str(tmp_path / "made.png")]}
        draw("made", known_of(inputs) | more, table=str(tmp_path / "t.parquet"), **paths)
    assert titles == ["", "protocol printed", "PREVIEW, protocol printed"]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("recovery", {"levels": FIGURES["sizes"][3]}, r"study\.sweep of made has 2 keys"),
        ("graphs", {"options": {"data": "spatial"}}, r"data = 'spatial'.*independent, dependent"),
        ("graphs", {"drop": "weights"}, r"study\.keep=\[weights\]"),
        ("viewpoint", {"drop": "signals"}, r"study\.keep of made: .* no signals"),
        (
            "heat_maps",
            {"options": {"psi": [1e-7, 0.5]}},
            r"0\.5 is not in the grid, .*1e-05",
        ),
        (
            "heat_maps",
            {"axes": {"rho": (1.0,), "psi": PSI}},
            r"study\.models .*: kgl has no lam",
        ),
        (
            "heat_maps",
            {"levels": {"missing": [0.0]}},
            r"study\.metrics .*: kgl has no mse_out",
        ),
    ],
)
def test_a_study_that_cannot_be_drawn_is_refused_with_the_remedy(
    tmp_path: Path, name: str, change: dict[str, Any], message: str
) -> None:
    inputs = make(tmp_path, name, **change)
    if drop := change.get("drop"):
        arrays = dict(np.load(inputs.fits[0]))
        np.savez(inputs.fits[0], **{k: v for k, v in arrays.items() if k != f"kgl/{drop}"})
    with pytest.raises(ValueError, match=message):
        resolve(f"experiments.figures.{inputs.config['figure']}")(inputs)


def test_recovery_draws_the_means_of_its_table(tmp_path: Path) -> None:
    inputs = make(tmp_path, "recovery")
    fig, numbers = drawn(inputs)
    cells = product(inputs.config["models"].items(), ("aps", "sse"))
    for ax, ((data, models), metric) in zip(fig.axes, cells, strict=True):
        for model in models:
            part = where(numbers, data=data, metric=metric, model=model).sort_values("level")
            known = registry.model(model)
            line = labelled(ax, known.label)
            np.testing.assert_allclose(line.get_ydata(), part["mean"])
            np.testing.assert_allclose(line.get_xdata(), [0.0, 0.25, 0.5], atol=0.02)
            assert (line.get_color(), line.get_marker()) == (known.color, known.marker)
            np.testing.assert_allclose(bars(ax, line), part[["p05", "p95"]])
        assert ax.get_title() == panels.title("sbm", data)
        assert ax.get_ylabel() == registry.axis_label(metric)
    assert fig.axes[0].get_ylim() == (0, 1)
    assert [legend(ax) for ax in fig.axes[1::2]] == [["GL", "KGL-N"], ["KGL"]]


def test_a_single_level_shows_as_points_and_families_have_rows(tmp_path: Path) -> None:
    levels, graphs = {"missing": [0.2]}, ("sbm", "ring")
    fig, _ = drawn(make(tmp_path, "recovery", levels=levels, graphs=graphs))
    low, high = fig.axes[0].get_xlim()
    assert low < labelled(fig.axes[0], "GL").get_xdata()[0] < high
    titles = [panels.title(*key) for key in product(graphs, ("independent", "dependent"))]
    assert [ax.get_title() for ax in fig.axes[::2]] == titles


def test_bars_do_not_depend_on_the_mean() -> None:
    part = pd.DataFrame({"mean": [0.9], "p05": [0.1], "p95": [0.3]})
    ax = Figure().subplots()
    line = panels.curve(ax, [1.0], part, color="#123456")
    np.testing.assert_allclose(bars(ax, line), [[0.1, 0.3]])


def test_completion_pools_families_and_takes_logarithms_of_a_wide_range(tmp_path: Path) -> None:
    inputs = make(tmp_path, "completion")
    fig, numbers = drawn(inputs)
    assert sorted(numbers["level"].unique()) == [0.3, 0.6]  # nothing is withheld at 0
    assert set(numbers["runs"]) == {2 * REPLICATES}
    for ax, model in zip(fig.axes, ("kgln", "kgl"), strict=True):
        expected = where(numbers, model=model)["mean"]
        np.testing.assert_allclose(labelled(ax, registry.model(model).label).get_ydata(), expected)
    assert fig.axes[0].get_yscale() == "linear"
    values = inputs.table["value"].where(inputs.table["model"] != "kgl", 1000.0)
    wide = replace(inputs, table=inputs.table.assign(value=values))
    assert drawn(wide)[0].axes[0].get_yscale() == "log"


def test_sizes_draws_a_line_per_number_of_nodes(tmp_path: Path) -> None:
    fig, numbers = drawn(make(tmp_path, "sizes"))
    (ax,) = fig.axes
    assert ax.get_xscale() == "log"
    lines = [labelled(ax, f"$m$ = {m}") for m in (10, 20, 40)]
    for m, line in zip((10, 20, 40), lines, strict=True):
        np.testing.assert_allclose(line.get_ydata(), where(numbers, m=m)["mean"])
        np.testing.assert_allclose(line.get_xdata(), [10, 100], rtol=0.1)
    assert len({mpl.colors.to_hex(line.get_color()) for line in lines}) == 3


def test_viewpoint_draws_the_arrays_of_its_table(tmp_path: Path) -> None:
    inputs = make(tmp_path, "viewpoint")
    _, data, fit = next(inputs.arrays())
    fig, numbers = drawn(inputs)
    best = int(np.argmin(fit["sse"][0]))
    (image,) = [image for ax in fig.axes for image in ax.get_images()]
    np.testing.assert_array_equal(image.get_array().filled(np.nan), data["Y"][0])
    matrix = where(numbers, panel="a")["value"].to_numpy(float).reshape(N, M)
    np.testing.assert_array_equal(matrix, data["Y"][0])
    functions = [ax for ax in fig.axes if len(ax.get_lines()) == 3]
    assert len(functions) == 2
    for ax, row in zip(functions, where(numbers, panel="b")["row"].unique(), strict=True):
        fitted, seen, withheld = (line.get_ydata() for line in ax.get_lines())
        np.testing.assert_array_equal(fitted, fit["signals"][0, best, row])
        part = where(numbers, panel="b", row=row)
        for values, kind in ((fitted, "fitted"), (seen, "observed"), (withheld, "withheld")):
            np.testing.assert_array_equal(values, part.loc[part["kind"] == kind, "value"])
    learned = numbers[(numbers["panel"] == "c") & numbers["kind"].isin(["correct", "false"])]
    weights = fit["weights"][0, best]
    np.testing.assert_allclose(sorted(learned["value"]), np.sort(weights[weights > 0]))
    true = data["W"][0][learned["node"].to_list(), learned["other"].to_list()] > 0
    assert (learned["kind"] == np.where(true, "correct", "false")).all()


def test_graphs_draws_weights_and_ground_truth_on_one_scale(tmp_path: Path) -> None:
    inputs = make(tmp_path, "graphs", graphs=("sbm", "ring"))
    fig, numbers = drawn(inputs)
    images = [image for ax in fig.axes[:10] for image in ax.get_images()]
    assert len(images) == 10
    assert len({(image.norm.vmin, image.norm.vmax) for image in images}) == 1
    _, data, fit = next(inputs.arrays())
    point = np.flatnonzero((fit["grid.lam"] == 0.1) & (fit["grid.rho"] == 0.01))[1]
    edges = fit["weights"][0, point]
    np.testing.assert_array_equal(edges_from_adjacency(images[1].get_array().filled(0.0)), edges)
    np.testing.assert_array_equal(images[4].get_array().filled(0.0), data["W"][0])
    shown = where(numbers, graph="sbm", psi=1e-5, quantity="weight")
    np.testing.assert_array_equal(shown["value"], edges[edges > 0])
    mean = where(numbers, graph="sbm", psi=1e-5, quantity="mean")["value"].item()
    assert mean == pytest.approx(fit["aps_weights"][:, point].mean())
    assert f"mean {mean:.2f}" in fig.axes[1].get_title()
    assert "paper 0.86" in fig.axes[1].get_title()
    assert "paper" not in fig.axes[6].get_title()  # not a family of the paper


def test_printed_puts_intervals_beside_the_paper(tmp_path: Path) -> None:
    fig, numbers = drawn(make(tmp_path, "printed"))
    (ax,) = fig.axes
    for data in ("independent", "dependent"):
        part = where(numbers, data=data)
        assert part["psi"].tolist() == list(PSI)
        assert part["paper"].tolist() == list(PRINTED_APS["sbm"])
        line = labelled(ax, f"KGL, {registry.name_of(data)}")
        np.testing.assert_allclose(line.get_ydata(), part["mean"])
        inside = (part["p05"] <= part["paper"]) & (part["paper"] <= part["p95"])
        assert (part["inside"] == inside).all()
    np.testing.assert_allclose(labelled(ax, "paper").get_ydata(), PRINTED_APS["sbm"])


def test_other_grids_are_drawn_at_the_nearest_point(tmp_path: Path) -> None:
    axes = {"lam": (0.02, 5.0), "rho": (0.05,), "psi": (1e-4, 1e-5)}
    inputs = make(tmp_path, "printed", axes=axes, models={"independent": ["kgl"]})
    _, numbers = drawn(inputs)
    assert numbers["psi"].tolist() == [1e-5, 1e-4]
    np.testing.assert_array_equal(numbers["paper"], [0.86, np.nan])
    _, _, fit = next(inputs.arrays())
    expected = fit["aps_weights"][:, fit["grid.lam"] == 0.02].mean(axis=0)[::-1]
    np.testing.assert_allclose(numbers["mean"], expected)


def test_heat_maps_draw_the_means_of_their_table(tmp_path: Path) -> None:
    fig, numbers = drawn(make(tmp_path, "heat_maps"))
    for ax, (metric, psi) in zip(fig.axes, product(("mse_out", "aps"), PSI), strict=False):
        part = where(numbers, metric=metric, psi=psi)
        table = part.pivot(index="rho", columns="lam", values="mean")
        (image,) = ax.get_images()
        np.testing.assert_array_equal(image.get_array(), table)
        best = part.loc[part["best"], "mean"].item()
        assert best == (part["mean"].min() if metric == "mse_out" else part["mean"].max())
        ((x, y),) = ax.get_lines()[0].get_xydata()
        assert table.iloc[int(y), int(x)] == best
    scales = [(image.norm.vmin, image.norm.vmax) for ax in fig.axes for image in ax.get_images()]
    assert len(set(scales[:4])) == len(set(scales[4:8])) == 1


@pytest.mark.parametrize("name", ["swiss", "sushi"])
def test_real_data_are_drawn_oracle_tuned_and_by_cross_validation(
    name: str, tmp_path: Path
) -> None:
    groups = name == "sushi"
    inputs, metrics = make(tmp_path, name), ["nmi"] if groups else ["aps", "sse"]
    fig, numbers = drawn(inputs)
    alone = "attributes alone" if groups else "altitude alone"
    for ax, (selection, metric) in zip(fig.axes, product((None, CV), metrics), strict=True):
        by = selection or metric
        rows = inputs.table[inputs.table["selected_by"] == by]
        means = rows[rows["metric"] == metric].groupby(["model", "level"])["value"].mean()
        for model in inputs.config["models"][name]:
            if model.startswith("kernel"):
                height = labelled(ax, alone).get_ydata()[0]
                assert height == pytest.approx(means[model].mean())
                continue
            line = labelled(ax, registry.model(model).label)
            np.testing.assert_allclose(line.get_ydata(), means[model])
            assert line.get_color() == registry.model(model).color
            part = where(numbers, metric=metric, model=model, selected_by=by)
            np.testing.assert_allclose(bars(ax, line), part[["p05", "p95"]])
        assert (registry.SELECTIONS[CV][1:] in ax.get_title()) == (selection == CV)
    assert legend(fig)[-1] == alone
    assert set(numbers["selected_by"]) == {*inputs.config["metrics"], CV}


def test_attributes_draws_a_dot_for_each_specification_beside_the_paper(tmp_path: Path) -> None:
    inputs = make(tmp_path, "attributes")
    fig, numbers = drawn(inputs)
    (ax,) = fig.axes
    rules = ("median_distance", "median_sq", "unit")
    assert legend(ax)[:3] == [real.RULES[rule] for rule in rules]
    assert ticks(ax) == [real.SCALES["none"], real.SCALES["minmax"]]
    for rule in rules:
        line = labelled(ax, real.RULES[rule])
        rows = where(inputs.table, level=rule, selected_by="nmi", metric="nmi")
        expected = rows.groupby("scale")["value"].mean()[["none", "minmax"]]
        np.testing.assert_allclose(line.get_ydata(), expected)
        np.testing.assert_allclose(line.get_xdata(), [0, 1], atol=0.3)
    dashed = [line for line in ax.get_lines() if line.get_linestyle() == "--"]
    assert {y for line in dashed for y in line.get_ydata()} == {real.PRINTED}
    assert set(numbers["paper"]) == {real.PRINTED}


def test_specifications_have_a_panel_each(tmp_path: Path) -> None:
    fig, numbers = drawn(make(tmp_path, "specifications"))
    shown = [ax for ax in fig.axes if ax.get_visible()]
    kinds = list(dict.fromkeys(numbers["data"]))
    assert len(shown) == len(kinds) == 5
    assert len(fig.axes) == 8  # two rows of four
    for ax, kind in zip(shown, kinds, strict=True):
        assert ax.get_title().startswith(registry.name_of(kind))
        part = where(numbers, data=kind, model="kgl").sort_values("level")
        np.testing.assert_allclose(labelled(ax, "KGL").get_ydata(), part["mean"])
        alone = where(numbers, data=kind, model="kernel")["mean"].mean()
        assert labelled(ax, "attributes alone").get_ydata()[0] == pytest.approx(alone)


def test_the_map_draws_the_heaviest_edges_and_writes_all(tmp_path: Path) -> None:
    inputs = make(tmp_path, "map")
    _, data, fit = next(inputs.arrays())
    fig, numbers = drawn(inputs)
    truth = data["W"][0]
    learned = adjacency_from_edges(fit["weights"][0, int(np.argmin(fit["mse_cv"][0]))])
    for name, W, ax in zip(("ground_truth", "kgl"), (truth, learned), fig.axes, strict=False):
        part = where(numbers, graph=name)
        first, second = (part[c].map(NAMES.tolist().index) for c in ("node", "other"))
        assert len(part) == np.count_nonzero(np.triu(W))
        np.testing.assert_array_equal(part["weight"], W[first, second])
        assert part["weight"].is_monotonic_decreasing
        right, wrong, dots = ax.collections
        assert len(right.get_segments()) + len(wrong.get_segments()) == min(4, len(part))
        heaviest = list(zip(first[:4], second[:4], strict=True))
        false = [pair for pair in heaviest if truth[pair] == 0]
        for (a, b), segment in zip(sorted(false), wrong.get_segments(), strict=True):
            np.testing.assert_allclose(segment, dots.get_offsets()[[a, b]])
        np.testing.assert_allclose(dots.get_offsets()[:, 1], data["place"][0][:, 1])
        np.testing.assert_allclose(dots.get_array(), data["altitude"][0])
    assert not fig.axes[0].collections[1].get_segments()  # no edge of the ground truth is false
    assert fig.axes[1].collections[1].get_segments()
    both = np.triu((truth > 0) & (learned > 0)).sum() / np.triu(learned > 0).sum()
    assert fig.legends[0].get_title().get_text().startswith(f"{both:.0%}")


def test_imputed_draws_what_was_withheld_and_writes_errors_alone(tmp_path: Path) -> None:
    inputs = make(tmp_path, "imputed")
    fig, numbers = drawn(inputs)
    points = [int(np.argmin(fit["mse_cv"][0])) for _, _, fit in inputs.arrays()]
    assert len(set(points)) > 1  # cross-validation selects another one for each model
    for ax, at, (labels, data, fit) in zip(fig.axes, points, inputs.arrays(), strict=True):
        level = data["month_mean"][0][:, None]
        true = data["Y_full"][0] + level
        filled = fit["signals"][0, at] + level
        hidden = np.isnan(data["Y"][0])
        for k, dots in enumerate(ax.collections):
            expected = np.column_stack([true[k, hidden[k]], filled[k, hidden[k]]])
            np.testing.assert_allclose(dots.get_offsets(), expected)
        error = (filled - true)[hidden]
        (row,) = where(numbers, model=labels["model"], month="all").to_dict("records")
        assert row["withheld"] == hidden.sum()
        assert row["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
        assert f"{row['rmse']:.2f}" in ax.get_title()
        assert row["bias"] == pytest.approx(error.mean())
        assert row["correlation"] == pytest.approx(np.corrcoef(true[hidden], filled[hidden])[0, 1])
        # the data must not be passed on
        written = numbers.select_dtypes("number").to_numpy().ravel()
        for temperatures in (true, data["Y_full"][0], filled):
            assert np.abs(written[:, None] - temperatures.ravel()).min() > 1e-9


def test_the_graph_of_items_marks_the_groups(tmp_path: Path) -> None:
    inputs = make(tmp_path, "items")
    _, _, fit = next(inputs.arrays())
    at = int(np.argmin(fit["mse_cv"][0]))
    fig, numbers = drawn(inputs)
    (ax,) = fig.axes
    assert legend(fig) == ["roe", "clam", "vegetable"]
    W = adjacency_from_edges(fit["weights"][0, at])
    within = np.equal.outer(GROUPS, GROUPS)
    *names, text = (text.get_text() for text in ax.texts)
    assert names == [f"node {k}" for k in range(M)]
    # of 15 pairs, 3 are of one group
    for number in (f"{fit['nmi'][0, at]:.2f}", f"{W[within].sum() / W.sum():.0%}", "20%"):
        assert number in text
    between, inside, *dots = ax.collections
    assert len(between.get_segments()) == np.count_nonzero(np.triu(W) * ~within)
    assert len(inside.get_segments()) == np.count_nonzero(np.triu(W) * within)
    assert [len(part.get_offsets()) for part in dots] == [2, 2, 2]
    assert numbers["weight"].sum() == pytest.approx(np.triu(W).sum())
    assert set(numbers["node"]) | set(numbers["other"]) <= set(NAMES)
