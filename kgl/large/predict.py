"""Predictions of sparse fits, from factors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from kgl._labels import align_columns
from kgl._types import Array
from kgl._validation import refuse_masked
from kgl.kernels import FittedFactor
from kgl.prediction import FAR

__all__ = ["new_rows", "values_at"]


def values_at(
    model: Any, z: Any, x: Any, K_z: Any, K_x: Any
) -> tuple[Array, Array | None, Array | None]:
    """Return prepared signals (n_new, m_new) at new points.

    Returns also the kernels between new and fitted observations and nodes, None for those of the
    fit.
    """
    ready, found = model._ready, model._large_signals
    data = ready.data
    left = None
    if z is None and K_z is None:
        rows = data.lift(data.root_z * np.eye(len(data.K_z.values)))
        if data.K_z.is_identity:
            rows = None
    else:
        left = model._cross("z", z, K_z, ready.kernel_z, data.K_z)
        # K_new K_z^+ Q_z sqrt(z) = K_new Q_z / sqrt(z)
        rows = left @ data.K_z.vectors / data.root_z[:, 0]
    if x is None and K_x is None:
        return _times(rows, found.nodes), left, None
    new = _node_rows(model, x, K_x)
    return _times(rows, new @ found.coefficients), left, new @ data.K_x.factor.T


def _times(rows: Array | None, nodes: Array) -> Array:
    return np.asarray(nodes.T if rows is None else rows @ nodes.T)


def _node_rows(model: Any, x: Any, K_x: Any) -> Array:
    """Return rows of the factor of the kernel over the nodes at new nodes."""
    if x is not None and K_x is not None:
        raise ValueError("both K_x and x were given; give the kernel or covariates")
    ready = model._ready
    fitted: FittedFactor | None = ready.kernel_x
    if not ready.informed["x"] or fitted is None:
        raise ValueError(
            "the model was fitted without information on the nodes (K_x is the identity), so new "
            "nodes cannot be predicted from covariates; fit with x=... or K_x=..."
        )
    given = x if K_x is None else K_x
    what = "x" if K_x is None else "K_x"
    refuse_masked(given, what)
    if K_x is not None:
        given = align_columns(given, model._labels("x"), what, size=len(fitted.factor))
    new = fitted.embed(given)
    own = float(np.mean(np.einsum("ij,ij->i", fitted.factor, fitted.factor)))
    # a value of the kernel with a point of the fit is at most the root of both variances
    far = np.flatnonzero(np.einsum("ij,ij->i", new, new) < (FAR * own) ** 2 / max(own, 1e-300))
    if len(far):
        warnings.warn(
            f"{len(far)} of {len(new)} new nodes (the first is row {far[0]} of {what}) are far "
            "from those of the fit, so that their predictions are the mean of the node; fit with "
            "nodes that reach there, or with a wider kernel_x",
            UserWarning,
            stacklevel=5,
        )
    return new


def new_rows(model: Any, values: Array, mask: np.ndarray) -> Array:
    """Return the fitted values of new rows, each by itself, given the graph of a sparse fit."""
    from kgl.kernels import kernel_eigen
    from kgl.solvers.lowrank import LargeData, refit_signals

    ready = model._ready
    preparation = ready.preparation.for_observations(len(values))
    y = preparation.apply(np.where(mask, values, 0.0), mask)
    rows = kernel_eigen(None, "K_z", len(y))
    data = LargeData(np.where(mask, y, 0.0), None if mask.all() else mask, ready.data.K_x, rows)
    lam, rho = model._point
    found = refit_signals(data, ready.spec, lam, rho, model._graph)
    assert found.nodes is not None
    return np.asarray(preparation.undo(found.nodes.T))
