"""What the choices of graphs, solver and scoring change about the main contrasts."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

from experiments.registry import name_of, of_protocol
from experiments.report.load import Gallery
from experiments.report.tables import Table

__all__ = ["robust"]

_STUDY = "robustness"
_COLUMNS = ("choice", "kind", "contrast", "mean", "low", "high", "same_sign")
#: The estimate under a choice, and that of the default beside it.
_ENDS, _DEFAULT = ("mean", "low", "high"), ("default_mean", "default_low", "default_high")


def robust(gallery: Gallery) -> Table | None:
    """Show each contrast under each choice, one row per choice, with all noise levels in a cell."""
    rows: dict[tuple[str, ...], dict[str, list[str]]] = {}
    levels: list[float] = []
    for protocol, view in gallery.views.items():
        table = view.table(_STUDY, *_COLUMNS)
        # a table without a protocol is in all views, and shown once
        own = of_protocol(_STUDY, protocol) in gallery.tables and protocol
        if table is None or (not own and rows):
            continue
        levels += [one for one in table.get("noise", ()) if one not in levels]
        for row in table.to_dict("records"):
            contrast = _contrast(str(row["contrast"]))
            name = str(row.get("label") or row["choice"])
            mark = "" if str(row["same_sign"]) in ("True", "1", "1.0") else " (another sign)"
            if set(_DEFAULT) <= set(table.columns) and row["choice"] == table["choice"].iloc[0]:
                first = rows.setdefault((protocol if own else "", "the default", ""), {})
                first.setdefault(contrast, []).append(_cell(row, _DEFAULT))
            key = (protocol if own else "", name, str(row["kind"]))
            rows.setdefault(key, {}).setdefault(contrast, []).append(_cell(row, _ENDS) + mark)
    if not rows:
        return None
    contrasts = list(dict.fromkeys(name for own in rows.values() for name in own))
    note = "differences in APS, in brackets their 95 % intervals"
    if levels:
        note += f"; at noise level {', then '.join(f'{one:g}' for one in levels)}"
    header = ("protocol", "choice", "kind", *contrasts)
    cells = [(*key, *("; ".join(own.get(name, ())) for name in contrasts))
             for key, own in rows.items()]  # fmt: skip
    if any(row[0] for row in cells):
        return Table(header, tuple(cells), note)
    return Table(header[1:], tuple(row[1:] for row in cells), note)


def _contrast(key: str) -> str:
    """Return what a contrast is called.

    Examples
    --------
    >>> _contrast("kgln-gl")
    'KGL-N minus GL'
    """
    return " minus ".join(map(name_of, key.split("-")))


def _cell(row: Mapping[Any, Any], names: tuple[str, str, str]) -> str:
    mean, low, high = (float(row[name]) for name in names)
    return f"{mean:.2f}" if isnan(low) else f"{mean:.2f} [{low:.2f}, {high:.2f}]"
