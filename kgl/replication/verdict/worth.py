"""What is left of the gain of KGL-N when K_x knows as little as real side information does.

A kernel of the nodes, taken for a graph, finds the true pairs with some average precision. Its
*worth* is how far that is on the way from guessing (the share of true pairs) to 1. The control
``control_kx`` has KGL-N with kernels of falling worth; the gain over GL is read off where the worth
is that of altitude for the Swiss graph, or of the attributes for the groups of sushi.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kgl.replication.verdict.loading import Gallery
from kgl.replication.verdict.tables import Table, label

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Kept", "kept", "table"]

#: The real side information, by data set.
SETS = {"swiss": "altitude (Swiss stations)", "sushi": "six attributes (sushi)"}
#: Names of the facts, as kgl.replication.real writes them.
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
    gain, full : float
        Of KGL-N over GL in APS: with a K_x of this worth, and with the paper's.
    over_kernel : float
        By how much KGL-N is above K_x alone there.
    """

    files: str
    graph: str
    data: str
    worth: float
    gain: float
    full: float
    over_kernel: float

    @property
    def share(self) -> float:
        """The part of the gain that is left."""
        return self.gain / self.full


def kept(gallery: Gallery) -> list[Kept]:
    """Read off what is left, for each real data set, family and kind of data."""
    dial = gallery.table("control_kx", "graph", "data", "level", "model", "metric", "mean")
    facts = gallery.table("facts", "files", "source", "quantity", "value")
    if dial is None or facts is None:
        return []
    aps = dial[dial["metric"] == "aps"]
    known = facts[facts["source"] == "real"].set_index(["files", "quantity"])["value"]
    found = []
    for files in SETS:
        if (files, APS) not in known.index:
            continue
        share = float(known[files, SHARE])
        worth = (float(known[files, APS]) - share) / (1 - share)
        for graph, family in aps.groupby("graph", sort=False):
            for data, own in family.groupby("data", sort=False):
                one = _read_off(family, own, worth)
                if one is not None:
                    found.append(Kept(files, str(graph), str(data), worth, *one))
    return found


def _read_off(
    family: pd.DataFrame, own: pd.DataFrame, worth: float
) -> tuple[float, float, float] | None:
    """Return gain, full gain and lead over K_x alone at a worth, between kernels of the dial."""

    def curve(rows: pd.DataFrame, model: str) -> pd.Series:
        return rows[rows["model"] == model].drop_duplicates("level").set_index("level")["mean"]

    # the kernel alone does not depend on the data, and is in the table once
    learned, alone, gl = curve(own, "kgln"), curve(family, "kernel"), curve(own, "gl")
    if not {"oracle", "identity"} <= set(learned.index) & set(alone.index) or gl.empty:
        return None
    sides = [side for side in learned.index if side in alone.index]
    # guessing is what a kernel that says nothing gets
    guess = float(alone["identity"])
    worths = np.array([(float(alone[side]) - guess) / (1 - guess) for side in sides])
    order = np.argsort(worths, kind="stable")
    base = float(gl.iloc[0])

    def at(values: pd.Series) -> float:
        return float(np.interp(worth, worths[order], values[sides].to_numpy()[order]))

    return at(learned) - base, float(learned["oracle"]) - base, at(learned) - at(alone)


def table(gallery: Gallery) -> Table | None:
    """Show what is left, a row per data set and kind of data, a column per family."""
    found = kept(gallery)
    if not found:
        return None
    families = list(dict.fromkeys(one.graph for one in found))
    rows = []
    for files, data in dict.fromkeys((one.files, one.data) for one in found):
        mine = {one.graph: one for one in found if (one.files, one.data) == (files, data)}
        cells = {
            graph: f"{one.gain:+.2f} of {one.full:+.2f} ({one.share:.0%}); over K_x alone "
            f"{one.over_kernel:+.2f}"
            for graph, one in mine.items()
        }
        worth = next(iter(mine.values())).worth
        # a family may lack a kind of data
        shown = (cells.get(graph, "") for graph in families)
        rows.append((SETS[files], f"{worth:.2f}", label(data), *shown))
    note = (
        "Worth: how far the APS of K_x alone is on the way from guessing to 1. Cells: gain of "
        "KGL-N over GL in APS with a K_x of that worth, of the gain with the paper's K_x, read off "
        "between two kernels of the dial"
    )
    return Table(("side information", "worth", "data", *map(label, families)), tuple(rows), note)
