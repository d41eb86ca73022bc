"""Kernel graph learning: exact graphs from noisy, incomplete and dependent signals.

>>> import numpy as np, kgl
>>> data = kgl.simulate.make_dataset("sbm", m=12, n=60)
>>> model = kgl.KGLN(density=0.3).fit(data.Y, K_x=data.K_x)
>>> model.laplacian_.shape, model.converged_
((12, 12), True)
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgl import datasets, kernels, metrics, simulate
    from kgl.bayesian import BayesianKGL
    from kgl.comparison import compare
    from kgl.graph import learn_laplacian
    from kgl.grid import DEFAULT_GRID, GridResult, fit_grid
    from kgl.imputer import KGLImputer
    from kgl.models import GL, KGL, KGLN, KGLO, GL2Step, KGLAgnostic
    from kgl.oracle import select_oracle
    from kgl.problem import kkt_residual
    from kgl.rows import CompressedRows, RowSums, compress
    from kgl.selection import HELD_OUT_GRID, select_held_out
    from kgl.subsampling import stability

    __version__: str

#: Where each name comes from. Names are loaded when first used (PEP 562): a process that only
#: simulates data does not wait for scikit-learn.
_HOME = {
    "BayesianKGL": "bayesian",
    "CompressedRows": "rows",
    "DEFAULT_GRID": "grid",
    "GL": "models",
    "HELD_OUT_GRID": "selection",
    "KGL": "models",
    "KGLN": "models",
    "KGLO": "models",
    "GL2Step": "models",
    "GridResult": "grid",
    "KGLAgnostic": "models",
    "KGLImputer": "imputer",
    "RowSums": "rows",
    "compare": "comparison",
    "compress": "rows",
    "fit_grid": "grid",
    "kkt_residual": "problem",
    "learn_laplacian": "graph",
    "select_held_out": "selection",
    "select_oracle": "oracle",
    "stability": "subsampling",
}
_MODULES = ("datasets", "kernels", "metrics", "plotting", "simulate")

__all__ = [
    "DEFAULT_GRID",
    "GL",
    "HELD_OUT_GRID",
    "KGL",
    "KGLN",
    "KGLO",
    "BayesianKGL",
    "CompressedRows",
    "GL2Step",
    "GridResult",
    "KGLAgnostic",
    "KGLImputer",
    "RowSums",
    "compare",
    "compress",
    "datasets",
    "fit_grid",
    "kernels",
    "kkt_residual",
    "learn_laplacian",
    "metrics",
    "select_held_out",
    "select_oracle",
    "simulate",
    "stability",
]


def __getattr__(name: str) -> Any:
    value: Any
    if name in _HOME:
        value = getattr(_import_module(f"kgl.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = _import_module(f"kgl.{name}")
    elif name == "__version__":
        from importlib.metadata import version

        value = version("kernel-graph-learning")
    else:
        raise AttributeError(f"module 'kgl' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
