"""What a fit has learned, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kgl.bayesian.estimator import BayesianKGL

__all__ = ["describe"]

#: R-hat above which chains do not agree on a parameter.
DISAGREE = 1.2
#: Parameters in words.
WORDS = {
    "noise": "noise",
    "kappa": "kappa",
    "scale": "scale of weights",
    "edges": "density",
    "strength": "strength of side information",
}


def describe(model: BayesianKGL) -> str:
    """Return likely edges, noise, density, side information and convergence of a fit."""
    rows, cols = np.triu_indices(len(model.weights_), 1)
    p = model.edge_probability_[rows, cols]
    noise, edges = model._draws.scalars["noise"], model._draws.scalars["edges"]
    n_low, n_high, d_low, d_high = (
        *np.quantile(noise, [0.05, 0.95]), *np.quantile(edges, [0.05, 0.95]),
    )  # fmt: skip
    lines = [
        f"{model._spec.name}: {len(model.weights_)} nodes, {len(p)} pairs; probability above "
        f"0.5: {(p > 0.5).sum()}, above 0.9: {(p > 0.9).sum()}",
        f"data: {len(model.signals_)} observations, {model._missing_share():.1%} of the entries "
        f"missing; center={model.center!r}, scale={model.scale!r}",
        f"noise: {noise.mean():.2f} of the variance (90 %: {n_low:.2f} to {n_high:.2f}); "
        f"density {edges.mean():.2f} ({d_low:.2f} to {d_high:.2f})",
    ]
    if model._evidence is not None:
        side = model.side_strength()
        lines.append(
            f"side information on nodes: strength {side['mean']:.2f} (90 %: "
            f"{side['low']:.2f} to {side['high']:.2f}), matters with probability "
            f"{side['probability']:.2f}"
        )
    return "\n".join([*lines, *_convergence(model)])


def _convergence(model: BayesianKGL) -> list[str]:
    r_hat = dict(model.convergence_["r_hat"])
    worst, least = r_hat.pop("edge_probability"), model.convergence_["ess"]["edge_probability"]
    state = "converged" if model.converged_ else "NOT converged"
    lines = [
        f"{model.n_chains_} chains, {model.n_draws_} draws each: {state}; of edge "
        f"probabilities R-hat {worst:.2f}, effective sample size {least:.0f}, off by up to about "
        f"{model._off_by():.2f}"
    ]
    apart = [f"{WORDS[name]} ({value:.2f})" for name, value in r_hat.items() if value > DISAGREE]
    if apart:
        lines.append(
            f"the chains do not agree on (R-hat): {', '.join(apart)}; raise n_warmup = "
            f"{model.n_warmup} and n_draws = {model.n_draws_} where these matter"
        )
    return lines
