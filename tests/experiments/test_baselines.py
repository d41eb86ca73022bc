"""Graphs read off a kernel without any fit."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.baselines import kernel_graph


def test_a_kernel_used_as_the_graph_keeps_its_heaviest_pairs() -> None:
    K_x = np.array(
        [[5.0, 0.4, 0.3, -0.9], [0.4, 5.0, 0.2, 0.1], [0.3, 0.2, 5.0, 0.0], [-0.9, 0.1, 0.0, 5.0]]
    )
    before = K_x.copy()
    every = kernel_graph(np.full((2, 4), np.nan), K_x=K_x)
    assert every.sum() == pytest.approx(4.0)
    np.testing.assert_allclose(every / every[0, 1], np.maximum(K_x - 5 * np.eye(4), 0.0) / 0.4)
    for density_, kept in ((1 / 6, 1), (0.3, 2), (0.5, 3), (0.01, 1)):
        W = kernel_graph(np.zeros((2, 4)), K_x=K_x, density=density_)
        assert np.count_nonzero(np.triu(W)) == kept
        assert W[0, 1] == W.max() > 0
        assert W.sum() == pytest.approx(4.0)
    assert not kernel_graph(np.zeros((1, 3)), K_x=np.eye(3)).any()
    np.testing.assert_array_equal(K_x, before)
