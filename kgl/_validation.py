"""Checks of what users pass in: messages name the value that is wrong and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from kgl._types import Array

__all__ = [
    "as_floats",
    "as_numbers",
    "check_flag",
    "check_fraction",
    "check_hyperparameter",
    "check_kernel_limits",
    "check_observations",
    "check_option",
    "check_seed",
    "check_whole",
    "count_masked",
    "index_covariates",
    "is_number",
    "refuse_masked",
    "refuse_no_numbers",
    "refuse_ragged",
    "refuse_text",
]

_MEANING = {
    "lam": "weight of the function's norm",
    "rho": "weight of the smoothness term",
    "psi": "weight of the graph's norm",
    "barrier": "weight of the log-degree barrier",
    "tol": "tolerance of the outer iteration",
}


#: Hyperparameters beyond these leave the range of double precision within a fit.
_LEAST, _MOST = 1e-250, 1e250


def check_option(name: str, value: object, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``choices``."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(f"unknown {name} {value!r}; choose one of {listed}")
    return str(value)


def check_hyperparameter(name: str, value: Any) -> float:
    """Return a positive finite float."""
    number = _number(name, value)
    if not np.isfinite(number) or number <= 0:
        meaning = _MEANING.get(name, "a hyperparameter")
        raise ValueError(
            f"{name} = {number:g} ({meaning}) must be positive and finite; "
            "for almost no effect pass a small number such as 1e-8"
        )
    if not _LEAST <= number <= _MOST:
        raise ValueError(
            f"{name} = {number:g} is beyond what double precision can compute with; pass a number "
            f"between {_LEAST:g} and {_MOST:g}"
        )
    return number


def is_number(value: Any, *, whole: bool = False) -> bool:
    """Whether a value is one real number that a float can hold, or one whole number, no bool."""
    if not isinstance(value, Integral if whole else Real) or isinstance(value, bool | np.bool_):
        return False
    try:
        float(value)
    except OverflowError:
        return whole
    return True


def check_seed(name: str, value: Any) -> np.random.Generator:
    """Return a generator, or refuse what NumPy makes none of."""
    try:
        return np.random.default_rng(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} = {value!r} is no source of random numbers; pass a whole number of at least "
            "0, or a numpy.random.Generator"
        ) from None


def _number(name: str, value: Any) -> float:
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(
            f"{name} must be one number, got {value!r}; pass a number such as 0.1 (for many "
            "values of lam, rho or psi use kgl.fit_grid)"
        ) from None


def check_whole(name: str, value: Any, low: int, high: int | None = None, what: str = "") -> int:
    """Return a whole number of at least ``low`` and at most ``high``."""
    if not is_number(value, whole=True) or value < low or (high is not None and value > high):
        limits = f"of at least {low}" if high is None else f"between {low} and {high}"
        wrong = f"{name}={value!r} {what}; pass" if what else f"{name} = {value!r} must be"
        raise ValueError(f"{wrong} a whole number {limits}")
    return int(value)


def check_kernel_limits(tol: Any, max_rank: Any) -> None:
    """Check how much of a kernel its factor may leave out, and how many columns it may have."""
    if not is_number(tol) or not 0.0 < float(tol) < 1.0:
        raise ValueError(
            f"kernel_tol = {tol!r} must be a number above 0 and below 1, such as 1e-10: the "
            "share of the trace of a kernel that its factor may leave out"
        )
    check_whole("max_rank", max_rank, 1)


def as_numbers(values: Any, name: str) -> Array:
    """Return an array of floats."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} does not hold numbers; pass an array of floats") from None


def check_fraction(name: str, value: Any) -> float:
    """Return a float in (0, 1]."""
    number = _number(name, value)
    if not 0.0 < number <= 1.0:
        raise ValueError(
            f"{name} = {number:g} must lie in (0, 1]; it is the share of pairs that are edges"
        )
    return number


def count_masked(values: Any) -> int:
    """Return how many entries of a masked array, or of a list of such arrays, are masked."""
    if np.ma.isMaskedArray(values):
        return int(np.ma.getmaskarray(values).sum())
    if isinstance(values, list | tuple):  # np.asarray drops the masks of its rows too
        return sum(count_masked(row) for row in values)
    return 0


def refuse_masked(values: Any, what: str) -> None:
    """Refuse masked entries, whose hidden values NumPy's conversions would let count."""
    count = count_masked(values)
    if count:
        entries = "entry" if count == 1 else "entries"
        raise ValueError(
            f"{what} has {count} masked {entries}, but only Y may have missing values; fill them, "
            "for example with numpy.ma.filled(array, value), or drop the rows that hold them"
        )


def refuse_text(Y: Any) -> None:
    """Refuse columns of text or dates in the data of a DataFrame, by name."""
    for name in getattr(Y, "columns", ()):
        kind = str(Y[name].dtype).lower()
        drop = f"Y.drop(columns={name!r})" if hasattr(Y, "loc") else f"Y.drop({name!r})"
        if kind.startswith(("datetime", "date", "time", "duration", "period")):
            raise TypeError(
                f"column {name!r} of Y holds dates: columns are nodes; pass it as covariate, "
                f"{drop} with z=Y[{name!r}]"
                + (", or make it the index with z='index'" if hasattr(Y, "loc") else "")
            )
        if kind.startswith(("object", "str", "categor", "enum")):
            text = next((v for v in Y[name] if isinstance(v, str)), None)
            if text is not None:
                raise TypeError(
                    f"column {name!r} of Y holds text, for example {text!r}: columns are nodes and "
                    f"must be numbers; drop it, {drop}, make it the index, or convert it to "
                    "numbers"
                )


