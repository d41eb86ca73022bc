r"""A kernel over nodes as evidence about edges.

Two forms of it are offered to the model, which learns how strongly each tells edges from other
pairs: the correlation :math:`R_{ij} = K_{ij} / \sqrt{K_{ii} K_{jj}}`, high where nodes are alike,
and the partial correlation of :math:`R + \epsilon I`, high where they are alike given all others.
Both enter by rank, as normal scores: no monotone change of the kernel matters.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from kgl._types import Array

__all__ = ["Evidence", "pair_forms"]

#: The epsilon of partial correlations.
RIDGE = 0.05


def pair_forms(K: Array) -> Array:
    """Return correlations and partial correlations (2, m, m) of a kernel matrix.

    Nodes with a kernel value of zero on the diagonal are correlated with none.
    """
    size = np.sqrt(np.maximum(np.diag(K), 0.0))
    size = np.where(size > 0, size, 1.0)
    R = K / np.outer(size, size)
    inverse = np.linalg.inv(R + RIDGE * np.eye(len(R)))
    root = np.sqrt(np.diag(inverse))
    return np.stack([R, -inverse / np.outer(root, root)])


class Evidence:
    """Scores of all pairs, and of pairs of new nodes with the nodes of the fit.

    Parameters
    ----------
    K : array (m, m)
        Kernel over nodes.

    Attributes
    ----------
    scores : array (forms, pairs)
        Normal scores of the pairs ``i < j``; forms that do not vary are left out.
    """

    def __init__(self, K: Array) -> None:
        self.K = K
        rows, cols = np.triu_indices(len(K), 1)
        raw = pair_forms(K)[:, rows, cols]
        # values that differ by rounding only are tied
        raw = np.round(raw, 9)
        self.kept = np.ptp(raw, axis=1) > 0
        self.raw = np.sort(raw[self.kept], axis=1)
        ranks = [rankdata(values) for values in raw[self.kept]]
        self.scores = ndtri((np.array(ranks).reshape(-1, len(rows)) - 0.5) / len(rows))

    def new_nodes(self, cross: Array) -> Array:
        """Return the scores (new nodes, forms, m) of pairs of new nodes with those of the fit.

        Each new node is added to the kernel by itself. ``cross`` is the kernel between new nodes
        and those of the fit; its value at the new node is taken to be the mean of the others'.
        """
        m = len(self.K)
        found = np.empty((len(cross), len(self.scores), m))
        scores = np.sort(self.scores, axis=1)
        for k, row in enumerate(cross):
            whole = np.empty((m + 1, m + 1))
            whole[:m, :m], whole[m, :m], whole[:m, m] = self.K, row, row
            whole[m, m] = np.diag(self.K).mean()
            for form, values in enumerate(pair_forms(whole)[self.kept, m, :m]):
                found[k, form] = np.interp(values, self.raw[form], scores[form])
        return found
