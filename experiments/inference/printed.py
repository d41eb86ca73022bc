"""Judge specifications by the twelve printed values of Figure 12."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from experiments.inference.simulate import printed_kernels
from experiments.registry import PRINTED_APS
from kgl._types import Array

__all__ = ["KEYS", "NONE", "distance_and_null", "judge_printed"]

KEYS = ["alpha", "n", "printed_data", "bandwidth", "kernel", "axis", "scale", "smoothness",
        "decimals", "trace"]  # fmt: skip
#: Where the printed values come from independent data, K_z has no bandwidth.
NONE = "none"
_FAMILIES = ("sbm", "er", "ba")
_SMOOTHNESS = ("averaged", "summed")
_DECIMALS = ("none", "5", "4")


def _combined(parts: Array) -> Array:
    """Add one value of each family, for all combinations; ``parts`` has shape (3, R)."""
    total = parts[0][:, None, None] + parts[1][None, :, None] + parts[2][None, None, :]
    return np.asarray(total.ravel())


def distance_and_null(runs: Array) -> tuple[float, Array, Array]:
    """Return how far the printed values are from the mean of runs, and how far one run is.

    Parameters
    ----------
    runs : array (3, R, 4)
        APS of each family, run and psi.

    Returns
    -------
    distance : float
        Mean absolute difference of the twelve printed values from the means.
    null : array (R^3,)
        The same of one run for each family from the mean of the others: all combinations.
    single : array (R^3,)
        Mean absolute difference of the printed values from one run for each family.

    Examples
    --------
    >>> same = np.repeat([[PRINTED_APS[name]] for name in ("sbm", "er", "ba")], 2, axis=1)
    >>> distance, null, single = distance_and_null(same)
    >>> float(distance), float(null.max()), float(single.max())
    (0.0, 0.0, 0.0)
    """
    printed = np.array([PRINTED_APS[name] for name in _FAMILIES])
    others = (runs.sum(axis=1, keepdims=True) - runs) / (runs.shape[1] - 1)
    null = _combined(np.abs(runs - others).sum(axis=2)) / printed.size
    single = _combined(np.abs(runs - printed[:, None]).sum(axis=2)) / printed.size
    return float(np.abs(printed - runs.mean(axis=1)).mean()), null, single


def judge_printed(
    arrays: Mapping[str, Mapping[str, Array]],
    design: Mapping[str, Any],
    kinds: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return one row per specification: its keys, its distance and null, and what is checked."""
    factors = {name: factor["values"] for name, factor in design["factors"].items()}
    places = [
        list(enumerate(v)) for v in (factors["axis"], factors["scale"], _SMOOTHNESS, _DECIMALS)
    ]
    rows = []
    for alpha, n, data in product(
        factors["alpha"], factors["n"], kinds or ("independent", *design["printed"]["bandwidths"])
    ):
        found = arrays[f"printed-{data}-alpha{alpha:g}-n{n}"]
        independent = data == "independent"
        known = {"alpha": alpha, "n": n, "bandwidth": NONE if independent else data,
                 "printed_data": "independent" if independent else "dependent"}  # fmt: skip
        kernels = printed_kernels(factors["kernel"], data)
        for kernel, trace in product(kernels, factors["trace"]):
            # (family, run, axis, scale, smoothness, decimals, psi)
            runs = np.stack([found[f"{family}.{kernel}.{trace}"] for family in _FAMILIES])
            checks = found[f"checks.{kernel}"].mean(axis=0)
            for (i, axis), (j, scale), (k, smoothness), (d, decimals) in product(*places):
                own = {"kernel": kernel, "trace": trace, "axis": axis, "scale": scale,
                       "smoothness": smoothness, "decimals": decimals}  # fmt: skip
                size, lost = float(checks[i, j, 0]), float(checks[i, j, 1 + k])
                judged = _judged(runs[:, :, i, j, k, d].astype(float), design["printed"]["near"])
                rows.append({**known, **own, **judged, "size": size, "lost": lost})
    table = pd.DataFrame(rows)
    return table[[*KEYS, *(name for name in table if name not in KEYS)]]


def _judged(runs: Array, near: float) -> dict[str, float]:
    distance, null, single = distance_and_null(runs)
    found = {
        "distance_printed": distance,
        "null_median": float(np.median(null)),
        "null_p95": float(np.quantile(null, 0.95)),
        "p_value": float((1 + (null >= distance).sum()) / (1 + len(null))),
        "near_share": float((single <= near).mean()),
    }
    low, high = np.percentile(runs, [5, 95], axis=1)
    for name, values in (("aps", runs.mean(axis=1)), ("p05", low), ("p95", high)):
        names = [f"{name}_{family}_{k}" for family in _FAMILIES for k in range(values.shape[1])]
        found |= dict(zip(names, values.ravel().tolist(), strict=True))
    return found
