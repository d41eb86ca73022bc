"""The real data as sources: on the stand-in everywhere, and on the files where they are."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from experiments.datasets.real import WORTH, facts, sushi, swiss
from experiments.datasets.synthetic import build
from experiments.lookup import ConfigError
from kgl.datasets import DataUnavailableError, find, load_sushi, load_swiss
from kgl.laplacian import Array, pairwise_sq_distances
from kgl.solvers.graph_step import graph_step


def settings(files: str, options: dict[str, Any], **data: Any) -> dict[str, Any]:
    m, n = {"swiss": (89, 3), "sushi": (32, 20)}[files]
    plain = {"n": n, "missing": 0.0, "bandwidth": "median_distance", "source": "simulated"}
    graph = {"family": "given", "m": data.pop("m", m), "density": data.pop("density", 0.3)}
    return {
        "make": f"experiments.datasets.real.{files}",
        "seed": data.pop("seed", 0),
        "replicates": data.pop("replicates", 2),
        "graph": graph,
        "data": plain | {"files": files, "options": options} | data,
    }


SWISS = {"unit": "km", "bandwidth_x": "median_distance", "keep_one": False}
SUSHI = {"min_rated": 8, "centre": "reviewer", "scale": "none", "combine": "mean"}
SUSHI |= {"bandwidth_x": "median_distance"}


def stations(options: dict[str, Any] | None = None, replicate: int = 0, **data: Any) -> Any:
    return swiss(settings("swiss", SWISS | (options or {}), **data), replicate)


def reviews(options: dict[str, Any] | None = None, replicate: int = 0, **data: Any) -> Any:
    return sushi(settings("sushi", SUSHI | (options or {}), **data), replicate)


def rbf(values: Array, gamma: float) -> Array:
    return np.exp(-gamma * pairwise_sq_distances(np.asarray(values, dtype=float).T))


def median(values: Array, power: int = 1) -> float:
    """Median over all pairs of a power of their distance."""
    squared = pairwise_sq_distances(np.asarray(values, dtype=float).T)
    return float(np.median(squared[np.triu_indices(len(squared), 1)] ** (power / 2)))


# ------------------------------------------------------------------------------------------ swiss


def test_the_first_months_and_the_kernels_of_altitudes_and_months() -> None:
    loaded = load_swiss(source="simulated")
    arrays = stations()
    shapes = {"Y": (3, 89), "Y_full": (3, 89), "W": (89, 89), "K_x": (89, 89), "K_z": (3, 3)}
    shapes |= {"names": (89,), "altitude": (89,), "place": (89, 2), "month_mean": (3,)}
    assert {name: values.shape for name, values in arrays.items()} == shapes
    temperature = loaded.temperature.to_numpy()[:3]
    np.testing.assert_allclose(arrays["Y_full"] + arrays["month_mean"][:, None], temperature)
    np.testing.assert_allclose(arrays["Y_full"].mean(axis=1), 0.0, atol=1e-12)
    np.testing.assert_array_equal(arrays["Y"], arrays["Y_full"])
    altitude = loaded.x[["altitude"]].to_numpy()
    np.testing.assert_array_equal(arrays["altitude"], altitude[:, 0])
    np.testing.assert_array_equal(arrays["place"], loaded.x[["longitude", "latitude"]])
    assert arrays["names"].tolist() == loaded.x.index.tolist()
    kilometres = altitude / 1000
    np.testing.assert_allclose(arrays["K_x"], rbf(kilometres, 1 / median(kilometres)))
    # months 1, 2, 3: the median distance is 1
    np.testing.assert_allclose(arrays["K_z"], rbf(np.array([[1.0], [2.0], [3.0]]), 1.0))


@pytest.mark.parametrize("rule", ["median_distance", "median_sq", 0.7])
@pytest.mark.parametrize(("unit", "factor"), [("m", 1.0), ("km", 1e-3)])
def test_unit_and_bandwidth_of_the_altitudes(unit: str, factor: float, rule: Any) -> None:
    altitude = factor * load_swiss(source="simulated").x[["altitude"]].to_numpy()
    gamma = {"median_distance": 1 / median(altitude), "median_sq": 1 / median(altitude, 2)}
    K_x = stations({"unit": unit, "bandwidth_x": rule})["K_x"]
    np.testing.assert_allclose(K_x, rbf(altitude, gamma.get(rule, 0.7)), atol=1e-12)


def test_metres_make_nearly_the_identity_and_the_literal_rule_knows_no_unit() -> None:
    wide, narrow = stations()["K_x"], stations({"unit": "m"})["K_x"]
    off = ~np.eye(89, dtype=bool)
    assert narrow[off].mean() < 0.1 < 0.4 < wide[off].mean()
    literal = [stations({"unit": u, "bandwidth_x": "median_sq"})["K_x"] for u in ("m", "km")]
    np.testing.assert_allclose(*literal, atol=1e-12)


def test_the_bandwidth_of_the_months_is_that_of_the_data() -> None:
    np.testing.assert_allclose(
        stations(bandwidth=0.25)["K_z"], rbf(np.array([[1.0], [2.0], [3.0]]), 0.25)
    )
    np.testing.assert_allclose(stations(bandwidth=0.25)["K_x"], stations()["K_x"])


@pytest.mark.parametrize("keep_one", [False, True])
def test_masks_are_nested_in_the_rate(keep_one: bool) -> None:
    rates = (0.0, 0.3, 0.6, 0.9)
    gaps = [np.isnan(stations({"keep_one": keep_one}, missing=rate)["Y"]) for rate in rates]
    for rate, fewer, more in zip(rates[1:], gaps[:-1], gaps[1:], strict=True):
        assert (fewer <= more).all()
        if not keep_one:
            assert more.mean() == pytest.approx(rate, abs=0.1)
    empty = gaps[-1].all(axis=0)
    assert empty.mean() == 0 if keep_one else empty.mean() > 0.5
    for rate in rates:
        full = stations({"keep_one": keep_one}, missing=rate)
        assert np.isfinite(full["Y_full"]).all()
        seen = ~np.isnan(full["Y"])
        np.testing.assert_array_equal(full["Y"][seen], full["Y_full"][seen])


def test_masks_differ_between_replicates_and_seeds_and_nothing_else_does() -> None:
    first, second, other = (
        stations(missing=0.5),
        stations(missing=0.5, replicate=1),
        stations(missing=0.5, seed=1),
    )
    for arrays in (second, other):
        assert not np.array_equal(np.isnan(arrays["Y"]), np.isnan(first["Y"]))
        for name in set(first) - {"Y"}:
            np.testing.assert_array_equal(arrays[name], first[name])


@pytest.mark.parametrize("density", [0.1, 0.3])
def test_the_truth_is_the_graph_of_all_twelve_months_at_the_wanted_density(density: float) -> None:
    W = stations(density=density, missing=0.5)["W"]
    pairs = 89 * 88 // 2
    assert np.count_nonzero(np.triu(W, 1)) == pytest.approx(density * pairs, abs=pairs // 500)
    assert W.sum() == pytest.approx(89)
    np.testing.assert_array_equal(W, W.T)
    # of all months, so that it is a solution of GL for some psi and not for other months
    Z = pairwise_sq_distances(load_swiss(source="simulated").Y.to_numpy())
    upper = np.triu_indices(89, 1)
    costs, weights, degrees = Z[upper], W[upper], W.sum(axis=1)
    rise = 2 * weights + degrees[upper[0]] + degrees[upper[1]]
    on = weights > 1e-6
    # the gradient, costs + 2 psi rise, is the same on all edges, which gives psi
    slope, _ = np.polyfit(rise[on], costs[on], 1)
    again = graph_step(Z[None], np.array([-slope / 2])).weights[0]
    np.testing.assert_allclose(again, W, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "data", "says"),
    [
        ({"unit": "feet"}, {}, r"data\.options\.unit = 'feet'; valid: m, km"),
        ({}, {"n": 13}, r"data\.n = 13 months; the year has 12"),
        ({}, {"m": 32}, r"graph\.m = 32, but the data have 89 nodes.*stations"),
    ],
)
def test_swiss_settings_that_cannot_be(
    options: dict[str, Any], data: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        stations(options, **data)


def test_a_rule_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="median_mode"):
        stations({"bandwidth_x": "median_mode"})
    with pytest.raises(ValueError, match="median_mode"):
        reviews({"bandwidth_x": "median_mode"})


# ------------------------------------------------------------------------------------------ sushi


def test_the_reviewers_and_the_kernels_of_attributes_and_features() -> None:
    loaded = load_sushi(source="simulated", min_rated=8)
    arrays = reviews()
    shapes = {"Y": (20, 32), "Y_full": (20, 32), "K_x": (32, 32), "K_z": (20, 20)}
    shapes |= {"groups": (32,), "names": (32,), "raw": (20, 32), "centre": ()}
    assert {name: values.shape for name, values in arrays.items()} == shapes
    np.testing.assert_array_equal(arrays["Y"], arrays["Y_full"])
    # ratings as they are, for means without those that are held out
    np.testing.assert_array_equal(arrays["raw"], reviews({"centre": "none"})["Y"])
    assert str(arrays["centre"]) == "reviewer"
    assert (~np.isnan(arrays["Y"])).sum(axis=1).min() >= 8
    assert arrays["groups"].tolist() == loaded.groups.astype(str).tolist()
    assert arrays["names"].tolist() == loaded.ratings.columns.tolist()
    attributes = loaded.attributes.to_numpy()
    np.testing.assert_allclose(arrays["K_x"], rbf(attributes, 1 / median(attributes)))
    for name in ("groups", "names"):  # NumPy's own text: arrays of objects cannot be saved
        assert arrays[name].dtype.kind == "U"


def test_the_kernel_of_reviewers_is_the_mean_over_features_of_those_who_were_drawn() -> None:
    loaded = load_sushi(source="simulated", min_rated=8)
    drawn = rows_of(reviews({"centre": "none"})["Y"], loaded.ratings.to_numpy())
    z = loaded.z.iloc[drawn]
    numbers = z[["age", "seconds"]].to_numpy()
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    numeric = rbf(numbers, 1 / median(numbers))
    overlap = [
        np.where(np.equal.outer(c, c), 1.0, 0.5)
        for c in (z[name].astype(str).to_numpy() for name in z if name not in ("age", "seconds"))
    ]
    assert len(overlap) == 8
    np.testing.assert_allclose(reviews()["K_z"], (2 * numeric + sum(overlap)) / 10)
    product = numeric * np.prod(overlap, axis=0)
    np.testing.assert_allclose(reviews({"combine": "product"})["K_z"], product, atol=1e-12)
    np.testing.assert_allclose(
        reviews(bandwidth=0.4)["K_z"], (2 * rbf(numbers, 0.4) + sum(overlap)) / 10
    )


@pytest.mark.parametrize(
    ("scale", "by"),
    [("standard", lambda a: a / a.std(axis=0)), ("minmax", lambda a: a / np.ptp(a, axis=0))],
)
def test_attributes_may_be_scaled(scale: str, by: Any) -> None:
    attributes = by(load_sushi(source="simulated").attributes.to_numpy())
    for rule, power in (("median_distance", 1), ("median_sq", 2)):
        K_x = reviews({"scale": scale, "bandwidth_x": rule})["K_x"]
        np.testing.assert_allclose(K_x, rbf(attributes, 1 / median(attributes, power)))


def rows_of(Y: Array, ratings: Array) -> list[int]:
    """Find the rows of Y among all ratings."""
    known = {row.tobytes(): k for k, row in enumerate(np.nan_to_num(ratings))}
    assert len(known) == len(ratings)
    return [known[row.tobytes()] for row in np.nan_to_num(Y)]


def test_reviewers_are_nested_in_their_number() -> None:
    few, many = reviews(n=20), reviews(n=60)
    np.testing.assert_array_equal(many["Y"][:20], few["Y"])
    ratings = load_sushi(source="simulated").ratings.to_numpy()
    plain = {"centre": "none"}
    drawn = [rows_of(reviews(plain, r, n=60)["Y"], ratings) for r in (0, 1)]
    assert len(set(drawn[0])) == 60
    assert set(drawn[0]) != set(drawn[1])
    assert drawn[0] != rows_of(reviews(plain, seed=1, n=60)["Y"], ratings)
    assert sorted(rows_of(reviews(plain, n=182)["Y"], ratings)) == list(range(182))


def test_centring_takes_off_the_mean_of_what_was_rated() -> None:
    plain = reviews({"centre": "none"})["Y"]
    assert set(np.unique(plain[~np.isnan(plain)])) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    empty = np.isnan(plain).all(axis=0)
    for how, axis in (("reviewer", 1), ("item", 0), ("all", None)):
        Y = reviews({"centre": how})["Y"]
        assert np.array_equal(np.isnan(Y), np.isnan(plain))
        sums = np.nansum(Y, axis=axis)
        np.testing.assert_allclose(sums, 0.0, atol=1e-10)
        # a constant of each row, column, or of all
        shift = plain - Y
        spread = np.nanmax(shift[:, ~empty], axis=axis) - np.nanmin(shift[:, ~empty], axis=axis)
        np.testing.assert_allclose(spread, 0.0, atol=1e-12)
        assert np.nanmin(np.abs(shift)) > 1.0


def test_items_that_nobody_rated_are_centred_without_a_word() -> None:
    Y = reviews({"centre": "item"}, n=2)["Y"]
    assert np.isnan(Y).all(axis=0).any()
    assert np.nanmax(np.abs(Y)) < 5


def test_who_rated_fewer_may_be_drawn_too() -> None:
    assert (~np.isnan(reviews({"min_rated": 4}, n=182)["Y"])).sum(axis=1).min() < 8
    assert reviews({"min_rated": 7}, n=697)["Y"].shape == (697, 32)


@pytest.mark.parametrize(
    ("options", "data", "says"),
    [
        ({"centre": "rows"}, {}, r"data\.options\.centre = 'rows'; valid: reviewer, item, all"),
        ({}, {"n": 183}, r"data\.n = 183 reviewers; 182 have rated at least 8.*min_rated"),
        ({}, {"m": 89}, r"graph\.m = 89, but the data have 32 nodes.*items \(Sushi\)"),
    ],
)
def test_sushi_settings_that_cannot_be(
    options: dict[str, Any], data: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        reviews(options, **data)


@pytest.mark.parametrize(
    "options", [{"scale": "unit"}, {"combine": "sum"}, {"min_rated": 11}, {"min_rated": "many"}]
)
def test_options_that_are_none_are_refused_by_value(options: dict[str, Any]) -> None:
    (value,) = options.values()
    with pytest.raises((ValueError, TypeError), match=str(value)):
        reviews(options)


# --------------------------------------------------------------------------- both, and their facts


@pytest.mark.parametrize(("files", "options"), [("swiss", SWISS), ("sushi", SUSHI)])
def test_replicates_are_stacked(files: str, options: dict[str, Any]) -> None:
    spec = settings(files, options, missing=0.4)
    arrays = build(spec)
    make = {"swiss": swiss, "sushi": sushi}[files]
    for r in range(2):
        for name, values in make(spec, r).items():
            np.testing.assert_array_equal(arrays[name][r], values)


@pytest.mark.parametrize(("files", "options"), [("swiss", SWISS), ("sushi", SUSHI)])
def test_real_data_are_never_replaced_in_silence(
    files: str, options: dict[str, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgl.datasets import files as places

    monkeypatch.delenv("KGL_DATA_DIR", raising=False)
    monkeypatch.setattr(places, "_checkout", lambda: tmp_path)
    monkeypatch.setattr(places, "_cache", lambda: tmp_path)
    with pytest.raises(DataUnavailableError, match="KGL_OFFLINE"):
        build(settings(files, options, source="real"))
    with pytest.raises(DataUnavailableError):
        facts(files, "real")


def table(files: str, source: str) -> dict[str, tuple[float, float]]:
    rows = facts(files, source)
    assert {row["files"] for row in rows} == {files}
    assert {row["source"] for row in rows} == {source}
    return {row["quantity"]: (row["value"], row["paper"]) for row in rows}


def test_facts_of_the_stand_in_are_those_of_its_tables() -> None:
    swiss_facts = table("swiss", "simulated")
    assert swiss_facts["stations"] == (89, 89)
    assert swiss_facts["months"] == (12, 12)
    altitude = load_swiss(source="simulated").x["altitude"]
    assert swiss_facts["lowest altitude (m)"][0] == altitude.min()
    assert swiss_facts["highest altitude (m)"][0] == altitude.max()
    sushi_facts = table("sushi", "simulated")
    assert sushi_facts["items"] == (32, 32)
    loaded = load_sushi(source="simulated", min_rated=6)
    assert sushi_facts["reviewers with 6 or more ratings"][0] == len(loaded.ratings)
    assert sushi_facts["sparsity with 6 or more ratings"][0] == pytest.approx(loaded.sparsity)
    assert np.isnan(sushi_facts["sparsity with 6 or more ratings"][1])
    eight = load_sushi(source="simulated", min_rated=8).sparsity
    assert sushi_facts["sparsity"] == (pytest.approx(eight), 0.74)


def real(files: str) -> str:
    """Return a source, or skip where the files are not to be had."""
    if not os.environ.get("KGL_DATA_DIR"):
        pytest.skip("KGL_DATA_DIR is not set: no real data")
    if find(files) is None:
        pytest.skip(f"KGL_DATA_DIR has no {files}")
    return "real"


def test_facts_of_the_real_temperatures() -> None:
    found = table("swiss", real("swiss"))
    values = {name: value for name, (value, _) in found.items()}
    worth = {name: values.pop(name) for name in list(values) if name.startswith(WORTH)}
    assert values == {
        "stations": 89,
        "months": 12,
        "lowest altitude (m)": 203,
        "highest altitude (m)": 3580,
    }
    # the truth links 30 % of the pairs; altitude knows much of it
    assert worth[f"{WORTH}: share of true pairs"] == pytest.approx(0.3, abs=0.01)
    assert 0.6 < worth[f"{WORTH}: APS"] < 1


def test_facts_of_the_real_reviews() -> None:
    found = table("sushi", real("sushi"))
    assert found["items"][0] == 32
    sizes = {"red-meat": 7, "clam": 6, "blue-skinned": 8, "vegetable": 6, "roe": 5}
    for name, size in sizes.items():
        assert found[f"items: {name}"] == (size, size)
    assert found["sparsity"][0] == pytest.approx(0.7459, abs=5e-5)
    assert found["reviewers with 8 or more ratings"][0] == 182
    assert found["reviewers with 7 or more ratings"][0] == 697


def test_real_data_make_the_arrays_of_the_stand_in() -> None:
    source = real("swiss")
    for r in range(2):
        arrays, other = stations(source=source, missing=0.5, replicate=r), stations(missing=0.5)
        assert {k: v.shape for k, v in arrays.items()} == {k: v.shape for k, v in other.items()}
        assert not np.array_equal(arrays["altitude"], other["altitude"])
    source = real("sushi")
    drawn, made = reviews(source=source), reviews()
    assert {k: v.shape for k, v in drawn.items()} == {k: v.shape for k, v in made.items()}
    assert drawn["groups"].tolist() == made["groups"].tolist()
    assert drawn["names"].tolist() != made["names"].tolist()
