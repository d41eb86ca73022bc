"""Colors of nodes that people with any color vision can tell apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

__all__ = ["CIVIDIS", "OKABE_ITO", "OTHER", "categories", "category_color"]

#: Okabe and Ito (2008), without black, which is the color of text.
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442")
#: Categories beyond these, and missing ones.
OTHER = "#8a8f94"
#: Nine steps of cividis, which those with a red-green deficiency see as others do.
CIVIDIS = (
    "#00224e",
    "#1a386f",
    "#434e6c",
    "#61656f",
    "#7d7c78",
    "#9b9476",
    "#bcae6c",
    "#dec958",
    "#fee838",
)


def categories(values: Sequence[str | None]) -> list[str]:
    """Return the categories that get a color of their own, most frequent first.

    Examples
    --------
    >>> categories(["alp", None, "valley", "valley"])
    ['valley', 'alp']
    """
    counts = Counter(value for value in values if value is not None)
    return [value for value, _ in counts.most_common(len(OKABE_ITO))]


def category_color(value: str | None, shown: Sequence[str]) -> str:
    """Return the color of a category."""
    return OKABE_ITO[shown.index(value)] if value in shown else OTHER
