"""The real data as sources: on the stand-in everywhere, and on the files where they are."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from experiments.datasets.real import choose_source, facts, sushi, swiss
from experiments.datasets.synthetic import build
from experiments.lookup import ConfigError
from kgl._types import Array
from kgl.datasets import DataUnavailableError, find, load_sushi, load_swiss
from kgl.laplacian import pairwise_sq_distances
from kgl.solvers.graph_step import graph_step

SWISS = {"unit": "km", "bandwidth_x": "median_distance", "keep_one": False}
SUSHI = {"min_rated": 8, "centre": "reviewer", "scale": "none", "combine": "mean"}
SUSHI |= {"bandwidth_x": "median_distance"}
BOTH = pytest.mark.parametrize(("files", "options"), [("swiss", SWISS), ("sushi", SUSHI)])


def settings(files: str, options: dict[str, Any], **data: Any) -> dict[str, Any]:
    m, n = {"swiss": (89, 3), "sushi": (32, 20)}[files]
    plain = {"n": n, "missing": 0.0, "bandwidth": "median_distance", "source": "simulated"}
    graph = {"family": "given", "m": data.pop("m", m), "density": data.pop("density", 0.3)}
    known = {"make": f"experiments.datasets.real.{files}", "seed": data.pop("seed", 0)}
    data = plain | {"files": files, "options": options} | data
    return known | {"replicates": 2, "graph": graph, "data": data}


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


def test_swiss_arrays_are_those_of_the_tables() -> None:
    loaded = load_swiss(source="simulated")
    arrays = stations()
    more = {"names", "altitude", "place", "month_mean"}
    assert set(arrays) == {"Y", "Y_full", "W", "K_x", "K_z"} | more
    temperature = loaded.temperature.to_numpy()[:3]
    np.testing.assert_allclose(arrays["Y_full"] + arrays["month_mean"][:, None], temperature)
    np.testing.assert_allclose(arrays["Y_full"].mean(axis=1), 0.0, atol=1e-12)
    np.testing.assert_array_equal(arrays["Y"], arrays["Y_full"])
    np.testing.assert_array_equal(arrays["altitude"], loaded.x["altitude"])
    np.testing.assert_array_equal(arrays["place"], loaded.x[["longitude", "latitude"]])
    assert arrays["names"].tolist() == loaded.x.index.tolist()
    months = np.array([[1.0], [2.0], [3.0]])  # their median distance is 1
    np.testing.assert_allclose(arrays["K_z"], rbf(months, 1.0))
    np.testing.assert_allclose(stations(bandwidth=0.25)["K_z"], rbf(months, 0.25))
    np.testing.assert_allclose(stations(bandwidth=0.25)["K_x"], arrays["K_x"])


@pytest.mark.parametrize("rule", ["median_distance", "median_sq", 0.7])
@pytest.mark.parametrize(("unit", "factor"), [("m", 1.0), ("km", 1e-3)])
def test_unit_and_bandwidth_of_the_altitudes(unit: str, factor: float, rule: Any) -> None:
    altitude = factor * load_swiss(source="simulated").x[["altitude"]].to_numpy()
    gamma = {"median_distance": 1 / median(altitude), "median_sq": 1 / median(altitude, 2)}
    K_x = stations({"unit": unit, "bandwidth_x": rule})["K_x"]
    np.testing.assert_allclose(K_x, rbf(altitude, gamma.get(rule, 0.7)), atol=1e-12)


@pytest.mark.parametrize("keep_one", [False, True])
def test_masks_are_nested_in_the_rate(keep_one: bool) -> None:
    rates = (0.0, 0.3, 0.6, 0.9)
    made = [stations({"keep_one": keep_one}, missing=rate) for rate in rates]
    gaps = [np.isnan(arrays["Y"]) for arrays in made]
    for rate, fewer, more in zip(rates[1:], gaps[:-1], gaps[1:], strict=True):
        assert (fewer <= more).all()
        assert keep_one or more.mean() == pytest.approx(rate, abs=0.1)
    empty = gaps[-1].all(axis=0)
    assert empty.mean() == 0 if keep_one else empty.mean() > 0.5
    for arrays, hidden in zip(made, gaps, strict=True):
        assert np.isfinite(arrays["Y_full"]).all()
        np.testing.assert_array_equal(arrays["Y"][~hidden], arrays["Y_full"][~hidden])


def test_replicates_and_seeds_differ_in_their_masks_alone() -> None:
    first = stations(missing=0.5)
    for arrays in (stations(missing=0.5, replicate=1), stations(missing=0.5, seed=1)):
        assert not np.array_equal(np.isnan(arrays["Y"]), np.isnan(first["Y"]))
        for name in set(first) - {"Y"}:
            np.testing.assert_array_equal(arrays[name], first[name])


@pytest.mark.parametrize("density", [0.1, 0.3])
def test_the_ground_truth_is_the_graph_of_all_months_at_the_density(density: float) -> None:
    W = stations(density=density, missing=0.5)["W"]
    pairs = 89 * 88 // 2
    assert np.count_nonzero(np.triu(W, 1)) == pytest.approx(density * pairs, abs=pairs // 500)
    assert W.sum() == pytest.approx(89)
    np.testing.assert_array_equal(W, W.T)
    Z = pairwise_sq_distances(load_swiss(source="simulated").Y.to_numpy())
    upper = np.triu_indices(89, 1)
    costs, weights, degrees = Z[upper], W[upper], W.sum(axis=1)
    rise = 2 * weights + degrees[upper[0]] + degrees[upper[1]]
    on = weights > 1e-6
    # the gradient, costs + 2 psi rise, is the same on all edges, which gives psi
    slope, _ = np.polyfit(rise[on], costs[on], 1)
    again = graph_step(Z[None], np.array([-slope / 2])).weights[0]
    np.testing.assert_allclose(again, W, atol=1e-4)


def rows_of(Y: Array, ratings: Array) -> list[int]:
    """Find the rows of Y among all ratings."""
    known = {row.tobytes(): k for k, row in enumerate(np.nan_to_num(ratings))}
    assert len(known) == len(ratings)
    return [known[row.tobytes()] for row in np.nan_to_num(Y)]


def test_sushi_arrays_are_those_of_the_tables() -> None:
    loaded = load_sushi(source="simulated", min_rated=8)
    arrays = reviews()
    assert set(arrays) == {"Y", "Y_full", "K_x", "K_z", "groups", "names", "raw", "centre"}
    np.testing.assert_array_equal(arrays["Y"], arrays["Y_full"])
    # ratings without centring, for the means that cross-validation takes
    np.testing.assert_array_equal(arrays["raw"], reviews({"centre": "none"})["Y"])
    assert str(arrays["centre"]) == "reviewer"
    assert (~np.isnan(arrays["Y"])).sum(axis=1).min() >= 8
    assert arrays["groups"].tolist() == loaded.groups.astype(str).tolist()
    assert arrays["names"].tolist() == loaded.ratings.columns.tolist()
    for name in ("groups", "names"):  # NumPy's own text: arrays of objects cannot be saved
        assert arrays[name].dtype.kind == "U"


def test_the_kernel_of_reviewers_combines_their_features() -> None:
    loaded = load_sushi(source="simulated", min_rated=8)
    z = loaded.z.iloc[rows_of(reviews({"centre": "none"})["Y"], loaded.ratings.to_numpy())]
    numbers = z[["age", "seconds"]].to_numpy()
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    numeric = rbf(numbers, 1 / median(numbers))
    texts = [z[name].astype(str).to_numpy() for name in z if name not in ("age", "seconds")]
    overlap = [np.where(np.equal.outer(text, text), 1.0, 0.5) for text in texts]
    assert len(overlap) == 8
    np.testing.assert_allclose(reviews()["K_z"], (2 * numeric + sum(overlap)) / 10)
    product = numeric * np.prod(overlap, axis=0)
    np.testing.assert_allclose(reviews({"combine": "product"})["K_z"], product, atol=1e-12)
    other = (2 * rbf(numbers, 0.4) + sum(overlap)) / 10
    np.testing.assert_allclose(reviews(bandwidth=0.4)["K_z"], other)


@pytest.mark.parametrize(("rule", "power"), [("median_distance", 1), ("median_sq", 2)])
@pytest.mark.parametrize("scale", ["none", "standard", "minmax"])
def test_scale_and_bandwidth_of_the_attributes(scale: str, rule: str, power: int) -> None:
    attributes = load_sushi(source="simulated").attributes.to_numpy()
    by = {"none": 1.0, "standard": attributes.std(axis=0), "minmax": np.ptp(attributes, axis=0)}
    scaled = attributes / by[scale]
    K_x = reviews({"scale": scale, "bandwidth_x": rule})["K_x"]
    np.testing.assert_allclose(K_x, rbf(scaled, 1 / median(scaled, power)))


def test_draws_of_reviewers_are_nested_in_their_number() -> None:
    few, many = reviews(n=20), reviews(n=60)
    np.testing.assert_array_equal(many["Y"][:20], few["Y"])
    ratings = load_sushi(source="simulated").ratings.to_numpy()
    plain = {"centre": "none"}
    drawn = [rows_of(reviews(plain, r, n=60)["Y"], ratings) for r in (0, 1)]
    assert len(set(drawn[0])) == 60
    assert set(drawn[0]) != set(drawn[1])
    assert drawn[0] != rows_of(reviews(plain, seed=1, n=60)["Y"], ratings)
    assert sorted(rows_of(reviews(plain, n=182)["Y"], ratings)) == list(range(182))
    assert (~np.isnan(reviews({"min_rated": 4}, n=182)["Y"])).sum(axis=1).min() < 8


@pytest.mark.parametrize(("how", "axis"), [("reviewer", 1), ("item", 0), ("all", None)])
def test_centring_subtracts_the_mean_of_the_ratings(how: str, axis: int | None) -> None:
    for n in (20, 2):  # with two reviewers some items have no rating
        plain = reviews({"centre": "none"}, n=n)["Y"]
        seen = ~np.isnan(plain)
        assert set(np.unique(plain[seen])) <= {1.0, 2.0, 3.0, 4.0, 5.0}
        Y = reviews({"centre": how}, n=n)["Y"]
        assert np.array_equal(np.isnan(Y), ~seen)
        np.testing.assert_allclose(np.nansum(Y, axis=axis), 0.0, atol=1e-10)
        shift = np.where(seen, plain - Y, 0.0)
        mean = shift.sum(axis, keepdims=True) / np.maximum(seen.sum(axis, keepdims=True), 1)
        np.testing.assert_allclose(shift[seen], np.broadcast_to(mean, Y.shape)[seen], atol=1e-12)


@pytest.mark.parametrize(
    ("make", "options", "data", "named"),
    [
        (stations, {"unit": "feet"}, {}, r"data\.options\.unit = 'feet'; valid: m, km"),
        (stations, {}, {"n": 13}, r"data\.n = 13 months.*12"),
        (stations, {}, {"m": 32}, r"graph\.m = 32, but the data have 89 nodes.*stations"),
        (stations, {"bandwidth_x": "median_mode"}, {}, "median_mode"),
        (reviews, {"bandwidth_x": "median_mode"}, {}, "median_mode"),
        (reviews, {"centre": "rows"}, {}, r"data\.options\.centre = 'rows'; valid: reviewer"),
        (reviews, {}, {"n": 183}, r"data\.n = 183 reviewers; 182 rated at least 8.*min_rated"),
        (reviews, {}, {"m": 89}, r"graph\.m = 89, but the data have 32 nodes.*items"),
        (reviews, {"scale": "unit"}, {}, "unit"),
        (reviews, {"combine": "sum"}, {}, "sum"),
        (reviews, {"min_rated": 11}, {}, "11"),
        (reviews, {"min_rated": "many"}, {}, "many"),
    ],
)
def test_invalid_settings_are_refused(make: Any, options: Any, data: Any, named: str) -> None:
    with pytest.raises((ValueError, TypeError), match=named) as caught:
        make(options, **data)
    assert isinstance(caught.value, ConfigError) or "data" not in named


@BOTH
def test_real_data_are_never_replaced_without_notice(
    files: str, options: dict[str, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from experiments.datasets import real as module
    from kgl.datasets import files as places

    monkeypatch.delenv("KGL_DATA_DIR", raising=False)
    monkeypatch.setattr(places, "_checkout", lambda: tmp_path)
    monkeypatch.setattr(places, "_cache", lambda: tmp_path)
    with pytest.raises(DataUnavailableError, match="KGL_OFFLINE"):
        build(settings(files, options, source="real"))
    with pytest.raises(DataUnavailableError):
        facts(files, "real")
    monkeypatch.setattr(module, "why_unavailable", module.why_unavailable.__wrapped__)  # no cache
    with pytest.raises(ConfigError, match=r"data\.source = real"):
        choose_source(files, "real")
    source, reason = choose_source(files, "auto")
    assert source == "simulated"
    assert "KGL_OFFLINE" in reason


def table(files: str, source: str) -> dict[str, tuple[float, float]]:
    rows = facts(files, source)
    assert {(row["files"], row["source"]) for row in rows} == {(files, source)}
    assert len({row["key"] for row in rows}) == len({row["quantity"] for row in rows}) == len(rows)
    return {row["key"]: (row["value"], row["paper"]) for row in rows}


def test_facts_of_the_stand_in_are_those_of_its_tables() -> None:
    found = table("swiss", "simulated")
    assert (found["stations"], found["months"]) == ((89, 89), (12, 12))
    altitude = load_swiss(source="simulated").x["altitude"]
    assert (found["altitude_min"][0], found["altitude_max"][0]) == (altitude.min(), altitude.max())
    found = table("sushi", "simulated")
    assert found["items"] == (32, 32)
    six = load_sushi(source="simulated", min_rated=6)
    assert found["reviewers_6"][0] == len(six.ratings)
    assert found["sparsity_6"][0] == pytest.approx(six.sparsity)
    assert np.isnan(found["sparsity_6"][1])
    eight = load_sushi(source="simulated", min_rated=8).sparsity
    assert found["sparsity"] == (pytest.approx(eight), 0.74)


def real(files: str) -> str:
    """Return a source, or skip where the files are unavailable."""
    if not os.environ.get("KGL_DATA_DIR") or find(files) is None:
        pytest.skip(f"no {files} in KGL_DATA_DIR")
    return "real"


def test_facts_of_the_real_data() -> None:
    found = table("swiss", real("swiss"))
    keys = ("stations", "months", "altitude_min", "altitude_max")
    assert [found[key][0] for key in keys] == [89, 12, 203, 3580]
    # the true graph links 30 % of the pairs; altitude is informative about it
    assert found["kx_share"][0] == pytest.approx(0.3, abs=0.01)
    assert 0.6 < found["kx_aps"][0] < 1
    found = table("sushi", real("sushi"))
    assert found["items"][0] == 32
    for name in ("red-meat", "clam", "blue-skinned", "vegetable", "roe"):
        assert found[f"items_{name}"][0] == found[f"items_{name}"][1]
    assert found["sparsity"][0] == pytest.approx(0.7459, abs=5e-5)
    assert (found["reviewers_8"][0], found["reviewers_7"][0]) == (182, 697)


@pytest.mark.parametrize(("make", "files"), [(stations, "swiss"), (reviews, "sushi")])
def test_real_data_make_the_arrays_of_the_stand_in(make: Any, files: str) -> None:
    arrays, other = make(source=real(files)), make()
    assert {k: v.shape for k, v in arrays.items()} == {k: v.shape for k, v in other.items()}
    assert arrays["names"].tolist() != other["names"].tolist()
