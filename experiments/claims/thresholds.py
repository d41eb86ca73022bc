"""The numbers that the words of the paper are read as.

The margins come from the words and from the scale that the printed values give, by people who had
seen figures of this replication but no verdict. Those that were changed or added after the first
verdict are in :mod:`experiments.claims.changes`, with the reason.

A random ranking of pairs has an average precision equal to the density of the true graph, 0.3, and
a perfect one has 1. The squared error of a graph is relative to that of the empty graph, which
has 1. The printed scores of Figure 12 give the scale: 0.86 to 0.90 for the best graphs, 0.80 for
the next, 0.33 to 0.40 for those with a few edges only.
"""

from __future__ import annotations

__all__ = [
    "CHANCE", "HIGH", "HIGH_IMPLIED", "LOW_SSE", "MEANINGFUL", "MUCH", "OVERLAP", "SLIGHT", "SLOW",
    "STABLE", "STEEP", "STEEP_IMPLIED", "VISIBLE", "WELL",
]  # fmt: skip

#: The APS of a random ranking.
CHANCE = 0.3
#: A "high" APS, a "high performance", a "high accuracy": the least of the good ones in Figure 12.
HIGH = 0.8
#: What it implies (:data:`VISIBLE` has why that is asked): the least of the best ones in Figure 12.
HIGH_IMPLIED = 0.86
#: A "low" SSE: less than half of what the empty graph has.
LOW_SSE = 0.5
#: A "meaningful" graph: more right than wrong on average over its ranking; chance has 0.3.
MEANINGFUL = 0.5
#: "Reasonably well", "to a satisfying level": midway between meaningful and high.
WELL = 0.65
#: "Slightly" better or worse: less than a tenth of the scale, in APS and SSE.
SLIGHT = 0.1
#: Curves that "almost overlap": less than half of that apart, either way.
OVERLAP = 0.05
#: A performance that "drops slowly": by less than this in APS per unit of noise variance.
SLOW = 0.1
#: One that "drops quickly", "drops steeply": by more than this in APS over the range that is named.
STEEP = 0.2
#: What it implies: three times the 0.1 by which, in contrast, a curve "only" drops in the paper.
STEEP_IMPLIED = 0.3
#: A curve that is "relatively stable": never further than this from where it begins. The paper says
#: of a loss of 0.1 that a curve "only" drops by it.
STABLE = 0.1
#: "Much smaller errors": less than this part of the other's.
MUCH = 0.5
#: The least difference that a statement such as "outperforms" implies, in APS, SSE and NMI: the
#: paper describes curves, and curves that are nearer "almost overlap". If the true value is this
#: far on the right side of a bound, the criterion should hold (its power).
VISIBLE = OVERLAP
