"""One-off runs without Snakemake, with Hydra's own command line and multirun.

``python -m experiments graph=er data=dependent model=kgl data.noise=0.5`` fits one cell, prints its
scores and writes them to their own directory; ``python -m experiments -m model=kgl,kglo
data.noise=0,1`` fits one for each combination, with one table for all. The value that Hydra's
optimisers see is the mean APS, or the mean NMI where the ground truth is groups.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hydra
import pandas as pd
from hydra.experimental.callback import Callback

from experiments.cells import single_cell
from experiments.config import GROUPS, Composed, Values, compose, override_key
from experiments.datasets.synthetic import build
from experiments.fit import fit_cell
from experiments.io import save_csv, save_table
from experiments.lookup import ConfigError, conf_dir
from experiments.registry import METRICS, STANDIN, STANDIN_SUFFIX
from experiments.score import score_study, summarise

__all__ = ["Gather", "main", "run"]

#: Settings of Hydra that nothing may change.
REFUSED = ("hydra.searchpath", "hydra.callbacks")


def _values(composed: Composed) -> Values:
    if composed.plain.get("study") is not None:
        study = composed.choices["study"]
        raise ConfigError(
            f"study={study} is a whole figure; run: snakemake --cores 8 --config study={study}"
        )
    return composed.values()


def run(composed: Composed, directory: Path) -> float:
    """Fit the cell of a configuration, write and print its scores, return the mean APS or NMI."""
    values, cell = _values(composed), single_cell(composed)
    print(f"{cell.name}: writing to {directory}")
    if cell.simulated:
        print(f"{STANDIN}: {cell.reason}")
    arrays = fit_cell(build(cell.data), cell.fit, print)
    score, folds = values["protocol"]["score"], values["protocol"]["fit"]["folds"]
    table = score_study("one-off", [(cell.labels, arrays)], {**score, "folds": folds})
    summary = summarise(table, [name for name in METRICS if name in set(table["metric"])])
    if cell.simulated:
        table.insert(0, "source", STANDIN)
        summary.insert(0, "source", STANDIN)
    end = STANDIN_SUFFIX * cell.simulated
    save_table(directory / f"table{end}.parquet", table, {"data": cell.data, "fit": cell.fit})
    save_csv(directory / f"summary{end}.csv", summary)
    print(summary[["metric", "mean", "p05", "p95", "runs"]].to_string(index=False))
    goal = next(metric for metric in ("aps", "nmi") if metric in set(summary["metric"]))
    best = table[(table["metric"] == goal) & (table["selected_by"] == goal)]
    return float(best["value"].mean())


class Gather(Callback):
    """Hydra callback: after a multirun, one table of all its cells."""

    def on_multirun_end(self, config: Any, **_: Any) -> None:
        """Write ``summary.csv`` beside the directories of the cells, and print it."""
        directory = Path(config.hydra.sweep.dir)
        parts = [pd.read_csv(path) for path in sorted(directory.glob("*/summary*.csv"))]
        if not parts:
            return
        summary = pd.concat(parts, ignore_index=True)
        save_csv(directory / "summary.csv", summary)
        # the keys that differ between the cells, and the scores
        keys = ["graph", "data", "m", "n", "noise", "missing", "model"]
        shown = [key for key in keys if summary[key].nunique() > 1]
        print(f"\n{len(parts)} cells: {directory / 'summary.csv'}")
        print(summary[[*shown, "metric", "mean", "p05", "p95", "runs"]].to_string(index=False))


def _check_hydra_settings(arguments: Sequence[str]) -> None:
    """Refuse what would have no effect: options are those of ``conf/``, and tables are gathered."""
    for text in arguments:
        key = override_key(text).replace("/", ".")
        refused = next((name for name in REFUSED if f"{key}.".startswith(f"{name}.")), None)
        if refused is not None:
            raise ConfigError(
                f"override {text!r}: {refused} cannot be set here; options are files of conf/, or "
                "of a copy of it that KGL_CONF names"
            )


def main() -> None:
    """Run Hydra's command line."""
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import OmegaConf

    def job(config: Any) -> float:
        info = HydraConfig.get()
        choices = {group: info.runtime.choices.get(group) for group in GROUPS}
        plain: Any = OmegaConf.to_container(config)
        return run(
            Composed(plain, choices, tuple(info.overrides.task)), Path(info.runtime.output_dir)
        )

    try:
        _check_hydra_settings(sys.argv[1:])
        texts = [text for text in sys.argv[1:] if not text.startswith("hydra.")]
        if not any(text.startswith("-") for text in texts):
            _values(compose(texts))  # its errors name the file, the key and the remedy
        hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="config")(job)()
    except ConfigError as error:
        sys.exit(f"error: {error}")
