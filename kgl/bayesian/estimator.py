"""The estimator of the generative model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from kgl._progress import Progress, reporter
from kgl._threads import keep_on_error
from kgl._types import Array, Mask
from kgl._validation import check_flag, check_fraction
from kgl.bayesian.diagnostics import effective_sample_size, split_r_hat
from kgl.bayesian.draws import Draws, draw_posterior
from kgl.bayesian.evidence import Evidence
from kgl.bayesian.flips import node_signs
from kgl.bayesian.posterior import Posterior
from kgl.bayesian.priors import Prior
from kgl.bayesian.signals import Rows
from kgl.bayesian.summary import describe
from kgl.export import GraphExport
from kgl.inputs import DEFAULT_KERNEL, TableInput
from kgl.kernels import FittedKernel, KernelEigen, kernel_eigen
from kgl.laplacian import adjacency_from_edges, laplacian_from_adjacency
from kgl.preparation import Preparation
from kgl.problem import ModelSpec

__all__ = ["BayesianKGL"]

#: Precision of the data that the sampler sees, in units of their standard deviation.
DIGIT = 2.0**-20
#: Markov chains where their number is not given: half as many from this number of nodes on.
CHAINS, LARGE = 16, 50
#: Draws where their number is not given: twice as many below this number of nodes, which are fast.
#: And sweeps before them.
DRAWS, FEW, WARMUP = 60, 20, 40
#: A probability is poor if its Monte Carlo error is not small and its split R-hat is larger, or its
#: effective draws are fewer, than these.
SMALL_ERROR, POOR_R_HAT, FEW_DRAWS = 0.02, 1.2, 50.0
#: Chains have not converged if a larger share of the probabilities is poor, or one has a larger
#: Monte Carlo error.
MANY_POOR, POOR_ERROR = 0.05, 0.1
#: Matrices up to this size take longer with several BLAS threads, most of all on a busy machine.
ONE_THREAD = 200


@dataclass
class Kernels:
    """The kernels of both sides, decomposed."""

    K_x: KernelEigen
    K_z: KernelEigen


@dataclass
class ReadyData:
    """One data set, checked and ready for the sampler."""

    values: Array
    mask: Mask | None
    names: list[Any]
    labelled: bool
    preparation: Preparation
    kernel_x: FittedKernel | None
    kernel_z: FittedKernel | None
    data: Kernels
    informed: dict[str, bool]


@dataclass(eq=False, repr=False, kw_only=True)
class BayesianKGL(TableInput, Posterior, GraphExport, BaseEstimator):
    r"""Bayesian kernel graph learning: probabilities of edges, intervals of values.

    The generative model behind KGL, without hyperparameters to tune::

        Y = F + noise,   vec(F) ~ N(0, Theta^-1 (x) K_z),   Theta = kappa I + L
        w_ij = 0 with probability 1 - pi_ij, else Gamma distributed
        logit pi_ij = c_0 + strengths * (what K_x has to say about the pair)

    All of it is sampled: the weights w of the Laplacian L, the noise variance, kappa, the scale of
    the weights, the density and the strengths. Signals are integrated out when edges are drawn.

    Parameters
    ----------
    density : float in (0, 1), optional
        Share of pairs that are believed to be edges. Without it, the share is learned, from a
        Beta(6, 14) distribution: 0.3, give or take 0.1. A wrong density hardly changes the order of
        pairs, but shifts all probabilities.
    center : {"node", "both", "none"}, default="node"
        What is subtracted from the data before the fit, as for :class:`kgl.KGL`.
    scale : {"node", "common", "none"}, default="node"
        What the data are divided by, as for :class:`kgl.KGL`.
    signed : bool, default=True
        Whether nodes that clearly move opposite to others are turned round before the fit.
        ``signs_`` is then -1 for pairs of which one was. Signals keep their own sign.
    kernel_x, kernel_z : str, kgl.kernels.Kernel or callable
        Kernels of the covariates ``x`` and ``z``. Not used where ``K_x`` or ``K_z`` is given.
    n_chains : int, optional
        Markov chains, which run side by side; 16 if not given, and 8 from 50 nodes on.
    n_warmup : int, default=40
        Sweeps of each chain that are thrown away.
    n_draws : int, optional
        Sweeps of each chain that are kept: 60 if not given, and 120 below 20 nodes.
    progress : bool or callable, optional
        Where to report progress: True for standard error, a function of (done, total), or None to
        write to a terminal if the fit takes longer than two seconds.
    random_state : int, numpy.random.RandomState or Generator, or None, default=0
        Source of randomness. The default gives the same answer every time.

    Attributes
    ----------
    edge_probability_ : array (m, m)
        Posterior probability of every edge.
    edge_error_ : array (m, m)
        Monte Carlo standard error of these probabilities.
    weights_ : array (m, m)
        Posterior means of the weights, for prepared data of unit variance.
    laplacian_ : array (m, m)
        Their signed Laplacian.
    signs_ : array (m, m)
        -1 for pairs of which one node was turned round, 1 for others.
    edge_scores_ : array (m, m)
        The probabilities, ``-inf`` on the diagonal: what orders pairs.
    signals_ : array (n, m)
        Posterior means of the signals, in the units of the data.
    noise_variance_ : array (m,)
        Posterior mean of the noise variance of each node, in the units of the data.
    density_ : float
        Posterior mean of the share of pairs that are edges.
    convergence_ : dict
        ``r_hat`` and ``ess``: split R-hat and effective sample size of the noise variance, kappa,
        the scale of weights, the share of edges and the strength of side information; and of edge
        probabilities, the values that all but one pair in twenty reach.
    converged_ : bool
        Whether edge probabilities can be relied on: for all but one pair in twenty a Monte Carlo
        error of at most 0.02, or an R-hat of at most 1.2 and 50 effective draws; and for all an
        error of at most 0.1. It is about edges alone: noise, density and the scale of weights make
        up for each other, so their own figures are often worse, and errors that they share shift
        all probabilities alike. ``summary()`` names those that the chains do not agree on.
    n_chains_, n_draws_ : int
        Number of chains, and of the draws of each.
    node_names_ : list
        Columns of a DataFrame, else 0 to m - 1.
    n_features_in_, feature_names_in_
        As of other estimators.

    Examples
    --------
    >>> import kgl
    >>> data = kgl.simulate.make_dataset("er", m=8, n=60, missing=0.1)
    >>> model = kgl.BayesianKGL().fit(data.Y)
    >>> model.edge_probability_.shape, bool(model.edge_probability_.max() <= 1)
    ((8, 8), True)
    >>> filled, std = model.impute(data.Y, return_std=True)
    >>> bool((std[data.mask] == 0).all()), bool((std[~data.mask] > 0).all())
    (True, True)
    """

    density: float | None = None
    center: str = "node"
    scale: str = "node"
    signed: bool = True
    kernel_x: Any = DEFAULT_KERNEL
    kernel_z: Any = DEFAULT_KERNEL
    n_chains: int | None = None
    n_warmup: int = WARMUP
    n_draws: int | None = None
    progress: Any = None
    random_state: Any = 0

    _spec: ClassVar[ModelSpec] = ModelSpec("BayesianKGL", True, True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(
        self,
        Y: Any,
        y: None = None,
        *,
        K_x: Any = None,
        K_z: Any = None,
        x: Any = None,
        z: Any = None,
    ) -> Self:
        """Draw graphs and signals from their posterior distribution given ``Y``.

        Parameters
        ----------
        Y : array or DataFrame (n, m)
            One row per observation, one column per node; NaN marks a missing entry. The columns
            of a DataFrame name the nodes.
        y : None
            Ignored; present for scikit-learn's interface.
        K_x, K_z : array (m, m), array (n, n), optional
            Kernel over nodes, which is evidence about edges, and kernel over observations, which
            is their covariance.
        x, z : array or DataFrame (m, p), (n, q), optional
            Covariates of nodes and observations instead of kernels; ``z="index"`` is the index of
            the DataFrame ``Y``.

        Returns
        -------
        self
        """
        self._check_counts()
        report = reporter(self.progress, "sweep")
        with keep_on_error(self):
            self._draw(self._prepare(Y, K_x=K_x, K_z=K_z, x=x, z=z), report)
            self._index = list(Y.index) if hasattr(Y, "loc") else None
        self._warn()
        return self

    def _draw(self, ready: ReadyData, report: Progress | None) -> None:
        """Draw from the posterior distribution, and set what is learned from the draws."""
        density = None if self.density is None else check_fraction("density", self.density)
        if density == 1.0:
            raise ValueError("density = 1 makes every pair an edge; give a share below 1, or None")
        self._prior = Prior(density=density)
        self._rows = Rows.of(ready.data.K_z)
        self._unit = _unit(ready.values if ready.mask is None else ready.values[ready.mask])
        flips = np.ones(len(ready.names))
        if check_flag("signed", self.signed):
            flips = node_signs(ready.values, ready.mask, self._rows)
        self._evidence = Evidence(ready.data.K_x.matrix) if ready.informed["x"] else None
        pairs = len(ready.names) * (len(ready.names) - 1) // 2
        self.n_chains_, self.n_draws_ = self._sizes(len(ready.names))
        forms = np.zeros((0, pairs)) if self._evidence is None else self._evidence.scores
        self._entropy = [int(word) for word in _entropy(self.random_state)]
        with threadpool_limits(1 if len(ready.names) <= ONE_THREAD else None, "blas"):
            draws = draw_posterior(
                # chains amplify rounding: digits that depend on units and levels are cut off
                np.round(ready.values * flips / self._unit / DIGIT) * DIGIT,
                _informative(ready.values, ready.mask), self._rows, forms, self._prior,
                chains=self.n_chains_, warmup=self.n_warmup, draws=self.n_draws_,
                seed=self._seed_of("fit"), centered=self.center != "none", progress=report,
            )  # fmt: skip
        # a constant column has its constant: no signal and no noise
        self._varies = np.asarray(ready.values.any(axis=0))
        self._ready, self._draws = ready, draws.turned(flips).silenced(~self._varies)
        self._learned(ready, self._draws)

    def _prepare(
        self, Y: Any, *, K_x: Any = None, K_z: Any = None, x: Any = None, z: Any = None
    ) -> ReadyData:
        """Check everything before any work starts."""
        table = self._read(Y, z)
        values, mask = table.values, table.mask
        n, m = values.shape
        if not values.any():
            what = "only 1 sample (row)" if n == 1 else "no column that varies"
            raise ValueError(
                f"Y has {what}, so nothing is left of it with center={self.center!r}; give more "
                "observations, or center='none' if zero is the mean of every node"
            )
        kernel_x, matrix_x = self._kernel("x", K_x, x, table.labels, values, mask)
        kernel_z, matrix_z = self._kernel("z", K_z, table.z, table.index, values, mask)
        kernels = Kernels(kernel_eigen(matrix_x, "K_x", m), kernel_eigen(matrix_z, "K_z", n))
        # the identity is no information, whoever gave it
        informed = {"x": not kernels.K_x.is_identity, "z": not kernels.K_z.is_identity}
        return ReadyData(
            values, mask, table.names, table.labels is not None, table.preparation, kernel_x,
            kernel_z, kernels, informed,
        )  # fmt: skip

    def _sizes(self, m: int) -> tuple[int, int]:
        """Return the numbers of chains and draws for m nodes."""
        chains = CHAINS if m < LARGE else CHAINS // 2
        draws = 2 * DRAWS if m < FEW else DRAWS
        return (
            chains if self.n_chains is None else int(self.n_chains),
            draws if self.n_draws is None else int(self.n_draws),
        )

    def _check_counts(self) -> None:
        for name, least in (("n_chains", 2), ("n_warmup", 1), ("n_draws", 4)):
            value = getattr(self, name)
            if value is None and name != "n_warmup":
                continue
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not (whole and value >= least):
                raise ValueError(
                    f"{name} = {value!r} must be a whole number of at least {least}, such as "
                    f"{ {'n_chains': CHAINS, 'n_warmup': WARMUP, 'n_draws': DRAWS}[name] }"
                )

    def _seed_of(self, purpose: str) -> np.random.SeedSequence:
        return np.random.SeedSequence([*self._entropy, *purpose.encode()])

    def _learned(self, ready: ReadyData, draws: Draws) -> None:
        """Set the attributes that a fit learns."""
        self.node_names_ = ready.names
        chains = draws.inclusion.mean(axis=1)
        self.edge_probability_ = adjacency_from_edges(chains.mean(axis=0))
        error = chains.std(axis=0, ddof=1) / np.sqrt(len(chains))
        self.edge_error_ = adjacency_from_edges(error)
        self.edge_scores_ = self.edge_probability_.copy()
        np.fill_diagonal(self.edge_scores_, -np.inf)
        self.weights_ = adjacency_from_edges(draws.means.mean(axis=(0, 1)))
        self.signs_ = np.outer(draws.flips, draws.flips)
        self.laplacian_ = laplacian_from_adjacency(self.weights_, self.signs_)
        self.signals_ = ready.preparation.undo(self._unit * draws.signal_mean)
        scale = self._unit * ready.preparation.scale * self._varies
        self.noise_variance_ = float(draws.scalars["noise"].mean()) * scale**2
        self.density_ = float(draws.scalars["edges"].mean())
        watched = {
            "noise": draws.scalars["noise"],
            "kappa": np.log(draws.scalars["kappa"]),
            "scale": np.log(draws.scalars["rate"]),
            "edges": draws.scalars["edges"],
        }
        if self._evidence is not None:
            watched["strength"] = np.log1p(draws.scalars["strength"])
        r_hat = {name: float(split_r_hat(values)) for name, values in watched.items()}
        ess = {name: float(effective_sample_size(values)) for name, values in watched.items()}
        own_r_hat = split_r_hat(draws.inclusion)
        own_ess = effective_sample_size(draws.inclusion)
        r_hat["edge_probability"] = float(np.quantile(own_r_hat, 0.95))
        ess["edge_probability"] = float(np.quantile(own_ess, 0.05))
        self.convergence_ = {"r_hat": r_hat, "ess": ess}
        poor = (error > SMALL_ERROR) & ((own_r_hat > POOR_R_HAT) | (own_ess < FEW_DRAWS))
        self._poor = float(poor.mean())
        self.converged_ = bool(self._poor <= MANY_POOR and error.max() <= POOR_ERROR)

    def _warn(self) -> None:
        if self.converged_:
            return
        off = f"edge probabilities are off by up to about {self._off_by():.2f}"
        if self.edge_error_.max() > POOR_ERROR:
            off += f" (good: at most {2.0 * POOR_ERROR:.2f})"
        failed = [off]
        if self._poor > MANY_POOR:
            failed.append(
                f"{self._poor:.1%} of them (good: at most {MANY_POOR:.0%}) have a Monte Carlo "
                f"error above {SMALL_ERROR} with an R-hat above {POOR_R_HAT} or fewer than "
                f"{FEW_DRAWS:.0f} effective draws"
            )
        warnings.warn(
            f"the chains have not converged: {'; '.join(failed)}. Raise n_warmup = "
            f"{self.n_warmup} and n_draws = {self.n_draws_}",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _off_by(self) -> float:
        """Return by how much probabilities may be off: twice the largest Monte Carlo error."""
        return 2.0 * float(self.edge_error_.max())

    def summary(self) -> str:
        """Return what was learned, in a few lines: likely edges, noise, density, convergence.

        Examples
        --------
        >>> import kgl
        >>> data = kgl.simulate.make_dataset("er", m=8, n=60)
        >>> print(kgl.BayesianKGL(n_chains=8).fit(data.Y).summary().splitlines()[0])
        BayesianKGL: 8 nodes, 28 pairs; probability above 0.5: ..., above 0.9: ...
        """
        check_is_fitted(self, "edge_probability_")
        return describe(self)


def _unit(seen: Array) -> float:
    """Return the root mean square of the data: scales of the prior refer to unit variance."""
    with np.errstate(over="ignore"):
        unit = float(np.sqrt(np.mean(np.square(seen))))
    if not 0.0 < unit < np.inf:
        raise ValueError(
            f"values of Y as small as {np.abs(seen[seen != 0]).min():.3g} and as large as "
            f"{np.abs(seen).max():.3g} have squares beyond double precision; rescale the data, "
            "for instance to unit variance"
        )
    return unit


def _entropy(random_state: Any) -> np.ndarray:
    """Return four words from a source of randomness."""
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(2**32, size=4, dtype=np.uint32)
    return np.asarray(check_random_state(random_state).randint(2**32, size=4, dtype=np.uint32))


def _informative(values: Array, mask: Mask | None) -> Mask | None:
    """Return which entries inform the sampler: those observed, but none of constant columns.

    These are zero after centring, which looks like the best of all neighbours.
    """
    constant = ~values.any(axis=0)
    if not constant.any():
        return mask
    return (np.ones(values.shape, bool) if mask is None else mask) & ~constant
