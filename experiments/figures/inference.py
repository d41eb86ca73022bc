"""What did the authors run? Distances over the scale, settings, sentences, printed values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from experiments.figures import Drawn, Inputs, panels, style
from experiments.registry import FAMILIES, PRINTED_APS, PRINTED_PSI, family_label

#: Of the two kinds of evidence.
_COLORS = {"printed": "#0072B2", "printed_near": "#56B4E9", "sentences": style.ORANGE}
_NAMES = {
    "printed": "printed values, by P value",
    "printed_near": "printed values, runs within 0.05",
    "sentences": "sentences",
}
#: A scale agrees with the printed values if some specification has a larger P value, and with the
#: sentences if some specification is as near to the least distance.
_AGREES = {"printed": 0.05, "sentences": 0.05}
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":")
#: Penalties of statements: met, missed by up to one, two, four tolerances, and by more.
_STEPS = (0.5, 1.0, 2.0, 4.0)
_SHADES = ("#f2f2f2", "#fdd9b5", "#f6a55c", "#d9661f", "#8c2d04")


def overview(inputs: Inputs) -> Drawn:
    """Draw the four panels of the study, and return what they show."""
    table = inputs.table
    parts = {str(name): part.dropna(axis=1, how="all") for name, part in table.groupby("table")}
    rows = len(parts["statement"])
    fig = Figure(figsize=(style.PAGE, 3.7 + 0.16 * max(rows, 30)), layout="constrained")
    heights = [3.0, 0.16 * max(rows, 30) + 0.7]
    halves: Any = fig.subfigures(2, 1, height_ratios=heights)
    top, bottom = halves
    left, right = top.subfigures(1, 2, width_ratios=[1.1, 1.0])
    upper, lower = left.subplots(2, 1, sharex=True)
    lines = [
        _scales(upper, parts, "printed", "smoothness"),
        _scales(lower, parts, "sentences", "axis"),
    ]
    ends = gap(parts)
    for ax in (upper, lower) if ends else ():
        ax.axvspan(*ends, color="#eeeeee", zorder=0)
    if ends:
        middle = (float(np.sqrt(ends[0] * ends[1])), 0.04)
        lower.annotate("agrees with\nneither", middle, xycoords=("data", "axes fraction"),
                       ha="center", fontsize=6, color=style.DARK)  # fmt: skip
    upper.set_title("Distance of the nearest specification")
    lower.set_xlabel("scale $s$ of the signals, $K_x \\approx s\\,L^{+}$")
    values = _printed_values(right.subplots(), parts["named"])
    settings, sentences = bottom.subplots(1, 2, width_ratios=[0.8, 1.0])
    marginal = _settings(settings, parts["marginal"])
    matrix = _sentences(sentences, parts)
    shown = {"lines": pd.concat(lines, ignore_index=True), "values": values,
             "settings": marginal, "sentences": matrix}  # fmt: skip
    if ends:
        shown["gap"] = pd.DataFrame([{"low": ends[0], "high": ends[1]}])
    numbers = [part.assign(panel=name) for name, part in shown.items()]
    merged = pd.concat(numbers, ignore_index=True)
    return fig, merged[["panel", *(name for name in merged if name != "panel")]]


def gap(parts: dict[str, pd.DataFrame]) -> tuple[float, float] | tuple[()]:
    """Return the scales above those of the printed values and below those of the sentences."""
    printed, told = parts["printed"], parts["sentences"]
    near = printed.loc[printed["p_value"] > _AGREES["printed"], "scale"]
    least = told.groupby("scale")["distance_sentences"].min()
    wide = least[least <= least.min() + _AGREES["sentences"]].index
    if not len(near) or near.max() >= min(wide):
        return ()
    return float(near.max()), float(min(wide))


def _scales(ax: Axes, parts: dict[str, pd.DataFrame], kind: str, by: str) -> pd.DataFrame:
    """Draw the least distance at each scale, by n and by one setting."""
    distance = f"distance_{kind}"
    least = parts[kind].groupby([by, "n", "scale"])[distance].min().reset_index()
    shades = dict(zip(panels.unique(least[by]), ("#0072B2", style.ORANGE), strict=False))
    for (value, n), line in least.groupby([by, "n"], sort=False):
        dash = _DASHES[sorted(least["n"].unique()).index(n) % len(_DASHES)]
        ax.plot(line["scale"], line[distance], dash, color=shades[value], linewidth=1.1)
    ax.set_xscale("log")
    ax.set_ylim(0, None)
    if kind == "printed":
        ax.set_ylabel("from printed APS\n(mean difference)")
        null = parts["named"].loc[parts["named"]["name"] == "printed", "null_p95"].iloc[0]
        ax.axhline(null, color=style.GREY, linewidth=0.8)
        ax.annotate("one run, 95 %", (0.99, null), xycoords=("axes fraction", "data"), ha="right",
                    va="bottom", fontsize=6, color=style.GREY)  # fmt: skip
    else:
        ax.set_ylabel("from sentences\n(rms, tolerances)")
    handles = [Line2D([], [], color=c, label=str(v)) for v, c in shades.items()]
    if kind == "sentences":
        sizes = zip(sorted(least["n"].unique()), _DASHES, strict=False)
        handles += [Line2D([], [], color=style.DARK, ls=dash, label=f"n = {n:g}")
                    for n, dash in sizes]  # fmt: skip
    place: dict[str, Any] = {"loc": "upper right"}
    if kind == "printed":
        place = {"loc": "upper left"}
    ax.legend(handles=handles, ncols=2, frameon=False, fontsize=6, **place)
    return least.rename(columns={by: "setting", distance: "distance"}).assign(what=kind)


def _printed_values(ax: Axes, named: pd.DataFrame) -> pd.DataFrame:
    """Draw the twelve printed values beside runs of the protocol that is nearest to them."""
    row = named[named["name"] == "printed"].iloc[0]
    found = []
    x = np.arange(len(PRINTED_PSI), dtype=float)
    for k, (family, printed) in enumerate(PRINTED_APS.items()):
        at = x + 0.22 * (k - 1)
        ends = {e: [row[f"{e}_{family}_{j}"] for j in range(len(x))] for e in ("aps", "p05", "p95")}
        color = FAMILIES[family].color
        low, high = (np.abs(np.subtract(ends["aps"], ends[e])) for e in ("p05", "p95"))
        ax.errorbar(at, ends["aps"], yerr=[low, high], fmt="o", color=color, capsize=2,
                    label=family_label(family))  # fmt: skip
        ax.plot(at + 0.08, printed, "x", color=style.DARK, markersize=5)
        found += [(family, psi, p, *(ends[e][j] for e in ends))
                  for j, (psi, p) in enumerate(zip(PRINTED_PSI, printed, strict=True))]  # fmt: skip
    ax.set_xticks(x, [panels.scientific(psi) for psi in PRINTED_PSI])
    ax.set_xlabel("$\\psi$")
    ax.set_ylabel("APS of KGL")
    ax.set_ylim(0, 1)
    ax.set_title("Printed values and protocol `printed`")
    handles, labels = ax.get_legend_handles_labels()
    handles.append(Line2D([], [], color=style.DARK, marker="x", linestyle=""))
    ax.legend(handles, [*labels, "paper"], frameon=False, fontsize=6, loc="lower center", ncols=2)
    return pd.DataFrame(found, columns=["graph", "psi", "paper", "mean", "p05", "p95"])


def _settings(ax: Axes, marginal: pd.DataFrame) -> pd.DataFrame:
    """Draw prior and posterior weights of the values of each unstated setting."""
    merged = marginal[(marginal["factor"] != "bandwidth") | (marginal["value"] != "none")]
    keys = merged.drop_duplicates(["factor", "value"])[["factor", "value"]]
    order = panels.unique(keys["factor"])
    keys = keys.assign(rank=keys["factor"].map(order.index)).sort_values("rank", kind="stable")
    y, labels, last = 0.0, [], None
    for factor, value in keys[["factor", "value"]].itertuples(index=False):
        y += 1.0 if factor == last else 1.7
        last = factor
        labels.append((y, f"{factor} = {_short(value)}"))
        for k, kind in enumerate(_COLORS):
            own = merged[(merged["factor"] == factor) & (merged["value"] == value)
                         & (merged["fit"] == kind)]  # fmt: skip
            if len(own):
                place = y + 0.28 * (k - 1)
                ax.barh(place, own["posterior"].iloc[0], 0.27, color=_COLORS[kind])
                ax.plot(own["prior"].iloc[0], place, "|", color=style.DARK, markersize=4)
    ax.set_yticks(*zip(*labels, strict=True), fontsize=5.5)
    ax.set_ylim(y + 1, 0.5)
    ax.set_xlim(0, 1)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("weight")
    ax.set_title("Weights of the settings")
    handles: list[Any] = [Patch(color=c, label=_NAMES[k]) for k, c in _COLORS.items()]
    handles.append(Line2D([], [], color=style.DARK, marker="|", linestyle="", label="prior"))
    ax.legend(handles=handles, frameon=False, fontsize=6, loc="upper center", ncols=2,
              bbox_to_anchor=(0.3, -0.045), columnspacing=0.8, handlelength=1.0)  # fmt: skip
    return merged


def _short(value: str) -> str:
    return value.removesuffix(".0")


def _sentences(ax: Axes, parts: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Draw by how much the nearest specifications miss each sentence."""
    rows = parts["statement"].reset_index(drop=True)
    names = [f"p{k}" for k in range(len(rows))]
    shown = parts["confirmed_sentences"].sort_values("distance_sentences").head(10)
    values = shown[names].to_numpy(dtype=float).T
    codes = np.searchsorted(_STEPS, values, side="left")
    ax.imshow(codes, cmap=ListedColormap(_SHADES), vmin=-0.5, vmax=4.5, aspect="auto")
    labels = [f"{c}: {t}" for c, t in zip(rows["claim"], rows["text"], strict=True)]
    ax.set_yticks(np.arange(len(rows)), labels, fontsize=5.5)
    ax.set_xticks([])
    ax.grid(visible=False)
    ax.set_xlabel(f"{len(shown)} nearest, in order")
    ax.set_title("Sentences missed", loc="left")
    ends = ["met", "by up to 1 tolerance", "2", "4", "more"]
    handles = [Patch(facecolor=c, edgecolor=style.LIGHT, label=t)
               for c, t in zip(_SHADES, ends, strict=True)]  # fmt: skip
    ax.legend(handles=handles, frameon=False, fontsize=6, ncols=5, loc="upper center",
              bbox_to_anchor=(0.2, -0.045), columnspacing=0.8, handlelength=1.0)  # fmt: skip
    return rows
