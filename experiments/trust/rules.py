"""How hyperparameters are chosen: one function each, from a replicate to scores of all pairs.

Fits are shared: the grid that the oracle chooses from also serves the evidence and a random point.
The oracle, the random point, the former constants, cross-validation and evidence work on the data
as they are; the estimators' defaults prepare them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from experiments.trust.evidence import log_evidence
from kgl._types import Array
from kgl.base import GraphLearner
from kgl.bayesian import BayesianKGL
from kgl.grid import DEFAULT_GRID, fit_grid
from kgl.grid_result import GridResult
from kgl.laplacian import edges_from_adjacency
from kgl.metrics import aps, aps_many
from kgl.models import KGL, KGLN
from kgl.seeding import stream
from kgl.selection import select_held_out
from kgl.solvers.grid import signal_data

__all__ = ["DENSITY", "RAW", "RULES", "Replicate", "Rule"]

#: The data as they are, as the paper's experiments have them.
RAW: dict[str, Any] = {"center": "none", "scale": "none", "signed": False, "log": False}
#: Constants that were the defaults before data were prepared, and the density of all graphs.
CONSTANTS: dict[str, Any] = {"lam": 0.1, "rho": 0.01}
DENSITY = 0.3


@dataclass(eq=False)
class Replicate:
    """One data set with its true graph, and the fits that rules share.

    Attributes
    ----------
    Y, W : array (n, m), array (m, m)
        Observations, NaN where missing, and the true graph.
    K_x, K_z : array or None
        Kernels, where there are any.
    name : tuple
        Root seed, family and number: names of random streams.
    design : mapping
        The settings of the study.
    """

    Y: Array
    W: Array
    K_x: Array | None
    K_z: Array | None
    name: tuple[Any, ...]
    design: Mapping[str, Any]

    @property
    def model(self) -> type[GraphLearner]:
        """The model of the paper for such data."""
        return KGLN if self.K_z is None else KGL

    @property
    def kernels(self) -> dict[str, Any]:
        """The kernels that there are."""
        known = {"K_x": self.K_x, "K_z": self.K_z}
        return {name: kernel for name, kernel in known.items() if kernel is not None}

    def seed(self, purpose: str) -> int:
        """Return a seed of a purpose."""
        root, *names = self.name
        return int(stream(root, "trust", purpose, *names).integers(2**31))

    @cached_property
    def grid(self) -> GridResult:
        """All points of the default grid."""
        return fit_grid(self.model, self.Y, **self.kernels, **RAW, progress=False)

    @cached_property
    def grid_aps(self) -> Array:
        """The average precision of each of them."""
        assert self.grid.scores is not None
        return aps_many(self.W, self.grid.scores, threshold=None)

    @cached_property
    def defaults(self) -> GraphLearner:
        """The model as it comes."""
        return self.model(density=DENSITY).fit(self.Y, **self.kernels)

    @cached_property
    def bayesian(self) -> BayesianKGL:
        """The generative model as it comes, but for the options of the study."""
        options = {**self.design["bayesian"], **self.design["simulated"]}
        model = BayesianKGL(**options, progress=False, random_state=self.seed("bayesian"))
        return model.fit(self.Y, **self.kernels)

    @cached_property
    def held_out(self) -> Any:
        """The point of least error of held-out entries; all three hyperparameters are chosen."""
        return select_held_out(
            self.model, self.Y, **self.kernels, **_axes(self.design["held_out"]), **RAW,
            graph="mse", n_folds=self.design["held_out"]["folds"], seed=self.seed("folds"),
            progress=False,
        )  # fmt: skip

    def of(self, estimator: Any) -> float:
        """Return the average precision of a fitted model's order of all pairs."""
        return aps(self.W, edges_from_adjacency(estimator.edge_scores_), threshold=None)


def _axes(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return every so many of the values of the default grid."""
    return {name: values[:: settings["step"][name]] for name, values in DEFAULT_GRID.items()}


@dataclass(frozen=True)
class Rule:
    """A rule: its label, what it does, and the average precision that it reaches."""

    label: str
    about: str
    reach: Callable[[Replicate], float]


def oracle(replicate: Replicate) -> float:
    """Take the best point, by the true graph: what no user can do."""
    return float(replicate.grid_aps.max())


def random_point(replicate: Replicate) -> float:
    """Take a point at random: the mean over all of them."""
    return float(replicate.grid_aps.mean())


def constants(replicate: Replicate) -> float:
    """Take the constants that were the defaults."""
    model = replicate.model(**CONSTANTS, density=DENSITY, **RAW)
    return replicate.of(model.fit(replicate.Y, **replicate.kernels))


def defaults(replicate: Replicate) -> float:
    """Take the model as it comes."""
    return replicate.of(replicate.defaults)


def held_out(replicate: Replicate) -> float:
    """Take the point of least cross-validated error."""
    return replicate.of(replicate.held_out.estimator)


def stability(replicate: Replicate) -> float:
    """Take lam and rho by cross-validation, and the psi whose edges are stable between folds."""
    best, settings = replicate.held_out.params, replicate.design["held_out"]
    # lam and rho are those of all points of the grid: given alone, the folds need not be solved
    # again at the other values
    found = select_held_out(
        replicate.model, replicate.Y, **replicate.kernels, **RAW,
        lam=[best["lam"]], rho=[best["rho"]], psi=_axes(settings)["psi"], graph="stability",
        n_folds=settings["folds"], seed=replicate.seed("folds"), progress=False,
    )  # fmt: skip
    return replicate.of(found.estimator)


def evidence(replicate: Replicate) -> float:
    """Take the point under which the data are most likely, its graph plugged in."""
    grid = replicate.grid
    data = signal_data(replicate.Y, replicate.model._spec, **replicate.kernels)
    laplacians = np.stack([grid.laplacian(k) for k in range(len(grid))])
    found = log_evidence(data, laplacians, grid.params["lam"], grid.params["rho"])
    return float(replicate.grid_aps[int(np.argmax(found))])


def bayesian(replicate: Replicate) -> float:
    """Choose nothing: average over graphs, noise and scales."""
    return replicate.of(replicate.bayesian)


#: All rules by name, in the order of the figure.
RULES = {
    "oracle": Rule("oracle", "the best point of the grid, chosen by the true graph", oracle),
    "random": Rule("random point", "a point of the grid at random: the mean", random_point),
    "constants": Rule(
        "former constants",
        f"lam = {CONSTANTS['lam']:g} and rho = {CONSTANTS['rho']:g} on data as they are, psi for a "
        f"density of {DENSITY:g}",
        constants,
    ),
    "defaults": Rule(
        "defaults", f"KGL or KGLN as it comes, with a density of {DENSITY:g}", defaults
    ),
    "held_out": Rule(
        "cross-validation", "the least error of held-out entries chooses all three", held_out
    ),
    "stability": Rule(
        "stability",
        "held-out error chooses lam and rho, the stability of edges between folds psi",
        stability,
    ),
    "evidence": Rule(
        "evidence", "the point whose graph, plugged in, makes the data most likely", evidence
    ),
    "bayesian": Rule("BayesianKGL", "nothing is chosen: an average over graphs", bayesian),
}
