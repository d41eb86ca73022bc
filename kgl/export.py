"""Ways out of a fitted graph: networkx, scipy.sparse, an edge list, a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kgl._optional import import_optional
from kgl._types import Array
from kgl._validation import align

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array

    from kgl.problem import ModelSpec

__all__ = ["GraphExport"]


#: Weights below this share of the largest are the dust of an inexact solver, not edges. The
#: exact solver leaves none.
DUST = 1e-8


class GraphExport:
    """Mixin that turns ``weights_`` and ``node_names_`` into other people's graph types."""

    if TYPE_CHECKING:
        weights_: Array
        edge_scores_: Array
        signals_: Array
        node_names_: list[Any]
        psi_: float
        n_iter_: int
        converged_: bool
        kkt_residual_: float
        center: str
        scale: str
        signed: bool
        signs_: Array
        _logs: bool
        _spec: ClassVar[ModelSpec]
        _ready: Any

    def _clean_weights(self) -> Array:
        check_is_fitted(self, "weights_")
        return np.where(self.weights_ > DUST * self.weights_.max(), self.weights_, 0.0)

    def to_networkx(self, attributes: Any = None) -> nx.Graph:
        """Return a weighted :class:`networkx.Graph` with node names, isolated nodes included.

        Where graphs are signed, edges have a ``sign`` of 1 or -1 besides their weight.

        Parameters
        ----------
        attributes : DataFrame, optional
            Attributes of the nodes, such as positions: one row per node, matched by index as
            covariates are. Files of the graph (GraphML, GEXF) then have them.
        """
        return self._networkx(self._clean_weights(), attributes)

    def _networkx(self, weights: Array, attributes: Any, **more: Array) -> nx.Graph:
        """Return the graph of some weights; ``more`` are further attributes (m, m) of edges."""
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(self.node_names_)
        if attributes is not None:
            table = align(attributes, self.node_names_, "attributes", size=len(weights))
            if len(table) != len(weights):
                raise ValueError(
                    f"attributes has {len(table)} row(s) but the graph has {len(weights)} nodes; "
                    "give one row for each"
                )
            for name in table.columns:
                values = [getattr(v, "item", lambda v=v: v)() for v in table[name]]
                pairs = zip(self.node_names_, values, strict=True)
                nx.set_node_attributes(graph, dict(pairs), str(name))
        for i, j in zip(*np.nonzero(np.triu(weights, 1)), strict=True):
            sign = {"sign": int(self.signs_[i, j])} if self.signed else {}
            others = {name: float(matrix[i, j]) for name, matrix in more.items()}
            ends = self.node_names_[i], self.node_names_[j]
            graph.add_edge(*ends, weight=float(weights[i, j]), **sign, **others)
        return graph

    def to_sparse(self) -> csr_array:
        """Return the weights as a :class:`scipy.sparse.csr_array`, nodes in order, signs apart."""
        from scipy.sparse import csr_array

        return csr_array(self._clean_weights())

    def to_edges(self, *, all_pairs: bool = False) -> pd.DataFrame:
        """Return a DataFrame of edges (source, target, weight, score, sign), heaviest first.

        The sign, where graphs are signed, is -1 for nodes that move opposite to each other.

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
        if self.signed:
            frame["sign"] = self.signs_[rows, cols].astype(int)
        if not all_pairs:
            frame = frame[frame["weight"] > 0]
        return frame.sort_values("score", ascending=False, kind="stable", ignore_index=True)

    def summary(self) -> str:
        """Return what was learned, in a few lines: edges, isolated nodes and the certificate.

        Examples
        --------
        >>> import kgl
        >>> data = kgl.simulate.make_dataset("er", m=10, n=50)
        >>> print(kgl.GL(density=0.2).fit(data.Y).summary().splitlines()[0])
        GL: 10 nodes, 9 edges (density 0.200), 2 isolated: 2, 7
        """
        weights = self._clean_weights()
        m, degrees = len(weights), np.count_nonzero(weights, axis=1)
        edges = int(degrees.sum()) // 2
        isolated = [self.node_names_[k] for k in np.flatnonzero(degrees == 0)]
        shown = ", ".join(map(str, isolated[:5])) + ", ..." * (len(isolated) > 5)
        which = f": {shown}" if isolated else ""
        n = self._ready.n_rows or len(self.signals_)
        negative = int(np.count_nonzero((weights > 0) & (self.signs_ < 0))) // 2
        opposite = f", {negative} of them negative" if negative else ""
        logs = "graph of logarithms, " if self._logs else ""
        lines = [
            f"{self._spec.name}: {m} nodes, {edges} edges (density "
            f"{edges / (m * (m - 1) / 2):.3f}){opposite}, {len(isolated)} isolated{which}",
            f"data: {n} observations, {self._missing_share():.1%} of the entries missing; "
            f"{logs}center={self.center!r}, scale={self.scale!r}",
            f"psi = {self.psi_:.4g}; {self.n_iter_} outer iterations, "
            f"{'converged' if self.converged_ else 'NOT converged'}; relative KKT residual "
            f"{self.kkt_residual_:.1e}",
        ]
        return "\n".join(lines)

    def _missing_share(self) -> float:
        mask = self._ready.mask
        return 0.0 if mask is None else float(1.0 - mask.mean())

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the graph; see :func:`kgl.plotting.plot_graph` for the options."""
        from kgl.plotting import plot_graph

        weights = self._clean_weights()
        return plot_graph(weights, names=self.node_names_, signs=self.signs_, ax=ax, **options)
