"""The jobs of the study, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["JOB", "NEW_NODES", "parts"]

#: The settings that a job depends on, besides its own.
JOB = ("seeds", "methods", "left_out")
#: In the place of a pattern of gaps: nodes that were never observed.
NEW_NODES = "new_nodes"


def parts(design: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the jobs of a study by name: tables with patterns and rates, and new nodes.

    Examples
    --------
    >>> list(parts({"datasets": ["wine"], "patterns": ["random"], "rates": [0.1, 0.3],
    ...             "new_nodes": ["digits"]}))
    ['wine-random-0.1', 'wine-random-0.3', 'digits-new_nodes']
    """
    found = {
        f"{name}-{pattern}-{rate:g}": {"dataset": name, "pattern": pattern, "rate": rate}
        for name in design["datasets"]
        for pattern in design["patterns"]
        for rate in design["rates"]
    }
    return found | {
        f"{name}-{NEW_NODES}": {"dataset": name, "pattern": NEW_NODES, "rate": 0.0}
        for name in design["new_nodes"]
    }
