"""The jobs of the study, by name: a cell with all its replicates, or a real data set."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

__all__ = ["DATA", "INPUTS", "JOB", "PURE_NOISE", "REAL", "SIDES", "parts"]

#: The settings that a job depends on, besides its own.
JOB = ("seed", "replicates", "m", "n", "covariates", "rules", "held_out", "bayesian", "source",
       "hidden", "seeds")  # fmt: skip
#: Whether observations are independent.
DATA = ("independent", "dependent")
#: Side information on nodes, as :func:`experiments.datasets.custom_kernels.node_kernel` names it.
SIDES = {"none": "identity", "covariates": "covariates-1", "oracle": "oracle"}
#: In the place of a family of graphs: noise that depends on no graph, and real data.
PURE_NOISE, REAL = "pure_noise", "real"
#: How models get real data: with the kernels of the replication, or raw tables with covariates.
INPUTS = ("kernels", "covariates")


def parts(design: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the jobs of a study by name.

    Examples
    --------
    >>> axes = {"families": ["er"], "data": ["dependent"], "noise": [0.01], "missing": [0.5]}
    >>> others = {"pure_noise": ["independent"], "real": ["sushi-80"], "inputs": ["kernels"]}
    >>> list(parts({**axes, "sides": ["none"], **others}))
    ['er-dependent-0.01-0.5-none', 'pure_noise-independent', 'sushi-80-kernels']
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
        about = {"family": REAL, "files": files, "n": int(n), "input": given}
        found[f"{name}-{given}"] = about
    return found
