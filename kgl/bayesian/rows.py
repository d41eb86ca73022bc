r"""New rows on the nodes of the fit, each an independent observation, filled draw by draw.

Given a draw of the graph, a row is normal with covariance :math:`\Sigma = k_0 \Theta^{-1}` and is
observed with noise of variance :math:`\sigma^2`; the kernel at the row, :math:`k_0`, is taken to be
the mean of those of the fit. Its mean given the observed entries o is
:math:`\Sigma_{\cdot o} (\Sigma_{oo} + \sigma^2 I)^{-1} y_o`, above the levels of the draw, which is
averaged over draws.
"""

from __future__ import annotations

import numpy as np

from kgl._types import Array, Mask
from kgl.bayesian.draws import Draws
from kgl.bayesian.predictive import covariances
from kgl.bayesian.signals import Rows

__all__ = ["DRAWS", "fill_rows"]

#: Draws that means are averaged over, at most.
DRAWS = 64


def fill_rows(draws: Draws, rows: Rows, y: Array, mask: Mask) -> Array:
    """Return posterior means (k, m) of the signals of new rows.

    Parameters
    ----------
    draws, rows : Draws, Rows
        The fit.
    y, mask : array (k, m), bool array (k, m)
        Prepared data of unit variance, and which entries were observed.
    """
    some = np.linspace(0, len(draws.chosen) - 1, min(DRAWS, len(draws.chosen))).astype(int)
    chain, draw = draws.chosen[some].T
    size = 1.0 if rows.vectors is None else float(rows.values.sum()) / rows.n
    covariance = size * covariances(draws)[some]
    noise = draws.scalars["noise"][chain, draw][:, None, None]
    level = draws.levels[some]
    filled = np.tile(level.mean(axis=0), (len(y), 1))
    for pattern in np.unique(mask, axis=0):
        if pattern.any():
            own = (mask == pattern).all(axis=1)
            seen = covariance[:, pattern][:, :, pattern] + noise * np.eye(int(pattern.sum()))
            gain = np.linalg.solve(seen, covariance[:, pattern])
            shift = np.einsum("sj,sjk->sk", level[:, pattern], gain).mean(axis=0)
            filled[own] += y[np.ix_(own, pattern)] @ gain.mean(axis=0) - shift
    return filled
