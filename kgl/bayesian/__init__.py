"""A generative model of graph and signals: edges with probabilities, values with intervals.

The numeric core works on arrays: `priors` has the model, `edges` and `signals` the conditional
distributions, `sampler` one sweep over all of them, `draws` the run, `diagnostics` its convergence.
`compiled` is the loop over pairs for Numba, `flips` turns nodes round that move opposite to others,
`evidence` turns a kernel over nodes into evidence about edges, `predictive` extends draws to new
observations and nodes, `rows` to new rows with gaps. `estimator`, `posterior` and `graphs` are
scikit-learn's interface to it.
"""

from kgl.bayesian.estimator import BayesianKGL

__all__ = ["BayesianKGL"]
