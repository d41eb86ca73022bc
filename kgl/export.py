"""Ways out of a fitted graph: networkx, scipy.sparse, an edge list, a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kgl._optional import import_optional
from kgl._types import Array

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array

__all__ = ["GraphExport"]


#: Weights below this share of the largest are the dust of an inexact solver, not edges. The
#: exact solver leaves none.
DUST = 1e-8


class GraphExport:
    """Mixin that turns ``weights_`` and ``node_names_`` into other people's graph types."""

    weights_: Array
    edge_scores_: Array
    node_names_: list[Any]

    def _clean_weights(self) -> Array:
        check_is_fitted(self, "weights_")
        return np.where(self.weights_ > DUST * self.weights_.max(), self.weights_, 0.0)

    def to_networkx(self) -> nx.Graph:
        """Return a weighted :class:`networkx.Graph` with node names, isolated nodes included."""
        import networkx as nx

        weights = self._clean_weights()
        graph = nx.Graph()
        graph.add_nodes_from(self.node_names_)
        rows, cols = np.nonzero(np.triu(weights, 1))
        graph.add_weighted_edges_from(
            (self.node_names_[i], self.node_names_[j], float(weights[i, j]))
            for i, j in zip(rows, cols, strict=True)
        )
        return graph

    def to_sparse(self) -> csr_array:
        """Return the adjacency matrix as a :class:`scipy.sparse.csr_array`, nodes in order."""
        from scipy.sparse import csr_array

        return csr_array(self._clean_weights())

    def to_edges(self, *, all_pairs: bool = False) -> pd.DataFrame:
        """Return a DataFrame of edges (source, target, weight, score), heaviest first.

        Parameters
        ----------
        all_pairs : bool
            Whether to list the pairs without an edge too, ordered by score.
        """
        pandas = import_optional("pandas", "frame", "to_edges")
        weights = self._clean_weights()
        rows, cols = np.triu_indices(len(weights), 1)
        frame: pd.DataFrame = pandas.DataFrame(
            {
                "source": [self.node_names_[i] for i in rows],
                "target": [self.node_names_[j] for j in cols],
                "weight": weights[rows, cols],
                "score": self.edge_scores_[rows, cols],
            }
        )
        if not all_pairs:
            frame = frame[frame["weight"] > 0]
        return frame.sort_values("score", ascending=False, kind="stable", ignore_index=True)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the graph; see :func:`kgl.plotting.plot_graph` for the options."""
        from kgl.plotting import plot_graph

        return plot_graph(self._clean_weights(), names=self.node_names_, ax=ax, **options)
