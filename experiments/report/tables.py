"""Tables to be read by people: few columns, few digits, intervals beside their estimates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.claims.changes import Change
from experiments.claims.specifications import label_of
from experiments.registry import Verdict, name_of, split_protocol
from experiments.report.load import Gallery

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Table", "changes", "compact", "costs", "duration", "full_specifications", "label", "machine",
    "number", "printed", "printed_values", "settings", "span", "versions",
]  # fmt: skip

#: Columns, where people read; models, families, metrics and kinds of data are looked up.
_COLUMNS = {
    "low": "from", "high": "to", "p05": "5 %", "p95": "95 %", "graph": "family",
    "selected_by": "tuned by",
}  # fmt: skip
#: Columns that are measured; all others identify a row.
_MEASURED = ("mean", "value", "low", "high", "p05", "p95")
#: The ends in brackets beside an estimate, the first pair that there is.
_ENDS = {
    ("low", "high"): "in brackets: 95 % interval of the mean",
    ("p05", "p95"): "in brackets: the 5th and the 95th percentile",
}
#: Columns that repeat the caption.
_SILENT = ("study", "sweep", "runs", "at_edge", "replicates", "scores_mean")


@dataclass(frozen=True)
class Table:
    """A table of plain text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def number(value: float) -> str:
    """Write a number with about three digits.

    Examples
    --------
    >>> [number(x) for x in (0.1234, -0.00005, 32.0, 12.345, 1234.5, 0.0, float("nan"))]
    ['0.123', '-5.0e-05', '32', '12.3', '1234', '0', 'no estimate']
    """
    if isnan(value):
        return "no estimate"
    if value == int(value) if abs(value) < 1e9 else False:
        return str(int(value))
    size = abs(value)
    if 0.001 <= size < 10:
        return f"{value:.3f}"
    if 10 <= size < 1e5:
        return f"{value:.1f}" if size < 1000 else f"{value:.0f}"
    return f"{value:.1e}"


def span(value: float, low: float, high: float) -> str:
    """Write an estimate with its interval; one without width is left out.

    Examples
    --------
    >>> span(0.5, 0.25, 0.75), span(0.5, 0.5, 0.5)
    ('0.500 [0.250, 0.750]', '0.500')
    """
    if isnan(low) or isnan(high) or low == high:
        return number(value)
    # one notation for all three, also where an end is near zero
    small = 0.001 <= max(abs(value), abs(low), abs(high)) < 10
    write = "{:.3f}".format if small else number
    return f"{write(value)} [{write(low)}, {write(high)}]"


def label(value: Any) -> str:
    """Write the value of a cell: the name of an identifier, or a short number."""
    if isinstance(value, float):
        return f"{value:g}" if not isnan(value) else ""
    return _COLUMNS.get(str(value)) or name_of(str(value))


def compact(frame: pd.DataFrame, *, most: int = 60, metric: str = "aps") -> Table:
    """Show a table of means in few columns.

    A constant column goes into the note; a mean and its interval share a cell; models are side by
    side. Where more than ``most`` rows would be left, only ``metric`` is shown, then the mean over
    levels, with a note.
    """
    frame = frame.drop(columns=[c for c in frame.columns if c in _SILENT])
    notes = []
    if "metric" in frame and frame["metric"].nunique() > 1:
        wide = _rows(frame)
        if wide > most and (frame["metric"] == metric).any():
            frame = frame[frame["metric"] == metric]
    # names have no mean
    named = "level" in frame and not np.issubdtype(frame["level"].to_numpy().dtype, np.number)
    if named:
        most = max(most, _rows(frame))
    elif _rows(frame) > most and {"level", "mean"} <= set(frame.columns):
        fixed = [c for c in _keys(frame) if c not in ("level", "noise", "missing", "m", "n")]
        frame = frame.groupby(fixed, sort=False, dropna=False)["mean"].mean().reset_index()
        notes.append("means over all levels")
    for name in _keys(frame):
        if frame[name].nunique(dropna=False) == 1:
            one = label(frame[name].iloc[0])
            if one:
                notes.insert(0, f"{label(name)}: {one}")
            frame = frame.drop(columns=name)
        elif name == "level" and any(
            other in frame and frame[other].equals(frame[name])
            for other in ("noise", "missing", "m", "n")
        ):
            frame = frame.drop(columns=name)
    notes += [text for ends, text in _ENDS.items() if set(ends) <= set(frame.columns)][:1]
    table = _pivoted(frame) or _plain(frame)
    if len(table.rows) > most:
        notes.append(f"the first {most} of {len(table.rows)} rows")
    return Table(table.header, table.rows[:most], "; ".join(notes))


