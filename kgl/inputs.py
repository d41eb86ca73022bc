"""What estimators are given: tables, their labels and preparation, and kernels of covariates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kgl._labels import align, check_names
from kgl._threads import checked_table
from kgl._types import Array
from kgl._validation import (
    as_floats,
    check_observations,
    count_masked,
    index_covariates,
    refuse_masked,
    refuse_no_numbers,
    refuse_text,
)
from kgl.kernels import (
    Auto,
    FittedKernel,
    Kernel,
    KernelEigen,
    LaplacianKernel,
    LowRank,
    NeedsDenseError,
    as_kernel,
    factorize,
)
from kgl.kernels.numeric import SUBSET
from kgl.preparation import Preparation, warn_if_levels_dominate

if TYPE_CHECKING:
    from kgl.problem import ModelSpec

__all__ = ["DEFAULT_KERNEL", "InputTable", "TableInput"]

#: Turns covariates into kernels: free of their units, with widths that the data choose.
DEFAULT_KERNEL = Auto()


@dataclass
class InputTable:
    """A checked and prepared table.

    Attributes
    ----------
    values, mask : array (n, m), bool array (n, m) or None
        Prepared data, zero where missing; True where observed, None if complete.
    names : list
        Names of the nodes.
    labels, index : list or None
        Names of nodes and observations that covariates are matched with; None without any.
    preparation : Preparation
        What was subtracted and divided by.
    z : object
        Covariates of the observations, ``"index"`` resolved.
    n_rows : int or None
        Rows of the table that these rows stand for, where they are not the rows themselves.
    K_z : KernelEigen or None
        Their kernel, where they come with one.
    """

    values: Array
    mask: np.ndarray | None
    names: list[Any]
    labels: list[Any] | None
    index: list[Any] | None
    preparation: Preparation
    z: Any
    n_rows: int | None = None
    K_z: KernelEigen | None = None


class TableInput:
    """Mixin that reads the arguments of ``fit``."""

    if TYPE_CHECKING:
        center: str
        scale: str
        _spec: ClassVar[ModelSpec]

    def _read(self, Y: Any, z: Any) -> InputTable:
        """Check and prepare a table."""
        if np.ma.isMaskedArray(Y) or count_masked(Y):
            Y = as_floats(Y)
        columns = getattr(Y, "columns", None)
        if columns is None:
            refuse_no_numbers(Y)
        width = np.shape(Y)[1] if np.ndim(Y) == 2 else None
        names = None if columns is None else check_names(columns, width)
        refuse_text(Y)
        if columns is not None:
            refuse_no_numbers(Y)
        array = checked_table(
            self, Y, dtype=np.float64, ensure_all_finite=False, ensure_min_features=0
        )
        values, mask = check_observations(array, names=names)
        m = values.shape[1]
        names = list(range(m)) if names is None else names
        given_names = None if columns is None else names
        index = list(Y.index) if hasattr(Y, "loc") and Y.index.is_unique else None
        log = getattr(self, "log", False)
        preparation = Preparation.fit(values, mask, self.center, self.scale, log)
        warn_if_levels_dominate(values, mask, self.center, self.scale, names)
        values = preparation.apply(values, mask)
        z = index_covariates(Y) if isinstance(z, str) and z == "index" else z
        return InputTable(values, mask, names, given_names, index, preparation, z)

    def _kernel(
        self,
        side: str,
        K: Any,
        covariates: Any,
        labels: list[Any] | None,
        values: Array,
        mask: np.ndarray | None,
    ) -> tuple[FittedKernel | None, Any]:
        """Resolve a kernel matrix or covariates of one side, refusing what the model lacks.

        Kernels that learn from data do so from the prepared ``values``.
        """
        if side == "x":
            values, mask = values.T, None if mask is None else mask.T
        size = len(values)
        kernel, covariates = self._side(side, K, covariates, labels, size)
        if K is not None:
            return None, align(K, labels, f"K_{side}", size=size, square=True)
        if kernel is None:
            return None, None
        try:
            if side == "x" and size > SUBSET and isinstance(kernel, Auto):
                # the kernel depends on the number of nodes, never on the way of the fit
                fitted: FittedKernel = factorize(kernel.access(covariates, values, mask), kernel)
            else:
                fitted = kernel.fit_to(covariates, values, mask)
        except NeedsDenseError:
            raise
        except (TypeError, ValueError) as error:
            raise type(error)(f"covariates {side}: {error}") from error
        return fitted, fitted.matrix

    def _side(
        self, side: str, K: Any, covariates: Any, labels: list[Any] | None, size: int
    ) -> tuple[Kernel | None, Any]:
        """Check what is given for one side: the kernel spec and covariates, None for neither."""
        used = self._spec.node_kernel if side == "x" else self._spec.observation_kernel
        spec = getattr(self, f"kernel_{side}", None)
        if K is None and covariates is None:
            if isinstance(spec, LowRank) and spec.features is not None:
                if len(spec.features) != size:
                    raise ValueError(
                        f"kernel_{side} has features of {len(spec.features)} items but Y has "
                        f"{size} {'columns (nodes)' if side == 'x' else 'rows (observations)'}; "
                        "give one row of features for each"
                    )
                return spec, None
            if not isinstance(spec, LaplacianKernel):
                return None, None
            # a graph is its own side information
            covariates = np.arange(len(spec.L)) if spec.nodes is None else (labels or spec.nodes)
        given = f"K_{side}" if K is not None else side
        if not used:
            other = "KGL or KGLN" if side == "x" else "KGL, KGLO or KGLAgnostic"
            raise ValueError(
                f"{self._spec.name} has no kernel over the "
                f"{'nodes' if side == 'x' else 'observations'}, so {given} cannot be used; "
                f"leave it out or use {other}"
            )
        if K is not None and covariates is not None:
            raise ValueError(f"both K_{side} and {side} were given; give the kernel or covariates")
        if K is not None:
            refuse_masked(K, given)
            return None, None
        kernel: Kernel = as_kernel(getattr(self, f"kernel_{side}"))
        refuse_masked(covariates, side)
        covariates = align(covariates, labels, side, size=size)
        n_rows = np.shape(covariates)[0] if np.ndim(covariates) else 1
        if n_rows != size:
            what = "columns (nodes)" if side == "x" else "rows (observations)"
            raise ValueError(
                f"{side} has {n_rows} row(s) but Y has {size} {what}; "
                "give one row of covariates for each"
            )
        return kernel, covariates
