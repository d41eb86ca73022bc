"""Ways out of a fitted graph: networkx, scipy.sparse, an edge list, a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import issparse, triu
from sklearn.utils.validation import check_is_fitted

from kgl._labels import align
from kgl._optional import import_optional
from kgl._types import Array
from kgl._validation import check_flag

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes
    from scipy.sparse import csr_array

    from kgl.problem import ModelSpec

__all__ = ["GraphExport", "n_neighbours", "upper_edges"]


#: Weights below this share of the largest are the dust of an inexact solver, not edges. The
#: exact solver leaves none.
DUST = 1e-8


def upper_edges(weights: Any) -> tuple[np.ndarray, np.ndarray, Array]:
    """Return rows, columns and weights of the edges i < j of an array or a sparse array."""
    if issparse(weights):
        found = triu(weights, 1, format="csr").tocoo()
        rows, cols = found.coords
        return rows, cols, np.asarray(found.data)
    rows, cols = np.nonzero(np.triu(weights, 1))
    return rows, cols, np.asarray(weights[rows, cols])


def n_neighbours(weights: Any) -> np.ndarray:
    """Return the number of neighbours of each node."""
    if issparse(weights):
        return np.asarray(np.diff(weights.tocsr().indptr))
    return np.count_nonzero(weights, axis=1)


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
        pairs_examined_: int
        pairs_violated_: int
        _graph: Any
        _spec: ClassVar[ModelSpec]
        _ready: Any

    def _clean_weights(self) -> Any:
        """Return the weights without dust: an array, or a sparse one after a sparse fit."""
        check_is_fitted(self, "weights_")
        if issparse(self.weights_):
            return self.weights_
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

    def _networkx(self, weights: Any, attributes: Any, **more: Array) -> nx.Graph:
        """Return the graph of some weights; ``more`` are further attributes (m, m) of edges."""
        import networkx as nx

        graph = nx.Graph()
        graph.add_nodes_from(self.node_names_)
        if attributes is not None:
            m = weights.shape[0]
            if not hasattr(attributes, "loc") or not hasattr(attributes, "columns"):
                raise TypeError(
                    f"attributes must be a DataFrame, got a {type(attributes).__name__}; pass one "
                    "with a row for each node and a named column for each attribute"
                )
            table = align(attributes, self.node_names_, "attributes", size=m)
            if len(table) != m:
                raise ValueError(
                    f"attributes has {len(table)} row(s) but the graph has {m} nodes; "
                    "give one row for each"
                )
            for name in table.columns:
                values = [getattr(v, "item", lambda v=v: v)() for v in table[name]]
                pairs = zip(self.node_names_, values, strict=True)
                nx.set_node_attributes(graph, dict(pairs), str(name))
        rows, cols, heights = upper_edges(weights)
        signs = self._signs_at(rows, cols)
        for i, j, weight, own in zip(rows, cols, heights, signs, strict=True):
            sign = {"sign": int(own)} if self.signed else {}
            others = {name: float(matrix[i, j]) for name, matrix in more.items()}
            ends = self.node_names_[i], self.node_names_[j]
            graph.add_edge(*ends, weight=float(weight), **sign, **others)
        return graph

    def _signs_at(self, rows: np.ndarray, cols: np.ndarray) -> Array:
        """Return the signs of some edges."""
        if not len(rows):
            return np.ones(0)
        return np.asarray(self.signs_[rows, cols]).ravel()

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
        check_flag("all_pairs", all_pairs)
        pandas = import_optional("pandas", "frame", "to_edges")
        weights = self._clean_weights()
        if issparse(weights):
            return self._sparse_edges(pandas, weights, all_pairs=all_pairs)
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

    def _sparse_edges(self, pandas: Any, weights: Any, *, all_pairs: bool) -> pd.DataFrame:
        m = weights.shape[0]
        if all_pairs:
            raise ValueError(
                f"all_pairs=True would list {m * (m - 1) // 2} pairs; use runners_up(k) for the "
                "pairs nearest to becoming edges, or pair_scores(pairs)"
            )
        rows, cols, values = upper_edges(weights)
        order = np.argsort(-values, kind="stable")
        rows, cols, values = rows[order], cols[order], values[order]
        names = np.empty(m, dtype=object)
        names[:] = self.node_names_
        frame: pd.DataFrame = pandas.DataFrame(
            {
                "source": names[rows].tolist(),
                "target": names[cols].tolist(),
                "weight": values,
                "score": values,
            }
        )
        if self.signed:
            frame["sign"] = self._signs_at(rows, cols).astype(int)
        return frame

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
        m, degrees = weights.shape[0], n_neighbours(weights)
        edges = int(degrees.sum()) // 2
        isolated = [self.node_names_[k] for k in np.flatnonzero(degrees == 0)]
        shown = ", ".join(map(str, isolated[:5])) + ", ..." * (len(isolated) > 5)
        which = f": {shown}" if isolated else ""
        n = self._ready.n_rows or len(self.signals_)
        rows, cols, _ = upper_edges(weights)
        negative = int(np.count_nonzero(self._signs_at(rows, cols) < 0))
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
        if issparse(weights):
            lines.append(self._certified())
        return "\n".join(lines)

    def _certified(self) -> str:
        """Return which pairs a sparse fit has looked at."""
        possible = self._graph.possible
        if self._ready.options.certify is False and self.pairs_examined_ < possible:
            return (
                f"{self.pairs_examined_} of {possible} pairs examined; the others are not "
                "certified to be no edges (certify=False)"
            )
        return (
            f"{self.pairs_examined_} pairs examined, {self.pairs_violated_} of them should be "
            f"edges and are not (certify={self._ready.options.certify!r})"
        )

    def _missing_share(self) -> float:
        mask = self._ready.mask
        return 0.0 if mask is None else float(1.0 - mask.mean())

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the graph; see :func:`kgl.plotting.plot_graph` for the options."""
        from kgl.plotting import plot_graph

        weights = self._clean_weights()
        return plot_graph(weights, names=self.node_names_, signs=self.signs_, ax=ax, **options)
