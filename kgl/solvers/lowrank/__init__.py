"""Fits of large graphs: sparse graphs and signals from factors, no array of nodes by nodes."""

from kgl.solvers.lowrank.alternating import (
    LargeFit,
    LargeOptions,
    refit_signals,
    refuse_stiff,
    solve_large,
)
from kgl.solvers.lowrank.data import LargeData, NodeKernel, SparseLaplacian
from kgl.solvers.lowrank.memory import estimate_dense, estimate_sparse
from kgl.solvers.lowrank.search import fit_large

__all__ = [
    "LargeData",
    "LargeFit",
    "LargeOptions",
    "NodeKernel",
    "SparseLaplacian",
    "estimate_dense",
    "estimate_sparse",
    "fit_large",
    "refit_signals",
    "refuse_stiff",
    "solve_large",
]
