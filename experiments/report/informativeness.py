"""What is left of the gain of KGL-N when K_x knows as little as real side information does.

A kernel of the nodes, taken for a graph, finds the true pairs with some average precision. Its
*worth* is how far that is on the way from guessing (the share of true pairs) to 1. The control
``control_kx`` has KGL-N with kernels of falling worth; what is left of its gain over GL is read off
where the worth is that of altitude for the Swiss graph, or of the attributes for the groups of
sushi. The Swiss graph is itself made of temperatures, so that its worth is a high one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from experiments.report.loading import Gallery
from experiments.report.tables import Table, label, span

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Kept", "kept", "table"]

#: The real side information, by data set.
SETS = {"swiss": "altitude (Swiss stations)", "sushi": "six attributes (sushi)"}
#: A figure and the ends of its interval.
ENDS = ("mean", "low", "high")
#: Names of the facts, as experiments.datasets.real writes them.
APS, SHARE = "K_x alone: APS", "K_x alone: share of true pairs"


@dataclass(frozen=True)
class Kept:
    """What is left with side information of one worth, for one family and one kind of data.

    Attributes
    ----------
    files : str
        Whose side information.
    graph, data : str
        Family, and kind of data.
    worth : float
        From 0 (guessing) to 1.
    share : tuple of float
        The part of the gain of KGL-N over GL in APS that is left, and the ends of its interval.
    over_best : tuple of float
        By how much KGL-N is above the better of GL and K_x alone there, and its interval.
    """

    files: str
    graph: str
    data: str
    worth: float
    share: tuple[float, float, float]
    over_best: tuple[float, float, float]


def kept(gallery: Gallery) -> list[Kept]:
    """Read off what is left, for each real data set, family and kind of data."""
    dial = gallery.table("control_kx", "graph", "data", "level", "model", "metric", *ENDS)
    facts = gallery.table("facts", "files", "source", "quantity", "value")
    if dial is None or facts is None:
        return []
    known = facts[facts["source"] == "real"].set_index(["files", "quantity"])["value"]
    found = []
    for files in SETS:
        if (files, APS) not in known.index:
            continue
        guess = float(known[files, SHARE])
        worth = (float(known[files, APS]) - guess) / (1 - guess)
        for graph, family in dial.groupby("graph", sort=False):
            for data, own in family.groupby("data", sort=False):
                share, best = (
                    _read_off(family, own, metric, worth)
                    for metric in ("gap_kept", "gap_over_best")
                )
                if share is not None and best is not None:
                    found.append(Kept(files, str(graph), str(data), worth, share, best))
    return found


def _read_off(
    family: pd.DataFrame, own: pd.DataFrame, metric: str, worth: float
) -> tuple[float, float, float] | None:
    """Return a figure and its ends where K_x has a worth, between two kernels of the dial."""
    # the kernel alone does not depend on the data, and is in the table once
    alone = family[(family["model"] == "kernel") & (family["metric"] == "aps")]
    kernel = alone.drop_duplicates("level").set_index("level")["mean"]
    rows = own[own["metric"] == metric].drop_duplicates("level").set_index("level")
    sides = [side for side in rows.index if side in kernel.index]
    if not {"oracle", "identity"} <= set(sides):
        return None
    # guessing is what a kernel that says nothing gets
    guess = float(kernel["identity"])
    worths = np.array([(float(kernel[side]) - guess) / (1 - guess) for side in sides])
    order = np.argsort(worths, kind="stable")
    value, low, high = (
        float(np.interp(worth, worths[order], rows[name][sides].to_numpy(dtype=float)[order]))
        for name in ENDS
    )
    return value, low, high


def table(gallery: Gallery) -> Table | None:
    """Show what is left, a row per data set and kind of data, a column per family."""
    found = {(one.files, one.data, one.graph): one for one in kept(gallery)}
    if not found:
        return None
    families = list(dict.fromkeys(graph for _, _, graph in found))
    rows = []
    for files, data in dict.fromkeys((files, data) for files, data, _ in found):
        mine = [found.get((files, data, graph)) for graph in families]
        worth = next(one.worth for one in mine if one is not None)
        cells = [
            "" if one is None else f"{_percent(one.share)}; {span(*one.over_best)}" for one in mine
        ]
        rows.append((SETS[files], f"{worth:.2f}", label(data), *cells))
    note = (
        "Worth: how far the APS of K_x alone is on the way from guessing to 1. Cells: the part of "
        "the gain of KGL-N over GL in APS that is left with a K_x of that worth; by how much KGL-N "
        "is then above the better of GL and K_x alone. Read off between two kernels of the dial, "
        "with 95 % intervals. The Swiss graph is one that GL made of temperatures, which "
        "altitude largely explains; for sushi, pairs of one group stand for edges"
    )
    return Table(("side information", "worth", "data", *map(label, families)), tuple(rows), note)


def _percent(ends: tuple[float, float, float]) -> str:
    value, low, high = ends
    return f"{value:.0%} [{low:.0%}, {high:.0%}]".replace("%", " %")