def _keys(frame: pd.DataFrame) -> list[str]:
    return [str(c) for c in frame.columns if c not in _MEASURED]


def _rows(frame: pd.DataFrame) -> int:
    """How many rows there are with models side by side."""
    keys = [c for c in _keys(frame) if c != "model"]
    return len(frame[keys].drop_duplicates()) if keys else len(frame)


def _cells(frame: pd.DataFrame) -> list[str]:
    """Write the estimate of each row, with its ends, in one cell."""
    main = "mean" if "mean" in frame else "value"
    ends = next((ends for ends in _ENDS if set(ends) <= set(frame.columns)), None)
    if ends is None:
        return [number(float(value)) for value in frame[main]]
    rows = zip(frame[main], frame[ends[0]], frame[ends[1]], strict=True)
    return [span(float(a), float(b), float(c)) for a, b, c in rows]


def _pivoted(frame: pd.DataFrame) -> Table | None:
    """Put models side by side, if each row then has one estimate per model."""
    keys = [name for name in _keys(frame) if name != "model"]
    if "model" not in frame or not {"mean", "value"} & set(frame.columns):
        return None
    if not keys or frame.duplicated([*keys, "model"]).any():
        return None
    models = list(dict.fromkeys(frame["model"]))
    found: dict[tuple[str, ...], dict[str, str]] = {}
    about = frame[keys].itertuples(index=False, name=None)
    for row, model, cell in zip(about, frame["model"], _cells(frame), strict=True):
        found.setdefault(tuple(label(v) for v in row), {})[model] = cell
    header = (*(label(k) for k in keys), *(label(m) for m in models))
    rows = tuple((*key, *(cells.get(m, "") for m in models)) for key, cells in found.items())
    return Table(header, rows)


def _plain(frame: pd.DataFrame) -> Table:
    keys = _keys(frame)
    about = [tuple(label(v) for v in r) for r in frame[keys].itertuples(index=False, name=None)]
    if not {"mean", "value"} & set(frame.columns):
        return Table(tuple(label(k) for k in keys), tuple(about))
    rows = tuple((*row, cell) for row, cell in zip(about, _cells(frame), strict=True))
    return Table((*(label(k) for k in keys), "mean"), rows)


def printed(gallery: Gallery) -> Table | None:
    """Show how near the printed values are under each protocol, by kind of data."""
    rows = []
    for protocol, view in gallery.views.items():
        h1 = view.table("h1", "paper", "mean", "data", "inside")
        for kind, part in h1.groupby("data", sort=False) if h1 is not None else ():
            off = (part["mean"] - part["paper"]).abs()
            inside = f"{int(part['inside'].sum())} of {len(part)}"
            near = (number(float(off.mean())), number(float(off.max())))
            rows.append((protocol, label(kind), inside, *near))
    header = (
        "protocol",
        "data",
        "printed values between our 5th and 95th percentile",
        "mean distance",
        "largest distance",
    )
    return _without_protocol(Table(header, tuple(rows)), gallery) if rows else None


def _without_protocol(table: Table, gallery: Gallery) -> Table:
    """Drop the first column where there is no protocol to name."""
    if gallery.protocols:
        return table
    return Table(table.header[1:], tuple(row[1:] for row in table.rows), table.note)


def printed_values(gallery: Gallery) -> Table | None:
    """Show each printed value beside ours."""
    ours: dict[tuple[str, str, str], dict[str, str]] = {}
    names = []
    for protocol, view in gallery.views.items():
        h1 = view.table("h1", "paper", "mean", "p05", "p95", "data", "graph", "psi")
        if h1 is None:
            continue
        for row in h1.to_dict("records"):
            name = ", ".join(["ours", label(row["data"]), *([protocol] if protocol else [])])
            key = (label(row["graph"]), f"{row['psi']:g}", f"{row['paper']:g}")
            ours.setdefault(key, {})[name] = span(row["mean"], row["p05"], row["p95"])
            names.append(name)
    names = list(dict.fromkeys(names))
    rows = tuple((*key, *(own.get(name, "") for name in names)) for key, own in ours.items())
    note = "in brackets: the 5th and the 95th percentile"
    return Table(("family", "psi", "paper", *names), rows, note) if rows else None


def changes(made: Sequence[Change]) -> Table:
    """Show the changelog of criteria."""
    rows = tuple((", ".join(one.claims), one.what, one.why, one.when) for one in made)
    return Table(("claims", "what changed", "why", "when"), rows)


