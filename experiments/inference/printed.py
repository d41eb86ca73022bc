"""Judge specifications by the twelve printed values of Figure 12."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from experiments.registry import PRINTED_APS
from kgl._types import Array

__all__ = ["KEYS", "distance_and_null", "judge_printed"]

KEYS = ["alpha", "n", "printed_data", "bandwidth", "kernel", "scale", "smoothness", "decimals",
        "trace"]  # fmt: skip
#: Where the printed values come from independent data, K_z has no bandwidth.
NONE = "none"
_FAMILIES = ("sbm", "er", "ba")


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
    means : array (3, 4)

    Examples
    --------
    >>> same = np.repeat([[PRINTED_APS[name]] for name in ("sbm", "er", "ba")], 2, axis=1)
    >>> distance, null, _ = distance_and_null(same)
    >>> float(distance), float(null.max())
    (0.0, 0.0)
    """
    printed = np.array([PRINTED_APS[name] for name in _FAMILIES])
    count = runs.shape[1]
    means = runs.mean(axis=1)
    others = (runs.sum(axis=1, keepdims=True) - runs) / (count - 1)
    # of each family and run: the sum over psi; a combination adds one of each family
    one = np.abs(runs - others).sum(axis=2)
    null = (one[0][:, None, None] + one[1][None, :, None] + one[2][None, None, :]).ravel()
    return float(np.abs(printed - means).mean()), null / printed.size, means


def judge_printed(
    arrays: Mapping[str, Mapping[str, Array]],
    design: Mapping[str, Any],
    kinds: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return one row per specification: keys, distance, null and the means of the twelve."""
    factors = {name: factor["values"] for name, factor in design["factors"].items()}
    rows = []
    for alpha, n, data in product(
        factors["alpha"], factors["n"], kinds or ("independent", *design["printed"]["bandwidths"])
    ):
        found = arrays[f"printed-{data}-alpha{alpha:g}-n{n}"]
        independent = data == "independent"
        kernels = factors["kernel"] if independent else factors["kernel"][:1]
        known = {"alpha": alpha, "n": n, "bandwidth": NONE if independent else data,
                 "printed_data": "independent" if independent else "dependent"}  # fmt: skip
        for kernel, trace in product(kernels, factors["trace"]):
            # (family, run, scale, average, decimals, psi)
            runs = np.stack([found[f"{family}.{kernel}.{trace}"] for family in _FAMILIES])
            for (i, scale), (j, smoothness), (k, decimals) in product(
                enumerate(factors["scale"]), enumerate(("averaged", "summed")),
                enumerate(("none", "5", "4")),
            ):  # fmt: skip
                own = {"kernel": kernel, "scale": scale, "smoothness": smoothness,
                       "decimals": decimals, "trace": trace}  # fmt: skip
                rows.append({**known, **own, **_judged(runs[:, :, i, j, k])})
    table = pd.DataFrame(rows)
    return table[[*KEYS, *(name for name in table if name not in KEYS)]]


def _judged(runs: Array) -> dict[str, float]:
    distance, null, means = distance_and_null(runs.astype(float))
    p_value = float((null >= distance).mean())
    found = {"distance_printed": distance, "null_median": float(np.median(null)),
             "null_p95": float(np.quantile(null, 0.95)), "p_value": p_value}  # fmt: skip
    low, high = np.percentile(runs, [5, 95], axis=1)
    for name, values in (("aps", means), ("p05", low), ("p95", high)):
        names = [f"{name}_{family}_{k}" for family in _FAMILIES for k in range(values.shape[1])]
        found |= dict(zip(names, values.ravel().tolist(), strict=True))
    return found
