"""The retained share of the gain of KGL-N when K_x is as informative as real side information.

A kernel of the nodes, used as the graph, finds the true pairs with some average precision. Its
*informativeness* is how far that is on the way from chance (the share of true pairs) to 1. The
control ``control_kx`` has KGL-N with degraded kernels; the retained share of its gain over GL is
read off where the informativeness is that of altitude for the Swiss graph, or of the attributes for
the groups of sushi. The Swiss graph is learned from temperatures, which altitude largely explains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from experiments.report.load import Gallery
from experiments.report.tables import Table, label, span

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SETS", "Retained", "retained", "table"]

#: The real side information, by data set.
SETS = {"swiss": "altitude (Swiss stations)", "sushi": "six attributes (sushi)"}
#: An estimate and the ends of its interval.
ENDS = ("mean", "low", "high")
#: Keys of the facts, as experiments.datasets.real writes them.
APS, SHARE = "kx_aps", "kx_share"


@dataclass(frozen=True)
class Retained:
    """What KGL-N retains with side information of one data set, for one family and kind of data.

    Attributes
    ----------
    files : str
        The data set of the side information.
    graph, data : str
        Family, and kind of data.
    informativeness : float
        From 0 (chance) to 1.
    share : tuple of float
        The retained share of the gain of KGL-N over GL in APS, and the ends of its interval.
    over_best : tuple of float
        By how much KGL-N is above the better of GL and K_x alone there, and its interval.
    """

    files: str
    graph: str
    data: str
    informativeness: float
    share: tuple[float, float, float]
    over_best: tuple[float, float, float]


def retained(gallery: Gallery) -> list[Retained]:
    """Read off what is retained, for each real data set, family and kind of data."""
    degraded = gallery.table("control_kx", "graph", "data", "level", "model", "metric", *ENDS)
    facts = gallery.table("facts", "files", "source", "key", "value")
    if degraded is None or facts is None:
        return []
    known = facts[facts["source"] == "real"].set_index(["files", "key"])["value"]
    found = []
    for files in SETS:
        if (files, APS) not in known.index:
            continue
        chance = float(known[files, SHARE])
        informed = (float(known[files, APS]) - chance) / (1 - chance)
        for graph, family in degraded.groupby("graph", sort=False):
            for data, own in family.groupby("data", sort=False):
                share, best = (
                    _read_off(family, own, metric, informed)
                    for metric in ("gap_kept", "gap_over_best")
                )
                if share is not None and best is not None:
                    found.append(Retained(files, str(graph), str(data), informed, share, best))
    return found


def _read_off(
    family: pd.DataFrame, own: pd.DataFrame, metric: str, informed: float
) -> tuple[float, float, float] | None:
    """Return an estimate and its ends at one informativeness, between two degraded kernels."""
    # the kernel alone does not depend on the data, and is in the table once
    alone = family[(family["model"] == "kernel") & (family["metric"] == "aps")]
    kernel = alone.drop_duplicates("level").set_index("level")["mean"]
    rows = own[own["metric"] == metric].drop_duplicates("level").set_index("level")
    sides = [side for side in rows.index if side in kernel.index]
    if not {"oracle", "identity"} <= set(sides):
        return None
    # the identity carries no information: its score is that of chance
    chance = float(kernel["identity"])
    levels = np.array([(float(kernel[side]) - chance) / (1 - chance) for side in sides])
    order = np.argsort(levels, kind="stable")
    value, low, high = (
        float(np.interp(informed, levels[order], rows[name][sides].to_numpy(dtype=float)[order]))
        for name in ENDS
    )
    return value, low, high


def table(gallery: Gallery) -> Table | None:
    """Show what is retained, a row per data set and kind of data, a column per family."""
    found = {
        (one.files, one.data, protocol, one.graph): one
        for protocol, view in gallery.views.items()
        for one in retained(view)
    }
    if not found:
        return None
    families = list(dict.fromkeys(key[-1] for key in found))
    rows = []
    for files, data, protocol in dict.fromkeys(key[:-1] for key in found):
        mine = [found.get((files, data, protocol, graph)) for graph in families]
        informed = next(one.informativeness for one in mine if one is not None)
        cells = [
            "" if one is None else f"{_percent(one.share)}; {span(*one.over_best)}" for one in mine
        ]
        of = f"{label(data)}, {protocol}" if protocol else label(data)
        rows.append((SETS[files], f"{informed:.2f}", of, *cells))
    note = (
        "Informativeness: how far the APS of K_x alone is on the way from chance to 1. Cells: the "
        "retained share of the gain of KGL-N over GL in APS with a K_x of that informativeness; by "
        "how much KGL-N is then above the better of GL and K_x alone. Read off between two "
        "degraded kernels, with 95 % intervals. The Swiss graph is one that GL learned from "
        "temperatures, which altitude largely explains; for sushi, pairs of one group are edges"
    )
    return Table(
        ("side information", "informativeness", "data", *map(label, families)), tuple(rows), note
    )


def _percent(ends: tuple[float, float, float]) -> str:
    value, low, high = ends
    return f"{value:.0%} [{low:.0%}, {high:.0%}]".replace("%", " %")