def index_covariates(Y: Any) -> Any:
    """Return the index of a DataFrame as covariates of its rows: what z='index' stands for."""
    if not hasattr(Y, "loc"):
        raise TypeError(
            f"z='index' needs a pandas DataFrame, whose index has the times, but Y is a "
            f"{type(Y).__name__}; pass the times themselves as z"
        )
    if getattr(Y.index, "nlevels", 1) > 1:
        raise TypeError("z='index': Y has an index of several levels; pass the times as z")
    kind = str(Y.index.dtype).lower()
    if kind.startswith(("object", "str", "categor")) and any(isinstance(v, str) for v in Y.index):
        raise TypeError(
            f"z='index': the index of Y holds text, for example {Y.index[0]!r}; set an index of "
            "dates or numbers, for example Y.index = pandas.to_datetime(Y.index)"
        )
    if hasattr(Y.index, "to_timestamp"):
        return Y.index.to_timestamp().to_numpy()
    return Y.index.to_numpy()


def as_floats(Y: Any, name: str = "Y") -> Array:
    """Return a new float array in which whatever the container calls missing is NaN."""
    try:
        found = _as_floats(Y)
    except (TypeError, ValueError, OverflowError) as error:
        raise _no_numbers(Y, name, error) from None
    if found.ndim == 0 and not isinstance(Y, Real):  # of a sparse matrix, say
        raise _no_numbers(Y, name, "it is no table")
    return found


def _no_numbers(Y: Any, name: str, reason: object) -> TypeError | ValueError:
    """Return the error of what is no table of numbers."""
    kind = TypeError if isinstance(reason, TypeError) else ValueError
    return kind(
        f"{name}, a {type(Y).__name__}, cannot be read as a table of numbers ({reason}); pass an "
        "array or a DataFrame of real numbers, NaN where missing"
    )


def refuse_no_numbers(Y: Any) -> None:
    """Refuse data of other types than numbers, before scikit-learn does with NumPy's message."""
    kinds = [str(Y[name].dtype) for name in Y.columns] if hasattr(Y, "columns") else []
    plain = getattr(getattr(Y, "dtype", None), "kind", "O") in "biuf"
    if not plain and not hasattr(Y, "toarray") and (not kinds or "object" in kinds):
        as_floats(Y)


def refuse_ragged(Y: Any, name: str = "Y") -> None:
    """Refuse nested lists whose rows differ in length, of which NumPy makes no table."""
    if isinstance(Y, list | tuple):
        as_floats(Y, name)


def _as_floats(Y: Any) -> Array:
    if np.iscomplexobj(Y):
        raise ValueError("Complex data not supported")
    if np.ma.isMaskedArray(Y) or count_masked(Y):
        return np.asarray(np.ma.filled(np.ma.array(Y, dtype=float), np.nan))
    if hasattr(Y, "to_numpy") and hasattr(Y, "loc"):
        return np.array(Y.to_numpy(dtype=float, na_value=np.nan))
    if hasattr(Y, "to_numpy") and hasattr(Y, "columns"):  # polars: nulls become NaN
        return np.array(Y.to_numpy(), dtype=float)
    return np.array(Y, dtype=float)


def check_flag(name: str, value: Any) -> bool:
    """Return a bool, refusing other values, such as "no", that Python would take for true."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} = {value!r} must be True or False")
    return bool(value)


def check_observations(
    Y: Array, *, empty_nodes: bool = False, names: list[Any] | None = None
) -> tuple[Array, np.ndarray | None]:
    """Return the data with zeros for missing entries, and the mask (None if complete).

    ``Y`` is an (n, m) float array in which NaN means missing. With ``empty_nodes`` a node may have
    no observed entry at all. ``names`` are those of the columns, for messages.
    """
    m = Y.shape[1]

    def called(j: int) -> str:
        return "" if names is None else f" (column {names[j]!r})"

    if m < 2:
        raise ValueError(
            f"Y has {m} feature(s) (shape={Y.shape}) while a minimum of 2 is required. Features "
            "are the nodes of the graph; if each row of Y is a node, pass Y.T"
        )
    infinite = np.argwhere(np.isinf(Y))
    if len(infinite):
        i, j = infinite[0]
        raise ValueError(
            f"Y contains infinity: {len(infinite)} infinite value(s), the first is "
            f"Y[{i}, {j}]{called(j)} = {Y[i, j]}; replace them by NaN (missing) or by a number"
        )
    mask = ~np.isnan(Y)
    if mask.all():
        return Y.copy(), None
    for axis, what, remedy in (
        (1, "row", "drop it, or predict it afterwards from its covariates with predict(z=...)"),
        (0, "column", "drop that node, or predict it afterwards with predict(x=...)"),
    ):
        empty = np.flatnonzero(~mask.any(axis=axis))
        if len(empty) and not (what == "column" and empty_nodes):
            raise ValueError(
                f"{what} {empty[0]} of Y{called(empty[0]) if what == 'column' else ''} has no "
                f"observed entry (NaN throughout; {len(empty)} such "
                f"{what}(s)): {remedy}"
            )
    return np.where(mask, Y, 0.0), mask
