"""The verdict in five sentences, each worked out from tables; one without its table is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.report.informativeness import kept
from experiments.report.ledger import entries, verdicts
from experiments.report.loading import Gallery
from experiments.report.paper import DEFAULT
from experiments.report.tables import figure, label

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["default_reading", "notice", "sentences"]

#: What rules for the bandwidth are called.
BANDWIDTHS = {
    "median_distance": "gamma = 1 / median distance",
    "median_distance_half": "gamma = 1 / 2 median distance",
    "median_sq": "gamma = 1 / median squared distance",
    "median_sq_half": "gamma = 1 / 2 median squared distance",
}

_NOISE = ("fig2", "fig8", "fig9")
_MISSING = ("fig3", "fig10", "fig11")
#: The kernel of the nodes among the models: no learning, taken for a graph itself.
_KERNELS = ("kernel", "kernel_inverse")


def sentences(gallery: Gallery) -> list[str]:
    """Return the sentences of the verdict, five if every table is there."""
    made = (counted, gained, pure_noise, side_information, other_readings)
    return [text for write in made if (text := write(gallery))]


def default_reading(gallery: Gallery) -> str:
    """Name the default reading: what the paper leaves open, as the run took it."""
    protocol = gallery.provenance.get("run", {}).get("protocol")
    if not protocol:
        return DEFAULT
    data, fit, score = (protocol[name] for name in ("data", "fit", "score"))
    rule = BANDWIDTHS.get(str(data["bandwidth"]), f"gamma by the rule {data['bandwidth']}")
    attachment = data["ba_attachment"] or "nearest to the density"
    parts = [
        f"{data['m']} nodes and {data['n']} observations",
        f"K_x = (I + {data['alpha']:g} L)^-1"
        + ", scaled so that signals have variance 1" * bool(data["unit_variance"]),
        f"K_z with {rule}",
        f"smoothness {'averaged' if fit['average'] else 'summed'} over observations",
        f"density {data['density']:g}, {data['weights']} weights, "
        f"{'connected graphs only' if data['connected'] else 'graphs that need not be connected'}",
        f"SBM of {data['sbm_blocks']} blocks with {data['sbm_ratio']:g} times as many links inside",
        f"BA attachment {attachment}",
        f"graph steps by {'the exact solver' if fit['solver'] == 'newton' else fit['solver']}",
        f"APS of {score['aps']}",
        "the best grid point "
        + ("of each replicate" if score["best"] == "replicate" else "on average"),
    ]
    return f"{DEFAULT} The default reading: {'; '.join(parts)}."


def notice(gallery: Gallery) -> str:
    """Say which results are made from simulated data; empty if none is."""
    if not gallery.simulated:
        return ""
    listed = ", ".join(gallery.simulated)
    return (
        f"SIMULATED STAND-IN: {listed} {'is' if len(gallery.simulated) == 1 else 'are'} made from "
        "simulated data in place of real ones and show nothing about those data."
    )


def counted(gallery: Gallery) -> str:
    """Count verdicts, in all and by experiment."""
    found = entries(gallery.claims)
    counts = {name: count for name, count in verdicts(gallery.claims).items() if count}
    by: dict[str, list[bool]] = {}
    for entry in found:
        by.setdefault(entry.experiment, []).append(entry.verdict == "reproduced")
    shares = [f"{name} {sum(ok)} of {len(ok)}" for name, ok in by.items()]
    said = {"partly": "reproduced in part"}
    words = [f"{count} {_is(count)} {said.get(name, name)}" for name, count in counts.items()]
    return (
        f"Of {len(found)} claims of the paper {_listed(words)}; "
        f"reproduced by experiment: {', '.join(shares)}."
    )


def gained(gallery: Gallery) -> str:
    """Compare KGL-N with GL on independent data, and say what a choice without the truth leaves."""
    told = []
    for studies, over in ((_NOISE, "noise levels"), (_MISSING, "missing rates")):
        gains = _gains(gallery, studies)
        if gains is None:
            continue
        least = gains.iloc[int(gains["gain"].argmin())]
        told.append(
            f"{_signed(gains['gain'].mean())} on average over {over} and families "
            f"(least: {_signed(least['gain'])}, {label(least['graph'])} at {least['level']:g})"
        )
    if not told:
        return held_out(gallery)
    fair = held_out(gallery)
    fair = f"; {fair[0].lower()}{fair[1:]}" if fair else "."
    return (
        f"With independent observations KGL-N differs from GL in APS by {' and '.join(told)}{fair}"
    )


def pure_noise(gallery: Gallery) -> str:
    """Say what KGL-N, GL and the kernel alone reach where there is nothing to find."""
    table = gallery.table("control_noise", "data", "model", "metric", "mean")
    if table is None:
        return ""
    aps = table[table["metric"] == "aps"]
    noise, data = (_means(aps[aps["data"] == kind]) for kind in ("pure_noise", "independent"))
    if not {"kgln", "gl"} <= set(noise):
        return ""
    others = [f"GL {figure(noise['gl'])}"]
    others += [f"{label(name)} {figure(noise[name])}" for name in _KERNELS if name in noise]
    text = (
        f"On pure noise, which holds no graph, KGL-N with the oracle K_x has an APS of "
        f"{figure(noise['kgln'])}, {_listed(others)}: a difference of "
        f"{_signed(noise['kgln'] - noise['gl'])} between KGL-N and GL that no signal accounts for"
    )
    if {"kgln", "gl"} <= set(data):
        text += f", beside {_signed(data['kgln'] - data['gl'])} on the paper's data with mild noise"
    return f"{text}."


#: What real side information knows, after "as much of the graph as".
_KNOWN = {
    "swiss": "altitude does of the graph that GL makes of Swiss temperatures,",
    "sushi": "six attributes do of the groups of sushi,",
}


def side_information(gallery: Gallery) -> str:
    """Say what is left of the gain when K_x knows no more than real side information does."""
    told = []
    found = kept(gallery)
    for files, name in _KNOWN.items():
        kinds = []
        for data in dict.fromkeys(one.data for one in found if one.files == files):
            mine = [one for one in found if (one.files, one.data) == (files, data)]
            share, lead = (
                sum(value) / len(mine)
                for value in ([o.share[0] for o in mine], [o.over_best[0] for o in mine])
            )
            side = f"{abs(lead):.2f} {'above' if lead >= 0 else 'below'}"
            kinds.append(
                f"{share:.0%} with {label(data)} (then {side} the better of GL and K_x "
                "alone)".replace("%", " %")
            )
        if kinds:
            told.append(f"as {name} {_listed(kinds)}")
    if not told:
        return ""
    return (
        "Of the gain of KGL-N over GL in APS this much is left, on average over families, when K_x "
        f"knows as much of the graph {'; '.join(told)}."
    )


def held_out(gallery: Gallery) -> str:
    """Say what is left when hyperparameters are chosen without the truth."""
    told = []
    claims = gallery.claims
    fair = claims[claims["reading"].str.contains("held-out|held out", regex=True)]
    fair = fair[~fair["default"].astype(bool) & (fair["verdict"] != "not evaluated")]
    if len(fair):
        asked = fair.drop_duplicates("claim").set_index("claim")["verdict"]
        before = {entry.claim: entry.verdict for entry in entries(claims)}
        same = claims[claims["reading"] == "the same fits, chosen by the truth"]
        before |= dict(zip(same["claim"], same["verdict"], strict=True))
        was = sum(before[name] == "reproduced" for name in asked.index)
        now = int((asked == "reproduced").sum())
        told.append(
            f"{now} of {len(asked)} claims that can be asked again {_is(now)} reproduced, against "
            f"{was} when the truth chooses among the same fits"
        )
    studies = ("cv_noise", "cv_missing")
    gains, best = (_gains(gallery, studies, selected_by=by) for by in ("held_out", "aps"))
    if gains is not None:
        against = f" (by the truth: {_signed(best['gain'].mean())})" if best is not None else ""
        told.append(
            f"KGL-N differs from GL in APS by {_signed(gains['gain'].mean())} on average{against}"
        )
    if not told:
        return ""
    return f"With hyperparameters chosen by held-out entries, {', and '.join(told)}."


def other_readings(gallery: Gallery) -> str:
    """Say how far the verdicts depend on what the paper leaves open."""
    many = gallery.table("specifications", "reading", "claim", "verdict", "default")
    if many is not None and many["reading"].nunique() > 1:
        many = many[many["verdict"] != "not evaluated"]
        many = _comparable(many).assign(ok=lambda rows: rows["verdict"] == "reproduced")
        total = many.groupby("reading")["ok"].sum()
        own = many[many["default"].astype(bool)]
        always = many.groupby("claim")["ok"].all()
        never = ~many.groupby("claim")["ok"].any()
        default = f" ({int(own['ok'].sum())} under the default)" if len(own) else ""
        return (
            f"Over {len(total)} readings of what the paper leaves open, {total.min()} to "
            f"{total.max()} of {len(always)} claims are reproduced{default}; {always.sum()} "
            f"{_is(always.sum())} reproduced under every reading and {never.sum()} under none."
        )
    others = gallery.claims[~gallery.claims["default"].astype(bool)]
    if not len(others):
        return ""
    asked = others.drop_duplicates("claim")
    moved = set(others[others["changes"].astype(bool)]["claim"])
    changed = [entry.claim for entry in entries(gallery.claims) if entry.claim in moved]
    which = f" ({', '.join(changed)})" if changed else ""
    return (
        f"Over {others['reading'].nunique()} other readings of what the paper leaves open, the "
        f"verdict on {len(changed)} of {len(asked)} claims{which} depends on the reading."
    )


def _comparable(many: pd.DataFrame) -> pd.DataFrame:
    """Return the readings of the default's size: those that are compared with it."""
    own = many[many["default"].astype(bool)]["reading"].unique()
    return many[many["base"].isin(own)] if "base" in many and len(own) else many


