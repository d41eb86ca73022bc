r"""The log-degree graph step where the scales of the nodes differ by many decades.

The dual Newton method of :mod:`kgl.solvers.graph_step` reads weights off differences of
potentials, :math:`2 w_{ij} = u_i + u_j - c_{ij}`. Beside a potential that is many decades larger
such a difference is rounding. Here weights, potentials and slacks are unknowns of their own, so
that each has its own relative precision. With :math:`v_i = \beta / d_i` the
conditions of

.. math:: \min_{w \ge 0} \sum_{i<j} Z_{ij} w_{ij} + \psi \|W\|_F^2 - \beta \sum_i \log d_i

are

.. math::
    v_i d_i = \beta, \qquad Z_{ij} + 4 \psi w_{ij} - v_i - v_j = s_{ij} \ge 0, \qquad
    w_{ij} s_{ij} = 0,

and a primal-dual interior-point method (Mehrotra's predictor and corrector) solves them. A step is
one system of as many unknowns as nodes, :math:`D V^{-1} + \deg(\Theta) + \Theta` with
:math:`\Theta = w / (s + 4 \psi w)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kgl._types import Array

__all__ = ["log_degree_interior_point"]

#: Largest entry of the scaled Newton matrix. Where psi is negligible the true entries have no
#: bound, and the barrier is lost beside them. The equations are left as they are: a limit on the
#: matrix alone costs a step or two and no accuracy.
_STIFFEST = 1e10
#: Mean product of weight and slack, both relative, below which an edge is on or off beyond doubt.
_COMPLEMENTARY = 1e-28
_ROUNDING = 4e-15
#: Share of the way to the boundary that a step may go.
_INSIDE = 0.995


@dataclass
class _System:
    """The linearised conditions at one point, factored."""

    allowed: np.ndarray
    w: Array
    s: Array
    v: Array
    product: Array
    stiffness: Array
    theta: Array
    dual_gap: Array
    degree_gap: Array
    scale: Array
    factor: Any

    def direction(self, target: Array) -> tuple[Array, Array, Array]:
        """Return the changes of v, w and s that make the products w s equal to ``target``."""
        change = np.where(self.allowed, target - self.product, 0.0)
        fixed = change / self.stiffness - self.theta * self.dual_gap
        rhs = self.scale * (self.degree_gap / self.v - fixed.sum(axis=1))
        dv = self.scale * cho_solve(self.factor, rhs, check_finite=False)
        dw = np.where(self.allowed, fixed + self.theta * (dv[:, None] + dv), 0.0)
        # weights that have vanished give no number, at which the caller stops
        with np.errstate(invalid="ignore", divide="ignore"):
            ds = (change - self.s * dw) / np.where(self.allowed, self.w, 1.0)
        return dv, dw, np.where(self.allowed, ds, 0.0)


def log_degree_interior_point(
    Z: Array, psi: float, barrier: float, max_steps: int
) -> tuple[Array, int]:
    """Solve one log-degree problem to rounding, whatever the scales of its nodes.

    Parameters
    ----------
    Z : array (m, m)
        Symmetric distances; ``inf`` forbids an edge; every node needs one allowed pair.
    psi, barrier : float
        Weights of the Frobenius norm and of the logarithms of the degrees.
    max_steps : int
        Steps at most; about twenty are usual.

    Returns
    -------
    array (m, m)
        Weights, with exact zeros off the support. Not certified: stopped short, they are the best
        that was reached.
    int
        Steps taken.
    """
    m = len(Z)
    nodes = np.arange(m)
    off_diagonal = ~np.eye(m, dtype=bool)
    allowed = np.isfinite(Z) & off_diagonal
    nearest = np.where(allowed, Z, np.inf).min(axis=1)
    # w -> w / unit turns (Z, psi) into (Z / unit, psi / unit^2): numbers near one, so that squares
    # neither overflow nor vanish
    unit = max(float(np.median(nearest)), float(np.sqrt(psi) * np.sqrt(barrier)))
    z = np.where(allowed, Z, 0.0) / unit
    psi = psi / unit / unit
    nearest = nearest / unit
    v = 0.5 * nearest + np.hypot(0.5 * nearest, 2.0 * np.sqrt(psi * barrier))
    w = np.where(allowed, barrier / np.maximum.outer(v, v) / max(m - 1, 1), 0.0)
    s = np.where(allowed, v[:, None] + v, 1.0)
    n_steps = 0
    for n_steps in range(max_steps + 1):
        d = w.sum(axis=1)
        pair = v[:, None] + v
        dual_gap = np.where(allowed, z + 4.0 * psi * w - pair - s, 0.0)
        degree_gap = barrier - v * d
        product = w * s
        # products in units of their own nodes: a remote node has tiny weights and large slacks
        size = np.minimum.outer(d, d) * pair
        mu = float((product / size)[allowed].mean())
        gap = max(np.abs(dual_gap / pair).max(), np.abs(degree_gap).max() / barrier)
        if not mu > 0.0:  # beyond double precision, as its residual will tell
            break
        if n_steps == max_steps or (mu < _COMPLEMENTARY and gap < _ROUNDING):
            break
        stiffness = s + 4.0 * psi * w  # 1 on the diagonal and on forbidden pairs
        theta = np.minimum(w / stiffness, _STIFFEST * barrier / np.maximum.outer(v, v) ** 2)
        H = theta.copy()
        H[nodes, nodes] = theta.sum(axis=1)
        H *= v[:, None] * v
        H[nodes, nodes] += d * v
        scale = v / np.sqrt(H[nodes, nodes])
        try:
            factor = cho_factor(H * np.outer(scale / v, scale / v), check_finite=False)
        except np.linalg.LinAlgError:
            break
        system = _System(
            allowed, w, s, v, product, stiffness, theta, dual_gap, degree_gap, scale, factor
        )
        dv, dw, ds = system.direction(np.zeros_like(w))
        length = min(1.0, _room(w, dw), _room(s, ds), _room(v, dv))
        ahead = float(((w + length * dw) * (s + length * ds) / size)[allowed].mean())
        left = min(1.0, max(ahead / mu, 0.0)) if mu > 0.0 else 0.0
        target = left**3 * mu * size
        # the second-order correction is of use only where the prediction was
        dv, dw, ds = system.direction(target - dw * ds if length > 0.1 else target)
        length = min(1.0, _INSIDE * min(_room(w, dw), _room(s, ds), _room(v, dv)))
        new = w + length * dw, s + length * ds, v + length * dv
        if not all(np.isfinite(a).all() for a in new):
            break
        # the sum of both triangles: graphs are symmetric to the last bit
        w, s, v = 0.5 * (new[0] + new[0].T), 0.5 * (new[1] + new[1].T), new[2]
    d = w.sum(axis=1)
    on = allowed & (w / np.minimum.outer(d, d) > s / (v[:, None] + v))
    return np.where(on, w, 0.0) / unit, n_steps


def _room(x: Array, dx: Array) -> float:
    """Return the longest step along ``dx`` that keeps positive ``x`` at or above zero."""
    falling = dx < 0.0
    with np.errstate(over="ignore"):  # a change next to nothing leaves room without end
        return float((x[falling] / -dx[falling]).min(initial=np.inf))
