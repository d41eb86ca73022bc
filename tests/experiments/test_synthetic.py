"""Data of the replication: the arrays of every replicate are those of kgl.simulate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.datasets.synthetic import build, synthetic
from experiments.lookup import ConfigError
from kgl.random_graphs import GRAPH_FAMILIES
from kgl.simulate import make_dataset

GRAPH = {"family": "sbm", "m": 9, "density": 0.4, "alpha": 20.0, "weights": "uniform"}
GRAPH |= {"connected": False, "options": {"blocks": 3, "ratio": 4.0}}
DATA = {"dependent": True, "n": 14, "noise": 0.2, "missing": 0.3, "bandwidth": "median_sq"}


def settings(graph: dict[str, Any] | None = None, **data: Any) -> dict[str, Any]:
    known = {"make": "experiments.datasets.synthetic.synthetic", "seed": 5, "replicates": 3}
    return known | {"graph": GRAPH | (graph or {}), "data": DATA | data}


@pytest.mark.parametrize("dependent", [True, False])
@pytest.mark.parametrize(
    "graph",
    [
        {},
        {"family": "er", "options": {}, "weights": "unit"},
        {"family": "er", "options": {}, "density": 0.2, "connected": True},
        {"family": "ba", "options": {"attachment": 2}, "unit_variance": True},
    ],
    ids=["sbm", "er", "connected", "ba"],
)
def test_every_replicate_is_what_the_simulation_draws(
    graph: dict[str, Any], dependent: bool
) -> None:
    arrays = build(settings(graph, dependent=dependent))
    shapes = {"Y": (3, 14, 9), "Y_full": (3, 14, 9), "W": (3, 9, 9), "K_x": (3, 9, 9)}
    if dependent:
        shapes["K_z"] = (3, 14, 14)
    assert {name: values.shape for name, values in arrays.items()} == shapes
    keywords = {**GRAPH, **graph, **DATA, "dependent": dependent, "seed": 5}
    family, options = keywords.pop("family"), keywords.pop("options")
    for r in range(3):
        data = make_dataset(family, replicate=r, **keywords, **options)
        for name in shapes:
            np.testing.assert_array_equal(arrays[name][r], getattr(data, name))
    assert np.ptp(arrays["W"].reshape(3, -1), axis=0).max() > 0  # replicates differ


def test_levels_of_noise_and_of_missing_entries_share_their_draws() -> None:
    quiet, loud = build(settings(noise=0.0, missing=0.0)), build(settings(noise=2.0, missing=0.6))
    for name in ("W", "K_x", "K_z"):
        assert np.array_equal(quiet[name], loud[name])
    assert not np.array_equal(quiet["Y_full"], loud["Y_full"])
    few = build(settings(noise=2.0, missing=0.2))
    assert np.array_equal(few["Y_full"], loud["Y_full"])
    assert np.isfinite(loud["Y_full"]).all()
    gaps, more = np.isnan(few["Y"]), np.isnan(loud["Y"])
    assert (gaps <= more).all()
    assert 0.1 < gaps.mean() < 0.3 < 0.45 < more.mean()
    assert np.array_equal(few["Y"][~gaps], few["Y_full"][~gaps])


def test_a_noise_level_may_be_a_standard_deviation() -> None:
    deviation = build(settings(noise=0.5, noise_axis="deviation"))
    assert np.array_equal(deviation["Y"], build(settings(noise=0.25))["Y"], equal_nan=True)
    assert not np.array_equal(deviation["Y_full"], build(settings(noise=0.5))["Y_full"])


def test_the_scale_of_the_kernel_is_a_setting_of_the_graph() -> None:
    plain, scaled = build(settings()), build(settings({"scale": 9.0}))
    np.testing.assert_allclose(scaled["K_x"], 9.0 * plain["K_x"], rtol=1e-12)


def test_seed_options_and_number_of_replicates() -> None:
    first = build(settings())
    assert not np.array_equal(first["W"], build({**settings(), "seed": 6})["W"])
    two_blocks = settings({"options": {"blocks": 2, "ratio": 4.0}})
    assert not np.array_equal(first["W"], build(two_blocks)["W"])
    many = build({**settings(), "replicates": 5})
    assert len(many["Y"]) == 5
    for name, values in first.items():
        np.testing.assert_array_equal(values, many[name][:3])


def test_each_replicate_is_reported() -> None:
    lines: list[str] = []
    build(settings(), lines.append)
    assert [line.partition(":")[0] for line in lines] == [f"replicate {k}/3" for k in (1, 2, 3)]
    share = np.isnan(synthetic(settings(), 0)["Y"]).mean()
    assert f"14 x 9, {share:.1%} missing" in lines[0]


MODULE = """
import numpy as np


def ring(m, rng, *, density, step=1):
    links = np.zeros((m, m), dtype=bool)
    nodes = np.arange(m)
    links[nodes, (nodes + step) % m] = True
    return links | links.T


def counting(settings, replicate):
    n, m = settings["data"]["n"], settings["graph"]["m"]
    Y = np.full((n, m), float(replicate))
    return {"Y": Y, "Y_full": Y, "W": np.ones((m, m)) - np.eye(m), "K_x": np.eye(m)}
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "replication_own_sources.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    known = dict(GRAPH_FAMILIES)
    yield "replication_own_sources"
    for name in set(GRAPH_FAMILIES) - set(known):
        del GRAPH_FAMILIES[name]


@pytest.mark.parametrize(("options", "step"), [({}, 1), ({"step": 2}, 2)])
def test_a_family_is_found_by_its_path(mine: str, options: dict[str, int], step: int) -> None:
    arrays = build(settings({"family": f"{mine}.ring", "options": options}))
    nodes = np.arange(9)
    expected = np.zeros((9, 9), dtype=bool)
    expected[nodes, (nodes + step) % 9] = expected[(nodes + step) % 9, nodes] = True
    assert np.array_equal(arrays["W"] > 0, np.stack([expected] * 3))
    assert arrays["W"].sum(axis=(1, 2)) == pytest.approx(np.full(3, 9.0))
    assert not np.array_equal(arrays["W"][0], arrays["W"][1])  # weights are drawn


def test_a_source_is_found_by_its_path_and_a_misspelt_one_refused(mine: str) -> None:
    arrays = build({**settings(), "make": f"{mine}.counting"})
    assert arrays["Y"].shape == (3, 14, 9)
    assert arrays["Y"][:, 0, 0].tolist() == [0.0, 1.0, 2.0]
    assert "K_z" not in arrays
    with pytest.raises(ConfigError, match=r"graph family .*did you mean 'ring'\?"):
        build(settings({"family": f"{mine}.rings"}))
    with pytest.raises(ConfigError, match=r"data\.make .*did you mean 'counting'\?"):
        build({**settings(), "make": f"{mine}.count"})
    with pytest.raises(ValueError, match="unknown graph family 'sbn'"):
        build(settings({"family": "sbn"}))
