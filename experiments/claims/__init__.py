"""Claims of the paper as code over the tables of a run."""

from experiments.claims.algorithm import ALGORITHM
from experiments.claims.evidence import Evidence, Part
from experiments.claims.hyper import HYPER
from experiments.claims.ledger import VERDICTS, Claim, Reading, judge, to_table, verdict
from experiments.claims.real import SUSHI, SWISS
from experiments.claims.synthetic import SYNTHETIC

__all__ = [
    "ALL",
    "VERDICTS",
    "Claim",
    "Evidence",
    "Part",
    "Reading",
    "judge",
    "to_table",
    "verdict",
]

#: All claims: noise, missing entries, completion, sizes, hyperparameters, algorithm, real data.
ALL = (*SYNTHETIC, *HYPER, *ALGORITHM, *SWISS, *SUSHI)
