"""The findings in short sentences, each computed from tables; one without its table is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.registry import CV, STANDIN, Verdict, family_label, name_of
from experiments.report.informativeness import retained
from experiments.report.load import Gallery

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Finding", "default_specification", "findings", "notice", "tested"]

_NOISE = ("fig2", "fig8", "fig9")
_MISSING = ("fig3", "fig10", "fig11")
#: Rules for the bandwidth, in words.
BANDWIDTHS = {
    "median_distance": "gamma = 1 / median distance",
    "median_distance_half": "gamma = 1 / 2 median distance",
    "median_sq": "gamma = 1 / median squared distance",
    "median_sq_half": "gamma = 1 / 2 median squared distance",
}
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
    made = (_leak, _gain, _side_information, _cross_validation, _specifications, _two_counts)
    return [found for write in made if (found := write(gallery))]


def _leak(gallery: Gallery) -> Finding | None:
    """Compare KGL-N, GL and K_x alone where there is nothing to learn with the paper's data."""
    table = gallery.table("control_noise", "data", "model", "metric", "mean")
    if table is None:
        return None
    aps = table[table["metric"] == "aps"]
    noise, data = (_means(aps[aps["data"] == kind]) for kind in ("pure_noise", "independent"))
    if not {"kgln", "gl", "kernel"} <= set(noise):
        return None
    paper = f", on the paper's data {data['kgln']:.2f}" if "kgln" in data else ""
    return Finding(
        "leak",
        "K_x is made from the graph to be learned.",
        f"On pure noise, which holds no graph, KGL-N has an APS of {noise['kgln']:.2f}{paper}. "
        f"K_x used as the graph, without any signal, has an APS of {noise['kernel']:.2f}. GL has "
        f"{noise['gl']:.2f} on pure noise, about what guessing gives.",
    )


def _gain(gallery: Gallery) -> Finding | None:
    """Compare KGL-N with GL on independent data."""
    parts = []
    for studies, over in ((_NOISE, "noise level"), (_MISSING, "missing rate")):
        gains = _gains(gallery, studies)
        if gains is not None:
            least = gains.iloc[int(gains["gain"].argmin())]
            where = f"{family_label(least['graph'])} at {over} {least['level']:g}"
            parts.append(
                f"{gains['gain'].mean():+.2f} on average over {over}s (smallest "
                f"{least['gain']:+.2f}: {where})"
            )
    if not parts:
        return None
    return Finding(
        "gain",
        "KGL-N against GL.",
        f"On independent data the APS of KGL-N minus that of GL is {' and '.join(parts)}.",
    )


def _side_information(gallery: Gallery) -> Finding | None:
    """Give the retained share of the gain with a K_x as informative as real side information."""
    found = retained(gallery)
    parts = []
    for files, about in _SIDES.items():
        mine = [one for one in found if one.files == files]
        shares = []
        for data in dict.fromkeys(one.data for one in mine):
            own = [one.share[0] for one in mine if one.data == data]
            percent = f"{sum(own) / len(own):.0%}".replace("%", " %")
            shares.append(f"{percent} ({name_of(data)})")
        if shares:
            parts.append(f"With a K_x as informative as {about}: {' and '.join(shares)}.")
    if not parts:
        return None
    return Finding(
        "side_information",
        "With side information as informative as in the real data.",
        "With a degraded K_x, KGL-N retains part of its gain over GL in APS. " + " ".join(parts),
    )


def _cross_validation(gallery: Gallery) -> Finding | None:
    """Compare cross-validation with oracle-tuned results on the same fits."""
    sentences = []
    studies = ("cv_noise", "cv_missing")
    tuned, oracle = (_gains(gallery, studies, selected_by=by) for by in (CV, "aps"))
    if tuned is not None and oracle is not None:
        sentences.append(
            f"The APS of KGL-N minus that of GL is {tuned['gain'].mean():+.2f} (oracle-tuned on "
            f"the same fits: {oracle['gain'].mean():+.2f})."
        )
    by = {one.claim.id: one for one in gallery.defaults}
    by |= {one.claim.id: one for one in gallery.judged if one.specification == "cv_fits_oracle"}
    asked = [one for one in gallery.judged if one.specification == CV and one.criteria]
    if asked:
        now, was = (
            sum(one.verdict is Verdict.REPRODUCED for one in some)
            for some in (asked, [by[one.claim.id] for one in asked])
        )
        sentences.append(
            f"Of the {len(asked)} claims that can be judged this way, {now} {_is(now)} reproduced; "
            f"oracle-tuned on the same fits (fewer levels, one density), {was}."
        )
    if not sentences:
        return None
    return Finding("cross_validation", "Tuned by cross-validation.", " ".join(sentences))


