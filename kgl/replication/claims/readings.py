"""Which tables bear upon which claims, and under which readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kgl.replication.claims.evidence import Evidence
from kgl.replication.claims.ledger import Reading
from kgl.replication.claims.real import SUSHI, SWISS
from kgl.replication.scoring import HELD_OUT

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FACTS", "STUDIES", "readings", "scores"]

#: Studies whose tables the ledger reads; names of the tables of what the data are begin with FACTS.
FACTS = "facts"
STUDIES = ("fig6", "swiss_readings", "swiss_cut", "fig7", "sushi_readings")
_METRICS = ("aps", "sse", "nmi", "mse_out")


def scores(
    table: pd.DataFrame,
    *,
    data: str | None = None,
    selected_by: str | None = None,
    ranking: str = "aps",
) -> pd.DataFrame:
    """Return level, model, replicate, metric and value of a table under one reading.

    Parameters
    ----------
    table : DataFrame
        From :func:`kgl.replication.scoring.score_study`.
    data : str, optional
        One kind of data of several.
    selected_by : str, optional
        Criterion for all metrics; by default each metric where it is best against the truth.
    ranking : {"aps", "aps_scores"}
        What stands for average precision: of weights, or of untied scores.
    """
    rows = table if data is None else table[table["data"] == data]
    wanted = {ranking if name == "aps" else name: name for name in _METRICS}
    rows = rows[rows["metric"].isin(list(wanted))]
    own = rows["metric"].map(wanted)
    rows = rows[rows["selected_by"] == (own if selected_by is None else selected_by)]
    rows = rows.assign(metric=rows["metric"].map(wanted))
    return rows[["level", "model", "replicate", "metric", "value"]].reset_index(drop=True)


def readings(
    tables: Mapping[str, pd.DataFrame | None],
    models: Mapping[str, str],
    kinds: Mapping[str, str],
) -> Iterator[Reading]:
    """Yield the evidence for the claims about real data under each reading.

    Parameters
    ----------
    tables : dict
        By study, and ``facts-swiss``, ``facts-sushi``; None where simulated data stand for real
        ones.
    models, kinds : dict
        What models and kinds of data are called.
    """

    def evidence(table: pd.DataFrame | None, **how: str) -> Evidence | None:
        return None if table is None else Evidence(scores(table, **how), dict(models))

    for figure, others, claims in (
        ("fig6", "swiss_readings", SWISS),
        ("fig7", "sushi_readings", SUSHI[:2]),
    ):
        if figure not in tables:
            continue
        table = tables[figure]
        yield Reading("as in the figure: chosen by the truth", True, evidence(table), claims)
        held = evidence(table, selected_by=HELD_OUT)
        yield Reading("chosen by held-out entries", False, held, claims)
        if figure == "fig6":
            untied = evidence(table, ranking="aps_scores")
            yield Reading("APS of untied scores", False, untied, claims)
            if tables.get("swiss_cut") is not None:
                cut = evidence(tables["swiss_cut"])
                yield Reading("fewer runs: heaviest 30 % of denser graphs", False, cut, claims)
        part = tables.get(others)
        if part is None:
            continue
        for kind in dict.fromkeys(part["data"]):
            name = f"fewer runs: {kinds.get(kind, kind)}"
            yield Reading(name, False, evidence(part, data=kind), claims)
    if f"{FACTS}-sushi" in tables:
        facts = tables[f"{FACTS}-sushi"]
        known = None
        if facts is not None:
            known = dict(zip(facts["quantity"], facts["value"], strict=True))
        yield Reading("the files", True, known, SUSHI[2:])
