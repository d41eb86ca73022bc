"""What estimators do with rows that come piece by piece."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from kgl._labels import check_names
from kgl._threads import checked_table, keep_on_error
from kgl._types import Array
from kgl._validation import count_masked, refuse_no_numbers, refuse_text
from kgl.inputs import InputTable, TableInput
from kgl.problem import ModelSpec
from kgl.rows.compress import handed_in, log_origins_of
from kgl.rows.compressed import CompressedRows, Totals
from kgl.rows.sums import RowSums
from kgl.rows.tally import Tally, Watch
from kgl.skewness import check_log

__all__ = ["PartialFit", "RowLearning"]


class RowLearning(TableInput):
    """Mixin that lets estimators be fitted to compressed rows."""

    if TYPE_CHECKING:
        _spec: ClassVar[ModelSpec]
        _ready: Any

    def _read(self, Y: Any, z: Any) -> InputTable:
        if not isinstance(Y, CompressedRows):
            if handed_in(Y):
                raise TypeError("Y is RowSums, which fit does not read; pass kgl.compress(Y)")
            return super()._read(Y, z)
        if z is not None:
            raise ValueError(
                "z belongs to the rows, which are compressed; give it to kgl.compress(data, z=...)"
            )
        if Y.kernel is not None and not self._spec.observation_kernel:
            raise ValueError(
                f"{self._spec.name} has no kernel over the observations, but the rows were "
                "compressed with one; leave it out of kgl.compress, or use KGL, KGLO or "
                "KGLAgnostic"
            )
        table = Y.table(self.center, self.scale, getattr(self, "log", False))
        self.n_features_in_ = len(table.names)
        self.__dict__.pop("feature_names_in_", None)
        if all(isinstance(name, str) for name in table.names):
            names: Any = np.array(table.names, dtype=object)
            self.__dict__["feature_names_in_"] = names
        return table

    def _check_rows(self, table: InputTable, K_z: Any) -> None:
        """Refuse a kernel over rows that are no longer there."""
        if table.n_rows is not None and K_z is not None:
            raise ValueError(
                "K_z is a kernel over the rows, which are compressed; give it to "
                "kgl.compress(data, K_z=...), or covariates or a factor of it"
            )

    def _takes_sparse(self, Y: Any) -> bool:
        learner: Any = super()
        if not isinstance(Y, CompressedRows):
            return bool(learner._takes_sparse(Y))
        # only the number of columns is looked at
        return bool(learner._takes_sparse(np.broadcast_to(0.0, (1, len(Y.names)))))

    def _may_fall_back(self, Y: Any) -> bool:
        learner: Any = super()
        if not isinstance(Y, CompressedRows):
            return bool(learner._may_fall_back(Y))
        return bool(learner._may_fall_back(np.broadcast_to(0.0, (1, len(Y.names)))))

    def _values_at(self, z: Any, x: Any, K_z: Any, K_x: Any) -> Any:
        learner: Any = super()
        if self._ready.n_rows is not None and K_z is None:
            raise ValueError(
                "the model was fitted to sums over rows, so values of single rows are not known; "
                "for new rows pass K_z=small.cross(z), with small the result of kgl.compress and "
                "the kernel over the rows given there; for the rows of the fit see "
                "small.signals(model, data)"
            )
        return learner._values_at(z, x, K_z, K_x)

    def _std(self, *given: Any) -> Array:
        learner: Any = super()
        if self._ready.n_rows is not None:
            raise ValueError(
                "the model was fitted to sums over rows, which have no standard deviations; fit a "
                "piece of the table with return_std"
            )
        return np.asarray(learner._std(*given))

    def __getattr__(self, name: str) -> Any:
        if name == "signals_" and getattr(self.__dict__.get("_ready"), "n_rows", None) is not None:
            raise AttributeError(
                f"{type(self).__name__} was fitted to sums over rows, which have no signals of "
                "single rows; kgl.compress(...).signals(model, data) reads the rows again and "
                "yields their signals block by block"
            )
        if name == "partial_fit":
            raise AttributeError(
                f"{type(self).__name__} has no partial_fit: it has a kernel over the "
                "observations, which links all rows. Use KGLN, or compress the rows with their "
                "kernel: kgl.compress(data, z=..., kernel_z=...)"
            )
        return super().__getattr__(name)  # type: ignore[misc]  # of the other mixins


@dataclass
class _Stream:
    """Rows that were seen by ``partial_fit``, and what was said about the nodes."""

    tally: Tally
    watch: Watch
    names: list[Any] | None
    side: dict[str, Any]

    def copy(self) -> _Stream:
        """Return a copy, which rows can be added to without a change of this one."""
        return _Stream(self.tally.copy(), self.watch.copy(), self.names, self.side)


class PartialFit:
    """Mixin of models that read Y'Y alone: rows may come in pieces."""

    if TYPE_CHECKING:
        log: str | bool
        _spec: ClassVar[ModelSpec]

    def partial_fit(
        self, Y: Any, y: None = None, *, K_x: Any = None, x: Any = None, refit: bool = True
    ) -> Self:
        """Add rows to those of earlier calls, and learn the graph of all of them.

        The graph is that of ``fit`` on all rows at once, up to rounding. Sums over rows are kept,
        not the rows; ``fit`` starts anew. A call that fails adds nothing.

        Parameters
        ----------
        Y : array or DataFrame (k, m)
            Complete rows.
        y : None
            Ignored; present for scikit-learn's interface.
        K_x, x : array (m, m), array or DataFrame (m, p), optional
            As for ``fit``; kept for later calls.
        refit : bool
            Whether to learn the graph now. Without it rows are added only, which is cheap.

        Returns
        -------
        self
        """
        stream = self.__dict__.get("_stream")
        given = {name: value for name, value in {"K_x": K_x, "x": x}.items() if value is not None}
        with keep_on_error(self):
            check_log(self.log)
            values, names = self._rows(Y, stream)
            grown = _Stream(Tally(), Watch(), names, {}) if stream is None else stream.copy()
            if self.log is not False and grown.watch.n_rows < grown.tally.n_rows:
                raise ValueError(
                    f"log = {self.log!r}, but {grown.tally.n_rows - grown.watch.n_rows} earlier "
                    "rows were added with log=False, which leaves nothing to take logarithms of; "
                    "set log=False, or give all rows again to a new estimator"
                )
            grown.tally.add(values)
            if self.log is not False:
                grown.watch.add(values)
            grown.side = given or grown.side
            if refit:
                learner: Any = self
                learner.fit(_compressed(grown, self.log), **grown.side)
            self._stream = grown  # only now: a call that fails adds no rows
        return self

    def _rows(self, Y: Any, stream: _Stream | None) -> tuple[Array, list[Any] | None]:
        """Check rows, and that they have the columns of those before."""
        if isinstance(Y, CompressedRows):
            raise TypeError("compressed rows are all rows already: pass them to fit")
        if isinstance(Y, RowSums):
            raise TypeError(
                "partial_fit takes rows, not their sums; add up RowSums by +, and pass "
                "kgl.compress(total) to fit"
            )
        if count_masked(Y):
            Y = np.ma.filled(np.ma.array(Y, dtype=float), np.nan)
        columns = getattr(Y, "columns", None)
        names = None if columns is None else check_names(columns, np.shape(Y)[1])
        refuse_text(Y)
        refuse_no_numbers(Y)
        values = checked_table(
            self, Y, dtype=np.float64, ensure_all_finite=False, reset=stream is None
        )
        if stream is not None and names != stream.names:
            raise ValueError(
                f"the columns are {names!r}, but those of earlier rows {stream.names!r}; give all "
                "rows the same columns in the same order"
            )
        done = 0 if stream is None else stream.tally.n_rows
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            i, j = bad[0]
            raise ValueError(
                f"row {i} of this call (row {done + i} of all), column "
                f"{int(j) if names is None else names[j]!r}, is {values[i, j]}: partial_fit needs "
                "complete rows. None of this call's rows was added; drop the row, or use fit on "
                "all rows"
            )
        return values, names


def _compressed(stream: _Stream, log: str | bool) -> CompressedRows:
    """Return the rows seen so far."""
    values = Totals.of(stream.tally, stream.names)
    if log is False:
        return CompressedRows(values, None)
    origin, least = log_origins_of(stream.watch, log)
    if origin is None or least is None:
        return CompressedRows(values, None)
    logs = Tally()
    logs.add(np.log(np.maximum(stream.watch.sample - origin, least)))
    return CompressedRows(values, None, Totals.of(logs, stream.names, origin, least))