def _gains(
    gallery: Gallery, studies: Sequence[str], selected_by: str | None = None
) -> pd.DataFrame | None:
    """Return by how much KGL-N is above GL in APS, by study, family and level."""
    found = []
    for study in studies:
        table = gallery.table(study, "graph", "data", "level", "model", "metric", "mean")
        if table is None:
            continue
        rows = table[(table["metric"] == "aps") & (table["data"] == "independent")]
        if "selected_by" in rows:
            wanted = selected_by or "aps"
            # GL may have nothing to choose, and then one row only
            rows = rows[(rows["selected_by"] == wanted) | rows["selected_by"].isna()]
        wide = rows.pivot_table(index=["graph", "level"], columns="model", values="mean")
        if {"kgln", "gl"} <= set(wide.columns):
            gains = (wide["kgln"] - wide["gl"]).dropna().rename("gain")
            found.append(gains.reset_index())
    if not found or not sum(len(one) for one in found):
        return None
    import pandas as pd

    return pd.concat(found, ignore_index=True)


def _means(rows: pd.DataFrame) -> dict[str, float]:
    """Return the mean of each model."""
    return {str(name): float(part["mean"].mean()) for name, part in rows.groupby("model")}


def _signed(value: float) -> str:
    return f"{value:+.2f}"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
