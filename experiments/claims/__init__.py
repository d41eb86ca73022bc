"""Claims of the paper as code over the tables of a run."""

from experiments.claims.algorithm import ALGORITHM
from experiments.claims.evidence import Evidence
from experiments.claims.hyper import HYPER
from experiments.claims.ledger import (
    Claim,
    Criterion,
    Judgement,
    Specification,
    from_table,
    judge,
    to_table,
)
from experiments.claims.missing import COMPLETION, MISSING
from experiments.claims.noise import NOISE
from experiments.claims.real import SUSHI, SWISS
from experiments.claims.sizes import SIZES

__all__ = [
    "ALL",
    "Claim",
    "Criterion",
    "Evidence",
    "Judgement",
    "Specification",
    "from_table",
    "judge",
    "to_table",
]

#: All claims: noise, missing entries, completion, sizes, hyperparameters, algorithm, real data.
ALL = (*NOISE, *MISSING, *COMPLETION, *SIZES, *HYPER, *ALGORITHM, *SWISS, *SUSHI)
