"""Names of the kinds of data and side information of the study."""

from __future__ import annotations

__all__ = ["DATA", "INPUTS", "PURE_NOISE", "REAL", "SIDES"]

#: Whether observations are independent.
DATA = ("independent", "dependent")
#: Side information on nodes, as :func:`experiments.datasets.custom_kernels.node_kernel` names it.
SIDES = {"none": "identity", "covariates": "covariates-1", "oracle": "oracle"}
#: In the place of a family of graphs: noise that depends on no graph, and real data.
PURE_NOISE, REAL = "pure_noise", "real"
#: How models get real data: with the kernels of the replication, or raw tables with covariates.
INPUTS = ("kernels", "covariates")
