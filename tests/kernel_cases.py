"""Covariates, graphs and helpers that the tests of kgl.kernels share."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import strategies as st

RNG = np.random.default_rng(7)
X = RNG.normal(size=(12, 3))
X_NEW = RNG.normal(size=(5, 3))
RING = np.roll(np.eye(8), 1, axis=1) + np.roll(np.eye(8), -1, axis=1)
L_RING = 2.0 * np.eye(8) - RING
SPD = X @ X.T + np.eye(12)
finite = st.floats(-1e3, 1e3, allow_subnormal=False)


def frame() -> pd.DataFrame:
    """Every dtype a covariate may have; 'row' is what a user may want ignored."""
    return pd.DataFrame(
        {
            "price": [1.0, 2.5, 3.0, 2.0, 1.5, 4.0],
            "style": ["maki", "nigiri", "maki", "maki", "nigiri", "nigiri"],
            "age": pd.array([1, 3, 2, 5, 4, 0], dtype="Int64"),
            "group": pd.Categorical([0, 1, 2, 0, 1, 2]),
            "moved": [True, False, True, True, False, False],
            "region": pd.array(["e", "w", "e", "w", "e", "w"], dtype="string"),
        }
    )


def smallest_relative_eigenvalue(K: np.ndarray) -> float:
    values = np.linalg.eigvalsh(K)
    return float(values[0] / max(abs(values).max(), np.finfo(float).tiny))
