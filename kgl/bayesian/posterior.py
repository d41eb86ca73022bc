"""What a fitted Bayesian model can be asked for: edges, intervals, predictions, draws."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kgl._types import Array, Mask
from kgl._validation import check_flag
from kgl.bayesian.draws import Draws
from kgl.bayesian.graphs import LikelyGraph, check_levels
from kgl.bayesian.predictive import covariances, new_nodes, new_observations
from kgl.bayesian.priors import Prior, log_odds
from kgl.bayesian.rows import fill_rows
from kgl.laplacian import adjacency_from_edges
from kgl.prediction import FittedTables

if TYPE_CHECKING:
    from kgl.bayesian.evidence import Evidence
    from kgl.bayesian.signals import Rows

__all__ = ["Posterior"]

#: Degrees of freedom of a scale are not taken to be fewer: Student's distribution has no variance
#: from two on.
FEWEST = 4.0
#: Numbers that the signals of one batch of rows may take, over all draws: 64 MB.
BATCH = 8_000_000


class Posterior(LikelyGraph, FittedTables):
    """Mixin with the outputs of :class:`kgl.BayesianKGL`."""

    _logs = False

    if TYPE_CHECKING:
        signed: bool
        scale: str
        edge_probability_: Array
        weights_: Array
        noise_variance_: Array
        _draws: Draws
        _unit: float
        _varies: Mask
        _rows: Rows
        _prior: Prior
        _evidence: Evidence | None

        def _seed_of(self, purpose: str) -> np.random.SeedSequence: ...

    def side_strength(self, level: float = 0.9) -> dict[str, float]:
        """Return how strongly side information on nodes tells edges from other pairs.

        The strength is the standard deviation, over pairs, of the log odds of an edge before the
        data: 0 if the side information does not matter, 1 if pairs one standard deviation apart
        differ by a factor e in their odds.

        Parameters
        ----------
        level : float
            Probability of the interval.

        Returns
        -------
        dict
            ``mean``, ``low`` and ``high`` of the strength, and ``probability``, that it is not 0.
        """
        check_is_fitted(self, "edge_probability_")
        if self._evidence is None:
            raise ValueError(
                "the model was fitted without side information on the nodes; fit with x=... or "
                "K_x=... to learn whether it matters"
            )
        if np.ndim(level) != 0:
            raise ValueError(f"level = {level!r} must be one number in [0, 1], such as 0.9")
        tail = 0.5 * (1.0 - float(check_levels(level)))
        draws = self._draws.scalars["strength"]
        low, high = np.quantile(draws, [tail, 1.0 - tail])
        matters = (
            self._draws.strengths.max(axis=-1) > 0 if self._evidence.scores.size else draws > 0
        )
        return {
            "mean": float(draws.mean()),
            "low": float(low),
            "high": float(high),
            "probability": float(matters.mean()),
        }

    def impute(self, Y: Any, return_std: bool = False) -> Any:
        """Return a copy of the data of the fit with missing entries filled in.

        Parameters
        ----------
        Y : array or DataFrame (n, m)
            The data that were passed to ``fit``.
        return_std : bool
            Whether to return standard deviations too.

        Returns
        -------
        array or DataFrame (n, m)
            Observed entries as they are, posterior means elsewhere.
        std : array or DataFrame (n, m)
            Standard deviations of the missing entries, noise included; 0 where observed. Only with
            ``return_std``.
        """
        check_flag("return_std", return_std)
        filled = super().impute(Y)
        if not return_std:
            return filled
        draws, mask = self._draws, self._ready.mask
        variance = draws.signal_variance + draws.scalars["noise"].mean() * self._spread()
        std = self._unit * self._ready.preparation.scale * self._varies * np.sqrt(variance)
        std = np.zeros_like(std) if mask is None else np.where(mask, 0.0, std)
        return filled, self._labelled_as(filled, std)

    def _fill_rows(self, values: Array) -> Array:
        """Return the signals (k, m) of new rows, each an independent one, NaN where missing."""
        mask = ~np.isnan(values)
        ready = self._ready.preparation.for_observations(len(values))
        y = ready.apply(np.where(mask, values, 0.0), mask) / self._unit
        # constant columns inform nothing, as in the fit
        seen = mask & self._varies
        filled = fill_rows(self._draws, self._rows, np.where(seen, y, 0.0), seen) * self._varies
        return np.asarray(ready.undo(self._unit * filled))

    def predict(
        self, z: Any = None, x: Any = None, *, K_z: Any = None, K_x: Any = None,
        return_std: bool = False,
    ) -> Any:  # fmt: skip
        """Predict the signals of new observations and new nodes.

        Parameters
        ----------
        z, x : array or DataFrame, optional
            Covariates of the rows and columns to predict; without them, the ones of the fit.
        K_z, K_x : array (n_new, n), array (m_new, m), optional
            Kernel between new and fitted observations (nodes), where the model was fitted with a
            precomputed kernel.
        return_std : bool
            Whether to return standard deviations too.

        Returns
        -------
        array (n_new, m_new), or DataFrame
            Posterior means; labels as of the other models' ``predict``. New nodes get edges as
            side information has them likely, and levels and scales of nodes with similar
            covariates.
        std : array (n_new, m_new), or DataFrame
            Standard deviations of observed values: signals and noise. Only with ``return_std``.
        """
        check_is_fitted(self, "edge_probability_")
        check_flag("return_std", return_std)
        draws, ready = self._draws, self._ready
        at_z, at_x = z is not None or K_z is not None, x is not None or K_x is not None
        left = self._cross("z", z, K_z, ready.kernel_z, ready.data.K_z) if at_z else None
        right = self._cross("x", x, K_x, ready.kernel_x, ready.data.K_x) if at_x else None
        preparation = ready.preparation
        if left is None and right is None:
            mean, variance = draws.signal_mean, draws.signal_variance
        else:
            if left is not None:
                preparation = preparation.for_observations(len(left))
            if right is not None:
                preparation = preparation.for_nodes(ready.data.K_x, right)
            mean, variance = self._moments(left, right)
        predicted = self._labelled(preparation.undo(self._unit * mean), z, x)
        if not return_std:
            return predicted
        noise = draws.scalars["noise"].mean() * (self._spread() if right is None else 1.0)
        std = np.sqrt(variance + noise) * self._unit * preparation.scale
        std = std * self._varies if right is None else std
        return predicted, self._labelled(std, z, x)

    def _moments(self, left: Array | None, right: Array | None) -> tuple[Array, Array]:
        """Return posterior moments of signals at new observations, new nodes or both.

        Draws are arrays of all draws, rows and nodes: rows are taken a batch at a time.
        """
        covariance = covariances(self._draws)
        diagonal = np.diagonal(covariance, axis1=1, axis2=2)
        n, m = self._draws.signal_mean.shape if left is None else (len(left), len(diagonal[0]))
        wide = m if right is None else m + 2 * len(right)
        size = max(1, BATCH // (len(covariance) * wide))
        parts = []
        for start in range(0, n, size):
            rows = slice(start, start + size)
            means, open_share, kernel = new_observations(self._draws, self._rows, left, rows)
            if right is None:
                own = open_share[:, None] * diagonal.mean(axis=0)
            else:
                # random numbers start anew: a new node has the same edges in all batches
                means, spread = self._new_nodes(means, open_share, kernel, right, covariance)
                own = spread.mean(axis=0)
            parts.append((means.mean(axis=0), means.var(axis=0) + own))
        mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, variance

    def _spread(self) -> Array:
        """Return factors (m,) on the variance of the noise, for scales of nodes are estimates.

        Noise divided by the standard deviation of few values has Student's distribution, whose
        variance is the factor. Signals are shared with other nodes, and left as they are.
        """
        ready = self._ready
        n, m = ready.values.shape
        if self.scale != "node":
            return np.ones(m)
        count = np.full(m, n) if ready.mask is None else ready.mask.sum(axis=0)
        freedom = np.maximum(count - 1.0, FEWEST)
        return np.asarray(freedom / (freedom - 2.0))

    def _new_nodes(
        self, means: Array, left: Array, kernel: Array, cross: Array, covariance: Array
    ) -> tuple[Array, Array]:
        assert self._evidence is not None
        chain, draw = self._draws.chosen.T
        strengths = self._draws.strengths[chain, draw]
        density = self._draws.scalars["density"][chain, draw]
        odds = log_odds(density, strengths, self._evidence.scores)
        intercept = (odds - strengths @ self._evidence.scores).mean(axis=1)
        scores = self._evidence.new_nodes(cross)
        rng = np.random.default_rng(self._seed_of("predict"))
        tilt = np.einsum("sk,vkj->vsj", strengths, scores)
        odds = intercept[:, None] + tilt
        return new_nodes(self._draws, self._prior, means, left, kernel, odds, covariance, rng)

    def sample(self, size: int = 100, random_state: Any = None) -> dict[str, Array]:
        """Draw graphs and signals from the posterior distribution.

        Parameters
        ----------
        size : int
            Number of draws; taken with repetition from those that were kept.
        random_state : int or numpy.random.Generator, optional
            Which ones; by default the estimator's ``random_state``.

        Returns
        -------
        dict of arrays
            ``weights`` (size, m, m), ``signals`` (size, n, m) in the units of the data, and
            ``noise_variance`` (size, m).
        """
        check_is_fitted(self, "edge_probability_")
        whole = isinstance(size, (int, np.integer)) and not isinstance(size, bool)
        if not (whole and size >= 1):
            raise ValueError(f"size = {size!r} must be a whole number of at least 1, such as 100")
        seed = self._seed_of("sample") if random_state is None else random_state
        try:
            rng = np.random.default_rng(seed)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"random_state = {random_state!r} must be a whole number of at least 0, a "
                "numpy.random.Generator or None"
            ) from None
        picked = rng.integers(len(self._draws.chosen), size=size)
        chain, draw = self._draws.chosen[picked].T
        scale = self._unit * self._ready.preparation.scale * self._varies
        return {
            "weights": np.stack(
                [adjacency_from_edges(row) for row in self._draws.weights[chain, draw]]
            ),
            "signals": self._ready.preparation.undo(self._unit * self._draws.signals[picked]),
            "noise_variance": self._draws.scalars["noise"][chain, draw][:, None] * scale**2,
        }

    def to_arviz(self) -> Any:
        """Return the draws for ArviZ where it is installed, else a dict.

        Returns
        -------
        xarray.DataTree, arviz.InferenceData, or dict
            The group ``posterior`` of arrays (chain, draw, ...): a ``DataTree`` from ArviZ 1.0 on,
            an ``InferenceData`` of older ones, and without ArviZ the dict of groups that
            ``arviz.from_dict`` takes.
        """
        check_is_fitted(self, "edge_probability_")
        draws = self._draws
        posterior = {
            **draws.scalars,
            "strengths": draws.strengths,
            "weights": draws.weights,
            "edge_probability": draws.inclusion,
        }
        try:
            arviz = import_module("arviz")
        except ImportError:
            return {"posterior": posterior}
        # from 1.0 on, one dict of groups; before, a keyword for each group
        if "posterior" in signature(arviz.from_dict).parameters:
            return arviz.from_dict(posterior=posterior)
        return arviz.from_dict({"posterior": posterior})
