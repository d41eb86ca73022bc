"""The log-degree problem over a list of pairs where the scales of the nodes differ by decades.

The method is that of :mod:`kgl.solvers.interior_point`, whose docstring has the equations: weights,
potentials and slacks are unknowns of their own, so that each keeps its relative precision. Here
each pair is stored once, and systems are factored as sparse matrices where there are many nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

from kgl._types import Array

__all__ = ["interior_point"]

#: As in the dense method: largest entry of the scaled matrix, products of weight and slack below
#: which an edge is on or off beyond doubt, accuracy of the equations, share of the way to the
#: boundary that a step may go.
_STIFFEST = 1e10
_COMPLEMENTARY = 1e-28
_ROUNDING = 4e-15
_INSIDE = 0.995
#: Nodes up to which a dense factor is as fast.
_DENSE = 600


@dataclass
class _State:
    """Pairs with their costs, and the unknowns: weights, slacks and potentials."""

    rows: np.ndarray
    cols: np.ndarray
    cost: Array
    psi: float
    barrier: float
    w: Array
    s: Array
    v: Array

    def sums(self, values: Array) -> Array:
        """Add the values of pairs up over the pairs of each node."""
        out = np.bincount(self.rows, values, len(self.v))
        out += np.bincount(self.cols, values, len(self.v))
        return np.asarray(out)

    def ends(self, x: Array) -> Array:
        """Return the sum of the numbers at both ends of each pair."""
        return np.asarray(x[self.rows] + x[self.cols])


class _System:
    """The linearised conditions at one state, factored."""

    def __init__(self, state: _State) -> None:
        self.state, s = state, state
        self.degrees = s.sums(s.w)
        self.pair = s.ends(s.v)
        self.dual_gap = s.cost + 4.0 * s.psi * s.w - self.pair - s.s
        self.degree_gap = s.barrier - s.v * self.degrees
        self.product = s.w * s.s
        # products in units of their own nodes: a remote node has tiny weights and large slacks
        self.size = np.minimum(self.degrees[s.rows], self.degrees[s.cols]) * self.pair
        self.mu = float((self.product / self.size).mean())
        self.stiffness = s.s + 4.0 * s.psi * s.w

    @property
    def gap(self) -> float:
        """How far the equations are from holding, relative to their terms."""
        dual = float(np.abs(self.dual_gap / self.pair).max())
        return max(dual, float(np.abs(self.degree_gap).max()) / self.state.barrier)

    def factor(self) -> None:
        """Factor the matrix, scaled to a unit diagonal; LinAlgError if it is not definite."""
        s = self.state
        stiffest = _STIFFEST * s.barrier / np.maximum(s.v[s.rows], s.v[s.cols]) ** 2
        self.theta = np.minimum(s.w / self.stiffness, stiffest)
        self.scale = 1.0 / np.sqrt(s.sums(self.theta) + self.degrees / s.v)
        entries = self.theta * self.scale[s.rows] * self.scale[s.cols]
        self.solve = _factored(s.rows, s.cols, entries, len(s.v))

    def direction(self, target: Array) -> tuple[Array, Array, Array]:
        """Return the changes of v, w and s that make the products w s equal to ``target``."""
        s = self.state
        change = target - self.product
        fixed = change / self.stiffness - self.theta * self.dual_gap
        rhs = self.scale * (self.degree_gap / s.v - s.sums(fixed))
        dv = self.scale * self.solve(rhs)
        dw = fixed + self.theta * s.ends(dv)
        # weights that have vanished give no number, at which the caller stops
        with np.errstate(invalid="ignore", divide="ignore"):
            return dv, dw, (change - s.s * dw) / s.w

    def step(self) -> tuple[Array, Array, Array]:
        """Return the next weights, slacks and potentials: a prediction and its correction."""
        s = self.state
        dv, dw, ds = self.direction(np.zeros_like(s.w))
        length = min(1.0, _room(s.w, dw), _room(s.s, ds), _room(s.v, dv))
        ahead = float(((s.w + length * dw) * (s.s + length * ds) / self.size).mean())
        left = min(1.0, max(ahead / self.mu, 0.0)) if self.mu > 0.0 else 0.0
        target = left**3 * self.mu * self.size
        # the second-order correction is of use only where the prediction was
        dv, dw, ds = self.direction(target - dw * ds if length > 0.1 else target)
        length = min(1.0, _INSIDE * min(_room(s.w, dw), _room(s.s, ds), _room(s.v, dv)))
        return s.w + length * dw, s.s + length * ds, s.v + length * dv


def interior_point(
    rows: np.ndarray, cols: np.ndarray, cost: Array, nearest: Array, psi: float, barrier: float,
    max_steps: int,
) -> tuple[Array, int]:  # fmt: skip
    """Solve one log-degree problem over pairs to rounding, whatever the scales of its nodes.

    Parameters
    ----------
    rows, cols : array of int (p,)
        Pairs, each once; every node needs one.
    cost : array (p,)
        Their costs.
    nearest : array (m,)
        Smallest cost of the pairs of each node.
    psi, barrier : float
        Weights of the Frobenius norm and of the logarithms of the degrees.
    max_steps : int
        Steps at most; about twenty are usual.

    Returns
    -------
    array (p,)
        Weights, zero where there is no edge. Not certified: stopped short, they are the best that
        was reached.
    int
        Steps taken.
    """
    # w -> w / unit turns (cost, psi) into (cost / unit, psi / unit^2): numbers near one
    unit = max(float(np.median(nearest)), float(np.sqrt(psi) * np.sqrt(barrier)))
    state = _first(rows, cols, cost / unit, nearest / unit, psi / unit / unit, barrier)
    for n_steps in range(max_steps + 1):
        system = _System(state)
        if n_steps == max_steps or (system.mu < _COMPLEMENTARY and system.gap < _ROUNDING):
            break
        try:
            system.factor()
        except np.linalg.LinAlgError:
            break
        new = system.step()
        if not all(np.isfinite(a).all() for a in new):
            break
        state.w, state.s, state.v = new
    d = state.sums(state.w)
    share = state.w / np.minimum(d[rows], d[cols])
    return np.where(share > state.s / state.ends(state.v), state.w, 0.0) / unit, n_steps


def _first(
    rows: np.ndarray, cols: np.ndarray, cost: Array, nearest: Array, psi: float, barrier: float
) -> _State:
    """Return the state to start from: each node alone with its nearest neighbour."""
    v = 0.5 * nearest + np.hypot(0.5 * nearest, 2.0 * np.sqrt(psi * barrier))
    n_pairs = np.bincount(rows, minlength=len(v)) + np.bincount(cols, minlength=len(v))
    widest = np.maximum(n_pairs[rows], n_pairs[cols])
    w = barrier / np.maximum(v[rows], v[cols]) / widest
    return _State(rows, cols, cost, psi, barrier, w, v[rows] + v[cols], v)


def _factored(
    rows: np.ndarray, cols: np.ndarray, entries: Array, m: int
) -> Callable[[Array], Array]:
    """Factor a matrix of unit diagonal, and return what solves with it."""
    if m <= _DENSE:
        matrix = np.eye(m)
        matrix[rows, cols] = matrix[cols, rows] = entries
        factor = cho_factor(matrix, check_finite=False)
        return lambda rhs: np.asarray(cho_solve(factor, rhs, check_finite=False))
    upper = sparse.csc_array((entries, (rows, cols)), shape=(m, m))
    whole = (upper + upper.T + sparse.eye_array(m, format="csc")).tocsc()
    options = {"SymmetricMode": True}
    try:
        lu = splu(whole, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    except RuntimeError as error:  # SuperLU: the factor is exactly singular
        raise np.linalg.LinAlgError(str(error)) from None
    if not (lu.U.diagonal() > 0).all():
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return lambda rhs: np.asarray(lu.solve(rhs))


def _room(x: Array, dx: Array) -> float:
    """Return the longest step along ``dx`` that keeps positive ``x`` at or above zero."""
    falling = dx < 0.0
    with np.errstate(over="ignore"):  # a change next to nothing leaves room without end
        return float((x[falling] / -dx[falling]).min(initial=np.inf))
