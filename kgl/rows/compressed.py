r"""What is kept of a long table, and the small table that estimators are fitted to in its place.

With independent rows a model reads :math:`Y^\top Y` and the number of rows, so any :math:`T` with
:math:`T^\top T = Y^\top Y` is as good as Y. With a kernel :math:`K_z = Q \operatorname{diag}(z)
Q^\top + w I` rows :math:`Q^\top Y` have the kernel :math:`\operatorname{diag}(z) + w I`, and what
no direction of Q reaches has white noise alone, so that a root of its products will do again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kgl._types import Array
from kgl._validation import check_option
from kgl.inputs import InputTable
from kgl.kernels import KernelEigen, kernel_eigen
from kgl.preparation import CENTERS, SCALES, Preparation, warn_of_levels
from kgl.rows.observations import RowKernel
from kgl.rows.sources import Source
from kgl.rows.sums import RowSums, root
from kgl.rows.tally import Tally
from kgl.solvers.lowrank import refit_signals
from kgl.solvers.signal_step import make_signal_step

__all__ = ["CompressedRows", "Totals"]


@dataclass
class Totals:
    """Sums over all rows of a table, or of its logarithms.

    Attributes
    ----------
    rows : RowSums
        Sums over all rows.
    folds : list of RowSums
        Sums over each fold; empty without any.
    names : list or None
        Names of the nodes.
    cross : array (r, m) or None
        Products of the factor of the kernel over the rows and of the data less ``rows.origin``.
    log_origin, log_least : array (m,) or None
        As of :class:`kgl.preparation.Preparation`, where the sums are of logarithms.
    """

    rows: RowSums
    folds: list[RowSums]
    names: list[Any] | None
    cross: Array | None = None
    log_origin: Array | None = None
    log_least: Array | None = None

    @classmethod
    def of(
        cls,
        tally: Tally,
        names: list[Any] | None,
        log_origin: Array | None = None,
        log_least: Array | None = None,
    ) -> Totals:
        """Read what was tallied."""
        folds = tally.folds(names)
        total = sum(folds[1:], folds[0])
        kept = folds if len(folds) > 1 else []
        return cls(total, kept, names, tally.cross, log_origin, log_least)

    def without(self, fold: int) -> Totals:
        """Return the sums over the rows of the other folds."""
        rest = self.folds[:fold] + self.folds[fold + 1 :]
        return replace(self, rows=sum(rest[1:], rest[0]), folds=[])


@dataclass(eq=False, repr=False)
class CompressedRows:
    """A long table as estimators need it; made by :func:`kgl.compress`.

    It goes wherever an estimator takes the table: ``fit``, :func:`kgl.fit_grid` and
    :func:`kgl.select_held_out`. What belongs to single rows is not in it: :meth:`signals` works
    out fitted signals by reading the table again.

    Attributes
    ----------
    values : Totals
        Sums of the values.
    kernel : RowKernel or None
        The kernel over the rows.
    logs : Totals or None
        Sums of logarithms, where these are used.
    """

    values: Totals
    kernel: RowKernel | None
    logs: Totals | None = field(default=None)

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return self.values.rows.n_rows

    @property
    def names(self) -> list[Any]:
        """Names of the nodes."""
        known = self.values.names
        return list(range(len(self.values.rows.sums))) if known is None else known

    @property
    def n_folds(self) -> int:
        """Number of folds of rows that can be left out."""
        return len(self.values.folds)

    def __repr__(self) -> str:
        logs = ", by logarithms" if self.logs is not None else ""
        if self.kernel is None:
            rows = "independent"
        else:
            rank, left = len(self.kernel.values), self.kernel.trace_error
            rows = f"dependent in {rank} directions (trace left out: {left:.1g})"
        return f"CompressedRows: {self.n_rows} rows of {len(self.names)} nodes, {rows}{logs}"

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        raise TypeError(
            "compressed rows are not a table: they go into fit of GL, GL2Step, KGLN, KGLO, KGL and "
            "KGLAgnostic, into kgl.fit_grid and kgl.select_held_out; give anything else the table"
        )

    def without(self, fold: int) -> CompressedRows:
        """Return the rows of all folds but one."""
        logs = None if self.logs is None else self.logs.without(fold)
        return replace(self, values=self.values.without(fold), logs=logs)

    def preparation(self, center: str, scale: str, logs: bool = False) -> Preparation:
        """Return what a fit to the table would subtract and divide by, for no rows."""
        totals = self._totals(logs)
        return self._prepared(totals, center, scale)[0]

    def table(self, center: str, scale: str, log: str | bool) -> InputTable:
        """Return the small prepared table."""
        if log is True and self.logs is None:
            raise ValueError(
                "log=True needs sums of logarithms: use kgl.compress(data, log=True) on the rows"
            )
        if len(self.names) < 2:
            raise ValueError(
                f"the rows have {len(self.names)} feature(s) while a minimum of 2 is required; "
                "features are the nodes of the graph"
            )
        totals = self._totals(logs=log is not False and self.logs is not None)
        preparation, gram = self._prepared(totals, center, scale)
        sums = totals.rows
        spread = np.sqrt(np.maximum(np.diag(sums.gram("node")), 0.0) / sums.n_rows)
        warn_of_levels(sums.mean, spread, _largest(sums), center, scale, self.names)
        if self.kernel is None:
            values, K_z = root(gram), None
        else:
            values, K_z = self._dependent(totals, gram, preparation, center)
        preparation = replace(preparation, rows=np.zeros(len(values)))
        return InputTable(
            values, None, self.names, totals.names, None, preparation, None,
            n_rows=sums.n_rows, K_z=K_z,
        )  # fmt: skip

    def _totals(self, logs: bool) -> Totals:
        return self.logs if logs and self.logs is not None else self.values

    def _prepared(self, totals: Totals, center: str, scale: str) -> tuple[Preparation, Array]:
        """Return the preparation and the products of the prepared rows."""
        check_option("center", center, CENTERS)
        check_option("scale", scale, SCALES)
        sums = totals.rows
        gram = sums.gram(center)
        size = np.sqrt(np.maximum(np.diag(gram), 0.0) / sums.n_rows)
        mean = np.zeros(len(size)) if center == "none" else sums.mean
        ready = Preparation.of_moments(mean, size, _largest(sums), 0, scale)
        ready = replace(ready, origin=totals.log_origin, least=totals.log_least)
        return ready, gram / ready.scale / ready.scale[:, None]

    def _dependent(
        self, totals: Totals, gram: Array, preparation: Preparation, center: str
    ) -> tuple[Array, KernelEigen]:
        """Return the rows in the directions of the kernel, with a root of what these leave out."""
        kernel = self.kernel
        assert kernel is not None and totals.cross is not None
        assert totals.rows.origin is not None
        C = kernel.basis.T @ totals.cross
        C += np.outer(kernel.ones, totals.rows.origin - preparation.columns)
        if center == "both":
            C -= C.mean(axis=1, keepdims=True)
        C = C / preparation.scale
        left = gram - C.T @ C
        m = len(gram)
        rest = np.zeros((m, m))  # of as many rows whatever the rank, as new rows have zeros there
        found = root(left, np.sqrt(np.maximum(np.diag(gram), 0.0)))
        rest[: len(found)] = found
        table, r = np.concatenate([C, rest]), len(C)
        if kernel.white > 0:
            z = np.concatenate([kernel.values, np.zeros(m)]) + kernel.white
            return table, KernelEigen(z, np.eye(r + m), r + m, False)
        # no signal reaches what is left, but where a fit starts depends on its products
        return table, KernelEigen(kernel.values, np.eye(r + m, r), r + m, False)

    def cross(self, z: Any) -> Array:
        """Return the kernel between new rows and the compressed ones, for ``predict(K_z=...)``.

        Parameters
        ----------
        z : array or DataFrame (k, q)
            Covariates of the new rows; or their rows (k, r) of the factor, where that was given.

        Returns
        -------
        array (k, rows of the compressed table)
        """
        if self.kernel is None:
            raise ValueError("the rows are independent, so new rows have no kernel with them")
        own = self.kernel.cross(z)
        return np.hstack([own, np.zeros((len(own), len(self.names)))])

    def signals(self, model: Any, data: Any, *, chunk_rows: int | None = None) -> Iterator[Array]:
        """Yield the fitted signals of the rows of a table, block by block, in its units.

        Parameters
        ----------
        model : GraphLearner
            Fitted to these compressed rows.
        data : array-like, iterable or callable
            The table, as :func:`kgl.compress` takes it; with independent rows also other rows.
        chunk_rows : int, optional
            Rows of a block.

        Yields
        ------
        array (k, m)
        """
        check_is_fitted(model, "laplacian_")
        ready = model._ready
        if ready.n_rows != self.n_rows or ready.names != self.names:
            raise ValueError("the model was fitted to other data; pass one fitted to these rows")
        source = Source(data, self.values.names, len(self.names), like="the compressed table")
        if self.kernel is not None and source.n_rows not in (None, self.n_rows):
            self._refuse_length(str(source.n_rows))
        return self._signals(model, source, source.block_rows(chunk_rows))

    def _signals(self, model: Any, source: Source, size: int) -> Iterator[Array]:
        """Yield signals of blocks of ``size`` rows."""
        ready, begin = model._ready, 0
        white = 1.0 if self.kernel is None else self.kernel.white
        smooth = _smoother(model, white) if model._spec.fitted and white > 0 else np.zeros_like
        for block in source.blocks(size):
            if self.kernel is not None and begin + len(block) > self.n_rows:
                self._refuse_length(f"more than {self.n_rows}")
            rows = np.zeros(len(block))
            if model.center == "both":
                rows = (block - ready.preparation.columns).mean(axis=1)
            own = replace(ready.preparation, rows=rows)
            yield own.undo(self._fitted(model, own.apply(block), begin, smooth))
            begin += len(block)
        if self.kernel is not None and begin != self.n_rows:
            self._refuse_length(str(begin))

    def _refuse_length(self, found: str) -> NoReturn:
        raise ValueError(
            f"data has {found} rows, but {self.n_rows} were compressed; rows that depend on each "
            "other need the whole table, in the same order"
        )

    def _fitted(
        self, model: Any, block: Array, begin: int, smooth: Callable[[Array], Array]
    ) -> Array:
        """Return the signals of prepared rows from ``begin`` on."""
        kernel = self.kernel
        if not model._spec.fitted:
            return block
        if kernel is None:
            return smooth(block)
        rank = len(kernel.values)
        Q = kernel.factor[begin : begin + len(block)] @ kernel.basis
        fitted = Q @ model._fitted[:rank]
        if kernel.white > 0:
            outside = block - Q @ model._ready.data.Y[:rank]
            fitted = fitted + smooth(outside)
        return np.asarray(fitted)


def _largest(sums: RowSums) -> Array:
    assert sums.largest is not None
    return sums.largest


def _smoother(model: Any, variance: float) -> Callable[[Array], Array]:
    """Return what gives prepared rows, each alone with white noise, their signals.

    A prior of ``variance`` in place of one is the same as weights that are smaller by it.
    """
    ready, (lam, rho) = model._ready, model._point
    lam, rho = lam / variance, rho / variance if ready.spec.whitened else rho
    if getattr(model, "_sparse", False):
        return partial(_sparse_signals, model, lam, rho)
    m = len(ready.names)
    data = replace(ready.data, Y=np.eye(m), K_z=kernel_eigen(None, "K_z", m))
    step = make_signal_step(data, ready.spec)
    solution = step.solve(model.laplacian_[None], np.array([lam]), np.array([rho]), signals=True)
    assert solution.signals is not None
    smoother = solution.signals[0]
    return lambda rows: np.asarray(rows @ smoother)


def _sparse_signals(model: Any, lam: float, rho: float, rows: Array) -> Array:
    ready = model._ready
    data = replace(ready.data, Y=rows, K_z=kernel_eigen(None, "K_z", len(rows)))
    fitted = refit_signals(data, ready.spec, lam, rho, model._graph)
    assert fitted.nodes is not None
    return np.asarray(data.lift(data.root_z * fitted.nodes.T))
