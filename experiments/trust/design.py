"""The jobs of the study, by name: a cell with all its replicates, or a real data set."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from experiments.datasets.real import choose_source
from experiments.registry import STANDIN_SUFFIX
from experiments.trust.names import PURE_NOISE, REAL

__all__ = ["JOB", "parts"]

#: The settings that a job depends on, besides its own.
JOB = ("seed", "replicates", "m", "n", "covariates", "rules", "held_out", "bayesian",
       "simulated", "hidden", "seeds")  # fmt: skip


def parts(design: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the jobs of a study by name; those of a simulated stand-in have that in their name.

    Examples
    --------
    >>> axes = {"families": ["er"], "data": ["dependent"], "noise": [0.01], "missing": [0.5]}
    >>> others = {"pure_noise": ["independent"], "real": [], "inputs": []}
    >>> list(parts({**axes, "sides": ["none"], **others}))
    ['er-dependent-0.01-0.5-none', 'pure_noise-independent']
    """
    found: dict[str, dict[str, Any]] = {}
    axes = (design[name] for name in ("families", "data", "noise", "missing", "sides"))
    for family, data, noise, missing, side in product(*axes):
        found[f"{family}-{data}-{noise:g}-{missing:g}-{side}"] = {
            "family": family, "data": data, "noise": noise, "missing": missing, "side": side,
        }  # fmt: skip
    for data in design["pure_noise"]:
        found[f"{PURE_NOISE}-{data}"] = {
            "family": PURE_NOISE, "data": data, "noise": 1.0, "missing": 0.0, "side": "none",
        }  # fmt: skip
    for name, given in product(design["real"], design["inputs"]):
        files, _, n = name.partition("-")
        source, _ = choose_source(files, design["source"])
        about = {"family": REAL, "files": files, "n": int(n), "input": given, "source": source}
        found[f"{name}-{given}{STANDIN_SUFFIX * (source == 'simulated')}"] = about
    return found
