"""The two named protocols: candidates of the search, simulated again with other seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from experiments.inference import printed
from experiments.inference.design import statements
from experiments.inference.sentences import Curves, judge_sentences
from experiments.inference.simulate import simulate

__all__ = ["candidates", "choose", "confirm_printed", "confirm_sentences", "departures"]

Report = Callable[[str], None]


def candidates(table: pd.DataFrame, kind: str, design: Mapping[str, Any]) -> pd.DataFrame:
    """Return the specifications nearest to the printed numbers, or to the sentences, nearest first.

    Specifications with the same distance to six digits cannot be told apart by it (the averaging,
    with a wide grid): the one with the fewest departures from the text stands for them.
    """
    distance = f"distance_{kind}"
    rows = table.assign(departures=departures(table, design), rounded=table[distance].round(6))
    rows = rows.sort_values(["rounded", "departures"], kind="stable")
    return (
        rows.drop_duplicates("rounded").head(design["naming"]["candidates"]).reset_index(drop=True)
    )


def departures(table: pd.DataFrame, design: Mapping[str, Any]) -> pd.Series:
    """Return how many settings of each row are not what the text of the paper states."""
    count = pd.Series(0, index=table.index)
    for name, literal in design["naming"]["literal"].items():
        if name == "scale":  # K_x = (I + alpha L)^-1 as printed
            count += ~np.isclose(table["scale"] * table["alpha"], 1.0)
        elif name in table:
            stated = literal if isinstance(literal, list) else [literal]
            count += ~table[name].isin([*stated, printed.NONE])
    return count


def confirm_printed(
    row: Mapping[str, Any], design: Mapping[str, Any], report: Report = lambda _: None
) -> dict[str, Any]:
    """Simulate Figure 12 under one specification with the seeds of ``confirm``."""
    independent = row["printed_data"] == "independent"
    data = "independent" if independent else row["bandwidth"]
    factors = {name: {**factor, "values": [row[name]]} if name in row else factor
               for name, factor in design["factors"].items()}  # fmt: skip
    only: dict[str, Any] = {**design, "factors": factors}
    part = {"kind": "printed", "data": data, "alpha": row["alpha"], "n": row["n"],
            "seed": "confirm", "runs": design["naming"]["runs"]}  # fmt: skip
    name = f"printed-{data}-alpha{row['alpha']:g}-n{row['n']}"
    table = printed.judge_printed({name: simulate(part, only, report)}, only, kinds=[data])
    keys = [key for key in printed.KEYS if key in row]
    same = np.logical_and.reduce([table[key].astype(str) == str(row[key]) for key in keys])
    return dict(table[same].iloc[0])


def confirm_sentences(
    row: Mapping[str, Any], design: Mapping[str, Any], report: Report = lambda _: None
) -> dict[str, Any]:
    """Simulate the sentences under one specification with the seeds of ``confirm``.

    The levels of r are those of the statements, so nothing is interpolated.
    """

    def variance(x: float) -> float:
        return (x if row["axis"] == "variance" else x * x) / float(row["scale"])

    made = statements(design)
    scores = [score for one in made for terms in one.terms for _, score in terms]
    mild = variance(design["printed"]["noise"])
    levels = {
        family: sorted({variance(s.level) for s in scores if s.axis == "noise"
                        and (s.family == "sbm") == (family == "sbm")} | {mild})
        for family in ("sbm", "others")
    }  # fmt: skip
    kernel = {"values": list(dict.fromkeys(["exact", row["kernel"]])), "prior": [1, 1]}
    only = {
        **design,
        "r": {**levels, "missing": [mild]},
        "missing": {**design["missing"], "alpha": [row["alpha"]]},
        "factors": {**design["factors"], "kernel": kernel},
    }
    sizes = {row["n"], *(score.n for score in scores if score.n)}
    arrays = {}
    for n in sorted(sizes):
        for data in ("independent", row["bandwidth"]):
            for kind in ("noise", "missing"):
                part = {"kind": kind, "data": data, "alpha": row["alpha"], "n": int(n)}
                part |= {"seed": "confirm", "replicates": design["naming"]["replicates"]}
                if n == row["n"] or (kind == "noise" and data != "independent"):
                    name = f"{kind}-{data}-alpha{row['alpha']:g}-n{n}"
                    arrays[name] = simulate(part, only, report)
    return dict(judge_sentences(Curves(arrays, only), [dict(row)]).iloc[0])


def choose(confirmed: pd.DataFrame, kind: str, design: Mapping[str, Any]) -> pd.Series:
    """Return the named protocol: of the nearest ones that with the fewest departures."""
    distance = f"distance_{kind}"
    tie = design["naming"]["tie"]["printed" if kind == "printed" else "described"]
    near = confirmed[confirmed[distance] <= confirmed[distance].min() + tie]
    return near.sort_values(["departures", distance], kind="stable").iloc[0]
