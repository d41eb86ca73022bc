"""Kernels over node-side and observation-side covariates.

The paper views the signals as a function ``f(z, x)`` in the reproducing kernel Hilbert space of
the product kernel ``k_z (x) k_x``, so side information enters the models only through two
positive semi-definite matrices, ``K_x`` (nodes) and ``K_z`` (observations).

Kernel specs (:class:`RBF`, :class:`Linear`, ...) are small immutable objects. ``spec.fit(X)``
learns what the kernel takes from the training covariates (bandwidth, column scales, categories)
and returns a :class:`FittedKernel`: the training matrix ``.matrix``, and ``.cross(X_new)``, which
makes ``f`` defined away from the training points. Nothing here changes its input.

>>> fitted = RBF().fit([0.0, 1.0, 3.0])     # distances 1, 3, 2: gamma = 1 / median = 1 / 2
>>> fitted.gamma_
0.5
>>> fitted.matrix[0].round(3)
array([1.   , 0.607, 0.011])
>>> fitted.cross([1.0]).shape               # one new point against three training points
(1, 3)
"""

from kgl.kernels.auto import Auto
from kgl.kernels.base import FittedKernel, Kernel, NeedsDenseError, NotLowRankError
from kgl.kernels.factors import (
    KERNEL_TOL,
    MAX_RANK,
    FittedFactor,
    KernelAccess,
    factor_eigen,
    factorize,
)
from kgl.kernels.graph import LaplacianKernel
from kgl.kernels.lowrank import LowRank
from kgl.kernels.matrices import KernelEigen, check_kernel, kernel_eigen, nearest_psd, normalize
from kgl.kernels.mixed import Mixed
from kgl.kernels.names import KERNELS, as_kernel
from kgl.kernels.numeric import BANDWIDTH_RULES, RBF, FunctionKernel, Linear, Precomputed

__all__ = [
    "BANDWIDTH_RULES",
    "KERNELS",
    "KERNEL_TOL",
    "MAX_RANK",
    "RBF",
    "Auto",
    "FittedFactor",
    "FittedKernel",
    "FunctionKernel",
    "Kernel",
    "KernelAccess",
    "KernelEigen",
    "LaplacianKernel",
    "Linear",
    "LowRank",
    "Mixed",
    "NeedsDenseError",
    "NotLowRankError",
    "Precomputed",
    "as_kernel",
    "check_kernel",
    "factor_eigen",
    "factorize",
    "kernel_eigen",
    "nearest_psd",
    "normalize",
]
