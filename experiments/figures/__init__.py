"""Figures: one function each, from tables to a matplotlib figure and the numbers it shows.

A function of this package is named by ``figure:`` in conf/study. It receives :class:`Inputs` and
returns the figure and a DataFrame with every number that is drawn, which is written beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd

from experiments.figures import style
from experiments.io import atomic, load_arrays, load_table, save_csv
from experiments.lookup import resolve
from experiments.registry import STANDIN
from experiments.score import summarise


@dataclass(frozen=True)
class Inputs:
    """What a figure is drawn from."""

    study: str
    config: dict[str, Any]  # conf/study/<study>.yaml
    styles: dict[str, dict[str, str]]  # label, colour and marker of each model
    settings: dict[str, Any]  # replicates, protocol, labels of graphs and data, ...
    table: pd.DataFrame  # one row per cell, replicate, criterion and metric
    labels: Sequence[dict[str, Any]]  # what each cell is
    fits: Sequence[str]  # files of the cells, where the study asks for arrays
    data: Sequence[str]
    simulated: bool = False  # whether simulated data stand for real ones

    @property
    def summary(self) -> pd.DataFrame:
        """Means and percentiles over replicates."""
        return summarise(self.table, self.config["metrics"], pool=self.config.get("pool", False))

    def arrays(self) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
        """Yield labels, data and fit of each cell; replicates are along the first axis."""
        for labels, data, fit in zip(self.labels, self.data, self.fits, strict=True):
            yield labels, load_arrays(data)[0], load_arrays(fit)[0]


def draw(
    study: str,
    known: dict[str, Any],
    *,
    table: str,
    fits: Sequence[str],
    data: Sequence[str],
    outputs: Sequence[str],
) -> None:
    """Draw the figure of a study and write it in the formats of ``outputs``."""
    mpl.use("Agg")
    style.use()
    inputs = Inputs(study=study, table=load_table(table)[0], fits=fits, data=data, **known)
    figure, numbers = resolve(f"experiments.figures.{known['config']['figure']}")(inputs)
    if inputs.simulated:
        figure.suptitle(STANDIN, color=style.ORANGE, fontsize=9, fontweight="bold")
        numbers.insert(0, "source", STANDIN)
    for path in outputs:
        kind = Path(path).suffix
        if kind == ".csv":
            save_csv(path, numbers)
            continue
        # no time in the file: the same figure gives the same bytes
        stamp = {"Software": None} if kind == ".png" else {"CreationDate": None}
        with atomic(path) as part:
            figure.savefig(part, metadata=stamp)
