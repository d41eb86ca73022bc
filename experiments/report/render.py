"""The report: everything that is shown, gathered once, and rendered by two templates."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.claims.causes import CAUSES, Cause
from experiments.claims.changes import CHANGES
from experiments.registry import PROTOCOLS, STANDIN, Verdict, of_protocol
from experiments.report import informativeness, tables
from experiments.report.compare import (
    BOTH,
    NEITHER,
    NOT_COMPARED,
    Judged,
    Tally,
    compared,
    tally,
    under_label,
)
from experiments.report.explain import Explained, changed, explain
from experiments.report.findings import Finding, findings, notice
from experiments.report.inference import Inference, inference
from experiments.report.load import Gallery, Picture
from experiments.report.numbers import Numbers
from experiments.report.paper import CONTROLS, CURVE, FIGURES, FURTHER, TITLE, Shown
from experiments.report.protocols import described
from experiments.report.robustness import robust
from experiments.report.tables import Table, number, span
from kgl._optional import import_optional

__all__ = ["Report", "block", "gather", "markdown", "page", "paper_text", "replace_block",
           "template"]  # fmt: skip

_HERE = Path(__file__).resolve().parent
#: Ends of the part of README.md that is generated.
START, END = "<!-- findings:start -->", "<!-- findings:end -->"

#: The look of what is reproduced under both protocols or neither; that of verdicts.
_SHADES = {BOTH: "reproduced", NEITHER: "not-reproduced", NOT_COMPARED: "not-evaluated"}


@dataclass(frozen=True)
class Shot:
    """A picture of a study, under one protocol or under none."""

    protocol: str
    picture: Picture
    caption: str


@dataclass(frozen=True)
class Panel:
    """A figure under each protocol, what the paper states about it, and the verdicts on that."""

    study: str
    heading: str
    text: str
    claims: tuple[Judged, ...]
    shots: tuple[Shot, ...]
    tables: tuple[tuple[str, Table], ...]
    simulated: bool


@dataclass(frozen=True)
class Report:
    """What is shown, in the order in which it is shown; an empty or None part is left out."""

    notice: str
    protocols: list[str]
    findings: list[Finding]
    claims: list[Judged]
    changes: Table
    explained: list[Explained]
    changed: list[tuple[Judged, str]]
    described: list[tuple[str, str]]
    printed: Table | None
    printed_values: Table | None
    inference: Inference | None
    robust: Table | None
    figures: list[Panel]
    further: list[Panel]
    controls: list[Panel]
    curve: Panel | None
    full: Table | None
    informativeness: Table | None
    settings: Table | None
    versions: Table | None
    machine: Table | None
    costs: Table | None

    @property
    def compared(self) -> list[Judged]:
        """The claims that were judged under two protocols; none where there is only one."""
        return [one for one in self.claims if len(one.by) > 1]

    @property
    def others(self) -> list[Judged]:
        """The claims that were judged once: on real data and on cost, or under one protocol."""
        return [one for one in self.claims if len(one.by) == 1]

    @property
    def counts(self) -> Tally:
        """Claims and criteria by the protocols under which they hold."""
        return tally(self.compared, self.protocols)

    def by_experiment(self, some: Sequence[Judged]) -> dict[str, list[Judged]]:
        """Return claims by experiment, in the order of the claims."""
        found: dict[str, list[Judged]] = {}
        for one in some:
            found.setdefault(one.claim.experiment, []).append(one)
        return found

    def tally(self, some: Sequence[Judged]) -> Tally:
        """Count claims and criteria, with the columns of :attr:`counts`."""
        own = tally(some, self.protocols)
        claims, criteria = (
            {key: found.get(key, 0) for key in self.counts.claims}
            for found in (own.claims, own.criteria)
        )
        return Tally(claims, criteria)

    def verdicts(self, some: Sequence[Judged]) -> dict[Verdict, int]:
        """Count the verdicts on claims that were judged once."""
        found = [verdict for one in some for verdict in one.verdicts]
        return {verdict: found.count(verdict) for verdict in Verdict}

    def held(self, some: Sequence[Judged]) -> str:
        """How many criteria hold of all, of claims that were judged once."""
        made = [one for judged in some for one in judged.by.values()]
        return f"{sum(one.held for one in made)} of {sum(len(one.criteria) for one in made)}"

    @property
    def shown(self) -> list[Verdict]:
        """The verdicts that occur."""
        found = {verdict for one in self.claims for verdict in one.verdicts}
        return [verdict for verdict in Verdict if verdict in found]

    @property
    def hard_to_fail(self) -> list[Judged]:
        """The claims that could hardly fail."""
        return [one for one in self.claims if one.claim.hard_to_fail]

    @property
    def unexplained(self) -> list[Explained]:
        """The claims that are not reproduced and have no cause."""
        return [one for one in self.explained if one.cause is None]

    def finding(self, key: str) -> Finding | None:
        """Return a finding by its id."""
        return next((one for one in self.findings if one.id == key), None)

    def cause(self, claim: str) -> str:
        """Return the causes of a claim in a few words; 'not explained' where there is none."""
        found = [one for one in self.explained if one.judged.claim.id == claim]
        words = {one.cause.short if one.cause else "not explained": one.protocols for one in found}
        if len(words) == 1 and set(found[0].protocols) == set(found[0].judged.by):
            return next(iter(words))
        named = (f"{', '.join(filter(None, of))}: {text}".removeprefix(": ")
                 for text, of in words.items())  # fmt: skip
        return "; ".join(named)


def gather(
    gallery: Gallery,
    causes: Mapping[str, Sequence[Cause]] | None = None,
    *,
    strict: bool = False,
) -> Report:
    """Compute all that is shown from the files of a directory.

    Parameters
    ----------
    gallery : Gallery
        From :func:`experiments.report.load.load`.
    causes : dict, optional
        By claim; those of :mod:`experiments.claims.causes` by default.
    strict : bool
        Whether a cause whose evidence is in no table is an error.
    """
    curve = _panels(gallery, [("", Shown(name, CURVE)) for name in ("inference", "inference_tiny")])
    return Report(
        notice=notice(gallery),
        protocols=gallery.protocols,
        findings=findings(gallery),
        claims=compared(gallery),
        changes=tables.changes(CHANGES),
        explained=explain(gallery, CAUSES if causes is None else causes, strict=strict),
        changed=changed(gallery),
        described=described(gallery),
        printed=tables.printed(gallery),
        printed_values=tables.printed_values(gallery),
        inference=inference(gallery),
        robust=robust(gallery),
        figures=_panels(gallery, ((f"Figure {n}: ", one) for n, one in FIGURES.items())),
        further=_panels(gallery, (("", one) for one in FURTHER)),
        controls=_panels(gallery, (("", one) for one in CONTROLS), tabled=True),
        curve=curve[0] if curve else None,
        full=tables.full_specifications(gallery),
        informativeness=informativeness.table(gallery),
        settings=tables.settings(gallery),
        versions=tables.versions(gallery),
        machine=tables.machine(gallery),
        costs=tables.costs(gallery),
    )


def _panels(
    gallery: Gallery, shown: Iterable[tuple[str, Shown]], *, tabled: bool = False
) -> list[Panel]:
    known = {one.claim.id: one for one in compared(gallery)}
    found = []
    for prefix, one in shown:
        shots, numbers = [], []
        title = ""
        # a study without a protocol is the same in all views, and shown once
        for protocol, view in _views(gallery, one.study).items():
            title = title or view.title(one.study)
            frame = view.tables.get(one.study) if tabled else None
            if frame is not None and not frame.empty:
                numbers.append((protocol, tables.compact(frame)))
            if one.study in view.pictures:
                shots.append(Shot(protocol, view.pictures[one.study], view.caption(one.study)))
        if shots or numbers:
            claims = tuple(known[name] for name in one.claims if name in known)
            found.append(
                Panel(
                    study=one.study,
                    heading=f"{prefix}{title}",
                    text=one.text,
                    claims=claims,
                    shots=tuple(shots),
                    tables=tuple(numbers),
                    simulated=one.study in gallery.simulated,
                )
            )
    return found


def _views(gallery: Gallery, study: str) -> dict[str, Gallery]:
    """Return the protocols that a study has files of; all of it under '' where it has none."""
    names = {*gallery.tables, *gallery.pictures}
    found = {p: v for p, v in gallery.views.items() if of_protocol(study, p) in names}
    return found or {"": gallery}


def markdown(report: Report) -> str:
    """Return the report as Markdown, in short."""
    return str(template("report.md.jinja", escape=False).render(report=report, readme=False))


def block(report: Report) -> str:
    """Return the part of README.md that is generated."""
    return str(template("report.md.jinja", escape=False).render(report=report, readme=True))


def paper_text(gallery: Gallery) -> str:
    """Return docs/findings.md, in which every number is looked up in the tables.

    Raises
    ------
    LookupError
        If a number that the text needs is in no table.
    """
    return str(template("findings.md.jinja", escape=False, **Numbers(gallery).helpers).render())


def replace_block(text: str, new: str) -> str:
    """Return a text in which the part between the markers is another.

    Raises
    ------
    ValueError
        If a marker is missing or there are several.

    Examples
    --------
    >>> replace_block(f"a\\n{START}\\nold\\n{END}\\nb", "new").splitlines()[2]
    'new'
    """
    if text.count(START) != 1 or text.count(END) != 1 or text.index(START) > text.index(END):
        raise ValueError(f"the text needs one line {START} and, after it, one line {END}")
    before, rest = text.split(START)
    return f"{before}{START}\n{new.strip()}\n{END}{rest.split(END)[1]}"


def page(report: Report) -> str:
    """Return the whole report as one HTML page with its styles, script and pictures."""
    from markupsafe import Markup

    own = {name: Markup((_HERE / name).read_text(encoding="utf-8")) for name in _INLINE}
    made = template("page.html.jinja", escape=True)
    return str(made.render(report=report, style=own["page.css"], script=own["page.js"]))


_INLINE = ("page.css", "page.js")


def template(name: str, *, escape: bool, **helpers: Any) -> Any:
    """Return a template of this directory, with the helpers that all of them share."""
    jinja2 = import_optional("jinja2", "workflow", "the report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=escape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"md": _md, "slug": lambda verdict: verdict.replace("_", "-")}
    environment.globals |= {
        "BOTH": BOTH, "NEITHER": NEITHER, "PROTOCOLS": PROTOCOLS, "Verdict": Verdict,
        "number": number, "paper": TITLE, "source": _source, "span": span, "standin": STANDIN,
        "under_label": under_label, "of_protocol": of_protocol, "shades": _SHADES, **helpers,
    }  # fmt: skip
    return environment.get_template(name)


def _md(text: str) -> str:
    """Escape what Markdown, or HTML inside it, would take for markup; ``K_x`` stays as it is."""
    text = re.sub(r"[\\*|<`~]|(?<!\w)_|_(?!\w)|(?<=\])\(|&(?=#?\w+;)", r"\\\g<0>", text)
    return " ".join(text.split())


def _source(picture: Picture) -> str:
    """Return a picture as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(picture.path.read_bytes()).decode('ascii')}"
