"""Compare two runs: ``python -m experiments.compare paper fig2-1a2b3c4d``.

For each study that both runs hold, writes a table of paired differences and draws them, into
results/<second>/compared-with-<first>/. ``published`` stands for the run whose tables are tracked
in figures/: no need to repeat it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import registry
from experiments.figures import panels, style
from experiments.io import atomic, load_table, save_csv
from experiments.lookup import ROOT
from experiments.score import KEYS

RESULTS = Path("results")
#: The name of the run whose tables are tracked, and where they are.
PUBLISHED, FIGURES = "published", ROOT / "figures"
#: What makes two rows the same measurement, besides sizes that a study sweeps over. A size that an
#: override changed for the whole study does not keep its rows apart.
PAIR = ["study", "graph", "data", "sweep", "level", "model", "replicate", "metric"]
SIZES = ["m", "n", "noise", "missing"]
#: Cells agree if their mean difference is not larger: machines round differently.
SAME = 1e-9

# ------------------------------------------------------------------------------------ numbers


def tables_of(run: str | Path) -> dict[str, Path]:
    """Return the tables of a run by study; those of the published run that hold scores."""
    if Path(run).name == PUBLISHED:
        # other tables there are measurements of jobs, inference, times and records of figures
        return {path.stem: path for path in FIGURES.glob("*.parquet") if _holds_scores(path)}
    tables = Path(run) / "tables"
    if not tables.is_dir():
        known = sorted(p.parent.name for p in Path(run).parent.glob("*/tables"))
        raise FileNotFoundError(
            f"{run} is not a run: it has no tables; runs here: {', '.join([*known, PUBLISHED])}"
        )
    return {path.stem: path for path in tables.glob("*.parquet")}


def _holds_scores(path: Path) -> bool:
    return {*PAIR, *SIZES, "selected_by", "value"} <= set(pq.read_schema(path).names)


def common_studies(first: str | Path, second: str | Path) -> list[str]:
    """Return the studies that both runs have tables of."""
    names = [set(tables_of(run)) for run in (first, second)]
    both = sorted(names[0] & names[1])
    if not both:
        raise ValueError(
            f"{first} has the studies {', '.join(sorted(names[0]))} and {second} has "
            f"{', '.join(sorted(names[1]))}; none is in both"
        )
    return both


def compare_tables(first: str | Path, second: str | Path, study: str) -> pd.DataFrame:
    """Return, for each cell and metric, both means and the paired difference second - first.

    Each metric is taken at its own best grid point, as in the figures. Replicates are paired: the
    same number is the same random draw, unless an override changed the seed. ``p05`` and ``p95``
    are percentiles of the differences.
    """
    tables = [load_table(tables_of(run)[study])[0] for run in (first, second)]
    swept = [key for key in SIZES if all(table[key].nunique() > 1 for table in tables)]
    selects = [name for name, metric in registry.METRICS.items() if metric.selects]
    both = []
    for table in tables:
        own = table["metric"].isin(selects) & (table["metric"] == table["selected_by"])
        both.append(table.loc[own, [*PAIR, *swept, "value"]])
    pairs = both[0].merge(both[1], on=[*PAIR, *swept], suffixes=("_first", "_second"))
    if pairs.empty:
        raise ValueError(
            f"{first} and {second} share no cell of {study}; compare runs with the same graphs, "
            "data, levels and models"
        )
    pairs["difference"] = pairs["value_second"] - pairs["value_first"]
    keys = [key for key in KEYS if key in [*PAIR, *swept]] + ["metric"]
    groups = pairs.groupby(keys, sort=False)
    out = groups.agg(
        first=("value_first", "mean"),
        second=("value_second", "mean"),
        difference=("difference", "mean"),
        p05=("difference", lambda v: np.percentile(v, 5)),
        p95=("difference", lambda v: np.percentile(v, 95)),
        pairs=("difference", "count"),
    )
    return out.reset_index()


def agreement(table: pd.DataFrame) -> str:
    """Return in a sentence how far two runs of a study agree."""
    same = int((table["difference"].abs() <= SAME).sum())
    if same == len(table):
        return f"all {same} cells agree"
    worst = table.to_dict("records")[int(table["difference"].abs().argmax())]
    where = ", ".join(f"{worst[key]}" for key in ("graph", "data", "model", "level", "metric"))
    return (
        f"{same} of {len(table)} cells agree; the largest mean difference is "
        f"{worst['difference']:+.3g} ({where}; percentiles {worst['p05']:+.3g} to "
        f"{worst['p95']:+.3g})"
    )


# ------------------------------------------------------------------------------------- figure


def draw(table: pd.DataFrame, first: str, second: str) -> Figure:
    """One row per family and kind of data, one column per metric, one line per model."""
    rows = list(table[["graph", "data"]].drop_duplicates().itertuples(index=False))
    metrics = panels.unique(table["metric"])
    sweep = table["sweep"].iloc[0]
    width = max(style.COLUMN, 3.1 * len(metrics) + 0.6)
    fig = Figure(figsize=(width, 1.9 * len(rows) + 0.5), layout="constrained")
    axes = fig.subplots(len(rows), len(metrics), squeeze=False, sharex=True)
    for (graph, data), line in zip(rows, axes, strict=True):
        for metric, ax in zip(metrics, line, strict=True):
            here = table[(table["graph"] == graph) & (table["data"] == data)]
            here = here[here["metric"] == metric]
            _differences(ax, here)
            ax.axhline(0, color=style.GREY, linewidth=0.8)
            ax.set_title(panels.title(graph, data))
            ax.set_ylabel(f"difference in {registry.axis_label(metric)}")
            if here.empty:
                ax.set_axis_off()
        line[-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    for ax in axes[-1]:
        ax.set_xlabel(registry.axis_label(sweep))
    fig.suptitle(f"{second} minus {first}", fontsize=9)
    return fig


def _differences(ax: Axes, part: pd.DataFrame) -> None:
    """Draw a line per model; a study of sizes has a line for each size."""
    sizes = [key for key in ("m", "n") if key in part and (part["sweep"] != key).all()]
    for (model, *size), line in part.groupby(["model", *sizes], sort=False):
        # the mean may lie outside the percentiles, which errorbar would refuse
        low = (line["difference"] - line["p05"]).clip(lower=0)
        high = (line["p95"] - line["difference"]).clip(lower=0)
        label = registry.model(str(model)).label
        label += "".join(f", {k} = {v:g}" for k, v in zip(sizes, size, strict=True))
        look = panels.look(str(model)) | {"label": label, "capsize": 2}
        ax.errorbar(line["level"], line["difference"], yerr=[low, high], **look)


# ------------------------------------------------------------------------------------ command


def main(arguments: list[str] | None = None) -> None:
    """Compare the runs that the command names; print the differences of each study."""
    parser = argparse.ArgumentParser(prog="python -m experiments.compare", description=__doc__)
    parser.add_argument("first", help=f"a directory of results/, such as paper, or {PUBLISHED}")
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
            print(agreement(table))
            keys = ["graph", "data", "model", "metric"]
            overall = table.groupby(keys, sort=False)["difference"].agg(["mean", "min", "max"])
            print(overall.round(4).to_string())
    except (FileNotFoundError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
