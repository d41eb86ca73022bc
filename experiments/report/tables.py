"""Tables to be read by people: few columns, few digits, intervals beside their figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.claims.ledger import VERDICTS
from experiments.report.loading import Gallery

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Table", "compact", "costs", "figure", "label", "lasting", "machine", "matrix", "printed",
    "printed_values", "readings", "settings", "span", "specifications", "versions",
]  # fmt: skip

#: What models, families and kinds of selection are called where people read.
LABELS = {
    "gl": "GL", "gl2step": "GL-2step", "kgln": "KGL-N", "kglo": "KGL-O", "kgl": "KGL",
    "kglagnostic": "KGL-Agnostic", "kernel": "K_x alone", "kernel_sparse": "K_x alone",
    "kernel_inverse": "the inverse of K_x", "pure_noise": "pure noise",
    "pure_noise_dependent": "pure noise, said to be dependent", "custom_kernel": "mild noise",
    "custom_kernel_noisy": "noise of variance 1", "custom_kernel_dependent": "dependent",
    "custom_kernel_independent": "independent",
    "sbm": "SBM", "er": "ER", "ba": "BA", "aps": "APS", "sse": "SSE", "nmi": "NMI",
    "mse_out": "MSE of withheld entries", "held_out": "held-out entries",
    "low": "from", "high": "to", "p05": "5 %", "p95": "95 %",
    "graph": "family", "selected_by": "chosen by",
}  # fmt: skip
#: Columns that are measured; all others say what a row is about.
_FIGURES = ("mean", "value", "low", "high", "p05", "p95")
#: What may stand in brackets beside a figure, the first that there is.
_ENDS = {
    ("low", "high"): "in brackets: 95 % interval of the mean",
    ("p05", "p95"): "in brackets: the 5th and the 95th percentile",
}
#: Columns that tell the reader nothing which the caption does not.
_SILENT = ("study", "sweep", "runs", "at_edge", "replicates", "scores_mean")


@dataclass(frozen=True)
class Table:
    """A table of plain text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def figure(value: float) -> str:
    """Write a number with about three digits.

    Examples
    --------
    >>> [figure(x) for x in (0.1234, -0.00005, 32.0, 12.345, 1234.5, 0.0, float("nan"))]
    ['0.123', '-5.0e-05', '32', '12.3', '1234', '0', 'none']
    """
    if isnan(value):
        return "none"
    if value == int(value) if abs(value) < 1e9 else False:
        return str(int(value))
    size = abs(value)
    if 0.001 <= size < 10:
        return f"{value:.3f}"
    if 10 <= size < 1e5:
        return f"{value:.1f}" if size < 1000 else f"{value:.0f}"
    return f"{value:.1e}"


def span(value: float, low: float, high: float) -> str:
    """Write a figure with its interval; one without width is left out.

    Examples
    --------
    >>> span(0.5, 0.25, 0.75), span(0.5, 0.5, 0.5)
    ('0.500 [0.250, 0.750]', '0.500')
    """
    if isnan(low) or isnan(high) or low == high:
        return figure(value)
    return f"{figure(value)} [{figure(low)}, {figure(high)}]"


def label(value: Any) -> str:
    """Write the value of a cell: a name that people know, or a short number."""
    if isinstance(value, float):
        return f"{value:g}" if not isnan(value) else ""
    return LABELS.get(str(value), str(value))


def compact(frame: pd.DataFrame, *, most: int = 60, metric: str = "aps") -> Table:
    """Show a table of means in few columns.

    A column that says the same everywhere goes into the note; a mean and its interval share a cell;
    models stand side by side. Where more than ``most`` rows would be left, only ``metric`` is
    shown, then the mean over levels, and the note says so.
    """
    frame = frame.drop(columns=[c for c in frame.columns if c in _SILENT])
    said = []
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
        said.append("means over all levels")
    for name in _keys(frame):
        if frame[name].nunique(dropna=False) == 1:
            one = label(frame[name].iloc[0])
            if one:
                said.insert(0, f"{label(name)}: {one}")
            frame = frame.drop(columns=name)
        elif name == "level" and any(
            other in frame and frame[other].equals(frame[name])
            for other in ("noise", "missing", "m", "n")
        ):
            frame = frame.drop(columns=name)
    said += [text for ends, text in _ENDS.items() if set(ends) <= set(frame.columns)][:1]
    table = _pivoted(frame) or _plain(frame)
    if len(table.rows) > most:
        said.append(f"the first {most} of {len(table.rows)} rows")
    return Table(table.header, table.rows[:most], "; ".join(said))


