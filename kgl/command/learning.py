"""The fit: covariates, and the graph with what is reported about it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from kgl._types import Array
from kgl.command.arguments import BAYESIAN, LOGS
from kgl.command.errors import CommandError
from kgl.command.inputs import Inputs

if TYPE_CHECKING:
    from kgl.base import GraphLearner
    from kgl.bayesian import BayesianKGL
    from kgl.command.arguments import Arguments

__all__ = ["LIGHT", "LIKELY", "Learned", "Probabilities", "Task", "learn", "make_task"]

#: Least probability of an edge where none is asked for.
LIKELY = 0.5
#: Nodes up to which the command takes graphs.
MOST_NODES = 5000
#: How the Bayesian model is fitted again for withheld values: enough for means and deviations of
#: values, not for probabilities of edges.
LIGHT = {"n_chains": 4, "n_warmup": 30, "n_draws": 20}


@dataclass(frozen=True)
class Task:
    """An estimator with its covariates, to be fitted to data of the same shape.

    Attributes
    ----------
    estimator : GraphLearner or BayesianKGL
        Not fitted.
    covariates : dict
        x and z, where the model uses them.
    """

    estimator: GraphLearner | BayesianKGL
    covariates: dict[str, Any]

    @property
    def predicts(self) -> bool:
        """Whether the model fits signals and so fills in missing values."""
        return self.estimator._spec.fitted

    @property
    def bayesian(self) -> bool:
        """Whether graphs are drawn, so that intervals come with every fit."""
        return self.estimator._spec.name == BAYESIAN

    def lighter(self, learned: Learned) -> Task:
        """Return a task whose fit takes less time, for predictions after the graph is learned.

        Predictions hardly depend on psi, so that of the graph serves, which saves the search for
        a density. Those of the Bayesian model need fewer draws than its edges do.
        """
        from sklearn.base import clone

        if self.bayesian:
            own = self.estimator.get_params()
            changes: dict[str, Any] = {
                name: min(own[name] or most, most) for name, most in LIGHT.items()
            }
        else:
            changes = {"psi": learned.model.psi_, "density": None}
        return Task(clone(self.estimator).set_params(**changes), self.covariates)

    def fit(self, Y: Array) -> Any:
        """Return the fitted estimator."""
        from sklearn.base import clone

        return clone(self.estimator).fit(Y, **self.covariates)


def make_task(inputs: Inputs, args: Arguments) -> Task:
    """Choose the estimator and prepare the covariates that it uses."""
    import kgl

    make = getattr(kgl, args.model)
    spec = make._spec
    _check_options(args, spec)
    options: dict[str, Any] = {} if args.density is None else {"density": args.density}
    options |= _bayesian_options(args) if args.bayesian else {"log": LOGS[args.log]}
    if "signed" in make().get_params():
        options["signed"] = not args.unsigned
    covariates: dict[str, Any] = {}
    if spec.node_kernel and inputs.covariates:
        covariates["x"] = _node_covariates(inputs)
    if spec.observation_kernel and inputs.times is not None:
        times = inputs.times.values
        # days from any day will do: a calendar has its years and weeks
        seconds = np.round(times * 86400.0).astype("timedelta64[s]") if inputs.times.dates else None
        covariates["z"] = times if seconds is None else np.datetime64("2000-01-01") + seconds
    return Task(make(**options), covariates)


def _check_options(args: Arguments, spec: Any) -> None:
    """Refuse options that the model does not have."""
    for option, value in (("--imputed", args.imputed), ("--imputed-std", args.imputed_std)):
        if value is not None and not spec.fitted:
            raise CommandError(
                f"{option} needs a model that fits signals, which {args.model} does not",
                "leave --model out for KGL",
            )
    if args.imputed_std is not None and not spec.ridge:
        raise CommandError(
            f"--imputed-std needs a model with a ridge term, which {args.model} has not",
            "leave --model out for KGL, or pass --model bayesian",
        )
    if args.x is not None and not spec.node_kernel:
        raise CommandError(f"{args.model} uses no covariates of nodes", "leave out --x or --model")
    if args.bayesian and args.log == "yes":
        raise CommandError(
            f"--log yes: {BAYESIAN} takes no logarithms",
            "put the logarithms into the file, or use another model",
        )
    for option, given in (("--min-probability", args.min_probability), ("--draws", args.draws)):
        if given is not None and not args.bayesian:
            raise CommandError(
                f"{option} is for edges with probabilities, which {args.model} does not have",
                "pass --model bayesian too",
            )


def _bayesian_options(args: Arguments) -> dict[str, Any]:
    options: dict[str, Any] = {"random_state": args.seed}
    if args.quiet:
        options["progress"] = False
    if args.draws is not None:
        # chains that are to run longer have longer to go until they are where they belong
        options |= {"n_draws": args.draws, "n_warmup": max(40, 2 * args.draws // 3)}
    return options


def _node_covariates(inputs: Inputs) -> Any:
    """Return the covariates of the nodes: numbers, and text where a column has categories."""
    columns = [inputs.attribute(name) for name in inputs.covariates]
    values = np.empty((len(inputs.names), len(columns)), dtype=object)
    for k, column in enumerate(columns):
        values[:, k] = column.values
    return values


@dataclass(frozen=True)
class Probabilities:
    """How sure edges are.

    Attributes
    ----------
    values : array (m, m)
        Probabilities of all pairs.
    low, high : array (m, m)
        Ends of the 90 % intervals of the weights.
    least : float
        Least probability of an edge of the graph.
    """

    values: Array
    low: Array
    high: Array
    least: float


@dataclass(frozen=True)
class Learned:
    """A graph and what is known about its fit.

    Attributes
    ----------
    model : GraphLearner or BayesianKGL
        The fitted estimator.
    weights : array (m, m)
        Weights of the edges.
    edges : list of (int, int, float)
        Edges with their weights, heaviest or most probable first.
    signs : array (m, m)
        -1 for nodes that move opposite to each other, 1 for others.
    signals, std : array (n, m) or None
        Fitted values in the units of the data, and the standard deviations of missing ones.
    warnings : list of str
        What the library warned of.
    sure : Probabilities or None
        Probabilities of the edges, where the model has them.
    """

    model: Any
    weights: Array
    edges: list[tuple[int, int, float]]
    signals: Array | None
    warnings: list[str]
    signs: Array
    std: Array | None = None
    sure: Probabilities | None = None

    def sign(self, i: int, j: int) -> int:
        """Return whether two nodes move together (1) or opposite to each other (-1)."""
        return int(self.signs[i, j])

    @property
    def n_opposite(self) -> int:
        """Number of edges between nodes that move opposite to each other."""
        return sum(self.sign(i, j) < 0 for i, j, _ in self.edges)


def learn(task: Task, inputs: Inputs, args: Arguments) -> Learned:
    """Fit the task to the data."""
    m = inputs.Y.shape[1]
    if m > MOST_NODES:
        raise CommandError(
            f"the data have {m} columns, and this command writes graphs of up to {MOST_NODES}",
            "use Python: kgl.KGL().fit(Y).to_edges() or .to_sparse()",
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = task.fit(inputs.Y)
        std = None
        if task.bayesian:
            _, std = model.impute(inputs.Y, return_std=True)
        elif args.imputed_std is not None:
            _, std = model.impute(inputs.Y, return_std=True, random_state=args.seed)
    notes = [str(one.message) for one in caught]
    sure = None
    if task.bayesian:
        sure, notes = _probabilities(model, args), _bayesian_notes(model, inputs, args, caught)
    weights = model._clean_weights() if sure is None else model._likely_weights(sure.least)
    signs = model.signs_
    if issparse(weights):
        weights, signs = _unpacked(weights, signs)
    order = weights if sure is None else np.where(weights > 0, sure.values, 0.0)
    edges = sorted_pairs(weights, order)
    return Learned(
        model, weights, edges, model.signals_ if task.predicts else None,
        list(dict.fromkeys(notes)), signs, std, sure,
    )  # fmt: skip


def _unpacked(weights: Any, signs: Any) -> tuple[Array, Array]:
    """Return a sparse graph as arrays, which the files and the report are made of."""
    every = signs.toarray()
    return weights.toarray(), np.where(every == 0.0, 1.0, every)


def sorted_pairs(weights: Array, order: Array) -> list[tuple[int, int, float]]:
    """Return pairs of nodes with their weights, those first that are largest in ``order``."""
    rows, cols = np.nonzero(np.triu(order, 1))
    place = np.argsort(-order[rows, cols], kind="stable")
    return [(int(rows[k]), int(cols[k]), float(weights[rows[k], cols[k]])) for k in place]


def _probabilities(model: Any, args: Arguments) -> Probabilities:
    low, high = model.weight_quantiles([0.05, 0.95])
    least = LIKELY if args.min_probability is None else args.min_probability
    return Probabilities(model.edge_probability_, low, high, least)


def _bayesian_notes(model: Any, inputs: Inputs, args: Arguments, caught: Any) -> list[str]:
    """Return what was warned of, with remedies that the command has."""
    from sklearn.exceptions import ConvergenceWarning

    from kgl.skewness import log_origins

    notes = [str(one.message) for one in caught if not issubclass(one.category, ConvergenceWarning)]
    if not model.converged_:
        notes.append(
            "the chains have not converged: probabilities of edges are off by up to about "
            f"{model._off_by():.2f}; pass --draws {4 * model.n_draws_} for a "
            "longer run"
        )
    origins, _ = log_origins(inputs.Y, ~np.isnan(inputs.Y), LOGS[args.log])
    if origins is not None:
        notes.append(
            f"values grow by factors, and {BAYESIAN} takes no logarithms: put logarithms into the "
            "file, or pass --log no if the values are meant as they are"
        )
    return notes
