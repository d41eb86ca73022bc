r"""The six estimators of the paper, in scikit-learn's conventions.

Each is a row of :data:`kgl.problem.MODELS` and shares one solver. Hyperparameters weigh the terms
of

.. math::
    \|M \circ (Y - \hat Y)\|_F^2
    + \lambda \operatorname{tr}(K_z^{\dagger} \hat Y K_x^{\dagger} \hat Y^\top)
    + \rho \operatorname{tr}(K_z^{\dagger} \hat Y L \hat Y^\top) + \psi \|L\|_F^2,
    \qquad \operatorname{tr} L = m,

as written: ``lam``, ``rho`` and ``psi`` in this order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kgl._docstrings import documented
from kgl._types import Array
from kgl._validation import check_option
from kgl.base import DEFAULT_DENSITY, DEFAULT_KERNEL, GraphLearner
from kgl.kernels import KERNEL_TOL, MAX_RANK
from kgl.prediction import Prepared
from kgl.problem import MODELS, ModelSpec
from kgl.rows.learning import PartialFit

__all__ = [
    "DEFAULT_DENSITY",
    "DEFAULT_KERNEL",
    "GL",
    "KGL",
    "KGLN",
    "KGLO",
    "GL2Step",
    "GraphLearner",
    "KGLAgnostic",
]


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class GL(PartialFit, GraphLearner):
    """Graph learning from smooth signals (GL): one graph step on the data, no fit.

    The paper's first baseline, Eq. (14) of Kalofolias (2016)::

        min  tr(Y L Y') + psi ||L||_F^2
        over Laplacians L with tr L = m

    Examples
    --------
    >>> import kgl
    >>> data = kgl.simulate.make_dataset("er", m=10, n=50)
    >>> model = kgl.GL(density=0.3).fit(data.Y)
    >>> round(kgl.metrics.density(model.weights_), 1), model.n_iter_
    (0.3, 1)
    """

    missing: str = "zero"

    _spec: ClassVar[ModelSpec] = MODELS["GL"]

    def _prepare(self, Y: Any, **side: Any) -> Prepared:
        check_option("missing", self.missing, ("zero", "pairwise"))
        return super()._prepare(Y, **side)

    def _fill(self, values: Array, mask: np.ndarray) -> tuple[Array, np.ndarray | None]:
        return values, mask if self.missing == "pairwise" else None


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class GL2Step(PartialFit, GraphLearner):
    """Graph learning with denoising (GL-2step): signals and graph, no side information.

    The paper's second baseline, Eq. (16) of Dong et al. (2016)::

        min  ||Y - Yhat||_F^2 + rho tr(Yhat L Yhat') + psi ||L||_F^2
        over Yhat and Laplacians L with tr L = m

    Missing entries are treated as zero, as in the paper; KGLN without a kernel is the counterpart
    that leaves them out.

    Examples
    --------
    >>> import kgl
    >>> data = kgl.simulate.make_dataset("er", m=10, n=50)
    >>> model = kgl.GL2Step(rho=0.1, density=0.3).fit(data.Y)
    >>> model.signals_.shape, model.converged_
    ((50, 10), True)
    """

    rho: float = 3e-3

    _spec: ClassVar[ModelSpec] = MODELS["GL-2step"]


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class KGLN(PartialFit, GraphLearner):
    """Kernel graph learning with node-side information (KGL-N): independent observations.

    ::

        min  ||M o (Y - Yhat)||_F^2 + lam tr(Yhat K_x^+ Yhat')
             + rho tr(Yhat L Yhat') + psi ||L||_F^2
        over Yhat = A K_x and Laplacians L with tr L = m

    Examples
    --------
    >>> import kgl
    >>> data = kgl.simulate.make_dataset("er", m=10, n=50, missing=0.2)
    >>> model = kgl.KGLN(lam=0.1, rho=0.01, psi=0.01).fit(data.Y, K_x=data.K_x)
    >>> model.laplacian_.shape, model.converged_
    ((10, 10), True)
    """

    lam: float = 1e-4
    rho: float = 3e-3
    kernel_x: Any = DEFAULT_KERNEL
    kernel_tol: float = KERNEL_TOL
    max_rank: int = MAX_RANK

    _spec: ClassVar[ModelSpec] = MODELS["KGL-N"]


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class KGLO(GraphLearner):
    """Kernel graph learning with observation-side information (KGL-O).

    ::

        min  ||M o (Y - Yhat)||_F^2 + lam tr(K_z^+ Yhat Yhat')
             + rho tr(K_z^+ Yhat L Yhat') + psi ||L||_F^2
        over Yhat = K_z A and Laplacians L with tr L = m

    Examples
    --------
    Observations at the times 0, 1, 2, ...

    >>> import numpy as np, kgl
    >>> data = kgl.simulate.make_dataset("er", m=10, n=50, dependent=True)
    >>> model = kgl.KGLO(lam=0.1, rho=0.01, density=0.3).fit(data.Y, z=np.arange(50.0))
    >>> model.predict(z=[49.5]).shape
    (1, 10)
    """

    lam: float = 1e-4
    rho: float = 3e-3
    kernel_z: Any = DEFAULT_KERNEL
    kernel_tol: float = KERNEL_TOL
    max_rank: int = MAX_RANK

    _spec: ClassVar[ModelSpec] = MODELS["KGL-O"]


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class KGL(GraphLearner):
    """Kernel graph learning with information on both sides (KGL): the paper's main model.

    ::

        min  ||M o (Y - Yhat)||_F^2 + lam tr(K_z^+ Yhat K_x^+ Yhat')
             + rho tr(K_z^+ Yhat L Yhat') + psi ||L||_F^2
        over Yhat = K_z A K_x and Laplacians L with tr L = m

    with M the mask of observed entries. A side without a kernel and without covariates has the
    identity: KGL-N and KGL-O are the special cases.

    Examples
    --------
    >>> import kgl
    >>> data = kgl.simulate.make_dataset("er", m=10, n=50, dependent=True, missing=0.2)
    >>> model = kgl.KGL(lam=0.1, rho=0.01, psi=0.001).fit(data.Y, K_x=data.K_x, K_z=data.K_z)
    >>> model.laplacian_.shape, model.converged_
    ((10, 10), True)
    """

    lam: float = 1e-4
    rho: float = 3e-3
    kernel_x: Any = DEFAULT_KERNEL
    kernel_z: Any = DEFAULT_KERNEL
    kernel_tol: float = KERNEL_TOL
    max_rank: int = MAX_RANK

    _spec: ClassVar[ModelSpec] = MODELS["KGL"]


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class KGLAgnostic(KGLO):
    """KGL-O whose smoothness ignores the dependence of observations (KGL-Agnostic).

    The paper's third baseline, Eq. (18) of Venkitaraman et al. (2019)::

        min  ||M o (Y - Yhat)||_F^2 + lam tr(K_z^+ Yhat Yhat')
             + rho tr(Yhat L Yhat') + psi ||L||_F^2
        over Yhat = K_z A and Laplacians L with tr L = m

    Examples
    --------
    >>> import kgl
    >>> data = kgl.simulate.make_dataset("er", m=10, n=50, dependent=True)
    >>> model = kgl.KGLAgnostic(lam=0.1, rho=0.01, density=0.3).fit(data.Y, K_z=data.K_z)
    >>> model.laplacian_.shape, model.converged_
    ((10, 10), True)
    """

    _spec: ClassVar[ModelSpec] = MODELS["KGL-Agnostic"]
