"""Columns that move opposite to others are turned round, and only these."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import kgl
from kgl.bayesian.flips import node_signs
from kgl.bayesian.signals import Rows
from kgl.kernels import kernel_eigen
from kgl.simulate import make_dataset, time_kernel

FLIPS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0])


def rows(n: int, dependent: bool = False) -> Rows:
    return Rows.of(kernel_eigen(time_kernel(n) if dependent else None, "K_z", n))


def connected(missing: float = 0.0, dependent: bool = False) -> kgl.simulate.SyntheticData:
    return make_dataset(
        "er", m=8, n=200, density=0.6, connected=True, noise=0.001, missing=missing,
        dependent=dependent, seed=3,
    )  # fmt: skip


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore that short chains have not converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_flipped_columns_are_found(missing: float) -> None:
    data = connected(missing)
    mask = data.mask if missing else None
    Y = np.where(np.isfinite(data.Y), data.Y, 0.0)
    np.testing.assert_array_equal(node_signs(Y, mask, rows(200)), np.ones(8))
    np.testing.assert_array_equal(node_signs(Y * FLIPS, mask, rows(200)), FLIPS)


def test_dependent_rows_count_for_fewer() -> None:
    # two independent walks look correlated by chance
    rng = np.random.default_rng(0)
    turned = 0
    root = np.linalg.cholesky(time_kernel(60) + 1e-6 * np.eye(60))
    for _ in range(50):
        Y = root @ rng.standard_normal((60, 6))
        turned += int((node_signs(Y, None, rows(60, dependent=True)) < 0).any())
    assert turned <= 2


def test_pure_noise_is_left_alone() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        Y = rng.standard_normal((100, 20))
        assert (node_signs(Y, None, rows(100)) > 0).all()


def test_a_fit_of_flipped_columns_is_the_fit_with_other_signs() -> None:
    data = connected(missing=0.1)
    options = {"n_chains": 4, "n_warmup": 10, "n_draws": 10}
    with quiet():
        plain = kgl.BayesianKGL(**options).fit(data.Y)
        turned = kgl.BayesianKGL(**options).fit(data.Y * FLIPS)
    np.testing.assert_allclose(turned.edge_probability_, plain.edge_probability_)
    np.testing.assert_array_equal(turned.signs_, np.outer(FLIPS, FLIPS))
    np.testing.assert_allclose(turned.signals_, plain.signals_ * FLIPS, atol=1e-12)
    filled, std = turned.impute(data.Y * FLIPS, return_std=True)
    own, own_std = plain.impute(data.Y, return_std=True)
    np.testing.assert_allclose(filled, own * FLIPS, atol=1e-12)
    np.testing.assert_allclose(std, own_std)
    y = turned.signals_[0]
    assert y @ turned.laplacian_ @ y == pytest.approx(
        plain.signals_[0] @ plain.laplacian_ @ plain.signals_[0]
    )


def test_unsigned_fits_turn_nothing_round() -> None:
    data = connected()
    with quiet():
        model = kgl.BayesianKGL(signed=False, n_chains=4, n_warmup=10, n_draws=10)
        model.fit(data.Y * FLIPS)
    assert (model.signs_ == 1.0).all()
