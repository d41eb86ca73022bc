"""The report: everything that is shown, gathered once, and rendered by two templates."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.claims import Criterion, Judgement
from experiments.claims.causes import CAUSES, Cause
from experiments.claims.changes import CHANGES
from experiments.claims.specifications import label_of
from experiments.registry import STANDIN, Verdict
from experiments.report import informativeness, tables
from experiments.report.explain import Explained, explain, outcomes
from experiments.report.findings import Finding, default_specification, findings, notice
from experiments.report.load import Gallery, Picture
from experiments.report.paper import CONTROLS, FIGURES, FURTHER, TITLE, Shown
from experiments.report.tables import Table, number, span
from kgl._optional import import_optional

__all__ = ["Report", "block", "gather", "markdown", "page", "replace_block"]

_HERE = Path(__file__).resolve().parent
#: Ends of the part of README.md that is generated.
START, END = "<!-- findings:start -->", "<!-- findings:end -->"


@dataclass(frozen=True)
class Panel:
    """A figure, what the paper states about it, and the verdicts on that."""

    study: str
    heading: str
    text: str
    caption: str
    claims: tuple[Judgement, ...]
    picture: Picture | None
    table: Table | None
    simulated: bool


@dataclass(frozen=True)
class Report:
    """What is shown, in the order in which it is shown; an empty or None part is left out."""

    notice: str
    findings: list[Finding]
    claims: list[Judgement]
    counts: dict[Verdict, int]
    changes: Table
    explained: list[Explained]
    changed: list[tuple[Judgement, str]]
    default: str
    printed: Table | None
    printed_values: Table | None
    figures: list[Panel]
    further: list[Panel]
    controls: list[Panel]
    curve: Panel | None
    full: Table | None
    small: Table | None
    matrix: Table | None
    informativeness: Table | None
    settings: Table | None
    versions: Table | None
    machine: Table | None
    costs: Table | None

    @property
    def experiments(self) -> dict[str, dict[Verdict, int]]:
        """Counts of verdicts by experiment, in the order of the claims."""
        found: dict[str, dict[Verdict, int]] = {}
        for one in self.claims:
            found.setdefault(one.claim.experiment, dict.fromkeys(Verdict, 0))[one.verdict] += 1
        return found

    @property
    def hard_to_fail(self) -> list[Judgement]:
        """The claims that could hardly fail."""
        return [one for one in self.claims if one.claim.hard_to_fail]

    def held(self, experiment: str | None = None) -> str:
        """How many criteria hold of all, of one experiment or of all."""
        some = [one for one in self.claims if experiment in (None, one.claim.experiment)]
        return f"{sum(one.held for one in some)} of {sum(len(one.criteria) for one in some)}"

    @property
    def shown(self) -> list[Verdict]:
        """The verdicts that occur."""
        return [verdict for verdict, count in self.counts.items() if count]

    def finding(self, key: str) -> Finding | None:
        """Return a finding by its id."""
        return next((one for one in self.findings if one.id == key), None)

    def cause(self, claim: str) -> Cause | None:
        """Return the cause of a claim that is not reproduced."""
        return next((one.cause for one in self.explained if one.judgement.claim.id == claim), None)


def gather(
    gallery: Gallery, causes: Mapping[str, Cause] | None = None, *, strict: bool = False
) -> Report:
    """Compute all that is shown from the files of a directory.

    Parameters
    ----------
    gallery : Gallery
        From :func:`experiments.report.load.load`.
    causes : dict, optional
        By claim; those of :mod:`experiments.claims.causes` by default.
    strict : bool
        Whether a claim that is not reproduced and has no cause is an error.
    """
    claims = gallery.defaults
    verdicts = [one.verdict for one in claims]
    curve = _panels(gallery, [("", Shown("specifications", "Verdicts by specification."))])
    return Report(
        notice=notice(gallery),
        findings=findings(gallery),
        claims=claims,
        counts={verdict: verdicts.count(verdict) for verdict in Verdict},
        changes=tables.changes(CHANGES),
        explained=explain(gallery, CAUSES if causes is None else causes, strict=strict),
        changed=_changed(gallery),
        default=default_specification(gallery),
        printed=tables.printed(gallery),
        printed_values=tables.printed_values(gallery),
        figures=_panels(gallery, ((f"Figure {n}: ", one) for n, one in FIGURES.items())),
        further=_panels(gallery, (("", one) for one in FURTHER)),
        controls=_panels(gallery, (("", one) for one in CONTROLS), tabled=True),
        curve=curve[0] if curve else None,
        full=tables.full_specifications(gallery),
        small=tables.small_specifications(gallery),
        matrix=tables.matrix(gallery),
        informativeness=informativeness.table(gallery),
        settings=tables.settings(gallery),
        versions=tables.versions(gallery),
        machine=tables.machine(gallery),
        costs=tables.costs(gallery),
    )


def _panels(
    gallery: Gallery, shown: Iterable[tuple[str, Shown]], *, tabled: bool = False
) -> list[Panel]:
    known = {one.claim.id: one for one in gallery.defaults}
    found = []
    for prefix, one in shown:
        frame = gallery.tables.get(one.study) if tabled else None
        table = None if frame is None or frame.empty else tables.compact(frame)
        picture = gallery.pictures.get(one.study)
        if picture is None and table is None:
            continue
        found.append(
            Panel(
                study=one.study,
                heading=f"{prefix}{gallery.title(one.study)}",
                text=one.text,
                caption=gallery.caption(one.study),
                claims=tuple(known[name] for name in one.claims if name in known),
                picture=picture,
                table=table,
                simulated=one.study in gallery.simulated,
            )
        )
    return found


def _changed(gallery: Gallery) -> list[tuple[Judgement, str]]:
    """Return the claims whose verdict depends on a specification, and how.

    Specifications at reduced size and those of the full run are listed apart: their ids may differ
    by a hyphen alone.
    """
    found = []
    for one in gallery.defaults:
        by: dict[str, list[str]] = {}
        for name, outcome in outcomes(gallery, one).items():
            if outcome.changes_verdict:
                base = outcome.base_verdict
                size = "at reduced size" if outcome.small else "in the full run"
                there = f" (default there: {base.label})" * (base is not one.verdict)
                by.setdefault(f"{outcome.verdict.label} {size}{there}", []).append(name)
        if by:
            words = (f"{verdict}: {', '.join(names)}" for verdict, names in by.items())
            found.append((one, "; ".join(words)))
    return found


def markdown(report: Report) -> str:
    """Return the report as Markdown, in short."""
    return str(_template("report.md.jinja", escape=False).render(report=report, readme=False))


def block(report: Report) -> str:
    """Return the part of README.md that is generated."""
    return str(_template("report.md.jinja", escape=False).render(report=report, readme=True))


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
    template = _template("page.html.jinja", escape=True)
    return str(template.render(report=report, style=own["page.css"], script=own["page.js"]))


_INLINE = ("page.css", "page.js")


def _template(name: str, *, escape: bool) -> Any:
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
        "Verdict": Verdict, "key_criterion": _key_criterion, "label_of": label_of, "paper": TITLE,
        "number": number, "source": _source, "span": span, "standin": STANDIN,
    }  # fmt: skip
    return environment.get_template(name)


def _key_criterion(one: Judgement) -> Criterion | None:
    """Return the first criterion that fails, or the first of all."""
    failed = (criterion for criterion in one.criteria if not criterion.holds)
    return next(failed, one.criteria[0] if one.criteria else None)


def _md(text: str) -> str:
    """Escape what Markdown, or HTML inside it, would take for markup; ``K_x`` stays as it is."""
    text = re.sub(r"[\\*|<`~]|(?<!\w)_|_(?!\w)|(?<=\])\(|&(?=#?\w+;)", r"\\\g<0>", text)
    return " ".join(text.split())


def _source(picture: Picture) -> str:
    """Return a picture as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(picture.path.read_bytes()).decode('ascii')}"
