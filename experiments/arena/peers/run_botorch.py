"""BoTorch: a Gaussian process with a Kronecker structure, and a graph from its covariance of nodes.

Nodes are tasks of a low-rank covariance; where they have covariates, that is multiplied by a Matern
kernel of these. Rows have a Matern kernel of their times, or are independent. All is fitted by
marginal likelihood; the graph is that of partial correlations.
"""

from __future__ import annotations

import numpy as np
import torch
from adapter import Answer, partial_correlations, serve
from botorch.fit import fit_gpytorch_mll
from botorch.models.latent_kronecker_gp import LatentKroneckerGP
from gpytorch.kernels import IndexKernel, Kernel, MaternKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from linear_operator.operators import DiagLinearOperator, to_linear_operator

#: Seconds after which its optimiser returns what it has: to its end, it takes minutes for a table
#: of a hundred rows and twenty nodes.
SECONDS = 8.0


class SameRow(Kernel):
    """One for a row and itself, else zero."""

    def forward(self, x1, x2, diag=False, **_):
        if diag:
            return torch.ones(x1.shape[:-1], dtype=x1.dtype)
        if x1.shape == x2.shape and torch.equal(x1, x2):
            return DiagLinearOperator(torch.ones(x1.shape[:-1], dtype=x1.dtype))
        return to_linear_operator((x1 == x2.transpose(-1, -2)).to(x1))


class Tasks(Kernel):
    """A covariance of low rank between nodes, times a kernel of their covariates."""

    def __init__(self, m, x):
        super().__init__()
        self.index = IndexKernel(num_tasks=m, rank=min(m, 10))
        self.x = x
        self.smooth = None if x is None else MaternKernel(ard_num_dims=x.shape[1])

    def forward(self, x1, x2, diag=False, **_):
        i, j = x1.long(), x2.long()
        made = self.index(i, j).to_dense()
        if self.smooth is not None:
            made = made * self.smooth(self.x[i[..., 0]], self.x[j[..., 0]]).to_dense()
        return made.diagonal(dim1=-1, dim2=-2) if diag else made


def fit(problem):
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    n, m = problem.Y.shape
    mean, scale = np.nanmean(problem.Y, axis=0), np.nanstd(problem.Y, axis=0)
    Y = torch.as_tensor((problem.Y - mean) / scale)
    rows = np.arange(n, dtype=float) if problem.z is None else problem.z
    times = torch.as_tensor((rows - rows.min()) / np.ptp(rows))[:, None]
    nodes = torch.arange(m, dtype=torch.float64)[:, None]
    x = None
    if problem.x is not None:
        x = torch.as_tensor((problem.x - problem.x.mean(axis=0)) / problem.x.std(axis=0))
    tasks = Tasks(m, x)
    model = LatentKroneckerGP(
        times, nodes, Y, covar_module_X=SameRow() if problem.z is None else MaternKernel(),
        covar_module_T=tasks,
    )  # fmt: skip
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
    with model.use_iterative_methods():
        fit_gpytorch_mll(likelihood, optimizer_kwargs={"timeout_sec": SECONDS})
        filled = None
        with torch.no_grad():
            if np.isnan(problem.Y).any():
                found = model.posterior(times, nodes).mean.reshape(n, m).numpy()
                filled = np.where(np.isnan(problem.Y), found * scale + mean, problem.Y)
            covariance = tasks(nodes, nodes).to_dense().numpy()
    noise = float(model.likelihood.noise.detach())
    precision = np.linalg.inv(covariance + noise * np.eye(m))
    return Answer(partial_correlations(precision), filled=filled)


if __name__ == "__main__":
    serve(["botorch", "gpytorch", "torch"], fit, fit)
