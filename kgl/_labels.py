"""Names of nodes and labels of rows: distinct, and what is given beside the data in their order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kgl._validation import is_number

__all__ = ["align", "align_columns", "check_names"]


def check_names(columns: Iterable[Any], m: int | None) -> list[Any]:
    """Return node names, refusing duplicates, which would make edges ambiguous."""
    names = list(columns)
    if m is None:
        raise TypeError("Y has columns but no rows yet, as a LazyFrame; pass Y.collect()")
    if len(names) != m:
        raise ValueError(f"{len(names)} node names were given for {m} columns of Y")
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise ValueError(
                f"duplicate node name {name!r}; rename the columns of Y so that each node "
                "has a distinct name, e.g. Y.columns = range(Y.shape[1])"
            )
        seen.add(name)
    return names


def align(
    table: Any, labels: list[Any] | None, what: str, *, size: int, square: bool = False
) -> Any:
    """Put the rows of a DataFrame in the order of ``labels``, where its index names them.

    ``labels`` are those of the ``size`` nodes or observations, None where the data have none.
    Where the data or the table has no labels but 0, 1, 2, ..., rows are matched by position; an
    index of 0, 1, 2, ... in another order, as sorting leaves it behind, is matched by label or
    refused. With ``square`` the columns are put in order too, as those of a kernel matrix.
    """
    if not hasattr(table, "loc"):
        return table
    if square and np.ndim(table) == 2 and table.shape[1] == 2 != size:
        return table  # pairs of nodes, one per row: their order and index mean nothing
    order = _order(list(table.index), labels, size, what, "rows")
    table = table if order is None else table.iloc[order]
    if square and hasattr(table, "columns"):
        table = align_columns(table, labels, what, size=size, strict=False)
    return table


def align_columns(
    table: Any, labels: list[Any] | None, what: str, *, size: int, strict: bool = True
) -> Any:
    """Put the columns of a DataFrame in the order of ``labels``, as :func:`align` does its rows.

    Without ``strict`` columns with other names are matched by position.
    """
    if not hasattr(table, "loc") or not hasattr(table, "columns"):
        return table
    order = _order(list(table.columns), labels, size, what, "columns", strict=strict)
    return table if order is None else table.iloc[:, order]


def _order(
    given: list[Any],
    labels: list[Any] | None,
    size: int,
    what: str,
    axis: str,
    *,
    strict: bool = True,
) -> list[int] | None:
    """Positions that put the names ``given`` in the order of ``labels``, None to leave them."""
    if labels is not None and len(given) == len(labels) and set(given) == set(labels):
        position = {name: k for k, name in enumerate(given)}
        order = [position[label] for label in labels]
        return None if _counts(order) else order
    if _counts(given):
        return None
    if len(given) == size and _counts(_sorted_numbers(given)):
        # Sorting or sampling leaves such an index behind. Position and number contradict each
        # other, and nothing in the data tells which one is meant.
        sort = "sort_index()" if axis == "rows" else "sort_index(axis=1)"
        known = "has no labels" if labels is None else f"has the labels {_some(labels)}"
        raise ValueError(
            f"the {axis} of {what} are numbered 0 to {size - 1} in another order, {_some(given)}, "
            f"while Y {known}, so it is unclear how they match; pass {what}.{sort} to match by "
            f"these numbers, or {what}.to_numpy() to match by position"
        )
    if labels is None or _counts(labels) or not strict or set(given) == set(labels):
        return None
    stray = next((name for name in given if name not in set(labels)), None)
    missing = next((name for name in labels if name not in set(given)), None)
    raise ValueError(
        f"the {axis} of {what} and of the data it describes do not match: {what} "
        + (f"has {stray!r}, which the data lack" if stray is not None else "")
        + (" and " if stray is not None and missing is not None else "")
        + (f"lacks {missing!r}" if missing is not None else "")
        + f"; give {what} one {axis[:-1]} for each, or "
        + ("reset its index to match by position" if axis == "rows" else f"pass {what}.to_numpy()")
    )


def _counts(labels: list[Any]) -> bool:
    """Whether labels are 0, 1, 2, ...: an index that nobody set."""
    return all(is_number(label) and label == k for k, label in enumerate(labels))


def _sorted_numbers(labels: list[Any]) -> list[Any]:
    """Return the labels in ascending order if all are numbers, else as they are."""
    return sorted(labels) if all(is_number(label) for label in labels) else labels


def _some(labels: list[Any]) -> str:
    """Show the first few labels, with NumPy's numbers as plain ones."""
    shown = ", ".join(repr(getattr(label, "item", lambda x=label: x)()) for label in labels[:4])
    return f"[{shown}{', ...' if len(labels) > 4 else ''}]"
