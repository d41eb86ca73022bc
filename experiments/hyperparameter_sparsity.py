"""Claim H1: APS of KGL at lam = 0.1, rho = 0.01 for four psi, beside the values the paper prints.

The paper prints twelve numbers under its graph-sparsity figure but not the settings behind them.
Here: m = 20, n = 100, alpha = 100, smoothness averaged over n, noise variance 0.01, ten
replicates, for independent and for dependent observations. Prints a table, writes it to
results/ and draws it to figures/.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import kgl
from experiments import style

PSI = (1e-7, 1e-5, 1e-3, 1e-1)
PAPER = {
    "sbm": (0.39, 0.86, 0.80, 0.52),
    "er": (0.33, 0.90, 0.78, 0.48),
    "ba": (0.40, 0.89, 0.80, 0.67),
}
REPLICATES = 10
ROOT = Path(__file__).parent.parent


def replicate(family: str, dependent: bool, number: int) -> pd.DataFrame:
    """Fit one replicate at the four psi."""
    data = kgl.simulate.make_dataset(family, dependent=dependent, replicate=number)
    grid = kgl.fit_grid(
        kgl.KGL, data.Y, K_x=data.K_x, K_z=data.K_z, lam=[0.1], rho=[0.01], psi=PSI, average=True
    )
    assert grid.weights is not None
    assert grid.scores is not None
    return pd.DataFrame(
        {
            "family": family,
            "data": "dependent" if dependent else "independent",
            "replicate": number,
            "psi": PSI,
            "aps": kgl.metrics.aps_many(data.W, grid.weights),
            "aps_scores": kgl.metrics.aps_many(data.W, grid.scores, threshold=None),
            "edges": (grid.weights > 0).sum(axis=1),
            "paper": PAPER[family],
        }
    )


def summarise(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean, 5th and 95th percentile over replicates, and whether the paper's value is inside."""
    groups = runs.groupby(["data", "family", "psi"], sort=False)
    table = groups.agg(
        paper=("paper", "first"),
        mean=("aps", "mean"),
        p05=("aps", lambda a: np.percentile(a, 5)),
        p95=("aps", lambda a: np.percentile(a, 95)),
        scores_mean=("aps_scores", "mean"),
        edges=("edges", "mean"),
    ).reset_index()
    table["inside"] = (table["p05"] <= table["paper"]) & (table["paper"] <= table["p95"])
    return table


def draw(table: pd.DataFrame) -> plt.Figure:
    """One panel per family: measured intervals beside the paper's values."""
    fig, axes = plt.subplots(1, 3, figsize=(7.2, 2.5), sharey=True, layout="constrained")
    for ax, family in zip(axes, PAPER, strict=True):
        x = np.log10(PSI)
        for kind, shift, colour, marker in (
            ("independent", -0.15, style.BLUE, "o"),
            ("dependent", 0.15, style.ORANGE, "s"),
        ):
            part = table[(table["family"] == family) & (table["data"] == kind)]
            ends = np.abs(part[["p05", "p95"]].to_numpy().T - part["mean"].to_numpy())
            ax.errorbar(
                x + shift, part["mean"], yerr=ends, fmt=marker, color=colour, capsize=2.5,
                markersize=4, label=f"kgl, {kind} data",
            )  # fmt: skip
        ax.plot(x, PAPER[family], "k_", markersize=16, markeredgewidth=1.6, label="paper")
        ax.set_title(family.upper())
        ax.set_xticks(x, [f"$10^{{{int(k)}}}$" for k in x])
        ax.set_xlabel(r"$\psi$")
        ax.set_ylim(0, 1)
    axes[0].set_ylabel("APS")
    axes[0].legend(loc="lower right", frameon=False)
    return fig


def main() -> None:
    runs = []
    for dependent in (False, True):
        for family in PAPER:
            runs += [replicate(family, dependent, r) for r in range(REPLICATES)]
            print(f"{family}, {'dependent' if dependent else 'independent'}: done", flush=True)
    frame = pd.concat(runs, ignore_index=True)
    table = summarise(frame)
    for folder in ("results", "figures"):
        (ROOT / folder).mkdir(exist_ok=True)
    frame.to_csv(ROOT / "results" / "h1_replicates.csv", index=False)
    table.to_csv(ROOT / "figures" / "h1_sparsity.csv", index=False, float_format="%.6g")
    style.use()
    draw(table).savefig(ROOT / "figures" / "h1_sparsity.png", dpi=200)
    print(table.to_string(index=False, float_format=lambda v: f"{v:.3g}"))
    for kind, part in table.groupby("data"):
        error = (part["mean"] - part["paper"]).abs()
        print(
            f"{kind} data: mean absolute difference from the paper {error.mean():.3f}, "
            f"{error[part['psi'] < 0.05].mean():.3f} without the psi = 0.1 column; "
            f"{int(part['inside'].sum())} of {len(part)} values inside the interval"
        )


if __name__ == "__main__":
    main()
