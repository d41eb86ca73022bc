"""Names of the kinds of data and of the ways of tuning."""

from __future__ import annotations

__all__ = ["KINDS", "PLAIN", "REAL", "STATUS", "TUNINGS"]

#: Kinds of cells, in the order of the figure.
KINDS = {
    "plain": "independent rows",
    "signed": "independent rows, signed edges",
    "dependent": "dependent rows",
    "gaps": "gaps",
    "side_high": "informative covariates",
    "side_medium": "noisy covariates",
    "side_low": "poor covariates",
    "all": "dependence, gaps, covariates",
    "real": "real data",
}
#: Kinds without side information, gaps and dependence.
PLAIN = ("plain", "signed")
REAL = "real"
#: Ways of tuning: as it comes, by its own rule, and by the true graph.
TUNINGS = {"default": "default", "own": "own rule", "oracle": "oracle-tuned"}
#: What became of a call.
STATUS = ("ok", "failed", "stopped", "absent")
