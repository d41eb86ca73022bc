"""The graph step over many nodes: exact by column generation, with sparse results."""

from kgl.solvers.sparse.density import sparse_density_step
from kgl.solvers.sparse.result import SparseGraph, pair_scores, runners_up
from kgl.solvers.sparse.rules import PairRules
from kgl.solvers.sparse.step import sparse_graph_step

__all__ = [
    "PairRules",
    "SparseGraph",
    "pair_scores",
    "runners_up",
    "sparse_density_step",
    "sparse_graph_step",
]
