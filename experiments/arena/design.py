"""The jobs of the study, by name: some entrants on all replicates of a cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.arena.entrants import ENTRANTS
from experiments.arena.names import REAL, same_without_x
from experiments.datasets.real import choose_source
from experiments.registry import STANDIN_SUFFIX

__all__ = ["JOB", "cells", "parts"]

#: The settings that a job depends on, besides its own.
JOB = ("seed", "n", "degree", "noise", "missing", "covariates", "hidden", "values")
#: Real tables that are simulated where the files are unavailable.
_FILES = ("swiss", "sushi")


def cells(design: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the cells by name: what the data are, replicates and the limit of a call.

    Examples
    --------
    >>> sizes = [{"m": 20, "kinds": ["plain"], "replicates": 3, "limit": 30}]
    >>> cells({"sizes": sizes, "real": {"datasets": []}})["plain-20"]["replicates"]
    3
    """
    found: dict[str, dict[str, Any]] = {}
    for size in design["sizes"]:
        spent = {name: size[name] for name in ("replicates", "limit")}
        for kind in size["kinds"]:
            found[f"{kind}-{size['m']}"] = {"kind": kind, "m": size["m"], "dataset": "", **spent}
    real = design["real"]
    for name in real["datasets"]:
        source = choose_source(name, real["source"])[0] if name in _FILES else "real"
        spent = {key: real[key] for key in ("replicates", "limit")}
        about = {"kind": REAL, "m": 0, "dataset": name, "source": source, **spent}
        found[f"{name}{STANDIN_SUFFIX * (source == 'simulated')}"] = about
    return found


def parts(design: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the jobs of a study by name; a job has entrants of one group, and their adapters."""
    found = {}
    made = cells(design)
    for cell, about in made.items():
        plain = made.get(same_without_x(about))
        for group in design["groups"]:
            entrants = group["entrants"]
            known = [ENTRANTS[name] for name in entrants if name in ENTRANTS]
            if plain and not any(entrant.x for entrant in known):
                continue
            sources = {name: ENTRANTS[name].source() for name in entrants if name in ENTRANTS}
            found[f"{cell}-{group['name']}"] = {"cell": cell, **about, "entrants": sources}
    return found
