"""The fit: covariates, and the graph with what is reported about it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kgl._types import Array
from kgl.command.arguments import LOGS
from kgl.command.errors import CommandError
from kgl.command.inputs import Inputs

if TYPE_CHECKING:
    from kgl.base import GraphLearner
    from kgl.command.arguments import Arguments

__all__ = ["Learned", "Task", "learn", "make_task"]


@dataclass(frozen=True)
class Task:
    """An estimator with its covariates, to be fitted to data of the same shape.

    Attributes
    ----------
    estimator : GraphLearner
        Not fitted.
    covariates : dict
        x and z, where the model uses them.
    """

    estimator: GraphLearner
    covariates: dict[str, Any]

    @property
    def predicts(self) -> bool:
        """Whether the model fits signals and so fills in missing values."""
        return self.estimator._spec.fitted

    def with_psi(self, psi: float) -> Task:
        """Return the task with psi given, which saves the search for a density."""
        from sklearn.base import clone

        return Task(clone(self.estimator).set_params(psi=psi, density=None), self.covariates)

    def fit(self, Y: Array) -> tuple[GraphLearner, Array | None]:
        """Return the fitted estimator, and its signals in the units of ``Y`` if it has any."""
        from sklearn.base import clone

        model = clone(self.estimator).fit(Y, **self.covariates)
        return model, model.signals_ if self.predicts else None


def make_task(inputs: Inputs, args: Arguments) -> Task:
    """Choose the estimator and prepare the covariates that it uses."""
    from kgl import models

    make = getattr(models, args.model)
    spec = make._spec
    if args.imputed is not None and not spec.fitted:
        raise CommandError(
            f"--imputed needs a model that fits signals, which {args.model} does not",
            "leave --model out for KGL",
        )
    if args.x is not None and not spec.node_kernel:
        raise CommandError(f"{args.model} uses no covariates of nodes", "leave out --x or --model")
    options: dict[str, Any] = {} if args.density is None else {"density": args.density}
    options |= {"log": LOGS[args.log], "signed": not args.unsigned}
    covariates: dict[str, Any] = {}
    if spec.node_kernel and inputs.covariates:
        covariates["x"] = _node_covariates(inputs)
    if spec.observation_kernel and inputs.times is not None:
        times = inputs.times.values
        # days from any day will do: a calendar has its years and weeks
        seconds = np.round(times * 86400.0).astype("timedelta64[s]") if inputs.times.dates else None
        covariates["z"] = times if seconds is None else np.datetime64("2000-01-01") + seconds
    return Task(make(**options), covariates)


def _node_covariates(inputs: Inputs) -> Any:
    """Return the covariates of the nodes: numbers, and text where a column has categories."""
    columns = [inputs.attribute(name) for name in inputs.covariates]
    values = np.empty((len(inputs.names), len(columns)), dtype=object)
    for k, column in enumerate(columns):
        values[:, k] = column.values
    return values


@dataclass(frozen=True)
class Learned:
    """A graph and what is known about its fit.

    Attributes
    ----------
    model : GraphLearner
        The fitted estimator.
    weights : array (m, m)
        Weights of the edges.
    edges : list of (int, int, float)
        Edges, heaviest first.
    signs : array (m, m)
        -1 for nodes that move opposite to each other, 1 for others.
    signals : array (n, m) or None
        Fitted values in the units of the data.
    warnings : list of str
        What the library warned of.
    """

    model: GraphLearner
    weights: Array
    edges: list[tuple[int, int, float]]
    signals: Array | None
    warnings: list[str]
    signs: Array

    def sign(self, i: int, j: int) -> int:
        """Return whether two nodes move together (1) or opposite to each other (-1)."""
        return int(self.signs[i, j])

    @property
    def n_opposite(self) -> int:
        """Number of edges between nodes that move opposite to each other."""
        return sum(self.sign(i, j) < 0 for i, j, _ in self.edges)


def learn(task: Task, inputs: Inputs) -> Learned:
    """Fit the task to the data."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, signals = task.fit(inputs.Y)
    from kgl.export import DUST

    weights = np.where(model.weights_ > DUST * model.weights_.max(), model.weights_, 0.0)
    rows, cols = np.nonzero(np.triu(weights, 1))
    order = np.argsort(-weights[rows, cols], kind="stable")
    edges = [(int(rows[k]), int(cols[k]), float(weights[rows[k], cols[k]])) for k in order]
    notes = list(dict.fromkeys(str(one.message) for one in caught))
    return Learned(model, weights, edges, signals, notes, model.signs_)
