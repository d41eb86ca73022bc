"""Compare two runs: ``python -m experiments.compare paper fig2-1a2b3c4d``.

For each study that both runs hold, writes a table of paired differences and draws them, into
results/<second>/compared-with-<first>/.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from experiments.comparison import common_studies, compare_tables
from experiments.config import compose
from experiments.figures import style
from experiments.io import atomic, save_csv
from experiments.lookup import ConfigError

RESULTS = Path("results")


def look(model: str) -> dict[str, str]:
    """Label, colour and marker of a model, as in the figures."""
    try:
        chosen = compose([f"model={model}"]).values()["model"]
    except ConfigError:  # a model whose file has gone since
        return {"label": model, "color": "#777777", "marker": "o"}
    found = chosen["style"]
    return {"label": chosen["label"], "color": found["color"], "marker": found["marker"]}


def draw(table: pd.DataFrame, first: str, second: str) -> Figure:
    """One row per family and kind of data, one column per metric, one line per model."""
    rows = list(table[["graph", "data"]].drop_duplicates().itertuples(index=False))
    metrics = list(table["metric"].unique())
    # a study of sizes has a line for each
    others = [key for key in ("m", "n") if key in table and key != table["sweep"].iloc[0]]
    lines = ["model", *others]
    size = (max(style.COLUMN, 3.1 * len(metrics) + 0.6), 1.9 * len(rows) + 0.5)
    figure, axes = plt.subplots(
        len(rows), len(metrics), figsize=size, squeeze=False, layout="constrained", sharex=True
    )
    for (graph, data), line in zip(rows, axes, strict=True):
        for metric, ax in zip(metrics, line, strict=True):
            here = table.query("graph == @graph and data == @data and metric == @metric")
            for (model, *size), part in here.groupby(lines, sort=False):
                # the mean may lie outside the percentiles, which errorbar would refuse
                ends = [part["difference"] - part["p05"], part["p95"] - part["difference"]]
                ends = [end.clip(lower=0) for end in ends]
                shown = look(str(model))
                shown["label"] += "".join(
                    f", {k} = {v:g}" for k, v in zip(others, size, strict=True)
                )
                ax.errorbar(part["level"], part["difference"], yerr=ends, capsize=2, **shown)
            ax.axhline(0, color="#777777", linewidth=0.8)
            ax.set_title(f"{graph.upper()}, {data} data")
            ax.set_ylabel(f"difference in {style.LABELS.get(metric, metric)}")
            if here.empty:
                ax.set_axis_off()
        line[-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    sweep = table["sweep"].iloc[0]
    for ax in axes[-1]:
        ax.set_xlabel(style.LABELS.get(sweep, sweep))
    figure.suptitle(f"{second} minus {first}", fontsize=9)
    return figure


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.compare", description=__doc__)
    parser.add_argument("first", help="a directory of results/, such as paper")
    parser.add_argument("second", help="another one, such as fig2-1a2b3c4d")
    chosen = parser.parse_args(arguments)
    first, second = RESULTS / chosen.first, RESULTS / chosen.second
    mpl.use("Agg")
    style.use()
    try:
        for study in common_studies(first, second):
            table = compare_tables(first, second, study)
            out = second / f"compared-with-{chosen.first}" / study
            save_csv(out.with_suffix(".csv"), table)
            with atomic(out.with_suffix(".png")) as part:
                draw(table, chosen.first, chosen.second).savefig(part, metadata={"Software": None})
            print(f"{study}: {len(table)} differences -> {out}.csv, {out}.png")
            keys = ["graph", "data", "model", "metric"]
            overall = table.groupby(keys, sort=False)["difference"].agg(["mean", "min", "max"])
            print(overall.round(4).to_string())
    except (FileNotFoundError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
