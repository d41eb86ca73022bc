"""The tables behind each claim, under each specification of what the paper does not state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from experiments.claims.algorithm import ALGORITHM, FIGURES
from experiments.claims.evidence import Evidence
from experiments.claims.grid_scores import DATA_KINDS, Tables
from experiments.claims.hyper import HYPER
from experiments.claims.ledger import Claim, Specification
from experiments.claims.missing import COMPLETION, MISSING
from experiments.claims.noise import NOISE
from experiments.claims.real import SUSHI, SWISS
from experiments.claims.sizes import SIZES
from experiments.registry import CV, PROTOCOLS, name_of, split_protocol
from kgl._optional import import_optional

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FACTS", "STUDIES", "label_of", "protocols_of", "scores", "specifications"]

#: Claims about synthetic data: the studies of their figures, the study tuned by cross-validation,
#: and the columns that identify a run besides the replicate.
_SYNTHETIC: tuple[tuple[Sequence[Claim], tuple[str, ...], str, tuple[str, ...]], ...] = (
    (NOISE, ("fig2", "fig8", "fig9"), "cv_noise", ("graph",)),
    (MISSING, ("fig3", "fig10", "fig11"), "cv_missing", ("graph",)),
    (COMPLETION, ("fig4",), "cv_missing", ("graph",)),
    (SIZES, ("fig5",), "cv_sizes", ("graph", "m")),
)
#: The study that each claim about grid points needs.
_POINTS = {
    "H1": "fig12",
    "H2": "limits_psi",
    "H3": "limits_psi",
    "H4": "fig13",
    "H5": "limits_lam",
    "H6": "limits_rho",
    "H7": "fig13",
    "A1": "convergence",
    "A2": "convergence",
    "A3": "cost",
}
#: Those of them that are about average precision.
_RANKED = ("H1", "H3", "H7")
_REAL = ("fig6", "swiss_specifications", "swiss_cut", "fig7", "sushi_specifications")

#: Studies whose tables the claims read, without the protocol that may end the name of a table;
#: names of the tables of facts on real data begin with FACTS.
FACTS = "facts"
STUDIES = tuple(
    dict.fromkeys(
        [name for _, figures, cv, _ in _SYNTHETIC for name in (*figures, cv)]
        + list(_POINTS.values())
        + list(_REAL)
    )
)
_METRICS = ("aps", "sse", "nmi", "mse_out")
_FIGURE, _GRID, _FILES = "figure", "grid_points", "files"
_SAME, _UNTIED, _CUT = "cv_fits_oracle", "untied_scores", "cut"
_INDEPENDENT = "independent_data"
_LABELS = {
    _FIGURE: "as in the figure: oracle-tuned",
    _GRID: "as in the figure: points of the grid",
    _FILES: "the files",
    CV: name_of(CV),
    _SAME: "the fits of cross-validation, oracle-tuned",
    _UNTIED: "APS of untied scores, at the same points",
    _INDEPENDENT: "independent data, K_z = I",
    _CUT: "fewer runs: heaviest 30 % of denser graphs",
}


def label_of(specification: str) -> str:
    """Return what a specification is called; those of real data by the label of their file.

    Examples
    --------
    >>> label_of("cv"), label_of("swiss_metres")
    ('tuned by cross-validation', 'fewer runs: altitude in metres')
    """
    return _LABELS.get(specification) or f"fewer runs: {name_of(specification)}"


def scores(
    table: pd.DataFrame,
    *,
    data: str | None = None,
    selected_by: str | None = None,
    ranking: str = "aps",
    keep: Sequence[str] = (),
) -> pd.DataFrame:
    """Return level, model, replicate, metric and value of a table under one specification.

    Where the table has it, ``at_edge`` comes last.

    Parameters
    ----------
    table : DataFrame
        From :func:`experiments.score.score_study`.
    data : str, optional
        One kind of data of several.
    selected_by : str, optional
        Selection for all metrics; by default each metric where it is best (oracle-tuned).
    ranking : {"aps", "aps_scores"}
        Average precision of weights, or of untied scores.
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
    columns += ["at_edge"] * ("at_edge" in rows)
    return rows[columns].reset_index(drop=True)


def protocols_of(names: Iterable[str]) -> list[str]:
    """Return the protocols of tables or studies, those of the registry first.

    What no protocol bears on is under the empty one, which comes last.

    Examples
    --------
    >>> protocols_of(["fig2-described", "fig6", "fig2-paper", "fig2-printed", "facts-swiss"])
    ['printed', 'described', 'paper', '']
    """
    found = {
        "" if name.startswith(f"{FACTS}-") else split_protocol(name)[1]: None for name in names
    }
    known = [name for name in PROTOCOLS if name in found]
    others = [name for name in found if name and name not in PROTOCOLS]
    return [*known, *others, *([""] if "" in found else [])]


