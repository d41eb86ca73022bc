"""Which entries are held out: at random, in blocks, or as the data's own gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgl
from kgl._progress import reporter
from kgl.folds import _mean_run, split

RNG = np.random.default_rng(0)


def gaps(n: int = 40, m: int = 6) -> np.ndarray:
    mask = np.ones((n, m), dtype=bool)
    for j in range(m):
        mask[5 * j : 5 * j + 6, j] = False
    return mask


@pytest.mark.parametrize("how", ["auto", "random", "blocks", "gaps"])
def test_only_observed_entries_are_held_out_and_every_row_and_column_keeps_one(how: str) -> None:
    mask = gaps()
    folds = split(mask, 4, np.random.default_rng(1), how)
    assert len(folds) == 4
    for held in folds:
        assert held.any()
        assert not (held & ~mask).any()
        left = mask & ~held
        assert left.any(axis=0).all()
        assert left.any(axis=1).all()


def test_blocks_are_runs_and_cover_every_entry_once() -> None:
    mask = np.ones((40, 6), dtype=bool)
    folds = split(mask, 4, np.random.default_rng(1), "blocks")
    assert np.mean([_mean_run(held) for held in folds]) > 3
    assert (np.sum(folds, axis=0) <= 1).all()
    assert np.sum(folds) > 0.95 * mask.size


def test_gaps_are_those_of_the_data_moved() -> None:
    mask = gaps()
    for held in split(mask, 3, np.random.default_rng(2), "gaps"):
        assert held.sum() <= (~mask).sum()
        assert _mean_run(held) > 2


def test_auto_follows_the_pattern_of_missing_entries() -> None:
    rng = np.random.default_rng
    scattered = RNG.random((40, 6)) < 0.8
    for mask, how in ((gaps(), "gaps"), (scattered, "random"), (np.ones((9, 4), bool), "random")):
        one, two = split(mask, 3, rng(3), "auto"), split(mask, 3, rng(3), how)
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_gaps_of_complete_data_and_too_many_folds_are_refused() -> None:
    with pytest.raises(ValueError, match="Y is complete; use folds='random'"):
        split(np.ones((9, 4), dtype=bool), 3, RNG, "gaps")
    with pytest.raises(ValueError, match="use fewer"):
        split(gaps(), 60, RNG, "gaps")


def test_folds_and_kernels_are_choices_of_select_held_out() -> None:
    data = kgl.simulate.make_dataset("er", m=6, n=40, dependent=True)
    kernels = [kgl.kernels.RBF(gamma=1e3), kgl.kernels.RBF(gamma=0.5)]
    common: dict[str, Any] = {"z": np.arange(40.0), "lam": [0.01], "rho": [0.1], "n_folds": 3}
    both = kgl.select_held_out(kgl.KGLO, data.Y, kernel_z=kernels, folds="blocks", **common)
    alone = [
        kgl.select_held_out(kgl.KGLO, data.Y, kernel_z=kernel, folds="blocks", **common)
        for kernel in kernels
    ]
    best = min(range(2), key=lambda k: alone[k].mse.min())
    assert both.kernels == {"kernel_z": kernels[best]}
    assert np.array_equal(both.mse, alone[best].mse)
    assert both.estimator.kernel_z == kernels[best]
    own = split(~np.isnan(data.Y), 3, np.random.default_rng(0), "blocks")
    given = kgl.select_held_out(kgl.KGLO, data.Y, kernel_z=kernels[1], folds=own, **common)
    assert np.array_equal(given.mse, alone[1].mse)
    for bad in ("sometimes", [own[0]], [own[0], own[1][:3]]):
        with pytest.raises(ValueError, match="folds"):
            kgl.select_held_out(kgl.KGLO, data.Y, folds=bad, **common)  # type: ignore[arg-type]


def test_progress_is_written_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    data = kgl.simulate.make_dataset("er", m=5, n=20)
    grid: dict[str, Any] = {"lam": [0.1], "rho": [0.1], "n_folds": 2}
    kgl.select_held_out(kgl.KGLN, data.Y, progress=True, **grid)
    assert "[kgl] fold 2 of 2" in capsys.readouterr().err
    kgl.select_held_out(kgl.KGLN, data.Y, **grid)
    assert capsys.readouterr().err == ""
    calls: list[tuple[int, int]] = []
    kgl.select_held_out(kgl.KGLN, data.Y, progress=lambda a, b: calls.append((a, b)), **grid)
    assert calls == [(1, 2), (2, 2)]
    with pytest.raises(TypeError, match="progress = 'yes' must be"):
        reporter("yes", "fold")
