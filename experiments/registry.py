"""Every fact of the replication once: metrics, models, families, verdicts and printed values.

Identifiers are keys everywhere (tables, configurations, code); what people read is looked up here.
A metric is a function of :mod:`experiments.metrics` and a row of :data:`METRICS`. The label and the
look of a model are those of its file in ``conf/model``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from experiments.lookup import conf_dir
from experiments.times import SECONDS

__all__ = [
    "ALL_POINTS",
    "CV",
    "FAMILIES",
    "HYPERPARAMETERS",
    "METRICS",
    "PRINTED_APS",
    "PRINTED_PSI",
    "PROTOCOLS",
    "SELECTIONS",
    "STANDIN",
    "STANDIN_SUFFIX",
    "SWEEPS",
    "Family",
    "Metric",
    "Model",
    "Verdict",
    "axis_label",
    "family_label",
    "model",
    "name_of",
    "of_protocol",
    "split_protocol",
]

#: Written wherever simulated data replace real ones, and part of the names of such files.
STANDIN = "SIMULATED STAND-IN"
STANDIN_SUFFIX = f"-{STANDIN.replace(' ', '-')}"
#: How a grid point is selected other than by a metric: by cross-validation, or not at all.
CV, ALL_POINTS = "cv", "all_points"
HYPERPARAMETERS = {"lam": r"$\lambda$", "rho": r"$\rho$", "psi": r"$\psi$"}


@dataclass(frozen=True)
class Metric:
    """What is measured of a fit.

    Attributes
    ----------
    name : str
        In sentences and tables.
    axis : str
        On an axis of a figure.
    higher_is_better : bool or None
        None where neither end is better.
    selects : bool
        Whether oracle-tuned results are also reported at the grid point where it is best.
    needs : str
        What must be known to compute it: ``graph``, ``groups``, or nothing; or the option of
        ``study.keep`` that asks for it.
    """

    name: str
    axis: str
    higher_is_better: bool | None = None
    selects: bool = False
    needs: str = ""


#: All metrics by identifier, in the order of the tables.
METRICS: dict[str, Metric] = {
    "aps": Metric("APS", "APS", True, selects=True, needs="graph"),
    "aps_scores": Metric("APS of untied scores", "APS of scores", True, needs="graph"),
    "sse": Metric("SSE", r"SSE$_\mathcal{G}$", False, selects=True, needs="graph"),
    "nmi": Metric("NMI", "NMI", True, selects=True, needs="groups"),
    "density": Metric("density", "share of pairs linked"),
    "mse_in": Metric("training MSE", r"training MSE$_y$", False),
    "mse_out": Metric("MSE of withheld entries", r"out-of-sample MSE$_y$", False, selects=True),
    "mse_cv": Metric("cross-validated MSE", r"cross-validated MSE$_y$", False),
    "n_iter": Metric("outer iterations", "outer iterations"),
    "converged": Metric("converged", "share converged"),
    "kkt_residual": Metric("KKT residual", "KKT residual"),
    "top_share": Metric("weight on the heaviest 5 %", "weight on the heaviest 5 %", needs="shape"),
    "uneven": Metric("unevenness of weights", "unevenness of weights", needs="shape"),
    "density_error": Metric("error of the density", "error of the density", needs="shape"),
    "size": Metric("size of the signals", "size of the signals", needs="shape"),
    "row_spread": Metric("spread about row means", "spread about row means", needs="shape"),
    "spread": Metric("spread about the mean", "spread about the mean", needs="shape"),
    "rise": Metric("rise of the objective", "rise of the objective", needs="rise"),
    SECONDS: Metric("seconds per iteration", "seconds per iteration", needs=SECONDS),
}
#: What a grid point can be selected by, in words.
SELECTIONS = {
    **{name: f"oracle-tuned ({m.name})" for name, m in METRICS.items() if m.selects},
    CV: "tuned by cross-validation",
    ALL_POINTS: "every grid point",
}
#: What a sweep varies, on an axis.
SWEEPS = {
    "noise": "noise level",
    "missing": "missing rate",
    "n": "number of observations $n$",
    "m": "number of nodes $m$",
    "reviewers": "number of reviewers $n$",
    "observations": r"factor on $\gamma$ of $K_z$",
    "decimals": "decimals of the weights",
}


@dataclass(frozen=True)
class Family:
    """A family of random graphs: its short label, and its look where lines are families."""

    label: str
    color: str
    marker: str


#: The paper's families, in the order of its figures; others go by the label of their file.
FAMILIES = {
    "sbm": Family("SBM", "#332288", "o"),
    "er": Family("ER", "#2A9D8F", "s"),
    "ba": Family("BA", "#AA3377", "^"),
}


class Verdict(StrEnum):
    """What the criteria of a claim amount to; the value is the key, ``label`` is for people."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    NOT_REPRODUCED = "not_reproduced"
    NOT_EVALUATED = "not_evaluated"

    @property
    def label(self) -> str:
        """The verdict in words."""
        return {"partly": "partly reproduced"}.get(self.value, self.value.replace("_", " "))

    @property
    def color(self) -> str:
        """Its color, distinct for the color-blind."""
        return {"reproduced": "#0072B2", "partly": "#E69F00", "not_reproduced": "#D55E00"}.get(
            self.value, "#BBBBBB"
        )

    @property
    def symbol(self) -> str:
        """Its symbol, for those who see no colors."""
        return {"reproduced": "✓", "partly": "◐", "not_reproduced": "✗"}.get(self.value, "?")


