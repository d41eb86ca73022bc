"""Does the leak explain the gain? Controls of all protocols in one figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from experiments import registry
from experiments.figures import Drawn, Inputs, panels, style
from experiments.figures.gains import interval_row

#: Drawn on the left: models of independent data, and K_x alone.
MODELS = ("gl", "gl2step", "kgln", "kernel")
#: Kinds of data on the left: the paper's, and noise that no graph has shaped.
DATA, PURE = "independent", "pure_noise"
#: The kind of data on the right: noise of level 0.01, with K_x from less than the true graph.
DEGRADED = "custom_kernel"
#: The look of each protocol.
LOOKS = ({"marker": "o", "linestyle": "-"}, {"marker": "s", "linestyle": "--"},
         {"marker": "D", "linestyle": ":"})  # fmt: skip


def draw(inputs: Inputs) -> Drawn:
    """Left: APS on data and on pure noise. Right: the gain of KGL-N over GL against K_x alone."""
    table = inputs.table
    scores = table[(table["metric"] == "aps") & (table["selected_by"] == "aps")]
    scores = scores.assign(protocol=[registry.split_protocol(name)[1] for name in scores["study"]])
    protocols = panels.unique(scores["protocol"])
    levels, gains = _levels(scores), _gains(scores)
    fig, axes = panels.grid(1, 2, 2.9)
    looks = dict(zip(protocols, LOOKS, strict=False))
    _draw_levels(axes[0, 0], levels, looks)
    _draw_gains(axes[0, 1], gains, looks)
    dark: dict[str, Any] = {"color": style.DARK}
    shown = {name: panels.handle(**dark, **look) for name, look in looks.items()}
    hollow = dark | {"linestyle": "none", "marker": "o"}
    shown["data"] = panels.handle(**hollow)
    shown["pure noise"] = panels.handle(**hollow, markerfacecolor="white")
    panels.legend(fig, shown)
    return fig, pd.concat([levels, gains], ignore_index=True)


def _levels(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the APS of each model on data and on pure noise, all families together."""
    rows = []
    own = scores[scores["data"].isin([DATA, PURE]) & scores["model"].isin(MODELS)]
    for (protocol, data, model), part in own.groupby(["protocol", "data", "model"], sort=False):
        known = {"protocol": protocol, "data": data, "model": model, "metric": "aps"}
        rows.append({**known, **interval_row(part["value"].to_numpy())})
    return pd.DataFrame(rows)


def _gains(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the gain of KGL-N over GL for each K_x, and the APS of that K_x alone."""
    own = scores[scores["data"] == DEGRADED]
    wide = own.pivot_table(index=["graph", "replicate"], columns=["protocol", "level", "model"],
                           values="value")  # fmt: skip
    rows = []
    for protocol in panels.unique(own["protocol"]):
        part = own[(own["protocol"] == protocol) & (own["model"] == "gl")]
        gl = part.set_index(["graph", "replicate"])["value"]
        for level in panels.unique(own["level"]):
            gain = (wide[protocol, level, "kgln"] - gl).to_numpy()
            alone = float(wide[protocol, level, "kernel"].mean())
            known = {"protocol": protocol, "data": DEGRADED, "model": "kgln", "metric": "gain"}
            rows.append({**known, "level": level, "kernel": alone, **interval_row(gain)})
    return pd.DataFrame(rows)


def _draw_levels(ax: Axes, levels: pd.DataFrame, looks: dict[str, Any]) -> None:
    models = [model for model in MODELS if model in set(levels["model"])]
    for k, (protocol, look) in enumerate(looks.items()):
        for _, row in levels[levels["protocol"] == protocol].iterrows():
            pure = row["data"] == PURE
            if pure and row["model"] == "kernel":
                continue  # the same graph whatever the data
            place = models.index(row["model"]) + 0.3 * (k - (len(looks) - 1) / 2) + 0.08 * pure
            color = registry.model(row["model"]).color
            ax.errorbar(
                place, row["mean"], yerr=_bars(row), color=color, marker=look["marker"],
                markerfacecolor="white" if pure else color, capsize=1.8, linestyle="none",
            )  # fmt: skip
    ax.set_xticks(range(len(models)), [panels.model_label(model) for model in models])
    ax.set(ylabel=registry.axis_label("aps"), title="Average precision, all families")
    panels.set_values(ax, "aps")


def _draw_gains(ax: Axes, gains: pd.DataFrame, looks: dict[str, Any]) -> None:
    color = registry.model("kgln").color
    for protocol, look in looks.items():
        part = gains[gains["protocol"] == protocol].sort_values("kernel")
        bars = np.stack([_bars(row)[:, 0] for _, row in part.iterrows()], axis=1)
        ax.errorbar(part["kernel"], part["mean"], yerr=bars, color=color, capsize=1.8, **look)
    ax.axhline(0, color=style.GREY, linewidth=0.8)
    ax.set(xlabel="APS of $K_x$ alone (how much it tells about the graph)",
           ylabel="APS of KGL-N minus GL", title="The gain as $K_x$ is degraded")  # fmt: skip


def _bars(row: pd.Series) -> Any:
    return np.array([[row["mean"] - row["low"]], [row["high"] - row["mean"]]])
