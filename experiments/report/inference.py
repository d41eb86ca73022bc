"""The study of unstated settings: what was inferred, and what no specification can meet.

It is read from its published table (:mod:`experiments.inference.summary` names the parts). The
study has a target of its own, ``make inference``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.registry import PROTOCOLS
from experiments.report.load import Gallery
from experiments.report.protocols import BANDWIDTHS
from experiments.report.tables import Table, number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FACTORS", "REGISTERED", "REVISED", "Inference", "inference", "value_of"]

#: The commits that registered the design, and that revised it after a review, before any run.
REGISTERED, REVISED = "973b2ce", "173717e"
#: Unstated settings, in words, in the order in which they are shown.
FACTORS = {
    "alpha": "alpha of K_x",
    "n": "observations",
    "bandwidth": "K_z",
    "kernel": "K_x of the models",
    "scale": "scale s of the signals",
    "axis": "noise level",
    "smoothness": "smoothness",
    "decimals": "decimals of the weights",
    "trace": "trace of L",
    "grid": "range of lam",
    "printed_data": "data of Figure 12",
}
_VALUES = {
    ("kernel", "alpha1"): "of alpha = 1",
    ("kernel", "normalised"): "of the normalised Laplacian",
    ("kernel", "covariates"): "of covariates",
    ("axis", "deviation"): "standard deviation",
    ("grid", "figure13"): "that of Figure 13",
    ("decimals", "none"): "all",
}
_KINDS = {"printed": "printed values", "sentences": "sentences"}
#: Rivals that are shown of each kind, and settings that are named of each posterior.
_RIVALS, _NAMED = 3, 4
#: A setting is hardly determined if less weight than this lies elsewhere than under the prior.
_HARDLY = 0.1
#: The printed values reject a specification with a smaller P value.
_REJECTED = 0.05


@dataclass(frozen=True)
class Inference:
    """What the study amounts to; counts, tables and sentences.

    Attributes
    ----------
    specifications : dict
        How many were judged, by the printed values and by the sentences.
    statements, unmet_count : int
        How many sentences there are, and how many no specification meets.
    named : Table
        The two protocols: settings, distances on fresh seeds, null and P value.
    rivals, unmet, predicted : Table
        Other candidates; sentences that none meets; what one kind of evidence predicts of others.
    marginals : tuple of str
        Posterior weights in a few words, for each kind of evidence.
    conflict : str
        How near one specification can come to both kinds of evidence.
    """

    specifications: Mapping[str, int]
    statements: int
    unmet_count: int
    named: Table
    rivals: Table
    unmet: Table
    predicted: Table
    marginals: tuple[str, ...]
    conflict: str
    registered: str = REGISTERED
    revised: str = REVISED

    @property
    def total(self) -> int:
        """The number of specifications judged."""
        return sum(self.specifications.values())


def inference(gallery: Gallery) -> Inference | None:
    """Summarise the study, if its table is published."""
    if gallery.inference is None:
        return None
    parts = parts_of(gallery.inference)
    statement = parts["statement"]
    unmet = statement[statement["share"] == 0].sort_values("nearest_miss", ascending=False)
    return Inference(
        specifications={kind: len(parts[kind]) for kind in _KINDS},
        statements=len(statement),
        unmet_count=len(unmet),
        named=_named(parts["named"], len(statement)),
        rivals=_rivals(parts),
        unmet=Table(
            ("claim", "sentence", "nearest miss, in tolerances"),
            tuple(
                (str(row["claim"]), str(row["text"]), number(float(row["nearest_miss"])))
                for row in unmet.to_dict("records")
            ),
        ),
        predicted=_predicted(parts["predicted"]),
        marginals=tuple(_marginals(parts["marginal"], kind) for kind in _KINDS),
        conflict=_conflict(parts),
    )


def parts_of(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the parts of the table by name, each with the columns that it has."""
    return {
        str(name): part.dropna(axis=1, how="all").reset_index(drop=True)
        for name, part in table.groupby("table", sort=False)
    }


