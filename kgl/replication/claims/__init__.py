"""Claims of the paper as code over the tables of a run."""

from kgl.replication.claims.evidence import Evidence, Part
from kgl.replication.claims.ledger import VERDICTS, Claim, Reading, judge, to_table, verdict

__all__ = ["VERDICTS", "Claim", "Evidence", "Part", "Reading", "judge", "to_table", "verdict"]