def tested(gallery: Gallery) -> pd.DataFrame | None:
    """Return the evaluated claims under the specifications that have the size of the default."""
    many = gallery.table("specifications", "specification", "claim", "verdict", "default", "base")
    if many is None:
        return None
    own = many[many["default"].astype(bool)]["specification"].unique()
    many = many[many["base"].isin(own) & (many["verdict"] != Verdict.NOT_EVALUATED)]
    return many.assign(ok=many["verdict"] == Verdict.REPRODUCED)


def _specifications(gallery: Gallery) -> Finding | None:
    """Count what is reproduced under each specification."""
    many = tested(gallery)
    if many is None or many["specification"].nunique() < 2:
        return None
    total = many.groupby("specification")["ok"].sum()
    always, never = many.groupby("claim")["ok"].all(), ~many.groupby("claim")["ok"].any()
    return Finding(
        "specifications",
        "Details that the paper does not state.",
        f"We tried {len(total)} specifications of them at reduced size, where {len(always)} claims "
        f"can be judged. Each reproduces {total.min()} to {total.max()} of these; "
        f"{always.sum()} are reproduced under every specification, {never.sum()} under none."
        f"{_earlier(gallery)}",
    )


def _earlier(gallery: Gallery) -> str:
    """Tell whether specifications at reduced size were judged by an earlier set of claims."""
    known = set(gallery.tables["specifications"]["claim"])
    # claims of one figure are judged together: all of them are in the table, or it is older
    together = {claim[:1] for claim in known} & {"N", "M"}
    new = [one.claim.id for one in gallery.defaults
           if one.claim.id[:1] in together and one.claim.id not in known]  # fmt: skip
    if not new:
        return ""
    return f" They were judged by an earlier set of criteria, without {', '.join(new)}."


def _two_counts(gallery: Gallery) -> Finding | None:
    """Explain why the counts at full and at reduced size are of different sets of claims."""
    many = tested(gallery)
    if many is None or not len(many):
        return None
    small = many[many["default"].astype(bool)]
    claims = list(dict.fromkeys(small["claim"]))
    full = [one for one in gallery.defaults if one.verdict is Verdict.REPRODUCED]
    same = sum(one.claim.id in claims for one in full)
    others = [one.claim.id for one in gallery.defaults if one.claim.id not in claims]
    held = int(small["ok"].sum())
    return Finding(
        "two_counts",
        f"Why {len(full)} of {len(gallery.defaults)} above, and {held} of {len(claims)} here.",
        f"The {len(gallery.defaults)} claims are judged in the full run. Specifications are run at "
        f"reduced size (fewer replicates, levels and grid points), where {len(claims)} of them can "
        f"be judged; {', '.join(others) or 'none'} cannot. Of these {len(claims)}, {same} are "
        f"reproduced in the full run and {held} at reduced size, both under the default.",
    )


def default_specification(gallery: Gallery) -> str:
    """Describe the default specification: the details that the paper does not state."""
    intro = (
        "Alpha, the number of observations and the averaging of smoothness were chosen, within "
        "what the text allows, to come near the twelve values of APS that it prints. So claim "
        "H1, which is about them, is no independent test. The bandwidth was chosen because graphs "
        "are hard to recover with the literal median heuristic. No other claim had been judged "
        "then."
    )
    protocol: dict[str, Any] = gallery.provenance.get("run", {}).get("protocol")
    if not protocol:
        return intro
    data, fit, score = (protocol[name] for name in ("data", "fit", "score"))
    scale = data.get("scale", 1.0)
    rule = BANDWIDTHS.get(str(data["bandwidth"]), f"gamma by the rule {data['bandwidth']}")
    parts = [
        f"{data['m']} nodes and {data['n']} observations",
        f"K_x = {f'{scale:g} ' * (scale != 1.0)}(I + {data['alpha']:g} L)^-1"
        + ", scaled so that signals have variance 1" * bool(data["unit_variance"]),
        f"K_z with {rule}",
        f"smoothness {'averaged' if fit['average'] else 'summed'} over observations",
        f"density {data['density']:g}, {data['weights']} weights, "
        f"{'connected graphs only' if data['connected'] else 'graphs that need not be connected'}",
        f"SBM of {data['sbm_blocks']} blocks with {data['sbm_ratio']:g} times as many links inside",
        f"BA attachment {data['ba_attachment'] or 'nearest to the density'}",
        f"graph steps by {'the exact solver' if fit['solver'] == 'newton' else fit['solver']}",
        f"APS of {score['aps']}",
        "the best grid point "
        + ("of each replicate" if score["best"] == "replicate" else "on average"),
    ]
    return f"{intro} The default: {'; '.join(parts)}."


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
