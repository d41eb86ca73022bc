"""Names of the kinds of data and of the ways of tuning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["KINDS", "PLAIN", "REAL", "TUNINGS", "same_without_x"]

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


def same_without_x(about: Mapping[str, Any]) -> str:
    """Return the cell that has the same data as this one without covariates; or an empty text.

    Entrants that make no use of covariates are measured there alone.
    """
    return f"plain-{about['m']}" if about["kind"].startswith("side_") else ""
