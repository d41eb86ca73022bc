"""The graph of likely edges: as a table, for networkx and scipy.sparse, and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kgl._optional import import_optional
from kgl._types import Array
from kgl.bayesian.draws import Draws
from kgl.export import GraphExport
from kgl.laplacian import adjacency_from_edges

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array

__all__ = ["LikelyGraph", "check_levels"]

#: Least probability of the edges of a graph, unless asked for another.
LIKELY = 0.5
#: Levels of the intervals of weights.
INTERVAL = (0.05, 0.95)


class LikelyGraph(GraphExport):
    """Mixin that makes graphs of the edges that are probable enough."""

    if TYPE_CHECKING:
        edge_probability_: Array
        _draws: Draws

    def weight_quantiles(self, q: Any) -> Array:
        """Return posterior quantiles of the weights.

        Parameters
        ----------
        q : float or array of floats
            Probabilities, such as ``[0.05, 0.95]`` for 90 % intervals.

        Returns
        -------
        array (m, m), or (len(q), m, m)
            Zero where a pair is no edge with that probability or more.
        """
        check_is_fitted(self, "edge_probability_")
        levels = check_levels(q)
        weights = self._draws.weights
        found = np.quantile(weights.reshape(-1, weights.shape[-1]), np.atleast_1d(levels), axis=0)
        matrices = np.stack([adjacency_from_edges(row) for row in found])
        return matrices[0] if np.ndim(q) == 0 else matrices

    def _likely_weights(self, min_probability: float) -> Array:
        """Return posterior mean weights (m, m), zero where a pair is less probable."""
        check_is_fitted(self, "edge_probability_")
        least = check_probability(min_probability)
        return np.where(self.edge_probability_ >= least, self.weights_, 0.0)

    def to_edges(self, *, min_probability: float = LIKELY, all_pairs: bool = False) -> pd.DataFrame:
        """Return a DataFrame of likely edges, the most probable first.

        Parameters
        ----------
        min_probability : float
            Least probability of a pair that is listed.
        all_pairs : bool
            Whether to list all pairs, whatever their probability.

        Returns
        -------
        DataFrame
            Columns ``source``, ``target``, ``probability``, ``weight`` (posterior mean),
            ``weight_low`` and ``weight_high``, the ends of a 90 % interval, and ``sign`` where the
            graph is signed: -1 for nodes that move opposite to each other.
        """
        check_is_fitted(self, "edge_probability_")
        least = check_probability(min_probability)
        pandas = import_optional("pandas", "frame", "to_edges")
        rows, cols = np.triu_indices(len(self.weights_), 1)
        low, high = self.weight_quantiles(INTERVAL)
        frame: pd.DataFrame = pandas.DataFrame(
            {
                "source": [self.node_names_[i] for i in rows],
                "target": [self.node_names_[j] for j in cols],
                "probability": self.edge_probability_[rows, cols],
                "weight": self.weights_[rows, cols],
                "weight_low": low[rows, cols],
                "weight_high": high[rows, cols],
            }
        )
        if self.signed:
            frame["sign"] = self.signs_[rows, cols].astype(int)
        if not all_pairs:
            frame = frame[frame["probability"] >= least]
        return frame.sort_values("probability", ascending=False, kind="stable", ignore_index=True)

    def to_networkx(self, attributes: Any = None, *, min_probability: float = LIKELY) -> nx.Graph:
        """Return a :class:`networkx.Graph` of the likely edges, isolated nodes included.

        Edges have a ``weight`` (posterior mean), a ``probability`` and, where the graph is signed,
        a ``sign`` of 1 or -1.

        Parameters
        ----------
        attributes : DataFrame, optional
            Attributes of the nodes: one row per node, matched by index as covariates are.
        min_probability : float
            Least probability of an edge.
        """
        weights = self._likely_weights(min_probability)
        return self._networkx(weights, attributes, probability=self.edge_probability_)

    def to_sparse(self, *, min_probability: float = LIKELY) -> csr_array:
        """Return the weights of likely edges as a :class:`scipy.sparse.csr_array`, signs apart.

        Parameters
        ----------
        min_probability : float
            Least probability of an edge.
        """
        from scipy.sparse import csr_array

        return csr_array(self._likely_weights(min_probability))

    def plot(
        self, ax: Axes | None = None, *, min_probability: float = LIKELY, **options: Any
    ) -> Axes:
        """Draw the likely edges: the more probable, the thicker and darker, with a legend.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.
        min_probability : float
            Least probability of an edge that is drawn.
        **options
            As of :func:`kgl.plotting.plot_graph`: ``positions``, ``values``, ``title``, ...
        """
        from kgl.plotting import plot_graph

        return plot_graph(
            self._likely_weights(min_probability),
            names=self.node_names_,
            signs=self.signs_,
            probabilities=self.edge_probability_,
            ax=ax,
            **options,
        )


def check_probability(value: Any) -> float:
    """Return a least probability, refusing what is none."""
    number = isinstance(value, (int, float, np.integer, np.floating))
    if not number or isinstance(value, bool) or not 0.0 <= value <= 1.0:
        raise ValueError(f"min_probability = {value!r} must lie in [0, 1]; 0 lists all pairs")
    return float(value)


def check_levels(q: Any) -> Array:
    """Return probabilities of quantiles, refusing what is none."""
    levels = np.asarray(q, dtype=float)
    if levels.size == 0 or not ((levels >= 0) & (levels <= 1)).all():
        raise ValueError(f"q = {q!r}: probabilities lie in [0, 1], such as 0.9 or [0.05, 0.95]")
    return levels
