"""Ways out of a fitted graph: networkx, scipy.sparse, an edge list, a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kgl.laplacian import Array

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array

__all__ = ["GraphExport"]


class GraphExport:
    """Mixin that turns ``weights_`` and ``node_names_`` into other people's graph types."""

    weights_: Array
    edge_scores_: Array
    node_names_: list[Any]

    def to_networkx(self) -> nx.Graph:
        """Return a weighted :class:`networkx.Graph` with node names, isolated nodes included."""
        import networkx as nx

        check_is_fitted(self, "weights_")
        graph = nx.Graph()
        graph.add_nodes_from(self.node_names_)
        rows, cols = np.nonzero(np.triu(self.weights_, 1))
        graph.add_weighted_edges_from(
            (self.node_names_[i], self.node_names_[j], float(self.weights_[i, j]))
            for i, j in zip(rows, cols, strict=True)
        )
        return graph

    def to_sparse(self) -> csr_array:
        """Return the adjacency matrix as a :class:`scipy.sparse.csr_array`, nodes in order."""
        from scipy.sparse import csr_array

        check_is_fitted(self, "weights_")
        return csr_array(self.weights_)

    def to_edges(self, *, all_pairs: bool = False) -> pd.DataFrame:
        """Return a DataFrame of edges (source, target, weight, score), heaviest first.

        Parameters
        ----------
        all_pairs : bool
            Whether to list the pairs without an edge too, ordered by score.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "to_edges needs pandas: pip install 'kernel-graph-learning[frame]'"
            ) from error

        check_is_fitted(self, "weights_")
        rows, cols = np.triu_indices(len(self.weights_), 1)
        frame = pd.DataFrame(
            {
                "source": [self.node_names_[i] for i in rows],
                "target": [self.node_names_[j] for j in cols],
                "weight": self.weights_[rows, cols],
                "score": self.edge_scores_[rows, cols],
            }
        )
        if not all_pairs:
            frame = frame[frame["weight"] > 0]
        return frame.sort_values("score", ascending=False, kind="stable", ignore_index=True)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the graph; see :func:`kgl.plotting.plot_graph` for the options."""
        from kgl.plotting import plot_graph

        check_is_fitted(self, "weights_")
        return plot_graph(self.weights_, names=self.node_names_, ax=ax, **options)