def full_specifications(gallery: Gallery) -> Table | None:
    """Show how many claims have each verdict under each specification and protocol."""
    rows = []
    keys = ["specification", "protocol", "default"]
    for (name, protocol, default), own in gallery.claims.groupby(keys, sort=False):
        about = ", ".join(dict.fromkeys(own["experiment"]))
        about = f"{'the default; ' * bool(default)}{about}"
        counts = _counts(own.drop_duplicates("claim")["verdict"])
        rows.append((str(protocol), str(name), label_of(str(name)), about, *counts))
    verdicts = (verdict.label for verdict in Verdict)
    header = ("protocol", "specification", "what it is", "judged for", *verdicts)
    return _without_protocol(Table(header, tuple(rows)), gallery) if rows else None


def _counts(verdicts: Iterable[Any]) -> tuple[str, ...]:
    found = [str(one) for one in verdicts]
    return tuple(str(found.count(verdict)) for verdict in Verdict)


def settings(gallery: Gallery) -> Table | None:
    """Show the settings behind each figure, as its caption has them."""
    rows = []
    numbers = {name: about.get("figure") for name, about in gallery.captions.items()}
    for study in sorted(numbers, key=lambda name: (numbers[name] or 99, name)):
        _, found, text = gallery.caption(study).partition("Settings: ")
        if found:
            plain, protocol = split_protocol(study)
            name = f"figure {numbers[study]}" if numbers[study] else plain
            name += f", {protocol}" if protocol else ""
            rows.append((name, gallery.title(study), text.removesuffix(".")))
    return Table(("figure", "about", "settings"), tuple(rows)) if rows else None


def versions(gallery: Gallery) -> Table | None:
    """Show the versions that made the tables."""
    states = gallery.provenance.get("code", [])
    names = ("commit", "dirty", "kgl", "python", "numpy", "scipy", "blas", "threads", "platform")
    known = {"dirty": "sources changed since", "threads": "BLAS threads", "blas": "BLAS"}
    rows = []
    for name in names:
        values = list(dict.fromkeys(str(s[name]) for s in states if name in s))
        if values:
            text = ", ".join(v[:12] if name == "commit" else _words(v) for v in values)
            rows.append((known.get(name, name), text))
    run = gallery.provenance.get("run", {})
    if "overrides" in run:
        rows.append(("overrides", " ".join(run["overrides"]) or "none"))
    return Table(("", ""), tuple(rows)) if rows else None


def _words(value: str) -> str:
    return {"False": "no", "True": "yes", "None": "unknown"}.get(value, value)


def machine(gallery: Gallery) -> Table | None:
    """Show the machine and the time of the run."""
    about = gallery.run.get("machine", {})
    rows = [
        (name, f"{about[key]:g}{unit}" if isinstance(about[key], (int, float)) else str(about[key]))
        for key, name, unit in (
            ("cpu", "processor", ""), ("cores", "cores", ""), ("memory_gb", "memory", " GB"),
            ("platform", "platform", ""),
        )
        if about.get(key) is not None
    ]  # fmt: skip
    for key, name in (
        ("wall_seconds", "time on the clock, last call of Snakemake"),
        ("cpu_seconds", "time of all jobs"),
    ):
        if gallery.run.get(key) is not None:
            rows.append((name, duration(float(gallery.run[key]))))
    if gallery.run.get("started"):
        rows.append(("started", str(gallery.run["started"])))
    return Table(("", ""), tuple(rows)) if rows else None


def duration(seconds: float) -> str:
    """Write a time.

    Examples
    --------
    >>> duration(40), duration(600), duration(8000)
    ('40 s', '10 min', '2 h 13 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def costs(gallery: Gallery) -> Table | None:
    """Show time and memory of the jobs; of fits by kind of data."""
    cost = gallery.cost
    if cost is None or not len(cost):
        return None
    kinds = cost["job"].str.split(",").str[0]
    rows = []
    for kind, part in cost.groupby(kinds, sort=False):
        rows.append(_cost_row(str(kind), part))
    rows.append(_cost_row("all", cost))
    header = ("job", "how many", "minutes in all", "longest, s", "memory, MB")
    return Table(header, tuple(rows))


def _cost_row(name: str, part: pd.DataFrame) -> tuple[str, ...]:
    columns: Sequence[tuple[str, str]] = (
        ("jobs", "sum"), ("minutes_in_all", "sum"), ("seconds_longest", "max"),
        ("memory_mb_largest", "max"),
    )  # fmt: skip
    return (name, *(f"{part[c].agg(how):.0f}" if c in part else "" for c, how in columns))