def value_of(factor: str, value: Any) -> str:
    """Return the value of a setting in words.

    Examples
    --------
    >>> value_of("alpha", 100.0), value_of("n", "200.0"), value_of("bandwidth", "median_sq")
    ('100', '200', 'gamma = 1 / median squared distance')
    """
    text = str(value)
    if (factor, text) in _VALUES:
        return _VALUES[factor, text]
    if factor == "bandwidth":
        return BANDWIDTHS.get(text, f"gamma = {text}")
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _named(named: pd.DataFrame, statements: int) -> Table:
    rows = named.set_index("name").to_dict("index")
    made: list[tuple[str, ...]] = [
        (about, *(value_of(factor, row[factor]) for row in rows.values()))
        for factor, about in FACTORS.items()
        if factor in named
    ]
    measured = {
        "distance_printed": "mean distance from the twelve printed values",
        "null_median": "the same of one run, median",
        "null_p95": "the same of one run, 95 %",
        "p_value": "P value of the distance",
        "distance_sentences": "distance from the sentences, rms in tolerances",
    }
    made += [
        (about, *(number(float(row[key])) for row in rows.values()))
        for key, about in measured.items()
        if key in named
    ]
    if "met" in named:
        met = (f"{int(row['met'])} of {statements}" for row in rows.values())
        made.append(("sentences met", *met))
    return Table(("", *map(str, rows)), tuple(made), "distances on seeds used for nothing else")


def _rivals(parts: Mapping[str, pd.DataFrame]) -> Table:
    """Show candidates next to each named protocol, with the settings in which they differ."""
    named = parts["named"].set_index("name").to_dict("index")
    rows = []
    for protocol, kind in zip(PROTOCOLS, _KINDS, strict=True):
        distance, chosen = f"distance_{kind}", named[protocol]
        known = parts[f"confirmed_{kind}"].sort_values(distance, kind="stable")
        shared = [name for name in FACTORS if name in known and name in chosen]
        shown = 0
        for row in known.to_dict("records"):
            # independent data have no bandwidth
            other = [name for name in shared
                     if value_of(name, row[name]) != value_of(name, chosen[name])
                     and (name, row[name]) != ("bandwidth", "none")]  # fmt: skip
            if other and shown < _RIVALS:
                shown += 1
                words = "; ".join(f"{FACTORS[n]} {value_of(n, row[n])}" for n in other)
                rows.append((protocol, number(float(row[distance])), words))
    header = ("next to", "distance from its own evidence, confirming seeds", "settings that differ")
    return Table(header, tuple(rows))


def _predicted(predicted: pd.DataFrame) -> Table:
    names = {"printed": "printed values", "noise": "sentences on noise",
             "missing": "sentences on missing entries"}  # fmt: skip
    rows = tuple(
        (names[row["fitted_to"]], names[row["predicted"]],
         *(number(float(row[key])) for key in ("posterior", "prior", "least")))
        for row in predicted.to_dict("records")
    )  # fmt: skip
    header = ("inferred from", "distance from", "posterior mean", "prior mean", "least of all")
    return Table(header, rows)


def _marginals(marginal: pd.DataFrame, kind: str) -> str:
    """Name the settings that one kind of evidence determines, and those that it does not."""
    own = marginal[marginal["fit"] == kind]
    # independent data have no bandwidth
    own = own[(own["factor"] != "bandwidth") | (own["value"] != "none")]
    if own.empty:
        return f"The {_KINDS[kind]} have no weight under any specification."
    best = own.loc[own.groupby("factor", sort=False)["posterior"].idxmax()]
    best = best.assign(gain=best["posterior"] - best["prior"])
    moved = (own["posterior"] - own["prior"]).abs().groupby(own["factor"], sort=False).sum() / 2
    hardly = [FACTORS[str(name)] for name, by in moved.items() if by < _HARDLY]
    best = best[~best["factor"].isin(moved.index[moved < _HARDLY])]
    first = best.sort_values("gain", ascending=False, kind="stable").head(_NAMED)
    words = [
        f"{FACTORS[str(row['factor'])]} {value_of(str(row['factor']), row['value'])}"
        f" ({row['posterior']:.2f}, prior {row['prior']:.2f})"
        for row in first.to_dict("records")
    ]
    text = f"Given the {_KINDS[kind]}, the most likely values are {', '.join(words) or 'as before'}"
    return text + (f"; hardly determined: {', '.join(hardly)}." if hardly else ".")


def _conflict(parts: Mapping[str, pd.DataFrame]) -> str:
    """Tell how near the sentences a specification comes that the printed values do not reject."""
    front = parts.get("front", parts["named"])
    least = float(parts["sentences"]["distance_sentences"].min())
    allowed = front[front["p_value"] >= _REJECTED]
    if allowed.empty:
        return (
            "No specification on the front between both distances agrees with the printed values."
        )
    near = float(allowed["distance_sentences"].min())
    return (
        f"Of the specifications that no other beats in both distances and that the printed values "
        f"do not reject (P of {_REJECTED} or more), the nearest to the sentences is {number(near)} "
        f"tolerances away from them (rms); the nearest of all is {number(least)} away."
    )
