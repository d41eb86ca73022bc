"""The findings in short sentences, each computed from tables; one without its table is left out.

What is about synthetic data is computed for each protocol, and both numbers stand in one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from experiments.registry import CV, STANDIN, Verdict, family_label
from experiments.report.inference import parts_of
from experiments.report.informativeness import retained
from experiments.report.load import Gallery

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Finding", "findings", "notice"]

_Found = TypeVar("_Found")

_NOISE = ("fig2", "fig8", "fig9")
_MISSING = ("fig3", "fig10", "fig11")
#: Percent between kinds of data from which on a retained share tells nothing.
_TOO_WIDE = 25
#: Real side information and what it is informative about.
_SIDES = {
    "swiss": "altitude is about the Swiss graph (which is learned from temperatures)",
    "sushi": "the six attributes are about the groups of sushi",
}


@dataclass(frozen=True)
class Finding:
    """A finding: its subject in a few words, and one to three short sentences."""

    id: str
    lead: str
    text: str


def findings(gallery: Gallery) -> list[Finding]:
    """Return the findings, the most important first."""
    made = (_leak, _gain, _side_information, _cross_validation, _unstated)
    return [found for write in made if (found := write(gallery))]


def _by_protocol(
    gallery: Gallery, compute: Callable[[Gallery], _Found | None]
) -> dict[str, _Found]:
    """Compute something for each protocol that has the tables."""
    found = {protocol: compute(view) for protocol, view in gallery.views.items()}
    return {protocol: one for protocol, one in found.items() if one is not None}


def _each(values: Mapping[str, str]) -> str:
    """Write a number of each protocol, once where it is the same under both."""
    if len(values) > 1 and len(set(values.values())) == 1:
        return f"{next(iter(values.values()))} under both"
    return " and ".join(f"{v} under {p}" if p else v for p, v in values.items())


def _leak(gallery: Gallery) -> Finding | None:
    """Compare KGL-N, GL and K_x alone where there is nothing to learn with the paper's data."""
    found = _by_protocol(gallery, _control_means)
    if not found:
        return None

    def aps(kind: str, model: str) -> str:
        own = {p: scores[kind] for p, scores in found.items() if model in scores[kind]}
        return _each({p: f"{scores[model]:.2f}" for p, scores in own.items()})

    paper = aps("independent", "kgln")
    return Finding(
        "leak",
        "K_x is made from the graph to be learned.",
        "On pure noise, which holds no graph, KGL-N has an APS of "
        f"{aps('pure_noise', 'kgln')}{f'; on data with signals, {paper}' if paper else ''}. "
        f"K_x used as the graph, without any signal, has {aps('pure_noise', 'kernel')}. GL has "
        f"{aps('pure_noise', 'gl')} on pure noise, about what guessing gives.",
    )


def _control_means(view: Gallery) -> dict[str, dict[str, float]] | None:
    """Return the mean APS of each model, by kind of data of the control."""
    table = view.table("control_noise", "data", "model", "metric", "mean")
    if table is None:
        return None
    aps = table[table["metric"] == "aps"]
    found = {kind: _means(aps[aps["data"] == kind]) for kind in ("pure_noise", "independent")}
    return found if {"kgln", "gl", "kernel"} <= set(found["pure_noise"]) else None


def _gain(gallery: Gallery) -> Finding | None:
    """Compare KGL-N with GL on independent data."""
    parts = []
    for studies, over in ((_NOISE, "noise level"), (_MISSING, "missing rate")):
        words = {}
        for protocol, gains in _by_protocol(gallery, partial(_gains, studies=studies)).items():
            least = gains.iloc[int(gains["gain"].argmin())]
            where = f"{family_label(least['graph'])} at {least['level']:g}"
            mean = f"{gains['gain'].mean():+.2f}"
            words[protocol] = f"{mean} (smallest {least['gain']:+.2f}: {where})"
        if words:
            parts.append(f"On average over {over}s it is {_each(words)}.")
    if not parts:
        return None
    intro = "The gain is the APS of KGL-N minus that of GL, on independent data."
    return Finding("gain", "KGL-N against GL.", " ".join([intro, *parts]))


def _side_information(gallery: Gallery) -> Finding | None:
    """Give the retained share of the gain with a K_x as informative as real side information."""
    parts = []
    for files, about in _SIDES.items():
        shares = _by_protocol(gallery, partial(_retained_share, files=files))
        if shares:
            parts.append(f"With a K_x as informative as {about}: {_each(shares)}.")
    if not parts:
        return None
    return Finding(
        "side_information",
        "With side information as informative as in the real data.",
        "With a degraded K_x, KGL-N retains part of its gain over GL in APS. " + " ".join(parts),
    )


