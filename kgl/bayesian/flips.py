"""Nodes that move opposite to others, such as the reversed items of a questionnaire.

The generative model links nodes that move together. A node that clearly moves opposite to others is
turned round first: its values change sign, and so does its place in the graph. Signs are those of
nodes, so that an edge is negative where just one of its ends was turned round.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from kgl._types import Array, Mask
from kgl.bayesian.signals import Rows

__all__ = ["node_signs"]

#: Correlations count from this many standard errors on, of Fisher's transform: by chance one pair
#: of independent nodes in sixteen thousand has a larger one.
CLEAR = 4.0
#: Directions of K_z below this share of its mean eigenvalue are left out of correlations.
NO_SIGNAL = 0.1


def node_signs(Y: Array, mask: Mask | None, rows: Rows) -> Array:
    """Return 1 or -1 (m,) for every node, such that clear correlations are positive.

    Of nodes that are tied together by clear correlations the majority keep their sign.

    Parameters
    ----------
    Y, mask : array (n, m), bool array (n, m) or None
        Centred data, zero where missing, and which entries were observed.
    rows : Rows
        The eigenbasis of K_z, in which correlations are computed where observations depend on each
        other.

    Examples
    --------
    >>> from kgl.kernels import kernel_eigen
    >>> t = np.random.default_rng(0).normal(size=(60, 1))
    >>> node_signs(t * [1.0, -2.0, 3.0], None, Rows.of(kernel_eigen(None, "K_z", 60)))
    array([ 1., -1.,  1.])
    """
    seen = np.ones_like(Y) if mask is None else mask.astype(float)
    if rows.vectors is not None:
        used = rows.values > NO_SIGNAL * rows.values.mean()
        Y = (rows.vectors[:, used].T @ Y) / np.sqrt(rows.values[used])[:, None]
        share = seen.T @ seen / rows.n  # of the rows that a pair has in common
        count, squares = share * len(Y), np.square(Y).sum(axis=0) + np.zeros_like(share)
    else:
        count, squares = seen.T @ seen, np.square(Y).T @ seen
    # of each pair, where both were observed
    size = np.sqrt(squares * squares.T)
    r = np.divide(Y.T @ Y, size, out=np.zeros_like(size), where=size > 0)
    clear = np.abs(r) > np.tanh(CLEAR / np.sqrt(np.maximum(count - 3.0, 1e-9)))
    tie = np.where(clear, r, 0.0)
    np.fill_diagonal(tie, 0.0)
    signs = np.ones(Y.shape[1])
    if not (tie < 0).any():
        return signs
    _, part = connected_components(tie != 0)
    for own in (np.flatnonzero(part == label) for label in np.unique(part)):
        if len(own) > 1:
            signs[own] = _settled(tie[np.ix_(own, own)])
    return signs


def _settled(tie: Array) -> Array:
    """Return signs that no single change makes better, from those of the leading eigenvector."""
    signs = np.where(np.linalg.eigh(tie)[1][:, -1] < 0, -1.0, 1.0)
    # every change makes the sum of agreements larger, so this ends
    while True:
        agreement = signs * (tie @ signs)
        worst = int(agreement.argmin())
        if agreement[worst] >= -1e-12:
            break
        signs[worst] *= -1.0
    total = signs.sum()
    return signs if total > 0 or (total == 0 and signs[0] > 0) else -signs
