"""Which tables bear upon which claims, and under which readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from experiments.claims.algorithm import ALGORITHM, FIGURES
from experiments.claims.evidence import Evidence
from experiments.claims.hyper import HYPER
from experiments.claims.ledger import Claim, Reading
from experiments.claims.real import SUSHI, SWISS
from experiments.claims.synthetic import COMPLETION, MISSING, NOISE, SIZES
from experiments.score import HELD_OUT
from kgl._optional import import_optional

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FACTS", "STUDIES", "readings", "scores"]

Tables = Mapping[str, "pd.DataFrame | None"]

#: Claims about synthetic data: the studies of their figures, the one whose points are chosen
#: without the truth, and what tells runs apart besides the replicate.
_SYNTHETIC: tuple[tuple[Sequence[Claim], tuple[str, ...], str, tuple[str, ...]], ...] = (
    (NOISE, ("fig2", "fig8", "fig9"), "cv_noise", ("graph",)),
    (MISSING, ("fig3", "fig10", "fig11"), "cv_missing", ("graph",)),
    (COMPLETION, ("fig4",), "cv_missing", ("graph",)),
    (SIZES, ("fig5",), "cv_sizes", ("graph", "m")),
)
#: Studies without which a claim about points of a grid says nothing; any one of them will do.
_POINTS = {
    "H1": ("fig12",),
    "H2": ("limits_psi",),
    "H3": ("limits_psi",),
    "H4": ("fig13",),
    "H5": ("limits_lam",),
    "H6": ("limits_rho",),
    "H7": ("fig13",),
    "A1": ("convergence",),
    "A2": ("convergence",),
    "A3": ("cost",),
}
#: Those of them in which average precision has a part.
_RANKED = ("H1", "H3", "H7")
_REAL = ("fig6", "swiss_specifications", "swiss_cut", "fig7", "sushi_specifications")

#: Studies whose tables the ledger reads; names of the tables of what the data are begin with FACTS.
FACTS = "facts"
STUDIES = tuple(
    dict.fromkeys(
        [name for _, figures, fair, _ in _SYNTHETIC for name in (*figures, fair)]
        + [name for names in _POINTS.values() for name in names]
        + list(_REAL)
    )
)
_METRICS = ("aps", "sse", "nmi", "mse_out")
_DRAWN = "as in the figure: chosen by the truth"
_HELD = "chosen by held-out entries"
_SAME = "the same fits, chosen by the truth"
_UNTIED = "APS of untied scores, at the same points"


def scores(
    table: pd.DataFrame,
    *,
    data: str | None = None,
    selected_by: str | None = None,
    ranking: str = "aps",
    keep: Sequence[str] = (),
) -> pd.DataFrame:
    """Return level, model, replicate, metric and value of a table under one reading.

    Parameters
    ----------
    table : DataFrame
        From :func:`experiments.score.score_study`.
    data : str, optional
        One kind of data of several.
    selected_by : str, optional
        Criterion for all metrics; by default each metric where it is best against the truth.
    ranking : {"aps", "aps_scores"}
        What stands for average precision: of weights, or of untied scores.
    keep : sequence of str
        Further columns, which come first.
    """
    rows = table if data is None else table[table["data"] == data]
    wanted = {ranking if name == "aps" else name: name for name in _METRICS}
    rows = rows[rows["metric"].isin(list(wanted))]
    own = rows["metric"].map(wanted)
    rows = rows[rows["selected_by"] == (own if selected_by is None else selected_by)]
    rows = rows.assign(metric=rows["metric"].map(wanted))
    columns = [*keep, "level", "model", "replicate", "metric", "value"]
    return rows[columns].reset_index(drop=True)


def readings(
    tables: Tables, models: Mapping[str, str], kinds: Mapping[str, str]
) -> Iterator[Reading]:
    """Yield the evidence for the claims that the tables bear upon, under each reading.

    Parameters
    ----------
    tables : dict
        By study, and ``facts-swiss``, ``facts-sushi``; None where simulated data stand for real
        ones.
    models, kinds : dict
        What models and kinds of data are called.
    """
    yield from _synthetic(tables, models)
    yield from _points(tables)
    yield from _real(tables, models, kinds)


def _synthetic(tables: Tables, models: Mapping[str, str]) -> Iterator[Reading]:
    pd = import_optional("pandas", "workflow", "the replication")

    def evidence(names: Sequence[str], keep: Sequence[str], **how: Any) -> Evidence | None:
        found = [scores(t, keep=keep, **how) for t in map(tables.get, names) if t is not None]
        return Evidence(pd.concat(found, ignore_index=True), dict(models)) if found else None

    for claims, figures, fair, keep in _SYNTHETIC:
        drawn = evidence(figures, keep)
        if drawn is not None:
            yield Reading(_DRAWN, True, drawn, claims)
        held = evidence([fair], keep, selected_by=HELD_OUT)
        if held is not None:
            yield Reading(_HELD, False, held, claims)
            # what the levels, the grid and the density of these fits change by themselves
            yield Reading(_SAME, False, evidence([fair], keep), claims)
        if drawn is not None and claims is not COMPLETION:
            untied = evidence(figures, keep, ranking="aps_scores")
            yield Reading(_UNTIED, False, untied, claims)


def _points(tables: Tables) -> Iterator[Reading]:
    used = {name for names in _POINTS.values() for name in names} | set(FIGURES)
    found = {name: table for name, table in tables.items() if name in used and table is not None}
    claims = [
        claim
        for claim in (*HYPER, *ALGORITHM)
        if any(name in found for name in _POINTS[claim.name])
    ]
    if not claims:
        return
    yield Reading("as in the figure: points of the grid", True, found, claims)
    ranked = [claim for claim in claims if claim.name in _RANKED]
    if ranked:
        untied = {name: _untied(table) for name, table in found.items()}
        yield Reading(_UNTIED, False, untied, ranked)


def _untied(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which average precision is that of untied scores."""
    rows = table[table["metric"] != "aps"]
    return rows.assign(metric=rows["metric"].replace({"aps_scores": "aps"}))


def _real(tables: Tables, models: Mapping[str, str], kinds: Mapping[str, str]) -> Iterator[Reading]:
    def evidence(table: pd.DataFrame | None, **how: str) -> Evidence | None:
        return None if table is None else Evidence(scores(table, **how), dict(models))

    for figure, others, claims in (
        ("fig6", "swiss_specifications", SWISS),
        ("fig7", "sushi_specifications", SUSHI[:2]),
    ):
        if figure not in tables:
            continue
        table = tables[figure]
        yield Reading(_DRAWN, True, evidence(table), claims)
        yield Reading(_HELD, False, evidence(table, selected_by=HELD_OUT), claims)
        if figure == "fig6":
            yield Reading(_UNTIED, False, evidence(table, ranking="aps_scores"), claims)
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