def _keys(frame: pd.DataFrame) -> list[str]:
    return [str(c) for c in frame.columns if c not in _FIGURES]


def _rows(frame: pd.DataFrame) -> int:
    """How many rows there are with models side by side."""
    keys = [c for c in _keys(frame) if c != "model"]
    return len(frame[keys].drop_duplicates()) if keys else len(frame)


def _cells(frame: pd.DataFrame) -> list[str]:
    """Write the measured figures of each row in one cell."""
    main = "mean" if "mean" in frame else "value"
    ends = next((ends for ends in _ENDS if set(ends) <= set(frame.columns)), None)
    if ends is None:
        return [figure(float(value)) for value in frame[main]]
    rows = zip(frame[main], frame[ends[0]], frame[ends[1]], strict=True)
    return [span(float(a), float(b), float(c)) for a, b, c in rows]


def _pivoted(frame: pd.DataFrame) -> Table | None:
    """Put models side by side, if each row then has one figure per model."""
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
    """Show how near the default reading is to the printed values, by kind of data."""
    h1 = gallery.table("h1", "paper", "mean", "data", "inside")
    if h1 is None:
        return None
    rows = []
    for kind, part in h1.groupby("data", sort=False):
        off = (part["mean"] - part["paper"]).abs()
        inside = f"{int(part['inside'].sum())} of {len(part)}"
        rows.append((label(kind), inside, figure(float(off.mean())), figure(float(off.max()))))
    header = (
        "data",
        "printed values from our 5 % to our 95 %",
        "mean distance",
        "largest distance",
    )
    return Table(header, tuple(rows))


def printed_values(gallery: Gallery) -> Table | None:
    """Show each printed value beside ours."""
    h1 = gallery.table("h1", "paper", "mean", "p05", "p95", "data", "graph", "psi")
    if h1 is None:
        return None
    kinds = list(dict.fromkeys(h1["data"]))
    rows = []
    for (graph, psi), part in h1.groupby(["graph", "psi"], sort=False):
        ours = {r["data"]: span(r["mean"], r["p05"], r["p95"]) for _, r in part.iterrows()}
        paper = f"{part['paper'].iloc[0]:g}"
        rows.append((label(graph), f"{psi:g}", paper, *(ours.get(kind, "") for kind in kinds)))
    ours_of = (f"ours, {label(kind)} data" for kind in kinds)
    return Table(
        ("family", "psi", "paper", *ours_of),
        tuple(rows),
        "in brackets: the 5th and the 95th percentile",
    )


def specifications(gallery: Gallery) -> Table | None:
    """Show how many claims hold under each reading of the specifications, the default first."""
    many = gallery.table("specifications", "reading", "claim", "verdict", "default")
    if many is None:
        return None
    near = "h1_distance" in many
    rows = []
    for name, part in many.groupby("reading", sort=False):
        first = part.iloc[0]
        about = "the default" if bool(first["default"]) else _or(first.get("change"), "")
        tail = (figure(float(first["h1_distance"])),) if near else ()
        rows.append((str(name), about, *_counts(part["verdict"]), *tail))
    rows.sort(key=lambda row: row[1] != "the default")
    tail = ("distance to the printed values",) if near else ()
    return Table(("reading", "what changes", *VERDICTS, *tail), tuple(rows))


def readings(gallery: Gallery) -> Table | None:
    """Show how many claims hold under each reading of the ledger, those of the figures first."""
    rows = []
    for (name, default), part in gallery.claims.groupby(["reading", "default"], sort=False):
        about = f"{'the default; ' * bool(default)}{_experiments(part)}"
        rows.append((str(name), about, *_counts(part.drop_duplicates("claim")["verdict"])))
    return Table(("reading", "asked of", *VERDICTS), tuple(rows)) if rows else None


