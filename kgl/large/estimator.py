"""Mixin of the estimators: fits of many nodes, with sparse results."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kgl._labels import align
from kgl._memory import check_memory
from kgl._threads import quietly
from kgl._types import Array
from kgl._validation import check_flag, check_hyperparameter
from kgl.kernels import FittedFactor, KernelEigen, NeedsDenseError, factor_eigen
from kgl.large.kernels import node_kernel, observation_kernel
from kgl.large.predict import values_at
from kgl.large.results import certify_option, give_results, named_pairs, runners_up_table
from kgl.large.route import (
    DENSE_UP_TO,
    SPARSE_SHARE_AT_PSI,
    edge_share,
    n_columns,
    takes_sparse,
)
from kgl.large.rules import n_allowed, pair_rules
from kgl.preparation import Preparation
from kgl.problem import ModelSpec
from kgl.solvers.density import fair_miss
from kgl.solvers.lowrank import (
    LargeData,
    LargeOptions,
    SparseLaplacian,
    estimate_sparse,
    fit_large,
    refit_signals,
    refuse_stiff,
    solve_large,
)
from kgl.solvers.sparse import SparseGraph, pair_scores

if TYPE_CHECKING:
    from kgl.inputs import InputTable

__all__ = ["LargeFits", "PreparedLarge"]

#: Relative tolerance of iterative signal steps; the last one is solved to rounding.
INNER_TOL = 1e-11


@dataclass
class PreparedLarge:
    """One large data set and model, checked and ready for the solvers."""

    data: LargeData
    spec: ModelSpec
    options: LargeOptions
    names: list[Any]
    kernel_x: FittedFactor | None
    kernel_z: Any
    informed: dict[str, bool]
    preparation: Preparation
    labelled: bool
    mask: np.ndarray | None
    n_rows: int | None = None  # of the table, where the data are sums over its rows


class LargeFits:
    """Mixin: the sparse way of a fit. The dense one has the same optimum."""

    _sparse = False

    if TYPE_CHECKING:
        _spec: ClassVar[ModelSpec]
        _features: Array
        _graph: SparseGraph
        edge_scores_: Array
        _ready: Any
        _point: tuple[float, float]
        solver: str
        certify: str | bool
        psi: float | None
        density: float | None
        average_degree: float | None
        signed: bool
        average: bool
        regularizer: str
        barrier: float
        allowed_edges: Any
        forbidden_edges: Any
        edge_penalty: Any
        tol: float
        max_iter: int
        init: Any

        def _check_options(self) -> None: ...
        def _check_density_sets_psi(self) -> None: ...
        def _target_edges(self, m: int) -> int: ...
        def _weights(self) -> tuple[float, float]: ...
        def _read(self, Y: Any, z: Any) -> InputTable: ...
        def _check_rows(self, table: InputTable, K_z: Any) -> None: ...
        def _fill(self, values: Array, mask: np.ndarray) -> tuple[Array, np.ndarray | None]: ...
        def _initial(self, m: int) -> Any: ...

    def _takes_sparse(self, Y: Any) -> bool:
        m = n_columns(Y)
        target = None
        if self.solver == "auto" and m is not None and m >= 2 and self.psi is None:
            target = self._target_edges(m)
        return takes_sparse(self.solver, m, target)

    def _may_fall_back(self, Y: Any) -> bool:
        """Return whether a fit that is not possible the sparse way is done the dense way."""
        m = n_columns(Y)
        return self.solver == "auto" and m is not None and m <= DENSE_UP_TO

    def _is_dense_at_psi(self, ready: PreparedLarge, Y: Any) -> bool:
        """Return whether the psi given links so many pairs that the dense fit is the faster one."""
        if self.psi is None or ready.data.mask is not None or not self._may_fall_back(Y):
            return False
        return self._share_at_psi(ready) > SPARSE_SHARE_AT_PSI

    def _share_at_psi(self, ready: PreparedLarge) -> float:
        """Estimate which share of all pairs are edges at the psi given."""
        rho = self._weights()[1] * ready.options.smoothness_scale
        return edge_share(
            ready.data.Y.T,
            check_hyperparameter("psi", self.psi),
            signed=ready.spec.signed,
            regularizer=ready.options.regularizer,
            barrier=ready.options.barrier,
            rho=rho,
        )

    def _fit_sparse(self, ready: PreparedLarge, Y: Any, side: dict[str, Any]) -> None:
        """Fit with sparse graphs and factors."""
        lam, rho = self._weights()
        m = len(ready.names)
        given = (ready.data, ready.spec, lam, rho)
        if self.psi is None:
            self._check_density_sets_psi()
            target = self._target_edges(m)
            self._check_sparse_memory(ready, target)
            possible = n_allowed(ready.options.rules, m)
            wanted = min(target, possible)
            fair = int(fair_miss(m, np.array([wanted]))[0])
            fit, gap = fit_large(*given, ready.options, wanted, fair=fair)
            if gap > fair or possible < target:
                _warn_missed(fit.graph.n_edges, target, possible)
        else:
            psi = check_hyperparameter("psi", self.psi)
            expected = round(self._share_at_psi(ready) * m * (m - 1) / 2)
            self._check_sparse_memory(ready, min(expected, n_allowed(ready.options.rules, m)))
            fit = solve_large(*given, psi, ready.options)
        self._point = (lam, rho * ready.options.smoothness_scale)
        shown = self._values_large(ready, Y, side)
        if shown is not ready and ready.spec.fitted:
            fit.signals = refit_signals(shown.data, ready.spec, *self._point, fit.graph)
        give_results(self, ready, shown, fit)
        self._index = list(Y.index) if hasattr(Y, "loc") else None

    def _check_sparse_memory(self, ready: PreparedLarge, edges: int) -> None:
        n, m = ready.data.Y.shape
        factor = ready.data.K_x.factor
        need = estimate_sparse(
            n,
            m,
            rank=0 if factor is None else factor.shape[1],
            directions=len(ready.data.K_z.values),
            edges=edges,
            masked=ready.data.mask is not None,
            white=ready.spec.fitted and ready.data.K_x.white > 0.0,
        )
        check_memory(need, f"a sparse fit of {m} nodes to {n} observations")

    def _values_large(self, ready: PreparedLarge, Y: Any, side: dict[str, Any]) -> PreparedLarge:
        """Return what signals are fitted to: the values, also where the graph is of logarithms."""
        if ready.preparation.origin is None:
            return ready
        with quietly():  # the same warnings as of the logarithms
            values: LargeFits = clone(self).set_params(log=False)
            return values._prepare_large(Y, **side)

    def _prepare_large(
        self, Y: Any, *, K_x: Any = None, K_z: Any = None, x: Any = None, z: Any = None,
        table: InputTable | None = None,
    ) -> PreparedLarge:  # fmt: skip
        """Check everything before any work starts; ``table`` is Y where it has been read."""
        self._check_options()
        certify = certify_option(self.certify)
        table = self._read(Y, z) if table is None else table
        self._check_rows(table, K_z)
        values, mask, names, labels = table.values, table.mask, table.names, table.labels
        n, m = values.shape
        least = estimate_sparse(
            n, m, rank=0, directions=0, edges=0, masked=mask is not None, white=False
        )
        check_memory(least, f"a sparse fit of {m} nodes to {n} observations")
        kernel_x, nodes = node_kernel(self, K_x, x, labels, values, mask)  # type: ignore[arg-type]
        kernel_z, rows = observation_kernel(
            self, K_z, table.z, table.index, values, mask  # type: ignore[arg-type]
        )  # fmt: skip
        observed = mask
        if mask is not None:
            values, mask = self._fill(values, mask)
            if mask is not None and not self._spec.fitted:
                raise NeedsDenseError(
                    "missing='pairwise' gives distances that belong to no features, which a sparse "
                    "fit needs; use missing='zero', KGLN, or solver='newton' where memory allows"
                )
        rules = pair_rules(
            names,
            _aligned(self.allowed_edges, labels, "allowed_edges", m),
            _aligned(self.forbidden_edges, labels, "forbidden_edges", m),
            _aligned(self.edge_penalty, labels, "edge_penalty", m),
            every_node=self.regularizer == "log-degree",
        )
        own = rows if table.K_z is None else table.K_z
        data = LargeData(values, mask, nodes, own)
        spec = replace(self._spec, signed=check_flag("signed", self.signed))
        scale = 1.0 / (table.n_rows or n) if check_flag("average", self.average) else 1.0
        options = LargeOptions(
            regularizer=self.regularizer,
            barrier=check_hyperparameter("barrier", self.barrier),
            smoothness_scale=scale,
            rules=rules,
            certify=certify,
            tol=check_hyperparameter("tol", self.tol),
            max_iter=self.max_iter,
            inner_tol=INNER_TOL,
            init=self._initial_sparse(m),
        )
        refuse_stiff(data, spec, *self._weights(), scale)
        informed = {"x": kernel_x is not None, "z": kernel_z is not None or K_z is not None}
        informed["z"] |= table.K_z is not None
        return PreparedLarge(
            data, spec, options, names, kernel_x, kernel_z,
            informed, table.preparation, labels is not None, observed, table.n_rows,
        )  # fmt: skip

    def _initial_sparse(self, m: int) -> SparseLaplacian | None:
        if self.init is None:
            return None
        if not sparse.issparse(self.init):
            return SparseLaplacian(sparse.csr_array(self._initial(m)))
        if self.init.shape != (m, m):
            raise ValueError(_no_start(m, self.init.shape))
        L = sparse.csr_array(self.init).astype(float)
        links = L - sparse.diags_array(L.diagonal())
        sums = L.diagonal() - np.asarray(abs(links).sum(axis=1)).ravel()
        size = float(np.abs(L.data).max(initial=0.0))
        if (
            not np.isfinite(L.data).all()
            or size == 0.0
            or max(np.abs(sums).max(), np.abs((L - L.T).data).max(initial=0.0)) > 1e-8 * size
            or (links.data.max(initial=0.0) > 0 and not self.signed)
        ):
            raise ValueError(_no_start(m, L.shape))
        return SparseLaplacian(L)

    def __getattr__(self, name: str) -> Any:
        if name == "edge_scores_" and self.__dict__.get("_sparse"):
            raise AttributeError(
                "a sparse fit keeps no scores of all pairs of nodes; use pair_scores(pairs), or "
                "runners_up(k) for the pairs nearest to becoming edges"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def pair_scores(self, pairs: Any) -> Array:
        """Return the scores of some pairs of nodes, as ``edge_scores_`` has them for all.

        Parameters
        ----------
        pairs : iterable of (name, name)
            Pairs of nodes by their names.

        Returns
        -------
        array (number of pairs,)
            The weight of an edge; for other pairs a negative number, the nearer to zero the
            nearer the pair was to being an edge; ``-inf`` where no edge may be.

        Examples
        --------
        >>> import kgl
        >>> data = kgl.simulate.make_dataset("er", m=10, n=50)
        >>> model = kgl.GL(density=0.2).fit(data.Y)
        >>> bool(model.pair_scores([(0, 1)])[0] == model.edge_scores_[0, 1])
        True
        """
        check_is_fitted(self, "weights_")
        rows, cols = named_pairs(self, pairs)
        if not self._sparse:
            return np.asarray(self.edge_scores_[rows, cols])
        return pair_scores(self._features, self._graph, rows, cols)

    def runners_up(self, k: int = 5) -> Any:
        """Return the pairs nearest to becoming edges: up to ``k`` for each node.

        Parameters
        ----------
        k : int
            Pairs of each node that are no edges.

        Returns
        -------
        DataFrame
            source, target and score, the nearest first. A pair that is among the nearest of both
            its nodes is listed once.
        """
        check_is_fitted(self, "weights_")
        return runners_up_table(self, k)

    # ------------------------------------------------------------------------ predictions

    def _values_at(
        self, z: Any, x: Any, K_z: Any, K_x: Any
    ) -> tuple[Array, Array | None, Array | None]:
        if not self._sparse:
            return super()._values_at(z, x, K_z, K_x)  # type: ignore[misc]
        return values_at(self, z, x, K_z, K_x)

    def _node_eigen(self) -> KernelEigen:
        if not self._sparse:
            return super()._node_eigen()  # type: ignore[misc]
        return factor_eigen(self._ready.data.K_x.factor)

    def _node_white(self) -> float:
        return float(self._ready.data.K_x.white) if self._sparse else 0.0

    def _std(self, *given: Any) -> Array:
        if self._sparse:
            raise ValueError(
                "a sparse fit has no standard deviations: they take the covariance of all nodes; "
                "fit with solver='newton' where memory allows, or a part of the nodes"
            )
        return super()._std(*given)  # type: ignore[misc]

    def coefficients(self) -> Array:
        """Return the coefficients of the fitted function; see the dense fit."""
        check_is_fitted(self, "laplacian_")
        if self._sparse:
            raise ValueError(
                "a sparse fit keeps its function by factors and has no coefficients of all "
                "entries; use predict, or solver='newton' where memory allows"
            )
        return super().coefficients()  # type: ignore[misc]


def _no_start(m: int, shape: tuple[int, ...]) -> str:
    return (
        f"init must be a Laplacian of {m} nodes (symmetric, degrees on the diagonal, no positive "
        f"entry off the diagonal unless signed, not zero), got shape {shape}; use "
        "kgl.laplacian.laplacian_from_adjacency(W)"
    )


def _aligned(given: Any, labels: list[Any] | None, what: str, m: int) -> Any:
    return align(given, labels, what, size=m, square=True)


def _warn_missed(edges: int, target: int, possible: int) -> None:
    reason = (
        f"only {possible} pairs may be edges; lower the number, or allow more pairs"
        if possible < target
        else "pairs at equal distances enter the graph together, and so may others where rho is "
        "so large that the graph shapes the signals; another degree, a smaller rho or a psi of "
        "your own may suit"
    )
    warnings.warn(
        f"no psi gives a graph of {target} edges; the nearest has {edges}: {reason}",
        ConvergenceWarning,
        stacklevel=5,
    )
