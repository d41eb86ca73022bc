"""Measure one job of the study: entrants on all replicates of a cell.

The table has a row for each entrant, replicate and answer. ``tuning`` is ``default``, ``own`` or
``grid`` with the number of the value in ``point``; ``aps`` is the average precision of the weights
that an entrant returns, ``aps_scores`` that of its ranking of all pairs if it has one; ``rmse`` the
error at hidden entries, in standard deviations of their node. ``status`` is ``ok``, ``failed`` with
the message in ``error``, ``stopped`` at the time limit, or ``absent``, not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from experiments.arena.calls import Answer, Call, Table, call
from experiments.arena.cells import REAL_TABLES, Replicate, draw
from experiments.arena.complete import completed
from experiments.arena.design import parts
from experiments.arena.entrants import ENTRANTS, Entrant
from experiments.arena.names import KINDS, REAL
from experiments.lookup import ConfigError, suggest
from experiments.pays.datasets import PACKAGES, require
from experiments.times import MEMORY, SECONDS
from kgl.metrics import aps

__all__ = ["check", "measure", "scored"]

Row = dict[str, Any]


def check(design: Mapping[str, Any]) -> None:
    """Refuse names that lead nowhere, and tables whose packages are not installed."""
    kinds = [kind for size in design["sizes"] for kind in size["kinds"]]
    entrants = [name for group in design["groups"] for name in group["entrants"]]
    simulated = [kind for kind in KINDS if kind != REAL]
    real = design["real"]["datasets"]
    for what, names, known in (
        ("kind", kinds, simulated), ("entrant", entrants, ENTRANTS), ("table", real, REAL_TABLES)
    ):  # fmt: skip
        for name in names:
            if name not in known:
                found = suggest(name, list(known))
                raise ConfigError(f"study.arena: no {what} {name!r}; {found}")
    twice = sorted({name for name in entrants if entrants.count(name) > 1})
    if twice:
        raise ConfigError(f"study.arena.groups: {', '.join(twice)} in several groups; keep one")
    if not parts(design):
        raise ConfigError("study.arena has no cell; name sizes or real tables")
    require(*(name for name in real if name in PACKAGES))


def measure(
    part: Mapping[str, Any], design: Mapping[str, Any], report: Callable[[str], None] = print
) -> pd.DataFrame:
    """Return all rows of one job."""
    drawn = [draw(part, design, r) for r in range(part["replicates"])]
    n, m = drawn[0].table.Y.shape
    known = {key: value for key, value in part.items() if key not in ("entrants", "limit")}
    known |= {"n": n, "m": m, "x": drawn[0].table.x is not None, "z": drawn[0].table.z is not None}
    known |= {"gaps": bool(np.isnan(drawn[0].table.Y).any()), "source": part.get("source", "")}
    known |= {"edges": float(np.mean([one.edges.mean() for one in drawn]))}
    tables = [completed(one.table) for one in drawn]
    rows: list[Row] = []
    for name in part["entrants"]:
        entrant = ENTRANTS[name]
        if entrant.x == "needs" and not known["x"]:
            continue
        made = _called(entrant, tables, design["values"], part["limit"])
        rows += [{"entrant": name, **row} for row in _rows(made, drawn)]
        report(_line(name, rows))
    columns = [{**known, **row} for row in rows]
    return pd.DataFrame(columns) if columns else pd.DataFrame({"error": pd.Series(dtype=str)})


def _called(entrant: Entrant, tables: Sequence[Table], values: int, limit: float) -> Call:
    names = entrant.names(values)
    command = entrant.command()
    if command is None:
        answers = {(r, name): Answer("absent") for r in range(len(tables)) for name in names}
        return Call(answers)
    return call(command, tables, names, values, limit)


def _rows(made: Call, drawn: Sequence[Replicate]) -> list[Row]:
    rows = []
    for (r, name), answer in made.answers.items():
        tuning, _, point = name.partition("-")
        row: Row = {"replicate": r, "tuning": tuning, "point": int(point) if point else -1}
        row |= scored(answer, drawn[r])
        rows.append({**row, "versions": made.versions})
    return rows


def scored(answer: Answer, replicate: Replicate) -> Row:
    """Return the figures of one answer; NaN where there is none."""
    row: Row = {"status": answer.status, "error": answer.error, "aps": np.nan, "aps_scores": np.nan}
    row |= {"rmse": np.nan, SECONDS: answer.seconds, MEMORY: answer.memory}
    if answer.weights is None:
        return row
    row["aps"] = aps(replicate.edges, answer.weights)
    scores = answer.weights if answer.scores is None else answer.scores
    row["aps_scores"] = aps(replicate.edges, scores, threshold=None)
    hidden = np.isnan(replicate.table.Y) & np.isfinite(replicate.values)
    if answer.filled is not None and hidden.any():
        row["rmse"] = error_at(answer.filled, replicate, hidden)
    return row


def error_at(filled: np.ndarray, replicate: Replicate, hidden: np.ndarray) -> float:
    """Return the root mean squared error of some entries, in deviations of their node."""
    scale = np.nanstd(replicate.values, axis=0)
    scaled = (filled - replicate.values) / np.where(scale > 0, scale, 1.0)
    return float(np.sqrt(np.mean(scaled[hidden] ** 2)))


def _line(name: str, rows: Sequence[Row]) -> str:
    """Return what became of an entrant."""
    own = [row for row in rows if row["entrant"] == name]
    shown = []
    for tuning in dict.fromkeys(row["tuning"] for row in own):
        part = [row for row in own if row["tuning"] == tuning]
        done = [row for row in part if row["status"] == "ok"]
        mean = f"{np.mean([row['aps'] for row in done]):.3f}" if done else part[0]["status"]
        shown.append(f"{tuning} {mean} ({len(done)}/{len(part)})")
    first = next((row["error"] for row in own if row["error"]), "")
    return f"{name}: {', '.join(shown)} {first}".rstrip()