#: The APS printed under the graphs of Figure 12, for each family and psi.
PRINTED_PSI = (1e-7, 1e-5, 1e-3, 1e-1)
PRINTED_APS = {
    "sbm": (0.39, 0.86, 0.80, 0.52),
    "er": (0.33, 0.90, 0.78, 0.48),
    "ba": (0.40, 0.89, 0.80, 0.67),
}


#: The protocols that the synthetic experiments are run under (files of ``conf/protocol``), and
#: what each is the best of; docs/inference.md has the rule that names them.
PROTOCOLS = {
    "printed": "nearest to the twelve printed values",
    "described": "nearest to the sentences",
}


def of_protocol(study: str, protocol: str) -> str:
    """Return the name of a study under a protocol; studies of real data have none.

    Examples
    --------
    >>> of_protocol("fig2", "printed"), of_protocol("fig6", "")
    ('fig2-printed', 'fig6')
    """
    return f"{study}-{protocol}" if protocol else study


def split_protocol(name: str) -> tuple[str, str]:
    """Return the study and the protocol of a name that :func:`of_protocol` made.

    Examples
    --------
    >>> split_protocol("control_kx-described"), split_protocol("fig6")
    (('control_kx', 'described'), ('fig6', ''))
    """
    study, _, protocol = name.removesuffix(STANDIN_SUFFIX).partition("-")
    return study, protocol


@dataclass(frozen=True)
class Model:
    """The label and the look of a model."""

    label: str
    color: str
    marker: str


@cache
def _options(directory: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return label and style of the options of a configuration group, inherited where not set."""
    import yaml

    read = {p.stem: yaml.safe_load(p.read_text(encoding="utf-8")) for p in directory.glob("*.yaml")}

    def inherited(name: str, key: str) -> Any:
        values = read[name]
        if key in values:
            return values[key]
        parents = [p for p in values.get("defaults", ()) if isinstance(p, str) and p != "_self_"]
        return inherited(parents[0], key) if parents else None

    return {n: {"label": inherited(n, "label"), "style": inherited(n, "style")} for n in read}


def model(name: str) -> Model:
    """Return the label and look of a model; an unknown one goes by its own name, in grey."""
    found = _options(conf_dir() / "model").get(name)
    if not found or not found["label"]:
        return Model(name, "#555555", "o")
    return Model(found["label"], **found["style"])


def family_label(name: str) -> str:
    """Return what a family of graphs is called in few letters, or the label of its file."""
    if name in FAMILIES:
        return FAMILIES[name].label
    return _options(conf_dir() / "graph").get(name, {}).get("label") or name


def name_of(key: str) -> str:
    """Return what an identifier is called in a sentence or table.

    Models, families, kinds of data, metrics and selections; any other key is returned as it is.

    Examples
    --------
    >>> name_of("kgln"), name_of("sbm"), name_of("sse"), name_of("independent")
    ('KGL-N', 'SBM', 'SSE', 'independent data')
    """
    if key in METRICS:
        return METRICS[key].name
    if key in (CV, ALL_POINTS):
        return SELECTIONS[key]
    if key in _options(conf_dir() / "model"):
        return model(key).label
    if key in _options(conf_dir() / "data"):
        return _options(conf_dir() / "data")[key]["label"] or key
    return family_label(key)


def axis_label(key: str) -> str:
    """Return what a metric, sweep or hyperparameter is called on an axis."""
    return METRICS[key].axis if key in METRICS else (SWEEPS | HYPERPARAMETERS).get(key, key)
