"""What a grid of fits returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl._optional import import_optional
from kgl._types import Array
from kgl._validation import check_whole
from kgl.base import GraphLearner
from kgl.laplacian import adjacency_from_edges, laplacian_from_adjacency
from kgl.problem import PARTS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["KERNEL_AXES", "GridResult"]

#: Settings that may be lists of kernels to cross with the hyperparameters.
KERNEL_AXES = ("kernel_x", "kernel_z")


@dataclass
class GridResult:
    """Every point of a grid, in the order of ``params``.

    Attributes
    ----------
    model : type
        The estimator class.
    params : dict of arrays (N,)
        Hyperparameters of each point: the product of the axes, the last varying fastest; and the
        psi found for each point where densities are an axis. Where kernels are an axis, they are
        here too.
    axes : dict of arrays
        The values that were crossed.
    weights, scores : array (N, E) or None
        Edge weights and scores, pairs ``i < j`` in the order of ``np.triu_indices``.
    signs : array (N, E) or None
        1 and -1: whether the nodes of a pair move together or opposite to each other; None where
        graphs are not signed.
    n_iter : array of int (N,)
        Outer iterations.
    converged : bool array (N,)
        Whether the tolerance was reached.
    residual : array (N,)
        Relative KKT residual of each graph.
    signals : array (N, n, m) or None
        Fitted signals in the units of the data, where asked for.
    objective_parts : array (N, 4) or None
        Fit, ridge, smoothness and graph terms, where asked for.
    metrics : dict of arrays (N,)
        What ``evaluate`` returned.
    node_names : list
        Names of the nodes.
    options : dict
        Other settings of the estimator.
    """

    model: type[GraphLearner]
    params: dict[str, Array]
    axes: dict[str, Array]
    weights: Array | None
    scores: Array | None
    n_iter: np.ndarray
    converged: np.ndarray
    residual: Array
    signals: Array | None = None
    objective_parts: Array | None = None
    metrics: dict[str, Array] = field(default_factory=dict)
    node_names: list[Any] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    signs: Array | None = None

    def __len__(self) -> int:
        return len(self.n_iter)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes: ``metric.reshape(result.shape)`` gives one axis each."""
        return tuple(len(v) for v in self.axes.values())

    @property
    def objective(self) -> Array | None:
        """Objective of each point, where asked for."""
        return None if self.objective_parts is None else self.objective_parts.sum(axis=1)

    def _at(self, index: int) -> int:
        """Return a position in the grid, counted from the end where it is negative."""
        return check_whole("index", index, -len(self), len(self) - 1)

    def point(self, index: int) -> dict[str, Any]:
        """Return the hyperparameters that give one point: with psi, not with a density."""
        index = self._at(index)
        return {
            name: values[index] if name in KERNEL_AXES else float(values[index])
            for name, values in self.params.items()
            if name != "density"
        }

    def adjacency(self, index: int) -> Array:
        """Return the weights of one point as a matrix."""
        if self.weights is None:
            raise ValueError("the weights were not kept; call fit_grid with keep=True")
        return adjacency_from_edges(self.weights[self._at(index)])

    def laplacian(self, index: int) -> Array:
        """Return the Laplacian of one point."""
        W = self.adjacency(index)
        signs = None if self.signs is None else adjacency_from_edges(self.signs[index])
        return laplacian_from_adjacency(W, signs)

    def estimator(self, index: int) -> GraphLearner:
        """Return the estimator of one point, not fitted."""
        settings: dict[str, Any] = {**self.point(index), **self.options}
        return self.model(**settings)

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with a row per point: hyperparameters, iterations and metrics."""
        pandas = import_optional("pandas", "frame", "to_frame")
        columns: dict[str, Any] = {**self.params, "n_iter": self.n_iter}
        columns |= {"converged": self.converged, "kkt_residual": self.residual}
        if self.objective_parts is not None:
            columns |= dict(zip(PARTS, self.objective_parts.T, strict=True))
        frame: pd.DataFrame = pandas.DataFrame({**columns, **self.metrics})
        return frame
