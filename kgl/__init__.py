"""Kernel graph learning: exact graphs from noisy, incomplete and dependent signals.

>>> import numpy as np, kgl
>>> data = kgl.simulate.make_dataset("sbm", m=12, n=60)
>>> model = kgl.KGLN(density=0.3).fit(data.Y, K_x=data.K_x)
>>> model.laplacian_.shape, model.converged_
((12, 12), True)
"""

from importlib.metadata import version

from kgl import datasets, kernels, metrics, simulate
from kgl.graph import learn_laplacian
from kgl.grid import DEFAULT_GRID, GridResult, fit_grid
from kgl.models import GL, KGL, KGLN, KGLO, GL2Step, KGLAgnostic
from kgl.problem import kkt_residual
from kgl.selection import select_held_out, select_oracle

__version__ = version("kernel-graph-learning")

__all__ = [
    "DEFAULT_GRID",
    "GL",
    "KGL",
    "KGLN",
    "KGLO",
    "GL2Step",
    "GridResult",
    "KGLAgnostic",
    "datasets",
    "fit_grid",
    "kernels",
    "kkt_residual",
    "learn_laplacian",
    "metrics",
    "select_held_out",
    "select_oracle",
    "simulate",
]
