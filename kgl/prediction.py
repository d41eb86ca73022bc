"""What a fitted model predicts: coefficients, new observations and nodes, missing entries."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kgl._labels import align_columns
from kgl._optional import import_optional
from kgl._types import Array
from kgl._validation import as_floats, check_flag, check_seed, refuse_masked, refuse_ragged
from kgl.kernels import FittedKernel, KernelEigen
from kgl.preparation import Preparation
from kgl.problem import ModelSpec
from kgl.solvers.alternating import Options
from kgl.solvers.signal_step import SignalData
from kgl.uncertainty import noise_variance, signal_spread

__all__ = ["FittedTables", "Prediction", "Prepared"]

#: A new point is far from the data if no kernel value with them is above this share of the
#: kernel's own size.
FAR = 0.01


@dataclass
class Prepared:
    """One data set and model, checked and ready for the solvers."""

    data: SignalData
    spec: ModelSpec
    options: Options
    names: list[Any]
    kernel_x: FittedKernel | None
    kernel_z: FittedKernel | None
    informed: dict[str, bool]
    preparation: Preparation
    labelled: bool = False  # whether Y named its nodes
    mask: np.ndarray | None = None  # of observed entries, also where a model treats others as zero
    n_rows: int | None = None  # of the table, where the data are sums over its rows


class FittedTables:
    """Tables that go into and come out of a fitted model, under the names of the fit."""

    if TYPE_CHECKING:
        _spec: ClassVar[ModelSpec]
        _ready: Any
        _index: list[Any] | None
        signals_: Array
        node_names_: list[Any]

    def _labelled(self, values: Array, z: Any, x: Any) -> Any:
        """Return a DataFrame where the model was fitted to one."""
        if self._index is None:
            return values
        pandas = import_optional("pandas", "frame", "predict")
        rows = self._index if z is None and len(values) == len(self._index) else None
        columns = self.node_names_ if values.shape[1] == len(self.node_names_) else None
        index = getattr(z, "index", rows) if not callable(getattr(z, "index", rows)) else rows
        names = getattr(x, "index", columns) if hasattr(x, "loc") else columns
        return pandas.DataFrame(values, index=index, columns=names)

    def _labelled_as(self, filled: Any, values: Array) -> Any:
        """Return values of the fit under the labels of a filled table, their names included."""
        if hasattr(filled, "loc"):
            return type(filled)(values, index=filled.index, columns=filled.columns)
        return self._labelled(values, None, None)

    def _cross(
        self, side: str, covariates: Any, K: Any, fitted: FittedKernel | None, own: Any
    ) -> Array | None:
        """Return the kernel between new and fitted rows or columns, None for the identity."""
        if covariates is None and K is None:
            return None if own.is_identity else np.asarray(own.matrix)
        if covariates is not None and K is not None:
            raise ValueError(f"both K_{side} and {side} were given; give the kernel or covariates")
        what = "nodes" if side == "x" else "observations"
        if not self._ready.informed[side]:
            raise ValueError(
                f"the model was fitted without information on the {what} (K_{side} is the "
                f"identity), so new {what} cannot be predicted from covariates; fit with "
                f"{side}=... or K_{side}=..."
            )
        if K is not None:
            refuse_masked(K, f"K_{side}")
            K = align_columns(K, self._labels(side), f"K_{side}", size=own.size)
            cross = as_floats(K, f"K_{side}")
            if cross.ndim != 2 or cross.shape[1] != own.size:
                raise ValueError(
                    f"K_{side} must be (new {what}, {own.size}), one column per fitted one of the "
                    f"{what}; got shape {cross.shape}"
                )
            if not np.isfinite(cross).all():
                i, j = np.argwhere(~np.isfinite(cross))[0]
                raise ValueError(
                    f"K_{side}[{i}, {j}] = {cross[i, j]}; a kernel between new and fitted {what} "
                    "must be finite"
                )
            return cross
        if fitted is None:
            raise ValueError(
                f"the model was fitted with a precomputed K_{side}; pass the kernel between new "
                f"and fitted {what} as K_{side}, not covariates"
            )
        refuse_masked(covariates, side)
        cross = fitted.cross(covariates)
        size = np.sqrt(fitted.mean_variance)
        far = np.flatnonzero(np.abs(cross).max(axis=1) < FAR * size**2)
        if len(far):
            warnings.warn(
                f"{len(far)} of {len(cross)} new {what} (the first is row {far[0]} of {side}) are "
                f"far from those of the fit, so that their predictions are the mean of the node; "
                f"fit with {what} that reach there, or with a wider kernel_{side}",
                UserWarning,
                stacklevel=3,
            )
        return cross

    def _labels(self, side: str) -> list[Any] | None:
        """Return the labels that the nodes or observations of the fit had, None without any."""
        if side == "x":
            return self.node_names_ if self._ready.labelled else None
        unique = self._index is not None and len(set(self._index)) == len(self._index)
        return self._index if unique else None

    def impute(self, Y: Any) -> Any:
        """Return a copy of the data of the fit with missing entries filled in.

        Parameters
        ----------
        Y : array or DataFrame (n, m)
            The data that were passed to ``fit``.

        Returns
        -------
        array or DataFrame (n, m)
            Observed entries as they are, fitted signals elsewhere; of pandas or polars as ``Y``.
        """
        check_is_fitted(self, "laplacian_")
        refuse_ragged(Y)
        if np.shape(Y) != self.signals_.shape:
            raise ValueError(
                f"Y is {np.shape(Y)} but the model was fitted on {self.signals_.shape}; pass the "
                "same data, or use predict for new rows"
            )
        labelled = self._ready.labelled and hasattr(Y, "columns")
        if labelled and list(Y.columns) != self.node_names_:
            raise ValueError(
                f"the columns of Y, {list(Y.columns)[:3]!r}..., are not those of the fit, "
                f"{self.node_names_[:3]!r}..., in this order; pass the data of the fit"
            )
        if self._index is not None and hasattr(Y, "loc") and list(Y.index) != self._index:
            raise ValueError(
                "the rows of Y are not those of the fit in the same order; pass the data of "
                "the fit, or use predict for new rows"
            )
        if not self._spec.fitted:
            raise ValueError("GL fits no signals, so it cannot impute; use GL2Step or KGL")
        if hasattr(Y, "loc"):
            return Y.astype(float).where(Y.notna(), self.signals_)
        values = as_floats(Y)
        filled = np.where(np.isnan(values), self.signals_, values)
        if hasattr(Y, "with_columns"):  # a polars frame, which its own class makes of columns
            return type(Y)(dict(zip(Y.columns, filled.T, strict=True)))
        return filled


class Prediction(FittedTables):
    """What estimators can be asked for once they are fitted."""

    if TYPE_CHECKING:
        _ready: Prepared
        _point: tuple[float, float]
        _fitted: Array
        laplacian_: Array

    def coefficients(self) -> Array:
        r"""Return A (n, m), with :math:`\hat Y = K_z A K_x` for the prepared data.

        It is read off the residuals, :math:`A = (M \circ (Y - \hat Y))
        (\lambda I + \rho K_x L)^{-1}` for the whitened models, without inverting a kernel.

        Returns
        -------
        array (n, m)
        """
        check_is_fitted(self, "laplacian_")
        data, (lam, rho) = self._ready.data, self._point
        if not self._spec.fitted or lam == 0.0:
            return self._fitted.copy()
        residuals = data.Y - self._fitted
        if data.mask is not None:
            residuals *= data.mask
        if self._spec.whitened:
            system = lam * np.eye(len(self.laplacian_)) + rho * data.K_x.matrix @ self.laplacian_
            return np.asarray(np.linalg.solve(system.T, residuals.T).T)
        eigenvalues, U = np.linalg.eigh(self.laplacian_)
        C = data.K_z.vectors.T @ residuals
        outside = residuals - data.K_z.vectors @ C
        inside = (C @ U) / (lam + rho * np.outer(data.K_z.values, np.maximum(eigenvalues, 0.0)))
        return np.asarray(outside / lam + data.K_z.vectors @ inside @ U.T)

    def _values_at(
        self, z: Any, x: Any, K_z: Any, K_x: Any
    ) -> tuple[Array, Array | None, Array | None]:
        """Return prepared signals at new points, and the kernels with new rows and columns."""
        ready = self._ready
        left = self._cross("z", z, K_z, ready.kernel_z, ready.data.K_z)
        right = self._cross("x", x, K_x, ready.kernel_x, ready.data.K_x)
        values = self.coefficients()
        values = values if left is None else left @ values
        return np.asarray(values if right is None else values @ right.T), left, right

    def _node_eigen(self) -> KernelEigen:
        """Return the kernel over the nodes of the fit, decomposed."""
        return self._ready.data.K_x

    def _node_white(self) -> float:
        """Return what that kernel has on its diagonal besides."""
        return 0.0

    def impute(self, Y: Any, return_std: bool = False, random_state: Any = 0) -> Any:
        """Return a copy of the data of the fit with missing entries filled in.

        Parameters
        ----------
        Y : array or DataFrame (n, m)
            The data that were passed to ``fit``.
        return_std : bool
            Whether to return standard deviations too: see :mod:`kgl.uncertainty`.
        random_state : int or Generator
            Source of the draws that standard deviations are computed from.

        Returns
        -------
        array or DataFrame (n, m)
            Observed entries as they are, fitted signals elsewhere; of pandas or polars as ``Y``.
        std : array or DataFrame (n, m)
            Standard deviations of the missing entries, noise included; 0 where observed. Only with
            ``return_std``. Intervals are at least as wide as the errors of observed entries that
            are left out one at a time; but the graph counts as known, so they can be too narrow.
        """
        check_flag("return_std", return_std)
        filled = super().impute(Y)
        if not return_std:
            return filled
        std = self._std(None, None, self._ready.preparation, random_state)
        mask = self._ready.mask
        std = np.zeros_like(std) if mask is None else np.where(mask, 0.0, std)
        return filled, self._labelled_as(filled, std)

    def _std(
        self, left: Array | None, right: Array | None, preparation: Preparation, random_state: Any
    ) -> Array:
        """Return standard deviations of values, noise included, in the units of the data."""
        data, (lam, rho) = self._ready.data, self._point
        if not self._spec.fitted:
            raise ValueError("GL fits no signals, so there is no deviation of any; use KGLN or KGL")
        if not self._spec.ridge:
            raise ValueError(
                f"{self._spec.name} has no ridge term, so its signals have no finite prior "
                "variance; use KGLN without a kernel for standard deviations"
            )
        spec, rng = self._ready.spec, check_seed("random_state", random_state)
        given = (data, spec, self.laplacian_, lam, rho)
        spread = signal_spread(*given, left=left, right=right, rng=rng)
        noise = noise_variance(*given, spread)
        return np.asarray(np.sqrt(noise * (1.0 + spread.variance)) * preparation.scale)

    def predict(
        self,
        z: Any = None,
        x: Any = None,
        *,
        K_z: Any = None,
        K_x: Any = None,
        return_std: bool = False,
        random_state: Any = 0,
    ) -> Any:
        r"""Evaluate the fitted function :math:`f(z, x)` at new observations and new nodes.

        Parameters
        ----------
        z, x : array or DataFrame, optional
            Covariates of the rows and columns to predict; without them, the ones of the fit.
        K_z, K_x : array (n_new, n), array (m_new, m), optional
            Kernel between new and fitted observations (nodes), where the model was fitted with
            a precomputed kernel.
        return_std, random_state
            As for :meth:`impute`.

        Returns
        -------
        array (n_new, m_new), or DataFrame
            A DataFrame where the model was fitted to one: rows are named by the index of ``z`` or
            of the data, columns by that of ``x`` or by the nodes. Levels and scales of new nodes
            are interpolated from nodes with similar covariates.
        std : array (n_new, m_new), or DataFrame
            Standard deviations of values that would be observed there. Only with ``return_std``.

        Warns
        -----
        UserWarning
            If a new observation or node is so far from those of the fit that nothing is known
            about it.
        """
        check_is_fitted(self, "laplacian_")
        check_flag("return_std", return_std)
        if z is None and x is None and K_z is None and K_x is None:
            signals = self._labelled(self.signals_.copy(), None, None)
            if not return_std:
                return signals
            std = self._std(None, None, self._ready.preparation, random_state)
            return signals, self._labelled(std, None, None)
        if not self._spec.fitted:
            raise ValueError("GL fits no function, so there is nothing to predict; use KGL or KGLN")
        ready = self._ready
        values, left, right = self._values_at(z, x, K_z, K_x)
        preparation, new_z = ready.preparation, z is not None or K_z is not None
        new_x = x is not None or K_x is not None
        if new_z:
            preparation = preparation.for_observations(len(values))
        if new_x:
            assert right is not None
            preparation = preparation.for_nodes(self._node_eigen(), right, self._node_white())
        predicted = self._labelled(preparation.undo(values), z, x)
        if not return_std:
            return predicted
        # rows and columns of the fit are its own: no kernel between them is needed
        left, right = left if new_z else None, right if new_x else None
        return predicted, self._labelled(self._std(left, right, preparation, random_state), z, x)
