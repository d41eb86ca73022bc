"""What printed numbers and sentences imply for the unstated settings, and for each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from experiments.inference.printed import NONE
from kgl._types import Array

__all__ = ["cross_prediction", "front", "joint", "marginals", "prior_of", "sentence_weight"]


def prior_of(table: pd.DataFrame, design: Mapping[str, Any]) -> Array:
    """Return the prior weight of each row, of the factors that the table has; they sum to one."""
    weight = np.ones(len(table))
    for name, factor in design["factors"].items():
        if name in table:
            values = [_plain(value) for value in factor["values"]]
            known = dict(zip(values, np.array(factor["prior"]) / sum(factor["prior"]), strict=True))
            known[NONE] = known.get(NONE, 1.0)  # a factor without a part in the row
            weight = weight * table[name].map(lambda v, known=known: known[_plain(v)]).to_numpy()
    return np.asarray(weight / weight.sum())


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)


def sentence_weight(table: pd.DataFrame, experiment: str = "sentences") -> Array:
    """Return ``exp(-d^2 / 2)`` of the distance from the sentences, one tolerance as its unit."""
    return np.asarray(np.exp(-0.5 * table[f"distance_{experiment}"].to_numpy() ** 2))


def marginals(
    table: pd.DataFrame, weight: Array, design: Mapping[str, Any], names: Sequence[str]
) -> pd.DataFrame:
    """Return prior and posterior weight of every value of some factors."""
    prior = prior_of(table, design)
    posterior = prior * weight
    posterior = posterior / posterior.sum()
    rows = []
    for name in names:
        values = pd.DataFrame(
            {"value": table[name].astype(str), "prior": prior, "posterior": posterior}
        )
        summed = values.groupby("value", sort=False).sum()
        rows.append(summed.reset_index().assign(factor=name))
    return pd.concat(rows, ignore_index=True)[["factor", "value", "prior", "posterior"]]


def joint(printed: pd.DataFrame, sentences: pd.DataFrame) -> pd.DataFrame:
    """Return all specifications of both kinds that agree in what they share, with both distances.

    The trace of L and the data of Figure 12 bear on the printed numbers alone, the noise axis and
    the range of the grid on the sentences alone. For each specification of the rest the nearest of
    these to the printed numbers, and to the sentences, is taken.
    """
    shared = ["alpha", "n", "bandwidth", "kernel", "scale", "smoothness", "decimals"]
    told = sentences.copy()
    five = told[told["decimals"] == "none"].assign(decimals="5")
    told = pd.concat([told, five], ignore_index=True)
    best = told.loc[told.groupby(shared, sort=False)["distance_sentences"].idxmin()]
    apart = printed[printed["bandwidth"] == NONE].drop(columns="bandwidth")
    alone = [key for key in shared if key != "bandwidth"]
    apart = apart.loc[apart.groupby(alone, sort=False)["distance_printed"].idxmin()]
    merged = best.merge(apart, on=alone)
    linked = printed[printed["bandwidth"] != NONE]
    linked = linked.loc[linked.groupby(shared, sort=False)["distance_printed"].idxmin()]
    merged = pd.concat([merged, best.merge(linked, on=shared)], ignore_index=True)
    return merged.loc[merged.groupby(shared, sort=False)["distance_printed"].idxmin()]


def front(both: pd.DataFrame) -> pd.DataFrame:
    """Return the specifications that no other beats in both distances, nearest in print first."""
    ordered = both.sort_values(["distance_printed", "distance_sentences"], kind="stable")
    best = ordered["distance_sentences"].cummin()
    first = ordered["distance_sentences"] < best.shift(fill_value=np.inf)
    return ordered[first].reset_index(drop=True)


def cross_prediction(both: pd.DataFrame, design: Mapping[str, Any]) -> pd.DataFrame:
    """Return how well settings inferred from one part of the evidence predict another part.

    One row for each pair: the mean distance from the second part under the posterior of the first,
    under the prior, and the least of any specification.
    """
    prior = prior_of(both, design)
    evidence = {
        "printed": both["p_value"].to_numpy(),
        "noise": sentence_weight(both, "noise"),
        "missing": sentence_weight(both, "missing"),
    }
    rows = []
    for first, weight in evidence.items():
        posterior = prior * weight
        posterior = posterior / posterior.sum()
        for second in evidence:
            values = both[f"distance_{second}"].to_numpy()
            rows.append((first, second, float(posterior @ values), float(prior @ values),
                         float(values.min())))  # fmt: skip
    columns = ["fitted_to", "predicted", "posterior", "prior", "least"]
    return pd.DataFrame(rows, columns=columns)
