"""What printed numbers and sentences imply for the unstated settings, and for each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from experiments.inference.printed import NONE
from kgl._types import Array

__all__ = [
    "cross_prediction", "front", "likelihood_of_sentences", "marginals", "prior_of",
    "sentence_weight",
]  # fmt: skip

#: What specifications of the printed numbers and of the sentences share; the bandwidth too, where
#: the printed data are dependent.
SHARED = ["alpha", "n", "kernel", "axis", "scale", "decimals"]


def _weights(
    design: Mapping[str, Any], name: str, *, five_is_none: bool = False
) -> dict[Any, float]:
    factor = design["factors"][name]
    total = sum(factor["prior"])
    found = {_plain(v): p / total for v, p in zip(factor["values"], factor["prior"], strict=True)}
    if five_is_none and name == "decimals":
        found["none"] += found.pop("5")
    return found


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)


def prior_of(table: pd.DataFrame, design: Mapping[str, Any]) -> Array:
    """Return the prior weight of each row, of the factors that the table has; they sum to one.

    Where the data of Figure 12 are a factor, each of its values has its registered weight, however
    many specifications of it are tried.
    """
    weight = np.ones(len(table))
    for name in design["factors"]:
        if name in table:
            known = _weights(design, name, five_is_none="printed_data" not in table)
            known[NONE] = known.get(NONE, 1.0)  # a factor without a part in the row
            weight = weight * table[name].map(lambda v, known=known: known[_plain(v)]).to_numpy()
    if "printed_data" in table:
        for value, share in _weights(design, "printed_data").items():
            mine = (table["printed_data"] == value).to_numpy()
            if mine.any():
                weight[mine] *= share / weight[mine].sum()
    return np.asarray(weight / weight.sum())


def sentence_weight(table: pd.DataFrame, experiment: str = "sentences") -> Array:
    """Return ``exp(-d^2 / 2)`` of the distance from the sentences, in tolerances."""
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


def likelihood_of_sentences(
    printed: pd.DataFrame, sentences: pd.DataFrame, design: Mapping[str, Any], column: str
) -> Array:
    """Return the mean of a column of the printed numbers for each specification of the sentences.

    It is averaged over what the sentences do not bear on (smoothness, trace, the data of Figure 12)
    with their priors; nothing is chosen by the sentences. ``column`` is a weight such as
    ``p_value``, or a distance.
    """
    weight = prior_of(printed, design)
    parts = printed.assign(weight=weight, value=weight * printed[column].to_numpy())
    told = sentences[[*SHARED, "bandwidth"]].reset_index(drop=True)
    told["row"] = told.index
    both = []
    for decimals in ("none", "5"):  # for the sentences 5 counts as none
        own = told[told["decimals"] == "none"].assign(decimals=decimals)
        both += [own] if decimals == "5" else [told]
    told = pd.concat(both, ignore_index=True)
    total = np.zeros((len(sentences), 2))
    for data, keys in (("independent", SHARED), ("dependent", [*SHARED, "bandwidth"])):
        mine = parts[parts["printed_data"] == data]
        summed = mine.groupby(keys, sort=False)[["weight", "value"]].sum().reset_index()
        found = told.merge(summed, on=keys, how="left").fillna({"weight": 0.0, "value": 0.0})
        for k, name in enumerate(("weight", "value")):
            np.add.at(total[:, k], found["row"].to_numpy(), found[name].to_numpy())
    return np.asarray(total[:, 1] / total[:, 0])


def front(printed: pd.DataFrame, sentences: pd.DataFrame) -> pd.DataFrame:
    """Return the specifications that no other beats in both distances, nearest in print first.

    What bears on one kind of evidence alone is the best for it, so each row is a bound: no
    specification with its shared settings comes nearer to both.
    """
    five = sentences[sentences["decimals"] == "none"].assign(decimals="5")
    told = pd.concat([sentences, five], ignore_index=True)
    merged = []
    for data, keys in (("independent", SHARED), ("dependent", [*SHARED, "bandwidth"])):
        mine = printed[printed["printed_data"] == data]
        if len(mine):
            mine = mine.loc[mine.groupby(keys, sort=False)["distance_printed"].idxmin()]
            best = told.loc[told.groupby(keys, sort=False)["distance_sentences"].idxmin()]
            drop = ["bandwidth"] if data == "independent" else []
            merged.append(best.merge(mine.drop(columns=drop), on=keys))
    both = pd.concat(merged, ignore_index=True)
    ordered = both.sort_values(["distance_printed", "distance_sentences"], kind="stable")
    least = ordered["distance_sentences"].cummin()
    first = ordered["distance_sentences"] < least.shift(fill_value=np.inf)
    return ordered[first].reset_index(drop=True)


def cross_prediction(
    printed: pd.DataFrame, sentences: pd.DataFrame, design: Mapping[str, Any]
) -> pd.DataFrame:
    """Return how well settings inferred from one part of the evidence predict another part.

    One row for each pair: the mean distance from the second part under the posterior of the first,
    under the prior, and the least of any specification.
    """
    prior = prior_of(sentences, design)
    evidence = {
        "printed": likelihood_of_sentences(printed, sentences, design, "p_value"),
        "noise": sentence_weight(sentences, "noise"),
        "missing": sentence_weight(sentences, "missing"),
    }
    distances = {
        "printed": likelihood_of_sentences(printed, sentences, design, "distance_printed"),
        "noise": sentences["distance_noise"].to_numpy(),
        "missing": sentences["distance_missing"].to_numpy(),
    }
    rows = []
    for first, weight in evidence.items():
        posterior = prior * weight
        posterior = posterior / posterior.sum()
        for second, values in distances.items():
            found = (float(posterior @ values), float(prior @ values), float(values.min()))
            rows.append((first, second, *found))
    columns = ["fitted_to", "predicted", "posterior", "prior", "least"]
    return pd.DataFrame(rows, columns=columns)
