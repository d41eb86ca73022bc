"""The tables of the study: what the search found, and what it amounts to once it is confirmed.

One table holds everything, in parts that its column ``table`` names:

=======================  ==========================================================================
``printed``              every specification of the printed numbers, with its distance and null
``sentences``            every specification of the sentences, with its distances
``confirmed_printed``    candidates nearest to the printed numbers, simulated with other seeds
``confirmed_sentences``  those nearest to the sentences, with the penalty of each statement
``named``                the two protocols, ``printed`` and ``described``, with both distances on
                         seeds that had no part in choosing them
``front``                specifications that no other beats in both distances
``marginal``             prior and posterior weight of each value of each factor
``predicted``            settings inferred from one part of the evidence, checked on the others
``statement``            each sentence: how many specifications meet it, and the nearest miss
=======================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from experiments.inference import posterior
from experiments.inference.design import statements
from experiments.inference.naming import candidates, choose, departures
from experiments.inference.printed import NONE, judge_printed
from experiments.inference.sentences import Curves, judge_sentences
from kgl._types import Array

__all__ = ["KINDS", "candidate", "conclude", "finish", "named", "search"]

#: What the nearest specifications are nearest to.
KINDS = ("printed", "sentences")
_PRINTED_FACTORS = ("alpha", "n", "bandwidth", "kernel", "scale", "axis", "smoothness", "decimals",
                    "trace", "printed_data")  # fmt: skip
_SENTENCE_FACTORS = ("alpha", "n", "bandwidth", "kernel", "scale", "axis", "grid", "decimals")


def search(arrays: Mapping[str, Mapping[str, Array]], design: Mapping[str, Any]) -> pd.DataFrame:
    """Judge every specification of the design by the printed numbers and by the sentences."""
    printed = judge_printed(arrays, design).assign(table="printed")
    told = judge_sentences(Curves(arrays, design)).assign(table="sentences")
    return _joined([printed, told])


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    table = pd.concat(parts, ignore_index=True)
    for name in ("alpha", "n", "scale"):
        table[name] = table[name].astype(float)
    return table[["table", *(name for name in table if name != "table")]]


def _of(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    return table[table["table"] == kind].dropna(axis=1, how="all").drop(columns="table")


def candidate(
    table: pd.DataFrame, kind: str, rank: int, design: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the keys of one of the specifications that are simulated again, by its rank."""
    rows = candidates(_of(table, kind), kind, design)
    # a small design has fewer specifications than candidates
    found = dict(rows.iloc[min(rank, len(rows) - 1)])
    found["n"] = int(found["n"])
    return found


def conclude(
    table: pd.DataFrame, confirmed: Mapping[str, pd.DataFrame], design: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the table of the study, but for the named protocols' last simulation.

    Parameters
    ----------
    table : DataFrame
        From :func:`search`.
    confirmed : mapping of str to DataFrame
        The candidates of each of :data:`KINDS`, simulated again.
    design : mapping
        The registered design.
    """
    printed, told = (_of(table, kind) for kind in KINDS)
    penalties = [f"p{k}" for k in range(len(statements(design)))]
    known = {kind: rows.drop_duplicates().assign(departures=departures(rows, design))
             for kind, rows in confirmed.items()}  # fmt: skip
    fits = [
        ("printed", printed, printed["p_value"].to_numpy(), _PRINTED_FACTORS),
        ("printed_near", printed, printed["near_share"].to_numpy(), _PRINTED_FACTORS),
        ("sentences", told, posterior.sentence_weight(told), _SENTENCE_FACTORS),
    ]
    marginal = [
        posterior.marginals(rows, weight, design, [n for n in names if n in rows]).assign(fit=kind)
        for kind, rows, weight, names in fits
        if weight.sum() > 0
    ]
    parts = {
        "printed": printed,
        "sentences": told.drop(columns=penalties),
        "confirmed_printed": known["printed"],
        "confirmed_sentences": known["sentences"],
        "named": named(known, design),
        "front": posterior.front(printed, told.drop(columns=penalties)),
        "marginal": pd.concat(marginal, ignore_index=True),
        "predicted": posterior.cross_prediction(printed, told, design),
        "statement": _statements(told, printed, penalties, design),
    }
    return _joined([part.assign(table=name) for name, part in parts.items()])


def named(known: Mapping[str, pd.DataFrame], design: Mapping[str, Any]) -> pd.DataFrame:
    """Return the two protocols, with every setting.

    What one kind of evidence does not bear on is taken from the other protocol.
    """
    first, second = (choose(known[kind], kind, design) for kind in KINDS)
    rows = [dict(first), dict(second)]
    for row, other in ((rows[0], second), (rows[1], first)):
        for name in design["factors"]:
            if name not in row or (name == "bandwidth" and row[name] == NONE):
                row[name] = other[name]
    keys = list(design["factors"])
    made = pd.DataFrame([{name: row[name] for name in keys} for row in rows])
    return made.assign(name=["printed", "described"], departures=departures(made, design))


def _statements(
    told: pd.DataFrame, printed: pd.DataFrame, penalties: list[str], design: Mapping[str, Any]
) -> pd.DataFrame:
    """Return each sentence with the share of specifications that meet it.

    ``share`` is over all of them, ``posterior`` under the posterior of the printed numbers, with
    ``prior`` beside it: the sentences have no part in it, so it is a prediction of each.
    """
    values = told[penalties].to_numpy()
    met = values <= design["met"]
    prior = posterior.prior_of(told, design)
    weight = prior * posterior.likelihood_of_sentences(printed, told, design, "p_value")
    nearest = values[int(told["distance_sentences"].to_numpy().argmin())]
    rows = statements(design)
    return pd.DataFrame(
        {
            "claim": [one.claim for one in rows],
            "text": [one.text for one in rows],
            "share": met.mean(axis=0),
            "nearest_miss": values.min(axis=0),
            "prior": prior @ met,
            "posterior": (weight / weight.sum()) @ met,
            "penalty": nearest,
        }
    )


def finish(table: pd.DataFrame, last: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Put both distances of the named protocols, of their last simulation, beside them.

    Parameters
    ----------
    table : DataFrame
        From :func:`conclude`.
    last : mapping of str to mapping
        For each protocol, the results of simulating it with the seeds of ``final``.
    """
    rows = _of(table, "named")
    extra = pd.DataFrame([last[name] for name in rows["name"]], index=rows.index)
    fresh = extra[[name for name in extra if name not in rows]]
    whole = pd.concat([rows, fresh], axis=1).assign(table="named")
    return _joined([table[table["table"] != "named"], whole])
