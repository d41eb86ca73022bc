"""Estimators on many nodes: which way a fit takes, and what it reports."""

from kgl.large.estimator import LargeFits
from kgl.large.results import certify_option, drop_sparse_results
from kgl.large.route import DEFAULT_DEGREE, ESTIMATOR_SOLVERS, LARGE_FROM
from kgl.large.rules import densify, pattern

__all__ = [
    "DEFAULT_DEGREE",
    "ESTIMATOR_SOLVERS",
    "LARGE_FROM",
    "LargeFits",
    "certify_option",
    "densify",
    "drop_sparse_results",
    "pattern",
]