def specifications(tables: Tables) -> Iterator[Specification]:
    """Yield the evidence on the claims that the tables are about, under each specification.

    The specifications of every protocol come first, then those of real data.

    Parameters
    ----------
    tables : dict
        By study and protocol (:func:`experiments.registry.of_protocol`), and ``facts-swiss``,
        ``facts-sushi``; None where simulated data replace real ones.
    """
    for protocol in protocols_of(tables):
        own = {
            study: table
            for name, table in tables.items()
            for study, of in [split_protocol(name)]
            if of == protocol and study in STUDIES
        }
        for one in (*_synthetic(own), *_points(own)):
            yield replace(one, protocol=protocol)
    yield from _real(tables)


def _synthetic(tables: Tables) -> Iterator[Specification]:
    pd = import_optional("pandas", "workflow", "the replication")

    def evidence(names: Sequence[str], keep: Sequence[str], **how: Any) -> Evidence | None:
        found = [scores(t, keep=keep, **how) for t in map(tables.get, names) if t is not None]
        return Evidence(pd.concat(found, ignore_index=True)) if found else None

    for claims, figures, cv, keep in _SYNTHETIC:
        # the paper does not state the kind of data of Figure 5; if there are both, one is drawn
        both = claims is SIZES and _has(tables.get(figures[0]), *DATA_KINDS)
        kind: dict[str, Any] = {"data": "dependent"} if both else {}
        drawn = evidence(figures, keep, **kind)
        if drawn is not None:
            yield Specification(_FIGURE, True, drawn, claims)
        tuned = evidence([cv], keep, selected_by=CV)
        if tuned is not None:
            yield Specification(CV, False, tuned, claims)
            # what the levels, the grid and the density of these fits change by themselves
            yield Specification(_SAME, False, evidence([cv], keep), claims)
        if drawn is not None and claims is not COMPLETION:
            untied = evidence(figures, keep, ranking="aps_scores", **kind)
            yield Specification(_UNTIED, False, untied, claims)
        if both:
            other = evidence(figures, keep, data="independent")
            yield Specification(_INDEPENDENT, False, other, claims)


def _has(table: pd.DataFrame | None, *kinds: str) -> bool:
    return table is not None and set(kinds) <= set(table["data"])


def _points(tables: Tables) -> Iterator[Specification]:
    used = {*_POINTS.values(), *FIGURES}
    found = {name: table for name, table in tables.items() if name in used and table is not None}
    claims = [claim for claim in (*HYPER, *ALGORITHM) if _POINTS[claim.id] in found]
    if not claims:
        return
    yield Specification(_GRID, True, found, claims)
    ranked = [claim for claim in claims if claim.id in _RANKED]
    if ranked:
        untied = {name: _untied(table) for name, table in found.items()}
        yield Specification(_UNTIED, False, untied, ranked)


def _untied(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which average precision is that of untied scores."""
    rows = table[table["metric"] != "aps"]
    return rows.assign(metric=rows["metric"].replace({"aps_scores": "aps"}))


def _real(tables: Tables) -> Iterator[Specification]:
    def evidence(table: pd.DataFrame | None, **how: str) -> Evidence | None:
        return None if table is None else Evidence(scores(table, **how))

    for figure, others, claims in (
        ("fig6", "swiss_specifications", SWISS),
        ("fig7", "sushi_specifications", SUSHI[:2]),
    ):
        if figure not in tables:
            continue
        table = tables[figure]
        yield Specification(_FIGURE, True, evidence(table), claims)
        yield Specification(CV, False, evidence(table, selected_by=CV), claims)
        if figure == "fig6":
            yield Specification(_UNTIED, False, evidence(table, ranking="aps_scores"), claims)
            if tables.get("swiss_cut") is not None:
                yield Specification(_CUT, False, evidence(tables["swiss_cut"]), claims)
        other = tables.get(others)
        if other is not None:
            for kind in dict.fromkeys(other["data"]):
                yield Specification(str(kind), False, evidence(other, data=kind), claims)
    if f"{FACTS}-sushi" in tables:
        facts = tables[f"{FACTS}-sushi"]
        known = None
        if facts is not None:
            known = dict(zip(facts["key"], facts["value"], strict=True))
        yield Specification(_FILES, True, known, SUSHI[2:])
