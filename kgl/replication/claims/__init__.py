"""Claims of the paper as code over the tables of a run."""

from kgl.replication.claims.algorithm import ALGORITHM
from kgl.replication.claims.evidence import Evidence, Part
from kgl.replication.claims.hyper import HYPER
from kgl.replication.claims.ledger import VERDICTS, Claim, Reading, judge, to_table, verdict
from kgl.replication.claims.real import SUSHI, SWISS
from kgl.replication.claims.synthetic import SYNTHETIC

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
