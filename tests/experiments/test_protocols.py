"""The two named protocols are those that the registered rule names, with grids in their units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.config import compose, option
from experiments.figures import Inputs
from experiments.figures.leak import draw
from experiments.inference.design import load_design
from experiments.io import load_table
from experiments.lookup import ROOT, ConfigError
from experiments.plan import make_plan
from experiments.publish import scored
from experiments.registry import PROTOCOLS


@pytest.fixture(scope="module")
def named() -> pd.DataFrame:
    table, _ = load_table(ROOT / "figures/inference.parquet")
    return table[table["table"] == "named"].set_index("name")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_protocols_are_those_that_the_registered_rule_names(
    protocol: str, named: pd.DataFrame
) -> None:
    values, row = compose([f"protocol={protocol}"]).values()["protocol"], named.loc[protocol]
    data, fit = values["data"], values["fit"]
    assert (data["alpha"], data["n"], data["bandwidth"], data["noise_axis"]) == (
        row["alpha"], row["n"], row["bandwidth"], row["axis"],
    )  # fmt: skip
    assert np.isclose(data["scale"] / data["alpha"], row["scale"])
    assert fit["average"] == (row["smoothness"] == "averaged")
    assert (fit["decimals"] is None) == (row["decimals"] == "none")
    assert fit["decimals"] is None or str(fit["decimals"]) == row["decimals"]
    # what the protocols have no key for
    assert (row["kernel"], row["trace"], row["grid"]) == ("exact", "m", "wide")
    # settings that were not inferred are those of the base
    base = compose(["protocol=paper"]).values()["protocol"]
    changed = {"n", "alpha", "scale", "noise_axis", "bandwidth"}
    assert {k: v for k, v in data.items() if k not in changed} == {
        k: v for k, v in base["data"].items() if k not in changed
    }
    assert values["score"] == base["score"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_grids_have_the_registered_ranges_in_the_units_of_the_protocol(
    protocol: str, named: pd.DataFrame
) -> None:
    row, points = named.loc[protocol], load_design("registered")["points"]
    s, n = row["scale"], row["n"]
    for name, start in (("noise", ""), ("paper", "missing_")):
        grid = option("grid", f"{name}-{protocol}")
        lam = np.array(points[f"{start}lam"])
        for key, unit in (("lam", s), ("lam_identity", 1.0)):
            assert min(grid[key]) <= lam[0] * unit * 1.01
            assert max(grid[key]) >= lam[-1] * unit * 0.99
        # summed over n observations; for the rho of each row every registered ratio is at hand
        for rho in grid["rho"]:
            ratios = np.array(grid["psi"]) / (s * n * rho)
            if points[f"{start}rho"][0] <= rho * n <= points[f"{start}rho"][-1]:
                assert ratios.min() <= points["ratio"][0] * 10
                assert ratios.max() >= points["ratio"][-1] / 10


def test_a_grid_for_a_protocol_takes_the_place_of_the_general_one() -> None:
    plan = make_plan("fig2", ["replicates=1", "levels.noise=[0.5]"])
    for protocol in PROTOCOLS:
        cells = plan.studies[f"fig2-{protocol}"].cells
        grid = next(cell for cell in cells if cell.model == "kgl").fit["grid"]
        assert grid["lam"] == option("grid", f"noise-{protocol}")["lam"]
        other = next(cell for cell in cells if cell.model == "kglo").fit["grid"]
        assert other["lam"] == option("grid", f"noise-{protocol}")["lam_identity"]
    former = make_plan("fig2", ["replicates=1", "levels.noise=[0.5]"], protocol="paper")
    grid = next(c for c in former.cells.values() if c.model == "kgl").fit["grid"]
    assert grid["lam"] == option("grid", "noise")["lam"]
    # one that is asked for by name has no file for a protocol
    tiny = make_plan("fig2", ["grid=tiny", "levels.noise=[0.5]"], protocol="printed")
    assert {len(c.fit["grid"]["psi"]) for c in tiny.cells.values()} <= {3, 4}


def test_a_comparison_is_made_from_the_tables_of_all_protocols() -> None:
    plan = make_plan("leak")
    names = [f"{s}-{p}" for p in PROTOCOLS for s in ("control_noise", "control_kx")]
    assert list(plan.studies) == ["leak", *names]
    assert set(scored(plan, "leak")) == {f"results/paper/tables/{name}.parquet" for name in names}
    with pytest.raises(ConfigError, match="does not apply to leak"):
        make_plan("leak", protocol="printed")


def test_a_comparison_of_studies_that_are_not_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    (tmp_path / "conf/study/alone.yaml").write_text("studies: [fig1, leak]\n")
    monkeypatch.setenv("KGL_CONF", str(tmp_path / "conf"))
    with pytest.raises(ConfigError, match="names 'control_noise', which this run does not make"):
        make_plan("alone")


def _scores(study: str, data: str, model: str, level: str, values: list[float]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "study": study, "graph": "sbm", "data": data, "level": level, "model": model,
            "replicate": range(len(values)), "selected_by": "aps", "metric": "aps", "value": values,
        }
    )  # fmt: skip


def test_the_leak_shows_the_gain_against_the_kernel_alone() -> None:
    parts = []
    for protocol, shift in (("printed", 0.0), ("described", 0.1)):
        noise, side = f"control_noise-{protocol}", f"control_kx-{protocol}"
        for data, value in (("independent", 0.9), ("pure_noise", 0.8)):
            for model in ("gl", "kgln", "kernel"):
                parts.append(_scores(noise, data, model, "0.0", [value, value - 0.02]))
        parts.append(_scores(side, "custom_kernel", "gl", "oracle", [0.5, 0.6]))
        for level, kgln, alone in (("oracle", 0.8 + shift, 0.95), ("identity", 0.55, 0.3)):
            parts.append(_scores(side, "custom_kernel", "kgln", level, [kgln, kgln]))
            parts.append(_scores(side, "custom_kernel", "kernel", level, [alone, alone]))
    table = pd.concat(parts, ignore_index=True)
    figure, numbers = draw(Inputs("leak", {}, {}, table))
    gains = numbers[numbers["metric"] == "gain"].set_index(["protocol", "level"])
    assert gains.loc[("printed", "oracle"), "mean"] == pytest.approx(0.25)
    assert gains.loc[("described", "oracle"), "mean"] == pytest.approx(0.35)
    assert gains.loc[("printed", "identity"), "mean"] == pytest.approx(0.0)
    assert gains.loc[("printed", "identity"), "kernel"] == pytest.approx(0.3)
    levels = numbers[numbers["metric"] == "aps"].set_index(["protocol", "data", "model"])
    assert levels.loc[("printed", "pure_noise", "kgln"), "mean"] == pytest.approx(0.79)
    assert len(figure.axes) == 2
