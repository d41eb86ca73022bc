"""Figures: one function each, from tables to a matplotlib figure and the numbers it shows.

A function of this package is named by ``figure:`` in conf/study. It receives :class:`Inputs` and
returns the figure and a DataFrame with every number that is drawn, which is written beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from experiments.figures import style
from experiments.io import atomic, load_arrays, load_fits, load_table, save_csv
from experiments.lookup import resolve
from experiments.registry import ALL_POINTS, STANDIN
from experiments.score import summarise
from kgl._types import Array

__all__ = ["Drawn", "Inputs", "draw"]

#: What a figure function returns.
Drawn: TypeAlias = tuple[Figure, pd.DataFrame]


@dataclass(frozen=True)
class Inputs:
    """What a figure is drawn from.

    Attributes
    ----------
    study : str
        Its name.
    config : dict
        conf/study/<study>.yaml.
    settings : dict
        What holds for all cells of the study; figures read its ``protocol``.
    table : DataFrame
        One row per cell, replicate, selection and metric.
    labels : sequence of dict
        The graph, data, level and model of each cell.
    fits, data : sequence of str
        For each cell the file of its fits and that of its kind of data, where the study sets
        ``arrays``.
    simulated : bool
        Whether simulated data replace real ones.
    protocol : str
        The protocol that the study is made under, if any bears on it.
    """

    study: str
    config: dict[str, Any]
    settings: dict[str, Any]
    table: pd.DataFrame
    labels: Sequence[dict[str, Any]] = ()
    fits: Sequence[str] = ()
    data: Sequence[str] = ()
    simulated: bool = False
    protocol: str = ""

    @property
    def summary(self) -> pd.DataFrame:
        """Means and percentiles over replicates, each metric at its own best grid point."""
        return summarise(self.table, self.config["metrics"], pool=self.config.get("pool", False))

    @property
    def run_once(self) -> set[str]:
        """The models that the sweep does not change."""
        return {model for names in self.config.get("once", {}).values() for model in names}

    def tuned(
        self, metrics: Sequence[str], selections: Sequence[str | None], *, pool: bool = False
    ) -> pd.DataFrame:
        """Return means and percentiles at several selections; None is each metric's own best."""
        parts = []
        for selection in selections:
            part = summarise(self.table, metrics, pool=pool, selected_by=selection)
            by = selection or part["metric"]
            part.insert(list(part.columns).index("metric"), "selected_by", by)
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def grid_rows(self) -> pd.DataFrame:
        """Return the rows of every grid point."""
        rows = self.table[self.table["selected_by"] == ALL_POINTS]
        if rows.empty:
            raise ValueError(
                f"{self.study}: the table has no rows of every grid point; set study.points"
            )
        return rows

    def arrays(self) -> Iterator[tuple[dict[str, Any], dict[str, Array], dict[str, Array]]]:
        """Yield labels, data and fit of each cell; replicates are along the first axis."""
        for labels, data, fit in zip(self.labels, self.data, self.fits, strict=True):
            drawn, _ = load_arrays(data, Path(fit).stem)
            yield labels, drawn, load_fits(fit)[0][labels["model"]]

    def aps(self, fit: Mapping[str, Array]) -> Array:
        """Return the average precision of a fit, of weights or of scores as the protocol sets."""
        return fit[f"aps_{self.settings['protocol']['score']['aps']}"]


def draw(
    study: str,
    known: Mapping[str, Any],
    *,
    table: str,
    fits: Sequence[str],
    data: Sequence[str],
    outputs: Sequence[str],
) -> None:
    """Draw the figure of a study and write it in the formats of ``outputs``."""
    mpl.use("Agg")
    style.use()
    given = {key: known[key] for key in ("config", "settings", "labels", "simulated", "protocol")}
    inputs = Inputs(study=study, table=load_table(table)[0], fits=fits, data=data, **given)
    figure, numbers = resolve(f"experiments.figures.{inputs.config['figure']}")(inputs)
    notices = [STANDIN] if inputs.simulated else []
    if "notice" in inputs.settings:
        notices.append(inputs.settings["notice"])
    words = [*notices, *[f"protocol {inputs.protocol}"] * bool(inputs.protocol)]
    if words:
        look = {"color": style.ORANGE, "fontweight": "bold"} if notices else {"color": style.GREY}
        figure.suptitle(", ".join(words), fontsize=9 if notices else 8, **look)
    if inputs.simulated:
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
