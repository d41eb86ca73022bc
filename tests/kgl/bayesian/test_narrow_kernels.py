"""Kernels over observations that can hardly represent a constant have no levels to draw."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kgl


@pytest.mark.parametrize("kind", ["contrasts", "centred line"])
def test_one_gap_changes_little(kind: str) -> None:
    rng = np.random.default_rng(0)
    n, m = 30, 6
    t = np.linspace(-1, 1, n)
    pairs = np.kron(np.eye(n // 2), [[1.0, -1.0], [-1.0, 1.0]])
    K = pairs if kind == "contrasts" else np.outer(t, t)
    values, vectors = np.linalg.eigh(K)
    common = (vectors * np.sqrt(np.maximum(values, 0.0))) @ rng.standard_normal((n, 1))
    Y = common + 0.1 * rng.standard_normal((n, m))
    gap = Y.copy()
    gap[3, 2] = np.nan
    found = []
    for data in (Y, gap):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kgl.BayesianKGL(n_chains=8, n_warmup=30, n_draws=30).fit(data, K_z=K)
        assert np.isfinite(model.signals_).all()
        found.append(model.edge_probability_)
    np.testing.assert_allclose(found[0], found[1], atol=0.2)