def matrix(gallery: Gallery) -> Table | None:
    """Show the verdict on every claim under every reading that was tried on all of them."""
    many = gallery.table("specifications", "reading", "claim", "verdict", "default")
    if many is None:
        return None
    claims = list(dict.fromkeys(many["claim"]))
    rows = []
    for name, part in many.groupby("reading", sort=False):
        found = dict(zip(part["claim"], part["verdict"], strict=True))
        rows.append((str(name), *(str(found.get(claim, "")) for claim in claims)))
    return Table(("reading", *claims), tuple(rows))


def _experiments(part: pd.DataFrame) -> str:
    return ", ".join(dict.fromkeys(part["experiment"]))


def _counts(verdicts: Iterable[Any]) -> tuple[str, ...]:
    found = [str(one) for one in verdicts]
    return tuple(str(found.count(name)) for name in VERDICTS)


def _or(value: Any, other: str) -> str:
    return value if isinstance(value, str) and value else other


def settings(gallery: Gallery) -> Table | None:
    """Show the settings behind each figure, as its caption has them."""
    rows = []
    numbers = {name: about.get("figure") for name, about in gallery.captions.items()}
    for study in sorted(numbers, key=lambda name: (numbers[name] or 99, name)):
        _, found, text = gallery.caption(study).partition("Settings: ")
        if found:
            name = f"figure {numbers[study]}" if numbers[study] else study
            rows.append((name, gallery.title(study), text.removesuffix(".")))
    return Table(("figure", "about", "settings"), tuple(rows)) if rows else None


def versions(gallery: Gallery) -> Table | None:
    """Show what made the tables."""
    states = gallery.provenance.get("code", [])
    names = ("commit", "dirty", "kgl", "python", "numpy", "scipy", "blas", "threads", "platform")
    known = {"dirty": "sources changed since", "threads": "BLAS threads", "blas": "BLAS"}
    rows = []
    for name in names:
        values = list(dict.fromkeys(str(s[name]) for s in states if name in s))
        if values:
            text = ", ".join(v[:12] if name == "commit" else _said(v) for v in values)
            rows.append((known.get(name, name), text))
    run = gallery.provenance.get("run", {})
    if "overrides" in run:
        rows.append(("overrides", " ".join(run["overrides"]) or "none"))
    return Table(("", ""), tuple(rows)) if rows else None


def _said(value: str) -> str:
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
            rows.append((name, lasting(float(gallery.run[key]))))
    if gallery.run.get("started"):
        rows.append(("started", str(gallery.run["started"])))
    return Table(("", ""), tuple(rows)) if rows else None


def lasting(seconds: float) -> str:
    """Write a time.

    Examples
    --------
    >>> lasting(40), lasting(600), lasting(8000)
    ('40 s', '10 min', '2 h 13 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def costs(gallery: Gallery) -> Table | None:
    """Show what the jobs cost; fits, which there are many kinds of, by model."""
    cost = gallery.cost
    if cost is None or not len(cost):
        return None
    kinds = cost["job"].str.split(",").str[0]
    rows = []
    for kind, part in cost.groupby(kinds, sort=False):
        rows.append(_cost_row(_job(str(kind)), part))
    rows.append(_cost_row("all", cost))
    header = ("job", "how many", "minutes in all", "longest, s", "memory, MB")
    return Table(header, tuple(rows))


def _job(kind: str) -> str:
    first, _, model = kind.partition(" ")
    return f"{first} {label(model)}" if model else kind


def _cost_row(name: str, part: pd.DataFrame) -> tuple[str, ...]:
    columns: Sequence[tuple[str, str]] = (
        ("jobs", "sum"), ("minutes_in_all", "sum"), ("seconds_longest", "max"),
        ("memory_mb_largest", "max"),
    )  # fmt: skip
    return (name, *(f"{part[c].agg(how):.0f}" if c in part else "" for c, how in columns))
