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
            count += ~np.isclose(table["scale"] * table["alpha"], 1.0, rtol=1e-3)
        elif name in table:
            stated = literal if isinstance(literal, list) else [literal]
            count += ~table[name].isin([*stated, printed.NONE])
    return count


def confirm_printed(
    row: Mapping[str, Any],
    design: Mapping[str, Any],
    report: Report = lambda _: None,
    seed: str = "confirm",
) -> dict[str, Any]:
    """Simulate Figure 12 under one specification with other seeds."""
    data = "independent" if row["printed_data"] == "independent" else row["bandwidth"]
    one = ("alpha", "n", "kernel", "axis", "scale", "trace")
    chosen = {name: {"values": [row[name]], "prior": [1]} for name in one}
    only = {**design, "factors": {**design["factors"], **chosen}}
    part = {"kind": "printed", "data": data, "alpha": row["alpha"], "n": int(row["n"]),
            "seed": seed, "runs": design["naming"]["runs"]}  # fmt: skip
    name = f"printed-{data}-alpha{row['alpha']:g}-n{int(row['n'])}"
    only["factors"]["n"] = {"values": [int(row["n"])], "prior": [1]}
    table = printed.judge_printed({name: simulate(part, only, report)}, only, kinds=[data])
    same = (table["smoothness"] == row["smoothness"]) & (table["decimals"] == row["decimals"])
    return dict(table[same].iloc[0])


def confirm_sentences(
    row: Mapping[str, Any],
    design: Mapping[str, Any],
    report: Report = lambda _: None,
    seed: str = "confirm",
) -> dict[str, Any]:
    """Simulate the sentences under one specification with other seeds.

    The levels of r are those of the statements, so nothing is interpolated.
    """

    def variance(x: float) -> float:
        return (x if row["axis"] == "variance" else x * x) / float(row["scale"])

    scores = [score for one in statements(design) for terms in one.terms for _, score in terms]
    mild = variance(design["printed"]["noise"])
    noise = [score for score in scores if score.axis == "noise"]
    levels = {
        name: sorted({variance(s.level) for s in noise if (s.family == "sbm") == own} | {mild})
        for name, own in (("sbm", True), ("others", False))
    }
    kernel = {"values": list(dict.fromkeys(["exact", row["kernel"]])), "prior": [1, 1]}
    only = {
        **design,
        "r": {**levels, "missing": [mild]},
        "missing": {**design["missing"], "alpha": [row["alpha"]]},
        "factors": {**design["factors"], "kernel": kernel},
    }
    known = {"alpha": row["alpha"], "seed": seed, "replicates": design["naming"]["replicates"]}
    n, arrays = int(row["n"]), {}
    for data in ("independent", row["bandwidth"]):
        for kind in ("noise", "missing"):
            part = {"kind": kind, "data": data, "n": n, **known}
            name = f"{kind}-{data}-alpha{row['alpha']:g}-n{n}"
            arrays[name] = simulate(part, only, report)
    # another number of observations, which statements name, matters for KGL with mild noise alone
    models = {"sbm": ["kgl"], "er": [], "ba": []}
    for other in {score.n for score in scores if score.n} - {n}:
        part = {"kind": "noise", "data": row["bandwidth"], "n": other, **known}
        few = {**only, "models": models, "r": {**only["r"], "sbm": [mild], "others": [mild]}}
        name = f"noise-{row['bandwidth']}-alpha{row['alpha']:g}-n{other}"
        found = simulate(part, few, report)
        arrays[name] = {key: np.repeat(a, len(levels["sbm"]), axis=0) for key, a in found.items()}
    return dict(judge_sentences(Curves(arrays, only), [dict(row)]).iloc[0])


def choose(confirmed: pd.DataFrame, kind: str, design: Mapping[str, Any]) -> pd.Series:
    """Return the named protocol: of the nearest ones that with the fewest departures."""
    distance = f"distance_{kind}"
    tie = design["naming"]["tie"]["printed" if kind == "printed" else "described"]
    near = confirmed[confirmed[distance] <= confirmed[distance].min() + tie]
    return near.sort_values(["departures", distance], kind="stable").iloc[0]
