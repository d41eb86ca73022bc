"""What all graph learners share: checks, fitting, prediction, and the search for a density."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from kgl._docstrings import documented
from kgl._edge_rules import check_every_node, edge_cost_matrix
from kgl._labels import align
from kgl._memory import check_memory
from kgl._threads import keep_on_error, quietly
from kgl._types import Array
from kgl._validation import (
    as_numbers,
    check_flag,
    check_fraction,
    check_hyperparameter,
    check_kernel_limits,
    check_option,
    refuse_masked,
)
from kgl.export import GraphExport
from kgl.inputs import DEFAULT_KERNEL, InputTable
from kgl.kernels import NeedsDenseError, kernel_eigen
from kgl.laplacian import laplacian_from_adjacency
from kgl.large import (
    DEFAULT_DEGREE,
    ESTIMATOR_SOLVERS,
    LARGE_FROM,
    LargeFits,
    certify_option,
    densify,
    drop_sparse_results,
    pattern,
)
from kgl.prediction import Prediction, Prepared
from kgl.problem import PARTS, ModelSpec
from kgl.rows.learning import RowLearning
from kgl.solvers.alternating import Options, fit_signals, solve_points
from kgl.solvers.density import fit_edges, n_edges, short_patience, warn_if_missed
from kgl.solvers.graph_step import warn_if_inexact
from kgl.solvers.lowrank import estimate_dense
from kgl.solvers.routes import graph_solver
from kgl.solvers.signal_step import SignalData

__all__ = ["DEFAULT_DENSITY", "DEFAULT_KERNEL", "GraphLearner"]

REGULARIZERS = ("frobenius", "log-degree")
#: Share of pairs that are edges where neither psi nor a density is given: the paper's graphs.
DEFAULT_DENSITY = 0.3
#: Relative tolerance of iterative signal steps; the last one is solved to rounding.
INNER_TOL = 1e-9


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class GraphLearner(RowLearning, LargeFits, GraphExport, Prediction, BaseEstimator):
    """What all graph learners share; use one of its subclasses.

    A subclass adds the fields that its model has (``lam``, ``rho``, ``kernel_x``, ``kernel_z``)
    and names its row of :data:`kgl.problem.MODELS` in ``_spec``.
    """

    center: str = "node"
    scale: str = "node"
    log: str | bool = "auto"
    signed: bool = True
    psi: float | None = None
    density: float | None = None
    average_degree: float | None = None
    average: bool = False
    regularizer: str = "frobenius"
    barrier: float = 1.0
    allowed_edges: Any = None
    forbidden_edges: Any = None
    edge_penalty: Any = None
    solver: str = "auto"
    certify: str | bool = "all"
    backend: str | None = None
    tol: float = 1e-4
    max_iter: int = 500
    init: Any = None

    _spec: ClassVar[ModelSpec]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(
        self,
        Y: Any,
        y: None = None,
        *,
        K_x: Any = None,
        K_z: Any = None,
        x: Any = None,
        z: Any = None,
    ) -> Self:
        """Learn the graph that links the columns of ``Y``.

        Parameters
        ----------
        Y : array or DataFrame (n, m)
            One row per observation, one column per node; NaN marks a missing entry. The columns
            of a DataFrame name the nodes.
        y : None
            Ignored; present for scikit-learn's interface.
        K_x, K_z : array (m, m), array (n, n), optional
            Kernel matrices over nodes and over observations. Without them (and without
            covariates) the identity is used: no information on that side.
        x, z : array or DataFrame (m, p), (n, q), optional
            Covariates of nodes and observations instead of kernels; ``kernel_x`` and
            ``kernel_z`` turn them into kernels. Numbers, dates and categories; ``z="index"`` is
            the index of the DataFrame ``Y``.

        Returns
        -------
        self
        """
        side = {"K_x": K_x, "K_z": K_z, "x": x, "z": z}
        with keep_on_error(self):
            self.__dict__.pop("_stream", None)  # rows of earlier calls of partial_fit
            self._check_options()
            table = self._read(Y, z)
            large = None
            if self._takes_sparse(Y):
                try:
                    large = self._prepare_large(Y, **side, table=table)
                except NeedsDenseError:
                    if not self._may_fall_back(Y):
                        raise
            if large is None or self._is_dense_at_psi(large, Y):
                self._fit_dense(self._prepare(Y, **side, table=table), Y, side)
            else:
                self._fit_sparse(large, Y, side)
        self._warn()
        return self

    def _fit_dense(self, ready: Prepared, Y: Any, side: dict[str, Any]) -> None:
        """Fit with arrays of nodes by nodes."""
        lam, rho = self._weights()
        point = (np.array([lam]), np.array([rho]))
        options = replace(ready.options, signals=True, history=True)
        if self.psi is None:
            self._check_density_sets_psi()
            m = len(ready.names)
            target = np.array([self._target_edges(m)])
            aimed = replace(options, target_edges=target)
            patience = short_patience(m)
            batch, gap = fit_edges(ready.data, ready.spec, *point, aimed, patience=patience)
            warn_if_missed(gap, target, options, m, stacklevel=4)
        else:
            psi = np.array([check_hyperparameter("psi", self.psi)])
            batch = solve_points(ready.data, ready.spec, *point, psi, options)
        assert batch.signals is not None and batch.history is not None
        self.psi_ = float(batch.psi[0])
        self.node_names_ = ready.names
        self.weights_ = batch.weights[0]
        self.signs_ = np.ones_like(self.weights_) if batch.signs is None else batch.signs[0]
        self.laplacian_ = laplacian_from_adjacency(self.weights_, self.signs_)
        self.edge_scores_ = batch.scores[0]
        logs = ready.preparation.origin is not None
        shown = self._values(ready, Y, **side)
        signals = fit_signals(shown.data, ready.spec, *point, batch, options) if logs else None
        self._fitted = np.array(batch.signals[0] if signals is None else signals[0])
        self.__dict__.pop("signals_", None)
        if shown.n_rows is None:  # sums over rows have no signals of single rows
            self.signals_ = shown.preparation.undo(self._fitted)
        self.history_ = batch.history[0]
        self.objective_history_ = self.history_.sum(axis=1)
        self.objective_ = float(self.objective_history_[-1])
        self.objective_parts_ = dict(zip(PARTS, self.history_[-1].tolist(), strict=True))
        self.n_iter_ = int(batch.n_iter[0])
        self.converged_ = bool(batch.converged[0])
        self.kkt_residual_ = float(batch.residual[0])
        self._ready = shown
        self._logs = logs
        self._index = list(Y.index) if hasattr(Y, "loc") else None
        self._point = (lam, rho * ready.options.smoothness_scale)
        drop_sparse_results(self)
        self.pairs_examined_ = _n_open(ready.options.edge_cost, len(ready.names))
        self.pairs_violated_ = 0

    def _values(self, ready: Prepared, Y: Any, **side: Any) -> Prepared:
        """Return what signals are fitted to: the values, also where the graph is of logarithms."""
        if ready.preparation.origin is None:
            return ready
        with quietly():  # the same warnings as of the logarithms
            return clone(self).set_params(log=False)._prepare(Y, **side)

    def _warn(self) -> None:
        if not self.converged_:
            warnings.warn(
                f"{self._spec.name} did not converge in max_iter = {self.max_iter} outer "
                f"iterations to tol = {self.tol:g}; raise max_iter, or raise tol if the graph is "
                "good enough as it is",
                ConvergenceWarning,
                stacklevel=3,
            )
        if not self.pairs_violated_:  # they have a warning of their own
            warn_if_inexact(self.kkt_residual_, stacklevel=4, solver=self.solver)

    def _weights(self) -> tuple[float, float]:
        """Return lam and rho, with the fixed values of models that lack them."""
        lam = check_hyperparameter("lam", self.lam) if hasattr(self, "lam") else 0.0
        rho = check_hyperparameter("rho", self.rho) if hasattr(self, "rho") else 1.0
        return lam, rho

    def _check_density_sets_psi(self) -> None:
        if self.regularizer == "log-degree" and self._spec.fitted:
            raise ValueError(
                f"{self._spec.name} with regularizer='log-degree' needs psi: smooth signals and "
                "heavy edges make the barrier as small as one likes, so no density determines "
                "psi; give psi, or use GL or regularizer='frobenius'"
            )

    def _target_edges(self, m: int) -> int:
        if self.density is not None and self.average_degree is not None:
            raise ValueError(
                f"density = {self.density!r} and average_degree = {self.average_degree!r} both "
                "set the number of edges; give one"
            )
        if self.average_degree is not None:
            degree = check_hyperparameter("average_degree", self.average_degree)
            if degree > m - 1:
                raise ValueError(
                    f"average_degree = {degree:g} is more than the {m - 1} neighbours a node can "
                    f"have among {m} nodes; pass a number of at most {m - 1}"
                )
            target = degree / (m - 1)
        elif self.density is None and m >= LARGE_FROM:
            target = DEFAULT_DEGREE / (m - 1)
        else:
            target = check_fraction(
                "density", DEFAULT_DENSITY if self.density is None else self.density
            )
        return n_edges(target, m)

    def _prepare(
        self, Y: Any, *, K_x: Any = None, K_z: Any = None, x: Any = None, z: Any = None,
        table: InputTable | None = None,
    ) -> Prepared:  # fmt: skip
        """Check everything before any work starts; ``table`` is Y where it has been read."""
        self._check_options()
        signed = check_flag("signed", self.signed)
        table = self._read(Y, z) if table is None else table
        self._check_rows(table, K_z)
        values, mask, names, given_names = table.values, table.mask, table.names, table.labels
        n, m = values.shape
        if self.solver == "sparse":
            raise ValueError(
                "solver='sparse' fits one model at a time; for grids, cross-validation and "
                "stability use solver='auto', or fit each model yourself"
            )
        linked = self._spec.observation_kernel and (K_z is not None or table.z is not None)
        if max(m, n if linked else 0) >= LARGE_FROM:
            dense = estimate_dense(n, m, fitted=self._spec.fitted, observations=linked)
            check_memory(dense, f"a dense fit of {m} nodes to {n} observations")
        kernel_x, matrix_x = self._kernel("x", K_x, x, given_names, values, mask)
        kernel_z, matrix_z = self._kernel("z", K_z, table.z, table.index, values, mask)
        observed = mask
        if mask is not None:
            values, mask = self._fill(values, mask)
        data = SignalData(
            values, mask, kernel_eigen(matrix_x, "K_x", m),
            kernel_eigen(matrix_z, "K_z", n) if table.K_z is None else table.K_z,
        )  # fmt: skip
        options = Options(
            regularizer=self.regularizer,
            barrier=check_hyperparameter("barrier", self.barrier),
            smoothness_scale=1.0 / (table.n_rows or n)
            if check_flag("average", self.average)
            else 1.0,
            edge_cost=edge_cost_matrix(
                names,
                *(
                    align(given, given_names, name, size=m, square=True)
                    for name, given in (
                        ("allowed_edges", pattern(self.allowed_edges, "allowed_edges")),
                        ("forbidden_edges", pattern(self.forbidden_edges, "forbidden_edges")),
                        ("edge_penalty", densify(self.edge_penalty)),
                    )
                ),
            ),
            tol=check_hyperparameter("tol", self.tol),
            inner_tol=INNER_TOL,
            max_iter=self.max_iter,
            init=self._initial(m),
            solve_graph=graph_solver(self.solver, self.backend),
        )
        if options.edge_cost is not None and self.regularizer == "log-degree":
            check_every_node(np.isfinite(options.edge_cost), names)
        informed = {"x": matrix_x is not None, "z": matrix_z is not None or table.K_z is not None}
        spec = replace(self._spec, signed=signed)
        return Prepared(
            data, spec, options, names, kernel_x, kernel_z, informed, table.preparation,
            given_names is not None, observed, table.n_rows,
        )  # fmt: skip

    def _check_options(self) -> None:
        """Check what does not depend on the data."""
        check_option("regularizer", self.regularizer, REGULARIZERS)
        check_option("solver", self.solver, ESTIMATOR_SOLVERS)
        certify_option(self.certify)
        if hasattr(self, "kernel_tol"):
            check_kernel_limits(self.kernel_tol, self.max_rank)
        whole = isinstance(self.max_iter, Integral) and not isinstance(self.max_iter, bool)
        if not (whole and self.max_iter >= 1):
            raise ValueError(
                f"max_iter = {self.max_iter!r} must be a whole number of at least 1, such as 100"
            )
        if self.psi is not None and (self.density, self.average_degree) != (None, None):
            raise ValueError(
                f"psi = {self.psi!r} and a target density were both given; psi sets the density, "
                "so give one of them"
            )

    def _initial(self, m: int) -> Array | None:
        if self.init is None:
            return None
        refuse_masked(self.init, "init")
        L = np.array(as_numbers(densify(self.init), "init"))
        shaped = L.shape == (m, m) and bool(np.isfinite(L).all())
        links = L - np.diag(np.diag(L)) if shaped else L
        sums = np.diag(L) - np.abs(links).sum(axis=1) if shaped else L
        if (
            not shaped
            or max(np.abs(sums).max(), np.abs(L - L.T).max()) > 1e-8 * np.abs(L).max()
            or (links.max() > 0 and not self.signed)
            or np.trace(L) <= 0
        ):
            raise ValueError(
                f"init must be a Laplacian of {m} nodes (symmetric, degrees on the diagonal, "
                f"no positive entry off the diagonal unless signed, not zero), got "
                f"shape {L.shape}; use kgl.laplacian.laplacian_from_adjacency(W)"
            )
        return L

    def _fill(self, values: Array, mask: np.ndarray) -> tuple[Array, np.ndarray | None]:
        """Leave missing entries out of the fit, or treat them as zero, as the model does."""
        return values, mask if self._spec.masked else None


def _n_open(cost: Array | None, m: int) -> int:
    """Return the number of pairs that may be edges."""
    if cost is None:
        return m * (m - 1) // 2
    return int(np.count_nonzero(np.isfinite(cost)) - m) // 2
