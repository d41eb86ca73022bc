"""``python -m experiments``: one cell, a multirun, and what is refused."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import kgl
from experiments.cli import _check_hydra_settings
from experiments.lookup import ConfigError, conf_dir

TINY = ["replicates=2", "grid=tiny", "protocol.data.m=8", "protocol.data.n=12"]


def run(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "experiments", *arguments],
        cwd=directory,
        env={"PATH": "", "PYTHONPATH": str(conf_dir().parent), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_one_cell(tmp_path: Path) -> None:
    done = run(tmp_path, "graph=er", "model=kgl", "data.noise=0.5", *TINY)
    assert done.returncode == 0, done.stderr
    assert "er-independent/noise-0.5_missing-0.0/kgl" in done.stdout
    (path,) = tmp_path.glob("results/one-off/*/*/summary.csv")
    summary = pd.read_csv(path).set_index("metric")
    data = [kgl.simulate.make_dataset("er", m=8, n=12, noise=0.5, seed=5000, replicate=r)
            for r in range(2)]  # fmt: skip
    best = []
    for made in data:
        grid = kgl.fit_grid(
            kgl.KGL, made.Y, K_x=made.K_x, average=True, lam=[1e-2, 1], rho=[1e-2, 1],
            psi=[1e-7, 1e-5, 1e-3, 1e-1], center="none", scale="none",
        )  # fmt: skip
        best.append(kgl.select_oracle(grid, made.W).value)
    assert summary.loc["aps", "mean"] == pytest.approx(sum(best) / 2, abs=1e-5)
    assert summary.loc["aps", "runs"] == 2


def test_a_multirun_ends_with_one_table(tmp_path: Path) -> None:
    done = run(tmp_path, "--multirun", "graph=er", "model=gl,kgln", "data.missing=0.3", *TINY)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("results/one-off/*/*/summary.csv")
    summary = pd.read_csv(path)
    assert list(summary["model"].unique()) == ["gl", "kgln"]
    assert "2 cells" in done.stdout
    # GL fits no signals
    assert set(summary.loc[summary["metric"] == "mse_out", "model"]) == {"kgln"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["data.nois=1"], "did you mean 'data.noise'?"),
        (["data.noise=-1"], "override 'data.noise=-1'"),
        (["study=fig2"], "snakemake --cores 8 --config study=fig2"),
        (["model=kgll"], "did you mean 'kgl'?"),
        (["-m", "+hydra.callbacks.mine._target_=os.abort"], "hydra.callbacks cannot be set here"),
    ],
)
def test_what_is_refused(tmp_path: Path, arguments: list[str], says: str) -> None:
    done = run(tmp_path, *arguments)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "override",
    [
        "hydra.searchpath=[pkg://mine]",
        "+hydra.searchpath=[]",
        "~hydra.callbacks",
        "hydra/callbacks=x",
    ],
)
def test_settings_of_hydra_without_effect_are_refused(override: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot be set here; options are files of conf/"):
        _check_hydra_settings(["graph=er", override])
    _check_hydra_settings(["-m", "hydra.run.dir=elsewhere", "hydra/launcher=basic"])
