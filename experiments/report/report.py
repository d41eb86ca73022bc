"""All that the two renderings tell, gathered once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from experiments.claims.causes import Cause
from experiments.report import informativeness as worth
from experiments.report import tables
from experiments.report.ledger import Entry, Explained, entries, explain, verdicts
from experiments.report.loading import Gallery, Picture
from experiments.report.paper import CONTROLS, FIGURES, FURTHER, Shown
from experiments.report.sentences import default_reading, notice, sentences
from experiments.report.tables import Table

__all__ = ["Panel", "Report", "gather"]


@dataclass(frozen=True)
class Panel:
    """A figure, what the paper says of it and what the ledger makes of that."""

    study: str
    heading: str
    says: str
    caption: str
    claims: tuple[Entry, ...]
    picture: Picture | None
    table: Table | None
    simulated: bool


@dataclass(frozen=True)
class Report:
    """What is told, in the order in which it is told; an empty or None part is left out."""

    notice: str
    sentences: list[str]
    counts: dict[str, int]
    ledger: list[Entry]
    default: str
    printed: Table | None
    printed_values: Table | None
    explained: list[Explained]
    figures: list[Panel]
    further: list[Panel]
    readings: Table | None
    specifications: Table | None
    matrix: Table | None
    curve: Panel | None
    controls: list[Panel]
    worth: Table | None
    settings: Table | None
    versions: Table | None
    machine: Table | None
    costs: Table | None

    @property
    def experiments(self) -> list[str]:
        """Experiments, in the order of the ledger."""
        return list(dict.fromkeys(entry.experiment for entry in self.ledger))


def gather(
    gallery: Gallery, causes: Mapping[str, Cause], *, strict: bool = False, most: int = 60
) -> Report:
    """Work out all that is told from what a directory holds.

    Parameters
    ----------
    gallery : Gallery
        From :func:`experiments.report.loading.load`.
    causes : dict
        By claim.
    strict : bool
        Whether a claim without a cause is an error.
    most : int
        Rows of the table of a control, at most.
    """
    ledger = entries(gallery.claims)
    known = {entry.claim: entry for entry in ledger}

    def panels(shown: Iterable[tuple[str, Shown]], *, tabled: bool = False) -> list[Panel]:
        found = []
        for prefix, one in shown:
            frame = gallery.tables.get(one.study) if tabled else None
            picture = gallery.pictures.get(one.study)
            if picture is None and (frame is None or frame.empty):
                continue
            found.append(
                Panel(
                    study=one.study,
                    heading=f"{prefix}{gallery.title(one.study)}",
                    says=one.says,
                    caption=gallery.caption(one.study),
                    claims=tuple(known[name] for name in one.claims if name in known),
                    picture=picture,
                    table=None
                    if frame is None or frame.empty
                    else tables.compact(frame, most=most),
                    simulated=one.study in gallery.simulated,
                )
            )
        return found

    curve = panels([("", Shown("specifications", "How many claims are reproduced, by reading."))])
    return Report(
        notice=notice(gallery),
        sentences=sentences(gallery),
        counts=verdicts(gallery.claims),
        ledger=ledger,
        default=default_reading(gallery),
        printed=tables.printed(gallery),
        printed_values=tables.printed_values(gallery),
        explained=explain(gallery, causes, strict=strict),
        figures=panels((_prefix(gallery, n, one), one) for n, one in FIGURES.items()),
        further=panels(("", one) for one in FURTHER),
        readings=tables.readings(gallery),
        specifications=tables.specifications(gallery),
        matrix=tables.matrix(gallery),
        curve=curve[0] if curve else None,
        worth=worth.table(gallery),
        controls=panels((("", one) for one in CONTROLS), tabled=True),
        settings=tables.settings(gallery),
        versions=tables.versions(gallery),
        machine=tables.machine(gallery),
        costs=tables.costs(gallery),
    )


def _prefix(gallery: Gallery, number: int, one: Shown) -> str:
    """Name a figure by its number; its title follows where it is known."""
    return f"Figure {number}: " if one.study in gallery.captions else f"Figure {number}, "
