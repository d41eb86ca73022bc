r"""The signal step: fitted signals for a given graph, for a batch of graphs and hyperparameters.

For a fixed graph the objective is quadratic in :math:`\hat Y`, with the solution of Gaussian
process regression: a prior covariance :math:`\Sigma` over the entries of :math:`\hat Y` and unit
noise on the observed ones,

.. math::
    \hat y = \Sigma \alpha, \qquad (I + M \Sigma M)\, \alpha = M y.

In the whitened models :math:`\Sigma = P \otimes K_z` with
:math:`P = (\lambda K_x^{\dagger} + \rho L)^{\dagger}
= B (\lambda I + \rho B^\top L B)^{-1} B^\top` for any factor :math:`K_x = B B^\top`. No kernel is
ever inverted, so singular kernels need no treatment of their own. In the joint eigenbasis
(:math:`Q_z` of :math:`K_z`, :math:`U` of :math:`P` or :math:`L`) the prior is diagonal,
with variances

.. math::
    s_{ij} = z_i g_j \;\text{(whitened)}, \qquad
    s_{ij} = \frac{z_i}{\lambda + \rho\, l_j z_i} \;\text{(not whitened)}.

The cases below have one class each; all return the matrix :math:`G` for which the smoothness
term is :math:`\operatorname{tr}(G L)`, the only thing the graph step reads.

============  =======================  ==========================================
data          K_z = I                  K_z given
============  =======================  ==========================================
complete      :class:`GramStep`        :class:`SpectralStep`
incomplete    :class:`RowwiseStep`     :class:`DirectStep` for few entries,
                                       :class:`ResidualStep` for more,
                                       :class:`SplitStep` for most,
                                       :class:`CoefficientStep` for very many
============  =======================  ==========================================
"""

from __future__ import annotations

from functools import partial

from kgl.problem import ModelSpec
from kgl.solvers.signal_base import SignalData, SignalSolution, SignalStep
from kgl.solvers.signal_complete import GramStep, SpectralStep
from kgl.solvers.signal_iterative import CoefficientStep, ResidualStep
from kgl.solvers.signal_masked import DirectStep, RowwiseStep
from kgl.solvers.signal_split import SplitStep
from kgl.solvers.signal_stiff import StiffMaskedStep, StiffStep

__all__ = ["SignalData", "SignalSolution", "SignalStep", "make_signal_step"]

#: Observed entries up to which a dense system takes less time than conjugate gradients.
_FEW_ENTRIES = 200
#: Directions of K_z up to which it does so.
_FEW_DIRECTIONS = 12
#: Observed entries per coefficient below which the residuals are solved for. By what links nodes: a
#: kernel does so from the start, which takes many iterations unless nodes are split off.
_SPARSE = {"kernel over nodes": 0.0, "graph alone": 0.3, "not whitened": 1.0}
#: Doubles (128 MB) that the bases of the observed entries of each node may take.
_MOST_FLOATS = 16_000_000


def make_signal_step(data: SignalData, spec: ModelSpec, *, tol: float = 1e-12) -> SignalStep:
    """Choose the solver for a data set: complete or not, dependent observations or not."""
    step = _usual_step(data, spec, tol)
    step.make_stiff = partial(StiffStep if data.mask is None else StiffMaskedStep, data, spec)
    return step


def _usual_step(data: SignalData, spec: ModelSpec, tol: float) -> SignalStep:
    if data.mask is None:
        return (GramStep if data.K_z.is_identity else SpectralStep)(data, spec)
    if data.K_z.is_identity:
        return RowwiseStep(data, spec)
    n_observed, n_directions = int(data.mask.sum()), len(data.K_z.values)
    if n_observed <= _FEW_ENTRIES and n_directions <= _FEW_DIRECTIONS:
        return DirectStep(data, spec)
    n_coefficients = n_directions * data.Y.shape[1]
    if min(int(data.mask.sum(axis=0).max()), n_directions) * n_coefficients > _MOST_FLOATS:
        return CoefficientStep(data, spec, tol=tol)
    return (ResidualStep if n_observed < _SPARSE[_kind(spec)] * n_coefficients else SplitStep)(
        data, spec, tol=tol
    )


def _kind(spec: ModelSpec) -> str:
    if not spec.whitened:
        return "not whitened"
    return "kernel over nodes" if spec.node_kernel else "graph alone"