def _retained_share(view: Gallery, files: str) -> str | None:
    """Return the mean over families, from the least kind of data to the largest."""
    mine = [one for one in retained(view) if one.files == files]
    means = []
    for data in dict.fromkeys(one.data for one in mine):
        own = [one.share[0] for one in mine if one.data == data]
        means.append(round(100 * sum(own) / len(own)))
    if not means:
        return None
    low, high = min(means), max(means)
    if high - low > _TOO_WIDE:
        return "no clear share, as the gain itself is small,"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _cross_validation(gallery: Gallery) -> Finding | None:
    """Compare cross-validation with oracle-tuned results on the same fits."""
    gains, claims = {}, {}
    for protocol, view in gallery.views.items():
        studies = ("cv_noise", "cv_missing")
        tuned, oracle = (_gains(view, studies, selected_by=by) for by in (CV, "aps"))
        if tuned is not None and oracle is not None:
            mean = f"{tuned['gain'].mean():+.2f}"
            gains[protocol] = (
                f"{mean} (oracle-tuned on the same fits: {oracle['gain'].mean():+.2f})"
            )
        if counts := _cv_claims(view, protocol):
            claims[protocol] = "{} of {} (oracle-tuned: {})".format(*counts)
    sentences = []
    if gains:
        sentences.append(f"The APS of KGL-N minus that of GL is {_each(gains)}.")
    if claims:
        sentences.append(
            f"Of the claims that can be judged this way, {_each(claims)} are reproduced; "
            "these fits have fewer levels and one density."
        )
    if not sentences:
        return None
    return Finding("cross_validation", "Tuned by cross-validation.", " ".join(sentences))


def _cv_claims(view: Gallery, protocol: str) -> tuple[int, int, int] | None:
    """Count claims reproduced by cross-validation, all, and oracle-tuned on the same fits."""
    by = {one.claim.id: one for one in view.defaults}
    by |= {one.claim.id: one for one in view.judged if one.specification == "cv_fits_oracle"}
    asked = [
        one
        for one in view.judged
        if one.protocol == protocol and one.specification == CV and one.criteria
    ]
    now, was = (
        sum(one.verdict is Verdict.REPRODUCED for one in some)
        for some in (asked, [by[one.claim.id] for one in asked])
    )
    return (now, len(asked), was) if asked else None


def _unstated(gallery: Gallery) -> Finding | None:
    """Tell how near both kinds of evidence the named protocols are."""
    if gallery.inference is None:
        return None
    parts = parts_of(gallery.inference)
    named = {str(row["name"]): row for row in parts["named"].to_dict("records")}
    near = {p: f"{row['distance_printed']:.3f} (P = {row['p_value']:.2g})"
            for p, row in named.items()}  # fmt: skip
    told = {p: f"{row['distance_sentences']:.2f}" for p, row in named.items()}
    statement = parts["statement"]
    unmet = int((statement["share"] == 0).sum())
    most = int(parts["sentences"]["met"].max())
    none = f"No specification meets {unmet} of them" if unmet else "Each is met by some"
    return Finding(
        "unstated",
        "Details that the paper does not state.",
        f"We judged {len(parts['printed']):,} specifications of them by the twelve printed values "
        f"and {len(parts['sentences']):,} by {len(statement)} sentences. On fresh seeds the mean "
        f"distance from the printed values is {_each(near)}. That from the sentences (rms, in "
        f"tolerances) is {_each(told)}. {none}; the most that one specification meets is {most}.",
    )


def notice(gallery: Gallery) -> str:
    """Name the results made from simulated data; empty if there are none."""
    if not gallery.simulated:
        return ""
    listed = ", ".join(gallery.simulated)
    return (
        f"{STANDIN}: {listed} {_is(len(gallery.simulated))} made from simulated data in "
        "place of real ones and show nothing about those data."
    )


def _gains(
    gallery: Gallery, studies: Sequence[str], selected_by: str = "aps"
) -> pd.DataFrame | None:
    """Return by how much KGL-N is above GL in APS, by study, family and level."""
    import pandas as pd

    found = []
    for study in studies:
        table = gallery.table(study, "graph", "data", "level", "model", "metric", "mean")
        if table is None:
            continue
        rows = table[(table["metric"] == "aps") & (table["data"] == "independent")]
        if "selected_by" in rows:
            # GL may have nothing to select, and then one row only
            rows = rows[(rows["selected_by"] == selected_by) | rows["selected_by"].isna()]
        wide = rows.pivot_table(index=["graph", "level"], columns="model", values="mean")
        if {"kgln", "gl"} <= set(wide.columns):
            found.append((wide["kgln"] - wide["gl"]).dropna().rename("gain").reset_index())
    found = [one for one in found if len(one)]
    return pd.concat(found, ignore_index=True) if found else None


def _means(rows: pd.DataFrame) -> dict[str, float]:
    """Return the mean of each model."""
    return {str(name): float(part["mean"].mean()) for name, part in rows.groupby("model")}


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
